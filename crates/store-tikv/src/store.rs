//! The store: opens views and transactions, clears ranges, and estimates sizes.

use std::sync::Arc;
use std::time::Duration;

use keywright_store::{
    Capabilities, Direction, KeyRange, LogId, LogPosition, Scan, ScanPage, Snapshot as _, Store, StoreError,
};
use tokio::runtime::Handle;

use crate::cluster::Cluster;
use crate::layout::{self, OpenError};
use crate::link::Link;
use crate::logs;
use crate::options::TikvOptions;
use crate::transaction::{CAPABILITIES, TikvTransaction};
use crate::versions::{self, Upkeep};
use crate::view::TikvView;

/// Rows of which a size is estimated.
const SAMPLE_ROWS: usize = 1_000;

/// A store under a prefix of a TiKV cluster. Clones are handles of the same store.
#[derive(Clone)]
pub struct TikvStore {
    link: Arc<Link>,
    options: Arc<TikvOptions>,
    upkeep: Arc<Upkeep>,
}

impl TikvStore {
    /// Opens the store; an empty prefix gets the layout row. Requests run as tasks of this runtime.
    pub async fn open(options: TikvOptions, runtime: Handle) -> Result<Self, OpenError> {
        let cluster = Cluster::of(&options);
        match Self::open_once(options, runtime.clone()).await {
            Err(OpenError::Unreachable(text)) => {
                let answers = runtime.spawn(async move { cluster.answers().await });
                let answers = answers.await.unwrap_or_default();
                Err(if answers { OpenError::NoLeader(text) } else { OpenError::Unreachable(text) })
            }
            opened => opened,
        }
    }

    async fn open_once(options: TikvOptions, runtime: Handle) -> Result<Self, OpenError> {
        let link = Link::open(&options, runtime).await.map_err(OpenError::Unreachable)?;
        layout::check_clock(&link, options.now_ms).await?;
        layout::claim_versions(&link, &options.prefix).await?;
        layout::prepare(&link, &options.prefix).await?;
        Ok(Self { link: Arc::new(link), options: Arc::new(options), upkeep: Arc::default() })
    }

    /// Questions that were sent to PD and TiKV and waited for; those that the client repeats count once.
    pub fn round_trips(&self) -> u64 {
        self.link.round_trips()
    }

    /// How long ago the time was before which TiKV removes old versions, if this store has moved it.
    pub fn versions_kept(&self) -> Option<Duration> {
        self.upkeep.safe_point_age()
    }

    /// The address and settings with which it was opened.
    pub fn options(&self) -> &TikvOptions {
        &self.options
    }
}

impl Store for TikvStore {
    type Snapshot = TikvView;
    type Transaction = TikvTransaction;

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn snapshot(&self) -> Result<TikvView, StoreError> {
        TikvView::open(&self.link).await
    }

    async fn begin(&self) -> Result<TikvTransaction, StoreError> {
        TikvTransaction::begin(&self.link).await
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        self.link.clear(self.link.keys.rows(range)).await
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        logs::trim(&self.link, id, through).await
    }

    async fn tend(&self) -> Result<Option<Duration>, StoreError> {
        let (link, prefix) = (Arc::clone(&self.link), self.options.prefix.clone());
        self.link.run(versions::tend(link, prefix, Arc::clone(&self.upkeep))).await.map(Some)
    }

    /// The size of the first rows, times how often their part of the keys fits into that of all rows.
    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        let view = self.snapshot().await?;
        let scan =
            |direction, rows_max| Scan { range: range.clone(), direction, rows_max, bytes_max: usize::MAX };
        let sample = view.scan(&scan(Direction::Forward, SAMPLE_ROWS)).await?;
        let bytes = bytes_of(&sample);
        if !sample.more {
            return Ok(bytes);
        }
        let end = view.scan(&scan(Direction::Backward, 1)).await?;
        let (Some(first), Some(last), Some(end)) =
            (sample.entries.first(), sample.entries.last(), end.entries.first())
        else {
            return Ok(bytes);
        };
        let common = first.key.iter().zip(&end.key).take_while(|(one, other)| one == other).count();
        let place = |key: &[u8]| fraction(key.get(common..).unwrap_or_default());
        let whole = place(&end.key).saturating_sub(place(&first.key));
        let part = place(&last.key).saturating_sub(place(&first.key)).max(1);
        let estimate = u128::from(bytes).saturating_mul(u128::from(whole)) / u128::from(part);
        Ok(u64::try_from(estimate).unwrap_or(u64::MAX).max(bytes))
    }
}

fn bytes_of(page: &ScanPage) -> u64 {
    let bytes = page.entries.iter().map(|entry| entry.key.len() + entry.value.len()).sum::<usize>();
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The first eight bytes as a number.
fn fraction(key: &[u8]) -> u64 {
    (0..8).fold(0, |number, place| number << 8 | u64::from(key.get(place).copied().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_compared_as_numbers_of_eight_bytes() {
        assert_eq!(fraction(&[]), 0);
        assert_eq!(fraction(&[1]), 1 << 56);
        assert!(fraction(&[1, 0, 5]) < fraction(&[1, 1]));
        assert_eq!(fraction(&[0, 0, 0, 0, 0, 0, 0, 7, 9]), 7);
    }
}
