//! What processes over one store have told each other of used throughput limits (`background::use_rows`).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::members::MemberId;
use crate::throughput::uses::Use;

/// Spans that a row holds. Who has not looked for longer misses what was used before.
const SPANS_MAX: usize = 8;

/// What was used between two writes. Spans of a process are numbered from one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Span {
    pub number: u64,
    pub uses: Vec<Use>,
}

/// What this process has told, and heard of the others.
#[derive(Debug, Default)]
pub(crate) struct ToldUses {
    number: u64,
    spans: VecDeque<Span>,
    /// The last span heard of each process.
    heard: BTreeMap<MemberId, u64>,
    next_ms: u64,
}

impl ToldUses {
    /// Whether it is time to tell and hear again, so many milliseconds after the last time.
    pub(crate) fn is_due(&mut self, now_ms: u64, every_ms: u64) -> bool {
        let is_due = now_ms >= self.next_ms || self.next_ms > now_ms.saturating_add(every_ms);
        if is_due {
            self.next_ms = now_ms.saturating_add(every_ms);
        }
        is_due
    }

    /// Adds a span; returns all that the row has to hold.
    pub(crate) fn tell(&mut self, uses: Vec<Use>) -> Vec<Span> {
        self.number += 1;
        if self.spans.len() >= SPANS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { number: self.number, uses });
        self.spans.iter().cloned().collect()
    }

    /// The uses that were not heard before, from the rows of all other processes. Those of a process that is
    /// heard of for the first time count only if it has just begun: else they may be of any time.
    pub(crate) fn hear(&mut self, rows: Vec<(MemberId, Vec<Span>)>) -> Vec<Use> {
        let before = std::mem::take(&mut self.heard);
        let mut uses = Vec::new();
        for (member, spans) in rows {
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            let at_first = if first.number == 1 { 0 } else { last.number };
            let heard = before.get(&member).copied().unwrap_or(at_first);
            self.heard.insert(member, last.number);
            uses.extend(spans.into_iter().filter(|span| span.number > heard).flat_map(|span| span.uses));
        }
        uses
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::throttle::Direction;

    use super::*;
    use crate::support::layout::TableId;
    use crate::throughput::uses::UseLog;

    fn uses(units: i64) -> Vec<Use> {
        let mut log = UseLog::default();
        log.add((TableId(1), None, Direction::Read, None), None, units);
        log.take()
    }

    fn units(heard: &[Use]) -> Vec<i64> {
        heard.iter().map(|used| used.units).collect()
    }

    #[test]
    fn each_span_is_heard_once() {
        let (mut one, mut other) = (ToldUses::default(), ToldUses::default());
        let row = |spans| vec![(MemberId(7), spans)];
        assert_eq!(units(&other.hear(row(one.tell(uses(1))))), [1]);
        one.tell(uses(2));
        let told = row(one.tell(uses(3)));
        assert_eq!(units(&other.hear(told.clone())), [2, 3]);
        assert_eq!(units(&other.hear(told)), []);
    }

    #[test]
    fn old_spans_of_a_process_that_was_not_known_do_not_count() {
        let (mut one, mut other) = (ToldUses::default(), ToldUses::default());
        let row = |spans| vec![(MemberId(7), spans)];
        let old = (0..20).map(|at| one.tell(uses(at + 1))).last().expect("there are spans");
        assert_eq!(old.len(), SPANS_MAX);
        assert_eq!(units(&other.hear(row(old))), []);
        assert_eq!(units(&other.hear(row(one.tell(uses(50))))), [50]);
    }
}
