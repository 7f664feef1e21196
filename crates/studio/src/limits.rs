//! Every bound of the studio: its value and its reason.

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Connections to the studio. A browser opens six; beyond the limit an idle one is closed.
pub const STUDIO_CONNECTIONS_MAX: usize = 64;
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
pub const MODEL_PROCESSES_MAX: usize = JOBS_MAX + 2 * SHORT_MODEL_CALLS_MAX;
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
pub const JOB_SECONDS_MAX: u64 = 600;
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
