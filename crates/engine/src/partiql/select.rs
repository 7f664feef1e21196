//! SELECT: ranges of partitions or a whole table or index, read by the page loop.

use std::num::NonZeroU32;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::{PAGE_BYTES_MAX, PARTIQL_READS_PER_PAGE_MAX};
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::Select;
use keywright_semantics::request::common::Consistency;
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::response::ConsumedCapacity;
use keywright_store::Store;

use super::access::bind;
use super::keys::columns_of;
use super::position::Position;
use crate::bind::source::bind_output;
use crate::bind::start_key::{beyond, bind_resumed};
use crate::read::page::{Plan, read_page};
use crate::state::Engine;
use crate::support::env::Caller;

/// The options of a SELECT.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub consistency: Consistency,
    pub limit: Option<NonZeroU32>,
    pub capacity: ReturnConsumedCapacity,
}

/// A page of a SELECT.
#[derive(Default)]
pub(super) struct Rows {
    pub items: Vec<EncodedItem>,
    /// Where the next page begins.
    pub position: Option<Position>,
    pub consumed_capacity: Option<Box<ConsumedCapacity>>,
}

/// What a page may still evaluate. All its reads share one budget.
struct Budget {
    reads: usize,
    bytes: usize,
    /// Unlimited if absent.
    rows: Option<u32>,
}

impl Budget {
    const fn is_spent(&self) -> bool {
        self.reads == 0 || self.bytes == 0 || matches!(self.rows, Some(0))
    }

    fn spend(&mut self, rows: u64, bytes: usize) {
        self.reads = self.reads.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        self.rows = self.rows.map(|left| left.saturating_sub(rows));
    }
}

pub(super) async fn select<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    select: &Select,
    reading: Reading,
    from: Position,
) -> Result<Rows, Error> {
    let table = engine.catalogue().lookup(&caller.namespace, &select.table)?;
    let bound = bind(&table, select, reading.consistency)?;
    let (output, fetch) = bind_output(bound.source, None, bound.projection.as_ref())?;
    let mut rows = Rows::default();
    let mut turns = engine.pace();
    let mut budget = Budget {
        reads: PARTIQL_READS_PER_PAGE_MAX,
        bytes: PAGE_BYTES_MAX,
        rows: reading.limit.map(NonZeroU32::get),
    };
    let first = usize::try_from(from.range).unwrap_or(usize::MAX);
    // Clients can compute a token's checksum: a forged one may name any range and any key.
    if first > 0 && first >= bound.ranges.len() {
        return Err(Error::validation(messages::INVALID_TOKEN));
    }
    let mut after = from.after;
    for (number, part) in (from.range..).zip(bound.ranges.iter().skip(first)) {
        if budget.is_spent() {
            rows.position = Some(Position { range: number, after: None });
            break;
        }
        let start = after.take().map(|key| bind_resumed(bound.source, &key)).transpose()?;
        let range = match start {
            Some(start) => beyond(part.range.clone(), &start, bound.direction),
            None => part.range.clone(),
        };
        let plan = Plan {
            source: bound.source,
            range,
            direction: bound.direction,
            limit: budget.rows.and_then(NonZeroU32::new),
            consistency: reading.consistency,
            filter: part.filter.as_ref(),
            output,
            fetch,
            capacity: reading.capacity,
            table_name: select.table.as_given(),
            bytes_max: budget.bytes,
            key_condition: None,
        };
        let page = read_page(engine, plan).await?;
        let within = budget.rows.is_none_or(|rows| page.output.scanned_count <= u64::from(rows));
        assert!(within, "a page keeps the statement's limit");
        budget.spend(page.output.scanned_count, page.bytes);
        let items = page.output.items.into_iter().flatten();
        for item in items {
            rows.items.push(columns_of(&mut turns, item, select.columns.as_deref()).await?);
        }
        add(&mut rows.consumed_capacity, page.output.consumed_capacity);
        if let Some(last) = page.output.last_evaluated_key {
            rows.position = Some(Position { range: number, after: Some(last.decode()) });
            break;
        }
    }
    Ok(rows)
}

/// Adds the charge of one range to the page's.
fn add(total: &mut Option<Box<ConsumedCapacity>>, more: Option<Box<ConsumedCapacity>>) {
    match (total.as_mut(), more) {
        (Some(total), Some(more)) => total.usage.merge(more.usage),
        (None, more) => *total = more,
        (Some(_), None) => {}
    }
}
