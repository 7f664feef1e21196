//! The heat of a model's keys: what was metered × the peak rate × the busiest value's share, for every partition key of
//! tables and indexes.

use super::{ALL_PPM, Heat, busiest_share_ppm};
use crate::model::{
    Consistency, Entity, HalfUnits, Index, IndexKind, Model, Operation, Part, Pattern, ReadKind, Skew, Table,
    Template, Write, WriteKind,
};
use crate::run::{PatternReport, Report};

/// Bytes that one write unit covers.
const WRITE_UNIT_BYTES: u64 = 1024;
/// Bytes that one read unit covers.
const READ_UNIT_BYTES: u64 = 4096;

/// One partition key of a table or index at the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotKey {
    /// The table.
    pub table: String,
    /// The index; none for the table itself.
    pub index: Option<String>,
    /// The key's template.
    pub key: String,
    /// The entities that stand under it.
    pub entities: Vec<String>,
    /// The share of traffic that the busiest key receives; none if the model does not say how many values there are.
    pub share_ppm: Option<u64>,
    /// What that key receives.
    pub heat: Heat,
    /// Over how many shards it is spread.
    pub shards: u64,
    /// Over how many it must be.
    pub needed: u64,
}

/// The partition keys of a model, the hottest first. What is not known is last.
pub fn of_model(model: &Model, report: &Report) -> Vec<HotKey> {
    let mut found: Vec<HotKey> = Vec::new();
    for (table, index, entity, templates) in keys(model) {
        let texts: Vec<String> = templates.iter().map(ToString::to_string).collect();
        let (key, name) = (texts.join(" "), index.map(|index| index.name.clone()));
        let share_ppm = hottest_ppm(model, entity, &templates);
        let shards: u64 = templates.iter().map(|template| u64::from(template.shards())).product();
        let place = |own: &HotKey| own.table == table.name && own.index == name && own.key == key;
        let others: Vec<String> =
            found.iter().find(|own| place(own)).map_or_else(Vec::new, |own| own.entities.clone());
        let writes = writes(model, report, index, entity);
        let reads = reads(model, report, index, entity, shards, &others);
        let heat = writes.and(reads).of_busiest(share_ppm.unwrap_or(0));
        if let Some(own) = found.iter_mut().find(|own| place(own)) {
            own.entities.push(entity.name.clone());
            own.share_ppm = own.share_ppm.zip(share_ppm).map(|(one, other)| one.max(other));
            own.heat = own.heat.and(heat);
        } else {
            let entities = vec![entity.name.clone()];
            let table = table.name.clone();
            found.push(HotKey { table, index: name, key, entities, share_ppm, heat, shards, needed: 1 });
        }
    }
    for own in &mut found {
        own.needed = own.heat.times(own.shards).shards();
    }
    found.sort_by_key(|own| (own.share_ppm.is_none(), std::cmp::Reverse(own.heat.used_ppm())));
    found
}

/// Every entity in every key that holds it, with the templates of the partition key.
pub fn keys(model: &Model) -> Vec<(&Table, Option<&Index>, &Entity, Vec<Template>)> {
    let mut found = Vec::new();
    for entity in &model.entities {
        let Some(table) = model.table(&entity.table) else { continue };
        if let Some(template) = entity.template(&table.partition.name) {
            found.push((table, None, entity, vec![template]));
        }
        for index in &table.indexes {
            let whole: Option<Vec<Template>> =
                index.key_parts().map(|part| entity.template(&part.name)).collect();
            if let Some(mut templates) = whole {
                templates.truncate(index.partition.len());
                found.push((table, Some(index), entity, templates));
            }
        }
    }
    found
}

/// What the busiest key of an entity receives; none when the model does not say how many values there are.
pub fn load(
    model: &Model,
    report: &Report,
    index: Option<&Index>,
    entity: &Entity,
    templates: &[Template],
) -> Option<Heat> {
    let share = hottest_ppm(model, entity, templates)?;
    let shards = templates.iter().map(|template| u64::from(template.shards())).product();
    let all = writes(model, report, index, entity).and(reads(model, report, index, entity, shards, &[]));
    Some(all.of_busiest(share))
}

/// The share of traffic on the busiest of a template's keys, in millionths: attributes are taken to vary independently.
pub fn hottest_ppm(model: &Model, entity: &Entity, templates: &[Template]) -> Option<u64> {
    let shards: u64 = templates.iter().map(|template| u64::from(template.shards())).product();
    let mut share = ALL_PPM;
    let mut seen: Vec<&str> = Vec::new();
    for part in templates.iter().flat_map(|template| &template.parts) {
        let Part::Attribute { name, .. } = part else { continue };
        if seen.contains(&name.as_str()) {
            continue;
        }
        seen.push(name);
        let skew = entity.skew.iter().find(|(skewed, _)| skewed == name).map(|(_, skew)| *skew);
        let values = distinct(model, entity, name);
        let of_one = match skew {
            Some(skew @ Skew::Hottest { .. }) => busiest_share_ppm(skew, values.unwrap_or(u64::MAX)),
            Some(skew) => busiest_share_ppm(skew, values?),
            None => busiest_share_ppm(Skew::Uniform, values?),
        };
        let joint = (u128::from(share) * u128::from(of_one)).div_ceil(u128::from(ALL_PPM));
        share = u64::try_from(joint).unwrap_or(share);
    }
    Some(share.div_ceil(shards.max(1)))
}

/// How many different values an attribute has: the author's word, or the count of the entity it identifies.
pub fn distinct(model: &Model, entity: &Entity, name: &str) -> Option<u64> {
    let attribute = entity.attribute(name)?;
    let listed = u64::try_from(attribute.values.len()).ok().filter(|listed| *listed > 0);
    attribute.distinct.or(listed).or_else(|| {
        let identified = model.entities.iter().find(|other| identity(other) == Some(name));
        identified.and_then(|other| other.count)
    })
}

/// The one attribute that an entity's key is made of, if it is one.
fn identity(entity: &Entity) -> Option<&str> {
    let mut names: Vec<&str> =
        entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// Average size of an item: the author's word, else the sample's.
fn bytes(report: &Report, entity: &Entity) -> u64 {
    let seen = || report.entity(&entity.name)?.bytes_average();
    entity.size_bytes.or_else(seen).unwrap_or(1)
}

fn of(rate: u64, halves: u64) -> u128 {
    u128::from(rate) * u128::from(halves)
}

/// All writes of an entity in the table or an index at the peak.
fn writes(model: &Model, report: &Report, index: Option<&Index>, entity: &Entity) -> Heat {
    let mut heat = Heat::default();
    for pattern in &model.patterns {
        let Some(rate) = pattern.rate else { continue };
        let steps = pattern.steps().iter().filter(|step| step.entity == entity.name && changes(step));
        let units = steps.map(|step| step.n * by_size(report, pattern, index, entity)).sum();
        let halves = match metered(report, pattern, index) {
            // An execution that the meter shows to leave the index alone does not warm it.
            Some(HalfUnits(0)) => 0,
            Some(HalfUnits(metered)) if units > 0 => metered.max(units),
            _ => units,
        };
        heat.write_micro_halves += of(rate.peak.0, halves);
    }
    heat
}

const fn changes(step: &Write) -> bool {
    matches!(step.kind, WriteKind::Put | WriteKind::Delete | WriteKind::Update)
}

/// Half units of one write by the item's size: transactions cost twice in the table.
fn by_size(report: &Report, pattern: &Pattern, index: Option<&Index>, entity: &Entity) -> u64 {
    let twice = index.is_none() && matches!(pattern.operation, Operation::Transact(_));
    2 * bytes(report, entity).div_ceil(WRITE_UNIT_BYTES).max(1) * if twice { 2 } else { 1 }
}

/// What one execution was metered to write there, where it writes one entity only, so that all of it is that entity's.
fn metered(report: &Report, pattern: &Pattern, index: Option<&Index>) -> Option<HalfUnits> {
    let first = &pattern.steps().first()?.entity;
    if pattern.steps().iter().any(|step| step.entity != *first || !changes(step)) {
        return None;
    }
    let ran = report.pattern(&pattern.id).filter(|ran| ran.outcome.is_good())?;
    let usage = &ran.capacity.first()?.usage;
    let of_index = |index: &Index| {
        let indexes = match index.kind {
            IndexKind::Global => &usage.global_indexes,
            IndexKind::Local => &usage.local_indexes,
        };
        indexes.iter().find(|(name, _)| **name == index.name).map_or(HalfUnits(0), |(_, usage)| usage.write)
    };
    Some(index.map_or(usage.table.write, of_index))
}

/// All reads that return an entity from the table or an index at the peak; of a question that returns others too, once.
fn reads(
    model: &Model,
    report: &Report,
    index: Option<&Index>,
    entity: &Entity,
    shards: u64,
    counted: &[String],
) -> Heat {
    let mut heat = Heat::default();
    for pattern in &model.patterns {
        let (Some(read), Some(rate)) = (pattern.read(), pattern.rate) else { continue };
        let Some(ran) = report.pattern(&pattern.id) else { continue };
        let here = ran.index.as_deref() == index.map(|index| index.name.as_str());
        let already = read.entities.iter().any(|name| counted.contains(name));
        if !here || already || read.kind == ReadKind::Scan || !read.entities.contains(&entity.name) {
            continue;
        }
        let items = pattern.returns.and_then(|returns| returns.page.or(returns.average)).unwrap_or(1);
        let units = bytes(report, entity).saturating_mul(items).div_ceil(READ_UNIT_BYTES).max(1);
        let by_size = if read.consistency == Consistency::Strong { units * 2 } else { units };
        let halves = by_size.max(of_one_key(ran));
        // A gathering asks each shard every time, so that what a shard receives is not divided by their number.
        let times = if read.kind == ReadKind::ScatterGather { shards.max(1) } else { 1 };
        heat.read_micro_halves += of(rate.peak.0, halves.saturating_mul(times));
    }
    heat
}

fn of_one_key(ran: &PatternReport) -> u64 {
    ran.read_units().0.div_ceil(u64::from(ran.partitions.max(1)))
}
