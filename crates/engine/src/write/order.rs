//! The stamp of a group's commit, and the undo rows and versions that carry it.
//!
//! A group has a stamp if one of its tables keeps history or has replicas. It is drawn after the transaction
//! has begun, and anew at each try, so it is above the stamps of everything that the group has read:
//!
//! - In a store of one process because stamps never fall, and those of earlier commits were drawn before.
//! - In a shared store because each change of an item of a table with history leaves its stamp in a row of
//!   the item, which later writers read in the round trip in which they read the item. The guard of the
//!   tables also keeps the row that says that the process has joined (`background::stamp_rows`).
//!
//! The version of a replicated item is read in the same round trip.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::response::StreamIdentity;
use keywright_store::{CommitError, CommitVersion, Store, Transaction};

use crate::catalogue::Guarded;
use crate::history::bound;
use crate::history::rows::{self, Author, item_stamp_key};
use crate::state::Engine;
use crate::state::stamps::InFlight;
use crate::support::layout::{self, within_table};
use crate::support::stamp::Stamp;
use crate::write::change::{Action, Change, Outcome};
use crate::write::version_rows::{StoredVersion, version_key};
use crate::write::versions::{NewVersion, Versioning, is_versioned};

/// The order of a group's commit in time.
pub(super) struct Order {
    /// The commit's stamp is not below this one; `None`: no table of the group has history or replicas.
    least: Option<Stamp>,
    /// The version of each action's item; empty if no table of the group has replicas.
    versions: Vec<Option<StoredVersion>>,
}

/// The row of this process that a group's commit has to find and keep, if the commit has a stamp in a shared
/// store.
pub(super) fn joined_key<S: Store>(engine: &Engine<S>, actions: &[Action<'_>]) -> Option<Bytes> {
    (engine.stamps().are_shared() && actions.iter().any(is_ordered)).then(|| engine.joined_key())
}

/// Adds the rows that a group protects because its commit is ordered in time.
pub(super) fn protect<S: Store>(engine: &Engine<S>, actions: &[Action<'_>], keys: &mut Vec<Bytes>) {
    if !actions.iter().any(is_ordered) {
        return;
    }
    if engine.stamps().are_shared() {
        keys.extend(with_history(actions).map(|action| item_stamp_key(&action.key.row)));
    }
    let versioned = actions.iter().filter(|action| is_versioned(action));
    keys.extend(versioned.map(|action| version_key(action.table.id, within_table(&action.key.row))));
}

/// Whether the commit that writes the action's item has a stamp.
fn is_ordered(action: &Action<'_>) -> bool {
    action.table.history.is_on() || action.table.replication.is_some()
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
    ) -> Result<Self, Error> {
        let ordered = actions.iter().filter(|action| is_ordered(action));
        // It holds also after a restart with a clock that was set back.
        let Some(floor) = ordered.map(|action| action.table.history.floor()).max() else {
            return Ok(Self { least: None, versions: Vec::new() });
        };
        let mut least = floor;
        if engine.stamps().are_shared() {
            let stamps = rows.by_ref().take(with_history(actions).count());
            let greatest = stamps.flatten().filter_map(|row| rows::read_item_stamp(&row)).max();
            least = greatest.map_or(floor, |greatest| greatest.next().max(floor));
        }
        let versions = read_versions(actions, rows)?;
        Ok(Self { least: Some(least), versions })
    }

    /// The version of the item of the action at this place.
    pub(super) fn version(&self, place: usize) -> Option<&StoredVersion> {
        self.versions.get(place).and_then(Option::as_ref)
    }

    /// The versions that the items of these actions get, by their places; none without a stamp.
    pub(super) fn new_versions<S: Store>(
        &mut self,
        engine: &Engine<S>,
        (actions, outcomes): (&[Action<'_>], &[Outcome]),
        (stamp, identity): (Option<Stamp>, StreamIdentity),
    ) -> Vec<Option<NewVersion>> {
        let Some(at) = stamp else { return Vec::new() };
        let before = std::mem::take(&mut self.versions);
        let of = |((action, outcome), before): ((&Action<'_>, &Outcome), _)| {
            let shown = at.shifted(engine.links().skew_ms(&action.table.region, at.ms()));
            let versioning = Versioning { identity, at, shown, is_above: engine.links().is_above() };
            NewVersion::of((action, &outcome.change), before, versioning).filter(|_| is_versioned(action))
        };
        actions.iter().zip(outcomes).zip(before).map(of).collect()
    }

    /// Draws the commit's stamp, if it has one.
    pub(super) fn draw<'e, S: Store>(&self, engine: &'e Engine<S>, now_ms: u64) -> Option<InFlight<'e>> {
        self.least.map(|least| engine.stamps().draw(now_ms, least))
    }
}

/// The stored versions of the items of these actions, from the rows that `protect` added last.
fn read_versions(
    actions: &[Action<'_>],
    mut rows: impl Iterator<Item = Option<Bytes>>,
) -> Result<Vec<Option<StoredVersion>>, Error> {
    if !actions.iter().any(is_versioned) {
        return Ok(Vec::new());
    }
    let read = |action| {
        // The others have no row here.
        let row = if is_versioned(action) { rows.next().flatten() } else { None };
        row.as_ref().map(StoredVersion::decode).transpose()
    };
    actions.iter().map(read).collect()
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
