//! Two members of a group, of which one sends the other a piece at a time.

use std::sync::Arc;

use crate::catalogue::Table;
use crate::changes::replicated::Way;
use crate::support::links::{Due, Route};

/// Items of one commit.
pub(super) const COMMIT_ITEMS_MAX: usize = 100;

/// How a piece ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// More may follow at once.
    More,
    /// All is sent.
    End,
    /// The next change arrives at this time.
    At(u64),
    /// The next change waits for the link.
    Held,
}

impl From<Due> for Piece {
    fn from(due: Due) -> Self {
        match due {
            Due::At(at_ms) => Self::At(at_ms),
            Due::Held => Self::Held,
        }
    }
}

/// The two tables that a piece concerns.
#[derive(Clone, Copy)]
pub(super) struct Pair<'t> {
    pub sender: &'t Arc<Table>,
    pub receiver: &'t Arc<Table>,
}

impl Pair<'_> {
    pub(super) fn way(&self) -> Way {
        Way { sender: self.sender.id, receiver: self.receiver.id }
    }

    /// The sender's region and the receiver's.
    pub(super) fn regions(&self) -> (&str, &str) {
        (&self.sender.region, &self.receiver.region)
    }

    pub(super) fn route(&self) -> Route<'_> {
        let Table { account, name, .. } = &**self.sender;
        let from = (self.sender.region.as_str(), self.sender.id);
        Route { account, table: name, from, to: (self.receiver.region.as_str(), self.receiver.id) }
    }
}
