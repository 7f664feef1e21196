//! A model's monthly bill: the metered consumption of its patterns × their rates, and the storage of its
//! items.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::capacity::CAPTURE_UNIT_BYTES;
use keywright_semantics::schema::TableClass;
use keywright_semantics::share::{ALL_PPM, PPM_PER_PERCENT};

use super::provision::provisions;
use super::stored::sizes;
use super::{
    Allowance, BreakEvens, Capacity, Costing, Demand, Load, Missing, Mode, Throughput, Workload,
    write_amplification,
};
use crate::price::{Item, Money};
use crate::run::{EntityReport, Measured, Note, PatternReport, written_ppm};
use keywright_model::{
    DeclaredCapacity, HalfUnits, Index, IndexKind, MicroPerSecond, Model, Pattern, Table, Write, WriteKind,
};

/// What a model costs each month.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bill {
    /// Each pattern on each table and index it touches.
    pub lines: Vec<Line>,
    /// The units that tables provision, and how much of them is unused.
    pub capacity: Vec<Capacity>,
    /// Storage of each table and index.
    pub storage: Vec<Storage>,
    /// Backups, replication, streams and the like, as declared in the model or the settings.
    pub features: Vec<Feature>,
    /// Patterns without a declared rate, which cannot be billed (R66): reported, not taken as zero.
    pub without_rate: Vec<String>,
    /// The assumptions behind the figures, where the model leaves something out.
    pub notes: Vec<Note>,
    /// For each table, its billing modes and classes from the cheapest: its whole bill in each, features and
    /// all regions included.
    pub modes: Vec<(String, Modes)>,
    /// Tables with a cheaper mode or class; only tables for which every pattern has a rate.
    pub savings: Vec<Saving>,
    /// Entities, with the number of writes that one write of an item causes.
    pub amplification: Vec<(String, u64)>,
    /// The metered writes of each table and its indexes.
    pub written: Vec<Written>,
    /// The break-even points of each table between billing modes and classes.
    pub break_evens: Vec<(String, BreakEvens)>,
    /// Tables with replicas: transfer between their regions is charged separately and not in the sum.
    pub replicated: Vec<String>,
    /// The prices that went into the sum.
    pub prices: BTreeSet<Item>,
}

/// Storage of a table or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// The table or index.
    pub target: Target,
    /// Its bytes, the service's own included.
    pub bytes: u128,
    /// The price of a gigabyte.
    pub price: Item,
    /// What it costs each month.
    pub monthly: Money,
}

/// Something charged in addition to requests and storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// The table that has it.
    pub table: String,
    /// Its name.
    pub name: &'static str,
    /// The prices it is charged by.
    pub prices: Vec<Item>,
    /// What it costs each month.
    pub monthly: Money,
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
    /// All writes as a percentage of the table's own writes: 600 if each causes five more.
    pub fn percent(&self) -> Option<u64> {
        let all = self.base + self.indexes;
        u64::try_from((all * 100).checked_div(self.base)?).ok()
    }
}

/// Billing modes and table classes with their monthly costs, the cheapest first.
pub type Modes = Vec<(TableClass, Mode, Money)>;

/// A table whose mode or class is not the cheapest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saving {
    /// The table.
    pub table: String,
    /// The current class and mode, and their monthly cost in all regions.
    pub now: (TableClass, Mode, Money),
    /// The cheapest without a reservation, and its cost.
    pub best: (TableClass, Mode, Money),
    /// The cheapest of all, if reserving is cheaper still.
    pub reserved: Option<(TableClass, Mode, Money)>,
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
    /// The table or index it uses.
    pub target: Target,
    /// How often it runs on average.
    pub rate: MicroPerSecond,
    /// Metered units of one execution.
    pub read: HalfUnits,
    /// Metered units of one execution.
    pub write: HalfUnits,
    /// The share of executions that write there, in parts per million: less than all for a sparse index.
    pub share_ppm: u64,
    /// The price of a read unit.
    pub read_price: Item,
    /// The price of a write unit.
    pub write_price: Item,
    /// The monthly cost; for provisioned capacity, of the units that the pattern uses.
    pub monthly: Throughput,
}

impl Bill {
    /// Everything together.
    pub fn total(&self) -> Money {
        let lines: Money = self.lines.iter().map(|line| line.monthly.total()).sum();
        let unused: Money = self.capacity.iter().map(|own| own.unused.total()).sum();
        let storage: Money = self.storage.iter().map(|own| own.monthly).sum();
        lines + unused + storage + self.features.iter().map(|own| own.monthly).sum()
    }

    /// Tables and indexes with fewer provisioned units than the patterns consume.
    pub fn shortages(&self) -> impl Iterator<Item = &Capacity> {
        self.capacity.iter().filter(|own| own.read.is_short() || own.write.is_short())
    }

    /// Whether the sum is complete: the model leaves out nothing that costs money.
    pub fn is_whole(&self) -> bool {
        let left_out =
            |note: &Note| matches!(note, Note::NoCount { .. } | Note::NotRun { .. } | Note::NotFailed { .. });
        self.without_rate.is_empty() && !self.notes.iter().any(left_out)
    }
}

/// The metered consumption of a pattern on a table or index.
struct Touch<'a> {
    pattern: &'a Pattern,
    target: Target,
    read: HalfUnits,
    write: HalfUnits,
    share_ppm: u64,
}

impl Touch<'_> {
    fn load(&self, rate: MicroPerSecond) -> Load {
        let whole = Load::of(rate, self.read, self.write);
        let written = whole.write_micro_halves * u128::from(self.share_ppm) / u128::from(ALL_PPM);
        Load { write_micro_halves: written, ..whole }
    }
}

/// Bills a model from the metered consumption of its workload.
pub fn bill(model: &Model, measured: &Measured, costing: &Costing<'_>) -> Result<Bill, Missing> {
    let mut bill = Bill { notes: measured.notes.clone(), ..Bill::default() };
    let silent = |pattern: &&Pattern| pattern.rate.is_none();
    bill.without_rate = model.patterns.iter().filter(silent).map(|pattern| pattern.id.clone()).collect();
    let mut free = Regions { allowance: costing.allowance(), left: BTreeMap::new() };
    for table in &model.tables {
        OfTable { model, measured, table, costing: *costing }.add_to(&mut bill, &mut free)?;
    }
    let place = |id: &str| model.patterns.iter().position(|pattern| pattern.id == id);
    bill.lines.sort_by_key(|line| place(&line.pattern));
    bill.amplification = amplification(model);
    bill.prices = prices(&bill);
    assert_eq!(bill.parts(|_| true).total(), bill.total(), "the kinds of costs add up to the bill");
    let rated = |line: &Line| model.pattern(&line.pattern).is_some_and(|pattern| pattern.rate.is_some());
    assert!(bill.lines.iter().all(rated), "only patterns with a rate are billed");
    Ok(bill)
}

/// The prices that the bill uses.
fn prices(bill: &Bill) -> BTreeSet<Item> {
    let some = |cost: Money, price: Item| (cost != Money::ZERO).then_some(price);
    let lines = bill.lines.iter().flat_map(|line| {
        [some(line.monthly.reads, line.read_price), some(line.monthly.writes, line.write_price)]
    });
    let storage = bill.storage.iter().map(|own| some(own.monthly, own.price));
    let features = bill.features.iter().flat_map(|own| own.prices.iter().copied());
    lines.chain(storage).flatten().chain(features).collect()
}

/// A feature's name, the prices it is charged by, and what it costs.
type Charge = (&'static str, Vec<Item>, Money);

/// One table's part of the bill.
struct OfTable<'a> {
    model: &'a Model,
    measured: &'a Measured,
    table: &'a Table,
    costing: Costing<'a>,
}

impl<'a> OfTable<'a> {
    fn add_to(&self, bill: &mut Bill, free: &mut Regions) -> Result<(), Missing> {
        let (class, mode) = self.declared();
        let touches = self.touches();
        let demands = self.demands(&touches);
        let first = bill.capacity.len();
        for (target, demand) in &demands {
            bill.capacity.extend(self.capacity(target, demand, class)?);
        }
        let capacity = bill.capacity.split_off(first);
        let mut lines = self.lines(&touches, &capacity, class, mode)?;
        let capacity = unused(self.table, capacity, &lines);
        let sizes = sizes(self.model, &self.measured.report, self.table);
        let whole: Vec<Allowance> = std::iter::once(HOME)
            .chain(self.table.replicas.iter().map(String::as_str))
            .map(|region| *free.of(region))
            .collect();
        let mut storage = Vec::new();
        for (target, bytes) in &sizes {
            let price = if class == TableClass::Standard { Item::Storage } else { Item::InfrequentStorage };
            let monthly = self.costing.storage_after(*bytes, class, free.of(HOME))?;
            storage.push(Storage { target: target.clone(), bytes: *bytes, price, monthly });
        }
        let workload = Workload {
            demands: demands.values().copied().collect(),
            bytes: sizes.iter().map(|(_, bytes)| *bytes).sum(),
            replicas: u32::try_from(self.table.replicas.len()).unwrap_or(u32::MAX),
            free: whole,
        };
        let features = self.features(&sizes, &demands, &touches, free)?;
        let name = self.table.name.clone();
        let same = in_every_mode(&features);
        let modes = self.costing.cheapest(&workload, self.costing.settings.used_ppm)?;
        let modes: Modes = modes.into_iter().map(|(class, mode, cost)| (class, mode, cost + same)).collect();
        assert!(modes.is_sorted_by_key(|(_, _, cost)| *cost), "the cheapest mode comes first");
        if touches.iter().all(|touch| touch.pattern.rate.is_some()) && !touches.is_empty() {
            let now = now(&lines, &capacity, &storage, &features);
            bill.savings.extend(self.saving((class, mode, now), &modes));
        }
        bill.modes.push((name.clone(), modes));
        bill.break_evens.push((name, self.costing.break_evens(&workload, class)?));
        bill.written.push(self.written(&touches));
        bill.replicated.extend(Some(self.table.name.clone()).filter(|_| !self.table.replicas.is_empty()));
        bill.lines.append(&mut lines);
        bill.capacity.extend(capacity);
        bill.storage.append(&mut storage);
        bill.features.extend(features);
        Ok(())
    }

    /// The class and mode that the model declares. Provisioned capacity is charged by the unit.
    fn declared(&self) -> (TableClass, Mode) {
        let class = if self.table.infrequent_access {
            TableClass::StandardInfrequentAccess
        } else {
            TableClass::Standard
        };
        let mode = match &self.table.billing {
            DeclaredCapacity::OnDemand => Mode::OnDemand,
            DeclaredCapacity::Provisioned { autoscale: None, .. } => {
                Mode::Provisioned { used_ppm: self.costing.settings.used_ppm }
            }
            DeclaredCapacity::Provisioned { autoscale: Some(scale), .. } => {
                Mode::Autoscaled { used_ppm: scale.target_percent * PPM_PER_PERCENT }
            }
        };
        (class, mode)
    }

    /// The consumption of every pattern on this table.
    fn touches(&self) -> Vec<Touch<'a>> {
        let mut found = Vec::new();
        for pattern in &self.model.patterns {
            let ran = self.measured.report.pattern(&pattern.id);
            let here =
                ran.into_iter().flat_map(|ran| &ran.capacity).filter(|own| own.table == self.table.name);
            for own in here {
                let target =
                    |index: Option<&String>| Target { table: self.table.name.clone(), index: index.cloned() };
                let indexes = own.usage.local_indexes.iter().chain(&own.usage.global_indexes);
                let all = std::iter::once((target(None), own.usage.table))
                    .chain(indexes.map(|(name, usage)| (target(Some(name)), *usage)));
                for (target, usage) in all.filter(|(_, usage)| usage.read.0 + usage.write.0 > 0) {
                    let share_ppm = self.share(pattern, &target);
                    let (read, write) = (usage.read, usage.write);
                    found.push(Touch { pattern, target, read, write, share_ppm });
                }
            }
        }
        found
    }

    /// The share of a pattern's writes that reach an index: the average of its steps' shares, weighted by
    /// the consumption of each step when run alone.
    fn share(&self, pattern: &Pattern, target: &Target) -> u64 {
        let Some(index) = target.index.as_ref().and_then(|name| self.table.index(name)) else {
            return ALL_PPM;
        };
        let share = |step: &Write| {
            let entity = self.model.entity(&step.entity).filter(|entity| entity.table == self.table.name)?;
            let seen = self.measured.report.entity(&step.entity)?;
            let is_in = index.key_parts().all(|part| entity.template(&part.name).is_some());
            is_in.then(|| written_ppm(pattern, step, entity, index, seen))
        };
        let Some(parts) = self.measured.steps.get(&pattern.id) else {
            // If the steps' own consumption is unknown, use the share of the step that writes there most
            // often.
            return pattern.steps().iter().filter_map(share).max().unwrap_or(ALL_PPM);
        };
        let units = |ran: &PatternReport| -> u128 {
            let here = ran.capacity.iter().filter(|own| own.table == self.table.name);
            let own = here.filter_map(|own| {
                let usage = &own.usage;
                usage.global_indexes.get(&index.name).or_else(|| usage.local_indexes.get(&index.name))
            });
            own.map(|usage| u128::from(usage.write.0)).sum()
        };
        assert_eq!(parts.len(), pattern.steps().len(), "each step was metered once");
        let steps = || pattern.steps().iter().zip(parts);
        let all: u128 = steps().map(|(_, ran)| units(ran)).sum();
        let written: u128 =
            steps().map(|(step, ran)| units(ran) * u128::from(share(step).unwrap_or(ALL_PPM))).sum();
        written.checked_div(all).and_then(|ppm| u64::try_from(ppm).ok()).unwrap_or(ALL_PPM)
    }

    /// The load on the table, its local indexes included, and on each global index, also where it is zero.
    fn demands(&self, touches: &[Touch<'_>]) -> BTreeMap<Target, Demand> {
        let globals = self.table.indexes.iter().filter(|index| index.kind == IndexKind::Global);
        let names = std::iter::once(None).chain(globals.map(|index| Some(index.name.clone())));
        let mut demands: BTreeMap<Target, Demand> = names
            .map(|index| {
                let replicated = index.is_none() && !self.table.replicas.is_empty();
                let target = Target { table: self.table.name.clone(), index };
                (target, Demand { replicated, ..Demand::default() })
            })
            .collect();
        for touch in touches {
            let (Some(rate), target) = (touch.pattern.rate, self.provider(&touch.target)) else { continue };
            let demand = demands.entry(target).or_default();
            demand.average = demand.average.and(touch.load(rate.average));
            demand.peak = demand.peak.and(touch.load(rate.peak));
        }
        demands
    }

    /// The target whose units are used: a local index is a part of its table.
    fn provider(&self, target: &Target) -> Target {
        let index = target.index.as_ref().filter(|_| !is_of_table(self.table, target));
        Target { table: target.table.clone(), index: index.cloned() }
    }

    fn capacity(
        &self,
        target: &Target,
        demand: &Demand,
        class: TableClass,
    ) -> Result<Option<Capacity>, Missing> {
        let Some((read, write)) = provisions(&self.table.billing, demand) else { return Ok(None) };
        let units = Load { read_micro_halves: read.provided, write_micro_halves: write.provided };
        let mode = Mode::Provisioned { used_ppm: ALL_PPM };
        let monthly = self.costing.units(units, demand.replicated, class, mode)?;
        Ok(Some(Capacity { target: target.clone(), read, write, monthly, unused: monthly }))
    }

    fn lines(
        &self,
        touches: &[Touch<'_>],
        capacity: &[Capacity],
        class: TableClass,
        mode: Mode,
    ) -> Result<Vec<Line>, Missing> {
        let mut lines = Vec::new();
        for touch in touches {
            let Some(rate) = touch.pattern.rate else { continue };
            let replicated = !self.table.replicas.is_empty() && is_of_table(self.table, &touch.target);
            let mut monthly = self.costing.units(touch.load(rate.average), replicated, class, mode)?;
            let provider = self.provider(&touch.target);
            if let Some(own) = capacity.iter().find(|own| own.target == provider) {
                // If less is provisioned than consumed, only the provisioned units are paid for.
                let held = |cost: Money, own: &super::Provision| {
                    let part = |units: u128| i128::try_from(units).unwrap_or(i128::MAX);
                    if own.average > own.provided {
                        cost.times(part(own.provided), part(own.average))
                    } else {
                        cost
                    }
                };
                monthly = Throughput {
                    reads: held(monthly.reads, &own.read),
                    writes: held(monthly.writes, &own.write),
                };
            }
            lines.push(Line {
                pattern: touch.pattern.id.clone(),
                target: touch.target.clone(),
                rate: rate.average,
                read: touch.read,
                write: touch.write,
                share_ppm: touch.share_ppm,
                read_price: Costing::read_price(class, mode),
                write_price: Costing::write_price(class, mode, replicated),
                monthly,
            });
        }
        Ok(lines)
    }

    /// The table's saving; `None` if it has the cheapest mode already. Auto scaling is never advised: it
    /// follows the load in minutes, and the model does not say whether the load allows that.
    fn saving(&self, now: (TableClass, Mode, Money), all: &Modes) -> Option<Saving> {
        let committed =
            |mode: &Mode| matches!(mode, Mode::ReservedOneYear { .. } | Mode::ReservedThreeYears { .. });
        let scaled = |mode: &Mode| matches!(mode, Mode::Autoscaled { .. });
        let free = all.iter().find(|(_, mode, _)| !committed(mode) && !scaled(mode)).copied();
        let best = free.filter(|(_, _, cheapest)| *cheapest < now.2).unwrap_or(now);
        let reserved = all.iter().find(|(_, mode, least)| committed(mode) && *least < best.2).copied();
        (best.2 < now.2 || reserved.is_some()).then(|| Saving {
            table: self.table.name.clone(),
            now,
            best,
            reserved,
        })
    }

    fn written(&self, touches: &[Touch<'_>]) -> Written {
        let sum = |of_index: bool| {
            let own = touches.iter().filter(|touch| touch.target.index.is_some() == of_index);
            own.filter_map(|touch| Some(touch.load(touch.pattern.rate?.average).write_micro_halves)).sum()
        };
        Written { table: self.table.name.clone(), base: sum(false), indexes: sum(true) }
    }

    fn features(
        &self,
        sizes: &[(Target, u128)],
        demands: &BTreeMap<Target, Demand>,
        touches: &[Touch<'_>],
        free: &mut Regions,
    ) -> Result<Vec<Feature>, Missing> {
        let (costing, habits) = (&self.costing, self.costing.settings.habits);
        let own: u128 =
            sizes.iter().filter(|(target, _)| is_of_table(self.table, target)).map(|(_, bytes)| *bytes).sum();
        let mut found: Vec<Charge> = Vec::new();
        if self.table.pitr == Some(true) {
            let item = Item::PointInTimeRecovery;
            found.push(("point-in-time recovery", vec![item], costing.gigabytes(item, own)?));
        }
        for (name, item, times) in [
            ("kept backups", Item::Backup, habits.backups),
            ("restores", Item::Restore, habits.restores),
            ("exports", Item::Export, habits.exports),
        ] {
            if times > 0 {
                found.push((name, vec![item], costing.gigabytes(item, own * u128::from(times))?));
            }
        }
        if self.table.stream.is_some() && habits.stream_reads.0 > 0 {
            found.push((
                "stream reads",
                vec![Item::StreamRead],
                costing.stream(habits.stream_reads, free.of(HOME))?,
            ));
        }
        if habits.change_capture {
            let cost = costing.change_capture(self.changes(touches))?;
            found.push(("change capture", vec![Item::ChangeCapture], cost));
        }
        if !self.table.replicas.is_empty() {
            found.extend(self.replicas(sizes, demands, free)?);
        }
        let (class, mode) = self.declared();
        let taken = self.free_units(demands, false, free.of(HOME))?;
        let [read, write] = [Costing::read_price(class, mode), Costing::write_price(class, mode, false)];
        found.push((FREE_UNITS, vec![read, write], Money::ZERO - taken));
        let found = found.into_iter().filter(|(_, _, cost)| *cost != Money::ZERO);
        let table = || self.table.name.clone();
        Ok(found.map(|(name, prices, monthly)| Feature { table: table(), name, prices, monthly }).collect())
    }

    /// Units of change capture: one for each kilobyte of every changed item, however it is written. A
    /// transaction writes twice and changes once; its checks change nothing (developer guide: Kinesis Data
    /// Streams for DynamoDB).
    fn changes(&self, touches: &[Touch<'_>]) -> MicroPerSecond {
        let mut sum: u64 = 0;
        for touch in touches.iter().filter(|touch| touch.target.index.is_none()) {
            let Some(rate) = touch.pattern.rate.filter(|_| !must_fail(touch.pattern)) else { continue };
            let changing =
                |kind: WriteKind| matches!(kind, WriteKind::Put | WriteKind::Update | WriteKind::Delete);
            for step in touch.pattern.steps().iter().filter(|step| changing(step.kind)) {
                let here = self.model.entity(&step.entity).filter(|own| own.table == self.table.name);
                let Some(entity) = here else { continue };
                let seen = self.measured.report.entity(&entity.name);
                let measured = seen.and_then(EntityReport::bytes_average);
                let bytes = entity.size_bytes.or(measured).unwrap_or(1);
                let units = bytes.div_ceil(CAPTURE_UNIT_BYTES).max(1);
                sum = sum.saturating_add(rate.average.0.saturating_mul(step.n).saturating_mul(units));
            }
        }
        MicroPerSecond(sum)
    }

    /// The cost of a global table's other regions. In each, writes to the table are charged as replicated
    /// writes, writes to its indexes as ordinary ones. Each provisions what the table does.
    fn replicas(
        &self,
        sizes: &[(Target, u128)],
        demands: &BTreeMap<Target, Demand>,
        free: &mut Regions,
    ) -> Result<Vec<Charge>, Missing> {
        let (class, mode) = self.declared();
        let regions = i128::try_from(self.table.replicas.len()).unwrap_or(i128::MAX);
        let [mut written, mut indexes, mut reads] = [Money::ZERO; 3];
        for (target, demand) in demands {
            let copy = demand.unread();
            let cost = match self.capacity(target, &copy, class)? {
                Some(provided) => provided.monthly,
                None => self.costing.units(copy.average, copy.replicated, class, mode)?,
            };
            reads += cost.reads.times(regions, 1);
            let sum = if target.index.is_none() { &mut written } else { &mut indexes };
            *sum += cost.writes.times(regions, 1);
        }
        let all: u128 = sizes.iter().map(|(_, bytes)| *bytes).sum();
        let [mut stored, mut taken] = [Money::ZERO; 2];
        for region in &self.table.replicas {
            stored += self.costing.storage_after(all, class, free.of(region))?;
            taken += self.free_units(demands, true, free.of(region))?;
        }
        let [write, write_index, read] = [
            Costing::write_price(class, mode, true),
            Costing::write_price(class, mode, false),
            Costing::read_price(class, mode),
        ];
        let storage = if class == TableClass::Standard { Item::Storage } else { Item::InfrequentStorage };
        let [writes_name, indexes_name, reads_name, storage_name, free_name, _] = ALL_REGIONS;
        Ok(vec![
            (writes_name, vec![write], written),
            (indexes_name, vec![write_index], indexes),
            (reads_name, vec![read], reads),
            (storage_name, vec![storage], stored),
            (free_name, vec![read, write_index], Money::ZERO - taken),
        ])
    }

    /// The free part of the units that the table provisions in a region.
    fn free_units(
        &self,
        demands: &BTreeMap<Target, Demand>,
        is_replica: bool,
        free: &mut Allowance,
    ) -> Result<Money, Missing> {
        let (class, mode) = self.declared();
        let own = |demand: &Demand| if is_replica { demand.unread() } else { *demand };
        let paid = demands.values().filter_map(|demand| {
            let (read, write) = provisions(&self.table.billing, &own(demand))?;
            let units = Load { read_micro_halves: read.provided, write_micro_halves: write.provided };
            Some((units, demand.replicated))
        });
        self.costing.free_units(&paid.collect::<Vec<_>>(), class, mode, free)
    }
}

/// Name of the free part of provisioned units.
const FREE_UNITS: &str = "free provisioned units";
/// Names of the cost of other regions, and of the deductions in all regions.
const ALL_REGIONS: [&str; 6] = [
    "replicated writes",
    "replicas' indexes",
    "replicas' provisioned reads",
    "replicas' storage",
    "replicas' free units",
    FREE_UNITS,
];
/// The table's own region, which a model does not name.
const HOME: &str = "";

/// The rest of the free tier in each region.
struct Regions {
    /// The full free tier of a region.
    allowance: Allowance,
    left: BTreeMap<String, Allowance>,
}

impl Regions {
    fn of(&mut self, region: &str) -> &mut Allowance {
        self.left.entry(region.to_owned()).or_insert(self.allowance)
    }
}

/// The table's current cost.
fn now(lines: &[Line], capacity: &[Capacity], storage: &[Storage], features: &[Feature]) -> Money {
    let lines: Money = lines.iter().map(|line| line.monthly.total()).sum();
    let unused: Money = capacity.iter().map(|own| own.unused.total()).sum();
    let storage: Money = storage.iter().map(|own| own.monthly).sum();
    lines + unused + storage + features.iter().map(|own| own.monthly).sum()
}

/// The features that cost the same in every mode and class, such as point-in-time recovery.
fn in_every_mode(features: &[Feature]) -> Money {
    features.iter().filter(|own| !ALL_REGIONS.contains(&own.name)).map(|own| own.monthly).sum()
}

/// The capacity with the units that the lines leave unused.
fn unused(table: &Table, capacity: Vec<Capacity>, lines: &[Line]) -> Vec<Capacity> {
    let left = |own: Capacity| {
        let here = lines.iter().filter(|line| {
            let of_table = is_of_table(table, &line.target);
            if own.target.index.is_none() { of_table } else { line.target == own.target }
        });
        let used = here.fold(Throughput::default(), |sum, line| Throughput {
            reads: sum.reads + line.monthly.reads,
            writes: sum.writes + line.monthly.writes,
        });
        // Each line is rounded by itself: if all units are used, the lines can exceed them by a few
        // nano-dollars.
        let rest = |all: Money, used: Money| (all - used).max(Money::ZERO);
        let unused = Throughput {
            reads: rest(own.monthly.reads, used.reads),
            writes: rest(own.monthly.writes, used.writes),
        };
        Capacity { unused, ..own }
    };
    capacity.into_iter().map(left).collect()
}

/// The table itself or a local index, which is a part of it.
fn is_of_table(table: &Table, target: &Target) -> bool {
    let index = target.index.as_ref().and_then(|name| table.index(name));
    target.index.is_none() || index.is_some_and(|index| index.kind == IndexKind::Local)
}

/// Whether a pattern is billed as a failed write, which changes nothing.
fn must_fail(pattern: &Pattern) -> bool {
    let fails = pattern.expect.as_ref().and_then(|expect| expect.fails.as_ref());
    fails.is_some_and(|fails| fails.when.is_empty())
}

/// An item is written once to its table and once to each index whose key it can have.
fn amplification(model: &Model) -> Vec<(String, u64)> {
    model
        .entities
        .iter()
        .map(|entity| {
            let indexes = model.table(&entity.table).map_or(&[][..], |table| table.indexes.as_slice());
            let has = |index: &&Index| index.key_parts().all(|part| entity.template(&part.name).is_some());
            let count = u64::try_from(indexes.iter().filter(has).count()).unwrap_or(u64::MAX);
            (entity.name.clone(), write_amplification(count))
        })
        .collect()
}
