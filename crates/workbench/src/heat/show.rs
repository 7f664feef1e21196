//! The heat of keys as text, Markdown and JSON.

use super::{Exact, HotKey, Spread, Verdict, shards_for_writes};
use keywright_model::json::Json;
use keywright_semantics::share::PPM_PER_PERCENT;

/// The keys as text, the hottest first, with advice where shards do not help.
pub fn text(keys: &[HotKey]) -> String {
    let head = format!(
        "{:<24} {:<32} {:>9} {:>9} {:>9} {:>6}  {:<5} shards",
        "of", "partition key", "share", "writes/s", "reads/s", "full", ""
    );
    let mut lines = vec!["The busiest key of each, at the peak:".to_owned(), String::new(), head];
    lines.extend(keys.iter().map(line));
    let said = said(keys);
    if !said.is_empty() {
        lines.push(String::new());
        lines.extend(said);
    }
    lines.join("\n")
}

/// The keys as a Markdown table.
pub fn markdown(model: &str, keys: &[HotKey]) -> String {
    let mut lines = vec![format!("# The busiest keys of {model}, at the peak"), String::new()];
    lines.push("| of | partition key | share | writes/s | reads/s | full |  | shards |".to_owned());
    lines.push("|---|---|--:|--:|--:|--:|---|--:|".to_owned());
    for own in keys {
        let share = own.share_ppm.map_or_else(|| "unknown".to_owned(), percent);
        let known = |text: String| if own.share_ppm.is_some() { text } else { String::new() };
        lines.push(format!(
            "| {} | `{}` | {share} | {} | {} | {} | {} | {} |",
            place(own),
            own.key.replace('|', "\\|"),
            known(own.heat.write_units().to_string()),
            known(own.heat.read_units().to_string()),
            known(format!("{} %", own.heat.used_ppm() / PPM_PER_PERCENT)),
            known(verdict(own).to_owned()),
            known(shards(own)),
        ));
    }
    let said = said(keys);
    if !said.is_empty() {
        lines.push(String::new());
        lines.extend(said.iter().map(|text| format!("- {text}")));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The keys as JSON. Units are whole ones per second, rounded up; unknown values are null.
pub fn json(model: &str, keys: &[HotKey], without_rate: &[&str]) -> String {
    let key = |own: &HotKey| {
        let known = |number: u64| own.share_ppm.map_or(Json::Null, |_| Json::number(number));
        Json::object([
            ("table", Json::text(&own.table)),
            ("index", own.index.as_ref().map_or(Json::Null, Json::text)),
            ("localIndexes", Json::List(own.local.iter().map(Json::text).collect())),
            ("partitionKey", Json::text(&own.key)),
            ("entities", Json::List(own.entities.iter().map(Json::text).collect())),
            ("sharePpm", own.share_ppm.map_or(Json::Null, Json::number)),
            ("writeUnits", known(own.heat.write_units())),
            ("readUnits", known(own.heat.read_units())),
            ("usedPpm", known(own.heat.used_ppm())),
            ("verdict", own.share_ppm.map_or(Json::Null, |_| Json::text(verdict(own).to_lowercase()))),
            ("shards", Json::number(own.shards)),
            ("shardsNeeded", known(own.needed)),
            ("shardsToCool", own.needed_to_cool.map_or(Json::Null, known)),
            ("shardsHelp", own.share_ppm.map_or(Json::Null, |_| Json::Bool(!own.is_read_too_much()))),
        ])
    };
    let document = Json::object([
        ("model", Json::text(model)),
        ("keys", Json::List(keys.iter().map(key).collect())),
        ("notes", Json::List(said(keys).iter().map(Json::text).collect())),
        ("withoutRate", Json::List(without_rate.iter().map(|id| Json::text(*id)).collect())),
    ]);
    document.pretty()
}

/// The shards that a rate of writes to one key needs, in a sentence.
pub fn of_writes(units_per_second: u64) -> String {
    let shards = shards_for_writes(units_per_second);
    let (needs, units) = if units_per_second == 1 { ("needs", "unit") } else { ("need", "units") };
    let noun = if shards == 1 { "shard" } else { "shards" };
    format!("{units_per_second} write {units} a second on one key {needs} {shards} {noun}.")
}

/// The same as JSON.
pub fn of_writes_json(units_per_second: u64) -> String {
    let shards = Json::number(shards_for_writes(units_per_second));
    Json::object([("writeUnits", Json::number(units_per_second)), ("shardsNeeded", shards)]).pretty()
}

fn place(own: &HotKey) -> String {
    own.index.as_ref().map_or_else(|| own.table.clone(), |index| format!("{}.{index}", own.table))
}

fn verdict(own: &HotKey) -> &'static str {
    match own.heat.verdict() {
        Verdict::Cool => "cool",
        Verdict::Warm => "warm",
        Verdict::Hot => "HOT",
    }
}

fn shards(own: &HotKey) -> String {
    if own.heat.verdict() == Verdict::Cool || own.is_read_too_much() {
        own.shards.to_string()
    } else {
        format!("{}, needs {}", own.shards, own.needed_to_cool.unwrap_or(own.needed))
    }
}

fn line(own: &HotKey) -> String {
    let place = place(own);
    let Some(share) = own.share_ppm else {
        return format!("{place:<24} {:<32} {:>9}", own.key, "unknown");
    };
    format!(
        "{place:<24} {:<32} {:>9} {:>9} {:>9} {:>5}%  {:<5} {}",
        own.key,
        percent(share),
        own.heat.write_units(),
        own.heat.read_units(),
        own.heat.used_ppm() / PPM_PER_PERCENT,
        verdict(own),
        shards(own)
    )
}

/// Remarks that the numbers do not show by themselves.
fn said(keys: &[HotKey]) -> Vec<String> {
    let read = keys.iter().filter(|own| own.share_ppm.is_some() && own.is_read_too_much()).map(|own| {
        let why = if own.spreads.iter().any(|spread| spread.written > 1) {
            "every read gathers all of them"
        } else {
            "they would spread its writes, not what reads it"
        };
        format!(
            "`{}` of {} is read too much for a partition, and more shards do not help: {why}. Put a cache in front, or keep the answer in an item of its own.",
            own.key,
            place(own)
        )
    });
    let unknown = keys.iter().filter(|own| own.share_ppm.is_none()).map(|own| {
        format!(
            "The number of values of `{}` is unknown: add `distinct` to its attributes in {}.",
            own.key,
            own.entities.join(", ")
        )
    });
    let narrow = keys.iter().filter(|own| own.share_ppm.is_some()).flat_map(|own| {
        let faults = own.spreads.iter().filter_map(Spread::fault);
        faults.map(|fault| format!("In `{}` of {}, {fault}.", own.key, place(own)))
    });
    let known = || keys.iter().filter(|own| own.share_ppm.is_some());
    let of_time = known().filter(|own| !own.of_time.is_empty() && own.heat.writes > Exact::ZERO).map(|own| {
        let names: Vec<String> = own.of_time.iter().map(|name| format!("`{name}`")).collect();
        let name = own.of_time.first().map_or("", String::as_str);
        let reads = if own.heat.reads > Exact::ZERO {
            format!(" Reads are assumed to spread over all values; if they are for the current one, add `skew: {{{name}: hottest(1)}}`.")
        } else {
            String::new()
        };
        format!(
            "All current writes have the same {} in `{}` of {} and go to one key. If {} is not the time of writing, add `skew: {{{name}: uniform}}`.{reads}",
            names.join(" and "),
            own.key,
            place(own),
            names.join(" or "),
        )
    });
    let local = known().filter(|own| !own.local.is_empty()).map(|own| {
        let (noun, are) = if own.local.len() == 1 { ("index", "is") } else { ("indexes", "are") };
        format!(
            "The local {noun} {} {are} in the partitions of {}, and in its line `{}`.",
            own.local.join(", "),
            own.table,
            own.key
        )
    });
    read.chain(narrow).chain(of_time).chain(local).chain(unknown).collect()
}

/// Parts per million as a percentage with four decimals.
fn percent(ppm: u64) -> String {
    let text = format!("{}.{:04}", ppm / PPM_PER_PERCENT, ppm % PPM_PER_PERCENT);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}
