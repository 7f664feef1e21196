//! The members of a file's record from its JSON. Items are read as those of requests are.

use keywright_semantics::error::Error;
use keywright_semantics::request::FileRecordParts;

use super::build::{FromNode, Members, structures};
use super::types;
use crate::json::Node;
use crate::shapes::FILE_RECORD;

structures! {
    FileRecordParts {
        item: "Item",
        condition_expression: "ConditionExpression",
        expression_attribute_names: "ExpressionAttributeNames",
        expression_attribute_values: "ExpressionAttributeValues",
    }
}

/// The record in an object, or its first member of a wrong type.
pub(crate) fn file_record(mut node: Node<'_>) -> Result<FileRecordParts, Error> {
    types::check(&FILE_RECORD, &mut node)?;
    FileRecordParts::from_node(node)
}
