//! Which web pages may use the database.
//!
//! The service allows every page, because it verifies every signature. Where nothing is verified that would let any page
//! that a developer opens read and delete the tables of this machine, so pages must be of this machine or be named.
//! Programs that are no browsers send no origin.

use std::net::IpAddr;

use hyper::header::HeaderValue;

/// Stands for every page.
const ANY: &str = "*";

/// The pages that are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origins {
    Any,
    /// Those of this machine, and the named ones.
    Local(Vec<String>),
}

impl Origins {
    /// The named origins; without a name, all pages where signatures are verified.
    pub(crate) fn new(named: Vec<String>, verifies: bool) -> Self {
        let bare = |origin: String| origin.trim().trim_end_matches('/').to_owned();
        let named: Vec<String> = named.into_iter().map(bare).filter(|origin| !origin.is_empty()).collect();
        if named.iter().any(|origin| origin == ANY) || (named.is_empty() && verifies) {
            Self::Any
        } else {
            Self::Local(named)
        }
    }

    /// Whether a request may come in. A page that gives its own name this machine's address is told by that name too:
    /// browsers send the origin with every POST.
    pub(crate) fn admit(&self, origin: Option<&HeaderValue>) -> bool {
        let Self::Local(named) = self else { return true };
        let Some(origin) = origin else { return true };
        let Ok(origin) = origin.to_str() else { return false };
        named.iter().any(|name| name.eq_ignore_ascii_case(origin)) || is_of_this_machine(origin)
    }
}

/// Whether an origin (`scheme://host:port`) is a name or address of this machine.
fn is_of_this_machine(origin: &str) -> bool {
    let Some((_scheme, authority)) = origin.split_once("://") else { return false };
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(host, _)| host);
    let host =
        bracketed.unwrap_or_else(|| authority.split(':').next().unwrap_or_default()).to_ascii_lowercase();
    let is_loopback = |address: IpAddr| address.is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(origins: &Origins, origin: &'static str) -> bool {
        origins.admit(Some(&HeaderValue::from_static(origin)))
    }

    #[test]
    fn without_verified_signatures_only_pages_of_this_machine_and_named_ones_come_in() {
        let open = Origins::new(vec!["https://shop.example".to_owned()], false);
        assert!(open.admit(None));
        for origin in [
            "http://localhost",
            "http://LOCALHOST:3000",
            "https://app.localhost:8443",
            "http://127.0.0.1:5173",
            "http://127.9.9.9",
            "http://[::1]:3000",
            "https://shop.example",
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
            "null",
            "",
        ] {
            assert!(!admits(&open, origin), "{origin}");
        }
    }

    #[test]
    fn verified_signatures_or_a_star_let_every_page_in() {
        for origins in [Origins::new(Vec::new(), true), Origins::new(vec![ANY.to_owned()], false)] {
            assert!(admits(&origins, "https://evil.example"));
        }
        let named = Origins::new(vec!["https://shop.example/".to_owned()], true);
        assert!(!admits(&named, "https://evil.example") && admits(&named, "https://shop.example"));
        assert_eq!(Origins::new(vec![String::new()], true), Origins::Any);
    }
}
