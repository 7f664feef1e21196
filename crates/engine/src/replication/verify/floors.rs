//! What all members of a group have sent to the two that are compared: as far as that, nothing is on its way
//! that would end a difference.

use std::collections::BTreeMap;

use keywright_semantics::error::Error;
use keywright_store::Store;

use super::ends::{End, Ends};
use super::part::SumKey;
use super::there::{self, Looked};
use crate::catalogue::{MemberStatus, RemoteMember};
use crate::replication::peers::is_lost;
use crate::replication::tombstones::sent_before;
use crate::state::Engine;
use crate::state::verification::Marks;
use crate::support::layout::TableId;
use crate::support::stamp::Stamp;

/// What a server of another member says: everything that was written there below the floor was sent, and
/// everything that was written before it was asked is below the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floor {
    floor: Stamp,
    begun: Stamp,
}

impl From<&Looked> for Floor {
    fn from(looked: &Looked) -> Self {
        Self { floor: looked.floor, begun: looked.begun }
    }
}

/// What was sent before the members were read again.
#[derive(Clone, Debug)]
pub(super) struct Floors {
    here: Stamp,
    /// Of each remote member whose server is named in the settings; `None` if it did not answer.
    there: BTreeMap<TableId, Option<Floor>>,
}

impl Floors {
    /// Asks the servers of all members, except that of the one that is compared: its answer comes with rows.
    pub(super) async fn read<S: Store>(
        engine: &Engine<S>,
        ends: &Ends,
        (key, rejoins): (&SumKey, bool),
        now_ms: u64,
    ) -> Result<Self, Error> {
        let compared = [ends.base.id, ends.other.id()];
        let mut floors =
            Self { here: sent_before(engine, &ends.base, now_ms, &compared).await?, there: BTreeMap::new() };
        let writes = |member: &&RemoteMember| member.is_made && member.status != MemberStatus::Creating;
        for member in ends.base.remote.members.iter().filter(writes) {
            let is_other = matches!(&ends.other, End::There(other) if other.public_id == member.public_id);
            // A region whose server is named no more is not asked: it sends nothing.
            if is_other || !engine.peers().owns(&member.region) {
                continue;
            }
            // Nor is one that is lost: it would refuse.
            if !rejoins && is_lost(engine, (ends.base.id, member.table())).await? {
                continue;
            }
            let is_asked = now_ms >= engine.peering().region_retry_ms(&member.region);
            let looked = if is_asked {
                there::look(engine, (&ends.base, member), &public_ids(ends), (key, &[], rejoins)).await.ok()
            } else {
                None
            };
            floors.there.insert(member.table(), looked.as_ref().map(Floor::from));
        }
        Ok(floors)
    }

    /// Adds what the server of a compared member says.
    pub(super) fn add(&mut self, member: TableId, looked: &Looked) {
        self.there.insert(member, Some(Floor::from(looked)));
    }

    /// Whether everything that was written before these marks was sent.
    pub(super) fn are_above(&self, marks: &Marks) -> bool {
        let is_above = |(member, floor): (&TableId, &Option<Floor>)| {
            let mark = marks.there.get(member);
            floor.zip(mark).is_some_and(|(floor, mark)| *mark < floor.floor)
        };
        marks.here < self.here && self.there.iter().all(is_above)
    }

    /// Whether a suspect with these marks is worth another look: what was written here before was sent.
    pub(super) fn is_due(&self, marks: &Marks) -> bool {
        marks.here < self.here
    }

    /// Adds the marks of other servers that are missing. What was read before they were asked is below these.
    pub(super) fn mark(&self, marks: &mut Marks) {
        for (member, floor) in &self.there {
            if let Some(floor) = floor {
                marks.there.entry(*member).or_insert(floor.begun);
            }
        }
    }
}

/// The two members as servers name them.
pub(super) fn public_ids(ends: &Ends) -> Vec<String> {
    vec![ends.base.public_id.clone(), ends.other.public_id().to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floors(here: u64, there: Option<(u64, u64)>) -> Floors {
        let stamp = Stamp::first_of;
        let there = there.map(|(floor, begun)| Floor { floor: stamp(floor), begun: stamp(begun) });
        Floors { here: stamp(here), there: BTreeMap::from([(TableId(9), there)]) }
    }

    #[test]
    fn a_difference_is_final_once_each_server_has_sent_what_was_written_before_it_was_read() {
        let mut marks = Marks { here: Stamp::first_of(5), there: BTreeMap::new() };
        let first = floors(6, Some((20, 21)));
        assert!(!first.are_above(&marks), "nothing is known of when the other server's writes were read");
        first.mark(&mut marks);
        assert!(!first.are_above(&marks), "what it wrote before the question may be on its way");
        assert!(!floors(6, None).are_above(&marks), "it is silent");
        assert!(!floors(5, Some((22, 23))).are_above(&marks), "a write from here is on its way");
        let later = floors(6, Some((22, 23)));
        later.mark(&mut marks);
        assert!(later.are_above(&marks), "a mark stays as it was set first");
    }
}
