//! Host names and addresses under which browsers may reach this server: one list for every port.
//!
//! DNS rebinding: a page points its own name at this machine's address. For the browser the page then has the
//! same origin as the database, so it sends no foreign `Origin`; only `Host` still has the page's name. This
//! module does not know which requests are checked, nor how they are refused.

use std::net::IpAddr;
use std::sync::OnceLock;

use keywright_process::failure::Failure;

/// Longer names do not exist (RFC 1035).
const NAME_BYTES_MAX: usize = 253;

/// The host of an authority, without its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host<'a> {
    /// With its original case.
    Name(&'a str),
    /// An address of either family.
    Address(IpAddr),
}

impl<'a> Host<'a> {
    /// The host of `host[:port]`, as in a `Host` header or at the end of an origin. `None` for everything
    /// else: user information, paths, blanks, trailing dots, and numbers that browsers would rewrite as
    /// addresses.
    pub fn of_authority(text: &'a str) -> Option<Self> {
        if let Some(rest) = text.strip_prefix('[') {
            let (address, port) = rest.split_once(']')?;
            let address = IpAddr::V6(address.parse().ok()?);
            return (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(Self::Address(address));
        }
        let host = match text.split_once(':') {
            None => text,
            Some((host, port)) if is_port(port) => host,
            Some(_) => return None,
        };
        match host.parse() {
            Ok(address) => Some(Self::Address(IpAddr::V4(address))),
            Err(_) => is_name(host).then_some(Self::Name(host)),
        }
    }

    /// Whether it means this machine on every machine. Most browsers also connect `0.0.0.0` and `[::]` to
    /// this machine; attacks use them and clients do not, so they must be allowed by name.
    pub fn is_loopback(self) -> bool {
        match self {
            Self::Address(address) => address.to_canonical().is_loopback(),
            Self::Name(name) => {
                name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
            }
        }
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Labels of letters, digits, hyphens and underscores, as in container names. A name whose last label is a
/// number is an address in a form that no browser sends (URL standard: "ends in a number").
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    text.len() <= NAME_BYTES_MAX && text.split('.').all(is_label) && !is_number
}

/// The `Host` that a connection's first admitted request had. Clients send the same with every request, and
/// it need not be parsed again.
#[derive(Debug, Default)]
pub struct AdmittedHost(OnceLock<Box<[u8]>>);

impl AdmittedHost {
    /// Whether it is this one.
    pub fn is(&self, host: &[u8]) -> bool {
        self.0.get().is_some_and(|first| **first == *host)
    }

    /// Notes a host that was admitted.
    pub fn note(&self, host: &[u8]) {
        self.0.get_or_init(|| host.into());
    }
}

/// Loopback, the address that the server listens on, and the hosts of `--allowed-host`. Any port is allowed,
/// because containers publish ports under other numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    names: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl AllowedHosts {
    /// The address that the server listens on, and the hosts that the user named.
    pub fn new(listening: IpAddr, named: &[String]) -> Result<Self, Failure> {
        let mut allowed = Self::default();
        if !listening.is_unspecified() {
            allowed.addresses.push(listening.to_canonical());
        }
        for name in named.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
            allowed.add(name)?;
        }
        Ok(allowed)
    }

    fn add(&mut self, named: &str) -> Result<(), Failure> {
        let bracketless = named.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(named);
        if let Ok(address) = bracketless.parse::<IpAddr>() {
            self.addresses.push(address.to_canonical());
        } else if is_name(named) {
            self.names.push(named.to_owned());
        } else {
            return Err(Failure::new(format!(
                "--allowed-host {named} is neither a host name nor an address: leave out scheme, port and path, \
                 as in --allowed-host db.example.com"
            )));
        }
        Ok(())
    }

    /// Whether requests may name this host.
    pub fn admit(&self, host: Host<'_>) -> bool {
        host.is_loopback()
            || match host {
                Host::Address(address) => self.addresses.contains(&address.to_canonical()),
                Host::Name(name) => self.names.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn admits(hosts: &AllowedHosts, text: &str) -> bool {
        Host::of_authority(text).is_some_and(|host| hosts.admit(host))
    }

    #[test]
    fn loopback_the_listening_address_and_named_hosts_are_allowed_with_any_port() {
        let named =
            ["db.example.com".to_owned(), "10.0.0.7".to_owned(), "[fd00::7]".to_owned(), " ".to_owned()];
        let hosts = AllowedHosts::new("192.168.1.5".parse().unwrap(), &named).unwrap();
        for host in [
            "localhost",
            "LocalHost:8000",
            "app.localhost:1",
            "127.0.0.1",
            "127.9.9.9:65535",
            "[::1]:8000",
            "[::ffff:127.0.0.1]",
            "192.168.1.5:8000",
            "DB.example.com:9",
            "10.0.0.7",
            "[fd00:0::7]",
        ] {
            assert!(admits(&hosts, host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example",
            "example.com",
            "a.db.example.com",
            "192.168.1.6",
            "0.0.0.0:8000",
            "[::]:8000",
            "[::ffff:0.0.0.0]",
            "dynamodb:8000",
        ] {
            assert!(!admits(&hosts, host), "{host}");
        }
        assert!(!admits(&AllowedHosts::new("0.0.0.0".parse().unwrap(), &[]).unwrap(), "0.0.0.0"));
        assert!(admits(&AllowedHosts::new(LOOPBACK, &["0.0.0.0".to_owned()]).unwrap(), "0.0.0.0:8000"));
    }

    #[test]
    fn a_text_that_is_not_host_and_port_has_no_host() {
        for text in [
            "",
            ":",
            ":80",
            "localhost:",
            "localhost:x",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost.",
            ".localhost",
            "a..localhost",
            " localhost",
            "localhost ",
            "user@localhost",
            "localhost/",
            "localhost#",
            "localhost?",
            "localhost\\",
            "localhost,localhost",
            "l\u{f6}calhost",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:",
            "[127.0.0.1]",
            "[localhost]",
            "[::1%eth0]",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "1.2.3.4.5",
            "%6cocalhost",
        ] {
            assert_eq!(Host::of_authority(text), None, "{text}");
        }
    }

    #[test]
    fn an_invalid_allowed_host_is_refused() {
        for text in ["http://db.example.com", "db.example.com:8000", "db.example.com/", "*", "a b", "db."] {
            let fault = AllowedHosts::new(LOOPBACK, &[text.to_owned()]).unwrap_err().to_string();
            assert!(fault.contains(&format!("--allowed-host {text} ")), "{fault}");
        }
    }
}
