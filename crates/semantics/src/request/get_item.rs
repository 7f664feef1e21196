//! GetItem: its typed request.

use super::checks::{self, Dialects, Member};
use super::common::Consistency;
use super::parts::{GetItemParts, ReturnConsumedCapacity};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Placeholders, Projection};
use crate::messages::Wording;
use crate::value::Item;

/// A GetItem validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct GetItem {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// Attributes of the primary key, not yet compared with the table's schema.
    pub key: Item,
    /// The parts of the item to return; absent: the whole item.
    pub projection: Option<Box<Projection>>,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl GetItem {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: GetItemParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        Dialects {
            legacy: &[Member::of("AttributesToGet", parts.attributes_to_get.as_ref())],
            projection: &[Member::of("ProjectionExpression", parts.projection_expression.as_ref())],
            expressions: &[],
            names: checks::names(parts.expression_attribute_names.as_ref()),
            values: checks::NO_VALUES,
            wording: Wording::Present,
        }
        .check()?;
        let key = checks::item(parts.key, Wording::Present)?;
        checks::check_attributes_to_get(parts.attributes_to_get.as_ref())?;
        let mut placeholders =
            Placeholders::new(parts.expression_attribute_names.as_deref(), None, Wording::Present)?;
        let projection = checks::projection(
            parts.projection_expression.as_ref(),
            parts.attributes_to_get.as_ref(),
            &mut placeholders,
        )?;
        placeholders.finish()?;
        Ok(Self {
            table,
            key,
            projection: projection.map(Box::new),
            consistency: Consistency::of(parts.consistent_read),
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}
