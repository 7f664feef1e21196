//! How far each member's changes have come, for people.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global, table as messages};
use keywright_store::{LogRead, Snapshot, Store};

use super::table_of;
use super::verify::{self, LastVerification};
use crate::catalogue::{Member, MemberStatus, StrongGroup, Table, TableStatus};
pub use crate::changes::replicated::Owed as OwedPass;
use crate::changes::replicated::Way;
use crate::state::{Engine, ReplicaConflict, ShippingFigures};
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::log_of;
use crate::support::links::Route;
use crate::write::version_record::VersionRecord;

/// The status of a member with which nothing is done.
const ACTIVE: &str = "ACTIVE";
/// Records of a log that are counted at most.
const COUNTED_MAX: usize = 10_000;
const COUNTED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How far the changes of a table have come to one of its replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says another thing of the same replica")]
pub struct ReplicaStatus {
    /// The replica's region.
    pub region: String,
    /// Changes that it lacks, counted up to a limit.
    pub backlog: u64,
    /// When the oldest of them was made, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
    /// Bytes of them in the log, as last measured.
    pub backlog_bytes: u64,
    /// Whether all rows are being sent to it.
    pub is_filling: bool,
    /// Why they are, unless it has just joined.
    pub owed: Option<OwedPass>,
    /// What was sent since the server started.
    pub figures: ShippingFigures,
    /// By how many milliseconds its region's clock is ahead of this region's, at least, as its last changes
    /// show; zero below a second.
    pub clock_ahead_ms: u64,
    /// Whether another server owns it.
    pub is_remote: bool,
    /// Why not everything reaches it now: mostly, why the server that owns it does not answer.
    pub last_error: Option<String>,
    /// Its status as DescribeTable has it.
    pub status: &'static str,
    /// Whether a simulation on this server holds changes back that it lacks.
    pub is_held: bool,
    /// Whether a simulation cuts its region off from a strongly consistent table.
    pub is_isolated: bool,
}

impl ReplicaStatus {
    /// Whether it was not reached for so long that it has to rejoin.
    pub const fn is_lost(&self) -> bool {
        matches!(self.owed, Some(OwedPass::Lost { .. }))
    }
}

/// How far the changes of a table have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationStatus {
    /// The id of the table that founded the group.
    pub group: String,
    /// The table's region.
    pub region: String,
    /// Whether it is strongly consistent in all its regions: no change is ever on its way then.
    pub is_strong: bool,
    /// The region of the witness.
    pub witness: Option<String>,
    /// Whether a simulation cuts the table's region off from it, as it is strongly consistent.
    pub is_isolated: bool,
    /// The last time when the table was compared with its replicas.
    pub last_verification: Option<LastVerification>,
    /// The other members, in the order in which they joined.
    pub replicas: Vec<ReplicaStatus>,
    /// Changes made in this region that lost to one made in another since the server started.
    pub conflicts: u64,
    /// The last of them, the oldest first.
    pub last_conflicts: Vec<ReplicaConflict>,
}

impl<S: Store> Engine<S> {
    /// How far the changes of a table have come to its replicas; `None` if it has none.
    pub async fn replication_status(
        &self,
        namespace: &Namespace,
        name: &str,
    ) -> Result<Option<ReplicationStatus>, Error> {
        let not_found = || Error::new(ErrorKind::ResourceNotFound, messages::table_not_found(name));
        let table = self.catalogue().find(namespace, name).ok_or_else(not_found)?;
        if let Some(group) = &table.strong {
            let now_ms = self.env().now_ms();
            let is_isolated = |region: &str| self.links().isolated_since(region, now_ms).is_some();
            return Ok(Some(of_strong(&table, group, is_isolated)));
        }
        let Some(group) = &table.replication else { return Ok(None) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let mut replicas = Vec::new();
        for member in group.others(table.id).filter(|member| table_of(self, member, name).is_some()) {
            let way = Way { sender: table.id, receiver: member.table };
            let shown = status(self, &view, (&table, &member.region), way).await?;
            replicas.push(ReplicaStatus { status: self.status_of(&table, member), ..shown });
        }
        for member in &table.remote.members {
            let way = Way { sender: table.id, receiver: member.table() };
            let shown = status(self, &view, (&table, &member.region), way).await?;
            let last_error = if self.peers().owns(&member.region) {
                self.peering().last_fault(way.tables(), &member.region).or(shown.last_error)
            } else {
                Some(global::no_peer_here(&member.region))
            };
            let status = self.status_of(&table, &member.as_member());
            replicas.push(ReplicaStatus { is_remote: true, last_error, status, ..shown });
        }
        let (conflicts, last_conflicts) = self.shipping().conflicts(table.id);
        let mut last_verification = None;
        // One of them compares all.
        for member in &group.members {
            let last = verify::last_of(self, member.table).await?;
            last_verification = last.into_iter().chain(last_verification).max_by_key(|last| last.ended_ms);
        }
        let (group, region) = (group.group.clone(), table.region.clone());
        Ok(Some(ReplicationStatus {
            group,
            region,
            is_strong: false,
            witness: None,
            is_isolated: false,
            last_verification,
            replicas,
            conflicts,
            last_conflicts,
        }))
    }
}

impl<S: Store> Engine<S> {
    fn status_of(&self, table: &Table, member: &Member) -> &'static str {
        let name = (table.account.as_str(), table.name.as_str());
        let inaccessible = self.links().inaccessible(name, &member.region, self.env().now_ms());
        match (inaccessible, member.status) {
            (Some((status, _)), _) => status.name(),
            (None, MemberStatus::Creating) => "CREATING",
            (None, MemberStatus::Updating | MemberStatus::Disassociating) => "UPDATING",
            (None, MemberStatus::Active) => ACTIVE,
            (None, MemberStatus::Deleting) => "DELETING",
        }
    }
}

/// A strongly consistent group: every region has every change, but for those that are cut off.
fn of_strong(table: &Table, group: &StrongGroup, is_isolated: impl Fn(&str) -> bool) -> ReplicationStatus {
    let replicas = table.other_strong_members().map(|(member, status)| ReplicaStatus {
        region: member.region.clone(),
        backlog: 0,
        oldest_ms: None,
        backlog_bytes: 0,
        is_filling: status == TableStatus::Creating,
        owed: None,
        figures: ShippingFigures::default(),
        clock_ahead_ms: 0,
        is_remote: false,
        last_error: None,
        status: ACTIVE,
        is_held: false,
        is_isolated: is_isolated(&member.region),
    });
    ReplicationStatus {
        group: group.group.clone(),
        region: table.region.clone(),
        is_strong: true,
        witness: group.witness.as_ref().map(|witness| witness.region.clone()),
        is_isolated: is_isolated(&table.region),
        last_verification: None,
        replicas: replicas.collect(),
        conflicts: 0,
        last_conflicts: Vec::new(),
    }
}

async fn status<S: Store>(
    engine: &Engine<S>,
    view: &S::Snapshot,
    (table, region): (&Table, &str),
    way: Way,
) -> Result<ReplicaStatus, Error> {
    let cursor = way.read(view).await?.map(|(cursor, _)| cursor);
    let shard = table.replication_log().and_then(|log| log.open_shards().next());
    let entries = match (&cursor, shard) {
        (Some(cursor), Some(shard)) => {
            let read = LogRead {
                id: log_of(table.id, shard.number),
                after: cursor.after(shard),
                entries_max: COUNTED_MAX,
                bytes_max: COUNTED_BYTES_MAX,
            };
            view.read_log(read).await.map_err(|error| fault::storage(&error))?
        }
        _ => Vec::new(),
    };
    let counted: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
    let measured = engine.shipping().backlogs().bytes(way.tables());
    let Table { account, name, region: own, id, .. } = table;
    let route = Route { account, table: name, from: (own, *id), to: (region, way.receiver) };
    let oldest = entries.first().map(|first| VersionRecord::decode(&first.bytes)).transpose();
    Ok(ReplicaStatus {
        region: region.to_owned(),
        backlog: u64::try_from(entries.len()).unwrap_or(u64::MAX),
        oldest_ms: oldest.map_err(|_| fault::internal())?.map(|record| record.at.ms()),
        backlog_bytes: measured.max(u64::try_from(counted).unwrap_or(u64::MAX)),
        owed: cursor.as_ref().and_then(|cursor| cursor.owed),
        is_filling: cursor.is_none_or(|cursor| cursor.pass.is_some()),
        figures: engine.shipping().figures((way.sender, way.receiver)),
        clock_ahead_ms: engine.shipping().clocks().ahead_ms(way.back().tables()),
        is_remote: false,
        last_error: engine.shipping().last_fault(way.tables()),
        status: ACTIVE,
        is_held: !entries.is_empty() && engine.links().holds(&route, engine.env().now_ms()),
        is_isolated: false,
    })
}
