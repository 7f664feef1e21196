//! Which address a request came from, where proxies stand before the server.
//!
//! It does not know what the address is for.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use keywright_access::network::Network;

use crate::process::failure::Failure;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// The proxies whose word counts about where a request came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrustedProxies(Vec<Network>);

impl TrustedProxies {
    /// Parses addresses and ranges of addresses.
    pub(crate) fn new(ranges: &[String]) -> Result<Self, Failure> {
        let parsed = ranges.iter().map(|range| {
            Network::parse(range.trim()).ok_or_else(|| {
                Failure::new(format!(
                    "--trusted-proxy {range} is no range of addresses: write it as 10.0.0.0/8, or one address"
                ))
            })
        });
        Ok(Self(parsed.collect::<Result<_, _>>()?))
    }

    /// The address of a request's client: the last one in X-Forwarded-For that is not itself a trusted proxy.
    /// Anybody can write what stands before it.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer;
        if self.0.is_empty() {
            return client;
        }
        let lines: Vec<_> = headers.get_all(FORWARDED_FOR).iter().collect();
        let named = lines.iter().rev().flat_map(|line| line.to_str().unwrap_or_default().rsplit(','));
        for name in named {
            let is_trusted = self.0.iter().any(|range| range.contains(client));
            match address(name.trim()).filter(|_| is_trusted) {
                Some(address) => client = address,
                None => break,
            }
        }
        client
    }
}

/// An address, which some proxies write with a port.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &[&str], peer: &str, forwarded: &[&str]) -> String {
        let proxies: Vec<String> = proxies.iter().map(|range| (*range).to_owned()).collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        let proxies = TrustedProxies::new(&proxies).unwrap();
        proxies.client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_client_is_the_last_address_that_is_no_trusted_proxy() {
        let own = ["10.0.0.0/8", "::1"];
        assert_eq!(client(&own, "10.0.0.1", &["203.0.113.7"]), "203.0.113.7");
        assert_eq!(client(&own, "10.0.0.1", &["198.51.100.1, 203.0.113.7, 10.2.0.1"]), "203.0.113.7");
        assert_eq!(client(&own, "::1", &["198.51.100.1", "203.0.113.7:4711", "10.2.0.1"]), "203.0.113.7");
        assert_eq!(client(&own, "10.0.0.1", &["[2001:db8::5]:443"]), "2001:db8::5");
        assert_eq!(client(&own, "10.0.0.1", &["[2001:db8::5]"]), "2001:db8::5");
        assert_eq!(client(&own, "::ffff:10.0.0.1", &["203.0.113.7"]), "203.0.113.7");
    }

    #[test]
    fn nobody_else_says_where_a_request_came_from() {
        let own = ["10.0.0.0/8"];
        assert_eq!(client(&own, "203.0.113.9", &["10.0.0.5"]), "203.0.113.9", "not a proxy");
        assert_eq!(client(&[], "10.0.0.1", &["203.0.113.7"]), "10.0.0.1");
        assert_eq!(client(&own, "10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(client(&own, "10.0.0.1", &["203.0.113.7, unknown"]), "10.0.0.1");
        assert_eq!(client(&own, "10.0.0.1", &["203.0.113.7, unknown, 10.0.0.2"]), "10.0.0.2");
    }

    #[test]
    fn a_wrong_range_is_refused() {
        let refused = TrustedProxies::new(&["10.0.0.0/33".to_owned()]).unwrap_err();
        assert!(refused.to_string().starts_with("--trusted-proxy 10.0.0.0/33 is no range of addresses"));
    }
}
