//! Rules on load: L020 to L022, L025, L026.

use super::context::{Context, finding, is_transaction};
use super::{Finding, Severity};
use crate::model::{Entity, Index, Pattern, Skew, Template, Write, WriteKind};
use keywright_semantics::limits::PARTITION_WRITE_UNITS_MAX;

/// Read units a partition gives in a second (developer guide: `bp-partition-key-design`).
const PARTITION_READ_UNITS_MAX: u64 = 3000;
/// Fewer different partition keys are few.
const PARTITIONS_FEW: u64 = 100;
/// So many times the shards needed are too many to gather.
const SHARDS_SPARE: u64 = 4;
/// Terms of a harmonic sum that are added one by one.
const TERMS_MAX: u64 = 100_000;
const PPM: u128 = 1_000_000;

/// What one key takes at the peak, in whole units a second, and of what kind.
struct Load {
    write: u64,
    read: u64,
}

/// The share of traffic on the hottest of a template's keys, in millionths.
fn hottest_ppm(context: &Context<'_>, entity: &Entity, templates: &[Template]) -> Option<u64> {
    if templates.iter().all(Template::is_constant) {
        return u64::try_from(PPM).ok();
    }
    let shards: u64 = templates.iter().map(|template| u64::from(template.shards())).product();
    let mut share: u64 = 1_000_000;
    for name in templates.iter().flat_map(Template::attributes) {
        let sharded_only = templates
            .iter()
            .flat_map(|template| &template.parts)
            .all(|part| part.attribute() != Some(name) || matches!(part, crate::model::Part::Shard { .. }));
        if sharded_only {
            continue;
        }
        let skew = entity.skew.iter().find(|(skewed, _)| skewed == name).map(|(_, skew)| *skew);
        let of_one = match skew {
            Some(Skew::Hottest { share_ppm }) => share_ppm,
            Some(Skew::Zipf { exponent_milli }) => zipf_ppm(context.distinct(entity, name)?, exponent_milli),
            Some(Skew::Uniform) | None => 1_000_000 / context.distinct(entity, name)?.max(1),
        };
        share = u64::try_from(u128::from(share) * u128::from(of_one) / PPM).unwrap_or(share);
    }
    Some(share / shards.max(1))
}

/// The share of the first of `n` things under Zipf's law.
fn zipf_ppm(n: u64, exponent_milli: u64) -> u64 {
    let small = |number: u64| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    let exponent = small(exponent_milli) / 1000.0;
    let sum: f64 = (1..=n.clamp(1, TERMS_MAX)).map(|rank| small(rank).powf(-exponent)).sum();
    // Whole millionths: the text is the way to an integer that needs no cast.
    format!("{:.0}", 1e6 / sum).parse().unwrap_or(1_000_000)
}

fn write_units(
    context: &Context<'_>,
    pattern: &Pattern,
    step: &Write,
    entity: &Entity,
    index: Option<&Index>,
) -> u64 {
    let blocks = context.bytes(entity).unwrap_or(1).div_ceil(1024).max(1);
    let times = match (index, is_transaction(pattern)) {
        (None, true) => 2,
        _ => 1,
    };
    let _ = step;
    blocks * times
}

fn at_rate(units: u64, rate_micro: u64, share_ppm: u64) -> u64 {
    let micro = u128::from(units) * u128::from(rate_micro) * u128::from(share_ppm);
    u64::try_from(micro.div_ceil(PPM * PPM)).unwrap_or(u64::MAX)
}

/// The peak on the hottest key of an entity in the table or an index; `None` when the file does not say enough.
fn load(
    context: &Context<'_>,
    index: Option<&Index>,
    entity: &Entity,
    templates: &[Template],
) -> Option<Load> {
    let share = hottest_ppm(context, entity, templates)?;
    let mut load = Load { write: 0, read: 0 };
    for (pattern, step, written) in context.steps() {
        let changes = matches!(step.kind, WriteKind::Put | WriteKind::Delete | WriteKind::Update);
        let Some(rate) = pattern.rate.filter(|_| changes && written.name == entity.name) else { continue };
        load.write +=
            at_rate(write_units(context, pattern, step, entity, index) * step.n, rate.peak.0, share);
    }
    for (pattern, read, report) in context.reads() {
        let here = report.index.as_deref() == index.map(|index| index.name.as_str());
        let Some(rate) = pattern.rate.filter(|_| here && read.entities.contains(&entity.name)) else {
            continue;
        };
        let average = pattern.returns.and_then(|returns| returns.page.or(returns.average)).unwrap_or(1);
        let bytes = context.bytes(entity).unwrap_or(1).saturating_mul(average);
        let halves = bytes.div_ceil(4096).max(1);
        load.read += at_rate(halves, rate.peak.0, share) / 2;
    }
    Some(load)
}

fn place(index: Option<&Index>) -> String {
    index.map_or_else(|| "the table".to_owned(), |index| format!("index `{}`", index.name))
}

pub(super) fn hot(context: &Context<'_>) -> Vec<Finding> {
    loads(context, 100, u64::MAX, "L021", Severity::Error)
}

pub(super) fn warm(context: &Context<'_>) -> Vec<Finding> {
    loads(context, 50, 100, "L022", Severity::Warning)
}

/// Keys whose peak is above one percentage of the limit and not above another.
fn loads(
    context: &Context<'_>,
    above: u64,
    upto: u64,
    rule: &'static str,
    severity: Severity,
) -> Vec<Finding> {
    let mut found = Vec::new();
    context.each_partition(|_, index, entity, templates| {
        let Some(load) = load(context, index, entity, templates) else { return };
        let writes = load.write.saturating_mul(100) / PARTITION_WRITE_UNITS_MAX;
        let reads = load.read.saturating_mul(100) / PARTITION_READ_UNITS_MAX;
        let (percent, amount, what, limit) = if writes >= reads {
            (writes, load.write, "write", PARTITION_WRITE_UNITS_MAX)
        } else {
            (reads, load.read, "read", PARTITION_READ_UNITS_MAX)
        };
        if percent > above && (percent <= upto || upto == u64::MAX) {
            let shards = amount.div_ceil(limit) * u64::from(templates.iter().map(Template::shards).product::<u32>());
            found.push(finding(
                rule,
                severity,
                entity.at,
                &entity.name,
                format!("the hottest key of {} in {} takes {amount} {what} units a second at the peak; a key has {limit}", entity.name, place(index)),
                format!("spread it over {} shards: `{{…|shard({})}}` in the partition key", shards.max(2), shards.max(2)),
            ));
        }
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
        let needed = load.write.saturating_mul(shards).div_ceil(PARTITION_WRITE_UNITS_MAX).max(1);
        if load.write > PARTITION_WRITE_UNITS_MAX {
            found.push(finding(
                "L025",
                Severity::Warning,
                entity.at,
                &entity.name,
                format!("{} has {shards} shards in {} and needs {needed}", entity.name, place(index)),
                format!("write `shard({needed})`"),
            ));
        } else if load.write > 0 && shards > needed.saturating_mul(SHARDS_SPARE) {
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
