//! The key that a clause names, and the columns that a SELECT returns.

use keywright_semantics::codec::{EncodedItem, EncodedItemBuilder};
use keywright_semantics::error::Error;
use keywright_semantics::expression::Work;
use keywright_semantics::partiql::{Column, KeyForms, KeyMatch, Select, Where};
use keywright_semantics::schema::KeySchema;
use keywright_semantics::value::Item;

use crate::support::lane::Pace;

/// The key attributes that a clause fixes; none if there is no clause.
pub(super) fn key_match(key: &KeySchema, condition: Option<&Where>, forms: KeyForms) -> KeyMatch {
    let names: Vec<&str> = key.attributes().map(|attribute| attribute.name.as_str()).collect();
    let nothing = KeyMatch { key: Item::new(), contradicted: None, rest: None };
    condition.map_or(nothing, |condition| condition.key_match(&names, forms))
}

/// Whether a key has all attributes of its schema.
pub(super) fn is_whole(schema: &KeySchema, key: &Item) -> bool {
    schema.attributes().all(|attribute| key.contains_key(&attribute.name))
}

/// The key of the one item that a SELECT names. Batches and transactions accept only such a SELECT.
pub(super) fn sole_key(schema: &KeySchema, select: &Select) -> Option<Item> {
    let found = key_match(schema, select.condition.as_ref(), KeyForms::EqualOrIn);
    let is_plain = select.index.is_none() && select.order.is_empty() && found.rest.is_none();
    Some(found.key).filter(|key| is_plain && is_whole(schema, key))
}

/// The columns that a SELECT returns of an item. Each column is found by a walk of its own.
pub(super) async fn columns_of(
    pace: &mut Pace<'_>,
    item: EncodedItem,
    columns: Option<&[Column]>,
) -> Result<EncodedItem, Error> {
    let Some(columns) = columns else { return Ok(item) };
    let steps = Work::walks(columns.len()).steps(item.size_bytes());
    pace.turn(steps, |_| picked(&item, columns)).await
}

fn picked(item: &EncodedItem, columns: &[Column]) -> EncodedItem {
    let view = item.view();
    let mut row = EncodedItemBuilder::new();
    for column in columns {
        if let Some(value) = column.path.find(view) {
            row.push(&column.name, value);
        }
    }
    row.finish()
}
