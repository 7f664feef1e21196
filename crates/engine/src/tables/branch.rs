//! Branches: copies of all tables of an account and region, as they are at one instant.
//!
//! Rows are copied as stored bytes, only the table's id in their keys changes. The copies get their names in
//! one commit at the end, so nobody sees a part of a branch. This is not an operation of the service.
//!
//! All rows are read from one view of the store, so the process that began a branch completes it or nobody
//! does: what it has copied when it dies is purged. In a shared store the records of the copies say whose
//! they are (`catalogue::branches`), and the background work of the others finds out that it is gone.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Store, Transaction};

use crate::catalogue::{
    Begun, Destinations, Dropped, History, IndexStatus, Naming, Policies, Remote, Rest, StreamState, Table,
    TableGuard, TableStatus, record_bytes, record_in,
};
use crate::state::Engine;
use crate::state::stats::{self, Committed, Counted, Tally};
use crate::streams;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::{self, Branched, IndexId, Owner, Space, TableId, table_spaces};
use crate::support::rows::{Budget, Pages};
use crate::tables::branch_room::{Allowance, Room, counted_bytes, room};
use crate::tables::create::uuid;

/// What one commit copies.
const PIECE: Budget = Budget { rows_max: 2_000, bytes_max: 2 * 1024 * 1024 };
/// Tries of one piece. Nobody else writes its rows, so only an unknown outcome is tried again.
const PIECE_TRIES_MAX: u32 = 10;

/// A branch as it was made or dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branch {
    /// The names of its tables, in order.
    pub tables: Vec<String>,
    /// The number of copied items; 0 when a branch is dropped.
    pub items: u64,
    /// Tables of the account and region that the branch did not make and that stay.
    pub kept: Vec<String>,
}

/// Why a branch cannot be made or dropped.
#[derive(Clone, Debug)]
pub enum BranchFault {
    /// A process of an earlier release serves the store: it would take a half-made copy for a deleted table.
    OlderServers,
    /// The other processes over the store heard nothing of this one for so long that they dropped the copy.
    GivenUp,
    /// The source has no table.
    NothingToCopy,
    /// The target has tables already.
    Occupied,
    /// A table of the source is being created, changed or deleted; it can be copied when that has ended.
    Changing(String),
    /// The target may not have so many tables.
    TooMany,
    /// There are as many branches as may be.
    TooManyBranches {
        /// That many.
        count_max: usize,
    },
    /// The branches would have copied more than they may.
    TooLarge {
        /// Bytes of the new branch, as far as they are known.
        wanted: u64,
        /// Bytes of the present ones.
        held: u64,
        /// Bytes that all may have.
        bytes_max: u64,
    },
    /// Too many others wait to make a branch.
    Busy,
    /// The account and region to drop are no branch.
    NoBranch,
    /// The store failed.
    Store(Error),
}

impl From<Error> for BranchFault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl<S: Store> Engine<S> {
    /// Copies all tables of `from`, items and settings, to the empty `to`, as they are at one instant.
    ///
    /// Streams of the copies are new and empty.
    pub async fn branch(&self, from: &Namespace, to: &Namespace) -> Result<Branch, BranchFault> {
        let _turn = self.branching().enter().await.ok_or(BranchFault::Busy)?;
        self.pace().check_presence()?;
        self.follow_others().await?;
        if self.is_shared() && !self.catalogue().all_know_tagged().await? {
            return Err(BranchFault::OlderServers);
        }
        if self.catalogue().count(to) > 0 {
            return Err(BranchFault::Occupied);
        }
        // Before the view, which would keep what is purged.
        let allowance = room(self, from, to).await?;
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let sources = self.catalogue().tables_at(&view, from).await?;
        check(self, &sources)?;
        let now_ms = self.env().now_ms();
        let public_ids: Vec<String> = sources.iter().map(|_| uuid(self.env().random_u128())).collect();
        // Before the records are stored: the background work of this process looks at them too.
        let _copying = self.branching().note_copying(&public_ids);
        let copied_by = self.is_shared().then(|| self.members().own());
        let build = |first: TableId| {
            let sources = sources.iter().zip(&public_ids).zip((first.0..).map(TableId));
            let copy = |((source, public_id), id): ((&Table, &String), TableId)| Table {
                copied_by,
                ..copy_of(source, to, id, public_id, now_ms)
            };
            sources.map(copy).collect()
        };
        let copies = self.catalogue().store_unnamed(build).await?;
        let mut copying = Copying { engine: self, to, sources: &sources, copies, allowance };
        let outcome = copying.complete(view).await;
        if outcome.is_err() {
            copying.abandon().await;
        }
        outcome
    }

    /// Whether a place has tables.
    pub fn has_tables(&self, place: &Namespace) -> bool {
        self.catalogue().count(place) > 0
    }

    /// Drops the tables that a branch made, also protected ones. Other tables stay, unless no request can
    /// name the place: then nothing else could drop them.
    pub async fn drop_branch(&self, branch: &Namespace) -> Result<Branch, BranchFault> {
        self.follow_others().await?;
        let doom = |table: &mut Table| {
            table.status = TableStatus::Deleting;
            table.filling = None;
            // Nobody asked to keep what a branch did; its backups stay.
            table.history.disable_recovery();
            table.stream.view = None;
            // Nobody reads the streams of a dropped branch: they expire at once.
            table.close_stream(0, 0);
            table.end_destinations(0, Rest::Discarded);
            table.expire_shards();
        };
        let which = if branch.can_be_named() { Dropped::OfBranch } else { Dropped::All };
        let dropped = self.catalogue().unname_all(branch, which, doom).await?.ok_or(BranchFault::NoBranch)?;
        let (kept, _) = self.catalogue().names_after(branch, None, usize::MAX);
        Ok(Branch { tables: dropped.iter().map(|table| table.name.clone()).collect(), items: 0, kept })
    }

    /// Learns which tables other processes over the store have made and deleted.
    async fn follow_others(&self) -> Result<(), Error> {
        if self.is_shared() { self.catalogue().follow(self.env().now_ms()).await } else { Ok(()) }
    }
}

/// A branch under way: the records of its tables are stored, and nothing names them yet.
struct Copying<'b, S: Store> {
    engine: &'b Engine<S>,
    to: &'b Namespace,
    sources: &'b [Table],
    copies: Vec<Table>,
    allowance: Allowance,
}

impl<S: Store> Copying<'_, S> {
    /// Fills the copies and names them.
    async fn complete(&mut self, view: S::Snapshot) -> Result<Branch, BranchFault> {
        let engine = self.engine;
        let filled = fill(engine, &view, (self.sources, &self.copies), &mut self.allowance).await;
        drop(view);
        let tallies = filled?;
        let moment = streams::Moment::now(engine).await?;
        // Not before: a record without a name and with an open stream would never be purged.
        for (source, copy) in self.sources.iter().zip(&mut self.copies) {
            if let Some(stream) = source.live_stream() {
                let name = copy.name.clone();
                let is_taken = |label: &str| engine.catalogue().has_stream(self.to, &name, label);
                streams::enable(copy, is_taken, stream.terms.view, moment);
            }
        }
        note_copied(&mut self.copies, &tallies);
        let rows = if engine.is_shared() { counters(&tallies) } else { Vec::new() };
        let room = Room { limits: engine.config().branches, own: self.allowance.used() };
        let limited = (room.account(self.to), |held| room.refusal(held));
        match engine.catalogue().name_all(self.to, &self.copies, limited, &rows).await? {
            Naming::Named => Ok(finish(engine, &self.copies, tallies)),
            Naming::Occupied => Err(BranchFault::Occupied),
            Naming::GivenUp => Err(BranchFault::GivenUp),
            Naming::Refused(fault) => Err(fault),
        }
    }

    /// Leaves the copies to be purged.
    async fn abandon(self) {
        let used = self.allowance.used();
        if self.engine.is_shared() {
            let ids: Vec<TableId> = self.copies.iter().map(|copy| copy.id).collect();
            // If the store fails here too, the background work of a later step does it.
            let _later = self.engine.catalogue().give_up(&ids, used).await;
            return;
        }
        // Until they are purged, the rows count for the first of the tables.
        let counted = |(place, copy): (usize, Table)| Table {
            copied_bytes: Some(if place == 0 { used } else { 0 }),
            ..without_logs(copy)
        };
        self.engine.catalogue().abandon(self.copies.into_iter().enumerate().map(counted));
    }
}

/// The rows of a branch's counters in a shared store. They are no process's: the one that made the branch may
/// be killed before it writes what it has counted itself.
fn counters(tallies: &[(Counted, Tally)]) -> Vec<(Bytes, Bytes)> {
    tallies.iter().map(|(counted, tally)| (stats::row_key(*counted), stats::encode(*tally))).collect()
}

/// Checks that all tables can be copied, and that there is room for the copies.
fn check<S: Store>(engine: &Engine<S>, sources: &[Table]) -> Result<(), BranchFault> {
    if sources.is_empty() {
        return Err(BranchFault::NothingToCopy);
    }
    if let Some(changing) = sources.iter().find(|table| !is_settled(table)) {
        return Err(BranchFault::Changing(changing.name.clone()));
    }
    let copied_bytes: usize = sources.iter().map(record_bytes).sum();
    if sources.len() > engine.config().tables_max
        || engine.catalogue().record_bytes() + copied_bytes > engine.config().record_bytes_max
    {
        return Err(BranchFault::TooMany);
    }
    Ok(())
}

fn is_settled(table: &Table) -> bool {
    table.status == TableStatus::Active
        && !table.ttl.filling
        && table.states.iter().all(|state| state.status == IndexStatus::Active && state.backfill.is_none())
}

fn without_logs(table: Table) -> Table {
    Table {
        stream: StreamState::default(),
        logs: Vec::new(),
        next_shard: 1,
        destinations: Destinations::default(),
        replication: None,
        remote: Remote::default(),
        has_old_versions: false,
        strong: None,
        ..table
    }
}

/// The record of a table's copy. It has no stream yet, no destination and no replica.
pub(crate) fn copy_of(source: &Table, to: &Namespace, id: TableId, public_id: &str, now_ms: u64) -> Table {
    let mut copy = Table {
        id,
        version: 1,
        public_id: public_id.to_owned(),
        account: to.account.to_string(),
        region: to.region.to_string(),
        status_until_ms: now_ms,
        created_ms: now_ms,
        copied_bytes: Some(0),
        // A branch begins without history.
        history: History::default(),
        filling: None,
        bulk_put: None,
        key_change: None,
        // They are about the source.
        policies: Policies::default(),
        doomed_indexes: Vec::new(),
        // They may be ignored, and may speak of the source alone.
        later: Vec::new(),
        ..without_logs(source.clone())
    };
    // Rows of earlier generations are not copied.
    copy.ttl.doomed.clear();
    copy
}

/// Notes in each copy what was copied into it.
fn note_copied(copies: &mut [Table], tallies: &[(Counted, Tally)]) {
    for copy in copies {
        let own = tallies.iter().filter(|(counted, _)| counted.table() == copy.id);
        copy.copied_bytes = Some(own.map(|(_, tally)| counted_bytes(*tally)).fold(0, u64::saturating_add));
    }
}

/// Copies the rows of all tables, each to its copy; returns the counters of the copies.
pub(crate) async fn fill<S: Store>(
    engine: &Engine<S>,
    view: &S::Snapshot,
    (sources, copies): (&[Table], &[Table]),
    allowance: &mut Allowance,
) -> Result<Vec<(Counted, Tally)>, BranchFault> {
    let mut tallies = Vec::new();
    for (source, copy) in sources.iter().zip(copies) {
        for rows in table_spaces().flat_map(|space| rows_of(space, source, copy)) {
            match rows.counted {
                Some(counted) => tallies.push((counted, rows.copy(engine, (view, copy), allowance).await?)),
                None => drop(rows.copy(engine, (view, copy), &mut Allowance::unlimited()).await?),
            }
        }
    }
    Ok(tallies)
}

/// The rows of a space that a table's copy gets.
fn rows_of(space: Space, source: &Table, copy: &Table) -> Vec<Rows> {
    let Owner::Table { branched, .. } = space.traits().owner else { return Vec::new() };
    let [from, to] = [source, copy].map(|table| layout::table_prefix(space, table.id));
    let all = Rows { from, to, counted: None };
    match branched {
        Branched::Nothing => Vec::new(),
        Branched::Items => vec![Rows { counted: Some(Counted::Items(copy.id)), ..all }],
        Branched::LiveIndexes => {
            let entries = |(_, index, _): (usize, IndexId, &_)| Rows {
                counted: Some(Counted::Entries(copy.id, index)),
                ..all.of(index.0)
            };
            source.indexes().map(entries).collect()
        }
        Branched::LiveExpiries => {
            source.ttl.enabled().into_iter().map(|(generation, _)| all.of(generation.0)).collect()
        }
        Branched::Everything => vec![all],
    }
}

/// Rows to copy: those of one prefix, to another.
struct Rows {
    from: Vec<u8>,
    to: Vec<u8>,
    /// Their counter in the copy; rows without one are not limited.
    counted: Option<Counted>,
}

impl Rows {
    /// Those of them that have this number next in their keys.
    fn of(&self, number: u32) -> Self {
        let [from, to] =
            [&self.from, &self.to].map(|prefix| [prefix.as_slice(), &number.to_be_bytes()].concat());
        Self { from, to, counted: None }
    }

    async fn copy<S: Store>(
        &self,
        engine: &Engine<S>,
        (view, copy): (&S::Snapshot, &Table),
        allowance: &mut Allowance,
    ) -> Result<Tally, BranchFault> {
        assert_eq!(self.from.len(), self.to.len(), "a copied key keeps its length");
        let mut pages = Pages::of(layout::prefix_range(self.from.clone()), PIECE);
        let mut tally = Tally::default();
        while let Some(page) = pages.next(view).await.map_err(|fault| fault::storage(&fault))? {
            let rows: Vec<(Bytes, Bytes)> =
                page.into_iter().map(|entry| (self.renamed(&entry.key), entry.value)).collect();
            let mut own = Tally::default();
            for (_, value) in &rows {
                let bytes = EncodedItem::from_stored(value.clone()).map_or(0, |item| item.size_bytes());
                own += Tally { rows: 1, bytes: i64::try_from(bytes).unwrap_or(i64::MAX) };
            }
            if !allowance.take(own) {
                // The counters were not exact, as after an unclean stop.
                return Err(outgrown(engine, allowance));
            }
            tally += own;
            engine.pace().check_presence()?;
            write(engine, copy, &rows).await?;
        }
        Ok(tally)
    }

    fn renamed(&self, key: &[u8]) -> Bytes {
        let rest = key.strip_prefix(self.from.as_slice()).expect("a scan stays within its range");
        [self.to.as_slice(), rest].concat().into()
    }
}

/// The fault of a branch that is larger than the counters of its tables say.
fn outgrown<S: Store>(engine: &Engine<S>, allowance: &Allowance) -> BranchFault {
    let bytes_max = engine.config().branches.bytes_max.unwrap_or(u64::MAX);
    let wanted = allowance.used().saturating_add(1);
    BranchFault::TooLarge { wanted, held: bytes_max.saturating_sub(allowance.granted()), bytes_max }
}

/// Writes rows of a copy that has no name yet. Nobody else writes it, and nobody changes it but a process
/// that takes this one for gone.
async fn write<S: Store>(
    engine: &Engine<S>,
    copy: &Table,
    rows: &[(Bytes, Bytes)],
) -> Result<(), BranchFault> {
    for _ in 0..PIECE_TRIES_MAX {
        let begun = TableGuard::of([copy]).begin(engine.catalogue(), Vec::new()).await;
        let Begun::Current(mut txn, _) = begun.map_err(|fault| fault::storage(&fault))? else {
            check_is_copied(engine, copy).await?;
            continue;
        };
        for (key, value) in rows {
            txn.put(key.clone(), value.clone());
        }
        match txn.commit().await {
            Ok(_version) => return Ok(()),
            Err(CommitError::Conflict | CommitError::Unknown) => {}
            Err(CommitError::TooLarge) => return Err(fault::internal().into()),
            Err(CommitError::Failed(fault)) => return Err(fault::storage(&fault).into()),
        }
    }
    Err(fault::internal().into())
}

/// Refuses to go on with a copy that another process has given up.
async fn check_is_copied<S: Store>(engine: &Engine<S>, copy: &Table) -> Result<(), BranchFault> {
    let view = engine.store().snapshot().await.map_err(|fault| fault::storage(&fault))?;
    let stored = record_in(&view, copy.id).await?;
    let is_copied = stored.is_some_and(|stored| stored.version == copy.version);
    if is_copied { Ok(()) } else { Err(BranchFault::GivenUp) }
}

/// Sets the counters of the copies. In a shared store their rows are written already.
fn finish<S: Store>(engine: &Engine<S>, copies: &[Table], tallies: Vec<(Counted, Tally)>) -> Branch {
    let mut items = 0;
    for (counted, tally) in tallies {
        if matches!(counted, Counted::Items(_)) {
            items += u64::try_from(tally.rows).expect("a copy counts its rows upwards from zero");
        }
        if engine.is_shared() {
            engine.stats().add_of_others(counted, tally);
        } else {
            engine.stats().add(counted, tally, Committed::Unsure);
        }
    }
    Branch { tables: copies.iter().map(|copy| copy.name.clone()).collect(), items, kept: Vec::new() }
}
