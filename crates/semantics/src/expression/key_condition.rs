//! Key conditions: which items of a table or index a Query reads.
//!
//! It does not know the key: the attributes are compared with the key when a Query is bound to its index.

use super::bind;
use super::condition::{self, Condition, ConditionKind, Expr, Operand, parse_condition};
use super::fault::Fault;
use super::kept::{self, Language, Tree};
use super::lexer::Comparator;
use super::path::DocumentPath;
use super::placeholders::Placeholders;
use super::print::{CanonicalText, Printer};
use super::syntax::{RawCondition, RawOperand, RawPath, RawStep};
use crate::error::Error;
use crate::messages::expression as messages;
use crate::value::AttributeValue;

/// What a key attribute must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPredicate {
    /// Equal to the value.
    Eq(AttributeValue),
    /// Less than the value.
    Lt(AttributeValue),
    /// Less than or equal to the value.
    Le(AttributeValue),
    /// Greater than the value.
    Gt(AttributeValue),
    /// Greater than or equal to the value.
    Ge(AttributeValue),
    /// Between two values, both included.
    Between(AttributeValue, AttributeValue),
    /// Starts with the value, a string or binary prefix.
    BeginsWith(AttributeValue),
    /// A legacy operator that no key supports. Observed: it is reported only after the table and the key are
    /// found.
    NotIndexable,
}

impl KeyPredicate {
    /// The values that the attribute is compared with.
    pub fn operands(&self) -> impl Iterator<Item = &AttributeValue> {
        let (first, second) = match self {
            Self::Between(lower, upper) => (Some(lower), Some(upper)),
            Self::Eq(value)
            | Self::Lt(value)
            | Self::Le(value)
            | Self::Gt(value)
            | Self::Ge(value)
            | Self::BeginsWith(value) => (Some(value), None),
            Self::NotIndexable => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// One attribute and its predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyClause {
    /// The top-level attribute the clause is about.
    pub attribute: String,
    /// What the attribute's value must satisfy.
    pub predicate: KeyPredicate,
}

/// Clauses that most key conditions have at most: one of each part of a key.
const CLAUSES_USUAL: usize = 2;

/// The clauses of a key condition in the order written, no attribute twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    /// One for each attribute, in the order written.
    pub clauses: Vec<KeyClause>,
}

/// A `KeyConditionExpression` whose placeholders are bound.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedKey {
    /// A usual one, which keeps to the rules of key conditions.
    Usual(KeyCondition),
    /// Any other. [`KeyCondition::from_condition`] checks the rules.
    Other(Condition),
}

impl KeyCondition {
    /// The key condition of a tree that compares attributes with strings, numbers or binary values, each
    /// attribute once. `None` for any other, and where something is not defined: placeholders that were
    /// looked up until then are those that the binding of the tree looks up too.
    pub(super) fn usual(raw: &RawCondition<'_>, placeholders: &mut Placeholders<'_>) -> Option<Self> {
        let mut clauses = Vec::with_capacity(CLAUSES_USUAL);
        collect_usual(raw, placeholders, &mut clauses)?;
        Some(Self { clauses })
    }

    /// Checks the rules of a `KeyConditionExpression` that other conditions do not have. This is a step of
    /// its own because the service reports their faults after those of all other expressions and of unused
    /// placeholders.
    pub fn from_condition(condition: Condition) -> Result<Self, Error> {
        let mut clauses = Vec::with_capacity(CLAUSES_USUAL);
        collect(condition.root, &mut clauses).map_err(Fault::without_parameter)?;
        assert!(!clauses.is_empty(), "a key condition has a clause");
        Ok(Self { clauses })
    }

    /// The canonical text, with the placeholders it needs.
    pub fn canonical(&self) -> CanonicalText {
        let mut printer = Printer::default();
        for (position, clause) in self.clauses.iter().enumerate() {
            printer.text(if position > 0 { " AND " } else { "" });
            clause.print(&mut printer);
        }
        printer.finish()
    }
}

impl KeyClause {
    fn print(&self, printer: &mut Printer) {
        let (symbol, value) = match &self.predicate {
            KeyPredicate::Eq(value) => (" = ", value),
            KeyPredicate::Lt(value) => (" < ", value),
            KeyPredicate::Le(value) => (" <= ", value),
            KeyPredicate::Gt(value) => (" > ", value),
            KeyPredicate::Ge(value) => (" >= ", value),
            KeyPredicate::Between(lower, upper) => {
                printer.name(&self.attribute);
                printer.text(" BETWEEN ");
                printer.value(lower.clone());
                printer.text(" AND ");
                printer.value(upper.clone());
                return;
            }
            KeyPredicate::NotIndexable => return,
            KeyPredicate::BeginsWith(prefix) => {
                printer.text("begins_with(");
                printer.name(&self.attribute);
                printer.text(", ");
                printer.value(prefix.clone());
                printer.text(")");
                return;
            }
        };
        printer.name(&self.attribute);
        printer.text(symbol);
        printer.value(value.clone());
    }
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for KeyCondition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.canonical().text)
    }
}

/// Parses a `KeyConditionExpression`, binds its placeholders and checks the rules of key conditions. A
/// request with further expressions calls [`parse_key`] and [`KeyCondition::from_condition`] separately.
pub fn parse_key_condition(text: &str, placeholders: &mut Placeholders<'_>) -> Result<KeyCondition, Error> {
    KeyCondition::from_condition(parse_condition(text, ConditionKind::Key, placeholders)?)
}

/// Parses a `KeyConditionExpression` and binds its placeholders.
pub fn parse_key(text: &str, placeholders: &mut Placeholders<'_>) -> Result<ParsedKey, Error> {
    parse(text, placeholders).map_err(|fault| fault.in_parameter(ConditionKind::Key.parameter()))
}

fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<ParsedKey, Fault> {
    if let Some(tree) = kept::find(Language::Condition, text)
        && let Tree::Condition(raw) = &*tree
    {
        return Ok(match KeyCondition::usual(raw, placeholders) {
            Some(usual) => ParsedKey::Usual(usual),
            None => ParsedKey::Other(Condition { root: bind::condition(raw, placeholders)? }),
        });
    }
    condition::parse_anew(text, ConditionKind::Key, placeholders).map(ParsedKey::Other)
}

fn collect_usual(
    raw: &RawCondition<'_>,
    placeholders: &mut Placeholders<'_>,
    clauses: &mut Vec<KeyClause>,
) -> Option<()> {
    match raw {
        RawCondition::And(left, right) => {
            collect_usual(left, placeholders, clauses)?;
            collect_usual(right, placeholders, clauses)
        }
        RawCondition::Compare {
            comparator,
            left: RawOperand::Path(path),
            right: RawOperand::Value(value),
        } => {
            let attribute = top_level(path, placeholders)?;
            let value = placeholders.value(value).ok()?;
            let is_usual =
                matches!(value, AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::B(_))
                    && clauses.iter().all(|clause| clause.attribute != attribute);
            if !is_usual {
                return None;
            }
            let predicate = comparison(*comparator, value.clone()).ok()?;
            clauses.push(KeyClause { attribute: attribute.to_owned(), predicate });
            Some(())
        }
        _ => None,
    }
}

/// The attribute of a path that goes no further.
fn top_level<'p, 'r: 'p>(path: &'p RawPath<'_>, placeholders: &mut Placeholders<'r>) -> Option<&'p str> {
    match &path.first {
        _ if !path.rest.is_empty() => None,
        RawStep::Name(name) => Some(name),
        RawStep::Placeholder(placeholder) => placeholders.name(placeholder).ok(),
        RawStep::Index(_) => None,
    }
}

fn collect(expr: Expr, clauses: &mut Vec<KeyClause>) -> Result<(), Fault> {
    match expr {
        Expr::And(left, right) => {
            collect(*left, clauses)?;
            collect(*right, clauses)
        }
        Expr::Or(..) => Err(Fault::new(messages::key_operator("OR"))),
        Expr::Not(_) => Err(Fault::new(messages::key_operator("NOT"))),
        Expr::In { .. } => Err(Fault::new(messages::key_operator("IN"))),
        Expr::Exists(_) => Err(Fault::new(messages::key_operator("attribute_exists"))),
        Expr::NotExists(_) => Err(Fault::new(messages::key_operator("attribute_not_exists"))),
        Expr::HasType(..) => Err(Fault::new(messages::key_operator("attribute_type"))),
        Expr::Contains(..) => Err(Fault::new(messages::key_operator("contains"))),
        Expr::Compare { comparator: Comparator::Ne, .. } => {
            Err(Fault::new(messages::key_operator(Comparator::Ne.symbol())))
        }
        Expr::Compare { comparator, left, right } => {
            check_key_path(&[&left, &right])?;
            let (comparator, key, value) = match (left, right) {
                (Operand::Path(key), value) => (comparator, key, value),
                (value, Operand::Path(key)) => (mirrored(comparator), key, value),
                _ => return Err(Fault::new(messages::key_no_attribute())),
            };
            push(clauses, key, comparison(comparator, literal(&value)?)?)
        }
        Expr::Between { subject, lower, upper } => {
            require_first(&subject, "BETWEEN")?;
            check_key_path(&[&subject, &lower, &upper])?;
            push(clauses, path(subject)?, KeyPredicate::Between(literal(&lower)?, literal(&upper)?))
        }
        Expr::BeginsWith(subject, prefix) => {
            require_first(&subject, "begins_with")?;
            check_key_path(&[&subject, &prefix])?;
            push(clauses, path(subject)?, KeyPredicate::BeginsWith(literal(&prefix)?))
        }
    }
}

fn require_first(subject: &Operand, operator: &str) -> Result<(), Fault> {
    match subject {
        Operand::Path(_) => Ok(()),
        Operand::Value(_) | Operand::Size(_) => Err(Fault::new(messages::key_not_first_operand(operator))),
    }
}

/// Checks that there is one attribute among the operands. Operands are checked in the order written.
fn check_key_path(operands: &[&Operand]) -> Result<(), Fault> {
    let mut has_key = false;
    for operand in operands {
        match operand {
            Operand::Size(_) => return Err(Fault::new(messages::key_nested_operation())),
            Operand::Value(_) => {}
            Operand::Path(_) if has_key => return Err(Fault::new(messages::key_several_attributes())),
            Operand::Path(path) if path.is_nested() => {
                return Err(Fault::new(messages::key_nested_attribute()));
            }
            Operand::Path(_) => has_key = true,
        }
    }
    if has_key { Ok(()) } else { Err(Fault::new(messages::key_no_attribute())) }
}

fn path(operand: Operand) -> Result<DocumentPath, Fault> {
    match operand {
        Operand::Path(path) => Ok(path),
        Operand::Value(_) | Operand::Size(_) => Err(Fault::new(messages::key_no_attribute())),
    }
}

fn literal(operand: &Operand) -> Result<AttributeValue, Fault> {
    match operand {
        Operand::Value(value) => Ok(value.view().to_value()),
        Operand::Path(_) => Err(Fault::new(messages::key_several_attributes())),
        Operand::Size(_) => Err(Fault::new(messages::key_nested_operation())),
    }
}

/// The comparison with its sides exchanged.
const fn mirrored(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Lt => Comparator::Gt,
        Comparator::Le => Comparator::Ge,
        Comparator::Gt => Comparator::Lt,
        Comparator::Ge => Comparator::Le,
        Comparator::Eq | Comparator::Ne => comparator,
    }
}

fn comparison(comparator: Comparator, value: AttributeValue) -> Result<KeyPredicate, Fault> {
    Ok(match comparator {
        Comparator::Eq => KeyPredicate::Eq(value),
        Comparator::Lt => KeyPredicate::Lt(value),
        Comparator::Le => KeyPredicate::Le(value),
        Comparator::Gt => KeyPredicate::Gt(value),
        Comparator::Ge => KeyPredicate::Ge(value),
        Comparator::Ne => return Err(Fault::new(messages::key_operator(comparator.symbol()))),
    })
}

fn push(clauses: &mut Vec<KeyClause>, key: DocumentPath, predicate: KeyPredicate) -> Result<(), Fault> {
    if clauses.iter().any(|clause| clause.attribute == key.attribute) {
        return Err(Fault::new(messages::key_repeated()));
    }
    clauses.push(KeyClause { attribute: key.attribute, predicate });
    Ok(())
}
