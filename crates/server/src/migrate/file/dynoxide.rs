//! Database files and snapshots of dynoxide.
//!
//! `_config` has the version of the schema, `_tables` a row for each table with its parts as JSON in columns.
//! Each table has an SQLite table of its name with the items in `item_json`. Source: dynoxide 3.2.0, whose
//! schema has the version 11; files of older versions lack some columns.

use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::request::parts::StreamViewType;

use super::super::definition;
use super::sqlite::{Database, Found};
use crate::process::failure::Failure;
use crate::process::foreign::inline;

/// The latest version of the schema that is known.
const VERSION_MAX: u64 = 11;

const ON: &str = "1";

/// Whether it is such a file.
pub(super) fn is_one(database: &Database) -> Result<bool, Failure> {
    Ok(database.has("_config")? && database.has("_tables")?)
}

/// Its tables.
pub(super) fn tables(database: &Database) -> Result<Vec<Found>, Failure> {
    let version = database.text("SELECT CAST(value AS TEXT) FROM _config WHERE key = 'schema_version'")?;
    let number = version.as_deref().unwrap_or("1").trim().parse::<u64>();
    if !number.is_ok_and(|number| number <= VERSION_MAX) {
        return Err(database.fault(&format!(
            "a newer dynoxide has written it, with the version {} of its schema, and {VERSION_MAX} is the latest \
             that is known: start dynoxide on it, and copy each table from its endpoint with --live",
            inline(&version.unwrap_or_default())
        )));
    }
    let columns = [
        "table_name",
        "key_schema",
        "attribute_definitions",
        "gsi_definitions",
        "lsi_definitions",
        "billing_mode",
        "provisioned_throughput",
        "stream_enabled",
        "stream_view_type",
        "ttl_enabled",
        "ttl_attribute",
        "deletion_protection_enabled",
    ];
    database.select("_tables", columns)?.into_iter().map(|row| table(database, row)).collect()
}

fn table(database: &Database, row: [Option<String>; 12]) -> Result<Found, Failure> {
    let [name, key, attributes, global, local, billing, units, has_stream, view, has_ttl, ttl, protection] =
        row;
    let name = name.unwrap_or_default();
    let fault = |text: &str| database.fault(&format!("the table {} in _tables: {text}", inline(&name)));
    let mut described = Json::object([("TableName", Json::text(&name))]);
    for (member, text) in [
        ("KeySchema", key),
        ("AttributeDefinitions", attributes),
        ("GlobalSecondaryIndexes", global),
        ("LocalSecondaryIndexes", local),
        ("ProvisionedThroughput", units),
    ] {
        if let Some(text) = text {
            let json = Json::parse(&text).map_err(|error| fault(&format!("{member}: {error}")))?;
            described.set(member, json);
        }
    }
    if let Some(mode) = billing {
        described.set("BillingMode", Json::text(mode));
    }
    let is_on = |column: Option<String>| column.as_deref() == Some(ON);
    let definition = TableDefinition {
        stream: view.and_then(|view| StreamViewType::from_name(&view)).filter(|_| is_on(has_stream)),
        ttl: ttl.filter(|_| is_on(has_ttl)),
        deletion_protection: is_on(protection),
        ..definition::of_description(&described).map_err(|text| fault(&text))?
    };
    Ok(Found { definition, column: "item_json" })
}
