//! The steps from one design to the other and what each writes once, in write units.
//!
//! Costs follow the developer guide's rules for writes: a table write costs the larger of the item before and after; a
//! new index reads the table and pays one write per entry; an item whose primary key changes is put and deleted. Reading
//! the existing data is not counted. Counts come from the models, sizes from their examples.

use std::fmt;

use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};

use super::changes::slot_text;
use super::subject::{Subject, SubjectEntity, SubjectTable};
use crate::price::{Item, Money, Prices};

/// The steps in the order in which they keep the application running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// "new data → base table" and "new query → index", one line per added entity and pattern.
    pub summary: Vec<String>,
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: StepKind,
    pub text: String,
    /// Write units, all indexes included; `None` when no example says how large the items are.
    pub write_units: Option<u64>,
}

/// What a step does; the order is the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    CreateTable,
    ChangeSetting,
    UpdateItems,
    CreateIndex,
    LoadItems,
    RewriteItems,
    SwitchReaders,
    DeleteIndex,
    DeleteItems,
    DeleteTable,
}

impl Plan {
    /// Write units of all steps together; `None` when one is unknown.
    pub fn write_units(&self) -> Option<u64> {
        self.steps.iter().map(|step| step.write_units).sum()
    }

    /// What those cost on demand, once; nothing when a step's units or the price are unknown.
    pub fn write_cost(&self, prices: &Prices) -> Option<Money> {
        Some(prices.of(Item::WriteRequest)?.times(i128::from(self.write_units()?), 1))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.summary {
            writeln!(f, "{line}")?;
        }
        if !self.summary.is_empty() {
            writeln!(f)?;
        }
        if self.steps.is_empty() {
            return writeln!(f, "Migration plan: nothing to do.");
        }
        writeln!(f, "Migration plan:")?;
        for (at, step) in self.steps.iter().enumerate() {
            let cost = step.write_units.map_or("unknown".to_owned(), |units| units.to_string());
            writeln!(f, "{:>3}. {} — write units: {cost}", at + 1, step.text)?;
        }
        match self.write_units() {
            Some(units) => writeln!(f, "One-time write cost: {units} write units."),
            None => writeln!(f, "One-time write cost: unknown, because an entity has no example to measure."),
        }
    }
}

pub(super) fn plan(before: &Subject, after: &Subject) -> Plan {
    let mut planner = Planner::default();
    for table in &after.tables {
        match before.table(&table.definition.name) {
            None => planner.new_table(table),
            Some(was) if must_be_copied(was, table) => planner.copied_table(was, table),
            Some(was) => planner.changed_table(was, table),
        }
    }
    for table in before.tables.iter().filter(|table| after.table(&table.definition.name).is_none()) {
        let name = &table.definition.name;
        planner.step(StepKind::DeleteTable, format!("delete table {name}"), Some(0));
    }
    planner.new_patterns(before, after);
    planner.steps.sort_by_key(|step| step.kind);
    Plan { summary: planner.summary, steps: planner.steps }
}

/// A table's key and its local indexes are fixed when it is created.
fn must_be_copied(was: &SubjectTable, table: &SubjectTable) -> bool {
    let local = |table: &SubjectTable| -> Vec<IndexSchema> {
        let mut indexes: Vec<IndexSchema> = table.definition.schema.indexes.clone();
        indexes.retain(|index| index.kind == IndexKind::Local);
        indexes.sort_by(|one, other| one.name.cmp(&other.name));
        indexes
    };
    was.definition.schema.key != table.definition.schema.key || local(was) != local(table)
}

#[derive(Default)]
struct Planner {
    summary: Vec<String>,
    steps: Vec<Step>,
}

/// Write units of writing all items of an entity once, with their entries in every index of the table.
fn load_units(entity: &SubjectEntity, table: &SubjectTable) -> Option<u64> {
    let indexes = table.definition.schema.indexes.iter().filter(|index| entity.is_in(index));
    let entries: Option<u64> = indexes.map(|index| entity.index_units(&index.name)).sum();
    Some(entity.table_units()?.saturating_add(entries?))
}

impl Planner {
    fn step(&mut self, kind: StepKind, text: String, write_units: Option<u64>) {
        self.steps.push(Step { kind, text, write_units });
    }

    fn new_table(&mut self, table: &SubjectTable) {
        let name = &table.definition.name;
        let indexes = table.definition.schema.indexes.len();
        let with = if indexes > 0 { format!(" with {indexes} indexes") } else { String::new() };
        self.step(StepKind::CreateTable, format!("create table {name}{with}"), Some(0));
        for entity in &table.entities {
            self.load(entity, table);
        }
    }

    fn load(&mut self, entity: &SubjectEntity, table: &SubjectTable) {
        let name = &table.definition.name;
        self.summary.push(format!("new data → base table: {} in {name}", entity.name));
        let text = format!("write the {} items of {} to {name}", entity.count, entity.name);
        self.step(StepKind::LoadItems, text, load_units(entity, table));
    }

    fn copied_table(&mut self, was: &SubjectTable, table: &SubjectTable) {
        let name = &table.definition.name;
        let text = format!(
            "create a new table for {name}: a table's key and its local indexes cannot change, so its items are copied"
        );
        self.step(StepKind::CreateTable, text, Some(0));
        for entity in &table.entities {
            if was.entity(&entity.name).is_some() {
                let text = format!("copy the {} items of {} to the new {name}", entity.count, entity.name);
                self.step(StepKind::RewriteItems, text, load_units(entity, table));
            } else {
                self.load(entity, table);
            }
        }
        self.step(StepKind::SwitchReaders, format!("let the application use the new {name}"), Some(0));
        self.step(StepKind::DeleteTable, format!("delete the old table {name}"), Some(0));
    }

    fn changed_table(&mut self, was: &SubjectTable, table: &SubjectTable) {
        if was.definition.billing != table.definition.billing
            || was.definition.ttl != table.definition.ttl
            || was.definition.stream != table.definition.stream
            || was.definition.class != table.definition.class
            || was.definition.point_in_time_recovery != table.definition.point_in_time_recovery
            || was.definition.deletion_protection != table.definition.deletion_protection
        {
            let text = format!("change the settings of {}", table.definition.name);
            self.step(StepKind::ChangeSetting, text, Some(0));
        }
        self.indexes(was, table);
        for entity in &table.entities {
            match was.entity(&entity.name) {
                None => self.load(entity, table),
                Some(old) => self.changed_entity(old, entity, was, table),
            }
        }
        for entity in was.entities.iter().filter(|entity| table.entity(&entity.name).is_none()) {
            let text = format!(
                "delete the {} items of {} from {}",
                entity.count, entity.name, table.definition.name
            );
            self.step(StepKind::DeleteItems, text, load_units(entity, was));
        }
    }

    fn indexes(&mut self, was: &SubjectTable, table: &SubjectTable) {
        let name = &table.definition.name;
        for index in &table.definition.schema.indexes {
            match was.index(&index.name) {
                None => {
                    let text =
                        format!("create index {} on {name}; it fills from the items there", index.name);
                    self.step(StepKind::CreateIndex, text, backfill_units(index, was, table));
                }
                Some(old) if old != index => {
                    let text = format!(
                        "create index {} on {name} anew under another name (an index cannot change) and let readers use it",
                        index.name
                    );
                    self.step(StepKind::CreateIndex, text, backfill_units(index, was, table));
                    self.step(
                        StepKind::DeleteIndex,
                        format!("delete the old index {} of {name}", index.name),
                        Some(0),
                    );
                }
                Some(_) => {}
            }
        }
        for index in was.definition.schema.indexes.iter().filter(|index| table.index(&index.name).is_none()) {
            self.step(StepKind::DeleteIndex, format!("delete index {} of {name}", index.name), Some(0));
        }
    }

    fn changed_entity(
        &mut self,
        old: &SubjectEntity,
        entity: &SubjectEntity,
        was: &SubjectTable,
        table: &SubjectTable,
    ) {
        let key = &table.definition.schema.key;
        if slot_text(old, key) != slot_text(entity, key) && !slot_text(old, key).is_empty() {
            let text = format!(
                "put the {} items of {} under their new key and delete the old ones",
                old.count, entity.name
            );
            let counted = SubjectEntity { count: old.count, ..entity.clone() };
            let units = load_units(old, was)
                .zip(load_units(&counted, table))
                .map(|(out, new)| out.saturating_add(new));
            self.step(StepKind::RewriteItems, text, units);
            return;
        }
        let moves = moves(old, entity, was, table);
        if moves.is_empty() {
            return;
        }
        let counted = SubjectEntity { count: old.count, ..entity.clone() };
        let own = moves.iter().map(|(index, writes)| {
            let holder = if entity.is_in(index) { entity } else { old };
            let units = SubjectEntity { count: old.count, ..holder.clone() }.index_units(&index.name);
            units.map(|units| units.saturating_mul(*writes))
        });
        let written: Vec<&str> =
            moves.iter().flat_map(|(index, _)| index.key.attributes()).map(|key| key.name.as_str()).collect();
        let others = table
            .definition
            .schema
            .indexes
            .iter()
            .filter(|index| !moves.iter().any(|(moved, _)| moved.name == index.name))
            .filter(|index| {
                was.index(&index.name).is_some() && entity.is_in(index) && holds_any(index, &written)
            })
            .map(|index| counted.index_units(&index.name));
        let entries: Option<u64> = own.chain(others).sum();
        let units = counted.table_units().zip(entries).map(|(table, entries)| table.saturating_add(entries));
        let names: Vec<&str> = moves.iter().map(|(index, _)| index.name.as_str()).collect();
        let text = format!(
            "write the key attributes of {} to the {} items of {}",
            names.join(" and "),
            old.count,
            entity.name
        );
        self.step(StepKind::UpdateItems, text, units);
    }

    fn new_patterns(&mut self, before: &Subject, after: &Subject) {
        for pattern in &after.patterns {
            if before.patterns.iter().any(|known| known.id == pattern.id) {
                continue;
            }
            let index = pattern.uses.as_deref().and_then(|uses| {
                let table = after.tables.iter().find(|table| table.index(uses).is_some())?;
                let new = before.table(&table.definition.name).is_none_or(|was| was.index(uses).is_none());
                Some((uses, table, new))
            });
            self.summary.push(match index {
                Some((uses, table, true)) => {
                    format!(
                        "new query → index: {} needs the new index {}.{uses}",
                        pattern.id, table.definition.name
                    )
                }
                Some((uses, table, false)) => format!(
                    "new query → index: {} is served by {}.{uses}, which is there",
                    pattern.id, table.definition.name
                ),
                None => format!("new query → base table: {} needs no index", pattern.id),
            });
        }
    }
}

/// The indexes whose key attributes an entity's items get, change or lose, with the writes each entry takes.
fn moves<'a>(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    was: &SubjectTable,
    table: &'a SubjectTable,
) -> Vec<(&'a IndexSchema, u64)> {
    let mut found = Vec::new();
    for index in &table.definition.schema.indexes {
        let known = was.index(&index.name).filter(|known| known.key == index.key);
        let before = known.filter(|known| old.is_in(known)).map(|_| slot_text(old, &index.key));
        let now = entity.is_in(index).then(|| slot_text(entity, &index.key));
        let there_already = index.key.attributes().all(|key| {
            old.attributes.contains_key(&key.name) || was.definition.schema.key.contains(&key.name)
        });
        match (before, now) {
            // A changed index key deletes one entry and writes another.
            (Some(before), Some(now)) if before != now => found.push((index, 2)),
            (Some(_), Some(_)) | (None, None) => {}
            // A new index is filled when it is created; its entries cost nothing before.
            (None, Some(_)) if known.is_none() && there_already => {}
            (None, Some(_)) if known.is_none() => found.push((index, 0)),
            (Some(_), None) | (None, Some(_)) => found.push((index, 1)),
        }
    }
    found
}

/// Whether an index holds one of the attributes besides keys: its entry is then written again when they change.
fn holds_any(index: &IndexSchema, attributes: &[&str]) -> bool {
    match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => false,
        Projection::Include(names) => attributes.iter().any(|name| names.contains(*name)),
    }
}

/// Write units of filling a new index with the entries of the items that were there before.
fn backfill_units(index: &IndexSchema, was: &SubjectTable, table: &SubjectTable) -> Option<u64> {
    table
        .entities
        .iter()
        .filter(|entity| entity.is_in(index))
        .filter_map(|entity| {
            let old = was.entity(&entity.name)?;
            let scaled = SubjectEntity { count: old.count, ..entity.clone() };
            Some(scaled.index_units(&index.name))
        })
        .sum()
}
