//! Real time, measured from a start, for tasks that report how long something took.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a task reports real seconds")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Lets others run for a while.
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}
