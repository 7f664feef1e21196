//! How the command line and settings name an endpoint and a region. It does not connect.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;
use keywright_semantics::place::RegionName;

use crate::connection::hosts::Host;

/// An endpoint of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of the `host` header.
    pub(crate) authority: String,
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let help = "write http://host:port or https://host";
        let uri: Uri = text.parse().map_err(|error| format!("{error}; {help}"))?;
        let (secure, port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(help.to_owned()),
        };
        if uri.path_and_query().is_some_and(|path| path.as_str() != "/") {
            return Err(format!("an endpoint cannot have a path; {help}"));
        }
        let authority = uri.authority().ok_or(help)?;
        Ok(Self {
            secure,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(port),
            authority: authority.as_str().to_owned(),
        })
    }
}

impl Endpoint {
    /// Whether it is this machine on every machine.
    pub(crate) fn is_loopback(&self) -> bool {
        Host::of_authority(&self.authority).is_some_and(Host::is_loopback)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.authority)
    }
}

/// A region by the rule of the server.
pub(crate) fn region(text: &str) -> Result<String, String> {
    let name = RegionName::parse(text).ok_or_else(|| format!("write {}", RegionName::FORM))?;
    Ok(name.as_str().to_owned())
}
