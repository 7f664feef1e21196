//! The whole server as the management port sees it: its state, whether it makes progress, its metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keywright_engine::Env as _;
use tokio::sync::watch;

use crate::connection::listener::Serving as _;
use crate::destinations;
use crate::http::Service;
use crate::limits::{BEAT_SECONDS, STUCK_SECONDS_MIN};
use crate::management::Watched;
use crate::management::exposition::Exposition;
use crate::management::report;
use crate::process::environment;
use crate::storage::health::Health;

/// One server.
pub(crate) struct Overview {
    service: Arc<Service>,
    heartbeat: Arc<Heartbeat>,
    deliveries: Arc<destinations::Figures>,
    stopping: watch::Receiver<bool>,
    started_ms: u64,
}

impl Overview {
    pub(crate) fn new(
        service: Arc<Service>,
        heartbeat: Arc<Heartbeat>,
        deliveries: Arc<destinations::Figures>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self { service, heartbeat, deliveries, stopping, started_ms: environment::now().0 }
    }
}

impl Watched for Overview {
    fn health(&self) -> Health {
        if *self.stopping.borrow() { Health::Stopping } else { self.service.database().health() }
    }

    fn is_alive(&self) -> bool {
        self.heartbeat.age() < Duration::from_secs(STUCK_SECONDS_MIN)
    }

    fn describe(&self, exposition: &mut Exposition) {
        report::server(exposition, &self.health(), self.started_ms);
        report::requests(exposition, &self.service.metrics().totals());
        report::connections(exposition, self.service.connection_figures(), self.service.refused());
        report::budgets(exposition, &self.service.budgets());
        if let Some(figures) = self.service.database().figures() {
            report::store(exposition, &figures, self.service.database().opened_again());
        }
        if let Some((figures, lag_ms)) = self.service.database().keeping() {
            report::keeping(exposition, &figures, lag_ms, environment::now().0);
        }
        self.deliveries.describe(exposition, self.service.database().clock().now_ms());
        if let Some(sharing) = self.service.database().sharing() {
            report::shared_store(exposition, &sharing);
        }
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
