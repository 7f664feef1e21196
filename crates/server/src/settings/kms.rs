//! How a key management service is reached.
//!
//! Without an endpoint nothing is asked anywhere, and no variable of AWS is read.

use clap::Args;

use super::service_url::ServiceUrl;
use crate::kms::Settings;
use crate::outgoing::json_service::ServiceSettings;
use crate::process::failure::Failure;

const ENDPOINT: &str = "--kms-endpoint";

/// The key management service. docs/guide/secure.md explains it. Requests are signed with the key of
/// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Key management service")]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
pub(crate) struct KmsArguments {
    /// The URL of a key management service, or aws: it is asked whether the key of a table may be used
    #[arg(long, value_name = "URL", env = "KEYWRIGHT_KMS_ENDPOINT")]
    pub(crate) kms_endpoint: Option<String>,
    /// Sign requests to it for this region [default: that of the table, or of the key's ARN; for an alias or
    /// id, that of the environment]
    #[arg(long, value_name = "REGION", env = "KEYWRIGHT_KMS_REGION")]
    pub(crate) kms_region: Option<String>,
    /// Allow plain HTTP to it [default: true on this machine]
    #[arg(long, env = "KEYWRIGHT_KMS_ALLOW_HTTP", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) kms_allow_http: Option<bool>,
}

/// A flag or variable comes before the file. `None` if no endpoint is named.
pub(crate) fn merge(arguments: KmsArguments, file: KmsArguments) -> Result<Option<Settings>, Failure> {
    merge_with(arguments, file, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn merge_with(
    arguments: KmsArguments,
    file: KmsArguments,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Settings>, Failure> {
    let region = arguments.kms_region.or(file.kms_region);
    let Some(named) = arguments.kms_endpoint.or(file.kms_endpoint) else {
        return match region {
            None => Ok(None),
            Some(_) => Err(Failure::new(format!("--kms-region needs {ENDPOINT} URL"))),
        };
    };
    let ServiceUrl { endpoint, is_here } =
        ServiceUrl::read(ENDPOINT, &named, arguments.kms_allow_http.or(file.kms_allow_http))?;
    let (Some(access_key_id), Some(secret_access_key)) =
        (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
    else {
        return Err(Failure::new(format!("{ENDPOINT} {named} needs an access key and its secret"))
            .advising("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"));
    };
    let session_token = variable("AWS_SESSION_TOKEN");
    let behind_proxy = !is_here;
    let service =
        ServiceSettings { endpoint, region, access_key_id, secret_access_key, session_token, behind_proxy };
    let region_of_names = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
    Ok(Some(Settings { service, region_of_names }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: (&str, &str) = ("AWS_ACCESS_KEY_ID", "AK");
    const SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", "secret");

    fn arguments(endpoint: &str, region: Option<&str>) -> KmsArguments {
        KmsArguments {
            kms_endpoint: (!endpoint.is_empty()).then(|| endpoint.to_owned()),
            kms_region: region.map(str::to_owned),
            kms_allow_http: None,
        }
    }

    fn merged(flags: KmsArguments, variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        merge_with(flags, arguments("", Some("eu-west-1")), variable).map_err(String::from)
    }

    #[test]
    fn a_service_needs_an_endpoint_and_a_key_for_it() {
        let none = KmsArguments::default();
        assert_eq!(merge_with(none.clone(), none, |_| None).map_err(String::from), Ok(None));
        let found = merged(arguments("http://127.0.0.1:4000/", Some("us-west-2")), &[ID, SECRET]);
        let Settings { service: found, region_of_names } = found.unwrap().unwrap();
        assert_eq!(region_of_names, None);
        assert_eq!(found.endpoint.as_deref(), Some("http://127.0.0.1:4000"));
        assert_eq!((found.region.as_deref(), found.behind_proxy), (Some("us-west-2"), false));
        let more = [ID, SECRET, ("AWS_SESSION_TOKEN", "t"), ("AWS_DEFAULT_REGION", "sa-east-1")];
        let Settings { service: aws, region_of_names } =
            merged(arguments("aws", None), &more).unwrap().unwrap();
        assert_eq!(region_of_names.as_deref(), Some("sa-east-1"));
        let both = [&more[..], &[("AWS_REGION", "ap-south-1")]].concat();
        let both = merged(arguments("aws", None), &both).unwrap().unwrap();
        assert_eq!(both.region_of_names.as_deref(), Some("ap-south-1"));
        assert_eq!((aws.endpoint, aws.region.as_deref()), (None, Some("eu-west-1")));
        assert_eq!((aws.session_token.as_deref(), aws.behind_proxy), (Some("t"), true));
        for (endpoint, variables, part) in [
            ("", &[ID, SECRET][..], "--kms-region needs --kms-endpoint URL"),
            ("kms.example", &[ID, SECRET], "--kms-endpoint \"kms.example\" is not the URL of an endpoint"),
            ("http://kms.example", &[ID, SECRET], "--kms-allow-http"),
            ("https://kms.example", &[ID], "AWS_SECRET_ACCESS_KEY"),
        ] {
            let said = merged(arguments(endpoint, None), variables).unwrap_err();
            assert!(said.contains(part), "{endpoint}: {said}");
        }
    }
}
