//! Rules on load: L020 to L022, L025, L026.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::heat::{self, HotKey, Verdict};
use keywright_model::distribution::{Exact, Spread, spreads};
use keywright_model::{Entity, Index, Part, Template};
use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

/// Below this, the number of partition keys counts as few.
const PARTITIONS_FEW: u64 = 100;
/// With fewer shards than this, load is not spread.
const SHARDS_MIN: u64 = 2;
/// Above this multiple of the needed shards, gathering costs more than the shards gain.
const SHARDS_SPARE: u64 = 4;

/// The partition keys with a known load, as `heat` computes them, each with its first entity.
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

/// Findings for the keys with this verdict at the peak.
fn loads(context: &Context<'_>, verdict: Verdict, rule: &'static str, severity: Severity) -> Vec<Finding> {
    let hot = hot_keys(context).into_iter().filter(|(key, _)| key.heat.verdict() == verdict);
    hot.map(|(key, entity)| {
        let written = key.heat.is_written_more();
        let (amount, what, limit) = if written {
            (key.heat.write_units(), "write", PARTITION_WRITE_UNITS_MAX)
        } else {
            (key.heat.read_units(), "read", PARTITION_READ_UNITS_MAX)
        };
        let fix = if written { cooled(&key) } else {
            "put a cache in front, or keep the answer in an item of its own: shards spread writes, and every read gathers all of them".to_owned()
        };
        let (names, place) = (key.entities.join(", "), place_of(&key));
        let text = format!("the hottest key of {names} in {place} takes {amount} {what} units a second at the peak; one key serves {limit}");
        finding(rule, severity, entity.at, &entity.name, text, fix)
    })
    .collect()
}

/// The fix for a key with too many writes.
fn cooled(key: &HotKey) -> String {
    match key.needed_to_cool {
        Some(shards) => {
            let spread = format!("spread it over {shards} shards, each half free: `{{…|shard({shards})}}` in the partition key");
            if key.spreads.is_empty() { format!("{spread}, by an attribute of many values within it") } else { spread }
        }
        None if key.spreads.is_empty() => {
            "write to several items instead of few, such as one counter for each of many writers, and add them up: shards spread items, and the key has too few".to_owned()
        }
        None => "shard by an attribute that is even within the key: a value of it has one shard, however often it comes".to_owned(),
    }
}

pub(super) fn few_partitions(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let keys = hot_keys(context);
    context.each_partition(|table, index, entity, templates| {
        let Some(partitions) = context.partitions(entity, templates) else { return };
        // A constant key is reported by L027; few items need few keys.
        let few = partitions < PARTITIONS_FEW
            && entity.count.is_none_or(|count| count > partitions.saturating_mul(PARTITIONS_FEW));
        // A sharded key is spread already; the rules on load judge whether the shards suffice.
        let sharded = spreads(context.model, entity, templates).iter().any(|own| own.shards > 1);
        if !few || sharded || templates.iter().all(Template::is_constant) {
            return;
        }
        let here = keys.iter().find(|(key, _)| {
            key.table == table.name
                && key.index.as_ref() == index.map(|index| &index.name)
                && key.entities.contains(&entity.name)
        });
        let shards = here.and_then(|(key, _)| key.needed_to_cool).unwrap_or(1).max(SHARDS_MIN);
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
            format!("combine the attribute with one of many values, or add `{{…|shard({shards})}}` and read by scatter-gather"),
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
        for fault in spreads(context.model, entity, templates).iter().filter_map(Spread::fault) {
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
        found.extend(other_number(context, &key, entity));
    }
    found
}

/// L025: more or fewer shards than a key needs.
fn other_number(context: &Context<'_>, key: &HotKey, entity: &Entity) -> Option<Finding> {
    let (shards, needed, cool) = (key.shards, key.needed, key.needed_to_cool?);
    let spare = shards > needed.saturating_mul(SHARDS_SPARE).max(cool);
    let (severity, more) = if key.heat.writes > Exact::of(PARTITION_WRITE_UNITS_MAX) {
        (Severity::Warning, "")
    } else if key.heat.writes > Exact::ZERO && spare {
        (Severity::Note, ": every read gathers all of them")
    } else {
        return None;
    };
    let text = format!(
        "{} has {shards} shards in {} and needs {cool}{more}",
        key.entities.join(", "),
        place_of(key)
    );
    let fix = match cool {
        1 if has_many_keys_without_shards(context, key, entity) => "leave the shard out".to_owned(),
        enough => {
            let enough = enough.max(SHARDS_MIN);
            format!("write `shard({enough})`, which leaves half of each free")
        }
    };
    Some(finding("L025", severity, entity.at, &entity.name, text, fix))
}

/// Whether a key without its shards still has many values.
fn has_many_keys_without_shards(context: &Context<'_>, key: &HotKey, entity: &Entity) -> bool {
    let Some(table) = context.model.table(&key.table) else { return false };
    let parts = match key.index.as_ref().and_then(|name| table.index(name)) {
        Some(index) => index.partition.iter().collect(),
        None => vec![&table.partition],
    };
    let templates: Vec<Template> = parts.iter().filter_map(|part| entity.template(&part.name)).collect();
    let whole = |part: &Part| !matches!(part, Part::Shard { .. });
    let bare: Vec<Template> = templates
        .iter()
        .map(|own| Template { parts: own.parts.iter().filter(|part| whole(part)).cloned().collect() })
        .collect();
    !bare.iter().all(Template::is_constant)
        && context.partitions(entity, &bare).is_none_or(|partitions| partitions >= PARTITIONS_FEW)
}
