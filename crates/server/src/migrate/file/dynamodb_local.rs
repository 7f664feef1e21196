//! Files of DynamoDB Local, such as `shared-local-instance.db`.
//!
//! `cf` has the version, `dm` a row for each table: its throughput and billing mode in columns, its key and
//! indexes in `TableInfo` as JSON. Each table has an SQLite table of its name with the items in `ObjectJSON`.
//! This is what files of the versions from 2018 to 2025 hold; there is no published description. Where a
//! file says more, such as its streams in `sm`, `ss` and `us`, it is not read.

use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;

use super::super::definition;
use super::sqlite::{Database, Found};
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// The version of files that is known: `v2.2.0` and `v2.4.0` were seen.
const VERSION: &str = "v2.";

/// The column `BillingMode` of an on-demand table.
const ON_DEMAND: &str = "1";

/// Whether it is such a file.
pub(super) fn is_one(database: &Database) -> Result<bool, Failure> {
    Ok(database.has("cf")? && database.has("dm")?)
}

/// Its tables.
pub(super) fn tables(database: &Database) -> Result<Vec<Found>, Failure> {
    let version = database.text("SELECT CAST(version AS TEXT) FROM cf")?.unwrap_or_default();
    if !version.starts_with(VERSION) {
        return Err(database.fault(&format!(
            "DynamoDB Local has written it with the version {} of its files, and only {VERSION}x is known: start \
             DynamoDB Local on it, and copy each table from its endpoint with --live",
            inline(&version)
        )));
    }
    let columns = [
        "TableName",
        "TableInfo",
        "ReadCapacityUnits",
        "WriteCapacityUnits",
        "BillingMode",
        "DeletionProtectionEnabled",
    ];
    let rows = database.select("dm", columns)?;
    rows.into_iter().map(|row| table(database, row)).collect()
}

fn table(database: &Database, row: [Option<String>; 6]) -> Result<Found, Failure> {
    let [name, info, read, write, billing, protection] = row;
    let name = name.unwrap_or_default();
    let fault = |text: &str| database.fault(&format!("the table {} in dm: {text}", inline(&name)));
    let info =
        Json::parse(&info.unwrap_or_default()).map_err(|error| fault(&format!("TableInfo: {error}")))?;
    let units = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let mut described = Json::object([
        ("TableName", Json::text(&name)),
        ("AttributeDefinitions", info.get("Attributes").cloned().unwrap_or(Json::Null)),
        ("KeySchema", key(&info).ok_or_else(|| fault("TableInfo does not say its key"))?),
        (
            "ProvisionedThroughput",
            Json::object([
                ("ReadCapacityUnits", Json::number(units(read))),
                ("WriteCapacityUnits", Json::number(units(write))),
            ]),
        ),
    ]);
    if billing.as_deref() == Some(ON_DEMAND) {
        described.set("BillingMode", Json::text("PAY_PER_REQUEST"));
    }
    for (list, member) in [("GSIList", "GlobalSecondaryIndexes"), ("LSIList", "LocalSecondaryIndexes")] {
        if let Some(indexes) = info.get(list) {
            described.set(member, indexes.clone());
        }
    }
    let named = |index: &Json| index.str_at("IndexName").map(str::to_owned);
    let known = ["GSIList", "LSIList"].iter().filter_map(|list| info.get(list)).flat_map(Json::elements);
    let known: Vec<String> = known.filter_map(named).collect();
    let columns = info.get("SQLiteIndex").map_or(&[][..], Json::members);
    if let Some((index, _)) = columns.iter().find(|(index, _)| !index.is_empty() && !known.contains(index)) {
        return Err(fault(&format!("TableInfo does not say what the index {} is", inline(index))));
    }
    let definition = definition::of_description(&described).map_err(|text| fault(&text))?;
    let deletion_protection = protection.as_deref() == Some("1");
    Ok(Found { definition: TableDefinition { deletion_protection, ..definition }, column: "ObjectJSON" })
}

/// The key schema, which stands under the index without a name.
fn key(info: &Json) -> Option<Json> {
    let elements = info.at(&["SQLiteIndex", ""])?.elements().iter().map(|element| {
        let name = element.at(&["DynamoDBAttribute", "AttributeName"])?;
        Some(Json::object([("AttributeName", name.clone()), ("KeyType", element.get("KeyType")?.clone())]))
    });
    elements.collect::<Option<Vec<_>>>().map(Json::List)
}
