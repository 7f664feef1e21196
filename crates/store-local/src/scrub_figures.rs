//! What the scrub has read, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the scrub has done since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubFigures {
    /// When the last full round ended, in milliseconds since 1970; `None` before the first one.
    pub last_round_ms: Option<u64>,
    /// Bytes that were read.
    pub read_bytes: u64,
}

/// The figures while they are counted; zero for none.
#[derive(Default)]
pub(crate) struct Scrubbed {
    pub last_round_ms: AtomicU64,
    pub read_bytes: AtomicU64,
}

impl Scrubbed {
    pub(crate) fn figures(&self) -> ScrubFigures {
        let last_round_ms = self.last_round_ms.load(Ordering::Relaxed);
        ScrubFigures {
            last_round_ms: (last_round_ms > 0).then_some(last_round_ms),
            read_bytes: self.read_bytes.load(Ordering::Relaxed),
        }
    }
}
