//! The key of a table that an endpoint describes, and which items have the same key.

use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::create_table::read_document;

/// The attributes of the table's key, partition first.
pub fn keys(description: &Json) -> Result<Vec<KeyAttribute>, String> {
    let tables = read_document(description)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let table = tables.first().ok_or("the endpoint describes no table")?;
    Ok(table.schema.key.attributes().cloned().collect())
}

/// A text that two items share only if they have the same key.
pub fn key_text(keys: &[KeyAttribute], item: &Item) -> String {
    let values: Vec<String> = keys.iter().map(|key| format!("{:?}", item.get(&key.name))).collect();
    values.join(" ")
}
