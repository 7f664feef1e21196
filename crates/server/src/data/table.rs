//! What commands need to know of a table at an endpoint.

use std::time::Duration;

use keywright_model::json::Json;

use crate::client::endpoint::{Client, Refusal};
use crate::http::find_table::Found;
use crate::process::failure::Failure;

/// The error of a table that does not exist.
pub(crate) const NOT_FOUND: &str = "ResourceNotFoundException";

/// The pause between two looks at a table that is being changed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Looks before a change counts as stuck: an hour, since the service fills an index of a large table slowly.
const LOOKS_MAX: u32 = 36_000;

/// The answer of DescribeTable.
pub(crate) async fn describe(client: &mut Client, name: &str) -> Result<Json, Failure> {
    let request = Json::object([("TableName", Json::text(name))]);
    match client.ask_again("DescribeTable", &request).await {
        Ok(description) => Ok(description),
        Err(refusal) => Err(explained(client, name, refusal).await.text.into()),
    }
}

/// The kind of a refusal by an endpoint that does not have the operation.
pub(crate) const UNKNOWN_OPERATION: &str = "UnknownOperationException";

/// The answer of DescribeTable about a table that is only read, at an endpoint other than the command's own.
pub(crate) async fn describe_source(client: &mut Client, name: &str) -> Result<Json, Failure> {
    let request = Json::object([("TableName", Json::text(name))]);
    let refusal = match client.ask_again("DescribeTable", &request).await {
        Ok(description) => return Ok(description),
        Err(refusal) => refusal,
    };
    if refusal.kind != NOT_FOUND {
        return Err(refusal.into());
    }
    let found = client.find_table(name).await;
    let elsewhere = found.as_ref().map_or(&[][..], |found| &found.regions);
    let place = place_without(name, client, found.as_ref());
    Err(match elsewhere {
        [] => Failure::new(place).advising("correct the table, the endpoint or the region of --from"),
        [first, ..] => Failure::new(format!("{place}, but one of this name in {}", elsewhere.join(", ")))
            .advising(format!("pass --from-region {first}")),
    })
}

/// A refusal of a request to a table. If the table does not exist, the text says where it was looked for, and
/// in which other regions there is one of its name.
pub(crate) async fn explained(client: &mut Client, name: &str, mut refusal: Refusal) -> Refusal {
    if refusal.kind != NOT_FOUND {
        return refusal;
    }
    let found = client.find_table(name).await;
    // Otherwise an index, a stream or the like is missing.
    if found.as_ref().is_none_or(|found| !found.regions.contains(&found.region)) {
        refusal.text = missing(name, client, found.as_ref());
    }
    refusal
}

fn place_without(name: &str, client: &Client, found: Option<&Found>) -> String {
    let account = found.map(|found| format!(" of account {}", found.account)).unwrap_or_default();
    format!("{} has no table {name} in region {}{account}", client.endpoint, client.region)
}

fn missing(name: &str, client: &Client, found: Option<&Found>) -> String {
    let place = place_without(name, client, found);
    let elsewhere = found.map_or(&[][..], |found| &found.regions);
    match elsewhere {
        [] => format!("{place}: correct the name, or create it, for example with `keywright model apply`"),
        [first, ..] => {
            let regions = elsewhere.join(", ");
            format!("{place}, but one of this name in {regions}: pass --region {first}, or create it")
        }
    }
}

/// The number of items, as the endpoint counts them.
pub(crate) fn item_count(description: &Json) -> u64 {
    description.at(&["Table", "ItemCount"]).and_then(Json::as_u64).unwrap_or_default()
}

/// Waits until a table and its indexes are active.
pub(crate) async fn wait_until_active(client: &mut Client, name: &str) -> Result<(), Failure> {
    for _ in 0..LOOKS_MAX {
        let description = describe(client, name).await?;
        let table = description.get("Table").cloned().unwrap_or(Json::Null);
        let indexes = table.get("GlobalSecondaryIndexes").map_or(&[][..], Json::elements);
        let active = |status: Option<&str>| status.is_none_or(|status| status == "ACTIVE");
        if active(table.str_at("TableStatus"))
            && indexes.iter().all(|index| active(index.str_at("IndexStatus")))
        {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(Failure::new(format!("{name} is still not ACTIVE after an hour")))
}
