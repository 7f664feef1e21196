//! Upkeep that a store leaves to those who use it, such as the removal of old versions: one process does it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use keywright_store::Store;

use crate::state::Engine;
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// The time between two looks of a process that is not the owner, and until a failed round is tried again.
const LOOK: Duration = Duration::from_secs(5);
/// The store belongs to no table; its upkeep is owned like one.
const STORE: TableId = TableId(0);

pub(super) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> NextWake {
    let due_ms = engine.upkeep_due().load(Ordering::Relaxed);
    if now_ms < due_ms {
        return wake(due_ms);
    }
    let after = if engine.owns(STORE) { engine.store().tend().await } else { Ok(Some(LOOK)) };
    match &after {
        Err(fault) => engine.set_upkeep_fault(Some(fault.to_string())),
        // A round goes on, and may fail yet.
        Ok(Some(after)) if *after < LOOK => {}
        Ok(_) => engine.set_upkeep_fault(None),
    }
    let due_ms = match after {
        Ok(Some(after)) => now_ms.saturating_add(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        Ok(None) => NEVER_MS,
        // A later round does what this one has not done.
        Err(_fault) => now_ms.saturating_add(u64::try_from(LOOK.as_millis()).unwrap_or(u64::MAX)),
    };
    engine.upkeep_due().store(due_ms, Ordering::Relaxed);
    wake(due_ms)
}

impl<S: Store> Engine<S> {
    /// Whether this process does the upkeep of a store that other processes use too.
    pub fn does_upkeep(&self) -> bool {
        self.is_shared() && self.owns(STORE)
    }
}

const NEVER_MS: u64 = u64::MAX;

fn wake(due_ms: u64) -> NextWake {
    NextWake { at_ms: (due_ms != NEVER_MS).then_some(due_ms) }
}
