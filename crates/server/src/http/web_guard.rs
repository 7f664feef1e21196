//! Decides which requests of web pages are admitted.
//!
//! The service answers every page, because it verifies every signature. Without verification any page that a
//! developer opens could read and delete the tables of this machine. So pages must come from this machine or
//! be allowed by name. Three headers decide: `Origin` names the page, `Host` is the name under which the page
//! reached the server (`hosts`), and `Sec-Fetch-Site` is the relation between the two, for requests to which
//! browsers add no `Origin`. Other programs send at most `Host`.
//!
//! It does not know which methods are guarded, nor what a request contains.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use keywright_semantics::messages::transport;

use crate::connection::hosts::{AdmittedHost, AllowedHosts, Host};
use crate::connection::request_head::{RequestHead, visible};
use crate::process::failure::Failure;

/// Admits every page.
const ANY: &str = "*";
/// The origin of pages that have none, such as local files.
const OPAQUE: &str = "null";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its page comes from another machine.
    Page,
    /// Its `Host` is not a name of this server.
    Host,
    /// It repeats one of the three headers, so it is unclear which one counts.
    Repeated,
}

impl Refusal {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Page => transport::FOREIGN_PAGE,
            Self::Host => transport::FOREIGN_HOST,
            Self::Repeated => transport::REPEATED_HEADER,
        }
    }
}

/// Which requests must have an allowed `Host`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostCheck {
    /// None: signatures are verified, and a page cannot sign.
    Nothing,
    /// Requests of browsers. Other programs use names that only their network knows, such as
    /// `http://dynamodb:8000` in a compose file.
    Browsers,
    /// All requests: a server on loopback has no other names.
    Everything,
}

impl HostCheck {
    pub(crate) const fn of(listening: IpAddr, verifies: bool) -> Self {
        match (verifies, listening.is_loopback()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Everything,
            (false, false) => Self::Browsers,
        }
    }
}

/// The checks of a request's head.
#[derive(Clone, Debug)]
pub(crate) struct WebGuard {
    origins: Origins,
    hosts: AllowedHosts,
    host_check: HostCheck,
}

impl WebGuard {
    pub(crate) const fn new(origins: Origins, hosts: AllowedHosts, host_check: HostCheck) -> Self {
        Self { origins, hosts, host_check }
    }

    /// Checks a request of a connection on which this host was admitted before, if any was.
    pub(crate) fn check(&self, head: &RequestHead<'_>, admitted: &AdmittedHost) -> Result<(), Refusal> {
        if head.repeated {
            return Err(Refusal::Repeated);
        }
        if !self.admits_host(head, admitted) {
            return Err(Refusal::Host);
        }
        if self.origins.admit(head.origin, head.fetch_site) { Ok(()) } else { Err(Refusal::Page) }
    }

    /// A request without `Host` does not come from a browser: HTTP/1.0 clients may omit it.
    fn admits_host(&self, head: &RequestHead<'_>, admitted: &AdmittedHost) -> bool {
        let from_browser = head.origin.is_some() || head.fetch_metadata;
        match (self.host_check, head.host) {
            (HostCheck::Nothing, _) => true,
            (HostCheck::Browsers, _) | (HostCheck::Everything, None) if !from_browser => true,
            (_, None) => false,
            (_, Some(host)) if admitted.is(host.as_bytes()) => true,
            (_, Some(host)) => {
                let named = visible(host).and_then(Host::of_authority);
                let is_admitted = named.is_some_and(|named| self.hosts.admit(named));
                if is_admitted {
                    admitted.note(host.as_bytes());
                }
                is_admitted
            }
        }
    }
}

/// The admitted pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origins {
    Any,
    /// Pages of this machine, and these origins.
    Local(Vec<String>),
}

impl Origins {
    /// The named origins. Without any name: all pages if signatures are verified, otherwise pages of this
    /// machine.
    pub(crate) fn new(named: &[String], verifies: bool) -> Result<Self, Failure> {
        let named =
            named.iter().map(|name| name.trim().trim_end_matches('/')).filter(|name| !name.is_empty());
        let named = named.map(named_origin).collect::<Result<Vec<_>, _>>()?;
        let any = named.iter().any(|origin| origin == ANY) || (named.is_empty() && verifies);
        Ok(if any { Self::Any } else { Self::Local(named) })
    }

    /// Browsers send the origin with every POST of a page. A request without an origin is admitted only if
    /// the user opened the address directly or the page came from this server.
    fn admit(&self, origin: Option<&HeaderValue>, fetch_site: Option<&HeaderValue>) -> bool {
        let Self::Local(named) = self else { return true };
        match origin {
            Some(origin) => visible(origin).is_some_and(|origin| {
                named.iter().any(|name| name.eq_ignore_ascii_case(origin)) || is_of_this_machine(origin)
            }),
            None => fetch_site.is_none_or(|site| site == "same-origin" || site == "none"),
        }
    }
}

/// Normalizes an origin of the settings to the form that browsers send.
fn named_origin(named: &str) -> Result<String, String> {
    if named == ANY || named == OPAQUE {
        return Ok(named.to_owned());
    }
    let fault = || {
        format!(
            "--cors-origin {named} is not an origin: write scheme://host or scheme://host:port, or * for every page"
        )
    };
    let (scheme, authority) = split_origin(named).ok_or_else(fault)?;
    if authority.is_empty() || authority.contains(|c: char| c.is_whitespace() || "/?#@\\".contains(c)) {
        return Err(fault());
    }
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    Ok(format!("{scheme}://{}", authority.strip_suffix(default_port).unwrap_or(authority)))
}

/// Whether an origin is exactly `scheme://host[:port]` and its host is this machine.
fn is_of_this_machine(origin: &str) -> bool {
    let host = split_origin(origin).and_then(|(_scheme, authority)| Host::of_authority(authority));
    host.is_some_and(Host::is_loopback)
}

/// Splits an origin into its scheme (RFC 3986) and its authority.
fn split_origin(text: &str) -> Option<(&str, &str)> {
    let (scheme, authority) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some((scheme, authority))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;
    use hyper::header::HeaderName;

    fn origins(named: &[&str], verifies: bool) -> Origins {
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        Origins::new(&named, verifies).unwrap()
    }

    fn admits(origins: &Origins, origin: &'static str) -> bool {
        origins.admit(Some(&HeaderValue::from_static(origin)), None)
    }

    #[test]
    fn without_verified_signatures_only_pages_of_this_machine_and_named_ones_are_admitted() {
        let open = origins(&["https://shop.example", "https://other.example:443/"], false);
        assert!(open.admit(None, None));
        for origin in [
            "http://localhost",
            "http://LOCALHOST:3000",
            "https://app.localhost:8443",
            "http://127.0.0.1:5173",
            "http://127.9.9.9",
            "http://[::1]:3000",
            "https://shop.example",
            "https://other.example",
        ] {
            assert!(admits(&open, origin), "{origin}");
        }
        for origin in [
            "https://evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "http://evil.example:8000",
            "http://notlocalhost",
            "https://shop.example:8443",
            "http://shop.example",
            "null",
            "",
        ] {
            assert!(!admits(&open, origin), "{origin}");
        }
    }

    #[test]
    fn a_malformed_origin_is_not_admitted() {
        let open = origins(&[], false);
        for origin in [
            "localhost",
            "//localhost",
            "://localhost",
            "1http://localhost",
            "http:/localhost",
            "http://localhost/",
            "http://localhost/path",
            "http://localhost?x",
            "http://localhost#x",
            "http://localhost.",
            "http://localhost:",
            "http://localhost:99999",
            "http://localhost:80@evil.example",
            "http://user@localhost",
            "http://localhost http://evil.example",
            "http://localhost,http://evil.example",
            " http://localhost",
            "http://::1",
            "http://[::1",
            "http://[::1]evil.example",
            "http://0.0.0.0:8000",
            "http://[::]",
            "http://0x7f.1",
            "http://evil.example://localhost",
            "http://localhost\u{e9}",
        ] {
            let value = HeaderValue::from_bytes(origin.as_bytes()).unwrap();
            assert!(!open.admit(Some(&value), None), "{origin}");
        }
    }

    #[test]
    fn verified_signatures_or_a_star_admit_every_page() {
        for origins in [origins(&[], true), origins(&[ANY], false)] {
            assert!(admits(&origins, "https://evil.example"));
        }
        let named = origins(&["https://shop.example/"], true);
        assert!(!admits(&named, "https://evil.example") && admits(&named, "https://shop.example"));
        assert_eq!(origins(&[""], true), Origins::Any);
        assert!(admits(&origins(&["null"], false), "null"));
    }

    #[test]
    fn an_invalid_named_origin_is_refused() {
        for text in
            ["shop.example", "https://", "https://shop.example/path", "https://u@shop.example", "a b://c"]
        {
            let fault = Origins::new(&[text.to_owned()], false).unwrap_err().to_string();
            assert!(fault.contains("--cors-origin"), "{text}: {fault}");
        }
    }

    /// Checks a head, given as names and values.
    fn judge(
        listening: &str,
        verifies: bool,
        headers: &[(&'static str, &'static str)],
    ) -> Result<(), Refusal> {
        let listening = listening.parse().unwrap();
        let hosts = AllowedHosts::new(listening, &["db.example".to_owned()]).unwrap();
        let guard = WebGuard::new(origins(&[], verifies), hosts, HostCheck::of(listening, verifies));
        let mut map = HeaderMap::new();
        for &(name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let (head, admitted) = (RequestHead::read(&map), AdmittedHost::default());
        let first = guard.check(&head, &admitted);
        assert_eq!(guard.check(&head, &admitted), first, "the same request again on its connection");
        first
    }

    const LOOPBACK: &str = "127.0.0.1";
    const EVERYWHERE: &str = "0.0.0.0";

    #[test]
    fn on_loopback_every_host_must_be_this_machine_or_allowed() {
        for host in ["localhost:8000", "127.0.0.1:8000", "[::1]", "db.example:80"] {
            assert_eq!(judge(LOOPBACK, false, &[("host", host)]), Ok(()), "{host}");
        }
        for host in ["evil.example:8000", "0.0.0.0:8000", "[::]:8000", "localhost:8000.evil.example", ""] {
            assert_eq!(judge(LOOPBACK, false, &[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judge(LOOPBACK, false, &[]), Ok(()));
        assert_eq!(judge(LOOPBACK, false, &[("sec-fetch-mode", "cors")]), Err(Refusal::Host));
    }

    #[test]
    fn a_host_is_admitted_by_its_own_name_on_a_connection_that_named_another() {
        let hosts = AllowedHosts::new(LOOPBACK.parse().unwrap(), &[]).unwrap();
        let guard = WebGuard::new(origins(&[], false), hosts, HostCheck::Everything);
        let admitted = AdmittedHost::default();
        for (host, outcome) in [
            ("evil.example:8000", Err(Refusal::Host)),
            ("localhost:8000", Ok(())),
            ("localhost:8000", Ok(())),
            ("evil.example:8000", Err(Refusal::Host)),
            ("localhost:8000.evil.example", Err(Refusal::Host)),
            ("127.0.0.1:8000", Ok(())),
        ] {
            let head = HeaderMap::from_iter([(hyper::header::HOST, HeaderValue::from_static(host))]);
            assert_eq!(guard.check(&RequestHead::read(&head), &admitted), outcome, "{host}");
        }
    }

    #[test]
    fn beyond_loopback_only_browsers_need_an_allowed_host() {
        let host = ("host", "dynamodb:8000");
        assert_eq!(judge(EVERYWHERE, false, &[host]), Ok(()));
        for browser in
            [("origin", "http://localhost:3000"), ("sec-fetch-site", "same-origin"), ("sec-fetch-dest", "")]
        {
            assert_eq!(judge(EVERYWHERE, false, &[host, browser]), Err(Refusal::Host), "{browser:?}");
            assert_eq!(judge(EVERYWHERE, false, &[("host", "db.example:1"), browser]), Ok(()), "{browser:?}");
        }
    }

    #[test]
    fn with_credentials_every_host_is_admitted() {
        for listening in [LOOPBACK, EVERYWHERE] {
            let headers = [
                ("host", "evil.example"),
                ("origin", "https://evil.example"),
                ("sec-fetch-site", "cross-site"),
            ];
            assert_eq!(judge(listening, true, &headers), Ok(()));
        }
    }

    #[test]
    fn requests_of_other_sites_need_an_admitted_origin() {
        let host = ("host", "localhost:8000");
        for (site, refused) in [
            ("same-origin", false),
            ("none", false),
            ("same-site", true),
            ("cross-site", true),
            ("Same-Origin", true),
            ("unheard-of", true),
            ("", true),
        ] {
            let site = ("sec-fetch-site", site);
            let outcome = if refused { Err(Refusal::Page) } else { Ok(()) };
            assert_eq!(judge(LOOPBACK, false, &[host, site]), outcome, "{site:?}");
            assert_eq!(judge(LOOPBACK, false, &[host, site, ("origin", "http://localhost:3000")]), Ok(()));
            assert_eq!(judge(LOOPBACK, false, &[host, site, ("origin", "null")]), Err(Refusal::Page));
        }
    }

    #[test]
    fn a_repeated_header_that_decides_is_refused() {
        for (name, value) in
            [("host", "localhost"), ("origin", "http://localhost"), ("sec-fetch-site", "same-origin")]
        {
            let headers = [("host", "localhost"), (name, value), (name, value)];
            let headers = if name == "host" { &headers[..2] } else { &headers[..] };
            for verifies in [false, true] {
                assert_eq!(judge(LOOPBACK, verifies, headers), Err(Refusal::Repeated), "{name}");
            }
        }
    }
}
