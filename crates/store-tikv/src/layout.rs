//! The layout row, which says that a prefix is Keywright's and how its rows are laid out.

use std::time::Duration;

use bytes::Bytes;
use keywright_store::{CommitError, StoreError};

use crate::cluster::CallError;
use crate::link::Link;
use crate::locks;
use crate::versions::{self, RegisterError};

/// The version of the layout of `keys`.
const LAYOUT: &str = "keywright rows 1";
/// Item times, expiry and streams bear clocks that are seconds apart; minutes would expire items too early.
const CLOCKS_APART_MS_MAX: u64 = 60_000;
/// Attempts to write the layout row; another process may do the same.
const TRIES: usize = 5;

/// Why a store cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// No PD answers, or they refuse us.
    Unreachable(String),
    /// PD answers, and PD or a region has no leader that does.
    NoLeader(String),
    /// The prefix holds rows that are not ours.
    Foreign(String),
    /// The rows were written by another version of Keywright.
    OtherLayout(String),
    /// TiDB removes old versions in the cluster, and PD cannot be told which ones are needed here.
    Tidb(String),
    /// TiDB removes versions of rows that are not this old yet.
    Lifetime(Duration),
    /// This machine's clock and PD's are so many milliseconds apart.
    Clock(u64),
}

impl OpenError {
    /// The reason, if it may pass by itself within seconds, as the choice of a new leader does.
    pub fn passing(&self) -> Option<&str> {
        match self {
            Self::NoLeader(reason) => Some(reason),
            Self::Unreachable(_)
            | Self::Foreign(_)
            | Self::OtherLayout(_)
            | Self::Tidb(_)
            | Self::Lifetime(_)
            | Self::Clock(_) => None,
        }
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(text) => {
                write!(formatter, "{text}: check the addresses of PD, and that PD and TiKV run")
            }
            Self::NoLeader(text) => write!(
                formatter,
                "PD answers, and not all of the cluster does: {text}; start again when PD and all regions \
                 have a leader, which needs most of their nodes"
            ),
            Self::Foreign(prefix) => write!(
                formatter,
                "the prefix {prefix}/ holds rows that are not Keywright's: name another one with \
                 tikv://PD/PREFIX"
            ),
            Self::OtherLayout(found) => write!(
                formatter,
                "the prefix has the layout `{found}`, this Keywright needs `{LAYOUT}`: \
                 use the version that wrote it, or another prefix with tikv://PD/PREFIX"
            ),
            Self::Tidb(text) => write!(
                formatter,
                "TiDB uses the cluster, and PD does not take a safe point of Keywright's ({text}): \
                 use a cluster without TiDB, or a PD that has UpdateServiceGCSafePoint"
            ),
            Self::Lifetime(needed) => formatter.write_str(&versions::too_short(*needed)),
            Self::Clock(apart_ms) => write!(
                formatter,
                "the clocks of this machine and of PD are {} seconds apart, and servers over one store must \
                 agree on the time: set the clock that is wrong, best by NTP",
                apart_ms / 1000
            ),
        }
    }
}

impl std::error::Error for OpenError {}

fn no_answer(error: &StoreError) -> OpenError {
    match error {
        StoreError::Io(text) => OpenError::Unreachable(text.clone()),
        other => OpenError::Unreachable(other.to_string()),
    }
}

/// Makes sure that TiDB leaves the versions that views need.
pub(crate) async fn claim_versions(link: &Link, prefix: &str) -> Result<(), OpenError> {
    if versions::has_tidb(link).await.map_err(|error| no_answer(&error))? {
        versions::register(link, prefix).await.map_err(|error| of_registration(error, link.retention))?;
    }
    Ok(())
}

fn of_registration(error: RegisterError, retention: Duration) -> OpenError {
    match error {
        RegisterError::Call(CallError::Unknown(text)) => OpenError::Tidb(text),
        RegisterError::Call(CallError::Failed(text)) => OpenError::Unreachable(format!("TiKV: {text}")),
        RegisterError::Late => OpenError::Lifetime(retention),
    }
}

/// Compares this machine's clock with that of PD, whose timestamps begin with it.
pub(crate) async fn check_clock(link: &Link, now_ms: Option<fn() -> u64>) -> Result<(), OpenError> {
    let Some(now_ms) = now_ms else { return Ok(()) };
    let theirs = locks::milliseconds(link.now().await.map_err(|error| no_answer(&error))?);
    let apart_ms = theirs.abs_diff(now_ms());
    if apart_ms > CLOCKS_APART_MS_MAX { Err(OpenError::Clock(apart_ms)) } else { Ok(()) }
}

/// Checks the prefix, and writes the layout row if there is nothing.
pub(crate) async fn prepare(link: &Link, prefix: &str) -> Result<(), OpenError> {
    for _ in 0..TRIES {
        let transaction = link.begin().await.map_err(|error| no_answer(&error))?;
        let at = tikv_client::TimestampExt::version(&transaction.start_timestamp());
        let key = link.keys.layout();
        let found = link.get(at, key.clone()).await.map_err(|error| no_answer(&error))?;
        if let Some(found) = found {
            if found == LAYOUT.as_bytes() {
                return Ok(());
            }
            return Err(OpenError::OtherLayout(String::from_utf8_lossy(&found).into_owned()));
        }
        let rows = link.scan_keys(at, link.keys.everything(), 1).await;
        if !rows.map_err(|error| no_answer(&error))?.is_empty() {
            return Err(OpenError::Foreign(prefix.to_owned()));
        }
        match link
            .commit(transaction, vec![(key, Some(Bytes::from_static(LAYOUT.as_bytes())))], Vec::new())
            .await
        {
            Ok(_version) => return Ok(()),
            // Written by another process, or perhaps by this one: the next look tells.
            Err(CommitError::Conflict | CommitError::Unknown) => {}
            Err(CommitError::Failed(error)) => return Err(no_answer(&error)),
            Err(CommitError::TooLarge) => break,
        }
    }
    Err(OpenError::Unreachable("TiKV: the layout row could not be written".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pd_that_does_not_know_the_call_is_refused_for_tidb() {
        let refused = |error| of_registration(error, Duration::from_mins(10));
        let unknown = refused(RegisterError::Call(CallError::Unknown("unknown method".to_owned())));
        assert!(unknown.to_string().contains("use a cluster without TiDB"), "{unknown}");
        let late = refused(RegisterError::Call(CallError::Failed("no answer".to_owned())));
        assert_eq!(late, OpenError::Unreachable("TiKV: no answer".to_owned()));
    }
}
