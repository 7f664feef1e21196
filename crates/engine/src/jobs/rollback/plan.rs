//! What a rollback does with each item that was changed: a pure function of the item's images.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{TableUsage, WriteMode};
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::expression::Condition;
use keywright_semantics::value::Item;
use serde::{Deserialize, Serialize};

use super::request::Scope;
use crate::bind::expiry::{Due, expiry};
use crate::bind::key::bind_item_key;
use crate::catalogue::Table;
use crate::history::window::Changed;
use crate::support::fault;
use crate::write::change::{Action, Change, Effect, Revert};

/// What a rollback has done with the items that changed since its time, or would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackCounts {
    /// Deleted items that exist again.
    pub put_back: u64,
    /// Items that did not exist then and are deleted.
    pub removed: u64,
    /// Items that are again what they were.
    pub overwritten: u64,
    /// Items that were changed and are the same as then.
    pub unchanged: u64,
    /// Items that stay away because their time to live has passed.
    pub expired: u64,
    /// Items that were changed after the rollback began, and are left alone.
    pub changed_meanwhile: u64,
    /// Items that are left alone because their item collection would exceed its limit.
    pub refused: u64,
    /// Write units that were consumed, in indexes too.
    pub write_units: u64,
}

impl RollbackCounts {
    /// Items that the rollback changes.
    pub const fn changed(&self) -> u64 {
        self.put_back + self.removed + self.overwritten
    }
}

/// How an item changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    PutBack,
    Removed,
    Overwritten,
}

impl Kind {
    pub(super) const fn count(self, counts: &mut RollbackCounts) {
        match self {
            Self::PutBack => counts.put_back += 1,
            Self::Removed => counts.removed += 1,
            Self::Overwritten => counts.overwritten += 1,
        }
    }
}

/// An item that is to be brought back.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Its key within the table.
    pub within: Bytes,
    pub kind: Kind,
    pub revert: Revert,
    /// The attributes of its key.
    pub key: Item,
}

/// What becomes of a changed item.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// It is not one of those that were asked for.
    Outside,
    Unchanged,
    /// It would be put back, but its time to live has passed. This is the item.
    Expired(EncodedItem),
    Revert(Box<Planned>),
}

/// Decides on the items of one table.
pub(super) struct Planner<'t> {
    table: &'t Table,
    condition: Option<Condition>,
    /// The attribute of time to live, and the times that have passed.
    expired: Option<(&'t str, Due)>,
}

impl<'t> Planner<'t> {
    /// The time is that of the request: a later one would decide otherwise after the process has ended.
    pub(super) fn of(table: &'t Table, scope: &Scope, asked_ms: u64) -> Result<Self, Error> {
        let attribute = table.ttl.enabled().map(|(_, attribute)| attribute);
        let expired = attribute.zip(Due::at(asked_ms, 0)).filter(|_| !scope.with_expired());
        Ok(Self { table, condition: scope.condition(table)?, expired })
    }

    pub(super) fn verdict(&self, changed: &Changed) -> Result<Verdict, Error> {
        let image = |value: &Option<Bytes>| {
            value.clone().map(EncodedItem::from_stored).transpose().map_err(fault::corrupt)
        };
        let (then, now) = (image(&changed.old)?, image(&changed.new)?);
        let judged = then.as_ref().or(now.as_ref()).map(EncodedItem::view);
        if !self.condition.as_ref().is_none_or(|condition| condition.evaluate(judged)) {
            return Ok(Verdict::Outside);
        }
        let kind = match (&then, &now) {
            (then, now) if then == now => return Ok(Verdict::Unchanged),
            (Some(then), _) if self.has_expired(then) => return Ok(Verdict::Expired(then.clone())),
            (Some(_), None) => Kind::PutBack,
            (Some(_), Some(_)) => Kind::Overwritten,
            (None, _) => Kind::Removed,
        };
        let keyed = then.as_ref().or(now.as_ref()).ok_or_else(fault::internal)?;
        let key = keyed.view().encode_subset(|name| self.table.schema.key.contains(name)).decode();
        let revert = Revert { expected: now, back: then };
        Ok(Verdict::Revert(Box::new(Planned { within: changed.within.clone(), kind, revert, key })))
    }

    fn has_expired(&self, item: &EncodedItem) -> bool {
        self.expired.is_some_and(|(attribute, due)| {
            expiry(item.view(), attribute).is_some_and(|time| due.contains(time))
        })
    }
}

impl Planned {
    /// The write that brings the item back.
    pub(super) fn action(&self, table: &Arc<Table>) -> Result<Action<'_>, Error> {
        Ok(Action {
            table: Arc::clone(table),
            key: bind_item_key(table.id, &table.schema, &self.key)?,
            effect: Effect::Revert(Box::new(self.revert.clone())),
            condition: None,
            given: Some(&self.key),
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let bytes = |item: &Option<EncodedItem>| item.as_ref().map_or(0, EncodedItem::size_bytes);
        bytes(&self.revert.expected) + bytes(&self.revert.back)
    }
}

/// The write units of a change, those of indexes included.
pub(super) fn write_units(change: &Change, table: &Table) -> u64 {
    let TableUsage { table, local_indexes, global_indexes } = change.usage(table, WriteMode::Plain);
    let indexes = local_indexes.values().chain(global_indexes.values());
    (table.write.0 + indexes.map(|usage| usage.write.0).sum::<u64>()).div_ceil(2)
}
