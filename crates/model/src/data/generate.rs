//! Generates items from a seed: the same model and seed make the same items.
//!
//! Children take the identifying attributes of an existing parent, and attributes that
//! identify other entities take their values, so that items refer to each other as real
//! ones would. Attributes have as many values as `scale` says, spread evenly or by their
//! skew. No two items of an entity share a key or the values of a `unique` list, unless
//! the model leaves fewer values than items. Each item has its entity's declared size.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::share::ALL_PPM;
use keywright_semantics::size::{item_bytes, value_bytes};
use keywright_semantics::value::{AttributeValue, Item};

use super::made_up::{self, Use};
use super::needed::needed;
use super::random::{Choice, Random};
use super::room::{Room, too_many};
use super::scale::{Scale, Source, key_attributes, uniques};
use super::{FillFault, Limit, NotLoaded, Sample, complete, key_of, pad};
use crate::{Attribute, Entity, Fault, Generate, Model, Part, Skew};

/// Random draws that can collide with earlier items, before the remaining combinations are tried in order.
const DRAWS_MAX: u64 = 30;
/// The most combinations of values tried in order for one entity.
const SWEEP_MAX: u64 = 2_000_000;
/// The seed of single records; it keeps them apart from items generated with the small seeds of models.
const NEW_SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The first place of further records, far above those of a sample, so that their identities are new.
const NEW_PLACE: u64 = 900_000_000;

const _: () = assert!(DRAWS_MAX < SWEEP_MAX, "random draws come before all combinations");

/// All generated items of a model; none has a key of an existing item.
pub fn generate(model: &Model, wanted: Generate, existing: &[Sample]) -> Result<Vec<Sample>, Fault> {
    let made = generate_within(model, wanted, existing, &mut Room::of(Limit::NONE));
    made.map_err(|fault| match fault {
        NotLoaded::Faults(faults) => faults.into_iter().next().unwrap_or_else(too_many),
        NotLoaded::BeyondLimit => too_many(),
    })
}

/// [`generate`], which ends as soon as the room is full.
pub(super) fn generate_within(
    model: &Model,
    wanted: Generate,
    existing: &[Sample],
    room: &mut Room,
) -> Result<Vec<Sample>, NotLoaded> {
    let mut generator = Generator::new(model, wanted.seed, Scale::of_sample(model, wanted));
    generator.know(existing);
    let mut samples = Vec::new();
    for entity in parents_first(model) {
        let items = generator.scale.items(&entity.name);
        for place in 0..items {
            if place + 1 == items {
                generator.present = missed(model, entity, existing, generator.made.get(&entity.name));
            }
            let made = generator.unique_item(entity, place, &Item::new(), items);
            let (item, _) = made.map_err(|fault| {
                let text = format!("cannot generate `{}`: {fault}", entity.name);
                NotLoaded::Faults(vec![Fault::new(entity.at, text)])
            })?;
            let sample = sample(model, entity, item.clone());
            room.take(&sample.item)?;
            generator.made.entry(entity.name.clone()).or_default().push(Cow::Owned(item));
            samples.push(sample);
        }
        generator.present.clear();
    }
    Ok(samples)
}

/// The attributes that a pattern needs together and that no item of an entity has, because few have them: one
/// item must have them, or the pattern cannot run.
fn missed(
    model: &Model,
    entity: &Entity,
    existing: &[Sample],
    made: Option<&Vec<Cow<'_, Item>>>,
) -> BTreeSet<String> {
    let existing = existing.iter().filter(|sample| sample.entity.as_deref() == Some(&entity.name));
    let items: Vec<&Item> =
        existing.map(|sample| &sample.item).chain(made.into_iter().flatten().map(Cow::as_ref)).collect();
    let needed = model.patterns.iter().flat_map(|pattern| needed(model, pattern));
    let missed = needed.filter(|needed| {
        needed.entity.name == entity.name
            && !items.iter().any(|item| needed.names.iter().all(|name| item.contains_key(name)))
    });
    missed.flat_map(|needed| needed.names).map(str::to_owned).collect()
}

/// Generates single records that refer to existing items, which are indexed once for all records.
pub struct Records<'a> {
    model: &'a Model,
    existing: &'a [Sample],
    generator: RefCell<Option<Generator<'a>>>,
}

impl<'a> Records<'a> {
    /// Makes records for a model; they refer to these items.
    pub const fn new(model: &'a Model, existing: &'a [Sample]) -> Self {
        Self { model, existing, generator: RefCell::new(None) }
    }

    /// One record of an entity, without keys; each `place` gives
    /// another record. It does not depend on earlier calls.
    pub fn record(&self, entity: &Entity, place: u64) -> Item {
        let mut held = self.generator.borrow_mut();
        let generator =
            held.get_or_insert_with(|| Generator::with_existing(self.model, NEW_SEED, self.existing));
        generator.begin(NEW_SEED ^ place);
        generator.record(entity, new_place(entity).saturating_add(place), &Item::new(), &mut Draw::First)
    }
}

/// A request for records in addition to the existing ones.
#[derive(Clone, Copy, Debug)]
pub struct Further<'a> {
    /// Attributes that all of them have: the values given in a read.
    pub fixed: &'a Item,
    /// How many records.
    pub number: u64,
    /// The same seed makes the same records.
    pub seed: u64,
}

/// Further items of an entity with keys and in the declared size. No two of them share a key, nor does one
/// share a key with an existing item. There are fewer than wanted only if the fixed values leave too few
/// keys: a fixed whole key leaves one. The same existing items and seed make the same items.
pub fn further(
    model: &Model,
    entity: &Entity,
    existing: &[Sample],
    wanted: Further<'_>,
) -> Result<Vec<Sample>, FillFault> {
    let mut generator = Generator::with_existing(model, wanted.seed, existing);
    generator.know(existing);
    let first = new_place(entity);
    let mut samples = Vec::new();
    for place in 0..wanted.number {
        let made = generator.unique_item(entity, first.saturating_add(place), wanted.fixed, wanted.number)?;
        match made {
            (item, Uniqueness::Unique) => samples.push(sample(model, entity, item)),
            (_, Uniqueness::Collides) => break,
        }
    }
    let number = u64::try_from(samples.len()).unwrap_or(u64::MAX);
    assert!(number <= wanted.number, "no more records are made than wanted");
    Ok(samples)
}

fn sample(model: &Model, entity: &Entity, item: Item) -> Sample {
    Sample {
        table: entity.table.clone(),
        entity: Some(entity.name.clone()),
        item: pad(model, entity, item),
        at: entity.at,
    }
}

/// The first place of further records. Where keys pad numbers, they take the last tenth of the padded range.
fn new_place(entity: &Entity) -> u64 {
    let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
    let templates = slots.flat_map(|slot| &slot.templates);
    let pads = templates.flat_map(|(_, template)| &template.parts).filter_map(|part| match part {
        Part::Attribute { pad: Some(pad), .. } => u32::try_from(*pad).ok(),
        Part::Attribute { .. } | Part::Literal(_) | Part::Shard { .. } => None,
    });
    let held = pads.min().and_then(|pad| 10_u64.checked_pow(pad)).unwrap_or(u64::MAX);
    (held / 10 * 9).min(NEW_PLACE)
}

/// Parents before children; a cycle is entered at any point.
fn parents_first(model: &Model) -> Vec<&Entity> {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    while order.len() < model.entities.len() {
        let left: Vec<&Entity> =
            model.entities.iter().filter(|entity| !done.contains(entity.name.as_str())).collect();
        let refers = |entity: &Entity, other: &Entity| {
            let identifies = other.sole_identity();
            entity.parents.contains(&other.name)
                || entity.attributes.iter().any(|attribute| {
                    identifies == Some(attribute.name.as_str()) && entity.sole_identity() != identifies
                        || attribute.copy_of.as_ref().is_some_and(|(source, _)| *source == other.name)
                })
        };
        let ready = left
            .iter()
            .find(|entity| !left.iter().any(|other| other.name != entity.name && refers(entity, other)));
        let Some(next) = ready.or(left.first()) else { break };
        done.insert(&next.name);
        order.push(*next);
    }
    order
}

/// The way a record's values are drawn.
enum Draw {
    /// Evenly over all records.
    First,
    /// At random, after this number of draws that collided.
    Again(u64),
    /// By the index of a combination of values: each choice takes one digit of the index.
    Nth(u64, u64),
}

impl Draw {
    /// The number of earlier draws for this record.
    const fn attempt(&self) -> u64 {
        match self {
            Self::First => 0,
            Self::Again(attempt) | Self::Nth(attempt, _) => *attempt,
        }
    }

    /// The digit of the combination's index for a choice among `of` values.
    const fn part(&mut self, of: u64) -> Option<u64> {
        match self {
            Self::First | Self::Again(_) => None,
            Self::Nth(_, rest) => {
                let of = if of == 0 { 1 } else { of };
                let part = *rest % of;
                assert!(part < of, "a digit is below its base");
                *rest /= of;
                Some(part)
            }
        }
    }
}

/// Whether a generated item collides with an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Uniqueness {
    Unique,
    Collides,
}

/// A random order of all values: each value occurs once before any occurs twice.
#[derive(Default)]
struct Round {
    number: u64,
    order: Vec<u64>,
}

struct Generator<'a> {
    model: &'a Model,
    random: Random,
    scale: Scale,
    made: BTreeMap<String, Vec<Cow<'a, Item>>>,
    /// By entity: how many of its items are indexed, and the first item for each value of its identity.
    identified: BTreeMap<String, (usize, BTreeMap<String, usize>)>,
    /// By the names of two entities: the attribute by which the first refers to the second.
    identifiers: BTreeMap<(String, String), Option<String>>,
    /// The keys and unique values that are taken.
    taken: BTreeSet<String>,
    choices: BTreeMap<(String, String), (usize, Choice)>,
    rounds: BTreeMap<(String, String), Round>,
    /// The next combination to try for each entity.
    swept: BTreeMap<String, u64>,
    /// The attributes that the next item has even if few items do.
    present: BTreeSet<String>,
}

impl<'a> Generator<'a> {
    fn new(model: &'a Model, seed: u64, scale: Scale) -> Self {
        Self {
            model,
            random: Random::new(seed),
            scale,
            made: BTreeMap::new(),
            identified: BTreeMap::new(),
            identifiers: BTreeMap::new(),
            taken: BTreeSet::new(),
            choices: BTreeMap::new(),
            rounds: BTreeMap::new(),
            swept: BTreeMap::new(),
            present: BTreeSet::new(),
        }
    }

    /// A generator whose records refer to existing items.
    fn with_existing(model: &'a Model, seed: u64, existing: &'a [Sample]) -> Self {
        let mut made: BTreeMap<String, Vec<Cow<'a, Item>>> = BTreeMap::new();
        for sample in existing {
            if let Some(name) = &sample.entity {
                made.entry(name.clone()).or_default().push(Cow::Borrowed(&sample.item));
            }
        }
        let items =
            made.iter().map(|(name, items)| (name.clone(), u64::try_from(items.len()).unwrap_or(u64::MAX)));
        let scale = Scale::of_items(model, items.collect());
        Self { made, ..Self::new(model, seed, scale) }
    }

    /// Restarts from a seed, with the same items to refer to.
    fn begin(&mut self, seed: u64) {
        self.random = Random::new(seed);
        self.rounds.clear();
        self.swept.clear();
    }

    /// Records the keys and unique values of existing items.
    fn know(&mut self, existing: &[Sample]) {
        for sample in existing {
            let entity = sample.entity.as_ref().and_then(|name| self.model.entity(name));
            if let Some(entity) = entity {
                self.taken.extend(self.marks(entity, &sample.item));
            }
        }
    }

    /// The unique properties of an item: its key, and its values of each `unique` list.
    fn marks(&self, entity: &Entity, item: &Item) -> Vec<String> {
        let key = self.model.table(&entity.table).and_then(|table| key_of(table, item));
        let mut marks: Vec<String> = key.into_iter().map(|key| format!("{} {key:?}", entity.name)).collect();
        for names in &entity.unique {
            let values: Option<Vec<&AttributeValue>> = names.iter().map(|name| item.get(name)).collect();
            marks.extend(values.map(|values| format!("{} {names:?} {values:?}", entity.name)));
        }
        marks
    }

    /// A whole item with a free key and free unique values. It tries the first draw, then random draws, then
    /// all combinations of few values in order. When nothing is left, it returns a colliding item.
    fn unique_item(
        &mut self,
        entity: &Entity,
        place: u64,
        fixed: &Item,
        places: u64,
    ) -> Result<(Item, Uniqueness), FillFault> {
        let combinations = self.combinations(entity, fixed);
        let mut attempt = 0;
        loop {
            let mut draw = if attempt == 0 {
                Draw::First
            } else if attempt < DRAWS_MAX {
                Draw::Again(attempt)
            } else {
                let swept = self.swept.entry(entity.name.clone()).or_insert(0);
                let nth = *swept;
                *swept += 1;
                Draw::Nth(attempt, nth)
            };
            let last = matches!(draw, Draw::Nth(_, nth) if nth >= combinations);
            let shifted = place.saturating_add(draw.attempt().saturating_mul(places));
            let item = self.record(entity, shifted, fixed, &mut draw);
            let item = complete(self.model, entity, item)?;
            let marks = self.marks(entity, &item);
            let uniqueness = if marks.iter().any(|mark| self.taken.contains(mark)) {
                Uniqueness::Collides
            } else {
                Uniqueness::Unique
            };
            if uniqueness == Uniqueness::Unique || last {
                self.taken.extend(marks);
                return Ok((item, uniqueness));
            }
            attempt += 1;
        }
    }

    /// The number of combinations of an entity's key attributes that have few values, without the fixed ones.
    fn combinations(&self, entity: &Entity, fixed: &Item) -> u64 {
        let mut all: u64 = 1;
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let decided = |parent: &str| {
            let parent = self.model.entity(parent);
            parent.is_some_and(|parent| key_attributes(parent).iter().any(|key| fixed.contains_key(key)))
        };
        for attribute in own_keys(entity).filter(|attribute| !fixed.contains_key(&attribute.name)) {
            let (name, number) = match self.scale.source(self.model, entity, attribute) {
                Source::Parent(name) if decided(name) => continue,
                Source::Parent(name) => (name, self.number_of(name)),
                Source::Other(other) => {
                    let among = self.scale.values(&entity.name, &attribute.name).unwrap_or(u64::MAX);
                    (attribute.name.as_str(), self.number_of(&other.name).min(among))
                }
                Source::Among(values) => (attribute.name.as_str(), values),
                Source::Open => continue,
            };
            if seen.insert(name) {
                all = all.saturating_mul(number.max(1));
            }
        }
        all.min(SWEEP_MAX)
    }

    fn number_of(&self, entity: &str) -> u64 {
        self.made.get(entity).map_or(1, |made| u64::try_from(made.len()).unwrap_or(u64::MAX))
    }

    fn record(&mut self, entity: &Entity, place: u64, fixed: &Item, draw: &mut Draw) -> Item {
        let mut item = fixed.clone();
        for parent in &entity.parents {
            self.take_from_parent(entity, parent, fixed, &mut item, draw);
        }
        let identifying = key_attributes(entity);
        // Keys first, so that they take the parts of a combination.
        let keys: BTreeSet<&str> = own_keys(entity).map(|attribute| attribute.name.as_str()).collect();
        let (first, others): (Vec<_>, Vec<_>) =
            entity.attributes.iter().partition(|attribute| keys.contains(attribute.name.as_str()));
        let mut bytes = item_bytes(&item);
        for attribute in first.into_iter().chain(others) {
            if item.contains_key(&attribute.name) {
                continue;
            }
            if !identifying.contains(attribute.name.as_str()) && self.lacks(attribute) {
                continue;
            }
            let used = if keys.contains(attribute.name.as_str()) { Use::Key } else { Use::Plain };
            let value = if bytes <= ITEM_BYTES_MAX {
                self.value(entity, attribute, place, used, draw)
            } else {
                // No table takes the item, so that its further values need no size and no source.
                let plain = Attribute { size_bytes: None, ..attribute.clone() };
                made_up::any(&plain, place, &mut self.random)
            };
            bytes += value_bytes(&value);
            item.insert(attribute.name.clone(), value);
        }
        self.fill_copies(entity, fixed, &mut item);
        item
    }

    /// Whether an item lacks an attribute that not all items have.
    fn lacks(&mut self, attribute: &Attribute) -> bool {
        let Some(share) = attribute.present_ppm else { return false };
        let drawn = self.random.below(ALL_PPM) >= share;
        drawn && (share == 0 || !self.present.contains(&attribute.name))
    }

    fn value(
        &mut self,
        entity: &Entity,
        attribute: &Attribute,
        place: u64,
        used: Use,
        draw: &mut Draw,
    ) -> AttributeValue {
        let place = padded(entity, &attribute.name).map_or(place, |numbers| place % numbers);
        match self.scale.source(self.model, entity, attribute) {
            Source::Other(other) => {
                let skew = self.scale.skew(&entity.name, &attribute.name);
                let among = self.scale.values(&entity.name, &attribute.name);
                let chosen = self.choose(entity, &other.name, skew, among, &Item::new(), draw);
                let chosen = chosen.and_then(|place| self.made.get(&other.name)?.get(place));
                // The copy can have another name than its source.
                if let Some(value) = chosen.and_then(|item| item.get(other.sole_identity()?)) {
                    return value.clone();
                }
            }
            Source::Among(values) => {
                let number = self.number(entity, attribute, place, values, draw);
                return made_up::numbered(attribute, number, values, used);
            }
            Source::Parent(_) | Source::Open => {}
        }
        let sequel = matches!(draw, Draw::Nth(..)) || attribute.format.is_none();
        if used == Use::Key && sequel {
            made_up::numbered(attribute, place, u64::MAX, used)
        } else {
            made_up::any(attribute, place, &mut self.random)
        }
    }

    /// The number of a value: each value once before any repeats, or by the skew.
    fn number(
        &mut self,
        entity: &Entity,
        attribute: &Attribute,
        place: u64,
        values: u64,
        draw: &mut Draw,
    ) -> u64 {
        if let Some(part) = draw.part(values) {
            return part;
        }
        let items = self.scale.items(&entity.name);
        let key = (entity.name.clone(), attribute.name.clone());
        let skew = self.scale.skew(&entity.name, &attribute.name).filter(|skew| *skew != Skew::Uniform);
        let few = values <= items;
        let round = place.checked_div(values).unwrap_or(0);
        if few && matches!(draw, Draw::First) && (skew.is_none() || round == 0) {
            return self.in_turn(&key, place, round, values);
        }
        let Some(skew) = skew else { return self.random.below(values) };
        let size = usize::try_from(values).unwrap_or(usize::MAX).min(CHOICES_MAX);
        let choice = self.choices.entry(key).or_insert_with(|| {
            let choice =
                if few { Choice::after_one_each(size, skew, items) } else { Choice::new(size, Some(skew)) };
            (size, choice)
        });
        u64::try_from(choice.1.pick(&mut self.random)).unwrap_or(0)
    }

    fn in_turn(&mut self, key: &(String, String), place: u64, number: u64, values: u64) -> u64 {
        let known =
            self.rounds.get(key).is_some_and(|round| round.number == number && !round.order.is_empty());
        if !known {
            let order = self.random.shuffled(values);
            self.rounds.insert(key.clone(), Round { number, order });
        }
        let nth = usize::try_from(place.checked_rem(values).unwrap_or(0)).unwrap_or(0);
        self.rounds.get(key).and_then(|round| round.order.get(nth)).copied().unwrap_or(0)
    }

    /// A child has the attributes that identify its parent; the fixed values limit the choice of parents.
    fn take_from_parent(
        &mut self,
        entity: &Entity,
        parent: &str,
        fixed: &Item,
        item: &mut Item,
        draw: &mut Draw,
    ) {
        let Some(source) = self.model.entity(parent) else { return };
        let keys = key_attributes(source);
        // Items under a parent that is one of several of a busier one are uneven as their parents are.
        let carried = || self.scale.skew(&entity.name, source.sole_identity()?);
        let skew = keys.iter().find_map(|key| entity.skew_of(key)).or_else(carried);
        let known: Item = fixed
            .iter()
            .filter(|(name, _)| keys.contains(name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let Some(place) = self.choose(entity, parent, skew, None, &known, draw) else { return };
        let Some(chosen) = self.made.get(parent).and_then(|made| made.get(place)) else { return };
        for attribute in &entity.attributes {
            if keys.contains(attribute.name.as_str())
                && let Some(value) = chosen.get(&attribute.name)
            {
                item.get_or_insert_with(&attribute.name, || value.clone());
            }
        }
    }

    /// The place of an item of another entity that has the known
    /// values, among its first `among` items if that is limited.
    fn choose(
        &mut self,
        entity: &Entity,
        other: &str,
        skew: Option<Skew>,
        among: Option<u64>,
        known: &Item,
        draw: &mut Draw,
    ) -> Option<usize> {
        let made = self.made.get(other)?;
        let among = among.and_then(|among| usize::try_from(among).ok()).unwrap_or(made.len());
        let made = made.get(..among.min(made.len()))?;
        if !known.is_empty() {
            let fits = |item: &Item| known.iter().all(|(name, value)| item.get(name) == Some(value));
            let fitting: Vec<usize> =
                made.iter().enumerate().filter(|(_, item)| fits(item)).map(|(place, _)| place).collect();
            let place = self.random.below(u64::try_from(fitting.len()).unwrap_or(0));
            return fitting.get(usize::try_from(place).ok()?).copied();
        }
        if let Some(part) = draw.part(u64::try_from(made.len()).unwrap_or(u64::MAX)) {
            return usize::try_from(part).ok().filter(|place| *place < made.len());
        }
        let key = (entity.name.clone(), other.to_owned());
        let choice = self.choices.entry(key).or_insert_with(|| (0, Choice::new(0, None)));
        if choice.0 != made.len() {
            *choice = (made.len(), Choice::new(made.len(), skew));
        }
        Some(choice.1.pick(&mut self.random)).filter(|place| *place < made.len())
    }

    /// The first item of an entity with this value of its identity.
    fn identified(&mut self, entity: &str, key: &str, value: &AttributeValue) -> Option<&Item> {
        let made = self.made.get(entity)?;
        let (done, known) = self.identified.entry(entity.to_owned()).or_default();
        for (place, item) in made.iter().enumerate().skip(*done) {
            if let Some(own) = item.get(key) {
                known.entry(format!("{own:?}")).or_insert(place);
            }
        }
        *done = made.len();
        made.get(*known.get(&format!("{value:?}"))?).map(Cow::as_ref)
    }

    fn fill_copies(&mut self, entity: &Entity, fixed: &Item, item: &mut Item) {
        let mut bytes = item_bytes(item);
        for attribute in &entity.attributes {
            if bytes > ITEM_BYTES_MAX {
                break;
            }
            let Some((source, name)) = &attribute.copy_of else { continue };
            let Some(original) = self.model.entity(source) else { continue };
            let Some((key, own)) = original.sole_identity().zip(self.identifier(entity, original)) else {
                continue;
            };
            let original = item.get(&own).and_then(|value| self.identified(source, key, value));
            let value = original.and_then(|original| original.get(name));
            if let Some(value) = value.filter(|_| !fixed.contains_key(&attribute.name)) {
                bytes += value_bytes(value);
                item.insert(attribute.name.clone(), value.clone());
            }
        }
    }

    /// The attribute by which an entity refers to another one: it
    /// takes the values of the other's identity, under any name.
    fn identifier(&mut self, entity: &Entity, other: &Entity) -> Option<String> {
        let place = (entity.name.clone(), other.name.clone());
        if let Some(known) = self.identifiers.get(&place) {
            return known.clone();
        }
        let identity = other.sole_identity()?;
        let repeats = |own: &&Attribute| {
            let line = self.model.line(entity, &own.name);
            let mut origins = line.iter().skip(1);
            origins.any(|origin| origin.entity.name == other.name && origin.attribute.name == identity)
        };
        let drawn = |own: &&Attribute| match self.scale.source(self.model, entity, own) {
            Source::Other(source) => source.name == other.name,
            _ => false,
        };
        let own = entity.attributes.iter();
        let found = own.clone().find(repeats).or_else(|| own.clone().find(drawn));
        let found = found.map(|own| own.name.clone());
        self.identifiers.insert(place, found.clone());
        found
    }
}

/// The largest number of values in a skewed choice.
const CHOICES_MAX: usize = 1_000_000;

/// The number of values that the padding in an entity's keys leaves for an attribute, if the table's key has
/// other attributes as well. The numbers then start again for each of those: each order has a line 1.
fn padded(entity: &Entity, name: &str) -> Option<u64> {
    let slots = std::iter::once(&entity.key).chain(entity.slots.iter().map(|(_, slot)| slot));
    let parts = slots.flat_map(|slot| &slot.templates).flat_map(|(_, template)| &template.parts);
    let digits = parts.filter_map(|part| match part {
        Part::Attribute { name: own, pad } if own == name => *pad,
        _ => None,
    });
    let digits = u32::try_from(digits.min()?).ok()?;
    let shared = key_attributes(entity).iter().any(|own| *own != name);
    shared.then(|| 10_u64.saturating_pow(digits).saturating_sub(1).max(1))
}

/// The attributes of an entity's key and of its `unique` lists.
fn own_keys(entity: &Entity) -> impl Iterator<Item = &Attribute> {
    let names: BTreeSet<&str> = uniques(entity).into_iter().flatten().collect();
    entity.attributes.iter().filter(move |attribute| names.contains(attribute.name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_items_and_children_refer_to_parents() {
        let text = include_str!("../../tests/models/shop.yaml");
        let model = crate::parse(text).expect("a model");
        let wanted = Generate { seed: 7, sample: 300 };
        let made = generate(&model, wanted, &[]).expect("items");
        assert_eq!(made, generate(&model, wanted, &[]).expect("items"));
        assert_ne!(made, generate(&model, Generate { seed: 8, sample: 300 }, &[]).expect("items"));
        let of = |name: &str| {
            made.iter().filter(|sample| sample.entity.as_deref() == Some(name)).collect::<Vec<_>>()
        };
        assert_eq!(
            (of("OrderItem").len(), of("Order").len(), of("Customer").len(), of("Product").len()),
            (300, 100, 10, 6),
            "as counted, and six products, so that no two items of an order need be of one product"
        );
        let orders: BTreeSet<String> =
            of("Order").iter().map(|it| format!("{:?}", it.item["orderId"])).collect();
        assert!(of("OrderItem").iter().all(|it| orders.contains(&format!("{:?}", it.item["orderId"]))));
    }

    #[test]
    fn further_records_have_the_fixed_values_new_keys_and_the_declared_size() {
        let model = crate::parse(
            r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  O: {count: 1000, size: 700, key: {pk: "u#{u}", sk: "o#{at}"}, attrs: {u: S, at: {type: S, format: iso8601}}}
"#,
        )
        .expect("a model");
        let existing = generate(&model, Generate { seed: 1, sample: 20 }, &[]).expect("items");
        let fixed = Item::from([("u".to_owned(), AttributeValue::from("7"))]);
        let wanted = Further { fixed: &fixed, number: 300, seed: 5 };
        let entity = model.entity("O").expect("O");
        let made = further(&model, entity, &existing, wanted).expect("items");
        assert_eq!(made, further(&model, entity, &existing, wanted).expect("items"));
        let all = existing.iter().chain(&made);
        let keys: BTreeSet<String> =
            all.map(|it| format!("{:?}", key_of(&model.tables[0], &it.item))).collect();
        assert_eq!((made.len(), keys.len()), (300, 320));
        for sample in existing.iter().chain(&made) {
            assert_eq!(keywright_semantics::size::item_bytes(&sample.item), 700);
        }
        assert!(made.iter().all(|it| it.item["pk"] == "u#7".into()));
        let whole = Item::from([("u".to_owned(), "7".into()), ("at".to_owned(), "2026".into())]);
        let one = further(&model, entity, &existing, Further { fixed: &whole, number: 9, seed: 5 });
        assert_eq!(one.expect("items").len(), 1);
    }

    /// An order's own `id` is not a customer's, and a review's
    /// author is called other than the customer's `id`.
    #[test]
    fn copies_come_from_the_referenced_item_not_from_one_with_an_equal_attribute_name() {
        let model = crate::parse(
            r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Customer: {count: 20, key: {pk: "c#{id}", sk: "c#"}, attrs: {id: {type: S, distinct: 20}, name: S}}
  Order:
    count: 100
    key: {pk: "o#{id}", sk: "o#"}
    attrs: {id: {type: S, distinct: 100}, buyer: {type: S, copyOf: Customer.id}, buyerName: {type: S, copyOf: Customer.name}}
  Review:
    count: 100
    key: {pk: "r#{number}", sk: "r#"}
    attrs: {number: S, author: {type: S, copyOf: Order.buyer}, authorName: {type: S, copyOf: Customer.name}}
"#,
        )
        .expect("a model");
        let made = generate(&model, Generate { seed: 3, sample: 100 }, &[]).expect("items");
        let of = |name: &'static str| made.iter().filter(move |it| it.entity.as_deref() == Some(name));
        let customers: BTreeMap<String, String> = of("Customer")
            .map(|it| (format!("{:?}", it.item["id"]), format!("{:?}", it.item["name"])))
            .collect();
        let pairs = of("Order").map(|it| (&it.item["buyer"], &it.item["buyerName"]));
        let pairs: Vec<_> =
            pairs.chain(of("Review").map(|it| (&it.item["author"], &it.item["authorName"]))).collect();
        assert!(pairs.len() > 150);
        for (id, name) in pairs {
            assert_eq!(customers.get(&format!("{id:?}")), Some(&format!("{name:?}")), "{id:?}");
        }
    }
}
