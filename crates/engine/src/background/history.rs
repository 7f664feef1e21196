//! Giving up history that nothing needs any more: whole days of it, and spans that have ended.

use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::catalogue::Table;
use crate::history::rows::{days_before, span_prefix};
use crate::state::Engine;
use crate::support::fault;
use crate::support::stamp::DAY_MS;
use crate::support::wake::NextWake;
use crate::tables::purge::{Purged, purge_some};

/// Does the next piece of work on the history of a table, live or deleted.
pub(super) async fn maintain<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let at_once = NextWake { at_ms: Some(now_ms) };
    if let Some(generation) = table.history.doomed.first().copied() {
        if purge_some(engine, span_prefix((table.id, generation))).await? == Purged::Entirely {
            let forget = |table: &mut Table| {
                table.history.doomed.retain(|doomed| *doomed != generation);
                Ok(())
            };
            engine.catalogue().change(table.id, forget).await?;
        }
        return Ok(at_once);
    }
    let (Some(generation), Some(needed)) = (table.history.generation(), table.history.needed_from(now_ms))
    else {
        return Ok(NextWake::default());
    };
    let since = table.history.since();
    if needed.day() > since.day() {
        // First the record: nobody reads rows below it any more.
        let give_up = |table: &mut Table| {
            if let Some(needed) = table.history.needed_from(now_ms) {
                table.history.give_up_before(needed);
            }
            Ok(())
        };
        engine.catalogue().change(table.id, give_up).await?;
        return Ok(at_once);
    }
    let span = (table.id, generation);
    if engine.trimmed_history().is_due(span, since.day()) {
        let range = days_before(span, since.day());
        engine.store().clear_range(&range).await.map_err(|error| fault::storage(&error))?;
        engine.trimmed_history().note(span, since.day());
    }
    let period_ms = table.history.recovery_days().map(|days| u64::from(days) * DAY_MS);
    // When the first day of the history has passed out of the period.
    let at_ms = period_ms.map(|period_ms| since.day().first_ms() + DAY_MS + period_ms);
    // Later than now, also if a hold keeps the day.
    Ok(NextWake { at_ms: at_ms.map(|at_ms| at_ms.max(now_ms + DAY_MS / 24)) })
}
