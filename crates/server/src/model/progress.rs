//! How far a long command is: a bar on standard error, and only if that is a terminal.
//!
//! It knows what a run says of itself; it decides nothing. Standard output stays data, and nothing is said by colour.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keywright_workbench::run::Progress;

/// Shorter work shows nothing: a bar that flashes past tells nobody anything.
const QUIET: Duration = Duration::from_millis(300);

/// A bar that is gone when it is dropped.
pub(super) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// The draw target looks whether standard error is a terminal and stays silent if not.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {human_pos}/{human_len}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// Shows where a run is.
    pub(super) fn show(&self, progress: Progress<'_>) {
        let (message, done, of) = match progress {
            Progress::Loading { done, of } => ("loading items".to_owned(), done, of),
            Progress::Pattern { id, done, of } => (format!("pattern {id}"), done, of),
        };
        let whole = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.at(&message, whole(done), whole(of));
    }

    /// Shows how much of something is done.
    pub(super) fn at(&self, message: &str, done: u64, of: u64) {
        if self.bar.is_hidden() || self.bar.elapsed() < QUIET {
            return;
        }
        self.bar.set_message(message.to_owned());
        self.bar.set_length(of);
        self.bar.set_position(done);
    }
}

/// Says what is being done while work lasts whose length nobody knows.
pub(super) fn during<T>(message: &str, work: impl FnOnce() -> T) -> T {
    let Bar { bar } = &Bar::new();
    if let Ok(style) = ProgressStyle::with_template("{msg} …") {
        bar.set_style(style);
    }
    bar.set_message(message.to_owned());
    bar.tick();
    work()
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
