//! Whether two members on two servers have seen the same of each other. A server that was restored from an
//! older state has not: then both send each other all rows.
//!
//! Only a process that begins can have an older state. So it asks once for each remote member, before it
//! sends the first batch: also where neither side has anything to send. Counts of moves show what is missing:
//!
//! - The other one has sent more than has arrived here: the state here is older. The count of what has
//!   arrived is read after the answer, so a batch on its way is no reason.
//! - The other one has received another count than was sent from here. One more is a batch whose answer was
//!   lost, if the log here has its last record; otherwise another history sent it. A batch of a pass has no
//!   such record, and is taken for one whose answer was lost, unless the pass began with it.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{LogRead, Snapshot, Store};

use super::Unsent;
use super::ask::{ask, ends, refused};
use super::message::{Answer, Message, Places};
use super::{is_lost, received};
use crate::catalogue::{RemoteMember, Shard, Table};
use crate::changes::replicated::{Cursor, Mark, Owed, Way};
use crate::changes::{just_before, place_of};
use crate::replication::backlog::{begin_anew, begin_anew_above};
use crate::state::Engine;
use crate::support::fault;
use crate::support::layout::{TableId, log_of};
use crate::write::version_record::VersionRecord;

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Both have seen the same, or will send each other everything.
    Fits,
    /// The other one has lost this member.
    Lost,
}

/// Compares the places of a table and a remote member, whose cursor and its row are these.
pub(super) async fn compare<S: Store>(
    engine: &Engine<S>,
    (table, member, shard): (&Arc<Table>, &RemoteMember, &Shard),
    (cursor, row): (&Cursor, &Bytes),
) -> Result<Compared, Unsent> {
    let way = Way { sender: table.id, receiver: member.table() };
    let Some(there) = ask_places(engine, (table, member), false).await? else { return Ok(Compared::Lost) };
    let (received, _) = received::read(engine, way.tables()).await?;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    if way.read(&view).await?.is_none_or(|(_, found)| found != *row) {
        // Another process sends too: they are compared with the next call.
        return Ok(Compared::Fits);
    }
    drop(view);
    let is_older = !there.begins && received.moves < there.sent;
    if is_older || !fits(engine, (table.id, shard), cursor, &there).await? {
        // The other one first: after a kill here, the places still differ.
        if ask_places(engine, (table, member), true).await?.is_none() {
            return Ok(Compared::Lost);
        }
        let owed = Owed::Restored { at_ms: engine.env().now_ms() };
        begin_anew_above(engine, way, (owed, there.received)).await?.done()?;
    }
    engine.peering().change(way.tables(), |contact| contact.is_compared = true);
    Ok(Compared::Fits)
}

/// Asks for the places of a remote member; `None` if it has lost the table here.
async fn ask_places<S: Store>(
    engine: &Engine<S>,
    (table, member): (&Arc<Table>, &RemoteMember),
    is_restored: bool,
) -> Result<Option<Places>, Unsent> {
    let message = Message::Places { ends: ends(table, member)?, is_restored };
    match ask(engine, &member.region, &message).await? {
        Answer::Places(places) => Ok(Some(places)),
        Answer::Lost => Ok(None),
        other => Err(refused(&member.region, other)),
    }
}

/// Whether the other one has received what a cursor here has sent.
async fn fits<S: Store>(
    engine: &Engine<S>,
    (table, shard): (TableId, &Shard),
    cursor: &Cursor,
    there: &Places,
) -> Result<bool, Error> {
    match there.received.cmp(&cursor.moves) {
        Ordering::Equal => Ok(true),
        Ordering::Less => Ok(cursor.begins()),
        Ordering::Greater if there.received - cursor.moves > 1 => Ok(false),
        Ordering::Greater => match there.mark {
            Some(mark) => has(engine, (table, shard), mark).await,
            None => Ok(!cursor.begins()),
        },
    }
}

/// Whether the log of a table has a record.
async fn has<S: Store>(
    engine: &Engine<S>,
    (table, shard): (TableId, &Shard),
    mark: Mark,
) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let id = log_of(table, shard.number);
    let read = LogRead { id, after: just_before(mark.place), entries_max: 1, bytes_max: 1 };
    let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
    let Some(entry) = entries.first().filter(|entry| place_of(entry.position) == mark.place) else {
        return Ok(false);
    };
    Ok(VersionRecord::decode(&entry.bytes).map_err(|_| fault::internal())?.at == mark.at)
}

/// Answers how far a table here and a remote member have come. If one of them was restored, the table sends
/// all rows.
pub(crate) async fn answer<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    (remote, is_restored): (TableId, bool),
) -> Result<Answer, Error> {
    let way = Way { sender: table.id, receiver: remote };
    if is_lost(engine, way.tables()).await? {
        return Ok(Answer::Lost);
    }
    if is_restored {
        let owed = Owed::Restored { at_ms: engine.env().now_ms() };
        begin_anew(engine, way, owed).await?.done()?;
        engine.shipping().note(table.id);
    }
    let (received, _) = received::read(engine, way.tables()).await?;
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let cursor = way.read(&view).await?;
    let (sent, begins) = cursor.map_or((0, true), |(cursor, _)| (cursor.moves, cursor.begins()));
    Ok(Answer::Places(Places { received: received.moves, mark: received.mark, sent, begins }))
}
