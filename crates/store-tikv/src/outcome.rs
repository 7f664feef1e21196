//! How a commit ended whose answer was lost: TiKV keeps it at the transaction's primary key, so no row of our
//! own is needed. The question rolls back a transaction that has not ended yet, so the answer is final.

use std::time::Duration;

use keywright_store::{CommitError, CommitVersion, StoreError};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::locks::{self, Fate};

/// How long an answer is waited for.
const WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// How a commit ended that failed for this reason: `Failed` with it if nothing was written and nothing will
/// be, `Unknown` if TiKV does not say it in time.
pub(crate) async fn of(
    cluster: &Cluster,
    primary: &[u8],
    start: u64,
    reason: StoreError,
) -> Result<CommitVersion, CommitError> {
    let deadline = Instant::now() + WAIT;
    loop {
        match tokio::time::timeout_at(deadline, locks::end(cluster, primary.to_vec(), start)).await {
            Ok(Ok(Fate::Committed(version))) => return Ok(CommitVersion(version)),
            Ok(Ok(Fate::RolledBack)) => return Err(CommitError::Failed(reason)),
            Ok(Ok(Fate::Running) | Err(_)) => {}
            Err(_late) => return Err(CommitError::Unknown),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
