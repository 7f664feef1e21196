//! Executes writes: single writes, transactions and batches. The data is restored afterwards, so that
//! patterns do not depend on their order.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage, WriteMode, write_units};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::number::Number;
use keywright_semantics::request::parts::ValuePart;
use keywright_semantics::response::Response;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::{AttributeValue, Item};

use super::database::{Database, Purpose, key_texts};
use super::derive::{Derived, derived, updated};
use super::example::placeholder;
use super::execute::{UNEXPECTED, add_capacity, blank, table_of};
use super::expect::{complaints, outcome};
use super::linked_steps::source_step_of;
use super::names::Names;
use super::placeholders::Inventor;
use super::report::{CapacityOf, OperationKind, Outcome, PatternReport};
use super::request_limits::{too_few, too_large, too_many};
use super::requests::{self, update_parts};
use super::sizes::average;
use keywright_model::data::{Records, Sample, attributes_from_keys, complete, key_of, pad};
use keywright_model::expression::{Clause, Comparator, ConditionExpression, Effect, Section};
use keywright_model::value::{from_node, from_untyped_node};
use keywright_model::{
    Attribute, Condition, Consistency, Entity, FailsWhen, Index, Model, Node, Operation, Pattern, Table,
    Write, WriteKind,
};

/// Attempts to find a key that no other action of the pattern has.
const TRIES_MAX: u64 = 50;

/// The part of a write that concerns one item.
pub(super) struct Action<'a> {
    pub(super) step: usize,
    pub(super) kind: WriteKind,
    pub(super) consistency: Consistency,
    pub(super) table: &'a Table,
    pub(super) entity: &'a Entity,
    pub(super) key: Item,
    pub(super) item: Item,
    /// The stored item that a conditional put runs on.
    replaced: Option<Item>,
    /// Whether the stored item with this key is removed first, because no unused key is left.
    pub(super) vacated: bool,
    pub(super) condition: Option<String>,
    pub(super) update: String,
    pub(super) names: Names,
    pub(super) values: Vec<(String, ValuePart)>,
}

pub(super) fn change(
    database: &Database,
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
) -> PatternReport {
    let mut report = blank(pattern);
    report.own_example =
        !pattern.example.is_empty() || pattern.steps().iter().any(|step| !step.examples.is_empty());
    for step in pattern.steps() {
        if !report.entities.contains(&step.entity) {
            report.entities.push(step.entity.clone());
        }
    }
    report.operation = operation(pattern);
    let made = Maker::new(database, model, samples, pattern).actions();
    let actions = match made {
        Ok(actions) => actions,
        Err(fault) => {
            report.outcome = Outcome::Failed(fault);
            return report;
        }
    };
    if let Some(first) = actions.first() {
        report.table.clone_from(&first.table.name);
    }
    let touched = |action: &Action<'_>| (action.table.name.clone(), key_texts(action.table, &action.key));
    report.touched = actions.iter().map(touched).collect();
    report.requests = 1;
    report.outcome = match tried(database, pattern, &actions, &mut report) {
        Ok(outcome) => outcome,
        Err(fault) => Outcome::Failed(fault),
    };
    report
}

/// One item before and after a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The table.
    pub table: String,
    /// The entity that the step names.
    pub entity: String,
    /// `None` if the write made it.
    pub before: Option<Item>,
    /// `None` if the write deleted it.
    pub after: Option<Item>,
}

/// The result of a write that is not undone.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    /// It was acknowledged.
    Changed {
        /// Write units over all tables and indexes.
        units: HalfUnits,
        /// Each item it concerns, in the order of the steps.
        changes: Vec<Changed>,
    },
    /// Its condition did not hold.
    Refused,
    /// Nothing says what value this placeholder of it has.
    Unvalued(String),
}

/// Runs a write and keeps its result.
pub(super) fn done(
    database: &Database,
    model: &Model,
    samples: &[Sample],
    pattern: &Pattern,
) -> Result<Done, String> {
    if let Some(placeholder) = unvalued(model, pattern) {
        return Ok(Done::Unvalued(placeholder));
    }
    let actions = Maker::new(database, model, samples, pattern).actions()?;
    let image = |action: &Action<'_>| database.get(&action.table.name, &action.key);
    for action in actions.iter().filter(|action| action.vacated) {
        database.restore(&action.table.name, &action.key, None)?;
    }
    let before = actions.iter().map(image).collect::<Result<Vec<_>, String>>()?;
    let mut report = blank(pattern);
    report.operation = operation(pattern);
    match send(database, pattern, &actions, &mut report) {
        Ok(()) => {}
        Err(fault) => {
            return match fault.kind {
                ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled => Ok(Done::Refused),
                kind => Err(format!("{kind:?}: {}", fault.message)),
            };
        }
    }
    let after = actions.iter().map(image).collect::<Result<Vec<_>, String>>()?;
    let images = actions.iter().zip(before.into_iter().zip(after));
    let changes = images.map(|(action, (before, after))| Changed {
        table: action.table.name.clone(),
        entity: action.entity.name.clone(),
        before,
        after,
    });
    Ok(Done::Changed { units: report.write_units(), changes: changes.collect() })
}

/// A placeholder of a write that no example gives and that stands for no declared attribute's value, such as
/// one compared with a part of a document.
fn unvalued(model: &Model, pattern: &Pattern) -> Option<String> {
    pattern.steps().iter().find_map(|step| {
        let entity = model.entity(&step.entity)?;
        let meant: Vec<(&str, &str)> = step.meanings().collect();
        let given =
            |name: &str| step.examples.iter().flatten().chain(&pattern.example).any(|(own, _)| own == name);
        let is_made = |name: &str| {
            let mut known = meant.iter().filter(|(value, _)| *value == name);
            known.any(|(_, own)| entity.attribute(own).is_some() || entity.template(own).is_some())
        };
        step.values().find(|name| !given(name) && !is_made(name)).map(str::to_owned)
    })
}

fn operation(pattern: &Pattern) -> OperationKind {
    let gets = pattern.steps().iter().all(|step| step.kind == WriteKind::Get);
    match &pattern.operation {
        Operation::Read(_) => OperationKind::Nothing,
        Operation::Write(write) => match write.kind {
            WriteKind::Put => OperationKind::PutItem,
            WriteKind::Update => OperationKind::UpdateItem,
            WriteKind::Delete => OperationKind::DeleteItem,
            WriteKind::Check | WriteKind::Get => OperationKind::Nothing,
        },
        Operation::Transact(_) if gets => OperationKind::TransactGetItems,
        Operation::Transact(_) => OperationKind::TransactWriteItems,
        Operation::Batch(_) if gets => OperationKind::BatchGetItem,
        Operation::Batch(_) => OperationKind::BatchWriteItem,
    }
}

/// Runs the write, also under the expectation's circumstances, and restores everything.
fn tried(
    database: &Database,
    pattern: &Pattern,
    actions: &[Action<'_>],
    report: &mut PatternReport,
) -> Result<Outcome, String> {
    let before = actions
        .iter()
        .map(|action| Ok((action, database.get(&action.table.name, &action.key)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let restore = || {
        before
            .iter()
            .try_for_each(|(action, item)| database.restore(&action.table.name, &action.key, item.as_ref()))
    };
    let bytes = before.iter().filter_map(|(_, item)| item.as_ref()).map(item_bytes).sum();
    if let Some(fault) = too_large(pattern, report.operation, bytes) {
        return Err(fault);
    }
    let fails = pattern.expect.as_ref().and_then(|expect| expect.fails.as_ref());
    let mut found = Vec::new();
    // A write that must fail on the unchanged data does not run without failing.
    if fails.is_none_or(|fails| !fails.when.is_empty()) {
        for action in actions.iter().filter(|action| action.vacated) {
            database.restore(&action.table.name, &action.key, None)?;
        }
        let answer = send(database, pattern, actions, report);
        restore()?;
        answer.map_err(|fault| refused(pattern, report.operation, &fault))?;
    }
    if let Some(fails) = fails {
        circumstances(database, actions, &before, fails)?;
        let answer = send(database, pattern, actions, &mut blank(pattern));
        restore()?;
        if fails.when.is_empty() && answer.is_err() {
            let stored = before.iter().map(|(action, item)| (*action, item.as_ref()));
            report.capacity = of_failure(report.operation, stored);
        }
        found.extend(failure(pattern, actions, fails, answer.err().as_ref()));
    }
    let Some(expect) = &pattern.expect else { return Ok(Outcome::Ran) };
    found.extend(complaints(expect, report));
    Ok(outcome(found))
}

/// The consumption of a write whose condition fails: the units of the stored item, or of a put's own item if
/// that is larger, at least one (developer guide: `WorkingWithItems`, conditional writes). The response
/// carries no figure.
fn of_failure<'a>(
    operation: OperationKind,
    stored: impl Iterator<Item = (&'a Action<'a>, Option<&'a Item>)>,
) -> Vec<CapacityOf> {
    let mode = match operation {
        OperationKind::TransactWriteItems => WriteMode::Transactional,
        _ => WriteMode::Plain,
    };
    let mut capacity: Vec<CapacityOf> = Vec::new();
    for (action, stored) in stored {
        let own = if action.kind == WriteKind::Put { item_bytes(&action.item) } else { 0 };
        let bytes = stored.map_or(0, item_bytes).max(own);
        let usage = TableUsage { table: Usage::writing(write_units(bytes, mode)), ..TableUsage::default() };
        match capacity.iter_mut().find(|known| known.table == action.table.name) {
            Some(known) => known.usage.merge(usage),
            None => capacity.push(CapacityOf { table: action.table.name.clone(), usage }),
        }
    }
    capacity
}

/// What the author of a pattern can do about a refused write.
fn refused(pattern: &Pattern, operation: OperationKind, fault: &Error) -> String {
    let message = &fault.message;
    if matches!(fault.kind, ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionCanceled) {
        return format!(
            "a condition does not hold on the data: write an `example` on which it does, or what is expected, `expect: {{fails-when: null, reason: ConditionalCheckFailed}}` ({message})"
        );
    }
    let said = |text: fn(&Write) -> bool| pattern.steps().iter().any(text);
    let fields = [
        ("`set`", said(|step| step.section(Section::Set).next().is_some())),
        ("`remove`", said(|step| step.section(Section::Remove).next().is_some())),
        ("`add`", said(|step| step.section(Section::Add).next().is_some())),
        ("`if`", said(|step| matches!(step.condition, Some(Condition::Expression(_))))),
        ("`n`", said(|step| step.n > 1)),
        ("`example`", true),
    ];
    let fields: Vec<&str> = fields.into_iter().filter(|(_, there)| *there).map(|(field, _)| field).collect();
    format!(
        "the service refuses the {} that is made of it: {message}; change its {}",
        operation.name(),
        fields.join(" or ")
    )
}

/// Changes the stored items as the expectation's `when` says.
fn circumstances(
    database: &Database,
    actions: &[Action<'_>],
    before: &[(&Action<'_>, Option<Item>)],
    fails: &FailsWhen,
) -> Result<(), String> {
    for (entity, attribute, node) in &fails.when {
        let targets: Vec<&(&Action<'_>, Option<Item>)> =
            before.iter().filter(|(action, _)| action.entity.name == *entity).collect();
        if targets.is_empty() {
            return Err(format!("`fails-when` names {entity}.{attribute}, but no step touches {entity}"));
        }
        for (action, item) in targets {
            let mut item = item.clone().unwrap_or_else(|| action.key.clone());
            let value = match action.entity.attribute(attribute) {
                Some(known) => from_node(node, known.value_type)?,
                None => from_untyped_node(node)?,
            };
            item.insert(attribute.clone(), value);
            database.put(&action.table.name, &item)?;
        }
    }
    let _ = actions;
    Ok(())
}

/// How the failure differs from the expected one.
fn failure(
    pattern: &Pattern,
    actions: &[Action<'_>],
    fails: &FailsWhen,
    fault: Option<&Error>,
) -> Option<String> {
    let Some(fault) = fault else { return Some("expected it to fail, and it did not".to_owned()) };
    if fails.reasons.is_empty() {
        return None;
    }
    let mut codes: Vec<String> = vec!["None".to_owned(); pattern.steps().len()];
    match fault.detail.as_ref() {
        ErrorDetail::Reasons(reasons) => {
            for (action, reason) in actions.iter().zip(reasons) {
                if let Some(code) = codes.get_mut(action.step).filter(|code| *code == "None") {
                    reason.code().clone_into(code);
                }
            }
        }
        ErrorDetail::None | ErrorDetail::Item(_) | ErrorDetail::Throttling(_) => {
            codes = vec![format!("{:?}", fault.kind)];
        }
    }
    let met = codes == fails.reasons || matches!(fails.reasons.as_slice(), [one] if codes.contains(one));
    (!met).then(|| {
        format!(
            "expected it to fail with [{}], it failed with [{}]",
            fails.reasons.join(", "),
            codes.join(", ")
        )
    })
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
            let varied = |name: &str| attempt > 0 && !inherited.contains_key(name) && attempt < TRIES_MAX;
            let keys: Vec<&str> = entity.key_attributes().collect();
            item.extend(
                given
                    .iter()
                    .filter(|(name, _)| !(varied(name) && keys.contains(&name.as_str())))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            if attempt > 0 && attempt + 1 < TRIES_MAX / 2 {
                // The first attempts refer to other existing items; later ones make new values.
            } else if attempt > 0 {
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
            let asked = keys.iter().any(|name| given.contains_key(*name));
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
                given.entry(name).or_insert(value);
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
        for name in names.into_iter().filter(|name| !inherited.contains_key(*name)) {
            if let Some(keywright_semantics::value::AttributeValue::S(text)) = item.get_mut(name) {
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
            given.entry(name).or_insert(value);
        }
        let keys: Vec<&str> = entity.key_attributes().collect();
        let asked: Item = keys
            .iter()
            .filter_map(|key| given.get_key_value(*key))
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
        let open = !keys.is_empty() && keys.iter().all(|key| !given.contains_key(*key));
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

impl Action<'_> {
    /// Condition and update as expressions with placeholders, and their values.
    fn express(
        &mut self,
        step: &Write,
        example: &[(String, Node)],
        inventor: &Inventor<'_, '_>,
    ) -> Result<(), String> {
        self.invent(step, example, inventor);
        self.stay(step, example, inventor);
        self.open(step, example);
        let partition = self.table.partition.name.clone();
        self.condition = match &step.condition {
            None => None,
            Some(Condition::NotExists) => {
                let name = self.names.placeholder(&partition);
                Some(format!("attribute_not_exists({name})"))
            }
            Some(Condition::Exists) => {
                let name = self.names.placeholder(&partition);
                Some(format!("attribute_exists({name})"))
            }
            Some(Condition::Expression(condition)) => {
                self.fill(&condition.values(), &condition.meanings(), example)?;
                Some(condition.render(|name| self.names.placeholder(name)))
            }
        };
        let mut update = Vec::new();
        for section in [Section::Set, Section::Remove, Section::Add, Section::Delete] {
            let effects: Vec<&Effect> = step.section(section).collect();
            let meanings: Vec<(&str, &str)> = effects.iter().flat_map(|effect| effect.meanings()).collect();
            let values: Vec<&str> = effects.iter().flat_map(|effect| effect.values()).collect();
            self.fill(&values, &meanings, example)?;
            let names = &mut self.names;
            let texts: Vec<String> =
                effects.iter().map(|effect| effect.render(|name| names.placeholder(name))).collect();
            if !texts.is_empty() {
                update.push(format!("{} {}", section.name(), texts.join(", ")));
            }
        }
        self.update = update.join(" ");
        if self.kind == WriteKind::Update && self.update.is_empty() {
            return Err("an update changes something: write `set: \"attribute = :value\"`".to_owned());
        }
        Ok(())
    }

    /// Sets the key attributes of an update by applying their templates to the updated item.
    fn derive(&mut self, step: &Write, example: &[(String, Node)]) -> Result<(), String> {
        let made = derived(self.table, self.entity, step, example);
        if made.is_empty() {
            return Ok(());
        }
        let Some(item) = updated(update_parts(self), &self.item, &self.key)? else { return Ok(()) };
        let mut found: Vec<(&Derived, AttributeValue)> = Vec::new();
        for own in &made {
            let Some(value) = own.value(&item) else {
                if own.owner.is_some() || self.item.contains_key(&own.attribute) {
                    continue;
                }
                return Err(format!(
                    "no value for `{}`: the item lacks what `{}` is made of",
                    own.placeholder, own.attribute
                ));
            };
            if let Some(owner) = &own.owner {
                if item.get(&own.attribute) != Some(&value) {
                    return Err(own.not_also(owner));
                }
                continue;
            }
            let twin = found.iter().find(|(other, _)| other.placeholder == own.placeholder);
            if let Some((other, _)) = twin.filter(|(_, known)| *known != value) {
                return Err(own.not_also(&other.attribute));
            }
            for (_, known) in self.values.iter_mut().filter(|(name, _)| *name == own.placeholder) {
                *known = Ok(value.clone());
            }
            found.push((own, value));
        }
        Ok(())
    }

    /// Values that an update sets and the example leaves out: different from the stored ones, or the update
    /// would change nothing. A value that the condition requires to be the stored one stays.
    fn invent(&mut self, step: &Write, example: &[(String, Node)], inventor: &Inventor<'_, '_>) {
        let equal = step.expression().map(ConditionExpression::equal).unwrap_or_default();
        let (own, made): (Vec<_>, Vec<_>) =
            step.assigned().partition(|(attribute, _)| self.entity.attribute(attribute).is_some());
        // A placeholder that sets several attributes has one value: an attribute's takes precedence over that
        // of a key made of it.
        for (attribute, name) in own.into_iter().chain(made) {
            let placeholder = format!(":{name}");
            let given = example.iter().any(|(known, _)| known == name)
                || self.values.iter().any(|(known, _)| *known == placeholder);
            if given || equal.contains(&(attribute, name)) {
                continue;
            }
            if let Some(value) = inventor.other_than(attribute, self.item.get(attribute)) {
                self.values.push((placeholder, Ok(value)));
            }
        }
    }

    /// A value that the condition requires to be equal and the example leaves out is the stored one, as if it
    /// had been read; one that must be unequal is another value.
    fn stay(&mut self, step: &Write, example: &[(String, Node)], inventor: &Inventor<'_, '_>) {
        let Some(condition) = step.expression() else { return };
        let equal = condition.equal().into_iter().map(|pair| (pair, true));
        let unequal = condition.unequal().into_iter().map(|pair| (pair, false));
        for ((attribute, name), equal) in equal.chain(unequal) {
            let placeholder = format!(":{name}");
            let known = example.iter().any(|(known, _)| known == name)
                || self.values.iter().any(|(known, _)| *known == placeholder);
            let stored = self.found().get(attribute);
            let value = if equal { stored.cloned() } else { inventor.other_than(attribute, stored) };
            if let (false, Some(value)) = (known, value) {
                self.values.push((placeholder, Ok(value)));
            }
        }
    }

    /// Keys that the update sets and the stored item lacks have no value yet.
    fn open(&mut self, step: &Write, example: &[(String, Node)]) {
        let made = derived(self.table, self.entity, step, example);
        for own in made.into_iter().filter(|own| own.owner.is_none()) {
            let known = self.values.iter().any(|(known, _)| *known == own.placeholder);
            if !known && !self.item.contains_key(&own.attribute) {
                self.values.push((own.placeholder, Ok(AttributeValue::from("x"))));
            }
        }
    }

    /// Gives values to placeholders of an expression that have none.
    fn fill(
        &mut self,
        names: &[&str],
        meanings: &[(&str, &str)],
        example: &[(String, Node)],
    ) -> Result<(), String> {
        for name in names {
            let placeholder_name = format!(":{name}");
            if self.values.iter().any(|(known, _)| *known == placeholder_name) {
                continue;
            }
            let value = placeholder(&[self.entity], meanings, name, example, Some(self.found()))?;
            self.values.push((placeholder_name, Ok(value)));
        }
        Ok(())
    }

    /// With other values for the placeholders that no example gives, where its condition compares them with
    /// the stored item and does not hold: `until < :now` needs a later time than the item's.
    fn with_fitting_values(mut self, step: &Write, example: &[(String, Node)]) -> Self {
        if self.holds() {
            return self;
        }
        let clauses = step.expression().map(ConditionExpression::clauses).unwrap_or_default();
        for (comparator, attribute, name) in clauses.into_iter().filter_map(Clause::compared) {
            let changes = step.effects.iter().flat_map(Effect::values).any(|own| own == name);
            if changes || example.iter().any(|(known, _)| known == name) {
                continue;
            }
            let beyond = self.found().get(attribute).and_then(|own| beyond(own, comparator));
            let placeholder = format!(":{name}");
            let known = self.values.iter_mut().find(|(known, _)| *known == placeholder);
            if let (Some((_, value)), Some(beyond)) = (known, beyond) {
                *value = Ok(beyond);
            }
        }
        self
    }

    /// The stored item that its condition applies to.
    fn found(&self) -> &Item {
        self.replaced.as_ref().unwrap_or(&self.item)
    }

    /// Whether its condition holds on the stored item.
    fn holds(&self) -> bool {
        if self.condition.is_none() {
            return true;
        }
        requests::condition(self).is_ok_and(|condition| {
            condition.is_none_or(|own| own.evaluate(Some(EncodedItem::encode(self.found()).view())))
        })
    }

    pub(super) fn some_values(&self) -> Option<Vec<(String, ValuePart)>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// A value that an item's own compares with in this way; `None` for comparisons that are no order.
fn beyond(own: &AttributeValue, comparator: Comparator) -> Option<AttributeValue> {
    let is_upper = match comparator {
        Comparator::Lt | Comparator::Le => true,
        Comparator::Gt | Comparator::Ge => false,
        Comparator::Eq | Comparator::Ne => return None,
    };
    match own {
        AttributeValue::N(number) => {
            let step = Number::from(if is_upper { 1_i64 } else { -1 });
            number.checked_add(step).ok().map(AttributeValue::N)
        }
        AttributeValue::S(text) if is_upper => Some(AttributeValue::S(format!("{text}~"))),
        AttributeValue::S(text) => {
            let mut less = text.clone();
            less.pop();
            Some(AttributeValue::S(less))
        }
        _ => None,
    }
}

fn send(
    database: &Database,
    pattern: &Pattern,
    actions: &[Action<'_>],
    report: &mut PatternReport,
) -> Result<(), Error> {
    let request = match report.operation {
        OperationKind::Nothing => operation(pattern),
        known => known,
    };
    let answer = database.execute(requests::request(request, actions)?)?;
    take(report, actions, answer)
}

fn take(report: &mut PatternReport, actions: &[Action<'_>], answer: Response) -> Result<(), Error> {
    let mut items = Vec::new();
    match answer {
        Response::PutItem(output) | Response::UpdateItem(output) | Response::DeleteItem(output) => {
            add_capacity(&mut report.capacity, output.consumed_capacity);
        }
        Response::TransactWriteItems(output) => {
            add_capacity(&mut report.capacity, output.consumed_capacity.into_iter().flatten());
        }
        Response::BatchWriteItem(output) => {
            add_capacity(&mut report.capacity, output.consumed_capacity.into_iter().flatten());
        }
        Response::TransactGetItems(output) => {
            add_capacity(&mut report.capacity, output.consumed_capacity.into_iter().flatten());
            items.extend(output.responses.into_iter().flatten());
        }
        Response::BatchGetItem(output) => {
            add_capacity(&mut report.capacity, output.consumed_capacity.into_iter().flatten());
            items.extend(output.responses.into_iter().flat_map(|(_, items)| items));
        }
        _ => return Err(Error::validation(UNEXPECTED)),
    }
    for item in items {
        report.items_read += 1;
        report.items_returned += 1;
        report.bytes_returned += u64::try_from(item.size_bytes()).unwrap_or(u64::MAX);
        let item = item.decode();
        if let Some(action) =
            actions.iter().find(|action| key_of(action.table, &item).as_ref() == Some(&action.key))
        {
            report.returned.push(key_texts(action.table, &item));
        }
    }
    Ok(())
}
