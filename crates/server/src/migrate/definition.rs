//! The table to create: as it is described, as a file describes it, or as `--key` and `--sort` say.

use std::path::Path;
use std::str::FromStr;

use keywright_exchange::create_table::{key_type, read_document};
use keywright_exchange::fault::ExchangeFault;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::schema::{KeyAttribute, KeySchema, TableSchema};

use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// An attribute of the key as the command line names it, with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyArgument(KeyAttribute);

impl FromStr for KeyArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let attribute = text.rsplit_once(':').and_then(|(name, kind)| {
            let key_type = key_type(kind)?;
            (!name.is_empty()).then(|| KeyAttribute { name: name.to_owned(), key_type })
        });
        let form = "write the attribute with its type, S, N or B: pk:S";
        attribute.map(Self).ok_or_else(|| form.to_owned())
    }
}

/// An on-demand table with this key.
pub(crate) fn with_key(name: &str, partition: &KeyArgument, sort: Option<&KeyArgument>) -> TableDefinition {
    let key = KeySchema {
        partition: vec![partition.0.clone()],
        sort: sort.map(|sort| sort.0.clone()).into_iter().collect(),
    };
    TableDefinition::new(name, TableSchema { key, indexes: Vec::new() })
}

/// The table that a description describes: the answer of DescribeTable, or members of that name.
pub(crate) fn of_description(description: &Json) -> Result<TableDefinition, String> {
    let faults = |faults: Vec<ExchangeFault>| {
        faults.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ")
    };
    let tables = read_document(description).map_err(faults)?;
    match <[TableDefinition; 1]>::try_from(tables) {
        Ok([table]) => Ok(table),
        Err(tables) => Err(format!("it describes {} tables, not one", tables.len())),
    }
}

/// The table that a file describes: the answer of DescribeTable, or a request of CreateTable.
pub(crate) fn like(path: &Path) -> Result<TableDefinition, Failure> {
    let text = std::fs::read_to_string(path).map_err(failed("read", path))?;
    let fault = |text: &str| {
        Failure::new(format!("{}: {text}", path.display()))
            .advising("write what `aws dynamodb describe-table --table-name NAME` prints to it")
    };
    let json = Json::parse(&text).map_err(|error| fault(&error.to_string()))?;
    of_description(&json).map_err(|text| fault(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keywright_semantics::schema::KeyType;

    #[test]
    fn an_attribute_of_a_key_has_a_type() {
        let read = |text: &str| text.parse::<KeyArgument>();
        let (partition, sort) = (read("a:b:S").unwrap(), read("sk:N").unwrap());
        let key = with_key("T", &partition, Some(&sort)).schema.key;
        assert_eq!(key.partition, [KeyAttribute { name: "a:b".to_owned(), key_type: KeyType::S }]);
        assert_eq!(key.sort, [KeyAttribute { name: "sk".to_owned(), key_type: KeyType::N }]);
        for text in ["", "pk", "pk:X", ":S"] {
            assert!(read(text).unwrap_err().contains("pk:S"), "{text}");
        }
    }
}
