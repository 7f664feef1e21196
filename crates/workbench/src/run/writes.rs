//! Executes writes: single writes, transactions and batches. The data is restored afterwards, so that
//! patterns do not depend on their order.

use keywright_semantics::capacity::{HalfUnits, TableUsage, Usage, WriteMode, write_units};
use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::response::Response;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;

use super::action::Action;
use super::database::{Database, UNEXPECTED, key_texts};
use super::expect::{complaints, outcome};
use super::making::actions;
use super::report::{CapacityOf, OperationKind, Outcome, PatternReport, add_capacity, blank};
use super::request_limits::too_large;
use super::requests::{self, operation};
use keywright_model::data::{Sample, key_of};
use keywright_model::expression::Section;
use keywright_model::value::{from_node, from_untyped_node};
use keywright_model::{Condition, FailsWhen, Model, Pattern, Write, WriteKind};

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
    let actions = match actions(database, model, samples, pattern) {
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
    let actions = actions(database, model, samples, pattern)?;
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
        circumstances(database, &before, fails)?;
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
        ErrorDetail::None | ErrorDetail::Item(_) | ErrorDetail::Throttling(_) | ErrorDetail::Denied(_) => {
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
            add_capacity(&mut report.capacity, output.consumed_capacity.map(|capacity| *capacity));
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
