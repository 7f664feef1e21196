//! Where triggers may send records: what the settings name. A request cannot widen it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use keywright_semantics::event_sources::target::Target;

use crate::storage::buckets::Buckets;

/// What the settings name.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    pub(crate) functions: Option<FunctionEndpoint>,
    pub(crate) hosts: Vec<AllowedHost>,
    pub(crate) buckets: Arc<Buckets>,
    /// The texts of the targets that sections of the settings file name.
    pub(crate) of_sections: BTreeSet<String>,
}

/// Where functions are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FunctionEndpoint {
    /// Without a slash at its end.
    pub(crate) url: String,
    pub(crate) keys: Option<FunctionKeys>,
}

/// What calls of functions are signed with.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FunctionKeys {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) session_token: Option<String>,
}

/// Secrets never reach a log.
impl fmt::Debug for FunctionKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FunctionKeys")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// A host to which requests may send records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedHost {
    scheme: &'static str,
    /// In lower case, without a port that the scheme has anyway.
    authority: String,
}

const SCHEMES: [(&str, &str); 2] = [("https", ":443"), ("http", ":80")];

/// A host in lower case, without the port that its scheme has anyway.
fn authority(text: &str, port: &str) -> String {
    let text = text.to_ascii_lowercase();
    text.strip_suffix(port).map_or(text.clone(), str::to_owned)
}

impl FromStr for AllowedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let target = Target::parse(&with_scheme).ok();
        let host = target.as_ref().and_then(Target::host);
        for (scheme, port) in SCHEMES {
            let rest = with_scheme.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
            if let (Some(rest), Some(host)) = (rest, host)
                && rest.trim_end_matches('/') == host
            {
                return Ok(Self { scheme, authority: authority(host, port) });
            }
        }
        Err(format!(
            "\"{text}\" is not a host: write HOST, HOST:PORT, or http://HOST:PORT if records may go in the clear"
        ))
    }
}

impl AllowedHost {
    fn admits(&self, url: &str, host: &str) -> bool {
        SCHEMES.iter().any(|(scheme, port)| {
            self.scheme == *scheme
                && url.split_once("://").is_some_and(|(named, _)| named == *scheme)
                && self.authority == authority(host, port)
        })
    }
}

impl Targets {
    /// Checks that a target may be named by a request; the fault says which setting would allow it.
    pub(crate) fn check(&self, target: &Target) -> Result<(), String> {
        match target {
            Target::Function(_) if self.functions.is_some() => Ok(()),
            Target::Function(name) => Err(format!(
                "This server calls no functions, as no endpoint of functions is set: start it with --lambda-endpoint \
                 URL, or name another target than {name}."
            )),
            Target::Http(url) => {
                let host = target.host().unwrap_or_default();
                if self.hosts.iter().any(|allowed| allowed.admits(url, host)) {
                    return Ok(());
                }
                let entry =
                    if url.starts_with("http://") { format!("http://{host}") } else { host.to_owned() };
                Err(format!(
                    "This server does not send records to {host}: add {entry} to trigger-hosts, or make a section \
                     [[trigger]] of the settings file."
                ))
            }
            Target::Bucket { bucket, .. } => {
                self.buckets.open(bucket).map(|_| ()).map_err(|fault| fault.to_string())
            }
        }
    }

    /// The same for a trigger that exists: the settings may be others than when it was made. What a section
    /// of the file names is named by the operator.
    pub(crate) fn check_kept(&self, target: &Target) -> Result<(), String> {
        let is_named = matches!(target, Target::Http(_)) && self.of_sections.contains(&target.text());
        if is_named { Ok(()) } else { self.check(target) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(hosts: &[&str]) -> Targets {
        let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
        let of_sections = BTreeSet::from(["https://of.file/".to_owned()]);
        Targets { hosts, of_sections, ..Targets::default() }
    }

    #[test]
    fn nothing_may_be_named_without_a_setting_and_the_text_names_it() {
        let none = targets(&[]);
        for (target, setting) in [
            ("f", "--lambda-endpoint"),
            ("https://a.example/x", "trigger-hosts"),
            ("s3://bucket/x", "s3-endpoint"),
        ] {
            let target = Target::parse(target).unwrap();
            assert!(none.check(&target).unwrap_err().contains(setting), "{target:?}");
        }
        let of_file = Target::parse("https://of.file/").unwrap();
        assert!(none.check(&of_file).is_err() && none.check_kept(&of_file).is_ok());
    }

    #[test]
    fn a_host_is_allowed_with_its_scheme_and_its_port() {
        let some = targets(&["Hooks.example", "other.example:8443", "http://127.0.0.1:9000"]);
        for (url, allowed) in [
            ("https://hooks.example/a?b", true),
            ("https://HOOKS.example:443/", true),
            ("https://hooks.example:444/", false),
            ("http://hooks.example/", false),
            ("https://hooks.example.evil/", false),
            ("https://other.example:8443/", true),
            ("https://other.example/", false),
            ("http://127.0.0.1:9000/x", true),
            ("http://127.0.0.1:9001/", false),
            ("https://127.0.0.1:9000/", false),
        ] {
            assert_eq!(some.check(&Target::parse(url).unwrap()).is_ok(), allowed, "{url}");
        }
        for text in ["", "https://", "https://host/path", "a b", "ftp://host"] {
            assert!(text.parse::<AllowedHost>().is_err(), "{text}");
        }
    }
}
