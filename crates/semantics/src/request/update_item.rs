//! UpdateItem: its typed request.

use super::checks::{self, Dialects, Member};
use super::conditional_write::{ConditionalWrite, ConditionalWriteParts};
use super::parts::{ReturnValue, UpdateItemParts};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Placeholders, Update, legacy, parse_update};
use crate::messages::Wording;
use crate::value::Item;

/// An UpdateItem validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct UpdateItem {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Attributes of the primary key, not yet compared with the table's schema.
    pub key: Item,
    /// What changes; absent: a missing item is created and an existing one stays unchanged.
    pub update: Option<Update>,
    /// Condition, returned images and reports.
    pub write: ConditionalWrite,
}

impl UpdateItem {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: UpdateItemParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        let values = checks::each_value(Some(&parts.key))
            .chain(checks::each_value(parts.expression_attribute_values.as_ref()))
            .chain(checks::each_expected(parts.expected.as_ref()))
            .chain(parts.attribute_updates.iter().flatten().filter_map(|(_, update)| update.value.as_ref()));
        let wording = checks::wording_for(values);
        Self::validate_parts(parts, table, wording).map_err(|error| checks::enveloped(error, wording))
    }

    fn validate_parts(parts: UpdateItemParts, table: TableRef, wording: Wording) -> Result<Self, Error> {
        check_dialects(&parts, wording)?;
        let key = checks::item(parts.key, wording)?;
        let updates = parts.attribute_updates.as_deref();
        updates.into_iter().flatten().try_for_each(|(name, _)| checks::check_name(name))?;
        let legacy_update = updates.map(legacy::attribute_updates).transpose()?;
        let expected = checks::expected(parts.expected.as_ref(), parts.conditional_operator)?;
        let mut placeholders = Placeholders::new(
            parts.expression_attribute_names.as_deref(),
            parts.expression_attribute_values.as_ref(),
            wording,
        )?;
        let text = parts.update_expression.as_deref();
        let update = text.map(|text| parse_update(text, &mut placeholders)).transpose()?;
        let shared = ConditionalWriteParts {
            condition: parts.condition_expression.as_ref(),
            expected,
            return_values: parts.return_values.unwrap_or(ReturnValue::None),
            on_condition_failure: parts.return_values_on_condition_check_failure,
            capacity: parts.return_consumed_capacity,
            metrics: parts.return_item_collection_metrics,
        };
        let write = ConditionalWrite::parse(shared, placeholders)?;
        Ok(Self { table, key, update: update.or(legacy_update), write })
    }
}

fn check_dialects(parts: &UpdateItemParts, wording: Wording) -> Result<(), Error> {
    Dialects {
        legacy: &[
            Member::of("AttributeUpdates", parts.attribute_updates.as_ref()),
            Member::of("Expected", parts.expected.as_ref()),
            Member::of("ConditionalOperator", parts.conditional_operator.as_ref()),
        ],
        projection: &[],
        expressions: &[
            Member::of("UpdateExpression", parts.update_expression.as_ref()),
            Member::of("ConditionExpression", parts.condition_expression.as_ref()),
        ],
        names: checks::names(parts.expression_attribute_names.as_ref()),
        values: checks::values(parts.expression_attribute_values.as_ref()),
        wording,
    }
    .check()
}
