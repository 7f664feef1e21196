//! What a live migration shows while it goes on: a spinner on a terminal, lines from time to time elsewhere.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use super::both_ways::Came;
use super::follow::{Event, NEAR_MS, Until};
use super::side::Side;
use crate::client::progress::Spinner;
use crate::process::environment::instant;
use crate::process::output;

/// The time between two lines about the same.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// What a table is followed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Migration,
    Replication,
}

/// Shows what goes on.
pub(super) struct Show<'s> {
    source: &'s Side,
    purpose: Purpose,
    until: Until,
    spinner: RefCell<Option<Spinner>>,
    has_scanned: Cell<bool>,
    said: Cell<Option<Instant>>,
}

impl<'s> Show<'s> {
    pub(super) fn new(source: &'s Side, purpose: Purpose, until: Until) -> Self {
        Self {
            source,
            purpose,
            until,
            spinner: RefCell::new(Some(Spinner::new())),
            has_scanned: Cell::new(false),
            said: Cell::new(None),
        }
    }

    pub(super) fn clear(&self) {
        self.spinner.borrow_mut().take();
    }

    pub(super) fn take(&self, event: Event) {
        let table = &self.source.table;
        match event {
            Event::Copied { items, of } => {
                self.say_at_times(&format!("{table}: {items} of about {of} items copied"));
            }
            Event::Scanned { items } => {
                if !self.has_scanned.replace(true) {
                    output::note(&format!("{table}: {items} items are copied; its stream is followed"));
                }
            }
            Event::Removed { items } => {
                output::note(&format!("{table}: {items} items are removed that it does not have any more"));
            }
            Event::Applied { changes, expiries, lag_ms } => {
                self.say_at_times(&applied(table, &counted(changes, expiries), lag_ms));
            }
            Event::CaughtUp { changes, expiries, is_quiet } => {
                let changes = counted(changes, expiries);
                let next = match (self.until, self.purpose, is_quiet) {
                    (Until::CaughtUp, _, true) | (Until::Near, ..) => "",
                    (Until::CaughtUp, _, false) => ". It ends once the writers of the source have stopped",
                    (Until::Stopped, Purpose::Migration, _) => {
                        ". To end: stop the writers of the source, Ctrl-C, and the same command with --cutover"
                    }
                    (Until::Stopped, Purpose::Replication, _) => ". It follows until Ctrl-C",
                };
                let seconds = NEAR_MS / 1000;
                output::note(&format!(
                    "{table}: caught up after {changes}, less than {seconds} s behind{next}"
                ));
            }
        }
    }

    /// Shows how far a bridge has come whose tables are both written.
    pub(super) fn both_ways(&self, came: Came) {
        let Came { sent, arrived, open } = came;
        let table = &self.source.table;
        self.say_at_times(&format!("{table}: {sent} changes sent to it, {arrived} taken, {open} under way"));
    }

    /// Shows this on a terminal; says it elsewhere, unless something was said a moment ago.
    fn say_at_times(&self, text: &str) {
        let spinner = self.spinner.borrow();
        let Some(spinner) = spinner.as_ref() else { return };
        if !spinner.is_hidden() {
            spinner.show(text);
        } else if self.said.get().is_none_or(|said| said.elapsed() >= LINE_EVERY) {
            output::note(text);
            self.said.set(Some(instant()));
        }
    }
}

/// In words: `7 changes, 2 of them by time to live`.
fn counted(changes: u64, expiries: u64) -> String {
    let expired = if expiries == 0 { String::new() } else { format!(", {expiries} of them by time to live") };
    format!("{changes} changes{expired}")
}

fn applied(table: &str, changes: &str, lag_ms: u64) -> String {
    if lag_ms == u64::MAX {
        return format!("{table}: applied {changes}");
    }
    let (seconds, tenths) = (lag_ms / 1000, lag_ms % 1000 / 100);
    format!("{table}: applied {changes}; {seconds}.{tenths} s behind")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_is_shown_in_seconds_and_left_out_if_the_source_gives_no_times() {
        assert_eq!(applied("T", &counted(7, 0), 1260), "T: applied 7 changes; 1.2 s behind");
        let expired = applied("T", &counted(7, 2), u64::MAX);
        assert_eq!(expired, "T: applied 7 changes, 2 of them by time to live");
    }
}
