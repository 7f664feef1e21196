//! The rows by which processes over one store know which stamps are settled.
//!
//! ```text
//! processes | 1              the settled stamp: no commit of any process can have a lower one
//! processes | member | 1     the lowest stamp that a commit of this process can still have
//! processes | member | 2     empty; there while this process may commit with stamps
//! ```
//!
//! How far the stamps of a process's commits can have come stands in another row (`history::bound`).
//!
//! Each process raises its own stamp in the commit of its sign of life (`members`). One of them, which does
//! the work that belongs to no table, raises the settled stamp to the lowest of all. Three rules make that
//! safe, also when clocks are wrong and a process was paused for long:
//!
//! - A process that joins reads the settled stamp under protection, starts above it, and writes it again. So
//!   joining conflicts with a raise that has not seen the new rows.
//! - A commit with a stamp protects the last row of its process, as it protects the records of its tables.
//!   One that has slots in the place of records needs not: the commit that removes this row removes all slots
//!   of the process (`catalogue/guard.rs`).
//! - A process that gave no sign of life for a minute loses its rows. What it still has in flight conflicts,
//!   so its stamps need not be waited for. If it is only paused, it finds its rows gone and joins anew.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, CommitVersion, Entry, Snapshot, Store, Transaction};

use crate::catalogue::slots_of_members;
use crate::history::bound;
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{Space, TableId, prefix_range};
use crate::support::member_row::MemberId;
use crate::support::rows::each_row;
use crate::support::stamp::Stamp;

/// The settled stamp belongs to no table; raising it is owned like one.
const SETTLED: TableId = TableId(0);
/// The last bytes of the keys of these rows.
const STAMP: u8 = 1;
/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// Commits this process's sign of life together with its lowest stamp.
pub(super) async fn publish<S: Store>(
    engine: &Engine<S>,
    mut txn: S::Transaction,
    now_ms: u64,
) -> Result<CommitVersion, CommitError> {
    let [joined, own] = row_keys(engine.members().own());
    let rows = txn.get_for_write(&[joined.clone(), own.clone()]).await.map_err(CommitError::Failed)?;
    let has_joined = matches!(rows.first(), Some(Some(_)));
    let least = if has_joined {
        stamp_of(rows.get(1).and_then(Option::as_ref))
    } else {
        // A store that is a copy has a bound of stamps, and not yet a settled one.
        let bound = bound::read(&txn).await.map_err(CommitError::Failed)?;
        read_settled(&mut txn).await?.map(|settled| settled.max(bound))
    };
    // A later release wrote the row. The sign of life is given all the same.
    let Some(least) = least else { return txn.commit().await };
    if !has_joined {
        // A raise that has not seen the new rows conflicts with this.
        txn.put(joined, Bytes::new());
        txn.put(settled_key(), encode(least));
    }
    let drawn = engine.stamps().draw(now_ms, least);
    let publication = drawn.stamp();
    // Stamps that were drawn before this process was taken for dead do not count again.
    let lowest = engine.stamps().lowest(now_ms).max(least);
    assert!(least <= lowest && lowest <= publication, "a published stamp never falls");
    txn.put(own, encode(lowest));
    // Before the commit, so that one which is never answered is known too.
    engine.stamps().note_publishing(publication);
    let outcome = drawn.commit(txn.commit()).await;
    if outcome.is_ok() {
        engine.stamps().note_published();
    }
    outcome
}

/// Raises the settled stamp to the lowest of all processes, if that is the work of this one.
pub(super) async fn raise<S: Store>(engine: &Engine<S>) -> Result<(), CommitError> {
    if !engine.owns(SETTLED) {
        return Ok(());
    }
    raise_to_lowest(engine).await.map(drop)
}

async fn raise_to_lowest<S: Store>(engine: &Engine<S>) -> Result<CommitVersion, CommitError> {
    let mut txn = engine.store().begin().await.map_err(CommitError::Failed)?;
    let Some(settled) = read_settled(&mut txn).await? else { return Err(CommitError::Conflict) };
    let (mut known, mut rows) = (Vec::new(), Vec::new());
    let read = each_row(&txn, prefix_range(vec![Space::Members.byte()]), |entry| {
        known.extend(MemberId::of_row(&entry.key));
        rows.extend(published(entry));
    });
    read.await.map_err(CommitError::Failed)?;
    // A process of an older release removes the sign of life alone.
    let (live, dead): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(member, _)| known.contains(member));
    let dead: Vec<MemberId> = dead.into_iter().map(|(member, _)| member).collect();
    remove(&mut txn, &dead).await?;
    // Stamps of a process whose row cannot be read must be waited for.
    let stamps: Option<Vec<Stamp>> = live.into_iter().map(|(_, stamp)| stamp).collect();
    let Some(stamps) = stamps else { return Err(CommitError::Conflict) };
    let lowest = stamps.into_iter().min().unwrap_or(settled);
    txn.put(settled_key(), encode(settled.max(lowest)));
    txn.commit().await
}

/// Removes the rows of processes that are gone.
pub(super) async fn remove<T: Transaction>(txn: &mut T, gone: &[MemberId]) -> Result<(), CommitError> {
    if gone.is_empty() {
        return Ok(());
    }
    for key in gone.iter().flat_map(|member| row_keys(*member)) {
        txn.delete(key);
    }
    // A slot stands for the row that allows stamps: it must not stay without it.
    for slot in slots_of_members(&*txn, gone, usize::MAX).await.map_err(CommitError::Failed)? {
        txn.delete(slot);
    }
    bound::bequeath(txn, gone).await.map_err(CommitError::Failed)
}

/// Notes the settled stamp that this view shows.
pub(super) async fn follow<S: Store>(engine: &Engine<S>, view: &S::Snapshot) -> Result<(), Error> {
    let row = view.get(&settled_key()).await.map_err(|error| fault::storage(&error))?;
    if let Some(settled) = stamp_of(row.as_ref()) {
        engine.stamps().note_settled(settled);
    }
    Ok(())
}

/// The settled stamp; `None` if a later release wrote it in another form.
async fn read_settled<T: Transaction>(txn: &mut T) -> Result<Option<Stamp>, CommitError> {
    let rows = txn.get_for_write(&[settled_key()]).await.map_err(CommitError::Failed)?;
    Ok(stamp_of(rows.first().and_then(Option::as_ref)))
}

/// The keys of a process's rows: the one that its commits with stamps protect, and that of its lowest stamp.
pub(crate) fn row_keys(member: MemberId) -> [Bytes; 2] {
    [member.joined_key(), [&member.row_key(Space::Members)[..], &[STAMP]].concat().into()]
}

fn settled_key() -> Bytes {
    vec![Space::Members.byte(), STAMP].into()
}

/// A process and its lowest stamp, if this is the row of one. A stamp in another form cannot be read.
fn published(row: &Entry) -> Option<(MemberId, Option<Stamp>)> {
    let member = MemberId::of_row(row.key.strip_suffix(&[STAMP])?)?;
    Some((member, decode(&row.value)))
}

fn encode(stamp: Stamp) -> Bytes {
    [&[FORMAT][..], &stamp.to_bytes()].concat().into()
}

fn decode(row: &[u8]) -> Option<Stamp> {
    let bytes = row.strip_prefix(&[FORMAT])?.first_chunk::<8>()?;
    Some(Stamp::of_bytes(*bytes))
}

/// The stamp of a row; the least of all if there is no row yet, `None` if it cannot be read.
fn stamp_of(row: Option<&Bytes>) -> Option<Stamp> {
    row.map_or_else(|| Some(Stamp::default()), |row| decode(row))
}
