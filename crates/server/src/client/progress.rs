//! Progress of a long command: a bar on standard error, if that is a terminal, else perhaps lines.
//!
//! It shows what a run reports and decides nothing. It writes nothing to standard output and gives no
//! information by colour alone.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use keywright_workbench::run::Progress;

use crate::process::environment::instant;
use crate::process::{foreign, output};

/// Shorter work shows no bar.
const QUIET: Duration = Duration::from_millis(300);

/// The time between two lines about the same.
const LINE_EVERY: Duration = Duration::from_secs(5);

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

/// What goes on: a spinner on a terminal, lines from time to time elsewhere.
pub(crate) struct StatusLine {
    spinner: Spinner,
    said: Option<Instant>,
}

impl StatusLine {
    pub(crate) fn new() -> Self {
        Self { spinner: Spinner::new(), said: None }
    }

    /// For work that may be done soon: then nothing is said elsewhere.
    pub(crate) fn of_short_work() -> Self {
        Self { said: Some(instant()), ..Self::new() }
    }

    /// Shows this on a terminal; says it elsewhere, unless something was said a moment ago. Whether it was
    /// said as a line.
    pub(crate) fn show(&mut self, text: &str) -> bool {
        if !self.spinner.is_hidden() {
            self.spinner.show(text);
            return false;
        }
        let is_said = self.said.is_none_or(|said| said.elapsed() >= LINE_EVERY);
        if is_said {
            output::note(text);
            self.said = Some(instant());
        }
        is_said
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
