//! The reads that share statements: newest values, and small pages of newest rows.

use std::sync::Arc;

use bytes::Bytes;
use keywright_store::{Direction, Entry, Scan, ScanPage, StoreError};
use tokio_postgres::types::ToSql;

use crate::connection::{Pool, Session, Unanswered};
use crate::groups::{self, Group, SharedRead};
use crate::view;

/// Rows of a page that shares a statement, with the one after it.
const PAGE_ROWS_MAX: usize = 65;
/// Bytes of its values. A page with a row that is larger than its part of them is read again, alone.
const VALUES_BYTES_MAX: usize = 256 * 1024;

/// The reads of one store.
#[derive(Default)]
pub(crate) struct SharedReads {
    values: Arc<Group<Value>>,
    forward: Arc<Group<Page>>,
    backward: Arc<Group<Page>>,
}

impl SharedReads {
    /// The newest value of a key.
    pub(crate) async fn value(&self, pool: &Arc<Pool>, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        groups::read(pool, &self.values, Value(Bytes::copy_from_slice(key))).await
    }

    /// A page of the newest rows; `None` if it is not a small one.
    pub(crate) async fn page(&self, pool: &Arc<Pool>, scan: &Scan) -> Result<Option<ScanPage>, StoreError> {
        let Some(page) = Page::of(scan) else { return Ok(None) };
        let group = match scan.direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        };
        let rows_max = page.rows_max;
        let entries = groups::read(pool, group, page).await?;
        Ok(entries.and_then(|entries| view::page_of(scan, entries, rows_max)))
    }
}

/// The value of a key.
#[derive(Clone)]
struct Value(Bytes);

impl SharedRead for Value {
    type Answer = Option<Bytes>;

    const TOGETHER_MAX: usize = 64;

    async fn read(session: &Session, reads: &[Self]) -> Result<Vec<Option<Bytes>>, Unanswered> {
        let keys: Vec<Bytes> = reads.iter().map(|Self(key)| key.clone()).collect();
        view::values(session, &keys).await
    }
}

/// A few small rows of a range.
#[derive(Clone)]
struct Page {
    from: Bytes,
    to: Bytes,
    direction: Direction,
    rows_max: usize,
}

impl Page {
    fn of(scan: &Scan) -> Option<Self> {
        let rows_max = scan.rows_max.max(1).saturating_add(1);
        if rows_max > PAGE_ROWS_MAX || scan.range.is_empty() {
            return None;
        }
        let (from, to) = (scan.range.start.clone(), scan.range.end.clone()?);
        Some(Self { from, to, direction: scan.direction, rows_max })
    }

    /// The bounds of the statement: rows, and bytes of each value.
    fn bounds(&self) -> (i64, i32) {
        let bytes = VALUES_BYTES_MAX / self.rows_max.max(1);
        (i64::try_from(self.rows_max).unwrap_or(i64::MAX), i32::try_from(bytes).unwrap_or(i32::MAX))
    }
}

impl SharedRead for Page {
    /// `None` if a value is larger than it may be.
    type Answer = Option<Vec<Entry>>;

    const TOGETHER_MAX: usize = 32;

    async fn read(session: &Session, reads: &[Self]) -> Result<Vec<Option<Vec<Entry>>>, Unanswered> {
        let connection = session.connection();
        let (client, statements) = (&connection.wire.client, &connection.statements);
        let Some(first) = reads.first() else { return Ok(Vec::new()) };
        if let [only] = reads {
            let statement = match first.direction {
                Direction::Forward => &statements.page_forward,
                Direction::Backward => &statements.page_backward,
            };
            let (from, to, (rows_max, value_bytes_max)) =
                (only.from.as_ref(), only.to.as_ref(), only.bounds());
            let bounds: [&(dyn ToSql + Sync); 4] = [&from, &to, &rows_max, &value_bytes_max];
            let rows = session.answer(client.query(statement, &bounds)).await?;
            return Ok(vec![rows.iter().map(|row| view::entry(row, 0)).collect()]);
        }
        let statement = match first.direction {
            Direction::Forward => &statements.pages_forward,
            Direction::Backward => &statements.pages_backward,
        };
        let from: Vec<&[u8]> = reads.iter().map(|page| page.from.as_ref()).collect();
        let to: Vec<&[u8]> = reads.iter().map(|page| page.to.as_ref()).collect();
        let (rows_max, value_bytes_max): (Vec<i64>, Vec<i32>) = reads.iter().map(Page::bounds).unzip();
        let bounds: [&(dyn ToSql + Sync); 4] = [&from, &to, &rows_max, &value_bytes_max];
        let rows = session.answer(client.query(statement, &bounds)).await?;
        let mut pages: Vec<Option<Vec<Entry>>> = vec![Some(Vec::new()); reads.len()];
        for row in &rows {
            let place = usize::try_from(row.get::<_, i64>(0)).ok().and_then(|place| place.checked_sub(1));
            let page = place.and_then(|place| pages.get_mut(place)).expect("the place of a read");
            match view::entry(row, 1) {
                Some(entry) => page.iter_mut().for_each(|page| page.push(entry.clone())),
                None => *page = None,
            }
        }
        Ok(pages)
    }
}
