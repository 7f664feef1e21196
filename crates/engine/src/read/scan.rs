//! Scan: all items of a table, an index, or one segment of it, in the order of partition hashes.

use keywright_semantics::error::Error;
use keywright_semantics::limits::PAGE_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::scan::Scan;
use keywright_semantics::response::PageOutput;
use keywright_store::{Direction, Store};

use crate::bind::item::check_condition;
use crate::bind::source::{bind_output, bind_source, check_projection};
use crate::bind::start_key::{beyond, bind_position, check_scan_start, contains};
use crate::catalogue::Table;
use crate::read::page::{Plan, read_page};
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::layout::{prefix_range, segment_range};

pub(crate) async fn scan<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &Scan,
) -> Result<PageOutput, Error> {
    let table = engine.catalogue().lookup(&caller.namespace, &request.table)?;
    Ok(read_page(engine, bind(&table, request)?).await?.output)
}

/// The rows that a Scan reads, and what it returns of them.
pub(crate) fn bind<'a>(table: &'a Table, request: &'a Scan) -> Result<Plan<'a>, Error> {
    let source = bind_source(table, request.index.as_deref(), request.consistency)?;
    let start = request.exclusive_start_key.as_ref();
    start.map_or(Ok(()), |start| check_scan_start(source, start))?;
    let (output, fetch) = bind_output(source, request.select, request.projection.as_ref())?;
    let position = start.map(|start| bind_position(source, start)).transpose()?;
    let range = match request.segment {
        None => prefix_range(source.prefix()),
        Some(segment) => segment_range(&source.prefix(), segment.number(), segment.total().get()),
    };
    if let (Some(position), Some(segment)) = (&position, request.segment)
        && !contains(&range, position)
    {
        let text = messages::start_key_wrong_segment(segment.total().get(), segment.number());
        return Err(Error::validation(text));
    }
    check_projection(source, request.projection.as_ref())?;
    check_condition(&table.schema, request.filter.as_ref())?;
    let range = match position {
        Some(position) => beyond(range, &position, Direction::Forward),
        None => range,
    };
    Ok(Plan {
        source,
        range,
        direction: Direction::Forward,
        limit: request.limit,
        consistency: request.consistency,
        filter: request.filter.as_ref(),
        output,
        fetch,
        capacity: request.capacity,
        table_name: request.table.as_given(),
        bytes_max: PAGE_BYTES_MAX,
        key_condition: None,
    })
}
