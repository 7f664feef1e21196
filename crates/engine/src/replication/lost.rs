//! Members that have lost each other: on which ways, and how the ways are opened again.
//!
//! It does not know who decides that: `rejoin`, and the end of a comparison in `verify`.

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_store::{Snapshot, Store};

use super::backlog::begin_anew;
use super::peers::{Answer, Message, ask, ends, refused};
use crate::catalogue::{RemoteMember, Table};
use crate::changes::replicated::{Owed, Way};
use crate::state::Engine;
use crate::state::verification::{Verdict, Verification};
use crate::support::fault;
use crate::support::layout::TableId;

/// The ways to and from a table on which members have lost each other.
pub(super) async fn lost_ways<S: Store>(engine: &Engine<S>, table: &Table) -> Result<Vec<Way>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    lost_in(&view, table).await
}

/// The same as a view shows it.
pub(super) async fn lost_in(view: &impl Snapshot, table: &Table) -> Result<Vec<Way>, Error> {
    let mut lost = Vec::new();
    for member in table.replicas() {
        let way = Way { sender: table.id, receiver: member.table };
        for way in [way, way.back()] {
            if way.read(view).await?.is_some_and(|(cursor, _)| cursor.is_lost()) {
                lost.push(way);
            }
        }
    }
    // Another server's way back is its own.
    for member in &table.remote.members {
        let way = Way { sender: table.id, receiver: member.table() };
        if way.read(view).await?.is_some_and(|(cursor, _)| cursor.is_lost()) {
            lost.push(way);
        }
    }
    Ok(lost)
}

/// Has the server of a remote member open its way back to a table here.
async fn open_there<S: Store>(engine: &Engine<S>, table: &Table, member: &RemoteMember) -> Result<(), Error> {
    let unreached = |cause: &str| Error::validation(messages::peer_unreachable(&member.region, cause));
    match ask(engine, &member.region, &Message::Rejoin(ends(table, member)?)).await {
        Ok(Answer::Done) => Ok(()),
        Ok(other) => Err(unreached(refused(&member.region, other).text())),
        Err(unsent) => Err(unreached(unsent.text())),
    }
}

/// Opens the way of a table here to a remote member that rejoins.
pub(crate) async fn open_to<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    remote: TableId,
) -> Result<(), Error> {
    let at_ms = engine.env().now_ms();
    begin_anew(engine, Way { sender: table.id, receiver: remote }, Owed::Rejoined { at_ms }).await?.done()?;
    engine.shipping().note(table.id);
    Ok(())
}

/// Opens the ways of a table that are lost.
pub(super) async fn open<S: Store>(engine: &Engine<S>, table: &Table, now_ms: u64) -> Result<(), Error> {
    for way in lost_ways(engine, table).await? {
        let remote = table.remote.members.iter().find(|member| member.table() == way.receiver);
        if let Some(member) = remote {
            open_there(engine, table, member).await?;
        }
        begin_anew(engine, way, Owed::Rejoined { at_ms: now_ms }).await?.done()?;
        engine.shipping().note(way.sender);
    }
    Ok(())
}

/// Ends a rejoining whose comparison has ended. If something could not be discarded, the member stays lost.
pub(super) async fn end<S: Store>(
    engine: &Engine<S>,
    table: TableId,
    shown: &Verification,
    now_ms: u64,
) -> Result<(), Error> {
    match (shown.verdict(), engine.catalogue().with_id(table)) {
        (Verdict::Equal | Verdict::Repaired, Some(table)) => open(engine, &table, now_ms).await,
        _ => Ok(()),
    }
}
