//! UpdateTable: one row for each fault that does not depend on the table; the last column is the message.

use keywright_semantics::error::ErrorKind;
use keywright_semantics::request::parts::{
    AttributeDefinitionParts, BillingMode, CreateGlobalSecondaryIndexActionParts,
    CreateGlobalTableWitnessGroupMemberActionParts, CreateReplicationGroupMemberActionParts,
    DeleteGlobalSecondaryIndexActionParts, DeleteGlobalTableWitnessGroupMemberActionParts,
    DeleteReplicationGroupMemberActionParts, DisassociateReplicationGroupMemberActionParts,
    DisassociationMode, GlobalSecondaryIndexUpdateParts, GlobalTableWitnessGroupUpdateParts,
    KeySchemaElementParts, KeyType, MultiRegionConsistency, OnDemandThroughputParts, ProjectionParts,
    ProjectionType, ProvisionedThroughputParts, ReplicationGroupUpdateParts, ScalarAttributeType,
    SseSpecificationParts, StreamSpecificationParts, StreamViewType, TableClass,
    UpdateGlobalSecondaryIndexActionParts, UpdateReplicationGroupMemberActionParts, UpdateTableParts,
    WarmThroughputParts,
};
use keywright_semantics::request::{NewStrongGroup, ReplicaSettings, ReplicaUpdates, UpdateTable};

type Parts = UpdateTableParts;
type IndexUpdate = GlobalSecondaryIndexUpdateParts;

const INVALID: &str = "One or more parameter values were invalid: ";
const NOTHING: &str = "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, \
    GlobalSecondaryIndexUpdates, SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, \
    MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required";

fn nothing() -> Parts {
    Parts {
        attribute_definitions: None,
        table_name: "Shop".into(),
        billing_mode: None,
        table_throughput_mode: None,
        provisioned_throughput: None,
        global_secondary_index_updates: None,
        stream_specification: None,
        sse_specification: None,
        replica_updates: None,
        table_class: None,
        deletion_protection_enabled: None,
        multi_region_consistency: None,
        global_table_witness_updates: None,
        on_demand_throughput: None,
        warm_throughput: None,
        global_table_settings_replication_mode: None,
        disassociation_protection_enabled: None,
        vector_index_updates: None,
    }
}

const UNITS: ProvisionedThroughputParts =
    ProvisionedThroughputParts { read_capacity_units: 5, write_capacity_units: 5 };

const NO_ACTION: IndexUpdate = IndexUpdate { update: None, create: None, delete: None };

fn create(hash: &str, range: Option<&str>) -> IndexUpdate {
    let element = |name: &str, key_type| KeySchemaElementParts { attribute_name: name.into(), key_type };
    let range = range.map(|name| element(name, KeyType::Range));
    let create = CreateGlobalSecondaryIndexActionParts {
        index_name: "idx".into(),
        key_schema: std::iter::once(element(hash, KeyType::Hash)).chain(range).collect(),
        projection: ProjectionParts { projection_type: Some(ProjectionType::All), non_key_attributes: None },
        provisioned_throughput: None,
        on_demand_throughput: None,
        warm_throughput: None,
    };
    IndexUpdate { create: Some(create), ..NO_ACTION }
}

fn delete(name: &str) -> IndexUpdate {
    IndexUpdate {
        delete: Some(DeleteGlobalSecondaryIndexActionParts { index_name: name.into() }),
        ..NO_ACTION
    }
}

fn change(warm: WarmThroughputParts) -> IndexUpdate {
    let update = UpdateGlobalSecondaryIndexActionParts {
        index_name: "idx".into(),
        provisioned_throughput: None,
        on_demand_throughput: None,
        warm_throughput: Some(warm),
    };
    IndexUpdate { update: Some(update), ..NO_ACTION }
}

fn indexes(updates: Vec<IndexUpdate>) -> Parts {
    let definition =
        AttributeDefinitionParts { attribute_name: "g".into(), attribute_type: ScalarAttributeType::S };
    Parts {
        attribute_definitions: Some(vec![definition]),
        global_secondary_index_updates: Some(updates),
        ..nothing()
    }
}

fn warm(read: Option<i64>) -> WarmThroughputParts {
    WarmThroughputParts { read_units_per_second: read, write_units_per_second: None }
}

fn stream(stream_enabled: bool, stream_view_type: Option<StreamViewType>) -> Parts {
    let specification = StreamSpecificationParts { stream_enabled, stream_view_type };
    Parts { stream_specification: Some(specification), ..nothing() }
}

const ENABLE: StreamSpecificationParts =
    StreamSpecificationParts { stream_enabled: true, stream_view_type: Some(StreamViewType::KeysOnly) };

const SSE: SseSpecificationParts =
    SseSpecificationParts { enabled: Some(true), sse_type: None, kms_master_key_id: None };

const CEILINGS: OnDemandThroughputParts =
    OnDemandThroughputParts { max_read_request_units: Some(-1), max_write_request_units: None };

fn each_has_its_message(cases: Vec<(Parts, &str)>) {
    for (place, (parts, message)) in cases.into_iter().enumerate() {
        let expected = message.replace("P:", INVALID);
        let fault = UpdateTable::validate(&parts).expect_err("it has a fault");
        assert_eq!(fault.message, expected, "row {place}");
    }
}

#[test]
fn what_this_server_does_not_have_is_refused_by_name() {
    use keywright_semantics::request::parts::GlobalTableSettingsReplicationMode as Mode;
    let mode = |mode| Parts { global_table_settings_replication_mode: Some(mode), ..nothing() };
    each_has_its_message(vec![
        (
            mode(Mode::EnabledWithOverrides),
            "Value 'ENABLED_WITH_OVERRIDES' at 'GlobalTableSettingsReplicationMode' failed to satisfy constraint: \
             Only ENABLED and DISABLED settings replication are supported for a Regional Table.",
        ),
        (
            Parts { vector_index_updates: Some(Vec::new()), ..nothing() },
            "P:VectorIndexUpdates is not supported by this server, which has no vector indexes",
        ),
    ]);
    for (asked, replicates) in [(Mode::Enabled, true), (Mode::Disabled, false)] {
        let update = UpdateTable::validate(&mode(asked)).expect("a table may have either");
        assert_eq!(update.settings_replication, Some(replicates));
    }
}

#[test]
fn a_replica_leaves_with_its_data_and_is_protected_from_that_in_requests_of_their_own() {
    let leave = || {
        let disassociate = DisassociateReplicationGroupMemberActionParts {
            region_name: "eu-west-1".into(),
            disassociation_mode: DisassociationMode::WaitForReplication,
        };
        ReplicationGroupUpdateParts {
            disassociate: Some(disassociate),
            ..ReplicationGroupUpdateParts::default()
        }
    };
    let delete = DeleteReplicationGroupMemberActionParts { region_name: "us-west-2".into() };
    let delete = || ReplicationGroupUpdateParts {
        delete: Some(delete.clone()),
        ..ReplicationGroupUpdateParts::default()
    };
    let updates = |updates| Parts { replica_updates: Some(updates), ..nothing() };
    let protected = || Parts { disassociation_protection_enabled: Some(false), ..nothing() };
    let alone = "Disassociate must be the only element of ReplicaUpdates";
    let protection_alone = "DisassociationProtectionEnabled must be the only change of the request";
    let replicas_alone = "P:Replica modification must be the only operation in the request";
    each_has_its_message(vec![
        (updates(vec![leave(), leave()]), alone),
        (updates(vec![delete(), leave()]), alone),
        (
            updates(vec![ReplicationGroupUpdateParts { delete: delete().delete, ..leave() }]),
            "Update table operation with more than one type of replica actions not allowed.",
        ),
        (Parts { table_class: Some(TableClass::Standard), ..updates(vec![leave()]) }, replicas_alone),
        (Parts { replica_updates: Some(vec![leave()]), ..protected() }, replicas_alone),
        (Parts { table_class: Some(TableClass::Standard), ..protected() }, protection_alone),
        (Parts { deletion_protection_enabled: Some(true), ..protected() }, protection_alone),
    ]);
    let request = UpdateTable::validate(&updates(vec![leave()])).expect("it is right");
    assert_eq!(request.replicas, Some(ReplicaUpdates::Disassociate { region: "eu-west-1".into() }));
    let request = UpdateTable::validate(&protected()).expect("it is right");
    assert_eq!(request.disassociation_protection, Some(false));
}

#[test]
fn a_request_must_ask_for_something() {
    each_has_its_message(vec![
        (nothing(), NOTHING),
        (Parts { global_secondary_index_updates: None, ..indexes(vec![]) }, NOTHING),
        (indexes(vec![]), NOTHING),
        (
            Parts { multi_region_consistency: Some(MultiRegionConsistency::Strong), ..nothing() },
            &NOTHING.replace("MultiRegionConsistency, ", ""),
        ),
        (
            Parts { deletion_protection_enabled: Some(true), ..indexes(vec![]) },
            "P:List of GlobalSecondaryIndexUpdates is empty",
        ),
    ]);
}

#[test]
fn an_index_update_is_one_action_on_an_index_of_its_own() {
    let both = IndexUpdate { delete: delete("idx").delete, ..create("g", None) };
    each_has_its_message(vec![
        (
            indexes(vec![NO_ACTION]),
            "P:One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, \
             GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            indexes(vec![both]),
            "P:Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            indexes(vec![delete("idx"), create("g", None)]),
            "P:Only one global secondary index update per index is allowed simultaneously. Index: idx",
        ),
        (
            indexes(vec![change(warm(None))]),
            "P:WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified for \
             index: idx",
        ),
    ]);
}

#[test]
fn a_new_index_defines_its_own_key_attributes() {
    each_has_its_message(vec![
        (
            Parts { attribute_definitions: None, ..indexes(vec![create("g", None)]) },
            "P:AttributeDefinitions is not specified for index: idx",
        ),
        (
            indexes(vec![create("g", Some("pk"))]),
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            indexes(vec![create("h", None)]),
            "P:Some index key attributes are not defined in AttributeDefinitions. Keys: [h], \
             AttributeDefinitions: [g]",
        ),
    ]);
    let unused =
        AttributeDefinitionParts { attribute_name: "unused".into(), attribute_type: ScalarAttributeType::N };
    let mut parts = indexes(vec![create("g", None)]);
    parts.attribute_definitions.as_mut().expect("it has one").push(unused);
    assert!(UpdateTable::validate(&parts).is_ok());
}

#[test]
fn empty_throughput_settings_are_ignored_with_other_changes_and_fail_alone() {
    let on_demand = OnDemandThroughputParts { max_read_request_units: None, max_write_request_units: None };
    let warm = WarmThroughputParts { read_units_per_second: None, write_units_per_second: None };
    let empty = Parts { on_demand_throughput: Some(on_demand), warm_throughput: Some(warm), ..nothing() };
    for alone in [
        empty.clone(),
        Parts { on_demand_throughput: None, ..empty.clone() },
        Parts { warm_throughput: None, ..empty.clone() },
    ] {
        let fault = UpdateTable::validate(&alone).expect_err("the service fails");
        assert_eq!((fault.kind, fault.message.as_str()), (ErrorKind::InternalFailure, ""));
    }
    let sensed = UpdateTable::validate(&Parts { deletion_protection_enabled: Some(true), ..empty });
    let sensed = sensed.expect("the rest makes sense");
    assert_eq!((sensed.on_demand, sensed.warm), (None, None));
}

#[test]
fn some_changes_come_alone() {
    let capacity = Parts { provisioned_throughput: Some(UNITS), ..nothing() };
    each_has_its_message(vec![
        (
            Parts {
                sse_specification: Some(SSE),
                table_class: Some(TableClass::Standard),
                deletion_protection_enabled: Some(true),
                ..nothing()
            },
            "P:Server-Side Encryption modification must be the only operation in the request",
        ),
        (
            Parts {
                table_class: Some(TableClass::Standard),
                deletion_protection_enabled: Some(true),
                ..nothing()
            },
            "P:TableClass modification must be the only operation in the request",
        ),
        (
            Parts { deletion_protection_enabled: Some(false), ..capacity.clone() },
            "P:DeletionProtection modification must be the only operation in the request",
        ),
        (
            Parts { warm_throughput: Some(warm(Some(1))), ..indexes(vec![create("g", None)]) },
            "P:Create global secondary index cannot be specified when updating WarmThroughput",
        ),
        (
            Parts { warm_throughput: Some(warm(Some(1))), ..capacity.clone() },
            "P:WarmThroughput must be the only operation in the request",
        ),
        (
            Parts { on_demand_throughput: Some(CEILINGS), ..indexes(vec![delete("idx")]) },
            "P:OnDemandThroughput can only be combined with BillingMode in an UpdateTable request",
        ),
        (
            Parts { stream_specification: Some(ENABLE), ..capacity.clone() },
            "P:You cannot modify stream status while updating table IOPS",
        ),
        (
            Parts { provisioned_throughput: Some(UNITS), ..indexes(vec![delete("idx")]) },
            "P:You cannot create or delete index while updating table IOPS",
        ),
        (
            Parts { stream_specification: Some(ENABLE), ..indexes(vec![delete("idx")]) },
            "P:You cannot create or delete index while changing stream status",
        ),
    ]);
    let on_demand = Some(BillingMode::PayPerRequest);
    for fine in [
        Parts { billing_mode: on_demand, stream_specification: Some(ENABLE), ..nothing() },
        Parts { billing_mode: on_demand, on_demand_throughput: Some(CEILINGS), ..nothing() },
        Parts { billing_mode: on_demand, ..indexes(vec![create("g", None)]) },
    ] {
        assert!(UpdateTable::validate(&fine).is_ok(), "{fine:?}");
    }
}

#[test]
fn the_billing_mode_has_a_second_name_that_gives_way_to_the_first() {
    let second = Some(BillingMode::PayPerRequest);
    let alone = UpdateTable::validate(&Parts { table_throughput_mode: second, ..nothing() });
    assert_eq!(alone.expect("it is something to update").billing, second);
    let both = Parts {
        billing_mode: Some(BillingMode::Provisioned),
        table_throughput_mode: second,
        provisioned_throughput: Some(UNITS),
        ..nothing()
    };
    assert_eq!(
        UpdateTable::validate(&both).expect("they may differ").billing,
        Some(BillingMode::Provisioned)
    );
}

#[test]
fn capacity_and_streams_must_agree_with_themselves() {
    each_has_its_message(vec![
        (
            Parts { billing_mode: Some(BillingMode::Provisioned), ..nothing() },
            "P:ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            Parts {
                billing_mode: Some(BillingMode::PayPerRequest),
                provisioned_throughput: Some(UNITS),
                ..nothing()
            },
            "P:Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (stream(true, None), "P:If stream is being enabled then UpdateViewType is required"),
        (
            stream(false, Some(StreamViewType::KeysOnly)),
            "P:If stream is being disabled, then UpdateViewType must not be specified",
        ),
    ]);
}

fn new_replica(region: &str) -> ReplicationGroupUpdateParts {
    let create = CreateReplicationGroupMemberActionParts {
        region_name: region.into(),
        ..CreateReplicationGroupMemberActionParts::default()
    };
    ReplicationGroupUpdateParts { create: Some(create), ..ReplicationGroupUpdateParts::default() }
}

fn changed_replica(region: &str) -> ReplicationGroupUpdateParts {
    let update = UpdateReplicationGroupMemberActionParts {
        region_name: region.into(),
        table_class_override: Some(TableClass::Standard),
        ..UpdateReplicationGroupMemberActionParts::default()
    };
    ReplicationGroupUpdateParts { update: Some(update), ..ReplicationGroupUpdateParts::default() }
}

fn no_replica(region: &str) -> ReplicationGroupUpdateParts {
    let delete = DeleteReplicationGroupMemberActionParts { region_name: region.into() };
    ReplicationGroupUpdateParts { delete: Some(delete), ..ReplicationGroupUpdateParts::default() }
}

fn replicas(updates: Vec<ReplicationGroupUpdateParts>) -> Parts {
    Parts { replica_updates: Some(updates), ..nothing() }
}

#[test]
fn replicas_change_alone_and_in_one_way() {
    const TYPES: &str = "Update table operation with more than one type of replica actions not allowed.";
    const SEVERAL: &str =
        "Update table operation with more than one create or delete replica actions not allowed";
    const NO_ACTION: &str = "There are no actions specified in the Replica Update Action of the request.";
    let (ireland, oregon) = ("eu-west-1", "us-west-2");
    let both = ReplicationGroupUpdateParts { delete: no_replica(oregon).delete, ..new_replica(ireland) };
    let strong = Some(MultiRegionConsistency::Strong);
    each_has_its_message(vec![
        (
            Parts { table_class: Some(TableClass::Standard), ..replicas(vec![both.clone()]) },
            "P:Replica modification must be the only operation in the request",
        ),
        (
            Parts {
                multi_region_consistency: strong,
                deletion_protection_enabled: Some(true),
                ..replicas(vec![new_replica(ireland)])
            },
            "Requests that modify replicas or witnesses must not also modify other fields",
        ),
        (replicas(vec![ReplicationGroupUpdateParts::default()]), NO_ACTION),
        (replicas(vec![both]), TYPES),
        (replicas(vec![new_replica(ireland), changed_replica(oregon)]), TYPES),
        (replicas(vec![new_replica(ireland), new_replica(oregon)]), SEVERAL),
        (replicas(vec![new_replica(ireland), no_replica(oregon)]), TYPES),
        (
            Parts {
                multi_region_consistency: Some(MultiRegionConsistency::Eventual),
                ..replicas(vec![no_replica(ireland)])
            },
            "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.",
        ),
    ]);
}

fn new_witness(region: &str) -> GlobalTableWitnessGroupUpdateParts {
    let create = CreateGlobalTableWitnessGroupMemberActionParts { region_name: region.into() };
    GlobalTableWitnessGroupUpdateParts { create: Some(create), delete: None }
}

fn no_witness(region: &str) -> GlobalTableWitnessGroupUpdateParts {
    let delete = DeleteGlobalTableWitnessGroupMemberActionParts { region_name: region.into() };
    GlobalTableWitnessGroupUpdateParts { create: None, delete: Some(delete) }
}

fn strong(updates: Vec<ReplicationGroupUpdateParts>, witness: Option<&str>) -> Parts {
    Parts {
        multi_region_consistency: Some(MultiRegionConsistency::Strong),
        global_table_witness_updates: witness.map(|region| vec![new_witness(region)]),
        ..replicas(updates)
    }
}

#[test]
fn a_strongly_consistent_group_is_made_of_three_regions_at_once() {
    const COUNT: &str =
        "Unsupported replica count for global tables with MultiRegionConsistency set to STRONG.";
    const TYPES: &str = "Update table operation with more than one type of replica actions not allowed.";
    const ONLY_CREATE: &str =
        "Only Replica Create actions are supported when MultiRegionConsistency parameter is provided.";
    let (ireland, oregon, ohio) = ("eu-west-1", "us-west-2", "us-east-2");
    let mut with_class = new_replica(ireland);
    if let Some(create) = &mut with_class.create {
        create.table_class_override = Some(TableClass::Standard);
    }
    let witness = |updates, witness| Parts { global_table_witness_updates: Some(vec![witness]), ..updates };
    let both = GlobalTableWitnessGroupUpdateParts { delete: no_witness(ohio).delete, ..new_witness(oregon) };
    each_has_its_message(vec![
        (strong(vec![new_replica(ireland)], None), COUNT),
        (strong(vec![new_replica(ireland), new_replica(ireland)], None), COUNT),
        (strong(vec![new_replica(ireland), with_class.clone()], None), COUNT),
        (strong(vec![new_replica(ireland), new_replica(oregon)], Some(ohio)), COUNT),
        (strong(vec![new_replica(ireland), new_replica(oregon), new_replica(ohio)], None), COUNT),
        (strong(vec![no_replica(ireland), no_replica(oregon)], None), ONLY_CREATE),
        (strong(vec![changed_replica(ireland)], Some(ohio)), ONLY_CREATE),
        (
            strong(vec![new_replica(ireland)], Some(ireland)),
            "Cannot add a witness in the same region as an existing replica when creating a global table with \
             MultiRegionConsistency set to STRONG.",
        ),
        (
            strong(vec![with_class], Some(ohio)),
            "Replicas of a global table with MultiRegionConsistency set to STRONG have no settings of their own on \
             this server.",
        ),
        (
            witness(replicas(vec![new_replica(ireland)]), new_witness(ohio)),
            "MultiRegionConsistency must be set as STRONG when GlobalTableWitnessUpdates parameter is present.",
        ),
        (
            witness(strong(vec![new_replica(ireland)], None), both),
            "Cannot target multiple regions with the same action",
        ),
        (witness(strong(vec![new_replica(ireland)], None), no_witness(ohio)), TYPES),
        (witness(replicas(vec![new_replica(ireland)]), no_witness(ohio)), TYPES),
    ]);
    let asked = |parts: &Parts| UpdateTable::validate(parts).expect("it has no fault").replicas;
    let settings = |region: &str| ReplicaSettings { region: region.into(), ..ReplicaSettings::default() };
    let three = asked(&strong(vec![new_replica(ireland), new_replica(oregon)], None));
    let group = NewStrongGroup { replicas: vec![settings(ireland), settings(oregon)], witness: None };
    assert_eq!(three, Some(ReplicaUpdates::CreateStrong(group)));
    let two = asked(&strong(vec![new_replica(ireland)], Some(ohio)));
    let group = NewStrongGroup { replicas: vec![settings(ireland)], witness: Some(ohio.into()) };
    assert_eq!(two, Some(ReplicaUpdates::CreateStrong(group)));
}

#[test]
fn several_deletions_and_a_witness_are_left_to_the_table() {
    let (ireland, oregon) = ("eu-west-1", "us-west-2");
    let asked = |parts: &Parts| UpdateTable::validate(parts).expect("it has no fault").replicas;
    let two = asked(&replicas(vec![no_replica(ireland), no_replica(oregon)]));
    let regions = vec![ireland.into(), oregon.into()];
    assert_eq!(two, Some(ReplicaUpdates::DeleteSeveral { regions, witness: None }));
    let ends = Parts {
        global_table_witness_updates: Some(vec![no_witness(oregon)]),
        ..replicas(vec![no_replica(ireland)])
    };
    let several =
        ReplicaUpdates::DeleteSeveral { regions: vec![ireland.into()], witness: Some(oregon.into()) };
    assert_eq!(asked(&ends), Some(several));
    let alone = Parts { replica_updates: None, ..ends };
    let fault = UpdateTable::validate(&alone).expect_err("a witness alone is no change");
    assert!(fault.message.contains("is required"), "{}", fault.message);
}

#[test]
fn definitions_and_equal_changes_of_replicas_are_accepted() {
    let twice = Parts {
        multi_region_consistency: Some(MultiRegionConsistency::Eventual),
        attribute_definitions: Some(Vec::new()),
        ..replicas(vec![new_replica("eu-west-1"), new_replica("eu-west-1")])
    };
    let ireland = ReplicaSettings { region: "eu-west-1".into(), ..ReplicaSettings::default() };
    let asked = UpdateTable::validate(&twice).expect("it counts once").replicas;
    assert_eq!(asked, Some(ReplicaUpdates::Create(ireland)));
    let several = replicas(vec![changed_replica("eu-west-1"), changed_replica("us-west-2")]);
    match UpdateTable::validate(&several).expect("several may change").replicas {
        Some(ReplicaUpdates::Update(changes)) => assert_eq!(changes.len(), 2),
        other => panic!("not a change of replicas: {other:?}"),
    }
}
