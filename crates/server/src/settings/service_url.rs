//! The endpoint of another service that a setting names: its URL, or `aws`.

use hyper::Uri;

use crate::connection::hosts::Host;
use crate::process::failure::Failure;

/// The endpoint of AWS itself.
const AWS: &str = "aws";

/// A service that a setting names.
pub(super) struct ServiceUrl {
    /// Without a slash at its end; `None` for that of AWS.
    pub(super) endpoint: Option<String>,
    /// Whether it is on this machine.
    pub(super) is_here: bool,
}

impl ServiceUrl {
    /// Reads the value of a flag such as `--kms-endpoint`. Plain HTTP beyond this machine must be allowed.
    pub(super) fn read(flag: &str, named: &str, allow_http: Option<bool>) -> Result<Self, Failure> {
        if named == AWS {
            return Ok(Self { endpoint: None, is_here: false });
        }
        let host = url(flag, named)?.authority().cloned();
        let is_here =
            host.is_some_and(|host| Host::of_authority(host.as_str()).is_some_and(Host::is_loopback));
        if named.starts_with("http://") && !allow_http.unwrap_or(is_here) {
            let allowing = flag.replace("-endpoint", "-allow-http");
            return Err(Failure::new(format!("{flag} {named} would send everything in the clear"))
                .advising(format!("write https://, or add {allowing}")));
        }
        Ok(Self { endpoint: Some(named.trim_end_matches('/').to_owned()), is_here })
    }
}

/// The URL of an endpoint: a host and nothing behind it.
fn url(flag: &str, text: &str) -> Result<Uri, Failure> {
    let is_endpoint = |url: &Uri| {
        matches!(url.scheme_str(), Some("http" | "https"))
            && url.query().is_none()
            && matches!(url.path(), "" | "/")
            && url.authority().is_some_and(|authority| Host::of_authority(authority.as_str()).is_some())
    };
    text.parse().ok().filter(is_endpoint).ok_or_else(|| {
        // A secret that was written into it must not reach a log.
        let shown = if text.contains('@') { String::new() } else { format!(" {text:?}") };
        Failure::new(format!("{flag}{shown} is not the URL of an endpoint"))
            .advising("write http://HOST:PORT, https://HOST or aws")
    })
}
