//! UpdateTable's changes of a table's replicas, and what replicas set differently.
//!
//! `remote` has members on other servers, `there` asks them, `admit` has what such a server asks for. It does
//! not know how items reach a replica: `replication`.

mod accounts;
pub(crate) mod admit;
mod disassociate;
mod join;
mod leave;
mod remote;
mod settings;
mod strong;
pub(crate) mod take_settings;
mod there;

use std::collections::BTreeSet;

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::place::GLOBAL_TABLE_REGIONS;
use keywright_semantics::request::{ReplicaUpdates, TableRef};
use keywright_semantics::response::Response;
use keywright_store::Store;

use crate::catalogue::{OtherRows, Table};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::layout::TableId;

pub(crate) use accounts::join as join_account;
pub(crate) use disassociate::protect;
pub(crate) use settings::{scale_reads, shared_reads, take_overrides};

/// The write units of a table that policies scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScaledWrites {
    /// Whether the table's own are.
    pub table: bool,
    /// The indexes whose are.
    pub indexes: BTreeSet<String>,
    /// What scales a new replica as its source.
    pub inherited: InheritedRows,
}

/// Rows that the commit of a new replica writes besides its record, and those that they were made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InheritedRows {
    /// As they were read. If one has changed, the commit does not happen.
    pub read: Vec<(Bytes, Option<Bytes>)>,
    pub written: Vec<(Bytes, Bytes)>,
}

impl InheritedRows {
    /// Writes the rows, if those that they were made from stand in `rows` from this place on as they were
    /// read.
    #[must_use]
    fn put(&self, rows: &mut OtherRows, place: usize) -> bool {
        let mut read = (place..).zip(&self.read);
        if !read.all(|(place, (_, before))| rows.found(place) == before.as_ref()) {
            return false;
        }
        for (key, row) in &self.written {
            rows.put(key.clone(), row.clone());
        }
        true
    }
}

/// Executes an UpdateTable that changes replicas.
pub(super) async fn run<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (table, updates, scaled): (&TableRef, &ReplicaUpdates, &ScaledWrites),
) -> Result<Response, Error> {
    let found = engine.catalogue().lookup_any(namespace, table)?;
    if found.filling.is_some() {
        let text = table_messages::table_not_found(&found.name);
        return Err(Error::new(ErrorKind::ResourceNotFound, text));
    }
    let is_own = matches!(updates, ReplicaUpdates::Disassociate { .. });
    if found.replicates_settings && !is_own {
        return Err(Error::validation(messages::REPLICAS_OF_ACCOUNTS));
    }
    if found.strong.is_some() && found.is_joining() {
        return Err(Error::validation(messages::being_added(&found.name, &found.region)));
    }
    let description = match updates {
        ReplicaUpdates::CreateStrong(group) => strong::create(engine, (&found, group, scaled)).await?,
        ReplicaUpdates::DeleteSeveral { regions, witness } => {
            strong::end(engine, (&found, regions, witness.as_deref())).await?
        }
        ReplicaUpdates::Create(settings) if found.strong.is_some() => {
            check_region(&found, &settings.region)?;
            return Err(Error::validation(messages::STRONG_GROUP_IS_FROZEN));
        }
        ReplicaUpdates::Update(_) if found.strong.is_some() => {
            return Err(Error::validation(messages::STRONG_REPLICA_SETTINGS));
        }
        ReplicaUpdates::Disassociate { .. } if found.strong.is_some() => {
            return Err(Error::validation(messages::STRONG_STAYS_WHOLE));
        }
        ReplicaUpdates::Delete { region } if found.strong.is_some() => {
            return Err(strong::refusal_of_single(&found, region));
        }
        ReplicaUpdates::Create(settings) if engine.peers().owns(&settings.region) => {
            remote::create(engine, namespace, (&found, settings, scaled)).await?
        }
        ReplicaUpdates::Create(settings) => join::create(engine, (&found, settings, scaled)).await?,
        ReplicaUpdates::Update(settings) => settings::update(engine, (&found, settings)).await?,
        ReplicaUpdates::Disassociate { region } => disassociate::begin(engine, (&found, region)).await?,
        ReplicaUpdates::Delete { region } => match found.remote_in(region) {
            Some(member) => remote::delete(engine, &found, member).await?,
            None => leave::delete(engine, (&found, region)).await?,
        },
    };
    Ok(Response::UpdateTable(Box::new(description)))
}

/// Checks that a region other than the table's own is named, and one that the service knows.
fn check_region(table: &Table, region: &str) -> Result<(), Error> {
    if region == table.region {
        return Err(Error::validation(messages::LOCAL_REGION));
    }
    for region in [region, &table.region] {
        if !GLOBAL_TABLE_REGIONS.contains(&region) {
            return Err(Error::validation(messages::unknown_region(region)));
        }
    }
    Ok(())
}

/// The id of the member in a region.
fn member_in(table: &Table, region: &str) -> Result<TableId, Error> {
    let member = table.replication.as_ref().and_then(|group| group.member_in(region));
    member.map(|member| member.table).ok_or_else(|| Error::validation(messages::no_such_replica(region)))
}
