//! The layout row, which says that a prefix is Keywright's and how its rows are laid out.

use bytes::Bytes;
use keywright_store::{CommitError, StoreError};

use crate::cluster::CallError;
use crate::link::Link;
use crate::versions;

/// The version of the layout of `keys`.
const LAYOUT: &str = "keywright rows 1";
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
}

impl OpenError {
    /// The reason, if it may pass by itself within seconds, as the choice of a new leader does.
    pub fn passing(&self) -> Option<&str> {
        match self {
            Self::NoLeader(reason) => Some(reason),
            Self::Unreachable(_) | Self::Foreign(_) | Self::OtherLayout(_) | Self::Tidb(_) => None,
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
        versions::register(link, prefix).await.map_err(of_registration)?;
    }
    Ok(())
}

fn of_registration(error: CallError) -> OpenError {
    match error {
        CallError::Unknown(text) => OpenError::Tidb(text),
        CallError::Failed(text) => OpenError::Unreachable(format!("TiKV: {text}")),
    }
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
            Err(CommitError::TooLarge | CommitError::Failed(_)) => break,
        }
    }
    Err(OpenError::Unreachable("TiKV: the layout row could not be written".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_pd_that_does_not_know_the_call_is_refused_for_tidb() {
        let refused = of_registration(CallError::Unknown("unknown method".to_owned()));
        assert!(refused.to_string().contains("use a cluster without TiDB"), "{refused}");
        let late = of_registration(CallError::Failed("no answer".to_owned()));
        assert_eq!(late, OpenError::Unreachable("TiKV: no answer".to_owned()));
    }
}
