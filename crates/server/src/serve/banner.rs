//! What `keywright serve` prints once it listens: its addresses, where the data is, and a line to copy.

use std::net::SocketAddr;

use keywright_semantics::place::GLOBAL_TABLE_REGIONS;

use crate::client::listing::counted;
use crate::settings::storage::Storage;

/// The region of the line to copy, unless another server owns it.
const REGION_DEFAULT: &str = "us-east-1";

/// The studio, as the banner reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StudioLine {
    pub(crate) address: SocketAddr,
    /// The port that was wanted; another one is served if it was taken.
    pub(crate) wanted: u16,
}

/// The addresses printed once the server listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) api: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) studio: Option<StudioLine>,
    pub(crate) management: Option<SocketAddr>,
}

/// Who may send requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Those whose signature is right, as far as their policies go.
    Closed,
    /// Everyone, though the store has so many users, whom no policy judges.
    Open { users: usize },
}

impl Door {
    /// What is said of an open server whose store was closed before.
    pub(crate) fn warning(self) -> Option<String> {
        let Self::Open { users } = self else { return None };
        let users = counted(u64::try_from(users).ok().filter(|users| *users > 0)?, "user");
        Some(format!(
            "this server is open, though its store has {users}: everyone who reaches it may do everything, and no \
             policy is judged; close it with --credentials FILE or --access FILE"
        ))
    }
}

/// The region that a client tries first: one of this server, with tables if there are some.
pub(crate) fn region_to_try(with_tables: &[String], is_of_peer: impl Fn(&str) -> bool) -> &str {
    let all = GLOBAL_TABLE_REGIONS.into_iter();
    let mut preferred =
        std::iter::once(REGION_DEFAULT).chain(with_tables.iter().map(String::as_str)).chain(all);
    preferred.find(|region| !is_of_peer(region)).unwrap_or(REGION_DEFAULT)
}

/// The lines printed once the server listens.
pub(crate) fn serving(
    addresses: Addresses,
    region: &str,
    (storage, encrypted_by): (&Storage, Option<&str>),
    door: Door,
    warnings: &[String],
) -> String {
    let Addresses { api, secure, studio, management } = addresses;
    let endpoint = endpoint(api, secure);
    let studio = match studio {
        Some(StudioLine { address, wanted }) => {
            let taken = if wanted == 0 || wanted == address.port() {
                String::new()
            } else {
                format!(" (port {wanted} is taken)")
            };
            format!("{}{taken}", self::endpoint(address, secure))
        }
        None => "off".to_owned(),
    };
    let data = match storage {
        Storage::Memory => "in memory; lost when this process ends".to_owned(),
        Storage::Folder { path, .. } => {
            std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string()
        }
        Storage::Postgres { url, .. } | Storage::Tikv { url } => url.clone(),
    };
    let encryption = match (encrypted_by, storage) {
        (Some(source), Storage::Postgres { .. } | Storage::Tikv { .. }) => {
            format!("of users and policies, by {source}")
        }
        (Some(source), _) => format!("by {source}"),
        (None, Storage::Memory) => "nothing is at rest".to_owned(),
        (None, Storage::Folder { .. }) => "none".to_owned(),
        (None, Storage::Postgres { .. } | Storage::Tikv { .. }) => "that of the store".to_owned(),
    };
    let management = match management {
        Some(address) => format!("http://{}/metrics, /health/ready", shown(address)),
        None => "off".to_owned(),
    };
    let (signatures, variables) = match door {
        Door::Closed => ("verified", ""),
        Door::Open { .. } => {
            ("any well-formed one is accepted", "AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local ")
        }
    };
    let warnings: Vec<String> = warnings.iter().map(|text| format!("\n\nWARNING: {text}")).collect();
    let warning = warnings.concat();
    format!(
        "Keywright {version} serves DynamoDB\n  endpoint    {endpoint}\n  studio      {studio}\n  data        {data}\n  encryption  {encryption}\n  signatures  {signatures}\n  management  {management}{warning}\n\n\
         Try:  {variables}aws dynamodb list-tables --region {region} --endpoint-url {endpoint}\n",
        version = env!("CARGO_PKG_VERSION")
    )
}

/// The URL that a client on this machine can use.
pub(crate) fn endpoint(address: SocketAddr, secure: bool) -> String {
    let scheme = if secure { "https" } else { "http" };
    format!("{scheme}://{}", shown(address))
}

/// The address that a client on this machine can use.
fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        return format!("localhost:{}", address.port());
    }
    address.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_endpoint_folder_and_a_line_to_copy() {
        let addresses = Addresses {
            api: "127.0.0.1:8000".parse().unwrap(),
            secure: false,
            studio: Some(StudioLine { address: "127.0.0.1:40123".parse().unwrap(), wanted: 8100 }),
            management: Some("127.0.0.1:8200".parse().unwrap()),
        };
        let text = serving(
            addresses,
            "us-east-1",
            (&Storage::Memory, None),
            Door::Open { users: 0 },
            &["a fault".to_owned()],
        );
        assert!(text.contains("/health/ready\n\nWARNING: a fault\n"), "{text}");
        assert!(text.contains("studio      http://127.0.0.1:40123 (port 8100 is taken)"), "{text}");
        assert!(text.contains("encryption  nothing is at rest"), "{text}");
        assert!(text.contains("http://127.0.0.1:8000") && text.contains("http://127.0.0.1:8200/metrics"));
        assert!(
            text.contains("aws dynamodb list-tables --region us-east-1 --endpoint-url http://127.0.0.1:8000")
        );
    }

    #[test]
    fn the_line_to_copy_names_a_region_of_this_server() {
        let with_tables = ["eu-west-1".to_owned(), "us-west-2".to_owned()];
        let to_try = |of_peers: &[&str]| region_to_try(&with_tables, |region| of_peers.contains(&region));
        assert_eq!(to_try(&[]), "us-east-1");
        assert_eq!(to_try(&["us-east-1"]), "eu-west-1", "one that has tables");
        assert_eq!(to_try(&["us-east-1", "eu-west-1"]), "us-west-2");
        let without = region_to_try(&[], |region| region == "us-east-1");
        assert!(without != "us-east-1" && GLOBAL_TABLE_REGIONS.contains(&without), "{without}");
    }
}
