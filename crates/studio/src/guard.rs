//! Which requests the studio admits, judged by method, path and headers alone.
//!
//! Three attacks: a page of another origin sends requests (CSRF); a page's own name points at this machine
//! (DNS rebinding), so that the browser sees one origin; a link or frame leads here. Against the first stand
//! `Origin`, `Sec-Fetch-Site` and a header that pages of other origins cannot send without a preflight, which
//! is refused; against the second the list of hosts, on every request; against the third that opening a page
//! changes nothing. It does not know sessions.

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

use keywright_connection::hosts::{AllowedHosts, Host};
use keywright_connection::request_head::visible;

/// The header with the build of the page. Only a page of this origin can send it.
pub(super) const STUDIO: HeaderName = HeaderName::from_static("x-keywright-studio");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What a path means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'p> {
    /// A call of the API, by its name.
    Api(&'p str),
    /// A file, by its path after `/assets/`.
    Asset(&'p str),
    Icon,
    Page,
}

impl<'p> Target<'p> {
    pub(super) fn of(path: &'p str) -> Self {
        match path.strip_prefix('/').unwrap_or(path).split_once('/') {
            Some(("api", name)) => Self::Api(name),
            Some(("assets", file)) => Self::Asset(file),
            _ if path == "/favicon.ico" => Self::Icon,
            _ => Self::Page,
        }
    }
}

/// The checks of a request's head.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) hosts: AllowedHosts,
    pub(super) scheme: &'static str,
}

impl Guard {
    /// Why a request is refused.
    pub(super) fn check(&self, head: &Parts, target: Target<'_>) -> Result<(), &'static str> {
        let host = single(&head.headers, &HOST)?.ok_or("the request has no Host header")?;
        if !Host::of_authority(host).is_some_and(|host| self.hosts.admit(host)) {
            return Err("this Host is not a name of this server: start it with --allowed-host NAME");
        }
        let own = format!("{}://{host}", self.scheme);
        if single(&head.headers, &ORIGIN)?.is_some_and(|origin| !origin.eq_ignore_ascii_case(&own)) {
            return Err("the request comes from a page of another origin");
        }
        let method = if matches!(target, Target::Api(_)) { Method::POST } else { Method::GET };
        if head.method != method {
            return Err("this method is not served here: pages and files by GET, the API by POST");
        }
        let site = single(&head.headers, &FETCH_SITE)?;
        match target {
            Target::Api(_) if !head.headers.contains_key(STUDIO) => {
                Err("the header x-keywright-studio is missing: the API is for the studio's own page")
            }
            Target::Api(_) | Target::Asset(_) if site.is_some_and(|site| site != "same-origin") => {
                Err("the request comes from a page of another origin")
            }
            Target::Page if site.is_some_and(is_other) && !is_navigation(&head.headers)? => {
                Err("a page of another origin may link here, and not load this")
            }
            Target::Icon if site.is_some_and(is_other) => {
                Err("the request comes from a page of another origin")
            }
            Target::Api(_) | Target::Asset(_) | Target::Page | Target::Icon => Ok(()),
        }
    }
}

fn is_other(site: &str) -> bool {
    site != "same-origin" && site != "none"
}

fn is_navigation(headers: &HeaderMap) -> Result<bool, &'static str> {
    Ok(single(headers, &FETCH_DEST)? == Some("document"))
}

/// A header's text. A header that decides must stand once and be text.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    let first: Option<&HeaderValue> = values.next();
    if values.next().is_some() {
        return Err("a header that decides about the request is repeated");
    }
    first.map(|value| visible(value).ok_or("a header that decides about the request is no text")).transpose()
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use hyper::Request;

    use super::*;

    fn judge(method: &str, path: &str, headers: &[(&'static str, &str)]) -> Result<(), &'static str> {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let hosts = AllowedHosts::new(loopback, &["db.example".to_owned()]).unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        Guard { hosts, scheme: "http" }.check(&head, Target::of(head.uri.path()))
    }

    const HERE: (&str, &str) = ("host", "localhost:8100");
    const OWN: (&str, &str) = ("x-keywright-studio", "1");

    #[test]
    fn every_path_needs_a_host_of_this_server() {
        for (method, path) in
            [("GET", "/"), ("GET", "/assets/1/app.js"), ("POST", "/api/state"), ("GET", "/favicon.ico")]
        {
            for host in ["localhost:8100", "127.0.0.1", "[::1]:9", "db.example:80"] {
                assert_eq!(judge(method, path, &[("host", host), OWN]), Ok(()), "{path} {host}");
            }
            for host in ["evil.example:8100", "0.0.0.0:8100", "localhost.evil.example", ""] {
                assert!(judge(method, path, &[("host", host), OWN]).is_err(), "{path} {host}");
                let origin = format!("http://{host}");
                assert!(judge(method, path, &[("host", host), OWN, ("origin", &origin)]).is_err());
            }
            assert!(judge(method, path, &[OWN]).is_err(), "{path} without Host");
            assert!(judge(method, path, &[HERE, HERE, OWN]).is_err(), "{path} with two");
        }
    }

    #[test]
    fn an_origin_must_be_this_scheme_and_host() {
        let of = |origin: &str| judge("POST", "/api/state", &[HERE, OWN, ("origin", origin)]);
        assert_eq!(of("http://localhost:8100"), Ok(()));
        for origin in [
            "null",
            "http://localhost:3000",
            "https://localhost:8100",
            "http://127.0.0.1:8100",
            "http://evil.example",
        ] {
            assert!(of(origin).is_err(), "{origin}");
        }
    }

    #[test]
    fn the_api_needs_its_header_post_and_the_same_origin() {
        assert!(judge("POST", "/api/state", &[HERE]).is_err());
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"] {
            assert!(judge(method, "/api/state", &[HERE, OWN]).is_err(), "{method}");
        }
        for method in ["HEAD", "OPTIONS", "POST", "PUT", "DELETE"] {
            assert!(judge(method, "/", &[HERE, OWN]).is_err(), "{method}");
        }
        for (site, admitted) in
            [("same-origin", true), ("same-site", false), ("cross-site", false), ("none", false)]
        {
            for (method, path) in [("POST", "/api/state"), ("GET", "/assets/1/app.js")] {
                let judged = judge(method, path, &[HERE, OWN, ("sec-fetch-site", site)]);
                assert_eq!(judged.is_ok(), admitted, "{path} {site}");
            }
        }
    }

    #[test]
    fn pages_can_be_linked_to_and_not_embedded() {
        let site = ("sec-fetch-site", "cross-site");
        assert_eq!(judge("GET", "/tables", &[HERE, site, ("sec-fetch-dest", "document")]), Ok(()));
        for dest in ["iframe", "script", "image", "empty"] {
            assert!(judge("GET", "/tables", &[HERE, site, ("sec-fetch-dest", dest)]).is_err(), "{dest}");
        }
        assert_eq!(judge("GET", "/tables", &[HERE, ("sec-fetch-site", "none")]), Ok(()));
    }
}
