//! Kills processes while they write and checks the store afterwards. The child is this same program, which
//! runs the one test that its arguments name; an environment variable says that it is a child.
//!
//! `KEYWRIGHT_KILLS` sets the number of kills.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use keywright_store::kit::block_on;
use keywright_store::{CommitError, LogId, LogRead, Snapshot, Store, StoreError, Transaction};
use keywright_store_local::{FaultCause, Files, LocalOptions, LocalStore, OpenFault};

#[path = "keys/mod.rs"]
mod keys;

const FOLDER_VARIABLE: &str = "KEYWRIGHT_CRASH_TEST_FOLDER";
const THREADS: u64 = 6;
/// A folder of this name is encrypted.
const ENCRYPTED: &str = "encrypted";
/// A folder of this name is not.
const PLAIN: &str = "plain";

/// Small write buffers, so that some kills happen during a flush or a merge.
fn options() -> LocalOptions {
    LocalOptions { memtable_bytes: 64 * 1024, journal_bytes: 256 * 1024, ..LocalOptions::default() }
}

/// Opens the store in a folder, in the form that the folder's name says.
fn open(folder: &Path, options: LocalOptions) -> Result<LocalStore, OpenFault> {
    let is_encrypted = folder.file_name().is_some_and(|name| name == ENCRYPTED);
    let files = if is_encrypted { Files::Encrypted(keys::keyring(folder)) } else { Files::Plain };
    LocalStore::open_files(folder, &files, options)
}

fn kills() -> u64 {
    std::env::var("KEYWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

/// This program as a child that runs one test. Tests for children do nothing unless the variable is set.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(FOLDER_VARIABLE, folder);
    command.stdout(Stdio::piped());
    command
}

fn folder_of_child() -> Option<std::path::PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).map(Into::into)
}

fn name(side: &str, thread: u64) -> Bytes {
    Bytes::from(format!("{side}{thread}"))
}

fn read_round(view: &impl Snapshot, side: &str, thread: u64) -> u64 {
    let value = block_on(view.get(&name(side, thread))).expect("a read succeeds");
    value.map_or(0, |bytes| {
        let (round, _) = bytes.split_first_chunk::<8>().expect("a value begins with its round");
        u64::from_be_bytes(*round)
    })
}

fn log_of(thread: u64) -> LogId {
    LogId { log: 1, shard: thread }
}

/// Writes both sides of the thread's pair and a log entry, until the process is killed.
fn write_rounds(store: &LocalStore, thread: u64) {
    let mut round = read_round(&block_on(store.snapshot()).expect("a snapshot opens"), "left", thread);
    loop {
        round += 1;
        let mut transaction = block_on(store.begin()).expect("a transaction begins");
        let padding = vec![7; usize::try_from(round * 37 % 3000).unwrap_or_default()];
        for side in ["left", "right"] {
            let value = [round.to_be_bytes().as_slice(), &padding].concat();
            transaction.put(name(side, thread), value.into());
        }
        transaction.append(log_of(thread), Bytes::copy_from_slice(&round.to_be_bytes()));
        block_on(transaction.commit()).expect("nothing conflicts");
        // A line written in one call is whole in the pipe, or absent.
        let line = format!("done {thread} {round}\n");
        std::io::stdout().lock().write_all(line.as_bytes()).expect("the parent reads");
    }
}

#[test]
fn child_writes_until_it_is_killed() {
    let Some(folder) = folder_of_child() else { return };
    let store = open(&folder, options()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || write_rounds(store, thread));
        }
    });
}

/// Updates the last acknowledged round of each thread from the child's output.
fn note_lines(text: &str, acknowledged: &mut [u64]) {
    for line in text.lines() {
        let mut words = line.split(' ');
        // The test harness writes lines too, and the last line may be incomplete.
        if words.next() != Some("done") {
            continue;
        }
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        if let (Some(thread), Some(round)) = (number(), number())
            && let Some(last) = usize::try_from(thread).ok().and_then(|place| acknowledged.get_mut(place))
        {
            *last = round.max(*last);
        }
    }
}

fn kill_after(mut child: Child, pause: Duration) -> String {
    let mut output = BufReader::new(child.stdout.take().expect("the output is piped"));
    let mut text = String::new();
    // Every child gets to write: the first acknowledgement comes before the kill.
    while !text.contains("done") {
        assert!(
            output.read_line(&mut text).expect("the output is text") > 0,
            "the child ended by itself: {text}"
        );
    }
    // A full pipe would block the child, so a thread keeps reading.
    let reader = std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut rest = Vec::new();
            output.read_to_end(&mut rest).expect("the output can be read");
            rest
        });
        sleep(pause);
        child.kill().expect("the child can be killed");
        child.wait().expect("the child has ended");
        reading.join().expect("the reader ends well")
    });
    let rest = String::from_utf8_lossy(&reader);
    // A line that the kill cut off is not an acknowledgement.
    let whole = rest.rfind('\n').and_then(|end| rest.get(..end)).unwrap_or_default();
    text + whole
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_half_there_after_kills() {
    kill_writers(PLAIN);
}

#[test]
fn an_encrypted_folder_loses_nothing_after_kills_either() {
    kill_writers(ENCRYPTED);
}

fn kill_writers(form: &str) {
    let base = tempfile::tempdir().expect("a folder is made");
    let folder = base.path().join(form);
    let mut acknowledged = [0; 6];
    for kill in 0..kills() {
        let mut writing = child("child_writes_until_it_is_killed", &folder);
        let writing = writing.spawn().expect("this program starts");
        // The pauses cover the times of a flush, a compaction and a journal rotation.
        let text = kill_after(writing, Duration::from_millis(kill * 29 % 140));
        note_lines(&text, &mut acknowledged);
        let store = open(&folder, options()).expect("the store opens");
        let view = block_on(store.snapshot()).expect("a snapshot opens");
        for (thread, last) in (0..).zip(acknowledged) {
            let (left, right) = (read_round(&view, "left", thread), read_round(&view, "right", thread));
            assert_eq!(left, right, "half a transaction after kill {kill}");
            assert!(left >= last, "round {last} of thread {thread} was acknowledged, {left} is there");
            let read =
                LogRead { id: log_of(thread), after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
            let rounds: Vec<Vec<u8>> = block_on(view.read_log(read))
                .expect("the log is read")
                .into_iter()
                .map(|entry| entry.bytes.to_vec())
                .collect();
            assert_eq!(rounds, (1..=left).map(|round| round.to_be_bytes().to_vec()).collect::<Vec<_>>());
        }
    }
    assert!(acknowledged.iter().all(|last| *last > 0), "{acknowledged:?}");
}

#[test]
fn child_creates_a_store() {
    let Some(folder) = folder_of_child() else { return };
    let store = open(&folder, options()).unwrap();
    let mut transaction = block_on(store.begin()).unwrap();
    transaction.put(name("left", 0), Bytes::from_static(&[1; 8]));
    block_on(transaction.commit()).unwrap();
}

#[test]
fn a_folder_opens_whenever_its_creation_was_killed() {
    for (kill, form) in (0..kills()).flat_map(|kill| [(kill, PLAIN), (kill, ENCRYPTED)]) {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join(form);
        let mut creating = child("child_creates_a_store", &folder).spawn().unwrap();
        sleep(Duration::from_micros(kill * 1500));
        creating.kill().unwrap();
        creating.wait().unwrap();
        open(&folder, options()).unwrap();
    }
}

/// Writes large commits until the parent's file size limit makes the journal fail.
#[test]
fn child_meets_a_failing_disk() {
    let Some(folder) = folder_of_child() else { return };
    let store = open(&folder, LocalOptions { memtable_bytes: 1 << 30, ..LocalOptions::default() }).unwrap();
    let write = |round: u64| {
        let mut transaction = block_on(store.begin()).unwrap();
        let value = [round.to_be_bytes().as_slice(), &vec![7; 1024 * 1024]].concat();
        transaction.put(name("left", round), value.into());
        block_on(transaction.commit())
    };
    let failed = (0..100).find_map(|round| write(round).err().map(|error| (round, error)));
    let Some((round, error)) = failed else { panic!("no write failed") };
    assert_eq!(error, CommitError::Unknown, "the next open may recover the bytes");
    assert_eq!(write(round + 1), Err(CommitError::Failed(StoreError::Poisoned)));
    let fault = store.fault().expect("the operator sees why");
    assert_eq!(fault.cause, FaultCause::Write, "a limit of the process is not a full disk: {}", fault.reason);
    let view = block_on(store.snapshot()).unwrap();
    for earlier in 0..round {
        assert_eq!(read_round(&view, "left", earlier), earlier);
    }
    assert_eq!(block_on(view.get(&name("left", round))), Ok(None), "the commit was never visible");
    println!("\ndone 0 {round}");
}

#[cfg(unix)]
#[test]
fn a_failed_write_stops_all_writing_and_loses_nothing_acknowledged() {
    for form in [PLAIN, ENCRYPTED] {
        fail_writes(form);
    }
}

#[cfg(unix)]
fn fail_writes(form: &str) {
    let base = tempfile::tempdir().expect("a folder is made");
    let folder = base.path().join(form);
    let limited = child("child_meets_a_failing_disk", &folder);
    let mut shell = Command::new("sh");
    // In units of 512 bytes: segments of the journal grow to 32 MiB.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 40000; exec \"$0\" \"$@\""]);
    shell.arg(limited.get_program()).args(limited.get_args()).env(FOLDER_VARIABLE, &folder);
    let output = shell.output().expect("a shell starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let mut acknowledged = [0];
    note_lines(&text, &mut acknowledged);
    assert!(acknowledged > [10], "{text}");
    let store = open(&folder, LocalOptions::default()).expect("the store opens");
    let view = block_on(store.snapshot()).expect("a snapshot opens");
    for round in 0..acknowledged.into_iter().sum() {
        assert_eq!(read_round(&view, "left", round), round);
        assert!(block_on(view.get(&name("left", round))).is_ok_and(|row| row.is_some()));
    }
    let mut transaction = block_on(store.begin()).expect("a transaction begins");
    transaction.put(name("right", 0), Bytes::from_static(&[1; 8]));
    block_on(transaction.commit()).expect("nothing conflicts");
}
