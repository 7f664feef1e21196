//! A view: a read-only transaction at `REPEATABLE READ`, whose first statement fixes what it sees.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{
    CommitVersion, Direction, Entry, FirstPage, LogEntry, LogRead, Scan, ScanPage, Snapshot, StoreError,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

use crate::connection::{Connection, Pool, Session, Unanswered};
use crate::logs;

/// Rows of one fetch. A scan fetches more until its budget is used.
const FETCH_ROWS_MAX: usize = 4_000;
/// Rows of the first fetch in a view: most scans end within them.
const FETCH_ROWS_FIRST: usize = 64;
/// Rows of a scan that needs no view. More are read once again in a view.
const FETCH_ROWS_ALONE: usize = 256;
/// So few keys are compared one by one.
const FEW_KEYS: usize = 8;

/// A consistent, read-only view.
pub struct PostgresView {
    pub(crate) session: Session,
    /// PostgreSQL's text for what the view sees: `xmin:xmax:running`.
    pub(crate) seen: String,
    version: CommitVersion,
}

impl PostgresView {
    pub(crate) async fn open(pool: &Arc<Pool>) -> Result<Self, StoreError> {
        let session = pool.take().await?;
        Self::begin(session, None).await.map(|(view, _no_rows)| view)
    }

    /// A view whose transaction has its id already: the id tells how a commit ended whose answer is lost.
    /// Also the values of these keys.
    pub(crate) async fn open_for_write(
        pool: &Arc<Pool>,
        keys: &[Bytes],
    ) -> Result<(Self, CommitVersion, Vec<Option<Bytes>>), StoreError> {
        let mut session = pool.take().await?;
        session.in_transaction = true;
        let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let wanted: [&(dyn ToSql + Sync); 1] = [&wanted];
        let Connection { wire, statements, .. } = session.connection();
        // Sent in this order, without waiting for each other.
        let asked = async {
            let (begun, rows) = futures_util::join!(
                wire.client.batch_execute(BEGIN),
                wire.client.query(&statements.begin_with, &wanted),
            );
            begun.and(rows)
        };
        let rows = session.answer(asked).await.map_err(|fault| fault.of_read())?;
        let first = rows.first().ok_or_else(|| StoreError::Corrupt("PostgreSQL: no id came".to_owned()))?;
        let id: &str = first.get(3);
        let id = id.parse().map_err(|_| StoreError::Corrupt(format!("PostgreSQL: `{id}` is no id")))?;
        let values = in_order(keys, &rows);
        let view = Self::new(session, first.get(2))?;
        Ok((view, CommitVersion(id), values))
    }

    /// Begins the transaction, with the first fetch of a scan if there is one, in one round trip.
    async fn begin(
        mut session: Session,
        first: Option<(&Filling<'_>, usize)>,
    ) -> Result<(Self, Vec<Row>), StoreError> {
        session.in_transaction = true;
        let connection = session.connection();
        let fetching = async {
            match first {
                Some((filling, wanted)) => fetch(connection, filling, wanted).await,
                None => Ok(Vec::new()),
            }
        };
        // Sent in this order, without waiting for each other.
        let asked = async {
            let (begun, seen, rows) = futures_util::join!(
                connection.wire.client.batch_execute(BEGIN),
                connection.wire.client.query_one(&connection.statements.snapshot, &[]),
                fetching,
            );
            begun?;
            Ok((seen?, rows?))
        };
        let (seen, rows) = session.answer(asked).await.map_err(|fault| fault.of_read())?;
        Ok((Self::new(session, seen.get(0))?, rows))
    }

    fn new(session: Session, seen: &str) -> Result<Self, StoreError> {
        // The first id that was not assigned yet.
        let next = seen.split(':').nth(1).and_then(|id| id.parse::<u64>().ok());
        let next = next.ok_or_else(|| StoreError::Corrupt(format!("PostgreSQL: `{seen}` is no snapshot")))?;
        let version = CommitVersion(next.saturating_sub(1));
        Ok(Self { session, seen: seen.to_owned(), version })
    }

    /// Scans until the page is complete.
    async fn fill(&self, mut filling: Filling<'_>, mut wanted: usize) -> Result<ScanPage, StoreError> {
        loop {
            let rows = self.session.answer(fetch(self.session.connection(), &filling, wanted)).await;
            let rows = rows.map_err(|fault| fault.of_read())?;
            match filling.take_rows(&rows, wanted) {
                Filled::Complete(page) => return Ok(page),
                Filled::Open(open) => {
                    wanted = open.rows_next();
                    filling = open;
                }
            }
        }
    }
}

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

/// The values of the keys that are present, at this moment.
pub(crate) async fn get_many(session: &Session, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
    values(session, keys).await.map_err(|fault| fault.of_read())
}

/// The same, with the fault as it is.
pub(crate) async fn values(session: &Session, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Unanswered> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    if let [key] = keys {
        return Ok(vec![value(session, key).await?]);
    }
    let wanted: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    let wanted: [&(dyn ToSql + Sync); 1] = [&wanted];
    let connection = session.connection();
    let found = session.answer(connection.wire.client.query(&connection.statements.get_many, &wanted)).await;
    Ok(in_order(keys, &found?))
}

/// The value of a key at this moment.
async fn value(session: &Session, key: &[u8]) -> Result<Option<Bytes>, Unanswered> {
    let wanted: [&(dyn ToSql + Sync); 1] = [&key];
    let connection = session.connection();
    let found = session.answer(connection.wire.client.query_opt(&connection.statements.get, &wanted)).await;
    Ok(found?.map(|row| owned(row.get(0))))
}

/// One page of the newest rows. One statement sees one version, so a page that it answers needs no
/// transaction.
pub(crate) async fn first_page(pool: &Arc<Pool>, scan: &Scan) -> Result<FirstPage<PostgresView>, StoreError> {
    let filling = Filling::new(scan);
    if scan.range.is_empty() {
        return Ok(FirstPage { page: filling.page, view: None });
    }
    let session = pool.take().await?;
    let wanted = filling.rows_left().min(FETCH_ROWS_ALONE);
    let rows = session.answer(fetch(session.connection(), &filling, wanted)).await;
    let rows = match filling.take_rows(&rows.map_err(|fault| fault.of_read())?, wanted) {
        Filled::Complete(page) => return Ok(FirstPage { page, view: None }),
        Filled::Open(open) => open.page.entries.len().saturating_add(open.rows_next()),
    };
    // Rare, and large as a future.
    Box::pin(page_with_view(session, scan, rows.min(FETCH_ROWS_MAX))).await
}

/// One page of the newest rows with the view that it is of. Its first fetch is of so many rows.
async fn page_with_view(
    session: Session,
    scan: &Scan,
    wanted: usize,
) -> Result<FirstPage<PostgresView>, StoreError> {
    let filling = Filling::new(scan);
    let (view, rows) = PostgresView::begin(session, Some((&filling, wanted))).await?;
    let page = match filling.take_rows(&rows, wanted) {
        Filled::Complete(page) => page,
        Filled::Open(open) => {
            let wanted = open.rows_next();
            view.fill(open, wanted).await?
        }
    };
    Ok(FirstPage { page, view: Some(view) })
}

/// A page under construction, and the range that is left of its scan.
struct Filling<'s> {
    scan: &'s Scan,
    page: ScanPage,
    bytes: usize,
    from: Bytes,
    to: Option<Bytes>,
}

enum Filled<'s> {
    Complete(ScanPage),
    Open(Filling<'s>),
}

impl<'s> Filling<'s> {
    fn new(scan: &'s Scan) -> Self {
        let (from, to) = (scan.range.start.clone(), scan.range.end.clone());
        Self { scan, page: ScanPage::with_room(scan), bytes: 0, from, to }
    }

    /// Rows that complete the page: one more than it may hold says whether there are more.
    fn rows_left(&self) -> usize {
        self.scan.rows_max.max(1).saturating_sub(self.page.entries.len()).saturating_add(1)
    }

    fn bytes_left(&self) -> usize {
        self.scan.bytes_max.saturating_sub(self.bytes)
    }

    /// Rows of the next fetch, which should complete the page, going by the rows before it.
    fn rows_next(&self) -> usize {
        let mean = self.bytes / self.page.entries.len().max(1) + 1;
        let expected = (self.bytes_left() / mean).saturating_add(self.page.entries.len());
        self.rows_left().min(expected.clamp(FETCH_ROWS_FIRST, FETCH_ROWS_MAX))
    }

    fn take_rows(self, rows: &[Row], wanted: usize) -> Filled<'s> {
        let entries = rows.iter().map(|row| Entry { key: owned(row.get(0)), value: owned(row.get(1)) });
        self.take(rows.len(), entries, wanted)
    }

    /// Adds the entries of a fetch that was to return so many.
    fn take(mut self, count: usize, entries: impl Iterator<Item = Entry>, wanted: usize) -> Filled<'s> {
        assert!(count <= wanted, "a fetch returns no more rows than it was to");
        let rows_max = self.scan.rows_max.max(1);
        for entry in entries {
            let is_full = self.page.entries.len() >= rows_max || self.bytes >= self.scan.bytes_max;
            if is_full && !self.page.entries.is_empty() {
                self.page.more = true;
                break;
            }
            self.bytes = self.bytes.saturating_add(entry.key.len()).saturating_add(entry.value.len());
            self.page.entries.push(entry);
        }
        if self.page.more || count < wanted {
            self.page.assert_answers(self.scan);
            return Filled::Complete(self.page);
        }
        if let Some(last) = self.page.entries.last() {
            match self.scan.direction {
                Direction::Forward => self.from = [last.key.as_ref(), &[0]].concat().into(),
                Direction::Backward => self.to = Some(last.key.clone()),
            }
        }
        Filled::Open(self)
    }
}

/// One fetch of a scan. It ends after the row that follows the one that reaches the budget of bytes.
async fn fetch(connection: &Connection, filling: &Filling<'_>, rows_max: usize) -> Result<Vec<Row>, Error> {
    let limit = i64::try_from(rows_max).unwrap_or(i64::MAX);
    let budget = i64::try_from(filling.bytes_left()).unwrap_or(i64::MAX);
    let from = filling.from.as_ref();
    let to = filling.to.as_deref();
    let statements = &connection.statements;
    let (statement, bounded): (_, Vec<&(dyn ToSql + Sync)>) = match (filling.scan.direction, &to) {
        (Direction::Forward, Some(to)) => (&statements.forward, vec![&from, to, &limit, &budget]),
        (Direction::Forward, None) => (&statements.forward_to_end, vec![&from, &limit, &budget]),
        (Direction::Backward, Some(to)) => (&statements.backward, vec![&from, to, &limit, &budget]),
        (Direction::Backward, None) => (&statements.backward_from_end, vec![&from, &limit, &budget]),
    };
    connection.wire.client.query(statement, &bounded).await
}

/// The value of each key, from rows that begin with a key and its value. Rows without a key say nothing.
fn in_order(keys: &[Bytes], rows: &[Row]) -> Vec<Option<Bytes>> {
    let found = rows.iter().filter_map(|row| row.get::<_, Option<&[u8]>>(0).map(|key| (key, row)));
    if keys.len() > FEW_KEYS {
        let found: HashMap<&[u8], Bytes> = found.map(|(key, row)| (key, owned(row.get(1)))).collect();
        return keys.iter().map(|key| found.get(key.as_ref()).cloned()).collect();
    }
    assert!(rows.len() <= keys.len().max(1), "each key has one row");
    let mut values = vec![None; keys.len()];
    for (found, row) in found {
        let value = owned(row.get(1));
        let places = keys.iter().zip(&mut values).filter(|(key, _)| key.as_ref() == found);
        places.for_each(|(_, place)| *place = Some(value.clone()));
    }
    values
}

/// The entry whose key is in this column, and whose value is in the next one; `None` if that is empty.
pub(crate) fn entry(row: &Row, at: usize) -> Option<Entry> {
    Some(Entry { key: owned(row.get(at)), value: owned(row.get::<_, Option<&[u8]>>(at + 1)?) })
}

/// The page that these entries make, of which so many were to come; `None` if more may belong to it.
pub(crate) fn page_of(scan: &Scan, entries: Vec<Entry>, wanted: usize) -> Option<ScanPage> {
    match Filling::new(scan).take(entries.len(), entries.into_iter(), wanted) {
        Filled::Complete(page) => Some(page),
        Filled::Open(_) => None,
    }
}

fn owned(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

impl Snapshot for PostgresView {
    fn version(&self) -> CommitVersion {
        self.version
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        value(&self.session, key).await.map_err(|fault| fault.of_read())
    }

    async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, StoreError> {
        get_many(&self.session, keys).await
    }

    async fn scan(&self, scan: &Scan) -> Result<ScanPage, StoreError> {
        let filling = Filling::new(scan);
        if scan.range.is_empty() {
            return Ok(filling.page);
        }
        let wanted = filling.rows_left().min(FETCH_ROWS_FIRST);
        self.fill(filling, wanted).await
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
