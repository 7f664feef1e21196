//! PostgreSQL fails over under Patroni, with a synchronous standby: SIGKILL of Patroni and of every process
//! of PostgreSQL on the primary's node, and orderly switch-overs. Nothing acknowledged is lost, histories
//! stay linearizable, and no server is restarted. `KEYWRIGHT_FAILOVERS` sets the number of kills; with
//! `--long` also HAProxy leads to the primary, and not the servers themselves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::histories::{CLIENTS, STEPS, answers, create_table, is_linearizable, record};
use crate::killed::{Addresses, Moving};
use crate::patroni::Cluster;
use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::{Answer, Api as _, Http};
use crate::support::ledger::{TABLE, check_stream_and, check_whole, enable_stream, scan};
use crate::support::register::{History, Register};

const FAILOVERS_DEFAULT: u64 = 1;
const SERVERS: usize = 3;
/// One switch-over after so many kills, and one in any case.
const KILLS_PER_SWITCH: u64 = 4;
/// Histories at a time.
const AT_ONCE: u64 = 4;
/// How long writers work before each event, at least and at most.
const WRITING_MS: (u64, u64) = (500, 2_500);
/// Writes go on long before this.
const GOES_ON_WITHIN: Duration = Duration::from_mins(2);

#[test]
fn nothing_is_lost_when_postgresql_fails_over_and_the_servers_find_the_new_primary() {
    fail_over(false);
}

#[test]
fn nothing_is_lost_when_postgresql_fails_over_behind_haproxy() {
    if wanted("KEYWRIGHT_TEST_LONG", 1) == 1 {
        return println!("PASSED OVER without --long: fail-overs behind HAProxy");
    }
    fail_over(true);
}

/// Puts items one after the other through every server in turn, and notes when each answer came.
struct Probe {
    acknowledged: Arc<Mutex<Vec<Instant>>>,
    done: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Probe {
    fn start(addresses: &[String]) -> Self {
        let (acknowledged, done) = (Arc::<Mutex<Vec<Instant>>>::default(), Arc::<AtomicBool>::default());
        let threads = addresses.iter().cloned().enumerate().map(|(number, address)| {
            let (acknowledged, done) = (Arc::clone(&acknowledged), Arc::clone(&done));
            let put = move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let item = json!({"TableName": "tab", "Item": {"pk": {"S": format!("probe{number}")}}});
                    let mut http = Http::new(&address);
                    while !done.load(Ordering::Relaxed) {
                        match http.call("PutItem", &item).await {
                            Answer::Good(_) => acknowledged.lock().unwrap().push(Instant::now()),
                            Answer::Fault(..) | Answer::Unknown(_) => http = Http::new(&address),
                        }
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                });
            };
            std::thread::Builder::new().spawn(put).unwrap()
        });
        Self { threads: threads.collect(), acknowledged, done }
    }

    /// The longest time without an acknowledged write from then on, once writes go on.
    fn pause_since(&self, event: Instant) -> Duration {
        let began = Instant::now();
        loop {
            let after: Vec<Instant> =
                self.acknowledged.lock().unwrap().iter().copied().filter(|at| *at >= event).collect();
            let pairs = std::iter::once(&event).chain(&after).zip(&after);
            let longest = pairs.map(|(one, next)| next.duration_since(*one)).max().unwrap_or_default();
            // Requests under way may be answered just after the event.
            if after.len() > 50 && longest > Duration::from_millis(300) {
                return longest;
            }
            assert!(began.elapsed() < GOES_ON_WITHIN, "no write was acknowledged again");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn stop(self) {
        self.done.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

/// Makes the events, and returns how long writes paused in each: kills, switch-overs.
fn disturb(cluster: &mut Cluster, probe: &Probe, kills: u64) -> [Vec<Duration>; 2] {
    let mut dice = Dice::new(wanted("KEYWRIGHT_SEED", 1));
    let mut pauses = [Vec::new(), Vec::new()];
    let mut write = || {
        let (least, most) = WRITING_MS;
        std::thread::sleep(Duration::from_millis(least + dice.roll(most - least)));
    };
    for number in 0..kills {
        write();
        let leader = cluster.leader().unwrap();
        let event = Instant::now();
        cluster.kill_node(leader);
        let pause = probe.pause_since(event);
        println!("kill {number} of node{leader}: writes went on after {} ms", pause.as_millis());
        pauses[0].push(pause);
        assert_ne!(cluster.leader(), Some(leader), "another node is the primary");
        cluster.start_node(leader);
        cluster.wait_until_whole();
        if number % KILLS_PER_SWITCH == 0 {
            write();
            let event = Instant::now();
            let candidate = cluster.switch_over();
            cluster.wait_until_whole();
            let pause = probe.pause_since(event);
            println!("switch-over to node{candidate}: writes paused for {} ms", pause.as_millis());
            pauses[1].push(pause);
        }
    }
    pauses
}

fn fail_over(by_haproxy: bool) {
    let mut cluster = match Cluster::start(by_haproxy) {
        Ok(cluster) => cluster,
        Err(reason) => return eprintln!("PASSED OVER: fail-overs of PostgreSQL: {reason}"),
    };
    let kills = wanted("KEYWRIGHT_FAILOVERS", FAILOVERS_DEFAULT);
    let (url, password) = (cluster.url(by_haproxy), cluster.password());
    let start = || Server::start(&["--store", &url, "--store-password-file", password.to_str().unwrap()]);
    let servers: Vec<Server> = (0..SERVERS).map(|_| start()).collect();
    let addresses: Vec<String> = servers.iter().map(|server| server.address().to_owned()).collect();
    let endpoints: Vec<&str> = servers.iter().map(|server| server.endpoint.as_str()).collect();
    let known: Addresses = Arc::new(Mutex::new(addresses.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let writing = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let register = Register::new();
    runtime.block_on(async {
        Moving::new(&known, 0).call("CreateTable", &create_table()).await.good();
        let asking = client(endpoints[0], Caller::default());
        create_indexed_table(&asking, TABLE).await;
        enable_stream(&asking).await;
    });
    let writers = writing.block_on(async { register.start_at(&endpoints, wanted("KEYWRIGHT_SEED", 1)) });
    let probe = Probe::start(&addresses);
    let (mut histories, mut answered) = (0, 0);
    let pauses = std::thread::scope(|scope| {
        let disturber = scope.spawn(|| disturb(&mut cluster, &probe, kills));
        while !disturber.is_finished() {
            let several = (histories..histories + AT_ONCE).map(|seed| {
                let (known, first) = (&known, usize::try_from(seed).unwrap());
                record(seed, move |client| Moving::new(known, first + client))
            });
            for history in runtime.block_on(futures_util::future::join_all(several)) {
                answered += answers(&history);
                assert!(is_linearizable(&history), "history {histories}: {history:#?}");
                histories += 1;
            }
        }
        disturber.join().unwrap()
    });
    probe.stop();
    writing.block_on(register.stop(writers));
    for address in &addresses {
        runtime.block_on(check(&Http::new(address), &register));
    }
    let asked = histories * CLIENTS * STEPS;
    let (acknowledged, tried) = register.counts();
    assert!(acknowledged > 0, "no change was acknowledged");
    println!(
        "{histories} histories, {answered} answers of {asked}, all linearizable; of {tried} changes tried \
         {acknowledged} were acknowledged and kept"
    );
    for (what, mut pauses) in ["kills", "switch-overs"].into_iter().zip(pauses) {
        pauses.sort_unstable();
        let (middle, longest) = (pauses[pauses.len() / 2], pauses[pauses.len() - 1]);
        let count = pauses.len();
        println!("{count} {what}: writes paused for {middle:.1?} (p50), {longest:.1?} (longest)");
    }
    let events = kills + kills.div_ceil(KILLS_PER_SWITCH);
    for server in servers {
        check_log(&server.stop_and_read_log(), usize::try_from(events).unwrap());
    }
}

/// The log says when the store was lost, and when it answered again: for each event a few times at most.
fn check_log(log: &str, events: usize) {
    // Requests or, while a new primary has no standby, writes alone.
    let [lost, again] = [" fail with HTTP 500 meanwhile; ", "the store answers again after "]
        .map(|part| log.lines().filter(|line| line.contains("WARN") && line.contains(part)).count());
    assert!(lost > 0 && lost == again && lost <= 3 * events, "{events} events: {log}");
}

/// The table has what was acknowledged, its indexes equal it, and so does the stream.
async fn check(http: &Http, register: &Register) {
    let table = scan(http, None).await.unwrap();
    register.check_table(&table).unwrap();
    check_whole(http, &table).await.unwrap();
    let mut history = History::default();
    check_stream_and(http, &table, &mut |place, change| history.note(place, change)).await.unwrap();
    register.check_history(&history).unwrap();
}
