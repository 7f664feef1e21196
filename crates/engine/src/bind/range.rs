//! A key condition against the key of a table or index: the range of rows that it selects.

use bytes::Bytes;
use keywright_semantics::expression::{KeyClause, KeyCondition, KeyPredicate};
use keywright_semantics::key::{
    KeyValueRef, encode_sort, encode_sort_prefix, partition_hash, sort_bytes, successor_prefix,
};
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::messages::expression::legacy_key_operator;
use keywright_semantics::schema::{KeyAttribute, KeySchema};
use keywright_semantics::value::AttributeValue;
use keywright_store::KeyRange;

use super::BindFault;
use super::key::{KeyPart, check_size, empty_kind, key_value};

/// The rows that a Query reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryRange {
    /// The start of the keys of the partition's rows.
    prefix: Vec<u8>,
    /// The rows the condition selects, within the partition; empty if `end <= start`.
    pub selected: KeyRange,
}

impl QueryRange {
    /// All rows of the partition.
    pub(crate) fn partition(&self) -> KeyRange {
        prefix_range(&self.prefix)
    }

    /// Whether the sort-key condition would select this position if it were in the partition. Positions of
    /// different partitions differ only in their prefix.
    pub(crate) fn would_select(&self, position: &Bytes) -> bool {
        let start = &self.prefix;
        let moved: Bytes = start.iter().chain(position.iter().skip(start.len())).copied().collect();
        moved >= self.selected.start && self.selected.end.as_ref().is_none_or(|end| moved < *end)
    }
}

/// Binds a key condition to the key of a table or index whose rows start with `prefix`.
pub(crate) fn bind_range(
    prefix: Vec<u8>,
    key: &KeySchema,
    condition: &KeyCondition,
) -> Result<QueryRange, BindFault> {
    bind_range_visiting(prefix, key, condition, &|_| Ok(()))
}

/// As `bind_range`; `visit` is called for every key attribute before its condition is checked, in the key's
/// order. The service checks each attribute of a starting key together with its condition.
pub(crate) fn bind_range_visiting(
    prefix: Vec<u8>,
    key: &KeySchema,
    condition: &KeyCondition,
    visit: &dyn Fn(&KeyAttribute) -> Result<(), BindFault>,
) -> Result<QueryRange, BindFault> {
    let attributes = key.partition.len() + key.sort.len();
    let conditions = condition.clauses.len();
    let two_of_one = conditions == 2 && attributes == 1;
    if conditions > attributes && !two_of_one {
        return Err(BindFault::request(messages::too_many_key_conditions(conditions, attributes)));
    }
    key.partition.iter().try_for_each(visit)?;
    if two_of_one {
        return Err(BindFault::request(messages::KEY_CONDITION_NOT_SUPPORTED));
    }
    let partition = partition_values(key, condition)?;
    key.sort.iter().try_for_each(visit)?;
    let sort = sort_clauses(key, condition)?;
    let mut prefix = prefix;
    prefix.extend_from_slice(&partition_hash(partition).0);
    let selected = match sort.split_last() {
        None => prefix_range(&prefix),
        Some((last, [])) => select(&prefix, last.0, &last.1.predicate)?,
        Some((last, equal)) => {
            let mut start = prefix.clone();
            for (attribute, clause) in equal {
                let KeyPredicate::Eq(value) = &clause.predicate else {
                    return Err(BindFault::request(messages::KEY_CONDITION_NOT_SUPPORTED));
                };
                encode_sort(operand((KeyPart::Sort, attribute), value)?, &mut start);
            }
            select(&start, last.0, &last.1.predicate)?
        }
    };
    Ok(QueryRange { prefix, selected })
}

fn clause<'a>(condition: &'a KeyCondition, attribute: &KeyAttribute) -> Option<&'a KeyClause> {
    condition.clauses.iter().find(|clause| clause.attribute == attribute.name)
}

fn partition_values<'a>(
    key: &KeySchema,
    condition: &'a KeyCondition,
) -> Result<Vec<KeyValueRef<'a>>, BindFault> {
    if key.partition.len() > 1 {
        check_partition_equalities(key, condition)?;
    }
    key.partition
        .iter()
        .map(|attribute| {
            let clause = clause(condition, attribute)
                .ok_or_else(|| BindFault::request(messages::missed_key_element(&attribute.name)))?;
            let attribute = (KeyPart::Partition, attribute);
            check_operands(attribute, &clause.predicate)?;
            match &clause.predicate {
                KeyPredicate::Eq(value) => operand(attribute, value),
                _ => Err(BindFault::request(messages::KEY_CONDITION_NOT_SUPPORTED)),
            }
        })
        .collect()
}

/// A missing equality on a partition key of several attributes: the error names all such attributes.
fn check_partition_equalities(key: &KeySchema, condition: &KeyCondition) -> Result<(), BindFault> {
    let equal = |attribute: &&KeyAttribute| {
        clause(condition, attribute).is_some_and(|clause| matches!(clause.predicate, KeyPredicate::Eq(_)))
    };
    let lacking: Vec<&str> = key
        .partition
        .iter()
        .filter(|attribute| !equal(attribute))
        .map(|attribute| attribute.name.as_str())
        .collect();
    if lacking.is_empty() {
        Ok(())
    } else {
        Err(BindFault::request(messages::partition_needs_equality(&lacking)))
    }
}

/// The sort attributes with conditions, in the key's order: equalities without a gap, then any one predicate.
fn sort_clauses<'a>(
    key: &'a KeySchema,
    condition: &'a KeyCondition,
) -> Result<Vec<(&'a KeyAttribute, &'a KeyClause)>, BindFault> {
    let named = condition.clauses.len().saturating_sub(key.partition.len());
    let found: Vec<_> =
        key.sort.iter().filter_map(|attribute| Some((attribute, clause(condition, attribute)?))).collect();
    if found.len() < named {
        let missed = key.sort.iter().find(|attribute| clause(condition, attribute).is_none());
        let name = missed.map_or("", |attribute| attribute.name.as_str());
        return Err(BindFault::request(messages::missed_key_element(name)));
    }
    if let Some((last, _)) = found.last() {
        let lacking: Vec<&str> = key
            .sort
            .iter()
            .take_while(|attribute| attribute.name != last.name)
            .filter(|attribute| {
                !clause(condition, attribute)
                    .is_some_and(|clause| matches!(clause.predicate, KeyPredicate::Eq(_)))
            })
            .map(|attribute| attribute.name.as_str())
            .collect();
        if !lacking.is_empty() {
            return Err(BindFault::request(messages::range_needs_equality(&lacking, &last.name)));
        }
    }
    for (attribute, clause) in &found {
        check_operands((KeyPart::Sort, attribute), &clause.predicate)?;
    }
    Ok(found)
}

fn check_operands(attribute: (KeyPart, &KeyAttribute), predicate: &KeyPredicate) -> Result<(), BindFault> {
    if *predicate == KeyPredicate::NotIndexable {
        return Err(BindFault::request(legacy_key_operator()));
    }
    for value in predicate.operands() {
        operand(attribute, value)?;
    }
    Ok(())
}

/// A value that a key attribute is compared with. The service's answer to a value that no key can have is not
/// known; the texts for keys are used. The size must be bounded, because a store bounds the length of a key.
fn operand<'a>(
    (part, attribute): (KeyPart, &KeyAttribute),
    value: &'a AttributeValue,
) -> Result<KeyValueRef<'a>, BindFault> {
    let value =
        key_value(attribute, value).ok_or_else(|| BindFault::request(messages::KEY_CONDITION_TYPE))?;
    if let Some(kind) = empty_kind(value) {
        return Err(BindFault::request(messages::empty_key_value(&attribute.name, kind)));
    }
    check_size(part, value)?;
    Ok(value)
}

/// The rows under `prefix` whose next sort component satisfies the predicate.
///
/// Encoded components are prefix-free, so the rows with one value are exactly those that start with its
/// encoding.
fn select(prefix: &[u8], attribute: &KeyAttribute, predicate: &KeyPredicate) -> Result<KeyRange, BindFault> {
    let attribute = (KeyPart::Sort, attribute);
    let encoded = |value| -> Result<Vec<u8>, BindFault> {
        let value = operand(attribute, value)?;
        let mut key = Vec::with_capacity(prefix.len() + sort_bytes(value));
        key.extend_from_slice(prefix);
        encode_sort(value, &mut key);
        Ok(key)
    };
    let range = |start: Option<Vec<u8>>, end: Option<Vec<u8>>| KeyRange {
        start: start.map_or_else(|| Bytes::copy_from_slice(prefix), Bytes::from),
        end: end.or_else(|| successor_prefix(prefix)).map(Bytes::from),
    };
    Ok(match predicate {
        KeyPredicate::Eq(value) => prefix_range(&encoded(value)?),
        KeyPredicate::Lt(value) => range(None, Some(encoded(value)?)),
        KeyPredicate::Le(value) => range(None, successor_prefix(&encoded(value)?)),
        KeyPredicate::Gt(value) => range(successor_prefix(&encoded(value)?), None),
        KeyPredicate::Ge(value) => range(Some(encoded(value)?), None),
        KeyPredicate::Between(lower, upper) => {
            range(Some(encoded(lower)?), successor_prefix(&encoded(upper)?))
        }
        KeyPredicate::NotIndexable => return Err(BindFault::request(legacy_key_operator())),
        KeyPredicate::BeginsWith(value) => {
            let bytes = match operand(attribute, value)? {
                KeyValueRef::S(text) => text.as_bytes(),
                KeyValueRef::B(bytes) => bytes,
                KeyValueRef::N(_) => return Err(BindFault::request(messages::KEY_CONDITION_TYPE)),
            };
            let mut key = prefix.to_vec();
            encode_sort_prefix(bytes, &mut key);
            prefix_range(&key)
        }
    })
}

fn prefix_range(prefix: &[u8]) -> KeyRange {
    KeyRange { start: Bytes::copy_from_slice(prefix), end: successor_prefix(prefix).map(Bytes::from) }
}
