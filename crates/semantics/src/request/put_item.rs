//! PutItem: its typed request.

use super::checks::{self, Dialects, Member};
use super::conditional_write::{ConditionalWrite, ConditionalWriteParts};
use super::parts::PutItemParts;
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::Placeholders;
use crate::messages::Wording;
use crate::value::Item;

/// A PutItem validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct PutItem {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The whole item, keys included.
    pub item: Item,
    /// Condition, returned images and reports.
    pub write: ConditionalWrite,
}

impl PutItem {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: PutItemParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        let values = checks::each_value(Some(&parts.item))
            .chain(checks::each_value(parts.expression_attribute_values.as_ref()))
            .chain(checks::each_expected(parts.expected.as_ref()));
        let wording = checks::wording_for(values);
        Self::validate_parts(parts, table, wording).map_err(|error| checks::enveloped(error, wording))
    }

    fn validate_parts(parts: PutItemParts, table: TableRef, wording: Wording) -> Result<Self, Error> {
        check_dialects(&parts, wording)?;
        let item = checks::item(parts.item, wording)?;
        let return_values = checks::return_old(parts.return_values)?;
        checks::check_item_size(&item)?;
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
        Ok(Self { table, item, write })
    }
}

fn check_dialects(parts: &PutItemParts, wording: Wording) -> Result<(), Error> {
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
