//! The catalogue: every table's stored record, and one shared, parsed copy of it in memory.
//!
//! It knows how a change of a table becomes durable and visible. It does not know what the control-plane
//! operations mean; `tables` does.

pub(crate) mod backup;
mod branches;
mod bulk_put;
mod change_log;
mod destination;
mod destination_logs;
mod filling;
mod follow;
mod format;
mod group_values;
mod guard;
mod history;
mod insights;
mod key_map;
mod membership;
pub(crate) mod names;
mod other_rows;
mod policies;
mod policy_of;
mod record;
pub(crate) mod record_copy;
mod refused;
mod registration;
mod remote;
mod remote_members;
mod replicas;
mod rows;
mod shards;
mod slot_rows;
mod slots;
mod stored;
mod stream;
mod stream_names;
mod strong;
mod strong_member;
mod strong_names;
mod table;
mod table_insights;
mod table_state;
mod ttl;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::TableRef;
use keywright_store::{CommitError, Store, StoreError, Transaction};
use tokio::sync::Mutex;

pub(crate) use branches::{Dropped, Held, Naming};
pub(crate) use bulk_put::BulkPutting;
pub(crate) use format::known as known_records;
pub(crate) use guard::{Begun, Guarded, TableGuard, record_in};
pub use key_map::{Affected, AffectedTable, KeyMap, RowRange};
#[cfg(test)]
pub(crate) use rows::format_key;

pub(crate) use change_log::{
    ChangeLog, Images, Purpose, RecordPlace, Shard, ShardHash, StreamState, StreamTerms,
};
pub(crate) use destination::{
    Counts, Destination, DestinationId, DestinationTerms, Destinations, Phase, Precision, Rest,
};
pub(crate) use filling::Filling;
pub(crate) use group_values::{Lifted, Values, set_overrides};
pub(crate) use history::{History, HistoryGeneration, RECOVERY_PERIOD_DAYS, Recovery};
pub(crate) use insights::{InsightsPhase, InsightsState, Rule, RuleKind};
pub(crate) use other_rows::OtherRows;
pub(crate) use policies::{Governed, Policies};
pub(crate) use remote::{CAPACITY, INDEX, Remote, RemoteMember, SharedSettings, TIME_TO_LIVE, remote_table};
pub(crate) use replicas::{ClassOverride, IndexOverrides, Member, MemberStatus, Overrides, Replication};
pub(crate) use rows::{backfill_key, epoch_key, next_id_key, progress_prefixes, ttl_fill_key};
pub(crate) use shards::{NewLog, Succession};
pub(crate) use slot_rows::of_members as slots_of_members;
pub(crate) use stream::Stream;
pub(crate) use stream_names::StreamName;
pub(crate) use strong::{Founding, NewMember, StrongGroup, Target, WitnessStatus};
pub(crate) use table::{
    Backfill, ClassState, DoomedIndex, IndexState, IndexStatus, ModeChanges, OnDemandLimits, Seen, Table,
    Throughput, Warm, WarmJob, note_change, table_arn,
};
pub(crate) use table_state::{EncryptionState, KeyChange, TableStatus};
pub(crate) use ttl::{TtlGeneration, TtlState};

use crate::support::env::{AccountId, Caller, Namespace, Region};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::member_row::MemberId;
use guard::TableChange;
pub(crate) use record::RecordFault;
#[cfg(test)]
pub(crate) use record::with_section;
use refused::{RefusedTable, RefusedTables};
use rows::name_key;
use slots::Slots;
use stream_names::StreamNames;

/// For a commit that changes no table.
pub(crate) const NO_TABLES: [TableId; 0] = [];
/// How often a change of a table is tried again after a conflict.
const CHANGE_TRIES_MAX: usize = 100;
/// Regions of an account that a search for a table looks at.
const REGIONS_LOOKED_AT_MAX: usize = 10_000;

/// Why the catalogue cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogueFault {
    /// The store failed.
    Store(StoreError),
    /// A row of the catalogue is damaged.
    Record {
        /// The row's key.
        key: Bytes,
        /// What is wrong with it.
        text: String,
    },
    /// A later release raised the store's format to this number.
    LaterFormat(u8),
}

impl std::fmt::Display for CatalogueFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(fault) => fault.fmt(formatter),
            Self::Record { key, text } => {
                write!(formatter, "a table's record ({key:02x?}) cannot be read: {text}")
            }
            Self::LaterFormat(number) => write!(
                formatter,
                "the store's tables have format {number}, and this release knows formats up to {}: run \
                 a newer release",
                format::NEWEST
            ),
        }
    }
}

impl From<StoreError> for CatalogueFault {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

type Names = BTreeMap<Namespace, BTreeMap<String, Arc<Table>>>;

#[derive(Default)]
struct Cache {
    names: Names,
    /// Deleted tables, which have no name any more, until their rows are gone.
    doomed: BTreeMap<TableId, Arc<Table>>,
    /// Tables into which processes over a shared store copy branches. They have no name yet, and nobody but
    /// the branch's process works on them.
    copying: BTreeMap<TableId, Arc<Table>>,
    /// The streams of all these tables.
    streams: StreamNames,
    /// Tables that a later release wrote and that are not served. They are in none of the fields above.
    refused: RefusedTables,
    sizes: RecordSizes,
    /// The tables with a policy of their own, or of a stream.
    with_policies: BTreeSet<TableId>,
}

/// The sizes of the records of all tables. Invariant: `total` is their sum.
#[derive(Default)]
struct RecordSizes {
    bytes: BTreeMap<TableId, usize>,
    total: usize,
}

impl RecordSizes {
    fn set(&mut self, id: TableId, bytes: usize) {
        self.forget(id);
        self.bytes.insert(id, bytes);
        self.total += bytes;
    }

    fn has(&self, id: TableId) -> bool {
        self.bytes.contains_key(&id)
    }

    fn forget(&mut self, id: TableId) {
        self.total -= self.bytes.remove(&id).unwrap_or(0);
    }
}

/// The name of a table to be made.
#[derive(Clone, Copy)]
pub(crate) struct NewName<'n> {
    pub namespace: &'n Namespace,
    pub name: &'n str,
    /// The id that clients will see: after an unknown outcome it tells the table from others of the name.
    pub public_id: &'n str,
}

/// The catalogue of one engine.
pub(crate) struct Catalogue<S> {
    store: S,
    cache: RwLock<Cache>,
    /// Held while a record is changed. Each change reads, compares and writes a whole record: of several
    /// concurrent changes, all but one would fail and start over, and take processor time from reads.
    change_turn: Mutex<()>,
    /// Everything up to this epoch of the stored catalogue is in memory.
    epoch: AtomicU64,
    /// When the stored epoch was read last.
    followed_ms: AtomicU64,
    /// How often reading it was begun.
    follows_begun: AtomicU64,
    /// Held while it is read. The number of the last reading that succeeded.
    follow_turn: Mutex<u64>,
    /// The slots of this process; `None` in a store where writers protect the records of their tables.
    slots: Option<Slots>,
}

impl<S: Store> Catalogue<S> {
    /// Reads every table's record.
    pub(crate) async fn open(store: S) -> Result<Self, CatalogueFault> {
        let view = store.snapshot().await?;
        let (epoch, cache) = follow::read_at(&view).await?;
        drop(view);
        Ok(Self {
            store,
            cache: RwLock::new(cache),
            change_turn: Mutex::default(),
            epoch: AtomicU64::new(epoch),
            followed_ms: AtomicU64::new(0),
            follows_begun: AtomicU64::new(0),
            follow_turn: Mutex::default(),
            slots: None,
        })
    }

    /// The same catalogue, whose writers have slots of this process.
    pub(crate) fn with_slots(self, own: MemberId) -> Self {
        Self { slots: Some(Slots::new(own)), ..self }
    }

    /// The table that a client names, in any state.
    pub(crate) fn find(&self, namespace: &Namespace, name: &str) -> Option<Arc<Table>> {
        self.read().names.get(namespace)?.get(name).cloned()
    }

    /// The table of a data operation: it must be ready for reads and writes.
    pub(crate) fn lookup(&self, namespace: &Namespace, table: &TableRef) -> Result<Arc<Table>, Error> {
        check_scope(namespace, table)?;
        self.find(namespace, &table.name)
            .filter(|table| table.takes_data())
            .ok_or_else(|| self.missing(namespace, &table.name, messages::RESOURCE_NOT_FOUND.to_owned()))
    }

    /// The same in an operation on several tables, which may be of several accounts.
    pub(crate) fn lookup_for(&self, caller: &Caller, table: &TableRef) -> Result<Arc<Table>, Error> {
        self.lookup(&caller.namespace_of(table), table)
    }

    /// The table of a control operation, in any state.
    pub(crate) fn lookup_any(&self, namespace: &Namespace, table: &TableRef) -> Result<Arc<Table>, Error> {
        check_scope(namespace, table)?;
        self.find(namespace, &table.name)
            .ok_or_else(|| self.missing(namespace, &table.name, messages::table_not_found(&table.name)))
    }

    /// The table of an operation that changes or describes a setting of it: none while it is being restored,
    /// or filled as a replica.
    pub(crate) fn lookup_settled(
        &self,
        namespace: &Namespace,
        table: &TableRef,
    ) -> Result<Arc<Table>, Error> {
        let found = self.lookup_any(namespace, table)?;
        if found.is_being_filled() {
            return Err(Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(&table.name)));
        }
        Ok(found)
    }

    /// Why a table that is not in the catalogue cannot be used: this release must not serve it, or it does
    /// not exist.
    pub(crate) fn missing(&self, namespace: &Namespace, name: &str, not_found: String) -> Error {
        match self.refused(namespace, name) {
            Some(refusal) => refusal,
            None => Error::new(ErrorKind::ResourceNotFound, not_found),
        }
    }

    /// The error of a table that this release must not serve; `None` if there is no such table.
    pub(crate) fn refused(&self, namespace: &Namespace, name: &str) -> Option<Error> {
        self.read().refused.find(namespace, name).map(RefusedTable::error)
    }

    /// The same for a table that may be deleted and have streams that can still be read.
    pub(crate) fn refused_or_deleted(&self, namespace: &Namespace, name: &str) -> Option<Error> {
        self.read().refused.find_with_deleted(namespace, name).map(RefusedTable::error)
    }

    /// Whether this release must not touch a table's rows.
    pub(crate) fn is_refused(&self, id: TableId) -> bool {
        self.read().refused.has(id)
    }

    /// How many tables ask for encryption by a key.
    pub(crate) fn tables_with_key(&self) -> usize {
        let cache = self.read();
        let tables = cache.names.values().flat_map(|names| names.values());
        tables.filter(|table| table.encryption.is_some()).count()
    }

    /// Sentences that name the tables which this release must not serve.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.read().refused.all().map(RefusedTable::sentence).collect()
    }

    /// At most `limit` names after `start` in bytewise order, and whether more follow.
    pub(crate) fn names_after(
        &self,
        namespace: &Namespace,
        start: Option<&str>,
        limit: usize,
    ) -> (Vec<String>, bool) {
        use std::ops::Bound;
        let cache = self.read();
        let from = start.map_or(Bound::Unbounded, Bound::Excluded);
        let tables = cache.names.get(namespace).into_iter();
        let served = tables.flat_map(|tables| tables.range::<str, _>((from, Bound::Unbounded)));
        let is_after = |name: &&String| start.is_none_or(|start| name.as_str() > start);
        let refused = cache.refused.names(namespace).filter(is_after);
        let at_most = limit.saturating_add(1);
        let mut page: Vec<String> =
            served.map(|(name, _)| name).take(at_most).chain(refused.take(at_most)).cloned().collect();
        page.sort_unstable();
        let more = page.len() > limit;
        page.truncate(limit);
        (page, more)
    }

    /// The callers that have tables, with their numbers; at most `most` of those that `wanted` takes, in
    /// order.
    pub(crate) fn places(&self, most: usize, wanted: impl Fn(&Namespace) -> bool) -> Vec<(Namespace, usize)> {
        let cache = self.read();
        let filled = cache.names.iter().filter(|(namespace, tables)| !tables.is_empty() && wanted(namespace));
        filled.take(most).map(|(namespace, tables)| (namespace.clone(), tables.len())).collect()
    }

    /// The regions in which an account has a table of this name; at most `most`, in order.
    pub(crate) fn regions_of(&self, account: &AccountId, table: &str, most: usize) -> Vec<Region> {
        let cache = self.read();
        let first = Namespace { account: account.clone(), region: Region::from("") };
        let own = cache.names.range(first..).take_while(|(namespace, _)| namespace.account == *account);
        let having = own.take(REGIONS_LOOKED_AT_MAX).filter(|(_, tables)| tables.contains_key(table));
        having.take(most).map(|(namespace, _)| namespace.region.clone()).collect()
    }

    pub(crate) fn count(&self, namespace: &Namespace) -> usize {
        let cache = self.read();
        cache.names.get(namespace).map_or(0, BTreeMap::len) + cache.refused.names(namespace).count()
    }

    /// Sizes of the records of all tables of all callers, including deleted ones that still have rows or
    /// streams.
    pub(crate) fn record_bytes(&self) -> usize {
        self.read().sizes.total
    }

    /// Every table, including deleted ones that still have rows or streams. A strongly consistent group is
    /// there once, as its first member.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        let cache = self.read();
        let named = cache.names.values().flat_map(BTreeMap::values).filter(|table| table.stands_first());
        named.chain(cache.doomed.values()).cloned().collect()
    }

    /// The same, but a strongly consistent group as each of its members.
    pub(crate) fn all_members(&self) -> Vec<Arc<Table>> {
        let cache = self.read();
        cache.names.values().flat_map(BTreeMap::values).chain(cache.doomed.values()).cloned().collect()
    }

    /// Every table that a caller can name, in the order of names.
    pub(crate) fn named(&self, namespace: &Namespace) -> Vec<Arc<Table>> {
        self.read().names.get(namespace).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// The newest copy of a table; the given one if the table was deleted.
    pub(crate) fn newest(&self, table: &Arc<Table>) -> Arc<Table> {
        let cache = self.read();
        let named = cache.names.get(&owner(table)).and_then(|tables| tables.get(&table.name));
        Arc::clone(named.filter(|named| named.id == table.id).unwrap_or(table))
    }

    /// The table of this number, live or deleted; of a strongly consistent group its first member.
    pub(crate) fn with_id(&self, id: TableId) -> Option<Arc<Table>> {
        let cache = self.read();
        let mut named = cache.names.values().flat_map(BTreeMap::values);
        named.find(|table| table.id == id && table.stands_first()).or_else(|| cache.doomed.get(&id)).cloned()
    }

    /// The table of a stream, live or deleted.
    pub(crate) fn table_of_stream(
        &self,
        namespace: &Namespace,
        table: &str,
        label: &str,
    ) -> Option<Arc<Table>> {
        let cache = self.read();
        let id = cache.streams.table(namespace, table, label)?;
        cache.table_with(namespace, table, id).cloned()
    }

    /// Whether a table of that name has a stream of that label, or had one that is still kept.
    pub(crate) fn has_stream(&self, namespace: &Namespace, table: &str, label: &str) -> bool {
        self.read().streams.table(namespace, table, label).is_some()
    }

    /// At most `limit` streams after `start`, of tables of one name if there is one, and whether more follow.
    pub(crate) fn streams_after(
        &self,
        namespace: &Namespace,
        table: Option<&str>,
        start: Option<&StreamName>,
        limit: usize,
    ) -> (Vec<StreamName>, bool) {
        let cache = self.read();
        let mut names = cache.streams.after(namespace, table, start).map(|(name, _)| name.clone());
        let page: Vec<StreamName> = names.by_ref().take(limit).collect();
        let more = names.next().is_some();
        (page, more)
    }

    /// Deleted tables whose rows are to be purged.
    pub(crate) fn doomed(&self) -> Vec<Arc<Table>> {
        self.read().doomed.values().cloned().collect()
    }

    /// Adds a table, unless its name is taken, or `permit` refuses once it is the caller's turn. `build` gets
    /// the new id; it may be called again after a conflict.
    pub(crate) async fn create(
        &self,
        new: NewName<'_>,
        permit: impl Fn() -> Result<(), Error>,
        build: impl Fn(TableId) -> Table,
    ) -> Result<Arc<Table>, Error> {
        self.create_with(new, (&NO_TABLES, &[]), permit, |id, _, _| Ok(build(id))).await
    }

    /// The same in a commit that also changes the tables of `sources`, and reads and writes other rows, as
    /// `change_all` does.
    pub(crate) async fn create_with<Source: Copy + Into<Target> + Sync>(
        &self,
        new: NewName<'_>,
        (sources, others): (&[Source], &[Bytes]),
        permit: impl Fn() -> Result<(), Error>,
        build: impl Fn(TableId, &mut [Table], &mut OtherRows) -> Result<Table, Error>,
    ) -> Result<Arc<Table>, Error> {
        let name_row = name_key(new.namespace, new.name);
        let _turn = self.change_turn.lock().await;
        permit()?;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let rows = txn
                .get_for_write(&[name_row.clone(), next_id_key()])
                .await
                .map_err(|fault| fault::storage(&fault))?;
            let before = txn.read_all(sources).await?;
            if let Some(taken) = rows.first().and_then(Option::as_ref).and_then(|row| read_u64(row)) {
                let table = self.taken(&mut txn, TableId(taken), new.public_id).await?;
                // The try that made it has changed the others too.
                self.adopt_all(before);
                return Ok(table);
            }
            let id = rows.get(1).and_then(Option::as_ref).and_then(|row| read_u64(row)).unwrap_or(1);
            let mut other_rows = OtherRows::read(&mut *txn, others).await?;
            let mut changed = before.clone();
            let table = build(TableId(id), &mut changed, &mut other_rows)?;
            assert_eq!(table.id.0, id, "a new table has the id that was drawn for it");
            assert_eq!(table.public_id, new.public_id, "its public id tells it from others of the name");
            txn.put(next_id_key(), Bytes::copy_from_slice(&(id + 1).to_be_bytes()));
            txn.put(name_row.clone(), Bytes::copy_from_slice(&id.to_be_bytes()));
            txn.place(&table);
            txn.change_all(&before, &mut changed);
            other_rows.write(&mut *txn);
            // After an unknown outcome the next try finds the name free, or taken by this very table.
            if self.commit(txn).await? == Ended::Done {
                self.adopt_all(changed);
                let table = Arc::new(table);
                let bytes = record_bytes(&table);
                self.write().admit(&table, bytes);
                return Ok(table);
            }
        }
        Err(fault::internal())
    }

    /// The table that has the name: the one of an earlier try with unknown outcome, or another one.
    async fn taken(
        &self,
        txn: &mut TableChange<S::Transaction>,
        id: TableId,
        public_id: &str,
    ) -> Result<Arc<Table>, Error> {
        let table = Arc::new(txn.read(id).await?);
        let bytes = record_bytes(&table);
        self.write().admit(&table, bytes);
        if table.public_id == public_id {
            return Ok(table);
        }
        Err(Error::new(ErrorKind::ResourceInUse, messages::table_exists(&table.name)))
    }

    /// Changes a table's record. The change gets the newest record and may refuse.
    pub(crate) async fn change<R>(
        &self,
        id: impl Into<Target> + Copy + Sync,
        change: impl Fn(&mut Table) -> Result<R, Error>,
    ) -> Result<(Arc<Table>, R), Error> {
        self.change_if(id, || Ok(()), change).await
    }

    /// The same, unless `permit` refuses once it is the caller's turn.
    pub(crate) async fn change_if<R>(
        &self,
        id: impl Into<Target> + Copy + Sync,
        permit: impl Fn() -> Result<(), Error>,
        change: impl Fn(&mut Table) -> Result<R, Error>,
    ) -> Result<(Arc<Table>, R), Error> {
        let only = |tables: &mut [Table], _: &mut OtherRows| {
            let [table] = tables else { return Err(fault::internal()) };
            change(table)
        };
        let (tables, result) = self.change_all(&[id], &[], permit, only).await?;
        let table = tables.into_iter().next().ok_or_else(fault::internal)?;
        Ok((table, result))
    }

    /// Changes the records of several tables in one commit, which writes other rows too. `change` gets the
    /// newest records, in the order of `ids`, and the rows of `others`, which the commit protects. It is
    /// called after the transaction has begun, and again after a conflict.
    pub(crate) async fn change_all<R>(
        &self,
        ids: &[impl Into<Target> + Copy + Sync],
        others: &[Bytes],
        permit: impl Fn() -> Result<(), Error>,
        change: impl Fn(&mut [Table], &mut OtherRows) -> Result<R, Error>,
    ) -> Result<(Vec<Arc<Table>>, R), Error> {
        let _turn = self.change_turn.lock().await;
        permit()?;
        let mut unsure: Option<(Vec<Table>, R)> = None;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let before = txn.read_all(ids).await?;
            if let Some((tables, result)) = unsure.take()
                && tables == before
            {
                return Ok((self.adopt_all(tables), result));
            }
            let mut tables = before.clone();
            let mut rows = OtherRows::read(&mut *txn, others).await?;
            let result = change(&mut tables, &mut rows)?;
            if tables == before && rows.writes_nothing() {
                return Ok((self.adopt_all(tables), result));
            }
            txn.change_all(&before, &mut tables);
            rows.write(&mut *txn);
            match self.commit(txn).await? {
                Ended::Done => return Ok((self.adopt_all(tables), result)),
                // Without a record the rows tell nothing: they are written again.
                Ended::Unknown if tables != before => unsure = Some((tables, result)),
                Ended::Conflict | Ended::Unknown => {}
            }
        }
        Err(fault::internal())
    }

    /// Publishes this copy of a table to requests, unless they have a newer one. It is returned as it stands.
    fn adopt(&self, table: Table) -> Arc<Table> {
        let table = Arc::new(table);
        let whole = if table.stands_first() { Arc::clone(&table) } else { Arc::new(table.standing_as(0)) };
        // Encoded before the lock is taken, which every request takes too.
        let bytes = record_bytes(&whole);
        self.write().replace(&whole, bytes);
        table
    }

    fn adopt_all(&self, tables: Vec<Table>) -> Vec<Arc<Table>> {
        tables.into_iter().map(|table| self.adopt(table)).collect()
    }

    /// Removes a table's name; its record stays until its rows are purged.
    pub(crate) async fn unname(&self, table: &Table) -> Result<(), Error> {
        let namespace = owner(table);
        let name_row = name_key(&namespace, &table.name);
        let _turn = self.change_turn.lock().await;
        for _ in 0..CHANGE_TRIES_MAX {
            let mut txn = TableChange::begin(&self.store).await?;
            let rows = txn
                .get_for_write(std::slice::from_ref(&name_row))
                .await
                .map_err(|fault| fault::storage(&fault))?;
            let named = rows.first().and_then(Option::as_ref).and_then(|row| read_u64(row));
            if named != Some(table.id.0) {
                // An earlier try with unknown outcome removed it, or another process, which may have purged
                // the rows and removed the record too.
                let newest = record_in(&*txn, table.id).await?;
                let is_purged = newest.is_none();
                if let Some(newest) = newest {
                    self.adopt(newest);
                }
                let mut cache = self.write();
                cache.doom(&namespace, table);
                if is_purged {
                    cache.forget(table.id);
                }
                return Ok(());
            }
            let before = txn.read(table.id).await?;
            let mut unnamed = before.clone();
            // What the system's backup holds stays.
            unnamed.history.disable_recovery();
            txn.change(&before, &mut unnamed);
            txn.delete(name_row.clone());
            if self.commit(txn).await? == Ended::Done {
                self.adopt(unnamed);
                self.write().doom(&namespace, table);
                return Ok(());
            }
        }
        Err(fault::internal())
    }

    /// Deletes the record of a table whose rows are purged.
    pub(crate) async fn forget(&self, id: TableId) -> Result<(), Error> {
        let _turn = self.change_turn.lock().await;
        let mut txn = TableChange::begin(&self.store).await?;
        txn.remove(id);
        // After an unknown outcome a later step purges and forgets the table again.
        if self.commit(txn).await? == Ended::Done {
            self.write().forget(id);
        }
        Ok(())
    }

    /// Reads a table's record again, for a writer that found a newer one than its own.
    pub(crate) async fn refresh(&self, table: TableId) -> Result<(), Error> {
        let newest = TableChange::begin(&self.store).await?.read(table).await?;
        self.adopt(newest);
        Ok(())
    }

    /// Deletes rows that nobody reads any more, such as the progress of a finished backfill. If the commit
    /// conflicts, is too large or has an unknown outcome, they remain. That does no harm, as ids are never
    /// reused.
    pub(crate) async fn forget_rows(
        &self,
        rows: impl IntoIterator<Item = Bytes> + Send,
    ) -> Result<(), Error> {
        let mut txn = self.store.begin().await.map_err(|fault| fault::storage(&fault))?;
        for row in rows {
            txn.delete(row);
        }
        match txn.commit().await {
            Ok(_) | Err(CommitError::Conflict | CommitError::TooLarge | CommitError::Unknown) => Ok(()),
            Err(CommitError::Failed(fault)) => Err(fault::storage(&fault)),
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Cache> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Cache> {
        self.cache.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    fn insert(&mut self, table: Arc<Table>) {
        if table.strong.is_none() {
            return self.insert_face(table);
        }
        for face in table.faces() {
            self.insert_face(Arc::new(face));
        }
    }

    fn insert_face(&mut self, table: Arc<Table>) {
        self.streams.add(&table);
        self.note_policies(&table);
        self.names.entry(owner(&table)).or_default().insert(table.name.clone(), table);
    }

    /// The table of that name and id, live or deleted.
    fn table_with(&self, namespace: &Namespace, name: &str, id: TableId) -> Option<&Arc<Table>> {
        let named = self.names.get(namespace).and_then(|tables| tables.get(name));
        named.filter(|table| table.id == id).or_else(|| self.doomed.get(&id))
    }

    /// Adds a table that has no name any more.
    fn insert_doomed(&mut self, table: Arc<Table>) {
        self.streams.add(&table);
        self.note_policies(&table);
        self.doomed.insert(table.id, table);
    }

    /// Leaves a table that a branch did not complete to be purged.
    fn insert_given_up(&mut self, table: Table) {
        self.copying.remove(&table.id);
        self.sizes.set(table.id, record_bytes(&table));
        self.insert_doomed(Arc::new(table));
    }

    fn forget(&mut self, id: TableId) {
        if let Some(table) = self.doomed.remove(&id) {
            self.streams.remove(&table);
        }
        self.sizes.forget(id);
        self.with_policies.remove(&id);
    }

    /// Notes whether a table has policies.
    fn note_policies(&mut self, table: &Table) {
        if table.has_any_policy() {
            self.with_policies.insert(table.id);
        } else {
            self.with_policies.remove(&table.id);
        }
    }

    /// Publishes a table found in the store, unless it is known or was deleted since.
    fn admit(&mut self, table: &Arc<Table>, bytes: usize) {
        let known = self.names.get(&owner(table)).and_then(|tables| tables.get(&table.name)).cloned();
        if known.as_ref().is_some_and(|known| known.id == table.id) {
            self.replace(table, bytes);
        } else if !self.doomed.contains_key(&table.id) {
            if let Some(known) = known {
                self.streams.remove(&known);
                self.sizes.forget(known.id);
                self.with_policies.remove(&known.id);
            }
            self.sizes.set(table.id, bytes);
            self.copying.remove(&table.id);
            self.insert(Arc::clone(table));
        }
    }

    /// Replaces an older copy, named or deleted; an older copy than the present one changes nothing.
    fn replace(&mut self, table: &Arc<Table>, bytes: usize) {
        let named = self.names.get_mut(&owner(table)).and_then(|tables| tables.get_mut(&table.name));
        let named = named.filter(|named| named.id == table.id);
        let place = named.or_else(|| self.doomed.get_mut(&table.id));
        if let Some(place) = place.filter(|place| place.version < table.version) {
            if place.strong.is_some() || table.strong.is_some() {
                let known = Arc::clone(place);
                return self.replace_faces(&known, table, bytes);
            }
            self.streams.replace(place, table);
            *place = Arc::clone(table);
            self.sizes.set(table.id, bytes);
            self.note_policies(table);
        }
    }

    /// Removes a table from the names, if the name is still its own.
    fn doom(&mut self, namespace: &Namespace, table: &Table) {
        let Some(tables) = self.names.get_mut(namespace) else { return };
        if tables.get(&table.name).is_some_and(|named| named.id == table.id)
            && let Some(doomed) = tables.remove(&table.name)
        {
            self.doomed.insert(doomed.id, doomed);
        }
        if tables.is_empty() {
            self.names.remove(namespace);
        }
    }
}

/// The size of a table's record, on disk and about as much in memory.
pub(crate) fn record_bytes(table: &Table) -> usize {
    record::encode(table).len()
}

/// A table's settings in their stored form, for a backup. Policies and replicas are not among them: a
/// restored table has none.
pub(crate) fn stored_settings(table: &Table) -> Vec<u8> {
    if table.policies == Policies::default() && !record::has_replicas(table) && !record::is_strong(table) {
        return record::encode(table);
    }
    let mut kept = Table {
        policies: Policies::default(),
        replication: None,
        remote: Remote::default(),
        has_old_versions: false,
        strong: None,
        ..table.clone()
    };
    kept.logs.retain(|log| match &log.purpose {
        Purpose::Stream(terms) => terms.owner == 0,
        Purpose::Destination(_) => true,
        Purpose::Replication => false,
    });
    record::encode(&kept)
}

/// A table's settings in words.
pub(crate) fn settings_in_words(table: &Table) -> BTreeMap<String, String> {
    let mut words = BTreeMap::new();
    let mut say = |what: &str, text: String| drop(words.insert(what.to_owned(), text));
    let key = &table.schema.key;
    let names: Vec<String> =
        key.partition.iter().chain(&key.sort).map(|attribute| attribute.name.clone()).collect();
    say("key", names.join(", "));
    let indexes: Vec<String> = table.schema.indexes.iter().map(|index| index.name.clone()).collect();
    if !indexes.is_empty() {
        say("indexes", indexes.join(", "));
    }
    say("billing", format!("{:?}", table.billing));
    if let Some((_, attribute)) = table.ttl.enabled() {
        say("time to live", attribute.to_owned());
    }
    if let Some(stream) = table.live_stream() {
        say("stream", format!("{:?}", stream.terms.view));
    }
    if let Some(recovery) = table.history.recovery() {
        say("point-in-time recovery", format!("{} days", recovery.period_days));
    }
    if table.status == TableStatus::Deleting {
        say("status", "deleted while it was backed up".to_owned());
    }
    words
}

/// The table of stored settings.
pub(crate) fn read_settings(settings: &[u8]) -> Result<Table, RecordFault> {
    record::decode(settings)
}

/// The account and region of a table.
pub(crate) fn owner(table: &Table) -> Namespace {
    Namespace {
        account: AccountId::from(table.account.as_str()),
        region: Region::stored(table.region.as_str()),
    }
}

/// An ARN must name the caller's region and account; the region is checked first.
fn check_scope(namespace: &Namespace, table: &TableRef) -> Result<(), Error> {
    let Some(scope) = table.arn_scope() else { return Ok(()) };
    if scope.region != namespace.region.as_str() {
        return Err(Error::validation(messages::wrong_arn_region(table.as_given())));
    }
    if scope.account != namespace.account.as_str() {
        return Err(Error::new(ErrorKind::AccessDenied, messages::ACCESS_DENIED));
    }
    Ok(())
}

/// The end of a commit that may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Done,
    Conflict,
    /// The next try resolves it: it finds the unknown commit done, or its own commit makes that one
    /// impossible.
    Unknown,
}

async fn commit<T: Transaction>(txn: T) -> Result<Ended, Error> {
    match txn.commit().await {
        Ok(_version) => Ok(Ended::Done),
        Err(CommitError::Conflict) => Ok(Ended::Conflict),
        Err(CommitError::Unknown) => Ok(Ended::Unknown),
        Err(CommitError::TooLarge | CommitError::Failed(_)) => Err(fault::internal()),
    }
}

fn read_u64(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}
