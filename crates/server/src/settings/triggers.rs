//! Settings of triggers: where functions are called, to which hosts records may go, and the triggers of the
//! settings file.

use std::collections::BTreeSet;

use clap::Args;
use hyper::Uri;
use keywright_engine::TriggerSection;
use keywright_semantics::event_sources::request::{Request, Start};
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::place::{RegionName, is_account};
use keywright_wire::events::Pattern;
use serde::Deserialize;

use crate::connection::hosts::Host;
use crate::process::failure::Failure;
use crate::targets::{AllowedHost, FunctionEndpoint, FunctionKeys};

const SECRET_VARIABLE: &str = "KEYWRIGHT_LAMBDA_SECRET_ACCESS_KEY";
const TOKEN_VARIABLE: &str = "KEYWRIGHT_LAMBDA_SESSION_TOKEN";
/// A stream's ARN in which every part stands that a request needs: a section has no stream yet.
const ANY_STREAM: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/s";

/// Triggers, which send the changes of tables to functions, hosts and buckets. docs/guide/triggers.md
/// explains them. The secret and a session token are read from `KEYWRIGHT_LAMBDA_SECRET_ACCESS_KEY` and
/// `KEYWRIGHT_LAMBDA_SESSION_TOKEN`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Triggers")]
pub(crate) struct TriggerArguments {
    /// Call functions of triggers at this URL, which serves Lambda's Invoke [default: none]
    #[arg(long, value_name = "URL", env = "KEYWRIGHT_LAMBDA_ENDPOINT")]
    pub(crate) lambda_endpoint: Option<String>,
    /// Sign calls of functions with this access key [default: they are not signed]
    #[arg(long, value_name = "ID", env = "KEYWRIGHT_LAMBDA_ACCESS_KEY_ID")]
    pub(crate) lambda_access_key_id: Option<String>,
    /// Let requests make triggers that send records to this host: HOST, HOST:PORT or `http://HOST:PORT`. Can
    /// be repeated [default: none]
    #[arg(long, value_name = "HOST", env = "KEYWRIGHT_TRIGGER_HOSTS", value_delimiter = ',')]
    pub(crate) trigger_hosts: Vec<String>,
}

/// What the file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFile {
    pub(crate) lambda_endpoint: Option<String>,
    pub(crate) lambda_access_key_id: Option<String>,
    pub(crate) trigger_hosts: Vec<String>,
    pub(crate) sections: Vec<TriggerInFile>,
}

/// A section `[[trigger]]` of the file. Its members are the parameters of Lambda's operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TriggerInFile {
    name: Option<String>,
    table: String,
    target: String,
    enabled: Option<bool>,
    starting_position: Option<String>,
    batch_size: Option<i64>,
    maximum_batching_window_in_seconds: Option<i64>,
    parallelization_factor: Option<i64>,
    maximum_retry_attempts: Option<i64>,
    maximum_record_age_in_seconds: Option<i64>,
    bisect_batch_on_function_error: Option<bool>,
    report_batch_item_failures: Option<bool>,
    tumbling_window_in_seconds: Option<i64>,
    on_failure: Option<String>,
    #[serde(default)]
    filters: Vec<String>,
}

/// What one server does with triggers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Triggers {
    pub(crate) functions: Option<FunctionEndpoint>,
    pub(crate) hosts: Vec<AllowedHost>,
    pub(crate) sections: Vec<TriggerSection>,
}

/// A flag or variable comes before the file.
pub(crate) fn merge(arguments: TriggerArguments, file: InFile) -> Result<Triggers, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    merge_with(arguments, file, variable)
}

fn merge_with(
    arguments: TriggerArguments,
    file: InFile,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Triggers, Failure> {
    let id = arguments.lambda_access_key_id.or(file.lambda_access_key_id);
    let functions = match arguments.lambda_endpoint.or(file.lambda_endpoint) {
        None => None,
        Some(url) => Some(FunctionEndpoint { url: endpoint(&url)?, keys: keys(id, variable)? }),
    };
    let hosts = if arguments.trigger_hosts.is_empty() { file.trigger_hosts } else { arguments.trigger_hosts };
    let host = |host: &String| host.parse().map_err(|fault| Failure::new(format!("trigger-hosts: {fault}")));
    let sections: Vec<TriggerSection> = file.sections.iter().map(section).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = sections.iter().find(|section| !names.insert(section.name.clone())) {
        return Err(Failure::new(format!("two sections [[trigger]] have the name {:?}", twice.name))
            .advising("write name = \"…\" into one of them"));
    }
    Ok(Triggers { functions, hosts: hosts.iter().map(host).collect::<Result<_, _>>()?, sections })
}

fn keys(
    id: Option<String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<FunctionKeys>, Failure> {
    match (id, variable(SECRET_VARIABLE)) {
        (None, _) => Ok(None),
        (Some(access_key_id), Some(secret_access_key)) => Ok(Some(FunctionKeys {
            access_key_id,
            secret_access_key,
            session_token: variable(TOKEN_VARIABLE),
        })),
        (Some(_), None) => Err(Failure::new("--lambda-access-key-id needs its secret")
            .advising(format!("set {SECRET_VARIABLE}"))),
    }
}

/// The URL of functions, without a slash at its end. Plain HTTP is for this machine.
fn endpoint(text: &str) -> Result<String, Failure> {
    let wrong = || {
        // A secret that was written into it must not reach a log.
        let shown = if text.contains('@') { String::new() } else { format!(" {text:?}") };
        Failure::new(format!("--lambda-endpoint{shown} is not the URL of an endpoint"))
            .advising("write http://HOST:PORT or https://HOST")
    };
    let url: Uri = text.parse().map_err(|_| wrong())?;
    let is_http = matches!(url.scheme_str(), Some("http" | "https"));
    let host = url.authority().and_then(|authority| Host::of_authority(authority.as_str()));
    if !is_http || url.query().is_some() || host.is_none() {
        return Err(wrong());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

fn section(given: &TriggerInFile) -> Result<TriggerSection, Failure> {
    let name = given.name.clone().unwrap_or_else(|| format!("{} to {}", given.table, given.target));
    let wrong = |what: String| Failure::new(format!("the section [[trigger]] {name:?}: {what}"));
    let parts: Vec<&str> = given.table.split('/').collect();
    let (place, table) = match parts[..] {
        [table] => (None, table),
        [account, region, table] if is_account(account) && RegionName::parse(region).is_some() => {
            (Some((account.to_owned(), region.to_owned())), table)
        }
        _ => return Err(wrong(format!("table = {:?} is neither NAME nor ACCOUNT/REGION/NAME", given.table))),
    };
    let start = given.starting_position.clone().unwrap_or_else(|| Start::TrimHorizon.name().to_owned());
    let number = |number: Option<i64>| Document::maybe(number, Document::Integer);
    let flag = |flag: Option<bool>| Document::maybe(flag, Document::Bool);
    let patterns =
        given.filters.iter().map(|pattern| Document::object([("Pattern", Document::text(pattern))]));
    let types =
        given.report_batch_item_failures.unwrap_or(false).then(|| Document::text("ReportBatchItemFailures"));
    let destination = |text: &String| {
        Document::object([("OnFailure", Document::object([("Destination", Document::text(text))]))])
    };
    let body = Document::object([
        ("EventSourceArn", Document::text(ANY_STREAM)),
        ("FunctionName", Document::text(&given.target)),
        ("StartingPosition", Document::Text(start)),
        ("Enabled", flag(given.enabled)),
        ("BatchSize", number(given.batch_size)),
        ("MaximumBatchingWindowInSeconds", number(given.maximum_batching_window_in_seconds)),
        ("ParallelizationFactor", number(given.parallelization_factor)),
        ("MaximumRetryAttempts", number(given.maximum_retry_attempts)),
        ("MaximumRecordAgeInSeconds", number(given.maximum_record_age_in_seconds)),
        ("BisectBatchOnFunctionError", flag(given.bisect_batch_on_function_error)),
        ("TumblingWindowInSeconds", number(given.tumbling_window_in_seconds)),
        ("FunctionResponseTypes", Document::List(types.into_iter().collect())),
        ("DestinationConfig", Document::maybe(given.on_failure.as_ref(), destination)),
        ("FilterCriteria", Document::object([("Filters", Document::List(patterns.collect()))])),
    ]);
    let request = Request::create(&body).map_err(|fault| wrong(fault.message))?;
    let Request::Create(create) = request else { unreachable!("a request to create was read") };
    for pattern in &create.settings.filters {
        Pattern::compile(pattern).map_err(|reason| wrong(format!("a filter is not a pattern: {reason}")))?;
    }
    Ok(TriggerSection {
        name,
        place,
        table: table.to_owned(),
        start: create.start,
        is_enabled: create.is_enabled,
        settings: create.settings,
    })
}

#[cfg(test)]
mod tests {
    use keywright_semantics::event_sources::target::Target;

    use super::*;

    fn sections(text: &str) -> Result<Vec<TriggerSection>, String> {
        #[derive(Deserialize)]
        struct File {
            trigger: Vec<TriggerInFile>,
        }
        let file: File = toml::from_str(text).map_err(|fault| fault.to_string())?;
        let file = InFile { sections: file.trigger, ..InFile::default() };
        merge_with(TriggerArguments::default(), file, |_| None)
            .map(|merged| merged.sections)
            .map_err(String::from)
    }

    #[test]
    fn a_section_has_lambdas_parameters_and_begins_at_the_oldest_record() {
        let found = sections(
            "[[trigger]]\ntable = \"Orders\"\ntarget = \"s3://archive/orders\"\nbatch-size = 1000\n\
             filters = ['{\"eventName\":[\"REMOVE\"]}']\non-failure = \"s3://archive/failed\"\n",
        )
        .unwrap();
        let section = &found[0];
        assert_eq!(
            (section.name.as_str(), section.start),
            ("Orders to s3://archive/orders", Start::TrimHorizon)
        );
        assert_eq!((section.settings.batch_size, section.settings.filters.len()), (1_000, 1));
        assert_eq!(
            section.settings.on_failure.as_ref().map(Target::text).as_deref(),
            Some("s3://archive/failed")
        );
    }

    #[test]
    fn a_wrong_section_is_named_with_what_is_wrong() {
        let with = |more: &str| sections(&format!("[[trigger]]\nname = \"n\"\n{more}\n")).unwrap_err();
        for (more, part) in [
            ("table = \"a/b\"\ntarget = \"f\"", "ACCOUNT/REGION/NAME"),
            ("table = \"T\"\ntarget = \"a b\"", "is not a target"),
            ("table = \"T\"\ntarget = \"f\"\nbatch-size = 0", "batchSize"),
            ("table = \"T\"\ntarget = \"f\"\nfilters = [\"{\"]", "a filter is not a pattern"),
            ("table = \"T\"\ntarget = \"f\"\nbatchsize = 7", "batchsize"),
            (
                "table = \"T\"\ntarget = \"f\"\n[[trigger]]\nname = \"n\"\ntable = \"T\"\ntarget = \"g\"",
                "two sections",
            ),
        ] {
            let fault = with(more);
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn an_endpoint_of_functions_is_a_url_and_a_key_needs_its_secret() {
        let with = |url: &str, id: Option<&str>, secret: Option<&str>| {
            let arguments = TriggerArguments {
                lambda_endpoint: Some(url.to_owned()),
                lambda_access_key_id: id.map(str::to_owned),
                ..TriggerArguments::default()
            };
            let variable = |name: &str| (name == SECRET_VARIABLE).then_some(secret)?.map(str::to_owned);
            merge_with(arguments, InFile::default(), variable)
                .map(|merged| merged.functions)
                .map_err(String::from)
        };
        let found = with("http://127.0.0.1:9000/", Some("AK"), Some("s")).unwrap().unwrap();
        assert_eq!(found.url, "http://127.0.0.1:9000");
        assert_eq!(found.keys.unwrap().secret_access_key, "s");
        assert!(with("http://127.0.0.1:9000", Some("AK"), None).unwrap_err().contains(SECRET_VARIABLE));
        for url in ["127.0.0.1:9000", "ftp://host", "http://host?x", "https://id:secret@host"] {
            let said = with(url, None, None).unwrap_err();
            assert!(said.contains("--lambda-endpoint") && !said.contains("secret"), "{said}");
        }
    }
}
