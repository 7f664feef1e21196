//! A SELECT bound to its table: the ranges of rows, their order, and the filter of each range.

use keywright_semantics::error::Error;
use keywright_semantics::expression::{Condition, KeyClause, KeyCondition, KeyPredicate, Projection};
use keywright_semantics::key::{KeyValueRef, encode_sort};
use keywright_semantics::messages::data_plane::filter_not_projected;
use keywright_semantics::messages::hash_order::hash_ordered;
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{Access, Read, Select};
use keywright_semantics::request::common::{Consistency, SortOrder};
use keywright_semantics::schema::{IndexKind, KeySchema, Projection as IndexProjection};
use keywright_semantics::value::AttributeValue;
use keywright_store::{Direction, KeyRange};

use crate::bind::range::bind_range;
use crate::bind::source::holds;
use crate::bind::source::{Source, bind_output, bind_source, check_projection};
use crate::catalogue::Table;
use crate::support::layout::prefix_range;

/// A bound SELECT.
pub(super) struct Bound<'a> {
    pub source: Source<'a>,
    /// The ranges, in the order in which they are read.
    pub ranges: Vec<BoundRange>,
    /// The scan direction within each range.
    pub direction: Direction,
    pub projection: Option<Projection>,
}

/// A contiguous range of rows and its filter.
#[derive(Clone, Debug)]
pub(super) struct BoundRange {
    /// The partition key, encoded to sort by value; empty if the range is not of one partition.
    partition: Vec<u8>,
    pub range: KeyRange,
    pub filter: Option<Condition>,
}

/// The order of partitions, and of the rows of each.
#[derive(Clone, Copy)]
struct Order {
    partitions: Direction,
    rows: Direction,
}

/// Binds a SELECT. Checks are in the service's order (observed): the index, attributes that it does not
/// project, types of keys, ranges, filters, ORDER BY.
pub(super) fn bind<'a>(
    table: &'a Table,
    select: &Select,
    consistency: Consistency,
) -> Result<Bound<'a>, Error> {
    check_index(table, select, consistency)?;
    let source = bind_source(table, select.index.as_deref(), consistency)?;
    let projection = select.columns.as_ref().map(|columns| {
        let mut names: Vec<String> = Vec::new();
        for column in columns {
            if !names.contains(&column.path.attribute) {
                names.push(column.path.attribute.clone());
            }
        }
        Projection::from_attributes(&names)
    });
    bind_output(source, None, projection.as_ref())?;
    check_projection(source, projection.as_ref())?;
    let key = source.key();
    let (mut ranges, order) = match access(key, select)? {
        Access::Scan(filter) => {
            let order = scan_order(key, select)?;
            let range = prefix_range(source.prefix());
            (vec![BoundRange { partition: Vec::new(), range, filter }], order)
        }
        Access::Reads(reads) => {
            let mut ranges = bind_reads(source, &reads)?;
            ranges.sort_by(|one, other| {
                (&one.partition, &one.range.start).cmp(&(&other.partition, &other.range.start))
            });
            check_overlap(&ranges)?;
            check_filters_are_held(source, &ranges)?;
            let order = reads_order(key, select, &ranges)?;
            (ranges, order)
        }
    };
    ranges.sort_by(|one, other| {
        let partitions = directed(order.partitions, one.partition.cmp(&other.partition));
        partitions.then_with(|| directed(order.rows, one.range.start.cmp(&other.range.start)))
    });
    Ok(Bound { source, ranges, direction: order.rows, projection })
}

/// Reports faults in the ranges of a SELECT that does not name one whole key.
pub(super) fn check_ranges(table: &Table, select: &Select) -> Result<(), Error> {
    let source = Source { table, index: None };
    if let Access::Reads(reads) = access(source.key(), select)? {
        check_overlap(&bind_reads(source, &reads)?)?;
    }
    Ok(())
}

/// The access path of a SELECT of a table or index with this key.
pub(super) fn access(key: &KeySchema, select: &Select) -> Result<Access, Error> {
    match (&select.condition, key.partition.first()) {
        (Some(condition), Some(partition)) => Ok(condition.access(partition, key.sort.first())?),
        _ => Ok(Access::Scan(None)),
    }
}

fn directed(direction: Direction, order: std::cmp::Ordering) -> std::cmp::Ordering {
    match direction {
        Direction::Forward => order,
        Direction::Backward => order.reverse(),
    }
}

fn check_index(table: &Table, select: &Select, consistency: Consistency) -> Result<(), Error> {
    let Some(name) = select.index.as_deref() else { return Ok(()) };
    let Some((index, _)) = table.index(name) else { return Err(Error::validation(messages::UNKNOWN_INDEX)) };
    // Statements cannot read indexes with several partition or sort key attributes.
    if index.key.partition.len() > 1 || index.key.sort.len() > 1 {
        return Err(Error::validation(messages::MULTI_ATTRIBUTE_INDEX));
    }
    if index.kind == IndexKind::Global && consistency == Consistency::Strong {
        return Err(Error::validation(messages::GLOBAL_INDEX_NOT_CONSISTENT));
    }
    Ok(())
}

fn bind_reads(source: Source<'_>, reads: &[Read]) -> Result<Vec<BoundRange>, Error> {
    let key = source.key();
    reads
        .iter()
        .map(|read| {
            let mut range =
                bind_range(source.prefix(), key, &clauses(key, &read.partition, None))?.partition();
            for predicate in &read.sort {
                let condition = clauses(key, &read.partition, Some(predicate));
                range = intersection(range, bind_range(source.prefix(), key, &condition)?.selected);
            }
            let mut partition = Vec::new();
            if let Some(value) = KeyValueRef::from_value(&read.partition) {
                encode_sort(value, &mut partition);
            }
            Ok(BoundRange { partition, range, filter: read.filter.clone() })
        })
        .collect()
}

fn clauses(key: &KeySchema, partition: &AttributeValue, sort: Option<&KeyPredicate>) -> KeyCondition {
    let equal = KeyPredicate::Eq(partition.clone());
    let partition = key.partition.first().map(|attribute| (attribute, equal));
    let sort = key.sort.first().zip(sort.cloned());
    let clauses = partition
        .into_iter()
        .chain(sort)
        .map(|(attribute, predicate)| KeyClause { attribute: attribute.name.clone(), predicate })
        .collect();
    KeyCondition { clauses }
}

fn intersection(one: KeyRange, other: KeyRange) -> KeyRange {
    let end = match (one.end, other.end) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    KeyRange { start: one.start.max(other.start), end }
}

/// No row may be read twice; the order of the ranges does not matter.
fn check_overlap(ranges: &[BoundRange]) -> Result<(), Error> {
    let mut before: Option<&KeyRange> = None;
    let holds_rows = |range: &&KeyRange| range.end.as_ref().is_none_or(|end| range.start < *end);
    let mut in_order: Vec<&KeyRange> = ranges.iter().map(|bound| &bound.range).filter(holds_rows).collect();
    in_order.sort_by(|one, other| one.start.cmp(&other.start));
    for range in in_order {
        if before.is_some_and(|before| before.end.as_ref().is_none_or(|end| range.start < *end)) {
            return Err(Error::validation(messages::OVERLAPPING_RANGES));
        }
        before = Some(range);
    }
    Ok(())
}

/// An index that is read by its key must project the filter's attributes. One range for which it does is
/// enough; otherwise the error names the attributes of the last range (observed). In an index that is read as
/// a whole, attributes that are not projected count as absent.
fn check_filters_are_held(source: Source<'_>, ranges: &[BoundRange]) -> Result<(), Error> {
    let Some((_, index)) = source.index.filter(|(_, index)| index.projection != IndexProjection::All) else {
        return Ok(());
    };
    let mut missing = Vec::new();
    for bound in ranges {
        missing = bound.filter.as_ref().map(Condition::attributes).unwrap_or_default();
        missing.retain(|name| !holds(&source.table.schema.key, index, name));
        if missing.is_empty() {
            return Ok(());
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::validation(filter_not_projected(&index.name, &hash_ordered(&missing))))
}

/// The order that ORDER BY gives for an attribute.
fn named(select: &Select, attribute: Option<&str>) -> Option<SortOrder> {
    let found = select.order.iter().find(|(name, _)| Some(name.as_str()) == attribute);
    found.map(|(_, order)| *order)
}

const fn direction(order: SortOrder) -> Direction {
    match order {
        SortOrder::Ascending => Direction::Forward,
        SortOrder::Descending => Direction::Backward,
    }
}

fn check_ordered_attributes(key: &KeySchema, select: &Select) -> Result<(), Error> {
    match select.order.iter().find(|(name, _)| !key.contains(name)) {
        Some((name, _)) => Err(Error::validation(messages::order_by_other(name))),
        None => Ok(()),
    }
}

fn scan_order(key: &KeySchema, select: &Select) -> Result<Order, Error> {
    check_ordered_attributes(key, select)?;
    if select.order.is_empty() {
        Ok(Order { partitions: Direction::Forward, rows: Direction::Forward })
    } else {
        Err(Error::validation(messages::ORDER_WITHOUT_PARTITION))
    }
}

fn reads_order(key: &KeySchema, select: &Select, ranges: &[BoundRange]) -> Result<Order, Error> {
    check_ordered_attributes(key, select)?;
    let of_partition = named(select, key.partition.first().map(|attribute| attribute.name.as_str()));
    let of_sort = named(select, key.sort.first().map(|attribute| attribute.name.as_str()));
    let is_several = ranges.windows(2).any(|pair| match pair {
        [one, other] => one.partition != other.partition,
        _ => false,
    });
    if is_several && of_partition.is_none() && !select.order.is_empty() {
        return Err(Error::validation(messages::ORDER_OF_SEVERAL_PARTITIONS));
    }
    // If ORDER BY names the partition key only, the rows of each partition are reversed (observed).
    let rows = match of_sort {
        Some(order) => direction(order),
        None if select.order.is_empty() => Direction::Forward,
        None => Direction::Backward,
    };
    Ok(Order { partitions: of_partition.map_or(Direction::Forward, direction), rows })
}
