//! A record of a file that is imported or put in bulk: an item, and for a bulk put a condition.
//!
//! It does not know file formats, tables or keys.

use super::checks::{self, Dialects, Member};
use super::parts::AttributeMapPart;
use crate::error::Error;
use crate::expression::{Condition, ConditionKind, Placeholders};
use crate::messages::{Wording, files};
use crate::value::Item;

/// The members of a record as its file has them, with their types checked and nothing validated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileRecordParts {
    /// Member `Item`.
    pub item: Option<AttributeMapPart>,
    /// Member `ConditionExpression`.
    pub condition_expression: Option<String>,
    /// Member `ExpressionAttributeNames`.
    pub expression_attribute_names: Option<Vec<(String, String)>>,
    /// Member `ExpressionAttributeValues`.
    pub expression_attribute_values: Option<AttributeMapPart>,
}

/// A record, validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct FileRecord {
    /// The whole item. Keys may be missing or of another type.
    pub item: Item,
    /// The condition under which the item is put; none in an import.
    pub condition: Option<Condition>,
}

impl FileRecord {
    /// The item of a record of an import, which has no condition: other members are not looked at.
    pub fn imported(parts: FileRecordParts) -> Result<Self, Error> {
        Ok(Self { item: item(parts.item)?, condition: None })
    }

    /// The item and condition of a record of a bulk put, checked as PutItem checks its own.
    pub fn put(parts: FileRecordParts) -> Result<Self, Error> {
        let names = parts.expression_attribute_names.as_ref();
        let values = parts.expression_attribute_values.as_ref();
        Dialects {
            legacy: &[],
            projection: &[],
            expressions: &[Member::of("ConditionExpression", parts.condition_expression.as_ref())],
            names: checks::names(names),
            values: checks::values(values),
            wording: WORDING,
        }
        .check()?;
        let item = item(parts.item)?;
        let mut placeholders = Placeholders::new(names.map(Vec::as_slice), values, WORDING)?;
        let text = parts.condition_expression.as_ref();
        let condition = checks::condition(text, ConditionKind::Condition, &mut placeholders)?;
        placeholders.finish()?;
        Ok(Self { item, condition })
    }
}

/// The generation of texts in which records' faults are worded.
const WORDING: Wording = Wording::Present;

fn item(part: Option<AttributeMapPart>) -> Result<Item, Error> {
    let part = part.ok_or_else(|| Error::validation(files::ITEM_MISSING))?;
    let item = checks::item(part, WORDING)?;
    checks::check_item_size(&item)?;
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{AttributeValue, ValueFault};

    fn parts(condition: Option<&str>) -> FileRecordParts {
        FileRecordParts {
            item: Some(vec![("pk".to_owned(), Ok(AttributeValue::from("1")))]),
            condition_expression: condition.map(str::to_owned),
            expression_attribute_names: Some(vec![("#p".to_owned(), "pk".to_owned())]),
            expression_attribute_values: None,
        }
    }

    #[test]
    fn a_bulk_put_has_a_condition_and_an_import_has_none() {
        let condition = "attribute_not_exists(#p)";
        assert!(FileRecord::put(parts(Some(condition))).unwrap().condition.is_some());
        assert!(FileRecord::imported(parts(Some(condition))).unwrap().condition.is_none());
    }

    #[test]
    fn placeholders_and_conditions_are_checked_as_those_of_a_put() {
        let fault = |parts| FileRecord::put(parts).unwrap_err().message;
        assert_eq!(
            fault(parts(None)),
            "ExpressionAttributeNames can only be specified when using expressions"
        );
        assert!(fault(parts(Some("attribute_exists("))).starts_with("Invalid ConditionExpression: "));
        assert!(fault(parts(Some("attribute_exists(pk)"))).contains("unused in expressions"));
    }

    #[test]
    fn an_item_is_refused_for_its_values_its_size_and_its_absence() {
        let fault = |item| {
            let parts = FileRecordParts { item, ..FileRecordParts::default() };
            FileRecord::imported(parts).unwrap_err().message
        };
        assert_eq!(fault(None), files::ITEM_MISSING);
        let empty = vec![("a".to_owned(), Err(ValueFault::Empty))];
        assert!(fault(Some(empty)).starts_with("Supplied AttributeValue is empty"));
        let long = AttributeValue::S("x".repeat(crate::limits::ITEM_BYTES_MAX));
        assert_eq!(
            fault(Some(vec![("a".to_owned(), Ok(long))])),
            crate::messages::data_plane::ITEM_TOO_LARGE
        );
        assert_eq!(fault(Some(vec![(String::new(), Ok(AttributeValue::Null))])), "Empty attribute name");
    }
}
