//! Makes items up from a seed: the same model and seed make the same items.
//!
//! Counts are scaled down to a sample; children share the identifying attributes of their parents, and attributes that
//! identify other entities take their values, so that the items refer to each other as real ones would.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::number::Number;
use keywright_semantics::value::{AttributeValue, Item, ValueType};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::random::{Choice, Random};
use super::{FillFault, Sample, complete, from_node, key_of, pad};
use crate::model::{Attribute, AttributeFormat, Entity, Fault, Generate, Model};

/// The second from which generated times count: 2026-01-01T00:00:00Z.
const EPOCH_SECONDS: u64 = 1_767_225_600;
/// Generated times lie within so many seconds from there: 30 days.
const TIME_SPAN_SECONDS: u64 = 30 * 24 * 60 * 60;
/// Letters of a text whose size nobody gives.
const TEXT_BYTES: u64 = 12;
/// No generated text is longer.
const TEXT_BYTES_MAX: u64 = 100_000;
const PPM: u64 = 1_000_000;

/// All generated items of a model.
pub fn generate(model: &Model, wanted: Generate) -> Result<Vec<Sample>, Fault> {
    let mut generator = Generator::new(model, wanted.seed);
    let counts: Vec<u64> = model.entities.iter().filter_map(|entity| entity.count).collect();
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut samples = Vec::new();
    for entity in parents_first(model) {
        let count = entity.count.unwrap_or(1);
        let scaled = u128::from(count) * u128::from(wanted.sample) / u128::from(most.max(wanted.sample));
        let number = u64::try_from(scaled).unwrap_or(u64::MAX).clamp(1, wanted.sample);
        for place in 0..number {
            let item = generator.record(entity, place);
            let item = complete(model, entity, item).map_err(|fault| {
                Fault::new(entity.at, format!("cannot generate `{}`: {fault}", entity.name))
            })?;
            let item = pad(model, entity, item);
            generator.made.entry(entity.name.clone()).or_default().push(item.clone());
            samples.push(Sample {
                table: entity.table.clone(),
                entity: Some(entity.name.clone()),
                item,
                at: entity.at,
            });
        }
    }
    Ok(samples)
}

/// One record of an entity besides those that are there, without keys; `place` tells several apart.
pub fn generate_record(model: &Model, entity: &Entity, existing: &[Sample], place: u64) -> Item {
    let mut generator = Generator::new(model, place);
    for sample in existing {
        if let Some(name) = &sample.entity {
            generator.made.entry(name.clone()).or_default().push(sample.item.clone());
        }
    }
    // Far from the places of generated samples, so that new identities are new.
    generator.record(entity, place.saturating_add(NEW_PLACE))
}

/// Records that are wanted besides those that are there.
#[derive(Clone, Copy, Debug)]
pub struct Further<'a> {
    /// Attributes that all of them have: what a question gives.
    pub fixed: &'a Item,
    pub number: u64,
    pub seed: u64,
}

/// So many further items of an entity, keys included, as large as the entity is declared to be, each with a key that
/// neither another of them nor an existing item has. They are fewer only if the fixed values leave no more keys, as one
/// that is the whole key leaves one. The same existing items and seed make the same items.
pub fn further(
    model: &Model,
    entity: &Entity,
    existing: &[Sample],
    wanted: Further<'_>,
) -> Result<Vec<Sample>, FillFault> {
    let mut generator = Generator::new(model, wanted.seed);
    let mut taken = BTreeSet::new();
    let Some(table) = model.table(&entity.table) else { return Ok(Vec::new()) };
    let key = |item: &Item| key_of(table, item).map(|key| format!("{key:?}"));
    for sample in existing {
        if let Some(name) = &sample.entity {
            generator.made.entry(name.clone()).or_default().push(sample.item.clone());
        }
        if sample.table == entity.table {
            taken.extend(key(&sample.item));
        }
    }
    let mut samples = Vec::new();
    for place in 0..wanted.number {
        for attempt in 0..TRIES_MAX {
            // Far from the places of generated samples, so that new identities are new.
            let place = NEW_PLACE.saturating_add(place + attempt * wanted.number);
            let mut item = generator.record(entity, place);
            item.extend(wanted.fixed.clone());
            let item = complete(model, entity, item)?;
            if taken.insert(key(&item).unwrap_or_default()) {
                samples.push(Sample {
                    table: entity.table.clone(),
                    entity: Some(entity.name.clone()),
                    item: pad(model, entity, item),
                    at: entity.at,
                });
                break;
            }
        }
    }
    Ok(samples)
}

/// Tries at finding a key that no other item has.
const TRIES_MAX: u64 = 50;
const NEW_PLACE: u64 = 900_000_000;

/// Parents before children; a circle is entered somewhere.
fn parents_first(model: &Model) -> Vec<&Entity> {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut order = Vec::new();
    while order.len() < model.entities.len() {
        let left: Vec<&Entity> =
            model.entities.iter().filter(|entity| !done.contains(entity.name.as_str())).collect();
        let refers = |entity: &Entity, other: &Entity| {
            let identifies = other.identity();
            entity.parents.contains(&other.name)
                || entity.attributes.iter().any(|attribute| {
                    identifies == Some(attribute.name.as_str()) && entity.identity() != identifies
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

struct Generator<'a> {
    model: &'a Model,
    random: Random,
    made: BTreeMap<String, Vec<Item>>,
    choices: BTreeMap<(String, String), (usize, Choice)>,
}

impl<'a> Generator<'a> {
    fn new(model: &'a Model, seed: u64) -> Self {
        Self { model, random: Random::new(seed), made: BTreeMap::new(), choices: BTreeMap::new() }
    }

    fn record(&mut self, entity: &Entity, place: u64) -> Item {
        let mut item = Item::new();
        for parent in &entity.parents {
            self.take_from_parent(entity, parent, &mut item);
        }
        let own: BTreeSet<&str> =
            entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
        for attribute in &entity.attributes {
            if item.contains_key(&attribute.name) {
                continue;
            }
            if attribute.present_ppm.is_some_and(|share| self.random.below(PPM) >= share) {
                continue;
            }
            let value = match self.referred(entity, attribute) {
                Some(value) => value,
                None if own.contains(attribute.name.as_str())
                    || entity.unique.iter().any(|names| names.contains(&attribute.name)) =>
                {
                    self.unique_value(attribute, place)
                }
                None => self.value(attribute, place),
            };
            item.insert(attribute.name.clone(), value);
        }
        self.fill_copies(entity, &mut item);
        item
    }

    /// A child has the attributes that identify its parent.
    fn take_from_parent(&mut self, entity: &Entity, parent: &str, item: &mut Item) {
        let Some(source) = self.model.entity(parent) else { return };
        let keys: Vec<&str> =
            source.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
        let skew = keys
            .iter()
            .find_map(|key| entity.skew.iter().find(|(name, _)| name == key))
            .map(|(_, skew)| *skew);
        let Some(chosen) = self.choose(entity, parent, skew) else { return };
        for attribute in &entity.attributes {
            if keys.contains(&attribute.name.as_str())
                && let Some(value) = chosen.get(&attribute.name)
            {
                item.entry(attribute.name.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    fn choose(&mut self, entity: &Entity, other: &str, skew: Option<crate::model::Skew>) -> Option<Item> {
        let made = self.made.get(other)?;
        let key = (entity.name.clone(), other.to_owned());
        let cached = self.choices.get(&key).filter(|(n, _)| *n == made.len());
        let choice = match cached {
            Some((_, choice)) => choice.clone(),
            None => Choice::new(made.len(), skew),
        };
        let place = choice.pick(&mut self.random);
        let item = made.get(place).cloned();
        self.choices.insert(key, (made.len(), choice));
        item
    }

    /// The value of an attribute that identifies another entity.
    fn referred(&mut self, entity: &Entity, attribute: &Attribute) -> Option<AttributeValue> {
        if entity.identity() == Some(attribute.name.as_str()) {
            return None;
        }
        let other =
            self.model.entities.iter().find(|other| {
                other.name != entity.name && other.identity() == Some(attribute.name.as_str())
            })?;
        let skew = entity.skew.iter().find(|(name, _)| *name == attribute.name).map(|(_, skew)| *skew);
        self.choose(entity, &other.name, skew)?.get(&attribute.name).cloned()
    }

    fn fill_copies(&mut self, entity: &Entity, item: &mut Item) {
        for attribute in &entity.attributes {
            let Some((source, name)) = &attribute.copy_of else { continue };
            let Some(key) = self.model.entity(source).and_then(Entity::identity) else { continue };
            let original = self
                .made
                .get(source)
                .into_iter()
                .flatten()
                .find(|other| item.get(key).is_some() && other.get(key) == item.get(key));
            if let Some(value) = original.and_then(|original| original.get(name)) {
                item.insert(attribute.name.clone(), value.clone());
            }
        }
    }

    fn unique_value(&mut self, attribute: &Attribute, place: u64) -> AttributeValue {
        if attribute.format.is_some() || !attribute.values.is_empty() {
            return self.value(attribute, place);
        }
        match attribute.value_type {
            ValueType::N => AttributeValue::N(Number::from(i64::try_from(place + 1).unwrap_or(i64::MAX))),
            ValueType::S => {
                let width =
                    usize::try_from(attribute.size_bytes.unwrap_or(0).min(TEXT_BYTES_MAX)).unwrap_or(0);
                AttributeValue::S(format!("{:0>width$}", place + 1))
            }
            _ => self.value(attribute, place),
        }
    }

    fn value(&mut self, attribute: &Attribute, place: u64) -> AttributeValue {
        if !attribute.values.is_empty() {
            let choice = self.random.below(u64::try_from(attribute.values.len()).unwrap_or(1));
            let node = usize::try_from(choice).ok().and_then(|choice| attribute.values.get(choice));
            if let Some(Ok(value)) = node.map(|node| from_node(node, attribute.value_type)) {
                return value;
            }
        }
        if let Some(format) = attribute.format {
            return self.formatted(attribute, format, place);
        }
        let bound = attribute.distinct.unwrap_or(u64::MAX).max(1);
        match attribute.value_type {
            ValueType::N => {
                let number = self.random.below(bound.min(10_000));
                AttributeValue::N(Number::from(i64::try_from(number).unwrap_or(0)))
            }
            ValueType::Bool => AttributeValue::Bool(self.random.below(2) == 1),
            ValueType::Null => AttributeValue::Null,
            ValueType::B => AttributeValue::B(self.text(attribute, bound).into_bytes()),
            ValueType::L => AttributeValue::L(vec![AttributeValue::S(self.text(attribute, bound))]),
            ValueType::M => AttributeValue::M(Item::from([(
                "value".to_owned(),
                AttributeValue::S(self.text(attribute, bound)),
            )])),
            ValueType::S => AttributeValue::S(self.text(attribute, bound)),
            ValueType::Ss => AttributeValue::Ss(vec![self.text(attribute, bound)]),
            ValueType::Ns => AttributeValue::Ns(vec![Number::from(7_i64)]),
            ValueType::Bs => AttributeValue::Bs(vec![self.text(attribute, bound).into_bytes()]),
        }
    }

    fn text(&mut self, attribute: &Attribute, bound: u64) -> String {
        let size = attribute.size_bytes.unwrap_or(TEXT_BYTES).clamp(1, TEXT_BYTES_MAX);
        let mut stem = format!("{:x}", self.random.below(bound));
        let size = usize::try_from(size).unwrap_or(1);
        stem.truncate(size);
        format!("{stem:x<size$}")
    }

    fn formatted(&mut self, attribute: &Attribute, format: AttributeFormat, place: u64) -> AttributeValue {
        let milliseconds = self.random.below(TIME_SPAN_SECONDS * 1000);
        let seconds = EPOCH_SECONDS + milliseconds / 1000;
        let text = match format {
            AttributeFormat::Iso8601 => format!("{}.{:03}Z", date_time(seconds), milliseconds % 1000),
            AttributeFormat::LocalTime => date_time(seconds),
            AttributeFormat::Date => date_time(seconds).chars().take(10).collect(),
            AttributeFormat::EpochSeconds => seconds.to_string(),
            AttributeFormat::EpochMs => (EPOCH_SECONDS * 1000 + milliseconds).to_string(),
            AttributeFormat::Uuid => self.uuid(),
            AttributeFormat::Ulid => {
                format!("01{:024X}", u128::from(self.random.next()) << 8 | u128::from(place))
            }
            AttributeFormat::Sequence => (place + 1).to_string(),
            AttributeFormat::Email => format!("user{}@example.com", place + 1),
        };
        match attribute.value_type {
            ValueType::N => AttributeValue::number(&text).unwrap_or(AttributeValue::Null),
            _ => AttributeValue::S(text),
        }
    }

    fn uuid(&mut self) -> String {
        let bits = format!("{:016x}{:016x}", self.random.next(), self.random.next());
        let part = |from: usize, to: usize| bits.get(from..to).unwrap_or_default().to_owned();
        format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
    }
}

/// A moment as `YYYY-MM-DDThh:mm:ss`, without a zone.
fn date_time(seconds: u64) -> String {
    const FORM: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(FORM).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        assert_eq!(date_time(EPOCH_SECONDS), "2026-01-01T00:00:00");
        assert_eq!(date_time(951_782_399), "2000-02-28T23:59:59");
        assert_eq!(date_time(951_782_400), "2000-02-29T00:00:00");
    }

    #[test]
    fn the_same_seed_makes_the_same_items_and_children_know_their_parents() {
        let text = include_str!("../../tests/models/shop.yaml");
        let model = crate::model::parse(text).expect("a model");
        let wanted = Generate { seed: 7, sample: 300 };
        let made = generate(&model, wanted).expect("items");
        assert_eq!(made, generate(&model, wanted).expect("items"));
        assert_ne!(made, generate(&model, Generate { seed: 8, sample: 300 }).expect("items"));
        let of = |name: &str| {
            made.iter().filter(|sample| sample.entity.as_deref() == Some(name)).collect::<Vec<_>>()
        };
        assert_eq!(
            (of("OrderItem").len(), of("Order").len(), of("Customer").len(), of("Product").len()),
            (300, 100, 10, 1)
        );
        let orders: BTreeSet<String> =
            of("Order").iter().map(|it| format!("{:?}", it.item["orderId"])).collect();
        assert!(of("OrderItem").iter().all(|it| orders.contains(&format!("{:?}", it.item["orderId"]))));
    }

    #[test]
    fn further_records_have_what_is_given_keys_of_their_own_and_the_declared_size() {
        let model = crate::model::parse(
            r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  O: {count: 1000, size: 700, key: {pk: "u#{u}", sk: "o#{at}"}, attrs: {u: S, at: {type: S, format: iso8601}}}
"#,
        )
        .expect("a model");
        let existing = generate(&model, Generate { seed: 1, sample: 20 }).expect("items");
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
}
