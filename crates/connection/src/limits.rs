//! Every bound on connections: its value, its reason, the setting that changes it.
//!
//! `docs/reference/limits.md` lists them for users, with those of the server.

use std::net::IpAddr;
use std::time::Duration;

use keywright_semantics::limits::REQUEST_BYTES_MAX;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// Heads

/// A request's line or headers (observed: the service refuses more than 16 KB of either).
pub const HEAD_BYTES_MAX: usize = 16 * KIB;
/// Size of a connection's read buffer, and the largest piece in which bodies arrive. A request line and
/// headers of 16 KiB each must fit, with room for separators.
pub const READ_BUFFER_BYTES_MAX: usize = 64 * KIB;
/// Bytes of an unfinished head that take nothing from the body budget. Real heads are smaller.
pub const HEAD_FREE_BYTES: u64 = 8 * 1024;
/// Bytes that one read takes from a socket. A read past the end of a body holds the beginning of the next
/// head, and no budget counts those bytes.
pub const READ_BYTES_MAX: u64 = 16 * 1024;
/// Time limit of a request head counted from the last response. The periodic check can add one interval.
pub const HEAD_SECONDS_MAX: u32 = 30;
/// Time limit of a head after a stop signal.
const STOPPING_HEAD_MS_MAX: u32 = 2_000;

// TLS handshakes

/// Time limit of a handshake: two round trips, and its turn among others.
pub const HANDSHAKE_SECONDS_MAX: u64 = 10;
/// Bytes that a handshake may send. Clients without a certificate send 2 to 4 KiB.
pub const HANDSHAKE_BYTES_MAX: u64 = 16 * 1024;
/// One in this many connections, of one address and of all, may be in its handshake.
pub const HANDSHAKES_SHARE: usize = 4;

// Responses that are not read

/// Minimum rate at which a client must read a blocked response. Kestrel demands 240 bytes; a phone network
/// gives more than 8 KiB.
const ANSWER_BYTES_PER_SECOND_MIN: u64 = 8 * 1024;
/// Window over which the rate is measured. A stalled network recovers within it.
const ANSWER_WINDOW_SECONDS: u32 = 20;
/// The same after a stop signal.
const STOPPING_ANSWER_WINDOW_MS: u32 = 2_000;

/// Interval of checks while the memory for responses is short.
pub const PRESSURE_CHECK_MS: u64 = 1_000;
/// Bytes of a blocked response that a client must read between two such checks.
pub const PRESSED_ANSWER_BYTES_MIN: u64 = 8 * 1024;

// Checks of connections

/// Interval of the checks of connections. A hidden setting shortens it for tests.
pub const CHECK_MS: u32 = 5_000;
/// The same after a stop signal.
const STOPPING_CHECK_MS: u32 = 500;

// Connections and descriptors

/// Connections accepted beyond the limit while those that make room for them close.
pub const CONNECTIONS_AHEAD_MAX: usize = 64;
/// Interval at which a full server searches again for connections to close.
pub const ROOM_RETRY_MS: u64 = 100;
/// Number of candidates chosen by one pass over all connections. A pass for each new client would be
/// quadratic.
pub const VICTIMS_MAX: usize = 256;
/// The same where all candidates have had an admitted request: they are closed only while there are no
/// others.
pub const KNOWN_VICTIMS_MAX: usize = 16;
/// Time that a new client has for its first request before it can be closed to make room.
pub const NEW_CONNECTION: Duration = Duration::from_secs(1);
/// With credentials, one in this many connections may be without a verified request.
pub const UNVERIFIED_CONNECTIONS_SHARE: usize = 2;
/// Length of the system's accept queue. The system may allow fewer (`net.core.somaxconn`).
pub const BACKLOG: u32 = 4_096;
/// Delay after the system refuses to accept a connection, for example without file descriptors.
pub const ACCEPT_RETRY_MS: u64 = 50;

// Bodies

/// Time limit of a request body.
pub const BODY_SECONDS_MAX: u64 = 60;
/// Least rate of a body, on average over the time that the server waits for it, once the grace time is over
/// (Kestrel demands 240 bytes).
pub const BODY_BYTES_PER_SECOND_MIN: u64 = 1024;
/// Time in which a body may be as slow as it likes.
pub const BODY_GRACE: Duration = Duration::from_secs(5);
/// Bytes of a refused body that are read and discarded, so that the connection can be used again. A longer
/// rest ends the connection.
pub const DISCARDED_BYTES_MAX: usize = 4 * REQUEST_BYTES_MAX;
/// Bytes of a body that take nothing from the budget. Most requests are smaller, and 10,000 connections hold
/// 160 MiB.
pub const BODY_FREE_BYTES: usize = 16 * KIB;
/// A body of which this much has arrived takes the budget for all of it at once, so that large requests never
/// wait for each other.
pub const BODY_STEPS_BYTES_MAX: usize = MIB;
/// Bytes that are read of a body whose head is invalid, to report a body that is not JSON first, as the
/// service does.
pub const FAILED_BODY_BYTES_MAX: usize = 64 * KIB;
/// With credentials, one in this many bytes of the body budget is for connections without a verified request.
pub const UNVERIFIED_BODIES_SHARE: usize = 4;

// Answers

/// Smaller responses take nothing from the budget.
pub const ANSWER_FREE_BYTES: usize = 16 * KIB;

// Addresses

/// Addresses remembered for failed signatures. Beyond that the one that failed longest ago is forgotten.
pub const FAILED_ADDRESSES_MAX: usize = 1_024;

// Reports

/// Interval of the log line that sums up what was refused.
pub const REFUSED_REPORT_SECONDS: u64 = 60;

/// A limit for each address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerAddress {
    /// This many, without a limit on loopback: all clients on this machine share its address.
    BeyondLoopback(u32),
    /// This many for every address, as set by the user.
    Every(u32),
    /// No limit.
    Unlimited,
}

impl PerAddress {
    /// From a setting in which 0 means no limit.
    pub const fn from_setting(setting: Option<u32>, default: u32) -> Self {
        match setting {
            None => Self::BeyondLoopback(default),
            Some(0) => Self::Unlimited,
            Some(most) => Self::Every(most),
        }
    }

    /// The limit of an address, if it has one.
    pub const fn of(self, address: IpAddr) -> Option<u32> {
        match self {
            Self::BeyondLoopback(_) if address.is_loopback() => None,
            Self::BeyondLoopback(most) | Self::Every(most) => Some(most),
            Self::Unlimited => None,
        }
    }
}

/// The limits that settings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open connections.
    pub connections_max: usize,
    /// Open connections of one address.
    pub connections_per_address: PerAddress,
    /// Concurrent requests of one address.
    pub requests_per_address: PerAddress,
    /// Memory for bodies.
    pub body_budget_bytes: usize,
    /// Memory for decoded requests.
    pub decode_budget_bytes: usize,
    /// Memory for large responses.
    pub answer_budget_bytes: usize,
    /// Hidden setting: interval of the checks of connections.
    pub check_ms: u32,
    /// Hidden setting: time that a request waits for a budget.
    pub budget_wait_ms: u64,
}

/// When a connection is closed. Times are counts of checks, so that no clock is read per connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckPolicy {
    /// Time between two checks.
    pub interval: Duration,
    /// Number of idle checks after which a connection is closed.
    pub idle_checks: u32,
    /// Number of checks over which the rate of reading is measured.
    pub answer_checks: u32,
    /// Bytes that a client must read during those checks.
    pub answer_bytes: u64,
}

impl CheckPolicy {
    /// While the server serves.
    pub fn serving(check_ms: u32) -> Self {
        let idle_checks = (HEAD_SECONDS_MAX * 1_000).div_ceil(CHECK_MS);
        let answer_checks = (ANSWER_WINDOW_SECONDS * 1_000).div_ceil(CHECK_MS);
        Self::new(check_ms, idle_checks, answer_checks)
    }

    /// After a stop signal.
    pub fn stopping() -> Self {
        let idle_checks = STOPPING_HEAD_MS_MAX.div_ceil(STOPPING_CHECK_MS);
        let answer_checks = STOPPING_ANSWER_WINDOW_MS.div_ceil(STOPPING_CHECK_MS);
        Self::new(STOPPING_CHECK_MS, idle_checks, answer_checks)
    }

    fn new(check_ms: u32, idle_checks: u32, answer_checks: u32) -> Self {
        let window_ms = u64::from(check_ms) * u64::from(answer_checks);
        Self {
            interval: Duration::from_millis(check_ms.into()),
            idle_checks,
            answer_checks,
            answer_bytes: ANSWER_BYTES_PER_SECOND_MIN * window_ms / 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_no_limit_unless_a_setting_gives_one() {
        let (here, there): (IpAddr, IpAddr) = ([127, 0, 0, 1].into(), [192, 0, 2, 1].into());
        let of = |setting| {
            let limit = PerAddress::from_setting(setting, 7);
            (limit.of(here), limit.of(there))
        };
        assert_eq!(of(None), (None, Some(7)));
        assert_eq!(of(Some(0)), (None, None));
        assert_eq!(of(Some(3)), (Some(3), Some(3)));
    }

    #[test]
    fn connections_have_thirty_seconds_for_a_head_and_two_after_a_stop_signal() {
        let serving = CheckPolicy::serving(CHECK_MS);
        assert_eq!(serving.interval * serving.idle_checks, Duration::from_secs(30));
        assert_eq!(serving.interval * serving.answer_checks, Duration::from_secs(20));
        assert_eq!(serving.answer_bytes, 20 * ANSWER_BYTES_PER_SECOND_MIN);
        let stopping = CheckPolicy::stopping();
        assert_eq!(stopping.interval * stopping.idle_checks, Duration::from_secs(2));
    }
}
