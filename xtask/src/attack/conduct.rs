//! Runs one attack: starts its server, makes its table, lets the quiet clients run before, during and after,
//! judges.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use std::time::Duration;

use super::clock::Timer;
use super::field::{Field, must, must_on};
use super::http::Connection;
use super::quiet::{CLIENTS, Latency, Phase, Quiet};
use super::request::{self, Sender};
use super::server::{Access, Memory, Server, Setting, Storage};

/// A client with a time-out of a second and one retry notices nothing below.
const P99_MAX: Duration = Duration::from_millis(50);
/// The longest wait of one client: a person calls less than this instant.
const LONGEST_MAX: Duration = Duration::from_millis(300);
/// The shortest time-out for connecting that clients set.
const NEW_CLIENT_MAX: Duration = Duration::from_secs(1);
/// After the attack everything is as before within this time.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// Service managers wait 10 s or more before they kill; half of the least leaves room.
const STOP_MAX: Duration = Duration::from_secs(5);
/// The quiet clients alone, for comparison.
const BEFORE: Duration = Duration::from_millis(1500);
const LOOK: Duration = Duration::from_millis(100);

/// A tenth of the weight of a thread of normal priority.
const ATTACKER_NICE: &str = "10";

/// The default cache, three budgets of 256 MiB (bodies, answers, decoding), and 256 MiB for all else.
pub(crate) const PEAK_MIB_MAX: u64 = 64 + 3 * 256 + 256;
/// Who has no key gets nothing decoded and no large answer: only the body budget is his.
const PEAK_WITHOUT_KEY_MIB_MAX: u64 = 64 + 256 + 256;

pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// In few words, for the table.
    pub(crate) what: &'static str,
    /// Why it is worth an attack, in one line.
    pub(crate) why: &'static str,
    pub(crate) setting: Setting,
    /// What the attack needs in the database besides the table.
    pub(crate) prepare: fn(&Sender) -> Result<(), String>,
    /// Attacks until the field's time is over.
    pub(crate) strike: fn(&Field<'_>),
}

impl Setting {
    pub(crate) const MEMORY: Self = Self {
        storage: Storage::Memory,
        access: Access::Open,
        descriptors: None,
        arguments: &[],
        peak_mib_max: PEAK_MIB_MAX,
    };
    pub(crate) const FOLDER: Self = Self { storage: Storage::Folder, ..Self::MEMORY };
    /// Signatures are verified, and the attacker has no key.
    pub(crate) const WITHOUT_KEY: Self =
        Self { access: Access::Keys, peak_mib_max: PEAK_WITHOUT_KEY_MIB_MAX, ..Self::MEMORY };
}

/// Nothing is needed besides the table.
#[expect(clippy::unnecessary_wraps, reason = "a preparation may fail; this one is none")]
pub(crate) fn nothing(_: &Sender) -> Result<(), String> {
    Ok(())
}

/// The figures of an attack.
pub(crate) struct Outcome {
    pub(crate) attack: &'static Attack,
    /// Empty if it passed.
    pub(crate) faults: Vec<String>,
    pub(crate) before: Latency,
    pub(crate) during: Latency,
    pub(crate) after: Latency,
    pub(crate) new_client: Duration,
    pub(crate) not_served: usize,
    pub(crate) most: Most,
    /// Resident memory 5 s after the attack.
    pub(crate) rss_after_mib: Option<u64>,
    pub(crate) recovered: Option<Duration>,
    pub(crate) stopped: Option<Duration>,
    pub(crate) answers: String,
    /// Of each kind of refusal the first one's text.
    pub(crate) refusals: Vec<String>,
}

/// The most that the server took at any time of the attack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Most {
    pub(crate) memory: Memory,
    pub(crate) descriptors: usize,
}

pub(crate) fn run(attack: &'static Attack, binary: &Path, time: Duration, seed: u64) -> Outcome {
    let mut outcome = Outcome {
        attack,
        faults: Vec::new(),
        before: Latency::default(),
        during: Latency::default(),
        after: Latency::default(),
        new_client: Duration::ZERO,
        not_served: 0,
        most: Most::default(),
        rss_after_mib: None,
        recovered: None,
        stopped: None,
        answers: String::new(),
        refusals: Vec::new(),
    };
    match prepared(attack, binary) {
        Ok(server) => besiege(&server, time, seed, &mut outcome),
        Err(fault) => outcome.faults.push(fault),
    }
    outcome
}

fn prepared(attack: &Attack, binary: &Path) -> Result<Server, String> {
    let server = Server::start(binary, attack.setting)?;
    let sender = Sender::new(server.address, server.key.clone());
    must(&sender, "CreateTable", &request::create_table())?;
    let wait_max = Duration::from_secs(10);
    let mut connection = Connection::open(sender.address, wait_max).map_err(|error| error.to_string())?;
    for number in 0..100 {
        let more = r#""g":{"S":"g"},"h":{"S":"h"},"n":{"N":"1"}"#;
        must_on(&mut connection, &sender, "PutItem", &request::put("quiet", &number.to_string(), more))?;
    }
    (attack.prepare)(&sender).map_err(|fault| {
        format!("{fault} {}", server.ended().map_or_else(String::new, |end| end + &server.log()))
    })?;
    Ok(server)
}

/// The quiet clients, the prober and the watcher run next to the attack.
fn besiege(server: &Server, time: Duration, seed: u64, outcome: &mut Outcome) {
    let quiet = Quiet::new();
    let most = Mutex::new(Most::default());
    let sender = Sender::new(server.address, server.key.clone());
    let get =
        |number: usize| sender.request("GetItem", request::get("quiet", &number.to_string()).as_bytes());
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (quiet, request) = (&quiet, get(client));
            start(scope, "quiet", move || quiet.client(client, server.address, &request));
        }
        let (quiet, most) = (&quiet, &most);
        let request = get(CLIENTS);
        start(scope, "prober", move || quiet.prober(server.address, &request));
        start(scope, "watcher", move || watch(server, quiet, most));
        go_through_phases(server, quiet, &sender, time, seed, outcome);
        // A client that still waits for an answer is released by the server's end.
        server.kill();
    });
    outcome.before = quiet.latency(Phase::Before);
    outcome.during = quiet.latency(Phase::During);
    outcome.after = quiet.latency(Phase::After);
    (outcome.new_client, outcome.not_served) = quiet.probed();
    outcome.most = *most.lock().unwrap_or_else(PoisonError::into_inner);
    judge(outcome);
}

fn start<'scope>(scope: &'scope thread::Scope<'scope, '_>, name: &str, work: impl FnOnce() + Send + 'scope) {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work);
    spawned.expect("a handful of threads can be had");
}

fn go_through_phases(
    server: &Server,
    quiet: &Quiet,
    sender: &Sender,
    time: Duration,
    seed: u64,
    outcome: &mut Outcome,
) {
    server.forget_peak();
    let (timer, ticks) = (Timer::start(), server.cpu_ticks());
    thread::sleep(BEFORE);
    let quiet_ticks = per_second(ticks, server.cpu_ticks(), timer.elapsed());
    let field = Field::new(server, seed, time, quiet_ticks);
    quiet.advance();
    strike(outcome.attack, &field);
    while !field.over() && server.ended().is_none() {
        thread::sleep(LOOK);
    }
    quiet.advance();
    outcome.recovered = recover(server, quiet, sender);
    outcome.rss_after_mib = server.memory().map(|memory| memory.rss_mib);
    quiet.advance();
    outcome.answers = field.answers();
    outcome.refusals = field.refusals();
    outcome.faults = field.faults();
    if let Some(end) = server.ended() {
        outcome.faults.insert(0, format!("the server ended: {end} {}", server.log()));
        return;
    }
    // Requests under way end first, so that the stop breaks none of them.
    thread::sleep(Duration::from_millis(50));
    match server.stop(STOP_MAX) {
        Ok(took) => outcome.stopped = Some(took),
        Err(fault) => outcome.faults.push(fault),
    }
}

/// Attacks at a low priority: the attacker's programs stand for other machines, and must not take the
/// processors that the server and the quiet clients share.
fn strike(attack: &Attack, field: &Field<'_>) {
    thread::scope(|scope| {
        start(scope, "attacker", || {
            // Threads inherit the priority of the thread that starts them.
            if let Err(fault) = lower_priority() {
                field.fault(fault);
            }
            (attack.strike)(field);
        });
    });
}

/// Lowers the priority of this thread, which on Linux has its own.
fn lower_priority() -> Result<(), String> {
    let own = std::fs::read_link("/proc/thread-self").map_err(|error| format!("/proc: {error}"))?;
    let id = own.file_name().and_then(std::ffi::OsStr::to_str).ok_or("/proc names no thread")?;
    let status = Command::new("renice").args(["-n", ATTACKER_NICE, "-p", id]).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the attacker keeps its priority: renice ended with {status}")),
        Err(error) => Err(format!("the attacker keeps its priority: renice: {error}")),
    }
}

pub(crate) fn per_second(before: Option<u64>, after: Option<u64>, time: Duration) -> u64 {
    let ticks = after.unwrap_or_default().saturating_sub(before.unwrap_or_default());
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    ticks * 1000 / milliseconds
}

/// Waits the full time, and says when everything was as before.
fn recover(server: &Server, quiet: &Quiet, sender: &Sender) -> Option<Duration> {
    let timer = Timer::start();
    let mut recovered = None;
    while timer.elapsed() < RECOVERY_MAX && server.ended().is_none() {
        thread::sleep(LOOK);
        // Half a second of calm has to pass after the attack.
        let calm = timer.elapsed() > Duration::from_millis(500) && quiet.is_calm(P99_MAX);
        if recovered.is_none() && calm && serves(sender) {
            recovered = Some(timer.elapsed());
        }
    }
    recovered.filter(|took| *took <= RECOVERY_MAX)
}

/// Whether a new client can write and read.
fn serves(sender: &Sender) -> bool {
    let put = sender.request("PutItem", request::put("after", "after", "").as_bytes());
    let get = sender.request("GetItem", request::get("after", "after").as_bytes());
    let answers = Connection::open(sender.address, NEW_CLIENT_MAX)
        .and_then(|mut connection| Ok((connection.call(&put)?, connection.call(&get)?)));
    answers.is_ok_and(|(put, get)| put.status == 200 && get.status == 200 && get.text().contains("after"))
}

/// Notes the most that the server takes, until it is stopped.
fn watch(server: &Server, quiet: &Quiet, most: &Mutex<Most>) {
    while quiet.phase() < Phase::End {
        if let Some(memory) = server.memory() {
            server.kill_if_too_large(memory);
            let descriptors = server.descriptors().unwrap_or_default();
            let mut most = most.lock().unwrap_or_else(PoisonError::into_inner);
            most.memory.rss_mib = most.memory.rss_mib.max(memory.rss_mib);
            most.memory.peak_mib = most.memory.peak_mib.max(memory.peak_mib);
            most.memory.threads = most.memory.threads.max(memory.threads);
            most.descriptors = most.descriptors.max(descriptors);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn judge(outcome: &mut Outcome) {
    if outcome.rss_after_mib.is_none() {
        // Of a dead server nothing else is worth saying.
        outcome.faults.truncate(1);
        return;
    }
    let mut faults = std::mem::take(&mut outcome.faults);
    let mut require = |holds: bool, fault: String| {
        if !holds {
            faults.push(fault);
        }
    };
    let during = outcome.during;
    require(during.p99 < P99_MAX, format!("p99 {} ms", during.p99.as_millis()));
    require(during.longest < LONGEST_MAX, format!("longest wait {} ms", during.longest.as_millis()));
    require(during.errors == 0, format!("{} of {} quiet requests failed", during.errors, during.requests));
    let (peak, peak_max) = (outcome.most.memory.peak_mib, outcome.attack.setting.peak_mib_max);
    require(peak <= peak_max, format!("{peak} MiB, more than {peak_max}"));
    let took = outcome.new_client;
    require(took <= NEW_CLIENT_MAX, format!("a new client waits {} ms", took.as_millis()));
    require(outcome.not_served == 0, format!("{} new clients are not served", outcome.not_served));
    require(outcome.recovered.is_some(), format!("not as before within {} s", RECOVERY_MAX.as_secs()));
    outcome.faults = faults;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The niceness of the calling thread: the 19th field of its `stat`, after the name in parentheses.
    fn niceness() -> i32 {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, rest) = text.rsplit_once(')').unwrap();
        rest.split_whitespace().nth(16).unwrap().parse().unwrap()
    }

    #[test]
    fn the_threads_of_an_attack_have_a_lower_priority_and_the_others_keep_theirs() {
        let own = niceness();
        let of_attacker = thread::scope(|scope| {
            let attacker = thread::Builder::new().spawn_scoped(scope, || {
                lower_priority().unwrap();
                thread::scope(|scope| {
                    thread::Builder::new().spawn_scoped(scope, niceness).unwrap().join().unwrap()
                })
            });
            attacker.unwrap().join().unwrap()
        });
        assert_eq!(of_attacker, (own + 10).min(19));
        assert_eq!(niceness(), own);
    }
}
