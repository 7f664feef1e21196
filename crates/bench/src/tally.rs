//! Counts of a measurement: latencies, responses, errors by name.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::latency::{LATENCY_NS_MAX, nanoseconds};
use super::trend::Trend;

/// Significant digits of the latencies of a measurement.
const DIGITS: u8 = 3;

/// The counts of one measurement, or of several.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// Latencies in nanoseconds of all responses and failed requests. A request that was never sent, or had
    /// no response at the end of the drain time, counts with the time that it had waited: see `unended`.
    pub(super) latency: Histogram<u64>,
    /// Successful responses within the measured time.
    pub(super) answered: u64,
    /// Bytes of successful responses' bodies.
    pub(super) body_bytes: u64,
    /// Errors and requests without a response, by name.
    pub(super) faults: BTreeMap<String, u64>,
    /// Requests that were due in the measured time and not sent, because all connections were busy.
    pub(super) unsent: u64,
    /// Requests that had no response at the end of the drain time.
    pub(super) unanswered: u64,
    pub(super) measured: Duration,
    /// Requests sent, including the warm-up.
    pub(super) sent: u64,
    /// CPU time of the server during all of them; zero if unknown.
    pub(super) server_time: Duration,
    /// CPU time of the sending threads, and how much they could have used.
    pub(super) sending: Sending,
    /// How long after its due time a request was sent though its connection waited for it: the generator's
    /// own part of latencies.
    pub(super) lateness: Histogram<u64>,
    /// Latencies by second; empty unless asked for.
    pub(super) trend: Trend,
}

/// How busy the load generator was. Near 100 % the rate is the generator's limit and not the server's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sending {
    pub(super) spent: Duration,
    pub(super) there: Duration,
}

impl Sending {
    /// The percentage, if it is known.
    pub(super) fn percent(self) -> Option<u64> {
        let there = u64::try_from(self.there.as_millis()).ok()?;
        u64::try_from(self.spent.as_millis()).ok()?.saturating_mul(100).checked_div(there)
    }
}

impl Tally {
    pub(super) fn new() -> Self {
        let latency = Histogram::new_with_max(LATENCY_NS_MAX, DIGITS).expect("these bounds make a histogram");
        Self {
            lateness: latency.clone(),
            latency,
            trend: Trend::default(),
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

    /// Counts a successful response within the measured time, whenever its request was due.
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
        // Both histograms have the same bounds.
        let added = self.latency.add(&other.latency).and(self.lateness.add(&other.lateness));
        debug_assert!(added.is_ok(), "histograms with the same bounds can be added");
        self.answered += other.answered;
        self.body_bytes += other.body_bytes;
        self.unsent += other.unsent;
        self.unanswered += other.unanswered;
        self.sending.spent += other.sending.spent;
        self.sending.there += other.sending.there;
        self.measured += other.measured;
        self.sent += other.sent;
        self.trend.add(&other.trend);
        self.server_time += other.server_time;
        for (name, count) in &other.faults {
            *self.faults.entry(name.clone()).or_default() += count;
        }
    }

    /// Successful responses per second.
    pub(super) fn rate(&self) -> u64 {
        let millis = u64::try_from(self.measured.as_millis()).unwrap_or(u64::MAX).max(1);
        self.answered.saturating_mul(1000) / millis
    }

    /// The server's CPU time per request in nanoseconds, if it is known.
    pub(super) fn server_ns(&self) -> Option<u64> {
        (!self.server_time.is_zero()).then(|| nanoseconds(self.server_time).checked_div(self.sent)).flatten()
    }

    pub(super) fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Requests whose real latency is longer than the recorded one.
    pub(super) fn unended(&self) -> u64 {
        self.unsent + self.unanswered
    }
}
