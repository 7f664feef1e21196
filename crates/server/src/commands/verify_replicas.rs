//! `keywright global verify`: whether the replicas of a table have what it has.

use std::time::Duration;

use clap::Args;
use keywright_exchange::plain_json::write_plain;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;

use crate::client::endpoint::{Client, OwnCall, Refusal, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::counted;
use crate::client::progress::StatusLine;
use crate::data::table::explained;
use crate::http::verifications::{CONSISTENCY, SHOWS, STRONG, request};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::{output, timestamp};

/// The time between two looks at a verification.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Compare a table in this region with its replicas, item by item, and list the keys that differ
///
/// Works while clients write. Ends with status 1 if items differ for good, or changes did not arrive within a
/// minute.
#[derive(Debug, Args)]
pub(super) struct VerifyArguments {
    /// The table
    table: String,
    /// Send the later version of each item that differs to the replicas that lack it
    #[arg(long)]
    repair: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

pub(super) fn run(arguments: &VerifyArguments, call: OwnCall) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    let ended: Result<Json, Failure> = block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        match ended(&mut client, call, arguments).await {
            Ok(found) => Ok(found),
            Err(refusal) => Err(explained(&mut client, &arguments.table, refusal).await.into()),
        }
    });
    let ended = ended?;
    if arguments.json {
        output::say(&ended.compact());
    } else {
        for line in lines(&ended) {
            output::say(&line);
        }
    }
    match ended.str_at("verdict") {
        Some("differs") => {
            let failure = Failure::new("the replicas differ");
            let hint =
                "look at what is listed, then let `keywright global verify --repair` send the later versions";
            Err(if arguments.repair { failure } else { failure.advising(hint) })
        }
        Some("undecided") => {
            let failure = Failure::new(
                "not all items are compared: changes did not arrive in a minute, or a replica is lost or not reached",
            );
            Err(failure.advising("look at `keywright global status`, and verify again later"))
        }
        _ => Ok(()),
    }
}

/// Begins a verification and waits for its end.
async fn ended(client: &mut Client, call: OwnCall, arguments: &VerifyArguments) -> Result<Json, Refusal> {
    let shown = client.call_again(call, &request(&arguments.table, arguments.repair)).await?;
    end_of(client, call, (&arguments.table, shown)).await
}

/// Waits for the end of a verification that has begun.
pub(super) async fn end_of(
    client: &mut Client,
    call: OwnCall,
    (table, begun): (&str, Json),
) -> Result<Json, Refusal> {
    let (mut shown, mut line) = (begun, StatusLine::of_short_work());
    while shown.str_at("verdict") == Some("running") {
        line.show(&progress(&shown));
        tokio::time::sleep(LOOK_EVERY).await;
        let look = Json::object([(SHOWS, Json::text(table))]);
        shown = client.call_again(call, &look).await?;
    }
    Ok(shown)
}

/// How far a verification has come, for the person who waits.
fn progress(shown: &Json) -> String {
    let replicas = shown.get("replicas").map(Json::elements).unwrap_or_default();
    // They are compared one after the other.
    let now = replicas.iter().rev().find(|one| number(one, "items") + number(one, "deleted") > 0);
    let table = text(shown, "table");
    match now.or_else(|| replicas.first()) {
        Some(now) => {
            let items = counted(number(now, "items"), "item");
            format!("{table}: {items} compared with {}", text(now, "region"))
        }
        None => table,
    }
}

fn number(shown: &Json, name: &str) -> u64 {
    shown.get(name).and_then(Json::as_u64).unwrap_or_default()
}

fn text(shown: &Json, name: &str) -> String {
    inline(shown.str_at(name).unwrap_or_default()).into_owned()
}

/// A verification as lines for people.
pub(super) fn lines(shown: &Json) -> Vec<String> {
    let here = text(shown, "region");
    let mut lines = vec![format!("{} in {here}", text(shown, "table"))];
    let begun = timestamp::of(number(shown, "begun"));
    let elements = |name: &str| shown.get(name).map(Json::elements).unwrap_or_default();
    if shown.str_at(CONSISTENCY) == Some(STRONG) {
        let same = |one: &Json| {
            format!(
                "    {}: equal: the table is strongly consistent, and has one set of rows",
                text(one, "region")
            )
        };
        lines.extend(elements("replicas").iter().map(same));
        return lines;
    }
    lines.extend(elements("replicas").iter().map(|one| replica(one, &here, &begun)));
    lines.extend(elements("differences").iter().flat_map(|one| difference(one, &here)));
    let listed = u64::try_from(elements("differences").len()).unwrap_or(u64::MAX);
    let found = |one: &Json| number(one, "differences").saturating_add(number(one, "repaired"));
    let all: u64 = elements("replicas").iter().map(found).sum();
    if all > listed {
        lines.push(format!("and {} more", all - listed));
    }
    lines
}

fn replica(replica: &Json, here: &str, begun: &str) -> String {
    let region = text(replica, "region");
    if replica.get("gone") == Some(&Json::Bool(true)) {
        return format!("    {region}: left the group");
    }
    if replica.get("lost") == Some(&Json::Bool(true)) {
        return format!("    {region}: lost, and not compared: it has to rejoin");
    }
    if replica.str_at("unreached").is_some() {
        return format!("    {region}: NOT COMPARED: {}", text(replica, "unreached"));
    }
    let count = |name: &str| number(replica, name);
    let compared = format!("{}, {}", counted(count("items"), "item"), counted(count("deleted"), "deletion"));
    let mut found = Vec::new();
    if count("differences") > 0 {
        let verb = if count("differences") == 1 { "differs" } else { "differ" };
        found.push(format!("{} {verb}", counted(count("differences"), "item")));
    }
    if count("repaired") > 0 {
        found.push(format!("{} repaired", counted(count("repaired"), "item")));
    }
    if count("undecided") > 0 {
        found.push(format!("changes of {} on their way", counted(count("undecided"), "item")));
    }
    if found.is_empty() {
        return format!("    {region}: equal up to {begun}: {compared}");
    }
    // One that only the replica has is none of them.
    format!("    {region}: {}; {here} has {compared}", found.join(", "))
}

fn difference(difference: &Json, here: &str) -> Vec<String> {
    let plain = |name: &str| {
        let item = difference.get(name).and_then(read_item);
        item.map(|read| inline(&write_plain(&read.item, &[]).compact()).into_owned())
    };
    let repaired = if difference.get("repaired") == Some(&Json::Bool(true)) { "  repaired" } else { "" };
    let key = plain("key").unwrap_or_else(|| "an item whose key cannot be read".to_owned());
    let side = |name: &str, region: &str| {
        let side = difference.get(name).cloned().unwrap_or(Json::Null);
        let version = side.str_at("region").map(|by| match number(&side, "at") {
            0 => " older than the group".to_owned(),
            at => format!(" of {} by {}", timestamp::of(at), inline(by)),
        });
        format!("    {region}: {}{}", text(&side, "has"), version.unwrap_or_default())
    };
    vec![format!("{key}{repaired}"), side("here", here), side("there", &text(difference, "region"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        lines(&Json::parse(text).expect("JSON"))
    }

    #[test]
    fn equal_replicas_are_shown_with_what_was_compared() {
        let shown = of(r#"{"table": "T", "region": "a", "begun": 0, "differences": [], "replicas": [
            {"region": "b", "items": 2, "deleted": 1, "gone": false}, {"region": "c", "gone": true}]}"#);
        let (equal, gone) = ("    b: equal up to 1970-01-01T00:00:00", "    c: left the group");
        assert_eq!(shown.len(), 3, "{shown:?}");
        assert!(shown[1].starts_with(equal) && shown[1].ends_with(": 2 items, 1 deletion"), "{shown:?}");
        assert_eq!(shown[2], gone);
    }

    #[test]
    fn a_verification_that_runs_shows_how_far_it_has_come() {
        let shown = |replicas: &str| {
            progress(&Json::parse(&format!(r#"{{"table": "T", "replicas": [{replicas}]}}"#)).expect("JSON"))
        };
        let (done, begun) =
            (r#"{"region": "b", "items": 9, "deleted": 1}"#, r#"{"region": "c", "items": 0}"#);
        assert_eq!(shown(r#"{"region": "b", "items": 0}"#), "T: 0 items compared with b");
        assert_eq!(shown(&format!("{done}, {begun}")), "T: 9 items compared with b");
        let second = begun.replace('0', "7");
        assert_eq!(shown(&format!("{done}, {second}")), "T: 7 items compared with c");
    }

    #[test]
    fn a_strongly_consistent_table_is_equal_without_a_count() {
        let shown = of(r#"{"table": "T", "region": "a", "begun": 0, "differences": [],
            "consistency": "STRONG", "replicas": [{"region": "b", "items": 0}]}"#);
        let same = "    b: equal: the table is strongly consistent, and has one set of rows";
        assert_eq!(shown, ["T in a", same]);
    }

    #[test]
    fn a_difference_shows_what_each_region_has() {
        let shown = of(r#"{"table": "T", "region": "a", "begun": 0,
            "replicas": [{"region": "b", "items": 9, "deleted": 0, "differences": 2}],
            "differences": [{"region": "b", "key": {"k": {"S": "x\u001b"}}, "repaired": false,
                "here": {"has": "item", "region": "", "at": 0}, "there": {"has": "nothing"}}]}"#);
        assert_eq!(shown[1], "    b: 2 items differ; a has 9 items, 0 deletions");
        assert!(shown[2].starts_with(r#"{"k":"x"#) && !shown[2].contains('\u{1b}'), "{shown:?}");
        assert_eq!(shown[3], "    a: item older than the group");
        assert_eq!(shown[4..], ["    b: nothing", "and 1 more"]);
    }
}
