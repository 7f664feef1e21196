//! Locks that dead clients left behind.
//!
//! TiKV's client 0.4 cannot resolve two kinds of them, and fails for ever: a lock whose primary was never
//! written (client-rust #543), and one of an asynchronous commit (#528). Here both end as the protocol says:
//! the primary decides, and a transaction is rolled back only if its locks have outlived their time to live,
//! which a running client extends at the primary.
//!
//! A client that dies after its commit leaves locks of which the primary says at once how they end. TiKV's
//! client waits for their time to live all the same, which is up to 20 s after a large commit.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tikv_client::{BoundRange, Error, ProtoLockInfo, Timestamp, TimestampExt as _, TransactionClient};

use tokio::time::Instant;

use crate::cluster::{CallError, Cluster};
use crate::keys::{self, Span, is_before};
use crate::protocol::{CheckSecondaries, CheckTransaction, KeyError, Lock, ResolveLock};

/// Locks of one page.
const PAGE: usize = 1_000;
/// Keys of one call that resolves locks.
const RESOLVED_MAX: usize = 250;
/// How long one sweep goes on to the next page.
const SWEEP_MAX: Duration = Duration::from_secs(20);
/// Bits of a timestamp that are not milliseconds.
const LOGICAL_BITS: u32 = 18;

/// How a transaction ended, if it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Committed(u64),
    RolledBack,
    Running,
}

pub(crate) fn milliseconds(timestamp: u64) -> u64 {
    timestamp >> LOGICAL_BITS
}

/// The timestamp that is so much earlier.
pub(crate) fn earlier(timestamp: u64, by_ms: u64) -> u64 {
    timestamp.saturating_sub(by_ms << LOGICAL_BITS)
}

fn has_expired(lock: &Lock, now: u64) -> bool {
    milliseconds(lock.start).saturating_add(lock.ttl_ms) < milliseconds(now)
}

impl From<ProtoLockInfo> for Lock {
    fn from(lock: ProtoLockInfo) -> Self {
        Self {
            primary: lock.primary_lock,
            start: lock.lock_version,
            key: lock.key,
            ttl_ms: lock.lock_ttl,
            is_async_commit: lock.use_async_commit,
            min_commit: lock.min_commit_ts,
            secondaries: lock.secondaries,
        }
    }
}

/// What a sweep leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Left {
    /// The start of the oldest transaction that still runs.
    pub(crate) oldest: Option<u64>,
    /// Whether every lock was looked at.
    pub(crate) is_complete: bool,
}

/// Resolves the locks in a range that are not later than `until` (or now) and have expired, and says what is
/// left.
pub(crate) async fn sweep(
    client: &TransactionClient,
    cluster: &Cluster,
    span: Span,
    until: Option<u64>,
) -> Result<Left, CallError> {
    let now = current(client).await?;
    let until = until.unwrap_or(now);
    let (mut left, mut settling) = (Left::default(), Settling::at(cluster, now));
    let (mut from, to) = span;
    let ends = Instant::now() + SWEEP_MAX;
    while Instant::now() < ends {
        let mut page = page(client, &(from.clone(), to.clone()), until).await?;
        let is_last = page.len() < PAGE;
        // The limit is one of each region. Only up to its own limit a page has all locks of all regions.
        page.truncate(PAGE);
        let last = page.last().map(|lock| lock.key.clone());
        // Not every server begins a page where it is asked to.
        for lock in page.iter().filter(|lock| lock.key >= from && is_before(&lock.key, &to)) {
            if Instant::now() >= ends {
                settling.resolve().await?;
                return Ok(left);
            }
            if settling.settle(lock).await? == Fate::Running {
                left.oldest = Some(left.oldest.unwrap_or(u64::MAX).min(lock.start));
            }
        }
        settling.resolve().await?;
        match last.map(keys::after) {
            Some(next) if !is_last && next > from => from = next,
            _ => {
                left.is_complete = is_last;
                return Ok(left);
            }
        }
    }
    Ok(left)
}

/// Resolves the expired locks on these keys, which are in order, and returns the starts of transactions that
/// hold others.
pub(crate) async fn release(
    client: &TransactionClient,
    cluster: &Cluster,
    keys: &[Vec<u8>],
) -> Result<BTreeSet<u64>, CallError> {
    let mut running = BTreeSet::new();
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(running) };
    let now = current(client).await?;
    let mut settling = Settling::at(cluster, now);
    for lock in page(client, &(first.clone(), keys::after(last.clone())), now).await? {
        if keys.binary_search(&lock.key).is_ok() && settling.settle(&lock).await? == Fate::Running {
            running.insert(lock.start);
        }
    }
    settling.resolve().await?;
    Ok(running)
}

async fn current(client: &TransactionClient) -> Result<u64, CallError> {
    client.current_timestamp().await.map(|now| now.version()).map_err(|error| failed(&error))
}

fn failed(error: &Error) -> CallError {
    CallError::Failed(error.to_string())
}

async fn page(client: &TransactionClient, span: &Span, until: u64) -> Result<Vec<Lock>, CallError> {
    let range = if span.1.is_empty() {
        BoundRange::from(span.0.clone()..)
    } else {
        BoundRange::from((span.0.clone(), span.1.clone()))
    };
    let until = Timestamp::from_version(until);
    let limit = u32::try_from(PAGE).unwrap_or(u32::MAX);
    let locks = client.scan_locks(&until, range, limit).await.map_err(|error| failed(&error))?;
    let mut locks: Vec<Lock> = locks.into_iter().map(Lock::from).collect();
    locks.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    Ok(locks)
}

/// Locks of one look, and how their transactions ended: each transaction is asked for once, and the locks
/// of a region are resolved together.
struct Settling<'a> {
    cluster: &'a Cluster,
    now: u64,
    fates: BTreeMap<u64, Fate>,
    /// Locks to resolve, by the start of their transaction.
    ended: BTreeMap<u64, Vec<Vec<u8>>>,
}

impl<'a> Settling<'a> {
    fn at(cluster: &'a Cluster, now: u64) -> Self {
        Self { cluster, now, fates: BTreeMap::new(), ended: BTreeMap::new() }
    }

    /// How the transaction of a lock ended. `resolve` ends the lock then.
    async fn settle(&mut self, lock: &Lock) -> Result<Fate, CallError> {
        let fate = if let Some(fate) = self.fates.get(&lock.start) {
            *fate
        } else {
            let fate = find(self.cluster, lock, self.now).await?;
            self.fates.insert(lock.start, fate);
            fate
        };
        if fate != Fate::Running {
            self.ended.entry(lock.start).or_default().push(lock.key.clone());
        }
        Ok(fate)
    }

    /// Ends the locks of transactions that have ended.
    async fn resolve(&mut self) -> Result<(), CallError> {
        for (start, keys) in std::mem::take(&mut self.ended) {
            let fate = self.fates.get(&start).copied().unwrap_or(Fate::Running);
            resolve(self.cluster, keys, start, fate).await?;
        }
        Ok(())
    }
}

/// How the transaction of a lock ended. If both have expired, it ends now.
async fn find(cluster: &Cluster, lock: &Lock, now: u64) -> Result<Fate, CallError> {
    let question = CheckTransaction {
        context: None,
        primary: lock.primary.clone(),
        start: lock.start,
        now,
        // A running client may write its primary last.
        rollback_if_not_exist: has_expired(lock, now),
        force_sync_commit: false,
    };
    Ok(match check(cluster, question.clone()).await? {
        Checked::Ended(fate) => fate,
        Checked::Missing => Fate::Running,
        Checked::Locked(primary) if !primary.is_async_commit || !has_expired(&primary, now) => Fate::Running,
        Checked::Locked(primary) => match by_secondaries(cluster, &primary, lock.start).await? {
            Some(fate) => {
                let others = primary.secondaries.into_iter().chain(std::iter::once(lock.primary.clone()));
                resolve(cluster, others.collect(), lock.start, fate).await?;
                fate
            }
            // It fell back to an ordinary commit, which its primary decides.
            None => match check(cluster, CheckTransaction { force_sync_commit: true, ..question }).await? {
                Checked::Ended(fate) => fate,
                Checked::Locked(_) | Checked::Missing => Fate::Running,
            },
        },
    })
}

/// An asynchronous commit has succeeded if all its locks are written; one that is missing cannot come any
/// more once it was asked for. `None` if it fell back to an ordinary commit.
async fn by_secondaries(cluster: &Cluster, primary: &Lock, start: u64) -> Result<Option<Fate>, CallError> {
    let mut commit = primary.min_commit;
    for key in &primary.secondaries {
        let question = CheckSecondaries { context: None, keys: vec![key.clone()], start };
        let checked = cluster.ask_region(key, question).await?;
        if let Some(error) = &checked.error {
            return Err(refused(error));
        }
        match checked.locks.first() {
            _ if checked.commit > 0 => return Ok(Some(Fate::Committed(checked.commit))),
            None => return Ok(Some(Fate::RolledBack)),
            Some(lock) if !lock.is_async_commit => return Ok(None),
            Some(lock) => commit = commit.max(lock.min_commit),
        }
    }
    Ok(Some(Fate::Committed(commit)))
}

enum Checked {
    Ended(Fate),
    /// Its primary is locked.
    Locked(Lock),
    /// Its primary was not written, and may still be.
    Missing,
}

async fn check(cluster: &Cluster, question: CheckTransaction) -> Result<Checked, CallError> {
    let primary = question.primary.clone();
    let may_be_missing = !question.rollback_if_not_exist;
    let checked = cluster.ask_region(&primary, question).await?;
    match &checked.error {
        Some(error) if may_be_missing && error.transaction_not_found.is_some() => {
            return Ok(Checked::Missing);
        }
        Some(error) => return Err(refused(error)),
        None => {}
    }
    Ok(match checked {
        checked if checked.commit_version > 0 => Checked::Ended(Fate::Committed(checked.commit_version)),
        checked if checked.lock_ttl == 0 => Checked::Ended(Fate::RolledBack),
        checked => Checked::Locked(Lock { ttl_ms: checked.lock_ttl, ..checked.lock.unwrap_or_default() }),
    })
}

/// How a transaction ended that its own client has given up: if it has not, it is rolled back.
pub(crate) async fn end(cluster: &Cluster, primary: Vec<u8>, start: u64) -> Result<Fate, CallError> {
    let question = CheckTransaction {
        context: None,
        primary,
        start,
        // Every lock has expired by then.
        now: u64::MAX,
        rollback_if_not_exist: true,
        force_sync_commit: true,
    };
    Ok(match check(cluster, question).await? {
        Checked::Ended(fate) => fate,
        Checked::Locked(_) | Checked::Missing => Fate::Running,
    })
}

/// Resolves locks of one transaction, with one call for those of a region.
async fn resolve(cluster: &Cluster, mut keys: Vec<Vec<u8>>, start: u64, fate: Fate) -> Result<(), CallError> {
    let commit = match fate {
        Fate::Committed(version) => version,
        Fate::RolledBack => 0,
        Fate::Running => return Ok(()),
    };
    keys.sort_unstable();
    let mut rest = keys.as_slice();
    while !rest.is_empty() {
        let piece = rest.get(..RESOLVED_MAX).unwrap_or(rest);
        let asking = |keys: &[Vec<u8>]| ResolveLock { context: None, start, commit, keys: keys.to_vec() };
        let (resolved, count) = cluster.ask_region_of(piece, asking).await?;
        if let Some(error) = &resolved.error {
            return Err(refused(error));
        }
        rest = rest.get(count..).unwrap_or_default();
    }
    Ok(())
}

fn refused(error: &KeyError) -> CallError {
    CallError::Failed(format!("TiKV refused to resolve a lock: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_expires_by_the_milliseconds_of_its_start() {
        let lock = Lock { start: 1_000 << LOGICAL_BITS, ttl_ms: 3_000, ..Lock::default() };
        assert!(!has_expired(&lock, 4_000 << LOGICAL_BITS));
        assert!(has_expired(&lock, 4_001 << LOGICAL_BITS));
        assert_eq!(milliseconds(earlier(4_001 << LOGICAL_BITS, 4_000)), 1);
        assert_eq!(earlier(5, 1), 0, "not before all time");
    }
}
