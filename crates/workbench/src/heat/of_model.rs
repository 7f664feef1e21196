//! The heat of a model's keys: each pattern's metered units × the peak rate × the busiest key's share, for
//! every partition key of tables and global indexes. The units are those that are billed; there is no second
//! estimate.
//!
//! A local index shares its table's partitions: its reads and writes warm the same key.

use std::cmp::Reverse;

use keywright_semantics::capacity::{READ_UNIT_BYTES, WRITE_UNIT_BYTES};
use keywright_semantics::share::ALL_PPM;

use super::{Exact, Heat, Spread, Verdict, shards_to_cool};
use crate::run::{Report, written_ppm};
use keywright_model::distribution::{When, items, of_shards, of_time, of_values, spreads};
use keywright_model::{
    AttributeFormat, Condition, Entity, GivenOp, HalfUnits, Index, IndexKind, Model, Part, Pattern, Read,
    ReadKind, Table, Template, Write, WriteKind,
};

/// Millionths of half units in a unit.
const UNIT_MICRO_HALVES: u64 = 2_000_000;
/// One partition key of a table or index at the peak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotKey {
    /// The table.
    pub table: String,
    /// The global index; none for the table itself.
    pub index: Option<String>,
    /// The table's local indexes that are in the same partitions.
    pub local: Vec<String>,
    /// The key's template.
    pub key: String,
    /// The entities with this key.
    pub entities: Vec<String>,
    /// The busiest key's share of the traffic; `None` if the number of values is unknown.
    pub share_ppm: Option<u64>,
    /// The load on that key.
    pub heat: Heat,
    /// The number of shards that spread its values: those of its template, as far as their attributes have
    /// different values.
    pub shards: u64,
    /// The number of shards needed if each receives the same load.
    pub needed: u64,
    /// The number of shards with which each uses at most half of its write limit; `None` if no number
    /// suffices.
    pub needed_to_cool: Option<u64>,
    /// The time attributes in the key, by which all current writes go to one key.
    pub of_time: Vec<String>,
    /// The shards of its template.
    pub spreads: Vec<Spread>,
}

impl HotKey {
    /// Whether reads make it hot. Shards do not help: a gathering read reads each of them.
    pub fn is_read_too_much(&self) -> bool {
        self.heat.verdict() == Verdict::Hot && !self.heat.is_written_more()
    }
}

/// The partition keys of a model, the hottest first and the unknown ones last.
pub fn of_model(model: &Model, report: &Report) -> Vec<HotKey> {
    let mut groups: Vec<Key<'_>> = Vec::new();
    for (table, index, entity, templates) in keys(model) {
        let written = written(model, entity, &templates);
        let name = index.map(|index| index.name.as_str());
        let member = Member::of(model, entity, templates);
        let place = |own: &&mut Key<'_>| {
            own.table.name == table.name
                && own.index.map(|index| index.name.as_str()) == name
                && own.written == written
        };
        match groups.iter_mut().find(place) {
            Some(own) => own.members.push(member),
            None => groups.push(Key { model, report, table, index, written, members: vec![member] }),
        }
    }
    let mut found: Vec<HotKey> = groups.iter().map(Key::judged).collect();
    found.sort_by_key(|own| (own.share_ppm.is_none(), Reverse(own.heat.used_ppm())));
    found
}

/// Every entity with every partition key that holds it, and the key's templates. Local indexes share their
/// table's.
pub fn keys(model: &Model) -> Vec<(&Table, Option<&Index>, &Entity, Vec<Template>)> {
    let mut found = Vec::new();
    for entity in &model.entities {
        let Some(table) = model.table(&entity.table) else { continue };
        if let Some(template) = entity.template(&table.partition.name) {
            found.push((table, None, entity, vec![template]));
        }
        for index in table.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
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

/// Templates with the names that their attributes have at their source: entities in one partition may name an
/// attribute differently.
fn written(model: &Model, entity: &Entity, templates: &[Template]) -> Vec<Template> {
    let named = |name: &String| {
        let origin = model.origin(entity, name);
        origin.map_or_else(|| name.clone(), |origin| origin.attribute.name.clone())
    };
    let part = |part: &Part| match part {
        Part::Literal(text) => Part::Literal(text.clone()),
        Part::Attribute { name, pad } => Part::Attribute { name: named(name), pad: *pad },
        Part::Shard { name, shards } => Part::Shard { name: named(name), shards: *shards },
    };
    templates.iter().map(|own| Template { parts: own.parts.iter().map(part).collect() }).collect()
}

/// One entity under a partition key.
struct Member<'a> {
    entity: &'a Entity,
    templates: Vec<Template>,
    spreads: Vec<Spread>,
    /// Its items per key, without shards.
    items: Option<u64>,
}

impl<'a> Member<'a> {
    fn of(model: &Model, entity: &'a Entity, templates: Vec<Template>) -> Self {
        let spreads = spreads(model, entity, &templates);
        let items = items(model, entity, &templates);
        Self { entity, templates, spreads, items }
    }

    /// The busiest shard's share of the traffic; an entity without shards would be spread by its items.
    fn share(&self, shards: u64) -> Option<Exact> {
        let ideal = Spread::among(self.items);
        self.spreads.first().unwrap_or(&ideal).share_if_held(shards)
    }
}

/// The load of one member on all keys with the busiest values, without shards.
#[derive(Clone, Copy)]
struct Received {
    heat: Heat,
    /// The busiest values' share of it; `None` if the number of values is unknown.
    share: Option<Exact>,
}

/// A partition key with all its entities.
struct Key<'a> {
    model: &'a Model,
    report: &'a Report,
    table: &'a Table,
    /// The global index; none for the table.
    index: Option<&'a Index>,
    written: Vec<Template>,
    members: Vec<Member<'a>>,
}

impl<'a> Key<'a> {
    fn judged(&self) -> HotKey {
        let received: Vec<Vec<Received>> = self.members.iter().map(|own| self.received(own)).collect();
        assert_eq!(received.len(), self.members.len(), "each entity has its load");
        let known = self.is_known(&received);
        let sum = |shares: &dyn Fn(&Member<'_>, &Received) -> Exact| {
            let each = self.members.iter().zip(&received);
            let each = each.flat_map(|(own, all)| all.iter().map(move |part| (own, part)));
            each.fold(Heat::default(), |sum, (own, part)| sum.and(part.heat.of_busiest(shares(own, part))))
        };
        let of_values = |part: &Received| part.share.unwrap_or(Exact::ZERO);
        let all = sum(&|_, _| Exact::ONE);
        let heat = sum(&|own, part| of_values(part).times(of_shards(&own.spreads)));
        let whole = sum(&|_, part| of_values(part));
        let shards = |own: &Member<'_>| {
            own.spreads.iter().fold(1_u64, |shards, own| shards.saturating_mul(own.shards))
        };
        let first = self.members.first();
        let texts: Vec<String> =
            first.into_iter().flat_map(|own| &own.templates).map(ToString::to_string).collect();
        HotKey {
            table: self.table.name.clone(),
            index: self.index.map(|index| index.name.clone()),
            local: self.local().map(|index| index.name.clone()).collect(),
            key: texts.join(" "),
            entities: self.members.iter().map(|own| own.entity.name.clone()).collect(),
            share_ppm: known.then(|| self.share(heat, all)).flatten(),
            heat,
            shards: self.members.iter().map(shards).min().unwrap_or(1),
            needed: whole.shards(),
            needed_to_cool: self.needed_to_cool(&received, whole),
            of_time: self.of_time(),
            spreads: self.members.iter().flat_map(|own| own.spreads.clone()).collect(),
        }
    }

    /// The local indexes of the table's own partitions that hold one of the entities.
    fn local(&self) -> impl Iterator<Item = &'a Index> {
        let own = self.index.is_none();
        let local = self.table.indexes.iter().filter(move |index| own && index.kind == IndexKind::Local);
        local.filter(|index| self.members.iter().any(|member| is_in(member.entity, index)))
    }

    /// Whether every share of the load on the key is known; without traffic, whether all entities' shares
    /// are.
    fn is_known(&self, received: &[Vec<Received>]) -> bool {
        let mut parts = received.iter().flatten().filter(|part| part.heat != Heat::default()).peekable();
        if parts.peek().is_some() {
            return parts.all(|part| part.share.is_some());
        }
        self.members.iter().all(|own| self.values(own, When::Any).is_some())
    }

    /// The key's share of the traffic; without traffic the largest share of its entities.
    fn share(&self, heat: Heat, all: Heat) -> Option<u64> {
        if all == Heat::default() {
            let own =
                |own: &Member<'_>| Some(self.values(own, When::Any)?.times(of_shards(&own.spreads)).ppm());
            return self.members.iter().filter_map(own).max();
        }
        let part = if heat.is_written_more() {
            heat.writes.of_all(all.writes)
        } else {
            heat.reads.of_all(all.reads)
        };
        Some(part.ppm())
    }

    fn values(&self, member: &Member<'_>, when: When) -> Option<Exact> {
        of_values(self.model, member.entity, &member.templates, when)
    }

    /// The time attributes in the key, if there are current writes.
    fn of_time(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for own in &self.members {
            let rated = self.model.patterns.iter().filter(|pattern| pattern.rate.is_some());
            let mut steps = rated.flat_map(Pattern::steps);
            if !steps.any(|step| step.entity == own.entity.name && makes(step)) {
                continue;
            }
            for name in of_time(self.model, own.entity, &own.templates) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }

    /// The smallest number of shards with which the writes to each use half of its limit.
    fn needed_to_cool(&self, received: &[Vec<Received>], whole: Heat) -> Option<u64> {
        let writes = |parts: &[Received]| {
            let own = parts.iter().map(|part| part.heat.writes.times(part.share.unwrap_or(Exact::ZERO)));
            own.fold(Exact::ZERO, Exact::plus)
        };
        let each: Vec<(&Member<'_>, Exact)> = self
            .members
            .iter()
            .zip(received)
            .map(|(own, parts)| (own, writes(parts)))
            .filter(|(_, writes)| *writes > Exact::ZERO)
            .collect();
        shards_to_cool(whole.writes, |shards| {
            let shares = each.iter().map(|(own, writes)| Some(writes.times(own.share(shards)?)));
            shares.into_iter().try_fold(Exact::ZERO, |sum, own| Some(sum.plus(own?)))
        })
    }

    /// The load of an entity on this key at the peak, pattern by pattern.
    fn received(&self, member: &Member<'_>) -> Vec<Received> {
        let places = || std::iter::once(self.index).chain(self.local().map(Some));
        let mut found = Vec::new();
        for pattern in &self.model.patterns {
            for place in places() {
                let metered = Metered { key: self, entity: member.entity, pattern, place };
                found.extend(metered.reads(member));
                found.extend(metered.writes(member));
            }
        }
        found
    }
}

/// A pattern's metered consumption for one entity in a table or index.
struct Metered<'a> {
    key: &'a Key<'a>,
    entity: &'a Entity,
    pattern: &'a Pattern,
    /// The index; none for the table itself.
    place: Option<&'a Index>,
}

impl Metered<'_> {
    /// Writes of the entity here.
    fn writes(&self, member: &Member<'_>) -> Option<Received> {
        let (_, write) = self.units()?;
        let all = self.at_peak(write)?.times(self.part(WRITE_UNIT_BYTES));
        let share = self.place.map_or(ALL_PPM, |index| self.in_index(index));
        let writes = all.times(Exact::part(share, ALL_PPM));
        let share = self.key.values(member, self.when_written());
        (writes > Exact::ZERO).then_some(Received { heat: Heat { writes, ..Heat::default() }, share })
    }

    /// Reads of the entity here. A read of several entities reads one key of all: it counts for the entity
    /// with the largest share of that key.
    fn reads(&self, member: &Member<'_>) -> Option<Received> {
        let (read, _) = self.units()?;
        let all = self.at_peak(read)?;
        let Some(asked) = self.pattern.read() else {
            let reads = all.times(self.part(READ_UNIT_BYTES));
            let share = self.key.values(member, When::Any);
            return (reads > Exact::ZERO)
                .then_some(Received { heat: Heat { reads, ..Heat::default() }, share });
        };
        // A scan reads all keys evenly.
        if asked.kind == ReadKind::Scan || all == Exact::ZERO {
            return None;
        }
        let of = |own: &Member<'_>| {
            let when = self.when_read(asked, own.entity);
            Some(self.key.values(own, when)?.times(of_shards(&own.spreads)))
        };
        let members = self.key.members.iter().filter(|own| asked.entities.contains(&own.entity.name));
        let most = members.max_by_key(|own| of(own))?;
        if most.entity.name != self.entity.name {
            return None;
        }
        let share = self.key.values(member, self.when_read(asked, member.entity));
        Some(Received { heat: Heat { reads: all, ..Heat::default() }, share })
    }

    /// Read and write units of one execution here.
    fn units(&self) -> Option<(HalfUnits, HalfUnits)> {
        let ran = self.key.report.pattern(&self.pattern.id)?;
        let usage = &ran.capacity.iter().find(|own| own.table == self.key.table.name)?.usage;
        let own = match self.place {
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

    /// Units a second at the peak.
    fn at_peak(&self, units: HalfUnits) -> Option<Exact> {
        let peak = self.pattern.rate?.peak;
        Some(Exact::part(u128::from(peak.0) * u128::from(units.0), UNIT_MICRO_HALVES))
    }

    /// The entity's part of the consumption of all steps, by the sizes of their items.
    fn part(&self, unit_bytes: u64) -> Exact {
        let (model, report, table) = (self.key.model, self.key.report, self.key.table);
        let weight = |step: &Write| {
            let entity = model.entity(&step.entity).filter(|own| own.table == table.name);
            let inside =
                |entity: &&Entity| self.place.is_none_or(|index| changes(step) && is_in(entity, index));
            let units = |entity: &Entity| bytes(report, entity).div_ceil(unit_bytes).max(1);
            u128::from(entity.filter(inside).map_or(0, |own| step.n.saturating_mul(units(own))))
        };
        let whole: u128 = self.pattern.steps().iter().map(weight).sum();
        let own: u128 = self.own_steps().map(weight).sum();
        if whole == 0 { Exact::ZERO } else { Exact::part(own, whole) }
    }

    fn own_steps(&self) -> impl Iterator<Item = &Write> {
        self.pattern.steps().iter().filter(|step| step.entity == self.entity.name)
    }

    /// The share of a pattern's writes of the entity that reach an index, as billed.
    fn in_index(&self, index: &Index) -> u64 {
        let Some(seen) = self.key.report.entity(&self.entity.name) else { return ALL_PPM };
        let own = self.own_steps().filter(|step| changes(step));
        own.map(|step| written_ppm(self.pattern, step, self.entity, index, seen)).max().unwrap_or(ALL_PPM)
    }

    /// New items belong to the current time.
    fn when_written(&self) -> When {
        let made: u64 = self.own_steps().filter(|step| makes(step)).map(|step| step.n).sum();
        let Some(rate) = self.pattern.rate.filter(|_| made > 0) else { return When::Any };
        When::Now { average: keywright_model::MicroPerSecond(rate.average.0.saturating_mul(made)) }
    }

    /// A read of items later than some time, or right after a write of new items, reads current ones.
    fn when_read(&self, asked: &Read, entity: &Entity) -> When {
        let is_time = |name: &str| {
            let format = entity.attribute(name).and_then(|attribute| attribute.format);
            format.is_some_and(AttributeFormat::is_time)
        };
        let mut given = asked.given.iter();
        let since =
            given.any(|given| matches!(given.op, GivenOp::Ge | GivenOp::Gt) && is_time(&given.attribute));
        let mut before = self.pattern.after.iter().filter_map(|id| self.key.model.pattern(id));
        let after = before
            .any(|pattern| pattern.steps().iter().any(|step| step.entity == entity.name && makes(step)));
        match self.pattern.rate {
            Some(rate) if since || after => When::Now { average: rate.average },
            Some(_) | None => When::Any,
        }
    }
}

fn is_in(entity: &Entity, index: &Index) -> bool {
    index.key_parts().all(|part| entity.template(&part.name).is_some())
}

const fn changes(step: &Write) -> bool {
    matches!(step.kind, WriteKind::Put | WriteKind::Delete | WriteKind::Update)
}

/// Whether a step creates items: a put, or an update whose condition does not require an existing one.
const fn makes(step: &Write) -> bool {
    match step.kind {
        WriteKind::Put => true,
        WriteKind::Update => matches!(step.condition, None | Some(Condition::NotExists)),
        WriteKind::Delete | WriteKind::Check | WriteKind::Get => false,
    }
}

/// Average size of an item: declared, else the sample's.
fn bytes(report: &Report, entity: &Entity) -> u64 {
    let seen = || report.entity(&entity.name)?.bytes_average();
    entity.size_bytes.or_else(seen).unwrap_or(1)
}
