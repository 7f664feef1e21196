//! What time to live has to do in a table, counted in its expiry rows.

use keywright_semantics::error::Error;
use keywright_store::{Direction, KeyRange, Scan, Snapshot, Store};

use crate::bind::expiry::{Due, EpochSeconds};
use crate::catalogue::{Table, TtlGeneration};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{self, TableId};
use crate::write::expiry_rows::{read_row_key, rows_prefix};

/// Items that are counted; beyond it the answer is "at least".
const COUNTED_MAX: usize = 10_000;
const COUNTED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The items of a table that expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Items whose time has passed and that are not deleted yet; at most 10,000 are counted.
    pub due: usize,
    /// The earliest of their times, in seconds since 1970.
    pub oldest_due: Option<u64>,
    /// Items whose time is more than five years past: they are kept. At most 10,000 are counted.
    pub past: usize,
    /// The next time at which an item expires, in seconds since 1970.
    pub next: Option<u64>,
    /// Whether items of before the enabling are still being looked at.
    pub is_filling: bool,
    /// How long an item may stay after its time, in milliseconds.
    pub delay_ms: u64,
}

/// Counts what is due in a table; `None` if it has no time to live.
pub(crate) async fn backlog<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<Option<Backlog>, Error> {
    let Some((generation, _)) = table.ttl.enabled() else { return Ok(None) };
    let now = EpochSeconds(now_ms / 1000);
    let first = Due::at(now_ms, 0).map_or(EpochSeconds(0), |due| due.first);
    let after_now = EpochSeconds(now.0.saturating_add(1));
    let rows = (table.id, generation);
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let past = count(&view, rows, (EpochSeconds(0), Some(first)), COUNTED_MAX).await?;
    let due = count(&view, rows, (first, Some(after_now)), COUNTED_MAX).await?;
    let next = count(&view, rows, (after_now, None), 1).await?;
    Ok(Some(Backlog {
        due: due.0,
        oldest_due: due.1.map(|time| time.0),
        past: past.0,
        next: next.1.map(|time| time.0),
        is_filling: table.ttl.filling,
        delay_ms: engine.config().ttl_delay_ms,
    }))
}

/// How many rows have a time from the first bound to before the second, and the earliest time.
async fn count(
    view: &impl Snapshot,
    (table, generation): (TableId, TtlGeneration),
    (from, to): (EpochSeconds, Option<EpochSeconds>),
    rows_max: usize,
) -> Result<(usize, Option<EpochSeconds>), Error> {
    let prefix = rows_prefix(table, generation);
    let bound = |time: EpochSeconds| [prefix.as_slice(), &time.0.to_be_bytes()].concat().into();
    let end = to.map_or_else(|| layout::prefix_range(prefix.clone()).end, |to| Some(bound(to)));
    let scan = Scan {
        range: KeyRange { start: bound(from), end },
        direction: Direction::Forward,
        rows_max,
        bytes_max: COUNTED_BYTES_MAX,
    };
    let page = view.scan(&scan).await.map_err(|error| fault::storage(&error))?;
    let earliest = page.entries.first().and_then(|entry| read_row_key(table, &entry.key));
    Ok((page.entries.len(), earliest.map(|(time, _)| time)))
}
