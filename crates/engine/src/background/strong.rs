//! What background work ends of a strongly consistent group: its making, changes of its members, its end.

use keywright_semantics::error::Error;
use keywright_store::Store;

use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::wake::NextWake;

/// Ends what is due. The table stands as the first member of its group.
pub(super) async fn step<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let Some(due_ms) = table.next_strong_ms() else { return Ok(NextWake::default()) };
    if now_ms < due_ms {
        return Ok(NextWake { at_ms: Some(due_ms) });
    }
    let ends = table.strong.as_ref().and_then(|group| group.ends);
    if ends.is_some_and(|ends| ends.at_ms <= now_ms) {
        engine.catalogue().end_strong(table.id, now_ms).await?;
    } else {
        let settle = |table: &mut Table| Ok(table.settle_strong(now_ms));
        engine.catalogue().change(table.id, settle).await?;
    }
    Ok(NextWake { at_ms: Some(now_ms) })
}
