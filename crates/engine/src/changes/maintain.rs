//! Background work on change logs: settling closed shards, trimming old records and shards, replacing hot and
//! old shards.

use keywright_semantics::error::Error;
use keywright_semantics::limits::PARTITION_WRITE_UNITS_MAX;
use keywright_store::{LogPosition, Store};

use super::delivered;
use super::replicated;
use super::search;
use super::settle::settle;
use crate::catalogue::{ChangeLog, Purpose, RecordPlace, Shard, Succession, Table};
use crate::state::Engine;
use crate::state::shard_loads::WINDOW_MS;
use crate::support::fault;
use crate::support::layout::log_of;
use crate::support::wake::NextWake;

/// The time between two trims. A trim changes the table's record, which makes writers conflict.
const TRIM_INTERVAL_MS: u64 = 5 * 60_000;

/// Does the next piece of work on a table's change logs.
pub(crate) async fn maintain<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<NextWake, Error> {
    if table.logs.is_empty() {
        return Ok(NextWake::default());
    }
    let at_once = NextWake { at_ms: Some(now_ms) };
    if settle(engine, table).await? || forget_expired(engine, table, now_ms).await? {
        return Ok(at_once);
    }
    if let Some((shard, how)) = due_succession(engine, table, now_ms) {
        let succeed = |table: &mut Table| {
            table.succeed_shard(shard, how, now_ms);
            Ok(())
        };
        engine.catalogue().change(table.id, succeed).await?;
        return Ok(at_once);
    }
    if engine.trim_times().take(table.id, now_ms, TRIM_INTERVAL_MS) {
        let is_open =
            |number| table.open_logs().flat_map(ChangeLog::open_shards).any(|open| open.number == number);
        engine.shard_loads().keep_only(table.id, is_open);
        trim(engine, table, now_ms).await?;
    }
    Ok(next_wake(engine, table, now_ms))
}

/// Forgets shards that closed so long ago that none of their records is kept, and closed logs without shards;
/// true if there were any.
async fn forget_expired<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<bool, Error> {
    let is_expired = |(log, shard): &(&ChangeLog, &Shard)| {
        let closed_ms = shard.closed.map(|closed| closed.at_ms);
        match &log.purpose {
            Purpose::Stream(_) => {
                let kept_ms = log.purpose.retention_ms();
                closed_ms.is_some_and(|closed_ms| closed_ms.saturating_add(kept_ms) <= now_ms)
            }
            // The others are forgotten when they are delivered.
            Purpose::Destination(terms) => terms.is_discarded && closed_ms.is_some(),
            // It closes when the last replica is gone.
            Purpose::Replication => closed_ms.is_some(),
        }
    };
    let expired: Vec<u32> = with_logs(table).filter(is_expired).map(|(_, shard)| shard.number).collect();
    if expired.is_empty() {
        return Ok(false);
    }
    // The records first: without its shard in the catalogue, a log would never be found.
    for number in &expired {
        let cleared = engine.store().trim_log(log_of(table.id, *number), LogPosition::LAST).await;
        cleared.map_err(|error| fault::storage(&error))?;
    }
    let forget = |table: &mut Table| {
        for log in &mut table.logs {
            log.shards.retain(|shard| !expired.contains(&shard.number));
        }
        table.logs.retain(|log| log.is_open() || !log.shards.is_empty());
        Ok(())
    };
    engine.catalogue().change(table.id, forget).await?;
    Ok(true)
}

/// All shards of a table, each with its log.
fn with_logs(table: &Table) -> impl Iterator<Item = (&ChangeLog, &Shard)> {
    table.logs.iter().flat_map(|log| log.shards.iter().map(move |shard| (log, shard)))
}

/// An open shard to be replaced: one with more writes than a partition serves, or one that is open for long.
fn due_succession<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Option<(u32, Succession)> {
    let config = engine.config();
    let hot_units = PARTITION_WRITE_UNITS_MAX.saturating_mul(WINDOW_MS / 1000);
    let growing = table.open_logs().filter(|log| may_grow(engine, log));
    growing.flat_map(|log| log.open_shards().map(move |shard| (log, shard))).find_map(|(log, shard)| {
        let open = log.open_shards().count();
        // Places in a log for replicas are those of its one shard.
        if log.purpose == Purpose::Replication {
            return None;
        }
        let room = usize::try_from(config.stream_shards_max).is_ok_and(|max| open < max);
        let units = engine.shard_loads().last_window_units(table.id, shard.number, now_ms);
        if room && units > hot_units && shard.first < shard.last {
            return Some((shard.number, Succession::Split));
        }
        // Nobody follows the shards of a destination: they need not end.
        let is_followed = matches!(log.purpose, Purpose::Stream(_));
        let is_old = is_followed && shard.opened_ms.saturating_add(config.stream_shard_open_ms_max) <= now_ms;
        is_old.then_some((shard.number, Succession::Roll))
    })
}

/// Whether shards may still be replaced. The table's record, which every writer depends on, has all of them.
fn may_grow<S: Store>(engine: &Engine<S>, log: &ChangeLog) -> bool {
    log.shards.len() < engine.config().stream_shards_kept_max
}

/// Removes records that have been kept for long enough.
async fn trim<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<(), Error> {
    let snapshot = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    for log in &table.logs {
        match log.purpose {
            Purpose::Destination(_) => delivered::trim(engine, &snapshot, (table, log)).await?,
            Purpose::Replication => replicated::trim(engine, &snapshot, table.id).await?,
            Purpose::Stream(_) => {}
        }
    }
    // What cannot be delivered is given up by those who deliver: it is counted.
    let of_streams = with_logs(table).filter(|(log, _)| matches!(log.purpose, Purpose::Stream(_)));
    for (log, shard) in of_streams {
        let Some(horizon_ms) = now_ms.checked_sub(log.purpose.retention_ms()) else { continue };
        if shard.opened_ms > horizon_ms {
            continue;
        }
        let id = log_of(table.id, shard.number);
        let start = shard.trimmed.unwrap_or(shard.start).version;
        let last = search::last_written_before(&snapshot, id, start, horizon_ms.saturating_add(1)).await?;
        let Some(last) = last else { continue };
        // Right after the last trimmed record: a consumer that has read it has missed nothing.
        let kept = RecordPlace { version: last.version.0, index: last.index.saturating_add(1) };
        if kept <= shard.trimmed.unwrap_or(shard.start) {
            continue;
        }
        let number = shard.number;
        // The mark first: marked records may still exist, but no unmarked record is missing.
        let mark = |table: &mut Table| {
            table
                .shards_mut()
                .filter(|shard| shard.number == number)
                .for_each(|shard| shard.trimmed = Some(kept));
            Ok(())
        };
        engine.catalogue().change(table.id, mark).await?;
        let cleared = engine.store().trim_log(id, last).await;
        cleared.map_err(|error| fault::storage(&error))?;
    }
    Ok(())
}

/// When the next shard is due for work.
fn next_wake<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> NextWake {
    let mut wake = NextWake::default();
    for (log, shard) in with_logs(table) {
        let is_followed = matches!(log.purpose, Purpose::Stream(_));
        let kept_ms = if is_followed { log.purpose.retention_ms() } else { 0 };
        let mut at = |at_ms: u64| wake = wake.earlier(NextWake { at_ms: Some(at_ms.max(now_ms + 1)) });
        if let Some(closed) = shard.closed {
            if is_followed {
                at(closed.at_ms.saturating_add(kept_ms));
            }
        } else if may_grow(engine, log) {
            if is_followed {
                at(shard.opened_ms.saturating_add(engine.config().stream_shard_open_ms_max));
            }
            // The log for replicas keeps its one shard: a window of it is never looked at.
            if log.purpose != Purpose::Replication {
                engine.shard_loads().window_end_ms(table.id, shard.number).into_iter().for_each(&mut at);
            }
        }
        let trim_ms = engine.trim_times().next_ms(table.id).unwrap_or(now_ms);
        at(shard.opened_ms.saturating_add(kept_ms).max(trim_ms));
    }
    wake
}
