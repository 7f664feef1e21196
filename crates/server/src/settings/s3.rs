//! How a store of buckets is reached.
//!
//! Without an endpoint nothing is sent anywhere, and no variable of AWS is read.

use clap::Args;
use hyper::Uri;
use keywright_objects::{S3Keys, S3Settings};

use crate::connection::hosts::Host;
use crate::process::failure::Failure;

/// The endpoint of AWS itself.
pub(super) const AWS: &str = "aws";
const REGION_DEFAULT: &str = "us-east-1";
/// What AWS tells the workloads of a container service or a cluster about their role.
const ROLE_VARIABLES: [&str; 6] = [
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// How to reach places `s3://BUCKET/PREFIX`. The secret and a session token are read from
/// `KEYWRIGHT_S3_SECRET_ACCESS_KEY` and `KEYWRIGHT_S3_SESSION_TOKEN`. What is not set is read from the
/// variables
/// `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(crate) struct S3Arguments {
    /// The URL of an S3-compatible store, or aws
    #[arg(long, value_name = "URL", env = "KEYWRIGHT_S3_ENDPOINT")]
    pub(crate) s3_endpoint: Option<String>,
    /// Sign requests to the store for this region [default: `AWS_REGION`, or us-east-1]
    #[arg(long, value_name = "REGION", env = "KEYWRIGHT_S3_REGION")]
    pub(crate) s3_region: Option<String>,
    /// Sign requests to the store with this access key [default: `AWS_ACCESS_KEY_ID`]
    #[arg(long, value_name = "ID", env = "KEYWRIGHT_S3_ACCESS_KEY_ID")]
    pub(crate) s3_access_key_id: Option<String>,
    /// Allow plain HTTP to the store [default: true for a store on this machine]
    #[arg(long, env = "KEYWRIGHT_S3_ALLOW_HTTP", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) s3_allow_http: Option<bool>,
    /// Put the bucket into the host name instead of the path
    #[arg(long, env = "KEYWRIGHT_S3_VIRTUAL_HOST", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) s3_virtual_host: Option<bool>,
}

/// What is never a flag.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    pub(crate) secret_access_key: Option<String>,
    pub(crate) session_token: Option<String>,
}

/// Secrets never reach a log.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets")
    }
}

pub(super) const SECRET_VARIABLE: &str = "KEYWRIGHT_S3_SECRET_ACCESS_KEY";
pub(super) const TOKEN_VARIABLE: &str = "KEYWRIGHT_S3_SESSION_TOKEN";

/// A variable of this process that is set.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What settings are called where they are written, for messages.
pub(super) struct Named {
    endpoint: &'static str,
    keys: &'static str,
    allow_http: &'static str,
}

impl Named {
    const BY_FLAGS: Self = Self {
        endpoint: "--s3-endpoint",
        keys: "set KEYWRIGHT_S3_ACCESS_KEY_ID and KEYWRIGHT_S3_SECRET_ACCESS_KEY",
        allow_http: "add --s3-allow-http",
    };
    /// Those of a section of the file.
    pub(super) const IN_SECTION: Self = Self {
        endpoint: "endpoint",
        keys: "write access-key-id and secret-access-key into the section",
        allow_http: "add allow-http = true",
    };
}

impl S3Arguments {
    /// These, and those of a file where they are not given.
    pub(crate) fn or(&self, file: Self) -> Self {
        Self {
            s3_endpoint: self.s3_endpoint.clone().or(file.s3_endpoint),
            s3_region: self.s3_region.clone().or(file.s3_region),
            s3_access_key_id: self.s3_access_key_id.clone().or(file.s3_access_key_id),
            s3_allow_http: self.s3_allow_http.or(file.s3_allow_http),
            s3_virtual_host: self.s3_virtual_host.or(file.s3_virtual_host),
        }
    }

    /// The settings of flags and of the variables of this process, which come before the secrets of a file.
    pub(crate) fn settings_or(&self, file: &Secrets) -> Result<S3Settings, Failure> {
        self.settings_with(&Named::BY_FLAGS, |name| {
            variable(name).or_else(|| match name {
                SECRET_VARIABLE => file.secret_access_key.clone(),
                TOKEN_VARIABLE => file.session_token.clone(),
                _ => None,
            })
        })
    }

    /// The settings of flags and of the variables of this process.
    pub(crate) fn settings(&self) -> Result<S3Settings, Failure> {
        self.settings_with(&Named::BY_FLAGS, variable)
    }

    /// The settings of flags, and of variables as they are given.
    pub(super) fn settings_with(
        &self,
        words: &Named,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<S3Settings, Failure> {
        let called = words.endpoint;
        let Some(named) = self.s3_endpoint.as_deref() else {
            return Err(Failure::new("no store of s3:// places is named")
                .advising("write --s3-endpoint URL, or --s3-endpoint aws"));
        };
        let is_aws = named == AWS;
        let host = if is_aws { None } else { url(called, named)?.authority().cloned() };
        let is_here =
            host.is_some_and(|host| Host::of_authority(host.as_str()).is_some_and(Host::is_loopback));
        let allow_http = self.s3_allow_http.unwrap_or(is_here);
        if named.starts_with("http://") && !allow_http {
            return Err(Failure::new(format!("{called} {named} would send everything in the clear"))
                .advising(format!("write https://, or {}", words.allow_http)));
        }
        let first = |given: Option<String>, names: &[&str]| {
            given.or_else(|| names.iter().find_map(|name| variable(name)))
        };
        let id = first(self.s3_access_key_id.clone(), &["AWS_ACCESS_KEY_ID"]);
        let secret = first(None, &[SECRET_VARIABLE, "AWS_SECRET_ACCESS_KEY"]);
        let keys = match (id, secret) {
            (Some(access_key_id), Some(secret_access_key)) => Some(S3Keys {
                access_key_id,
                secret_access_key,
                session_token: first(None, &[TOKEN_VARIABLE, "AWS_SESSION_TOKEN"]),
            }),
            // Those of a role.
            (None, None) if is_aws => None,
            _ => {
                return Err(Failure::new(format!("{called} {named} needs an access key and its secret"))
                    .advising(words.keys));
            }
        };
        let of_role = |name: &&str| Some(((*name).to_owned(), variable(name)?));
        let role =
            if keys.is_none() { ROLE_VARIABLES.iter().filter_map(of_role).collect() } else { Vec::new() };
        Ok(S3Settings {
            endpoint: (!is_aws).then(|| named.to_owned()),
            region: first(self.s3_region.clone(), &["AWS_REGION"])
                .unwrap_or_else(|| REGION_DEFAULT.to_owned()),
            keys,
            role,
            allow_http,
            virtual_host: self.s3_virtual_host.unwrap_or(false),
            behind_proxy: !is_here,
        })
    }
}

/// The URL of a store: a host, and perhaps a path.
fn url(called: &str, text: &str) -> Result<Uri, Failure> {
    let is_store = |url: &Uri| {
        matches!(url.scheme_str(), Some("http" | "https"))
            && url.query().is_none()
            && url.authority().is_some_and(|authority| Host::of_authority(authority.as_str()).is_some())
    };
    text.parse().ok().filter(is_store).ok_or_else(|| {
        // A secret that was written into it must not reach a log.
        let shown = if text.contains('@') { String::new() } else { format!(" {text:?}") };
        Failure::new(format!("{called}{shown} is not the URL of a store"))
            .advising("write http://HOST:PORT, https://HOST or aws")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", "secret");

    fn settings(endpoint: &str, variables: &[(&str, &str)]) -> Result<S3Settings, String> {
        let arguments = S3Arguments {
            s3_endpoint: (!endpoint.is_empty()).then(|| endpoint.to_owned()),
            ..S3Arguments::default()
        };
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        arguments.settings_with(&Named::BY_FLAGS, variable).map_err(String::from)
    }

    #[test]
    fn keys_and_region_come_from_our_variables_before_those_of_aws() {
        let aws =
            [("AWS_ACCESS_KEY_ID", "AK"), SECRET, ("AWS_REGION", "eu-west-1"), ("AWS_SESSION_TOKEN", "t")];
        let found = settings("http://127.0.0.1:9000", &aws).unwrap();
        let keys = found.keys.unwrap();
        assert_eq!((keys.access_key_id.as_str(), keys.secret_access_key.as_str()), ("AK", "secret"));
        assert_eq!((keys.session_token.as_deref(), found.region.as_str()), (Some("t"), "eu-west-1"));
        assert!(found.allow_http && !found.virtual_host && !found.behind_proxy);
        assert_eq!(found.endpoint.as_deref(), Some("http://127.0.0.1:9000"));

        let ours = [&aws[..], &[("KEYWRIGHT_S3_SECRET_ACCESS_KEY", "own")]].concat();
        assert_eq!(settings("https://s3.example", &ours).unwrap().keys.unwrap().secret_access_key, "own");
    }

    #[test]
    fn what_is_missing_is_named_and_no_role_is_asked_for_beyond_aws() {
        let key = ("AWS_ACCESS_KEY_ID", "AK");
        for (endpoint, variables, part) in [
            ("", &[key, SECRET][..], "--s3-endpoint URL"),
            ("s3.example", &[key, SECRET], "is not the URL of a store"),
            ("https://s3.example?a", &[key, SECRET], "is not the URL of a store"),
            ("https://id:secret@s3.example", &[key, SECRET], "--s3-endpoint is not the URL of a store"),
            ("http://s3.example", &[key, SECRET], "in the clear"),
            ("http://localhost.example", &[key, SECRET], "in the clear"),
            ("https://s3.example", &[], "KEYWRIGHT_S3_SECRET_ACCESS_KEY"),
            ("https://s3.example", &[key], "KEYWRIGHT_S3_SECRET_ACCESS_KEY"),
            ("aws", &[SECRET], "needs an access key"),
        ] {
            let said = settings(endpoint, variables).unwrap_err();
            assert!(said.contains(part), "{endpoint}: {said}");
        }
        let far = settings("https://s3.example", &[key, SECRET]).unwrap();
        assert!(far.behind_proxy && !far.allow_http);
        let of_role = settings("aws", &[]).unwrap();
        assert_eq!((of_role.endpoint, of_role.keys, of_role.region.as_str()), (None, None, "us-east-1"));
    }
}
