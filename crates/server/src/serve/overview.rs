//! The whole server as the management port sees it: its state, whether it makes progress, its metrics.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper::http::request::Parts;
use keywright_engine::{Env as _, Namespace};
use keywright_semantics::error::Error;
use keywright_semantics::expression::kept_expressions;
use tokio::sync::watch;

use super::tls::Tls;
use crate::connection::serving::Serving as _;
use crate::deliveries::Figures;
use crate::destinations;
use crate::http::Service;
use crate::limits::{BEAT_SECONDS, STUCK_SECONDS_MIN};
use crate::management::Watched;
use crate::management::exposition::{Exposition, Kind, Millionths};
use crate::management::report;
use crate::process::environment;
use crate::storage::database::Database;
use crate::storage::health::Health;

/// One server.
pub(crate) struct Overview {
    service: Arc<Service>,
    heartbeat: Arc<Heartbeat>,
    deliveries: Arc<destinations::Figures>,
    triggers: Arc<Figures>,
    stopping: watch::Receiver<bool>,
    started_ms: u64,
    /// `None` without TLS.
    tls: Option<Arc<Tls>>,
}

impl Overview {
    pub(crate) fn new(
        service: Arc<Service>,
        heartbeat: Arc<Heartbeat>,
        (deliveries, triggers): (Arc<destinations::Figures>, Arc<Figures>),
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let started_ms = environment::now().0;
        Self { service, heartbeat, deliveries, triggers, stopping, started_ms, tls: None }
    }

    /// The same with the figures of the certificate.
    pub(crate) fn with_tls(self, tls: Option<Arc<Tls>>) -> Self {
        Self { tls, ..self }
    }
}

impl Watched for Overview {
    fn health(&self) -> Health {
        if *self.stopping.borrow() { Health::Stopping } else { self.service.database().health() }
    }

    fn is_alive(&self) -> bool {
        self.heartbeat.age() < Duration::from_secs(STUCK_SECONDS_MIN)
    }

    fn admit<'a>(&'a self, head: &'a Parts, ip: IpAddr) -> BoxFuture<'a, Result<(), Error>> {
        self.service.admit_reader(head, ip).boxed()
    }

    fn describe(&self, exposition: &mut Exposition) {
        report::server(exposition, &self.health(), self.started_ms);
        report::requests(exposition, &self.service.metrics().totals());
        report::expressions(exposition, &kept_expressions());
        report::connections(exposition, self.service.connection_figures(), self.service.refused());
        report::budgets(exposition, &self.service.budgets());
        if let Some(tls) = &self.tls {
            tls.describe(exposition);
        }
        if let Some(audit) = self.service.audit() {
            report::audit(exposition, audit.figures());
        }
        if let Some(figures) = self.service.database().figures() {
            report::store(exposition, &figures, self.service.database().opened_again());
        }
        if self.service.database().folder().is_some() {
            report::encrypted(exposition, self.service.database().encrypted().is_some());
        }
        if let Some((figures, lag_ms)) = self.service.database().keeping() {
            report::keeping(exposition, &figures, lag_ms, self.service.database().clock().now_ms());
        }
        if let Some(engine) = self.service.database().engine() {
            report::verifications(exposition, &engine.verification_figures());
            report::clocks(exposition, engine.clock_ahead_ms());
            report::peers(exposition, &engine.peer_figures());
        }
        self.deliveries.describe(exposition, self.service.database().clock().now_ms());
        triggers(exposition, &self.triggers, self.service.database());
        if let Some(sharing) = self.service.database().sharing() {
            report::shared_store(exposition, &sharing);
        }
    }
}

/// Triggers that this process delivers.
fn triggers(exposition: &mut Exposition, figures: &Figures, database: &Database) {
    let (figures, now_ms, engine) = (figures.all(), database.clock().now_ms(), database.engine());
    let is_deleted = |place: &Namespace, table: &str, stream_arn: &str| {
        engine.as_ref().is_some_and(|engine| engine.is_table_of_stream_deleted(place, table, stream_arn))
    };
    let each = || {
        figures
            .iter()
            .map(|(id, figure)| ([("trigger", id.as_str()), ("table", figure.table.as_str())], figure))
    };
    exposition.metric(
        Kind::Gauge,
        "keywright_trigger_lag_seconds",
        "The age of the oldest record that a trigger of this server has not delivered; 0 without one, and after its table was deleted.",
    );
    for (labels, figure) in each() {
        exposition.sample(&labels, Millionths(figure.lag_ms(now_ms, is_deleted).saturating_mul(1_000)));
    }
    exposition.metric(
        Kind::Gauge,
        "keywright_trigger_call_seconds",
        "How long a trigger's oldest call of a function or URL is under way; 0 without one.",
    );
    for (labels, figure) in each() {
        exposition.sample(&labels, Millionths(figure.call_ms(now_ms).saturating_mul(1_000)));
    }
    exposition.metric(
        Kind::Gauge,
        "keywright_trigger_failing",
        "Lanes of shards whose target fails at present.",
    );
    for (labels, figure) in each() {
        exposition.sample(&labels, figure.failing());
    }
    exposition.metric(
        Kind::Counter,
        "keywright_trigger_records_total",
        "Records of triggers: delivered (also into an archive), filtered (no filter matches), discarded (failed or too old).",
    );
    for (id, figure) in &figures {
        let counts = figure.counts;
        for (outcome, count) in
            [("delivered", counts.delivered), ("filtered", counts.filtered), ("discarded", counts.discarded)]
        {
            let labels = [("trigger", id.as_str()), ("table", figure.table.as_str()), ("outcome", outcome)];
            exposition.sample(&labels, count);
        }
    }
    exposition.metric(
        Kind::Counter,
        "keywright_trigger_retries_total",
        "Batches of triggers that were sent again, because the target failed.",
    );
    for (labels, figure) in each() {
        exposition.sample(&labels, figure.counts.retries);
    }
}

/// A sign of life of the threads that serve the API.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    begun: Instant,
    /// Milliseconds from `begun` to the last beat.
    last_ms: AtomicU64,
}

impl Heartbeat {
    pub(crate) fn new() -> Self {
        Self { begun: environment::instant(), last_ms: AtomicU64::new(0) }
    }

    /// Beats until the server stops.
    pub(crate) async fn run(self: Arc<Self>, mut stopping: watch::Receiver<bool>) {
        while !*stopping.borrow() {
            self.last_ms.store(self.elapsed_ms(), Ordering::Relaxed);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(BEAT_SECONDS)) => {}
                _ = stopping.changed() => {}
            }
        }
    }

    fn elapsed_ms(&self) -> u64 {
        let elapsed = environment::instant().saturating_duration_since(self.begun);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Time since the last beat.
    fn age(&self) -> Duration {
        Duration::from_millis(self.elapsed_ms().saturating_sub(self.last_ms.load(Ordering::Relaxed)))
    }
}
