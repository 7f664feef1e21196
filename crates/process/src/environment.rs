//! The only place where the process's clock and randomness enter.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use keywright_wire::sigv4::TimeMs;

#[expect(clippy::disallowed_methods, reason = "this is where the clock enters")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The wall clock.
pub fn now() -> TimeMs {
    TimeMs(u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX))
}

/// The wall clock, in microseconds since 1970.
pub fn now_us() -> u64 {
    u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
}

/// The monotonic clock, for durations.
#[expect(clippy::disallowed_methods, reason = "this is where the clock enters")]
pub fn instant() -> Instant {
    Instant::now()
}

/// Random bits for request ids, without a system call.
pub fn request_bits() -> u64 {
    fastrand::u64(..)
}

/// 128 random bits.
pub fn random_u128() -> u128 {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the system's random source works");
    u128::from_ne_bytes(bytes)
}
