//! `keywright global`: how far changes of tables have come to their replicas, which have lost to others, and
//! whether replicas are equal.

use clap::{Args, Subcommand};
use keywright_exchange::plain_json::write_plain;
use keywright_model::item_json::read_item;
use keywright_model::json::Json;

use super::rejoin_replicas::{self, RejoinArguments};
use super::verify_replicas::{self, VerifyArguments};
use crate::client::endpoint::{OwnCall, block_on};
use crate::client::endpoint_arguments::EndpointArguments;
use crate::client::listing::{self, Listing, counted};
use crate::data::table::explained;
use crate::http::global_tables::{CONFLICTS_OF, ELSEWHERE, ISOLATED, PATH};
use crate::http::verifications::{CONSISTENCY, STRONG};
use crate::process::failure::Failure;
use crate::process::foreign::inline;
use crate::process::timestamp;

const CALL: OwnCall = OwnCall { name: "GlobalTables", path: PATH };
/// The status of a replica of which there is nothing to say.
const ACTIVE: &str = "ACTIVE";
const NO_CONFLICTS: &str = "No change of this region has lost to a concurrent one since the server started.";
const LISTING: Listing = Listing { call: CALL, member: "tables", lines: table, none: no_tables };

/// Show how the replicas of tables stand
#[derive(Debug, Args)]
pub(crate) struct GlobalArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Status(StatusArguments),
    Conflicts(ConflictsArguments),
    Verify(VerifyArguments),
    Rejoin(RejoinArguments),
}

/// List tables with replicas: which changes wait for which region, and how long the last one took
///
/// Shows the tables of the account and region.
#[derive(Debug, Args)]
struct StatusArguments {
    /// Only this table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,
    /// Print JSON, a table in each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// List changes of a table in this region that lost to concurrent ones of other regions, the last first
///
/// The server keeps the last hundred since it started.
#[derive(Debug, Args)]
struct ConflictsArguments {
    /// The table
    table: String,
    /// Print JSON, a conflict in each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    endpoint: EndpointArguments,
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &GlobalArguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Status(arguments) => {
            LISTING.run(&arguments.endpoint, arguments.table.as_deref(), arguments.json)
        }
        Command::Conflicts(arguments) => conflicts(arguments),
        Command::Rejoin(arguments) => rejoin_replicas::run(arguments, CALL),
        Command::Verify(arguments) => verify_replicas::run(arguments, CALL),
    }
}

fn conflicts(arguments: &ConflictsArguments) -> Result<(), Failure> {
    let target = arguments.endpoint.target()?;
    let found: Result<Json, Failure> = block_on(async {
        let mut client = arguments.endpoint.connect(&target).await?;
        let body = Json::object([(CONFLICTS_OF, Json::text(&arguments.table))]);
        match client.call_again(CALL, &body).await {
            Ok(found) => Ok(found),
            Err(refusal) => Err(explained(&mut client, &arguments.table, refusal).await.into()),
        }
    });
    listing::print(&found?, "conflicts", arguments.json, conflict, NO_CONFLICTS);
    Ok(())
}

fn number(shown: &Json, name: &str) -> u64 {
    shown.get(name).and_then(Json::as_u64).unwrap_or_default()
}

fn text(shown: &Json, name: &str) -> String {
    inline(shown.str_at(name).unwrap_or_default()).into_owned()
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}

/// Said of an answer without tables.
fn no_tables(found: &Json, region: &str) -> String {
    let elsewhere = found.get(ELSEWHERE).map(Json::elements).unwrap_or_default();
    let regions: Vec<_> = elsewhere.iter().filter_map(Json::as_str).map(inline).collect();
    let none = format!("There are no tables with replicas in {}.", inline(region));
    match &*regions {
        [] => format!("{none} UpdateTable with ReplicaUpdates makes one."),
        regions => format!("{none} This server has some in {}: name one by --region.", regions.join(", ")),
    }
}

/// A table as lines for people.
fn table(table: &Json) -> Vec<String> {
    if table.str_at(CONSISTENCY) == Some(STRONG) {
        return strong(table);
    }
    let conflicts = counted(number(table, "conflicts"), "lost change");
    let mut lines = vec![format!("{} in {}  {conflicts}", text(table, "table"), text(table, "region"))];
    let replicas = table.get("replicas").map(Json::elements).unwrap_or_default();
    lines.extend(replicas.iter().flat_map(|one| {
        let error = one.str_at("error").map(|_| format!("        NOT REACHED: {}", text(one, "error")));
        std::iter::once(replica(one)).chain(error)
    }));
    lines.extend(table.get("verified").map(verified));
    lines
}

/// A strongly consistent table: no change waits for a region. A region may be cut off.
fn strong(table: &Json) -> Vec<String> {
    let replicas = table.get("replicas").map(Json::elements).unwrap_or_default();
    let regions: Vec<String> = replicas.iter().map(|replica| text(replica, "region")).collect();
    let witness = table.str_at("witness").map(|_| format!(", witness in {}", text(table, "witness")));
    let head = format!(
        "{} in {}  strongly consistent with {}{}",
        text(table, "table"),
        text(table, "region"),
        regions.join(" and "),
        witness.unwrap_or_default()
    );
    let isolated =
        std::iter::once(table).chain(replicas).filter(|one| one.get(ISOLATED) == Some(&Json::Bool(true)));
    let isolated = isolated.map(|one| {
        format!(
            "    {}: ISOLATED by the simulation: writes and strong reads fail there, other reads see what was there \
             before",
            text(one, "region")
        )
    });
    std::iter::once(head).chain(isolated).collect()
}

fn replica(replica: &Json) -> String {
    let region = text(replica, "region");
    let is_filling = replica.get("filling") == Some(&Json::Bool(true));
    let dropped = replica.get("dropped").and_then(Json::as_u64);
    let why = dropped.map_or_else(String::new, |at_ms| {
        format!(", as too many changes waited for it at {}", timestamp::of(at_ms))
    });
    if let Some(at_ms) = replica.get("lost").and_then(Json::as_u64) {
        return format!("    to {region}: lost since {}: it has to rejoin", timestamp::of(at_ms));
    }
    let place = if replica.get("remote") == Some(&Json::Bool(true)) { " on another server" } else { "" };
    let is_held = replica.get("held") == Some(&Json::Bool(true));
    let held = if is_held { ", held back by the simulation" } else { "" };
    let status = match replica.str_at("status").unwrap_or(ACTIVE) {
        ACTIVE => String::new(),
        _ => format!("{}, ", text(replica, "status")),
    };
    let state = match (is_filling, number(replica, "backlog")) {
        (true, _) => format!("{status}is being filled{why}"),
        (false, 0) => format!("{status}has everything"),
        (false, backlog) => {
            let waits = seconds(number(replica, "waits"));
            format!("{status}lacks {}, the oldest for {waits}{held}", counted(backlog, "change"))
        }
    };
    let (sent, latency) = (number(replica, "sent"), seconds(number(replica, "latency")));
    let last = if sent == 0 { String::new() } else { format!("; {sent} sent, the last took {latency}") };
    let ahead_ms = number(replica, "clock-ahead");
    let clock = match ahead_ms {
        0 => String::new(),
        _ => format!("; ITS CLOCK IS AHEAD by {} at least", seconds(ahead_ms)),
    };
    format!("    to {region}{place}: {state}{last}{clock}")
}

/// The last verification as a line for people.
fn verified(verified: &Json) -> String {
    let at = timestamp::of(number(verified, "at"));
    let [differences, undecided, uncompared] =
        ["differences", "undecided", "uncompared"].map(|name| number(verified, name));
    let found = [
        (differences, "item", "differed"),
        (undecided, "item", "not compared"),
        (uncompared, "replica", "NOT COMPARED"),
    ];
    let found: Vec<_> = found
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, what, how)| format!("{} {how}", counted(*count, what)))
        .collect();
    if found.is_empty() {
        format!("    equal, verified at {at}")
    } else {
        format!("    {} at {at}", found.join(", "))
    }
}

/// A conflict as lines for people.
fn conflict(conflict: &Json) -> Vec<String> {
    let version = |name: &str| {
        let version = conflict.get(name).cloned().unwrap_or(Json::Null);
        format!("{} at {}", text(&version, "region"), timestamp::of(number(&version, "at")))
    };
    let plain = |name: &str| {
        let item = conflict.get(name).and_then(read_item);
        item.map(|read| inline(&write_plain(&read.item, &[]).compact()).into_owned())
    };
    let is_dropped = conflict.get("dropped") == Some(&Json::Bool(true));
    let unlisted = if is_dropped { "an item that is kept no longer" } else { "a delete" };
    let lost = plain("item").unwrap_or_else(|| unlisted.to_owned());
    vec![
        format!("{}  {}", timestamp::of(number(conflict, "at")), plain("key").unwrap_or_default()),
        format!("    won:  {}", version("winner")),
        format!("    lost: {}  {lost}", version("loser")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_shows_what_each_replica_lacks() {
        let shown = |text: &str| table(&Json::parse(text).expect("JSON"));
        let lines = shown(
            r#"{"table": "T", "region": "us-east-1", "conflicts": 1, "replicas": [
            {"region": "eu-west-1", "backlog": 2, "waits": 1500, "sent": 3, "latency": 12, "filling": false},
            {"region": "eu-west-2", "backlog": 0, "sent": 0, "filling": false, "remote": true, "error": "no",
            "clock-ahead": 3600000, "status": "DELETING"},
            {"region": "eu-west-4", "backlog": 1, "waits": 0, "sent": 0, "filling": false, "held": true},
            {"region": "eu-west-3", "backlog": 0, "sent": 0, "filling": true}]}"#,
        );
        assert_eq!(
            lines,
            [
                "T in us-east-1  1 lost change",
                "    to eu-west-1: lacks 2 changes, the oldest for 1.500 s; 3 sent, the last took 0.012 s",
                "    to eu-west-2 on another server: DELETING, has everything; ITS CLOCK IS AHEAD by 3600.000 s \
                 at least",
                "        NOT REACHED: no",
                "    to eu-west-4: lacks 1 change, the oldest for 0.000 s, held back by the simulation",
                "    to eu-west-3: is being filled",
            ]
        );
    }

    #[test]
    fn a_strongly_consistent_table_shows_which_regions_are_cut_off() {
        let shown = |here: &str, there: &str| {
            let text = format!(
                r#"{{"table": "T", "region": "a", "consistency": "STRONG", "witness": "c"{here}, "replicas": [
                {{"region": "b"{there}}}]}}"#
            );
            table(&Json::parse(&text).expect("JSON"))
        };
        let head = "T in a  strongly consistent with b, witness in c";
        assert_eq!(shown("", ""), [head]);
        let isolated = r#", "isolated": true"#;
        let lines = shown("", isolated);
        assert!(lines.len() == 2 && lines[1].starts_with("    b: ISOLATED by the simulation"), "{lines:?}");
        assert!(shown(isolated, "")[1].starts_with("    a: ISOLATED"));
    }

    #[test]
    fn a_region_without_tables_names_those_that_have_some() {
        let said = |text: &str| no_tables(&Json::parse(text).expect("JSON"), "us-east-1");
        assert!(said(r#"{"tables": []}"#).contains("in us-east-1. UpdateTable"));
        let said = said(r#"{"tables": [], "elsewhere": ["eu-west-1", "eu-west-2"]}"#);
        assert!(said.ends_with("some in eu-west-1, eu-west-2: name one by --region."), "{said}");
    }

    #[test]
    fn a_conflict_shows_who_won_and_what_is_lost() {
        let shown = |item: &str| {
            let text = format!(
                r#"{{"at": 0, "key": {{"k": {{"S": "a\u001b[2J"}}}}, "item": {item},
                "winner": {{"region": "a", "at": 0}}, "loser": {{"region": "b", "at": 1}}}}"#
            );
            conflict(&Json::parse(&text).expect("JSON"))
        };
        let lines = shown(r#"{"k": {"S": "a"}, "n": {"N": "7"}}"#);
        assert!(lines[0].contains(r#"{"k":"a"#) && !lines[0].contains('\u{1b}'), "{lines:?}");
        assert!(lines[1].starts_with("    won:  a at 1970-01-01"), "{lines:?}");
        assert!(
            lines[2].starts_with("    lost: b at 1970-01-01") && lines[2].contains(r#""n":7"#),
            "{lines:?}"
        );
        assert!(shown("null")[2].ends_with("a delete"));
        assert!(shown(r#"null, "dropped": true"#)[2].ends_with("an item that is kept no longer"));
    }
}
