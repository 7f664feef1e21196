//! Progress of a long command: a bar on standard error, if that is a terminal.
//!
//! It shows what a run reports and decides nothing. It writes nothing to standard output and gives no
//! information by colour alone.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keywright_workbench::run::Progress;

use crate::process::foreign;

/// Shorter work shows no bar.
const QUIET: Duration = Duration::from_millis(300);

/// A progress bar, cleared when it is dropped.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// Indicatif draws nothing if standard error is not a terminal.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {human_pos}/{human_len}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// Shows the progress of a run.
    pub(crate) fn show(&self, progress: Progress<'_>) {
        let (message, done, of) = match progress {
            Progress::Loading { done, of } => ("loading items".to_owned(), done, of),
            Progress::Pattern { id, done, of } => (format!("pattern {id}"), done, of),
        };
        let whole = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        self.at(&message, whole(done), whole(of));
    }

    /// Shows how many of `of` are done.
    pub(crate) fn at(&self, message: &str, done: u64, of: u64) {
        if self.bar.is_hidden() || self.bar.elapsed() < QUIET {
            return;
        }
        self.bar.set_message(foreign::inline(message).into_owned());
        self.bar.set_length(of);
        self.bar.set_position(done);
    }
}

/// Shows what is being done, for work of unknown length.
pub(crate) struct Spinner(Bar);

impl Spinner {
    pub(crate) fn new() -> Self {
        let bar = Bar::new();
        if let Ok(style) = ProgressStyle::with_template("{msg} …") {
            bar.bar.set_style(style);
        }
        Self(bar)
    }

    /// Whether nobody sees it: standard error is no terminal.
    pub(crate) fn is_hidden(&self) -> bool {
        self.0.bar.is_hidden()
    }

    pub(crate) fn show(&self, message: &str) {
        self.0.bar.set_message(foreign::inline(message).into_owned());
        self.0.bar.tick();
    }
}

/// Shows what is being done during work of unknown length.
pub(crate) fn during<T>(message: &str, work: impl FnOnce() -> T) -> T {
    let spinner = Spinner::new();
    spinner.show(message);
    work()
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
