//! Items to be written, checked against the schema: index keys and sizes.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::expression::{Condition, DocumentPath, Update};
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::schema::TableSchema;
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;

use super::BindFault;
use super::key::{
    ItemKey, bind_item_key, bind_key_within, check_size, empty_kind, key_value, parts, stored_value,
};
use crate::support::layout::TableId;

/// An item to put, checked against the schema.
#[derive(Clone, Debug)]
pub(crate) struct BoundPut {
    pub key: ItemKey,
    pub item: EncodedItem,
}

/// Checks a whole item that a client sent in a batch as [`bind_put`] does, with the texts of a `Key`. Nothing
/// is encoded but its key.
pub(crate) fn check_put(table: TableId, schema: &TableSchema, item: &Item) -> Result<ItemKey, BindFault> {
    let key = bind_key_within(table, schema, item)?;
    check_index_keys(schema, item)?;
    if item_bytes(item) > ITEM_BYTES_MAX {
        return Err(BindFault::request(messages::ITEM_TOO_LARGE));
    }
    Ok(key)
}

/// Checks a whole item that a client sent: its key, its index keys, its size.
pub(crate) fn bind_put(table: TableId, schema: &TableSchema, item: &Item) -> Result<BoundPut, BindFault> {
    let key = bind_item_key(table, schema, item)?;
    check_index_keys(schema, item)?;
    let item = EncodedItem::encode(item);
    if item.size_bytes() > ITEM_BYTES_MAX {
        return Err(BindFault::request(messages::ITEM_TOO_LARGE));
    }
    Ok(BoundPut { key, item })
}

/// Checks that index key attributes have the right types, are not empty and not too long.
pub(crate) fn check_index_keys(schema: &TableSchema, item: &Item) -> Result<(), BindFault> {
    for index in &schema.indexes {
        for (part, attribute) in parts(&index.key) {
            let Some(found) = item.get(&attribute.name) else { continue };
            let Some(value) = key_value(attribute, found) else {
                let actual = super::type_name(found);
                return Err(BindFault::action(messages::index_key_type_mismatch(
                    &attribute.name,
                    attribute.key_type,
                    actual,
                    &index.name,
                )));
            };
            if let Some(kind) = empty_kind(value) {
                let text = messages::empty_index_key_value(&attribute.name, kind, &index.name);
                return Err(BindFault::request(text));
            }
            check_size(part, value)?;
        }
    }
    Ok(())
}

/// Checks the result of an update: index keys that changed, and the size of the item.
///
/// Unchanged attributes are not checked: they may be older than the index.
pub(crate) fn check_updated(
    schema: &TableSchema,
    old: Option<&EncodedItem>,
    new: &EncodedItem,
) -> Result<(), BindFault> {
    for index in &schema.indexes {
        for (part, attribute) in parts(&index.key) {
            let Some(found) = new.view().get(&attribute.name) else { continue };
            let before = old.and_then(|item| item.view().get(&attribute.name));
            if before.is_some_and(|before| before == found) {
                continue;
            }
            let Some(value) = stored_value(attribute, found) else {
                return Err(BindFault::action(messages::UPDATED_INDEX_KEY_TYPE));
            };
            if let Some(kind) = empty_kind(value) {
                return Err(BindFault::action(messages::updated_index_key_empty(kind)));
            }
            if check_size(part, value).is_err() {
                return Err(BindFault::action(messages::UPDATED_INDEX_KEY_SIZE));
            }
        }
    }
    if new.size_bytes() > ITEM_BYTES_MAX {
        return Err(BindFault::action(messages::UPDATED_ITEM_TOO_LARGE));
    }
    Ok(())
}

/// UpdateItem's own size rule: the statement must not be larger than an item (observed).
///
/// It is checked before the condition. It does not apply to updates in transactions.
pub(crate) fn check_update_size(update: &Update) -> Result<(), BindFault> {
    if update.statement_bytes() > ITEM_BYTES_MAX {
        return Err(BindFault::action(messages::UPDATED_ITEM_TOO_LARGE));
    }
    Ok(())
}

/// Checks that an update does not change the key and does not go below key attributes.
pub(crate) fn check_update(schema: &TableSchema, update: &Update) -> Result<(), BindFault> {
    for attribute in schema.key.attributes() {
        if update.touches_attribute(&attribute.name) {
            return Err(BindFault::action(messages::cannot_update_key(&attribute.name)));
        }
    }
    check_known_types(schema, update)?;
    check_known_emptiness(schema, update)?;
    check_paths(schema, &update.paths())
}

/// Checks that no index key gets a value of another type, as far as the update alone shows.
fn check_known_types(schema: &TableSchema, update: &Update) -> Result<(), BindFault> {
    for (name, actual) in update.known_types() {
        for index in &schema.indexes {
            let key = index.key.attributes().find(|attribute| attribute.name == name);
            if let Some(key) = key.filter(|key| key.key_type.name() != actual) {
                let text = messages::index_key_type_mismatch(name, key.key_type, actual, &index.name);
                return Err(BindFault::action(text));
            }
        }
    }
    Ok(())
}

/// Checks that no index key is set to an empty value. Observed: a transaction is refused for it as a whole.
fn check_known_emptiness(schema: &TableSchema, update: &Update) -> Result<(), BindFault> {
    for (name, value) in update.known_values() {
        for index in &schema.indexes {
            let key = index.key.attributes().find(|attribute| attribute.name == name);
            let kind = key.and_then(|key| key_value(key, value)).and_then(empty_kind);
            if let Some(kind) = kind {
                return Err(BindFault::request(messages::updated_index_key_empty(kind)));
            }
        }
    }
    Ok(())
}

/// Checks that a condition does not go below key attributes.
pub(crate) fn check_condition(schema: &TableSchema, condition: Option<&Condition>) -> Result<(), BindFault> {
    match condition {
        Some(condition) => check_paths(schema, &condition.paths()),
        None => Ok(()),
    }
}

/// Checks that no path goes below a key attribute of the table or of an index.
pub(crate) fn check_paths(schema: &TableSchema, paths: &[&DocumentPath]) -> Result<(), BindFault> {
    let nested = |name: &str| paths.iter().any(|path| path.is_nested() && path.attribute == name);
    for attribute in schema.key.attributes() {
        if nested(&attribute.name) {
            return Err(BindFault::action(messages::key_must_be_scalar(&attribute.name)));
        }
    }
    for index in &schema.indexes {
        for attribute in index.key.attributes() {
            if nested(&attribute.name) {
                return Err(BindFault::action(messages::index_key_must_be_scalar(&attribute.name)));
            }
        }
    }
    Ok(())
}
