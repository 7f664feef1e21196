//! Questions about a WHERE clause by whoever knows the key: which item, which ranges of a partition, and what is left.

use super::PartiqlFault;
use crate::expression::{Comparator, Condition, Expr, KeyClause, KeyCondition, KeyPredicate, Operand};
use crate::key::{KeyValueRef, encode_sort};
use crate::messages::partiql as messages;
use crate::value::{AttributeValue, Item};

/// A WHERE clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Where {
    root: Expr,
}

/// A WHERE clause that names one key: the key, and the conditions beside it.
#[derive(Clone, Debug)]
pub struct KeyMatch {
    pub key: Item,
    pub rest: Option<Condition>,
}

/// How a SELECT gets at its rows.
#[derive(Clone, Debug)]
pub enum Access {
    /// All rows, each looked at.
    Scan(Option<Condition>),
    /// These parts of partitions, one after the other, without a row twice.
    Ranges { ranges: Vec<KeyCondition>, filter: Option<Condition> },
}

/// What one branch of an OR says about a partition's sort key.
#[derive(Clone, Debug, PartialEq)]
enum SortPart {
    /// Nothing.
    Any,
    Selected(KeyPredicate),
    /// Something that selects no one range.
    Other,
}

struct Branch<'w> {
    partitions: Vec<AttributeValue>,
    sorts: Vec<SortPart>,
    rest: Vec<&'w Expr>,
}

impl Where {
    pub(super) const fn new(root: Expr) -> Self {
        Self { root }
    }

    /// The clause as a condition on items.
    pub fn condition(&self) -> Condition {
        Condition { root: self.root.clone() }
    }

    /// The key and the rest, if each of these attributes must equal something.
    pub fn key_match(&self, key: &[&str]) -> Option<KeyMatch> {
        let mut found = Item::new();
        let mut rest = Vec::new();
        for conjunct in conjuncts(&self.root) {
            match equality(conjunct) {
                Some((name, value)) if key.contains(&name) && !found.contains_key(name) => {
                    found.insert(name.to_owned(), value);
                }
                _ => rest.push(conjunct),
            }
        }
        (found.len() == key.len()).then(|| KeyMatch { key: found, rest: all_of(&rest) })
    }

    /// How rows are found whose key has this partition attribute and this sort attribute.
    pub fn access(&self, partition: &str, sort: Option<&str>) -> Result<Access, PartiqlFault> {
        let branches = disjuncts(&self.root);
        let found: Option<Vec<Branch<'_>>> =
            branches.iter().map(|branch| branch_of(branch, partition, sort)).collect();
        let Some(found) = found else { return Ok(Access::Scan(Some(self.condition()))) };
        if let [only] = found.as_slice() {
            let mut ranges = Vec::new();
            for value in &only.partitions {
                for part in &only.sorts {
                    ranges.push(range(partition, value, sort, part));
                }
            }
            return Ok(Access::Ranges { ranges, filter: all_of(&only.rest) });
        }
        let mut ranges = Vec::new();
        for value in distinct(found.iter().flat_map(|branch| &branch.partitions)) {
            let parts: Vec<&SortPart> = found
                .iter()
                .filter(|branch| branch.partitions.contains(value))
                .flat_map(|branch| &branch.sorts)
                .collect();
            check_overlap(&parts)?;
            if parts.iter().all(|part| matches!(part, SortPart::Selected(_))) {
                ranges.extend(parts.iter().map(|part| range(partition, value, sort, part)));
            } else {
                ranges.push(range(partition, value, sort, &SortPart::Any));
            }
        }
        Ok(Access::Ranges { ranges, filter: Some(self.condition()) })
    }
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::And(left, right) => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

fn disjuncts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Or(left, right) => [disjuncts(left), disjuncts(right)].concat(),
        other => vec![other],
    }
}

fn all_of(conjuncts: &[&Expr]) -> Option<Condition> {
    let mut rest = conjuncts.iter().map(|expr| (*expr).clone());
    let first = rest.next()?;
    Some(Condition { root: rest.fold(first, |left, right| Expr::And(Box::new(left), Box::new(right))) })
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
fn equality(expr: &Expr) -> Option<(&str, AttributeValue)> {
    let Expr::Compare { comparator: Comparator::Eq, left, right } = expr else { return None };
    attribute(left).zip(value(right)).or_else(|| attribute(right).zip(value(left)))
}

/// One predicate on a top-level attribute that a range of sort keys can stand for.
fn predicate(expr: &Expr) -> Option<(&str, KeyPredicate)> {
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

/// `attribute IN [values]`, each value once.
fn membership(expr: &Expr) -> Option<(&str, Vec<AttributeValue>)> {
    let Expr::In { subject, list } = expr else { return None };
    let values: Option<Vec<AttributeValue>> = list.iter().map(value).collect();
    let values = values?;
    Some((attribute(subject)?, distinct(&values).into_iter().cloned().collect()))
}

fn distinct<'v>(values: impl IntoIterator<Item = &'v AttributeValue>) -> Vec<&'v AttributeValue> {
    let mut found: Vec<&AttributeValue> = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// What a branch says about the key; nothing if it does not say which partitions.
fn branch_of<'w>(branch: &'w Expr, partition: &str, sort: Option<&str>) -> Option<Branch<'w>> {
    let mut partitions: Option<Vec<AttributeValue>> = None;
    let mut sorts: Option<Vec<SortPart>> = None;
    let mut rest = Vec::new();
    for conjunct in conjuncts(branch) {
        let named = |name: &str| Some(name) == sort;
        match (equality(conjunct), membership(conjunct), predicate(conjunct)) {
            (Some((name, value)), ..) if name == partition && partitions.is_none() => {
                partitions = Some(vec![value]);
            }
            (_, Some((name, values)), _) if name == partition && partitions.is_none() => {
                partitions = Some(values);
            }
            (_, Some((name, values)), _) if named(name) && sorts.is_none() => {
                let selected = |value| SortPart::Selected(KeyPredicate::Eq(value));
                sorts = Some(values.into_iter().map(selected).collect());
            }
            (_, _, Some((name, predicate))) if named(name) && sorts.is_none() => {
                sorts = Some(vec![SortPart::Selected(predicate)]);
            }
            _ => {
                let mentions = Condition { root: conjunct.clone() };
                if sorts.is_none() && sort.is_some_and(|sort| mentions.attributes().contains(&sort)) {
                    sorts = Some(vec![SortPart::Other]);
                }
                rest.push(conjunct);
            }
        }
    }
    Some(Branch { partitions: partitions?, sorts: sorts.unwrap_or_else(|| vec![SortPart::Any]), rest })
}

fn range(partition: &str, value: &AttributeValue, sort: Option<&str>, part: &SortPart) -> KeyCondition {
    let clause = |attribute: &str, predicate| KeyClause { attribute: attribute.to_owned(), predicate };
    let mut clauses = vec![clause(partition, KeyPredicate::Eq(value.clone()))];
    if let (Some(sort), SortPart::Selected(predicate)) = (sort, part) {
        clauses.push(clause(sort, predicate.clone()));
    }
    KeyCondition { clauses }
}

/// Branches of one partition may not select a row twice; those that select by something else than a range are let pass.
fn check_overlap(parts: &[&SortPart]) -> Result<(), PartiqlFault> {
    for (place, one) in parts.iter().enumerate() {
        for other in parts.iter().skip(place + 1) {
            let overlap = match (one, other) {
                (SortPart::Other, _) | (_, SortPart::Other) | (SortPart::Any, SortPart::Any) => false,
                (SortPart::Any, SortPart::Selected(_)) | (SortPart::Selected(_), SortPart::Any) => true,
                (SortPart::Selected(one), SortPart::Selected(other)) => overlap(one, other),
            };
            if overlap {
                return Err(PartiqlFault::new(messages::OVERLAPPING_RANGES));
            }
        }
    }
    Ok(())
}

/// Greater than what any encoded value goes on with.
const AFTER: &[u8] = &[0xFF];

/// First and last place of a predicate in the order of sort keys, as encoded; nothing for values that are no keys.
fn bounds(predicate: &KeyPredicate) -> Option<(Vec<u8>, Vec<u8>)> {
    let encoded = |value: &AttributeValue, end: &[u8]| {
        let mut key = Vec::new();
        encode_sort(KeyValueRef::from_value(value)?, &mut key);
        key.extend_from_slice(end);
        Some(key)
    };
    let last = vec![0xFF; 8];
    Some(match predicate {
        KeyPredicate::Eq(value) => (encoded(value, &[])?, encoded(value, &[])?),
        KeyPredicate::NotIndexable => return None,
        KeyPredicate::Lt(value) => {
            let mut below = encoded(value, &[])?;
            below.pop();
            (Vec::new(), below)
        }
        KeyPredicate::Le(value) => (Vec::new(), encoded(value, &[])?),
        KeyPredicate::Gt(value) => (encoded(value, AFTER)?, last),
        KeyPredicate::Ge(value) => (encoded(value, &[])?, last),
        KeyPredicate::Between(lower, upper) => (encoded(lower, &[])?, encoded(upper, &[])?),
        KeyPredicate::BeginsWith(prefix) => {
            let mut first = encoded(prefix, &[])?;
            // Without the end mark of the text.
            first.truncate(first.len().saturating_sub(2));
            let end = [first.as_slice(), AFTER].concat();
            (first, end)
        }
    })
}

fn overlap(one: &KeyPredicate, other: &KeyPredicate) -> bool {
    match (bounds(one), bounds(other)) {
        (Some((first, last)), Some((other_first, other_last))) => first <= other_last && other_first <= last,
        _ => false,
    }
}
