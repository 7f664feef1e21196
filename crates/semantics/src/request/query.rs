//! Query: its typed request.

use std::num::NonZeroU32;

use super::checks::{self, Dialects, Member, Selection};
use super::common::{Consistency, SelectMode, SortOrder};
use super::parts::{QueryParts, ReturnConsumedCapacity};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{
    Condition, ConditionKind, KeyCondition, ParsedKey, Placeholders, Projection, legacy, parse_key,
};
use crate::messages::{Wording, item as messages, shape};
use crate::value::Item;

/// The dialect of a filter; error messages name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterDialect {
    /// `FilterExpression`.
    #[default]
    Expression,
    /// `QueryFilter`.
    Legacy,
}

/// A Query validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct Query {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The index to read; absent: the table itself.
    pub index: Option<String>,
    /// Which partition to read and which range of sort keys.
    pub key_condition: KeyCondition,
    /// Applied to each row after it was read and metered.
    pub filter: Option<Condition>,
    /// Decides the text of an error about the filter.
    pub filter_dialect: FilterDialect,
    /// The parts of the item to return; absent: the whole item.
    pub projection: Option<Projection>,
    /// Which attributes to return, if the client said so by `Select`.
    pub select: Option<SelectMode>,
    /// Rows that a page evaluates at most, before the filter.
    pub limit: Option<NonZeroU32>,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// The order of the rows on a page.
    pub order: SortOrder,
    /// Where the previous page ended, as the client sent it.
    pub exclusive_start_key: Option<Item>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl Query {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: QueryParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        let limit =
            checks::limit(parts.limit, |_, constraint| shape::unechoed_violation("Limit", constraint))?;
        check_dialects(&parts)?;
        let legacy_filter =
            checks::filter(parts.query_filter.as_ref(), parts.conditional_operator, Wording::Present)?;
        checks::check_attributes_to_get(parts.attributes_to_get.as_ref())?;
        let select =
            selection(&parts).mode().map_err(|text| Error::validation(messages::enveloped(&text)))?;
        let exclusive_start_key = checks::starting_key(parts.exclusive_start_key, Wording::Present)?;
        if parts.key_conditions.is_none() && parts.key_condition_expression.is_none() {
            return Err(Error::validation(messages::NO_KEY_CONDITION));
        }
        let mut placeholders = Placeholders::new(
            parts.expression_attribute_names.as_deref(),
            parts.expression_attribute_values.as_ref(),
            Wording::Present,
        )?;
        let text = parts.key_condition_expression.as_deref();
        let key_condition = text.map(|text| parse_key(text, &mut placeholders)).transpose()?;
        let text = parts.filter_expression.as_ref();
        let filter = checks::condition(text, ConditionKind::Filter, &mut placeholders)?;
        let projection = checks::projection(
            parts.projection_expression.as_ref(),
            parts.attributes_to_get.as_ref(),
            &mut placeholders,
        )?;
        placeholders.finish()?;
        // Observed: the rules of key conditions are checked after the faults of all other expressions.
        let key_condition = match key_condition {
            Some(ParsedKey::Usual(condition)) => condition,
            Some(ParsedKey::Other(condition)) => KeyCondition::from_condition(condition)?,
            None => legacy::key_conditions(&parts.key_conditions.unwrap_or_default())?,
        };
        Ok(Self {
            table,
            index: parts.index_name,
            key_condition,
            filter_dialect: match legacy_filter {
                Some(_) => FilterDialect::Legacy,
                None => FilterDialect::Expression,
            },
            filter: filter.or(legacy_filter),
            projection,
            select,
            limit,
            consistency: Consistency::of(parts.consistent_read),
            order: SortOrder::of(parts.scan_index_forward),
            exclusive_start_key,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}

/// Observed: `KeyConditions` may be used together with expressions, except with `KeyConditionExpression`.
fn check_dialects(parts: &QueryParts) -> Result<(), Error> {
    let contested = parts.key_conditions.as_ref().filter(|_| parts.key_condition_expression.is_some());
    Dialects {
        legacy: &[
            Member::of("AttributesToGet", parts.attributes_to_get.as_ref()),
            Member::of("QueryFilter", parts.query_filter.as_ref()),
            Member::of("ConditionalOperator", parts.conditional_operator.as_ref()),
            Member::of("KeyConditions", contested),
        ],
        projection: &[Member::of("ProjectionExpression", parts.projection_expression.as_ref())],
        expressions: &[
            Member::of("FilterExpression", parts.filter_expression.as_ref()),
            Member::of("KeyConditionExpression", parts.key_condition_expression.as_ref()),
        ],
        names: checks::names(parts.expression_attribute_names.as_ref()),
        values: checks::values(parts.expression_attribute_values.as_ref()),
        wording: Wording::Present,
    }
    .check()
}

fn selection(parts: &QueryParts) -> Selection<'_> {
    Selection {
        select: parts.select,
        projection_expression: parts.projection_expression.as_ref(),
        attributes_to_get: parts.attributes_to_get.as_ref(),
        index: parts.index_name.as_ref(),
    }
}
