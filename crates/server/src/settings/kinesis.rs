//! How streams of Kinesis destinations are reached.
//!
//! Without an endpoint nothing is sent anywhere, and no variable of AWS is read.

use clap::Args;

use super::service_url::ServiceUrl;
use crate::outgoing::json_service::ServiceSettings;
use crate::process::failure::Failure;

const SECRET_VARIABLE: &str = "KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY";
const TOKEN_VARIABLE: &str = "KEYWRIGHT_KINESIS_SESSION_TOKEN";

/// Kinesis destinations. docs/guide/streams-ttl.md explains them. The secret and a session token are read
/// from `KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY` and `KEYWRIGHT_KINESIS_SESSION_TOKEN`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Kinesis destinations")]
#[expect(clippy::struct_field_names, reason = "the names are those of the flags")]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct KinesisArguments {
    /// The URL of Kinesis, or aws. Without it every destination ends as ENABLE_FAILED
    #[arg(long, value_name = "URL", env = "KEYWRIGHT_KINESIS_ENDPOINT")]
    pub(crate) kinesis_endpoint: Option<String>,
    /// Sign requests to Kinesis for this region [default: the region of the stream]
    #[arg(long, value_name = "REGION", env = "KEYWRIGHT_KINESIS_REGION")]
    pub(crate) kinesis_region: Option<String>,
    /// Sign requests to Kinesis with this access key [default: AWS_ACCESS_KEY_ID]
    #[arg(long, value_name = "ID", env = "KEYWRIGHT_KINESIS_ACCESS_KEY_ID")]
    pub(crate) kinesis_access_key_id: Option<String>,
    /// Allow plain HTTP to Kinesis [default: true on this machine]
    #[arg(long, env = "KEYWRIGHT_KINESIS_ALLOW_HTTP", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub(crate) kinesis_allow_http: Option<bool>,
}

/// What the file says.
#[derive(Clone, Default)]
pub(crate) struct InFile {
    pub(crate) arguments: KinesisArguments,
    pub(crate) secret_access_key: Option<String>,
    pub(crate) session_token: Option<String>,
}

/// A flag or variable comes before the file. `None` if no endpoint is named.
pub(crate) fn merge(arguments: &KinesisArguments, file: &InFile) -> Result<Option<ServiceSettings>, Failure> {
    merge_with(arguments, file, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn merge_with(
    arguments: &KinesisArguments,
    file: &InFile,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<ServiceSettings>, Failure> {
    let in_file = &file.arguments;
    let Some(named) = arguments.kinesis_endpoint.as_ref().or(in_file.kinesis_endpoint.as_ref()) else {
        return Ok(None);
    };
    let allow_http = arguments.kinesis_allow_http.or(in_file.kinesis_allow_http);
    let ServiceUrl { endpoint, is_here } = ServiceUrl::read("--kinesis-endpoint", named, allow_http)?;
    let id = arguments.kinesis_access_key_id.clone().or_else(|| in_file.kinesis_access_key_id.clone());
    let secret = variable(SECRET_VARIABLE).or_else(|| file.secret_access_key.clone());
    let token = variable(TOKEN_VARIABLE).or_else(|| file.session_token.clone());
    let (Some(access_key_id), Some(secret_access_key)) =
        (id.or_else(|| variable("AWS_ACCESS_KEY_ID")), secret.or_else(|| variable("AWS_SECRET_ACCESS_KEY")))
    else {
        return Err(Failure::new(format!("--kinesis-endpoint {named} needs an access key and its secret"))
            .advising("set KEYWRIGHT_KINESIS_ACCESS_KEY_ID and KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY"));
    };
    Ok(Some(ServiceSettings {
        endpoint,
        region: arguments.kinesis_region.clone().or_else(|| in_file.kinesis_region.clone()),
        access_key_id,
        secret_access_key,
        session_token: token.or_else(|| variable("AWS_SESSION_TOKEN")),
        behind_proxy: !is_here,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: (&str, &str) = ("AWS_ACCESS_KEY_ID", "AK");
    const SECRET: (&str, &str) = ("AWS_SECRET_ACCESS_KEY", "secret");

    fn merged(endpoint: &str, variables: &[(&str, &str)]) -> Result<Option<ServiceSettings>, String> {
        let arguments = KinesisArguments {
            kinesis_endpoint: (!endpoint.is_empty()).then(|| endpoint.to_owned()),
            ..KinesisArguments::default()
        };
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        merge_with(&arguments, &InFile::default(), variable).map_err(String::from)
    }

    #[test]
    fn without_an_endpoint_there_is_nothing_and_keys_are_ours_before_those_of_aws() {
        assert_eq!(merged("", &[ID, SECRET]), Ok(None));
        let ours = ("KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY", "own");
        let found = merged("http://127.0.0.1:4567/", &[ID, SECRET, ours]).unwrap().unwrap();
        assert_eq!((found.access_key_id.as_str(), found.secret_access_key.as_str()), ("AK", "own"));
        assert_eq!((found.endpoint.as_deref(), found.behind_proxy), (Some("http://127.0.0.1:4567"), false));
        let aws = merged("aws", &[ID, SECRET, ("AWS_SESSION_TOKEN", "t")]).unwrap().unwrap();
        assert_eq!((aws.endpoint, aws.session_token.as_deref(), aws.behind_proxy), (None, Some("t"), true));
        assert!(!format!("{found:?}").contains("own"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (endpoint, variables, part) in [
            ("kinesis.example", &[ID, SECRET][..], "is not the URL of an endpoint"),
            ("https://kinesis.example/path", &[ID, SECRET], "is not the URL of an endpoint"),
            ("https://id:secret@kinesis.example", &[ID, SECRET], "--kinesis-endpoint is not the URL"),
            ("http://kinesis.example", &[ID, SECRET], "in the clear"),
            ("https://kinesis.example", &[ID], "KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY"),
            ("aws", &[SECRET], "needs an access key"),
        ] {
            let said = merged(endpoint, variables).unwrap_err();
            assert!(said.contains(part), "{endpoint}: {said}");
        }
    }

    #[test]
    fn a_flag_comes_before_the_file() {
        let named = |endpoint: &str, region: Option<&str>| KinesisArguments {
            kinesis_endpoint: Some(endpoint.to_owned()),
            kinesis_region: region.map(str::to_owned),
            kinesis_access_key_id: Some("AK".to_owned()),
            kinesis_allow_http: None,
        };
        let file = InFile {
            arguments: named("https://file.example", Some("eu-west-1")),
            secret_access_key: Some("s".to_owned()),
            session_token: None,
        };
        let found = merge_with(&named("https://flag.example", None), &file, |_| None).unwrap().unwrap();
        assert_eq!(found.endpoint.as_deref(), Some("https://flag.example"));
        assert_eq!((found.region.as_deref(), found.secret_access_key.as_str()), (Some("eu-west-1"), "s"));
    }
}
