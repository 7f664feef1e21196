//! The heat of a model's keys: the units that each pattern was metered to take × the peak rate × the busiest key's share,
//! for every partition key of tables and indexes. They are the units that are billed; nothing is estimated besides.

use super::share::{share, spreads};
use super::{ALL_PPM, Heat, Spread, Verdict};
use crate::model::{
    Entity, HalfUnits, Index, IndexKind, Model, Pattern, ReadKind, Table, Template, Write, WriteKind,
};
use crate::run::{Report, written_ppm};

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
    /// Over how many shards its values are spread: those of its template that their attributes can tell apart.
    pub shards: u64,
    /// Over how many they must be.
    pub needed: u64,
    /// What all shards of the busiest values receive together.
    whole: Heat,
    /// The shards of its template.
    pub spreads: Vec<Spread>,
}

impl HotKey {
    /// Hot by what reads it, which shards do not help: of a question's shards each is asked.
    pub fn is_read_too_much(&self) -> bool {
        self.heat.verdict() == Verdict::Hot && !self.heat.is_written_more()
    }

    /// Over how many shards its values must be spread for their writes to leave half of each one free.
    pub fn needed_to_cool(&self) -> u64 {
        self.whole.and(self.whole).shards()
    }
}

/// The partition keys of a model, the hottest first. What is not known is last.
pub fn of_model(model: &Model, report: &Report) -> Vec<HotKey> {
    let mut found: Vec<HotKey> = Vec::new();
    for (table, index, entity, templates) in keys(model) {
        let texts: Vec<String> = templates.iter().map(ToString::to_string).collect();
        let (key, name) = (texts.join(" "), index.map(|index| index.name.clone()));
        let place = |own: &HotKey| own.table == table.name && own.index == name && own.key == key;
        let others: Vec<String> =
            found.iter().find(|own| place(own)).map_or_else(Vec::new, |own| own.entities.clone());
        let metered = Metered { model, report, table, index, entity };
        let all = metered.writes().and(metered.reads(&others));
        let busiest = share(model, entity, &templates);
        let share_ppm = busiest.map(|own| own.ppm);
        let heat = all.of_busiest(share_ppm.unwrap_or(0));
        let whole = all.of_busiest(busiest.map_or(0, |own| own.of_values_ppm));
        let spreads = spreads(model, entity, &templates);
        let shards = spreads.iter().fold(1_u64, |shards, own| shards.saturating_mul(own.shards));
        if let Some(own) = found.iter_mut().find(|own| place(own)) {
            own.entities.push(entity.name.clone());
            own.share_ppm = own.share_ppm.zip(share_ppm).map(|(one, other)| one.max(other));
            own.heat = own.heat.and(heat);
            own.whole = own.whole.and(whole);
            own.shards = own.shards.min(shards);
        } else {
            let (table, entities) = (table.name.clone(), vec![entity.name.clone()]);
            let needed = 1;
            found.push(HotKey {
                table,
                index: name,
                key,
                entities,
                share_ppm,
                heat,
                shards,
                needed,
                whole,
                spreads,
            });
        }
    }
    for own in &mut found {
        own.needed = own.whole.shards();
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

/// What patterns were metered to take of one entity in a table or index.
struct Metered<'a> {
    model: &'a Model,
    report: &'a Report,
    table: &'a Table,
    index: Option<&'a Index>,
    entity: &'a Entity,
}

impl Metered<'_> {
    /// All that is written of the entity here at the peak.
    fn writes(&self) -> Heat {
        let mut heat = Heat::default();
        for pattern in &self.model.patterns {
            let (Some(rate), Some((_, write))) = (pattern.rate, self.units(pattern)) else { continue };
            let all = u128::from(rate.peak.0) * u128::from(write.0);
            let own = self.part(pattern, all, WRITE_UNIT_BYTES);
            let share = self.index.map_or(ALL_PPM, |index| self.in_index(pattern, index));
            heat.write_micro_halves += own * u128::from(share) / u128::from(ALL_PPM);
        }
        heat
    }

    /// All reads of the entity here at the peak; a question that returns others too counts once.
    fn reads(&self, counted: &[String]) -> Heat {
        let mut heat = Heat::default();
        for pattern in &self.model.patterns {
            let (Some(rate), Some((read, _))) = (pattern.rate, self.units(pattern)) else { continue };
            let all = u128::from(rate.peak.0) * u128::from(read.0);
            heat.read_micro_halves += match pattern.read() {
                // A scan goes through all keys, evenly.
                Some(asked) if asked.kind == ReadKind::Scan => 0,
                Some(asked) => {
                    let already = asked.entities.iter().any(|name| counted.contains(name));
                    if asked.entities.contains(&self.entity.name) && !already { all } else { 0 }
                }
                None => self.part(pattern, all, READ_UNIT_BYTES),
            };
        }
        heat
    }

    /// What one execution reads and writes here.
    fn units(&self, pattern: &Pattern) -> Option<(HalfUnits, HalfUnits)> {
        let ran = self.report.pattern(&pattern.id)?;
        let usage = &ran.capacity.iter().find(|own| own.table == self.table.name)?.usage;
        let own = match self.index {
            None => &usage.table,
            Some(index) => {
                let indexes = match index.kind {
                    IndexKind::Global => &usage.global_indexes,
                    IndexKind::Local => &usage.local_indexes,
                };
                indexes.get(&index.name)?
            }
        };
        Some((own.read, own.write))
    }

    /// The entity's part of what the steps of a pattern take together, by the sizes of their items.
    fn part(&self, pattern: &Pattern, all: u128, unit_bytes: u64) -> u128 {
        let weight = |step: &Write| {
            let entity = self.model.entity(&step.entity).filter(|own| own.table == self.table.name);
            let inside =
                |entity: &&Entity| self.index.is_none_or(|index| changes(step) && is_in(entity, index));
            let units = |entity: &Entity| bytes(self.report, entity).div_ceil(unit_bytes).max(1);
            u128::from(entity.filter(inside).map_or(0, |own| step.n.saturating_mul(units(own))))
        };
        let whole: u128 = pattern.steps().iter().map(weight).sum();
        let own = pattern.steps().iter().filter(|step| step.entity == self.entity.name).map(weight).sum();
        all.checked_mul(own).and_then(|product| product.checked_div(whole)).unwrap_or(0)
    }

    /// How many of a pattern's writes of the entity reach an index, as they are billed.
    fn in_index(&self, pattern: &Pattern, index: &Index) -> u64 {
        let Some(seen) = self.report.entity(&self.entity.name) else { return ALL_PPM };
        let own = pattern.steps().iter().filter(|step| step.entity == self.entity.name && changes(step));
        own.map(|step| written_ppm(pattern, step, self.entity, index, seen)).max().unwrap_or(ALL_PPM)
    }
}

fn is_in(entity: &Entity, index: &Index) -> bool {
    index.key_parts().all(|part| entity.template(&part.name).is_some())
}

const fn changes(step: &Write) -> bool {
    matches!(step.kind, WriteKind::Put | WriteKind::Delete | WriteKind::Update)
}

/// Average size of an item: the author's word, else the sample's.
fn bytes(report: &Report, entity: &Entity) -> u64 {
    let seen = || report.entity(&entity.name)?.bytes_average();
    entity.size_bytes.or_else(seen).unwrap_or(1)
}
