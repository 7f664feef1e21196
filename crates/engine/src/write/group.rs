//! The write core: a group of actions, evaluated and committed as one transaction of the store.
//!
//! A single-item write is a group of one action; BatchWriteItem and TransactWriteItems have larger groups.
//! The group has the guard of its tables, and protects the items, the sizes of their collections and the
//! row of its token or job. It is therefore applied to the schema and the items that it was evaluated on, or
//! not at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::response::StreamIdentity;
use keywright_semantics::throttle::Throttled;
use keywright_store::{CommitError, Snapshot, Store, Transaction};

use crate::catalogue::{Begun, Guarded, Table, TableGuard};
use crate::state::Engine;
use crate::state::stamps::InFlight;
use crate::state::stats::{Committed, Counted, Tally};
use crate::support::env::Env;
use crate::support::fault;
use crate::support::image_memory::Room;
use crate::support::lane::Pace;
use crate::support::latch::Holder;
use crate::support::layout::{Space, TableId};
use crate::support::stamp::Stamp;
use crate::write::append::{self, Author};
use crate::write::change::{Action, Change, Effect, Outcome, Refusal, evaluate, image_bytes};
use crate::write::charges;
use crate::write::collections;
use crate::write::expiry_rows;
use crate::write::order::{self, Order};
use crate::write::own_row::{OwnRow, PendingRow, Seen};
use crate::write::tokens::TokenRow;
use crate::write::versions::NewVersion;

/// Tries of a group before it ends as a conflict. Behind the latches the first try succeeds.
const WRITE_ATTEMPTS_MAX: usize = 16;
/// The same where other processes write the items too. Each has at most one writer of an item at work, and
/// one of them succeeds.
const SHARED_WRITE_ATTEMPTS_MAX: usize = 100;
/// How long a group is tried again after its first try, which may be late because the process was frozen. A
/// try may last as long as the store waits for an answer.
const TRYING_MS_MAX: u64 = 30_000;
/// Conflicts with other processes after which the next try comes at once. The pauses after further ones
/// double up to the longest, and a random part of up to half is left out, so that writers do not meet again.
const CONFLICTS_AT_ONCE: u32 = 2;
const PAUSE_MS_FIRST: u64 = 2;
const PAUSE_MS_MAX: u64 = 64;

/// Steps of binding one byte of an item: it is checked, encoded, and projected to the indexes.
const BINDING_STEPS_PER_BYTE: u64 = 8;

/// The steps of binding items of this size.
pub(crate) fn binding_steps(item_bytes: usize) -> u64 {
    u64::try_from(item_bytes).unwrap_or(u64::MAX).saturating_mul(BINDING_STEPS_PER_BYTE)
}

/// The kind of a group: it decides which groups wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Writes outside of transactions, alone or in a batch.
    Single,
    /// Deletes of expired items by the service itself.
    Expiry,
    /// Items of another replica. No limit holds for them: they were acknowledged there.
    Replicated,
    /// A transaction. It does not wait for another transaction on one of its items, but ends as a conflict.
    Transaction,
}

impl GroupKind {
    const fn holder(self) -> Holder {
        match self {
            Self::Single | Self::Expiry | Self::Replicated => Holder::Single,
            Self::Transaction => Holder::Transaction,
        }
    }

    const fn identity(self) -> StreamIdentity {
        match self {
            Self::Single | Self::Transaction | Self::Replicated => StreamIdentity::Caller,
            Self::Expiry => StreamIdentity::TimeToLive,
        }
    }
}

/// The end of a group. What is rare and large is boxed, as each write moves it several times.
pub(crate) enum GroupEnd {
    Written(Vec<Outcome>),
    /// At least one action was refused; nothing was written.
    Refused(Vec<Option<Refusal>>),
    /// The token was used before; nothing was written.
    Replayed(Box<TokenRow>),
    /// Other writers are at work on the items of these actions; nothing was written.
    Conflict(Vec<bool>),
    /// The group is larger than a commit may be; nothing was written.
    TooLarge,
    /// Limits of throughput refuse these actions; nothing was written.
    Throttled(Vec<Option<Throttled>>),
    /// The job that the group is a part of is not where the group continues it; nothing was written.
    Overtaken,
}

/// One try of a group.
enum Attempt {
    Ended(GroupEnd),
    /// This table changed since it was looked up.
    Stale(TableId),
    /// Another commit came first. These are the items that this try read.
    Conflict(Vec<Option<EncodedItem>>),
    /// The images of its items need this many bytes, which are not free now.
    NoRoom(usize),
    /// The outcome of the commit is unknown. This is what it would write.
    Unknown(Box<Pending>),
}

/// The writes of a commit.
struct Pending {
    outcomes: Vec<Outcome>,
    own: Option<PendingRow>,
    /// The commit's stamp, if it has one.
    stamp: Option<Stamp>,
}

/// Binds, evaluates and commits a group; after a conflict it tries again. Binding is repeated because a
/// conflict may mean a changed schema.
///
/// `bind_steps` are the steps of binding; 0 if these are few.
///
/// What few writes wait for is boxed: the future of each write would be as large.
pub(crate) async fn run<'r, S: Store>(
    engine: &Engine<S>,
    kind: GroupKind,
    own: Option<&OwnRow>,
    bind_steps: u64,
    bind: impl Fn() -> Result<Vec<Action<'r>>, Error> + Send + Sync,
) -> Result<GroupEnd, Error> {
    let mut last_read = Vec::new();
    let mut pace = engine.pace();
    let mut room = Room::default();
    let attempts_max = if engine.is_shared() { SHARED_WRITE_ATTEMPTS_MAX } else { WRITE_ATTEMPTS_MAX };
    let (mut ends_ms, mut conflicts) = (None, 0);
    for _ in 0..attempts_max {
        let actions = pace.turn(bind_steps, |_| bind()).await??;
        if actions.iter().any(|action| action.table.strong.is_some()) {
            Box::pin(engine.admit_regions(actions.iter().map(|action| &*action.table))).await?;
        }
        if kind == GroupKind::Transaction {
            let at_work = |action: &Action<'_>| engine.latches().has_transaction(&action.key.row);
            let busy: Vec<bool> = actions.iter().map(at_work).collect();
            if busy.contains(&true) {
                engine.note_conflict();
                return Ok(GroupEnd::Conflict(busy));
            }
        }
        if let Err(refusals) = charges::check(engine, kind, &actions) {
            let end = GroupEnd::Throttled(refusals);
            charges::note(engine, kind, &actions, &end);
            return Ok(end);
        }
        let guard = engine.latches().acquire(latch_keys(&actions), kind.holder()).await;
        match attempt(engine, &mut pace, &mut room, kind, &actions, own).await? {
            Attempt::Ended(end) => {
                charges::note(engine, kind, &actions, &end);
                return Ok(end);
            }
            Attempt::Stale(table) => Box::pin(engine.catalogue().refresh(table)).await?,
            Attempt::Conflict(read) => {
                engine.note_conflict();
                last_read = read;
                conflicts += 1;
            }
            Attempt::NoRoom(bytes) => {
                // Not behind the latch: its next holder may be the one that has the memory.
                drop(guard);
                Box::pin(room.wait_for(&engine.config().images, bytes)).await;
                pace.check_presence()?;
                continue;
            }
            Attempt::Unknown(pending) => {
                let has_happened = Box::pin(settle(engine, &actions, &pending)).await?;
                if let Some(stamp) = pending.stamp {
                    engine.stamps().end(stamp);
                }
                if has_happened {
                    let end = GroupEnd::Written(finish(engine, pending.outcomes, Committed::Unsure));
                    charges::note(engine, kind, &actions, &end);
                    return Ok(end);
                }
            }
        }
        drop(guard);
        if engine.is_shared() {
            let now_ms = engine.env().now_ms();
            if now_ms >= *ends_ms.get_or_insert(now_ms.saturating_add(TRYING_MS_MAX)) {
                break;
            }
            if conflicts > CONFLICTS_AT_ONCE {
                engine.env().pause(pause_ms(engine.env(), conflicts - CONFLICTS_AT_ONCE)).await;
            }
        }
    }
    Ok(GroupEnd::Conflict(Box::pin(collided(engine, &bind()?, last_read)).await?))
}

/// How long the next try waits after this conflict of those that are waited after, from 1 on.
fn pause_ms(env: &dyn Env, conflict: u32) -> u64 {
    let longest = (PAUSE_MS_FIRST << (conflict - 1).min(u64::BITS / 2)).min(PAUSE_MS_MAX);
    let random = u64::try_from(env.random_u128() % u128::from(longest / 2 + 1)).unwrap_or_default();
    longest - random
}

/// The actions whose items changed since the last try read them; all actions, if none changed.
pub(crate) async fn collided<S: Store>(
    engine: &Engine<S>,
    actions: &[Action<'_>],
    last_read: Vec<Option<EncodedItem>>,
) -> Result<Vec<bool>, Error> {
    let keys: Vec<Bytes> = actions.iter().map(|action| action.key.row.clone()).collect();
    let rows = engine.store().get_many(&keys).await.map_err(|error| fault::storage(&error))?;
    let changed = |(row, read): (Option<Bytes>, Option<EncodedItem>)| {
        row.as_ref() != read.as_ref().map(EncodedItem::as_bytes)
    };
    let collided: Vec<bool> = rows.into_iter().zip(last_read).map(changed).collect();
    let is_known = collided.len() == actions.len() && collided.contains(&true);
    Ok(if is_known { collided } else { vec![true; actions.len()] })
}

/// Writers are ordered by the latches of their items, and of the sizes of their collections.
fn latch_keys<'a>(actions: &'a [Action<'_>]) -> impl Iterator<Item = &'a Bytes> {
    let rows = actions.iter().map(|action| &action.key.row);
    rows.chain(actions.iter().filter_map(|action| action.key.collection.as_ref()))
}

/// The rows that a group protects under the guard of its tables.
struct Protected {
    collections: Vec<Bytes>,
    /// All of them: items, collections, the group's own row, and those that order the commit in time.
    keys: Vec<Bytes>,
}

impl Protected {
    fn of<S: Store>(engine: &Engine<S>, actions: &[Action<'_>], own: Option<&OwnRow>) -> Self {
        let mut collections: Vec<Bytes> =
            actions.iter().filter_map(|action| action.key.collection.clone()).collect();
        collections.sort_unstable();
        collections.dedup();
        // The guard of a shared store adds the record of each table, mostly of one.
        let mut keys = Vec::with_capacity(actions.len() + collections.len() + 2);
        keys.extend(actions.iter().map(|action| action.key.row.clone()));
        keys.extend(collections.iter().cloned());
        keys.extend(own.map(|own| own.key().clone()));
        order::protect(engine, actions, &mut keys);
        Self { collections, keys }
    }
}

/// One try: read, evaluate, buffer, commit.
async fn attempt<'e, S: Store>(
    engine: &'e Engine<S>,
    pace: &mut Pace<'_>,
    room: &mut Room<'e>,
    kind: GroupKind,
    actions: &[Action<'_>],
    own: Option<&OwnRow>,
) -> Result<Attempt, Error> {
    let Protected { collections, keys } = Protected::of(engine, actions, own);
    let guard = TableGuard::of(actions.iter().map(|action| &*action.table));
    let guard = guard.with_stamp(order::joined_key(engine, actions));
    let begun = guard.begin(engine.catalogue(), keys).await.map_err(|error| fault::storage(&error))?;
    let (txn, rows) = match begun {
        Begun::Current(txn, rows) => (txn, rows),
        Begun::Changed(table) => return Ok(Attempt::Stale(table)),
    };
    let mut items = rows;
    // Mostly nothing follows the items, which takes no other list.
    let mut rows = items.split_off(actions.len()).into_iter();
    let sizes: BTreeMap<Bytes, u64> = collections
        .into_iter()
        .map(|key| (key, collections::decode(rows.next().flatten().as_ref())))
        .collect();
    let stored = own.and_then(|_| rows.next().flatten());
    let order = Order::of(engine, actions, rows)?;
    let now_ms = engine.env().now_ms();
    match own.map_or(Seen::New, |own| own.seen(stored, now_ms)) {
        Seen::New => {}
        Seen::Used(used) => return Ok(Attempt::Ended(GroupEnd::Replayed(Box::new(used)))),
        Seen::Overtaken => return Ok(Attempt::Ended(GroupEnd::Overtaken)),
    }
    let bytes = image_bytes(actions, &items);
    if !room.take(&engine.config().images, bytes) {
        return Ok(Attempt::NoRoom(bytes));
    }
    let outcomes = match evaluate_all(engine, pace, (kind, actions), (items, &order), sizes).await? {
        Ok(outcomes) => outcomes,
        Err(refusals) => return Ok(Attempt::Ended(GroupEnd::Refused(refusals))),
    };
    let charged = match charges::admit(engine, kind, actions, &outcomes) {
        Ok(charged) => charged,
        Err(refusals) => return Ok(Attempt::Ended(GroupEnd::Throttled(refusals))),
    };
    let own = own.map(|own| own.pending(&outcomes));
    let author = Author { identity: kind.identity(), now_ms };
    let attempt = commit(engine, (txn, order), actions, author, (outcomes, own)).await;
    match &attempt {
        // The charge of a commit of unknown outcome stays.
        Ok(Attempt::Ended(GroupEnd::Written(_)) | Attempt::Unknown(_)) => {}
        _ => charged.iter().for_each(|demand| engine.give_back(demand)),
    }
    attempt
}

async fn commit<S: Store>(
    engine: &Engine<S>,
    (mut txn, mut order): (Guarded<S::Transaction>, Order),
    actions: &[Action<'_>],
    author: Author,
    (outcomes, own): (Vec<Outcome>, Option<PendingRow>),
) -> Result<Attempt, Error> {
    assert_eq!(actions.len(), outcomes.len(), "every action of a group has an outcome");
    let drawn = order.draw(engine, author.now_ms);
    let pending = Pending { outcomes, own, stamp: drawn.as_ref().map(InFlight::stamp) };
    let written = (actions, pending.outcomes.as_slice());
    let versions = order.new_versions(engine, written, (pending.stamp, author.identity));
    let mut writes = false;
    for (place, (action, outcome)) in actions.iter().zip(&pending.outcomes).enumerate() {
        let version = versions.get(place).and_then(Option::as_ref);
        if stage(&mut txn, (action, outcome), version, (author, engine.env())) {
            writes = true;
            if let Some(stamp) = pending.stamp {
                order::stage(engine, &mut *txn, (action, &outcome.change), (stamp, author.identity));
            }
        }
        if let Some(version) = version {
            // Also where the item stays as it is.
            writes = true;
            if matches!(action.effect, Effect::Raise(_)) {
                append::append_version(&mut *txn, action, Some(version));
            }
            version.stage(&mut *txn, (action, &outcome.change));
        }
    }
    if let Some(own) = &pending.own {
        writes = true;
        if let Some(key) = &own.expiry_key {
            txn.put(key.clone(), Bytes::new());
        }
        txn.put(own.key.clone(), own.value.clone());
        for (key, value) in &own.others {
            txn.put(key.clone(), value.clone());
        }
    }
    // Without writes there is nothing to commit: all conditions held on the version that was read.
    if !writes {
        return Ok(Attempt::Ended(GroupEnd::Written(pending.outcomes)));
    }
    let read_at = txn.version();
    let committed = match drawn {
        None => txn.commit().await,
        Some(drawn) => Box::pin(order::commit(engine, txn, drawn, author.now_ms)).await,
    };
    match committed {
        Ok(version) => {
            assert!(version > read_at, "a commit's version is above the one it read");
            for (action, outcome) in actions.iter().zip(&pending.outcomes) {
                append::note_load(engine, action, &outcome.change, author.now_ms);
            }
            let outcomes = finish(engine, pending.outcomes, Committed::At(version));
            Ok(Attempt::Ended(GroupEnd::Written(outcomes)))
        }
        Err(CommitError::Conflict) => {
            Ok(Attempt::Conflict(pending.outcomes.into_iter().map(|outcome| outcome.change.old).collect()))
        }
        Err(CommitError::TooLarge) => Ok(Attempt::Ended(GroupEnd::TooLarge)),
        Err(CommitError::Unknown) => {
            note_changes(engine, &pending.outcomes);
            Ok(Attempt::Unknown(Box::new(pending)))
        }
        Err(CommitError::Failed(error)) => Err(fault::storage(&error)),
    }
}

/// Evaluates every action, even after one is refused: each has its own cancellation reason.
async fn evaluate_all<S: Store>(
    engine: &Engine<S>,
    pace: &mut Pace<'_>,
    (kind, actions): (GroupKind, &[Action<'_>]),
    (items, order): (Vec<Option<Bytes>>, &Order),
    mut sizes: BTreeMap<Bytes, u64>,
) -> Result<Result<Vec<Outcome>, Vec<Option<Refusal>>>, Error> {
    let limit = match kind {
        GroupKind::Single | GroupKind::Expiry | GroupKind::Transaction => {
            engine.config().item_collection_bytes_max
        }
        GroupKind::Replicated => u64::MAX,
    };
    let mut outcomes = Vec::with_capacity(actions.len());
    let mut refusals: Vec<Option<Refusal>> = Vec::new();
    for (place, (action, stored)) in actions.iter().zip(items).enumerate() {
        let old = stored.map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)?;
        let steps = action.work().steps(old.as_ref().map_or(0, EncodedItem::size_bytes));
        let version = order.version(place).map(|stored| &stored.version);
        let version = version.filter(|_| engine.links().is_compared());
        #[cfg(test)]
        let tie = engine.links().is_broken(crate::support::links::Broken::Tie);
        #[cfg(test)]
        let greatest = version.filter(|_| tie).map(crate::support::version::Version::greatest_of_its_stamp);
        #[cfg(test)]
        let version = greatest.as_ref().or(version);
        let refusal = match pace.turn(steps, |_| evaluate(action, old, version)).await? {
            Ok(change) => match grow(action, &change, &mut sizes, limit) {
                Ok(()) => {
                    outcomes.push(Outcome {
                        table: Arc::clone(&action.table),
                        change,
                        collection_bytes: None,
                    });
                    continue;
                }
                Err(refusal) => refusal,
            },
            Err(refusal) => refusal,
        };
        refusals.resize_with(actions.len(), || None);
        if let Some(slot) = refusals.get_mut(place) {
            *slot = Some(refusal);
        }
    }
    if !refusals.is_empty() {
        return Ok(Err(refusals));
    }
    for (action, outcome) in actions.iter().zip(&mut outcomes) {
        outcome.collection_bytes = action.key.collection.as_ref().and_then(|key| sizes.get(key).copied());
    }
    Ok(Ok(outcomes))
}

/// Adds a change to the size of its collection; refuses growth beyond the limit.
fn grow(
    action: &Action<'_>,
    change: &Change,
    sizes: &mut BTreeMap<Bytes, u64>,
    limit: u64,
) -> Result<(), Refusal> {
    let Some(size) = action.key.collection.as_ref().and_then(|key| sizes.get_mut(key)) else { return Ok(()) };
    let delta = change.collection_delta_bytes(&action.table);
    let grown = collections::changed(*size, delta);
    if delta > 0 && grown > limit {
        return Err(Refusal::CollectionTooLarge);
    }
    *size = grown;
    Ok(())
}

/// Buffers all rows of one action; true if there are any.
fn stage<T: Transaction>(
    txn: &mut Guarded<T>,
    (action, outcome): (&Action<'_>, &Outcome),
    version: Option<&NewVersion>,
    author: (Author, &dyn Env),
) -> bool {
    let change = &outcome.change;
    if matches!(action.effect, Effect::Check) || !change.changes_item() {
        return false;
    }
    check_change(action, outcome);
    match &change.new {
        Some(item) => txn.put(action.key.row.clone(), item.as_bytes().clone()),
        None => txn.delete(action.key.row.clone()),
    }
    for (_, index) in &change.indexes {
        if let Some(key) = &index.delete {
            txn.delete(key.clone());
        }
        if let Some(entry) = &index.put {
            txn.put(entry.key.clone(), entry.value.as_bytes().clone());
        }
    }
    if let (Some(key), Some(bytes)) = (&action.key.collection, outcome.collection_bytes) {
        match collections::encode(bytes) {
            Some(row) => txn.put(key.clone(), row),
            None => txn.delete(key.clone()),
        }
    }
    expiry_rows::stage(&mut **txn, &action.table, &action.key.row, change);
    append::append(&mut **txn, action, (change, version), author);
    true
}

/// Checks what an action is about to write.
///
/// # Panics
///
/// If a row to be written contradicts the change that was evaluated.
fn check_change(action: &Action<'_>, outcome: &Outcome) {
    let change = &outcome.change;
    assert_eq!(action.key.row.first(), Some(&Space::Items.byte()), "an item's key is in the space of items");
    let stored_bytes = change.new.as_ref().map_or(0, EncodedItem::size_bytes);
    assert!(stored_bytes <= ITEM_BYTES_MAX, "no item above the size limit is stored");
    let needs_size = action.key.collection.is_some();
    assert_eq!(outcome.collection_bytes.is_some(), needs_size, "a collection's size changes with its items");
    for (_, index) in &change.indexes {
        index.check();
    }
}

/// Notes that replicas may lack changes: they are not looked for otherwise.
fn note_changes<S: Store>(engine: &Engine<S>, outcomes: &[Outcome]) {
    for Outcome { table, change, .. } in outcomes {
        if table.replication.is_some() && change.changes_item() && change.taken.is_none() {
            engine.shipping().note(table.id);
        }
    }
}

/// Counts what was committed.
fn finish<S: Store>(engine: &Engine<S>, outcomes: Vec<Outcome>, committed: Committed) -> Vec<Outcome> {
    note_changes(engine, &outcomes);
    for Outcome { table, change, .. } in &outcomes {
        if !change.changes_item() {
            continue;
        }
        expiry_rows::note(engine, table, change);
        engine.stats().add(Counted::Items(table.id), change.item_tally(), committed);
        for (position, index) in &change.indexes {
            if let Some((_, id, _)) = table.indexes().nth(*position) {
                let tally = Tally { rows: index.entries_delta, bytes: index.bytes_delta };
                engine.stats().add(Counted::Entries(table.id, id), tally, committed);
            }
        }
    }
    outcomes
}

/// Whether this row is stored.
async fn is_stored<S: Store>(engine: &Engine<S>, own: &PendingRow) -> Result<bool, Error> {
    let stored = engine.store().get(&own.key).await.map_err(|error| fault::storage(&error))?;
    Ok(stored.as_ref() == Some(&own.value))
}

/// Tries to resolve an unknown outcome before the client gets an internal error.
const SETTLE_ATTEMPTS_MAX: usize = 8;
/// After so long none is begun. One may last as long as the store waits for an answer.
const SETTLE_MS_MAX: u64 = 20_000;

/// Resolves a commit of unknown outcome; true if it happened. The latches keep out this process's other
/// writers.
///
/// The group's own row shows it, if it has one. Without one, the items do. If they are as the commit would
/// leave them, it happened, unless another process could have left them so. If they are as before, a new
/// commit rewrites them: the unknown commit then conflicts, however late it arrives, and the group may be
/// tried again. In any other case another process wrote the items, or the table was deleted, and the outcome
/// stays unknown.
async fn settle<S: Store>(
    engine: &Engine<S>,
    actions: &[Action<'_>],
    pending: &Pending,
) -> Result<bool, Error> {
    let changed: Vec<(&Action<'_>, &Change)> = actions
        .iter()
        .zip(&pending.outcomes)
        .map(|(action, outcome)| (action, &outcome.change))
        .filter(|(action, change)| !matches!(action.effect, Effect::Check) && change.changes_item())
        .collect();
    let mut keys: Vec<Bytes> = changed.iter().map(|(action, _)| action.key.row.clone()).collect();
    keys.extend(pending.own.iter().map(|own| own.key.clone()));
    let begun_ms = engine.env().now_ms();
    for _ in 0..SETTLE_ATTEMPTS_MAX {
        if engine.env().now_ms().saturating_sub(begun_ms) >= SETTLE_MS_MAX {
            break;
        }
        let tables: Vec<Arc<Table>> =
            changed.iter().map(|(action, _)| engine.catalogue().newest(&action.table)).collect();
        let guard = TableGuard::of(tables.iter().map(|table| &**table));
        let begun = guard.begin(engine.catalogue(), keys.clone()).await;
        let (mut txn, rows) = match begun.map_err(|error| fault::storage(&error))? {
            Begun::Current(txn, rows) => (txn, rows),
            Begun::Changed(table) => {
                // The own row shows it also where the table is gone. Without one nothing does then.
                if let Some(own) = &pending.own
                    && is_stored(engine, own).await?
                {
                    return Ok(true);
                }
                engine.catalogue().refresh(table).await.map_err(|_gone| fault::internal())?;
                continue;
            }
        };
        if let Some(own) = &pending.own
            && rows.last().and_then(Option::as_ref) == Some(&own.value)
        {
            return Ok(true);
        }
        let all = |image: fn(&Change) -> &Option<EncodedItem>| {
            changed
                .iter()
                .zip(&rows)
                .all(|((_, change), row)| image(change).as_ref().map(EncodedItem::as_bytes) == row.as_ref())
        };
        if pending.own.is_none() && !engine.is_shared() && all(|change| &change.new) {
            return Ok(true);
        }
        if !all(|change| &change.old) {
            return Err(fault::internal());
        }
        for (key, row) in keys.iter().zip(rows) {
            match row {
                Some(row) => txn.put(key.clone(), row),
                None => txn.delete(key.clone()),
            }
        }
        match txn.commit().await {
            Ok(_) => return Ok(false),
            Err(CommitError::Conflict | CommitError::Unknown) => {}
            Err(CommitError::TooLarge) => return Err(fault::internal()),
            Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
        }
    }
    Err(fault::internal())
}
