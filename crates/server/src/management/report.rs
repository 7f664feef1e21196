//! Which metrics there are: names, meanings and where each comes from. `docs/reference/metrics.md` lists
//! them.
//!
//! Names follow Prometheus' conventions: a unit at the end, `_total` for counters, seconds and bytes.

use keywright_engine::{KeepingFigures, PeerFigures, VerificationFigures};
use keywright_semantics::error::Error;
use keywright_semantics::expression::KeptExpressions;
use keywright_store_local::{Figures, LONG_PAUSE, Pause};
use keywright_wire::render_error;

use super::exposition::{Exposition, Kind, Millionths};
use super::process;
use crate::audit;
use crate::connection::budget::BudgetFigures;
use crate::connection::connections::ConnectionFigures;
use crate::connection::refused::Refused;
use crate::http::request_log::units;
use crate::http::request_metrics::{CLASS_BOUNDS_US, Totals};
use crate::storage::database::Sharing;
use crate::storage::health::Health;

const COUNTER: Kind = Kind::Counter;
const GAUGE: Kind = Kind::Gauge;

/// The server as a whole, and its process.
pub(crate) fn server(exposition: &mut Exposition, health: &Health, started_ms: u64) {
    exposition
        .metric(GAUGE, "keywright_build_info", "Always 1; the label says the version.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    exposition.single(
        GAUGE,
        "keywright_ready",
        "1 while /health/ready answers 200, else 0.",
        u8::from(health.is_ready()),
    );
    exposition
        .metric(GAUGE, "keywright_state_info", "Always 1; the label says the state of /health/ready.")
        .sample(&[("state", health.name())], 1);
    process::describe(exposition, started_ms);
}

/// A data folder.
pub(crate) fn encrypted(exposition: &mut Exposition, is_encrypted: bool) {
    exposition.single(
        GAUGE,
        "keywright_encrypted",
        "1 if the data folder is encrypted, else 0.",
        u8::from(is_encrypted),
    );
}

pub(crate) fn requests(exposition: &mut Exposition, totals: &Totals) {
    exposition.metric(
        Kind::Histogram,
        "keywright_request_duration_seconds",
        "Requests by operation and duration, from the head to the framed response; none: no operation was named.",
    );
    for operation in &totals.operations {
        exposition.histogram(
            &[("operation", operation.name)],
            &operation.classes,
            &CLASS_BOUNDS_US,
            Millionths(operation.sum_us),
        );
    }
    exposition.metric(COUNTER, "keywright_requests_total", "Requests by operation.");
    for operation in &totals.operations {
        exposition.sample(&[("operation", operation.name)], operation.classes.iter().sum::<u64>());
    }
    exposition.metric(
        COUNTER,
        "keywright_long_decodings_total",
        "Requests whose body the decoder did not read by its short way, by operation.",
    );
    for operation in &totals.operations {
        exposition.sample(&[("operation", operation.name)], operation.long_decodings);
    }
    exposition.metric(
        COUNTER,
        "keywright_request_errors_total",
        "Requests that were answered with an error, by operation and the error's name.",
    );
    for operation in &totals.operations {
        for (kind, count) in &operation.errors {
            let type_name = render_error(&Error::new(*kind, "")).type_name;
            let error = type_name.rsplit('#').next().unwrap_or_default();
            exposition.sample(&[("operation", operation.name), ("error", error)], count);
        }
    }
    let consumed = [
        (
            "keywright_consumed_read_units_total",
            "Read capacity units that requests consumed.",
            totals.read_halves,
        ),
        (
            "keywright_consumed_write_units_total",
            "Write capacity units that requests consumed.",
            totals.write_halves,
        ),
    ];
    for (name, help, halves) in consumed {
        exposition.single(COUNTER, name, help, units(halves));
    }
    exposition.single(
        COUNTER,
        "keywright_write_conflicts_total",
        "Tries of a write that met another writer on one of its items.",
        totals.conflicts,
    );
    exposition.metric(
        COUNTER,
        "keywright_denials_total",
        "Requests, and statements of batches, that policies denied.",
    );
    for (decision, count) in [("explicit", totals.denials.explicit), ("implicit", totals.denials.implicit)] {
        exposition.sample(&[("decision", decision)], count);
    }
    exposition.metric(
        COUNTER,
        "keywright_throttled_total",
        "Requests, or items of a batch, that a limit of throughput refused.",
    );
    for (direction, limit, count) in &totals.throttled {
        exposition.sample(&[("direction", direction.name()), ("limit", limit.name())], count);
    }
    let bytes = [
        ("keywright_received_bytes_total", "Bytes of request bodies.", totals.received_bytes),
        ("keywright_sent_bytes_total", "Bytes of response bodies.", totals.sent_bytes),
    ];
    for (name, help, bytes) in bytes {
        exposition.single(COUNTER, name, help, bytes);
    }
}

/// Expressions whose syntax the process keeps.
pub(crate) fn expressions(exposition: &mut Exposition, kept: &KeptExpressions) {
    exposition.metric(
        COUNTER,
        "keywright_expressions_total",
        "Expressions of requests, by whether their syntax was kept or had to be parsed.",
    );
    for (syntax, count) in [("kept", kept.hits), ("parsed", kept.misses)] {
        exposition.sample(&[("syntax", syntax)], count);
    }
    exposition.single(GAUGE, "keywright_kept_expressions", "Expressions whose syntax is kept.", kept.trees);
    exposition.single(
        GAUGE,
        "keywright_kept_expressions_bytes",
        "Memory of kept expressions at most.",
        kept.bytes,
    );
}

pub(crate) fn connections(exposition: &mut Exposition, figures: &ConnectionFigures, refused: &Refused) {
    exposition.single(GAUGE, "keywright_connections", "Open connections of the API.", figures.open());
    exposition.single(
        GAUGE,
        "keywright_connections_max",
        "Connections beyond which idle ones are closed.",
        figures.most(),
    );
    exposition.single(
        COUNTER,
        "keywright_connections_opened_total",
        "Connections of the API that were accepted.",
        figures.opened(),
    );
    exposition.metric(
        COUNTER,
        "keywright_refused_total",
        "Requests refused and connections closed, by the limit that did it.",
    );
    for (limit, count) in refused.snapshot() {
        exposition.sample(&[("limit", limit)], count);
    }
}

/// The audit log, where there is one.
pub(crate) fn audit(exposition: &mut Exposition, figures: &audit::Figures) {
    let (written, missing) = figures.counts();
    exposition
        .metric(
            COUNTER,
            "keywright_audit_records_total",
            "Records of the audit log: written, and missing because the log could not be written.",
        )
        .sample(&[("outcome", "written")], written)
        .sample(&[("outcome", "missing")], missing);
    exposition.single(
        GAUGE,
        "keywright_audit_failing",
        "Whether the audit log cannot be written at present.",
        u8::from(figures.is_failing()),
    );
}

/// Name, meaning and value of a metric of budgets.
type BudgetMetric = (&'static str, &'static str, fn(&BudgetFigures) -> u64);

pub(crate) fn budgets(exposition: &mut Exposition, budgets: &[(&'static str, BudgetFigures)]) {
    let metrics: [BudgetMetric; 3] = [
        ("keywright_budget_bytes", "Memory that requests may take together.", |budget| budget.bytes),
        ("keywright_budget_used_bytes", "Memory that requests have taken.", |budget| budget.used_bytes),
        ("keywright_budget_waiting", "Requests that wait for memory.", |budget| budget.waiting),
    ];
    for (name, help, value) in metrics {
        exposition.metric(GAUGE, name, help);
        for (budget, figures) in budgets {
            exposition.sample(&[("budget", budget)], value(figures));
        }
    }
}

/// Comparisons of tables with their replicas.
pub(crate) fn verifications(exposition: &mut Exposition, figures: &VerificationFigures) {
    exposition
        .metric(
            COUNTER,
            "keywright_replica_verifications_total",
            "Comparisons of a table with its replicas, by what they found.",
        )
        .sample(&[("outcome", "equal")], figures.equal)
        .sample(&[("outcome", "differs")], figures.differing)
        .sample(&[("outcome", "undecided")], figures.undecided);
    exposition.single(
        GAUGE,
        "keywright_replica_differences",
        "Items that differ between replicas, by the last comparison of each table.",
        figures.differences,
    );
}

/// How far the clocks of regions are apart.
pub(crate) fn clocks(exposition: &mut Exposition, ahead_ms: u64) {
    exposition.single(
        GAUGE,
        "keywright_replica_clock_ahead_seconds",
        "The most that the clock of a region is ahead of another's, by the changes that arrive.",
        Millionths(ahead_ms.saturating_mul(1_000)),
    );
}

/// Name, meaning and value of a metric of servers that own other regions.
type PeerMetric = (&'static str, &'static str, fn(&PeerFigures) -> u64);

/// The servers that own other regions.
pub(crate) fn peers(exposition: &mut Exposition, peers: &[PeerFigures]) {
    let metrics: [PeerMetric; 3] = [
        ("keywright_peer_reached", "Whether the server of a region answered last.", |one| {
            u64::from(one.is_reached)
        }),
        ("keywright_peer_backlog_bytes", "Bytes of logs that wait for members in a region.", |one| {
            one.backlog_bytes
        }),
        ("keywright_peer_sent_items", "Items and deletions sent to members in a region.", |one| one.sent),
    ];
    for (name, help, value) in metrics {
        exposition.metric(GAUGE, name, help);
        for one in peers {
            exposition.sample(&[("region", one.region.as_str())], value(one));
        }
    }
}

/// History and jobs. What is measured in the background is up to a minute old.
pub(crate) fn keeping(exposition: &mut Exposition, figures: &KeepingFigures, lag_ms: u64, now_ms: u64) {
    exposition.single(
        GAUGE,
        "keywright_history_tables",
        "Tables that keep history: point-in-time recovery, or a backup or job that needs it.",
        figures.tables,
    );
    exposition.single(
        GAUGE,
        "keywright_history_bytes",
        "Bytes of earlier versions of items, about, before compression.",
        figures.history_bytes,
    );
    exposition.single(
        GAUGE,
        "keywright_restorable_lag_seconds",
        "How far the latest time to which a table can be restored is behind.",
        Millionths(lag_ms.saturating_mul(1_000)),
    );
    exposition
        .metric(GAUGE, "keywright_jobs", "Long work (restores, rollbacks, copies of backups), by state.")
        .sample(&[("state", "waiting")], figures.waiting_jobs)
        .sample(&[("state", "running")], figures.running_jobs)
        .sample(&[("state", "failed")], figures.failed_jobs);
    let oldest_ms = figures.oldest_job_ms.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms));
    exposition.single(
        GAUGE,
        "keywright_oldest_job_seconds",
        "The age of the oldest job that has not ended; 0 without one.",
        Millionths(oldest_ms.saturating_mul(1_000)),
    );
}

/// A store that several servers use.
pub(crate) fn shared_store(exposition: &mut Exposition, sharing: &Sharing) {
    exposition.single(
        GAUGE,
        "keywright_processes",
        "Servers that work on the store, as this one sees it.",
        sharing.processes,
    );
    exposition.single(
        COUNTER,
        "keywright_store_round_trips_total",
        "Questions to the store that this server waited for.",
        sharing.round_trips,
    );
    if let Some(kept) = sharing.versions_kept {
        exposition.single(
            GAUGE,
            "keywright_store_safe_point_age_seconds",
            "How long ago the time was before which TiKV removes old versions of rows.",
            Millionths(u64::try_from(kept.as_micros()).unwrap_or(u64::MAX)),
        );
    }
}

/// `opened_again`: how often the store was opened again after the disk was full.
pub(crate) fn store(exposition: &mut Exposition, figures: &Figures, opened_again: u64) {
    exposition.single(
        COUNTER,
        "keywright_store_opened_again_total",
        "Times that the store was opened again after the disk was full.",
        opened_again,
    );
    exposition.single(
        COUNTER,
        "keywright_store_commits_total",
        "Commits since the data folder was created.",
        figures.version,
    );
    exposition.single(
        GAUGE,
        "keywright_store_open_snapshots",
        "Views of the store that requests and background work hold.",
        figures.open_snapshots,
    );
    exposition
        .metric(GAUGE, "keywright_store_bytes", "Bytes of the store's files, by part.")
        .sample(&[("part", "tables")], figures.table_bytes)
        .sample(&[("part", "journal")], figures.journal_bytes);
    exposition.single(GAUGE, "keywright_store_tables", "Sorted tables of the store.", figures.tables);
    exposition.single(
        GAUGE,
        "keywright_store_unmerged_runs",
        "Runs of tables that wait to be merged; each read looks at all of them.",
        figures.unmerged_runs,
    );
    exposition.single(
        GAUGE,
        "keywright_store_buffer_bytes",
        "Bytes of rows in memory that are in the journal and not yet in tables.",
        figures.buffer_bytes,
    );
    exposition.single(
        GAUGE,
        "keywright_store_full_buffers",
        "Full write buffers that wait to be flushed.",
        figures.full_buffers,
    );
    damage(exposition, figures);
    pauses(exposition, &figures.pauses);
}

/// Damaged files, and the scrub that looks for them.
fn damage(exposition: &mut Exposition, figures: &Figures) {
    exposition.single(
        GAUGE,
        "keywright_store_damaged_places",
        "Places of the store's files that are known to be damaged; verify names them.",
        figures.damaged_places,
    );
    exposition.single(
        COUNTER,
        "keywright_store_failed_reads_total",
        "Reads of tables that failed: their bytes are damaged, or the disk did not give them.",
        figures.failed_reads,
    );
    exposition.single(
        COUNTER,
        "keywright_store_scrub_read_bytes_total",
        "Bytes that the scrub has read.",
        figures.scrub.read_bytes,
    );
    exposition.single(
        GAUGE,
        "keywright_store_scrub_last_round_timestamp_seconds",
        "When the scrub had last read all files, in seconds since 1970; 0 before its first round.",
        figures.scrub.last_round_ms.unwrap_or(0) / 1000,
    );
}

fn pauses(exposition: &mut Exposition, pauses: &[Pause]) {
    let help = format!(
        "Pauses of the commit thread of at least {} ms, by cause; every write waits during one.",
        LONG_PAUSE.as_millis()
    );
    exposition.metric(COUNTER, "keywright_store_pauses_total", &help);
    for pause in pauses {
        exposition.sample(&[("cause", pause.cause.name())], pause.long);
    }
    let help = "The longest pause of the commit thread since the store was opened, by cause.";
    exposition.metric(GAUGE, "keywright_store_longest_pause_seconds", help);
    for pause in pauses {
        let us = u64::try_from(pause.longest.as_micros()).unwrap_or(u64::MAX);
        exposition.sample(&[("cause", pause.cause.name())], Millionths(us));
    }
}
