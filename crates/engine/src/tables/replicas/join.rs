//! UpdateTable that adds a replica: a new table in another region, with the settings of its source.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{backup, global as messages, table as table_messages};
use keywright_semantics::request::create_table::EncryptionKey;
use keywright_semantics::request::{ReplicaSettings, Throughput as Units};
use keywright_semantics::response::{TableDescription, TableStatus as TableStatusName};
use keywright_semantics::schema::{BillingMode, IndexKind, StreamView};
use keywright_store::Store;

use super::settings::{asked_overrides, check_units_of};
use super::there::check_known;
use super::{ScaledWrites, check_region};
use crate::catalogue::{
    EncryptionState, IndexStatus, MemberStatus, NewName, OtherRows, Overrides, Policies,
    RECOVERY_PERIOD_DAYS, Table, TableStatus, Values, owner,
};
use crate::replication::{Joining, join, members_of, rows_to_read};
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Namespace, Region};
use crate::support::fault;
use crate::support::layout::TableId;
use crate::tables::branch::copy_of;
use crate::tables::capacity_changes::check_account;
use crate::tables::create::{check_room, encryption_state, uuid};
use crate::tables::describe::{View, describe};
use crate::tables::group::{begin_update, check_group_settled, in_use};

/// Adds a replica. The response shows the table without it.
pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    (source, settings, scaled): (&Arc<Table>, &ReplicaSettings, &ScaledWrites),
) -> Result<TableDescription, Error> {
    let target = target_of(engine, source, settings)?;
    check_addable(engine, source, scaled)?;
    let key_arn = key_of(&target, source, settings)?;
    check_known(engine, source, &settings.region).await?;
    let adding = Adding { target: &target, settings, key_arn, scaled, own: OwnSettings::default() };
    let table = add(engine, source, adding).await?;
    let now = engine.catalogue().newest(source);
    let mut description = describe(&now, View::of(engine));
    description.table_status = TableStatusName::Updating;
    if let Some(replicas) = &mut description.replicas {
        replicas.retain(|replica| replica.region_name != table.region);
    }
    Ok(description)
}

/// What a replica has from the request that makes it, and not from its source.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnSettings {
    pub policies: Policies,
    pub tags: BTreeMap<String, String>,
    pub deletion_protection: bool,
}

/// How a replica is added.
pub(super) struct Adding<'a> {
    pub target: &'a Namespace,
    pub settings: &'a ReplicaSettings,
    /// The account's key that encrypts it.
    pub key_arn: Option<String>,
    pub scaled: &'a ScaledWrites,
    pub own: OwnSettings,
}

/// Checks that a table can have one more replica now, whichever request asks for it.
pub(super) fn check_addable<S: Store>(
    engine: &Engine<S>,
    source: &Table,
    scaled: &ScaledWrites,
) -> Result<(), Error> {
    check_source(source)?;
    check_scaled(source, scaled)?;
    check_key_settled(source, engine.env().now_ms())
}

/// Makes the new replica, in one commit with the records of its group.
pub(super) async fn add<S: Store>(
    engine: &Engine<S>,
    source: &Arc<Table>,
    adding: Adding<'_>,
) -> Result<Arc<Table>, Error> {
    let Adding { target, settings, key_arn, scaled, own } = adding;
    check_units_of(target, settings)?;
    check_account_of(engine, target, source)?;
    let moment = streams::Moment::now(engine).await?;
    let (name, public_id) = (source.name.as_str(), uuid(engine.env().random_u128()));
    let (now_ms, public_id) = (moment.now_ms(), public_id.as_str());
    let new = NewReplica { target, settings, key_arn, public_id, now_ms };
    let (cursors, from) = (rows_to_read(source), owner(source));
    let build = |id: TableId, members: &mut [Table], rows: &mut OtherRows| {
        let (table, overrides) = new.table(members, id)?;
        let mut table = Table {
            policies: own.policies.clone(),
            tags: own.tags.clone(),
            deletion_protection: own.deletion_protection,
            ..table
        };
        let found = members.first_mut().ok_or_else(fault::internal)?;
        check_source(found)?;
        let is_taken = |label: &str| engine.catalogue().has_stream(&from, name, label);
        let view = stream_for_replicas(found, is_taken, moment);
        let is_taken = |label: &str| engine.catalogue().has_stream(target, name, label);
        streams::enable(&mut table, is_taken, view, moment);
        if engine.config().pitr_default {
            table.history.enable_recovery(now_ms, RECOVERY_PERIOD_DAYS, engine.stamps().beginning(now_ms));
        }
        begin_update(found, moment);
        let joining = Joining {
            now_ms,
            shown_from_ms: moment.settled_ms(),
            // It is shown as CREATING for one transition more.
            until_ms: moment.settled_ms().saturating_add(engine.config().transition_ms),
            version: moment.version(),
            overrides,
        };
        // False: the group has other members than those whose records were read.
        let has_joined = join(&mut table, members, rows, &joining)?;
        #[cfg(test)]
        {
            let others = members.iter().skip(1).map(|other| other.id);
            let ways = others.map(|sender| crate::changes::replicated::Way { sender, receiver: id });
            crate::replication::break_places(engine, ways, rows, moment.version());
        }
        let is_whole = has_joined && scaled.inherited.put(rows, cursors.len());
        is_whole.then_some(table).ok_or_else(|| in_use(messages::REPLICA_CHANGES.to_owned()))
    };
    let permit = || {
        engine.pace().check_presence()?;
        check_room(engine, target)
    };
    let named = NewName { namespace: target, name, public_id };
    let inherited = scaled.inherited.read.iter().map(|(key, _)| key.clone());
    let with = (members_of(source), cursors.iter().cloned().chain(inherited).collect::<Vec<_>>());
    let table = engine.catalogue().create_with(named, (&with.0, &with.1), permit, build).await?;
    engine.shipping().note(source.id);
    Ok(table)
}

/// Where the replica will be. There must be no table of the name.
fn target_of<S: Store>(
    engine: &Engine<S>,
    source: &Table,
    settings: &ReplicaSettings,
) -> Result<Namespace, Error> {
    let region = &settings.region;
    if region.is_empty() {
        // Observed: the service looks for a right in no region.
        return Err(Error::new(ErrorKind::AccessDenied, table_messages::ACCESS_DENIED));
    }
    check_region(source, region)?;
    if source.is_joining() {
        return Err(Error::validation(messages::being_added(&source.name, &source.region)));
    }
    let target = Namespace { region: Region::stored(region), ..owner(source) };
    let member = source.replication.as_ref().and_then(|group| group.member_in(region));
    if member.is_some_and(|member| member.status == MemberStatus::Creating) {
        return Err(in_use(messages::already_added(&source.name, &regions_of(source))));
    }
    if let Some(refusal) = engine.catalogue().refused(&target, &source.name) {
        return Err(refusal);
    }
    // Also one of a server that the settings do not name any more.
    let is_remote = source.remote_in(region).is_some();
    if is_remote || member.is_some() || engine.catalogue().find(&target, &source.name).is_some() {
        return Err(Error::validation(messages::replica_exists(&source.name)));
    }
    Ok(target)
}

/// The regions of a table's group, by name.
fn regions_of(table: &Table) -> Vec<&str> {
    let members = table.replication.iter().flat_map(|group| &group.members);
    let mut regions: Vec<&str> = members.map(|member| member.region.as_str()).collect();
    regions.sort_unstable();
    regions
}

/// Checks that a table can be the source of a new replica now.
pub(super) fn check_source(source: &Table) -> Result<(), Error> {
    check_group_settled(source)?;
    match source.status {
        TableStatus::Active => {}
        TableStatus::Creating => return Err(in_use(table_messages::being_created(&source.name))),
        TableStatus::Updating => return Err(in_use(table_messages::being_updated(&source.name))),
        TableStatus::Deleting => return Err(in_use(table_messages::being_deleted(&source.name))),
    }
    if source.bulk_put.is_some() {
        return Err(in_use(backup::table_in_use(&source.name)));
    }
    // A branch is dropped as a whole: its tables leave no group.
    if source.copied_bytes.is_some() {
        return Err(Error::validation(messages::of_branch(&source.name)));
    }
    if source.has_old_versions {
        return Err(in_use(messages::earlier_versions(&source.name)));
    }
    Ok(())
}

/// Checks that something scales the write units of a provisioned table: each replica repeats all writes.
pub(super) fn check_scaled(source: &Table, scaled: &ScaledWrites) -> Result<(), Error> {
    if source.billing == BillingMode::PayPerRequest {
        return Ok(());
    }
    if !scaled.table {
        return Err(Error::validation(messages::WRITES_NOT_SCALED));
    }
    let mut globals = source.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global);
    if !globals.all(|index| scaled.indexes.contains(&index.name)) {
        return Err(Error::validation(messages::INDEX_WRITES_NOT_SCALED));
    }
    Ok(())
}

/// Enables a stream if the table has none: replication needs one. Its view is that of the replicas' streams.
pub(super) fn stream_for_replicas(
    source: &mut Table,
    is_taken: impl Fn(&str) -> bool,
    moment: streams::Moment,
) -> StreamView {
    let view = source.live_stream().map(|stream| stream.terms.view);
    view.unwrap_or_else(|| {
        streams::enable(source, is_taken, StreamView::NewAndOldImages, moment);
        StreamView::NewAndOldImages
    })
}

/// A replica to be made.
pub(super) struct NewReplica<'a> {
    pub target: &'a Namespace,
    pub settings: &'a ReplicaSettings,
    /// The account's key that encrypts it.
    pub key_arn: Option<String>,
    pub public_id: &'a str,
    pub now_ms: u64,
}

impl NewReplica<'_> {
    /// Its record with what it sets differently: the settings of its group, without what belongs to one
    /// region.
    pub(super) fn table(&self, members: &[Table], id: TableId) -> Result<(Table, Overrides), Error> {
        let source = members.first().ok_or_else(fault::internal)?;
        assert_ne!(source.region, self.target.region.as_str(), "a replica is in another region");
        let copied = copy_of(source, self.target, id, self.public_id, self.now_ms);
        let encryption = match &self.key_arn {
            Some(key_arn) => Some(EncryptionState { key_arn: key_arn.clone() }),
            // The key that the service manages is another one in each region.
            None => copied
                .encryption
                .as_ref()
                .map(|_| encryption_state(&EncryptionKey { key_id: None, found_arn: None }, self.target)),
        };
        let mut table = Table {
            status: TableStatus::Creating,
            encryption,
            deletion_protection: false,
            deletion_protection_changed_ms: None,
            tags: BTreeMap::new(),
            insights: Vec::new(),
            copied_bytes: None,
            ..copied
        };
        for state in &mut table.states {
            // The pass that copies the items fills them.
            state.status = IndexStatus::Active;
            state.backfill = None;
        }
        table.ttl.filling = false;
        let values = Values::of_group(members);
        let overrides =
            Overrides { key_arn: self.key_arn.clone(), ..asked_overrides(source, &values, self.settings) };
        values.with(&overrides).put_into(&mut table);
        Ok((table, overrides))
    }
}

/// Checks that the account can have the units of one more replica in a region.
pub(super) fn check_account_of<S: Store>(
    engine: &Engine<S>,
    target: &Namespace,
    source: &Table,
) -> Result<(), Error> {
    let all = source.states.iter().map(|state| state.throughput).chain([source.throughput]);
    let asked: Vec<Units> =
        all.map(|units| Units { read_units: units.read_units, write_units: units.write_units }).collect();
    check_account(engine, target, None, &asked)
}

pub(super) fn check_key_settled(source: &Table, now_ms: u64) -> Result<(), Error> {
    match &source.key_change {
        Some(change) if now_ms < change.until_ms => Err(Error::validation(messages::KEY_BEING_CHANGED)),
        Some(_) | None => Ok(()),
    }
}

/// The key of the account's that encrypts the replica. Tables of one group all have one, or none has.
pub(super) fn key_of(
    target: &Namespace,
    source: &Table,
    settings: &ReplicaSettings,
) -> Result<Option<String>, Error> {
    let is_managed = is_managed_key;
    match (&source.encryption, &settings.key_id) {
        (None, None) => Ok(None),
        (Some(own), None) if is_managed(&own.key_arn) => Ok(None),
        (Some(own), Some(key_id)) if is_managed(&own.key_arn) != is_managed_id(key_id) => {
            Err(Error::validation(messages::KEYS_OF_ONE_KIND))
        }
        (Some(_), Some(key_id)) => {
            let key = EncryptionKey::named(key_id.clone());
            Ok(Some(encryption_state(&key, target).key_arn))
        }
        (None, Some(_)) | (Some(_), None) => {
            Err(Error::validation(table_messages::invalid(messages::KEY_OF_EACH_REPLICA)))
        }
    }
}

/// Whether this is the key that the service manages.
pub(super) fn is_managed_key(arn: &str) -> bool {
    arn.ends_with(":alias/aws/dynamodb")
}

/// Whether a text names the key that the service manages.
fn is_managed_id(key_id: &str) -> bool {
    key_id == "alias/aws/dynamodb" || key_id.ends_with(":alias/aws/dynamodb")
}
