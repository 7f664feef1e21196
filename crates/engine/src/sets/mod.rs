//! Sets: several tables, of any accounts and regions, that are read as of one stamp by somebody outside.
//!
//! A set begins in one commit that holds the history of each of its tables and writes the row of the set. So
//! no transaction is split by its stamp, not even one of two tables. Its tables are read page by page, in any
//! order and by any process over the store: a page is a read as of the stamp, or the changes of a window that
//! ends there. A set whose reader stays away is released by background work; each page renews it.
//!
//! It does not know where the pages go.
//!
//! - `rows`: the rows of sets.
//! - `restore`: tables that are made of settings and rows from outside.
//! - `expiry`: releasing sets whose reader has gone, and restores that nobody feeds.

pub(crate) mod expiry;
mod restore;
mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_store::Store;

use crate::catalogue::{Table, settings_in_words, stored_settings};
use crate::history::as_of::AsOf;
use crate::history::cut::Cut;
use crate::history::merge::Part;
use crate::history::window::Window;
use crate::jobs::row::new_id;
use crate::state::Engine;
use crate::state::stats::Counted;
use crate::support::env::{AccountId, Namespace};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::rows::Budget;
use crate::support::stamp::Stamp;
pub use restore::{BegunRestore, RestoreFault, RestoredTable};
use rows::{Row, Stored as _, Tables};

/// How long a set waits for its reader.
const EXPIRY_MS: u64 = 3_600_000;
/// A page renews a set that would expire within this time.
const RENEWED_WITHIN_MS: u64 = EXPIRY_MS / 2;
/// Rows of one page.
const PAGE_ROWS_MAX: usize = 10_000;
/// Tries of a beginning: the tables may change meanwhile.
const BEGIN_TRIES_MAX: u32 = 5;

/// A table that a set is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// `None` for every place that has such a table.
    pub place: Option<Namespace>,
    /// The table's name.
    pub name: String,
}

/// What a set is to be.
#[derive(Clone, Debug, Default)]
pub struct NewSet {
    /// Only tables of this account, which alone may read the set; all if `None`.
    pub account: Option<AccountId>,
    /// Only these tables; `None` for all.
    pub tables: Option<Vec<Wanted>>,
    /// For public ids of tables: the stamp from which on their changes are wanted instead of all items.
    pub parents: BTreeMap<String, u64>,
}

/// A set that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunSet {
    /// Its id: the time in 14 digits, `-`, and 8 hex digits.
    pub id: String,
    /// As of which its tables are read.
    pub stamp: u64,
    /// When it began.
    pub created_ms: u64,
    /// The numbers of its tables.
    pub tables: Vec<u64>,
}

/// A table of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetTable {
    /// Its account and region.
    pub place: Namespace,
    /// Its name.
    pub name: String,
    /// Its universally unique id.
    pub public_id: String,
    /// The stamp from which on its changes are read; `None` if all its items are, because changes were not
    /// wanted or its history does not reach back so far.
    pub from: Option<u64>,
    /// Its settings in their stored form.
    pub settings: Bytes,
    /// Its settings for people.
    pub described: BTreeMap<String, String>,
    /// About so many items.
    pub items: u64,
}

/// Some rows of a table, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetPage {
    /// Keys within the table with items in their stored form; `None` for an item that was deleted.
    pub rows: Vec<(Bytes, Option<Bytes>)>,
    /// Where the next page begins; `None` at the end of the table.
    pub next: Option<Bytes>,
}

/// Why a set cannot begin, or cannot be read.
#[derive(Clone, Debug)]
pub enum SetFault {
    /// There is no table at all.
    NoTables,
    /// There is no such table.
    NoTable(String),
    /// A table is being created or deleted.
    Unready(String),
    /// A later release wrote a table: the sentence says which and why.
    Refused(String),
    /// There is no set of this id: it was released, or it is another account's.
    Gone(String),
    /// The set has no table of this number.
    NotInSet(u64),
    /// The store failed.
    Store(Error),
}

impl From<Error> for SetFault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl<S: Store> Engine<S> {
    /// Begins a set: its tables are as they are at this moment, however long they are read.
    pub async fn begin_set(&self, set: &NewSet) -> Result<BegunSet, SetFault> {
        for _ in 1..BEGIN_TRIES_MAX {
            match self.try_to_begin_set(set).await {
                // A table was deleted meanwhile.
                Err(SetFault::Store(error)) if error.kind == ErrorKind::ResourceNotFound => {}
                outcome => return outcome,
            }
        }
        self.try_to_begin_set(set).await
    }

    async fn try_to_begin_set(&self, set: &NewSet) -> Result<BegunSet, SetFault> {
        let now_ms = self.env().now_ms();
        if self.is_shared() {
            self.catalogue().follow(now_ms).await?;
        }
        let tables = chosen(self, set)?;
        let ids: Vec<TableId> = tables.iter().map(|table| table.id).collect();
        let id = new_id(self.env(), now_ms);
        let owner = rows::owner(&id);
        let key = rows::key(&id);
        let cut = Cut::prepare(self, now_ms).await?;
        let hold = |tables: &mut [Table], others: &mut crate::catalogue::OtherRows| {
            let stamp = cut.draw(self, tables);
            let mut held: Tables = Vec::with_capacity(tables.len());
            for table in tables {
                let wanted = set.parents.get(&table.public_id).copied().map(stamp_of);
                let reached = wanted.filter(|from| {
                    *from <= stamp && table.history.is_on() && table.history.hold(&owner, *from)
                });
                if reached.is_none() && !table.history.hold(&owner, stamp) {
                    return Err(fault::internal());
                }
                table.history.note_cut(stamp);
                held.push((table.id.0, reached));
            }
            let account = set.account.as_ref().map(ToString::to_string);
            let expires_ms = now_ms.saturating_add(EXPIRY_MS);
            let row = Row { account, stamp, created_ms: now_ms, expires_ms, tables: held };
            others.put(key.clone(), row.encode());
            Ok(row)
        };
        let permit = || self.pace().check_presence();
        let (_, row) = self.catalogue().change_all(&ids, std::slice::from_ref(&key), permit, hold).await?;
        let tables = row.tables.iter().map(|(number, _)| *number).collect();
        Ok(BegunSet { id, stamp: number_of(row.stamp), created_ms: now_ms, tables })
    }

    /// A table of a set.
    pub async fn set_table(
        &self,
        reader: Option<&AccountId>,
        id: &str,
        number: u64,
    ) -> Result<SetTable, SetFault> {
        let row = rows::read(self, reader, id).await?;
        let (table, from) = self.table_of_set(id, &row, number).await?;
        Ok(SetTable {
            place: crate::catalogue::owner(&table),
            name: table.name.clone(),
            public_id: table.public_id.clone(),
            from: from.map(number_of),
            settings: stored_settings(&table).into(),
            described: settings_in_words(&table),
            items: u64::try_from(self.stats().get(Counted::Items(table.id)).rows).unwrap_or(0),
        })
    }

    /// A page of a table of a set, of about so many bytes.
    pub async fn set_page(
        &self,
        reader: Option<&AccountId>,
        id: &str,
        (number, after): (u64, Option<Bytes>),
        bytes_max: usize,
    ) -> Result<SetPage, SetFault> {
        let row = rows::read(self, reader, id).await?;
        let now_ms = self.env().now_ms();
        if row.expires_ms < now_ms.saturating_add(RENEWED_WITHIN_MS) {
            let expires_ms = now_ms.saturating_add(EXPIRY_MS);
            rows::renew(self, rows::key(id), |row: &mut Row| row.expires_ms = expires_ms).await?;
        }
        let (table, from) = self.table_of_set(id, &row, number).await?;
        let budget = Budget { rows_max: PAGE_ROWS_MAX, bytes_max };
        let part = Part { start: after.unwrap_or_default(), end: None };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let storage = |error| fault::storage(&error);
        let Some(from) = from else {
            let table = AsOf::of(&table, row.stamp).ok_or_else(fault::internal)?;
            let page = table.page(&view, &part, budget).await.map_err(storage)?;
            let rows = page.items.into_iter().map(|item| (item.within, Some(item.value))).collect();
            return Ok(SetPage { rows, next: page.next });
        };
        let window = Window::of(&table, from, row.stamp).ok_or_else(fault::internal)?;
        let page = window.page(&view, &part, budget).await.map_err(storage)?;
        let changed = page.items.into_iter().filter(|item| item.old != item.new);
        Ok(SetPage { rows: changed.map(|item| (item.within, item.new)).collect(), next: page.next })
    }

    /// Ends a set, or keeps its history for so long after it has been read: then changes since its stamp can
    /// be read in the next set, also without point-in-time recovery. One that has ended is ended.
    pub async fn end_set(
        &self,
        reader: Option<&AccountId>,
        id: &str,
        keep_ms: Option<u64>,
    ) -> Result<(), SetFault> {
        let row = match rows::read(self, reader, id).await {
            Err(SetFault::Gone(_)) if keep_ms.is_none() => return Ok(()),
            row => row?,
        };
        match keep_ms {
            None => Ok(expiry::release(self, id, &row).await?),
            Some(keep_ms) => Ok(keep(self, id, &row, keep_ms).await?),
        }
    }

    /// The newest copy of a table of a set, which shows its hold, and where its changes begin.
    async fn table_of_set(
        &self,
        id: &str,
        row: &Row,
        number: u64,
    ) -> Result<(Arc<Table>, Option<Stamp>), SetFault> {
        let in_set = row.tables.iter().find(|(own, _)| *own == number);
        let (_, from) = in_set.copied().ok_or(SetFault::NotInSet(number))?;
        let owner = rows::owner(id);
        let held = |table: &Arc<Table>| {
            table.id.0 == number && table.history.holds().iter().any(|hold| hold.owner == owner)
        };
        if let Some(table) = self.catalogue().all().into_iter().find(held) {
            return Ok((table, from));
        }
        // Another process has begun the set.
        self.catalogue().follow(self.env().now_ms()).await?;
        let table = self.catalogue().all().into_iter().find(held);
        table.map(|table| (table, from)).ok_or_else(|| SetFault::Gone(id.to_owned()))
    }
}

/// The tables of a new set.
fn chosen<S: Store>(engine: &Engine<S>, set: &NewSet) -> Result<Vec<Arc<Table>>, SetFault> {
    let is_own = |place: &Namespace| set.account.as_ref().is_none_or(|account| place.account == *account);
    let mut places: Vec<Namespace> =
        engine.catalogue().places(usize::MAX, is_own).into_iter().map(|(place, _)| place).collect();
    places.sort();
    let Some(wanted) = &set.tables else {
        if let Some(sentence) = engine.catalogue().refusals().into_iter().next() {
            return Err(SetFault::Refused(sentence));
        }
        let mut tables: Vec<Arc<Table>> =
            places.iter().flat_map(|place| engine.catalogue().named(place)).collect();
        // A strongly consistent group is one table.
        tables.retain(|table| table.takes_data() && table.stands_first());
        return if tables.is_empty() { Err(SetFault::NoTables) } else { Ok(tables) };
    };
    let mut tables: BTreeMap<TableId, Arc<Table>> = BTreeMap::new();
    for Wanted { place, name } in wanted {
        let mut found = false;
        for own in places.iter().filter(|own| place.as_ref().is_none_or(|place| place == *own)) {
            if let Some(refusal) = engine.catalogue().refused(own, name) {
                return Err(SetFault::Refused(refusal.to_string()));
            }
            let Some(table) = engine.catalogue().find(own, name) else { continue };
            if !table.takes_data() {
                return Err(SetFault::Unready(table.name.clone()));
            }
            found = true;
            tables.insert(table.id, table);
        }
        if !found {
            return Err(SetFault::NoTable(name.clone()));
        }
    }
    Ok(tables.into_values().collect())
}

/// Moves the holds of a set to its stamp, and keeps them until this time has passed.
async fn keep<S: Store>(engine: &Engine<S>, id: &str, row: &Row, keep_ms: u64) -> Result<(), Error> {
    let expires_ms = engine.env().now_ms().saturating_add(keep_ms);
    rows::change_held(engine, id, row, |tables, others, key| {
        let owner = rows::owner(id);
        for table in tables {
            // What ended the history meanwhile, such as another release's hand, is found by the next set.
            let _is_held = table.history.hold(&owner, row.stamp);
        }
        let tables = row.tables.iter().map(|(number, _)| (*number, None)).collect();
        others.put(key, Row { expires_ms, tables, ..row.clone() }.encode());
    })
    .await
}

const fn number_of(stamp: Stamp) -> u64 {
    u64::from_be_bytes(stamp.to_bytes())
}

const fn stamp_of(number: u64) -> Stamp {
    Stamp::of_bytes(number.to_be_bytes())
}
