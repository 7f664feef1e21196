//! Every bound that protects clients from each other: its value, its reason, the setting that changes it.
//!
//! Those of connections and of the studio stand in their crates, and limits of DynamoDB itself in
//! `keywright_semantics::limits`. `docs/reference/limits.md` lists them for users.

use keywright_studio::limits::{MODEL_PROCESSES_MAX, STUDIO_CONNECTIONS_MAX};

pub(crate) use keywright_connection::limits::{
    ACCEPT_RETRY_MS, ANSWER_FREE_BYTES, BODY_FREE_BYTES, BODY_SECONDS_MAX, CHECK_MS, CONNECTIONS_AHEAD_MAX,
    DISCARDED_BYTES_MAX, FAILED_ADDRESSES_MAX, FAILED_BODY_BYTES_MAX, HEAD_BYTES_MAX, Limits, PerAddress,
};
pub(crate) use keywright_studio::limits::JOB_SECONDS_MAX;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

// Stopping

/// Time limit of running requests after a stop signal.
pub(crate) const DRAIN_SECONDS_MAX: u64 = 30;
/// Time limit of writes after the drain. Then the database is left as after a crash.
pub(crate) const CHANGES_SECONDS_MAX: u64 = 5;
/// Time limit of the last writes of the audit log.
pub(crate) const AUDIT_FINISH_SECONDS_MAX: u64 = 5;

// Simulation

/// Rules of a simulation. Each delivery looks at them all.
pub(crate) const SIMULATION_RULES_MAX: usize = 100;

// Connections and descriptors

/// Maximum number of connections (`--connections-max`), as far as descriptors allow.
pub(crate) const CONNECTIONS_MAX: usize = 10_000;
/// The server does not start with room for fewer connections than this.
pub(crate) const CONNECTIONS_MIN: usize = 16;
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

// Audit log

/// Requests whose records wait to be written. Further ones wait for a place.
pub(crate) const AUDIT_QUEUE_MAX: usize = 1_024;
/// Requests whose records are written as one group.
pub(crate) const AUDIT_GROUP_MAX: usize = 256;
/// Time between attempts to write a log that could not be written.
pub(crate) const AUDIT_RETRY_MS: u64 = 1_000;
/// A file of the log is closed before it becomes larger, and compressed.
pub(crate) const AUDIT_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longer bodies are not read for their records.
pub(crate) const AUDIT_BODY_BYTES_MAX: usize = MIB;
/// Parameters of a record, as `CloudTrail` has them.
pub(crate) const AUDIT_PARAMETER_BYTES_MAX: usize = 100 * KIB;
/// A longer line is no record.
pub(crate) const AUDIT_LINE_BYTES_MAX: usize = 4 * MIB;
/// Records that are searched for the newest changes of a table, uncompressed. It takes up to a second.
pub(crate) const AUDIT_SEARCHED_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Changes that an answer has.
pub(crate) const AUDIT_CHANGES_MAX: usize = 20;
/// Names of each kind that `keywright audit` keeps to propose them.
pub(crate) const AUDIT_NAMES_MAX: usize = 1_000;
/// Tables that a record names.
pub(crate) const AUDIT_RESOURCES_MAX: usize = 100;

// Bodies

/// Time limit of a request body after a stop signal.
pub(crate) const STOPPING_BODY_SECONDS_MAX: u64 = 2;
/// With credentials, a rest longer than `FAILED_BODY_BYTES_MAX` is discarded for so many clients without a
/// verified request at a time. The others are answered at once and closed: nobody without a key may keep the
/// server reading.
pub(crate) const UNVERIFIED_DISCARDS_MAX: usize = 4;
/// Body of a request to CloudWatch or Application Auto Scaling: the largest has some hundred queries.
pub(crate) const OTHER_BODY_BYTES_MAX: usize = MIB;
/// Memory that a byte of such a body may take once it is read, in any of its protocols.
pub(crate) const OTHER_DECODED_PER_BYTE: usize = 128;
/// Memory for all request bodies (`--body-budget-mib`).
pub(crate) const BODY_BUDGET_MIB: u64 = 256;
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
/// A shared store that gave no session for so long is lost: the log says so.
pub(crate) const STORE_LOST_MS: u64 = 400;
/// How long the start waits for a shared store that may be failing over, and the pause between tries.
pub(crate) const FAILOVER_WAIT_MS_MAX: u64 = 30_000;
pub(crate) const FAILOVER_RETRY_MS: u64 = 1_000;
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

// Branches

/// Branches of an account at one time (`--branches-per-account`).
pub(crate) const BRANCHES_PER_ACCOUNT: usize = 1_000;
/// Memory or disk for what the branches of an account copied (`--branch-mib-per-account`).
pub(crate) const BRANCH_MIB_PER_ACCOUNT: u64 = 512;
/// Places that a warning at start lists.
pub(crate) const UNREACHABLE_PLACES_LISTED: usize = 20;
