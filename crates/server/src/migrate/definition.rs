//! The table to create: as it is described, as a file describes it, or as `--key pk:S,sk:N` says.

use std::path::Path;
use std::str::FromStr;

use keywright_exchange::create_table::{key_type, read_document};
use keywright_exchange::fault::ExchangeFault;
use keywright_model::json::Json;
use keywright_model::tables::TableDefinition;
use keywright_semantics::schema::{KeyAttribute, KeySchema, TableSchema};

use crate::process::failure::Failure;
use crate::process::io_fault::failed;

/// A key as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyArgument(KeySchema);

impl FromStr for KeyArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write the partition key and the sort key with their types, S, N or B: pk:S or pk:S,sk:N";
        let attributes: Option<Vec<KeyAttribute>> = text
            .split(',')
            .map(|part| {
                let (name, kind) = part.rsplit_once(':')?;
                let key_type = key_type(kind)?;
                (!name.is_empty()).then(|| KeyAttribute { name: name.to_owned(), key_type })
            })
            .collect();
        let mut attributes = attributes.ok_or(form)?.into_iter();
        let partition: Vec<KeyAttribute> = attributes.by_ref().take(1).collect();
        let sort: Vec<KeyAttribute> = attributes.collect();
        if partition.is_empty() || sort.len() > 1 || sort.first() == partition.first() {
            return Err(form.to_owned());
        }
        Ok(Self(KeySchema { partition, sort }))
    }
}

impl KeyArgument {
    /// An on-demand table with this key.
    pub(crate) fn definition(&self, name: &str) -> TableDefinition {
        TableDefinition::new(name, TableSchema { key: self.0.clone(), indexes: Vec::new() })
    }
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
    fn a_key_has_one_or_two_attributes_with_their_types() {
        let read = |text: &str| text.parse::<KeyArgument>().map(|key| key.definition("T").schema.key);
        let key = read("a:b:S,sk:N").unwrap();
        assert_eq!(key.partition, [KeyAttribute { name: "a:b".to_owned(), key_type: KeyType::S }]);
        assert_eq!(key.sort, [KeyAttribute { name: "sk".to_owned(), key_type: KeyType::N }]);
        assert!(read("pk:B").is_ok());
        for text in ["", "pk", "pk:X", ":S", "pk:S,pk:S", "a:S,b:S,c:S", "pk:S,"] {
            assert!(read(text).unwrap_err().contains("pk:S,sk:N"), "{text}");
        }
    }
}
