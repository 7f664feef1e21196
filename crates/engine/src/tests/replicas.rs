//! Tables with replicas in other regions of one store: what is written anywhere is everywhere in the end, as
//! the greatest version says.

mod controls;
mod equal;
mod faults;
mod idle;
mod interleaved;
mod leaving;
pub(super) mod observed;
mod remaining;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::request::time_to_live::{TtlChange, UpdateTimeToLive};
use keywright_semantics::request::transact_write_items::{TransactAction, TransactWriteItems};
use keywright_semantics::request::{ReplicaSettings, ReplicaUpdates, Request, UpdateTable};
use keywright_semantics::response::{Response, StreamIdentity};
use keywright_semantics::schema::StreamView;
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;
use keywright_store::{LogRead, Snapshot, Store};

use super::flaky_store::{Fate, FlakyStore};
use super::harness::*;
use super::tables::nothing;
use super::transactions::{act, transaction};
use crate::catalogue::{
    MemberStatus, NewName, OtherRows, Overrides, Purpose, Replication, Table, TableStatus,
};
use crate::changes::record::ChangeRecord;
use crate::changes::replicated::Way;
use crate::copy::Copy;
use crate::replication::{Joining, deliver, join, members_of, rows_to_read};
use crate::state::{Engine, Verdict};
use crate::streams::{self, Moment};
use crate::support::config::EngineConfig;
use crate::support::env::{Caller, Env, Namespace, Region};
use crate::support::layout::{Space, log_of, prefix_range, table_prefix, within_table};
use crate::support::links::{Broken, Choice};
use crate::support::rows::each_row;
use crate::support::simulation::{Chance, PairRule, RegionRule, Regions, Simulation, TableRule};
use crate::support::version::Version;
use crate::tables::branch::copy_of;
use crate::write::version_rows::StoredVersion;
use observed::{Observed, Requests, State, check_indexes, rows_of, stream_of};

pub(super) const HOME: &str = "us-east-1";
pub(super) const REGIONS: [&str; 4] = [HOME, "ap-northeast-1", "eu-west-1", "us-west-2"];
pub(super) const START_MS: u64 = 1_800_000_000_000;
pub(super) const HOUR_MS: u64 = 3_600_000;

type Process = Engine<FlakyStore>;

/// One server over a store that may fail.
pub(super) struct World {
    pub store: FlakyStore,
    env: Arc<TestEnv>,
    pub engine: Process,
    config: EngineConfig,
}

pub(super) fn place(region: &str) -> Namespace {
    Namespace { region: Region::stored(region), ..namespace() }
}

fn open(store: &FlakyStore, env: &Arc<TestEnv>, config: EngineConfig) -> Process {
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(env);
    block_on(Engine::open(store.clone(), env, config)).expect("the store opens")
}

impl World {
    /// A server with a table in the first region, with time to live and a stream.
    fn new() -> Self {
        Self::over(FlakyStore::default())
    }

    fn over(store: FlakyStore) -> Self {
        Self::with((store, EngineConfig::default()))
    }

    /// The same over this store and with these settings.
    pub(super) fn with(settings: (FlakyStore, EngineConfig)) -> Self {
        let world = Self::without_stream(settings);
        let moment = block_on(Moment::now(&world.engine)).expect("the store is read");
        let id = world.table(HOME).expect("it was made").id;
        let enable = |table: &mut Table| {
            streams::enable(table, |_| false, StreamView::NewAndOldImages, moment);
            Ok(())
        };
        block_on(world.engine.catalogue().change(id, enable)).expect("it is changed");
        world
    }

    /// The same without a stream.
    fn without_stream((store, config): (FlakyStore, EngineConfig)) -> Self {
        let env = Arc::new(TestEnv::default());
        env.now_ms.store(START_MS, Ordering::Relaxed);
        let engine = open(&store, &env, config.clone());
        let world = Self { store, env, engine, config };
        world.run(HOME, Request::CreateTable(Box::new(create_request(schema())))).expect("it is new");
        let ttl =
            UpdateTimeToLive { table: table_ref(), change: TtlChange::Enable, attribute: "due".to_owned() };
        world.run(HOME, Request::UpdateTimeToLive(ttl)).expect("it is off");
        world
    }

    /// Changes what is simulated.
    pub(super) fn simulate(&self, change: impl FnOnce(&mut Simulation)) {
        let mut simulation = self.engine.links().simulation(self.now_ms());
        change(&mut simulation);
        self.engine.links().set(simulation);
    }

    /// Delivers changes by hand; how many there were.
    fn deliver(&self, (from, to): (&str, &str), choice: &Choice) -> usize {
        let (from, to) = (self.table(from).expect("it is there"), self.table(to).expect("it is there"));
        block_on(deliver(&self.engine, &from, &to, choice)).expect("it is sent")
    }

    pub(super) fn with_replicas(regions: &[&str]) -> Self {
        let world = Self::new();
        for region in regions {
            world.join(HOME, region);
            world.settle();
        }
        world
    }

    pub(super) fn run(&self, region: &str, request: Request) -> Result<Response, Error> {
        block_on(self.engine.execute(&Caller::account(place(region)), request))
    }

    pub(super) fn put(&self, region: &str, item: Item) -> Result<Response, Error> {
        self.run(region, Request::PutItem(Box::new(put_request(item))))
    }

    pub(super) fn delete(&self, region: &str, name: &str) -> Result<Response, Error> {
        self.run(region, Request::DeleteItem(Box::new(delete_request(key_of(name)))))
    }

    pub(super) fn get(&self, region: &str, name: &str) -> Option<Item> {
        match self.run(region, Request::GetItem(get_request(key_of(name)))) {
            Ok(Response::GetItem(output)) => output.item.map(|item| item.decode()),
            other => panic!("a get is answered by its output: {other:?}"),
        }
    }

    pub(super) fn table(&self, region: &str) -> Option<Arc<Table>> {
        self.engine.catalogue().find(&place(region), TABLE)
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.env.now_ms()
    }

    /// Lets time pass, and does one step of background work.
    pub(super) fn pass(&self, ms: u64) {
        let now_ms = self.env.now_ms.fetch_add(ms, Ordering::Relaxed) + ms;
        block_on(self.engine.step(now_ms));
    }

    /// Lets background work end what is due within some seconds.
    pub(super) fn settle(&self) {
        for _ in 0..30 {
            self.pass(200);
        }
    }

    /// The server is killed, and started again. What is broken stays broken.
    pub(super) fn restart(&mut self) {
        let config = EngineConfig { links: Arc::default(), ..self.config.clone() };
        config.links.set_broken(self.engine.links().broken());
        self.engine = open(&self.store, &self.env, config);
    }

    /// Adds a replica; false if the store failed, or the region has a table.
    pub(super) fn join(&self, source: &str, region: &str) -> bool {
        add_replica(&self.engine, source, region)
    }

    /// Removes a replica.
    pub(super) fn leave(&self, region: &str) -> bool {
        remove_replica(&self.engine, region)
    }

    /// Adds a replica as a client does; false if it is refused, or the store failed.
    fn add(&self, source: &str, region: &str) -> bool {
        let settings = ReplicaSettings { region: region.to_owned(), ..ReplicaSettings::default() };
        let replicas = Some(ReplicaUpdates::Create(settings));
        let update = UpdateTable { replicas, ..nothing(TABLE) };
        self.run(source, Request::UpdateTable(Box::new(update))).is_ok()
    }

    /// The regions with a table of the name.
    fn regions(&self) -> Vec<&'static str> {
        REGIONS.into_iter().filter(|region| self.table(region).is_some()).collect()
    }

    /// The regions whose tables take data.
    fn open_regions(&self) -> Vec<&'static str> {
        let is_open = |region: &&str| self.table(region).is_some_and(|table| table.takes_data());
        REGIONS.into_iter().filter(is_open).collect()
    }

    pub(super) fn rows(&self, space: Space, table: &Table) -> BTreeMap<Bytes, Bytes> {
        rows_of(&self.store, space, table)
    }

    /// The items of a table and the versions of all keys.
    pub(super) fn state(&self, region: &str) -> State {
        State::of(&self.store, &self.table(region).expect("it is there"))
    }

    /// The records of a table's stream, in order.
    pub(super) fn stream(&self, region: &str) -> Vec<ChangeRecord> {
        stream_of(&self.store, &self.table(region).expect("it is there"))
    }
}

/// Adds a replica; false if the store failed, or the region has a table.
pub(super) fn add_replica<S: Store>(engine: &Engine<S>, source: &str, region: &str) -> bool {
    let source = engine.catalogue().find(&place(source), TABLE);
    let Some(found) = source.filter(|table| table.takes_data()) else { return false };
    if found.has_old_versions || found.replication.as_ref().is_some_and(Replication::is_changing) {
        return false;
    }
    let Ok(moment) = block_on(Moment::now(engine)) else { return false };
    let now_ms = engine.env().now_ms();
    let (to, public_id) = (place(region), format!("id-{region}-{now_ms}"));
    let new = NewName { namespace: &to, name: TABLE, public_id: &public_id };
    let joining = Joining {
        now_ms,
        shown_from_ms: now_ms,
        until_ms: now_ms,
        version: moment.version(),
        overrides: Overrides::default(),
    };
    let build = |id, members: &mut [Table], rows: &mut OtherRows| {
        let mut table = copy_of(&members[0], &to, id, &public_id, joining.now_ms);
        table.status = TableStatus::Creating;
        streams::enable(&mut table, |_| false, StreamView::NewAndOldImages, moment);
        assert!(join(&mut table, members, rows, &joining)?, "the group is as it was");
        Ok(table)
    };
    let rows = (members_of(&found), rows_to_read(&found));
    block_on(engine.catalogue().create_with(new, (&rows.0, &rows.1), || Ok(()), build)).is_ok()
}

/// Removes a replica.
pub(super) fn remove_replica<S: Store>(engine: &Engine<S>, region: &str) -> bool {
    let Some(table) = engine.catalogue().find(&place(region), TABLE) else { return false };
    let Some(group) = table.replication.as_ref().filter(|group| !group.is_changing()) else { return false };
    let now_ms = engine.env().now_ms();
    let leave = |tables: &mut [Table], _: &mut OtherRows| {
        for one in tables {
            let member = one.replication.as_mut().and_then(|group| group.member_mut(table.id));
            if let Some(member) = member {
                member.status = MemberStatus::Deleting;
                member.until_ms = now_ms;
            }
            if one.id == table.id {
                one.status = TableStatus::Deleting;
                one.close_stream(now_ms, now_ms);
            }
        }
        Ok(())
    };
    block_on(engine.catalogue().change_all(&group.tables(), &[], || Ok(()), leave)).is_ok()
}

pub(super) fn key_of(name: &str) -> Item {
    item([("pk", s("p")), ("sk", s(name))])
}

pub(super) fn row(name: &str, x: i64) -> Item {
    item([("pk", s("p")), ("sk", s(name)), ("x", n(x)), ("l", s("l")), ("g", s("g")), ("h", n(x))])
}

pub(super) fn x_of(found: Option<Item>) -> Option<i64> {
    let value = found?.remove("x")?;
    (0..100_000).find(|number| value == n(*number))
}

#[test]
fn a_write_in_any_region_appears_in_the_others_with_its_indexes_and_as_an_ordinary_record() {
    let world = World::new();
    world.put(HOME, row("old", 1)).expect("put");
    for region in &REGIONS[1..3] {
        assert!(world.join(HOME, region));
        assert!(world.table(region).is_some_and(|table| !table.takes_data()), "it is being filled");
        world.settle();
        assert!(world.table(region).is_some_and(|table| table.status == TableStatus::Active));
    }
    world.put("eu-west-1", row("new", 2)).expect("put");
    world.put(HOME, row("old", 3)).expect("put");
    world.pass(1);
    for region in &REGIONS[..3] {
        assert_eq!(x_of(world.get(region, "new")), Some(2), "{region}");
        assert_eq!(x_of(world.get(region, "old")), Some(3), "{region}");
        let scan = world.run(region, Request::Scan(Box::new(scan_request(Some("gsi")))));
        let Ok(Response::Scan(page)) = scan else { panic!("it is scanned") };
        assert_eq!(items(&page).len(), 2, "{region}");
        let stream = world.stream(region);
        assert!(stream.iter().all(|record| record.identity == StreamIdentity::Caller));
        let mut of_old = stream.iter().filter(|record| record.keys.decode() == key_of("old"));
        let last = of_old.next_back().expect("it has records");
        assert!(last.old.is_some() && last.new.is_some(), "{region}: the item was overwritten");
    }
    world.delete("ap-northeast-1", "new").expect("delete");
    world.pass(1);
    assert!(REGIONS[..3].iter().all(|region| world.get(region, "new").is_none()));
}

#[test]
fn each_change_is_sent_once_to_each_replica() {
    let world = World::with_replicas(&REGIONS[1..3]);
    for number in 0..250 {
        world.put(HOME, row(&number.to_string(), number)).expect("put");
    }
    world.settle();
    let home = world.table(HOME).expect("it is there").id;
    for region in &REGIONS[1..3] {
        let replica = world.table(region).expect("it is there").id;
        let figures = world.engine.shipping().figures((home, replica));
        assert_eq!((figures.sent, figures.outdated), (250, 0), "{region}");
        assert_eq!(world.engine.shipping().figures((replica, home)).sent, 0, "nothing comes back");
    }
    let status = block_on(world.engine.replication_status(&place(HOME), TABLE)).expect("it is read");
    let status = status.expect("it is in a group");
    assert!(status.replicas.iter().all(|replica| replica.backlog == 0 && !replica.is_filling));
    let commits = world.stream("eu-west-1").len();
    assert_eq!(commits, 250, "one record for each change");
}

#[test]
fn what_is_delivered_twice_is_written_once() {
    let world = World::with_replicas(&["eu-west-1"]);
    let always = Chance::of_millionths(1_000_000).expect("it is one");
    let rule = PairRule { duplicate: always, ..PairRule::none(Regions::Any, Regions::Any) };
    world.simulate(|simulation| simulation.pairs = vec![rule]);
    let before = [HOME, "eu-west-1"].map(|region| world.stream(region).len());
    let mut changes = 0;
    for number in 0..20 {
        let (region, name) = (["eu-west-1", HOME][number % 2], (number % 5).to_string());
        world.put(region, row(&name, i64::try_from(number).expect("small"))).expect("put");
        world.pass(1);
        changes += 1;
        if number % 4 == 3 {
            world.delete(region, &name).expect("delete");
            world.pass(1);
            changes += 1;
        }
    }
    world.settle();
    let records = [HOME, "eu-west-1"].map(|region| world.stream(region).len());
    assert_eq!(records, before.map(|before| before + changes), "one record for each change");
    let [home, ireland] = [HOME, "eu-west-1"].map(|region| world.table(region).expect("it is there").id);
    let figures = [(home, ireland), (ireland, home)].map(|way| world.engine.shipping().figures(way));
    let outdated: u64 = figures.iter().map(|figures| figures.outdated).sum();
    assert_eq!(
        outdated,
        u64::try_from(changes).expect("small"),
        "each change arrived once more: {figures:?}"
    );
    assert_same(&world, &[HOME, "eu-west-1"]);
}

#[test]
fn the_later_of_two_concurrent_writes_wins_everywhere_and_the_other_is_listed() {
    for (first, second) in [(HOME, "eu-west-1"), ("eu-west-1", HOME)] {
        let world = World::with_replicas(&["eu-west-1"]);
        world.put(HOME, row("k", 1)).expect("put");
        world.settle();
        cut(&world, true);
        world.put(first, row("k", 2)).expect("put");
        world.pass(5);
        world.delete(second, "k").expect("delete");
        world.pass(5);
        assert_eq!((x_of(world.get(first, "k")), world.get(second, "k")), (Some(2), None));
        cut(&world, false);
        world.settle();
        assert_eq!((world.get(first, "k"), world.get(second, "k")), (None, None));
        let lost = world.engine.shipping().conflicts(world.table(first).expect("it is there").id);
        assert_eq!(lost.0, 1);
        assert_eq!((&*lost.1[0].winner.0, &*lost.1[0].loser.0), (second, first));
        let image = lost.1[0].losing_image.as_ref().map(EncodedItem::decode);
        assert_eq!(
            (x_of(image), lost.1[0].key.as_ref().map(EncodedItem::decode)),
            (Some(2), Some(key_of("k")))
        );
        let won = world.engine.shipping().conflicts(world.table(second).expect("it is there").id);
        assert_eq!(won.0, 0);
    }
}

pub(super) fn cut(world: &World, is_cut: bool) {
    world.simulate(|simulation| {
        let rule = PairRule { partition: is_cut, ..PairRule::none(Regions::Any, Regions::Any) };
        simulation.pairs = vec![rule];
    });
}

/// The link from one region to another, as it is without a rule.
pub(super) fn link(from: &str, to: &str) -> PairRule {
    PairRule::none(Regions::One(from.to_owned()), Regions::One(to.to_owned()))
}

/// The rule of a region, made if there is none.
fn rule_of<'s>(simulation: &'s mut Simulation, region: &str) -> &'s mut RegionRule {
    let rules = &mut simulation.regions;
    let place = rules.iter().position(|rule| rule.region == region).unwrap_or_else(|| {
        rules.push(RegionRule {
            region: region.to_owned(),
            pause: false,
            clock_ms: 0,
            isolated_ms: None,
            until_ms: None,
        });
        rules.len() - 1
    });
    rules.get_mut(place).expect("it is there")
}

#[test]
fn a_write_that_changes_nothing_does_not_beat_a_change_made_before_it() {
    let world = World::with_replicas(&["eu-west-1"]);
    world.put(HOME, row("k", 1)).expect("put");
    world.settle();
    let records = world.stream("eu-west-1").len();
    cut(&world, true);
    world.put(HOME, row("k", 2)).expect("put");
    world.pass(5);
    world.put("eu-west-1", row("k", 1)).expect("put");
    world.delete("eu-west-1", "missing").expect("delete");
    assert_eq!(world.stream("eu-west-1").len(), records);
    cut(&world, false);
    world.settle();
    assert_eq!(x_of(world.get("eu-west-1", "k")), Some(2));
    assert_eq!(x_of(world.get(HOME, "k")), Some(2));
}

#[test]
fn a_region_whose_clock_is_behind_still_wins_over_what_it_has_seen() {
    let world = World::with_replicas(&["eu-west-1"]);
    world.simulate(|simulation| rule_of(simulation, HOME).clock_ms = 3_600_000);
    world.put(HOME, row("k", 1)).expect("put");
    world.settle();
    world.put("eu-west-1", row("k", 2)).expect("put");
    world.settle();
    assert_eq!((x_of(world.get(HOME, "k")), x_of(world.get("eu-west-1", "k"))), (Some(2), Some(2)));
}

#[test]
fn an_expired_item_is_deleted_by_the_region_that_wrote_it_and_the_others_see_a_clients_delete() {
    let world = World::with_replicas(&["eu-west-1"]);
    let due = |seconds: u64| ("due", n(i64::try_from(START_MS / 1000 + seconds).expect("small")));
    world.put("eu-west-1", item([("pk", s("p")), ("sk", s("k")), due(60)])).expect("put");
    world.put(HOME, item([("pk", s("p")), ("sk", s("late")), due(60)])).expect("put");
    world.settle();
    let rule = PairRule { partition: true, ..link(HOME, "eu-west-1") };
    world.simulate(|simulation| simulation.pairs.push(rule));
    world.pass(HOUR_MS);
    world.settle();
    assert!(world.get(HOME, "k").is_none() && world.get("eu-west-1", "k").is_none());
    assert!(world.get("eu-west-1", "late").is_some(), "the link is cut");
    let last = |region: &str| {
        let of_key = |record: &&ChangeRecord| record.keys.decode() == key_of("k");
        world.stream(region).iter().rfind(of_key).map(|record| record.identity)
    };
    assert_eq!(last("eu-west-1"), Some(StreamIdentity::TimeToLive));
    assert_eq!(last(HOME), Some(StreamIdentity::Caller));
    world.pass(HOUR_MS);
    world.settle();
    assert!(world.get("eu-west-1", "late").is_none(), "after an hour any region deletes it");
}

#[test]
fn an_update_in_another_region_survives_the_sweep_that_has_not_seen_it() {
    let world = World::with_replicas(&["eu-west-1"]);
    let due = |seconds: u64| ("due", n(i64::try_from(START_MS / 1000 + seconds).expect("small")));
    world.put(HOME, item([("pk", s("p")), ("sk", s("k")), due(60)])).expect("put");
    world.settle();
    cut(&world, true);
    world.put("eu-west-1", item([("pk", s("p")), ("sk", s("k")), due(900_000)])).expect("put");
    world.pass(HOUR_MS);
    world.settle();
    assert!(world.get(HOME, "k").is_none(), "it expired there");
    cut(&world, false);
    world.settle();
    assert!(world.get(HOME, "k").is_some() && world.get("eu-west-1", "k").is_some());
}

#[test]
fn the_last_member_to_remain_is_an_ordinary_table_again_and_keeps_its_items() {
    let world = World::with_replicas(&["eu-west-1"]);
    world.put("eu-west-1", row("k", 1)).expect("put");
    world.put(HOME, row("k2", 1)).expect("put");
    world.settle();
    cut(&world, true);
    world.put("eu-west-1", row("k", 2)).expect("put");
    assert!(world.leave("eu-west-1"));
    world.settle();
    assert!(world.table("eu-west-1").is_some(), "it waits until its writes are sent");
    assert!(world.put("eu-west-1", row("k", 3)).is_err(), "it takes no more");
    cut(&world, false);
    world.settle();
    assert!(world.table("eu-west-1").is_none());
    let home = world.table(HOME).expect("it is there");
    assert!(home.replication.is_none() && !home.has_old_versions);
    for space in [Space::Versions, Space::Tombstones, Space::ReplicaCursors] {
        assert!(world.rows(space, &home).is_empty(), "{space:?}");
    }
    assert_eq!(x_of(world.get(HOME, "k")), Some(2));
    world.put(HOME, row("k", 4)).expect("put");
    assert!(world.rows(Space::Versions, &home).is_empty(), "it pays nothing any more");
    assert!(world.join(HOME, "eu-west-1"), "it may have replicas again");
    world.settle();
    assert_eq!(x_of(world.get("eu-west-1", "k")), Some(4));
}

#[test]
fn in_steps_changes_arrive_one_by_one() {
    let world = World::with_replicas(&["eu-west-1"]);
    let table = table_ref().name.clone();
    let rule = TableRule { step: true, ..TableRule::none(table) };
    world.simulate(|simulation| simulation.tables.push(rule));
    world.put(HOME, row("a", 1)).expect("put");
    world.put(HOME, row("b", 1)).expect("put");
    world.settle();
    assert_eq!((world.get("eu-west-1", "a"), world.get("eu-west-1", "b")), (None, None));
    assert_eq!(world.deliver((HOME, "eu-west-1"), &Choice::Next(1)), 1);
    world.settle();
    assert_eq!((x_of(world.get("eu-west-1", "a")), world.get("eu-west-1", "b")), (Some(1), None));
    world.simulate(|simulation| simulation.tables.clear());
    world.settle();
    assert_eq!(x_of(world.get("eu-west-1", "b")), Some(1));
}

pub(super) fn assert_same(worlds: &World, regions: &[&str]) {
    let states: Vec<State> = regions.iter().map(|region| worlds.state(region)).collect();
    for (region, state) in regions.iter().zip(&states) {
        assert_eq!(state.items, states[0].items, "{region}");
        assert_eq!(state.live_versions(), states[0].live_versions(), "{region}");
    }
    assert!(!states[0].items.is_empty(), "there is something to compare");
}

#[test]
fn two_processes_over_one_store_send_all_changes() {
    let mut random = fastrand::Rng::with_seed(7);
    let one = World::over(FlakyStore::shared());
    let other = World {
        store: one.store.clone(),
        env: Arc::clone(&one.env),
        engine: open(&one.store, &one.env, EngineConfig::default()),
        config: EngineConfig::default(),
    };
    let both = |ms: u64| {
        one.pass(ms);
        other.pass(0);
    };
    (0..20).for_each(|_| both(100));
    assert!(one.join(HOME, "eu-west-1"));
    (0..60).for_each(|_| both(100));
    let mut written = 0;
    for number in 0..200 {
        let world = if random.bool() { &one } else { &other };
        let region = if random.bool() { HOME } else { "eu-west-1" };
        let name = random.u8(..9).to_string();
        let is_written = match random.u8(..4) {
            0 => world.delete(region, &name).is_ok(),
            _ => world.put(region, row(&name, number)).is_ok(),
        };
        written += usize::from(is_written);
        both(random.u64(..60));
    }
    assert!(written > 150, "{written}");
    (0..60).for_each(|_| both(100));
    assert_same(&one, &[HOME, "eu-west-1"]);
}

#[test]
fn members_in_a_copy_of_the_store_send_each_other_what_was_on_its_way() {
    let world = World::with_replicas(&REGIONS[1..3]);
    for region in &REGIONS[..3] {
        for number in 0..150 {
            world.put(region, row(&format!("{region}{number}"), number)).expect("put");
        }
    }
    world.settle();
    cut(&world, true);
    for region in &REGIONS[..3] {
        world.put(region, row(region, 1)).expect("put");
        world.delete(region, &format!("{region}7")).expect("delete");
        world.put(region, row("same", 1)).expect("put");
    }
    world.pass(100);
    let to = MemoryStore::new();
    let mut copy = block_on(Copy::begin(world.store.clone(), to.clone(), "a")).expect("the target is empty");
    block_on(copy.run(&mut |_| ())).expect("it is copied");
    block_on(copy.finish()).expect("it ends");
    let to = FlakyStore::over(to);
    let config = EngineConfig::default();
    let engine = open(&to, &world.env, config.clone());
    let copied = World { store: to, env: Arc::clone(&world.env), engine, config };
    copied.settle();
    assert_same(&copied, &REGIONS[..3]);
    assert_eq!(copied.state(HOME).items.len(), 3 * 150 + 3 + 1 - 3);
}

/// A random history of a group, and what it has shown.
struct Run {
    world: World,
    requests: Requests,
    observed: Observed,
}

impl Run {
    fn new(seed: u64, broken: Option<Broken>) -> Self {
        // In every second history so little waits for a replica that it is often sent everything anew.
        let backlog_bytes_max = if seed.is_multiple_of(2) { u64::MAX } else { 600 };
        let config = EngineConfig { backlog_bytes_max, ..EngineConfig::default() };
        let world = World::with((FlakyStore::default(), config));
        world.engine.links().set_broken(broken);
        Self { world, requests: Requests::new(seed, 6), observed: Observed::default() }
    }

    /// Looks at every member; a fault that it finds.
    fn observe(&mut self) -> Result<(), String> {
        for region in self.world.regions() {
            let table = self.world.table(region).expect("it is there");
            self.observed.look(&self.world.store, &table)?;
        }
        Ok(())
    }

    fn write(&mut self) {
        let regions = self.world.open_regions();
        let Some(region) = self.requests.random.choice(regions) else { return };
        let request = self.requests.write(self.world.now_ms(), |name| self.world.get(region, name));
        // It may fail, or its outcome may be unknown: what it wrote is seen in the rows.
        let _either = self.world.run(region, request);
    }

    fn disturb(&mut self) {
        let (from, to) = (self.requests.random.choice(REGIONS), self.requests.random.choice(REGIONS));
        let (Some(from), Some(to)) = (from, to) else { return };
        let plain = link(from, to);
        let half = Chance::of_millionths(500_000).expect("it is below one");
        let (number, clock_ms) =
            (self.requests.random.u8(..6), self.requests.random.i64(-3_600_000..3_600_000));
        let rule = match number {
            0 => PairRule { partition: true, ..plain },
            1 => PairRule { duplicate: half, ..plain },
            2 => PairRule { latency_ms: 400, jitter_ms: 900, ..plain },
            _ => PairRule { reorder: half, split_transactions: half, ..plain },
        };
        let pause = self.requests.random.bool();
        self.world.simulate(|simulation| match number {
            0..4 => {
                simulation.pairs.retain(|other| (&other.from, &other.to) != (&rule.from, &rule.to));
                simulation.pairs.push(rule);
            }
            4 => rule_of(simulation, from).clock_ms = clock_ms,
            _ => rule_of(simulation, from).pause = pause,
        });
    }

    fn change_members(&mut self) {
        let region = REGIONS[1..][self.requests.random.usize(..3)];
        if self.world.table(region).is_none() {
            let regions = self.world.open_regions();
            let Some(source) = self.requests.random.choice(regions) else { return };
            self.world.add(source, region);
        } else if self.world.open_regions().len() > 2 {
            self.world.leave(region);
        }
    }

    /// Compares a member with the others.
    fn verify(&mut self) {
        let regions = self.world.open_regions();
        if let Some(region) = self.requests.random.choice(regions) {
            // It may have no replicas.
            let _either = self.world.engine.begin_verification(&place(region), TABLE, false);
        }
    }

    /// A difference that a verification has found, which is none while the rules hold.
    fn false_alarm(&self) -> Result<(), String> {
        let ended = self.world.engine.take_ended_verifications();
        match ended.into_iter().find(|one| one.verdict() == Verdict::Differs) {
            Some(found) if self.world.engine.links().broken().is_none() => {
                Err(format!("a false alarm: {found:?}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn fail(&mut self) {
        let fates = [Fate::Conflict, Fate::UnknownWritten, Fate::UnknownLost, Fate::Failed];
        let count = self.requests.random.usize(1..4);
        let fates: Vec<Fate> = (0..count).filter_map(|_| self.requests.random.choice(fates)).collect();
        if self.requests.random.bool() {
            // While it is sent.
            self.write();
        }
        self.world.store.next(&fates);
        self.world.pass(1);
    }

    /// Some steps of the history; a fault that they show.
    fn go(&mut self, steps: u32) -> Result<(), String> {
        for _ in 0..steps {
            match self.requests.random.u8(..40) {
                0..19 => self.write(),
                19 => self.verify(),
                20..31 => {
                    let ms = self.requests.random.u64(..700);
                    self.world.pass(ms);
                }
                31 => self.world.pass(13 * HOUR_MS),
                32 | 33 => self.change_members(),
                34 | 35 => self.disturb(),
                36 => self.world.restart(),
                37 => self.world.simulate(|simulation| *simulation = Simulation::default()),
                _ => self.fail(),
            }
            self.observe()?;
            self.false_alarm()?;
        }
        Ok(())
    }

    /// Lets everything arrive, and compares.
    fn end(&mut self) -> Result<(), String> {
        self.world.store.calm();
        // A store that has failed is opened again.
        self.world.restart();
        self.world.simulate(|simulation| *simulation = Simulation::default());
        self.quiet()?;
        self.compare()?;
        self.verify();
        self.quiet()?;
        self.false_alarm()?;
        // Two rounds after a day forget the deletions.
        for _ in 0..6 {
            self.world.pass(13 * HOUR_MS);
            self.quiet()?;
        }
        self.compare()?;
        for region in self.world.regions() {
            let table = self.world.table(region).expect("it is there");
            if !self.world.rows(Space::Tombstones, &table).is_empty() {
                return Err(format!("{region}: deletions are remembered for ever"));
            }
        }
        Ok(())
    }

    fn quiet(&mut self) -> Result<(), String> {
        for _ in 0..40 {
            self.world.pass(250);
            self.observe()?;
        }
        Ok(())
    }

    /// Every member has the greatest version of each key, and the rows that go with it.
    fn compare(&self) -> Result<(), String> {
        let regions = self.world.regions();
        let table = |region: &&str| self.world.table(region).expect("it is there");
        self.observed.compare(regions.iter().map(|region| (&self.world.store, table(region))))?;
        for region in regions {
            let count = self.world.state(region).items.len();
            check_indexes((region, count), |request| self.world.run(region, request))?;
        }
        Ok(())
    }
}

fn history(seed: u64, broken: Option<Broken>) -> Result<(), String> {
    let mut run = Run::new(seed, broken);
    for _ in 0..4 {
        run.write();
    }
    run.world.add(HOME, REGIONS[1]);
    run.go(300)?;
    run.end()
}

#[test]
fn members_agree_on_the_greatest_version_of_each_item_whatever_happens() {
    for seed in seeds(12) {
        if let Err(fault) = history(seed, None) {
            panic!("seed {seed}: {fault}");
        }
    }
}
