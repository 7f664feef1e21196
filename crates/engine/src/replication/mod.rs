//! Replication: what is written to a member of a group reaches the others.
//!
//! The write core gives each change of a member's item a version and logs it for the others (`write`). Here
//! the changes are sent: rows as they are when they are sent, through the write core of the receiver, which
//! takes what is newer than what it has. So it does no harm to send a row twice, or in another order. Each
//! member sends what was written to it, to every other member; nothing is passed on.
//!
//! - `send`, `pass`, `apply`: a piece of the log, or of all rows, is read and written at the receiver.
//! - `backlog`: what waits for a receiver that is not reached is bounded. `clocks`: what changes that arrive
//!   show of the sender's clock.
//! - `join`, `members`: a table becomes a member, and what background work ends: filling, leaving.
//! - `disassociate`: a member leaves with its data; `left`: a row says so.
//! - `tombstones`: deletions are forgotten once no member can bring the item back.
//! - `lost`, `rejoin`: a member that was lost is one again.
//! - `verify`: members are compared, and repaired.
//! - `peers`: members on other servers.
//! - `status`, `overview`: how far each member's changes have come; `item`: an item with its version;
//!   `deliver`: changes by hand, one by one.
//!
//! It does not know what clients may change and what they see of a group: `tables`.

mod apply;
mod backlog;
mod clocks;
mod deliver;
mod disassociate;
mod item;
mod join;
mod left;
mod lost;
mod members;
mod overview;
mod pair;
mod pass;
pub(crate) mod peers;
mod rejoin;
mod send;
mod status;
mod tombstones;
mod unsent;
mod verify;

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_store::Store;

#[cfg(test)]
pub(crate) use deliver::deliver;
pub use deliver::{Chosen, DeliveryFault};
pub use item::{ReplicaItem, ReplicaVersion};
#[cfg(test)]
pub(crate) use join::break_places;
pub(crate) use join::{Joining, join, members_of, rows_to_read};
pub(crate) use lost::open_to;
pub use rejoin::{Rejoin, Rejoining};
pub use status::{OwedPass, ReplicaStatus, ReplicationStatus};
pub(crate) use tombstones::floor_of;
pub(crate) use unsent::has_unsent;
pub use verify::{LastVerification, UnsentItems};
pub(crate) use verify::{answer as verify_answer, step as verify, step_in_lane as verify_in_lane};

use crate::catalogue::{Member, Table};
use crate::changes::replicated::Way;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::wake::NextWake;
use pair::{Pair, Piece};
use send::send;

/// The time between two looks at a table whose group changes: what a member waits for may be another's.
const LOOK_MS: u64 = 1_000;
/// The time between two looks at any table where other processes write it too: what they note is not seen.
const SHARED_LOOK_MS: u64 = 100;
/// Pieces that one look sends to one replica, so that other tables have their turn.
const PIECES_MAX: u32 = 8;

/// Does the next piece of work of a member of a group.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, table: &Arc<Table>, now_ms: u64) -> NextWake {
    if table.replication.is_none() {
        return NextWake::default();
    }
    let looks = (now_ms, now_ms.saturating_add(LOOK_MS));
    if let Err(next) = engine.shipping().begin_look(table, engine.links().changes(), looks) {
        return next;
    }
    let next = look(engine, table, now_ms).await;
    engine.shipping().end_look(table.id, next);
    next
}

/// Looks at a member of a group; says when there is more to do without anything noted. A group in which
/// nothing waits and nothing changes is not looked at, but for the times that its parts say. A part that
/// fails stops none of the others, and is tried again.
async fn look<S: Store>(engine: &Engine<S>, table: &Arc<Table>, now_ms: u64) -> NextWake {
    let Some(group) = &table.replication else { return NextWake::default() };
    let again = NextWake { at_ms: Some(now_ms.saturating_add(LOOK_MS)) };
    let mut wake = disassociate::step_of_inaccessible(engine, table, now_ms).await.unwrap_or(again);
    for member in group.others(table.id).filter(|member| member.receives()) {
        let Some(receiver) = table_of(engine, member, &table.name) else { continue };
        if receiver.is_joining() && !peers::are_told(engine, table) {
            continue;
        }
        let pair = Pair { sender: table, receiver: &receiver };
        let sent = send_some(engine, pair, now_ms).await;
        let measured = backlog::step(engine, pair, now_ms).await;
        engine.shipping().note_fault(pair.way().tables(), sent.as_ref().and(measured.as_ref()).err());
        wake = wake.earlier(sent.unwrap_or(again)).earlier(measured.unwrap_or(again));
    }
    for member in table.remote.members.iter().filter(|member| member.receives()) {
        let way = Way { sender: table.id, receiver: member.table() };
        let measured = backlog::step_of_remote(engine, (table, way), now_ms).await;
        engine.shipping().note_fault(way.tables(), measured.as_ref().err());
        wake = wake.earlier(measured.unwrap_or(again));
    }
    wake = wake.earlier(members::step(engine, table, now_ms).await.unwrap_or(again));
    wake = wake.earlier(tombstones::step(engine, table, now_ms).await.unwrap_or(again));
    wake = wake.earlier(verify::begin_after_loss(engine, table, now_ms).await.unwrap_or(again));
    wake = wake.earlier(verify::begin_due(engine, table, now_ms).await.unwrap_or(again));
    let look_ms = match (engine.is_shared(), table.is_group_changing()) {
        (true, _) => Some(SHARED_LOOK_MS),
        (false, true) => Some(LOOK_MS),
        (false, false) => None,
    };
    wake.earlier(NextWake { at_ms: look_ms.map(|look_ms| now_ms.saturating_add(look_ms)) })
}

/// Sends some pieces to a replica; says when there is more to be sent.
async fn send_some<S: Store>(engine: &Engine<S>, pair: Pair<'_>, now_ms: u64) -> Result<NextWake, Error> {
    for _ in 0..PIECES_MAX {
        match send(engine, pair, now_ms).await? {
            Piece::More => {}
            // Other rules of the simulation are a reason to look.
            Piece::End | Piece::Held => return Ok(NextWake::default()),
            Piece::At(at_ms) => return Ok(NextWake { at_ms: Some(at_ms) }),
        }
    }
    Ok(NextWake { at_ms: Some(now_ms) })
}

/// The table of a member, as this process knows it.
fn table_of<S: Store>(engine: &Engine<S>, member: &Member, name: &str) -> Option<Arc<Table>> {
    let namespace = Namespace {
        account: AccountId::from(member.account.as_str()),
        region: Region::stored(member.region.as_str()),
    };
    engine.catalogue().find(&namespace, name).filter(|table| table.id == member.table)
}

impl<S: Store> Engine<S> {
    /// Sends the changes that were noted to replicas, as [`Engine::step`] does among other work; says when
    /// that has more to do.
    pub async fn replicate(&self, now_ms: u64) -> NextWake {
        let mut wake = NextWake::default();
        let noted = self.shipping().noted_tables().into_iter().filter(|id| self.owns(*id));
        for table in noted.filter_map(|id| self.catalogue().with_id(id)) {
            wake = wake.earlier(step(self, &table, now_ms).await);
        }
        wake
    }

    /// Waits until a table has changes for its replicas, for those who call [`Engine::replicate`].
    pub async fn replication_wanted(&self) {
        self.shipping().wanted().await;
    }
}
