//! The stamp of a group's commit, and the undo rows that carry it.
//!
//! A group has a stamp if one of its tables keeps history. It is drawn after the transaction has begun, and
//! anew at each try, so it is above the stamps of everything that the group has read:
//!
//! - In a store of one process because stamps never fall, and those of earlier commits were drawn before.
//! - In a shared store because each change of an item leaves its stamp in a row of the item, which later
//!   writers read in the round trip in which they read the item. They also protect the row that says that
//!   their process has joined (`background::stamp_rows`).

use bytes::Bytes;
use keywright_semantics::response::StreamIdentity;
use keywright_store::{CommitError, CommitVersion, Store, Transaction};

use crate::catalogue::Guarded;
use crate::history::bound;
use crate::history::rows::{self, Author, item_stamp_key};
use crate::state::Engine;
use crate::state::stamps::InFlight;
use crate::support::layout;
use crate::support::stamp::Stamp;
use crate::write::change::{Action, Change};

/// The order of a group's commit in time.
pub(super) enum Order {
    /// None is kept: no table of the group has history.
    None,
    /// The commit's stamp is not below this one.
    From(Stamp),
}

/// This process's stamps do not count in the shared store at the moment: it has to join again first.
pub(super) struct NotJoined;

/// Adds the rows that a group with history protects in a shared store.
pub(super) fn protect<S: Store>(engine: &Engine<S>, actions: &[Action<'_>], keys: &mut Vec<Bytes>) {
    if !engine.stamps().are_shared() || !keep_history(actions) {
        return;
    }
    keys.push(engine.joined_key());
    keys.extend(with_history(actions).map(|action| item_stamp_key(&action.key.row)));
}

fn keep_history(actions: &[Action<'_>]) -> bool {
    with_history(actions).next().is_some()
}

fn with_history<'a, 'r>(actions: &'a [Action<'r>]) -> impl Iterator<Item = &'a Action<'r>> {
    actions.iter().filter(|action| action.table.history.is_on())
}

impl Order {
    /// The order of a group whose protected rows are these, beginning with what `protect` added.
    pub(super) fn of<S: Store>(
        engine: &Engine<S>,
        actions: &[Action<'_>],
        mut rows: impl Iterator<Item = Option<Bytes>>,
    ) -> Result<Self, NotJoined> {
        // It holds also after a restart with a clock that was set back.
        let Some(floor) = with_history(actions).map(|action| action.table.history.floor()).max() else {
            return Ok(Self::None);
        };
        if !engine.stamps().are_shared() {
            return Ok(Self::From(floor));
        }
        if rows.next().flatten().is_none() {
            return Err(NotJoined);
        }
        let last = rows.flatten().filter_map(|row| rows::read_item_stamp(&row)).max();
        Ok(Self::From(last.map_or(floor, |last| last.next().max(floor))))
    }

    /// Draws the commit's stamp, if it has one.
    pub(super) fn draw<'e, S: Store>(&self, engine: &'e Engine<S>, now_ms: u64) -> Option<InFlight<'e>> {
        match self {
            Self::None => None,
            Self::From(least) => Some(engine.stamps().draw(now_ms, *least)),
        }
    }
}

/// Buffers the undo row of a change, if its table keeps history.
pub(super) fn stage<S: Store>(
    engine: &Engine<S>,
    txn: &mut S::Transaction,
    (action, change): (&Action<'_>, &Change),
    (stamp, identity): (Stamp, StreamIdentity),
) {
    let Some(generation) = action.table.history.generation() else { return };
    let within = layout::within_table(&action.key.row);
    let author = match identity {
        StreamIdentity::Caller => Author::Client,
        StreamIdentity::TimeToLive => Author::TimeToLive,
    };
    let key = rows::key((action.table.id, generation), within, stamp, author);
    let before = change.old.as_ref().map_or_else(Bytes::new, |item| item.as_bytes().clone());
    txn.put(key, before);
    if engine.stamps().are_shared() {
        txn.put(item_stamp_key(&action.key.row), rows::item_stamp(stamp));
    }
}

/// Commits with a stamp, and with the raise of the stamps' bound if it is due.
pub(super) async fn commit<S: Store>(
    engine: &Engine<S>,
    mut txn: Guarded<S::Transaction>,
    drawn: InFlight<'_>,
    now_ms: u64,
) -> Result<CommitVersion, CommitError> {
    let raise = engine.stamps().below_bound(drawn.stamp(), now_ms).await;
    if let Some(raise) = &raise {
        txn.put(bound::own_key(engine), bound::encode(raise.bound()));
    }
    let committed = drawn.commit(txn.commit()).await;
    if let Some(raise) = raise.filter(|_| committed.is_ok()) {
        raise.done();
    }
    committed
}
