//! `keywright destinations`: how the Kinesis destinations of an endpoint stand.

use clap::Args;
use keywright_model::json::Json;

use crate::client::endpoint::OwnCall;
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::Listing;
use crate::http::destinations::PATH;
use crate::process::failure::Failure;
use crate::process::foreign::inline;

const NONE: &str =
    "There are no Kinesis destinations. EnableKinesisStreamingDestination makes one for a table.";
const LISTING: Listing = Listing {
    call: OwnCall { name: "Destinations", path: PATH },
    member: "destinations",
    lines,
    none: |_, _| NONE.to_owned(),
};

/// List Kinesis destinations: what they have sent, how far they are behind, why changes wait
///
/// Shows the destinations of the tables of the account and region.
#[derive(Debug, Args)]
pub(crate) struct DestinationsArguments {
    /// Only the destinations of this table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Print JSON, a destination in each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &DestinationsArguments) -> Result<(), Failure> {
    LISTING.run(&arguments.endpoint, arguments.table.as_deref(), arguments.json)
}

/// A destination as lines for people.
fn lines(destination: &Json) -> Vec<String> {
    let text = |name: &str| inline(destination.str_at(name).unwrap_or_default()).into_owned();
    let number = |name: &str| destination.get(name).and_then(Json::as_u64).unwrap_or_default();
    let lag = match number("lag-ms") {
        0 => "no change waits".to_owned(),
        ms => format!("the oldest change waits for {}.{:03} s", ms / 1_000, ms % 1_000),
    };
    let mut lines = vec![
        format!("{} to {}  {}", text("table"), text("stream"), text("status")),
        format!(
            "    delivered {}, dropped after 24 hours {}, too large {}; {lag}",
            number("delivered"),
            number("dropped"),
            number("skipped")
        ),
    ];
    for (name, what) in [("description", "PROBLEM: "), ("waits-for", "waits, and is tried again: ")] {
        if destination.str_at(name).is_some() {
            lines.push(format!("    {what}{}", text(name)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_shows_its_counts_its_lag_and_why_changes_wait() {
        let shown = |text: &str| lines(&Json::parse(text).expect("JSON"));
        let waiting = r#"{"table": "T", "stream": "arn:s", "status": "active", "delivered": 3, "dropped": 1,
            "skipped": 2, "lag-ms": 1500, "waits-for": "no answer\u001b[2J"}"#;
        let waiting = shown(waiting);
        assert_eq!(waiting[0], "T to arn:s  active");
        assert_eq!(
            waiting[1],
            "    delivered 3, dropped after 24 hours 1, too large 2; the oldest change waits for 1.500 s"
        );
        assert!(waiting[2].starts_with("    waits, and is tried again: no answer"), "{waiting:?}");
        assert!(!waiting[2].contains('\u{1b}'), "{waiting:?}");
        let failed = r#"{"table": "T", "stream": "arn:s", "status": "enable-failed", "delivered": 0,
            "dropped": 0, "skipped": 0, "lag-ms": 0, "description": "no such stream"}"#;
        let failed = shown(failed);
        assert!(failed[1].ends_with("; no change waits"));
        assert_eq!(failed[2], "    PROBLEM: no such stream");
    }
}
