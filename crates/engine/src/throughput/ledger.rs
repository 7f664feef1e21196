//! The ledger of one table: what each of its limits has left, for the table and every global index.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::limits::{
    BURST_SECONDS, INITIAL_ON_DEMAND_READ_UNITS, INITIAL_ON_DEMAND_WRITE_UNITS, PARTITION_BYTES_MAX,
    TABLE_UNITS_MAX,
};
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_semantics::throttle::{Direction, Limit};

use super::bucket::{Bucket, MilliUnits, milli};
use super::map::{PartitionMap, PartitionState, Splits, needed};
use super::partition::PartitionLoad;
use super::saved::{SavedResource, SavedTable};
use super::uses::Use;
use crate::catalogue::{OnDemandLimits, Table, Throughput, Warm};
use crate::support::env::MINUTE_MS;
use crate::support::layout::IndexId;
use crate::support::throughput::{Throttle, ThroughputConfig};

const SECONDS_PER_MINUTE: i64 = 60;
const MILLI: i64 = 1000;
/// An on-demand table serves this many times its highest peak.
const PEAK_FACTOR: u64 = 2;

/// Units that a request asks for or has used, of the table (`None`) or one of its global indexes.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub index: Option<IndexId>,
    pub direction: Direction,
    /// The key within the table or index, if one partition is concerned.
    pub key: Option<Bytes>,
    pub units: HalfUnits,
}

/// A limit that has nothing left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shortage {
    pub limit: Limit,
    pub index: Option<IndexId>,
    pub direction: Direction,
}

/// What a table or index may use, from the table's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    billing: BillingMode,
    throughput: Throughput,
    on_demand: OnDemandLimits,
    warm: Option<Warm>,
}

impl Terms {
    fn of_table(table: &Table) -> Self {
        Self {
            billing: table.billing,
            throughput: table.throughput,
            on_demand: table.on_demand,
            warm: table.warm,
        }
    }

    fn provisioned(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.throughput.read_units,
            Direction::Write => self.throughput.write_units,
        }
    }

    fn maximum(&self, direction: Direction) -> Option<u64> {
        let maximum = match direction {
            Direction::Read => self.on_demand.read_units_max,
            Direction::Write => self.on_demand.write_units_max,
        };
        maximum.and_then(|units| u64::try_from(units).ok())
    }

    /// What an on-demand table serves before it has grown.
    fn initial(&self, direction: Direction) -> u64 {
        let (initial, warm) = match direction {
            Direction::Read => (INITIAL_ON_DEMAND_READ_UNITS, self.warm.map(|warm| warm.read_units)),
            Direction::Write => (INITIAL_ON_DEMAND_WRITE_UNITS, self.warm.map(|warm| warm.write_units)),
        };
        initial.max(warm.unwrap_or(0))
    }

    /// The units that the partitions have to serve.
    fn served(&self, direction: Direction, peaks: &Peaks) -> u64 {
        let warm = match direction {
            Direction::Read => self.warm.map(|warm| warm.read_units),
            Direction::Write => self.warm.map(|warm| warm.write_units),
        };
        match self.billing {
            BillingMode::Provisioned => self.provisioned(direction).max(warm.unwrap_or(0)),
            BillingMode::PayPerRequest => self.level(direction, peaks),
        }
    }

    fn level(&self, direction: Direction, peaks: &Peaks) -> u64 {
        self.initial(direction).max(peaks.highest(direction).saturating_mul(PEAK_FACTOR))
    }
}

/// The highest minutes of a table or index. A minute counts once it is old enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Peaks {
    highest: [u64; 2],
    minute: u64,
    units: [MilliUnits; 2],
    recent: VecDeque<(u64, [u64; 2])>,
}

impl Peaks {
    fn highest(&self, direction: Direction) -> u64 {
        self.highest.get(direction.place()).copied().unwrap_or(0)
    }

    fn add(&mut self, direction: Direction, units: MilliUnits) {
        if let Some(sum) = self.units.get_mut(direction.place()) {
            *sum = sum.saturating_add(units);
        }
    }

    /// Ends the minute if another one has begun. True if the highest changed.
    fn turn_minute(&mut self, now_ms: u64, age_minutes: u64) -> bool {
        let minute = now_ms / MINUTE_MS;
        if minute <= self.minute {
            return false;
        }
        let average = self.units.map(|units| u64::try_from(units / SECONDS_PER_MINUTE / MILLI).unwrap_or(0));
        let is_higher = average.iter().zip(&self.highest).any(|(units, highest)| units > highest);
        if is_higher {
            self.recent.push_back((self.minute, average));
        }
        self.units = [0; 2];
        self.minute = minute;
        let mut changed = false;
        while let Some((at, units)) = self.recent.front().copied()
            && minute > at.saturating_add(age_minutes)
        {
            self.recent.pop_front();
            for (highest, units) in self.highest.iter_mut().zip(units) {
                changed |= units > *highest;
                *highest = units.max(*highest);
            }
        }
        changed
    }
}

/// The limits of the table itself or of one global index.
#[derive(Clone, Debug)]
struct Resource {
    terms: Terms,
    provisioned: Option<[Bucket; 2]>,
    /// The level of on-demand capacity; only where all limits are enforced.
    level: Option<[Bucket; 2]>,
    maximum: [Option<Bucket>; 2],
    quota: [Bucket; 2],
    /// Kept while not all limits are enforced: partitions are never merged.
    partitions: Option<PartitionMap>,
    is_full: bool,
    peaks: Peaks,
    cuts_collections: bool,
}

impl Resource {
    fn new(
        terms: Terms,
        mode: Throttle,
        config: &ThroughputConfig,
        birth: Birth,
        saved: Option<SavedResource>,
    ) -> Self {
        let now_ms = birth.now_ms;
        let mut resource = Self {
            terms,
            provisioned: None,
            level: None,
            maximum: [None, None],
            quota: Direction::ALL.map(|_| Bucket::new(TABLE_UNITS_MAX, 1, 1, now_ms)),
            partitions: None,
            is_full: false,
            peaks: Peaks { minute: now_ms / MINUTE_MS, ..Peaks::default() },
            cuts_collections: birth.cuts_collections,
        };
        if let Some(saved) = saved {
            resource.peaks.highest = saved.peaks;
            resource.partitions = PartitionMap::of_starts(saved.starts, now_ms);
        }
        resource.apply(mode, config, &birth);
        resource
    }

    /// Makes the buckets fit the terms and the mode.
    fn apply(&mut self, mode: Throttle, config: &ThroughputConfig, birth: &Birth) {
        let now_ms = birth.now_ms;
        let terms = self.terms;
        match (terms.billing, &mut self.provisioned) {
            (BillingMode::PayPerRequest, provisioned) => *provisioned = None,
            (BillingMode::Provisioned, Some(buckets)) => {
                for (bucket, direction) in buckets.iter_mut().zip(Direction::ALL) {
                    bucket.set_rate(terms.provisioned(direction), now_ms);
                }
            }
            (BillingMode::Provisioned, none) => {
                *none = Some(Direction::ALL.map(|direction| {
                    Bucket::new(terms.provisioned(direction), BURST_SECONDS, config.burst_start_s, now_ms)
                }));
            }
        }
        for (bucket, direction) in self.maximum.iter_mut().zip(Direction::ALL) {
            match (terms.maximum(direction).filter(|_| terms.billing == BillingMode::PayPerRequest), bucket) {
                (None, bucket) => *bucket = None,
                (Some(units), Some(bucket)) => bucket.set_rate(units, now_ms),
                (Some(units), none) => *none = Some(Bucket::new(units, 1, 1, now_ms)),
            }
        }
        self.is_full = mode == Throttle::Full;
        if !self.is_full {
            self.level = None;
            return;
        }
        self.apply_level(now_ms);
        let [read, write] = Direction::ALL.map(|direction| terms.served(direction, &self.peaks));
        let bytes = usize::try_from(birth.bytes.div_ceil(PARTITION_BYTES_MAX)).unwrap_or(1);
        let count = needed(read, write).max(bytes);
        let partitions = self.partitions.get_or_insert_with(|| PartitionMap::equal(count, now_ms));
        partitions.grow_to(count);
    }

    fn apply_level(&mut self, now_ms: u64) {
        let terms = self.terms;
        if terms.billing == BillingMode::Provisioned {
            self.level = None;
            return;
        }
        let levels = Direction::ALL.map(|direction| terms.level(direction, &self.peaks));
        match &mut self.level {
            Some(buckets) => {
                for (bucket, level) in buckets.iter_mut().zip(levels) {
                    bucket.set_rate(level, now_ms);
                }
            }
            none => *none = Some(levels.map(|level| Bucket::new(level, 1, 1, now_ms))),
        }
    }

    /// Ends the minutes that are over, for the resource and the key's partition. True if something changed
    /// that is kept over a restart.
    fn turn(
        &mut self,
        key: Option<&[u8]>,
        config: &ThroughputConfig,
        (now_ms, splits_here): (u64, bool),
    ) -> bool {
        if !self.is_full {
            return false;
        }
        let mut changed = false;
        if self.peaks.turn_minute(now_ms, config.peak_minutes) {
            self.apply_level(now_ms);
            let [read, write] = Direction::ALL.map(|direction| self.terms.served(direction, &self.peaks));
            if let Some(partitions) = &mut self.partitions {
                partitions.grow_to(needed(read, write));
            }
            changed = true;
        }
        if let (Some(partitions), Some(key)) = (&mut self.partitions, key) {
            let place = partitions.place(key);
            let here = Splits::Here { cuts_collections: self.cuts_collections };
            let splits = if splits_here { here } else { Splits::Elsewhere };
            changed |= partitions.turn(place, now_ms, &config.split, splits);
        }
        changed
    }

    fn enforced_partitions(&mut self) -> Option<&mut PartitionMap> {
        self.partitions.as_mut().filter(|_| self.is_full)
    }

    fn shortages(&mut self, arm: &Arm, now_ms: u64, mut short: impl FnMut(Limit)) {
        let place = arm.direction.place();
        let mut check = |limit, bucket: Option<&mut Bucket>| {
            if bucket.is_some_and(|bucket| !bucket.has_some(now_ms)) {
                short(limit);
            }
        };
        check(Limit::ProvisionedThroughput, self.provisioned.as_mut().and_then(|two| two.get_mut(place)));
        check(Limit::MaxOnDemandThroughput, self.maximum.get_mut(place).and_then(Option::as_mut));
        check(Limit::AccountLimit, self.quota.get_mut(place));
        let mut over_range = self
            .level
            .as_mut()
            .and_then(|two| two.get_mut(place))
            .is_some_and(|level| !level.has_some(now_ms));
        if let (Some(partitions), Some(key)) = (self.enforced_partitions(), arm.key.as_deref()) {
            let place = partitions.place(key);
            let partition = partitions.at(place);
            if !partition.has_some(arm.direction, now_ms) {
                partition.note_refused();
                over_range = true;
            }
        }
        if over_range {
            short(Limit::KeyRangeThroughput);
        }
    }

    fn take(&mut self, direction: Direction, key: Option<&[u8]>, (units, now_ms): (MilliUnits, u64)) {
        let place = direction.place();
        let pairs = [&mut self.provisioned, &mut self.level];
        let single = pairs.into_iter().flatten().filter_map(|two| two.get_mut(place));
        let maximum = self.maximum.get_mut(place).and_then(Option::as_mut);
        for bucket in single.chain(maximum).chain(self.quota.get_mut(place)) {
            bucket.take(units, now_ms);
        }
        self.peaks.add(direction, units);
        if let (Some(partitions), Some(key)) = (self.enforced_partitions(), key) {
            let place = partitions.place(key);
            partitions.at(place).take(direction, key, units, now_ms);
        }
    }

    fn give_back(&mut self, direction: Direction, key: Option<&[u8]>, units: MilliUnits) {
        let place = direction.place();
        let pairs = [&mut self.provisioned, &mut self.level];
        let single = pairs.into_iter().flatten().filter_map(|two| two.get_mut(place));
        let maximum = self.maximum.get_mut(place).and_then(Option::as_mut);
        for bucket in single.chain(maximum).chain(self.quota.get_mut(place)) {
            bucket.give_back(units);
        }
        self.peaks.add(direction, -units);
        if let (Some(partitions), Some(key)) = (self.enforced_partitions(), key) {
            let place = partitions.place(key);
            partitions.at(place).give_back(direction, units);
        }
    }
}

/// The limits of a table or index, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitState {
    /// Read and write units a second: provisioned, or the level that on-demand capacity has reached, and no
    /// more than its maximum.
    pub units: [u64; 2],
    /// Its partitions in the order of their keys; none where partitions are not enforced.
    pub partitions: Vec<PartitionState>,
}

/// What a table's limits begin with, apart from its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub now_ms: u64,
    /// The size of the table or index.
    pub bytes: u64,
    /// Whether an item collection may be spread over partitions.
    pub cuts_collections: bool,
}

/// All limits of one table.
#[derive(Clone, Debug)]
pub(crate) struct TableLedger {
    /// The version of the table's record that the limits were made from.
    version: u64,
    mode: Throttle,
    table: Resource,
    indexes: BTreeMap<IndexId, Resource>,
    is_changed: bool,
}

impl TableLedger {
    /// The limits of a table; `bytes` are the sizes of the table and its indexes.
    pub(crate) fn new(
        table: &Table,
        mode: Throttle,
        config: &ThroughputConfig,
        now_ms: u64,
        bytes: impl Fn(Option<IndexId>) -> u64,
        mut saved: BTreeMap<Option<IndexId>, SavedResource>,
    ) -> Self {
        let cuts_collections = table.schema.indexes.iter().all(|index| index.kind == IndexKind::Global);
        let birth = |index, cuts_collections| Birth { now_ms, bytes: bytes(index), cuts_collections };
        let of_table = Resource::new(
            Terms::of_table(table),
            mode,
            config,
            birth(None, cuts_collections),
            saved.remove(&None),
        );
        let indexes = index_terms(table)
            .map(|(id, terms)| {
                (id, Resource::new(terms, mode, config, birth(Some(id), true), saved.remove(&Some(id))))
            })
            .collect();
        Self { version: table.version, mode, table: of_table, indexes, is_changed: mode == Throttle::Full }
    }

    /// Follows a change of the table's record.
    pub(crate) fn follow(&mut self, table: &Table, mode: Throttle, config: &ThroughputConfig, now_ms: u64) {
        if self.version == table.version && self.mode == mode {
            return;
        }
        (self.version, self.mode) = (table.version, mode);
        let birth = Birth { now_ms, bytes: 0, cuts_collections: true };
        self.table.terms = Terms::of_table(table);
        self.table.apply(mode, config, &birth);
        let mut kept = std::mem::take(&mut self.indexes);
        for (id, terms) in index_terms(table) {
            let resource = match kept.remove(&id) {
                Some(mut resource) => {
                    resource.terms = terms;
                    resource.apply(mode, config, &birth);
                    resource
                }
                None => Resource::new(terms, mode, config, birth, None),
            };
            self.indexes.insert(id, resource);
        }
        self.is_changed = true;
    }

    fn resource(&mut self, index: Option<IndexId>) -> Option<&mut Resource> {
        match index {
            None => Some(&mut self.table),
            Some(id) => self.indexes.get_mut(&id),
        }
    }

    /// The limits that have nothing left for one of these arms, each once, in the order of an error.
    pub(crate) fn shortages(
        &mut self,
        arms: &[Arm],
        config: &ThroughputConfig,
        (now_ms, splits_here): (u64, bool),
    ) -> Vec<Shortage> {
        let mut found = Vec::new();
        for arm in arms {
            let Some(resource) = self.resource(arm.index) else { continue };
            let changed = resource.turn(arm.key.as_deref(), config, (now_ms, splits_here));
            resource.shortages(arm, now_ms, |limit| {
                let shortage = Shortage { limit, index: arm.index, direction: arm.direction };
                if !found.contains(&shortage) {
                    found.push(shortage);
                }
            });
            self.is_changed |= changed;
        }
        found.sort_by_key(|shortage| shortage.limit == Limit::KeyRangeThroughput);
        found
    }

    pub(crate) fn take(&mut self, arms: &[Arm], now_ms: u64) {
        for arm in arms {
            if let Some(resource) = self.resource(arm.index) {
                resource.take(arm.direction, arm.key.as_deref(), (milli(arm.units), now_ms));
            }
        }
    }

    /// Charges what another process has used.
    pub(crate) fn take_use(&mut self, used: &Use, now_ms: u64) {
        let Some(resource) = self.resource(used.index) else { return };
        let direction = used.direction();
        let first = used.keys.first().map(Vec::as_slice);
        if used.units < 0 {
            resource.give_back(direction, first, used.units.saturating_neg());
            return;
        }
        let mut rest = used.units;
        let part = rest / i64::try_from(used.keys.len().max(1)).unwrap_or(i64::MAX);
        for key in used.keys.iter().skip(1) {
            resource.take(direction, Some(key), (part, now_ms));
            rest -= part;
        }
        resource.take(direction, first, (rest, now_ms));
    }

    /// The first key of the partition that an arm concerns.
    pub(crate) fn start_of(&mut self, arm: &Arm) -> Option<Vec<u8>> {
        let partitions = self.resource(arm.index)?.enforced_partitions()?;
        let place = partitions.place(arm.key.as_deref()?);
        Some(partitions.at(place).start.to_vec())
    }

    /// Follows what another process has saved: its splits, and its peaks if they are higher.
    pub(crate) fn follow_saved(&mut self, saved: &SavedTable, now_ms: u64) {
        for (index, saved) in saved {
            let Some(resource) = self.resource(*index) else { continue };
            for (highest, saved) in resource.peaks.highest.iter_mut().zip(saved.peaks) {
                *highest = saved.max(*highest);
            }
            match &mut resource.partitions {
                Some(partitions) => partitions.adopt(&saved.starts),
                none => *none = PartitionMap::of_starts(saved.starts.clone(), now_ms),
            }
            if resource.is_full {
                resource.apply_level(now_ms);
            }
        }
    }

    pub(crate) fn give_back(&mut self, arms: &[Arm]) {
        for arm in arms {
            if let Some(resource) = self.resource(arm.index) {
                resource.give_back(arm.direction, arm.key.as_deref(), milli(arm.units));
            }
        }
    }

    /// The partitions that a range of keys touches, by the first key in each.
    pub(crate) fn touched(&self, index: Option<IndexId>, from: &[u8], to: &[u8]) -> Vec<Vec<u8>> {
        let resource = match index {
            None => Some(&self.table),
            Some(id) => self.indexes.get(&id),
        };
        let Some(partitions) = resource.and_then(|resource| resource.partitions.as_ref()) else {
            return vec![from.to_vec()];
        };
        let (first, last) = (partitions.place(from), partitions.place(to));
        let starts = partitions.starts();
        let rest = starts.get(first + 1..=last).unwrap_or_default();
        std::iter::once(from.to_vec()).chain(rest.iter().cloned()).collect()
    }

    /// What is to be kept over a restart, if it is not saved as it is.
    pub(crate) fn to_save(&self) -> Option<SavedTable> {
        self.is_changed.then(|| self.saved())
    }

    /// Notes that this was saved, unless it has changed since.
    pub(crate) fn note_saved(&mut self, saved: &SavedTable) {
        self.is_changed &= self.saved() != *saved;
    }

    fn saved(&self) -> SavedTable {
        let save = |resource: &Resource| SavedResource {
            peaks: resource.peaks.highest,
            starts: resource.partitions.as_ref().map(PartitionMap::starts).unwrap_or_default(),
        };
        let indexes = self.indexes.iter().map(|(id, resource)| (Some(*id), save(resource)));
        std::iter::once((None, save(&self.table))).chain(indexes).collect()
    }

    /// The limits of the table or an index as they stand.
    pub(crate) fn state(&mut self, index: Option<IndexId>) -> Option<LimitState> {
        let resource = self.resource(index)?;
        let terms = resource.terms;
        let units = Direction::ALL.map(|direction| match terms.billing {
            BillingMode::Provisioned => terms.provisioned(direction),
            BillingMode::PayPerRequest => {
                let level = terms.level(direction, &resource.peaks);
                terms.maximum(direction).map_or(level, |maximum| maximum.min(level))
            }
        });
        let partitions = resource.partitions.as_ref().map(PartitionMap::states).unwrap_or_default();
        Some(LimitState { units, partitions })
    }

    /// The loads of the partitions of the table or an index; none where partitions are not enforced.
    pub(crate) fn loads(&mut self, index: Option<IndexId>, now_ms: u64) -> Vec<[PartitionLoad; 2]> {
        let partitions = self.resource(index).and_then(Resource::enforced_partitions);
        partitions.map(|partitions| partitions.loads(now_ms)).unwrap_or_default()
    }

    /// The partitions of the table or an index.
    #[cfg(test)]
    pub(crate) fn partitions(&self, index: Option<IndexId>) -> usize {
        let resource = match index {
            None => Some(&self.table),
            Some(id) => self.indexes.get(&id),
        };
        resource.and_then(|resource| resource.partitions.as_ref()).map_or(1, PartitionMap::len)
    }
}

/// Every live global index with what it may use.
fn index_terms(table: &Table) -> impl Iterator<Item = (IndexId, Terms)> {
    table.indexes_with_states().filter(|(schema, _)| schema.kind == IndexKind::Global).map(|(_, state)| {
        let terms = Terms {
            billing: table.billing,
            throughput: state.throughput,
            on_demand: state.on_demand,
            warm: state.warm,
        };
        (state.id, terms)
    })
}
