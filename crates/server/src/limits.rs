//! Every bound that keeps one client from stopping the others: its value, its reason, the setting that changes it.
//!
//! Limits of DynamoDB itself are in `keywright_semantics::limits`. `docs/reference/limits.md` lists both for users.

use std::net::IpAddr;
use std::time::Duration;

use keywright_semantics::limits::REQUEST_BYTES_MAX;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// Heads

/// A request's line or headers (observed: the service refuses more than 16 KB of either).
pub(crate) const HEAD_BYTES_MAX: usize = 16 * KIB;
/// What is buffered of a connection's input, and the largest piece in which bodies arrive: a line and headers of 16 KiB
/// each must fit, with room for separators.
pub(crate) const READ_BUFFER_BYTES_MAX: usize = 64 * KIB;
/// What an unfinished head may hold without taking from the body budget: real heads are smaller.
pub(crate) const HEAD_FREE_BYTES: usize = 8 * KIB;
/// How long a client may take for a TLS handshake or, from the answer to its last request on, for the head of one; for
/// the latter at most one check longer.
pub(crate) const HEAD_SECONDS_MAX: u32 = 30;
/// How long a head may still take after a stop signal.
const STOPPING_HEAD_MS_MAX: u32 = 2_000;

// Answers that are not read

/// A client must take at least this much of a pending answer per second. Kestrel asks for 240 bytes; a phone network
/// gives more than this.
const ANSWER_BYTES_PER_SECOND_MIN: u64 = 8 * 1024;
/// Over how long the rate of reading is measured: a stalled network recovers within it.
const ANSWER_WINDOW_SECONDS: u32 = 20;
/// The same after a stop signal.
const STOPPING_ANSWER_WINDOW_MS: u32 = 2_000;

/// While memory for answers is short, connections are looked at so often.
pub(crate) const PRESSURE_CHECK_MS: u64 = 1_000;
/// What a client must have taken of a pending answer between two such looks.
pub(crate) const PRESSED_ANSWER_BYTES_MIN: u64 = 8 * 1024;

// Checks of connections

/// How often connections are checked. A hidden setting shortens it for tests.
pub(crate) const CHECK_MS: u32 = 5_000;
/// The same after a stop signal.
const STOPPING_CHECK_MS: u32 = 500;

// Stopping

/// How long running requests get after a stop signal.
pub(crate) const DRAIN_SECONDS_MAX: u64 = 30;
/// How long changes get after the drain, before the database is left without its clean stop.
pub(crate) const CHANGES_SECONDS_MAX: u64 = 5;

// Connections and descriptors

/// Connections at one time (`--connections-max`), as far as descriptors allow.
pub(crate) const CONNECTIONS_MAX: usize = 10_000;
/// Fewer connections than this are not worth a start.
pub(crate) const CONNECTIONS_MIN: usize = 16;
/// Connections accepted beyond the limit while those that make room for them close.
pub(crate) const CONNECTIONS_AHEAD_MAX: usize = 64;
/// How often a full server looks again for connections to close.
pub(crate) const ROOM_RETRY_MS: u64 = 100;
/// Connections chosen for closing by one pass over all of them: a pass for each new client would be quadratic.
pub(crate) const VICTIMS_MAX: usize = 256;
/// The same where all have had an admitted request: they go only while there are no others.
pub(crate) const KNOWN_VICTIMS_MAX: usize = 16;
/// How long a new client has for its first request before it makes room for others as the silent ones do.
pub(crate) const NEW_CONNECTION: Duration = Duration::from_secs(1);
/// With credentials, one in this many connections may be one that has not had a verified request.
pub(crate) const UNVERIFIED_CONNECTIONS_SHARE: usize = 2;
/// New connections that the system keeps until they are accepted. The system may allow fewer (`net.core.somaxconn`).
pub(crate) const BACKLOG: u32 = 4_096;
/// How long to wait after the system refuses to accept (out of file descriptors, say).
pub(crate) const ACCEPT_RETRY_MS: u64 = 50;
/// Table files that the store keeps open for reading: fjall's own default on Linux.
pub(crate) const STORE_FILES_MAX: usize = 900;
/// Where descriptors are scarce, the store keeps open one file for this many of them.
pub(crate) const STORE_FILES_SHARE: usize = 4;
/// Further descriptors of a store: journals (each 64 MiB, at most eight by default), inputs and outputs of
/// compactions on four threads, folders that are synced.
pub(crate) const STORE_SPARE_FILES: usize = 100;
/// Descriptors of the process itself: standard streams, the runtime's, listeners, files of settings and keys.
pub(crate) const PROCESS_FILES: usize = 24;

// Bodies

/// How long a client may take to send a body.
pub(crate) const BODY_SECONDS_MAX: u64 = 60;
/// How long a body may still take after a stop signal.
pub(crate) const STOPPING_BODY_SECONDS_MAX: u64 = 2;
/// What is read of a body that nobody wants, so that its connection can go on; a longer one ends it.
pub(crate) const DISCARDED_BYTES_MAX: usize = 4 * REQUEST_BYTES_MAX;
/// What a body may hold without taking from the budget: most requests are smaller, and 10,000 connections hold 160 MiB.
pub(crate) const BODY_FREE_BYTES: usize = 16 * KIB;
/// A body that came this far gets the budget for all of it at once: requests that hold much never wait for each other.
pub(crate) const BODY_STEPS_BYTES_MAX: usize = MIB;
/// What is read of a body whose head has failed, to report a body that is not JSON first, as the service does.
pub(crate) const FAILED_BODY_BYTES_MAX: usize = 64 * KIB;
/// Memory for all request bodies together (`--body-budget-mib`).
pub(crate) const BODY_BUDGET_MIB: u64 = 256;
/// With credentials, one in this many bytes of the body budget is for connections without a verified request yet.
pub(crate) const UNVERIFIED_BODIES_SHARE: usize = 4;
/// A quarter of the least budget holds the largest request.
pub(crate) const BODY_BUDGET_MIB_MIN: u64 = 64;
/// How long a request waits for a budget before it is answered with HTTP 503, which clients retry.
pub(crate) const BUDGET_WAIT_MS_MAX: u64 = 10_000;

/// Memory for what is made of bodies while they are read and executed (`--decode-budget-mib`).
pub(crate) const DECODE_BUDGET_MIB: u64 = 256;
/// Less would make every large request wait for all others.
pub(crate) const DECODE_BUDGET_MIB_MIN: u64 = 64;
/// Bytes that are read, verified or written out without letting others run: a millisecond or two.
pub(crate) const COMPUTED_BYTES_AT_ONCE: usize = 128 * KIB;

/// The same for a body of many small values, by the memory that these take: each costs as much time as 128 bytes of text.
pub(crate) const COMPUTED_DECODED_BYTES_AT_ONCE: usize = 512 * KIB;

/// Bodies up to this size are read at once. Reading more takes a tenth of a millisecond and beyond.
pub(crate) const SHORT_BODY_BYTES_MAX: usize = 2 * KIB;
/// Larger ones that are not for the lane yet queue for so many places before they are read.
pub(crate) const READERS_MAX: usize = 16;

// Compressed bodies

/// What a compressed body may become in any case.
pub(crate) const INFLATED_BYTES_FREE: usize = MIB;
/// Beyond that, how many times its own size: JSON seldom shrinks to less than a fiftieth.
pub(crate) const INFLATED_RATIO_MAX: usize = 200;
/// Members of a gzip body. Clients send one.
pub(crate) const GZIP_MEMBERS_MAX: usize = 16;
/// What is opened without letting others run.
pub(crate) const INFLATED_BYTES_AT_ONCE: usize = 256 * KIB;

// Answers

/// Memory for large answers that wait for their clients (`--answer-budget-mib`).
pub(crate) const ANSWER_BUDGET_MIB: u64 = 256;
/// The least budget holds the largest answer.
pub(crate) const ANSWER_BUDGET_MIB_MIN: u64 = 32;
/// Smaller answers take nothing from the budget.
pub(crate) const ANSWER_FREE_BYTES: usize = 16 * KIB;
/// A page of Query, Scan, GetRecords or PartiQL: 1 MB of small values is up to 10 MB of JSON.
pub(crate) const PAGE_ANSWER_BYTES: usize = 10 * MIB;
/// The largest answer of TransactGetItems and ExecuteTransaction.
pub(crate) const TRANSACTION_ANSWER_BYTES: usize = 8 * MIB;
/// The largest answer of BatchGetItem and BatchExecuteStatement.
pub(crate) const BATCH_ANSWER_BYTES: usize = 16 * MIB;
/// What TransactWriteItems and BatchWriteItem of many items may read.
pub(crate) const WRITES_READ_BYTES: usize = 32 * MIB;

// Addresses

/// Connections of one address beyond loopback (`--connections-per-address`).
pub(crate) const CONNECTIONS_PER_ADDRESS: u32 = 1_000;
/// Requests under way of one address beyond loopback (`--requests-per-address`).
pub(crate) const REQUESTS_PER_ADDRESS: u32 = 500;
/// How much later a failing request is answered after the first failed signature of its address; it doubles with each.
pub(crate) const FAILED_SIGNATURE_MS: u64 = 10;
/// The longest such delay.
pub(crate) const FAILED_SIGNATURE_MS_MAX: u64 = 1_000;
/// How long an address is remembered after its last failed signature.
pub(crate) const FAILED_SIGNATURE_MEMORY_MS: u64 = 60_000;
/// Addresses remembered for failed signatures. Past it the one that failed longest ago is forgotten.
pub(crate) const FAILED_ADDRESSES_MAX: usize = 1_024;

// Reports

/// How often a line in the log sums up what was refused.
pub(crate) const REFUSED_REPORT_SECONDS: u64 = 60;

/// A limit for each address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PerAddress {
    /// This many, except for clients on this machine: one machine's clients share its address.
    BeyondLoopback(u32),
    /// This many for each address, as a setting says.
    Every(u32),
    Unlimited,
}

impl PerAddress {
    /// From a setting, in which 0 stands for no limit.
    pub(crate) const fn from_setting(setting: Option<u32>, default: u32) -> Self {
        match setting {
            None => Self::BeyondLoopback(default),
            Some(0) => Self::Unlimited,
            Some(most) => Self::Every(most),
        }
    }

    /// The limit for one address, if it has one.
    pub(crate) const fn of(self, address: IpAddr) -> Option<u32> {
        match self {
            Self::BeyondLoopback(_) if address.is_loopback() => None,
            Self::BeyondLoopback(most) | Self::Every(most) => Some(most),
            Self::Unlimited => None,
        }
    }
}

/// The limits that settings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) connections_max: usize,
    pub(crate) connections_per_address: PerAddress,
    pub(crate) requests_per_address: PerAddress,
    pub(crate) body_budget_bytes: usize,
    pub(crate) decode_budget_bytes: usize,
    pub(crate) answer_budget_bytes: usize,
    /// Hidden: how often connections are checked.
    pub(crate) check_ms: u32,
    /// Hidden: how long a request waits for a budget.
    pub(crate) budget_wait_ms: u64,
}

/// When a connection is closed: counts of checks, so that no clock is read for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    pub(crate) interval: Duration,
    /// Checks that find a connection without a request before it is closed.
    pub(crate) idle_checks: u32,
    /// Checks over which the rate of reading is measured.
    pub(crate) answer_checks: u32,
    /// What a client must take of its answer over those checks.
    pub(crate) answer_bytes: u64,
}

impl Pace {
    pub(crate) fn serving(check_ms: u32) -> Self {
        let idle_checks = (HEAD_SECONDS_MAX * 1_000).div_ceil(CHECK_MS);
        let answer_checks = (ANSWER_WINDOW_SECONDS * 1_000).div_ceil(CHECK_MS);
        Self::new(check_ms, idle_checks, answer_checks)
    }

    pub(crate) fn stopping() -> Self {
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
    fn clients_of_this_machine_have_no_limit_unless_a_setting_names_one() {
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
        let serving = Pace::serving(CHECK_MS);
        assert_eq!(serving.interval * serving.idle_checks, Duration::from_secs(30));
        assert_eq!(serving.interval * serving.answer_checks, Duration::from_secs(20));
        assert_eq!(serving.answer_bytes, 20 * ANSWER_BYTES_PER_SECOND_MIN);
        let stopping = Pace::stopping();
        assert_eq!(stopping.interval * stopping.idle_checks, Duration::from_secs(2));
    }
}
