//! Messages of other servers that own members of groups: who may send which, and what is done.
//!
//! How messages arrive is the server's; what they mean for rows is `replication::peers`, for tables
//! `tables::replicas::admit`.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use crate::catalogue::{RemoteMember, Table, remote_table};
use crate::replication::peers::{
    Answer, Ends, Message, PeerLane, PeerNotice, RefusalKind, answer_places, decode, encode, receive,
    remove_remote, step, take_state, tell_again,
};
use crate::replication::{floor_of, open_to, verify_answer, verify_in_lane};
use crate::scaling::remote_answer as scaling;
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::support::wake::NextWake;
use crate::tables::replicas::{admit, take_overrides, take_settings};

/// Another server whose message is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCaller {
    /// The account whose tables it may reach.
    pub account: AccountId,
    /// The regions that it owns.
    pub regions: Vec<String>,
}

impl PeerCaller {
    fn owns(&self, region: &str) -> bool {
        self.regions.iter().any(|own| own == region)
    }
}

/// How far the server of a region is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerFigures {
    /// The region.
    pub region: String,
    /// Whether it answered last.
    pub is_reached: bool,
    /// Bytes of logs that wait for its members, as last measured.
    pub backlog_bytes: u64,
    /// Items and deletions that its members were sent since the server started.
    pub sent: u64,
}

/// The answer to a message of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerReply {
    /// In its frame.
    pub frame: Vec<u8>,
    /// Why it is refused, for the log.
    pub refusal: Option<String>,
}

impl<S: Store> Engine<S> {
    /// Does what is due for the members in a region of another server: they learn of their groups, and are
    /// sent changes. It is to be called again at the time that it gives, and when
    /// [`peer_changes`](Self::peer_changes) has changed; by one caller in each lane.
    pub async fn peer_step(&self, region: &str, lane: PeerLane, now_ms: u64) -> (NextWake, Vec<PeerNotice>) {
        let (wake, notices) = step(self, (region, lane), now_ms).await;
        // Clients begin one at any server over a shared store, which then does it.
        let verified = verify_in_lane(self, region, |table| lane.has(table), now_ms).await;
        (wake.earlier(verified), notices)
    }

    /// Changes whenever there may be something for members on other servers.
    pub fn peer_changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.shipping().follow()
    }

    /// Whether another server owns a region.
    pub fn is_of_peer(&self, region: &Region) -> bool {
        self.peers().owns(region.as_str())
    }

    /// How far the servers of other regions are reached.
    pub fn peer_figures(&self) -> Vec<PeerFigures> {
        let tables = self.catalogue().all();
        let regions = self.peers().regions().into_iter();
        let figures = regions.map(|region| {
            let members =
                tables.iter().filter_map(|table| Some((table.id, table.remote_in(&region)?.table())));
            let ways: Vec<_> = members.collect();
            let bytes = |way: &(_, _)| self.shipping().backlogs().bytes(*way);
            PeerFigures {
                is_reached: self.peering().region_retry_ms(&region) == 0,
                backlog_bytes: ways.iter().map(bytes).sum(),
                sent: ways.iter().map(|way| self.shipping().figures(*way).sent).sum(),
                region,
            }
        });
        figures.collect()
    }

    /// Answers a message of another server.
    pub async fn answer_peer(&self, caller: &PeerCaller, frame: &[u8]) -> PeerReply {
        let answer = match decode::<Message>(frame) {
            Ok(message) => answer(self, caller, message).await,
            Err(fault) => Answer::Refused { kind: RefusalKind::Invalid, text: fault.text() },
        };
        let refusal = match &answer {
            Answer::Refused { text, .. } => Some(text.clone()),
            Answer::NoPeer { region, .. } => Some(messages::not_of_peer(region)),
            _ => None,
        };
        PeerReply { frame: encode(&answer), refusal }
    }
}

async fn answer<S: Store>(engine: &Engine<S>, caller: &PeerCaller, message: Message) -> Answer {
    let (name, from, to) = message.about();
    if !caller.owns(from) {
        return no_peer(engine, from);
    }
    let done = match check(engine, (name, from, to)) {
        Ok(()) => execute(engine, caller, message).await,
        Err(error) => Err(Error { message: messages::at_server(&error.message, to), ..error }),
    };
    done.unwrap_or_else(|error| match error.kind {
        ErrorKind::ResourceNotFound => Answer::NoMember,
        kind => Answer::Refused { kind: RefusalKind::of(kind), text: error.message },
    })
}

/// Says that the sender does not stand for a region.
fn no_peer<S: Store>(engine: &Engine<S>, region: &str) -> Answer {
    Answer::NoPeer { region: region.to_owned(), has_other_key: engine.peers().owns(region) }
}

/// Checks that the receiver's region is here, and that the table is one of those that both servers share.
fn check<S: Store>(engine: &Engine<S>, (name, from, to): (&str, &str, &str)) -> Result<(), Error> {
    if engine.peers().owns(to) {
        return Err(Error::validation(messages::not_of_this_server(to)));
    }
    if !engine.peers().admits(from, name) {
        return Err(Error::validation(messages::not_among_tables(name, from)));
    }
    Ok(())
}

async fn execute<S: Store>(
    engine: &Engine<S>,
    caller: &PeerCaller,
    message: Message,
) -> Result<Answer, Error> {
    let account = &caller.account;
    let find = |ends: &Ends| member(engine, account, ends);
    match message {
        Message::Check { name, to_region, .. } => {
            let target = Namespace { account: account.clone(), region: Region::stored(&to_region) };
            admit::check(engine, &target, &name)?;
        }
        Message::Join(joiner) => admit::join(engine, account, &joiner).await?,
        Message::State { ends, state } => {
            let table = find(&ends).or_else(|| forgotten(engine, account, &ends));
            let Some(table) = table else { return Ok(Answer::NoMember) };
            let way = (table.id, remote_table(&ends.from));
            engine.peering().change(way, |contact| contact.names.clone_from(&state.filled));
            if !take_state(engine, (&table, &state), |region| caller.owns(region)).await? {
                return Ok(Answer::Later);
            }
            // The rest is taken: the sender says it again until its member is known.
            let stays = state.own.iter().filter(|view| view.stays());
            if let Some(unknown) = stays.map(|view| &view.region).find(|region| !caller.owns(region)) {
                return Ok(no_peer(engine, unknown));
            }
        }
        Message::Knows { name, of_sender, of_others, .. } => {
            if let Some(unknown) = of_sender.iter().find(|region| !caller.owns(region)) {
                return Ok(no_peer(engine, unknown));
            }
            if let Some(unknown) = of_others.iter().find(|region| !engine.peers().owns(region)) {
                return Ok(no_peer(engine, unknown));
            }
            let mut all = of_sender.iter().chain(&of_others);
            if let Some(region) = all.find(|region| !engine.peers().admits(region, &name)) {
                return Err(Error::validation(messages::not_among_tables(&name, region)));
            }
        }
        Message::Batch(batch) => {
            let Some(table) = find(&batch.ends) else { return Ok(Answer::NoMember) };
            return receive(engine, &table, &batch).await;
        }
        Message::Leave(ends) => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            admit::leave(engine, &table).await?;
        }
        Message::Gone(ends) => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            remove_remote(engine, &table, &ends.from).await?;
        }
        Message::Rejoin(ends) => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            open_to(engine, &table, remote_table(&ends.from)).await?;
        }
        Message::Places { ends, is_restored } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            tell_again(engine, &table, remote_table(&ends.from));
            return answer_places(engine, &table, (remote_table(&ends.from), is_restored)).await;
        }
        Message::Floor(ends) => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            let (floor, begun) = floor_of(engine, &table, engine.env().now_ms()).await?;
            return Ok(Answer::Floor { floor, begun });
        }
        Message::Scaling { ends, changes } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            return Ok(Answer::Scaling(scaling::change(engine, &table, &changes).await?));
        }
        Message::Override { ends, overrides, record } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            take_overrides(engine, &table, (&overrides, &record)).await?;
        }
        Message::Compare(comparison) => {
            let Some(table) = find(&comparison.ends) else { return Ok(Answer::NoMember) };
            return verify_answer::compare(engine, &table, &comparison).await;
        }
        Message::Look(look) => {
            let Some(table) = find(&look.ends) else { return Ok(Answer::NoMember) };
            return verify_answer::look(engine, &table, &look).await;
        }
        Message::Fetch { ends, within } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            return verify_answer::row(engine, &table, &within).await;
        }
        Message::Repair { ends, repair } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            verify_answer::repair(engine, &table, &repair).await?;
        }
        Message::Settings { ends, names, record } => {
            let Some(table) = find(&ends) else { return Ok(Answer::NoMember) };
            let wins = is_first(&table, |region| caller.owns(region));
            if !take_settings::take(engine, &table, (&names, &record), wins).await? {
                return Ok(Answer::Later);
            }
        }
    }
    Ok(Answer::Done)
}

/// Whether a setting that both servers have changed is to be as the sender has it: its first member's region
/// is before that of the first member here. Both servers see it alike.
fn is_first(table: &Table, is_of_sender: impl Fn(&str) -> bool) -> bool {
    let there = table.remote.members.iter().map(|member| member.region.as_str());
    let there = there.filter(|region| is_of_sender(region)).min();
    let here = table.replication.iter().flat_map(|group| &group.members);
    there < here.map(|member| member.region.as_str()).min()
}

/// The member here that a message is for. It must be the very table, in the very group.
fn member<S: Store>(engine: &Engine<S>, account: &AccountId, ends: &Ends) -> Option<Arc<Table>> {
    let table = receiver(engine, account, ends)?;
    let sender = table.remote_in(&ends.from_region);
    let is_known = sender.is_some_and(|member| member.public_id == ends.from);
    is_known.then_some(table)
}

/// The same for a sender that is not known here, as when this server was restored from an older copy: another
/// member's server must name it as one of the group. A sender that was removed while it was away is named by
/// nobody.
fn forgotten<S: Store>(engine: &Engine<S>, account: &AccountId, ends: &Ends) -> Option<Arc<Table>> {
    let table = receiver(engine, account, ends)?;
    let names = |member: &RemoteMember| engine.peering().contact((table.id, member.table())).names;
    let is_named = table.remote.members.iter().any(|member| names(member).contains(&ends.from));
    is_named.then_some(table)
}

fn receiver<S: Store>(engine: &Engine<S>, account: &AccountId, ends: &Ends) -> Option<Arc<Table>> {
    let place = Namespace { account: account.clone(), region: Region::stored(&ends.to_region) };
    let table = engine.catalogue().find(&place, &ends.name)?;
    let is_group = table.replication.as_ref().is_some_and(|group| group.group == ends.group);
    (table.public_id == ends.to && is_group).then_some(table)
}
