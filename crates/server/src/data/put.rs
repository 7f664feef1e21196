//! Puts items at an endpoint, and deletes some: in batches, or one by one where an existing item must stay.

use std::collections::BTreeSet;
use std::time::Duration;

use keywright_exchange::table_key::key_text;
use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use crate::client::endpoint::Client;
use crate::process::failure::Failure;

/// Items of one BatchWriteItem.
pub(crate) const BATCH_ITEMS_MAX: usize = keywright_semantics::limits::BATCH_WRITES_MAX;

/// Attempts at items that the endpoint leaves unprocessed.
const ROUNDS_MAX: u32 = 12;

/// The pause before unprocessed items are sent again; it doubles with each round.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum New {
    Put,
    /// An item with its key exists and stays as it is.
    WasThere,
}

/// Puts items, each over an existing one with its key. Of several items with one key the last one stays.
pub(crate) async fn batch(
    client: &mut Client,
    table: &str,
    keys: &[KeyAttribute],
    items: &[Item],
) -> Result<(), Failure> {
    let mut taken = BTreeSet::new();
    let mut requests = Vec::new();
    for item in items {
        // A batch with the same key twice is refused.
        if !taken.insert(key_text(keys, item)) {
            send(client, table, std::mem::take(&mut requests)).await?;
            taken = BTreeSet::from([key_text(keys, item)]);
        }
        let put = Json::object([("Item", write_item(item, &[]))]);
        requests.push(Json::object([("PutRequest", put)]));
    }
    send(client, table, requests).await
}

/// Sends requests of BatchWriteItem, at most [`BATCH_ITEMS_MAX`] and no two of one key, until all are done.
pub(crate) async fn send(client: &mut Client, table: &str, mut requests: Vec<Json>) -> Result<(), Failure> {
    let mut pause = PAUSE_MIN;
    for _ in 0..ROUNDS_MAX {
        if requests.is_empty() {
            return Ok(());
        }
        let request = Json::object([("RequestItems", Json::object([(table, Json::List(requests))]))]);
        let answer = client.ask_again("BatchWriteItem", &request).await?;
        requests =
            answer.at(&["UnprocessedItems", table]).map_or_else(Vec::new, |left| left.elements().to_vec());
        if !requests.is_empty() {
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
    Err(Failure::new(format!(
        "{table}: the endpoint does not take the items, though they were sent {ROUNDS_MAX} times"
    )))
}

/// Puts an item unless one with its key exists.
pub(crate) async fn new_item(
    client: &mut Client,
    table: &str,
    keys: &[KeyAttribute],
    item: &Item,
) -> Result<New, Failure> {
    let partition = keys.first().map(|key| key.name.clone()).unwrap_or_default();
    let request = Json::object([
        ("TableName", Json::text(table)),
        ("Item", write_item(item, &[])),
        ("ConditionExpression", Json::text("attribute_not_exists(#pk)")),
        ("ExpressionAttributeNames", Json::object([("#pk", Json::text(partition))])),
    ]);
    match client.ask_again("PutItem", &request).await {
        Ok(_) => Ok(New::Put),
        Err(refusal) if refusal.kind == "ConditionalCheckFailedException" => Ok(New::WasThere),
        Err(refusal) => Err(refusal.text.into()),
    }
}
