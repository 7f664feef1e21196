//! Key candidates ("views"): the ways of keying one entity that can serve a pattern, with what each serves
//! and costs.
//!
//! For each pattern: every choice of partition attributes among those given by equality, the rest in every
//! order, then the range attribute, then the identity for uniqueness. Dominated candidates are dropped, which
//! keeps the optimum: the dominating one does the same for at most the same cost.

use std::collections::BTreeSet;

use keywright_semantics::capacity::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};

use super::problem::{Entity, Pattern, Problem, Projected, Slot, Write, WriteKind};
use super::uniqueness::written as sentinels;
use super::writer_knowledge::{moves, read_first, touches, unknown};
use keywright_semantics::limits::{INDEX_KEY_ATTRIBUTES_MAX, TRANSACTION_ITEMS_MAX};
use keywright_semantics::share::{ALL_PPM, MICRO, MICRO_WIDE};

use keywright_model::distribution::{Exact, Spread};
use keywright_semantics::schema::TableClass;
use keywright_workbench::cost::{ENTRY_OVERHEAD_BYTES, Gigabyte, Month};
use keywright_workbench::heat::shards_to_cool;
use keywright_workbench::price::{Item, Money, Prices};

/// Seconds in a month as the public calculator counts.
const MONTH_SECONDS: i128 = Month::CALCULATOR.seconds();
/// A gigabyte as storage is billed.
const GIGABYTE: i128 = Gigabyte::Binary.bytes();
/// Write units per second that one partition key sustains, in millionths.
const KEY_WRITES_MICRO: u64 = 1_000_000_000;
/// Bytes of the table key's prefixes in an index entry; the identity in the key is counted separately.
const KEY_PREFIX_BYTES: u64 = 20;
/// With more sets of read attributes than this, only each single set and their union are tried as
/// projections.
const READ_SETS_MAX: usize = 3;
/// Read units per second that one partition key sustains, in millionths.
const KEY_READS_MICRO: u64 = 3_000_000_000;
/// With more patterns than this, no index uses several attributes as its keys. Such an index serves one
/// entity only, so it ties together components that could be solved separately.
const SEVERAL_PATTERNS_MAX: usize = 20;
/// With more attributes given by equality than this, no further orders are tried.
const EQUAL_MAX: usize = 6;

/// One way of keying an entity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct View {
    /// Index of the entity in the problem.
    pub entity: usize,
    /// The partition attributes, in name order.
    pub partition: Vec<String>,
    /// The sort attributes, most significant first.
    pub sort: Vec<String>,
    /// The number of partitions that each key is spread over.
    pub shards: u64,
}

/// A view with what it serves and costs each month.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) view: View,
    /// The attributes that an index entry or a derived item holds; tables hold all.
    pub(super) projected: Projected,
    /// Whether it may be the entity's base key.
    pub(super) base: bool,
    /// Whether it can be the key of a derived item: every writer of the source can compute it.
    pub(super) copy: bool,
    /// Whether it can be an index key: no other candidate serves as much there at the same cost.
    pub(super) index: bool,
    /// Monthly cost of its writes and storage as an index entry.
    pub(super) index_cost: Money,
    /// The additional cost of continuous backups if it is an entry of a local index.
    pub(super) backup_cost: Money,
    /// Monthly cost of its writes and storage as a derived item.
    pub(super) copy_cost: Money,
    /// Bytes of the key's values.
    pub(super) key_bytes: u64,
    /// Bytes of an index entry.
    pub(super) entry_bytes: u64,
    /// Bytes of the item, or of a derived item that holds less.
    pub(super) item_bytes: u64,
    /// Indexes of the patterns it serves.
    pub(super) serves: BTreeSet<usize>,
    /// Indexes of the writes that must read their item before they can keep its index entry current.
    pub(super) read_first: BTreeSet<usize>,
    /// The form of its sort key.
    pub(super) form: Form,
}

impl Candidate {
    /// Bytes of the item or entry in a slot.
    pub(super) fn bytes(&self, slot: Slot) -> u64 {
        match slot {
            Slot::Table | Slot::Copy => self.item_bytes,
            Slot::Local(_) | Slot::Global(_) => self.entry_bytes,
        }
    }

    /// Additional monthly cost of a slot, without the item itself.
    pub(super) fn cost(&self, slot: Slot) -> Money {
        match slot {
            Slot::Table => Money::ZERO,
            Slot::Copy => self.copy_cost,
            Slot::Local(_) => self.index_cost + self.backup_cost,
            Slot::Global(_) => self.index_cost,
        }
    }

    /// How much speaks against its partition key: it receives all current writes, it does not contain the
    /// owner, or it separates the items from what they belong to.
    pub(super) fn findings(&self, problem: &Problem, entity: &Entity) -> u32 {
        let View { partition, shards, .. } = &self.view;
        let meet = *shards == 1 && partition.iter().all(|name| entity.counts_up.contains(name));
        let anybodys = entity.owner.as_ref().is_some_and(|owner| !partition.contains(owner));
        let parents = || entity.parents.iter().filter_map(|name| problem.entity(name));
        let of_parent = |name: &String| parents().any(|parent| parent.id.contains(name));
        let apart = entity.id.iter().any(of_parent) && !partition.iter().all(of_parent);
        u32::from(meet) + u32::from(anybodys) + u32::from(apart)
    }

    /// Whether its key detects existing items: it is the identity that guarded puts rely on, or a unique
    /// value.
    pub(super) fn guards(&self, problem: &Problem) -> bool {
        let Some(entity) = problem.entities.get(self.view.entity) else { return false };
        self.view.is_identity(entity) && problem.is_guarded(self.view.entity)
            || entity.uniques.iter().any(|unique| self.view.is_unique(unique))
    }

    /// Whether its sort key is a number attribute itself.
    pub(super) fn is_number(&self) -> bool {
        self.form == Form::Number
    }

    /// Whether its keys are plain attributes, so that no other entity can have entries in its index.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.form, Form::Number | Form::Several)
    }

    /// The pattern whose sort order it shares with other entities.
    pub(super) fn strip(&self) -> Option<usize> {
        match self.form {
            Form::Strip(pattern) => Some(pattern),
            Form::Text | Form::Number | Form::Several => None,
        }
    }

    /// The maximum number of different partition keys.
    pub(super) fn partitions(&self, entity: &Entity) -> u64 {
        let values =
            |name: &String| entity.attribute(name).and_then(|own| own.distinct).unwrap_or(entity.count);
        self.view.partition.iter().map(values).fold(1, u64::saturating_mul).clamp(1, entity.count.max(1))
    }
}

/// The prices that rank designs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tariff {
    pub(super) write: Money,
    pub(super) read: Money,
    pub(super) storage: Money,
    /// Price of continuous backups; zero if there are none.
    backup: Money,
}

impl Tariff {
    pub(super) fn of(problem: &Problem, prices: &Prices, class: TableClass) -> Result<Self, super::Fault> {
        let find = |item, name| prices.of(item).ok_or(super::Fault::NoPrice(name));
        let backup = if problem.backed_up {
            find(Item::PointInTimeRecovery, "point-in-time recovery")?
        } else {
            Money::ZERO
        };
        Ok(match class {
            TableClass::Standard => Self {
                write: find(Item::WriteRequest, "write request units")?,
                read: find(Item::ReadRequest, "read request units")?,
                storage: find(Item::Storage, "storage")?,
                backup,
            },
            TableClass::StandardInfrequentAccess => Self {
                write: find(Item::InfrequentWriteRequest, "Standard-IA write request units")?,
                read: find(Item::InfrequentReadRequest, "Standard-IA read request units")?,
                storage: find(Item::InfrequentStorage, "Standard-IA storage")?,
                backup,
            },
        })
    }

    /// The monthly cost of a pattern whose key is spread over `shards` and whose items have `bytes` on
    /// average.
    pub(super) fn reads(&self, pattern: &Pattern, shards: u64, bytes: u64) -> Money {
        assert!(shards > 0, "a key has a shard");
        let halves = i128::from(read_halves(pattern, shards, bytes));
        let seconds = i128::from(pattern.rate.0) * MONTH_SECONDS;
        self.read.times(halves * seconds, 2 * MICRO_WIDE)
    }

    /// The monthly cost of an entity's writes and storage in the base table; transactional writes cost twice
    /// there.
    pub(super) fn base(&self, problem: &Problem, entity: &Entity) -> (Money, Money) {
        let units = |write: &Write| {
            i128::from(write_units(entity.size_bytes)) * if write.transactional { 2 } else { 1 }
        };
        let stored = self.stored(entity, entity.size_bytes, ALL_PPM);
        (self.written(problem, entity, units), stored + self.kept_safe(entity, entity.size_bytes, ALL_PPM))
    }

    /// The additional monthly cost of writes that become transactions because of a derived item.
    pub(super) fn transactions(&self, problem: &Problem, entity: &Entity) -> Money {
        let units = |write: &Write| {
            if write.transactional { 0 } else { i128::from(write_units(entity.size_bytes)) }
        };
        self.written(problem, entity, units)
    }

    /// The monthly cost of a read before a write. The read is eventually consistent; the write's condition
    /// checks that its values have not changed.
    pub(super) fn reading_first(&self, entity: &Entity, write: &Write) -> Money {
        let halves = i128::from(entity.size_bytes.div_ceil(READ_UNIT_BYTES).max(1));
        self.read.times(halves * i128::from(write.rate.0) * MONTH_SECONDS, 2 * MICRO_WIDE)
    }

    /// The monthly cost of a derived item: transactional writes, which cost twice, when one of its attributes
    /// changes. If its key changes, the old item is deleted and the new one put.
    fn copy(
        &self,
        problem: &Problem,
        entity: &Entity,
        (view, projected): (&View, &Projected),
        bytes: u64,
    ) -> Money {
        let present = present_ppm(entity, view);
        let units = |write: &Write| {
            let gone = view.names().any(|name| write.knows.gone.contains(name));
            let items = match (touches(entity, write, view, projected), moves(write, view)) {
                (false, _) => 0,
                (true, true) if !gone => 2,
                (true, _) => 1,
            };
            i128::from(items * 2 * write_units(bytes))
        };
        self.written(problem, entity, units).times(i128::from(present), i128::from(ALL_PPM))
            + self.stored(entity, bytes, present)
            + self.kept_safe(entity, bytes, present)
    }

    /// The monthly cost of the sentinel items that keep a value unique.
    pub(super) fn sentinel(&self, problem: &Problem, entity: &Entity, unique: &[String]) -> Money {
        let mut held: BTreeSet<&String> = entity.id.iter().chain(unique).chain(&entity.expires).collect();
        held.retain(|name| entity.attribute(name).is_some());
        let size = |name: &String| entity.attribute(name).map_or(0, |own| own.size_bytes);
        let named = |name: &String| size(name) + u64::try_from(name.len()).unwrap_or(0);
        let values: u64 = held.into_iter().map(named).sum();
        let bytes = values + unique.iter().map(size).sum::<u64>() + KEY_PREFIX_BYTES;
        let bytes = bytes.min(entity.size_bytes);
        let units = |write: &Write| i128::from(2 * sentinels(entity, write, unique) * write_units(bytes));
        self.written(problem, entity, units)
            + self.stored(entity, bytes, ALL_PPM)
            + self.kept_safe(entity, bytes, ALL_PPM)
    }

    /// The additional monthly cost if one write becomes a transaction.
    pub(super) fn transaction(&self, entity: &Entity, write: &Write) -> Money {
        let units = if write.transactional { 0 } else { i128::from(write_units(entity.size_bytes)) };
        self.write.times(i128::from(write.rate.0) * units * MONTH_SECONDS, MICRO_WIDE)
    }

    fn written(&self, problem: &Problem, entity: &Entity, units: impl Fn(&Write) -> i128) -> Money {
        let own = problem.writes.iter().filter(|write| write.entity == entity.name);
        let units: i128 = own.map(|write| i128::from(write.rate.0) * units(write)).sum();
        self.write.times(units * MONTH_SECONDS, MICRO_WIDE)
    }

    fn stored(&self, entity: &Entity, bytes: u64, present_ppm: u64) -> Money {
        Self::held(self.storage, entity, bytes, present_ppm)
    }

    /// The monthly cost of continuous backups: of the table and its local indexes, not of global ones.
    fn kept_safe(&self, entity: &Entity, bytes: u64, present_ppm: u64) -> Money {
        Self::held(self.backup, entity, bytes, present_ppm)
    }

    fn held(price: Money, entity: &Entity, bytes: u64, present_ppm: u64) -> Money {
        assert!(present_ppm <= ALL_PPM, "a share is a part of all");
        let bytes = i128::from(bytes + ENTRY_OVERHEAD_BYTES) * i128::from(entity.count);
        price.times(bytes * i128::from(present_ppm), GIGABYTE * i128::from(ALL_PPM))
    }

    /// The monthly cost of an index entry, as `cost` meters it: 1 write for a new, changed or removed entry,
    /// 2 if its key changes, none if no attribute that it holds changes. An index that projects all
    /// attributes is rewritten by any change.
    pub(super) fn index(
        &self,
        problem: &Problem,
        entity: &Entity,
        view: &View,
        projected: &Projected,
        bytes: u64,
    ) -> Money {
        let present = present_ppm(entity, view);
        let optional = |name: &&String| entity.attribute(name).is_some_and(|own| own.present_ppm < ALL_PPM);
        // Entries written per write, and the share of writes that write any.
        let written = |write: &Write| match (&write.kind, projected) {
            (WriteKind::Update { changed }, _) if view.names().any(|name| changed.contains(name)) => {
                // An attribute that most items lack is set or removed when the item enters or leaves the
                // index.
                let mut moved = view.names().filter(|name| changed.contains(name));
                if moved.any(|name| optional(&name)) { (1, ALL_PPM) } else { (2, present) }
            }
            (WriteKind::Update { changed }, Projected::Only(held)) => {
                (u64::from(changed.iter().any(|name| held.contains(name))), present)
            }
            _ => (1, present),
        };
        let units = |write: &Write| {
            let (times, share) = written(write);
            i128::from(times * write_units(bytes)) * i128::from(share)
        };
        self.written(problem, entity, units).times(1, i128::from(ALL_PPM))
            + self.stored(entity, bytes, present)
    }
}

impl View {
    /// All attributes of the key.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether a derived item with this key and projection has an attribute. It always has the identity and
    /// the expiry attribute.
    pub(super) fn has(&self, entity: &Entity, projected: &Projected, name: &String) -> bool {
        match projected {
            Projected::All => true,
            Projected::Only(held) => {
                held.contains(name)
                    || entity.id.contains(name)
                    || entity.expires.as_ref() == Some(name)
                    || self.names().any(|own| own == name)
            }
        }
    }

    /// Whether its attributes are exactly the identity.
    pub(super) fn is_identity(&self, entity: &Entity) -> bool {
        self.names().all(|name| entity.id.contains(name))
    }

    /// Whether it consists only of attributes that puts keep unique.
    pub(super) fn is_unique(&self, unique: &[String]) -> bool {
        self.names().all(|name| unique.contains(name))
    }

    /// Whether its sort key is one number that cannot be padded: as a text it identifies items, as a number
    /// it also sorts.
    fn is_odd_number(&self, entity: &Entity) -> bool {
        matches!(self.sort.as_slice(), [name] if is_odd(entity, name))
    }

    /// Whether one request answers the pattern when several entities share one sort order, that of the
    /// pattern `strip`. A range then returns all of these entities; only a whole key selects one item.
    fn serves_in_strip(&self, entity: &Entity, strip: &Pattern, pattern: &Pattern) -> bool {
        if self.shards > 1 && !pattern.scatter || self.shards < read_shards(entity, pattern, &self.partition)
        {
            return false;
        }
        let equal: BTreeSet<&String> = pattern.equal.iter().collect();
        if pattern.entities.len() < 2 {
            return pattern.sorted_by().is_none() && self.names().all(|name| equal.contains(name));
        }
        let all = || strip.entities.iter().all(|name| pattern.entities.contains(name));
        self.partition.iter().collect::<BTreeSet<_>>() == equal
            && (sorts_alike(strip, pattern) || pattern.sorted_by().is_none() && all())
    }

    /// Whether one request (or one per shard, where the pattern allows it) answers the pattern.
    pub(super) fn serves(&self, entity: &Entity, pattern: &Pattern) -> bool {
        if self.shards > 1 && !pattern.scatter || self.shards < read_shards(entity, pattern, &self.partition)
        {
            return false;
        }
        let optional = |name: &String| entity.attribute(name).is_none_or(|own| own.present_ppm < ALL_PPM);
        // Items without the range or order attribute are not part of the result.
        let given = |name: &String| pattern.equal.contains(name) || pattern.sorted_by() == Some(name);
        if self.names().any(|name| optional(name) && !given(name)) {
            return false;
        }
        if pattern.entities.len() > 1 {
            let equal: BTreeSet<&String> = pattern.equal.iter().collect();
            return pattern.sorted_by().is_none() && self.partition.iter().collect::<BTreeSet<_>>() == equal;
        }
        let rest = pattern.equal.iter().filter(|name| !self.partition.contains(name)).count();
        self.partition.iter().all(|name| pattern.equal.contains(name))
            && self.sort.len() >= rest
            && self.sort.iter().take(rest).all(|name| pattern.equal.contains(name))
            && pattern.sorted_by().is_none_or(|name| self.sort.get(rest) == Some(name))
    }
}

/// Whether an attribute is a number that cannot be padded into a text that sorts.
fn is_odd(entity: &Entity, name: &str) -> bool {
    entity.attribute(name).is_some_and(|own| own.unpaddable)
}

/// The average size of a pattern's whole items. With several entities each is weighted by its number of
/// items, as all of them share the keys of the result.
pub(super) fn whole_bytes(problem: &Problem, pattern: &Pattern) -> u64 {
    let entities = || pattern.entities.iter().filter_map(|name| problem.entity(name));
    let bytes: u128 = entities().map(|own| u128::from(own.size_bytes) * u128::from(own.count.max(1))).sum();
    let items: u128 = entities().map(|own| u128::from(own.count.max(1))).sum();
    u64::try_from(bytes / items.max(1)).unwrap_or(u64::MAX)
}

/// Half read units of one execution: the sum of the sizes, then rounded up, on each shard.
pub(super) fn read_halves(pattern: &Pattern, shards: u64, bytes: u64) -> u64 {
    let all = bytes.saturating_mul(pattern.results.max(1));
    let units = all.div_ceil(shards).div_ceil(READ_UNIT_BYTES).max(1).saturating_mul(shards);
    if pattern.strong { units.saturating_mul(2) } else { units }
}

/// Write units of so many bytes.
pub(super) fn write_units(bytes: u64) -> u64 {
    bytes.div_ceil(WRITE_UNIT_BYTES).max(1)
}

fn present_ppm(entity: &Entity, view: &View) -> u64 {
    let share = |name: &String| entity.attribute(name).map_or(ALL_PPM, |own| own.present_ppm);
    view.names().map(share).min().unwrap_or(ALL_PPM)
}

/// The share of a rate that the busiest value of these partition attributes receives; all of it where no
/// distribution is declared.
fn busiest(entity: &Entity, partition: &[String], rate: u64) -> u64 {
    let shares = partition.iter().filter_map(|name| entity.attribute(name)).map(|own| {
        let even = rate / own.distinct.unwrap_or(entity.count).max(1);
        own.hottest_ppm.map_or(even, |ppm| {
            let hot = u128::from(rate) * u128::from(ppm) / u128::from(ALL_PPM);
            u64::try_from(hot).unwrap_or(u64::MAX).max(even)
        })
    });
    shares.min().unwrap_or(rate)
}

/// How writes consume units of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// As index entries: transactional writes cost the same as others.
    Entries,
    /// As items: transactional writes cost twice.
    Items,
    /// As items with derived items: all writes are transactional.
    Pairs,
}

/// The number of shards that the writes to the busiest partition key need. Each key sustains 1000 write units
/// a second, and an entry that moves is deleted and put. A key that takes more gets as many shards as `check`
/// advises, each half free.
pub(super) fn shards(
    problem: &Problem,
    entity: &Entity,
    (partition, sort): (&[String], &[String]),
    writing: Writing,
) -> u64 {
    let moves = |write: &Write| match &write.kind {
        WriteKind::Update { changed } => {
            changed.iter().any(|name| partition.contains(name) || sort.contains(name))
        }
        WriteKind::Put | WriteKind::Delete => false,
    };
    let times = |write: &Write| match writing {
        Writing::Items if write.transactional => 2,
        Writing::Entries if moves(write) => 2,
        Writing::Entries | Writing::Items => 1,
        Writing::Pairs => 2,
    };
    let peak: u64 = problem
        .writes
        .iter()
        .filter(|write| write.entity == entity.name)
        .map(|write| write.peak.0.saturating_mul(write_units(entity.size_bytes) * times(write)))
        .fold(0, u64::saturating_add);
    let busiest = busiest(entity, partition, peak);
    if busiest <= KEY_WRITES_MICRO {
        return 1;
    }
    let writes = Exact::part(busiest, MICRO);
    let spread = Spread::among(values_within(entity, partition, sort));
    let cool = shards_to_cool(writes, |shards| Some(writes.times(spread.share_if_held(shards)?)));
    cool.unwrap_or_else(|| busiest.div_ceil(KEY_WRITES_MICRO))
}

/// The attribute that distributes the items of a sharded key: one of the identity or the sort key that the
/// partition key does not have.
pub(super) fn spreading<'a>(
    entity: &'a Entity,
    (partition, sort): (&[String], &'a [String]),
) -> Option<&'a String> {
    entity.id.iter().chain(sort).find(|name| !partition.contains(name))
}

/// The most values that this attribute has within one key.
fn values_within(entity: &Entity, partition: &[String], sort: &[String]) -> Option<u64> {
    let name = spreading(entity, (partition, sort))?;
    let items = busiest(entity, partition, entity.count).max(1);
    Some(entity.attribute(name).and_then(|own| own.distinct).map_or(items, |values| values.min(items)))
}

/// The number of shards that the reads of a scatter-gather pattern need. Each key sustains 3000 read units
/// a second. Each 4 KB counts as a whole unit, as in the developer guide on relational modelling. Index
/// reads cost half of that; the difference is a reserve.
fn read_shards(entity: &Entity, pattern: &Pattern, partition: &[String]) -> u64 {
    if !pattern.scatter {
        return 1;
    }
    let bytes = entity.size_bytes.saturating_mul(pattern.results);
    let units = pattern.peak.0.saturating_mul(bytes.div_ceil(READ_UNIT_BYTES).max(1));
    busiest(entity, partition, units).div_ceil(KEY_READS_MICRO).max(1)
}

/// Bytes of an entity in the largest collection of a key, in the table or a local index.
pub(super) fn collection_bytes(entity: &Entity, own: &Candidate, slot: Slot) -> u64 {
    let all = u128::from(own.bytes(slot) + ENTRY_OVERHEAD_BYTES) * u128::from(entity.count);
    let share = |name: &String| {
        let own = entity.attribute(name)?;
        let even = ALL_PPM.div_ceil(own.distinct.unwrap_or(entity.count).max(1));
        Some(own.hottest_ppm.map_or(even, |hottest| hottest.max(even)))
    };
    let ppm = own.view.partition.iter().filter_map(share).min().unwrap_or(ALL_PPM);
    let largest = all * u128::from(ppm) / u128::from(ALL_PPM) / u128::from(own.view.shards.max(1));
    u64::try_from(largest).unwrap_or(u64::MAX)
}

/// All candidates of one entity, dominated ones included.
pub(super) fn all(problem: &Problem, tariff: &Tariff, place: usize) -> Vec<Candidate> {
    let Some(entity) = problem.entities.get(place) else { return Vec::new() };
    let mut views = BTreeSet::new();
    add_views(problem, entity, place, &entity.id, None, &mut views);
    for unique in &entity.uniques {
        add_views(problem, entity, place, unique, None, &mut views);
    }
    for pattern in problem.patterns.iter().filter(|pattern| pattern.entities.contains(&entity.name)) {
        if pattern.entities.len() > 1 {
            let mut partition = pattern.equal.clone();
            partition.sort();
            if pattern.sorted_by().is_none() {
                views.extend(complete(problem, entity, place, &partition, Vec::new()));
            }
        } else {
            add_views(problem, entity, place, &pattern.equal, pattern.sorted_by(), &mut views);
        }
    }
    views.extend(problem.kept.keys.iter().map(|own| own.view.clone()).filter(|view| view.entity == place));
    let mut found: Vec<Candidate> =
        views.iter().flat_map(|view| candidates(problem, tariff, entity, view)).collect();
    for (number, pattern) in problem.patterns.iter().enumerate() {
        if pattern.entities.contains(&entity.name) && strip(problem, pattern) == Some(number) {
            let mut partition = pattern.equal.clone();
            partition.sort();
            let sort = pattern.sorted_by().cloned().into_iter().collect();
            for view in complete(problem, entity, place, &partition, sort) {
                found.extend(held(problem, tariff, entity, (&view, Form::Strip(number))));
            }
        }
    }
    found
}

/// The first pattern that reads the same entities in the same order, if there are several entities: their
/// items sort together.
fn strip(problem: &Problem, pattern: &Pattern) -> Option<usize> {
    let by = pattern.sorted_by()?;
    let entities = problem.places(&pattern.entities);
    let sortable = |entity: &usize| problem.entities.get(*entity).is_some_and(|own| !is_odd(own, by));
    if entities.len() < 2 || !problem.kept.is_empty() || !entities.iter().all(sortable) {
        return None;
    }
    problem.patterns.iter().position(|other| sorts_alike(other, pattern))
}

fn sorts_alike(one: &Pattern, other: &Pattern) -> bool {
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
    set(&one.entities) == set(&other.entities)
        && set(&one.equal) == set(&other.equal)
        && one.sorted_by() == other.sorted_by()
}

/// Table keys made of the identity alone, for patterns that no table key can serve because the sort
/// attribute changes, may be absent or does not sort as text. A local index of the collection serves them.
pub(super) fn hosts(problem: &Problem, tariff: &Tariff, place: usize, found: &[Candidate]) -> Vec<Candidate> {
    let Some(entity) = problem.entities.get(place) else { return Vec::new() };
    let collections = |such: fn(&Candidate) -> bool| -> BTreeSet<(&Vec<String>, u64)> {
        let own = found.iter().filter(|own| such(own));
        own.map(|own| (&own.view.partition, own.view.shards)).collect()
    };
    let asked = collections(|own| !own.serves.is_empty());
    let bases = collections(|own| own.base && !own.serves.is_empty());
    let copies = collections(|own| own.copy && !own.serves.is_empty());
    let sort = |partition: &Vec<String>| -> Vec<String> {
        entity.id.iter().filter(|name| !partition.contains(name)).cloned().collect()
    };
    let mut hosts = Vec::new();
    for (partition, shards) in asked {
        let view = View { entity: place, partition: partition.clone(), sort: sort(partition), shards };
        let lacks_base = !bases.contains(&(partition, shards));
        let lacks_copy = !copies.contains(&(partition, shards));
        let host = candidate(problem, tariff, entity, (view, Form::Text));
        if host.serves.is_empty() && (host.base && lacks_base || host.copy && lacks_copy) {
            hosts.push(host);
        }
    }
    hosts
}

fn add_views(
    problem: &Problem,
    entity: &Entity,
    place: usize,
    equal: &[String],
    range: Option<&String>,
    views: &mut BTreeSet<View>,
) {
    let equal: Vec<String> = equal.iter().take(EQUAL_MAX).cloned().collect();
    for choice in 1_u32..(1 << equal.len()) {
        let chosen = |bit: usize| choice >> bit & 1 == 1;
        let split = |wanted: bool| {
            equal
                .iter()
                .enumerate()
                .filter(move |(bit, _)| chosen(*bit) == wanted)
                .map(|(_, name)| name.clone())
                .collect::<Vec<_>>()
        };
        let mut partition = split(true);
        partition.sort();
        for order in orders(&split(false)) {
            let sort = order.into_iter().chain(range.cloned()).collect();
            views.extend(complete(problem, entity, place, &partition, sort));
        }
    }
}

/// The sort key as given for an index, whose keys need not be unique; for items it is completed with the
/// rest of the identity. There is one view for each number of shards that writes or a scatter-gather read
/// need.
fn complete(
    problem: &Problem,
    entity: &Entity,
    place: usize,
    partition: &[String],
    mut sort: Vec<String>,
) -> BTreeSet<View> {
    let bare = sort.clone();
    for name in &entity.id {
        if !partition.contains(name) && !sort.contains(name) {
            sort.push(name.clone());
        }
    }
    let all = [Writing::Entries, Writing::Items, Writing::Pairs];
    let view = |sort: &Vec<String>, shards| View {
        entity: place,
        partition: partition.to_vec(),
        sort: sort.clone(),
        shards,
    };
    let spread = |sort: &Vec<String>| -> BTreeSet<View> {
        let shards = all.iter().flat_map(|writing| spreads(problem, entity, (partition, sort), *writing));
        shards.map(|shards| view(sort, shards)).collect()
    };
    spread(&bare).into_iter().chain(spread(&sort)).collect()
}

/// The numbers of partitions that such a key is spread over: as the writes need, or more where a
/// scatter-gather read needs more.
fn spreads(
    problem: &Problem,
    entity: &Entity,
    (partition, sort): (&[String], &[String]),
    writing: Writing,
) -> BTreeSet<u64> {
    let writes = shards(problem, entity, (partition, sort), writing);
    let asked = problem.patterns.iter().filter(|pattern| pattern.entities.contains(&entity.name));
    let reads = asked.map(|pattern| read_shards(entity, pattern, partition));
    reads.chain([1]).map(|reads| reads.max(writes)).collect()
}

fn orders(names: &[String]) -> Vec<Vec<String>> {
    if names.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (place, first) in names.iter().enumerate() {
        let mut rest = names.to_vec();
        rest.remove(place);
        for mut order in orders(&rest) {
            order.insert(0, first.clone());
            found.push(order);
        }
    }
    found
}

/// A view as a text key and, where that does not sort, also as a number key; kept keys stay as they are.
fn candidates(problem: &Problem, tariff: &Tariff, entity: &Entity, view: &View) -> Vec<Candidate> {
    let kept = problem.kept.keys.iter().any(|own| own.view == *view);
    let mut forms = vec![Form::Text];
    if view.is_odd_number(entity) && !kept {
        forms.push(Form::Number);
    }
    if is_several(problem, entity, view) {
        forms.push(Form::Several);
    }
    forms.into_iter().flat_map(|form| held(problem, tariff, entity, (view, form))).collect()
}

/// Whether an index can have the view's attributes as its key attributes, and this saves some write a read.
/// Every item with all of these attributes is in such an index.
fn is_several(problem: &Problem, entity: &Entity, view: &View) -> bool {
    let own = |name: &String| entity.attribute(name).is_some_and(|own| own.keyable);
    let mut others = problem.entities.iter().filter(|other| other.name != entity.name);
    let few = |names: &Vec<String>| names.len() <= INDEX_KEY_ATTRIBUTES_MAX;
    problem.style.multi_attribute
        && problem.kept.is_empty()
        && problem.patterns.len() <= SEVERAL_PATTERNS_MAX
        && view.shards == 1
        && few(&view.partition)
        && few(&view.sort)
        && view.names().all(own)
        && !others.any(|other| view.names().all(|name| other.attribute(name).is_some()))
        && !read_first(problem, entity, view).is_empty()
}

/// The form of a sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text made of attributes. Numbers in it that cannot be padded identify items but do not sort.
    Text,
    /// One number attribute, in an index with entries of this entity alone.
    Number,
    /// Several plain attributes, in an index with entries of this entity alone: a writer of one attribute
    /// need not know the others.
    Several,
    /// A text made of attributes, in one order with other entities: that of this pattern, which reads several
    /// entities.
    Strip(usize),
}

/// The view with all attributes projected, and with smaller projections if its patterns declare the
/// attributes that they read.
fn held(problem: &Problem, tariff: &Tariff, entity: &Entity, (view, form): (&View, Form)) -> Vec<Candidate> {
    let whole = candidate(problem, tariff, entity, (view.clone(), form));
    let mut sets: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for pattern in whole.serves.iter().filter_map(|place| problem.patterns.get(*place)) {
        let own = |name: &&String| entity.attribute(name).is_some();
        sets.extend(pattern.reads.iter().map(|reads| reads.iter().filter(own).cloned().collect()));
    }
    let mut held = sets.clone();
    if sets.len() <= READ_SETS_MAX {
        for set in &sets {
            let joined: Vec<BTreeSet<String>> = held.iter().map(|other| other | set).collect();
            held.extend(joined);
        }
    }
    held.insert(sets.iter().flatten().cloned().collect());
    for index in problem.kept.globals.iter().chain(&problem.kept.locals) {
        let own = |name: &&String| entity.attribute(name).is_some();
        held.extend(index.includes.iter().map(|names| names.iter().filter(own).cloned().collect()));
    }
    if sets.is_empty() && problem.kept.is_empty() {
        held.clear();
    }
    let shared_read_sets = shared_read_sets(problem, entity);
    let wider = held.iter().flat_map(|own| shared_read_sets.iter().map(move |more| own | more));
    let wider: BTreeSet<BTreeSet<String>> = wider.filter(|wider| !held.contains(wider)).collect();
    if whole.guards(problem) {
        // A key that keeps a value unique needs no further attributes.
        held.insert(BTreeSet::new());
    }
    let narrow = |held| narrowed(problem, tariff, entity, &whole, held);
    let own: Vec<Candidate> = held.into_iter().map(narrow).collect();
    // Derived items need not hold attributes that patterns of other entities read.
    let wider = wider.into_iter().map(|held| Candidate { copy: false, ..narrow(held) });
    let wider: Vec<Candidate> = wider.filter(|own| own.index).collect();
    std::iter::once(whole.clone()).chain(own).chain(wider).collect()
}

/// Attribute sets that patterns of other entities read, reduced to attributes that this entity has too: an
/// index of both entities projects them for both.
fn shared_read_sets(problem: &Problem, entity: &Entity) -> BTreeSet<BTreeSet<String>> {
    let others = problem.patterns.iter().filter(|pattern| !pattern.entities.contains(&entity.name));
    let here = |reads: &BTreeSet<String>| -> BTreeSet<String> {
        reads.iter().filter(|name| entity.attribute(name).is_some()).cloned().collect()
    };
    let read = others.filter_map(|pattern| pattern.reads.as_ref()).map(here);
    let mut sets: BTreeSet<BTreeSet<String>> = read.filter(|set| !set.is_empty()).collect();
    let single = sets.clone();
    if single.len() <= READ_SETS_MAX {
        for set in &single {
            let joined: Vec<BTreeSet<String>> = sets.iter().map(|other| other | set).collect();
            sets.extend(joined);
        }
    }
    if !single.is_empty() {
        sets.insert(single.into_iter().flatten().collect());
    }
    sets
}

/// The attributes that the keys of an index entry give: its own and those of the table, which identify the
/// item.
fn given_by_keys(problem: &Problem, entity: &Entity, view: &View) -> BTreeSet<String> {
    let kept = problem.kept.keys.iter().filter(|own| own.view.entity == view.entity);
    let mut given_by_keys: BTreeSet<String> =
        kept.clone().filter(|own| own.view == *view).flat_map(|own| own.tells.iter().cloned()).collect();
    given_by_keys.extend(view.names().cloned());
    match kept.into_iter().find(|own| own.slot == Slot::Table) {
        Some(base) => given_by_keys.extend(base.tells.iter().cloned()),
        None => given_by_keys.extend(entity.id.iter().cloned()),
    }
    given_by_keys
}

fn narrowed(
    problem: &Problem,
    tariff: &Tariff,
    entity: &Entity,
    whole: &Candidate,
    held: BTreeSet<String>,
) -> Candidate {
    let value = |name: &String| {
        let name_bytes = u64::try_from(name.len()).unwrap_or(u64::MAX);
        entity.attribute(name).map_or(0, |own| own.size_bytes + name_bytes)
    };
    let identity: u64 =
        entity.id.iter().filter_map(|name| entity.attribute(name)).map(|own| own.size_bytes).sum();
    let bytes = whole.key_bytes + identity + 2 * KEY_PREFIX_BYTES + held.iter().map(value).sum::<u64>();
    let entry_bytes = bytes.min(entity.size_bytes);
    let given_by_keys = given_by_keys(problem, entity, &whole.view);
    let here = |name: &String| {
        held.contains(name) || given_by_keys.contains(name) || entity.attribute(name).is_none()
    };
    let stays = problem.kept.keys.iter().any(|own| own.view == whole.view && own.slot != Slot::Table);
    let reads_held = |place: &&usize| match problem.patterns.get(**place).map(|pattern| &pattern.reads) {
        Some(Some(reads)) => reads.iter().all(here),
        // A pattern reads whole items: an existing projection suffices if it has all declared attributes. A
        // new one does not, since a reader may want attributes that are not declared.
        Some(None) => stays && entity.attributes.iter().all(|own| here(&own.name)),
        None => false,
    };
    let serves = whole.serves.iter().filter(reads_held).copied().collect();
    let projected = Projected::Only(held);
    let names = entity.attributes.iter().map(|own| &own.name);
    let values: u64 = names.filter(|name| whole.view.has(entity, &projected, name)).map(value).sum();
    let item_bytes = (values + whole.key_bytes + KEY_PREFIX_BYTES).min(entity.size_bytes);
    Candidate {
        base: false,
        copy: is_copy(problem, entity, (&whole.view, &projected), whole.form),
        copy_cost: tariff.copy(problem, entity, (&whole.view, &projected), item_bytes),
        item_bytes,
        index: whole.index,
        index_cost: tariff.index(problem, entity, &whole.view, &projected, entry_bytes),
        backup_cost: tariff.kept_safe(entity, entry_bytes, present_ppm(entity, &whole.view)),
        key_bytes: whole.key_bytes,
        entry_bytes,
        serves,
        read_first: whole.read_first.clone(),
        form: whole.form,
        view: whole.view.clone(),
        projected,
    }
}

fn candidate(problem: &Problem, tariff: &Tariff, entity: &Entity, (view, form): (View, Form)) -> Candidate {
    let own = |name: &String| entity.attribute(name);
    let writes = || problem.writes.iter().filter(|write| write.entity == entity.name);
    let always = view.names().all(|name| own(name).is_some_and(|own| own.present_ppm == ALL_PPM));
    let stays = writes().all(|write| match &write.kind {
        WriteKind::Update { changed } => !view.names().any(|name| changed.contains(name)),
        WriteKind::Put | WriteKind::Delete => true,
    });
    // A put over an existing item identifies that item, as an update does.
    let addressed = writes().all(|write| write.kind == WriteKind::Put && !write.knows.replaces)
        || view.is_identity(entity);
    let serves = problem
        .patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| pattern.entities.contains(&entity.name))
        .filter(|(_, pattern)| match form {
            Form::Strip(strip) => {
                problem.patterns.get(strip).is_some_and(|strip| view.serves_in_strip(entity, strip, pattern))
            }
            Form::Text | Form::Number | Form::Several => view.serves(entity, pattern),
        })
        .filter(|(_, pattern)| {
            matches!(form, Form::Number | Form::Several)
                || pattern.sorted_by().is_none_or(|name| !is_odd(entity, name))
        })
        .map(|(place, _)| place)
        .collect();
    let text = matches!(form, Form::Text | Form::Strip(_));
    let unique = tells_items_apart(entity, &view);
    let kept = |slot| problem.kept.key(view.entity, slot).is_some_and(|kept| kept.view == view);
    let kept_entry = problem.kept.keys.iter().any(|kept| kept.view == view);
    let spread =
        |writing| spreads(problem, entity, (&view.partition, &view.sort), writing).contains(&view.shards);
    Candidate {
        projected: Projected::All,
        base: (always && stays && addressed && unique && text && spread(Writing::Items)) || kept(Slot::Table),
        copy: is_copy(problem, entity, (&view, &Projected::All), form),
        index: spread(Writing::Entries) || kept_entry,
        index_cost: tariff.index(problem, entity, &view, &Projected::All, entity.size_bytes),
        backup_cost: tariff.kept_safe(entity, entity.size_bytes, present_ppm(entity, &view)),
        copy_cost: tariff.copy(problem, entity, (&view, &Projected::All), entity.size_bytes),
        entry_bytes: entity.size_bytes,
        item_bytes: entity.size_bytes,
        key_bytes: view.names().filter_map(own).map(|own| own.size_bytes).sum(),
        serves,
        read_first: if form == Form::Several { BTreeSet::new() } else { read_first(problem, entity, &view) },
        form,
        view,
    }
}

/// Whether no two items have the same key.
fn tells_items_apart(entity: &Entity, view: &View) -> bool {
    let tells = |names: &Vec<String>| names.iter().all(|name| view.names().any(|own| own == name));
    tells(&entity.id) || entity.uniques.iter().any(tells)
}

/// Whether derived items can have such keys and projections: every writer of the source can maintain them.
fn is_copy(problem: &Problem, entity: &Entity, (view, projected): (&View, &Projected), form: Form) -> bool {
    let key = (view.partition.as_slice(), view.sort.as_slice());
    let mut writes = problem.writes.iter().filter(|write| write.entity == entity.name);
    matches!(form, Form::Text | Form::Strip(_))
        && tells_items_apart(entity, view)
        && spreads(problem, entity, key, Writing::Pairs).contains(&view.shards)
        && writes.all(|write| {
            unknown(entity, write, view, projected).is_empty()
                && (fits(write) || !touches(entity, write, view, projected))
        })
}

/// Whether a transaction has room for one derived item per written item.
pub(super) fn fits(write: &Write) -> bool {
    let all = write.items.saturating_mul(2).saturating_add(write.others);
    usize::try_from(all).is_ok_and(|all| all <= TRANSACTION_ITEMS_MAX)
}

/// Drops every view that another one with the same partition, shards and projection replaces at no higher
/// cost, and smaller projections where none saves anything.
pub(super) fn prune(problem: &Problem, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let kept = |own: &Candidate| problem.kept.keys.iter().any(|kept| kept.view == own.view);
    let useful: Vec<Candidate> = candidates
        .into_iter()
        .filter(|own| own.base || !own.serves.is_empty() || kept(own) || own.copy && own.guards(problem))
        .collect();
    let beaten = |place: usize, own: &Candidate, in_index: bool| {
        useful.iter().enumerate().any(|(other_place, other)| {
            let no_worse = other_place != place
                && other.view.partition == own.view.partition
                && other.view.shards == own.view.shards
                && other.projected == own.projected
                && (own.form == other.form || other.form == Form::Text)
                && other.serves.is_superset(&own.serves)
                && (in_index || (other.base || !own.base) && (other.copy || !own.copy))
                && (in_index || other.guards(problem) || !own.guards(problem))
                && other.index_cost <= own.index_cost
                && (in_index || other.copy_cost <= own.copy_cost)
                && other.read_first.is_subset(&own.read_first)
                && other.key_bytes <= own.key_bytes;
            let same = other.serves == own.serves
                && other.form == own.form
                && (in_index || other.base == own.base && other.copy == own.copy)
                && (in_index || other.guards(problem) == own.guards(problem))
                && other.index_cost == own.index_cost
                && (in_index || other.copy_cost == own.copy_cost)
                && other.read_first == own.read_first
                && other.key_bytes == own.key_bytes;
            no_worse && (!same || other_place < place)
        })
    };
    let judged: Vec<(bool, bool)> = useful
        .iter()
        .enumerate()
        .map(|(place, own)| (kept(own) || !beaten(place, own, false), kept(own) || !beaten(place, own, true)))
        .collect();
    useful
        .into_iter()
        .zip(judged)
        .filter(|(_, (stays, _))| *stays)
        .map(|(own, (_, index))| Candidate { index: index && own.index, ..own })
        .collect()
}

/// Whether some smaller projection is cheaper than all attributes: if not, projections need not be decided.
pub(super) fn projections_matter(problem: &Problem, candidates: &[Candidate]) -> bool {
    let includes = |index: &super::problem::KeptIndex| index.includes.is_some();
    let kept = problem.kept.globals.iter().chain(&problem.kept.locals).any(includes);
    let whole = |own: &Candidate| {
        candidates.iter().find(|other| other.view == own.view && other.projected == Projected::All)
    };
    let mut entries = candidates.iter().filter(|own| own.index && !own.serves.is_empty());
    kept || entries.any(|own| whole(own).is_some_and(|whole| whole.index_cost > own.index_cost))
}
