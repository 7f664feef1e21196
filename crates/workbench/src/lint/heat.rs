//! Rules on load: L020 to L022, L025, L026.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::heat::{self, Heat, HotKey, Verdict};
use crate::model::{Entity, Index, Template};
use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

/// Fewer different partition keys are few.
const PARTITIONS_FEW: u64 = 100;
/// So many times the shards needed are too many to gather.
const SHARDS_SPARE: u64 = 4;

/// The partition keys that the file says enough of, as `heat` finds them, each with its first entity.
fn hot_keys<'a>(context: &Context<'a>) -> Vec<(HotKey, &'a Entity)> {
    let report = context.measured().map_or(context.report, |measured| &measured.report);
    let keys = heat::of_model(context.model, report).into_iter().filter(|own| own.share_ppm.is_some());
    keys.filter_map(|own| {
        let entity = context.model.entity(own.entities.first()?)?;
        Some((own, entity))
    })
    .collect()
}

fn place_of(key: &HotKey) -> String {
    key.index.as_ref().map_or_else(|| "the table".to_owned(), |index| format!("index `{index}`"))
}

fn place(index: Option<&Index>) -> String {
    index.map_or_else(|| "the table".to_owned(), |index| format!("index `{}`", index.name))
}

pub(super) fn hot(context: &Context<'_>) -> Vec<Finding> {
    loads(context, Verdict::Hot, "L021", Severity::Error)
}

pub(super) fn warm(context: &Context<'_>) -> Vec<Finding> {
    loads(context, Verdict::Warm, "L022", Severity::Warning)
}

/// Keys whose peak is judged so.
fn loads(context: &Context<'_>, verdict: Verdict, rule: &'static str, severity: Severity) -> Vec<Finding> {
    let hot = hot_keys(context).into_iter().filter(|(key, _)| key.heat.verdict() == verdict);
    hot.map(|(key, entity)| {
        let written = key.heat.is_written_more();
        let (amount, what, limit) = if written {
            (key.heat.write_units(), "write", PARTITION_WRITE_UNITS_MAX)
        } else {
            (key.heat.read_units(), "read", PARTITION_READ_UNITS_MAX)
        };
        let needed = if verdict == Verdict::Hot { key.needed } else { key.needed_to_cool() };
        let shards = needed.max(2);
        let fix = if written && key.shards >= shards {
            "shard by an attribute that is even within the key: a value of it has one shard, however often it comes".to_owned()
        } else if written {
            format!("spread it over {shards} shards: `{{…|shard({shards})}}` in the partition key, by an attribute of many values within it")
        } else {
            "put a cache in front, or keep the answer in an item of its own: shards spread writes, and every question asks all of them".to_owned()
        };
        let (names, place) = (key.entities.join(", "), place_of(&key));
        let text = format!("the hottest key of {names} in {place} takes {amount} {what} units a second at the peak; a key has {limit}");
        finding(rule, severity, entity.at, &entity.name, text, fix)
    })
    .collect()
}

pub(super) fn few_partitions(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        let Some(partitions) = context.partitions(entity, templates) else { return };
        // One key for all is rule L027; few items need few keys.
        let few = partitions < PARTITIONS_FEW
            && entity.count.is_none_or(|count| count > partitions.saturating_mul(PARTITIONS_FEW));
        if !few || templates.iter().all(Template::is_constant) {
            return;
        }
        let (rule, more) = match index {
            None => ("L020", ""),
            Some(_) => ("L026", "; writes to the table wait for the index"),
        };
        found.push(finding(
            rule,
            Severity::Warning,
            entity.at,
            &entity.name,
            format!("{} has only {partitions} partition keys in {}{more}", entity.name, place(index)),
            "combine the attribute with one of many values, or add shards and read by scatter-gather",
        ));
    });
    found
}

pub(super) fn low_cardinality(context: &Context<'_>) -> Vec<Finding> {
    few_partitions(context).into_iter().filter(|found| found.rule == "L020").collect()
}

pub(super) fn hot_index(context: &Context<'_>) -> Vec<Finding> {
    few_partitions(context).into_iter().filter(|found| found.rule == "L026").collect()
}

pub(super) fn shard_count(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        for fault in heat::spreads(context.model, entity, templates).iter().filter_map(heat::Spread::fault) {
            found.push(finding(
                "L025",
                Severity::Warning,
                entity.at,
                &entity.name,
                format!("{} in {}: {fault}", entity.name, place(index)),
                "shard by an attribute that differs among the items of one key, such as their id",
            ));
        }
    });
    for (key, entity) in hot_keys(context) {
        let narrow = key.spreads.iter().any(|spread| spread.fault().is_some());
        if key.shards <= 1 || narrow {
            continue;
        }
        let (shards, needed) = (key.shards, key.needed);
        let writes = Heat { read_micro_halves: 0, ..key.heat };
        let (severity, more) = if writes.verdict() == Verdict::Hot {
            (Severity::Warning, "")
        } else if key.heat.write_units() > 0 && shards > needed.saturating_mul(SHARDS_SPARE) {
            (Severity::Note, ": every question asks all of them")
        } else {
            continue;
        };
        let text = format!(
            "{} has {shards} shards in {} and needs {needed}{more}",
            key.entities.join(", "),
            place_of(&key)
        );
        found.push(finding(
            "L025",
            severity,
            entity.at,
            &entity.name,
            text,
            format!("write `shard({needed})`"),
        ));
    }
    found
}
