//! PartiQL statements against their tables: each becomes the bound operation that the native request would be.
//!
//! There is no second way to read or write here: SELECT goes through the page loop or a plain get, INSERT, UPDATE and
//! DELETE through the write core, transactions through those of the native requests.

mod batch;
mod position;
mod select;
mod statement;
mod transaction;
mod write;

use keywright_semantics::codec::{EncodedItem, EncodedItemBuilder};
use keywright_semantics::partiql::{Column, KeyMatch, Select, Where};
use keywright_semantics::schema::KeySchema;

pub(crate) use batch::batch_execute_statement;
pub(crate) use statement::execute_statement;
pub(crate) use transaction::execute_transaction;

/// The one item that a clause names, and the conditions beside it.
fn key_match(key: &KeySchema, condition: Option<&Where>) -> Option<KeyMatch> {
    let names: Vec<&str> = key.attributes().map(|attribute| attribute.name.as_str()).collect();
    condition?.key_match(&names)
}

/// The key of the one item that a SELECT names, and nothing else: what batches and transactions read.
fn sole_key(key: &KeySchema, select: &Select) -> Option<KeyMatch> {
    let plain = select.index.is_none() && select.order.is_none();
    key_match(key, select.condition.as_ref()).filter(|found| plain && found.rest.is_none())
}

/// What a SELECT returns of an item.
fn columns_of(item: EncodedItem, columns: Option<&[Column]>) -> EncodedItem {
    let Some(columns) = columns else { return item };
    let view = item.view();
    let mut row = EncodedItemBuilder::new();
    for column in columns {
        if let Some(value) = column.path.find(view) {
            row.push(&column.name, value);
        }
    }
    row.finish()
}
