//! What was counted: latencies, answers, faults by name.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

/// Latencies are recorded from a nanosecond to a hundred seconds, three digits exact.
const LATENCY_NS_MAX: u64 = 100_000_000_000;
const DIGITS: u8 = 3;

/// The outcome of one turn, or of several.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Nanoseconds, of good answers, of refusals and of requests that came to nothing. What was never sent, or had no answer
    /// when the turn was given up, is in it with the time it had waited: see `unended`.
    pub(super) latency: Histogram<u64>,
    /// Good answers that came within the measured time.
    pub(super) answered: u64,
    /// Bytes of good answers' bodies.
    pub(super) body_bytes: u64,
    /// Answers that are not good, and requests without one, by name.
    pub(super) faults: BTreeMap<String, u64>,
    /// Requests that were to be sent in the measured time and were not, because all connections were busy.
    pub(super) unsent: u64,
    /// Requests that were sent and had no answer when the turn was given up.
    pub(super) unanswered: u64,
    pub(super) measured: Duration,
    /// Requests sent, those of the warm-up too.
    pub(super) sent: u64,
    /// Processor time of the server during all of them; zero when it is not known.
    pub(super) server_time: Duration,
    /// Processor time of the threads that send, and how much of it they could have taken.
    pub(super) sending: Sending,
}

/// How busy the generator itself was: near all of its time, the rate is its own limit and not the server's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    pub(super) spent: Duration,
    pub(super) there: Duration,
}

impl Sending {
    /// The share in hundredths, if it is known.
    pub(super) fn percent(self) -> Option<u64> {
        let there = u64::try_from(self.there.as_millis()).ok()?;
        u64::try_from(self.spent.as_millis()).ok()?.saturating_mul(100).checked_div(there)
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        let latency = Histogram::new_with_max(LATENCY_NS_MAX, DIGITS).expect("these bounds make a histogram");
        Self {
            latency,
            answered: 0,
            body_bytes: 0,
            faults: BTreeMap::new(),
            unsent: 0,
            unanswered: 0,
            measured: Duration::ZERO,
            sent: 0,
            server_time: Duration::ZERO,
            sending: Sending::default(),
        }
    }

    /// Counts a good answer that came within the measured time, whenever its request was due.
    pub(super) fn good(&mut self, body_bytes: usize) {
        self.answered += 1;
        self.body_bytes += u64::try_from(body_bytes).unwrap_or(u64::MAX);
    }

    pub(super) fn fault(&mut self, name: String) {
        *self.faults.entry(name).or_default() += 1;
    }

    pub(super) fn record(&mut self, latency: Duration) {
        self.latency.saturating_record(nanoseconds(latency));
    }

    pub(super) fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let added = self.latency.add(&other.latency);
        debug_assert!(added.is_ok(), "histograms of one form add up");
        self.answered += other.answered;
        self.body_bytes += other.body_bytes;
        self.unsent += other.unsent;
        self.unanswered += other.unanswered;
        self.sending.spent += other.sending.spent;
        self.sending.there += other.sending.there;
        self.measured += other.measured;
        self.sent += other.sent;
        self.server_time += other.server_time;
        for (name, count) in &other.faults {
            *self.faults.entry(name.clone()).or_default() += count;
        }
    }

    /// Good answers in a second.
    pub(super) fn rate(&self) -> u64 {
        let millis = u64::try_from(self.measured.as_millis()).unwrap_or(u64::MAX).max(1);
        self.answered.saturating_mul(1000) / millis
    }

    /// The server's processor time for one request in nanoseconds, if it is known.
    pub(super) fn server_ns(&self) -> Option<u64> {
        (!self.server_time.is_zero()).then(|| nanoseconds(self.server_time).checked_div(self.sent)).flatten()
    }

    pub(super) fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Requests whose latencies are longer than what is recorded of them.
    pub(super) fn unended(&self) -> u64 {
        self.unsent + self.unanswered
    }
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
