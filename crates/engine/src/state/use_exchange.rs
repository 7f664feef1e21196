//! What processes over one store tell each other of used throughput limits (`background::use_rows`).

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::support::member_row::MemberId;
use crate::throughput::uses::Use;

/// Spans that a row holds. Who has not looked for longer misses what was used before.
const SPANS_MAX: usize = 8;

/// What was used between two writes. Spans of a process are numbered from one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Span {
    pub number: u64,
    pub uses: Vec<Use>,
}

/// What this process has published, and received from the others.
#[derive(Debug, Default)]
pub(crate) struct UseExchange {
    number: u64,
    spans: VecDeque<Span>,
    /// The last span received from each process.
    received: BTreeMap<MemberId, u64>,
    next_ms: u64,
}

impl UseExchange {
    /// Whether it is time for the next exchange, so many milliseconds after the last one.
    pub(crate) fn is_due(&mut self, now_ms: u64, every_ms: u64) -> bool {
        let is_due = now_ms >= self.next_ms || self.next_ms > now_ms.saturating_add(every_ms);
        if is_due {
            self.next_ms = now_ms.saturating_add(every_ms);
        }
        is_due
    }

    /// Adds a span; returns all that the row has to hold.
    pub(crate) fn publish(&mut self, uses: Vec<Use>) -> Vec<Span> {
        self.number += 1;
        if self.spans.len() >= SPANS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { number: self.number, uses });
        self.spans.iter().cloned().collect()
    }

    /// The uses that are new in the rows of all other processes. Those of a process that was not known count
    /// only if it has just begun: else they may be of any time.
    pub(crate) fn receive(&mut self, rows: Vec<(MemberId, Vec<Span>)>) -> Vec<Use> {
        let before = std::mem::take(&mut self.received);
        let mut uses = Vec::new();
        for (member, spans) in rows {
            let (Some(first), Some(last)) = (spans.first(), spans.last()) else { continue };
            let at_first = if first.number == 1 { 0 } else { last.number };
            let received = before.get(&member).copied().unwrap_or(at_first);
            self.received.insert(member, last.number);
            uses.extend(spans.into_iter().filter(|span| span.number > received).flat_map(|span| span.uses));
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

    fn units(received: &[Use]) -> Vec<i64> {
        received.iter().map(|used| used.units).collect()
    }

    #[test]
    fn each_span_is_received_once() {
        let (mut one, mut other) = (UseExchange::default(), UseExchange::default());
        let row = |spans| vec![(MemberId(7), spans)];
        assert_eq!(units(&other.receive(row(one.publish(uses(1))))), [1]);
        one.publish(uses(2));
        let published = row(one.publish(uses(3)));
        assert_eq!(units(&other.receive(published.clone())), [2, 3]);
        assert_eq!(units(&other.receive(published)), [0_i64; 0]);
    }

    #[test]
    fn old_spans_of_a_process_that_was_not_known_do_not_count() {
        let (mut one, mut other) = (UseExchange::default(), UseExchange::default());
        let row = |spans| vec![(MemberId(7), spans)];
        let old = (0..20).map(|at| one.publish(uses(at + 1))).last().expect("there are spans");
        assert_eq!(old.len(), SPANS_MAX);
        assert_eq!(units(&other.receive(row(old))), [0_i64; 0]);
        assert_eq!(units(&other.receive(row(one.publish(uses(50))))), [50]);
    }
}
