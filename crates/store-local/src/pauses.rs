//! Pauses of the commit thread by cause: the number of long pauses, and the longest.
//!
//! Every commit waits while the thread waits, so each of its waits that can be long has a name here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the commit thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseCause {
    /// The operating system takes the bytes of a group.
    JournalWrite,
    /// The disk takes the bytes of a group.
    JournalSync,
    /// The next journal segment is not ready.
    JournalSegment,
    /// The version of the newest durable commit is written.
    Watermark,
    /// Full write buffers wait to be flushed.
    FlushBacklog,
    /// Tables wait to be merged, and writers are slowed down.
    MergeBacklog,
    /// The rows of a group are put into the write buffer and made visible.
    Publish,
}

impl PauseCause {
    /// All causes.
    pub const ALL: [Self; 7] = [
        Self::JournalWrite,
        Self::JournalSync,
        Self::JournalSegment,
        Self::Watermark,
        Self::FlushBacklog,
        Self::MergeBacklog,
        Self::Publish,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::JournalWrite => "journal_write",
            Self::JournalSync => "journal_sync",
            Self::JournalSegment => "journal_segment",
            Self::Watermark => "watermark",
            Self::FlushBacklog => "flush_backlog",
            Self::MergeBacklog => "merge_backlog",
            Self::Publish => "publish",
        }
    }
}

/// The pauses of one cause since the store was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// What was waited for.
    pub cause: PauseCause,
    /// Pauses of at least [`LONG`].
    pub long: u64,
    /// The longest one.
    pub longest: Duration,
}

/// From this on a pause is counted.
pub const LONG: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Counter {
    long: AtomicU64,
    longest_us: AtomicU64,
}

#[derive(Default)]
pub(crate) struct Pauses {
    counters: [Counter; PauseCause::ALL.len()],
}

impl Pauses {
    /// Does work that may take long.
    pub(crate) fn measure<T>(&self, cause: PauseCause, work: impl FnOnce() -> T) -> T {
        let begun = now();
        let result = work();
        self.note(cause, now().duration_since(begun));
        result
    }

    fn note(&self, cause: PauseCause, took: Duration) {
        let counter = PauseCause::ALL.iter().zip(&self.counters).find(|(one, _)| **one == cause);
        let Some((_, counter)) = counter else { return };
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        counter.longest_us.fetch_max(us, Ordering::Relaxed);
        if took >= LONG {
            counter.long.fetch_add(1, Ordering::Relaxed);
            tracing::debug!("commits waited {took:?}: {}", cause.name());
        }
    }

    pub(crate) fn all(&self) -> Vec<Pause> {
        let pause = |(cause, counter): (PauseCause, &Counter)| Pause {
            cause,
            long: counter.long.load(Ordering::Relaxed),
            longest: Duration::from_micros(counter.longest_us.load(Ordering::Relaxed)),
        };
        PauseCause::ALL.into_iter().zip(&self.counters).map(pause).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "it measures, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_pauses_are_counted_by_cause_and_the_longest_is_kept() {
        let pauses = Pauses::default();
        for ms in [4, 5, 90, 6] {
            pauses.note(PauseCause::JournalSync, Duration::from_millis(ms));
        }
        pauses.note(PauseCause::Publish, Duration::from_millis(1));
        let found: Vec<_> = pauses.all().into_iter().filter(|pause| !pause.longest.is_zero()).collect();
        let ms = Duration::from_millis;
        assert_eq!(
            found,
            [
                Pause { cause: PauseCause::JournalSync, long: 3, longest: ms(90) },
                Pause { cause: PauseCause::Publish, long: 0, longest: ms(1) },
            ]
        );
    }
}
