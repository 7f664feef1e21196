//! Key conditions: which items of a table or index a Query reads.
//!
//! It does not know the key: the attributes are compared with the key when a Query is bound to its index.

use super::condition::{Condition, ConditionKind, Expr, Operand, parse_condition};
use super::fault::Fault;
use super::lexer::Comparator;
use super::path::DocumentPath;
use super::placeholders::Placeholders;
use super::print::{CanonicalText, Printer};
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

/// The clauses of a key condition in the order written, no attribute twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyCondition {
    /// One for each attribute, in the order written.
    pub clauses: Vec<KeyClause>,
}

impl KeyCondition {
    /// Checks the rules of a `KeyConditionExpression` that other conditions do not have. This is a step of
    /// its own because the service reports their faults after those of all other expressions and of unused
    /// placeholders.
    pub fn from_condition(condition: &Condition) -> Result<Self, Error> {
        let mut clauses = Vec::new();
        collect(&condition.root, &mut clauses).map_err(Fault::without_parameter)?;
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
/// request with further expressions calls [`parse_condition`] and [`KeyCondition::from_condition`]
/// separately.
pub fn parse_key_condition(text: &str, placeholders: &mut Placeholders<'_>) -> Result<KeyCondition, Error> {
    KeyCondition::from_condition(&parse_condition(text, ConditionKind::Key, placeholders)?)
}

fn collect(expr: &Expr, clauses: &mut Vec<KeyClause>) -> Result<(), Fault> {
    match expr {
        Expr::And(left, right) => {
            collect(left, clauses)?;
            collect(right, clauses)
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
            let key = key_path(&[left, right])?;
            let (comparator, value) = match (left, right) {
                (Operand::Path(_), value) => (*comparator, value),
                (value, _) => (mirrored(*comparator), value),
            };
            push(clauses, key, comparison(comparator, literal(value)?)?)
        }
        Expr::Between { subject, lower, upper } => {
            require_first(subject, "BETWEEN")?;
            let key = key_path(&[subject, lower, upper])?;
            push(clauses, key, KeyPredicate::Between(literal(lower)?, literal(upper)?))
        }
        Expr::BeginsWith(subject, prefix) => {
            require_first(subject, "begins_with")?;
            let key = key_path(&[subject, prefix])?;
            push(clauses, key, KeyPredicate::BeginsWith(literal(prefix)?))
        }
    }
}

fn require_first(subject: &Operand, operator: &str) -> Result<(), Fault> {
    match subject {
        Operand::Path(_) => Ok(()),
        Operand::Value(_) | Operand::Size(_) => Err(Fault::new(messages::key_not_first_operand(operator))),
    }
}

/// The only attribute among the operands. Operands are checked in the order written.
fn key_path<'o>(operands: &[&'o Operand]) -> Result<&'o DocumentPath, Fault> {
    let mut key = None;
    for operand in operands {
        match operand {
            Operand::Size(_) => return Err(Fault::new(messages::key_nested_operation())),
            Operand::Value(_) => {}
            Operand::Path(_) if key.is_some() => return Err(Fault::new(messages::key_several_attributes())),
            Operand::Path(path) if path.is_nested() => {
                return Err(Fault::new(messages::key_nested_attribute()));
            }
            Operand::Path(path) => key = Some(path),
        }
    }
    key.ok_or_else(|| Fault::new(messages::key_no_attribute()))
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

fn push(clauses: &mut Vec<KeyClause>, key: &DocumentPath, predicate: KeyPredicate) -> Result<(), Fault> {
    if clauses.iter().any(|clause| clause.attribute == key.attribute) {
        return Err(Fault::new(messages::key_repeated()));
    }
    clauses.push(KeyClause { attribute: key.attribute.clone(), predicate });
    Ok(())
}
