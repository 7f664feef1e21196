//! Conditions and filters: parsed, bound and evaluated on an item's stored form.

use super::bind;
use super::evaluate;
use super::fault::{Fault, SizeText, check_size};
use super::kept::{self, Language, Tree};
use super::lexer::Comparator;
use super::path::{self, DocumentPath};
use super::placeholders::Placeholders;
use super::print::{CanonicalText, Printer};
use super::syntax::RawCondition;
use super::work::Work;
use super::{checks, parser};
use crate::codec::{EncodedValue, MapRef, ValueRef};
use crate::error::Error;

/// The parameter that carries a condition; error messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// `ConditionExpression`.
    Condition,
    /// `FilterExpression`.
    Filter,
    /// `KeyConditionExpression`. [`super::KeyCondition::from_condition`] checks its further rules.
    Key,
}

impl ConditionKind {
    pub(super) const fn parameter(self) -> &'static str {
        match self {
            Self::Condition => "ConditionExpression",
            Self::Filter => "FilterExpression",
            Self::Key => "KeyConditionExpression",
        }
    }
}

/// An operand with its placeholders replaced.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Path(DocumentPath),
    /// A value of the request, encoded once so that it can be compared with stored values.
    Value(EncodedValue),
    /// `size(…)` of a path or value.
    Size(Box<Operand>),
}

/// Steps that reading a value of the request takes at least.
const COMPARISON_STEPS: usize = 16;

impl Operand {
    fn resolve<'v>(&'v self, item: Option<MapRef<'v>>) -> Option<ValueRef<'v>> {
        match self {
            Self::Path(path) => path.find(item?),
            Self::Value(value) => Some(value.view()),
            Self::Size(inner) => evaluate::size(inner.resolve(item)).map(ValueRef::N),
        }
    }

    fn work(&self) -> Work {
        match self {
            Self::Path(_) => Work::walks(1),
            Self::Value(value) => Work::bytes(value.as_bytes().len().max(COMPARISON_STEPS)),
            Self::Size(inner) => inner.work(),
        }
    }

    fn collect_paths<'p>(&'p self, paths: &mut Vec<&'p DocumentPath>) {
        match self {
            Self::Path(path) => paths.push(path),
            Self::Value(_) => {}
            Self::Size(inner) => inner.collect_paths(paths),
        }
    }

    fn print(&self, printer: &mut Printer) {
        match self {
            Self::Path(path) => printer.path(path),
            Self::Value(value) => printer.value(value.view().to_value()),
            Self::Size(inner) => {
                printer.text("size(");
                inner.print(printer);
                printer.text(")");
            }
        }
    }
}

/// A condition as a tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Compare {
        comparator: Comparator,
        left: Operand,
        right: Operand,
    },
    Between {
        subject: Operand,
        lower: Operand,
        upper: Operand,
    },
    In {
        subject: Operand,
        list: Vec<Operand>,
    },
    Exists(DocumentPath),
    NotExists(DocumentPath),
    /// The second operand is the name of a type.
    HasType(Operand, EncodedValue),
    BeginsWith(Operand, Operand),
    Contains(Operand, Operand),
}

/// A condition with every placeholder bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub(crate) root: Expr,
}

impl Condition {
    /// Whether the item has this top-level attribute.
    pub fn attribute_exists(name: &str) -> Self {
        Self { root: Expr::Exists(DocumentPath::top_level(name)) }
    }

    /// Whether the item lacks this top-level attribute.
    pub fn attribute_not_exists(name: &str) -> Self {
        Self { root: Expr::NotExists(DocumentPath::top_level(name)) }
    }

    /// Whether both hold.
    #[must_use]
    pub fn and(self, other: Option<Self>) -> Self {
        match other {
            None => self,
            Some(other) => Self { root: Expr::And(Box::new(self.root), Box::new(other.root)) },
        }
    }

    /// Whether one of the two holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { root: Expr::Or(Box::new(self.root), Box::new(other.root)) }
    }

    /// Whether the condition holds; a missing item has no attributes.
    pub fn evaluate(&self, item: Option<MapRef<'_>>) -> bool {
        self.root.holds(item)
    }

    /// The work of evaluating the condition once.
    pub fn work(&self) -> Work {
        self.root.work()
    }

    /// Every document path of the condition, in the order written.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        self.root.paths()
    }

    /// The top-level attributes of the condition, each once, in the order written.
    pub fn attributes(&self) -> Vec<&str> {
        path::distinct_attributes(self.paths())
    }

    /// The canonical text, with the placeholders it needs.
    pub fn canonical(&self) -> CanonicalText {
        let mut printer = Printer::default();
        self.root.print(&mut printer);
        printer.finish()
    }
}

impl Expr {
    fn holds(&self, item: Option<MapRef<'_>>) -> bool {
        match self {
            Self::And(left, right) => left.holds(item) && right.holds(item),
            Self::Or(left, right) => left.holds(item) || right.holds(item),
            Self::Not(inner) => !inner.holds(item),
            Self::Compare { comparator, left, right } => {
                evaluate::compare(*comparator, left.resolve(item), right.resolve(item))
            }
            Self::Between { subject, lower, upper } => {
                evaluate::between(subject.resolve(item), lower.resolve(item), upper.resolve(item))
            }
            Self::In { subject, list } => {
                let subject = subject.resolve(item);
                list.iter().any(|candidate| evaluate::equal(subject, candidate.resolve(item)))
            }
            Self::Exists(path) => item.is_some_and(|item| path.find(item).is_some()),
            Self::NotExists(path) => item.is_none_or(|item| path.find(item).is_none()),
            Self::HasType(operand, wanted) => {
                operand.resolve(item).is_some_and(|value| wanted.view() == ValueRef::S(value.type_name()))
            }
            Self::BeginsWith(subject, prefix) => {
                evaluate::begins_with(subject.resolve(item), prefix.resolve(item))
            }
            Self::Contains(container, part) => {
                evaluate::contains(container.resolve(item), part.resolve(item))
            }
        }
    }

    fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::And(..) | Self::Or(..) | Self::Not(_) | Self::Exists(_) | Self::NotExists(_) => Vec::new(),
            Self::Compare { left, right, .. } => vec![left, right],
            Self::Between { subject, lower, upper } => vec![subject, lower, upper],
            Self::In { subject, list } => std::iter::once(subject).chain(list).collect(),
            Self::HasType(operand, _) => vec![operand],
            Self::BeginsWith(first, second) | Self::Contains(first, second) => vec![first, second],
        }
    }

    /// Every document path of the expression, in the order written.
    pub(crate) fn paths(&self) -> Vec<&DocumentPath> {
        let mut paths = Vec::new();
        self.collect_paths(&mut paths);
        paths
    }

    fn work(&self) -> Work {
        match self {
            Self::And(left, right) | Self::Or(left, right) => left.work().and(right.work()),
            Self::Not(inner) => inner.work(),
            Self::Exists(_) | Self::NotExists(_) => Work::walks(1),
            _ => self.operands().into_iter().map(Operand::work).fold(Work::walks(1), Work::and),
        }
    }

    /// The number of operators and functions.
    pub(crate) fn operators(&self) -> usize {
        match self {
            Self::And(left, right) | Self::Or(left, right) => 1 + left.operators() + right.operators(),
            Self::Not(inner) => 1 + inner.operators(),
            _ => 1,
        }
    }

    fn collect_paths<'p>(&'p self, paths: &mut Vec<&'p DocumentPath>) {
        match self {
            Self::And(left, right) | Self::Or(left, right) => {
                left.collect_paths(paths);
                right.collect_paths(paths);
            }
            Self::Not(inner) => inner.collect_paths(paths),
            Self::Exists(path) | Self::NotExists(path) => paths.push(path),
            _ => self.operands().into_iter().for_each(|operand| operand.collect_paths(paths)),
        }
    }

    /// The precedence: an operand of lower precedence needs parentheses.
    const fn tightness(&self) -> u8 {
        match self {
            Self::Or(..) => 0,
            Self::And(..) => 1,
            Self::Not(_) => 2,
            _ => 3,
        }
    }

    fn print(&self, printer: &mut Printer) {
        match self {
            Self::And(left, right) => print_both(printer, left, " AND ", right, self.tightness()),
            Self::Or(left, right) => print_both(printer, left, " OR ", right, self.tightness()),
            Self::Not(inner) => {
                printer.text("NOT ");
                inner.print_within(printer, self.tightness());
            }
            Self::Compare { comparator, left, right } => {
                left.print(printer);
                printer.text(&format!(" {} ", comparator.symbol()));
                right.print(printer);
            }
            Self::Between { subject, lower, upper } => {
                subject.print(printer);
                printer.text(" BETWEEN ");
                lower.print(printer);
                printer.text(" AND ");
                upper.print(printer);
            }
            Self::In { subject, list } => {
                subject.print(printer);
                printer.text(" IN ");
                print_list(printer, list);
            }
            Self::Exists(path) => print_path_call(printer, "attribute_exists(", path),
            Self::NotExists(path) => print_path_call(printer, "attribute_not_exists(", path),
            Self::HasType(operand, wanted) => {
                printer.text("attribute_type(");
                operand.print(printer);
                printer.text(", ");
                printer.value(wanted.view().to_value());
                printer.text(")");
            }
            Self::BeginsWith(first, second) => print_call(printer, "begins_with", first, second),
            Self::Contains(first, second) => print_call(printer, "contains", first, second),
        }
    }

    fn print_within(&self, printer: &mut Printer, tightness: u8) {
        if self.tightness() >= tightness {
            return self.print(printer);
        }
        printer.text("(");
        self.print(printer);
        printer.text(")");
    }
}

/// Chains read from left to right, so only the right side needs parentheses around its own kind.
fn print_both(printer: &mut Printer, left: &Expr, operator: &str, right: &Expr, tightness: u8) {
    left.print_within(printer, tightness);
    printer.text(operator);
    right.print_within(printer, tightness + 1);
}

fn print_list(printer: &mut Printer, operands: &[Operand]) {
    for (position, operand) in operands.iter().enumerate() {
        printer.text(if position == 0 { "(" } else { ", " });
        operand.print(printer);
    }
    printer.text(")");
}

fn print_call(printer: &mut Printer, name: &str, first: &Operand, second: &Operand) {
    printer.text(name);
    printer.text("(");
    first.print(printer);
    printer.text(", ");
    second.print(printer);
    printer.text(")");
}

fn print_path_call(printer: &mut Printer, opening: &str, path: &DocumentPath) {
    printer.text(opening);
    printer.path(path);
    printer.text(")");
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for Condition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.canonical().text)
    }
}

/// Reads a condition's syntax only: reserved words may be names, and placeholders need no definition. The
/// error names no parameter.
pub fn read_condition(text: &str) -> Result<RawCondition<'_>, Error> {
    parser::condition(text).map_err(Fault::without_parameter)
}

/// Parses a `ConditionExpression`, `FilterExpression` or `KeyConditionExpression` and binds its placeholders.
pub fn parse_condition(
    text: &str,
    kind: ConditionKind,
    placeholders: &mut Placeholders<'_>,
) -> Result<Condition, Error> {
    parse(text, kind, placeholders).map_err(|fault| fault.in_parameter(kind.parameter()))
}

fn parse(text: &str, kind: ConditionKind, placeholders: &mut Placeholders<'_>) -> Result<Condition, Fault> {
    if let Some(tree) = kept::find(Language::Condition, text)
        && let Tree::Condition(raw) = &*tree
    {
        return Ok(Condition { root: bind::condition(raw, placeholders)? });
    }
    parse_anew(text, kind, placeholders)
}

/// Parses a condition of which no tree is kept.
pub(super) fn parse_anew(
    text: &str,
    kind: ConditionKind,
    placeholders: &mut Placeholders<'_>,
) -> Result<Condition, Fault> {
    check_size(text, if kind == ConditionKind::Key { SizeText::Plain } else { SizeText::WithSize })?;
    let raw = parser::condition(text)?;
    checks::check_condition(&raw)?;
    let root = bind::condition(&raw, placeholders)?;
    kept::keep(Language::Condition, text, || Tree::Condition(raw.into_owned()));
    Ok(Condition { root })
}
