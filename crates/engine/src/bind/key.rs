//! Keys of items: checked against the table's key schema, and encoded as store keys.

use bytes::Bytes;
use keywright_semantics::codec::{MapRef, ValueRef};
use keywright_semantics::key::{KeyValueRef, PartitionHash};
use keywright_semantics::limits::{PARTITION_KEY_BYTES_MAX, SORT_KEY_BYTES_MAX};
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::messages::data_plane::EmptyKind;
use keywright_semantics::schema::{IndexKind, KeyAttribute, KeySchema, TableSchema};
use keywright_semantics::value::{AttributeValue, Item};

use super::BindFault;
use crate::support::layout::{self, TableId};

/// An item's key in the store, and what its index entries and its collection need of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ItemKey {
    pub row: Bytes,
    /// The hash that distinguishes index entries; only for tables with indexes.
    pub base: Option<PartitionHash>,
    /// The key of the collection's size; only for tables with local indexes.
    pub collection: Option<Bytes>,
}

/// A value as key bytes need it, if it has the type of the key attribute.
pub(crate) fn key_value<'a>(attribute: &KeyAttribute, value: &'a AttributeValue) -> Option<KeyValueRef<'a>> {
    KeyValueRef::from_value(value).filter(|value| value.key_type() == attribute.key_type)
}

/// A stored value as key bytes need it, if it has the type of the key attribute.
pub(crate) fn stored_value<'a>(attribute: &KeyAttribute, value: ValueRef<'a>) -> Option<KeyValueRef<'a>> {
    KeyValueRef::from_view(value).filter(|value| value.key_type() == attribute.key_type)
}

/// The values of these key attributes, if the stored item has all of them with the right types.
pub(crate) fn stored_values<'a>(
    attributes: &[KeyAttribute],
    item: MapRef<'a>,
) -> Option<Vec<KeyValueRef<'a>>> {
    attributes.iter().map(|attribute| stored_value(attribute, item.get(&attribute.name)?)).collect()
}

/// The kind of an empty key value; `None` if the value is not empty.
pub(crate) fn empty_kind(value: KeyValueRef<'_>) -> Option<EmptyKind> {
    let kind = match value {
        KeyValueRef::S(_) => EmptyKind::String,
        KeyValueRef::B(_) => EmptyKind::Binary,
        KeyValueRef::N(_) => return None,
    };
    value.is_empty().then_some(kind)
}

/// Which of a key's two parts an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPart {
    Partition,
    Sort,
}

/// Checks one key value's size.
pub(crate) fn check_size(part: KeyPart, value: KeyValueRef<'_>) -> Result<(), BindFault> {
    match part {
        KeyPart::Partition if value.size_bytes() > PARTITION_KEY_BYTES_MAX => {
            Err(BindFault::action(messages::PARTITION_KEY_TOO_LARGE))
        }
        KeyPart::Sort if value.size_bytes() > SORT_KEY_BYTES_MAX => {
            Err(BindFault::action(messages::SORT_KEY_TOO_LARGE))
        }
        KeyPart::Partition | KeyPart::Sort => Ok(()),
    }
}

/// A key's attributes with their parts, partition first.
pub(crate) fn parts(key: &KeySchema) -> impl Iterator<Item = (KeyPart, &KeyAttribute)> {
    let partition = key.partition.iter().map(|attribute| (KeyPart::Partition, attribute));
    partition.chain(key.sort.iter().map(|attribute| (KeyPart::Sort, attribute)))
}

/// The wording of a fault in a key value.
#[derive(Clone, Copy)]
enum Wording {
    /// `Key` of an operation: any mismatch has one text.
    Key,
    /// The key in a whole item: the text names the attribute and its type.
    Item,
}

fn checked_value<'a>(
    (part, attribute): (KeyPart, &KeyAttribute),
    item: &'a Item,
    wording: Wording,
) -> Result<KeyValueRef<'a>, BindFault> {
    let found = item.get(&attribute.name);
    let value = found.and_then(|value| key_value(attribute, value));
    let value = match (value, found, wording) {
        (Some(value), _, _) => value,
        (None, _, Wording::Key) => return Err(BindFault::action(messages::KEY_DOES_NOT_MATCH_SCHEMA)),
        (None, None, Wording::Item) => return Err(BindFault::action(messages::missing_key(&attribute.name))),
        (None, Some(found), Wording::Item) => {
            let text =
                messages::key_type_mismatch(&attribute.name, attribute.key_type, super::type_name(found));
            return Err(BindFault::action(text));
        }
    };
    if let Some(kind) = empty_kind(value) {
        return Err(BindFault::request(messages::empty_key_value(&attribute.name, kind)));
    }
    check_size(part, value)?;
    Ok(value)
}

/// A table's key values: a partition key and, if the table has one, a sort key.
struct KeyValues<'a> {
    partition: KeyValueRef<'a>,
    sort: Option<KeyValueRef<'a>>,
}

impl<'a> KeyValues<'a> {
    fn bind(schema: &TableSchema, item: &'a Item, wording: Wording) -> Result<Self, BindFault> {
        let mut values = parts(&schema.key).map(|part| checked_value(part, item, wording));
        let partition =
            values.next().ok_or_else(|| BindFault::action(messages::KEY_DOES_NOT_MATCH_SCHEMA))??;
        Ok(Self { partition, sort: values.next().transpose()? })
    }

    /// Binds a `Key` that a client sent: it has exactly the table's key attributes.
    fn bind_key(schema: &TableSchema, key: &'a Item) -> Result<Self, BindFault> {
        if key.len() != schema.key.partition.len() + schema.key.sort.len() {
            return Err(BindFault::action(messages::KEY_DOES_NOT_MATCH_SCHEMA));
        }
        Self::bind(schema, key, Wording::Key)
    }

    fn place(&self, table: TableId, schema: &TableSchema) -> ItemKey {
        let has_local = schema.indexes.iter().any(|index| index.kind == IndexKind::Local);
        ItemKey {
            row: layout::item_key(table, self.partition, self.sort),
            base: (!schema.indexes.is_empty()).then(|| layout::base_key_hash(self.partition, self.sort)),
            collection: has_local.then(|| layout::collection_key(table, self.partition)),
        }
    }
}

/// The store key of the item whose `Key` a client sent: all that a read needs.
pub(crate) fn bind_row(table: TableId, schema: &TableSchema, key: &Item) -> Result<Bytes, BindFault> {
    let values = KeyValues::bind_key(schema, key)?;
    Ok(layout::item_key(table, values.partition, values.sort))
}

/// The keys of the item whose `Key` a client sent.
pub(crate) fn bind_key(table: TableId, schema: &TableSchema, key: &Item) -> Result<ItemKey, BindFault> {
    Ok(KeyValues::bind_key(schema, key)?.place(table, schema))
}

/// Whether no two of the keys name one item.
pub(crate) fn are_distinct<'k>(keys: impl Iterator<Item = &'k ItemKey>) -> bool {
    let mut rows: Vec<&[u8]> = keys.map(|key| key.row.as_ref()).collect();
    rows.sort_unstable();
    rows.is_sorted_by(|one, next| one < next)
}

/// The keys of a whole item, checked with the texts of a `Key`, as BatchWriteItem does.
pub(crate) fn bind_key_within(
    table: TableId,
    schema: &TableSchema,
    item: &Item,
) -> Result<ItemKey, BindFault> {
    Ok(KeyValues::bind(schema, item, Wording::Key)?.place(table, schema))
}

/// The keys of a whole item that a client sent.
pub(crate) fn bind_item_key(table: TableId, schema: &TableSchema, item: &Item) -> Result<ItemKey, BindFault> {
    Ok(KeyValues::bind(schema, item, Wording::Item)?.place(table, schema))
}
