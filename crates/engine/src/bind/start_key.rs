//! `ExclusiveStartKey`: where a page begins, checked to be a place where one could have ended.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;
use keywright_store::{Direction, KeyRange};

use super::key::{bind_key, empty_kind, key_value};
use super::range::QueryRange;
use super::source::Source;
use crate::layout;

/// Which operation a starting key was given to; their texts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartKeyOf {
    Query,
    Scan,
}

/// The stored key of the row that a starting key names, whether the row exists or not.
pub(crate) fn bind_start_key(source: Source<'_>, start: &Item, of: StartKeyOf) -> Result<Bytes, Error> {
    let schema = &source.table.schema;
    if of == StartKeyOf::Query && source.holds_one_item_per_partition() {
        return Err(Error::validation(messages::start_key_of_one_item(start)));
    }
    let named = start.keys().filter(|name| source.is_position_attribute(name)).count();
    let expected = position_attributes(source);
    if start.len() != expected || named != expected {
        return Err(match (of, source.index) {
            (StartKeyOf::Scan, None) => invalid(messages::KEY_DOES_NOT_MATCH_SCHEMA),
            _ => Error::validation(messages::START_KEY_INVALID),
        });
    }
    if source.index.is_some() || of == StartKeyOf::Query {
        for attribute in source.key().attributes() {
            position_value(attribute, start)?;
        }
    }
    let table_key: Item = schema
        .key
        .attributes()
        .filter_map(|attribute| start.get_key_value(&attribute.name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let base = bind_key(source.table.id, schema, &table_key).map_err(|fault| invalid(&fault.message))?;
    let Some((id, index)) = source.index else { return Ok(base.row) };
    let values = |attributes: &[KeyAttribute]| -> Result<Vec<KeyValueRef<'_>>, Error> {
        attributes.iter().map(|attribute| position_value(attribute, start)).collect()
    };
    let (partition, sort) = (values(&index.key.partition)?, values(&index.key.sort)?);
    let hash = base.base.ok_or_else(|| Error::validation(messages::START_KEY_INVALID))?;
    Ok(layout::index_key(source.table.id, id, &partition, &sort, hash))
}

fn invalid(detail: &str) -> Error {
    Error::validation(messages::start_key_invalid(detail))
}

fn position_attributes(source: Source<'_>) -> usize {
    let table = &source.table.schema.key;
    let index = source.index.into_iter().flat_map(|(_, index)| index.key.attributes());
    table.attributes().count() + index.filter(|attribute| !table.contains(&attribute.name)).count()
}

fn position_value<'a>(attribute: &KeyAttribute, start: &'a Item) -> Result<KeyValueRef<'a>, Error> {
    let value = start
        .get(&attribute.name)
        .and_then(|value| key_value(attribute, value))
        .ok_or_else(|| Error::validation(messages::KEY_DOES_NOT_MATCH_SCHEMA))?;
    match empty_kind(value) {
        Some(kind) => Err(Error::validation(messages::empty_key_value(&attribute.name, kind))),
        None => Ok(value),
    }
}

/// Checks that a Query with this range could have ended a page at the position.
pub(crate) fn check_position(range: &QueryRange, position: &Bytes) -> Result<(), Error> {
    if !contains(&range.partition, position) {
        return Err(Error::validation(messages::START_KEY_OUTSIDE));
    }
    if !contains(&range.selected, position) {
        return Err(Error::validation(messages::START_KEY_NO_MATCH));
    }
    Ok(())
}

/// Whether a position lies in a range.
pub(crate) fn contains(range: &KeyRange, position: &Bytes) -> bool {
    *position >= range.start && range.end.as_ref().is_none_or(|end| position < end)
}

/// What is left of a range beyond a position.
pub(crate) fn beyond(range: KeyRange, position: &Bytes, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange { start: range.start.max(layout::after(position)), end: range.end },
        Direction::Backward => {
            let end = range.end.map_or_else(|| position.clone(), |end| end.min(position.clone()));
            KeyRange { start: range.start, end: Some(end) }
        }
    }
}
