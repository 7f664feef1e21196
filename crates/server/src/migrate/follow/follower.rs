//! One table that follows another one: what its Scan and its reader of the stream share.

use std::cell::RefCell;

use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::Item;

use super::super::side::Side;
use super::progress::{Progress, Segment};
use super::shards::Stream;
use super::tombstones::Tombstones;
use crate::client::endpoint::Refusal;
use crate::process::failure::Failure;

/// What the source answers to a place whose records it has trimmed.
pub(super) const TRIMMED: &str = "TrimmedDataAccessException";

/// Notes the progress so that it outlives the process.
pub(crate) type Keep<'f> = &'f dyn Fn(&Progress) -> Result<(), Failure>;

/// A change that is applied so soon is near: a second, and one more for a round and for endpoints that cut
/// the time of a record to whole seconds.
pub(crate) const NEAR_MS: u64 = 2000;

/// When to stop following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Once every item is copied and every change of the stream, so that it shows nothing more.
    CaughtUp,
    /// Once every item is copied, and the last changes were applied within [`NEAR_MS`].
    Near,
    /// Never: the caller stops it.
    Stopped,
}

/// Why a follower ends before it is stopped.
#[derive(Debug)]
pub(crate) enum Interruption {
    /// The stream has no longer what comes after its place, for this reason: changes are lost.
    Lost(String),
    Failed(Failure),
}

impl From<Failure> for Interruption {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Interruption {
    fn from(refusal: Refusal) -> Self {
        if refusal.kind == TRIMMED {
            return Self::Lost("the stream no longer has the changes that come next".to_owned());
        }
        Self::Failed(refusal.into())
    }
}

/// What is going on, for the person who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// So many items are copied, of as many as the source counts.
    Copied { items: u64, of: u64 },
    /// The Scan has ended.
    Scanned { items: u64 },
    /// So many items of the target were removed that the source does not have.
    Removed { items: u64 },
    /// Changes were applied, so many in all, of which so many are deletes by time to live; the last was so
    /// long ago at the source.
    Applied { changes: u64, expiries: u64, lag_ms: u64 },
    /// Everything is copied, and the last changes were applied within [`NEAR_MS`]. If it is quiet, the stream
    /// shows nothing more.
    CaughtUp { changes: u64, expiries: u64, is_quiet: bool },
}

/// One table that follows another one.
pub(crate) struct Follower<'f> {
    pub(super) source: &'f Side,
    pub(super) target: &'f Side,
    pub(super) stream: Stream,
    pub(super) keys: Vec<KeyAttribute>,
    /// The items that the source counts, for the bar.
    pub(super) source_items: u64,
    leave_out: Option<&'static str>,
    pub(super) progress: RefCell<Progress>,
    pub(super) tombstones: Tombstones,
    keep: Keep<'f>,
    pub(super) show: &'f dyn Fn(Event),
}

/// What a follower connects.
pub(crate) struct Sides<'f> {
    pub(crate) source: &'f Side,
    pub(crate) target: &'f Side,
    pub(crate) keys: Vec<KeyAttribute>,
    pub(crate) source_items: u64,
    /// An attribute that the target does not get.
    pub(crate) leave_out: Option<&'static str>,
}

impl<'f> Follower<'f> {
    /// Goes on with this progress; that of a new migration comes from [`Progress::new`].
    pub(crate) fn new(
        sides: Sides<'f>,
        stream: Stream,
        progress: Progress,
        keep: Keep<'f>,
        show: &'f dyn Fn(Event),
    ) -> Self {
        let Sides { source, target, keys, source_items, leave_out } = sides;
        let tombstones = Tombstones::default();
        Self {
            source,
            target,
            stream,
            keys,
            source_items,
            leave_out,
            progress: RefCell::new(progress),
            tombstones,
            keep,
            show,
        }
    }

    /// An item of the source as the target gets it.
    pub(super) fn for_target(&self, mut item: Item) -> Item {
        if let Some(name) = self.leave_out {
            item.remove(name);
        }
        item
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// Changes the progress and keeps it. What it says must have been done.
    pub(super) fn note(&self, change: impl FnOnce(&mut Progress)) -> Result<(), Failure> {
        let mut progress = self.progress.borrow_mut();
        change(&mut progress);
        (self.keep)(&progress)
    }

    pub(super) fn is_scanned(&self) -> bool {
        let progress = self.progress.borrow();
        progress.segments.iter().chain(&progress.sweep).all(Segment::is_done)
    }

    /// Whether the target may have had items at the beginning.
    pub(super) fn is_onto_items(&self) -> bool {
        self.progress.borrow().is_onto_items()
    }

    /// The changes that were applied, and how many of them are deletes by time to live.
    pub(super) fn applied(&self) -> (u64, u64) {
        let progress = self.progress.borrow();
        (progress.changes, progress.expiries)
    }

    pub(super) fn copied(&self) -> u64 {
        self.progress.borrow().segments.iter().map(|segment| segment.items).sum()
    }
}
