//! Old versions of rows: the owner of the store's upkeep moves the safe point of PD, before which TiKV keeps
//! one version of each row.
//!
//! Invariant: no view is read, and no transaction commits, later than half the retention after it began, and
//! the safe point stays a whole retention behind. So no view needs a version that may be gone. Locks from
//! before the safe point are resolved before it moves; one whose transaction runs holds it back.
//!
//! In a cluster that TiDB uses, TiDB moves the safe point. Then the store only says to PD, under a service
//! name of its own, which versions it needs.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use keywright_store::StoreError;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cluster::CallError;
use crate::keys::Span;
use crate::link::Link;
use crate::locks;
use crate::protocol::{SetSafePoint, SetServiceSafePoint};

/// The time between two moves of the safe point.
const INTERVAL: Duration = Duration::from_mins(1);
/// The time until locks are looked at again that one round could not hold.
pub(crate) const SOON: Duration = Duration::from_secs(1);
/// How long a caller waits for a round. It has other work, and a round may take longer.
const WAIT: Duration = Duration::from_secs(1);
/// The service whose safe point PD always has; it holds all others back until somebody moves it.
const COLLECTOR: &[u8] = b"gc_worker";
/// TiDB keeps its databases under this key, in its form for hashes named `DBs`.
const TIDB: &[u8] = b"mDBs\0\0\0\0\0\xfa";

/// Whether TiDB keeps its databases in the cluster.
pub(crate) async fn has_tidb(link: &Link) -> Result<bool, StoreError> {
    let span = (TIDB.to_vec(), [TIDB, &[u8::MAX]].concat());
    let now = link.now().await?;
    Ok(!link.scan_keys(now, span, 1).await?.is_empty())
}

/// Why the versions that are needed here may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RegisterError {
    Call(CallError),
    /// PD keeps versions for a shorter time than is needed here.
    Late,
}

/// What to do about `Late`.
pub(crate) fn too_short(needed: Duration) -> String {
    let seconds = needed.as_secs();
    format!(
        "TiDB or another service removes versions of rows that are not {seconds} s old, and Keywright reads them: \
         set tidb_gc_life_time to {seconds} s or more"
    )
}

/// Tells PD which versions this installation needs while TiDB moves the safe point. PD does not note a safe
/// point that is earlier than all others.
pub(crate) async fn register(link: &Link, prefix: &str) -> Result<(), RegisterError> {
    let failed = |error: StoreError| RegisterError::Call(CallError::Failed(error.to_string()));
    let now = link.now().await.map_err(failed)?;
    let seconds = i64::try_from(link.retention.as_secs().max(1)).unwrap_or(i64::MAX);
    let service = format!("keywright-{prefix}").into_bytes();
    let safe_point = cut(link, now);
    let set = SetServiceSafePoint { header: None, service, seconds, safe_point };
    let smallest = link.ask_pd(set).await.map_err(RegisterError::Call)?.safe_point;
    if smallest > safe_point { Err(RegisterError::Late) } else { Ok(()) }
}

fn cut(link: &Link, now: u64) -> u64 {
    locks::earlier(now, u64::try_from(link.retention.as_millis()).unwrap_or(u64::MAX))
}

fn failed(error: &CallError) -> StoreError {
    StoreError::Io(format!("TiKV: {}", error.text()))
}

/// A round that goes on.
type Round = JoinHandle<Result<Duration, StoreError>>;

/// The rounds of one store.
#[derive(Default)]
pub(crate) struct Upkeep {
    under_way: Mutex<Option<Round>>,
    /// When the safe point was moved last, and how old it was then.
    moved: std::sync::Mutex<Option<(Instant, Duration)>>,
}

impl Upkeep {
    /// How old the safe point is.
    pub(crate) fn safe_point_age(&self) -> Option<Duration> {
        let moved = *self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.map(|(moved, age)| age.saturating_add(moved.elapsed()))
    }

    fn note(&self, asked: Instant, now: u64, safe_point: u64) {
        let age_ms = locks::milliseconds(now).saturating_sub(locks::milliseconds(safe_point));
        let age = Duration::from_millis(age_ms);
        *self.moved.lock().unwrap_or_else(PoisonError::into_inner) = Some((asked, age));
    }
}

/// One round of upkeep, or what the one under way comes to within a second; says when the next call is due.
pub(crate) async fn tend(
    link: Arc<Link>,
    prefix: String,
    upkeep: Arc<Upkeep>,
) -> Result<Duration, StoreError> {
    let mut under_way = upkeep.under_way.lock().await;
    let noted = Arc::clone(&upkeep);
    let begin = || tokio::spawn(async move { round(&link, &prefix, &noted).await });
    let mut going = under_way.take().unwrap_or_else(begin);
    match tokio::time::timeout(WAIT, &mut going).await {
        Ok(ended) => ended.unwrap_or(Err(StoreError::Closed)),
        Err(_late) => {
            *under_way = Some(going);
            Ok(SOON)
        }
    }
}

async fn round(link: &Link, prefix: &str, upkeep: &Upkeep) -> Result<Duration, StoreError> {
    let asked = Instant::now();
    let now = link.now().await?;
    let own = link.sweep(link.keys.everything(), None).await.map_err(|error| failed(&error))?;
    let next = if own.is_complete { INTERVAL } else { SOON };
    if has_tidb(link).await? {
        register(link, prefix).await.map_err(|error| match error {
            RegisterError::Call(error) => failed(&error),
            RegisterError::Late => StoreError::Io(too_short(link.retention)),
        })?;
        return Ok(next);
    }
    let everything: Span = (Vec::new(), Vec::new());
    let all = link.sweep(everything, Some(cut(link, now))).await.map_err(|error| failed(&error))?;
    if !all.is_complete {
        return Ok(SOON);
    }
    let wanted = cut(link, now).min(all.oldest.map_or(u64::MAX, |start| start.saturating_sub(1)));
    let safe_point = match of_services(link, wanted).await {
        Ok(of_services) => wanted.min(of_services),
        // A PD that knows no services has none that would hold the safe point back.
        Err(CallError::Unknown(_)) => wanted,
        Err(error) => return Err(failed(&error)),
    };
    let set = link.ask_pd(SetSafePoint { header: None, safe_point }).await.map_err(|error| failed(&error))?;
    upkeep.note(asked, now, set.safe_point);
    Ok(next)
}

/// The smallest safe point of all services, once the collector's has moved.
async fn of_services(link: &Link, safe_point: u64) -> Result<u64, CallError> {
    let service = COLLECTOR.to_vec();
    let set = SetServiceSafePoint { header: None, service, seconds: i64::MAX, safe_point };
    Ok(link.ask_pd(set).await?.safe_point)
}
