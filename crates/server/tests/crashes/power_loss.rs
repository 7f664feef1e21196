//! Losses of power under the real server. `support/strace.rs` records the server's system calls on files,
//! `support/disk.rs` derives the folders that a disk can hold after a loss of power, and each of these must
//! open and hold every acknowledged write (`support/ledger.rs`).
//!
//! `KEYWRIGHT_POWER_LOSSES` sets another number, `KEYWRIGHT_SEED` another seed.

#![allow(clippy::print_stdout, reason = "the log says what was recorded and checked")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use hyper::body::Bytes;
use keywright_store::{Store as _, Transaction as _};
use serde_json::json;
use tempfile::TempDir;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::disk::{Forgotten, Image, Model, Recording};
use crate::support::folders;
use crate::support::history::{History, Request};
use crate::support::in_process::{Answer, Api as _, Http, InProcess, StreamsApi};
use crate::support::key_streams::KeyStreams;
use crate::support::ledger::{
    Place, TABLE, Table, Workload, check, check_stream, enable_stream, generation_of,
};
use crate::support::strace::{self, Trace};

const LOSSES_DEFAULT: u64 = 24;
/// Losses of power checked per run of a server.
const LOSSES_PER_LIFE: u64 = 12;
/// Servers that continue on the folder of the one before; then a new folder begins, because streams only
/// grow.
const LIVES_PER_FOLDER: u64 = 4;
const WRITES_PER_LIFE: u64 = 250;
const PADDING_BYTES_MAX: u64 = 700;
/// Small, so that tables are written and merged all the time.
const WRITE_BUFFER_KIB: &str = "96";
/// The size of a store's first journal segment.
const SEGMENT_BYTES: usize = 1024 * 1024;
/// One in this many states is also opened by the binary.
const STATES_PER_BINARY: u64 = 10;

/// What must be found after the loss.
#[derive(Clone, Debug, Default)]
struct Known {
    rows: BTreeMap<Place, u64>,
    table: bool,
    stream: bool,
}

/// One recorded run of a server: its file operations and its acknowledgements.
struct Life {
    recording: Recording,
    history: History,
    before: Known,
}

impl Life {
    /// What must be found after a loss of power before this line.
    fn known(&self, line: usize) -> Known {
        let mut known = self.before.clone();
        for (place, generation) in self.history.acknowledged_before(line) {
            let before = known.rows.entry(place).or_insert(0);
            *before = generation.max(*before);
        }
        known.table |= self.history.was_acknowledged(&Request::Table, line);
        known.stream |= self.history.was_acknowledged(&Request::Stream, line);
        known
    }
}

fn data(base: &Path) -> std::path::PathBuf {
    base.join("data")
}

/// A folder whose store has a small write buffer.
fn prepared() -> TempDir {
    let base = tempfile::tempdir().unwrap();
    folders::open(&data(base.path())).unwrap().close();
    base
}

/// The same with a journal that is nearly full: rows were written and deleted.
async fn filled() -> TempDir {
    const ROW_BYTES: usize = 200_000;
    let base = prepared();
    let store = folders::open(&data(base.path())).unwrap();
    let key = Bytes::from_static(b"\xfffill");
    for _ in 0..SEGMENT_BYTES / ROW_BYTES - 1 {
        let mut transaction = store.begin().await.unwrap();
        transaction.put(key.clone(), vec![0; ROW_BYTES].into());
        transaction.commit().await.unwrap();
    }
    let mut transaction = store.begin().await.unwrap();
    transaction.delete(key);
    transaction.commit().await.unwrap();
    store.close();
    base
}

/// Asserts that the run of a server on an encrypted folder encrypted no byte twice with different values.
fn check_key_streams(recording: &Recording) {
    let mut streams = KeyStreams::default();
    recording.note_key_streams(&mut streams);
    assert!(streams.files > 0 && streams.bytes > 0, "the run wrote no encrypted file");
    assert_eq!(streams.faults, [""; 0]);
    println!("{} encrypted files, {} bytes, none encrypted twice", streams.files, streams.bytes);
}

/// Records a server that takes this many writes and is then killed or stopped.
async fn record(base: &Path, before: Known, generations: u64, signal: &str, arguments: &[&str]) -> Life {
    let mut recording = Recording::begin(base);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("trace");
    let folder = data(base);
    let own = ["--data", folder.to_str().unwrap(), "--write-buffer-kib", WRITE_BUFFER_KIB];
    let arguments = [own.as_slice(), arguments].concat();
    let server = Server::under(strace::recorder(&file), &arguments).unwrap();
    if !before.stream {
        let asking = client(&server.endpoint, Caller::default());
        create_indexed_table(&asking, TABLE).await;
        enable_stream(&asking).await;
    }
    let first = before.rows.values().max().map_or(0, |greatest| greatest + 1000);
    let workload = Workload::new(first, PADDING_BYTES_MAX);
    let writers = workload.start(&server.endpoint);
    while workload.next_generation() < first + generations {
        assert!(!writers.is_empty());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.end_under(signal);
    workload.stop(writers).await;
    let trace = Trace::read(&file);
    recording.follow(&trace);
    if folders::are_encrypted() {
        check_key_streams(&recording);
    }
    Life { recording, history: History::read(&trace), before }
}

/// The guarantee for writes acknowledged before the loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    /// All of them are found.
    All,
    /// Writes acknowledged before the last sync of the journal began are found; of the others, whole
    /// transactions or nothing.
    Synced,
}

async fn judge(api: &impl StreamsApi, life: &Life, known: &Known) -> Result<Table, String> {
    let described = match api.call("DescribeTable", &json!({"TableName": TABLE})).await {
        Answer::Good(described) => described,
        Answer::Fault(name, _) if name == "ResourceNotFoundException" && !known.table => {
            return Ok(Table::new());
        }
        other => return Err(format!("the table is not there: {other:?}")),
    };
    if known.stream && described["Table"].get("LatestStreamArn").is_none() {
        return Err("the stream is not there".to_owned());
    }
    let table = check(api, &known.rows).await?;
    for (place, item) in &table {
        let generation = generation_of(item);
        if known.rows.get(place) != Some(&generation) && !life.history.was_requested(place, generation) {
            return Err(format!("{place:?} holds {generation}, which nobody wrote"));
        }
    }
    check_stream(api, &table).await?;
    Ok(table)
}

/// Opens a folder in this process and checks it.
async fn judge_in_process(base: &Path, life: &Life, known: &Known) -> Result<Table, String> {
    let store = folders::open(&data(base)).map_err(|fault| fault.to_string())?;
    let api = InProcess::open(store.clone()).await?;
    let judged = judge(&api, life, known).await;
    drop(api);
    store.close();
    judged
}

/// Opens a folder with the binary, checks it, and writes to it.
async fn judge_binary(base: &Path, life: &Life, known: &Known) -> Result<(), String> {
    let server = Server::try_start(&["--data", data(base).to_str().unwrap()])?;
    let http = Http::new(server.address());
    let table = judge(&http, life, known).await?;
    let item = json!({"pk": {"S": "after"}, "sk": {"S": "0"}, "generation": {"N": "0"}});
    if !table.is_empty() {
        match http.call("PutItem", &json!({"TableName": TABLE, "Item": item})).await {
            Answer::Good(_) => {}
            other => return Err(format!("it takes no writes: {other:?}")),
        }
    }
    if server.stop() { Ok(()) } else { Err("the server did not end well".to_owned()) }
}

/// The results of several losses of power in one run.
#[derive(Default)]
struct Judged {
    faults: Vec<String>,
    /// A state that passed, and what it held.
    good: Option<(TempDir, Known)>,
}

async fn judge_life(life: &Life, losses: u64, promise: Promise, dice: &mut Dice) -> Judged {
    let mut judged = Judged::default();
    for number in 0..losses {
        let model = if number.is_multiple_of(2) { Model::Strict } else { Model::Journaled };
        let moment = life.recording.moment(dice);
        let image = life.recording.image(moment, model, dice);
        let known = life.known(match promise {
            Promise::All => moment,
            Promise::Synced => life.recording.synced_through(moment),
        });
        match judge_image(&image, life, &known, number % STATES_PER_BINARY == 0).await {
            Ok(table) if known.stream => {
                let rows = table.iter().map(|(place, item)| (place.clone(), generation_of(item))).collect();
                judged.good = Some((folder_of(&image), Known { rows, ..known }));
            }
            Ok(_) => {}
            Err(fault) => {
                let kept = folder_of(&image).keep();
                let lines = life.recording.lines;
                let place = format!("power lost before line {moment} of {lines}, {model:?}");
                judged.faults.push(format!("{place}: {fault}\nthe folder was {}", kept.display()));
            }
        }
    }
    judged
}

async fn judge_image(image: &Image, life: &Life, known: &Known, with_binary: bool) -> Result<Table, String> {
    let table = judge_in_process(folder_of(image).path(), life, known).await?;
    if with_binary {
        judge_binary(folder_of(image).path(), life, known).await?;
    }
    Ok(table)
}

fn folder_of(image: &Image) -> TempDir {
    let base = tempfile::tempdir().unwrap();
    image.write_to(base.path());
    base
}

/// The random generator and the number of losses to check; `None` if nothing can be recorded here.
fn begin(share: u64) -> Option<(Dice, u64)> {
    let losses = wanted("KEYWRIGHT_POWER_LOSSES", LOSSES_DEFAULT).div_ceil(share);
    strace::is_allowed("losses of power").then(|| (Dice::new(wanted("KEYWRIGHT_SEED", 1)), losses))
}

fn log(life: &Life) {
    println!("recorded: {}, {} writes acknowledged", life.recording.summary(), life.history.writes());
}

fn assert_none(faults: &[String], losses: u64, what: &str) {
    let first = faults.first().map_or("", String::as_str);
    assert!(faults.is_empty(), "{} of {losses} states are wrong, the first: {first}", faults.len());
    println!("{losses} losses of power {what}: all is well");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_power_takes_nothing_that_was_acknowledged() {
    let Some((mut dice, losses)) = begin(1) else { return };
    let mut left = None;
    let mut faults = Vec::new();
    let lives = losses.div_ceil(LOSSES_PER_LIFE);
    for number in 0..lives {
        let next = if number % LIVES_PER_FOLDER == 0 { None } else { left.take() };
        let (base, before) = next.unwrap_or_else(|| (prepared(), Known::default()));
        let signal = if dice.roll(3) == 0 { "TERM" } else { "KILL" };
        let life = record(base.path(), before, WRITES_PER_LIFE, signal, &[]).await;
        log(&life);
        let judged = judge_life(&life, LOSSES_PER_LIFE, Promise::All, &mut dice).await;
        faults.extend(judged.faults);
        left = judged.good;
    }
    assert_none(&faults, lives * LOSSES_PER_LIFE, "under writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_power_while_a_folder_is_begun_leaves_one_that_opens() {
    let Some((mut dice, losses)) = begin(2) else { return };
    let base = tempfile::tempdir().unwrap();
    let life = record(base.path(), Known::default(), 10, "KILL", &[]).await;
    log(&life);
    let judged = judge_life(&life, losses, Promise::All, &mut dice).await;
    assert_none(&judged.faults, losses, "while a folder is begun");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_power_while_one_journal_follows_another_takes_nothing() {
    let Some((mut dice, losses)) = begin(8) else { return };
    let base = filled().await;
    let life = record(base.path(), Known::default(), WRITES_PER_LIFE, "KILL", &[]).await;
    log(&life);
    let judged = judge_life(&life, losses, Promise::All, &mut dice).await;
    assert_none(&judged.faults, losses, "while one journal follows another");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_of_power_takes_from_a_relaxed_store_only_what_was_not_synced_in_whole_transactions() {
    let Some((mut dice, losses)) = begin(4) else { return };
    let relaxed = ["--durability", "relaxed"];
    for base in [prepared(), tempfile::tempdir().unwrap()] {
        let life = record(base.path(), Known::default(), WRITES_PER_LIFE, "KILL", &relaxed).await;
        log(&life);
        let judged = judge_life(&life, losses, Promise::Synced, &mut dice).await;
        assert_none(&judged.faults, losses, "of a relaxed store");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_leaves_out_syncs_is_found_out() {
    const TRIES_MAX: u64 = 30;
    const LOSSES_PER_TRY: u64 = 4;
    let Some((mut dice, _)) = begin(1) else { return };
    let base = prepared();
    let life = record(base.path(), Known::default(), WRITES_PER_LIFE, "KILL", &[]).await;
    for forgotten in [Forgotten::Journals, Forgotten::OtherFiles, Forgotten::Folders] {
        let recording = life.recording.without_syncs(forgotten);
        let careless = Life { recording, history: life.history.clone(), before: Known::default() };
        let mut tries = 0;
        let faults = loop {
            tries += 1;
            let judged = judge_life(&careless, LOSSES_PER_TRY, Promise::All, &mut dice).await;
            if !judged.faults.is_empty() || tries == TRIES_MAX {
                break judged.faults;
            }
        };
        assert!(!faults.is_empty(), "nothing is wrong without {forgotten:?}");
        for folder in faults.iter().filter_map(|fault| fault.split("the folder was ").nth(1)) {
            std::fs::remove_dir_all(folder).unwrap();
        }
        println!("without {forgotten:?}: {} wrong of {}", faults.len(), tries * LOSSES_PER_TRY);
    }
}

/// A recording: a file is created and written by two calls, one of them interleaved with a call of another
/// thread; the file is synced, then its folder.
fn small_recording(base: &Path) -> Recording {
    let hexadecimal =
        |text: &str| text.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<Vec<_>>().concat();
    let folder = hexadecimal(base.to_str().unwrap());
    let text = format!(
        "7  openat(AT_FDCWD, \"{folder}{}\", O_WRONLY|O_CREAT, 0666) = 5\n\
         7  write(5, \"{}\", 5 <unfinished ...>\n\
         8  close(9)                          = 0\n\
         7  <... write resumed>)              = 5\n\
         7  write(5, \"{}\", 5)      = 5\n\
         7  fsync(5)                          = 0\n\
         7  openat(AT_FDCWD, \"{folder}\", O_RDONLY|O_DIRECTORY) = 6\n\
         7  fsync(6)                          = -1 EIO (Input/output error) (INJECTED)\n\
         7  fsync(6)                          = 0\n",
        hexadecimal("/f"),
        hexadecimal("first"),
        hexadecimal("later"),
    );
    let mut recording = Recording::begin(base);
    recording.follow(&Trace::parse(&text));
    recording
}

#[test]
fn synced_data_survives_and_the_rest_may_or_may_not() {
    let base = tempfile::tempdir().unwrap();
    let recording = small_recording(base.path());
    let found = |line: usize, model: Model| {
        let images = (0..300).map(|seed| recording.image(line, model, &mut Dice::new(seed)));
        images.map(|image| image.read(Path::new("f"))).collect::<BTreeSet<_>>()
    };
    let whole = Some(b"firstlater".to_vec());
    for model in [Model::Strict, Model::Journaled] {
        assert_eq!(found(0, model), BTreeSet::from([None]));
        let before_sync = found(5, model);
        for possible in
            [None, Some(Vec::new()), Some(b"fir".to_vec()), Some(b"first".to_vec()), whole.clone()]
        {
            assert!(before_sync.contains(&possible), "{model:?}: never {possible:?}");
        }
        assert_eq!(found(9, model), BTreeSet::from([whole.clone()]));
    }
    assert!(found(5, Model::Strict).contains(&Some(b"\0\0\0\0\0later".to_vec())), "writes may change places");
    // The file's bytes are safe, its name only in the journaled model; the failed sync of the folder has no
    // effect.
    assert_eq!(found(8, Model::Strict), BTreeSet::from([None, whole.clone()]));
    assert_eq!(found(8, Model::Journaled), BTreeSet::from([whole]));
}
