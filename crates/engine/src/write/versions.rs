//! What a change of a replicated item does to its version: which one it gets, and the rows that say so.
//!
//! The rows themselves are `version_rows`.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::response::StreamIdentity;
use keywright_store::Transaction;

use crate::support::layout::within_table;
use crate::support::stamp::Stamp;
use crate::support::version::Version;
use crate::write::change::{Action, Change, Effect};
use crate::write::version_rows::{Deleted, StoredVersion, tombstone_key, version_key};

/// Whether the version of the action's item is read and written with it.
pub(crate) fn is_versioned(action: &Action<'_>) -> bool {
    action.table.replication.is_some() && !matches!(action.effect, Effect::Check)
}

/// The version that an action's item gets, in place of the one that it had.
#[derive(Clone, Debug)]
pub(crate) struct NewVersion {
    pub version: Version,
    pub before: Option<StoredVersion>,
    /// The stamp of the commit.
    pub at: Stamp,
    /// Whether the change is made here, and is to be sent to the others.
    pub is_own: bool,
}

/// How a commit versions its changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Versioning {
    pub identity: StreamIdentity,
    /// The stamp of the commit.
    pub at: Stamp,
    /// The same as the clock of the region shows it, which a simulation may shift.
    pub shown: Stamp,
    /// Whether a change takes a version above the one that it changes: only tests say no.
    pub is_above: bool,
}

impl NewVersion {
    /// The new version of an action's item; `None` if it keeps what it has.
    pub(crate) fn of(
        (action, change): (&Action<'_>, &Change),
        before: Option<StoredVersion>,
        versioning: Versioning,
    ) -> Option<Self> {
        let at = versioning.at;
        if let Effect::Replicate(incoming) = &action.effect {
            let is_written = change.taken.is_some() && incoming.version != Version::zero();
            let version = incoming.version.clone();
            return is_written.then_some(Self { version, before, at, is_own: false });
        }
        let mut least = None;
        if let Effect::Raise(raise) = &action.effect {
            least = Some(&raise.above);
            let known = before.as_ref().map_or_else(Version::zero, |before| before.version.clone());
            if change.new.is_none() || known != raise.expected {
                return None;
            }
        } else if !change.changes_item() {
            return None;
        }
        let region = &action.table.region;
        let known = before.as_ref().map(|before| &before.version).filter(|_| versioning.is_above).max(least);
        let version = match versioning.identity {
            StreamIdentity::Caller => Version::of_change(versioning.shown, region, known),
            StreamIdentity::TimeToLive => Version::of_expiry(region, known),
        };
        Some(Self { version, before, at, is_own: true })
    }

    /// Buffers the rows of the version.
    pub(crate) fn stage(&self, txn: &mut impl Transaction, (action, change): (&Action<'_>, &Change)) {
        let (table, within) = (&action.table, within_table(&action.key.row));
        let was_deleted = self.before.as_ref().and_then(|before| before.deleted.as_ref());
        if let Some(deleted) = was_deleted {
            txn.delete(tombstone_key(table.id, deleted.at, within));
        }
        let deleted = match &change.new {
            Some(_) => None,
            None => keys_of(action, change).map(|keys| Deleted { at: self.deleted_at(action), keys }),
        };
        if let Some(deleted) = &deleted {
            txn.put(tombstone_key(table.id, deleted.at, within), Bytes::new());
        }
        let row = StoredVersion { version: self.version.clone(), deleted };
        txn.put(version_key(table.id, within), row.encode());
    }

    /// A deletion that comes from elsewhere is not older here than there.
    fn deleted_at(&self, action: &Action<'_>) -> Stamp {
        match &action.effect {
            Effect::Replicate(incoming) => {
                incoming.deleted.as_ref().map_or(self.at, |deleted| deleted.at.max(self.at))
            }
            _ => self.at,
        }
    }
}

/// The key attributes of a deleted item.
fn keys_of(action: &Action<'_>, change: &Change) -> Option<EncodedItem> {
    if let Effect::Replicate(incoming) = &action.effect {
        return incoming.deleted.as_ref().map(|deleted| deleted.keys.clone());
    }
    let old = change.old.as_ref()?;
    Some(old.view().encode_subset(|name| action.table.schema.key.contains(name)))
}
