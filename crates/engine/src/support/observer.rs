//! Where the engine reports what requests consume, while they do.
//!
//! Metrics per table and index, throttles and insights will be fed from the same calls. It does not know how
//! figures are kept or shown.

use std::fmt::Debug;

use keywright_semantics::capacity::Usage;
use keywright_semantics::throttle::{Direction, Limit};

/// Receives figures of running requests. It is called on the path of every request, so it must not wait.
pub trait Observer: Debug + Send + Sync {
    /// A request has consumed capacity of one or more tables and their indexes. Background work is not
    /// charged.
    fn charged(&self, usage: Usage);

    /// A write met another writer on one of its items, and tries again or fails.
    fn conflicted(&self);

    /// A limit refused a request, or an item of a batch.
    fn throttled(&self, limit: Limit, direction: Direction);
}

/// Keeps nothing.
#[derive(Debug, Default)]
pub(crate) struct Unobserved;

impl Observer for Unobserved {
    fn charged(&self, _usage: Usage) {}

    fn conflicted(&self) {}

    fn throttled(&self, _limit: Limit, _direction: Direction) {}
}
