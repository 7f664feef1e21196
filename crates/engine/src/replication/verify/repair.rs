//! Ending a difference through the write core, so that indexes, stream records and expiry rows follow.
//!
//! The greater version is sent, as a pass does it. Where one version has two images, the right one gets a new
//! version where it is, which goes to all members as any change does.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::{Snapshot, Store};

use super::ends::Ends;
use super::rule::{Remedy, known};
use crate::catalogue::Table;
use crate::replication::apply::{self, Sent};
use crate::replication::pass;
use crate::state::Engine;
use crate::state::verification::{Held, Mode, Run, Suspect};
use crate::support::fault;
use crate::support::layout;
use crate::support::version::Version;
use crate::write::change::Incoming;
use crate::write::version_rows::Deleted;

/// Whether something was sent that may end the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repaired {
    Sent,
    /// The row cannot be read, or the write core refuses it.
    No,
}

/// Applies a remedy to an item.
pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    run: &Run,
    (found, remedy): (&Suspect, Remedy),
) -> Result<Repaired, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let from = match remedy {
        Remedy::FromBase | Remedy::RaiseBase | Remedy::Bury => &ends.base,
        Remedy::FromOther | Remedy::RaiseOther => &ends.other,
        Remedy::Nothing => return Ok(Repaired::No),
    };
    let key = Bytes::from([layout::items_prefix(from.id).as_slice(), &found.within].concat());
    let item = view.get(&key).await.map_err(|error| fault::storage(&error))?;
    // Damaged rows cannot be read: that is no fault of the store.
    let Ok(read) = pass::with_versions(from.id, &view, [(key, item)].into_iter()).await else {
        return Ok(Repaired::No);
    };
    drop(view);
    let Some(sent) = read.into_iter().flatten().next() else { return Ok(Repaired::No) };
    if sent.incoming.item.as_ref().is_some_and(|item| item.validate().is_err()) {
        return Ok(Repaired::No);
    }
    let above = |held: &Held| known(held).ok().flatten().cloned().unwrap_or_else(Version::zero);
    let is_done = match remedy {
        Remedy::RaiseBase => apply::raise(engine, from, &sent, above(&found.other)).await.is_ok(),
        Remedy::RaiseOther => {
            // A lost base is sent nothing yet.
            let raised = apply::raise(engine, from, &sent, above(&found.base)).await;
            raised.is_ok() && (run.mode != Mode::Discard || resend(engine, ends, found).await?)
        }
        Remedy::Bury => {
            let Some(buried) = buried(engine, ends, sent) else { return Ok(Repaired::No) };
            let mut is_done = apply::take(engine, &ends.base, &buried).await.is_ok();
            for other in others(engine, ends).iter().chain([&ends.other]) {
                is_done &= apply::take(engine, other, &buried).await.is_ok();
            }
            is_done
        }
        Remedy::FromBase => apply::take(engine, &ends.other, &sent).await.is_ok(),
        Remedy::FromOther => {
            // What comes from a replica is not passed on, so the others get it too.
            let mut is_done = apply::take(engine, &ends.base, &sent).await.is_ok();
            for other in others(engine, ends) {
                is_done &= apply::take(engine, &other, &sent).await.is_ok();
            }
            is_done
        }
        Remedy::Nothing => false,
    };
    Ok(if is_done { Repaired::Sent } else { Repaired::No })
}

/// Sends the base what the other one has.
async fn resend<S: Store>(engine: &Engine<S>, ends: &Ends, found: &Suspect) -> Result<bool, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let key = Bytes::from([layout::items_prefix(ends.other.id).as_slice(), &found.within].concat());
    let item = view.get(&key).await.map_err(|error| fault::storage(&error))?;
    let read = pass::with_versions(ends.other.id, &view, [(key, item)].into_iter()).await?;
    let Some(sent) = read.into_iter().flatten().next() else { return Ok(false) };
    Ok(apply::take(engine, &ends.base, &sent).await.is_ok())
}

/// The deletion of an item of the base, below every write of a client on it.
fn buried<S: Store>(engine: &Engine<S>, ends: &Ends, item: Sent) -> Option<Sent> {
    let version = Version::of_expiry(&ends.base.region, Some(&item.incoming.version));
    let key = &ends.base.schema.key;
    let keys = item.incoming.item.as_ref()?.view().encode_subset(|name| key.contains(name));
    let at = engine.stamps().beginning(engine.env().now_ms());
    Some(Sent { incoming: Incoming { version, item: None, deleted: Some(Deleted { at, keys }) }, ..item })
}

/// The tables of the group, except the two that are compared.
fn others<S: Store>(engine: &Engine<S>, ends: &Ends) -> Vec<Arc<Table>> {
    let others = ends.base.replicas().filter(|member| member.table != ends.other.id);
    let tables = others.filter_map(|member| engine.catalogue().with_id(member.table));
    tables.filter(|table| table.takes_data()).collect()
}
