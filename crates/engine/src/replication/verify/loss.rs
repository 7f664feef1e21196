//! The members that remain: once one is lost, or has left with its data, its last writes may have reached
//! only some of the others, and nobody passes them on. So those others are compared and repaired once.
//!
//! A member is *gone* for a table if the two have lost each other, or if no server is named any more for the
//! region of the member. The first table of the group that lacks it is compared with all members that remain,
//! here and on other servers. Each server does so, as each learns of a loss at a time of its own.
//!
//! ```text
//! places of replicas | table id | "h"     for which members the others were repaired
//! ```
//!
//! The keys of places are longer. The row goes with the table, and with its group. `left` has the row of a
//! member that has left.

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{CommitError, Snapshot, Store, Transaction};
use serde::{Deserialize, Serialize};

use super::{begun, is_verified};
use crate::catalogue::{MemberStatus, RemoteMember, Table};
use crate::replication::left::left_key;
use crate::replication::lost::lost_in;
use crate::replication::table_of;
use crate::state::Engine;
use crate::state::verification::{Loss, Mode, Verification, VerifiedReplica};
use crate::support::fault;
use crate::support::layout::{Space, TableId, table_prefix};
use crate::support::wake::NextWake;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The time between two looks at a table without anything that is known to have changed.
const LOOK_MS: u64 = 60_000;
/// The time until members are compared again of which some were not reached.
const AGAIN_MS: u64 = 5 * 60_000;

/// For which members the others were repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Repaired {
    /// The row of the last member that had left with its data.
    left: Option<Vec<u8>>,
    gone: BTreeSet<u64>,
}

fn repaired_key(table: TableId) -> Bytes {
    let mut key = table_prefix(Space::ReplicaCursors, table);
    key.push(b'h');
    key.into()
}

/// Begins to repair the members that remain, if a table is the one that does it.
pub(in crate::replication) async fn begin_due<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    now_ms: u64,
) -> Result<NextWake, Error> {
    let idle = NextWake::default();
    let verifications = engine.verifications();
    if now_ms < verifications.loss_look_ms(table.id) || !table.as_member().is_some_and(is_verified) {
        return Ok(idle);
    }
    verifications.set_loss_look(table.id, now_ms.saturating_add(LOOK_MS));
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let Some(loss) = unrepaired(engine, &view, table).await? else { return Ok(idle) };
    let group = table.replication.iter().flat_map(|group| &group.members);
    let before = group.take_while(|member| member.table != table.id);
    for member in before.filter(|member| is_verified(member) && !loss.gone.contains(&member.table)) {
        // It does it for this one too.
        if let Some(other) = table_of(engine, member, &table.name)
            && unrepaired(engine, &view, &other).await?.is_some()
        {
            return Ok(idle);
        }
    }
    drop(view);
    // Its record may be older than the row that says that a member has left.
    let Some(newest) = engine.catalogue().with_id(table.id) else { return Ok(idle) };
    let mut run = begun(engine, &newest, Mode::Repair, |member| !loss.gone.contains(&member));
    if run.others.is_empty() {
        return Ok(idle);
    }
    run.loss = Some(loss);
    let is_begun = verifications.begin_if_none(table.id, run);
    if !is_begun {
        // Another one runs, and may have begun before the loss.
        verifications.set_loss_look(table.id, now_ms.saturating_add(super::AGAIN_MS));
        return Ok(NextWake { at_ms: Some(now_ms.saturating_add(super::AGAIN_MS)) });
    }
    engine.shipping().wake();
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// The members that a table lacks, if the others were not repaired since.
async fn unrepaired<S: Store>(
    engine: &Engine<S>,
    view: &S::Snapshot,
    table: &Table,
) -> Result<Option<Loss>, Error> {
    let mut gone: BTreeSet<TableId> =
        lost_in(view, table).await?.into_iter().map(|way| way.other_than(table.id)).collect();
    let is_unnamed = |region: &str| !engine.peers().owns(region);
    let made = table.remote.members.iter().filter(|member| member.is_made);
    let unnamed = made.filter(|member| member.status != MemberStatus::Creating && is_unnamed(&member.region));
    gone.extend(unnamed.map(RemoteMember::table));
    let keys = [left_key(table.id), repaired_key(table.id)];
    let rows = view.get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let [left, repaired] = <[_; 2]>::try_from(rows).map_err(|_| fault::internal())?;
    // A later release may write it in another form.
    let known = repaired.and_then(|row| postcard::from_bytes::<Repaired>(row.strip_prefix(&[FORMAT])?).ok());
    let known = known.unwrap_or_default();
    let loss = Loss { left: left.map(|row| row.to_vec()), gone };
    let ids: BTreeSet<u64> = loss.gone.iter().map(|member| member.0).collect();
    if known.left == loss.left && ids.is_subset(&known.gone) {
        if ids != known.gone {
            // One has rejoined: it may be lost again.
            note_repaired(engine, &[table.id], &loss).await?;
        }
        return Ok(None);
    }
    Ok(Some(loss))
}

/// Notes that the members that remain were repaired, if all of them were reached. Otherwise it is done again.
pub(super) async fn end<S: Store>(
    engine: &Engine<S>,
    base: TableId,
    (loss, shown): (&Loss, &Verification),
    now_ms: u64,
) -> Result<(), Error> {
    let is_reached = |one: &VerifiedReplica| one.unreached.is_none() && one.undecided == 0 && !one.is_lost;
    if !shown.replicas.iter().all(is_reached) {
        engine.verifications().set_loss_look(base, now_ms.saturating_add(AGAIN_MS));
        return Ok(());
    }
    let Some(table) = engine.catalogue().with_id(base) else { return Ok(()) };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let mut tables = vec![base];
    for member in table.replicas().filter(|member| !loss.gone.contains(&member.table)) {
        let Some(other) = table_of(engine, member, &table.name) else { continue };
        let of_other = unrepaired(engine, &view, &other).await?;
        if of_other.is_some_and(|other| other.left == loss.left && other.gone.is_subset(&loss.gone)) {
            tables.push(other.id);
        }
    }
    drop(view);
    note_repaired(engine, &tables, loss).await
}

/// Stores for which members the others were repaired.
async fn note_repaired<S: Store>(engine: &Engine<S>, tables: &[TableId], loss: &Loss) -> Result<(), Error> {
    let gone = loss.gone.iter().map(|member| member.0).collect();
    let repaired = Repaired { left: loss.left.clone(), gone };
    let row = postcard::to_extend(&repaired, vec![FORMAT]).expect("a row of owned values encodes");
    let mut txn = engine.store().begin().await.map_err(|error| fault::storage(&error))?;
    for table in tables {
        txn.put(repaired_key(*table), Bytes::from(row.clone()));
    }
    match txn.commit().await {
        // Without the row it is done again.
        Ok(_) | Err(CommitError::Conflict | CommitError::Unknown) => Ok(()),
        Err(CommitError::TooLarge) => Err(fault::internal()),
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}
