//! What calls the engine for members on other servers: for each region of a peer, in two lanes, so that two
//! batches are on their way to a region at most.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use keywright_engine::{Env as _, PeerLane, PeerNotice, Peers as _};
use tokio::sync::watch;

use super::clock_notices;
use crate::peers::PeerServers;
use crate::storage::database::Database;

/// Batches that are on their way to one region at most.
const LANES: u64 = 2;
/// The longest sleep between two steps.
const SLEEP_MS_MAX: u64 = 1_000;
/// The shortest: many writes are sent together.
const SLEEP_MS_MIN: u64 = 1;

/// Sends changes to the servers of these regions until the server stops.
pub(super) async fn run(
    database: Arc<Database>,
    servers: Option<Arc<PeerServers>>,
    mut stopping: watch::Receiver<bool>,
) {
    let regions = servers.as_ref().map(|servers| servers.regions()).unwrap_or_default();
    let lanes = regions.iter().flat_map(|region| {
        (0..LANES).map(|number| {
            let lane = PeerLane { number, count: LANES };
            serve_lane(Arc::clone(&database), region.clone(), lane, stopping.clone())
        })
    });
    let lanes = join_all(lanes.collect::<Vec<_>>());
    let stopped = async {
        // A dropped sender means stopping too.
        let _ = stopping.wait_for(|stopping| *stopping).await;
        if let Some(servers) = servers {
            servers.stop();
        }
    };
    tokio::join!(lanes, stopped);
}

async fn serve_lane(
    database: Arc<Database>,
    region: String,
    lane: PeerLane,
    mut stopping: watch::Receiver<bool>,
) {
    let clock = Arc::clone(database.clock());
    while !*stopping.borrow() {
        let Some(engine) = database.engine() else {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(SLEEP_MS_MAX)) => {}
                _ = stopping.changed() => {}
            }
            continue;
        };
        // Before the step: what is noted during it is not missed.
        let mut changes = engine.peer_changes();
        let step = AssertUnwindSafe(engine.peer_step(&region, lane, clock.now_ms())).catch_unwind();
        let stepped = step.await;
        // Of changes that were received meanwhile.
        clock_notices::log(&engine.take_clock_notices());
        drop(engine);
        let until_ms = match stepped {
            Ok((wake, notices)) => {
                notices.iter().for_each(log);
                wake.at_ms.map_or(SLEEP_MS_MAX, |at_ms| at_ms.saturating_sub(clock.now_ms()))
            }
            Err(_panic) => {
                tracing::error!("replication to region {region} failed and will be retried");
                SLEEP_MS_MAX
            }
        };
        tokio::time::sleep(Duration::from_millis(SLEEP_MS_MIN)).await;
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(until_ms.min(SLEEP_MS_MAX))) => {}
            _ = changes.changed() => {}
            _ = stopping.changed() => {}
        }
    }
}

fn log(notice: &PeerNotice) {
    let region = notice.region.as_str();
    match (&notice.table, &notice.fault) {
        (Some(table), Some(fault)) => {
            tracing::warn!(region, table, "the table's changes wait for its replica: {fault}");
        }
        (None, Some(fault)) => tracing::warn!(region, "the region's server is not reached: {fault}"),
        (_, None) => tracing::info!(region, "the region's server answers again"),
    }
}
