//! Restores from outside: tables that are made of settings and rows that somebody sends.
//!
//! All tables of a restore stay CREATING until its last commit, which makes all of them ACTIVE. So nobody
//! sees a part of what was one set. Rows come in the order of their keys, and each commit of rows says how
//! far its table has come: who sends them can go on after any interruption. A restore that nobody feeds any
//! more disappears with its tables.
//!
//! It brings a table back as it was, with a new id: also its time to live, tags, deletion protection,
//! point-in-time recovery (whose history begins anew) and its stream (with a new label, empty).

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_store::{CommitError, Store, Transaction as _};

use super::rows::{self, Progress, RestoreRow, Stored as _};
use super::{EXPIRY_MS, RENEWED_WITHIN_MS};
use crate::catalogue::{
    Destinations, Filling, History, IndexStatus, NO_TABLES, NewName, OtherRows, Policies, Remote,
    StreamState, Table, TableStatus, TtlState, owner, read_settings,
};
use crate::history::as_of::OldItem;
use crate::jobs::row::new_id;
use crate::load::{self, LoadFault, Loaded, load};
use crate::state::Engine;
use crate::state::stats::{Counted, Tally};
use crate::streams;
use crate::support::env::{AccountId, Namespace};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::rows::{Pages, READ};
use crate::tables::create::{check_room, uuid};

/// Tries of a commit of rows while other work on the table comes between.
const FEED_TRIES_MAX: u32 = 100;

/// A restore that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunRestore {
    /// Its id.
    pub id: String,
    /// Whether it was begun earlier, and goes on.
    pub is_resumed: bool,
}

/// A table that is being restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredTable {
    /// Its number.
    pub number: u64,
    /// The key of the last item that it has; `None` if it has none.
    pub after: Option<Bytes>,
    /// So many items.
    pub items: u64,
}

/// Why a restore cannot begin or go on.
#[derive(Clone, Debug)]
pub enum RestoreFault {
    /// A table of this name exists.
    Exists(String),
    /// The settings cannot be read: the sentence says why.
    Settings(String),
    /// A row is not what its key says, or is no item: the sentence says which and why.
    Damaged(String),
    /// There is no restore of this id: it has ended, nobody fed it, or it is another account's.
    Gone(String),
    /// The restore has no table of this number.
    NotInRestore(u64),
    /// The store failed, or has no room for another table.
    Store(Error),
}

impl From<Error> for RestoreFault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl<S: Store> Engine<S> {
    /// Begins a restore, or goes on with the one of the same source.
    pub async fn begin_restore(
        &self,
        account: Option<&AccountId>,
        source: &str,
    ) -> Result<BegunRestore, RestoreFault> {
        let now_ms = self.env().now_ms();
        if let Some(id) = self.unfinished_restore(account, source).await? {
            return Ok(BegunRestore { id, is_resumed: true });
        }
        let id = new_id(self.env(), now_ms);
        let row = RestoreRow {
            account: account.map(ToString::to_string),
            source: source.to_owned(),
            expires_ms: now_ms.saturating_add(EXPIRY_MS),
            tables: Vec::new(),
        };
        let mut txn = self.store().begin().await.map_err(|error| fault::storage(&error))?;
        txn.put(rows::restore_key(&id), row.encode());
        match txn.commit().await {
            // Without a table, an unknown one is found by the next of the same source.
            Ok(_) => Ok(BegunRestore { id, is_resumed: false }),
            Err(CommitError::Failed(error)) => Err(fault::storage(&error).into()),
            Err(CommitError::Conflict | CommitError::Unknown | CommitError::TooLarge) => {
                Err(fault::internal().into())
            }
        }
    }

    /// The id of the restore of a source that has not ended.
    pub async fn unfinished_restore(
        &self,
        account: Option<&AccountId>,
        source: &str,
    ) -> Result<Option<String>, RestoreFault> {
        let now_ms = self.env().now_ms();
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut pages = Pages::of(rows::restores(), READ);
        let (mut found, mut empty) = (None, Vec::new());
        while let Some(page) = pages.next(&view).await.map_err(|error| fault::storage(&error))? {
            for entry in page {
                let row = RestoreRow::decode(&entry.value).ok_or_else(fault::internal)?;
                let id = rows::restore_of(&entry.key).map(str::to_owned);
                if row.expires_ms <= now_ms {
                    // No table leads to it.
                    empty.extend(Some(entry.key).filter(|_| row.tables.is_empty()));
                } else if row.source == source && row.account.as_deref() == account.map(AccountId::as_str) {
                    found = id;
                }
            }
        }
        drop(view);
        if !empty.is_empty() {
            self.catalogue().forget_rows(empty).await?;
        }
        Ok(found)
    }

    /// Makes a table of a restore, or finds the one that an earlier call made.
    pub async fn restore_table(
        &self,
        reader: Option<&AccountId>,
        id: &str,
        (place, name): (&Namespace, &str),
        settings: &[u8],
    ) -> Result<RestoredTable, RestoreFault> {
        let row = restore_row(self, reader, id).await?;
        if self.is_shared() {
            self.catalogue().follow(self.env().now_ms()).await?;
        }
        if let Some(table) = self.catalogue().find(place, name) {
            return self.made_before(id, &row, &table).await;
        }
        let source = read_settings(settings).map_err(|fault| RestoreFault::Settings(fault.to_string()))?;
        check(&source).map_err(RestoreFault::Settings)?;
        let now_ms = self.env().now_ms();
        let public_id = uuid(self.env().random_u128());
        let new = NewName { namespace: place, name, public_id: &public_id };
        let key = rows::restore_key(id);
        let progress = Progress {
            ttl: source.ttl.enabled().map(|(_, attribute)| attribute.to_owned()),
            stream: StreamState { view: source.stream.view, label: None },
            recovery_days: source.history.recovery().map(|recovery| recovery.period_days),
            ..Progress::default()
        };
        let build = |number: TableId, _: &mut [Table], others: &mut OtherRows| {
            let mut row =
                others.found(0).and_then(|row| RestoreRow::decode(row)).ok_or_else(fault::internal)?;
            row.tables.push(number.0);
            others.put(key.clone(), row.encode());
            others.put(rows::progress_key(id, number.0), progress.encode());
            let filling = Filling {
                job: rows::owner(id),
                source_table_arn: Some(source.arn()),
                source_backup_arn: None,
                restore_ms: now_ms,
            };
            let table = renamed(source.clone(), place, new, (number, now_ms));
            Ok(Table { status: TableStatus::Creating, filling: Some(filling), ..table })
        };
        let permit = || {
            self.pace().check_presence()?;
            check_room(self, place)
        };
        let made =
            self.catalogue().create_with(new, (&NO_TABLES, std::slice::from_ref(&key)), permit, build).await;
        match made {
            Ok(table) => Ok(RestoredTable { number: table.id.0, after: None, items: 0 }),
            Err(error) if error.kind == ErrorKind::ResourceInUse => {
                Err(RestoreFault::Exists(name.to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A table that is there: one of this restore goes on.
    async fn made_before(
        &self,
        id: &str,
        row: &RestoreRow,
        table: &Table,
    ) -> Result<RestoredTable, RestoreFault> {
        let exists = || RestoreFault::Exists(table.name.clone());
        if !row.tables.contains(&table.id.0) {
            return Err(exists());
        }
        let progress: Option<Progress> = rows::find(self, &rows::progress_key(id, table.id.0)).await?;
        let progress = progress.ok_or_else(exists)?;
        let after = Some(Bytes::from(progress.after)).filter(|after| !after.is_empty());
        Ok(RestoredTable { number: table.id.0, after, items: progress.items })
    }

    /// Writes rows of a table: keys within the table and items in their stored form, in the order of keys.
    /// Those up to the last one that the table has are passed over. Returns how many items the table has.
    pub async fn feed_restore(
        &self,
        reader: Option<&AccountId>,
        id: &str,
        number: u64,
        sent: Vec<(Bytes, Bytes)>,
    ) -> Result<u64, RestoreFault> {
        let row = restore_row(self, reader, id).await?;
        if !row.tables.contains(&number) {
            return Err(RestoreFault::NotInRestore(number));
        }
        if !sent.is_sorted_by(|(one, _), (next, _)| one < next) {
            return Err(RestoreFault::Damaged("the rows are not in the order of their keys".to_owned()));
        }
        let now_ms = self.env().now_ms();
        if row.expires_ms < now_ms.saturating_add(RENEWED_WITHIN_MS) {
            let expires_ms = now_ms.saturating_add(EXPIRY_MS);
            let renew = |row: &mut RestoreRow| row.expires_ms = expires_ms;
            rows::renew(self, rows::restore_key(id), renew).await?;
        }
        let items: Vec<OldItem> = sent.into_iter().map(|(within, value)| OldItem { within, value }).collect();
        let gone = || RestoreFault::Gone(id.to_owned());
        let key = rows::progress_key(id, number);
        for _ in 0..FEED_TRIES_MAX {
            let mut progress: Progress = rows::find(self, &key).await?.ok_or_else(gone)?;
            loop {
                let done = items.partition_point(|item| *item.within <= *progress.after);
                let left = items.get(done..).unwrap_or_default();
                if left.is_empty() {
                    return Ok(progress.items);
                }
                let table = table_of(self, number).await?.ok_or_else(gone)?;
                let piece = left.get(..left.len().min(load::COMMIT.rows_max)).unwrap_or_default();
                match write(self, &table, piece, (&key, &progress)).await? {
                    Some(next) => progress = next,
                    None => break,
                }
            }
        }
        Err(fault::internal().into())
    }

    /// Ends a restore: all its tables become ACTIVE in one commit. Returns their number and that of their
    /// items.
    pub async fn end_restore(
        &self,
        reader: Option<&AccountId>,
        id: &str,
    ) -> Result<(u64, u64), RestoreFault> {
        let row = restore_row(self, reader, id).await?;
        let ids: Vec<TableId> = row.tables.iter().copied().map(TableId).collect();
        let mut keys = vec![rows::restore_key(id)];
        keys.extend(row.tables.iter().map(|number| rows::progress_key(id, *number)));
        let now_ms = self.env().now_ms();
        let moment = streams::Moment::now(self).await?;
        let activate = |tables: &mut [Table], others: &mut OtherRows| {
            let stored = others.found(0).and_then(|found| RestoreRow::decode(found));
            if stored.is_none_or(|stored| stored.tables != row.tables) {
                return Ok(None);
            }
            let stamp = self.stamps().beginning(now_ms);
            let mut items = Vec::with_capacity(tables.len());
            for (place, table) in tables.iter_mut().enumerate() {
                let progress = others.found(place + 1).and_then(|found| Progress::decode(found));
                let progress = progress.ok_or_else(fault::internal)?;
                table.filling = None;
                table.status = TableStatus::Active;
                table.status_until_ms = now_ms;
                if let Some(attribute) = &progress.ttl {
                    table.ttl.enable(attribute, now_ms, now_ms);
                }
                if let Some(view) = progress.stream.view {
                    let (place, name) = (owner(table), table.name.clone());
                    let is_taken = |label: &str| self.catalogue().has_stream(&place, &name, label);
                    streams::enable(table, is_taken, view, moment);
                }
                if let Some(days) = progress.recovery_days {
                    table.history.enable_recovery(now_ms, days, stamp);
                }
                items.push(progress.items);
            }
            for key in &keys {
                others.delete(key.clone());
            }
            Ok(Some(items))
        };
        let permit = || Ok(());
        let (tables, items) = self.catalogue().change_all(&ids, &keys, permit, activate).await?;
        let items = items.ok_or_else(|| RestoreFault::Gone(id.to_owned()))?;
        for (table, items) in tables.iter().zip(&items) {
            let counted = self.stats().get(Counted::Items(table.id)).rows;
            if u64::try_from(counted).ok() != Some(*items) {
                // A process that is gone did a part of the work, and its counters are lost.
                let entries = table.indexes().map(|(_, index, _)| Counted::Entries(table.id, index));
                self.stats().recount(std::iter::once(Counted::Items(table.id)).chain(entries));
            }
        }
        Ok((u64::try_from(items.len()).unwrap_or(u64::MAX), items.iter().sum()))
    }

    /// Gives a restore up: its tables disappear.
    pub async fn abort_restore(&self, reader: Option<&AccountId>, id: &str) -> Result<(), RestoreFault> {
        match restore_row(self, reader, id).await {
            Err(RestoreFault::Gone(_)) => return Ok(()),
            row => row?,
        };
        Ok(drop_tables(self, id).await?)
    }
}

/// The row of a restore that this account may feed.
async fn restore_row<S: Store>(
    engine: &Engine<S>,
    reader: Option<&AccountId>,
    id: &str,
) -> Result<RestoreRow, RestoreFault> {
    let row: Option<RestoreRow> = rows::find(engine, &rows::restore_key(id)).await?;
    row.filter(|row| rows::may_use(reader, row.account.as_deref()))
        .ok_or_else(|| RestoreFault::Gone(id.to_owned()))
}

/// The newest copy of a table that is being restored; another process may have made it.
async fn table_of<S: Store>(engine: &Engine<S>, number: u64) -> Result<Option<Arc<Table>>, Error> {
    let find = || engine.catalogue().with_id(TableId(number)).filter(|table| table.filling.is_some());
    if find().is_none() && engine.is_shared() {
        engine.catalogue().follow(engine.env().now_ms()).await?;
    }
    Ok(find())
}

/// Writes as many of the first items as one commit takes; `None` if the row was another one meanwhile.
async fn write<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    items: &[OldItem],
    (key, progress): (&Bytes, &Progress),
) -> Result<Option<Progress>, RestoreFault> {
    let after = |written: usize, _: Tally| {
        let last = items.get(written.wrapping_sub(1)).map(|item| item.within.to_vec());
        let items = progress.items + u64::try_from(written).unwrap_or(u64::MAX);
        let after = last.unwrap_or_else(|| progress.after.clone());
        Progress { after, items, ..progress.clone() }.encode()
    };
    let known = load::Progress { key: key.clone(), before: progress.encode() };
    match load(engine, table, items, &known, after).await {
        Ok(Loaded::Written { row, .. }) => Ok(Some(Progress::decode(&row).ok_or_else(fault::internal)?)),
        Ok(Loaded::Overtaken) => Ok(None),
        Err(LoadFault::Damaged(sentence)) => Err(RestoreFault::Damaged(sentence)),
        Err(LoadFault::Store(error)) => Err(error.into()),
    }
}

/// Whether settings make a table.
fn check(source: &Table) -> Result<(), String> {
    let ids: BTreeSet<_> = source.states.iter().map(|state| state.id).collect();
    if source.schema.key.partition.is_empty() || ids.len() != source.states.len() {
        return Err("they are no settings of a table".to_owned());
    }
    Ok(())
}

/// The record of a restored table, without what it gets at the end.
fn renamed(source: Table, place: &Namespace, new: NewName<'_>, (id, now_ms): (TableId, u64)) -> Table {
    let mut table = Table {
        id,
        version: 1,
        public_id: new.public_id.to_owned(),
        account: place.account.to_string(),
        region: place.region.to_string(),
        name: new.name.to_owned(),
        status_until_ms: now_ms,
        created_ms: now_ms,
        doomed_indexes: Vec::new(),
        stream: StreamState::default(),
        logs: Vec::new(),
        next_shard: 1,
        destinations: Destinations::default(),
        ttl: TtlState::default(),
        warm_jobs: Vec::new(),
        copied_bytes: None,
        copied_by: None,
        history: History::default(),
        filling: None,
        bulk_put: None,
        key_change: None,
        replicates_settings: false,
        policies: Policies::default(),
        replication: None,
        remote: Remote::default(),
        has_old_versions: false,
        // They may speak of the source alone.
        later: Vec::new(),
        ..source
    };
    let mut kept = table.states.iter().map(|state| state.status != IndexStatus::Deleting);
    table.schema.indexes.retain(|_| kept.next().unwrap_or(false));
    table.states.retain(|state| state.status != IndexStatus::Deleting);
    for state in &mut table.states {
        // Its entries are written with the items.
        state.status = IndexStatus::Active;
        state.backfill = None;
        table.next_index_id = table.next_index_id.max(state.id.0.saturating_add(1));
    }
    let indexes: BTreeSet<_> = table.states.iter().map(|state| Some(state.id)).collect();
    table.insights.retain(|(index, _)| index.is_none() || indexes.contains(index));
    table
}

/// Removes the tables of a restore, and its rows.
pub(super) async fn drop_tables<S: Store>(engine: &Engine<S>, id: &str) -> Result<(), Error> {
    let Some(row) = rows::find::<_, RestoreRow>(engine, &rows::restore_key(id)).await? else { return Ok(()) };
    let ids: Vec<TableId> = row.tables.iter().copied().map(TableId).collect();
    let key = rows::restore_key(id);
    let doom = |tables: &mut [Table], others: &mut OtherRows| {
        let stored = others.found(0).and_then(|found| RestoreRow::decode(found));
        if stored.is_none_or(|stored| stored.tables != row.tables) {
            return Ok(());
        }
        for table in tables {
            table.filling = None;
            table.status = TableStatus::Deleting;
            table.status_until_ms = 0;
            others.delete(rows::progress_key(id, table.id.0));
        }
        others.delete(key.clone());
        Ok(())
    };
    let others = std::slice::from_ref(&key);
    let (tables, ()) = engine.catalogue().change_all(&ids, others, || Ok(()), doom).await?;
    for table in tables.iter().filter(|table| table.status == TableStatus::Deleting) {
        engine.catalogue().unname(table).await?;
    }
    Ok(())
}
