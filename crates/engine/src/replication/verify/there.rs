//! Asking the server of a remote member what it has, and having it end a difference.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_store::Store;

use super::part::{Part, SumKey};
use crate::catalogue::{RemoteMember, Table};
use crate::replication::apply::Sent;
use crate::replication::peers::{
    Answer, Comparison, Look, Message, RefusalKind, Repair, Unsent, ask, ends, read_row, refused,
};
use crate::state::Engine;
use crate::state::verification::Held;
use crate::support::stamp::Stamp;

/// A table here, and a remote member of its group.
type Pair<'p> = (&'p Table, &'p RemoteMember);

/// What the remote member has of the keys after one, up to the end of a part of the table here; `None` if it
/// is the same. A shorter answer cuts the part.
pub(super) async fn compare<S: Store>(
    engine: &Engine<S>,
    (base, member): Pair<'_>,
    (key, after, rejoins): (&SumKey, Option<&Bytes>, bool),
    of_base: &mut Part,
) -> Result<Option<BTreeMap<Bytes, Held>>, Unsent> {
    let comparison = Comparison {
        ends: ends(base, member)?,
        key: *key,
        after: after.map(|after| after.to_vec()),
        until: of_base.until.as_ref().map(|until| until.to_vec()),
        sum: of_base.sum(key),
        rejoins,
    };
    let (until, held) = match ask(engine, &member.region, &Message::Compare(comparison)).await? {
        Answer::Equal => return Ok(None),
        Answer::Holds { until, held } => (until.map(Bytes::from), held),
        other => return Err(refused(&member.region, other)),
    };
    let until = until.or_else(|| of_base.until.clone());
    let is_after = |within: &Bytes| after.is_none_or(|after| within > after);
    if until.as_ref().is_some_and(|until| !is_after(until)) {
        return Err(Unsent::Refused("its server answered for other keys than was asked".to_owned()));
    }
    of_base.cut(until.as_ref());
    let until = of_base.until.as_ref();
    let held = held.into_iter().map(|(within, held)| (Bytes::from(within), held));
    Ok(Some(
        held.filter(|(within, _)| is_after(within) && until.is_none_or(|until| within <= until)).collect(),
    ))
}

/// What a server says of some keys, and of what it has sent.
pub(super) struct Looked {
    /// What was written there below this stamp was sent to the members that are compared.
    pub floor: Stamp,
    /// What was written there before the question is below this one.
    pub begun: Stamp,
    /// Of each key.
    pub held: Vec<Held>,
}

pub(super) async fn look<S: Store>(
    engine: &Engine<S>,
    (base, member): Pair<'_>,
    compared: &[String],
    (key, keys, rejoins): (&SumKey, &[Bytes], bool),
) -> Result<Looked, Unsent> {
    let look = Look {
        ends: ends(base, member)?,
        key: *key,
        keys: keys.iter().map(|within| within.to_vec()).collect(),
        compared: compared.to_vec(),
        rejoins,
    };
    match ask(engine, &member.region, &Message::Look(look)).await? {
        Answer::Looked { floor, begun, held } if held.len() == keys.len() => {
            Ok(Looked { floor, begun, held })
        }
        other => Err(refused(&member.region, other)),
    }
}

/// The row of a key within the table.
pub(super) async fn fetch<S: Store>(
    engine: &Engine<S>,
    (base, member): Pair<'_>,
    within: &Bytes,
) -> Result<Option<Sent>, Unsent> {
    let message = Message::Fetch { ends: ends(base, member)?, within: within.to_vec() };
    match ask(engine, &member.region, &message).await? {
        Answer::Row(row) => {
            let read = row.and_then(|row| read_row(base, &row));
            Ok(read.filter(|sent| sent.within == *within))
        }
        other => Err(refused(&member.region, other)),
    }
}

/// Has the remote member end a difference; whether it could.
pub(super) async fn repair<S: Store>(
    engine: &Engine<S>,
    (base, member): Pair<'_>,
    repair: Repair,
) -> Result<bool, Unsent> {
    let message = Message::Repair { ends: ends(base, member)?, repair };
    match ask(engine, &member.region, &message).await? {
        Answer::Done => Ok(true),
        Answer::Refused { kind: RefusalKind::Invalid | RefusalKind::Failed, .. } => Ok(false),
        other => Err(refused(&member.region, other)),
    }
}
