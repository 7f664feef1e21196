//! A view: a read-only transaction at `REPEATABLE READ`, whose first statement fixes what it sees.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    CommitVersion, Direction, Entry, LogEntry, LogRead, Scan, ScanPage, Snapshot, StoreError,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::connection::{Pool, Session};
use crate::layout::Statements;
use crate::logs;

/// Rows of one fetch. A scan fetches more until its budget is used.
const FETCH_ROWS_MAX: usize = 1_000;
/// Rows of the first fetch: most scans end within them.
const FETCH_ROWS_FIRST: usize = 64;

/// A consistent, read-only view.
pub struct PostgresView {
    pub(crate) session: Session,
    /// PostgreSQL's text for what the view sees: `xmin:xmax:running`.
    pub(crate) seen: String,
    version: CommitVersion,
}

impl PostgresView {
    pub(crate) async fn open(pool: &Arc<Pool>) -> Result<Self, StoreError> {
        Self::begin(pool, |statements| &statements.snapshot, &[]).await.map(|(view, _, _)| view)
    }

    /// A view whose transaction has its id already: the id tells how a commit ended whose answer is lost.
    /// Also the values of these keys.
    pub(crate) async fn open_for_write(
        pool: &Arc<Pool>,
        keys: &[Bytes],
    ) -> Result<(Self, CommitVersion, Vec<Option<Bytes>>), StoreError> {
        let (view, answer, values) =
            Self::begin(pool, |statements| &statements.snapshot_and_id, keys).await?;
        let id: &str = answer.get(1);
        let id = id.parse().map_err(|_| StoreError::Corrupt(format!("PostgreSQL: `{id}` is no id")))?;
        Ok((view, CommitVersion(id), values))
    }

    /// Begins the transaction and reads these keys in one round trip.
    async fn begin(
        pool: &Arc<Pool>,
        first: impl Fn(&Statements) -> &Statement,
        keys: &[Bytes],
    ) -> Result<(Self, Row, Vec<Option<Bytes>>), StoreError> {
        let mut session = pool.take().await?;
        session.in_transaction = true;
        let connection = session.connection();
        let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let wanted_values: [&(dyn ToSql + Sync); 1] = [&wanted];
        // Sent in this order, without waiting for each other.
        let asked = async {
            let (begun, answer, found) = futures_util::join!(
                connection.client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ"),
                connection.client.query_one(first(&connection.statements), &[]),
                optional(
                    !keys.is_empty(),
                    connection.client.query(&connection.statements.get, &wanted_values)
                ),
            );
            begun?;
            Ok((answer?, found?))
        };
        let (answer, found) = session.answer(asked).await.map_err(|fault| fault.of_read())?;
        let values = in_order(keys, &by_key(&found.unwrap_or_default()));
        let seen: String = answer.get(0);
        let unclear = || StoreError::Corrupt(format!("PostgreSQL: `{seen}` is no snapshot"));
        // The first id that was not assigned yet.
        let next: u64 = seen.split(':').nth(1).and_then(|id| id.parse().ok()).ok_or_else(unclear)?;
        let version = CommitVersion(next.saturating_sub(1));
        Ok((Self { session, seen, version }, answer, values))
    }

    /// One fetch of a scan, which begins at `from` (inclusive forward, exclusive backward). It ends after the
    /// row that follows the one that reaches the budget of bytes.
    async fn fetch(
        &self,
        from: &[u8],
        to: Option<&[u8]>,
        direction: Direction,
        (rows_max, bytes_max): (usize, usize),
    ) -> Result<Vec<Entry>, StoreError> {
        let connection = self.session.connection();
        let limit = i64::try_from(rows_max).unwrap_or(i64::MAX);
        let budget = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        let statements = &connection.statements;
        let (statement, bounded): (_, Vec<&(dyn ToSql + Sync)>) = match (direction, &to) {
            (Direction::Forward, Some(to)) => (&statements.forward, vec![&from, to, &limit, &budget]),
            (Direction::Forward, None) => (&statements.forward_to_end, vec![&from, &limit, &budget]),
            (Direction::Backward, Some(to)) => (&statements.backward, vec![&from, to, &limit, &budget]),
            (Direction::Backward, None) => (&statements.backward_from_end, vec![&from, &limit, &budget]),
        };
        let rows = self.session.answer(connection.client.query(statement, &bounded)).await;
        let rows = rows.map_err(|fault| fault.of_read())?;
        Ok(rows.iter().map(|row| Entry { key: owned(row.get(0)), value: owned(row.get(1)) }).collect())
    }
}

/// The values of the keys that are present.
pub(crate) async fn rows(session: &Session, keys: &[&[u8]]) -> Result<HashMap<Bytes, Bytes>, StoreError> {
    let connection = session.connection();
    let found = session.answer(connection.client.query(&connection.statements.get, &[&keys])).await;
    Ok(by_key(&found.map_err(|fault| fault.of_read())?))
}

fn by_key(rows: &[Row]) -> HashMap<Bytes, Bytes> {
    rows.iter().map(|row| (owned(row.get(0)), owned(row.get(1)))).collect()
}

fn in_order(keys: &[Bytes], found: &HashMap<Bytes, Bytes>) -> Vec<Option<Bytes>> {
    keys.iter().map(|key| found.get(key).cloned()).collect()
}

fn owned(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

impl Snapshot for PostgresView {
    fn version(&self) -> CommitVersion {
        self.version
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let keys: [&[u8]; 1] = [key];
        Ok(rows(&self.session, &keys).await?.into_values().next())
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        Ok(in_order(keys, &rows(&self.session, &wanted).await?))
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        let mut page = ScanPage::with_room(scan);
        if scan.range.is_empty() {
            return Ok(page);
        }
        let rows_max = scan.rows_max.max(1);
        let (mut from, mut to) = (scan.range.start.clone(), scan.range.end.clone());
        let mut bytes = 0_usize;
        let mut fetch_rows = FETCH_ROWS_FIRST;
        loop {
            // One row more than the page may hold says whether there are more.
            let wanted = rows_max.saturating_sub(page.entries.len()).saturating_add(1).min(fetch_rows);
            let left = scan.bytes_max.saturating_sub(bytes);
            let rows = self.fetch(&from, to.as_deref(), scan.direction, (wanted, left)).await?;
            let ended = rows.len() < wanted;
            for row in rows {
                if page.entries.len() >= rows_max || (bytes >= scan.bytes_max && !page.entries.is_empty()) {
                    page.more = true;
                    page.assert_answers(scan);
                    return Ok(page);
                }
                bytes = bytes.saturating_add(row.key.len()).saturating_add(row.value.len());
                page.entries.push(row);
            }
            if ended {
                page.assert_answers(scan);
                return Ok(page);
            }
            if let Some(last) = page.entries.last() {
                match scan.direction {
                    Direction::Forward => from = [last.key.as_ref(), &[0]].concat().into(),
                    Direction::Backward => to = Some(last.key.clone()),
                }
            }
            fetch_rows = FETCH_ROWS_MAX;
        }
    }

    async fn read_log(&self, read: LogRead) -> Result<Vec<LogEntry>, StoreError> {
        logs::read(&self.session.pool, &self.seen, read).await
    }
}

/// A statement's result if it is sent at all.
pub(crate) async fn optional<T, E>(
    wanted: bool,
    statement: impl Future<Output = Result<T, E>>,
) -> Result<Option<T>, E> {
    if wanted { statement.await.map(Some) } else { Ok(None) }
}
