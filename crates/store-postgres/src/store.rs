//! The store: opens views and transactions, clears ranges, and sweeps removed rows that no view depends on.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use keywright_store::{
    Capabilities, CommitVersion, FirstPage, KeyRange, LogId, LogPosition, Scan, Snapshot as _, Store,
    StoreError,
};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;

use crate::connection::{Pool, Unanswered};
use crate::fault;
use crate::logs;
use crate::open_error::OpenError;
use crate::options::PostgresOptions;
use crate::outage::Outage;
use crate::shared::SharedReads;
use crate::transaction::{CAPABILITIES, PostgresTransaction};
use crate::view::{self, PostgresView};

/// Rows that one statement of `clear_range` or of the sweep removes.
const PIECE_ROWS: i64 = 1_000;
/// Pause between two sweeps.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);
/// Rows of which a size is estimated.
const SAMPLE_ROWS: i64 = 1_000;

/// A store in a schema of a PostgreSQL database. Clones are handles of the same store.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Arc<Pool>,
    options: Arc<PostgresOptions>,
    reads: Arc<SharedReads>,
}

impl PostgresStore {
    /// Opens the store; an empty database gets the schema. Connections run as tasks of this runtime.
    pub async fn open(options: PostgresOptions, runtime: Handle) -> Result<Self, OpenError> {
        let pool = Pool::open(options.clone(), runtime.clone()).await?;
        runtime.spawn(sweep_for_ever(Arc::downgrade(&pool), options.sweep_after));
        Ok(Self { pool, options: Arc::new(options), reads: Arc::default() })
    }

    /// Questions that were sent to the server and waited for.
    pub fn round_trips(&self) -> u64 {
        self.pool.round_trips()
    }

    /// Why no session could be had of late; `None` while they are had.
    pub fn outage(&self) -> Option<Outage> {
        self.pool.outage()
    }

    /// The host and port of the server that takes writes, as the last connection showed.
    pub fn primary(&self) -> String {
        self.pool.primary()
    }

    /// The servers of the address to which a fail-over would not be followed, each with the reason. Asks
    /// them, for a few seconds at most.
    pub async fn unusable_servers(&self) -> Vec<String> {
        self.pool.unusable().await
    }

    /// If the server allows fewer connections than this store may need: how many, and how many are needed.
    pub fn connections_lacking(&self) -> Option<(usize, usize)> {
        let allowed = usize::try_from(self.pool.allowed()?).ok()?;
        let needed = self.options.connections_needed();
        (allowed < needed).then_some((allowed, needed))
    }

    /// The address and settings with which it was opened.
    pub fn options(&self) -> &PostgresOptions {
        &self.options
    }
}

/// Sweeps until the store is dropped. Several processes may do it: each takes rows that no other one holds.
async fn sweep_for_ever(pool: Weak<Pool>, after: Duration) {
    // The newest transaction at each pause, the oldest pause first.
    let mut newest: VecDeque<(Instant, CommitVersion)> = VecDeque::new();
    while let Some(pool) = pool.upgrade() {
        let now = Instant::now();
        if let Ok(view) = PostgresView::open(&pool).await {
            newest.push_back((now, view.version()));
        }
        let mut up_to = None;
        while let Some((at, version)) = newest.front().copied()
            && now.duration_since(at) >= after
        {
            up_to = Some(version);
            newest.pop_front();
        }
        if let Some(up_to) = up_to {
            while matches!(sweep(&pool, up_to).await, Ok(count) if i64::try_from(count) == Ok(PIECE_ROWS)) {}
        }
        drop(pool);
        tokio::time::sleep(after.min(SWEEP_PAUSE)).await;
    }
}

/// Deletes some rows that were removed up to this version and on which no view depends; returns how many.
async fn sweep(pool: &Arc<Pool>, up_to: CommitVersion) -> Result<u64, StoreError> {
    let session = pool.take().await?;
    let connection = session.connection();
    let up_to = up_to.0.to_string();
    let columns: [&(dyn ToSql + Sync); 2] = [&PIECE_ROWS, &up_to];
    let sweeping = connection.wire.client.execute(&connection.statements.sweep, &columns);
    session.answer(sweeping).await.map_err(|fault| fault.of_read())
}

impl Store for PostgresStore {
    type Snapshot = PostgresView;
    type Transaction = PostgresTransaction;

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn snapshot(&self) -> Result<PostgresView, StoreError> {
        PostgresView::open(&self.pool).await
    }

    async fn begin(&self) -> Result<PostgresTransaction, StoreError> {
        let began = Instant::now();
        let (view, id, _no_values) = PostgresView::open_for_write(&self.pool, &[]).await?;
        Ok(PostgresTransaction::new(view, id, began))
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.reads.value(&self.pool, key).await
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        view::get_many(&self.pool.take().await?, keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<FirstPage<PostgresView>, StoreError> {
        if let Some(page) = self.reads.page(&self.pool, scan).await? {
            return Ok(FirstPage { page, view: None });
        }
        view::first_page(&self.pool, scan).await
    }

    async fn begin_with(
        &self,
        keys: &[Bytes],
    ) -> Result<(PostgresTransaction, Vec<Option<Bytes>>), StoreError> {
        let began = Instant::now();
        let (view, id, values) = PostgresView::open_for_write(&self.pool, keys).await?;
        let mut txn = PostgresTransaction::new(view, id, began);
        txn.protect_read(keys, &values);
        Ok((txn, values))
    }

    async fn clear_range(&self, range: &KeyRange) -> Result<(), StoreError> {
        if range.is_empty() {
            return Ok(());
        }
        let session = self.pool.take().await?;
        let connection = session.connection();
        let (start, end) = (range.start.as_ref(), range.end.as_deref());
        let (statement, columns): (_, Vec<&(dyn ToSql + Sync)>) = match &end {
            Some(end) => (&connection.statements.clear, vec![&start, end, &PIECE_ROWS]),
            None => (&connection.statements.clear_to_end, vec![&start, &PIECE_ROWS]),
        };
        loop {
            let clearing = connection.wire.client.execute(statement, &columns);
            match session.answer(clearing).await {
                Ok(0) => return Ok(()),
                Ok(_more) => {}
                Err(Unanswered::Error(error)) if error.code().is_some_and(fault::is_conflict) => {}
                Err(fault) => return Err(fault.of_read()),
            }
        }
    }

    async fn trim_log(&self, id: LogId, through: LogPosition) -> Result<(), StoreError> {
        logs::trim(&self.pool, id, through).await
    }

    /// The planner's estimate of the rows, times the mean size of some of them.
    async fn size_estimate_bytes(&self, range: &KeyRange) -> Result<u64, StoreError> {
        let rows = format!("{}.keywright_rows", self.options.schema);
        let upper =
            range.end.as_ref().map_or_else(String::new, |end| format!(" AND key < '\\x{}'", hex(end)));
        let within = format!("key >= '\\x{}'{upper}", hex(&range.start));
        let sample = format!(
            "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM (SELECT octet_length(key) + octet_length(value) \
             AS bytes FROM {rows} WHERE {within} AND value IS NOT NULL LIMIT {SAMPLE_ROWS}) AS sampled"
        );
        let session = self.pool.take().await?;
        let client = &session.connection().wire.client;
        let sampled = session.answer(client.query_one(&sample, &[])).await;
        let sampled = sampled.map_err(|fault| fault.of_read())?;
        let (count, bytes): (i64, i64) = (sampled.get(0), sampled.get(1));
        let (count, bytes) = (count.max(0).cast_unsigned(), bytes.max(0).cast_unsigned());
        if i64::try_from(count).unwrap_or(i64::MAX) < SAMPLE_ROWS {
            return Ok(bytes);
        }
        let explain = format!("EXPLAIN SELECT FROM {rows} WHERE {within}");
        let plan = session.answer(client.simple_query(&explain)).await.map_err(|fault| fault.of_read())?;
        let planned = plan.iter().find_map(|message| match message {
            tokio_postgres::SimpleQueryMessage::Row(row) => planned_rows(row.get(0)?),
            _ => None,
        });
        let planned = planned.unwrap_or(count).max(count);
        Ok(bytes.saturating_mul(planned) / count)
    }
}

/// The number after `rows=` in the first line of a plan.
fn planned_rows(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("rows=")?;
    rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |half: u8| DIGITS.get(usize::from(half)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_planned_rows_are_read_from_a_plan() {
        let line = "Seq Scan on keywright_rows  (cost=0.00..18.50 rows=850 width=0)";
        assert_eq!(planned_rows(line), Some(850));
        assert_eq!(planned_rows("  Filter: (value IS NOT NULL)"), None);
    }
}
