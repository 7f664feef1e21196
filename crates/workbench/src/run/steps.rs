//! Executes changes: single writes, transactions and batches. The data is put back as it was afterwards, so that patterns
//! do not depend on their order.

use keywright_semantics::error::{Error, ErrorDetail};
use keywright_semantics::request::parts::{
    BatchGetItemParts, BatchWriteItemParts, DeleteItemParts, DeleteRequestParts, KeysAndAttributesParts,
    PutItemParts, PutRequestParts, ReturnConsumedCapacity, TransactConditionCheckParts, TransactDeleteParts,
    TransactGetItemParts, TransactGetItemsParts, TransactGetParts, TransactPutParts, TransactUpdateParts,
    TransactWriteItemParts, TransactWriteItemsParts, UpdateItemParts, ValuePart, WriteRequestParts,
};
use keywright_semantics::request::{
    BatchGetItem, BatchWriteItem, DeleteItem, PutItem, Request, TransactGetItems, TransactWriteItems,
    UpdateItem,
};
use keywright_semantics::response::Response;
use keywright_semantics::value::Item;

use super::database::{Database, key_texts, parts_of};
use super::example::placeholder;
use super::execute::{UNEXPECTED, add_capacity, blank, table_of};
use super::expect::{complaints, outcome};
use super::names::Expression;
use super::report::{OperationKind, Outcome, PatternReport};
use crate::data::{Sample, complete, from_node, from_untyped_node, generate_record, key_of, pad};
use crate::model::{
    Condition, Consistency, Entity, FailsWhen, Model, Node, Operation, Pattern, Table, Write, WriteKind,
};

/// Tries at finding a key that no other action of the pattern has.
const TRIES_MAX: u64 = 50;

/// One item's part of a change.
struct Action<'a> {
    step: usize,
    kind: WriteKind,
    consistency: Consistency,
    table: &'a Table,
    entity: &'a Entity,
    key: Item,
    item: Item,
    condition: Option<String>,
    update: String,
    expression: Expression,
    values: Vec<(String, ValuePart)>,
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
    let made = Maker { model, samples, pattern }.actions();
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

/// Runs the change, under the expectation's circumstances as well, and puts everything back.
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
    let fails = pattern.expect.as_ref().and_then(|expect| expect.fails.as_ref());
    let mut found = Vec::new();
    // What must fail on the data as it is, is not tried without failing.
    if fails.is_none_or(|fails| !fails.when.is_empty()) {
        let answer = send(database, pattern, actions, report);
        restore()?;
        answer.map_err(|fault| format!("{:?}: {}", fault.kind, fault.message))?;
    }
    if let Some(fails) = fails {
        circumstances(database, actions, &before, fails)?;
        let answer = send(database, pattern, actions, &mut blank(pattern));
        restore()?;
        found.extend(failure(pattern, actions, fails, answer.err().as_ref()));
    }
    let Some(expect) = &pattern.expect else { return Ok(Outcome::Ran) };
    found.extend(complaints(expect, report));
    Ok(outcome(found))
}

/// Changes the items under the actions as the expectation says.
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

/// How the failure differs from the one expected.
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
        ErrorDetail::None | ErrorDetail::Item(_) => codes = vec![format!("{:?}", fault.kind)],
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

struct Maker<'a> {
    model: &'a Model,
    samples: &'a [Sample],
    pattern: &'a Pattern,
}

impl<'a> Maker<'a> {
    fn actions(&self) -> Result<Vec<Action<'a>>, String> {
        let mut actions: Vec<Action<'a>> = Vec::new();
        for (place, step) in self.pattern.steps().iter().enumerate() {
            for nth in 0..step.n {
                let action = self.action(place, step, nth, &actions)?;
                actions.push(action);
            }
        }
        Ok(actions)
    }

    fn action(
        &self,
        place: usize,
        step: &Write,
        nth: u64,
        earlier: &[Action<'a>],
    ) -> Result<Action<'a>, String> {
        let entity = self.model.entity(&step.entity).ok_or("no entity")?;
        let table = table_of(self.model, &step.entity)?;
        let example = self.example(step, nth);
        let item = if step.kind == WriteKind::Put {
            self.new_item(entity, table, &example, nth, earlier)?
        } else {
            self.existing(entity, &example, nth)?
        };
        let key = key_of(table, &item).ok_or_else(|| format!("`{}` has no whole key", entity.name))?;
        let mut action = Action {
            step: place,
            kind: step.kind,
            consistency: step.consistency,
            table,
            entity,
            key,
            item,
            condition: None,
            update: String::new(),
            expression: Expression::default(),
            values: Vec::new(),
        };
        action.express(step, &example)?;
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

    /// An item to put: the example's values, those of a parent that is put with it, the rest made up; its key is no other
    /// action's.
    fn new_item(
        &self,
        entity: &Entity,
        table: &Table,
        example: &[(String, Node)],
        nth: u64,
        earlier: &[Action<'a>],
    ) -> Result<Item, String> {
        let given = Self::given(entity, example)?;
        let mut inherited = Item::new();
        for action in earlier.iter().filter(|action| entity.parents.contains(&action.entity.name)) {
            let names = action.entity.key.templates.iter().flat_map(|(_, template)| template.attributes());
            for name in names {
                if let Some(value) = action.item.get(name).filter(|_| entity.attribute(name).is_some()) {
                    inherited.insert(name.to_owned(), value.clone());
                }
            }
        }
        for attempt in 0..TRIES_MAX {
            let mut item = generate_record(self.model, entity, self.samples, nth + attempt);
            item.extend(inherited.clone());
            // A second item with all the example's values would have the first one's key.
            let varied = |name: &str| attempt > 0 && !inherited.contains_key(name) && attempt < TRIES_MAX;
            let keys: Vec<&str> =
                entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
            item.extend(
                given
                    .iter()
                    .filter(|(name, _)| !(varied(name) && keys.contains(&name.as_str())))
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            if attempt > 0 && attempt + 1 < TRIES_MAX / 2 {
                // First other references, then new values.
            } else if attempt > 0 {
                Self::renew(entity, &inherited, &mut item, nth + attempt);
            }
            let item =
                complete(self.model, entity, item).map_err(|fault| format!("`{}`: {fault}", entity.name))?;
            let key = key_of(table, &item);
            let taken = earlier
                .iter()
                .any(|action| action.table.name == table.name && Some(&action.key) == key.as_ref());
            if !taken {
                return Ok(pad(self.model, entity, item));
            }
        }
        Err(format!("two puts of `{}` have one key: write an `example` for each", entity.name))
    }

    /// New texts for the attributes of the key that no parent gives.
    fn renew(entity: &Entity, inherited: &Item, item: &mut Item, place: u64) {
        let names = entity.key.templates.iter().flat_map(|(_, template)| template.attributes());
        for name in names.filter(|name| !inherited.contains_key(*name)) {
            if let Some(keywright_semantics::value::AttributeValue::S(text)) = item.get_mut(name) {
                *text = format!("{text}-{place}");
            }
        }
    }

    /// The item that a change is about: the one the example describes, or the next of the sample.
    fn existing(&self, entity: &Entity, example: &[(String, Node)], nth: u64) -> Result<Item, String> {
        let given = Self::given(entity, example)?;
        let keys: Vec<&str> =
            entity.key.templates.iter().flat_map(|(_, template)| template.attributes()).collect();
        let fits = |sample: &&Sample| {
            sample.entity.as_deref() == Some(&entity.name)
                && keys
                    .iter()
                    .all(|key| given.get(*key).is_none_or(|value| sample.item.get(*key) == Some(value)))
        };
        let nth = usize::try_from(nth).unwrap_or(usize::MAX);
        if let Some(sample) = self.samples.iter().filter(fits).nth(nth) {
            return Ok(sample.item.clone());
        }
        complete(self.model, entity, given)
            .map_err(|fault| format!("no item of `{}` to work on: {fault}", entity.name))
    }
}

impl Action<'_> {
    /// Condition and update as expressions with placeholders, and their values.
    fn express(&mut self, step: &Write, example: &[(String, Node)]) -> Result<(), String> {
        let partition = self.table.partition.name.clone();
        self.condition = match &step.condition {
            None => None,
            Some(Condition::NotExists) => {
                let name = self.expression.name(&partition);
                Some(format!("attribute_not_exists({name})"))
            }
            Some(Condition::Exists) => {
                let name = self.expression.name(&partition);
                Some(format!("attribute_exists({name})"))
            }
            Some(Condition::Expression(text)) => Some(self.join(text, example)?),
        };
        let mut update = Vec::new();
        for (clause, text) in [("SET", &step.set), ("REMOVE", &step.remove), ("ADD", &step.add)] {
            if let Some(text) = text {
                update.push(format!("{clause} {}", self.join(text, example)?));
            }
        }
        self.update = update.join(" ");
        if self.kind == WriteKind::Update && self.update.is_empty() {
            return Err("an update changes something: write `set: \"attribute = :value\"`".to_owned());
        }
        Ok(())
    }

    fn join(&mut self, text: &str, example: &[(String, Node)]) -> Result<String, String> {
        let joined = self.expression.join(text);
        for name in Expression::of(text).values {
            let placeholder_name = format!(":{name}");
            if self.values.iter().any(|(known, _)| *known == placeholder_name) {
                continue;
            }
            let value = placeholder(&[self.entity], text, &name, example, Some(&self.item))?;
            self.values.push((placeholder_name, Ok(value)));
        }
        Ok(joined)
    }

    fn names(&self) -> Option<Vec<(String, String)>> {
        self.expression.some_names()
    }

    fn some_values(&self) -> Option<Vec<(String, ValuePart)>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

const METERED: Option<ReturnConsumedCapacity> = Some(ReturnConsumedCapacity::Indexes);

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
    let request = match request {
        OperationKind::TransactWriteItems => transact_write(actions)?,
        OperationKind::TransactGetItems => transact_get(actions)?,
        OperationKind::BatchWriteItem => batch_write(actions)?,
        OperationKind::BatchGetItem => batch_get(actions)?,
        _ => single(actions)?,
    };
    let answer = database.execute(request)?;
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

fn single(actions: &[Action<'_>]) -> Result<Request, Error> {
    let [action] = actions else {
        return Err(Error::validation("a single write is one item: write a `batch` or a `transact`"));
    };
    let table_name = action.table.name.clone();
    let (condition_expression, names, values) =
        (action.condition.clone(), action.names(), action.some_values());
    match action.kind {
        WriteKind::Put => PutItem::sense(PutItemParts {
            table_name,
            item: parts_of(&action.item),
            condition_expression,
            expression_attribute_names: names,
            expression_attribute_values: values,
            return_consumed_capacity: METERED,
            ..PutItemParts::default()
        })
        .map(Request::PutItem),
        WriteKind::Update => UpdateItem::sense(UpdateItemParts {
            table_name,
            key: parts_of(&action.key),
            update_expression: Some(action.update.clone()),
            condition_expression,
            expression_attribute_names: names,
            expression_attribute_values: values,
            return_consumed_capacity: METERED,
            ..UpdateItemParts::default()
        })
        .map(|request| Request::UpdateItem(Box::new(request))),
        WriteKind::Delete => DeleteItem::sense(DeleteItemParts {
            table_name,
            key: parts_of(&action.key),
            condition_expression,
            expression_attribute_names: names,
            expression_attribute_values: values,
            return_consumed_capacity: METERED,
            ..DeleteItemParts::default()
        })
        .map(Request::DeleteItem),
        WriteKind::Check | WriteKind::Get => {
            Err(Error::validation("a check or a get stands in a `transact` or a `batch`"))
        }
    }
}

fn transact_write(actions: &[Action<'_>]) -> Result<Request, Error> {
    let transact_items = actions.iter().map(transact_item).collect::<Result<Vec<_>, _>>()?;
    let parts = TransactWriteItemsParts {
        transact_items,
        return_consumed_capacity: METERED,
        return_item_collection_metrics: None,
        client_request_token: None,
    };
    TransactWriteItems::sense(parts).map(Request::TransactWriteItems)
}

fn transact_item(action: &Action<'_>) -> Result<TransactWriteItemParts, Error> {
    let table_name = action.table.name.clone();
    let (condition_expression, names, values) =
        (action.condition.clone(), action.names(), action.some_values());
    let key = parts_of(&action.key);
    let none = TransactWriteItemParts { condition_check: None, put: None, delete: None, update: None };
    Ok(match action.kind {
        WriteKind::Put => TransactWriteItemParts {
            put: Some(TransactPutParts {
                item: parts_of(&action.item),
                table_name,
                condition_expression,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values_on_condition_check_failure: None,
            }),
            ..none
        },
        WriteKind::Update => TransactWriteItemParts {
            update: Some(TransactUpdateParts {
                key,
                update_expression: action.update.clone(),
                table_name,
                condition_expression,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values_on_condition_check_failure: None,
            }),
            ..none
        },
        WriteKind::Delete => TransactWriteItemParts {
            delete: Some(TransactDeleteParts {
                key,
                table_name,
                condition_expression,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values_on_condition_check_failure: None,
            }),
            ..none
        },
        WriteKind::Check => TransactWriteItemParts {
            condition_check: Some(TransactConditionCheckParts {
                key,
                table_name,
                condition_expression: condition_expression
                    .ok_or_else(|| Error::validation("a check has a condition: write `if: exists`"))?,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values_on_condition_check_failure: None,
            }),
            ..none
        },
        WriteKind::Get => return Err(Error::validation("a transaction is writes and checks, or gets")),
    })
}

fn transact_get(actions: &[Action<'_>]) -> Result<Request, Error> {
    let get = |action: &Action<'_>| TransactGetItemParts {
        get: TransactGetParts {
            key: parts_of(&action.key),
            table_name: action.table.name.clone(),
            projection_expression: None,
            expression_attribute_names: None,
        },
    };
    let parts = TransactGetItemsParts {
        transact_items: actions.iter().map(get).collect(),
        return_consumed_capacity: METERED,
    };
    TransactGetItems::sense(parts).map(Request::TransactGetItems)
}

fn batch_write(actions: &[Action<'_>]) -> Result<Request, Error> {
    let mut request_items: Vec<(String, Vec<WriteRequestParts>)> = Vec::new();
    for action in actions {
        let write = match action.kind {
            WriteKind::Put => WriteRequestParts {
                put_request: Some(PutRequestParts { item: parts_of(&action.item) }),
                delete_request: None,
            },
            WriteKind::Delete => WriteRequestParts {
                put_request: None,
                delete_request: Some(DeleteRequestParts { key: parts_of(&action.key) }),
            },
            WriteKind::Update | WriteKind::Check | WriteKind::Get => {
                return Err(Error::validation("a batch is puts and deletes, or gets"));
            }
        };
        match request_items.iter_mut().find(|(table, _)| *table == action.table.name) {
            Some((_, writes)) => writes.push(write),
            None => request_items.push((action.table.name.clone(), vec![write])),
        }
    }
    let parts = BatchWriteItemParts {
        request_items,
        return_consumed_capacity: METERED,
        return_item_collection_metrics: None,
    };
    BatchWriteItem::sense(parts).map(Request::BatchWriteItem)
}

fn batch_get(actions: &[Action<'_>]) -> Result<Request, Error> {
    let mut request_items: Vec<(String, KeysAndAttributesParts)> = Vec::new();
    for action in actions {
        let key = parts_of(&action.key);
        match request_items.iter_mut().find(|(table, _)| *table == action.table.name) {
            Some((_, wanted)) => wanted.keys.push(key),
            None => request_items.push((
                action.table.name.clone(),
                KeysAndAttributesParts {
                    keys: vec![key],
                    consistent_read: (action.consistency == Consistency::Strong).then_some(true),
                    ..KeysAndAttributesParts::default()
                },
            )),
        }
    }
    let parts = BatchGetItemParts { request_items, return_consumed_capacity: METERED };
    BatchGetItem::sense(parts).map(Request::BatchGetItem)
}
