//! Every bound that protects clients from each other: its value, its reason, the setting that changes it.
//!
//! Limits of DynamoDB itself are in `keywright_semantics::limits`. `docs/reference/limits.md` lists both for
//! users.

use std::net::IpAddr;
use std::time::Duration;

use keywright_semantics::limits::REQUEST_BYTES_MAX;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// Heads

/// A request's line or headers (observed: the service refuses more than 16 KB of either).
pub(crate) const HEAD_BYTES_MAX: usize = 16 * KIB;
/// Size of a connection's read buffer, and the largest piece in which bodies arrive. A request line and
/// headers of 16 KiB each must fit, with room for separators.
pub(crate) const READ_BUFFER_BYTES_MAX: usize = 64 * KIB;
/// Bytes of an unfinished head that take nothing from the body budget. Real heads are smaller.
pub(crate) const HEAD_FREE_BYTES: u64 = 8 * 1024;
/// Bytes that one read takes from a socket. A read past the end of a body holds the beginning of the next
/// head, and no budget counts those bytes.
pub(crate) const READ_BYTES_MAX: u64 = 16 * 1024;
/// Time limit of a request head counted from the last response. The periodic check can add one interval.
pub(crate) const HEAD_SECONDS_MAX: u32 = 30;
/// Time limit of a head after a stop signal.
const STOPPING_HEAD_MS_MAX: u32 = 2_000;

// TLS handshakes

/// Time limit of a handshake: two round trips, and its turn among others.
pub(crate) const HANDSHAKE_SECONDS_MAX: u64 = 10;
/// Bytes that a handshake may send. Clients without a certificate send 2 to 4 KiB.
pub(crate) const HANDSHAKE_BYTES_MAX: u64 = 16 * 1024;
/// One in this many connections, of one address and of all, may be in its handshake.
pub(crate) const HANDSHAKES_SHARE: usize = 4;

// Responses that are not read

/// Minimum rate at which a client must read a blocked response. Kestrel demands 240 bytes; a phone network
/// gives more than 8 KiB.
const ANSWER_BYTES_PER_SECOND_MIN: u64 = 8 * 1024;
/// Window over which the rate is measured. A stalled network recovers within it.
const ANSWER_WINDOW_SECONDS: u32 = 20;
/// The same after a stop signal.
const STOPPING_ANSWER_WINDOW_MS: u32 = 2_000;

/// Interval of checks while the memory for responses is short.
pub(crate) const PRESSURE_CHECK_MS: u64 = 1_000;
/// Bytes of a blocked response that a client must read between two such checks.
pub(crate) const PRESSED_ANSWER_BYTES_MIN: u64 = 8 * 1024;

// Checks of connections

/// Interval of the checks of connections. A hidden setting shortens it for tests.
pub(crate) const CHECK_MS: u32 = 5_000;
/// The same after a stop signal.
const STOPPING_CHECK_MS: u32 = 500;

// Stopping

/// Time limit of running requests after a stop signal.
pub(crate) const DRAIN_SECONDS_MAX: u64 = 30;
/// Time limit of writes after the drain. Then the database is left as after a crash.
pub(crate) const CHANGES_SECONDS_MAX: u64 = 5;

// Connections and descriptors

/// Maximum number of connections (`--connections-max`), as far as descriptors allow.
pub(crate) const CONNECTIONS_MAX: usize = 10_000;
/// The server does not start with room for fewer connections than this.
pub(crate) const CONNECTIONS_MIN: usize = 16;
/// Connections accepted beyond the limit while those that make room for them close.
pub(crate) const CONNECTIONS_AHEAD_MAX: usize = 64;
/// Interval at which a full server searches again for connections to close.
pub(crate) const ROOM_RETRY_MS: u64 = 100;
/// Number of candidates chosen by one pass over all connections. A pass for each new client would be
/// quadratic.
pub(crate) const VICTIMS_MAX: usize = 256;
/// The same where all candidates have had an admitted request: they are closed only while there are no
/// others.
pub(crate) const KNOWN_VICTIMS_MAX: usize = 16;
/// Time that a new client has for its first request before it can be closed to make room.
pub(crate) const NEW_CONNECTION: Duration = Duration::from_secs(1);
/// With credentials, one in this many connections may be without a verified request.
pub(crate) const UNVERIFIED_CONNECTIONS_SHARE: usize = 2;
/// Length of the system's accept queue. The system may allow fewer (`net.core.somaxconn`).
pub(crate) const BACKLOG: u32 = 4_096;
/// Delay after the system refuses to accept a connection, for example without file descriptors.
pub(crate) const ACCEPT_RETRY_MS: u64 = 50;
/// Table files that the store keeps open for reading: enough for some 60 GB.
pub(crate) const STORE_FILES_MAX: usize = 900;
/// Where descriptors are scarce, the store keeps one file open per this many of them.
pub(crate) const STORE_FILES_SHARE: usize = 4;
/// Further descriptors of a store: journals (each 64 MiB, at most eight by default), inputs and outputs of
/// compactions on four threads, folders that are synced.
pub(crate) const STORE_SPARE_FILES: usize = 100;
/// Descriptors of the process itself: standard streams, runtime, listeners, files of settings and keys, and
/// connections to the management port and the studio, and two pipes to each process for calls on models.
pub(crate) const PROCESS_FILES: usize =
    24 + MANAGEMENT_CONNECTIONS_MAX + STUDIO_CONNECTIONS_MAX + 2 * MODEL_PROCESSES_MAX;

// Bodies

/// Time limit of a request body.
pub(crate) const BODY_SECONDS_MAX: u64 = 60;
/// Time limit of a request body after a stop signal.
pub(crate) const STOPPING_BODY_SECONDS_MAX: u64 = 2;
/// Bytes of a refused body that are read and discarded, so that the connection can be used again. A longer
/// rest ends the connection.
pub(crate) const DISCARDED_BYTES_MAX: usize = 4 * REQUEST_BYTES_MAX;
/// With credentials, a rest longer than `FAILED_BODY_BYTES_MAX` is discarded for so many clients without a
/// verified request at a time. The others are answered at once and closed: nobody without a key may keep the
/// server reading.
pub(crate) const UNVERIFIED_DISCARDS_MAX: usize = 4;
/// Bytes of a body that take nothing from the budget. Most requests are smaller, and 10,000 connections hold
/// 160 MiB.
pub(crate) const BODY_FREE_BYTES: usize = 16 * KIB;
/// Body of a request to CloudWatch or Application Auto Scaling: the largest has some hundred queries.
pub(crate) const OTHER_BODY_BYTES_MAX: usize = MIB;
/// Memory that a byte of such a body may take once it is read, in any of its protocols.
pub(crate) const OTHER_DECODED_PER_BYTE: usize = 128;
/// A body of which this much has arrived takes the budget for all of it at once, so that large requests never
/// wait for each other.
pub(crate) const BODY_STEPS_BYTES_MAX: usize = MIB;
/// Bytes that are read of a body whose head is invalid, to report a body that is not JSON first, as the
/// service does.
pub(crate) const FAILED_BODY_BYTES_MAX: usize = 64 * KIB;
/// Memory for all request bodies (`--body-budget-mib`).
pub(crate) const BODY_BUDGET_MIB: u64 = 256;
/// With credentials, one in this many bytes of the body budget is for connections without a verified request.
pub(crate) const UNVERIFIED_BODIES_SHARE: usize = 4;
/// A quarter of the smallest budget holds the largest request.
pub(crate) const BODY_BUDGET_MIB_MIN: u64 = 64;
/// Time that a request waits for a budget before it is answered with HTTP 503, which clients retry.
pub(crate) const BUDGET_WAIT_MS_MAX: u64 = 10_000;

/// Memory for decoded requests (`--decode-budget-mib`).
pub(crate) const DECODE_BUDGET_MIB: u64 = 256;
/// With less every large request would wait for all others.
pub(crate) const DECODE_BUDGET_MIB_MIN: u64 = 64;
/// Bytes that are decoded, verified or rendered without yielding: a millisecond or two.
pub(crate) const COMPUTED_BYTES_AT_ONCE: usize = 128 * KIB;

/// Many small values take longer to decode than their text suggests: this much decoded memory counts as a
/// byte of body.
pub(crate) const DECODED_BYTES_PER_BODY_BYTE: usize = 4;
/// A byte of a request of many expressions or statements counts as so many: 100 KB of projections take 15 ms.
pub(crate) const EXPRESSION_BYTE_WEIGHT: usize = 8;

/// Bodies up to this size are decoded at once. Larger ones take a tenth of a millisecond or more.
pub(crate) const SHORT_BODY_BYTES_MAX: usize = 2 * KIB;
/// Number of medium bodies that are decoded at a time.
pub(crate) const READERS_MAX: usize = 16;

// Compressed bodies

/// Plain bytes that any compressed body may have.
pub(crate) const INFLATED_BYTES_FREE: usize = MIB;
/// Maximum ratio beyond that: JSON seldom compresses to less than a fiftieth.
pub(crate) const INFLATED_RATIO_MAX: usize = 200;
/// Maximum number of members of a gzip body. Clients send one.
pub(crate) const GZIP_MEMBERS_MAX: usize = 16;
/// Plain bytes that are decompressed without yielding.
pub(crate) const INFLATED_BYTES_AT_ONCE: usize = 256 * KIB;

// Answers

/// Memory for large responses that wait for their clients (`--answer-budget-mib`).
pub(crate) const ANSWER_BUDGET_MIB: u64 = 256;
/// The smallest budget holds the largest response.
pub(crate) const ANSWER_BUDGET_MIB_MIN: u64 = 32;
/// Smaller responses take nothing from the budget.
pub(crate) const ANSWER_FREE_BYTES: usize = 16 * KIB;
/// A page of Query, Scan, GetRecords or PartiQL: 1 MB of small values is up to 10 MB of JSON.
pub(crate) const PAGE_ANSWER_BYTES: usize = 10 * MIB;
/// The largest answer of TransactGetItems and ExecuteTransaction.
pub(crate) const TRANSACTION_ANSWER_BYTES: usize = 8 * MIB;
/// The largest answer of BatchGetItem and BatchExecuteStatement.
pub(crate) const BATCH_ANSWER_BYTES: usize = 16 * MIB;
/// Bytes that TransactWriteItems and BatchWriteItem of many items may read.
pub(crate) const WRITES_READ_BYTES: usize = 32 * MIB;

// Management

/// Connections to the management port. Each gets one answer; beyond the limit the oldest is closed.
pub(crate) const MANAGEMENT_CONNECTIONS_MAX: usize = 32;
/// Time limit of such a connection.
pub(crate) const MANAGEMENT_SECONDS_MAX: u64 = 10;
/// Interval at which the threads that serve the API give a sign of life.
pub(crate) const BEAT_SECONDS: u64 = 1;
/// Without a sign of life for so long the server counts as stuck.
pub(crate) const STUCK_SECONDS_MIN: u64 = 30;

// The studio

/// Connections to the studio. A browser opens six; beyond the limit an idle one is closed.
pub(crate) const STUDIO_CONNECTIONS_MAX: usize = 64;
/// Body of a request of the studio's own API.
pub(crate) const STUDIO_BODY_BYTES_MAX: usize = 16 * MIB;
/// The same before signing in: both calls that are answered then have an empty object.
pub(crate) const STUDIO_SIGN_IN_BODY_BYTES_MAX: usize = 4 * KIB;
/// Memory for such bodies.
pub(crate) const STUDIO_BODIES_BYTES: usize = 64 * MIB;
/// Memory for responses that wait for the page.
pub(crate) const STUDIO_ANSWERS_BYTES: usize = 64 * MIB;
/// Text of a model.
pub(crate) const MODEL_BYTES_MAX: usize = MIB;
/// Items that a model of the studio runs on, and their bytes.
pub(crate) const SAMPLES_MAX: usize = 20_000;
pub(crate) const SAMPLE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Minutes that the studio simulates, of all tables and indexes together: a page draws each.
pub(crate) const SIMULATED_MINUTES_MAX: u64 = 20_000;
/// Model files in the folder that are listed.
pub(crate) const MODELS_LISTED_MAX: usize = 1_000;
/// Bytes of all model files together.
pub(crate) const MODELS_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Of these, files that one account has saved, and their bytes: a quarter each.
pub(crate) const MODELS_EACH_MAX: usize = MODELS_LISTED_MAX / 4;
pub(crate) const MODELS_BYTES_EACH_MAX: u64 = MODELS_BYTES_MAX / 4;
/// Values of a request of the studio's own API: each takes some hundred bytes.
pub(crate) const STUDIO_VALUES_MAX: usize = 700_000;
/// Values of a text in such a request that is read too: lines of items, a model of another tool. The page
/// sends 512 KiB of lines at a time, which have 262,144 values at most.
pub(crate) const STUDIO_TEXT_VALUES_MAX: usize = 300_000;
/// Of the calls of this process with larger bodies one runs at a time.
pub(crate) const LIGHT_BODY_BYTES_MAX: usize = 64 * KIB;
/// Values of a request to a call of this process: names of tables are the most that any takes.
pub(crate) const OWN_VALUES_MAX: usize = 1_000;
/// Accounts and regions that are listed.
pub(crate) const PLACES_MAX: usize = 200;
/// Long calls on models that run at the same time, each in a process of its own.
pub(crate) const JOBS_MAX: usize = 2;
/// Heavy calls on models that begin at the same time, and light ones, each in a process of its own.
pub(crate) const SHORT_MODEL_CALLS_MAX: usize = 1;
/// Processes for calls on models, those without a call included.
pub(crate) const MODEL_PROCESSES_MAX: usize = JOBS_MAX + 2 * SHORT_MODEL_CALLS_MAX;
/// Time after which a heavy and a light call count as long: most checks and nearly all other calls have
/// ended.
pub(crate) const HEAVY_TURN_MS_MAX: u64 = 1_000;
pub(crate) const LIGHT_TURN_MS_MAX: u64 = 500;
/// Calls of one account that is signed in, at a time: half of the connections.
pub(crate) const STUDIO_CALLS_EACH_MAX: usize = STUDIO_CONNECTIONS_MAX / 2;
/// Calls that run at the same time in this process, each on a thread of its own.
pub(crate) const LIGHT_CALLS_MAX: usize = 4;
/// Memory of a process that executes calls on models, its program included. A check of 64 MiB of items takes
/// half of it.
pub(crate) const MODEL_PROCESS_BYTES_MAX: u64 = 768 * 1024 * 1024;
/// Result of such a call: a page cannot show more.
pub(crate) const MODEL_ANSWER_BYTES_MAX: usize = 32 * MIB;
/// Request of such a call to the database: 25 items of 400 KB take 10 MB, and Base64 a third more.
pub(crate) const MODEL_ASKED_BYTES_MAX: usize = 16 * MIB;
/// Time of a heavy and of a light call on models.
pub(crate) const JOB_SECONDS_MAX: u64 = 600;
pub(crate) const LIGHT_SECONDS_MAX: u64 = 20;
/// How long a cancelled call may go on before its process is killed; the second is for one that deletes the
/// tables that it has made.
pub(crate) const MODEL_CANCEL_MS_MAX: u64 = 500;
pub(crate) const MODEL_UNDO_MS_MAX: u64 = 25_000;
/// Time after which a process without a call ends.
pub(crate) const MODEL_PROCESS_IDLE_SECONDS_MAX: u64 = 300;
/// How long a call of the studio waits for others.
pub(crate) const JOB_WAIT_SECONDS_MAX: u64 = 60;
/// Last heavy calls of tabs that are noted, those that have ended included.
pub(crate) const TABS_MAX: usize = 256;
/// Interval between lines of progress.
pub(crate) const PROGRESS_MS_MIN: u64 = 100;
/// Lines of a stream that wait for their client.
pub(crate) const STREAM_LINES_MAX: usize = 16;
/// Runs of models that are kept, so that the next view of the same text does not run it again.
pub(crate) const RUNS_KEPT_MAX: usize = 4;
/// Signed-in tabs of one account.
pub(crate) const SESSIONS_EACH_MAX: usize = 256;
/// Time after which a token that was not used ends.
pub(crate) const SESSION_IDLE_MS: u64 = 8 * 3_600 * 1_000;
/// Failures of signing in that an address may have within `SIGN_IN_WINDOW_MS`.
pub(crate) const SIGN_IN_FAILURES_MAX: usize = 5;
pub(crate) const SIGN_IN_WINDOW_MS: u64 = 60_000;

// Assistants

/// A message of an assistant: a model of a megabyte, with its escapes.
pub(crate) const ASSISTANT_LINE_BYTES_MAX: usize = 4 * MIB;
/// Memory for answers of tools on models until they are written.
pub(crate) const ASSISTANT_ANSWERS_BYTES: usize = 64 * MIB;

// Opening the store again

/// Interval at which a full disk is looked at. It doubles while the disk is full again right away.
pub(crate) const REOPEN_MS_MIN: u64 = 500;
/// The longest such interval.
pub(crate) const REOPEN_MS_MAX: u64 = 30_000;
/// A shared store that did not answer for so long makes the server not ready.
pub(crate) const STORE_SILENT_MS: u64 = 3_000;
/// Time limit of requests that still use the store. Then it is not opened again for now.
pub(crate) const REOPEN_WAIT_MS_MAX: u64 = 10_000;

// Addresses

/// Connections of one address beyond loopback (`--connections-per-address`).
pub(crate) const CONNECTIONS_PER_ADDRESS: u32 = 1_000;
/// Concurrent requests of one address beyond loopback (`--requests-per-address`).
pub(crate) const REQUESTS_PER_ADDRESS: u32 = 500;
/// Delay of a failing request after the first failed signature of its address. It doubles with each failure.
pub(crate) const FAILED_SIGNATURE_MS: u64 = 10;
/// The longest such delay.
pub(crate) const FAILED_SIGNATURE_MS_MAX: u64 = 1_000;
/// Time that an address is remembered after its last failed signature.
pub(crate) const FAILED_SIGNATURE_MEMORY_MS: u64 = 60_000;
/// Addresses remembered for failed signatures. Beyond that the one that failed longest ago is forgotten.
pub(crate) const FAILED_ADDRESSES_MAX: usize = 1_024;

// Branches

/// Branches of an account at one time (`--branches-per-account`).
pub(crate) const BRANCHES_PER_ACCOUNT: usize = 1_000;
/// Memory or disk for what the branches of an account copied (`--branch-mib-per-account`).
pub(crate) const BRANCH_MIB_PER_ACCOUNT: u64 = 512;
/// Places that a warning at start lists.
pub(crate) const UNREACHABLE_PLACES_LISTED: usize = 20;

// Reports

/// Interval of the log line that sums up what was refused.
pub(crate) const REFUSED_REPORT_SECONDS: u64 = 60;

/// A limit for each address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PerAddress {
    /// This many, without a limit on loopback: all clients on this machine share its address.
    BeyondLoopback(u32),
    /// This many for every address, as set by the user.
    Every(u32),
    Unlimited,
}

impl PerAddress {
    /// From a setting in which 0 means no limit.
    pub(crate) const fn from_setting(setting: Option<u32>, default: u32) -> Self {
        match setting {
            None => Self::BeyondLoopback(default),
            Some(0) => Self::Unlimited,
            Some(most) => Self::Every(most),
        }
    }

    /// The limit of an address, if it has one.
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
    /// Hidden setting: interval of the checks of connections.
    pub(crate) check_ms: u32,
    /// Hidden setting: time that a request waits for a budget.
    pub(crate) budget_wait_ms: u64,
}

/// When a connection is closed. Times are counts of checks, so that no clock is read per connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckPolicy {
    pub(crate) interval: Duration,
    /// Number of idle checks after which a connection is closed.
    pub(crate) idle_checks: u32,
    /// Number of checks over which the rate of reading is measured.
    pub(crate) answer_checks: u32,
    /// Bytes that a client must read during those checks.
    pub(crate) answer_bytes: u64,
}

impl CheckPolicy {
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
