//! Scan: its typed request.

use std::num::NonZeroU32;

use super::common::{Consistency, SelectMode};
use super::parts::ReturnConsumedCapacity;
use super::table_ref::TableRef;
use crate::expression::{Condition, Projection};
use crate::value::Item;

/// One segment of a parallel scan. Invariant: `number < total`, `1 <= total <= 1,000,000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    number: u32,
    total: NonZeroU32,
}

impl Segment {
    /// The segment, unless its number is not below the total.
    pub fn new(number: u32, total: NonZeroU32) -> Option<Self> {
        (number < total.get()).then_some(Self { number, total })
    }

    pub const fn number(self) -> u32 {
        self.number
    }

    pub const fn total(self) -> NonZeroU32 {
        self.total
    }
}

/// A Scan that makes sense without knowing the table.
#[derive(Clone, Debug)]
pub struct Scan {
    pub table: TableRef,
    pub index: Option<String>,
    pub filter: Option<Condition>,
    pub projection: Option<Projection>,
    pub select: Option<SelectMode>,
    pub limit: Option<NonZeroU32>,
    pub segment: Option<Segment>,
    pub consistency: Consistency,
    pub exclusive_start_key: Option<Item>,
    pub capacity: ReturnConsumedCapacity,
}
