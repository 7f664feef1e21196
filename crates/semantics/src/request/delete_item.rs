//! DeleteItem: its typed request.

use super::checks::{self, Dialects, Member};
use super::common::{OnConditionFailure, ReturnOld};
use super::parts::{DeleteItemParts, ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Condition, ConditionKind, Placeholders};
use crate::messages::Wording;
use crate::value::Item;

/// A DeleteItem validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct DeleteItem {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Attributes of the primary key, not yet compared with the table's schema.
    pub key: Item,
    /// What the item must satisfy before the write.
    pub condition: Option<Condition>,
    /// Which image of the item the response carries.
    pub return_values: ReturnOld,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
    /// Whether the response carries the sizes of item collections.
    pub metrics: ReturnItemCollectionMetrics,
}

impl DeleteItem {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: DeleteItemParts) -> Result<Self, Error> {
        let table = TableRef::parse(&parts.table_name)?;
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
        let mut placeholders = Placeholders::new(
            parts.expression_attribute_names.as_deref(),
            parts.expression_attribute_values.as_ref(),
            wording,
        )?;
        let text = parts.condition_expression.as_ref();
        let condition = checks::condition(text, ConditionKind::Condition, &mut placeholders)?;
        placeholders.finish()?;
        Ok(Self {
            table,
            key,
            condition: condition.or(expected),
            return_values,
            on_condition_failure: checks::on_condition_failure(
                parts.return_values_on_condition_check_failure,
            ),
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
            metrics: parts.return_item_collection_metrics.unwrap_or(ReturnItemCollectionMetrics::None),
        })
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
