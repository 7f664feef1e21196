//! Latencies as numbers and for people.

use std::time::Duration;

/// Latencies are recorded from a nanosecond to a hundred seconds.
pub(super) const LATENCY_NS_MAX: u64 = 100_000_000_000;

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds in a unit that keeps about three digits.
pub(super) fn shown(nanoseconds: u64) -> String {
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{} µs", nanoseconds / 1000),
        _ => format!("{} ms", nanoseconds / 1_000_000),
    }
}
