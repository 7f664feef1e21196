//! The WHERE clause, for callers that know the key: the item that it names, and its further conditions.

use super::PartiqlFault;
use super::reads::{Access, spread};
use crate::expression::{Comparator, Condition, Expr, KeyPredicate, Operand};
use crate::schema::KeyAttribute;
use crate::value::{AttributeValue, Item};

/// A WHERE clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Where {
    root: Expr,
}

/// The part of a WHERE clause that names key attributes, and the rest of it.
#[derive(Clone, Debug)]
pub struct KeyMatch {
    /// The value that the clause names for each key attribute: the first one, if there are several.
    pub key: Item,
    /// A key attribute for which the clause names two values.
    pub contradicted: Option<String>,
    /// The conditions that are no equalities of key attributes.
    pub rest: Option<Condition>,
}

/// The syntax that names the value of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForms {
    /// `=` only.
    Equal,
    /// `=`, and IN with one value.
    EqualOrIn,
}

impl Where {
    pub(super) const fn new(root: Expr) -> Self {
        Self { root }
    }

    /// The clause as a condition on items.
    pub fn condition(&self) -> Condition {
        Condition { root: self.root.clone() }
    }

    /// The top-level attributes that the clause names.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.root.paths().into_iter().map(|path| path.attribute.as_str())
    }

    /// Splits the clause into the values of these key attributes and the rest.
    pub fn key_match(&self, key: &[&str], forms: KeyForms) -> KeyMatch {
        let mut found = Item::new();
        let mut contradicted = None;
        let mut rest = Vec::new();
        for conjunct in conjuncts(&self.root) {
            match named_value(conjunct, forms).filter(|(name, _)| key.contains(name)) {
                None => rest.push(conjunct),
                Some((name, value)) => match found.get(name) {
                    None => {
                        found.insert(name.to_owned(), value);
                    }
                    Some(first) if *first == value => {}
                    Some(_) => {
                        contradicted.get_or_insert_with(|| name.to_owned());
                        rest.push(conjunct);
                    }
                },
            }
        }
        KeyMatch { key: found, contradicted, rest: all_of(&rest) }
    }

    /// The access path of the clause for a key of these attributes.
    pub fn access(
        &self,
        partition: &KeyAttribute,
        sort: Option<&KeyAttribute>,
    ) -> Result<Access, PartiqlFault> {
        spread(&self.root, partition, sort)
    }
}

fn named_value(expr: &Expr, forms: KeyForms) -> Option<(&str, AttributeValue)> {
    equality(expr).or_else(|| {
        let (name, values) = membership(expr).filter(|_| forms == KeyForms::EqualOrIn)?;
        match <[AttributeValue; 1]>::try_from(values) {
            Ok([value]) => Some((name, value)),
            Err(_) => None,
        }
    })
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(left, right) => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

pub(super) fn all_of(conjuncts: &[&Expr]) -> Option<Condition> {
    let rest = conjuncts.iter().map(|expr| (*expr).clone());
    let root = rest.reduce(|left, right| Expr::And(Box::new(left), Box::new(right)))?;
    Some(Condition { root })
}

fn attribute(operand: &Operand) -> Option<&str> {
    match operand {
        Operand::Path(path) if !path.is_nested() => Some(&path.attribute),
        _ => None,
    }
}

fn value(operand: &Operand) -> Option<AttributeValue> {
    match operand {
        Operand::Value(value) => Some(value.view().to_value()),
        _ => None,
    }
}

/// `attribute = value`, in either order.
pub(super) fn equality(expr: &Expr) -> Option<(&str, AttributeValue)> {
    let Expr::Compare { comparator: Comparator::Eq, left, right } = expr else { return None };
    attribute(left).zip(value(right)).or_else(|| attribute(right).zip(value(left)))
}

/// A predicate on a top-level attribute that is a range of sort keys.
pub(super) fn predicate(expr: &Expr) -> Option<(&str, KeyPredicate)> {
    match expr {
        Expr::Compare { comparator, left, right } => {
            let (name, comparator, value) = match (attribute(left), value(right)) {
                (Some(name), Some(value)) => (name, *comparator, value),
                _ => (attribute(right)?, mirrored(*comparator), value(left)?),
            };
            let predicate = match comparator {
                Comparator::Eq => KeyPredicate::Eq(value),
                Comparator::Lt => KeyPredicate::Lt(value),
                Comparator::Le => KeyPredicate::Le(value),
                Comparator::Gt => KeyPredicate::Gt(value),
                Comparator::Ge => KeyPredicate::Ge(value),
                Comparator::Ne => return None,
            };
            Some((name, predicate))
        }
        Expr::Between { subject, lower, upper } => {
            Some((attribute(subject)?, KeyPredicate::Between(value(lower)?, value(upper)?)))
        }
        Expr::BeginsWith(subject, prefix) => {
            Some((attribute(subject)?, KeyPredicate::BeginsWith(value(prefix)?)))
        }
        _ => None,
    }
}

const fn mirrored(comparator: Comparator) -> Comparator {
    match comparator {
        Comparator::Lt => Comparator::Gt,
        Comparator::Le => Comparator::Ge,
        Comparator::Gt => Comparator::Lt,
        Comparator::Ge => Comparator::Le,
        Comparator::Eq | Comparator::Ne => comparator,
    }
}

/// `attribute IN [values]`.
pub(super) fn membership(expr: &Expr) -> Option<(&str, Vec<AttributeValue>)> {
    let Expr::In { subject, list } = expr else { return None };
    let values: Option<Vec<AttributeValue>> = list.iter().map(value).collect();
    attribute(subject).zip(values)
}
