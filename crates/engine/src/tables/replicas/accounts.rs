//! CreateTable that makes a table of one account a replica of another account's table.
//!
//! Each account has one replica, in a region of its own, and removes it with DeleteTable. All settings are
//! the same: nothing is overridden. Whether the accounts allow it is decided before (`access`).

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{global as messages, table as table_messages};
use keywright_semantics::place::GLOBAL_TABLE_REGIONS;
use keywright_semantics::request::{JoinGlobalTable, ReplicaSettings};
use keywright_semantics::response::Response;
use keywright_store::Store;

use super::ScaledWrites;
use super::join::{Adding, OwnSettings, add, check_addable};
use crate::catalogue::{Member, Table};
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace, Region};
use crate::tables::create::check_free;
use crate::tables::describe::{View, describe};
use crate::tables::policies;
use crate::tables::tags::check_throttle_tag;

/// Makes the replica. The response describes it.
pub(crate) async fn join<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (request, scaled): (&JoinGlobalTable, &ScaledWrites),
) -> Result<Response, Error> {
    check_free(engine, namespace, &request.name)?;
    check_throttle_tag(&request.tags)?;
    let source = source_of(engine, namespace, request)?;
    check_addable(engine, &source, scaled)?;
    let policies = policies::of_new_table(engine, request.policy.as_ref(), engine.env().now_ms())?;
    if request.policy.is_some() {
        engine.catalogue().check_knows_policies(&request.name).await?;
    }
    let settings = ReplicaSettings { region: namespace.region.to_string(), ..ReplicaSettings::default() };
    let own = OwnSettings {
        policies,
        tags: request.tags.clone(),
        deletion_protection: request.deletion_protection,
    };
    let adding = Adding { target: namespace, settings: &settings, key_arn: None, scaled, own };
    let table = add(engine, &source, adding).await?;
    assert!(table.replicates_settings, "a replica has the mode of its source");
    Ok(Response::CreateTable(Box::new(describe(&table, View::of(engine)))))
}

/// The table that the new one is filled from.
fn source_of<S: Store>(
    engine: &Engine<S>,
    own: &Namespace,
    request: &JoinGlobalTable,
) -> Result<Arc<Table>, Error> {
    let refused = |text: String| Err(Error::validation(text));
    if request.source.account == own.account.as_str() {
        return refused(messages::SOURCE_OF_OWN_ACCOUNT.to_owned());
    }
    for region in [own.region.as_str(), &request.source.region] {
        if !GLOBAL_TABLE_REGIONS.contains(&region) {
            return refused(messages::unknown_region(region));
        }
    }
    if engine.peers().owns(&request.source.region) {
        return refused(messages::source_on_another_server(&request.source.region));
    }
    let place = place_of(&request.source.account, &request.source.region);
    let found = engine.catalogue().find(&place, &request.name).filter(|table| table.filling.is_none());
    let source = found.ok_or_else(|| {
        Error::new(ErrorKind::ResourceNotFound, table_messages::table_not_found(&request.name))
    })?;
    if source.is_joining() {
        return refused(messages::being_added(&source.name, &source.region));
    }
    let is_of_one_account = |member: &Member| member.account == source.account;
    if source.replicas().any(is_of_one_account) {
        return refused(messages::source_of_one_account(&request.source_arn));
    }
    if !source.replicates_settings {
        return refused(messages::source_not_shared(&request.source_arn));
    }
    let is_taken =
        |account: &str, region: &str| account == own.account.as_str() || region == own.region.as_str();
    let members = source.replicas().map(|member| (member.account.as_str(), member.region.as_str()));
    let own_place = (source.account.as_str(), source.region.as_str());
    if members.chain([own_place]).any(|(account, region)| is_taken(account, region)) {
        return refused(messages::ONE_REPLICA_OF_ACCOUNT.to_owned());
    }
    if source.encryption.is_some() {
        return refused(messages::KEYS_IN_ACCOUNTS.to_owned());
    }
    Ok(source)
}

fn place_of(account: &str, region: &str) -> Namespace {
    Namespace { account: AccountId::from(account), region: Region::stored(region) }
}

impl<S: Store> Engine<S> {
    /// The accounts and regions of a table and of its replicas, the table's own first; none if there is no
    /// such table.
    pub fn replica_places(&self, namespace: &Namespace, name: &str) -> Vec<Namespace> {
        let Some(table) = self.catalogue().find(namespace, name) else { return Vec::new() };
        let others = table.replicas().map(|member| place_of(&member.account, &member.region));
        std::iter::once(namespace.clone()).chain(others).collect()
    }
}
