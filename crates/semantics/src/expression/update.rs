//! Updates: parsed and bound. `apply` applies them to items.

use std::sync::Arc;

use super::fault::{Fault, SizeText, check_size};
use super::functions::Function;
use super::kept::{self, Language, Tree};
use super::path::{self, DocumentPath};
use super::placeholders::Placeholders;
use super::print::{CanonicalText, Printer};
use super::syntax::{
    Arithmetic, RawAction, RawCall, RawChange, RawOperand, RawPath, RawSetValue, RawStep, RawUpdate, Section,
};
use super::work::Work;
use super::{checks, parser, statement_size};
use crate::error::Error;
use crate::messages::expression as messages;
use crate::value::AttributeValue;

/// The language an update was written in. The two differ in error messages and in the types that ADD takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `UpdateExpression`.
    Expression,
    /// `AttributeUpdates`.
    Legacy,
}

/// An operand of SET with its placeholders replaced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetOperand {
    Path(DocumentPath),
    /// A value of the request, shared by all its uses.
    Value(Arc<AttributeValue>),
    IfNotExists(DocumentPath, Box<SetOperand>),
    ListAppend(Box<SetOperand>, Box<SetOperand>),
}

/// The right-hand side of a SET action.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SetValue {
    Operand(SetOperand),
    Arithmetic { operator: Arithmetic, left: SetOperand, right: SetOperand },
}

/// What an action does at its path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Set(SetValue),
    Remove,
    /// A number or a set; in the legacy dialect also a list.
    Add(Arc<AttributeValue>),
    /// A set.
    Delete(Arc<AttributeValue>),
}

impl Change {
    const fn section(&self) -> Section {
        match self {
            Self::Set(_) => Section::Set,
            Self::Remove => Section::Remove,
            Self::Add(_) => Section::Add,
            Self::Delete(_) => Section::Delete,
        }
    }

    /// The number of operands that the change reads.
    fn operands(&self) -> usize {
        match self {
            Self::Set(SetValue::Operand(operand)) => operand.count(),
            Self::Set(SetValue::Arithmetic { left, right, .. }) => left.count() + right.count(),
            Self::Remove | Self::Add(_) | Self::Delete(_) => 0,
        }
    }
}

/// Decoding an item and encoding it again takes as long as so many walks over it.
const UPDATE_WALKS: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Action {
    pub(crate) path: DocumentPath,
    pub(crate) change: Change,
}

/// An update with every placeholder bound. Invariant: its paths neither overlap nor conflict; the actions of
/// one section stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    pub(crate) actions: Vec<Action>,
    pub(crate) dialect: Dialect,
}

impl Update {
    /// An update of these actions, if their paths neither overlap nor conflict.
    pub(crate) fn of(mut actions: Vec<Action>) -> Result<Self, Error> {
        path::check_distinct(actions.iter().map(|action| &action.path)).map_err(Fault::without_parameter)?;
        actions.sort_by_key(|action| action.change.section());
        Ok(Self { actions, dialect: Dialect::Expression })
    }

    /// The paths that the update changes, in the order written.
    pub fn targets(&self) -> Vec<&DocumentPath> {
        self.actions.iter().map(|action| &action.path).collect()
    }

    /// Every document path of the update, operands included.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        for action in &self.actions {
            paths.push(&action.path);
            match &action.change {
                Change::Set(SetValue::Operand(operand)) => operand.collect_paths(&mut paths),
                Change::Set(SetValue::Arithmetic { left, right, .. }) => {
                    left.collect_paths(&mut paths);
                    right.collect_paths(&mut paths);
                }
                Change::Remove | Change::Add(_) | Change::Delete(_) => {}
            }
        }
        paths
    }

    /// Whether the update changes this top-level attribute or a part of it.
    pub fn touches_attribute(&self, name: &str) -> bool {
        self.actions.iter().any(|action| action.path.attribute == name)
    }

    /// The attributes whose new type is known without the item, each with the type's name.
    pub fn known_types(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.actions.iter().filter(|action| !action.path.is_nested()).filter_map(|action| {
            let known = match &action.change {
                Change::Set(SetValue::Operand(SetOperand::Value(value))) | Change::Add(value) => {
                    value.type_name()
                }
                Change::Set(SetValue::Arithmetic { .. }) => "N",
                Change::Set(SetValue::Operand(_)) | Change::Remove | Change::Delete(_) => return None,
            };
            Some((action.path.attribute.as_str(), known))
        })
    }

    /// The attributes that are set to a value of the request.
    pub fn known_values(&self) -> impl Iterator<Item = (&str, &AttributeValue)> {
        self.actions.iter().filter(|action| !action.path.is_nested()).filter_map(|action| {
            match &action.change {
                Change::Set(SetValue::Operand(SetOperand::Value(value))) => {
                    Some((action.path.attribute.as_str(), value.as_ref()))
                }
                Change::Set(_) | Change::Remove | Change::Add(_) | Change::Delete(_) => None,
            }
        })
    }

    /// The work of applying the update once.
    pub fn work(&self) -> Work {
        let operands: usize = self.actions.iter().map(|action| 1 + action.change.operands()).sum();
        Work::walks(UPDATE_WALKS.saturating_add(operands))
    }

    /// Whether the update creates a missing item. An update that only removes does not (observed).
    pub fn creates_item(&self) -> bool {
        self.actions.is_empty()
            || self.actions.iter().any(|action| matches!(action.change, Change::Set(_) | Change::Add(_)))
    }

    /// The statement's own size in bytes, without any item. `UpdateItem` limits the larger of this size and
    /// the new item's size. Transactions ignore it, and the legacy `AttributeUpdates` have none (observed).
    pub fn statement_bytes(&self) -> usize {
        match self.dialect {
            Dialect::Expression => statement_size::of_update(&self.actions),
            Dialect::Legacy => 0,
        }
    }

    /// The canonical text, with the placeholders it needs.
    pub fn canonical(&self) -> CanonicalText {
        let mut printer = Printer::default();
        let mut section = None;
        for action in &self.actions {
            if section == Some(action.change.section()) {
                printer.text(", ");
            } else {
                printer.text(if section.is_some() { " " } else { "" });
                printer.text(action.change.section().name());
                printer.text(" ");
                section = Some(action.change.section());
            }
            action.print(&mut printer);
        }
        printer.finish()
    }
}

impl Action {
    fn print(&self, printer: &mut Printer) {
        printer.path(&self.path);
        match &self.change {
            Change::Remove => {}
            Change::Add(value) | Change::Delete(value) => {
                printer.text(" ");
                printer.value(AttributeValue::clone(value));
            }
            Change::Set(SetValue::Operand(operand)) => {
                printer.text(" = ");
                operand.print(printer);
            }
            Change::Set(SetValue::Arithmetic { operator, left, right }) => {
                printer.text(" = ");
                left.print(printer);
                printer.text(&format!(" {} ", operator.symbol()));
                right.print(printer);
            }
        }
    }
}

impl SetOperand {
    fn count(&self) -> usize {
        match self {
            Self::Path(_) | Self::Value(_) => 1,
            Self::IfNotExists(_, otherwise) => 1 + otherwise.count(),
            Self::ListAppend(first, second) => first.count() + second.count(),
        }
    }

    fn collect_paths<'p>(&'p self, paths: &mut Vec<&'p DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::IfNotExists(path, otherwise) => {
                paths.push(path);
                otherwise.collect_paths(paths);
            }
            Self::ListAppend(first, second) => {
                first.collect_paths(paths);
                second.collect_paths(paths);
            }
        }
    }

    fn print(&self, printer: &mut Printer) {
        match self {
            Self::Path(path) => printer.path(path),
            Self::Value(value) => printer.value(AttributeValue::clone(value)),
            Self::IfNotExists(path, otherwise) => {
                printer.text("if_not_exists(");
                printer.path(path);
                printer.text(", ");
                otherwise.print(printer);
                printer.text(")");
            }
            Self::ListAppend(first, second) => {
                printer.text("list_append(");
                first.print(printer);
                printer.text(", ");
                second.print(printer);
                printer.text(")");
            }
        }
    }
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for Update {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.canonical().text)
    }
}

/// Parses an `UpdateExpression` and binds its placeholders.
pub fn parse_update(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Update, Error> {
    parse(text, placeholders).map_err(|fault| fault.in_parameter("UpdateExpression"))
}

/// Reads an update's syntax only: reserved words may be names, and placeholders need no definition. The error
/// names no parameter.
pub fn read_update(text: &str) -> Result<RawUpdate<'_>, Error> {
    parser::update(text).map_err(Fault::without_parameter)
}

/// Checks in the service's order (observed): the first pass; names and overlaps of the targets; names in all
/// actions from the last to the first; values and types, again from the last to the first.
fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Update, Fault> {
    if let Some(tree) = kept::find(Language::Update, text)
        && let Tree::Update(raw) = &*tree
    {
        return bind(raw, placeholders);
    }
    check_size(text, SizeText::Plain)?;
    let raw = parser::update(text)?;
    checks::check_update(&raw)?;
    let update = bind(&raw, placeholders)?;
    kept::keep(Language::Update, text, || Tree::Update(raw.into_owned()));
    Ok(update)
}

fn bind(raw: &RawUpdate<'_>, placeholders: &mut Placeholders<'_>) -> Result<Update, Fault> {
    let raw_actions: Vec<&RawAction<'_>> = raw.sections.iter().flat_map(|(_, actions)| actions).collect();
    let targets = raw_actions
        .iter()
        .map(|action| DocumentPath::bind(&action.path, placeholders))
        .collect::<Result<Vec<_>, _>>()?;
    path::check_distinct(&targets)?;
    for action in raw_actions.iter().rev() {
        check_names(&action.change, placeholders)?;
    }
    let mut actions = Vec::with_capacity(targets.len());
    for (action, path) in raw_actions.iter().zip(targets).rev() {
        actions.push(Action { path, change: bind_change(&action.change, placeholders)? });
    }
    actions.reverse();
    assert_eq!(actions.len(), raw_actions.len(), "every action has its target");
    Ok(Update { actions, dialect: Dialect::Expression })
}

fn check_names(change: &RawChange<'_>, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    match change {
        RawChange::Set(RawSetValue::Operand(operand)) => check_operand_names(operand, placeholders),
        RawChange::Set(RawSetValue::Arithmetic { left, right, .. }) => {
            check_operand_names(left, placeholders)?;
            check_operand_names(right, placeholders)
        }
        RawChange::Remove | RawChange::Add(_) | RawChange::Delete(_) => Ok(()),
    }
}

fn check_operand_names(operand: &RawOperand<'_>, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    match operand {
        RawOperand::Path(path) => check_path_names(path, placeholders),
        RawOperand::Value(_) => Ok(()),
        RawOperand::Call(call) => {
            call.arguments.iter().try_for_each(|argument| check_operand_names(argument, placeholders))
        }
    }
}

fn check_path_names(path: &RawPath<'_>, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    path.steps().try_for_each(|step| match step {
        RawStep::Placeholder(placeholder) => placeholders.name(placeholder).map(drop),
        RawStep::Name(_) | RawStep::Index(_) => Ok(()),
    })
}

fn bind_change(change: &RawChange<'_>, placeholders: &mut Placeholders<'_>) -> Result<Change, Fault> {
    match change {
        RawChange::Remove => Ok(Change::Remove),
        RawChange::Add(placeholder) => {
            let value = placeholders.value_copy(placeholder)?;
            check_section_type(Section::Add, &value, &["N", "SS", "NS", "BS"])?;
            Ok(Change::Add(value))
        }
        RawChange::Delete(placeholder) => {
            let value = placeholders.value_copy(placeholder)?;
            check_section_type(Section::Delete, &value, &["SS", "NS", "BS"])?;
            Ok(Change::Delete(value))
        }
        RawChange::Set(RawSetValue::Operand(operand)) => {
            check_values(operand, placeholders)?;
            Ok(Change::Set(SetValue::Operand(bind_operand(operand, placeholders)?)))
        }
        RawChange::Set(RawSetValue::Arithmetic { operator, left, right }) => {
            check_values(left, placeholders)?;
            check_values(right, placeholders)?;
            let left = bind_operand(left, placeholders)?;
            let right = bind_operand(right, placeholders)?;
            check_literal_type(operator.symbol(), &left, "N")?;
            check_literal_type(operator.symbol(), &right, "N")?;
            Ok(Change::Set(SetValue::Arithmetic { operator: *operator, left, right }))
        }
    }
}

fn check_section_type(section: Section, value: &AttributeValue, allowed: &[&str]) -> Result<(), Fault> {
    if allowed.contains(&value.type_name()) {
        return Ok(());
    }
    Err(Fault::new(messages::section_operand_type(section.name(), long_type_name(value))))
}

/// Every value of an operand must be defined before its functions are looked at (observed).
fn check_values(operand: &RawOperand<'_>, placeholders: &mut Placeholders<'_>) -> Result<(), Fault> {
    match operand {
        RawOperand::Path(_) => Ok(()),
        RawOperand::Value(placeholder) => placeholders.value(placeholder).map(drop),
        RawOperand::Call(call) => {
            call.arguments.iter().try_for_each(|argument| check_values(argument, placeholders))
        }
    }
}

fn bind_operand(operand: &RawOperand<'_>, placeholders: &mut Placeholders<'_>) -> Result<SetOperand, Fault> {
    match operand {
        RawOperand::Path(path) => DocumentPath::bind(path, placeholders).map(SetOperand::Path),
        RawOperand::Value(placeholder) => placeholders.value_copy(placeholder).map(SetOperand::Value),
        RawOperand::Call(call) => bind_call(call, placeholders),
    }
}

fn bind_call(call: &RawCall<'_>, placeholders: &mut Placeholders<'_>) -> Result<SetOperand, Fault> {
    let [first, second] = call.arguments.as_slice() else {
        return Err(Fault::new(messages::operand_count(&call.name, call.arguments.len())));
    };
    let first = bind_operand(first, placeholders)?;
    let second = bind_operand(second, placeholders)?;
    if Function::from_name(&call.name) == Some(Function::ListAppend) {
        check_literal_type(&call.name, &first, "L")?;
        check_literal_type(&call.name, &second, "L")?;
        return Ok(SetOperand::ListAppend(Box::new(first), Box::new(second)));
    }
    match (first, second) {
        (SetOperand::Path(path), SetOperand::Path(other)) if path == other => {
            Err(Fault::new(messages::operands_not_distinct(&call.name, &path)))
        }
        (SetOperand::Path(path), otherwise) => Ok(SetOperand::IfNotExists(path, Box::new(otherwise))),
        _ => Err(Fault::new(messages::operand_not_a_path(&call.name))),
    }
}

fn check_literal_type(operator: &str, operand: &SetOperand, wanted: &str) -> Result<(), Fault> {
    match operand {
        SetOperand::Value(value) if value.type_name() != wanted => {
            Err(Fault::new(messages::operand_type(operator, value.type_name())))
        }
        _ => Ok(()),
    }
}

/// The long type names that some texts have (observed).
fn long_type_name(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "STRING",
        AttributeValue::N(_) => "NUMBER",
        AttributeValue::B(_) => "BINARY",
        AttributeValue::Bool(_) => "BOOLEAN",
        AttributeValue::Null => "NULL",
        AttributeValue::L(_) => "LIST",
        AttributeValue::M(_) => "MAP",
        AttributeValue::Ss(_) => "STRING_SET",
        AttributeValue::Ns(_) => "NUMBER_SET",
        AttributeValue::Bs(_) => "BINARY_SET",
    }
}
