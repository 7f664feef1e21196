//! A server in memory, without credentials, whose connections are made by the program that it is a part of:
//! of fuzz targets and of counts of instructions.
//!
//! It does not know who connects.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use keywright_engine::Lane;
use keywright_objects::S3Settings;
use tokio::sync::watch;

use crate::clock::Desk;
use crate::connection::hosts::AllowedHosts;
use crate::http::auth::Authenticator;
use crate::http::proxies::TrustedProxies;
use crate::http::request_metrics::RequestMetrics;
use crate::http::request_rates::RequestRates;
use crate::http::web_guard::{HostCheck, Origins, WebGuard};
use crate::http::{Service, ServiceParts};
use crate::limits::{self, Limits, PerAddress};
use crate::storage::copies::BackupStore;
use crate::storage::database::Database;
use crate::storage::encryption::backup_keys::BackupForm;

const MIB: usize = 1024 * 1024;
/// Where clients connect from, and where the server would listen.
pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What such servers have each for themselves.
pub(crate) struct Own {
    /// A clock that stands.
    pub(crate) clock: Option<Desk>,
    /// Those that the engine's charges go to.
    pub(crate) metrics: Arc<RequestMetrics>,
    /// The engine's.
    pub(crate) lane: Arc<Lane>,
}

/// The service over a database in memory.
pub(crate) fn service(database: Database, own: Own, stopping: watch::Receiver<bool>) -> Service {
    let parts = ServiceParts {
        database: Arc::new(database),
        backups: Arc::new(BackupStore::new((None, S3Settings::default()), (BackupForm::Plain, None))),
        kms: None,
        peers: None,
        targets: Arc::default(),
        deliveries: Arc::default(),
        lane: own.lane,
        metrics: own.metrics,
        authenticator: Authenticator::Unverified,
        sessions: None,
        is_secure: false,
        web_guard: WebGuard::new(
            Origins::new(&[], false).expect("no name is wrong"),
            AllowedHosts::new(HERE, &[]).expect("no name is wrong"),
            HostCheck::of(HERE, false),
        ),
        proxies: TrustedProxies::default(),
        limits: limits(),
        rates: RequestRates::new(&[]),
        request_log: None,
        audit: None,
        clock: own.clock,
        simulation: None,
    };
    Service::new(parts, stopping)
}

/// The usual limits, without any for an address.
pub(crate) fn limits() -> Limits {
    Limits {
        connections_max: limits::CONNECTIONS_MAX,
        connections_per_address: PerAddress::Unlimited,
        requests_per_address: PerAddress::Unlimited,
        body_budget_bytes: 256 * MIB,
        decode_budget_bytes: 256 * MIB,
        answer_budget_bytes: 256 * MIB,
        check_ms: limits::CHECK_MS,
        budget_wait_ms: limits::BUDGET_WAIT_MS_MAX,
    }
}
