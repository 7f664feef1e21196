//! `keywright history`: the versions of one item, or the item as it was at a time.

use clap::Args;
use keywright_exchange::plain_json::write_plain;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

use super::difference::{attributes, differences};
use crate::client::endpoint::{Client, OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::key_argument;
use crate::client::time_argument::TimeArgument;
use crate::data::table::explained;
use crate::http::history::{Asked, PATH, Question, request};
use crate::process::failure::Failure;
use crate::process::{output, timestamp};

const CALL: OwnCall = OwnCall { name: "History", path: PATH };

/// Show what an item has been
///
/// Lists the versions of an item, newest first, each with the differences to the one before it. The table
/// needs point-in-time recovery, and the versions reach back as far as it does.
#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// The table
    table: String,
    /// The item's key, such as `{"pk": "a", "sk": 7}` or `{"pk": {"S": "a"}, "sk": {"N": "7"}}`
    #[arg(long, value_name = "JSON", value_parser = key_argument::key)]
    key: Item,
    /// Show the item as it was at this time only: `2026-10-06T23:16:32Z`, or so long ago: `-10m`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<TimeArgument>,
    /// Show at most so many versions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with = "at")]
    limit: u32,
    /// Print JSON: a version in each line, or the item with `--at`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// A version as the endpoint answered it.
struct Version {
    /// Milliseconds since 1970; `None` if it is older than the history.
    at_ms: Option<u64>,
    is_expiry: bool,
    item: Option<Item>,
    answered: Json,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &HistoryArguments) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        match arguments.at {
            Some(at) => show_item(&mut client, arguments, at).await,
            None => show_versions(&mut client, arguments).await,
        }
    })
}

async fn ask(client: &mut Client, question: &Question) -> Result<Json, Failure> {
    match client.call_again(CALL, &request(question)).await {
        Ok(answer) => Ok(answer),
        Err(refusal) => Err(explained(client, &question.table, refusal).await.into()),
    }
}

fn question(arguments: &HistoryArguments, of: Asked) -> Question {
    Question { table: arguments.table.clone(), key: arguments.key.clone(), of }
}

async fn show_item(
    client: &mut Client,
    arguments: &HistoryArguments,
    at: TimeArgument,
) -> Result<(), Failure> {
    let answer = ask(client, &question(arguments, Asked::At(at.0))).await?;
    let item = answer.get("item").ok_or("History: the answer has no item")?;
    match (arguments.json, read_item(item)) {
        (true, _) => output::say(&item.compact()),
        (false, Some(read)) => output::say(&write_plain(&read.item, &[]).pretty()),
        (false, None) => output::note(&format!("There was no item with this key at {}", timestamp::of(at.0))),
    }
    Ok(())
}

async fn show_versions(client: &mut Client, arguments: &HistoryArguments) -> Result<(), Failure> {
    let mut left = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    let mut before = None;
    // Of which the differences to the next are not known yet.
    let mut last: Option<Version> = None;
    loop {
        // One more, for the differences of the last one that is shown.
        let limit = left.saturating_add(1);
        let answer = ask(client, &question(arguments, Asked::Versions { before, limit })).await?;
        let versions: Option<Vec<Version>> =
            answer.get("versions").map(Json::elements).unwrap_or_default().iter().map(version).collect();
        for version in versions.ok_or("History: a version in the answer cannot be read")? {
            if let Some(newer) = last.replace(version) {
                show(&newer, last.as_ref(), arguments.json);
                left -= 1;
                if left == 0 {
                    return Ok(());
                }
            }
        }
        before = answer.str_at("before").and_then(|stamp| stamp.parse().ok());
        if before.is_none() {
            break;
        }
    }
    if let Some(oldest) = last {
        show(&oldest, None, arguments.json);
    }
    Ok(())
}

fn version(answered: &Json) -> Option<Version> {
    let item = match answered.get("item")? {
        Json::Null => None,
        item => Some(read_item(item)?.item),
    };
    let at_ms = answered.get("at").and_then(Json::as_u64);
    let is_expiry = answered.str_at("by") == Some("time to live");
    Some(Version { at_ms, is_expiry, item, answered: answered.clone() })
}

fn show(version: &Version, before: Option<&Version>, is_json: bool) {
    if is_json {
        let mut shown = version.answered.clone();
        if let Some(at_ms) = version.at_ms {
            shown.set("at", Json::text(timestamp::of(at_ms)));
        }
        output::say(&shown.compact());
        return;
    }
    for line in lines(version, before) {
        output::say(&line);
    }
}

/// A version as lines for people.
fn lines(version: &Version, before: Option<&Version>) -> Vec<String> {
    let time = version.at_ms.map(timestamp::of);
    let head = |what: &str| format!("{}  {what}", time.as_deref().unwrap_or("older than the history  "));
    let by = if version.is_expiry { "deleted by time to live" } else { "deleted" };
    let (Some(item), older) = (&version.item, before.and_then(|before| before.item.as_ref())) else {
        return vec![head(if version.at_ms.is_some() { by } else { "no item" })];
    };
    let Some(older) = older else {
        let what = if before.is_some() { "created" } else { "the item" };
        return [head(what)].into_iter().chain(attributes(item)).collect();
    };
    [head("changed")].into_iter().chain(differences(older, item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(at_ms: Option<u64>, by: &str, item: &str) -> Version {
        let mut answered = Json::object([("by", Json::text(by)), ("item", Json::parse(item).expect("JSON"))]);
        if let Some(at_ms) = at_ms {
            answered.set("at", Json::number(at_ms));
        }
        version(&answered).expect("a version")
    }

    #[test]
    fn a_version_shows_its_differences_to_the_one_before() {
        let first = of(None, "client", r#"{"pk": {"S": "a"}, "n": {"N": "1.50"}, "old": {"SS": ["x"]}}"#);
        let second = of(Some(0), "client", r#"{"pk": {"S": "a"}, "n": {"N": "2"}, "new": {"BOOL": true}}"#);
        let third = of(Some(1), "time to live", "null");
        let fourth = of(Some(2), "client", r#"{"pk": {"S": "a"}}"#);
        assert_eq!(
            lines(&second, Some(&first)),
            [
                "1970-01-01T00:00:00.000Z  changed",
                "    n: 1.5 → 2",
                "    new: added true",
                r#"    old: removed, it was {"SS":["x"]}"#,
            ]
        );
        assert_eq!(lines(&third, Some(&second)), ["1970-01-01T00:00:00.001Z  deleted by time to live"]);
        assert_eq!(lines(&fourth, Some(&third)), ["1970-01-01T00:00:00.002Z  created", r#"    pk: "a""#]);
        assert_eq!(lines(&first, None)[0], "older than the history    the item");
        assert_eq!(lines(&of(None, "", "null"), None), ["older than the history    no item"]);
    }
}
