//! What a replica on another server sets differently: in the request that adds it, and later.

use keywright_semantics::request::ReplicaIndexSettings;
use keywright_semantics::schema::TableClass;

use super::*;
use crate::catalogue::Overrides;

const GSI: &str = "gsi";

fn there(settings: ReplicaSettings) -> ReplicaSettings {
    ReplicaSettings { region: SECOND.to_owned(), ..settings }
}

/// What both servers say that the replica sets differently.
fn overrides(world: &World) -> Overrides {
    let own = world.table(SECOND).expect("it is there");
    let own = own.as_member().expect("it is a member").overrides.clone();
    let told = world.table(FIRST).expect("it is there");
    let told = told.remote_in(SECOND).expect("it is known").overrides.clone();
    assert_eq!(own, told, "both servers say the same");
    own
}

#[test]
fn a_replica_on_another_server_begins_with_what_the_request_sets() {
    let world = World::new();
    let ceiling = |name: &str| ReplicaIndexSettings {
        name: name.to_owned(),
        read_units: None,
        read_units_max: Some(12),
    };
    let settings = there(ReplicaSettings {
        class: Some(TableClass::StandardInfrequentAccess),
        read_units_max: Some(40),
        indexes: vec![ceiling(GSI), ceiling("none")],
        ..ReplicaSettings::default()
    });
    world.update(FIRST, ReplicaUpdates::Create(settings)).expect("it is added");
    world.restart(0);
    world.settle();
    let table = world.table(SECOND).expect("it is made");
    assert_eq!(table.class.map(|state| state.class), Some(TableClass::StandardInfrequentAccess));
    assert_eq!(table.on_demand.read_units_max, Some(40));
    assert_eq!(table.index(GSI).expect("it has it").1.on_demand.read_units_max, Some(12));
    let shown = overrides(&world);
    assert_eq!((shown.read_units_max, shown.indexes.len()), (Some(40), 1), "an unknown index is ignored");
    assert_eq!(world.table(FIRST).expect("it is there").on_demand.read_units_max, None);
}

#[test]
fn overrides_of_a_replica_on_another_server_are_changed_and_cleared_from_here() {
    let world = World::with_members(&[SECOND]);
    let update =
        |settings: ReplicaSettings| world.update(FIRST, ReplicaUpdates::Update(vec![there(settings)]));
    update(ReplicaSettings { read_units_max: Some(40), ..ReplicaSettings::default() })
        .expect("it is changed");
    world.settle();
    assert_eq!(overrides(&world).read_units_max, Some(40));
    assert_eq!(world.table(SECOND).expect("it is there").on_demand.read_units_max, Some(40));
    let class = Some(TableClass::StandardInfrequentAccess);
    update(ReplicaSettings { class, ..ReplicaSettings::default() }).expect("it is changed");
    world.settle();
    assert_eq!(overrides(&world).read_units_max, Some(40), "what is not named stays");
    let class = Some(TableClass::Standard);
    update(ReplicaSettings { class, read_units_max: Some(-1), ..ReplicaSettings::default() })
        .expect("cleared");
    world.settle();
    assert_eq!(overrides(&world), Overrides::default());
    assert_eq!(world.table(SECOND).expect("it is there").on_demand.read_units_max, None);
    let refused = update(ReplicaSettings::default()).unwrap_err();
    assert!(refused.message.contains("no actions specified"), "{refused:?}");
    world.cut();
    let refused =
        update(ReplicaSettings { read_units_max: Some(9), ..ReplicaSettings::default() }).unwrap_err();
    assert!(refused.message.contains("cannot be asked"), "{refused:?}");
    assert_eq!(overrides(&world), Overrides::default());
}
