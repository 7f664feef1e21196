//! Members of one group on two servers, each an engine over a store of its own, joined in this process by a
//! network that loses and repeats what it carries, and delivers some of it late and in another order.

mod bounds;
mod comparisons;
mod controls;
mod histories;
mod lost;
mod overrides;
mod parting;
mod remaining;
mod restored;
mod unknown;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use keywright_semantics::error::Error;
use keywright_semantics::request::{
    DeleteTable, NewStrongGroup, ReplicaSettings, ReplicaUpdates, Request, UpdateTable,
};
use keywright_semantics::response::Response;
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::flaky_store::FlakyStore;
use super::harness::*;
use super::replicas::{HOUR_MS, START_MS, key_of, place, row, x_of};
use crate::catalogue::{MemberStatus, Table, TableStatus};
use crate::copy::Copy;
use crate::peers::PeerCaller;
use crate::replication::peers::{Message, PeerLane, decode, encode};
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::{AccountId, Caller, Env, Namespace, Region};
use crate::support::layout::{Space, prefix_range, table_prefix, within_table};
use crate::support::peers::{PeerAnswer, PeerFault, Peers};
use crate::support::rows::each_row;
use crate::write::version_rows::StoredVersion;

type Process = Engine<FlakyStore>;

/// The regions, and the server that owns each.
const REGIONS: [(&str, usize); 4] =
    [("us-east-1", 0), ("eu-west-1", 1), ("us-west-2", 0), ("ap-northeast-1", 1)];
const FIRST: &str = "us-east-1";
const SECOND: &str = "eu-west-1";

/// How often, of a hundred, the network does what.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    /// A message is lost.
    lost: u8,
    /// The answer is lost.
    unanswered: u8,
    /// A message arrives twice.
    twice: u8,
    /// A message arrives some turns later, when its sender waits for no answer any more.
    late: u8,
}

/// A message on its way.
struct Late {
    turns: u8,
    region: String,
    caller: PeerCaller,
    message: Vec<u8>,
}

/// The most turns that a message is late.
const LATE_TURNS_MAX: u8 = 6;

/// Whether a message is chosen.
type Choice = fn(&Message) -> bool;

/// What the network has carried.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// Calls of each server that wait for their answers.
    waiting: [usize; 2],
    /// The most of them at a time.
    waiting_most: usize,
    /// The bytes of the largest batch.
    batch_bytes_max: usize,
    batches: usize,
}

struct Net {
    engines: Mutex<Vec<Process>>,
    traffic: Mutex<Traffic>,
    weather: Mutex<(Weather, fastrand::Rng)>,
    late: Mutex<Vec<Late>>,
    /// Messages that are lost in any weather.
    loses: Mutex<Option<Choice>>,
    tables: Mutex<Vec<String>>,
    /// Whether the servers name each other.
    are_named: Mutex<bool>,
    /// A region of the first server for which the second one has no `[[peer]]`.
    unnamed: Mutex<Option<String>>,
}

impl Net {
    /// The regions of one server that the other one names.
    fn named(&self, server: usize) -> Vec<String> {
        let unnamed = self.unnamed.lock().unwrap();
        if !*self.are_named.lock().unwrap() {
            return Vec::new();
        }
        let all = regions_of(server).into_iter();
        all.filter(|region| server == 1 || unnamed.as_ref() != Some(region)).collect()
    }

    fn hits(&self, chance: impl Fn(&Weather) -> u8) -> bool {
        let mut weather = self.weather.lock().unwrap();
        let chance = chance(&weather.0);
        weather.1.u8(..100) < chance
    }

    fn loses(&self, message: &[u8]) -> bool {
        let is_lost = *self.loses.lock().unwrap();
        is_lost.is_some_and(|is_lost| decode::<Message>(message).is_ok_and(|message| is_lost(&message)))
    }

    fn engine_of(&self, region: &str) -> Process {
        self.engines.lock().unwrap()[owner_of(region)].clone()
    }

    fn hold(&self, region: &str, caller: &PeerCaller, message: &[u8]) {
        let turns = self.weather.lock().unwrap().1.u8(1..=LATE_TURNS_MAX);
        let (region, caller, message) = (region.to_owned(), caller.clone(), message.to_vec());
        self.late.lock().unwrap().push(Late { turns, region, caller, message });
    }

    /// Delivers the late messages whose turn it is, in any order.
    fn deliver_late(&self) {
        let mut due = Vec::new();
        self.late.lock().unwrap().retain_mut(|late| {
            late.turns -= 1;
            let is_due = late.turns == 0;
            if is_due {
                due.push((late.region.clone(), late.caller.clone(), std::mem::take(&mut late.message)));
            }
            !is_due
        });
        self.weather.lock().unwrap().1.shuffle(&mut due);
        for (region, caller, message) in due {
            block_on(self.engine_of(&region).answer_peer(&caller, &message));
        }
    }
}

/// The network as one server sees it.
struct Link {
    net: Arc<Net>,
    own: usize,
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the link of server {}", self.own)
    }
}

fn regions_of(server: usize) -> Vec<String> {
    REGIONS.iter().filter(|(_, owner)| *owner == server).map(|(region, _)| (*region).to_owned()).collect()
}

fn owner_of(region: &str) -> usize {
    REGIONS.iter().find(|(name, _)| *name == region).expect("a region of the test").1
}

impl Peers for Link {
    fn regions(&self) -> Vec<String> {
        self.net.named(1 - self.own)
    }

    fn is_same_server(&self, region: &str, other: &str) -> bool {
        owner_of(region) == owner_of(other)
    }

    fn admits(&self, _: &str, table: &str) -> bool {
        self.net.tables.lock().unwrap().iter().any(|own| own == table)
    }

    fn account(&self, _: &str) -> Option<String> {
        Some(namespace().account.to_string())
    }

    fn call<'p>(&'p self, region: &'p str, message: Vec<u8>) -> PeerAnswer<'p> {
        Box::pin(async move {
            let _waiting = Waiting::new(&self.net, self.own, &message);
            next_poll().await;
            if self.net.loses(&message) || self.net.hits(|weather| weather.lost) {
                return Err(PeerFault("lost".to_owned()));
            }
            let engine = self.net.engine_of(region);
            let caller = PeerCaller { regions: self.net.named(self.own), ..caller_of(self.own) };
            if self.net.hits(|weather| weather.late) {
                self.net.hold(region, &caller, &message);
                return Err(PeerFault("late".to_owned()));
            }
            if self.net.hits(|weather| weather.twice) {
                engine.answer_peer(&caller, &message).await;
            }
            let reply = engine.answer_peer(&caller, &message).await;
            if self.net.hits(|weather| weather.unanswered) {
                return Err(PeerFault("unanswered".to_owned()));
            }
            Ok(reply.frame)
        })
    }
}

/// A call that waits for its answer.
struct Waiting<'n> {
    net: &'n Net,
    own: usize,
}

impl<'n> Waiting<'n> {
    fn new(net: &'n Net, own: usize, message: &[u8]) -> Self {
        let is_batch = matches!(decode::<Message>(message), Ok(Message::Batch(_)));
        let mut traffic = net.traffic.lock().unwrap();
        traffic.waiting[own] += 1;
        traffic.waiting_most = traffic.waiting_most.max(traffic.waiting[own]);
        if is_batch {
            traffic.batches += 1;
            traffic.batch_bytes_max = traffic.batch_bytes_max.max(message.len());
        }
        drop(traffic);
        Self { net, own }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.net.traffic.lock().unwrap().waiting[self.own] -= 1;
    }
}

/// Lets others go on once.
async fn next_poll() {
    let mut is_first = true;
    std::future::poll_fn(move |context| {
        if std::mem::take(&mut is_first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

fn caller_of(server: usize) -> PeerCaller {
    PeerCaller { account: namespace().account, regions: regions_of(server) }
}

/// One server.
struct Server {
    store: FlakyStore,
    env: Arc<TestEnv>,
    config: EngineConfig,
}

struct World {
    net: Arc<Net>,
    servers: Vec<Server>,
}

fn open(server: &Server) -> Process {
    let env: Arc<dyn Env> = Arc::<TestEnv>::clone(&server.env);
    block_on(Engine::open(server.store.clone(), env, server.config.clone())).expect("the store opens")
}

impl World {
    /// Two servers, of which the first has a table.
    fn new() -> Self {
        Self::with(&EngineConfig { source_region_ms: 0, ..EngineConfig::default() })
    }

    fn with(config: &EngineConfig) -> Self {
        let net = Arc::new(Net {
            engines: Mutex::default(),
            traffic: Mutex::default(),
            weather: Mutex::new((Weather::default(), fastrand::Rng::with_seed(7))),
            late: Mutex::default(),
            loses: Mutex::default(),
            tables: Mutex::new(vec![TABLE.to_owned()]),
            are_named: Mutex::new(true),
            unnamed: Mutex::default(),
        });
        let server = |own: usize| {
            let env = Arc::new(TestEnv::default());
            env.now_ms.store(START_MS, Ordering::Relaxed);
            env.random.store(1_000_000 * u64::try_from(own).expect("small"), Ordering::Relaxed);
            let link = Link { net: Arc::clone(&net), own };
            let config = EngineConfig { peers: Arc::new(link), links: Arc::default(), ..config.clone() };
            Server { store: FlakyStore::default(), env, config }
        };
        let servers = vec![server(0), server(1)];
        *net.engines.lock().unwrap() = servers.iter().map(open).collect();
        let world = Self { net, servers };
        world.run(FIRST, Request::CreateTable(Box::new(create_request(schema())))).expect("it is new");
        world
    }

    /// The same with members in these regions, made one after the other.
    fn with_members(regions: &[&str]) -> Self {
        let world = Self::new();
        for region in regions {
            world.add(FIRST, region).expect("it is added");
            world.settle();
        }
        world
    }

    fn engine(&self, server: usize) -> Process {
        self.net.engines.lock().unwrap()[server].clone()
    }

    fn run(&self, region: &str, request: Request) -> Result<Response, Error> {
        block_on(self.engine(owner_of(region)).execute(&Caller::account(place(region)), request))
    }

    fn put(&self, region: &str, item: Item) {
        self.run(region, Request::PutItem(Box::new(put_request(item)))).expect("a put");
    }

    fn delete(&self, region: &str, name: &str) {
        self.run(region, Request::DeleteItem(Box::new(delete_request(key_of(name))))).expect("a delete");
    }

    fn get(&self, region: &str, name: &str) -> Option<Item> {
        match self.run(region, Request::GetItem(get_request(key_of(name)))) {
            Ok(Response::GetItem(output)) => output.item.map(|item| item.decode()),
            other => panic!("a get is answered by its output: {other:?}"),
        }
    }

    fn table(&self, region: &str) -> Option<Arc<Table>> {
        self.engine(owner_of(region)).catalogue().find(&place(region), TABLE)
    }

    fn update(&self, region: &str, updates: ReplicaUpdates) -> Result<Response, Error> {
        let update = UpdateTable { replicas: Some(updates), ..update_request() };
        self.run(region, Request::UpdateTable(Box::new(update)))
    }

    fn add(&self, source: &str, region: &str) -> Result<Response, Error> {
        let settings = ReplicaSettings { region: region.to_owned(), ..ReplicaSettings::default() };
        self.update(source, ReplicaUpdates::Create(settings))
    }

    fn remove(&self, asked: &str, region: &str) -> Result<Response, Error> {
        self.update(asked, ReplicaUpdates::Delete { region: region.to_owned() })
    }

    fn weather(&self, weather: Weather) {
        self.net.weather.lock().unwrap().0 = weather;
    }

    /// Has messages of a kind lost, until `heal`.
    fn lose(&self, is_lost: fn(&Message) -> bool) {
        *self.net.loses.lock().unwrap() = Some(is_lost);
    }

    fn cut(&self) {
        self.weather(Weather { lost: 100, ..Weather::default() });
    }

    fn heal(&self) {
        self.weather(Weather::default());
        *self.net.loses.lock().unwrap() = None;
    }

    /// Lets time pass, and does one step of everything.
    fn pass(&self, ms: u64) {
        self.net.deliver_late();
        for (own, server) in self.servers.iter().enumerate() {
            let now_ms = server.env.now_ms.fetch_add(ms, Ordering::Relaxed) + ms;
            let engine = self.engine(own);
            block_on(engine.step(now_ms));
            for region in regions_of(1 - own) {
                block_on(engine.peer_step(&region, PeerLane::ALL, now_ms));
            }
        }
    }

    /// Lets background work end what is due within some seconds.
    fn settle(&self) {
        for _ in 0..40 {
            self.pass(400);
        }
    }

    /// A server is killed, and started again.
    fn restart(&self, server: usize) {
        let opened = open(&self.servers[server]);
        self.net.engines.lock().unwrap()[server] = opened;
    }

    fn open_regions(&self) -> Vec<&'static str> {
        let is_open = |region: &&str| self.table(region).is_some_and(|table| table.takes_data());
        REGIONS.iter().map(|(region, _)| *region).filter(is_open).collect()
    }

    /// The rows of a table, by their keys within it.
    fn rows(&self, region: &str, space: Space) -> Vec<(Vec<u8>, Vec<u8>)> {
        let table = self.table(region).expect("it is there");
        let view = block_on(self.servers[owner_of(region)].store.snapshot()).expect("a view");
        let mut rows = Vec::new();
        let range = prefix_range(table_prefix(space, table.id));
        let take = |row: &keywright_store::Entry| {
            rows.push((within_table(&row.key).to_vec(), row.value.to_vec()));
        };
        block_on(each_row(&view, range, take)).expect("they are read");
        rows
    }

    /// Asserts that all members have the same items and the same versions of them.
    fn assert_equal(&self, about: &str) {
        let versions = |region: &str| {
            let rows = self.rows(region, Space::Versions);
            let live = |(key, row): (Vec<u8>, Vec<u8>)| {
                let stored = StoredVersion::decode(&row.into()).expect("it is whole");
                stored.deleted.is_none().then_some((key, stored.version))
            };
            rows.into_iter().filter_map(live).collect::<Vec<_>>()
        };
        let regions = self.open_regions();
        let first = regions.first().expect("a member");
        for region in &regions {
            assert_eq!(self.rows(first, Space::Items), self.rows(region, Space::Items), "{about}: {region}");
            assert_eq!(versions(first), versions(region), "{about}: versions of {region}");
        }
    }

    fn statuses(&self, region: &str) -> Vec<(String, MemberStatus)> {
        let table = self.table(region).expect("it is there");
        table.remote.members.iter().map(|member| (member.region.clone(), member.status)).collect()
    }
}

fn update_request() -> UpdateTable {
    UpdateTable {
        table: table_ref(),
        definitions: Vec::new(),
        billing: None,
        throughput: None,
        index_updates: Vec::new(),
        stream: None,
        encryption: None,
        class: None,
        deletion_protection: None,
        on_demand: None,
        warm: None,
        disassociation_protection: None,
        replicas: None,
        settings_replication: None,
    }
}

#[test]
fn a_table_is_made_and_filled_on_another_server_and_writes_go_both_ways() {
    let world = World::new();
    world.put(FIRST, row("old", 1));
    world.add(FIRST, SECOND).expect("it is added");
    assert!(world.table(SECOND).is_none(), "the group knows of it before its table is there");
    assert_eq!(world.statuses(FIRST), [(SECOND.to_owned(), MemberStatus::Creating)]);
    world.settle();
    assert_eq!(world.statuses(FIRST), [(SECOND.to_owned(), MemberStatus::Active)]);
    assert_eq!(world.statuses(SECOND), [(FIRST.to_owned(), MemberStatus::Active)]);
    assert!(world.table(SECOND).is_some_and(|table| table.status == TableStatus::Active));
    assert_eq!(x_of(world.get(SECOND, "old")), Some(1));
    world.put(SECOND, row("new", 2));
    world.put(FIRST, row("old", 3));
    world.pass(1);
    assert_eq!(x_of(world.get(FIRST, "new")), Some(2));
    assert_eq!(x_of(world.get(SECOND, "old")), Some(3));
    let scan = world.run(SECOND, Request::Scan(Box::new(scan_request(Some("gsi")))));
    let Ok(Response::Scan(page)) = scan else { panic!("it is scanned") };
    assert_eq!(items(&page).len(), 2, "its indexes are kept");
    world.delete(SECOND, "old");
    world.pass(1);
    assert_eq!(world.get(FIRST, "old"), None);
    world.assert_equal("after a delete");
}

#[test]
fn several_members_on_each_server_have_what_is_written_to_any() {
    let world = World::with_members(&[SECOND, "us-west-2"]);
    world.add(SECOND, "ap-northeast-1").expect("any member adds others");
    world.settle();
    assert_eq!(world.open_regions().len(), 4);
    for (number, (region, _)) in REGIONS.iter().enumerate() {
        world.put(region, row(region, i64::try_from(number).expect("small")));
    }
    world.settle();
    for (region, _) in REGIONS {
        for (number, (name, _)) in REGIONS.iter().enumerate() {
            assert_eq!(x_of(world.get(region, name)), i64::try_from(number).ok(), "{region}: {name}");
        }
    }
    world.assert_equal("four members");
}

#[test]
fn a_region_of_another_server_takes_no_request_and_only_named_tables_go_there() {
    let world = World::new();
    let engine = world.engine(0);
    let request = Request::CreateTable(Box::new(create_request(schema())));
    let refused = block_on(engine.execute(&Caller::account(place(SECOND)), request)).unwrap_err();
    assert!(refused.message.contains("owned by another Keywright server"), "{refused:?}");
    let replicas = [ReplicaSettings { region: "us-west-2".to_owned(), ..ReplicaSettings::default() }];
    let strong = NewStrongGroup { replicas: replicas.to_vec(), witness: Some(SECOND.to_owned()) };
    let refused = world.update(FIRST, ReplicaUpdates::CreateStrong(strong)).unwrap_err();
    assert!(refused.message.contains("STRONG is owned by another Keywright server"), "{refused:?}");
    world.net.tables.lock().unwrap().clear();
    let refused = world.add(FIRST, SECOND).unwrap_err();
    assert!(refused.message.contains("tables in [[peer]]"), "{refused:?}");
    world.cut();
    world.net.tables.lock().unwrap().push(TABLE.to_owned());
    let refused = world.add(FIRST, SECOND).unwrap_err();
    assert!(refused.message.contains("cannot be asked: lost"), "{refused:?}");
    assert!(world.table(FIRST).is_some_and(|table| table.replication.is_none()), "nothing was changed");
    world.heal();
    let foreign = Namespace { account: AccountId::from("999999999999"), ..namespace() };
    let made = Request::CreateTable(Box::new(create_request(schema())));
    block_on(world.engine(0).execute(&Caller::account(foreign.clone()), made)).expect("another account's");
    let settings = ReplicaSettings { region: SECOND.to_owned(), ..ReplicaSettings::default() };
    let update = UpdateTable { replicas: Some(ReplicaUpdates::Create(settings)), ..update_request() };
    let update = Request::UpdateTable(Box::new(update));
    let refused = block_on(world.engine(0).execute(&Caller::account(foreign), update)).unwrap_err();
    assert!(refused.message.contains("account 000000000000"), "{refused:?}");
    let other = Namespace { region: Region::stored(SECOND), ..namespace() };
    let made = Request::CreateTable(Box::new(create_request(schema())));
    block_on(world.engine(1).execute(&Caller::account(other), made)).expect("a table of the name");
    let refused = world.add(FIRST, SECOND).unwrap_err();
    assert!(refused.message.contains("already existed as tables"), "{refused:?}");
}

#[test]
fn a_message_of_a_foreign_region_or_another_version_is_refused_with_a_reason() {
    let world = World::with_members(&[SECOND]);
    let caller = PeerCaller { regions: vec!["sa-east-1".to_owned()], ..caller_of(0) };
    let check = crate::replication::peers::Message::Check {
        name: TABLE.to_owned(),
        from_region: FIRST.to_owned(),
        to_region: SECOND.to_owned(),
    };
    let reply = block_on(world.engine(1).answer_peer(&caller, &encode(&check)));
    assert!(reply.refusal.is_some_and(|text| text.contains(FIRST)));
    let mut frame = encode(&check);
    frame[5] = 9;
    let reply = block_on(world.engine(1).answer_peer(&caller_of(0), &frame));
    let refusal = reply.refusal.expect("it is refused");
    assert!(refusal.contains("version 9") && refusal.contains("version 2"), "{refusal}");
}

#[test]
fn a_member_leaves_once_the_others_have_its_writes_and_the_last_is_an_ordinary_table() {
    let world = World::with_members(&[SECOND]);
    world.cut();
    world.put(SECOND, row("last", 1));
    world.heal();
    world.settle();
    world.remove(FIRST, SECOND).expect("it is removed");
    assert_eq!(world.statuses(FIRST), [(SECOND.to_owned(), MemberStatus::Deleting)]);
    world.settle();
    assert!(world.table(SECOND).is_none(), "its table is deleted");
    let own = world.table(FIRST).expect("it stays");
    assert!(own.replication.is_none() && own.remote.members.is_empty());
    assert_eq!(x_of(world.get(FIRST, "last")), Some(1));
    world.settle();
    world.add(FIRST, SECOND).expect("it may join anew");
    world.settle();
    assert_eq!(x_of(world.get(SECOND, "last")), Some(1));
    let delete = DeleteTable { table: table_ref() };
    world.run(FIRST, Request::DeleteTable(delete)).expect("either end is deleted by its own server");
    world.settle();
    assert!(world.table(FIRST).is_none());
    assert!(world.table(SECOND).is_some_and(|table| table.replication.is_none()));
    world.assert_equal("one is left");
}

#[test]
fn a_cut_holds_writes_on_both_sides_and_the_later_one_wins_after_it() {
    let world = World::with_members(&[SECOND]);
    world.cut();
    world.put(FIRST, row("both", 1));
    world.pass(60_000);
    world.put(SECOND, row("both", 2));
    world.put(FIRST, row("first", 3));
    world.pass(1_000);
    let status = block_on(world.engine(0).replication_status(&place(FIRST), TABLE)).expect("it is read");
    let [replica] = &*status.expect("a group").replicas else { panic!("one replica") };
    assert!(replica.is_remote && replica.backlog == 2, "{replica:?}");
    assert_eq!(replica.last_error.as_deref(), Some("lost"));
    assert_eq!(world.statuses(FIRST), [(SECOND.to_owned(), MemberStatus::Active)]);
    world.heal();
    for _ in 0..4 {
        world.pass(30_000);
    }
    assert_eq!(x_of(world.get(FIRST, "both")), Some(2));
    assert_eq!(x_of(world.get(SECOND, "first")), Some(3));
    world.assert_equal("after the cut");
    let status = block_on(world.engine(1).replication_status(&place(SECOND), TABLE)).expect("it is read");
    assert_eq!(status.expect("a group").conflicts, 0, "the one that lost is listed where it lost");
    let status = block_on(world.engine(0).replication_status(&place(FIRST), TABLE)).expect("it is read");
    assert_eq!(status.expect("a group").conflicts, 1);
}

#[test]
fn deletions_are_remembered_until_the_other_server_has_them() {
    let world = World::with_members(&[SECOND]);
    world.put(FIRST, row("gone", 1));
    world.settle();
    world.cut();
    world.delete(FIRST, "gone");
    for _ in 0..80 {
        world.pass(HOUR_MS);
    }
    assert_eq!(world.rows(FIRST, Space::Tombstones).len(), 1, "the other server lacks it");
    world.heal();
    for _ in 0..80 {
        world.pass(HOUR_MS);
        for _ in 0..3 {
            world.pass(4 * 60_000);
        }
    }
    assert_eq!(world.get(SECOND, "gone"), None);
    assert_eq!(world.rows(FIRST, Space::Tombstones).len(), 0);
    assert_eq!(world.rows(SECOND, Space::Tombstones).len(), 0);
    world.assert_equal("after the deletion is forgotten");
}
