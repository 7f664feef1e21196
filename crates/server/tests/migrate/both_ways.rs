//! `keywright replicate --both-ways`: two tables that are both written end equal.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use keywright_model::json::Json;
use keywright_semantics::value::Item;

use crate::command::{fails, interrupt, spawn, succeeds};
use crate::endpoint::{ask, create_table, items};
use crate::late_pages::message;
use crate::line::line;
use crate::replications::advance;
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

const IMAGES: Option<&str> = Some("NEW_AND_OLD_IMAGES");
const MARKER: &str = "keywright:sent";

/// `KEYWRIGHT_KILLS` sets another number; with `--long` there are so many, or more.
const KILLS: u64 = 8;
const KILLS_LONG: u64 = 300;
/// The longest that the command runs before it is killed.
const RUN_MS: u64 = 900;
/// The longest pause between two writes of a writer.
const PAUSE_MS: u64 = 12;
/// Of so many answers one is lost, for so long.
const LOST_OF: u64 = 60;
const LOSING: Duration = Duration::from_secs(6);
const LOSING_LONG: Duration = Duration::from_mins(3);
/// Items that both sides write: more than may be under way at once.
const MANY: u64 = 2_200;
/// Changes in one burst: more than one answer of a stream has.
const BURST: u64 = 1_200;
/// Looks at what is to come, which takes two minutes at most.
const LOOKS_MAX: u32 = 24_000;
const LOOK_EVERY: Duration = Duration::from_millis(5);

fn arguments<'a>(from: &'a str, second: &'a Server) -> Vec<&'a str> {
    vec!["replicate", "--from", from, "--to", "Orders", "--both-ways", "--endpoint", &second.endpoint]
}

/// An item as a writer knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    text: String,
    count: u64,
}

/// One side, as an application uses it.
#[derive(Clone)]
struct Application {
    endpoint: String,
}

impl Application {
    fn key(key: &str) -> Json {
        Json::parse(&format!(r#"{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}}}}"#)).unwrap()
    }

    fn ask(&self, operation: &str, members: &[(&str, Json)]) -> Json {
        let mut request = Json::object([("TableName", Json::text("Orders"))]);
        for (name, value) in members {
            request.set(name, value.clone());
        }
        ask(&self.endpoint, operation, &request.compact())
    }

    /// The item as it is stored.
    fn item(&self, key: &str) -> Option<Json> {
        let read = [("Key", Self::key(key)), ("ConsistentRead", Json::Bool(true))];
        self.ask("GetItem", &read).get("Item").cloned()
    }

    fn known(&self, key: &str) -> Option<Known> {
        self.item(key).map(|item| known(&item))
    }

    /// Puts an item. Whether that changed anything.
    fn put(&self, item: &Json) -> bool {
        let answer = self.ask("PutItem", &[("Item", item.clone()), ("ReturnValues", Json::text("ALL_OLD"))]);
        answer.get("Attributes").is_none_or(|old| plain(old) != plain(item))
    }

    fn delete(&self, key: &str) -> bool {
        let request = [("Key", Self::key(key)), ("ReturnValues", Json::text("ALL_OLD"))];
        self.ask("DeleteItem", &request).get("Attributes").is_some()
    }

    /// Adds one to the item's count and sets its text, and perhaps an attribute that it did not have.
    /// Returns what it is then.
    fn update(&self, key: &str, text: &str, more: Option<u64>) -> Known {
        let more_text = more.map_or_else(String::new, |number| format!(", x{number} = :t"));
        let values = format!(r#"{{":t":{{"S":"{text}"}},":one":{{"N":"1"}}}}"#);
        let answer = self.ask(
            "UpdateItem",
            &[
                ("Key", Self::key(key)),
                ("UpdateExpression", Json::text(format!("SET t = :t{more_text} ADD n :one"))),
                ("ExpressionAttributeValues", Json::parse(&values).unwrap()),
                ("ReturnValues", Json::text("ALL_NEW")),
            ],
        );
        known(answer.get("Attributes").unwrap())
    }
}

fn known(item: &Json) -> Known {
    let text = item.at(&["t", "S"]).and_then(Json::as_str).unwrap_or_default().to_owned();
    let count = item.at(&["n", "N"]).and_then(Json::as_str).map_or(0, |count| count.parse().unwrap());
    Known { text, count }
}

fn plain(item: &Json) -> Item {
    let mut item = keywright_model::item_json::read_item(item).unwrap().item;
    item.remove(MARKER);
    item
}

fn new_item(key: &str, text: &str) -> Json {
    Json::parse(&format!(
        r#"{{"pk":{{"S":"{key}"}},"sk":{{"N":"1"}},"t":{{"S":"{text}"}},"n":{{"N":"0"}},"l":{{"L":[{{"S":"{text}"}}]}}}}"#
    ))
    .unwrap()
}

/// What a writer did last to each of its items: `None` after a delete.
type Last = BTreeMap<String, Option<Known>>;

/// What a write has come to.
enum Written {
    /// It changed nothing.
    Same,
    /// The item is this now; `None`: it is gone.
    Now(Option<Known>),
}

impl Written {
    fn new(has_changed: bool, known: impl FnOnce() -> Option<Known>) -> Self {
        if has_changed { Self::Now(known()) } else { Self::Same }
    }
}

/// Changes one item at random.
fn change(own: &Application, key: &str, text: &str, dice: &mut Dice) -> Written {
    match dice.roll(10) {
        0..3 => {
            let item = new_item(key, text);
            Written::new(own.put(&item), || Some(known(&item)))
        }
        3..6 => {
            let more = (dice.roll(3) == 0).then(|| dice.roll(4));
            Written::Now(Some(own.update(key, text, more)))
        }
        6..8 => Written::new(own.delete(key), || None),
        8 => {
            // What was read is put back, with the marker if it has one, changed or not.
            let Some(mut item) = own.item(key) else { return Written::Same };
            if dice.roll(2) == 0 {
                item.set("t", Json::object([("S", Json::text(text))]));
            }
            Written::new(own.put(&item), || Some(known(&item)))
        }
        _ => {
            let item = new_item(key, text);
            let put = Json::object([("TableName", Json::text("Orders")), ("Item", item.clone())]);
            let request = Json::List(vec![Json::object([("Put", put)])]);
            let request = Json::object([("TransactItems", request)]);
            ask(&own.endpoint, "TransactWriteItems", &request.compact());
            Written::Now(Some(known(&item)))
        }
    }
}

/// The writers of a history.
struct History {
    first: Application,
    second: Application,
    stop: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
    /// Writes in turn that have arrived.
    arrived: Arc<AtomicU64>,
    seed: u64,
}

impl History {
    /// Writes items that no other side writes: each read must show the last write. Some of them both sides
    /// write.
    fn writer(&self, own: &Application, name: &'static str) -> JoinHandle<Last> {
        let (own, stop, writes) = (own.clone(), Arc::clone(&self.stop), Arc::clone(&self.writes));
        let mut dice = Dice::new(self.seed * 10 + u64::from(name == "second"));
        let write = move || {
            let mut last = Last::new();
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                number += 1;
                let is_shared = dice.roll(2) == 0;
                let prefix = if is_shared { "both" } else { name };
                let key = format!("{prefix}{}", dice.roll(3));
                if !is_shared {
                    let (found, expected) = (own.known(&key), last.get(&key).cloned().flatten());
                    assert_eq!(found, expected, "{name}: {key} before write {number}");
                }
                // An item of one side often becomes again what it was a moment ago.
                let is_new = is_shared || dice.roll(2) == 0;
                let text = format!("{name}{}", if is_new { number } else { dice.roll(2) });
                if let Written::Now(changed) = change(&own, &key, &text, &mut dice) {
                    last.insert(key, changed);
                }
                writes.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(dice.roll(PAUSE_MS)));
            }
            last
        };
        Builder::new().spawn(write).unwrap()
    }

    /// Waits until some writes in turn have arrived.
    fn wait_for_turns(&self) {
        let before = self.arrived.load(Ordering::Relaxed);
        let has_arrived = || self.arrived.load(Ordering::Relaxed) >= before + 3;
        assert!(comes_true(has_arrived), "seed {}: nothing arrives", self.seed);
    }

    /// Writes an item at one side, and once that has arrived, at either. Returns the last write.
    fn turns(&self) -> JoinHandle<Option<Known>> {
        let sides = [self.first.clone(), self.second.clone()];
        let (stop, arrived) = (Arc::clone(&self.stop), Arc::clone(&self.arrived));
        let mut dice = Dice::new(self.seed * 10 + 7);
        let write = move || {
            let (mut last, mut number) = (None, 0);
            loop {
                let side = usize::try_from(dice.roll(2)).unwrap();
                let (here, there) = (&sides[side], &sides[1 - side]);
                number += 1;
                if let Written::Now(changed) = change(here, "turns", &format!("turn{number}"), &mut dice) {
                    last = changed;
                }
                let has_come = || there.known("turns") == last;
                let has_arrived = comes_true(|| has_come() || stop.load(Ordering::Relaxed));
                assert!(has_arrived, "write {number} from side {side} does not arrive");
                if !has_come() {
                    return last;
                }
                assert_eq!(
                    here.known("turns"),
                    last,
                    "write {number} from side {side} stays where it was made"
                );
                arrived.fetch_add(1, Ordering::Relaxed);
                if stop.load(Ordering::Relaxed) {
                    return last;
                }
            }
        };
        Builder::new().spawn(write).unwrap()
    }
}

fn kill(child: &mut Child) {
    let ended = child.try_wait().unwrap();
    assert!(ended.is_none(), "it goes on until it is stopped: {ended:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whether something comes true in time.
fn comes_true(look: impl Fn() -> bool) -> bool {
    (0..LOOKS_MAX).any(|_| {
        let is_true = look();
        if !is_true {
            std::thread::sleep(LOOK_EVERY);
        }
        is_true
    })
}

/// Runs the command until this is so.
fn run_until(folder: &Path, arguments: &[&str], look: impl Fn() -> bool) -> Child {
    let child = spawn(folder, arguments);
    let has_come = comes_true(look);
    assert!(has_come, "{}", interrupt(child));
    child
}

/// Both tables without the marker, which only the first one has.
fn both(first: &Server, second: &Server) -> [BTreeMap<String, Item>; 2] {
    let mut ours = items(&first.endpoint, "Orders");
    for item in ours.values_mut() {
        item.remove(MARKER);
    }
    let theirs = items(&second.endpoint, "Orders");
    assert!(theirs.values().all(|item| !item.contains_key(MARKER)), "the second table has no marker");
    [ours, theirs]
}

#[track_caller]
fn assert_equal(first: &Server, second: &Server, seed: u64) {
    let [ours, theirs] = both(first, second);
    let differing: Vec<_> = ours
        .keys()
        .chain(theirs.keys())
        .filter(|key| ours.get(*key) != theirs.get(*key))
        .map(|key| (ours.get(key), theirs.get(key)))
        .collect();
    assert!(differing.is_empty(), "seed {seed}: {differing:#?}");
}

/// What happens to the command while both sides write.
enum Trouble {
    /// SIGKILL so often.
    Kills(u64),
    /// Answers are lost for so long.
    LostAnswers(Duration),
}

/// Writes to both sides while the command has trouble, lets it end, and looks at both. Returns how much it
/// was.
fn history(seed: u64, trouble: &Trouble) -> String {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    let lossy = Arc::new(AtomicBool::new(false));
    let line = |server: &Server, side| match trouble {
        Trouble::Kills(_) => server.endpoint.clone(),
        Trouble::LostAnswers(_) => losing(server, Dice::new(seed * 2 + side), &lossy),
    };
    let (from, to) = (format!("{}/Orders", line(&first, 0)), line(&second, 1));
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--both-ways", "--endpoint", &to];
    let application = |server: &Server| Application { endpoint: server.endpoint.clone() };
    let history = History {
        first: application(&first),
        second: application(&second),
        stop: Arc::default(),
        writes: Arc::default(),
        arrived: Arc::default(),
        seed,
    };
    history.first.put(&new_item("early", "before"));
    succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());

    let writers = [(&history.first, "first"), (&history.second, "second")];
    let writers = writers.map(|(side, name)| history.writer(side, name));
    let turns = history.turns();
    match trouble {
        Trouble::Kills(kills) => {
            let mut dice = Dice::new(seed);
            for number in 0..*kills {
                let mut child = spawn(folder.path(), &arguments);
                std::thread::sleep(Duration::from_millis(50 + dice.roll(RUN_MS)));
                if number == kills / 2 {
                    history.wait_for_turns();
                }
                kill(&mut child);
            }
        }
        Trouble::LostAnswers(time) => {
            lossy.store(true, Ordering::Relaxed);
            let mut child = spawn(folder.path(), &arguments);
            std::thread::sleep(*time);
            lossy.store(false, Ordering::Relaxed);
            kill(&mut child);
        }
    }
    history.stop.store(true, Ordering::Relaxed);
    let [of_first, of_second] = writers.map(|writer| writer.join().unwrap());
    let last_turn = turns.join().unwrap();
    succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());

    assert_equal(&first, &second, seed);
    assert_eq!(history.second.known("turns"), last_turn, "seed {seed}: the last of the writes in turn");
    for (key, written) in of_first.iter().chain(&of_second).filter(|(key, _)| !key.starts_with("both")) {
        assert_eq!(history.first.known(key), *written, "seed {seed}: the last write of {key}");
    }
    for number in 0..3 {
        let key = format!("both{number}");
        let found = history.first.known(&key).map(|found| found.text);
        let last = |of: &Last| of.get(&key).cloned().flatten().map(|last| last.text);
        let candidates = [last(&of_first), last(&of_second)];
        assert!(candidates.contains(&found), "seed {seed}: {key} is {found:?}, not one of {candidates:?}");
    }
    let [alone, in_turn] = [&history.writes, &history.arrived].map(|count| count.load(Ordering::Relaxed));
    format!("seed {seed}: {alone} writes, and {in_turn} in turn")
}

/// Begins a line to a server that now and then loses the answer to a request, which was carried out.
fn losing(server: &Server, dice: Dice, is_lossy: &Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (server, dice, is_lossy) =
        (server.address().to_owned(), Arc::new(Mutex::new(dice)), Arc::clone(is_lossy));
    let accept = move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (server, dice, is_lossy) = (server.clone(), Arc::clone(&dice), Arc::clone(&is_lossy));
            let pass = move || {
                let mut there = TcpStream::connect(server).unwrap();
                let mut requests = BufReader::new(client.try_clone().unwrap());
                while let Some(request) = message(&mut requests) {
                    there.write_all(&request).unwrap();
                    let Some(answer) = message(&mut BufReader::new(&there)) else { return };
                    let is_lost = is_lossy.load(Ordering::Relaxed) && dice.lock().unwrap().roll(LOST_OF) == 0;
                    if is_lost || (&client).write_all(&answer).is_err() {
                        return;
                    }
                }
            };
            Builder::new().spawn(pass).unwrap();
        }
    };
    Builder::new().spawn(accept).unwrap();
    format!("http://{address}")
}

fn is_long() -> bool {
    std::env::var_os("KEYWRIGHT_TEST_LONG").is_some()
}

#[test]
fn histories_of_both_sides_end_equal_and_lose_no_write_of_one_side_over_kills() {
    let kills = wanted("KEYWRIGHT_KILLS", KILLS).max(if is_long() { KILLS_LONG } else { 0 });
    println!("{}", history(wanted("KEYWRIGHT_SEED", 5), &Trouble::Kills(kills)));
}

#[test]
fn histories_of_both_sides_end_equal_and_lose_no_write_of_one_side_over_lost_answers() {
    let time = if is_long() { LOSING_LONG } else { LOSING };
    println!("{}", history(wanted("KEYWRIGHT_SEED", 5), &Trouble::LostAnswers(time)));
}

#[test]
fn more_changes_of_both_sides_than_may_be_under_way_at_once_end_equal() {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    let from = format!("{}/Orders", first.endpoint);
    let arguments = [&arguments(&from, &second)[..], &["--once"]].concat();
    succeeds(folder.path(), &arguments);
    for (server, text) in [(&first, "first"), (&second, "second")] {
        put_many(&server.endpoint, MANY, "k", text);
    }
    succeeds(folder.path(), &arguments);
    assert_equal(&first, &second, 0);
    let application = Application { endpoint: first.endpoint.clone() };
    let texts = ["k0", "k2199"].map(|key| application.known(key).map(|known| known.text));
    assert_eq!(
        texts,
        [Some("second".to_owned()), Some("second".to_owned())],
        "it came to the first table last"
    );
}

/// Puts so many items, whose keys begin so.
fn put_many(endpoint: &str, count: u64, prefix: &str, text: &str) {
    for part in (0..count).collect::<Vec<_>>().chunks(25) {
        let puts = part.iter().map(|number| {
            let put = Json::object([("Item", new_item(&format!("{prefix}{number}"), text))]);
            Json::object([("PutRequest", put)])
        });
        let requests = Json::object([("Orders", Json::List(puts.collect()))]);
        ask(endpoint, "BatchWriteItem", &Json::object([("RequestItems", requests)]).compact());
    }
}

/// A line to a server that changes many items of the first table before this request is passed on the first
/// time.
fn bursting(server: &Server, request: &'static str, first: &Server, prefix: &'static str) -> String {
    let (first, is_over) = (first.endpoint.clone(), AtomicBool::new(false));
    line(server, move |seen| {
        if seen.contains(request) && !is_over.swap(true, Ordering::SeqCst) {
            put_many(&first, BURST, prefix, "burst");
        }
        None
    })
}

#[test]
fn bursts_of_changes_while_the_command_turns_both_ways_arrive() {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    let own = Application { endpoint: first.endpoint.clone() };
    for text in ["1", "2"] {
        own.put(&new_item("early", text));
    }
    // It reads the history of the first stream, and then the second one.
    let from = format!("{}/Orders", bursting(&first, "TRIM_HORIZON", &first, "a"));
    let to = bursting(&second, "DescribeStream", &first, "b");
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--both-ways", "--endpoint", &to];
    let said = succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    let [ours, theirs] = both(&first, &second);
    assert_eq!((ours.len(), theirs.len()), (2_401, 2_401), "{said}");
    assert_equal(&first, &second, 0);
}

#[test]
fn a_shard_that_was_idle_has_the_place_after_its_last_record() {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    let from = format!("{}/Orders", first.endpoint);
    put_many(&first.endpoint, BURST, "k", "before");
    succeeds(folder.path(), &[&arguments(&from, &second)[..], &["--once"]].concat());
    let state = std::fs::read_to_string(folder.path().join("Orders.replicate.json")).unwrap();
    let state = Json::parse(&state).unwrap();
    let shards = state.at(&["bothWays", "first", "shards"]).unwrap().members();
    let is_numbered = |shard: &Json| shard.at(&["place", "after"]).is_some();
    assert!(shards.iter().any(|(_, shard)| is_numbered(shard)), "{}", state.compact());
    assert!(shards.iter().all(|(_, shard)| shard.str_at("place") != Some("tip")), "{}", state.compact());
    assert_eq!(state.at(&["bothWays", "taken"]).and_then(Json::as_u64), Some(0), "no old change came again");
}

/// How long a stream shows nothing of what was written.
const LATE: Duration = Duration::from_millis(50);

/// A line to a server whose streams show their records late.
#[expect(clippy::disallowed_methods, reason = "the command has the real time")]
fn late(server: &Server) -> String {
    let asked = Mutex::new(None::<Instant>);
    line(server, move |seen| {
        let iterator = seen.contains("GetRecords").then(|| seen.split_once("\r\n\r\n"))??;
        let is_late = asked.lock().unwrap().get_or_insert_with(Instant::now).elapsed() < LATE;
        let iterator = Json::parse(iterator.1).unwrap().str_at("ShardIterator").unwrap().to_owned();
        let page = [("Records", Json::List(Vec::new())), ("NextShardIterator", Json::text(iterator))];
        is_late.then(|| Json::object(page).compact())
    })
}

#[test]
fn what_the_copy_wrote_goes_nowhere_when_its_records_come_late() {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    create_table(&second.endpoint, "Orders", IMAGES);
    put_many(&first.endpoint, 30, "k", "first");
    let from = format!("{}/Orders", first.endpoint);
    let to = late(&second);
    let arguments = ["replicate", "--from", &from, "--to", "Orders", "--both-ways", "--endpoint", &to];
    let said = succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    assert_equal(&first, &second, 0);
    let is_marked = |item: &Item| item.contains_key(MARKER);
    assert!(!items(&first.endpoint, "Orders").values().any(is_marked), "nothing was sent: {said}");
}

#[test]
fn a_change_of_either_side_arrives_and_only_the_first_table_shows_the_marker() {
    let (first, second) = (Server::in_memory(), Server::in_memory());
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    let [here, there] = [&second, &first].map(|server| Application { endpoint: server.endpoint.clone() });
    there.put(&new_item("early", "before"));
    let from = format!("{}/Orders", first.endpoint);
    let arguments = arguments(&from, &second);
    let text = |side: &Application, key: &str| side.known(key).map(|known| known.text);
    let said = succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    let (ours, theirs) = (&second.endpoint, &first.endpoint);
    let begun = format!("Both ways: from now on changes of Orders at {ours} go to Orders at {theirs} too");
    assert!(said.contains(&begun), "{said}");
    here.put(&new_item("here", "1"));
    there.put(&new_item("there", "1"));
    here.update("early", "2", None);
    let child = run_until(folder.path(), &arguments, || {
        let arrived = [text(&there, "here"), text(&here, "there"), text(&there, "early")];
        arrived.map(Option::unwrap_or_default) == ["1", "1", "2"]
    });
    assert!(there.item("here").unwrap().get(MARKER).is_some());
    assert!(there.item("there").unwrap().get(MARKER).is_none());
    // A delete while the put's echo is under way, and a put after it.
    for number in 0..20 {
        here.put(&new_item("here", &format!("put{number}")));
        here.delete("here");
        here.put(&new_item("here", &format!("again{number}")));
    }
    there.delete("there");
    let has_come = || text(&there, "here").as_deref() == Some("again19") && here.item("there").is_none();
    assert!(comes_true(has_come), "the last put and the delete arrive");
    assert_eq!(text(&here, "here").as_deref(), Some("again19"));
    let said = interrupt(child);
    assert!(said.contains("the same command goes on"), "{said}");
    assert!(said.contains(&format!("sent to Orders at {theirs}, ")), "{said}");
    assert_equal(&first, &second, 0);
    let said = succeeds(folder.path(), &[&arguments[..], &["--once"]].concat());
    assert!(said.contains("nothing is under way: both are equal"), "also after it went on: {said}");
    let one_way: Vec<&str> = arguments.iter().copied().filter(|own| *own != "--both-ways").collect();
    fails(folder.path(), &one_way, &["goes both ways", "pass --both-ways"]);
}

#[test]
fn both_ways_need_both_images_and_do_not_guess_after_a_gap() {
    let first = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let second = Server::in_memory();
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    create_table(&second.endpoint, "Orders", Some("NEW_IMAGE"));
    let from = format!("{}/Orders", first.endpoint);
    let arguments = [&arguments(&from, &second)[..], &["--once"]].concat();
    let there = Application { endpoint: first.endpoint.clone() };
    there.put(&new_item("early", "before"));
    fails(folder.path(), &arguments, &["does not show items before and after", "NEW_AND_OLD_IMAGES"]);
    assert!(items(&second.endpoint, "Orders").is_empty(), "nothing is copied before it is refused");
    let turn = |on: &str| {
        let request = format!(r#"{{"TableName":"Orders","StreamSpecification":{on}}}"#);
        ask(&second.endpoint, "UpdateTable", &request);
    };
    turn(r#"{"StreamEnabled":false}"#);
    succeeds(folder.path(), &arguments);

    let [here, there] = [&second, &first].map(|server| Application { endpoint: server.endpoint.clone() });
    here.put(&new_item("marked", "1"));
    succeeds(folder.path(), &arguments);
    assert!(there.item("marked").unwrap().get(MARKER).is_some());
    there.put(&new_item("there", "1"));
    here.put(&new_item("here", "1"));
    advance(&first, 50 * 60 * 60 * 1000);
    there.put(&new_item("there", "2"));
    let only = format!("what only Orders at {} has", second.endpoint);
    fails(folder.path(), &arguments, &["changes are lost", &only, "pass --overwrite"]);
    let again = || {
        std::fs::remove_file(folder.path().join("Orders.replicate.json")).unwrap();
        succeeds(folder.path(), &[&arguments[..], &["--overwrite"]].concat());
        assert_equal(&first, &second, 0);
    };
    again();
    assert_eq!((here.known("there").unwrap().text.as_str(), here.item("here")), ("2", None));
    turn(r#"{"StreamEnabled":false}"#);
    turn(r#"{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}"#);
    fails(folder.path(), &arguments, &["its stream was turned off and on again", "changes are lost"]);
    again();
}

#[test]
fn a_later_bridge_between_the_same_tables_ends_the_earlier_one() {
    for is_reverse in [false, true] {
        let (first, second) = (Server::in_memory(), Server::in_memory());
        let (own, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        create_table(&first.endpoint, "Orders", IMAGES);
        let from = format!("{}/Orders", first.endpoint);
        let arguments = [&arguments(&from, &second)[..], &["--once"]].concat();
        succeeds(own.path(), &arguments);
        let (back, there) =
            (format!("{}/Orders", second.endpoint), if is_reverse { &first } else { &second });
        let from = if is_reverse { &back } else { &from };
        let rival = [&self::arguments(from, there)[..], &["--once", "--overwrite"]].concat();
        succeeds(other.path(), &rival);
        succeeds(own.path(), &arguments);
        Application { endpoint: there.endpoint.clone() }.put(&new_item("sent", "1"));
        succeeds(other.path(), &rival);
        let names = ["another bridge between Orders at", "has begun at 20", "pass --overwrite"];
        fails(own.path(), &arguments, &names);
    }
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_side_that_was_restored_from_an_older_copy_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let [data, older] = ["data", "older"].map(|name| folder.path().join(name));
    let start = |data: &Path| Server::start_one(&["--data", data.to_str().unwrap()]);
    // After the restore as many changes may be made as were lost, and more: their numbers are used again.
    for (restored, made_since) in [(0, 1), (1, 1), (0, 4), (1, 3)] {
        let own = tempfile::tempdir().unwrap();
        let other = Server::in_memory();
        let kept = start(&data);
        let [first, second] = if restored == 0 { [&kept, &other] } else { [&other, &kept] };
        create_table(&first.endpoint, "Orders", IMAGES);
        let from = format!("{}/Orders", first.endpoint);
        succeeds(own.path(), &[&arguments(&from, second)[..], &["--once"]].concat());
        let put = |server: &Server, key: &str| {
            Application { endpoint: server.endpoint.clone() }.put(&new_item(key, "1"));
        };
        put(&kept, "before");
        succeeds(own.path(), &[&arguments(&from, second)[..], &["--once"]].concat());
        let port = kept.address().rsplit_once(':').unwrap().1.to_owned();
        kept.stop();
        copied(&data, &older);
        let on_port = |data: &Path| Server::start_one(&["--data", data.to_str().unwrap(), "--port", &port]);
        let kept = on_port(&data);
        for key in ["lost1", "lost2", "lost3"] {
            put(&kept, key);
        }
        let second = if restored == 0 { &other } else { &kept };
        succeeds(own.path(), &[&arguments(&from, second)[..], &["--once"]].concat());
        kept.kill();
        // The times of records may be whole seconds.
        std::thread::sleep(Duration::from_millis(1_100));
        let kept = on_port(&older);
        for number in 0..made_since {
            put(&kept, &format!("after{number}"));
        }
        let second = if restored == 0 { &other } else { &kept };
        let again = [&arguments(&from, second)[..], &["--once"]].concat();
        fails(own.path(), &again, &["restored from an older copy", "changes are lost", "pass --overwrite"]);
        kept.stop();
        std::fs::remove_dir_all(&data).unwrap();
        std::fs::remove_dir_all(&older).unwrap();
    }
}

#[test]
fn an_expiry_at_one_side_does_not_delete_what_the_other_has_put_since() {
    let first = Server::in_memory();
    let second = Server::start_one(&["--in-memory", "--clock", "manual@2026-11-27T16:00:00Z"]);
    let folder = tempfile::tempdir().unwrap();
    create_table(&first.endpoint, "Orders", IMAGES);
    create_table(&second.endpoint, "Orders", IMAGES);
    let ttl = r#"{"TableName":"Orders","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#;
    ask(&second.endpoint, "UpdateTimeToLive", ttl);
    let [here, there] = [&second, &first].map(|server| Application { endpoint: server.endpoint.clone() });
    let expiring = |key: &str, text: &str| {
        let mut item = new_item(key, text);
        // 17:00.
        item.set("until", Json::object([("N", Json::text("1795798800"))]));
        item
    };
    there.put(&expiring("expires", "1"));
    there.put(&expiring("renewed", "1"));
    let from = format!("{}/Orders", first.endpoint);
    let arguments = [&arguments(&from, &second)[..], &["--once"]].concat();
    succeeds(folder.path(), &arguments);
    advance(&second, 2 * 60 * 60 * 1000);
    let has_expired = || here.item("expires").is_none() && here.item("renewed").is_none();
    assert!(comes_true(has_expired), "the items expire");
    there.put(&new_item("renewed", "2"));
    succeeds(folder.path(), &arguments);
    assert_equal(&first, &second, 0);
    assert_eq!(there.item("expires"), None);
    assert_eq!(here.known("renewed").map(|known| known.text).as_deref(), Some("2"));
}
