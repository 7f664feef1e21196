//! `keywright triggers`: how the triggers of an endpoint stand.

use clap::Args;
use keywright_model::json::Json;

use crate::client::aws_settings::named_endpoint;
use crate::client::endpoint::{Client, Credentials, Endpoint, OwnCall, block_on};
use crate::http::triggers::PATH;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::{output, timestamp};

const CALL: OwnCall = OwnCall { name: "Triggers", path: PATH };

/// List triggers: what they have delivered, how far they are behind, what failed last
///
/// Shows the triggers of the account and region.
#[derive(Debug, Args)]
#[expect(clippy::doc_markdown, reason = "these are texts for a terminal")]
pub(crate) struct TriggersArguments {
    /// Print JSON, a trigger in each line
    #[arg(long)]
    json: bool,
    /// The endpoint, such as `http://localhost:8000` [default: AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, or
    /// that of the profile]
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    #[command(flatten)]
    credentials: Credentials,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &TriggersArguments) -> Result<(), Failure> {
    let target = named_endpoint(arguments.endpoint.as_ref())?;
    let found = block_on(async {
        let mut client = Client::connect(&target.endpoint, &arguments.credentials).await?;
        Ok(client.call_again(CALL, &Json::Object(Vec::new())).await?)
    })?;
    let triggers = found.get("triggers").map(Json::elements).unwrap_or_default();
    for trigger in triggers {
        if arguments.json {
            output::say(&trigger.compact());
        } else {
            for line in lines(trigger) {
                output::say(&line);
            }
        }
    }
    if triggers.is_empty() && !arguments.json {
        output::note("There are no triggers.");
    }
    Ok(())
}

/// A trigger as lines for people.
fn lines(trigger: &Json) -> Vec<String> {
    let text = |name: &str| inline(trigger.str_at(name).unwrap_or_default()).into_owned();
    let number = |name: &str| trigger.get(name).and_then(Json::as_u64).unwrap_or_default();
    let mut lines =
        vec![format!("{}  {} to {}  {}", text("id"), text("table"), text("target"), text("state"))];
    let counts = ["delivered", "filtered", "discarded", "retries"];
    let counts = counts.map(|name| format!("{name} {}", number(name))).join(", ");
    let lag = match trigger.get("lag").and_then(Json::as_u64) {
        Some(ms) => format!("the oldest record waits for {}.{:03} s", ms / 1_000, ms % 1_000),
        None => "no record waits".to_owned(),
    };
    lines.push(format!("    {counts}; {lag}"));
    if trigger.str_at("state") != Some("Enabled") {
        lines.push(format!("    {}", text("reason")));
    }
    if let Some(failure) = trigger.get("failure") {
        let at = failure.get("at").and_then(Json::as_u64).map(timestamp::of).unwrap_or_default();
        let since = if matches!(failure.get("present"), Some(Json::Bool(true))) {
            "fails since"
        } else {
            "failed at"
        };
        let why = inline(failure.str_at("text").unwrap_or_default()).into_owned();
        lines.push(format!("    {since} {at}: {why}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trigger_shows_its_counts_its_lag_and_its_failure() {
        let trigger = r#"{"id": "7", "table": "T", "target": "s3://archive", "state": "Enabled", "delivered": 3,
            "filtered": 1, "discarded": 0, "retries": 2, "lag": 1500,
            "failure": {"at": 1, "text": "no such bucket", "present": true}}"#;
        assert_eq!(
            lines(&Json::parse(trigger).expect("JSON")),
            [
                "7  T to s3://archive  Enabled",
                "    delivered 3, filtered 1, discarded 0, retries 2; the oldest record waits for 1.500 s",
                "    fails since 1970-01-01T00:00:00.001Z: no such bucket",
            ]
        );
        let idle =
            r#"{"id": "7", "table": "T", "target": "f", "state": "Disabled", "reason": "User action"}"#;
        let idle = lines(&Json::parse(idle).expect("JSON"));
        assert!(idle[1].ends_with("; no record waits"));
        assert_eq!(idle[2], "    User action");
    }
}
