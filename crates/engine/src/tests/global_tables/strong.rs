//! Strongly consistent global tables: one set of rows under the names of several regions, what each region
//! has for itself, what is refused, and regions that are cut off.

use bytes::Bytes;
use keywright_semantics::request::common::Consistency;
use keywright_semantics::request::transact_write_items::TransactAction;
use keywright_semantics::request::{NewStrongGroup, RecoveryChange, UpdateContinuousBackups};
use keywright_semantics::response::{StrongDescription, WitnessDescription};
use keywright_semantics::schema::{IndexKind, KeyType, Projection};
use keywright_semantics::value::Item;
use keywright_store::{LogRead, Snapshot, Store};

use super::*;
use crate::support::env::Env;
use crate::support::layout::log_of;
use crate::support::simulation::{Chance, RegionRule, Simulation, TableRule};
use crate::tests::transactions::{act, transaction};

const OHIO: &str = "us-east-2";
const FRANKFURT: &str = "eu-central-1";
const SINGLE: &str = "Deletion of only one table replica is not supported for global tables with \
    MultiRegionConsistency set to STRONG.";

fn strong(replicas: &[&str], witness: Option<&str>) -> ReplicaUpdates {
    ReplicaUpdates::CreateStrong(NewStrongGroup {
        replicas: replicas.iter().map(|region| settings(region)).collect(),
        witness: witness.map(str::to_owned),
    })
}

fn end(regions: &[&str], witness: Option<&str>) -> ReplicaUpdates {
    let regions = regions.iter().map(|region| (*region).to_owned()).collect();
    ReplicaUpdates::DeleteSeveral { regions, witness: witness.map(str::to_owned) }
}

/// The table `Shop` in Virginia, Ireland and Oregon.
fn strong_shop() -> Regions {
    let mut regions = regions(EngineConfig::default());
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.at(VIRGINIA).update(with(strong(&[IRELAND, OREGON], None))).expect("it is empty");
    regions.bed.settle();
    regions
}

fn row(key: &str, value: i64) -> Item {
    item([("pk", s(key)), ("v", n(value))])
}

impl Regions {
    fn try_put(&mut self, region: &'static str, row: Item) -> Result<Response, (ErrorKind, String)> {
        let mut request = put_request(row);
        request.table = named("Shop");
        let outcome = self.at(region).run(Request::PutItem(Box::new(request)));
        outcome.map_err(|error| (error.kind, error.message))
    }

    fn try_get(
        &mut self,
        region: &'static str,
        key: &str,
        consistency: Consistency,
    ) -> Result<Option<Item>, ErrorKind> {
        let mut request = get_request(item([("pk", s(key))]));
        request.table = named("Shop");
        request.consistency = consistency;
        match self.at(region).run(Request::GetItem(request)) {
            Ok(Response::GetItem(output)) => Ok(output.item.map(|item| item.decode())),
            Ok(other) => panic!("not an item: {other:?}"),
            Err(error) => Err(error.kind),
        }
    }

    fn get(&mut self, region: &'static str, key: &str) -> Option<Item> {
        self.try_get(region, key, Consistency::Strong).expect("it is read")
    }

    fn scanned(&mut self, region: &'static str) -> usize {
        let mut request = scan_request(None);
        request.table = named("Shop");
        match self.at(region).run(Request::Scan(Box::new(request))) {
            Ok(Response::Scan(page)) => items(&page).len(),
            other => panic!("not a page: {other:?}"),
        }
    }

    /// The records of the stream that a region has enabled, in order.
    fn records(&mut self, region: &'static str) -> Vec<Bytes> {
        let bed = self.at(region);
        let engine = &bed.engine;
        let table = engine.catalogue().find(&bed.caller.namespace, "Shop").expect("it is there");
        let shards = table.live_stream().expect("it is enabled").log.shards.clone();
        let view = block_on(engine.store().snapshot()).expect("a view");
        let read = |number| LogRead {
            id: log_of(table.id, number),
            after: None,
            entries_max: 1_000,
            bytes_max: 1 << 20,
        };
        let entries =
            shards.iter().flat_map(|shard| block_on(view.read_log(read(shard.number))).expect("read"));
        entries.map(|entry| entry.bytes).collect()
    }

    fn simulate(&mut self, simulation: Simulation) {
        self.bed.engine.links().set(simulation);
    }
}

#[test]
fn three_regions_describe_each_other_from_the_making_of_the_group_to_its_end() {
    let mut regions = regions(EngineConfig { transition_ms: 500, ..EngineConfig::default() });
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.bed.pass_time(500);
    regions.bed.settle();
    let answer = regions.at(VIRGINIA).update(with(strong(&[IRELAND, OREGON], None))).expect("it is empty");
    assert_eq!((answer.table_status, answer.replicas), (TableStatus::Updating, Some(Vec::new())));
    assert_eq!(answer.strong, Some(StrongDescription { witness: None }));
    assert_eq!(answer.latest_stream_arn, None, "no stream is needed");
    assert_eq!(regions.replicas(VIRGINIA), []);
    assert_eq!(regions.describe(IRELAND).table_status, TableStatus::Creating);
    let early = regions.try_put(IRELAND, row("a", 1)).expect_err("it takes no data yet");
    assert_eq!(early.0, ErrorKind::ResourceNotFound);
    assert_eq!(regions.refusal(VIRGINIA, end(&[IRELAND, OREGON], None)), busy());

    regions.bed.pass_time(500);
    regions.bed.settle();
    let (ireland, oregon) = (state(IRELAND, ReplicaStatus::Creating), state(OREGON, ReplicaStatus::Creating));
    assert_eq!(regions.replicas(VIRGINIA), [ireland, oregon]);
    regions.bed.pass_time(500);
    regions.bed.settle();
    let (virginia, ireland) = (state(VIRGINIA, ReplicaStatus::Active), state(IRELAND, ReplicaStatus::Active));
    assert_eq!(regions.replicas(OREGON), [virginia, ireland]);
    let all = [VIRGINIA, IRELAND, OREGON].map(|region| regions.describe(region));
    assert!(all.iter().all(|table| table.table_status == TableStatus::Active && table.strong.is_some()));
    let ids: std::collections::BTreeSet<&str> = all.iter().map(|table| table.table_id.as_str()).collect();
    assert_eq!(ids.len(), 3, "each member has an id of its own");
    assert_eq!(all[1].table_arn, "arn:aws:dynamodb:eu-west-1:000000000000:table/Shop");

    regions.try_put(IRELAND, row("a", 1)).expect("it takes data");
    let answer = regions.at(IRELAND).update(with(end(&[OREGON, VIRGINIA], None))).expect("all are named");
    assert_eq!(answer.table_status, TableStatus::Active);
    assert_eq!(regions.describe(VIRGINIA).table_status, TableStatus::Deleting);
    assert_eq!(regions.replicas(IRELAND)[0], state(VIRGINIA, ReplicaStatus::Deleting));
    let gone = regions.try_put(VIRGINIA, row("b", 1)).expect_err("it is being deleted");
    assert_eq!(gone.0, ErrorKind::ResourceNotFound);
    regions.bed.pass_time(500);
    regions.bed.settle();
    let left = regions.describe(IRELAND);
    assert_eq!((left.replicas, left.strong, left.table_status), (None, None, TableStatus::Active));
    assert_eq!(left.table_id, all[1].table_id);
    for region in [VIRGINIA, OREGON] {
        assert_eq!(kind(regions.at(region).describe("Shop")).0, ErrorKind::ResourceNotFound);
    }
    assert_eq!(regions.get(IRELAND, "a"), Some(row("a", 1)));
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("the name is free");
    regions.at(IRELAND).delete("Shop").expect("it is a table like any other");
}

#[test]
fn a_write_in_one_region_is_read_in_all_at_once_also_after_a_restart() {
    let mut regions = strong_shop();
    for (place, region) in [VIRGINIA, IRELAND, OREGON].into_iter().enumerate() {
        let key = format!("k{place}");
        regions.try_put(region, row(&key, 1)).expect("it is written");
        for other in [VIRGINIA, IRELAND, OREGON] {
            assert_eq!(regions.get(other, &key), Some(row(&key, 1)), "{other}");
            assert_eq!(regions.scanned(other), place + 1, "{other}");
        }
    }
    regions.at(OREGON).update(add_index("Shop", "byV", "v")).expect("every member may");
    regions.bed.settle();
    for region in [VIRGINIA, IRELAND, OREGON] {
        let indexes = regions.describe(region).global_secondary_indexes.expect("it has one");
        assert_eq!(indexes[0].item_count, 3, "{region}");
        assert!(indexes[0].index_arn.contains(region));
    }
    let before = [VIRGINIA, IRELAND, OREGON].map(|region| regions.describe(region));
    let store = regions.bed.engine.store().clone();
    let bed = open(store, EngineConfig::default());
    bed.pass_time(START_MS);
    let mut again = Regions { bed };
    let after = [VIRGINIA, IRELAND, OREGON].map(|region| again.describe(region));
    let names = |tables: &[TableDescription; 3]| {
        tables.each_ref().map(|table| (table.table_id.clone(), table.table_arn.clone(), table.strong.clone()))
    };
    assert_eq!(names(&after), names(&before));
    assert_eq!(again.get(IRELAND, "k2"), Some(row("k2", 1)));
    again.try_put(OREGON, row("k2", 2)).expect("it is written");
    assert_eq!(again.get(VIRGINIA, "k2"), Some(row("k2", 2)));
}

#[test]
fn the_region_of_a_witness_has_no_table_and_the_group_ends_with_it() {
    let mut regions = regions(EngineConfig::default());
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.at(VIRGINIA).update(with(strong(&[OREGON], Some(OHIO)))).expect("it is empty");
    regions.bed.settle();
    let shown = |status| {
        let witness = WitnessDescription { region_name: OHIO.into(), witness_status: status };
        Some(StrongDescription { witness: Some(witness) })
    };
    assert_eq!(regions.describe(OREGON).strong, shown(ReplicaStatus::Active));
    assert_eq!(regions.replicas(OREGON), [state(VIRGINIA, ReplicaStatus::Active)]);
    assert_eq!(kind(regions.at(OHIO).describe("Shop")).0, ErrorKind::ResourceNotFound);
    regions.at(OHIO).create(creation("Shop", plain())).expect("a table of the name may be there");
    let left = "Update table delete operation does not include all witnesses.";
    assert_eq!(regions.refusal(VIRGINIA, ReplicaUpdates::Delete { region: OREGON.into() }), refused(left));
    let unknown = "Update global table operation failed because one or more witnesses were not part of the global \
        table. Please retry the request without these witnesses: [eu-west-1].";
    assert_eq!(regions.refusal(VIRGINIA, end(&[OREGON], Some(IRELAND))), refused(unknown));
    regions.at(VIRGINIA).update(with(end(&[OREGON], Some(OHIO)))).expect("both are named");
    regions.bed.settle();
    assert_eq!(regions.describe(VIRGINIA).strong, None);
    assert_eq!(kind(regions.at(OREGON).describe("Shop")).0, ErrorKind::ResourceNotFound);
    regions.describe(OHIO);
}

#[test]
fn what_cannot_be_strongly_consistent_is_refused_before_anything_is_made() {
    let mut regions = regions(EngineConfig::default());
    regions.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    regions.at(OHIO).create(creation("Shop", plain())).expect("it is new");
    let own = "Cannot add or delete the local region through ReplicaUpdates. Use CreateTable, DeleteTable, or \
        UpdateTable as required.";
    let same = "Cannot add a witness in the same region as an existing replica when creating a global table with \
        MultiRegionConsistency set to STRONG.";
    let taken = "Failed to create a the new replica of table with name: ‘Shop’ because one or more replicas already \
        existed as tables.";
    let california = "Unsupported Region(s) specified for global tables with MultiRegionConsistency set to STRONG: \
        [us-west-1].";
    for (updates, text) in [
        (strong(&[VIRGINIA, IRELAND], None), own),
        (strong(&[IRELAND], Some(VIRGINIA)), same),
        (strong(&["us-west-1", IRELAND], None), california),
        (strong(&[OHIO, IRELAND], None), taken),
        (
            end(&[IRELAND, OREGON], None),
            "Update table operation with more than one create or delete replica actions \
            not allowed",
        ),
    ] {
        assert_eq!(regions.refusal(VIRGINIA, updates), refused(text));
    }
    regions.try_put(VIRGINIA, row("a", 1)).expect("it is written");
    let full = regions.refusal(VIRGINIA, strong(&[IRELAND, OREGON], None));
    assert!(full.1.starts_with("The table must be empty"), "{full:?}");
    assert_eq!(kind(regions.at(IRELAND).describe("Shop")).0, ErrorKind::ResourceNotFound);

    let mut local = plain();
    local.key.sort = key(&[], &[("sk", KeyType::S)]).sort;
    let by = key(&[("pk", KeyType::S)], &[("l", KeyType::S)]);
    local.indexes.push(index("lsi", IndexKind::Local, by, Projection::All));
    regions.at(FRANKFURT).create(creation("Shop", local)).expect("it is new");
    let refusal = regions.refusal(FRANKFURT, strong(&[IRELAND, OREGON], None));
    assert!(refusal.1.starts_with("Local secondary indexes are not supported"), "{refusal:?}");
}

#[test]
fn a_group_is_frozen_and_takes_no_transactions_and_no_time_to_live() {
    let mut regions = strong_shop();
    let existing = "MultiRegionConsistency parameter is unsupported on existing global table";
    let frozen = "Cannot add replicas to a global table with strong MultiRegionConsistency";
    let no_member = "Update global table operation failed because one or more replicas were not part of the global \
        table. Please retry the request without these replicas: [us-east-2].";
    for (updates, text) in [
        (strong(&[OHIO], Some(FRANKFURT)), existing),
        (ReplicaUpdates::Create(settings(OHIO)), frozen),
        (ReplicaUpdates::Delete { region: OREGON.into() }, SINGLE),
        (ReplicaUpdates::Delete { region: OHIO.into() }, no_member),
        (end(&[OREGON, OHIO], None), no_member),
    ] {
        assert_eq!(regions.refusal(IRELAND, updates.clone()).1, text, "{updates:?}");
    }
    assert_eq!(kind(regions.at(OREGON).delete("Shop")), refused(SINGLE));
    let leave = ReplicaUpdates::Disassociate { region: IRELAND.into() };
    assert!(regions.refusal(IRELAND, leave).1.starts_with("Disassociate is not supported"));
    let change = ReplicaUpdates::Update(vec![settings(OREGON)]);
    assert!(regions.refusal(IRELAND, change).1.contains("no settings of their own"));
    let ttl = UpdateTimeToLive { table: named("Shop"), change: TtlChange::Enable, attribute: "e".into() };
    let refusal = kind(regions.at(OREGON).run(Request::UpdateTimeToLive(ttl)));
    assert!(refusal.1.starts_with("Time to live is not supported"), "{refusal:?}");
    let mut put = act(TransactAction::Put { item: row("a", 1) });
    put.table = named("Shop");
    let refusal = kind(regions.at(OREGON).run(Request::TransactWriteItems(transaction(vec![put]))));
    assert!(refusal.1.starts_with("Transactions are not supported"), "{refusal:?}");
    assert_eq!(regions.get(IRELAND, "a"), None);
}

#[test]
fn tags_protection_recovery_and_streams_are_of_one_region_alone() {
    let mut regions = strong_shop();
    let arn = regions.describe(IRELAND).table_arn;
    let scope = ArnScope { region: IRELAND.into(), account: "000000000000".into() };
    let resource = ResourceRef { arn, scope, table: "Shop".into() };
    let tags = BTreeMap::from([("team".to_owned(), "carts".to_owned())]);
    let tag = TagResource { resource, tags };
    regions.at(IRELAND).run(Request::TagResource(tag)).expect("it is tagged");
    let protect = UpdateTable { deletion_protection: Some(true), ..nothing("Shop") };
    regions.at(OREGON).update(protect).expect("it is protected");
    let change = RecoveryChange::Enable { period_days: Some(7) };
    let recover = UpdateContinuousBackups { table: named("Shop"), change };
    regions.at(IRELAND).run(Request::UpdateContinuousBackups(recover)).expect("it is on");
    let found = |regions: &mut Regions, region| {
        let bed = regions.at(region);
        let table = bed.engine.catalogue().find(&bed.caller.namespace, "Shop").expect("it is there");
        (
            table.tags.len(),
            table.deletion_protection,
            table.history.recovery().is_some(),
            table.history.is_on(),
        )
    };
    assert_eq!(found(&mut regions, VIRGINIA), (0, false, false, true));
    assert_eq!(found(&mut regions, IRELAND), (1, false, true, true));
    assert_eq!(found(&mut regions, OREGON), (0, true, false, true));
    let protected = "Cannot delete table Shop in region us-west-2 because it has deletion protection enabled. Disable \
        deletion protection first.";
    assert_eq!(regions.refusal(VIRGINIA, end(&[IRELAND, OREGON], None)), refused(protected));
    let unprotect = UpdateTable { deletion_protection: Some(false), ..nothing("Shop") };
    regions.at(OREGON).update(unprotect).expect("it is not protected");
    regions.at(VIRGINIA).update(with(end(&[IRELAND, OREGON], None))).expect("nothing protects it");
    regions.bed.settle();
    assert_eq!(found(&mut regions, VIRGINIA), (0, false, false, false), "recovery was another region's");
}

#[test]
fn streams_of_all_regions_have_the_same_records_in_order_and_one_may_be_off() {
    let mut regions = strong_shop();
    let enable = |view| UpdateTable { stream: Some(StreamChange::Enable(view)), ..nothing("Shop") };
    for region in [VIRGINIA, OREGON] {
        regions.at(region).update(enable(StreamViewType::NewAndOldImages)).expect("it is off");
    }
    assert_eq!(regions.describe(IRELAND).stream_specification, None);
    for (place, region) in [VIRGINIA, IRELAND, OREGON, IRELAND].into_iter().enumerate() {
        regions.try_put(region, row("a", i64::try_from(place).expect("few"))).expect("it is written");
    }
    let records = regions.records(VIRGINIA);
    assert_eq!(records.len(), 4);
    assert_eq!(regions.records(OREGON), records);
    let arns =
        [VIRGINIA, OREGON].map(|region| regions.describe(region).latest_stream_arn.expect("it has one"));
    assert!(arns[1].starts_with("arn:aws:dynamodb:us-west-2:"), "{arns:?}");
    let off = UpdateTable { stream: Some(StreamChange::Disable), ..nothing("Shop") };
    regions.at(VIRGINIA).update(off).expect("a group needs no stream");
    regions.try_put(IRELAND, row("b", 1)).expect("it is written");
    assert_eq!(regions.records(OREGON).len(), 5);

    regions.at(OREGON).update(with(end(&[VIRGINIA, IRELAND], None))).expect("all are named");
    regions.bed.settle();
    assert_eq!(regions.records(OREGON).len(), 5, "the stream of the table that stays goes on");
    regions.try_put(OREGON, row("c", 1)).expect("it is written");
    assert_eq!(regions.records(OREGON).len(), 6);
    let bed = regions.at(OREGON);
    let table = bed.engine.catalogue().find(&bed.caller.namespace, "Shop").expect("it is there");
    assert_eq!(table.logs.len(), 1, "the streams of the other members are gone");
}

#[test]
fn a_region_that_is_cut_off_answers_eventual_reads_only_and_sees_all_once_it_is_healed() {
    let mut regions = strong_shop();
    regions.try_put(IRELAND, row("a", 1)).expect("it is written");
    let now_ms = regions.bed.env.now_ms();
    let rule = RegionRule {
        region: IRELAND.to_owned(),
        pause: false,
        clock_ms: 0,
        isolated_ms: Some(now_ms),
        until_ms: Some(now_ms + 1_000),
    };
    regions.simulate(Simulation { regions: vec![rule], ..Simulation::default() });
    let cut = regions.try_put(IRELAND, row("a", 2)).expect_err("it is cut off");
    assert_eq!(cut.0, ErrorKind::InternalServerError);
    regions.try_put(OREGON, row("a", 3)).expect("others go on");
    assert_eq!(regions.get(VIRGINIA, "a"), Some(row("a", 3)));
    assert_eq!(regions.try_get(IRELAND, "a", Consistency::Strong), Err(ErrorKind::InternalServerError));
    assert_eq!(regions.try_get(IRELAND, "a", Consistency::Eventual), Ok(Some(row("a", 1))));
    regions.try_put(OREGON, row("b", 1)).expect("others go on");
    assert_eq!((regions.scanned(IRELAND), regions.scanned(OREGON)), (1, 2));
    let settings = UpdateTable { deletion_protection: Some(true), ..nothing("Shop") };
    assert_eq!(kind(regions.at(OREGON).update(settings)).0, ErrorKind::InternalServerError);
    regions.bed.pass_time(1_000);
    assert_eq!(regions.get(IRELAND, "a"), Some(row("a", 3)));
    assert_eq!(regions.try_get(IRELAND, "b", Consistency::Eventual), Ok(Some(row("b", 1))));
    regions.try_put(IRELAND, row("a", 4)).expect("it is healed");
}

#[test]
fn of_two_regions_that_write_one_item_within_the_round_trip_the_later_one_conflicts() {
    let mut regions = strong_shop();
    let conflict = |error: (ErrorKind, String)| {
        assert_eq!(error.0, ErrorKind::ReplicatedWriteConflict);
        assert!(error.1.contains("being modified by a request in another Region"));
    };
    let rule = |rule: TableRule| Simulation { tables: vec![rule], ..Simulation::default() };
    regions.simulate(rule(TableRule { round_trip_ms: 100, ..TableRule::none("Shop".to_owned()) }));
    regions.try_put(IRELAND, row("a", 1)).expect("it is the first");
    regions.try_put(IRELAND, row("a", 2)).expect("it is the same region's");
    regions.try_put(OREGON, row("b", 1)).expect("it is another item");
    conflict(regions.try_put(OREGON, row("a", 3)).expect_err("it is the later one"));
    assert_eq!(regions.get(OREGON, "a"), Some(row("a", 2)), "what conflicts has not happened");
    regions.bed.pass_time(100);
    regions.try_put(OREGON, row("a", 3)).expect("the other write has arrived");
    assert_eq!(regions.get(IRELAND, "a"), Some(row("a", 3)));

    let certain = Chance::of_millionths(1_000_000).expect("a chance");
    regions.simulate(rule(TableRule { conflict: certain, ..TableRule::none("Shop".to_owned()) }));
    conflict(regions.try_put(VIRGINIA, row("z", 1)).expect_err("it is refused by chance"));
    regions.simulate(Simulation::default());
    regions.try_put(VIRGINIA, row("z", 1)).expect("nothing is simulated");
}

#[test]
fn another_process_over_the_store_serves_all_regions_of_a_group_and_may_end_it() {
    let store = MemoryStore::shared();
    let bed = open(store.clone(), EngineConfig::default());
    bed.pass_time(START_MS);
    let env: std::sync::Arc<dyn Env> = std::sync::Arc::<TestEnv>::clone(&bed.env);
    let engine = block_on(crate::Engine::open(store, env, EngineConfig::default())).expect("the store opens");
    let other = Bed { engine, env: std::sync::Arc::clone(&bed.env), caller: caller() };
    let (mut one, mut other) = (Regions { bed }, Regions { bed: other });
    one.at(VIRGINIA).create(creation("Shop", plain())).expect("it is new");
    other.try_put(VIRGINIA, row("a", 1)).expect("the table is found");
    let request = delete_request(item([("pk", s("a"))]));
    let request = keywright_semantics::request::delete_item::DeleteItem { table: named("Shop"), ..request };
    other.at(VIRGINIA).run(Request::DeleteItem(Box::new(request))).expect("it is deleted");
    one.at(VIRGINIA).update(with(strong(&[IRELAND, OREGON], None))).expect("it is empty");
    other.try_put(OREGON, row("b", 1)).expect("the region is found");
    assert_eq!(one.get(IRELAND, "b"), Some(row("b", 1)));
    assert_eq!(other.describe(IRELAND).table_id, one.describe(IRELAND).table_id);
    other.at(IRELAND).update(with(end(&[VIRGINIA, OREGON], None))).expect("all are named");
    let gone = one.try_put(OREGON, row("b", 2)).expect_err("the region has left");
    assert_eq!(gone.0, ErrorKind::ResourceNotFound);
    assert_eq!(one.get(IRELAND, "b"), Some(row("b", 1)));
    assert_eq!(one.describe(IRELAND).replicas, None);
}

#[test]
fn overviews_list_the_regions_of_a_group_without_changes_on_their_way() {
    let mut regions = strong_shop();
    let bed = regions.at(IRELAND);
    let found = block_on(bed.engine.replications(&bed.caller.namespace)).expect("they are read");
    assert_eq!(found.len(), 1);
    let (name, status) = &found[0];
    assert_eq!((name.as_str(), status.is_strong, status.witness.as_deref()), ("Shop", true, None));
    let replicas: Vec<(&str, u64)> =
        status.replicas.iter().map(|replica| (replica.region.as_str(), replica.backlog)).collect();
    assert_eq!(replicas, [(VIRGINIA, 0), (OREGON, 0)]);
    assert_eq!(block_on(bed.engine.changes_on_way()).expect("they are counted"), 0);
}
