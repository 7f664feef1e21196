//! Candidate views: the ways of keying one entity that can serve a pattern, what each serves and what each costs.
//!
//! For each pattern every choice of partition attributes among those given by equality, the rest in every order, then the
//! range attribute, then the identity for uniqueness. Dominated views are dropped, which keeps the optimum: whatever a
//! dominated view does, the one that dominates it does for no more.

use std::collections::BTreeSet;

use super::problem::{ALL_PPM, Entity, Pattern, Problem, WriteKind};
use crate::price::{Item, Money, Prices};

/// Seconds in a month of 730 hours, as the public calculator counts.
const MONTH_SECONDS: i128 = 730 * 3600;
/// Millionths in a second's rate.
const MICRO: i128 = 1_000_000;
/// Bytes that one read unit covers.
const READ_UNIT_BYTES: u64 = 4096;
/// Bytes that one write unit covers.
const WRITE_UNIT_BYTES: u64 = 1024;
/// Overhead the service stores per item or entry.
const ENTRY_OVERHEAD_BYTES: u64 = 100;
/// A gigabyte as storage is billed.
const GIGABYTE: i128 = 1 << 30;
/// Write units per second that one partition key sustains, in millionths.
const KEY_WRITES_MICRO: u64 = 1_000_000_000;
/// Attributes given by equality beyond which no further orders are tried.
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
    /// Over how many partitions each key is spread.
    pub shards: u64,
}

/// A view with what it serves and costs each month.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) view: View,
    /// Whether it may be the entity's base key.
    pub(super) base: bool,
    /// Writes and storage as an index entry.
    pub(super) index_cost: Money,
    /// Bytes of the key's values.
    pub(super) key_bytes: u64,
    /// Indexes of the patterns it serves.
    pub(super) serves: BTreeSet<usize>,
}

/// The three prices that a design is judged by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tariff {
    pub(super) write: Money,
    pub(super) read: Money,
    pub(super) storage: Money,
}

impl Tariff {
    pub(super) fn of(prices: &Prices) -> Result<Self, super::Fault> {
        let find = |item, name| prices.of(item).ok_or(super::Fault::NoPrice(name));
        Ok(Self {
            write: find(Item::WriteRequest, "write request units")?,
            read: find(Item::ReadRequest, "read request units")?,
            storage: find(Item::Storage, "storage")?,
        })
    }

    /// The monthly cost of a pattern when its key is spread over `shards`.
    pub(super) fn reads(&self, problem: &Problem, pattern: &Pattern, shards: u64) -> Money {
        let halves = i128::from(read_halves(problem, pattern, shards));
        let seconds = i128::from(pattern.rate.0) * MONTH_SECONDS;
        self.read.times(halves * seconds, 2 * MICRO)
    }

    /// The monthly cost of an entity's writes and storage in the base table.
    pub(super) fn base(&self, problem: &Problem, entity: &Entity) -> (Money, Money) {
        let units: i128 = problem
            .writes
            .iter()
            .filter(|write| write.entity == entity.name)
            .map(|write| i128::from(write.rate.0) * i128::from(write_units(entity)))
            .sum();
        (self.write.times(units * MONTH_SECONDS, MICRO), self.stored(entity, ALL_PPM))
    }

    fn stored(&self, entity: &Entity, present_ppm: u64) -> Money {
        let bytes = i128::from(entity.size_bytes + ENTRY_OVERHEAD_BYTES) * i128::from(entity.count);
        self.storage.times(bytes * i128::from(present_ppm), GIGABYTE * i128::from(ALL_PPM))
    }

    /// The monthly cost of a view as an index entry: 1 write for a new, changed or removed entry, 2 when its key changes.
    fn index(&self, problem: &Problem, entity: &Entity, view: &View) -> Money {
        let present = present_ppm(entity, view);
        let units: i128 = problem
            .writes
            .iter()
            .filter(|write| write.entity == entity.name)
            .map(|write| {
                let moves = match &write.kind {
                    WriteKind::Update { changed } => view.names().any(|name| changed.contains(name)),
                    WriteKind::Put | WriteKind::Delete => false,
                };
                let each = i128::from(write_units(entity)) * if moves { 2 } else { 1 };
                i128::from(write.rate.0) * each * i128::from(present)
            })
            .sum();
        self.write.times(units * MONTH_SECONDS, MICRO * i128::from(ALL_PPM)) + self.stored(entity, present)
    }
}

impl View {
    /// All attributes of the key.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.partition.iter().chain(&self.sort)
    }

    /// Whether one request (or one per shard, where the pattern allows it) answers the pattern.
    pub(super) fn serves(&self, entity: &Entity, pattern: &Pattern) -> bool {
        if self.shards > 1 && !pattern.scatter {
            return false;
        }
        let optional = |name: &String| entity.attribute(name).is_none_or(|own| own.present_ppm < ALL_PPM);
        let given = |name: &String| pattern.equal.contains(name) || pattern.range.as_ref() == Some(name);
        if self.names().any(|name| optional(name) && !given(name)) {
            return false;
        }
        if pattern.entities.len() > 1 {
            let equal: BTreeSet<&String> = pattern.equal.iter().collect();
            return pattern.range.is_none() && self.partition.iter().collect::<BTreeSet<_>>() == equal;
        }
        let rest = pattern.equal.iter().filter(|name| !self.partition.contains(name)).count();
        self.partition.iter().all(|name| pattern.equal.contains(name))
            && self.sort.len() >= rest
            && self.sort.iter().take(rest).all(|name| pattern.equal.contains(name))
            && pattern.range.as_ref().is_none_or(|range| self.sort.get(rest) == Some(range))
    }
}

/// Half read units of one execution: the sum of the sizes, then rounded up, on each shard.
pub(super) fn read_halves(problem: &Problem, pattern: &Pattern, shards: u64) -> u64 {
    let sizes =
        pattern.entities.iter().filter_map(|name| problem.entity(name)).map(|entity| entity.size_bytes);
    let kinds = u64::try_from(pattern.entities.len()).unwrap_or(1).max(1);
    let average = sizes.sum::<u64>() / kinds;
    let bytes = average * pattern.results.max(1);
    let units = bytes.div_ceil(shards).div_ceil(READ_UNIT_BYTES).max(1) * shards;
    if pattern.strong { units * 2 } else { units }
}

/// Write units of an item of the entity.
pub(super) fn write_units(entity: &Entity) -> u64 {
    entity.size_bytes.div_ceil(WRITE_UNIT_BYTES).max(1)
}

fn present_ppm(entity: &Entity, view: &View) -> u64 {
    let share = |name: &String| entity.attribute(name).map_or(ALL_PPM, |own| own.present_ppm);
    view.names().map(share).min().unwrap_or(ALL_PPM)
}

/// How many shards the busiest value of these partition attributes needs: each key sustains 1000 write units a second.
pub(super) fn shards(problem: &Problem, entity: &Entity, partition: &[String]) -> u64 {
    let peak: u64 = problem
        .writes
        .iter()
        .filter(|write| write.entity == entity.name)
        .map(|write| write.peak.0.saturating_mul(write_units(entity)))
        .fold(0, u64::saturating_add);
    let busiest = partition.iter().filter_map(|name| entity.attribute(name)).map(|own| {
        let even = peak / own.distinct.unwrap_or(entity.count).max(1);
        own.hottest_ppm.map_or(even, |ppm| {
            let hot = u128::from(peak) * u128::from(ppm) / u128::from(ALL_PPM);
            u64::try_from(hot).unwrap_or(u64::MAX).max(even)
        })
    });
    busiest.min().unwrap_or(peak).div_ceil(KEY_WRITES_MICRO).max(1)
}

/// All candidates of one entity, dominated ones included.
pub(super) fn all(problem: &Problem, tariff: &Tariff, place: usize) -> Vec<Candidate> {
    let Some(entity) = problem.entities.get(place) else { return Vec::new() };
    let mut views = BTreeSet::new();
    add_views(problem, entity, place, &entity.id, None, &mut views);
    for pattern in problem.patterns.iter().filter(|pattern| pattern.entities.contains(&entity.name)) {
        if pattern.entities.len() > 1 {
            let mut partition = pattern.equal.clone();
            partition.sort();
            views.insert(complete(problem, entity, place, partition, Vec::new()));
        } else {
            add_views(problem, entity, place, &pattern.equal, pattern.range.as_ref(), &mut views);
        }
    }
    views.into_iter().map(|view| candidate(problem, tariff, entity, view)).collect()
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
            views.insert(complete(problem, entity, place, partition.clone(), sort));
        }
    }
}

/// Ends the sort key with what is missing of the identity.
fn complete(
    problem: &Problem,
    entity: &Entity,
    place: usize,
    partition: Vec<String>,
    mut sort: Vec<String>,
) -> View {
    for name in &entity.id {
        if !partition.contains(name) && !sort.contains(name) {
            sort.push(name.clone());
        }
    }
    let shards = shards(problem, entity, &partition);
    View { entity: place, partition, sort, shards }
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

fn candidate(problem: &Problem, tariff: &Tariff, entity: &Entity, view: View) -> Candidate {
    let own = |name: &String| entity.attribute(name);
    let writes = || problem.writes.iter().filter(|write| write.entity == entity.name);
    let always = view.names().all(|name| own(name).is_some_and(|own| own.present_ppm == ALL_PPM));
    let stays = writes().all(|write| match &write.kind {
        WriteKind::Update { changed } => !view.names().any(|name| changed.contains(name)),
        WriteKind::Put | WriteKind::Delete => true,
    });
    let addressed = writes().all(|write| write.kind == WriteKind::Put)
        || view.names().all(|name| entity.id.contains(name));
    let serves = problem
        .patterns
        .iter()
        .enumerate()
        .filter(|(_, pattern)| pattern.entities.contains(&entity.name) && view.serves(entity, pattern))
        .map(|(place, _)| place)
        .collect();
    Candidate {
        base: always && stays && addressed,
        index_cost: tariff.index(problem, entity, &view),
        key_bytes: view.names().filter_map(own).map(|own| own.size_bytes).sum(),
        serves,
        view,
    }
}

/// Drops every view that another one of the same partition and shards replaces at no more cost.
pub(super) fn prune(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let useful: Vec<Candidate> =
        candidates.into_iter().filter(|own| own.base || !own.serves.is_empty()).collect();
    let beaten = |place: usize, own: &Candidate| {
        useful.iter().enumerate().any(|(other_place, other)| {
            let no_worse = other_place != place
                && other.view.partition == own.view.partition
                && other.view.shards == own.view.shards
                && other.serves.is_superset(&own.serves)
                && (other.base || !own.base)
                && other.index_cost <= own.index_cost
                && other.key_bytes <= own.key_bytes;
            let same = other.serves == own.serves
                && other.base == own.base
                && other.index_cost == own.index_cost
                && other.key_bytes == own.key_bytes;
            no_worse && (!same || other_place < place)
        })
    };
    let keep: Vec<bool> = useful.iter().enumerate().map(|(place, own)| !beaten(place, own)).collect();
    useful.into_iter().zip(keep).filter_map(|(own, keep)| keep.then_some(own)).collect()
}
