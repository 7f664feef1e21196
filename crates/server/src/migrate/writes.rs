//! The last state of items, put or deleted at the target in batches.

use std::collections::BTreeMap;

use keywright_exchange::table_key::key_text;
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use crate::client::endpoint::Client;
use crate::data::put;
use crate::process::failure::Failure;

/// One change of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) key: Item,
    /// The item after the change; `None` if it was deleted.
    pub(crate) image: Option<Item>,
}

/// The last change of each item, by a text of its key.
pub(crate) fn last_of_each(keys: &[KeyAttribute], changes: Vec<Change>) -> BTreeMap<String, Change> {
    changes.into_iter().map(|change| (key_text(keys, &change.key), change)).collect()
}

/// The members of an item that are its key.
pub(crate) fn key_of(keys: &[KeyAttribute], item: &Item) -> Option<Item> {
    keys.iter().map(|key| Some((key.name.clone(), item.get(&key.name)?.clone()))).collect()
}

/// Puts and deletes; no two of the changes are of one item.
pub(crate) async fn apply<'c>(
    client: &mut Client,
    table: &str,
    changes: impl Iterator<Item = &'c Change>,
) -> Result<(), Failure> {
    let mut requests = changes.map(|change| {
        let (name, member, item) = match &change.image {
            Some(image) => ("PutRequest", "Item", image),
            None => ("DeleteRequest", "Key", &change.key),
        };
        Json::object([(name, Json::object([(member, write_item(item, &[]))]))])
    });
    loop {
        let batch: Vec<Json> = requests.by_ref().take(put::BATCH_ITEMS_MAX).collect();
        if batch.is_empty() {
            return Ok(());
        }
        put::send(client, table, batch).await?;
    }
}
