//! Global tables as clients see them: states at both ends, settings that are shared and those that are not,
//! and what is refused. That items reach the other regions is tested with replication.

mod strong;

use std::collections::BTreeMap;

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::create_table::{CreateTable, EncryptionKey};
use keywright_semantics::request::parts::{BillingMode, StreamViewType, TableClass};
use keywright_semantics::request::update_table::{EncryptionChange, StreamChange, UpdateTable};
use keywright_semantics::request::{
    ArnScope, DescribeTimeToLive, OnDemandThroughput, ReplicaIndexSettings, ReplicaSettings, ReplicaUpdates,
    Request, ResourceRef, TagResource, Throughput, TtlChange, UpdateTimeToLive,
};
use keywright_semantics::response::{
    ReplicaDescription, ReplicaStatus, Response, TableDescription, TableStatus, TimeToLiveStatus,
};
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::tables::{Bed, add_index, creation, drop_index, kind, named, nothing, open, plain};
use crate::EngineConfig;
use crate::support::env::{Caller, Env as _, Namespace, Region};

const VIRGINIA: &str = "us-east-1";
const IRELAND: &str = "eu-west-1";
const OREGON: &str = "us-west-2";
const START_MS: u64 = 1_790_000_000_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Regions of one server.
struct Regions {
    bed: Bed<MemoryStore>,
}

fn regions(config: EngineConfig) -> Regions {
    let bed = open(MemoryStore::new(), config);
    bed.pass_time(START_MS);
    Regions { bed }
}

/// The table `Shop` in Virginia, with replicas in these regions.
fn shop_in(others: &[&'static str]) -> Regions {
    let mut regions = regions(EngineConfig::default());
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    for region in others {
        regions.at(VIRGINIA).update(create(region)).expect("it is added");
        regions.bed.settle();
    }
    regions
}

impl Regions {
    /// The endpoint of a region.
    fn at(&mut self, region: &'static str) -> &Bed<MemoryStore> {
        let account = caller().namespace.account;
        self.bed.caller = Caller::account(Namespace { account, region: Region::from(region) });
        &self.bed
    }

    fn describe(&mut self, region: &'static str) -> TableDescription {
        self.at(region).describe("Shop").expect("the table is there")
    }

    /// The regions and states that a region describes.
    fn replicas(&mut self, region: &'static str) -> Vec<(String, ReplicaStatus)> {
        let replicas = self.describe(region).replicas.expect("it is a global table");
        replicas.into_iter().map(|replica| (replica.region_name, replica.replica_status)).collect()
    }

    /// How Virginia describes Ireland.
    fn ireland(&mut self) -> ReplicaDescription {
        let replicas = self.describe(VIRGINIA).replicas.expect("it is a global table");
        replicas.into_iter().find(|replica| replica.region_name == IRELAND).expect("it is a replica")
    }

    fn refusal(&mut self, region: &'static str, updates: ReplicaUpdates) -> (ErrorKind, String) {
        kind(self.at(region).update(with(updates)))
    }
}

fn settings(region: &str) -> ReplicaSettings {
    ReplicaSettings { region: region.into(), ..ReplicaSettings::default() }
}

fn with(updates: ReplicaUpdates) -> UpdateTable {
    UpdateTable { replicas: Some(updates), ..nothing("Shop") }
}

fn create(region: &str) -> UpdateTable {
    with(ReplicaUpdates::Create(settings(region)))
}

fn remove(region: &str) -> UpdateTable {
    with(ReplicaUpdates::Delete { region: region.into() })
}

fn change(settings: ReplicaSettings) -> UpdateTable {
    with(ReplicaUpdates::Update(vec![settings]))
}

fn state(region: &str, status: ReplicaStatus) -> (String, ReplicaStatus) {
    (region.to_owned(), status)
}

fn invalid(text: &str) -> (ErrorKind, String) {
    (ErrorKind::Validation, format!("One or more parameter values were invalid: {text}"))
}

fn refused(text: &str) -> (ErrorKind, String) {
    (ErrorKind::Validation, text.to_owned())
}

fn busy() -> (ErrorKind, String) {
    (ErrorKind::ResourceInUse, "The resource which you are attempting to change is in use.".to_owned())
}

#[test]
fn both_ends_describe_a_replica_from_its_creation_to_its_end() {
    let mut regions = regions(EngineConfig { transition_ms: 500, ..EngineConfig::default() });
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.bed.pass_time(500);
    regions.bed.settle();
    assert_eq!(regions.describe(VIRGINIA).replicas, None);

    let answer = regions.at(VIRGINIA).update(create(IRELAND)).expect("it is added");
    assert_eq!((answer.table_status, answer.replicas), (TableStatus::Updating, Some(Vec::new())));
    assert!(answer.latest_stream_arn.is_some(), "a replica needs a stream");
    assert_eq!(regions.describe(VIRGINIA).table_status, TableStatus::Updating);
    assert_eq!(regions.replicas(VIRGINIA), []);
    assert_eq!(regions.describe(IRELAND).table_status, TableStatus::Creating);

    regions.bed.pass_time(500);
    regions.bed.settle();
    assert_eq!(regions.describe(VIRGINIA).table_status, TableStatus::Active);
    assert_eq!(regions.replicas(VIRGINIA), [state(IRELAND, ReplicaStatus::Creating)]);
    assert_eq!(regions.replicas(IRELAND), [state(VIRGINIA, ReplicaStatus::Active)]);

    regions.bed.pass_time(500);
    regions.bed.settle();
    assert_eq!(regions.replicas(VIRGINIA), [state(IRELAND, ReplicaStatus::Active)]);
    assert_eq!(regions.describe(IRELAND).table_status, TableStatus::Active);
    let (here, there) = (regions.describe(VIRGINIA), regions.describe(IRELAND));
    assert_ne!(here.table_id, there.table_id);
    assert_eq!(there.table_arn, "arn:aws:dynamodb:eu-west-1:000000000000:table/Shop");
    assert_eq!(there.stream_specification, here.stream_specification);

    let answer = regions.at(VIRGINIA).update(remove(IRELAND)).expect("it may go");
    assert_eq!(answer.table_status, TableStatus::Active);
    assert_eq!(regions.describe(VIRGINIA).table_status, TableStatus::Updating);
    assert_eq!(regions.replicas(VIRGINIA), [state(IRELAND, ReplicaStatus::Deleting)]);
    assert_eq!(regions.describe(IRELAND).table_status, TableStatus::Deleting);
    regions.bed.pass_time(500);
    regions.bed.settle();
    assert_eq!(regions.describe(VIRGINIA).replicas, None);
    assert_eq!(kind(regions.at(IRELAND).describe("Shop")).0, ErrorKind::ResourceNotFound);
}

#[test]
fn delete_table_in_one_of_three_regions_leaves_the_other_two() {
    let mut regions = shop_in(&[IRELAND, OREGON]);
    let (here, west) = (state(VIRGINIA, ReplicaStatus::Active), state(OREGON, ReplicaStatus::Active));
    assert_eq!(regions.replicas(IRELAND), [here.clone(), west.clone()]);
    let answer = regions.at(IRELAND).delete("Shop").expect("it may go");
    assert_eq!(answer.table_status, TableStatus::Deleting);
    regions.bed.settle();
    assert_eq!(regions.replicas(VIRGINIA), [west]);
    assert_eq!(regions.replicas(OREGON), [here]);
    assert_eq!(kind(regions.at(IRELAND).describe("Shop")).0, ErrorKind::ResourceNotFound);
    regions.at(VIRGINIA).update(create(IRELAND)).expect("the region is free again");
}

#[test]
fn a_new_replica_keeps_the_view_of_a_stream_that_is_there() {
    let mut regions = regions(EngineConfig::default());
    let keys = CreateTable { stream: Some(StreamViewType::KeysOnly), ..creation("Shop", plain()) };
    let before = regions.at(VIRGINIA).create(keys).expect("it is new");
    regions.at(VIRGINIA).update(create(IRELAND)).expect("it is added");
    regions.bed.settle();
    assert_eq!(regions.describe(VIRGINIA).latest_stream_label, before.latest_stream_label);
    let there = regions.describe(IRELAND).stream_specification.expect("it has a stream");
    assert_eq!(there.stream_view_type, Some(StreamViewType::KeysOnly));
}

#[test]
fn each_fault_of_a_change_of_replicas_has_its_text() {
    let mut regions = shop_in(&[IRELAND]);
    let local = "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or \
                 UpdateTable as required.";
    let create = |region: &str| ReplicaUpdates::Create(settings(region));
    let delete = |region: &str| ReplicaUpdates::Delete { region: region.into() };
    let change = |settings| ReplicaUpdates::Update(vec![settings]);
    assert_eq!(regions.refusal(VIRGINIA, create(VIRGINIA)), refused(local));
    assert_eq!(regions.refusal(IRELAND, delete(IRELAND)), refused(local));
    for region in ["us-fake-1", "EU-WEST-1"] {
        let (kind, text) = regions.refusal(VIRGINIA, create(region));
        let start = format!("Region {region} is not supported. The latest version of global tables are only");
        assert!(kind == ErrorKind::Validation && text.starts_with(&start), "{text}");
    }
    assert_eq!(regions.refusal(VIRGINIA, create("")).0, ErrorKind::AccessDenied);
    let exists = "Failed to create a the new replica of table with name: ‘Shop’ because one or more replicas \
                  already existed as tables.";
    assert_eq!(regions.refusal(VIRGINIA, create(IRELAND)), refused(exists));
    regions.at(OREGON).create(creation("Shop", plain())).expect("it is another table");
    assert_eq!(regions.refusal(VIRGINIA, create(OREGON)), refused(exists));
    let absent = "Update global table operation failed because one or more replicas were not part of the global \
                  table. Please retry the request without these replicas: [us-west-2].";
    assert_eq!(regions.refusal(VIRGINIA, delete(OREGON)), refused(absent));
    assert_eq!(regions.refusal(VIRGINIA, change(settings(OREGON))), refused(absent));
    let nothing = "There are no actions specified in the Replica Update Action of the request.";
    assert_eq!(regions.refusal(VIRGINIA, change(settings(IRELAND))), refused(nothing));
    let units = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is \
                 PAY_PER_REQUEST";
    let units_asked = ReplicaSettings { read_units: Some(5), ..settings(IRELAND) };
    assert_eq!(regions.refusal(VIRGINIA, change(units_asked)), refused(units));
    let key = ReplicaSettings { key_id: Some("k".into()), ..settings(IRELAND) };
    let key_needed = invalid("KMSMasterKeyId must be specified for each replica.");
    assert_eq!(regions.refusal(VIRGINIA, change(key)), key_needed);
    let key = ReplicaSettings { key_id: Some("k".into()), ..settings("eu-west-2") };
    assert_eq!(regions.refusal(VIRGINIA, ReplicaUpdates::Create(key)), key_needed);
    let missing =
        kind(regions.at(VIRGINIA).update(UpdateTable { table: named("Missing"), ..with(create(VIRGINIA)) }));
    assert_eq!(missing.0, ErrorKind::ResourceNotFound);
}

#[test]
fn the_key_of_a_new_replica_is_of_the_kind_of_its_tables_and_waits_for_a_change_of_that() {
    let mut regions = regions(EngineConfig { transition_ms: 500, ..EngineConfig::default() });
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    let pass = |regions: &Regions| {
        regions.bed.pass_time(500);
        regions.bed.settle();
    };
    pass(&regions);
    let managed = EncryptionChange::OwnKey(EncryptionKey { key_id: None, found_arn: None });
    let managed = UpdateTable { encryption: Some(managed), ..nothing("Shop") };
    regions.at(VIRGINIA).update(managed).expect("the key changes");
    let changed = "Operation cannot be performed while replica server-side encryption status is in UPDATING state. \
                   Please retry the request after the status is updated to ENABLED.";
    let plainly = || ReplicaUpdates::Create(settings(IRELAND));
    assert_eq!(regions.refusal(VIRGINIA, plainly()), refused(changed));
    pass(&regions);
    let kinds = "All replica keys must either be Customer Managed CMK or AWS Managed CMK.";
    let own = ReplicaSettings { key_id: Some("k".into()), ..settings(IRELAND) };
    assert_eq!(regions.refusal(VIRGINIA, ReplicaUpdates::Create(own)), refused(kinds));
    regions.at(VIRGINIA).update(with(plainly())).expect("it has the managed key of its region");

    let own = EncryptionChange::OwnKey(EncryptionKey::named("k".into()));
    let new = creation("Own", plain());
    regions.at(VIRGINIA).create(new).expect("it is new");
    pass(&regions);
    let own = UpdateTable { encryption: Some(own), ..nothing("Own") };
    regions.at(VIRGINIA).update(own).expect("the key changes");
    pass(&regions);
    for (key, refusal) in [
        (Some("alias/aws/dynamodb"), refused(kinds)),
        (None, invalid("KMSMasterKeyId must be specified for each replica.")),
    ] {
        let settings = ReplicaSettings { key_id: key.map(Into::into), ..settings(IRELAND) };
        let create = UpdateTable { table: named("Own"), ..with(ReplicaUpdates::Create(settings)) };
        assert_eq!(kind(regions.at(VIRGINIA).update(create)), refusal);
    }
}

#[test]
fn a_replica_of_a_provisioned_table_has_no_ceiling_of_its_own() {
    let mut regions = shop_in(&[IRELAND]);
    let units = Throughput { read_units: 3, write_units: 4 };
    let provisioned =
        UpdateTable { billing: Some(BillingMode::Provisioned), throughput: Some(units), ..nothing("Shop") };
    regions.at(VIRGINIA).update(provisioned).expect("it changes");
    let ceiling = ReplicaSettings { read_units_max: Some(5), ..settings(IRELAND) };
    let text = "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is \
                PROVISIONED";
    assert_eq!(regions.refusal(VIRGINIA, ReplicaUpdates::Update(vec![ceiling])), refused(text));
    let units = ReplicaSettings { read_units: Some(5), ..settings(IRELAND) };
    regions.at(VIRGINIA).update(change(units)).expect("units are its own");
}

#[test]
fn a_provisioned_table_has_replicas_only_if_its_writes_are_scaled() {
    let mut regions = regions(EngineConfig::default());
    let units = Throughput { read_units: 10, write_units: 10 };
    let request = CreateTable {
        billing: BillingMode::Provisioned,
        throughput: Some(units),
        ..creation("Shop", plain())
    };
    regions.at(VIRGINIA).create(request).expect("it is new");
    let text = "Table write capacity should either be Pay-Per-Request or AutoScaled.";
    assert_eq!(regions.refusal(VIRGINIA, ReplicaUpdates::Create(settings(IRELAND))), refused(text));
}

#[test]
fn other_changes_wait_until_a_replica_is_added() {
    let mut regions = regions(EngineConfig { transition_ms: 500, ..EngineConfig::default() });
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.bed.pass_time(500);
    regions.bed.settle();
    regions.at(VIRGINIA).update(create(IRELAND)).expect("it is added");
    regions.bed.pass_time(500);
    regions.bed.settle();
    let class = UpdateTable { class: Some(TableClass::StandardInfrequentAccess), ..nothing("Shop") };
    assert_eq!(kind(regions.at(VIRGINIA).update(class)), busy());
    assert_eq!(kind(regions.at(VIRGINIA).update(create(OREGON))), busy());
    assert_eq!(kind(regions.at(VIRGINIA).update(remove(IRELAND))), busy());
    let twice = "Global table with name: Shop already exists with replicas in regions: eu-west-1, us-east-1.";
    let refusal = kind(regions.at(VIRGINIA).update(create(IRELAND)));
    assert_eq!(refusal, (ErrorKind::ResourceInUse, twice.to_owned()));
    let added = "Create/Update/Delete of replica is not allowed while the replica is being added to table with \
                 name: Shop in region eu-west-1";
    assert_eq!(kind(regions.at(VIRGINIA).run(expiry(TtlChange::Enable))), refused(added));
    assert_eq!(kind(regions.at(IRELAND).update(create(OREGON))), refused(added));
    let source = "Replica cannot be deleted because it has acted as a source region for new replica(s) being \
                  added to the table in the last 24 hours.";
    assert_eq!(kind(regions.at(IRELAND).update(remove(VIRGINIA))), refused(source));
    let protection = UpdateTable { deletion_protection: Some(true), ..nothing("Shop") };
    assert_eq!(kind(regions.at(IRELAND).update(protection)).0, ErrorKind::ResourceNotFound);
    assert_eq!(kind(regions.at(IRELAND).run(expiry(TtlChange::Enable))).0, ErrorKind::ResourceNotFound);
    let text = "Attempt to change a resource which is still in use: Table: Shop is being used.";
    assert_eq!(kind(regions.at(IRELAND).delete("Shop")), (ErrorKind::ResourceInUse, text.to_owned()));
    let arn = regions.describe(VIRGINIA).table_arn;
    let scope = ArnScope { region: VIRGINIA.into(), account: "000000000000".into() };
    let resource = ResourceRef { arn, scope, table: "Shop".into() };
    let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    regions.at(VIRGINIA).run(Request::TagResource(TagResource { resource, tags })).expect("tags may change");
}

fn expiry(change: TtlChange) -> Request {
    Request::UpdateTimeToLive(UpdateTimeToLive { table: named("Shop"), attribute: "expires".into(), change })
}

fn has_expiry(regions: &mut Regions, region: &'static str) -> TimeToLiveStatus {
    let request = Request::DescribeTimeToLive(DescribeTimeToLive { table: named("Shop") });
    match regions.at(region).run(request).expect("it is described") {
        Response::DescribeTimeToLive(description) => description.status,
        other => panic!("not a time to live: {other:?}"),
    }
}

#[test]
fn shared_settings_reach_every_region_from_any_and_others_stay_where_they_are() {
    let mut regions = shop_in(&[IRELAND]);
    regions.at(IRELAND).update(add_index("Shop", "by-g", "g")).expect("an index is added");
    regions.bed.settle();
    for region in [VIRGINIA, IRELAND] {
        let indexes = regions.describe(region).global_secondary_indexes.expect("it has one");
        assert_eq!(indexes.len(), 1, "{region}");
    }
    regions.at(VIRGINIA).update(drop_index("Shop", "by-g")).expect("it is deleted");
    regions.bed.settle();
    assert_eq!(regions.describe(IRELAND).global_secondary_indexes, None);

    regions.at(IRELAND).run(expiry(TtlChange::Enable)).expect("items expire");
    regions.bed.settle();
    assert_eq!(has_expiry(&mut regions, VIRGINIA), TimeToLiveStatus::Enabled);

    let ceilings = OnDemandThroughput { read_units_max: Some(100), write_units_max: Some(200) };
    regions.at(IRELAND).update(UpdateTable { on_demand: Some(ceilings), ..nothing("Shop") }).expect("fine");
    let here = regions.describe(VIRGINIA).on_demand_throughput.expect("it has ceilings");
    assert_eq!((here.max_read_request_units, here.max_write_request_units), (Some(100), Some(200)));

    let units = Throughput { read_units: 3, write_units: 4 };
    let provisioned =
        UpdateTable { billing: Some(BillingMode::Provisioned), throughput: Some(units), ..nothing("Shop") };
    regions.at(VIRGINIA).update(provisioned).expect("it changes");
    let there = regions.describe(IRELAND).provisioned_throughput.expect("always");
    assert_eq!((there.read_capacity_units, there.write_capacity_units), (3, 4));

    let managed = EncryptionChange::OwnKey(EncryptionKey { key_id: None, found_arn: None });
    regions.at(VIRGINIA).update(UpdateTable { encryption: Some(managed), ..nothing("Shop") }).expect("fine");
    let key = regions.describe(IRELAND).sse_description.and_then(|sse| sse.kms_master_key_arn);
    assert_eq!(key.as_deref(), Some("arn:aws:kms:eu-west-1:000000000000:alias/aws/dynamodb"));
    let own = EncryptionChange::OwnKey(EncryptionKey::named("k".into()));
    let own = UpdateTable { encryption: Some(own), ..nothing("Shop") };
    assert_eq!(
        kind(regions.at(VIRGINIA).update(own)),
        invalid("KMSMasterKeyId must be specified for each replica.")
    );

    let protection = UpdateTable { deletion_protection: Some(true), ..nothing("Shop") };
    regions.at(IRELAND).update(protection).expect("it changes");
    assert_eq!(regions.describe(VIRGINIA).deletion_protection_enabled, Some(false));
    let text = "Cannot delete table Shop in region eu-west-1 because it has deletion protection enabled. \
                Disable deletion protection first.";
    assert_eq!(kind(regions.at(VIRGINIA).update(remove(IRELAND))), refused(text));
}

#[test]
fn overrides_are_merged_cleared_by_the_shared_value_and_reset_by_its_change() {
    let mut regions = shop_in(&[]);
    regions.at(VIRGINIA).update(add_index("Shop", "by-g", "g")).expect("an index is added");
    regions.bed.settle();
    let class = Some(TableClass::StandardInfrequentAccess);
    let first = ReplicaSettings { class, read_units: Some(7), ..settings(IRELAND) };
    regions.at(VIRGINIA).update(with(ReplicaUpdates::Create(first))).expect("units have no effect on demand");
    regions.bed.settle();
    let ireland = regions.ireland();
    assert_eq!((ireland.table_class, ireland.read_capacity_units_override), (class, None));
    assert_eq!(regions.describe(IRELAND).table_class_summary.map(|summary| summary.table_class), class);
    assert_eq!(regions.describe(VIRGINIA).table_class_summary, None);

    let index = ReplicaIndexSettings { name: "by-g".into(), read_units: None, read_units_max: Some(40) };
    let ceilings = ReplicaSettings { read_units_max: Some(50), indexes: vec![index], ..settings(IRELAND) };
    regions.at(VIRGINIA).update(change(ceilings)).expect("it changes");
    let ireland = regions.ireland();
    assert_eq!((ireland.table_class, ireland.max_read_request_units_override), (class, Some(50)));
    let indexes = ireland.global_secondary_indexes.expect("one has a value of its own");
    assert_eq!(indexes.first().map(|index| index.max_read_request_units_override), Some(Some(40)));
    let there = regions.describe(IRELAND).on_demand_throughput.expect("it has a ceiling");
    assert_eq!((there.max_read_request_units, there.max_write_request_units), (Some(50), None));
    assert_eq!(regions.describe(VIRGINIA).on_demand_throughput, None);

    let writes = OnDemandThroughput { read_units_max: None, write_units_max: Some(90) };
    regions.at(VIRGINIA).update(UpdateTable { on_demand: Some(writes), ..nothing("Shop") }).expect("fine");
    let there = regions.describe(IRELAND).on_demand_throughput.expect("it has ceilings");
    assert_eq!((there.max_read_request_units, there.max_write_request_units), (Some(50), Some(90)));
    let reads = OnDemandThroughput { read_units_max: Some(30), write_units_max: None };
    regions.at(VIRGINIA).update(UpdateTable { on_demand: Some(reads), ..nothing("Shop") }).expect("fine");
    assert_eq!(regions.ireland().max_read_request_units_override, None, "the shared value has changed");
    let there = regions.describe(IRELAND).on_demand_throughput.expect("it has ceilings");
    assert_eq!((there.max_read_request_units, there.max_write_request_units), (Some(30), Some(90)));

    let standard = ReplicaSettings { class: Some(TableClass::Standard), ..settings(IRELAND) };
    regions.at(VIRGINIA).update(change(standard)).expect("it is the shared value");
    assert_eq!(regions.ireland().table_class, None);
}

#[test]
fn a_stream_stays_while_there_are_replicas() {
    let mut regions = shop_in(&[IRELAND]);
    let stream = |change| UpdateTable { stream: Some(change), ..nothing("Shop") };
    let needed = invalid("Disabling Stream is not allowed for a Global Table replica.");
    assert_eq!(kind(regions.at(IRELAND).update(stream(StreamChange::Disable))), needed);
    let again = StreamChange::Enable(StreamViewType::KeysOnly);
    let (kind_of, text) = kind(regions.at(VIRGINIA).update(stream(again)));
    assert_eq!(kind_of, ErrorKind::Validation);
    assert!(text.contains("Table already has an enabled stream: TableName: Shop"), "{text}");
    regions.at(VIRGINIA).update(remove(IRELAND)).expect("it may go");
    regions.bed.settle();
    assert!(regions.describe(VIRGINIA).stream_specification.is_some());
    regions.at(VIRGINIA).update(stream(StreamChange::Disable)).expect("no replica needs it");
}

#[test]
fn the_table_whose_last_replica_left_is_not_deleted_while_its_stream_ends() {
    let mut regions = regions(EngineConfig { transition_ms: 500, ..EngineConfig::default() });
    let pass = |regions: &Regions| {
        regions.bed.pass_time(500);
        regions.bed.settle();
    };
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    pass(&regions);
    regions.at(VIRGINIA).update(create(IRELAND)).expect("it is added");
    let updated = "Attempt to change a resource which is still in use: Table: Shop is in the process of being \
                   updated.";
    assert_eq!(kind(regions.at(VIRGINIA).delete("Shop")), (ErrorKind::ResourceInUse, updated.to_owned()));
    (0..2).for_each(|_| pass(&regions));
    regions.at(VIRGINIA).update(remove(IRELAND)).expect("it may go");
    pass(&regions);
    assert_eq!(regions.describe(VIRGINIA).replicas, None);
    let disable = UpdateTable { stream: Some(StreamChange::Disable), ..nothing("Shop") };
    regions.at(VIRGINIA).update(disable).expect("no replica needs it");
    let text = "Attempt to change a resource which is still in use: Cannot delete table while stream is being \
                enabled/disabled.";
    assert_eq!(kind(regions.at(VIRGINIA).delete("Shop")), (ErrorKind::ResourceInUse, text.to_owned()));
    pass(&regions);
    regions.at(VIRGINIA).delete("Shop").expect("the stream has ended");
}

#[test]
fn a_source_region_leaves_a_day_after_its_replica_joined_or_with_it_gone() {
    let source = "Replica cannot be deleted because it has acted as a source region for new replica(s) being \
                  added to the table in the last 24 hours.";
    let mut regions = shop_in(&[IRELAND]);
    assert_eq!(kind(regions.at(IRELAND).update(remove(VIRGINIA))), refused(source));
    assert_eq!(kind(regions.at(VIRGINIA).delete("Shop")), refused(source));
    regions.bed.pass_time(DAY_MS);
    regions.at(IRELAND).update(remove(VIRGINIA)).expect("a day has passed");

    let mut regions = shop_in(&[IRELAND]);
    regions.at(IRELAND).delete("Shop").expect("it is no source");
    regions.bed.settle();
    regions.at(VIRGINIA).delete("Shop").expect("it has no replica");

    let mut regions = self::regions(EngineConfig { source_region_ms: 0, ..EngineConfig::default() });
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.at(VIRGINIA).update(create(IRELAND)).expect("it is added");
    regions.bed.settle();
    regions.at(VIRGINIA).delete("Shop").expect("the rule is off");
}

#[test]
fn the_last_replica_goes_once_its_writes_are_everywhere() {
    let mut regions = shop_in(&[IRELAND]);
    regions.at(IRELAND).put("Shop", item([("pk", s("a"))]));
    let text = "The last active replica of table: 'Shop'  in region: 'eu-west-1' cannot be deleted until all \
                writes are replicated.";
    assert_eq!(kind(regions.at(VIRGINIA).update(remove(IRELAND))), refused(text));
    assert_eq!(kind(regions.at(IRELAND).delete("Shop")), refused(text));
    regions.bed.settle();
    regions.at(VIRGINIA).update(remove(IRELAND)).expect("nothing is missing");
    regions.bed.settle();
    let mut request = scan_request(None);
    request.table = named("Shop");
    match regions.at(VIRGINIA).run(Request::Scan(Box::new(request))).expect("it is read") {
        Response::Scan(page) => assert_eq!(page.count, 1),
        other => panic!("not a page: {other:?}"),
    }
}

#[test]
fn a_table_in_no_region_of_the_service_has_no_replicas() {
    let mut regions = regions(EngineConfig::default());
    regions.at("branch-1").create(creation("Shop", plain())).expect("it is new");
    let (kind, text) = regions.refusal("branch-1", ReplicaUpdates::Create(settings(IRELAND)));
    assert_eq!(kind, ErrorKind::Validation);
    assert!(text.starts_with("Region branch-1 is not supported."), "{text}");
    let [from, to] = ["branch-1", OREGON]
        .map(|region| Namespace { account: caller().namespace.account, region: Region::from(region) });
    block_on(regions.bed.engine.branch(&from, &to)).expect("the region is empty");
    let text = "The table Shop was made by a branch, and tables of branches have no replicas";
    assert_eq!(regions.refusal(OREGON, ReplicaUpdates::Create(settings(IRELAND))), refused(text));
}

#[test]
fn background_work_on_a_group_that_is_idle_is_seldom_due() {
    let mut regions = shop_in(&[IRELAND]);
    regions.at(VIRGINIA).put("Shop", item([("pk", s("a"))]));
    regions.bed.settle();
    let bed = &regions.bed;
    // Longer than any window over writes.
    bed.pass_time(5 * 60_000);
    bed.settle();
    let begun_ms = bed.env.now_ms();
    let mut steps = 0;
    while bed.env.now_ms() < begun_ms + 60_000 {
        let wake = block_on(bed.engine.step(bed.env.now_ms()));
        let at_ms = wake.at_ms.expect("work is due some time");
        bed.pass_time(at_ms.saturating_sub(bed.env.now_ms()));
        steps += 1;
    }
    assert!(steps < 30, "{steps} steps in a minute");
}
