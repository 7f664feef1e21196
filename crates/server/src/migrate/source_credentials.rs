//! With which keys a source is reached, and in which region.

use clap::Args;

use super::side::region_of_host;
use crate::client::aws_settings::profile_keys;
use crate::client::endpoint::{Credentials, Endpoint};
use crate::client::endpoint_url;
use crate::process::failure::Failure;

/// The access key of an endpoint that verifies none.
const ANY_KEY: &str = "local";

/// Credentials and region of the source. Each falls back to the AWS variable that the target's flag reads.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(super) struct SourceCredentials {
    /// Sign requests to the source with the keys and region of this profile of the AWS CLI
    #[arg(long, value_name = "NAME", conflicts_with_all = ["from_access_key_id", "from_region"])]
    from_profile: Option<String>,
    /// Sign requests to the source with this access key; its secret and session token are read from
    /// KEYWRIGHT_FROM_SECRET_ACCESS_KEY and KEYWRIGHT_FROM_SESSION_TOKEN [default: AWS_ACCESS_KEY_ID with
    /// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN]
    #[arg(long, value_name = "ID", env = "KEYWRIGHT_FROM_ACCESS_KEY_ID")]
    from_access_key_id: Option<String>,
    /// The region of the source [default: that of the service's host, AWS_REGION, AWS_DEFAULT_REGION, or
    /// that of the profile]
    #[arg(long, value_name = "NAME", env = "KEYWRIGHT_FROM_REGION", value_parser = endpoint_url::region)]
    from_region: Option<String>,
}

impl SourceCredentials {
    pub(super) fn credentials(&self, endpoint: &Endpoint) -> Result<Credentials, Failure> {
        let of_host = || region_of_host(&endpoint.host).map(str::to_owned);
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let pair = |id: Option<String>, secret: Option<String>| match (id, secret) {
            (Some(id), Some(secret)) => Some((id, secret)),
            _ => None,
        };
        if let Some(name) = &self.from_profile {
            let own = profile_keys("--from-profile", name)?;
            let keys = pair(own.access_key_id, own.secret_access_key).ok_or_else(|| {
                Failure::new(format!("the profile {name} has no aws_access_key_id and aws_secret_access_key"))
                    .advising("name another one with --from-profile")
            })?;
            return Ok(Credentials::new(keys, own.session_token, of_host().or(own.region)));
        }
        let region = self.from_region.clone().or_else(of_host);
        if let Some(id) = &self.from_access_key_id {
            let secret = set("KEYWRIGHT_FROM_SECRET_ACCESS_KEY").ok_or_else(|| {
                Failure::new("the access key of the source has no secret")
                    .advising("set KEYWRIGHT_FROM_SECRET_ACCESS_KEY")
            })?;
            return Ok(Credentials::new((id.clone(), secret), set("KEYWRIGHT_FROM_SESSION_TOKEN"), region));
        }
        let keys = pair(set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY"));
        let keys = keys.unwrap_or_else(|| (ANY_KEY.to_owned(), ANY_KEY.to_owned()));
        Ok(Credentials::new(keys, set("AWS_SESSION_TOKEN"), region))
    }
}
