//! A model's monthly bill: what its patterns were metered to consume × their rates, and what its items occupy.

use std::collections::BTreeMap;

use super::{BreakEvens, Class, Costing, Load, Missing, Mode, Throughput, write_amplification};
use crate::model::{Billing, HalfUnits, IndexKind, MicroPerSecond, Model, Table};
use crate::price::{Item, Money};
use crate::run::Report;

/// Bytes that the service adds to every item and index entry it stores.
const ENTRY_OVERHEAD_BYTES: u128 = 100;
/// The same for global tables, per item.
const REPLICA_OVERHEAD_BYTES: u128 = 48;
/// Parts per million of one percent.
const PPM_PER_PERCENT: u64 = 10_000;

/// What a model costs each month.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bill {
    /// Each pattern on each table and index it touches.
    pub lines: Vec<Line>,
    /// Storage of each table and index.
    pub storage: Vec<(Target, u128, Money)>,
    /// Backups, replication, streams and the like, where the model or the settings have them.
    pub features: Vec<(String, &'static str, Money)>,
    /// Patterns that cannot be billed because nobody said how often they run (R66): reported, not taken as zero.
    pub without_rate: Vec<String>,
    /// For each table, its billing modes and classes from the cheapest, throughput and storage together.
    pub modes: Vec<(String, Modes)>,
    /// Tables that another mode or class makes cheaper; only those of which every pattern has a rate.
    pub savings: Vec<Saving>,
    /// Entities and how many writes one write of theirs becomes.
    pub amplification: Vec<(String, u64)>,
    /// For each table, what it and its indexes are written, as metered.
    pub written: Vec<Written>,
    /// For each table, where another way of paying costs the same.
    pub break_evens: Vec<(String, BreakEvens)>,
}

/// Writes of a table, in millionths of half units a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The table.
    pub table: String,
    /// To the table itself.
    pub base: u128,
    /// To all its indexes.
    pub indexes: u128,
}

impl Written {
    /// How many hundredths of the table's own writes all writes are: 600 where there are five more for each.
    pub fn percent(&self) -> Option<u64> {
        let all = self.base + self.indexes;
        u64::try_from((all * 100).checked_div(self.base)?).ok()
    }
}

/// Billing modes and table classes with what each costs a month, the cheapest first.
pub type Modes = Vec<(Class, Mode, Money)>;

/// A table whose mode or class is not the cheapest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saving {
    /// The table.
    pub table: String,
    /// The share of provisioned units that is used on average, by the ratio of average to peak rates.
    pub used_percent: u64,
    /// What it is billed by, and what that costs each month.
    pub now: (Class, Mode, Money),
    /// The cheapest without a commitment for years, and what it costs.
    pub best: (Class, Mode, Money),
    /// The cheapest of all, where reserving is cheaper still.
    pub reserved: Option<(Class, Mode, Money)>,
}

/// A table or one of its indexes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The table.
    pub table: String,
    /// The index, or none for the table itself.
    pub index: Option<String>,
}

/// One pattern on one table or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The pattern.
    pub pattern: String,
    /// What it touches.
    pub target: Target,
    /// Metered units of one execution.
    pub read: HalfUnits,
    /// Metered units of one execution.
    pub write: HalfUnits,
    /// What it costs each month.
    pub monthly: Throughput,
}

impl Bill {
    /// Everything together.
    pub fn total(&self) -> Money {
        let lines: Money = self.lines.iter().map(|line| line.monthly.total()).sum();
        let storage: Money = self.storage.iter().map(|(_, _, cost)| *cost).sum();
        lines + storage + self.features.iter().map(|(_, _, cost)| *cost).sum()
    }
}

/// Bills a model from its run.
pub fn bill(model: &Model, report: &Report, costing: &Costing<'_>) -> Result<Bill, Missing> {
    let mut bill = Bill::default();
    let mut loads: BTreeMap<Target, Load> = BTreeMap::new();
    for pattern in &model.patterns {
        let Some(rate) = pattern.rate else {
            bill.without_rate.push(pattern.id.clone());
            continue;
        };
        let Some(run) = report.pattern(&pattern.id) else { continue };
        for (target, read, write) in run.capacity.iter().flat_map(touched) {
            let load = Load::of(rate.average, read, write);
            let sum = loads.entry(target.clone()).or_default();
            *sum = sum.and(load);
            let table = model.table(&target.table);
            let (class, mode) = billing(table, costing);
            let mut monthly = costing.throughput(load, class, mode)?;
            if table.is_some_and(|table| replicates(table, &target)) {
                monthly.writes = costing.replicated(load, class, mode)?;
            }
            bill.lines.push(Line { pattern: pattern.id.clone(), target, read, write, monthly });
        }
    }
    for table in &model.tables {
        let (class, _) = billing(Some(table), costing);
        let sizes = sizes(model, report, table);
        for (target, bytes) in &sizes {
            bill.storage.push((target.clone(), *bytes, costing.storage(*bytes, class)?));
        }
        let own: Vec<(&Target, Load)> = loads
            .iter()
            .filter(|(target, _)| target.table == table.name)
            .map(|(target, load)| (target, *load))
            .collect();
        let load = own.iter().fold(Load::default(), |sum, (_, load)| sum.and(*load));
        let all: u128 = sizes.iter().map(|(_, bytes)| *bytes).sum();
        let used_ppm = costing.settings.used_ppm;
        if let Some(use_ppm) = steadiness(model, report, table, used_ppm) {
            bill.savings.extend(saving(table, load, all, use_ppm, costing)?);
        }
        bill.modes.push((table.name.clone(), costing.cheapest(load, all, used_ppm)?));
        bill.break_evens.push((table.name.clone(), costing.break_evens(load, class)?));
        bill.written.push(written(table, &own));
        features(table, &sizes, &own, costing, &mut bill)?;
    }
    bill.amplification = amplification(model);
    Ok(bill)
}

/// The share of units that is used on average when enough are provisioned for the peak, the usual share being used then; nothing when
/// some pattern that touches the table does not say how often it runs.
fn steadiness(model: &Model, report: &Report, table: &Table, target_ppm: u64) -> Option<u64> {
    let (mut average, mut peak) = (0, 0);
    for pattern in &model.patterns {
        let run = report.pattern(&pattern.id);
        let used = run.into_iter().flat_map(|run| &run.capacity).filter(|it| it.table == table.name);
        for (_, read, write) in used.flat_map(touched) {
            let rate = pattern.rate?;
            average += u128::from(rate.average.0) * u128::from(read.0 + write.0);
            peak += u128::from(rate.peak.0) * u128::from(read.0 + write.0);
        }
    }
    let share = u128::from(target_ppm) * average / Some(peak).filter(|peak| *peak > 0)?;
    u64::try_from(share).ok()
}

/// What the table would save; nothing when it has the cheapest already.
fn saving(
    table: &Table,
    load: Load,
    bytes: u128,
    used_ppm: u64,
    costing: &Costing<'_>,
) -> Result<Option<Saving>, Missing> {
    let (class, mode) = billing(Some(table), costing);
    // What is provisioned already follows its load as its author says.
    let used_ppm = if let Mode::Provisioned { used_ppm } = mode { used_ppm } else { used_ppm };
    let cost = costing.throughput(load, class, mode)?.total() + costing.storage(bytes, class)?;
    let all = costing.cheapest(load, bytes, used_ppm)?;
    let committed =
        |mode: &Mode| matches!(mode, Mode::ReservedOneYear { .. } | Mode::ReservedThreeYears { .. });
    let free = all.iter().find(|(_, mode, _)| !committed(mode)).copied();
    let best = free.filter(|(_, _, cheapest)| *cheapest < cost).unwrap_or((class, mode, cost));
    let reserved = all.first().copied().filter(|(_, mode, least)| committed(mode) && *least < best.2);
    let cheaper = best.2 < cost || reserved.is_some();
    Ok(cheaper.then(|| Saving {
        table: table.name.clone(),
        used_percent: used_ppm / PPM_PER_PERCENT,
        now: (class, mode, cost),
        best,
        reserved,
    }))
}

fn touched(capacity: &crate::run::CapacityOf) -> Vec<(Target, HalfUnits, HalfUnits)> {
    let usage = &capacity.usage;
    let target = |index: Option<&String>| Target { table: capacity.table.clone(), index: index.cloned() };
    let indexes = usage.local_indexes.iter().chain(&usage.global_indexes);
    std::iter::once((target(None), usage.table.read, usage.table.write))
        .chain(indexes.map(|(name, usage)| (target(Some(name)), usage.read, usage.write)))
        .filter(|(_, read, write)| read.0 + write.0 > 0)
        .collect()
}

fn billing(table: Option<&Table>, costing: &Costing<'_>) -> (Class, Mode) {
    let class = match table {
        Some(table) if table.infrequent_access => Class::Infrequent,
        _ => Class::Standard,
    };
    let mode = match table.map(|table| &table.billing) {
        Some(Billing::Provisioned { autoscale, .. }) => {
            let target = autoscale.map(|scale| scale.target_percent * PPM_PER_PERCENT);
            Mode::Provisioned { used_ppm: target.unwrap_or(costing.settings.used_ppm) }
        }
        Some(Billing::OnDemand) | None => Mode::OnDemand,
    };
    (class, mode)
}

/// Whether writes there are replicated ones: those of a table with replicas and of its local indexes.
fn replicates(table: &Table, target: &Target) -> bool {
    !table.replicas.is_empty() && is_of_table(table, target)
}

/// The table itself or a local index, which is a part of it.
fn is_of_table(table: &Table, target: &Target) -> bool {
    let index = target.index.as_ref().and_then(|name| table.index(name));
    target.index.is_none() || index.is_some_and(|index| index.kind == IndexKind::Local)
}

fn written(table: &Table, loads: &[(&Target, Load)]) -> Written {
    let sum = |of_index: bool| {
        let own = loads.iter().filter(|(target, _)| target.index.is_some() == of_index);
        own.map(|(_, load)| load.write_micro_halves).sum()
    };
    Written { table: table.name.clone(), base: sum(false), indexes: sum(true) }
}

/// The bytes of a table and its indexes when every entity has its full count.
fn sizes(model: &Model, report: &Report, table: &Table) -> Vec<(Target, u128)> {
    let overhead = ENTRY_OVERHEAD_BYTES + if table.replicas.is_empty() { 0 } else { REPLICA_OVERHEAD_BYTES };
    let mut sizes = BTreeMap::new();
    let target = |index: Option<&str>| Target { table: table.name.clone(), index: index.map(str::to_owned) };
    for entity in model.entities_of(&table.name) {
        let Some(seen) = report.entity(&entity.name).filter(|seen| seen.items > 0) else { continue };
        let scale = |bytes: u64, items: u64| {
            let sample = u128::from(bytes) + overhead * u128::from(items);
            sample * u128::from(entity.count.unwrap_or(seen.items)) / u128::from(seen.items)
        };
        *sizes.entry(target(None)).or_insert(0) += scale(seen.bytes, seen.items);
        for index in &seen.indexes {
            *sizes.entry(target(Some(&index.name))).or_insert(0) += scale(index.bytes, index.items);
        }
    }
    sizes.into_iter().collect()
}

fn features(
    table: &Table,
    sizes: &[(Target, u128)],
    loads: &[(&Target, Load)],
    costing: &Costing<'_>,
    bill: &mut Bill,
) -> Result<(), Missing> {
    let (class, mode) = billing(Some(table), costing);
    let habits = costing.settings.habits;
    let all: u128 = sizes.iter().map(|(_, bytes)| *bytes).sum();
    let own: u128 =
        sizes.iter().filter(|(target, _)| is_of_table(table, target)).map(|(_, bytes)| *bytes).sum();
    let mut found: Vec<(&'static str, Money)> = Vec::new();
    if table.pitr == Some(true) {
        found.push(("continuous backups", costing.gigabytes(Item::PointInTimeRecovery, own)?));
    }
    for (name, item, times) in [
        ("kept backups", Item::Backup, habits.backups),
        ("restores", Item::Restore, habits.restores),
        ("exports", Item::Export, habits.exports),
    ] {
        if times > 0 {
            found.push((name, costing.gigabytes(item, own * u128::from(times))?));
        }
    }
    if table.stream.is_some() && habits.stream_reads.0 > 0 {
        found.push(("stream reads", costing.stream(habits.stream_reads)?));
    }
    if habits.change_capture {
        let changes = loads
            .iter()
            .filter(|(target, _)| target.index.is_none())
            .map(|(_, load)| load.write_micro_halves / 2);
        let changes = u64::try_from(changes.sum::<u128>()).unwrap_or(u64::MAX);
        found.push(("change capture", costing.change_capture(MicroPerSecond(changes))?));
    }
    let regions = i128::try_from(table.replicas.len()).unwrap_or(i128::MAX);
    if regions > 0 {
        let sum = |of_table: bool| {
            let own = loads.iter().filter(|(target, _)| is_of_table(table, target) == of_table);
            let all = own.fold(Load::default(), |sum, (_, load)| sum.and(*load));
            Load { read_micro_halves: 0, ..all }
        };
        let writes = costing.replicated(sum(true), class, mode)?;
        let indexes = costing.throughput(sum(false), class, mode)?.total();
        found.push(("replicated writes", writes.times(regions, 1)));
        found.push(("replicas' indexes", indexes.times(regions, 1)));
        found.push(("replicas' storage", costing.storage(all, class)?.times(regions, 1)));
    }
    let found = found.into_iter().filter(|(_, cost)| *cost > Money::ZERO);
    bill.features.extend(found.map(|(name, cost)| (table.name.clone(), name, cost)));
    Ok(())
}

/// An item is written once to its table and once to each index whose key it can have.
fn amplification(model: &Model) -> Vec<(String, u64)> {
    model
        .entities
        .iter()
        .map(|entity| {
            let indexes = model.table(&entity.table).map_or(&[][..], |table| table.indexes.as_slice());
            let has = |index: &&crate::model::Index| {
                index.key_parts().all(|part| entity.template(&part.name).is_some())
            };
            let count = u64::try_from(indexes.iter().filter(has).count()).unwrap_or(u64::MAX);
            (entity.name.clone(), write_amplification(count))
        })
        .collect()
}
