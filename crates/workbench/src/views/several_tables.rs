//! Whether one table suits the model: groups of unrelated entities, and how they differ in settings that a
//! table has once.

use std::collections::BTreeSet;

use super::Looked;
use super::facts::{average_micro, rate_text, reads_of, touched, writes_of};
use keywright_model::{Consistency, DeclaredCapacity, Entity, MicroPerSecond, Model, Operation, Table};

/// A group that is this many times busier than another counts as a separate load.
const LOAD_TIMES: u64 = 10;

/// For each table, the reasons for one table and for several.
pub(super) fn advice(looked: &Looked<'_>) -> Vec<String> {
    looked.model.tables.iter().flat_map(|table| of_table(looked.model, table)).collect()
}

fn of_table(model: &Model, table: &Table) -> Vec<String> {
    let groups = groups(model, table);
    if groups.len() < 2 {
        let entities = groups.first().map(|group| group.join(", ")).unwrap_or_default();
        return vec![format!(
            "{}: {entities} belong together; nothing speaks for several tables.",
            table.name
        )];
    }
    let names: Vec<String> = groups.iter().map(|group| group.join(", ")).collect();
    let traits: Vec<Traits> = groups.iter().map(|group| Traits::of(model, table, group)).collect();
    let mut reasons = differences(table, &names, &traits);
    let joined = names.join("; ");
    if reasons.is_empty() {
        return vec![format!(
            "{}: no pattern, parent or partition joins these groups: {joined}. They could have tables of their own, each with its \
             own backups, deletion protection and owner; at the rates given they do not differ in load, consistency or time to live.",
            table.name
        )];
    }
    reasons.push(
        "  one for a whole table: backups and their retention, class, stream, deletion protection, and the service that owns it; \
         what differs in these, or belongs to two services, is better apart"
            .to_owned(),
    );
    reasons.insert(
        0,
        format!("{}: several tables are better. Nothing joins {joined}, and they differ:", table.name),
    );
    vec![reasons.join("\n")]
}

/// Entities that a read, a multi-step write, a parent or a partition relates.
fn groups(model: &Model, table: &Table) -> Vec<Vec<String>> {
    let entities: Vec<&Entity> = model.entities_of(&table.name).collect();
    let mut groups: Vec<BTreeSet<&str>> =
        entities.iter().map(|entity| BTreeSet::from([entity.name.as_str()])).collect();
    let mut join = |names: &[&str]| {
        let (joined, mut apart): (Vec<BTreeSet<&str>>, Vec<BTreeSet<&str>>) = std::mem::take(&mut groups)
            .into_iter()
            .partition(|group| names.iter().any(|name| group.contains(name)));
        let all: BTreeSet<&str> = joined.into_iter().flatten().collect();
        if !all.is_empty() {
            apart.push(all);
        }
        groups = apart;
    };
    for pattern in &model.patterns {
        // A batch is several independent requests: it relates nothing.
        if !matches!(pattern.operation, Operation::Batch(_)) {
            join(&touched(pattern));
        }
    }
    for entity in &entities {
        for parent in &entity.parents {
            join(&[&entity.name, parent]);
        }
        for other in &entities {
            if shares_partition(table, entity, other) {
                join(&[&entity.name, &other.name]);
            }
        }
    }
    let mut named: Vec<Vec<String>> =
        groups.into_iter().map(|group| group.into_iter().map(str::to_owned).collect()).collect();
    named.sort();
    named
}

/// Whether two entities' items share a partition: the templates are equal and not just one attribute's value.
fn shares_partition(table: &Table, one: &Entity, other: &Entity) -> bool {
    let template = |entity: &Entity| entity.template(&table.partition.name);
    template(one).is_some_and(|own| own.attributes().next().is_some() && Some(own) == template(other))
}

/// The settings that a table has once, as a group of entities would choose them.
struct Traits {
    strong: bool,
    reads: u64,
    writes: u64,
    expires: bool,
}

impl Traits {
    fn of(model: &Model, table: &Table, group: &[String]) -> Self {
        let entities = || group.iter().filter_map(|name| model.entity(name));
        let reads = || group.iter().flat_map(|name| reads_of(model, name));
        Self {
            strong: reads()
                .any(|pattern| pattern.read().is_some_and(|read| read.consistency == Consistency::Strong)),
            reads: reads().map(average_micro).sum(),
            writes: group
                .iter()
                .flat_map(|name| writes_of(model, name))
                .map(|(pattern, step)| average_micro(pattern).saturating_mul(step.n))
                .sum(),
            expires: entities()
                .any(|entity| table.ttl.as_ref().is_some_and(|ttl| entity.attribute(ttl).is_some())),
        }
    }

    const fn all(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }
}

fn differences(table: &Table, names: &[String], traits: &[Traits]) -> Vec<String> {
    let mut reasons = Vec::new();
    let pick = |has: &dyn Fn(&Traits) -> bool| -> (Vec<&str>, Vec<&str>) {
        let (with, without): (Vec<_>, Vec<_>) = names.iter().zip(traits).partition(|(_, it)| has(it));
        (
            with.into_iter().map(|(name, _)| name.as_str()).collect(),
            without.into_iter().map(|(name, _)| name.as_str()).collect(),
        )
    };
    let (strong, eventual) = pick(&|it| it.strong);
    if !strong.is_empty() && !eventual.is_empty() {
        reasons.push(format!(
            "  consistency: {} is read strongly, {} eventually",
            strong.join("; "),
            eventual.join("; ")
        ));
    }
    let (writing, reading) = pick(&|it| it.writes > it.reads);
    if !writing.is_empty() && !reading.is_empty() {
        reasons.push(format!(
            "  load: {} is mostly written, {} mostly read: capacity modes and classes suit them differently",
            writing.join("; "),
            reading.join("; ")
        ));
    }
    let busiest = names.iter().zip(traits).max_by_key(|(_, it)| it.all());
    let calmest = names.iter().zip(traits).min_by_key(|(_, it)| it.all());
    if let (Some((busy, most)), Some((calm, least))) = (busiest, calmest)
        && most.all() > 0
        // Provisioned units are shared by all entities of a table; on-demand requests do not compete.
        && table.billing != DeclaredCapacity::OnDemand
        && most.all() >= least.all().saturating_mul(LOAD_TIMES)
    {
        reasons.push(format!(
            "  load: {busy} sees {} requests a second, {calm} {}",
            rate_text(MicroPerSecond(most.all())),
            rate_text(MicroPerSecond(least.all()))
        ));
    }
    let (expiring, staying) = pick(&|it| it.expires);
    if !expiring.is_empty() && !staying.is_empty() {
        reasons.push(format!(
            "  time to live: {} expires, {} stays: its backups hold what is gone tomorrow",
            expiring.join("; "),
            staying.join("; ")
        ));
    }
    reasons
}
