//! A cut: a stamp between what was answered before, whose stamps are lower, and what begins later, whose
//! stamps are not.
//!
//! It is drawn in the transaction of a change that every writer of the cut tables sees, and stays in their
//! records while it matters (`History::floor`): so no later commit is below it. It is above all earlier ones
//! because it is above their bounds, which are read first. A commit that is answered after this look need
//! not be below the cut.

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::bound;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::stamp::Stamp;

/// A cut that is not drawn yet.
pub(crate) struct Cut {
    now_ms: u64,
    least: Stamp,
}

impl Cut {
    /// Looks how far the commits of all processes can have come.
    pub(crate) async fn prepare<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<Self, Error> {
        Ok(Self { now_ms, least: bound::of_all(engine).await? })
    }

    /// Draws the cut of these tables. It is not below an earlier one, also after a restart with a clock that
    /// was set back.
    pub(crate) fn draw<S: Store>(&self, engine: &Engine<S>, tables: &[Table]) -> Stamp {
        let floors = tables.iter().map(|table| table.history.floor());
        let least = floors.fold(self.least, Stamp::max);
        engine.stamps().draw(self.now_ms, least).stamp()
    }
}
