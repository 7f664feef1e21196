//! Scan: its typed request.

use std::num::NonZeroU32;

use super::checks::{self, Dialects, Member, Selection};
use super::common::{Consistency, SelectMode};
use super::parts::{ReturnConsumedCapacity, ScanParts};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Condition, ConditionKind, Placeholders, Projection};
use crate::limits::SCAN_SEGMENTS_MAX;
use crate::messages::{Wording, item as messages, shape};
use crate::value::Item;

/// One segment of a parallel scan. Invariant: `number < total`, `1 <= total <= 1,000,000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    number: u32,
    total: NonZeroU32,
}

impl Segment {
    /// The segment; `None` if its number is not below the total.
    pub fn new(number: u32, total: NonZeroU32) -> Option<Self> {
        (number < total.get()).then_some(Self { number, total })
    }

    /// The zero-based number of the segment.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// How many segments the scan is divided into.
    pub const fn total(self) -> NonZeroU32 {
        self.total
    }

    /// Validates `Segment` and `TotalSegments`, which a request has together or not at all.
    fn validate(number: Option<i64>, total: Option<i64>) -> Result<Option<Self>, Error> {
        let (number, total) = match (number, total) {
            (None, None) => return Ok(None),
            (Some(_), None) => return Err(Error::validation(messages::TOTAL_SEGMENTS_MISSING)),
            (None, Some(_)) => return Err(Error::validation(messages::SEGMENT_MISSING)),
            (Some(number), Some(total)) => (number, total),
        };
        if number >= total {
            return Err(Error::validation(messages::segment_beyond_total(number, total)));
        }
        let Ok(segment) = u32::try_from(number) else {
            return Err(checks::out_of_bounds("segment", number, &shape::value_at_least(0)));
        };
        let total_segments = u32::try_from(total).ok().filter(|total| *total <= SCAN_SEGMENTS_MAX);
        let Some(total_segments) = total_segments.and_then(NonZeroU32::new) else {
            let constraint = shape::value_at_most(i64::from(SCAN_SEGMENTS_MAX));
            return Err(checks::out_of_bounds("totalSegments", total, &constraint));
        };
        let segment = Self::new(segment, total_segments);
        assert!(segment.is_some(), "a segment's number is below the total");
        Ok(segment)
    }
}

/// A Scan validated as far as that is possible without the table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// The index to read; absent: the table itself.
    pub index: Option<String>,
    /// Applied to each row after it was read and metered.
    pub filter: Option<Condition>,
    /// The parts of the item to return; absent: the whole item.
    pub projection: Option<Projection>,
    /// Which attributes to return, if the client said so by `Select`.
    pub select: Option<SelectMode>,
    /// Rows that a page evaluates at most, before the filter.
    pub limit: Option<NonZeroU32>,
    /// The part of the table to read; absent: all of it.
    pub segment: Option<Segment>,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// Where the previous page ended, as the client sent it.
    pub exclusive_start_key: Option<Item>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl Scan {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(mut parts: ScanParts) -> Result<Self, Error> {
        let table = TableRef::of(std::mem::take(&mut parts.table_name))?;
        let limit = checks::limit(parts.limit, |value, constraint| {
            shape::echoed_violation(&value.to_string(), "limit", constraint)
        })?;
        check_dialects(&parts)?;
        checks::check_attributes_to_get(parts.attributes_to_get.as_ref())?;
        let legacy_filter =
            checks::filter(parts.scan_filter.as_ref(), parts.conditional_operator, Wording::Legacy)?;
        let select = selection(&parts).mode().map_err(Error::validation)?;
        let exclusive_start_key = checks::starting_key(parts.exclusive_start_key, Wording::Legacy)?;
        let segment = Segment::validate(parts.segment, parts.total_segments)?;
        let mut placeholders = Placeholders::new(
            parts.expression_attribute_names.as_deref(),
            parts.expression_attribute_values.as_ref(),
            Wording::Legacy,
        )?;
        let text = parts.filter_expression.as_ref();
        let filter = checks::condition(text, ConditionKind::Filter, &mut placeholders)?;
        let projection = checks::projection(
            parts.projection_expression.as_ref(),
            parts.attributes_to_get.as_ref(),
            &mut placeholders,
        )?;
        placeholders.finish()?;
        Ok(Self {
            table,
            index: parts.index_name,
            filter: filter.or(legacy_filter),
            projection,
            select,
            limit,
            segment,
            consistency: Consistency::of(parts.consistent_read),
            exclusive_start_key,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}

fn check_dialects(parts: &ScanParts) -> Result<(), Error> {
    Dialects {
        legacy: &[
            Member::of("AttributesToGet", parts.attributes_to_get.as_ref()),
            Member::of("ScanFilter", parts.scan_filter.as_ref()),
            Member::of("ConditionalOperator", parts.conditional_operator.as_ref()),
        ],
        projection: &[Member::of("ProjectionExpression", parts.projection_expression.as_ref())],
        expressions: &[Member::of("FilterExpression", parts.filter_expression.as_ref())],
        names: checks::names(parts.expression_attribute_names.as_ref()),
        values: checks::values(parts.expression_attribute_values.as_ref()),
        wording: Wording::Legacy,
    }
    .check()
}

fn selection(parts: &ScanParts) -> Selection<'_> {
    Selection {
        select: parts.select,
        projection_expression: parts.projection_expression.as_ref(),
        attributes_to_get: parts.attributes_to_get.as_ref(),
        index: parts.index_name.as_ref(),
    }
}
