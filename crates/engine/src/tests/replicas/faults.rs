//! A replica, or a comparison, that always fails: the others go on, and it is named.

use super::*;

const TOKYO: &str = "ap-northeast-1";
const IRELAND: &str = "eu-west-1";

/// Replaces a row by one that cannot be read; what it was.
fn damage(world: &World, key: &Bytes) -> Option<Bytes> {
    let view = block_on(world.store.snapshot()).expect("a view");
    let row = block_on(view.get(key)).expect("it is read");
    assert!(row.is_some(), "there is such a row");
    world.store.plant_row(key.clone(), Some(Bytes::from_static(&[0xff, 0xff])));
    row
}

fn row_key(space: Space, table: &Table, within: &[u8]) -> Bytes {
    Bytes::from([table_prefix(space, table.id).as_slice(), within].concat())
}

fn last_errors(world: &World) -> [Option<String>; 2] {
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let replicas = status.expect("a group").replicas;
    [TOKYO, IRELAND].map(|region| {
        let of_region = replicas.iter().find(|replica| replica.region == region);
        of_region.expect("a replica").last_error.clone()
    })
}

#[test]
fn a_receiver_that_fails_stops_no_other_and_no_other_work_and_is_shown() {
    let world = World::with_replicas(&[TOKYO, IRELAND]);
    world.put(HOME, row("k", 1)).expect("put");
    world.settle();
    let (home, tokyo) = (world.table(HOME).expect("it is there"), world.table(TOKYO).expect("it is there"));
    let within = world.rows(Space::Versions, &tokyo).into_keys().next().expect("a version");
    let key = row_key(Space::Versions, &tokyo, &within);
    let before = damage(&world, &key);
    world.put(HOME, row("k", 2)).expect("put");
    world.settle();
    assert_eq!(x_of(world.get(IRELAND, "k")), Some(2));
    let [of_tokyo, of_ireland] = last_errors(&world);
    assert!(of_tokyo.is_some() && of_ireland.is_none(), "{of_tokyo:?} {of_ireland:?}");
    let round = || world.engine.shipping().round(home.id).map(|round| round.at_ms);
    let last = round();
    world.pass(HOUR_MS);
    world.settle();
    assert!(round() > last, "deletions are looked at");
    world.store.plant_row(key, before);
    world.settle();
    assert_eq!(x_of(world.get(TOKYO, "k")), Some(2));
    assert_eq!(last_errors(&world), [None, None]);
}

#[test]
fn a_comparison_that_always_fails_ends_and_stops_no_other() {
    let world = World::with_replicas(&[TOKYO, IRELAND]);
    world.put(HOME, row("k", 1)).expect("put");
    world.settle();
    let (home, ireland) =
        (world.table(HOME).expect("it is there"), world.table(IRELAND).expect("it is there"));
    damage(&world, &Way { sender: home.id, receiver: ireland.id }.key());
    let verdict = |region| {
        let found = world.engine.verification(&place(region), TABLE).expect("it is there");
        found.expect("it was begun").verdict()
    };
    for region in [HOME, TOKYO] {
        world.engine.begin_verification(&place(region), TABLE, false).expect("it is there");
    }
    world.settle();
    assert_eq!((verdict(HOME), verdict(TOKYO)), (Verdict::Running, Verdict::Equal));
    for _ in 0..100 {
        world.pass(1_000);
    }
    assert_eq!(verdict(HOME), Verdict::Undecided);
    let found = world.engine.verification(&place(HOME), TABLE).expect("it is there").expect("it was begun");
    let unreached = |region: &str| {
        let of_region = found.replicas.iter().find(|replica| replica.region == region);
        of_region.is_some_and(|replica| replica.unreached.is_some())
    };
    assert!(unreached(IRELAND) && !unreached(TOKYO), "{found:?}");
}
