//! DeleteItem: its typed request.

use super::checks::{self, Dialects, Member};
use super::conditional_write::{ConditionalWrite, ConditionalWriteParts};
use super::parts::DeleteItemParts;
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::Placeholders;
use crate::messages::Wording;
use crate::value::Item;

/// A DeleteItem validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct DeleteItem {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Attributes of the primary key, not yet compared with the table's schema.
    pub key: Item,
    /// Condition, returned images and reports.
    pub write: ConditionalWrite,
}

impl DeleteItem {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: DeleteItemParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        let values = checks::each_value(Some(&parts.key))
            .chain(checks::each_value(parts.expression_attribute_values.as_ref()))
            .chain(checks::each_expected(parts.expected.as_ref()));
        let wording = checks::wording_for(values);
        Self::validate_parts(parts, table, wording).map_err(|error| checks::enveloped(error, wording))
    }

    fn validate_parts(parts: DeleteItemParts, table: TableRef, wording: Wording) -> Result<Self, Error> {
        check_dialects(&parts, wording)?;
        let key = checks::item(parts.key, wording)?;
        let return_values = checks::return_old(parts.return_values)?;
        let expected = checks::expected(parts.expected.as_ref(), parts.conditional_operator)?;
        let placeholders = Placeholders::new(
            parts.expression_attribute_names.as_deref(),
            parts.expression_attribute_values.as_ref(),
            wording,
        )?;
        let shared = ConditionalWriteParts {
            condition: parts.condition_expression.as_ref(),
            expected,
            return_values,
            on_condition_failure: parts.return_values_on_condition_check_failure,
            capacity: parts.return_consumed_capacity,
            metrics: parts.return_item_collection_metrics,
        };
        let write = ConditionalWrite::parse(shared, placeholders)?;
        Ok(Self { table, key, write })
    }
}

fn check_dialects(parts: &DeleteItemParts, wording: Wording) -> Result<(), Error> {
    Dialects {
        legacy: &[
            Member::of("Expected", parts.expected.as_ref()),
            Member::of("ConditionalOperator", parts.conditional_operator.as_ref()),
        ],
        projection: &[],
        expressions: &[Member::of("ConditionExpression", parts.condition_expression.as_ref())],
        names: checks::names(parts.expression_attribute_names.as_ref()),
        values: checks::values(parts.expression_attribute_values.as_ref()),
        wording,
    }
    .check()
}
