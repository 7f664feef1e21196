//! What a live migration shows while it goes on: a spinner on a terminal, lines from time to time elsewhere.

use std::cell::{Cell, RefCell};

use super::both_ways::Came;
use super::follow::{Event, NEAR_MS, Until};
use super::side::Side;
use crate::client::progress::StatusLine;
use crate::process::output;

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
    line: RefCell<Option<StatusLine>>,
    has_scanned: Cell<bool>,
    /// Whether the last line says that nothing is under way both ways.
    is_said_to_rest: Cell<bool>,
}

impl<'s> Show<'s> {
    pub(super) fn new(source: &'s Side, purpose: Purpose, until: Until) -> Self {
        Self {
            source,
            purpose,
            until,
            line: RefCell::new(Some(StatusLine::new())),
            has_scanned: Cell::new(false),
            is_said_to_rest: Cell::new(false),
        }
    }

    pub(super) fn clear(&self) {
        self.line.borrow_mut().take();
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

    /// Shows how far a bridge to this table has come whose tables are both written.
    pub(super) fn both_ways(&self, target: &Side, came: Came) {
        let text = under_way((&self.source.place(), &target.place()), came);
        if came.is_quiet && !self.is_said_to_rest.replace(true) {
            output::note(&text);
        } else if self.say_at_times(&text) {
            self.is_said_to_rest.set(came.is_quiet);
        }
    }

    /// Shows this on a terminal; says it elsewhere from time to time. Whether it was said as a line.
    fn say_at_times(&self, text: &str) -> bool {
        self.line.borrow_mut().as_mut().is_some_and(|line| line.show(text))
    }
}

/// How far a bridge between two tables has come.
fn under_way((first, second): (&str, &str), came: Came) -> String {
    let Came { sent, arrived, open, is_quiet } = came;
    let rest = if is_quiet {
        "nothing is under way: both are equal".to_owned()
    } else {
        format!("{} under way", counted_items(open))
    };
    format!("Both ways: {sent} changes sent to {first}, {arrived} to {second}; {rest}")
}

fn counted_items(open: usize) -> String {
    if open == 1 { "1 item".to_owned() } else { format!("{open} items") }
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

    #[test]
    fn a_bridge_names_both_tables_with_their_endpoints_and_says_when_nothing_is_under_way() {
        let said = |open, is_quiet| {
            under_way(("T at http://a", "T at http://b"), Came { sent: 7, arrived: 3, open, is_quiet })
        };
        let head = "Both ways: 7 changes sent to T at http://a, 3 to T at http://b; ";
        assert_eq!(said(2, false), format!("{head}2 items under way"));
        assert_eq!(said(0, true), format!("{head}nothing is under way: both are equal"));
    }
}
