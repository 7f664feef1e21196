//! Settings of the servers that own other regions: sections `[[peer]]` of the file.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hyper::Uri;
use keywright_semantics::place::{GLOBAL_TABLE_REGIONS, RegionName};
use serde::Deserialize;

use super::service_url::ServiceUrl;
use crate::clock::ClockSetting;
use crate::peers::PeerSettings;
use crate::process::failure::Failure;

/// A section `[[peer]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PeerInFile {
    region: String,
    endpoint: String,
    #[serde(alias = "key_id")]
    key_id: String,
    ca: Option<PathBuf>,
    #[serde(default)]
    tables: Vec<String>,
    account: Option<String>,
}

/// What else is set that peers depend on.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'s> {
    pub(super) has_credentials: bool,
    pub(super) clock: &'s ClockSetting,
    /// Where this server listens; port zero is one that the system chooses.
    pub(super) address: SocketAddr,
}

pub(super) fn read(
    sections: Vec<PeerInFile>,
    surroundings: Surroundings<'_>,
) -> Result<Vec<PeerSettings>, Failure> {
    if sections.is_empty() {
        return Ok(Vec::new());
    }
    check(surroundings)?;
    let peers: Vec<PeerSettings> = sections.into_iter().map(section).collect::<Result<_, _>>()?;
    if let Some(own) = peers.iter().find(|peer| is_own(&peer.endpoint, surroundings.address)) {
        return Err(Failure::new(format!(
            "the endpoint {} of the [[peer]] of region {} is this server itself",
            own.endpoint, own.region
        ))
        .advising(
            "write the endpoint of the server that owns the region; this one owns all that no [[peer]] names",
        ));
    }
    let mut regions = BTreeSet::new();
    if let Some(twice) = peers.iter().find(|peer| !regions.insert(&peer.region)) {
        return Err(Failure::new(format!(
            "two sections [[peer]] have region {:?}: a region is owned by one server",
            twice.region
        )));
    }
    Ok(peers)
}

fn check(surroundings: Surroundings<'_>) -> Result<(), Failure> {
    if !surroundings.has_credentials {
        return Err(Failure::new("a section [[peer]] needs --credentials: servers sign what they send")
            .advising("make a key with `keywright credentials add --for replication`"));
    }
    if *surroundings.clock != ClockSetting::Machine {
        return Err(Failure::new("servers with [[peer]] must agree on the time")
            .advising("leave out time-scale and clock"));
    }
    Ok(())
}

/// Whether an endpoint leads back to this server, as far as addresses tell.
fn is_own(endpoint: &str, address: SocketAddr) -> bool {
    let Ok(url) = endpoint.parse::<Uri>() else { return false };
    let usual = if url.scheme_str() == Some("https") { 443 } else { 80 };
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let ip = if host == "localhost" { Some(IpAddr::from([127, 0, 0, 1])) } else { host.parse().ok() };
    let own = address.ip();
    let is_here = |ip: IpAddr| ip == own || (ip.is_loopback() && (own.is_loopback() || own.is_unspecified()));
    url.port_u16().unwrap_or(usual) == address.port() && ip.is_some_and(is_here)
}

fn section(given: PeerInFile) -> Result<PeerSettings, Failure> {
    let PeerInFile { region, endpoint, key_id, ca, tables, account } = given;
    if RegionName::parse(&region).is_none() {
        return Err(Failure::new(format!("the region {region:?} of a [[peer]] is none"))
            .advising(format!("write {}", RegionName::FORM)));
    }
    if !GLOBAL_TABLE_REGIONS.contains(&region.as_str()) {
        return Err(Failure::new(format!("the region {region:?} of a [[peer]] is none with global tables"))
            .advising("write the name of a region of AWS, such as eu-west-1"));
    }
    if account.is_some() {
        return Err(Failure::new(format!(
            "the [[peer]] of region {region} names an account: that of the key in this server's credentials file \
             counts"
        ))
        .advising("leave out account; the key may have another one on the other server"));
    }
    if tables.is_empty() {
        return Err(Failure::new(format!("the [[peer]] of region {region} names no tables"))
            .advising("write tables = [\"NAME\", \"BEGINNING*\"]"));
    }
    let is_pattern = |table: &String| !table.is_empty() && !table.trim_end_matches('*').contains('*');
    if let Some(wrong) = tables.iter().find(|table| !is_pattern(table)) {
        return Err(Failure::new(format!("tables of the [[peer]] of region {region}: {wrong:?} is no name"))
            .advising("write a table's name, or a beginning of names with * at its end"));
    }
    let url = ServiceUrl::read("endpoint of a [[peer]]", &endpoint, None);
    let url = url.ok().and_then(|url| url.endpoint);
    let url = url.ok_or_else(|| {
        Failure::new(format!("the endpoint of the [[peer]] of region {region} cannot be used"))
            .advising("write https://HOST or https://HOST:PORT; http:// is for this machine alone")
    })?;
    Ok(PeerSettings { region, endpoint: url, key_id, ca, tables })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const ANY: Surroundings<'static> = Surroundings {
        has_credentials: true,
        clock: &ClockSetting::Machine,
        address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8_000),
    };

    fn sections(text: &str) -> Vec<PeerInFile> {
        #[derive(Deserialize)]
        struct File {
            peer: Vec<PeerInFile>,
        }
        toml::from_str::<File>(text).unwrap().peer
    }

    fn peer(more: &str) -> String {
        format!("[[peer]]\nregion = \"eu-west-1\"\nkey-id = \"AK\"\n{more}\n")
    }

    #[test]
    fn a_section_names_a_region_its_server_a_key_and_tables() {
        let text = peer("endpoint = \"https://eu.example:8443/\"\nca = \"ca.pem\"\ntables = [\"shop-*\"]");
        let peers = read(sections(&text), ANY).unwrap();
        let [peer] = &*peers else { panic!("one: {peers:?}") };
        assert_eq!((peer.region.as_str(), peer.endpoint.as_str()), ("eu-west-1", "https://eu.example:8443"));
        assert_eq!((peer.key_id.as_str(), peer.tables.len()), ("AK", 1));
        assert!(read(Vec::new(), Surroundings { has_credentials: false, ..ANY }).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_work_is_refused_with_what_to_write() {
        let here = "endpoint = \"http://127.0.0.1:1\"\n";
        let whole = peer(&format!("{here}tables = [\"*\"]"));
        let said =
            |text: &str, around: Surroundings<'_>| String::from(read(sections(text), around).unwrap_err());
        assert!(read(sections(&whole), ANY).is_ok());
        for (text, part) in [
            (peer("endpoint = \"http://eu.example\"\ntables = [\"*\"]"), "https://"),
            (peer("endpoint = \"aws\"\ntables = [\"*\"]"), "https://"),
            (peer(here), "names no tables"),
            (peer(&format!("{here}tables = [\"a*b\"]")), "is no name"),
            (peer(&format!("{here}tables = [\"*\"]\naccount = \"1\"")), "leave out account"),
            (format!("{whole}{whole}"), "two sections"),
            (whole.replace("eu-west-1", "eu-wset-1"), "none with global tables"),
            (peer("endpoint = \"http://localhost:8000\"\ntables = [\"*\"]"), "this server itself"),
            (peer("endpoint = \"https://[::1]:8000\"\ntables = [\"*\"]"), "this server itself"),
        ] {
            let said = said(&text, ANY);
            assert!(said.contains(part), "{text}: {said}");
        }
        let anonymous = Surroundings { has_credentials: false, ..ANY };
        assert!(said(&whole, anonymous).contains("--for replication"));
    }
}
