//! A table and its replicas as one: changes of all their records in one commit, and the rules for a table
//! that has replicas.
//!
//! A table without replicas is a group of one, and so is a strongly consistent group: it has one record. It
//! does not know which changes there are.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::global as messages;
use keywright_store::Store;

use crate::catalogue::{Member, MemberStatus, OtherRows, RemoteMember, Table, TableStatus, Target};
use crate::replication::{has_unsent, members_of};
use crate::state::Engine;
use crate::streams;
use crate::support::fault;
use crate::support::layout::TableId;

/// How often a change of a group is tried again because its members have changed.
const GROUP_TRIES_MAX: usize = 10;

/// Changes a table and its replicas in one commit. `change` gets the newest records, the table's own first.
pub(super) async fn change_group<S: Store, R>(
    engine: &Engine<S>,
    found: &Arc<Table>,
    change: impl Fn(&mut [Table], &mut OtherRows) -> Result<R, Error>,
) -> Result<(Vec<Arc<Table>>, R), Error> {
    let mut table = Arc::clone(found);
    for _ in 0..GROUP_TRIES_MAX {
        let ids = members_of(&table);
        let whole = |tables: &mut [Table], rows: &mut OtherRows| {
            let is_whole = is_group(tables, &ids);
            is_whole.then(|| change(tables, rows)).transpose()
        };
        let targets: Vec<Target> = match &table.strong {
            Some(_) => vec![table.target()],
            None => ids.iter().map(|id| (*id).into()).collect(),
        };
        let (tables, result) = engine.change_tables(&targets, whole).await?;
        if let Some(result) = result {
            return Ok((tables, result));
        }
        table = tables.into_iter().next().ok_or_else(fault::internal)?;
    }
    Err(fault::internal())
}

/// Whether these records, the first with its replicas, are those of these tables.
fn is_group(tables: &[Table], ids: &[TableId]) -> bool {
    tables.first().is_some_and(|first| members_of(first) == ids)
}

/// Refuses a change of a table while a member of its group is added, changed or removed.
pub(super) fn check_group_settled(table: &Table) -> Result<(), Error> {
    if table.is_group_changing() || table.is_strong_changing() {
        return Err(in_use(messages::REPLICA_CHANGES.to_owned()));
    }
    Ok(())
}

/// Refuses to change the time to live of a group while a replica is added: it reaches all members.
pub(super) fn check_nothing_joins(table: &Table) -> Result<(), Error> {
    let joining = table.replicas().find(|member| member.status == MemberStatus::Creating);
    let remote = table.remote.members.iter().find(|member| member.status == MemberStatus::Creating);
    let region = joining.map(|member| &member.region).or(remote.map(|member| &member.region));
    region.map_or(Ok(()), |region| Err(Error::validation(messages::being_added(&table.name, region))))
}

/// Refuses the removal of a member that others were filled from, for some time after they were.
pub(super) fn check_no_source<S: Store>(engine: &Engine<S>, leaver: &Table) -> Result<(), Error> {
    let (now_ms, held_ms) = (engine.env().now_ms(), engine.config().source_region_ms);
    let is_recent = |member: &&Member| {
        member.source == Some(leaver.id) && now_ms < member.since_ms.saturating_add(held_ms)
    };
    let is_recent_remote = |member: &RemoteMember| {
        member.source.as_ref() == Some(&leaver.public_id) && now_ms < member.since_ms.saturating_add(held_ms)
    };
    // A member whose server is gone for good holds nobody.
    let is_named = |member: &&RemoteMember| engine.peers().owns(&member.region);
    let is_source = leaver.replicas().any(|member| is_recent(&member))
        || leaver.remote.members.iter().filter(is_named).any(is_recent_remote);
    if is_source { Err(Error::validation(messages::SOURCE_REGION)) } else { Ok(()) }
}

/// Refuses the removal of the last other replica while the one that remains lacks some of its writes.
pub(super) async fn check_all_replicated<S: Store>(engine: &Engine<S>, leaver: &Table) -> Result<(), Error> {
    if leaver.replicas().count() + leaver.remote.members.len() != 1 || !has_unsent(engine, leaver).await? {
        return Ok(());
    }
    Err(Error::validation(messages::writes_not_replicated(&leaver.name, &leaver.region)))
}

/// Notes in every record of a group that a member leaves it. At this time the others may forget it.
pub(super) fn begin_leaving(tables: &mut [Table], leaver: TableId, until_ms: u64) {
    assert!(tables.iter().any(|table| table.id == leaver), "a member changes with its group");
    for table in tables {
        if let Some(member) = table.replication.as_mut().and_then(|group| group.member_mut(leaver)) {
            member.status = MemberStatus::Deleting;
            member.until_ms = until_ms;
        }
    }
}

/// The table is UPDATING for the transition.
pub(super) fn begin_update(table: &mut Table, moment: streams::Moment) {
    if moment.settled_ms() > moment.now_ms() {
        table.status = TableStatus::Updating;
        table.status_until_ms = moment.settled_ms();
    }
}

/// A fault of a resource that is in use.
pub(super) fn in_use(text: String) -> Error {
    Error::new(ErrorKind::ResourceInUse, text)
}
