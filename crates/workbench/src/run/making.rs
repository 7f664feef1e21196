//! Makes the actions of a write: which stored items it works on, and which items it puts. Values come from
//! the example, from earlier steps of the same pattern, or are generated.
//!
//! It sends nothing.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use keywright_semantics::value::{AttributeValue, Item};

use super::action::Action;
use super::database::{Database, Purpose, key_texts};
use super::derive::updated;
use super::linked_steps::source_step_of;
use super::names::Names;
use super::placeholders::Inventor;
use super::request_limits::{too_few, too_many};
use super::requests::{operation, update_parts};
use super::sizes::average;
use keywright_model::data::{Records, Sample, attributes_from_keys, complete, key_of, pad};
use keywright_model::value::from_node;
use keywright_model::{Attribute, Entity, Index, Model, Node, Pattern, Table, Write, WriteKind};

/// Attempts to find a key that no other action of the pattern has.
const TRIES_MAX: u64 = 50;

const _: () = assert!(TRIES_MAX / 2 > 1, "the first attempt has the example's values");

/// The actions of a pattern's write, in the order of its steps; an error says which item cannot be made.
pub(super) fn actions<'a>(
    database: &Database,
    model: &'a Model,
    samples: &'a [Sample],
    pattern: &'a Pattern,
) -> Result<Vec<Action<'a>>, String> {
    Maker::new(database, model, samples, pattern).actions()
}

/// A derived item before and after a write of its source item.
struct DerivedItem {
    before: Item,
    after: Item,
}

impl DerivedItem {
    fn of(entity: &Entity, source: &Action<'_>) -> Result<Self, String> {
        let updated = match source.kind {
            WriteKind::Update => updated(update_parts(source), &source.item, &source.key)?,
            _ => None,
        };
        let after = updated.unwrap_or_else(|| source.item.clone());
        let copy = |item: &Item| -> Item {
            let names = entity.attributes.iter().filter_map(|own| Some((&own.name, own.copy_of.as_ref()?)));
            names.filter_map(|(name, (_, of))| Some((name.clone(), item.get(of.as_str())?.clone()))).collect()
        };
        Ok(Self { before: copy(&source.item), after: copy(&after) })
    }
}

/// An earlier step's item, by step and index.
fn find<'b, 'c>(earlier: &'b [Action<'c>], (place, nth): (usize, u64)) -> Option<&'b Action<'c>> {
    let mut own = earlier.iter().filter(|own| own.step == place);
    own.nth(usize::try_from(nth).ok()?)
}

struct Maker<'a> {
    model: &'a Model,
    samples: &'a [Sample],
    pattern: &'a Pattern,
    purpose: Purpose,
    /// The keys of all samples, with their tables; computed at first use.
    taken: OnceCell<BTreeSet<(String, Vec<String>)>>,
    records: Records<'a>,
}

impl<'a> Maker<'a> {
    fn new(database: &Database, model: &'a Model, samples: &'a [Sample], pattern: &'a Pattern) -> Self {
        let records = Records::new(model, samples);
        Self { model, samples, pattern, purpose: database.purpose, taken: OnceCell::new(), records }
    }

    fn actions(&self) -> Result<Vec<Action<'a>>, String> {
        if let Some(fault) = too_many(self.pattern, operation(self.pattern)) {
            return Err(fault);
        }
        let mut actions: Vec<Action<'a>> = Vec::new();
        for (place, step) in self.pattern.steps().iter().enumerate() {
            for nth in 0..step.n {
                let action = self.action(place, step, nth, &actions)?;
                actions.extend(action);
            }
        }
        Ok(actions)
    }

    /// A step's action on one item; `None` if a derived item has no key, because its source item lacks an
    /// attribute of it.
    fn action(
        &self,
        place: usize,
        step: &Write,
        nth: u64,
        earlier: &[Action<'a>],
    ) -> Result<Option<Action<'a>>, String> {
        let entity = self.model.entity(&step.entity).ok_or("no entity")?;
        let table = table_of(self.model, &step.entity)?;
        let example = self.example(step, nth);
        let target = (entity, table);
        if self.has_no_key(entity, (place, step), nth, earlier)? {
            return Ok(None);
        }
        if step.kind == WriteKind::Put {
            return self.put((place, step), target, &example, nth, earlier).map(Some);
        }
        let mut first = None;
        for item in self.existing(target, (place, step), &example, nth, earlier)? {
            let action = self.about(place, step, target, &example, (item.into_owned(), None));
            if self.fails_as_it_is() || action.as_ref().is_ok_and(Action::holds) {
                return action.map(Some);
            }
            first.get_or_insert(action);
        }
        let first = first.unwrap_or_else(|| Err(format!("no item of `{}` to work on", entity.name)));
        first.map(|action| Some(action.with_fitting_values(step, &example)))
    }

    /// A put's action: a put that must find an item uses the first stored one for which its condition holds.
    fn put(
        &self,
        step: (usize, &Write),
        target: (&'a Entity, &'a Table),
        example: &[(String, Node)],
        nth: u64,
        earlier: &[Action<'a>],
    ) -> Result<Action<'a>, String> {
        let (entity, table) = target;
        let put = |over: Option<&Item>| {
            let (item, vacated) = self.new_item(target, step, example, nth, earlier, over)?;
            let over = over.or_else(|| self.stored(table, &item).filter(|_| step.1.must_find()));
            let action = self.about(step.0, step.1, target, example, (item, over.cloned()))?;
            Ok::<_, String>(Action { vacated, ..action })
        };
        let (_, given) = self.following(entity, step, example, nth, earlier)?;
        let mut first = None;
        for item in self.overwritten_items((entity, table), step.1, &given, earlier) {
            let action = put(Some(item));
            if self.fails_as_it_is() || action.as_ref().is_ok_and(Action::holds) {
                return action;
            }
            first.get_or_insert(action);
        }
        let first = first.unwrap_or_else(|| put(None));
        if self.fails_as_it_is() { first } else { first.map(|own| own.with_fitting_values(step.1, example)) }
    }

    /// Whether the pattern must fail on the unchanged data.
    fn fails_as_it_is(&self) -> bool {
        let fails = self.pattern.expect.as_ref().and_then(|expect| expect.fails.as_ref());
        fails.is_some_and(|fails| fails.when.is_empty())
    }

    /// A step's action on an item.
    fn about(
        &self,
        place: usize,
        step: &Write,
        (entity, table): (&'a Entity, &'a Table),
        example: &[(String, Node)],
        (item, replaced): (Item, Option<Item>),
    ) -> Result<Action<'a>, String> {
        let key = key_of(table, &item).ok_or_else(|| format!("`{}` has no whole key", entity.name))?;
        let mut action = Action {
            step: place,
            kind: step.kind,
            consistency: step.consistency,
            table,
            entity,
            key,
            item,
            replaced,
            vacated: false,
            condition: None,
            update: String::new(),
            names: Names::default(),
            values: Vec::new(),
        };
        let inventor = Inventor { entity, records: &self.records };
        action.express(step, example, &inventor)?;
        action.derive(step, example)?;
        Ok(action)
    }

    /// The step's own values before the pattern's.
    fn example(&self, step: &Write, nth: u64) -> Vec<(String, Node)> {
        let own = usize::try_from(nth)
            .ok()
            .and_then(|nth| step.examples.get(nth).or_else(|| step.examples.first()));
        let mut values = own.cloned().unwrap_or_default();
        for (name, node) in &self.pattern.example {
            if !values.iter().any(|(known, _)| known == name) {
                values.push((name.clone(), node.clone()));
            }
        }
        values
    }

    fn given(entity: &Entity, example: &[(String, Node)]) -> Result<Item, String> {
        let own = example.iter().filter_map(|(name, node)| entity.attribute(name).map(|known| (known, node)));
        own.map(|(known, node)| {
            from_node(node, known.value_type)
                .map(|value| (known.name.clone(), value))
                .map_err(|fault| format!("example of `{}`: {fault}", known.name))
        })
        .collect()
    }

    /// An item to put: the example's values, those of a parent that the same pattern puts, the rest
    /// generated. Its key differs from every other action's, and is unused unless the example gives it. If
    /// all keys are used, it is a stored one's, and the action is marked `vacated`.
    fn new_item(
        &self,
        (entity, table): (&Entity, &Table),
        (place, step): (usize, &Write),
        example: &[(String, Node)],
        nth: u64,
        earlier: &[Action<'a>],
        over: Option<&Item>,
    ) -> Result<(Item, bool), String> {
        let (copy, given) = self.following(entity, (place, step), example, nth, earlier)?;
        let mut inherited = Item::new();
        for action in earlier.iter().filter(|action| entity.parents.contains(&action.entity.name)) {
            let names = action.entity.key_attributes();
            for name in names {
                if let Some(value) = action.item.get(name).filter(|_| entity.attribute(name).is_some()) {
                    inherited.insert(name.to_owned(), value.clone());
                }
            }
        }
        let lacking = self.copied(entity, place, nth, earlier, &mut inherited);
        inherited.extend(copy.into_iter().flat_map(|copy| copy.after));
        for name in entity.key_attributes() {
            inherited.extend(over.and_then(|item| Some((name.to_owned(), item.get(name)?.clone()))));
        }
        let mut known = None;
        for attempt in 0..TRIES_MAX {
            let mut item = self.records.record(entity, nth + attempt);
            // An example that omits the attribute of a sparse index puts an item outside the index.
            item.retain(|name, _| {
                given.is_empty() || given.contains_key(name) || !self.is_sparse(entity, table, name)
            });
            item.extend(inherited.clone());
            item.retain(|name, _| !lacking.contains(name));
            // A derived item with all the example's values would have its source item's key.
            let varied = |name: &str| attempt > 0 && !inherited.contains_key(name);
            let keys: Vec<&str> = entity.key_attributes().collect();
            item.extend(
                given
                    .iter()
                    .filter(|(name, _)| !(varied(name) && keys.contains(&name.as_str())))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            // The first attempts refer to other existing items; later ones make new values.
            if attempt + 1 >= TRIES_MAX / 2 {
                Self::renew(entity, &inherited, &mut item, nth + attempt);
            }
            let mut item =
                complete(self.model, entity, item).map_err(|fault| format!("`{}`: {fault}", entity.name))?;
            if self.purpose == Purpose::Measure {
                item = self.sized(entity, item);
            }
            let key = key_of(table, &item);
            let taken = earlier
                .iter()
                .any(|action| action.table.name == table.name && Some(&action.key) == key.as_ref());
            if taken || Self::is_twin(entity, &item, earlier) {
                continue;
            }
            let asked = keys.iter().any(|name| given.contains_key(name));
            let item = pad(self.model, entity, item);
            if asked || over.is_some() || self.is_new(table, key.as_ref()) && !self.is_known(entity, &item) {
                return Ok((item, false));
            }
            known.get_or_insert(item);
        }
        known
            .map(|item| (item, true))
            .ok_or_else(|| format!("two puts of `{}` have one key: write an `example` for each", entity.name))
    }

    /// The stored item with an item's key.
    fn stored(&self, table: &Table, item: &Item) -> Option<&'a Item> {
        let key = key_of(table, item);
        let mine = self.samples.iter().filter(|sample| sample.table == table.name);
        mine.map(|sample| &sample.item).rfind(|own| key_of(table, own) == key)
    }

    /// The stored items for a put that must find one, unless its example says which.
    fn overwritten_items(
        &self,
        (entity, table): (&Entity, &Table),
        step: &Write,
        given: &Item,
        earlier: &[Action<'a>],
    ) -> impl Iterator<Item = &'a Item> {
        let mut names = entity.key_attributes();
        let open = step.must_find() && names.all(|name| !given.contains_key(name));
        let samples = self.samples.iter().filter(move |_| open);
        let free = move |sample: &&Sample| {
            let key = key_of(table, &sample.item);
            sample.entity.as_deref() == Some(&entity.name)
                && earlier.iter().all(|own| own.table.name != table.name || Some(&own.key) != key.as_ref())
        };
        samples.filter(free).map(|sample| &sample.item)
    }

    /// Whether an attribute is in an index's key and some stored items lack it.
    fn is_sparse(&self, entity: &Entity, table: &Table, name: &str) -> bool {
        let parts = table.indexes.iter().flat_map(Index::key_parts);
        let indexed = parts
            .filter(|part| table.key_parts().all(|own| own.name != part.name))
            .filter_map(|part| entity.template(&part.name))
            .any(|template| template.attributes().any(|own| own == name));
        let keyed = table.key_parts().filter_map(|part| entity.template(&part.name));
        let mut keyed =
            keyed.flat_map(|template| template.attributes().map(str::to_owned).collect::<Vec<_>>());
        let mut items =
            self.samples.iter().filter(|sample| sample.entity.as_deref() == Some(entity.name.as_str()));
        indexed && keyed.all(|own| own != name) && items.any(|sample| !sample.item.contains_key(name))
    }

    /// Copies the values of the source item that the same pattern puts into a derived item; returns the names
    /// that the source item lacks.
    fn copied(
        &self,
        entity: &Entity,
        place: usize,
        nth: u64,
        earlier: &[Action<'a>],
        inherited: &mut Item,
    ) -> Vec<String> {
        let mut lacking = Vec::new();
        for attribute in &entity.attributes {
            let Some((source, name)) = &attribute.copy_of else { continue };
            let puts =
                || earlier.iter().filter(|own| own.kind == WriteKind::Put && own.entity.name == *source);
            let source_action = match source_step_of(self.pattern.steps(), entity, source, place, nth) {
                Some(at) => find(earlier, at).filter(|own| own.kind == WriteKind::Put),
                None => usize::try_from(nth).ok().and_then(|nth| puts().nth(nth)),
            };
            let Some(source_action) = source_action else { continue };
            match source_action.item.get(name.as_str()) {
                Some(value) => {
                    inherited.insert(attribute.name.clone(), value.clone());
                }
                None => lacking.push(attribute.name.clone()),
            }
        }
        lacking
    }

    /// For a derived item that is all copies: the source item that an earlier step changes, and the example's
    /// values. Only the step's own values apply: the pattern's values are the source item's.
    fn following(
        &self,
        entity: &Entity,
        (place, step): (usize, &Write),
        example: &[(String, Node)],
        nth: u64,
        earlier: &[Action<'_>],
    ) -> Result<(Option<DerivedItem>, Item), String> {
        let source_action =
            self.source_action(entity, place, nth, earlier).filter(|own| own.kind != WriteKind::Put);
        let Some(source_action) = source_action else { return Ok((None, Self::given(entity, example)?)) };
        let nth = usize::try_from(nth).unwrap_or(usize::MAX);
        let own = step.examples.get(nth).or_else(|| step.examples.first());
        let mut given = Self::given(entity, own.map(Vec::as_slice).unwrap_or_default())?;
        if step.kind != WriteKind::Put {
            // A value that no expression uses as a new value is a stored value.
            let used: Vec<&str> = self.pattern.steps().iter().flat_map(Write::values).collect();
            let stored: Vec<(String, Node)> =
                example.iter().filter(|(name, _)| !used.contains(&name.as_str())).cloned().collect();
            for (name, value) in Self::given(entity, &stored)? {
                given.get_or_insert_with(&name, || value);
            }
        }
        Ok((Some(DerivedItem::of(entity, source_action)?), given))
    }

    /// Whether a step's derived item does not exist, because its source item lacks an attribute of the key.
    fn has_no_key(
        &self,
        entity: &Entity,
        (place, step): (usize, &Write),
        nth: u64,
        earlier: &[Action<'_>],
    ) -> Result<bool, String> {
        let Some(source_action) = self.source_action(entity, place, nth, earlier) else { return Ok(false) };
        let copy = DerivedItem::of(entity, source_action)?;
        let there = if step.kind == WriteKind::Put { &copy.after } else { &copy.before };
        let mut names = entity.key_attributes();
        let own = step.examples.iter().flatten();
        Ok(names.any(|name| !there.contains_key(name) && own.clone().all(|(known, _)| known != name)))
    }

    /// The earlier step's item that a derived item copies completely.
    fn source_action<'b, 'c>(
        &self,
        entity: &Entity,
        place: usize,
        nth: u64,
        earlier: &'b [Action<'c>],
    ) -> Option<&'b Action<'c>> {
        let (source, _) = entity.attributes.first()?.copy_of.as_ref()?;
        let from = |own: &Attribute| own.copy_of.as_ref().is_some_and(|(from, _)| from == source);
        if !entity.attributes.iter().all(from) {
            return None;
        }
        if let Some(at) = source_step_of(self.pattern.steps(), entity, source, place, nth) {
            return find(earlier, at);
        }
        let changes = [WriteKind::Put, WriteKind::Update, WriteKind::Delete];
        let mut candidates =
            earlier.iter().filter(|own| own.entity.name == *source && changes.contains(&own.kind));
        candidates.nth(usize::try_from(nth).ok()?)
    }

    /// Whether an earlier put of the pattern has the same `unique` values, under any key: the derived items
    /// of both would have one key.
    fn is_twin(entity: &Entity, item: &Item, earlier: &[Action<'a>]) -> bool {
        let puts = earlier.iter().filter(|own| own.kind == WriteKind::Put && own.entity.name == entity.name);
        puts.map(|own| &own.item).any(|other| Self::is_same(entity, item, other))
    }

    /// Whether a sample has the same `unique` values.
    fn is_known(&self, entity: &Entity, item: &Item) -> bool {
        let mine = self.samples.iter().filter(|sample| sample.entity.as_ref() == Some(&entity.name));
        mine.map(|sample| &sample.item).any(|other| Self::is_same(entity, item, other))
    }

    fn is_same(entity: &Entity, item: &Item, other: &Item) -> bool {
        let equal = |name: &String| item.contains_key(name) && item.get(name) == other.get(name);
        entity.unique.iter().any(|names| names.iter().all(equal))
    }

    /// Whether no sample has the key.
    fn is_new(&self, table: &Table, key: Option<&Item>) -> bool {
        let taken = self.taken.get_or_init(|| {
            let key = |sample: &Sample| {
                let table = self.model.table(&sample.table)?;
                Some((table.name.clone(), key_texts(table, &key_of(table, &sample.item)?)))
            };
            self.samples.iter().filter_map(key).collect()
        });
        key.is_none_or(|key| !taken.contains(&(table.name.clone(), key_texts(table, key))))
    }

    /// An item of the declared size, or of the samples' average size.
    fn sized(&self, entity: &Entity, item: Item) -> Item {
        let size_bytes = entity.size_bytes.or_else(|| average(entity, self.samples));
        pad(self.model, &Entity { size_bytes, ..entity.clone() }, item)
    }

    /// New texts for the attributes of the key and of `unique` that no parent gives.
    fn renew(entity: &Entity, inherited: &Item, item: &mut Item, place: u64) {
        let unique = entity.unique.iter().flatten().map(String::as_str);
        let names: BTreeSet<&str> = entity.key_attributes().chain(unique).collect();
        for name in names.into_iter().filter(|name| !inherited.contains_key(name)) {
            if let Some(AttributeValue::S(text)) = item.get_mut(name) {
                *text = format!("{text}-{place}");
            }
        }
    }

    /// The items that a write can apply to: the one that the example describes, or samples that no earlier
    /// step uses, because the service refuses a request with the same item twice.
    fn existing<'b>(
        &'b self,
        (entity, table): (&'b Entity, &'b Table),
        (place, step): (usize, &Write),
        example: &[(String, Node)],
        nth: u64,
        earlier: &'b [Action<'b>],
    ) -> Result<Box<dyn Iterator<Item = Cow<'b, Item>> + 'b>, String> {
        let (copy, mut given) = self.following(entity, (place, step), example, nth, earlier)?;
        for (name, value) in copy.into_iter().flat_map(|copy| copy.before) {
            given.get_or_insert_with(&name, || value);
        }
        let keys: Vec<&str> = entity.key_attributes().collect();
        let asked: Item = keys
            .iter()
            .filter_map(|key| given.get_key_value(key))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let fits = move |sample: &&Sample| {
            sample.entity.as_deref() == Some(&entity.name)
                && asked.iter().all(|(key, value)| sample.item.get(key) == Some(value))
        };
        let free = move |sample: &&Sample| {
            let key = key_of(table, &sample.item);
            earlier.iter().all(|own| own.table.name != table.name || Some(&own.key) != key.as_ref())
        };
        let model = self.model;
        // Values that only an item's keys hold belong to the item as well.
        let whole = move |item: &'b Item| -> Cow<'b, Item> {
            let from_key = attributes_from_keys(model, entity, item);
            if from_key.is_empty() {
                return Cow::Borrowed(item);
            }
            let mut item = item.clone();
            item.extend(from_key);
            Cow::Owned(item)
        };
        let mut found = self.samples.iter().filter(fits.clone()).filter(free).peekable();
        if found.peek().is_some() {
            return Ok(Box::new(found.map(move |sample| whole(&sample.item))));
        }
        let mut fitting = self.samples.iter().filter(fits).peekable();
        let open = !keys.is_empty() && keys.iter().all(|key| !given.contains_key(key));
        // A check of an item that another step changes is meant for the same item.
        let checks = self.pattern.steps().iter().any(|own| own.kind == WriteKind::Check);
        if open && !(checks && fitting.peek().is_some()) {
            return Err(too_few(self.model, self.samples, self.pattern, entity));
        }
        if let Some(sample) = fitting.nth(usize::try_from(nth).unwrap_or(usize::MAX)) {
            return Ok(Box::new(std::iter::once(whole(&sample.item))));
        }
        let made = complete(self.model, entity, given);
        let made = made.map_err(|fault| format!("no item of `{}` to work on: {fault}", entity.name))?;
        // The example's values may be in the keys only.
        let key = key_of(table, &made);
        let mut own = self.samples.iter().filter(|sample| sample.table == table.name);
        let stored = own.find(|sample| key_of(table, &sample.item) == key);
        Ok(Box::new(std::iter::once(stored.map_or(Cow::Owned(made), |sample| whole(&sample.item)))))
    }
}

/// The table of an entity.
fn table_of<'a>(model: &'a Model, entity: &str) -> Result<&'a Table, String> {
    let entity = model.entity(entity).ok_or_else(|| format!("there is no entity `{entity}`"))?;
    model.table(&entity.table).ok_or_else(|| format!("there is no table `{}`", entity.table))
}
