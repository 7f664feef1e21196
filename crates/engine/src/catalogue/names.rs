//! Stored states as responses name them.

use keywright_semantics::request::parts::KeyType as KeyRole;
use keywright_semantics::response::{
    IndexStatus as IndexStatusName, KeySchemaElement, TableStatus as TableStatusName,
};
use keywright_semantics::schema::{KeyAttribute, KeySchema};

use super::table::IndexStatus;
use super::table_state::TableStatus;

pub(crate) fn key_schema(key: &KeySchema) -> Vec<KeySchemaElement> {
    let partition = key.partition.iter().map(|attribute| (attribute, KeyRole::Hash));
    let sort = key.sort.iter().map(|attribute| (attribute, KeyRole::Range));
    let element = |(attribute, key_type): (&KeyAttribute, KeyRole)| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    partition.chain(sort).map(element).collect()
}

pub(crate) const fn status_name(status: TableStatus) -> TableStatusName {
    match status {
        TableStatus::Creating => TableStatusName::Creating,
        TableStatus::Updating => TableStatusName::Updating,
        TableStatus::Active => TableStatusName::Active,
        TableStatus::Deleting => TableStatusName::Deleting,
    }
}

pub(crate) const fn index_status_name(status: IndexStatus) -> IndexStatusName {
    match status {
        IndexStatus::Creating => IndexStatusName::Creating,
        IndexStatus::Updating => IndexStatusName::Updating,
        IndexStatus::Active => IndexStatusName::Active,
        IndexStatus::Deleting => IndexStatusName::Deleting,
    }
}
