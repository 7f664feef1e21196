//! Ending a difference through the write core, so that indexes, stream records and expiry rows follow.
//!
//! The greater version is sent, as a pass does it. Where one version has two images, the right one gets a new
//! version where it is, which goes to all members as any change does.

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_store::Store;

use super::ends::{End, Ends, fetch};
use super::rule::{Remedy, known};
use crate::catalogue::MemberStatus;
use crate::replication::apply::{self, Sent};
use crate::replication::lost::lost_ways;
use crate::replication::peers::Unsent;
use crate::state::Engine;
use crate::state::verification::{Held, Mode, Run, Suspect};
use crate::support::layout::TableId;
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
) -> Result<Repaired, Unsent> {
    let Ends { base, other } = ends;
    let mode = run.mode;
    let sent = match remedy {
        Remedy::FromBase | Remedy::RaiseBase | Remedy::Bury => fetch(engine, base, &found.within).await?,
        Remedy::FromOther | Remedy::RaiseOther => other.fetch(engine, base, &found.within).await?,
        Remedy::Nothing => None,
    };
    let Some(sent) = sent else { return Ok(Repaired::No) };
    if remedy == Remedy::RaiseBase
        && let Some(author) = author(engine, ends, &sent.incoming.version).await?
    {
        let is_done = raise_at(engine, ends, &author, &sent).await?;
        return Ok(if is_done { Repaired::Sent } else { Repaired::No });
    }
    let above = |held: &Held| known(held).ok().flatten().cloned().unwrap_or_else(Version::zero);
    let is_done = match remedy {
        Remedy::RaiseBase => apply::raise(engine, base, &sent, above(&found.other)).await.is_ok(),
        Remedy::RaiseOther => {
            // A lost base is sent nothing yet.
            other.raise(engine, base, (&sent, above(&found.base))).await?
                && (mode != Mode::Discard || resend(engine, ends, &found.within).await?)
        }
        Remedy::Bury => match buried(engine, ends, sent) {
            Some(buried) => {
                let is_taken = apply::take(engine, base, &buried).await.is_ok();
                is_taken
                    & other.take(engine, base, &buried).await?
                    & give_others(engine, ends, (&buried, mode)).await?
            }
            None => false,
        },
        Remedy::FromBase => other.take(engine, base, &sent).await?,
        Remedy::FromOther => {
            // What comes from a replica is not passed on, so the others get it too.
            let is_taken = apply::take(engine, base, &sent).await.is_ok();
            is_taken & give_others(engine, ends, (&sent, mode)).await?
        }
        Remedy::Nothing => false,
    };
    Ok(if is_done { Repaired::Sent } else { Repaired::No })
}

/// The member that wrote a version, if it is none of the two that are compared: what it has is right.
async fn author<S: Store>(engine: &Engine<S>, ends: &Ends, version: &Version) -> Result<Option<End>, Error> {
    if version.region == ends.base.region || version.region == ends.other.region() {
        return Ok(None);
    }
    Ok(others(engine, ends, Mode::Repair).await?.into_iter().find(|other| other.region() == version.region))
}

/// Has the member that wrote an item give it a new version; whether it still has the item of this version.
async fn raise_at<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    author: &End,
    sent: &Sent,
) -> Result<bool, Unsent> {
    let found = author.fetch(engine, &ends.base, &sent.within).await?;
    let is_same =
        |found: &Sent| found.incoming.version == sent.incoming.version && found.incoming.item.is_some();
    let Some(found) = found.filter(is_same) else { return Ok(false) };
    author.raise(engine, &ends.base, (&found, sent.incoming.version.clone())).await
}

/// Sends the base what the other one has.
async fn resend<S: Store>(engine: &Engine<S>, ends: &Ends, within: &Bytes) -> Result<bool, Unsent> {
    let found = ends.other.fetch(engine, &ends.base, within).await?;
    let Some(sent) = found else { return Ok(false) };
    Ok(apply::take(engine, &ends.base, &sent).await.is_ok())
}

/// Gives a row to the other members of the group, except the two that are compared; whether all have it.
async fn give_others<S: Store>(
    engine: &Engine<S>,
    ends: &Ends,
    (sent, mode): (&Sent, Mode),
) -> Result<bool, Unsent> {
    let mut is_done = true;
    for other in others(engine, ends, mode).await? {
        is_done &= other.take(engine, &ends.base, sent).await?;
    }
    Ok(is_done)
}

/// The deletion of an item of the base, below every write of a client on it.
fn buried<S: Store>(engine: &Engine<S>, ends: &Ends, item: Sent) -> Option<Sent> {
    let version = Version::of_expiry(&ends.base.region, Some(&item.incoming.version));
    let key = &ends.base.schema.key;
    let keys = item.incoming.item.as_ref()?.view().encode_subset(|name| key.contains(name));
    let at = engine.stamps().beginning(engine.env().now_ms());
    Some(Sent { incoming: Incoming { version, item: None, deleted: Some(Deleted { at, keys }) }, ..item })
}

/// The members of the group, except the two that are compared. One on a server that is named no more is
/// reached by nobody. Nothing is merged with one that is lost to the base, unless that rejoins.
async fn others<S: Store>(engine: &Engine<S>, ends: &Ends, mode: Mode) -> Result<Vec<End>, Error> {
    let lost = if mode == Mode::Discard { Vec::new() } else { lost_ways(engine, &ends.base).await? };
    let lost: BTreeSet<TableId> = lost.into_iter().map(|way| way.other_than(ends.base.id)).collect();
    let is_other = |table: TableId| table != ends.other.id() && !lost.contains(&table);
    let others = ends.base.replicas().filter(|member| is_other(member.table));
    let tables = others.filter_map(|member| engine.catalogue().with_id(member.table));
    let here = tables.filter(|table| table.takes_data()).map(End::Here);
    let remote = ends.base.remote.members.iter().filter(|member| is_other(member.table()));
    let reached = remote.filter(|member| {
        member.receives() && member.status != MemberStatus::Creating && engine.peers().owns(&member.region)
    });
    Ok(here.chain(reached.map(|member| End::There(Box::new(member.clone())))).collect())
}
