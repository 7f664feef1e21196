//! PartiQL statements against their tables: each becomes the bound operation that the native request would be.
//!
//! There is no second way to read or write here: SELECT goes through the page loop or a plain get, INSERT, UPDATE and
//! DELETE through the write core, transactions through those of the native requests.

mod access;
mod batch;
mod position;
mod select;
mod statement;
mod transaction;
mod write;

use keywright_semantics::codec::{EncodedItem, EncodedItemBuilder};
use keywright_semantics::error::Error;
use keywright_semantics::expression::Work;
use keywright_semantics::partiql::{Column, KeyForms, KeyMatch, Select, Where};
use keywright_semantics::schema::KeySchema;
use keywright_semantics::value::Item;

use crate::lane::Pace;

pub(crate) use batch::batch_execute_statement;
pub(crate) use statement::execute_statement;
pub(crate) use transaction::execute_transaction;

/// What a clause says of the key's attributes; nothing at all if there is no clause.
fn key_match(key: &KeySchema, condition: Option<&Where>, forms: KeyForms) -> KeyMatch {
    let names: Vec<&str> = key.attributes().map(|attribute| attribute.name.as_str()).collect();
    let nothing = KeyMatch { key: Item::new(), contradicted: None, rest: None };
    condition.map_or(nothing, |condition| condition.key_match(&names, forms))
}

/// Whether a key has all attributes of its schema.
fn is_whole(schema: &KeySchema, key: &Item) -> bool {
    schema.attributes().all(|attribute| key.contains_key(&attribute.name))
}

/// The key of the one item that a SELECT names, and nothing else: what batches and transactions read.
fn sole_key(schema: &KeySchema, select: &Select) -> Option<Item> {
    let found = key_match(schema, select.condition.as_ref(), KeyForms::EqualOrIn);
    let is_plain = select.index.is_none() && select.order.is_empty() && found.rest.is_none();
    Some(found.key).filter(|key| is_plain && is_whole(schema, key))
}

/// What a SELECT returns of an item. Each column is looked for by itself.
async fn columns_of(
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
