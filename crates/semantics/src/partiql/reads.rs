//! The access path of a SELECT: the WHERE clause is expanded over the ORs and INs of key attributes, and each
//! branch reads one partition.
//!
//! Source: the service's answers as public compatibility suites recorded them in 2026.

use super::PartiqlFault;
use super::where_clause::{all_of, equality, membership, predicate};
use crate::expression::{Condition, Expr, KeyPredicate};
use crate::limits::{PARTIQL_BRANCHES_MAX, PARTIQL_READS_MAX};
use crate::messages::partiql as messages;
use crate::schema::KeyAttribute;
use crate::value::AttributeValue;

/// The access path of a SELECT.
#[derive(Clone, Debug)]
pub enum Access {
    /// Reads all rows and filters them.
    Scan(Option<Condition>),
    /// Reads these partitions. The caller that binds the reads refuses those that overlap.
    Reads(Vec<Read>),
}

/// The read of one partition.
#[derive(Clone, Debug)]
pub struct Read {
    /// The partition key's value.
    pub partition: AttributeValue,
    /// Conditions on the sort key, all of which hold.
    pub sort: Vec<KeyPredicate>,
    /// The rest of the WHERE clause, evaluated on each row.
    pub filter: Option<Condition>,
}

/// A condition on a key attribute.
#[derive(Clone, Debug)]
enum KeyTerm {
    Partition(AttributeValue),
    Sort(KeyPredicate),
}

/// A branch of the WHERE clause: indexes into [`Spreader::terms`], and the conditions that are left to the
/// filter.
#[derive(Clone, Debug, Default)]
struct Branch<'e> {
    keys: Vec<usize>,
    filters: Vec<&'e Expr>,
}

struct Spreader<'k> {
    partition: &'k KeyAttribute,
    sort: Option<&'k KeyAttribute>,
    terms: Vec<KeyTerm>,
    /// Whether there are more than [`PARTIQL_BRANCHES_MAX`] branches.
    is_over: bool,
}

/// The access path of a condition for this key.
pub(super) fn spread(
    root: &Expr,
    partition: &KeyAttribute,
    sort: Option<&KeyAttribute>,
) -> Result<Access, PartiqlFault> {
    let mut spreader = Spreader { partition, sort, terms: Vec::new(), is_over: false };
    let branches = spreader.branches(root);
    spreader.check_types()?;
    let is_pinned = spreader.pins_partition(root);
    if is_pinned && (spreader.is_over || branches.len() > PARTIQL_READS_MAX) {
        return Err(PartiqlFault::new(messages::TOO_MANY_READS));
    }
    let whole = || Some(Condition { root: root.clone() });
    let reads: Option<Vec<Read>> = branches.iter().map(|branch| spreader.read(branch)).collect();
    let Some(reads) = reads.filter(|_| !spreader.is_over) else { return Ok(Access::Scan(whole())) };
    let mut kept: Vec<Read> = Vec::with_capacity(reads.len());
    for (read, branch) in reads.iter().zip(&branches) {
        let is_shared = reads.iter().filter(|other| other.partition == read.partition).nth(1).is_some();
        let is_filtered = |(other, branch): (&Read, &Branch<'_>)| {
            other.partition == read.partition && spreader.filters_sort(branch)
        };
        if !is_shared || !reads.iter().zip(&branches).any(is_filtered) {
            kept.push(Read { filter: all_of(&branch.filters), ..read.clone() });
        } else if !kept.iter().any(|other| other.partition == read.partition) {
            // Observed: one branch that is no range of sort keys makes the whole partition be read.
            kept.push(Read { sort: Vec::new(), filter: whole(), ..read.clone() });
        }
    }
    assert!(kept.len() <= reads.len(), "branches of one partition are joined, never multiplied");
    Ok(Access::Reads(kept))
}

impl Spreader<'_> {
    fn branches<'e>(&mut self, expr: &'e Expr) -> Vec<Branch<'e>> {
        match expr {
            Expr::And(left, right) => {
                let (left, right) = (self.branches(left), self.branches(right));
                self.product(left, &right)
            }
            Expr::Or(left, right) if self.names_key(expr) => {
                let mut found = self.branches(left);
                found.extend(self.branches(right));
                self.is_over |= found.len() > PARTIQL_BRANCHES_MAX;
                found.truncate(PARTIQL_BRANCHES_MAX);
                found
            }
            _ => match self.key_terms(expr) {
                Some(terms) => terms
                    .into_iter()
                    .map(|term| {
                        self.terms.push(term);
                        Branch { keys: vec![self.terms.len() - 1], filters: Vec::new() }
                    })
                    .collect(),
                None => vec![Branch { keys: Vec::new(), filters: vec![expr] }],
            },
        }
    }

    /// The combinations of each branch on the left with each branch on the right.
    fn product<'e>(&mut self, left: Vec<Branch<'e>>, right: &[Branch<'e>]) -> Vec<Branch<'e>> {
        if left.len().saturating_mul(right.len()) > PARTIQL_BRANCHES_MAX {
            self.is_over = true;
            return left;
        }
        let mut found = Vec::with_capacity(left.len() * right.len());
        for one in &left {
            for other in right {
                found.push(Branch {
                    keys: [one.keys.as_slice(), &other.keys].concat(),
                    filters: [one.filters.as_slice(), &other.filters].concat(),
                });
            }
        }
        found
    }

    /// The conditions on the key in a term, one for each value of an IN. `None` if the term is left to the
    /// filter.
    fn key_terms(&self, expr: &Expr) -> Option<Vec<KeyTerm>> {
        let is_sort = |name: &str| self.sort.is_some_and(|sort| sort.name == name);
        if let Some((_, value)) = equality(expr).filter(|(name, _)| *name == self.partition.name) {
            return Some(vec![KeyTerm::Partition(value)]);
        }
        if let Some((name, values)) = membership(expr) {
            if name == self.partition.name {
                return Some(values.into_iter().map(KeyTerm::Partition).collect());
            }
            let equal = |value| KeyTerm::Sort(KeyPredicate::Eq(value));
            return is_sort(name).then(|| values.into_iter().map(equal).collect());
        }
        let (name, predicate) = predicate(expr)?;
        is_sort(name).then(|| vec![KeyTerm::Sort(predicate)])
    }

    fn names_key(&self, expr: &Expr) -> bool {
        match expr {
            Expr::And(left, right) | Expr::Or(left, right) => self.names_key(left) || self.names_key(right),
            Expr::Not(_) => false,
            _ => self.key_terms(expr).is_some(),
        }
    }

    /// Whether every branch of the condition names a partition.
    fn pins_partition(&self, expr: &Expr) -> bool {
        match expr {
            Expr::And(left, right) => self.pins_partition(left) || self.pins_partition(right),
            Expr::Or(left, right) => self.pins_partition(left) && self.pins_partition(right),
            Expr::Not(_) => false,
            _ => matches!(self.key_terms(expr).as_deref(), Some([KeyTerm::Partition(_), ..])),
        }
    }

    fn check_types(&self) -> Result<(), PartiqlFault> {
        for term in &self.terms {
            let (attribute, values) = match term {
                KeyTerm::Partition(value) => (Some(self.partition), vec![value]),
                KeyTerm::Sort(predicate) => (self.sort, predicate.operands().collect()),
            };
            let Some(attribute) = attribute else { continue };
            for value in values {
                if !matches!(value, AttributeValue::S(_) | AttributeValue::N(_) | AttributeValue::B(_)) {
                    let text = messages::key_value_type(&attribute.name, value.type_name());
                    return Err(PartiqlFault::new(text));
                }
                if value.type_name() != attribute.key_type.name() {
                    return Err(PartiqlFault::new(messages::key_type_mismatch(&attribute.name)));
                }
            }
        }
        Ok(())
    }

    /// The read of a branch. `None` unless the branch names exactly one partition.
    fn read(&self, branch: &Branch<'_>) -> Option<Read> {
        let mut partition: Option<&AttributeValue> = None;
        let mut sort = Vec::new();
        for term in branch.keys.iter().filter_map(|place| self.terms.get(*place)) {
            match term {
                KeyTerm::Partition(value) if partition.is_some_and(|first| first != value) => return None,
                KeyTerm::Partition(value) => partition = Some(value),
                KeyTerm::Sort(predicate) => sort.push(predicate.clone()),
            }
        }
        Some(Read { partition: partition?.clone(), sort, filter: None })
    }

    /// Whether a branch filters by the sort key with a condition that is no range.
    fn filters_sort(&self, branch: &Branch<'_>) -> bool {
        let Some(sort) = self.sort else { return false };
        branch.filters.iter().any(|expr| expr.paths().iter().any(|path| path.attribute == sort.name))
    }
}
