//! What is due for the members of other servers: they learn of the group, get changes, are filled and left.
//!
//! The server calls `step` for each region of a peer, in lanes: each lane has a batch on its way at most.

use std::sync::Arc;

use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use super::ask::{Unsent, ask, ends, refused};
use super::membership::{
    agree, all_members, change_remote, hash_of, remove_remote, state_of, with_values_of_group,
};
use super::message::{Answer, Joiner, Look, Message, RefusalKind};
use super::ship::{Shipped, ship};
use crate::catalogue::{
    Member, MemberStatus, RemoteMember, Replication, Table, TableStatus, stored_settings,
};
use crate::replication::unsent::{has_sent_all, has_unsent};
use crate::state::Engine;
use crate::state::peering::{Contact, Faults, Parting, PeerFloor};
use crate::support::layout::TableId;
use crate::support::wake::NextWake;

/// The time between two looks at a table without anything noted.
const LOOK_MS: u64 = 1_000;
/// Batches that one look sends to one member, so that other tables have their turn.
const BATCHES_MAX: u32 = 8;
/// The time between two looks at a table that leaves with its data.
const PARTING_MS: u64 = 100;
/// The time between two questions how far a server's members have sent their changes.
const FLOOR_MS: u64 = 5 * 60_000;

/// A fault that was not there at the attempt before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerNotice {
    /// The region of the member.
    pub region: String,
    /// `None` if it concerns all tables.
    pub table: Option<String>,
    /// What is wrong; `None` if the server answers again.
    pub fault: Option<String>,
}

/// The part of a server's tables that one caller works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLane {
    /// Less than `count`.
    pub number: u64,
    /// How many callers share the tables.
    pub count: u64,
}

impl PeerLane {
    /// All tables.
    pub const ALL: Self = Self { number: 0, count: 1 };

    /// Whether a table is in this part.
    pub(crate) fn has(self, table: TableId) -> bool {
        assert!(self.number < self.count, "a lane is one of those that there are");
        table.0 % self.count == self.number
    }
}

/// Does what is due for the members in a region of another server.
pub(crate) async fn step<S: Store>(
    engine: &Engine<S>,
    (region, lane): (&str, PeerLane),
    now_ms: u64,
) -> (NextWake, Vec<PeerNotice>) {
    let at = |at_ms: u64| NextWake { at_ms: Some(at_ms) };
    let mut wake = at(now_ms.saturating_add(LOOK_MS));
    let mut notices = Vec::new();
    let retry_ms = engine.peering().region_retry_ms(region);
    if now_ms < retry_ms {
        return (at(retry_ms), notices);
    }
    let tables = engine.catalogue().all().into_iter();
    for table in tables.filter(|table| lane.has(table.id) && engine.owns(table.id)) {
        let Some(member) = table.remote_in(region) else { continue };
        let way = (table.id, member.table());
        let due_ms = due_ms(engine, way);
        if now_ms < due_ms {
            wake = wake.earlier(at(due_ms));
            continue;
        }
        let noted = engine.shipping().noted(table.id);
        let notice = |fault: Option<String>, table: Option<&str>| PeerNotice {
            region: region.to_owned(),
            table: table.map(str::to_owned),
            fault,
        };
        match look(engine, &table, member, now_ms).await {
            Ok(next) => {
                engine.peering().succeeded(way);
                let next_ms = next.at_ms.unwrap_or(u64::MAX).min(now_ms.saturating_add(LOOK_MS));
                engine.peering().change(way, |contact| contact.looked = (noted, next_ms));
                wake = wake.earlier(at(next_ms));
            }
            Err(Unsent::Silent(fault)) => {
                if engine.peering().region_failed(region, &fault.0, now_ms) {
                    notices.push(notice(Some(fault.0), None));
                }
                return (at(engine.peering().region_retry_ms(region)), notices);
            }
            Err(unsent @ (Unsent::NoMember | Unsent::NoPeer(_))) if is_over(&table, &unsent) => {
                let end = |contact: &mut Contact| (contact.knows_of_end, contact.is_unknown) = (true, true);
                engine.peering().change(way, end);
                engine.shipping().note(table.id);
            }
            Err(unsent @ (Unsent::Refused(_) | Unsent::NoMember | Unsent::NoPeer(_))) => {
                let text = unsent.text().to_owned();
                if let Some(speaker) = speaker(engine, &table).filter(|_| matches!(unsent, Unsent::NoMember))
                {
                    // It has an older state than the one that it was told of: it hears of it again.
                    let way = (speaker, member.table());
                    engine.peering().change(way, |contact| contact.told = None);
                    engine.shipping().note(speaker);
                }
                if engine.peering().failed(way, &text, now_ms) {
                    notices.push(notice(Some(text), Some(&table.name)));
                }
                wake = wake.earlier(at(engine.peering().retry_ms(way)));
            }
            Err(Unsent::Failed(error)) => {
                engine.peering().failed(way, &error.message, now_ms);
                wake = wake.earlier(at(engine.peering().retry_ms(way)));
            }
        }
        if engine.peering().region_answered(region) {
            notices.push(notice(None, None));
        }
    }
    (wake, notices)
}

/// Whether a table that leaves is none to the server of a member: it cannot be told of the end, and need not
/// be. Without a `[[peer]]` there it may still be listed; other members here then have its writes.
fn is_over(table: &Table, unsent: &Unsent) -> bool {
    let has_others = || table.replicas().any(Member::receives);
    table.is_leaving() && (matches!(unsent, Unsent::NoMember) || has_others())
}

/// When a member is looked at: at once if something was noted since the last look, unless it was refused.
fn due_ms<S: Store>(engine: &Engine<S>, way: (TableId, TableId)) -> u64 {
    let retry_ms = engine.peering().retry_ms(way);
    let (looked, next_ms) = engine.peering().contact(way).looked;
    let is_noted = engine.shipping().noted(way.0) != looked;
    if is_noted { retry_ms } else { retry_ms.max(next_ms) }
}

async fn look<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    member: &RemoteMember,
    now_ms: u64,
) -> Result<NextWake, Unsent> {
    let now = NextWake { at_ms: Some(now_ms) };
    let is_source = member.source.as_ref() == Some(&table.public_id);
    if !member.is_made {
        return if is_source && are_others_told(engine, table, member) {
            make(engine, table, member).await.map(|()| now)
        } else {
            Ok(NextWake::default())
        };
    }
    tell(engine, table, member).await?;
    let has_end = table.is_leaving() || table.is_disassociating();
    if has_end && engine.peering().contact((table.id, member.table())).knows_of_end {
        return Ok(NextWake::default());
    }
    if member.status == MemberStatus::Creating && is_source && !are_others_told(engine, table, member) {
        return Ok(NextWake::default());
    }
    if table.is_disassociating() {
        return part(engine, table, member, now_ms).await;
    }
    let shipped = ship_some(engine, table, member).await?;
    let held = match shipped {
        Shipped::More => return Ok(now),
        Shipped::Held(at_ms) => Some(NextWake { at_ms }),
        Shipped::All => None,
    };
    // The other server forgets it for all of its members, so all of them have its writes by then.
    if table.is_leaving() && now_ms >= table.status_until_ms && !has_unsent(engine, table).await? {
        say_gone(engine, table, member).await?;
    }
    if is_source && member.status == MemberStatus::Creating {
        if let Some(wake) = held {
            return Ok(wake);
        }
        if now_ms < member.until_ms {
            return Ok(NextWake { at_ms: Some(member.until_ms) });
        }
        let activate = |member: &mut RemoteMember| member.status = MemberStatus::Active;
        change_remote(engine, table, &member.public_id, activate).await?;
        return Ok(now);
    }
    share_settings(engine, table, member).await?;
    ask_floor(engine, table, member, now_ms).await?;
    Ok(held.unwrap_or_default())
}

/// Has the table of a new member made by its server. If the server refuses, there is no such member.
async fn make<S: Store>(engine: &Engine<S>, table: &Arc<Table>, member: &RemoteMember) -> Result<(), Unsent> {
    let mut members = all_members(engine, table);
    members.retain(|view| view.public_id != member.public_id);
    let source = stored_settings(&with_values_of_group(engine, table));
    let joiner = Joiner { ends: ends(table, member)?, source, overrides: member.overrides.clone(), members };
    match ask(engine, &member.region, &Message::Join(Box::new(joiner))).await? {
        Answer::Done => {
            let made = |member: &mut RemoteMember| member.is_made = true;
            Ok(change_remote(engine, table, &member.public_id, made).await?)
        }
        Answer::Refused { kind: RefusalKind::Failed, text } => Err(Unsent::Refused(text)),
        Answer::Refused { text, .. } => {
            remove_remote(engine, table, &member.public_id).await?;
            Err(Unsent::Refused(text))
        }
        other => Err(refused(&member.region, other)),
    }
}

/// Tells the server of a member of the group, if it does not know.
async fn tell<S: Store>(engine: &Engine<S>, table: &Table, member: &RemoteMember) -> Result<(), Unsent> {
    let way = (table.id, member.table());
    if speaker(engine, table) != Some(table.id) {
        return Ok(());
    }
    let state = state_of(engine, table);
    let hash = hash_of(&state);
    let now_ms = engine.env().now_ms();
    if engine.peering().contact(way).told == Some(hash) || now_ms < engine.peering().telling_ms(way) {
        return Ok(());
    }
    match ask(engine, &member.region, &Message::State { ends: ends(table, member)?, state }).await? {
        Answer::Done => {
            engine.peering().change(way, |contact| {
                (contact.told, contact.telling) = (Some(hash), Faults::default());
            });
            // Newcomers that have waited for it are filled.
            table.replication.iter().flat_map(Replication::tables).for_each(|id| engine.shipping().note(id));
            Ok(())
        }
        // It has taken the rest. Changes go on, and it hears of the group again until it knows all members.
        Answer::NoPeer { region, has_other_key } if region != table.region => {
            let text = messages::no_peer_there(&member.region, &region, has_other_key);
            engine.peering().telling_failed(way, &text, now_ms);
            Ok(())
        }
        // It was told of the end before this process began, or its answer was lost.
        Answer::NoMember if table.is_leaving() || table.is_disassociating() => {
            engine.peering().change(way, |contact| contact.knows_of_end = true);
            engine.shipping().note(table.id);
            Ok(())
        }
        other => Err(refused(&member.region, other)),
    }
}

/// Does what is due for a table that leaves with its data: it gets what was written there before, and the
/// member gets what was written here; then its server forgets the table.
async fn part<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    member: &RemoteMember,
    now_ms: u64,
) -> Result<NextWake, Unsent> {
    let way = (table.id, member.table());
    let soon = NextWake { at_ms: Some(now_ms.saturating_add(PARTING_MS)) };
    let settled_ms = table.as_member().map_or(0, |own| own.until_ms);
    if now_ms < settled_ms {
        return Ok(NextWake { at_ms: Some(settled_ms) });
    }
    let look = Look {
        ends: ends(table, member)?,
        key: [0; 32],
        keys: Vec::new(),
        compared: vec![table.public_id.clone()],
        rejoins: true,
    };
    let (floor, begun) = match ask(engine, &member.region, &Message::Look(look)).await? {
        Answer::Looked { floor, begun, .. } => (floor, begun),
        // It has forgotten the table, and the answer was lost.
        Answer::NoMember => {
            let end = |contact: &mut Contact| (contact.knows_of_end, contact.is_unknown) = (true, true);
            engine.peering().change(way, end);
            engine.shipping().note(table.id);
            return Ok(NextWake::default());
        }
        other => return Err(refused(&member.region, other)),
    };
    let parting = match engine.peering().contact(way).parting {
        Parting::Waits(mark) if mark >= floor => Parting::Waits(mark),
        Parting::Waits(_) | Parting::Over => Parting::Over,
        Parting::Unasked => Parting::Waits(begun),
    };
    engine.peering().change(way, |contact| contact.parting = parting);
    ship_some(engine, table, member).await?;
    if parting != Parting::Over || !has_sent_all(engine, table).await? {
        return Ok(soon);
    }
    say_gone(engine, table, member).await?;
    Ok(NextWake::default())
}

/// Sends some batches to a member.
async fn ship_some<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    member: &RemoteMember,
) -> Result<Shipped, Unsent> {
    let mut shipped = Shipped::All;
    if member.receives() {
        for _ in 0..BATCHES_MAX {
            shipped = ship(engine, table, member).await?;
            if shipped != Shipped::More {
                break;
            }
        }
    }
    Ok(shipped)
}

/// Says that a table here has left, once the member has all that was written to it.
async fn say_gone<S: Store>(engine: &Engine<S>, table: &Table, member: &RemoteMember) -> Result<(), Unsent> {
    let way = (table.id, member.table());
    if engine.peering().contact(way).knows_of_end {
        return Ok(());
    }
    match ask(engine, &member.region, &Message::Gone(ends(table, member)?)).await? {
        Answer::Done | Answer::NoMember => {
            engine.peering().change(way, |contact| contact.knows_of_end = true);
            engine.shipping().note(table.id);
            Ok(())
        }
        other => Err(refused(&member.region, other)),
    }
}

/// Has a member's server take changed settings that all share. While it cannot, its changes of items go on.
async fn share_settings<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    member: &RemoteMember,
) -> Result<(), Unsent> {
    let is_settled = member.status == MemberStatus::Active && table.status == TableStatus::Active;
    let names = table.unshared_settings(&member.region);
    if !is_settled || names.is_empty() || speaker(engine, table) != Some(table.id) {
        return Ok(());
    }
    let message = Message::Settings { ends: ends(table, member)?, names, record: stored_settings(table) };
    match ask(engine, &member.region, &message).await? {
        Answer::Done => Ok(agree(engine, table, (&member.region, &table.shared_settings())).await?),
        // With an index that is being made there, or a limit: it is asked again with the next look.
        Answer::Later | Answer::Refused { .. } => Ok(()),
        other => Err(refused(&member.region, other)),
    }
}

/// Learns how far a member's server has sent its changes: deletions are forgotten after that.
async fn ask_floor<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    member: &RemoteMember,
    now_ms: u64,
) -> Result<(), Unsent> {
    let way = (table.id, member.table());
    let last_ms = engine.peering().contact(way).floor.map_or(0, |floor| floor.at_ms);
    if speaker(engine, table) != Some(table.id) || (last_ms > 0 && now_ms < last_ms.saturating_add(FLOOR_MS))
    {
        return Ok(());
    }
    match ask(engine, &member.region, &Message::Floor(ends(table, member)?)).await? {
        Answer::Floor { floor, begun } => {
            let floor = PeerFloor { floor, begun, at_ms: now_ms };
            engine.peering().change(way, |contact| contact.floor = Some(floor));
            Ok(())
        }
        other => Err(refused(&member.region, other)),
    }
}

/// Tells a remote member of the group once more: its server has begun anew, perhaps from an older copy.
pub(crate) fn tell_again<S: Store>(engine: &Engine<S>, table: &Table, remote: TableId) {
    if let Some(speaker) = speaker(engine, table) {
        engine.peering().change((speaker, remote), |contact| contact.told = None);
        engine.shipping().note(speaker);
    }
}

/// The table that speaks for all of its group on this server. Where other processes work on some of them,
/// each speaks for itself: what servers know is in the memory of one process.
pub(crate) fn speaker<S: Store>(engine: &Engine<S>, table: &Table) -> Option<TableId> {
    if engine.is_shared() {
        return Some(table.id);
    }
    table.replication.as_ref().and_then(|group| group.tables().into_iter().min())
}

/// Whether the servers of all remote members know the group as it is.
pub(crate) fn are_told<S: Store>(engine: &Engine<S>, table: &Table) -> bool {
    are_all_told(engine, table, |_| true)
}

fn are_others_told<S: Store>(engine: &Engine<S>, table: &Table, newcomer: &RemoteMember) -> bool {
    are_all_told(engine, table, |member| member.public_id != newcomer.public_id)
}

fn are_all_told<S: Store>(
    engine: &Engine<S>,
    table: &Table,
    is_meant: impl Fn(&RemoteMember) -> bool,
) -> bool {
    let meant = table.remote.members.iter().filter(|member| member.is_made && is_meant(member));
    let mut reached = meant.filter(|member| engine.peers().owns(&member.region)).peekable();
    let (Some(_), Some(speaker)) = (reached.peek(), speaker(engine, table)) else { return true };
    let hash = hash_of(&state_of(engine, table));
    reached.all(|member| engine.peering().contact((speaker, member.table())).told == Some(hash))
}

/// Whether some server does not know yet that a table here has left.
pub(crate) fn must_tell_of_end<S: Store>(engine: &Engine<S>, table: &Table) -> bool {
    let mut reached = table.remote.members.iter().filter(|member| engine.peers().owns(&member.region));
    reached.any(|member| !engine.peering().contact((table.id, member.table())).knows_of_end)
}
