//! Query: items with one partition key of a table or index, in the order of their sort keys.

use keywright_semantics::error::Error;
use keywright_semantics::limits::PAGE_BYTES_MAX;
use keywright_semantics::request::common::SortOrder;
use keywright_semantics::request::query::Query;
use keywright_semantics::response::PageOutput;
use keywright_semantics::schema::KeyAttribute;
use keywright_store::{Direction, Store};

use crate::bind::BindFault;
use crate::bind::item::check_condition;
use crate::bind::range::bind_range_visiting;
use crate::bind::source::{
    Fetch, bind_output, bind_source, check_filter_is_held, check_projection, check_query_filter,
};
use crate::bind::start_key::{beyond, bind_query_position, check_attribute, check_count, check_position};
use crate::catalogue::Table;
use crate::read::page::{Plan, read_page};
use crate::state::Engine;
use crate::support::env::Caller;

pub(crate) async fn query<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &Query,
) -> Result<PageOutput, Error> {
    let table = engine.catalogue().lookup(&caller.namespace, &request.table)?;
    let plan = bind(&table, request)?;
    let resumable = !plan.source.holds_one_item_per_partition();
    let mut page = read_page(engine, plan).await?.output;
    page.last_evaluated_key = page.last_evaluated_key.filter(|_| resumable);
    Ok(page)
}

/// The rows that a Query reads, and what it returns of them.
pub(crate) fn bind<'a>(table: &'a Table, request: &'a Query) -> Result<Plan<'a>, Error> {
    let source = bind_source(table, request.index.as_deref(), request.consistency)?;
    let start = request.exclusive_start_key.as_ref();
    start.map_or(Ok(()), |start| check_count(source, start))?;
    let visit = |attribute: &KeyAttribute| match start {
        Some(start) => check_attribute(attribute, start).map_err(|error| BindFault::request(error.message)),
        None => Ok(()),
    };
    let range = bind_range_visiting(source.prefix(), source.key(), &request.key_condition, &visit)?;
    let position = start.map(|start| bind_query_position(source, start)).transpose()?;
    if let Some(position) = &position {
        check_position(&range, position)?;
    }
    check_projection(source, request.projection.as_ref())?;
    check_query_filter(source, request)?;
    let (output, fetch) = bind_output(source, request.select, request.projection.as_ref())?;
    if fetch == Fetch::None {
        check_filter_is_held(source, request.filter.as_ref())?;
    }
    check_condition(&table.schema, request.filter.as_ref())?;
    let direction = match request.order {
        SortOrder::Ascending => Direction::Forward,
        SortOrder::Descending => Direction::Backward,
    };
    let range = match position {
        Some(position) => beyond(range.selected, &position, direction),
        None => range.selected,
    };
    Ok(Plan {
        source,
        range,
        direction,
        limit: request.limit,
        consistency: request.consistency,
        filter: request.filter.as_ref(),
        output,
        fetch,
        capacity: request.capacity,
        table_name: request.table.as_given(),
        bytes_max: PAGE_BYTES_MAX,
        key_condition: Some(&request.key_condition),
    })
}
