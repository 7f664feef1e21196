//! `ExclusiveStartKey`: the position where a page begins. It must be one at which an earlier page could have
//! ended.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;
use keywright_store::{Direction, KeyRange};

use super::key::{KeyPart, bind_key, check_size, empty_kind, key_value};
use super::range::QueryRange;
use super::source::Source;
use crate::support::layout;

/// The first check of a Query's starting key: it has as many attributes as a position.
pub(crate) fn check_count(source: Source<'_>, start: &Item) -> Result<(), Error> {
    if start.len() == position_attributes(source) {
        return Ok(());
    }
    Err(Error::validation(messages::START_KEY_INVALID))
}

/// Checks one key attribute of the source in a Query's starting key.
pub(crate) fn check_attribute(attribute: &KeyAttribute, start: &Item) -> Result<(), Error> {
    if !start.contains_key(&attribute.name) {
        return Err(Error::validation(messages::START_KEY_INVALID));
    }
    position_value(attribute, start).map(|_| ())
}

/// The stored key of the row that a Query's starting key names; the row need not exist.
///
/// The number of attributes and the key attributes of the source have been checked.
pub(crate) fn bind_query_position(source: Source<'_>, start: &Item) -> Result<Bytes, Error> {
    let position = bind_position(source, start)?;
    if source.holds_one_item_per_partition() {
        return Err(Error::validation(messages::start_key_of_one_item(start)));
    }
    Ok(position)
}

/// The stored key of the row at which an earlier page ended.
pub(crate) fn bind_resumed(source: Source<'_>, start: &Item) -> Result<Bytes, Error> {
    check_scan_start(source, start)?;
    bind_position(source, start)
}

/// The checks of a Scan's starting key that come before those of its `Select`.
pub(crate) fn check_scan_start(source: Source<'_>, start: &Item) -> Result<(), Error> {
    let Some((_, index)) = source.index else {
        let named = start.keys().filter(|name| source.is_position_attribute(name)).count();
        let whole = start.len() == named && named == position_attributes(source);
        return if whole { Ok(()) } else { Err(invalid(messages::KEY_DOES_NOT_MATCH_SCHEMA)) };
    };
    check_count(source, start)?;
    index.key.attributes().try_for_each(|attribute| check_attribute(attribute, start))
}

/// The stored key of the row that a starting key names; the row need not exist. Its attributes have been
/// checked.
pub(crate) fn bind_position(source: Source<'_>, start: &Item) -> Result<Bytes, Error> {
    let schema = &source.table.schema;
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
    let check = |part| move |value: &KeyValueRef<'_>| check_size(part, *value);
    partition.iter().try_for_each(check(KeyPart::Partition)).map_err(|fault| invalid(&fault.message))?;
    sort.iter().try_for_each(check(KeyPart::Sort)).map_err(|fault| invalid(&fault.message))?;
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
///
/// Observed: with a condition on the sort key, the sort key is compared before the partition. A position in
/// another partition then gets the text for a query that can return one row only.
pub(crate) fn check_position(range: &QueryRange, position: &Bytes) -> Result<(), Error> {
    let whole = range.selected == range.partition();
    let outside = !contains(&range.partition(), position);
    let text = match (outside, whole) {
        (true, true) => messages::START_KEY_OUTSIDE,
        (true, false) if range.would_select(position) => messages::START_KEY_NOT_RESTARTABLE,
        (true, false) => messages::START_KEY_NO_MATCH,
        (false, _) if !contains(&range.selected, position) => messages::START_KEY_NO_MATCH,
        (false, _) => return Ok(()),
    };
    Err(Error::validation(text))
}

/// Whether a position is in a range.
pub(crate) fn contains(range: &KeyRange, position: &Bytes) -> bool {
    *position >= range.start && range.end.as_ref().is_none_or(|end| position < end)
}

/// The part of a range beyond a position, in scan direction.
pub(crate) fn beyond(range: KeyRange, position: &Bytes, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => KeyRange { start: range.start.max(layout::after(position)), end: range.end },
        Direction::Backward => {
            let end = range.end.map_or_else(|| position.clone(), |end| end.min(position.clone()));
            KeyRange { start: range.start, end: Some(end) }
        }
    }
}
