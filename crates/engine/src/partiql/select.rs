//! SELECT: ranges of partitions or a whole table or index, read by the page loop.

use std::num::NonZeroU32;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, Projection};
use keywright_semantics::limits::PAGE_BYTES_MAX;
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{Access, Select};
use keywright_semantics::request::common::{Consistency, SortOrder};
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::response::ConsumedCapacity;
use keywright_store::{Direction, KeyRange, Store};

use super::columns_of;
use super::position::Position;
use crate::bind::range::bind_range;
use crate::bind::source::{Source, bind_output, bind_source, check_projection};
use crate::bind::start_key::{beyond, bind_resumed};
use crate::catalogue::Table;
use crate::engine::Engine;
use crate::env::Caller;
use crate::layout::prefix_range;
use crate::page::{Plan, read_page};

/// How a SELECT is read.
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
    /// Where to go on.
    pub position: Option<Position>,
    pub consumed_capacity: Option<ConsumedCapacity>,
}

/// What a SELECT reads, bound to its table.
struct Bound<'a> {
    source: Source<'a>,
    ranges: Vec<KeyRange>,
    direction: Direction,
    filter: Option<Condition>,
    projection: Option<Projection>,
}

pub(super) async fn select<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    select: &Select,
    reading: Reading,
    from: Position,
) -> Result<Rows, Error> {
    let table = engine.catalogue().lookup(caller, &select.table)?;
    let bound = bind(&table, select, reading.consistency)?;
    let (output, fetch) = bind_output(bound.source, None, bound.projection.as_ref())?;
    let mut rows = Rows::default();
    let (mut bytes, mut left) = (0, reading.limit.map(NonZeroU32::get));
    let first = usize::try_from(from.range).unwrap_or(usize::MAX);
    let mut after = from.after;
    for (number, range) in (from.range..).zip(bound.ranges.iter().skip(first)) {
        let limit = match left {
            None => None,
            Some(left) => Some(NonZeroU32::new(left)).filter(Option::is_some).flatten(),
        };
        if bytes >= PAGE_BYTES_MAX || (left.is_some() && limit.is_none()) {
            rows.position = Some(Position { range: number, after: None });
            break;
        }
        let start = after.take().map(|key| bind_resumed(bound.source, &key)).transpose()?;
        let range = match start {
            Some(start) => beyond(range.clone(), &start, bound.direction),
            None => range.clone(),
        };
        let plan = Plan {
            source: bound.source,
            range,
            direction: bound.direction,
            limit,
            consistency: reading.consistency,
            filter: bound.filter.as_ref(),
            output,
            fetch,
            capacity: reading.capacity,
            table_name: &select.table.name,
        };
        let page = read_page(engine, plan).await?;
        left = left.map(|left| left.saturating_sub(u32::try_from(page.scanned_count).unwrap_or(u32::MAX)));
        for item in page.items.into_iter().flatten() {
            bytes += item.size_bytes();
            rows.items.push(columns_of(item, select.columns.as_deref()));
        }
        add(&mut rows.consumed_capacity, page.consumed_capacity);
        if let Some(last) = page.last_evaluated_key {
            rows.position = Some(Position { range: number, after: Some(last.decode()) });
            break;
        }
    }
    Ok(rows)
}

/// Several ranges are reads of their own, charged together.
fn add(total: &mut Option<ConsumedCapacity>, more: Option<ConsumedCapacity>) {
    match (total.as_mut(), more) {
        (Some(total), Some(more)) => total.usage.merge(more.usage),
        (None, more) => *total = more,
        (Some(_), None) => {}
    }
}

fn bind<'a>(table: &'a Table, select: &Select, consistency: Consistency) -> Result<Bound<'a>, Error> {
    check_index_key(table, select)?;
    let source = bind_source(table, select.index.as_deref(), consistency)?;
    let key = source.key();
    let partition = key.partition.first().map_or("", |attribute| attribute.name.as_str());
    let sort = key.sort.first().map(|attribute| attribute.name.as_str());
    let access = match &select.condition {
        None => Access::Scan(None),
        Some(condition) => condition.access(partition, sort)?,
    };
    let direction = match &select.order {
        Some(_) if matches!(access, Access::Scan(_)) => {
            return Err(Error::validation(messages::ORDER_WITHOUT_PARTITION));
        }
        Some((attribute, _)) if attribute != partition && Some(attribute.as_str()) != sort => {
            return Err(Error::validation(messages::order_by_other(attribute)));
        }
        None | Some((_, SortOrder::Ascending)) => Direction::Forward,
        Some((_, SortOrder::Descending)) => Direction::Backward,
    };
    let projection = select.columns.as_ref().map(|columns| {
        let mut names: Vec<String> = Vec::new();
        for column in columns {
            if !names.contains(&column.path.attribute) {
                names.push(column.path.attribute.clone());
            }
        }
        Projection::from_attributes(&names)
    });
    check_projection(source, projection.as_ref())?;
    let (ranges, filter) = match access {
        Access::Scan(filter) => (vec![prefix_range(source.prefix())], filter),
        Access::Ranges { ranges, filter } => {
            let bind = |range| Ok(bind_range(source.prefix(), key, range)?.selected);
            let ranges = ranges.iter().map(bind).collect::<Result<Vec<_>, Error>>()?;
            (ranges, filter)
        }
    };
    Ok(Bound { source, ranges, direction, filter, projection })
}

/// Statements do not read indexes whose keys have several attributes of a kind.
pub(super) fn check_index_key(table: &Table, select: &Select) -> Result<(), Error> {
    let index = select.index.as_deref().and_then(|name| table.index(name));
    let is_several =
        index.is_some_and(|(schema, _)| schema.key.partition.len() > 1 || schema.key.sort.len() > 1);
    if is_several { Err(Error::validation(messages::MULTI_ATTRIBUTE_INDEX)) } else { Ok(()) }
}
