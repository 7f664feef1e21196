//! Writing what a member sends at the receiver, together with the place up to which it was sent.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::schema::IndexKind;
use keywright_store::Store;

use super::clocks;
use super::pair::Pair;
use crate::bind::key::{ItemKey, stored_value};
use crate::catalogue::{Member, Table};
use crate::changes::replicated::Cursor;
use crate::state::shipping::shown;
use crate::state::{Engine, ReplicaConflict, ShippingFigures};
use crate::support::fault;
use crate::support::layout;
use crate::support::version::Version;
use crate::write::change::{Action, Effect, Incoming, Outcome, Raise};
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::index::base_hash;
use crate::write::own_row::{NewProgress, OwnRow};

/// An item that is sent, or its deletion.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// Its key within the table.
    pub within: Bytes,
    pub incoming: Incoming,
    /// The version that the sender's change replaced; `None` in a pass.
    pub replaced: Option<Version>,
}

impl Sent {
    /// The attributes that have its key.
    pub(super) fn image(&self) -> Option<&EncodedItem> {
        let deleted = self.incoming.deleted.as_ref().map(|deleted| &deleted.keys);
        self.incoming.item.as_ref().or(deleted)
    }

    /// Its version, and the one that the sender's change replaced.
    pub(super) fn versions(&self) -> (&Version, Option<&Version>) {
        (&self.incoming.version, self.replaced.as_ref())
    }

    /// The write at the receiver.
    pub(super) fn action<'a>(&self, table: &Arc<Table>) -> Result<Action<'a>, Error> {
        let image = self.image().ok_or_else(fault::internal)?;
        let row = Bytes::from([layout::items_prefix(table.id).as_slice(), &self.within].concat());
        let schema = &table.schema;
        let base = if schema.indexes.is_empty() {
            None
        } else {
            Some(base_hash(&schema.key, image.view()).ok_or_else(fault::internal)?)
        };
        let collection = if schema.indexes.iter().any(|index| index.kind == IndexKind::Local) {
            let partition = schema.key.partition.first().ok_or_else(fault::internal)?;
            let value = image.view().get(&partition.name).and_then(|value| stored_value(partition, value));
            Some(layout::collection_key(table.id, value.ok_or_else(fault::internal)?))
        } else {
            None
        };
        Ok(Action {
            table: Arc::clone(table),
            key: ItemKey { row, base, collection },
            effect: Effect::Replicate(Box::new(self.incoming.clone())),
            condition: None,
            given: None,
        })
    }
}

/// How an application ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applied {
    Done,
    /// Another process has moved the cursor, or other writers were too many. It is tried again.
    Overtaken,
}

/// What moves a cursor from one row to the next.
pub(super) struct Apply<'a, S: Store> {
    pub engine: &'a Engine<S>,
    pub pair: Pair<'a>,
    /// The cursor's row as it was read.
    pub row: &'a Bytes,
    pub next: &'a Cursor,
}

impl<S: Store> Apply<'_, S> {
    /// Writes these, and moves the cursor. The last of them was made at this time.
    pub(super) async fn run(&self, sent: &[Sent], made_ms: u64) -> Result<Applied, Error> {
        #[cfg(test)]
        if self.engine.links().is_broken(crate::support::links::Broken::Place) {
            let GroupEnd::Written(_) = self.write(&[], Some(&self.own_row())).await? else {
                return Ok(Applied::Overtaken);
            };
            self.write(sent, None).await?;
            return Ok(Applied::Done);
        }
        match self.write(sent, Some(&self.own_row())).await? {
            GroupEnd::Written(outcomes) => {
                self.note(sent, &outcomes, made_ms);
                Ok(Applied::Done)
            }
            GroupEnd::Overtaken | GroupEnd::Conflict(_) => Ok(Applied::Overtaken),
            GroupEnd::Refused(_) | GroupEnd::Replayed(_) | GroupEnd::TooLarge | GroupEnd::Throttled(_) => {
                Err(fault::internal())
            }
        }
    }

    fn own_row(&self) -> OwnRow {
        let next = self.next.encode();
        OwnRow::Progress(NewProgress {
            key: self.pair.way().key(),
            before: self.row.clone(),
            after: Box::new(move |_| next.clone()),
            others: Vec::new(),
        })
    }

    async fn write(&self, sent: &[Sent], own: Option<&OwnRow>) -> Result<GroupEnd, Error> {
        let bytes = |one: &Sent| one.incoming.item.as_ref().map_or(0, EncodedItem::size_bytes);
        let steps = binding_steps(sent.iter().map(bytes).sum());
        let bind = || {
            let table = self.engine.catalogue().newest(self.pair.receiver);
            if !table.as_member().is_some_and(Member::receives) {
                return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
            }
            sent.iter().map(|one| one.action(&table)).collect()
        };
        run(self.engine, GroupKind::Replicated, own, steps, bind).await
    }

    /// Counts what was sent, and lists conflicts.
    fn note(&self, sent: &[Sent], outcomes: &[Outcome], made_ms: u64) {
        let count = |items: usize| u64::try_from(items).unwrap_or(u64::MAX);
        let now_ms = self.engine.env().now_ms();
        let taken = outcomes.iter().filter(|outcome| outcome.change.taken.is_some()).count();
        let figures = ShippingFigures {
            sent: count(sent.len()),
            outdated: count(sent.len().saturating_sub(taken)),
            latency_ms: now_ms.saturating_sub(made_ms),
            last_ms: now_ms,
        };
        // A pass sends what was written long ago.
        if sent.iter().any(|one| one.replaced.is_some()) {
            self.engine.metrics().add_to(self.pair.sender, now_ms, |of_sender| {
                of_sender.replicated(&self.pair.receiver.region, figures.latency_ms);
            });
        }
        let shipping = self.engine.shipping();
        shipping.add((self.pair.sender.id, self.pair.receiver.id), figures);
        let found = sent
            .iter()
            .zip(outcomes)
            .filter_map(|(sent, outcome)| conflict(self.pair.regions(), sent, outcome, now_ms));
        shipping.note_conflicts(self.pair.receiver.id, found.collect());
        let sender = (self.pair.sender.region.as_str(), self.pair.sender.id);
        clocks::note(self.engine, sender, self.pair.receiver, sent.iter().map(Sent::versions));
    }
}

/// Writes an item, or its deletion, at a member that lacks it; nothing if it has a version that is as great.
pub(super) async fn take<S: Store>(
    engine: &Engine<S>,
    receiver: &Arc<Table>,
    sent: &Sent,
) -> Result<(), Error> {
    let action = |table: &Arc<Table>| sent.action(table);
    write_alone(engine, receiver, sent, action).await
}

/// Gives an item that a member has a new version, above its own and another one, and on its way to all
/// members. Nothing happens if the item has another version by now.
pub(super) async fn raise<S: Store>(
    engine: &Engine<S>,
    holder: &Arc<Table>,
    sent: &Sent,
    above: Version,
) -> Result<(), Error> {
    let action = |table: &Arc<Table>| {
        let raise = Raise { expected: sent.incoming.version.clone(), above: above.clone() };
        Ok(Action { effect: Effect::Raise(Box::new(raise)), ..sent.action(table)? })
    };
    write_alone(engine, holder, sent, action).await?;
    engine.shipping().note(holder.id);
    Ok(())
}

async fn write_alone<S: Store>(
    engine: &Engine<S>,
    table: &Arc<Table>,
    sent: &Sent,
    action: impl Fn(&Arc<Table>) -> Result<Action<'static>, Error> + Send + Sync,
) -> Result<(), Error> {
    let bytes = sent.incoming.item.as_ref().map_or(0, EncodedItem::size_bytes);
    let bind = || {
        let table = engine.catalogue().newest(table);
        if !table.as_member().is_some_and(Member::receives) {
            return Err(Error::new(ErrorKind::ResourceNotFound, messages::RESOURCE_NOT_FOUND));
        }
        Ok(vec![action(&table)?])
    };
    match run(engine, GroupKind::Replicated, None, binding_steps(bytes), bind).await? {
        GroupEnd::Written(_) => Ok(()),
        GroupEnd::Conflict(_)
        | GroupEnd::Overtaken
        | GroupEnd::Refused(_)
        | GroupEnd::Replayed(_)
        | GroupEnd::TooLarge
        | GroupEnd::Throttled(_) => Err(fault::internal()),
    }
}

/// The conflict that a change sent by its own region ends: the receiver made a change that the sender had not
/// seen, and that is overwritten. So a conflict is found once, in the region whose change is lost.
pub(super) fn conflict(
    (sender, receiver): (&str, &str),
    sent: &Sent,
    outcome: &Outcome,
    now_ms: u64,
) -> Option<ReplicaConflict> {
    let replaced = sent.replaced.as_ref()?;
    let had = outcome.change.taken.as_ref()?.before.as_ref()?;
    let incoming = &sent.incoming.version;
    let is_own = had.region == receiver && incoming.region == sender;
    if !is_own || had <= replaced {
        return None;
    }
    let is_key = |name: &str| outcome.table.schema.key.contains(name);
    Some(ReplicaConflict {
        at_ms: now_ms,
        key: sent.image().map(|image| image.view().encode_subset(is_key)),
        winner: shown(incoming),
        loser: shown(had),
        losing_image: outcome.change.old.clone(),
        is_image_dropped: false,
    })
}
