//! `keywright triggers`: how the triggers of an endpoint stand.

use clap::Args;
use keywright_model::json::Json;

use crate::client::endpoint::OwnCall;
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::Listing;
use crate::http::triggers::PATH;
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::timestamp;

const NONE: &str = "There are no triggers. A section [[trigger]] of the settings file has none until its table \
                    with a stream is there: the server's log says which wait.";
const LISTING: Listing = Listing {
    call: OwnCall { name: "Triggers", path: PATH },
    member: "triggers",
    lines,
    none: |_, _| NONE.to_owned(),
};

/// List triggers: what they have delivered, how far they are behind, what failed last
///
/// Shows the triggers of the account and region.
#[derive(Debug, Args)]
pub(crate) struct TriggersArguments {
    /// Only the triggers of this table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Print JSON, a trigger in each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &TriggersArguments) -> Result<(), Failure> {
    LISTING.run(&arguments.endpoint, arguments.table.as_deref(), arguments.json)
}

/// The calls of targets that are under way, of which the oldest is shown.
fn call(call: &Json) -> String {
    let number = |name: &str| call.get(name).and_then(Json::as_u64).unwrap_or_default();
    let target = inline(call.str_at("target").unwrap_or_default());
    let (since, age_ms) = (timestamp::of(number("since")), number("age"));
    let others = match number("calls") {
        0 | 1 => String::new(),
        calls => format!("; the oldest of {calls} calls"),
    };
    format!("    calls {target} since {since}, for {}.{:03} s{others}", age_ms / 1_000, age_ms % 1_000)
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
    lines.extend(trigger.get("call").map(call));
    if trigger.str_at("state") != Some("Enabled") {
        lines.push(format!("    {}", text("reason")));
    }
    if let Some(section) = trigger.str_at("section") {
        lines.push(format!("    of the section [[trigger]] {:?} of the settings file", inline(section)));
    }
    if let Some(warning) = trigger.str_at("warning") {
        lines.push(format!("    WARNING: {}", inline(warning)));
    }
    if let Some(end) = trigger.str_at("streamEnd").filter(|end| trigger.str_at("reason") != Some(*end)) {
        lines.push(format!("    PROBLEM: {}", inline(end)));
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
        let both = r#"{"triggers": [{"id": "7", "table": "T"}, {"id": "8", "table": "U"}]}"#;
        let own = crate::client::listing::of_table(&Json::parse(both).expect("JSON"), "triggers", "U");
        assert_eq!(own.compact(), r#"{"triggers":[{"id":"8","table":"U"}]}"#);
        let idle =
            r#"{"id": "7", "table": "T", "target": "f", "state": "Disabled", "reason": "User action"}"#;
        let idle = lines(&Json::parse(idle).expect("JSON"));
        let ended = r#"{"id": "7", "table": "T", "target": "f", "state": "Enabled", "section": "s",
            "warning": "archives only keys", "streamEnd": "The table of the stream was deleted"}"#;
        let ended = lines(&Json::parse(ended).expect("JSON"));
        assert_eq!(ended[2], "    of the section [[trigger]] \"s\" of the settings file");
        assert_eq!(ended[3], "    WARNING: archives only keys");
        assert_eq!(ended[4], "    PROBLEM: The table of the stream was deleted");
        assert!(idle[1].ends_with("; no record waits"));
        let calling = r#"{"target": "http://127.0.0.1:9/", "since": 1, "age": 61500, "calls": 1}"#;
        let shown = call(&Json::parse(calling).expect("JSON"));
        assert_eq!(shown, "    calls http://127.0.0.1:9/ since 1970-01-01T00:00:00.001Z, for 61.500 s");
        let several = call(&Json::parse(&calling.replace("1}", "3}")).expect("JSON"));
        assert!(several.ends_with(" s; the oldest of 3 calls"), "{several}");
        assert_eq!(idle[2], "    User action");
    }
}
