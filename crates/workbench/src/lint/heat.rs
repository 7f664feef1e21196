//! Rules on load: L020 to L022, L025, L026.

use super::context::{Context, finding};
use super::{Finding, Severity};
use crate::heat::{self, Heat, Verdict};
use crate::model::{Entity, Index, Template};
use keywright_semantics::limits::{PARTITION_READ_UNITS_MAX, PARTITION_WRITE_UNITS_MAX};

/// Fewer different partition keys are few.
const PARTITIONS_FEW: u64 = 100;
/// So many times the shards needed are too many to gather.
const SHARDS_SPARE: u64 = 4;

/// What the hottest key of an entity in the table or an index takes at the peak; `None` when the file does not say enough.
fn load(
    context: &Context<'_>,
    index: Option<&Index>,
    entity: &Entity,
    templates: &[Template],
) -> Option<Heat> {
    let report = context.measured().map_or(context.report, |measured| &measured.report);
    heat::load(context.model, report, index, entity, templates)
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
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        let Some(load) = load(context, index, entity, templates).filter(|load| load.verdict() == verdict)
        else {
            return;
        };
        let (amount, what, limit) = if load.is_written_more() {
            (load.write_units(), "write", PARTITION_WRITE_UNITS_MAX)
        } else {
            (load.read_units(), "read", PARTITION_READ_UNITS_MAX)
        };
        let has: u64 = templates.iter().map(|template| u64::from(template.shards())).product();
        let shards = (amount.div_ceil(limit) * has).max(2);
        let (name, place) = (&entity.name, place(index));
        found.push(finding(
            rule,
            severity,
            entity.at,
            name,
            format!("the hottest key of {name} in {place} takes {amount} {what} units a second at the peak; a key has {limit}"),
            format!("spread it over {shards} shards: `{{…|shard({shards})}}` in the partition key"),
        ));
    });
    found
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
        let shards: u64 = templates.iter().map(|template| u64::from(template.shards())).product();
        if shards <= 1 {
            return;
        }
        let Some(load) = load(context, index, entity, templates) else { return };
        // The load is per shard; rounding each shard up must not ask for more than there are.
        let needed = load.times(shards).shards();
        let writes = Heat { read_micro_halves: 0, ..load };
        if writes.verdict() == Verdict::Hot {
            found.push(finding(
                "L025",
                Severity::Warning,
                entity.at,
                &entity.name,
                format!("{} has {shards} shards in {} and needs {needed}", entity.name, place(index)),
                format!("write `shard({needed})`"),
            ));
        } else if load.write_units() > 0 && shards > needed.saturating_mul(SHARDS_SPARE) {
            found.push(finding(
                "L025",
                Severity::Note,
                entity.at,
                &entity.name,
                format!(
                    "{} has {shards} shards in {} and needs {needed}: every question asks all of them",
                    entity.name,
                    place(index)
                ),
                format!("write `shard({needed})`"),
            ));
        }
    });
    found
}
