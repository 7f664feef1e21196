//! SIGKILL at random moments, while the server serves and while it opens its folder: no acknowledged write is
//! lost.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::dice::{Dice, wanted};
use crate::support::in_process::Http;
use crate::support::ledger::{self, TABLE, check_stream_and, check_whole, enable_stream, scan};
use crate::support::register::{History, Left, Register, place};

/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 8;
/// Kills per data folder. The whole stream is replayed after each folder, and it grows with every write.
const KILLS_OF_A_LIFE: u64 = 50;
/// Maximum delay of a kill after the first write, and after the start.
const WRITING_MS_MAX: u64 = 600;
const OPENING_MS_MAX: u64 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let kills = wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT);
    let seed = wanted("KEYWRIGHT_SEED", 1);
    let mut dice = Dice::new(seed);
    let lives = kills.div_ceil(KILLS_OF_A_LIFE).max(2);
    let mut sum = Outcome::default();
    for life in 0..lives {
        let of_this = kills / lives + u64::from(life < kills % lives);
        sum.add(&live_and_be_killed(of_this, life, &mut dice).await);
    }
    assert!(sum.acknowledged > 0, "no change was acknowledged before any kill");
    let Outcome { opening, tried, acknowledged } = sum;
    println!(
        "seed {seed}: {kills} kills while it served and {opening} while it opened its folder, in {lives} folders; of {tried} \
         changes tried {acknowledged} were acknowledged, and all of these are in the stream and what the last of each key left is \
         in the table"
    );
}

#[derive(Default)]
struct Outcome {
    /// Kills while the server opened its folder, before it was ready.
    opening: u64,
    tried: usize,
    acknowledged: usize,
}

impl Outcome {
    fn add(&mut self, other: &Self) {
        self.opening += other.opening;
        self.tried += other.tried;
        self.acknowledged += other.acknowledged;
    }
}

/// Writes to a new folder, kills the server, opens the folder again and checks it, this many times.
async fn live_and_be_killed(kills: u64, life: u64, dice: &mut Dice) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let start = if life % 2 == 1 { Server::with_small_buffer } else { Server::on };
    let register = Register::new();
    let mut opening = 0;
    for kill in 0..kills {
        if kill > 0 && dice.roll(4) == 0 {
            let after = Duration::from_millis(dice.roll(OPENING_MS_MAX));
            opening += u64::from(kill_while_it_opens(folder.path(), after));
        }
        let server = start(folder.path());
        if kill == 0 {
            let asking = client(&server.endpoint, Caller::default());
            create_indexed_table(&asking, TABLE).await;
            enable_stream(&asking).await;
        } else {
            check(&Http::new(server.address()), &register, kill == 1).await.unwrap();
        }
        let writers = register.start(&server.endpoint, dice.roll(1 << 31));
        tokio::time::sleep(Duration::from_millis(dice.roll(WRITING_MS_MAX))).await;
        server.kill();
        register.stop(writers).await;
    }
    let server = Server::on(folder.path());
    check(&Http::new(server.address()), &register, true).await.unwrap();
    let (acknowledged, tried) = register.counts();
    Outcome { opening, tried, acknowledged }
}

/// Checks the table, its indexes and optionally its whole stream against the register.
async fn check(http: &Http, register: &Register, whole_stream: bool) -> Result<(), String> {
    let table = scan(http, None).await?;
    register.check_table(&table)?;
    check_whole(http, &table).await?;
    if whole_stream {
        let mut history = History::default();
        check_stream_and(http, &table, &mut |place, change| history.note(place, change)).await?;
        register.check_history(&history)?;
    }
    Ok(())
}

/// Kills the server during its start. Returns whether it was not ready yet.
fn kill_while_it_opens(folder: &Path, after: Duration) -> bool {
    let mut process = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .args(["serve", "--port", "0", "--data", folder.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    process.kill().unwrap();
    process.wait_with_output().unwrap().stdout.is_empty()
}

#[test]
fn the_register_detects_lost_undone_and_invented_writes() {
    let register = Register::new();
    let at = place("single", 0, 1);
    let put = register.try_change(&at, Left::Item);
    register.acknowledge(put, &at);
    let with = |generation: u64| {
        let item = json!({"pk": {"S": at.0}, "sk": {"S": at.1}, "generation": {"N": generation.to_string()}});
        ledger::Table::from([(at.clone(), item)])
    };
    assert!(register.check_table(&with(put)).is_ok());
    assert!(register.check_table(&ledger::Table::new()).is_err(), "an acknowledged put is lost");
    assert!(register.check_table(&with(put + 1)).is_err(), "nobody wrote that");

    let delete = register.try_change(&at, Left::Nothing);
    assert!(register.check_table(&with(put)).is_ok(), "the delete is not acknowledged yet");
    assert!(register.check_table(&ledger::Table::new()).is_ok());
    register.acknowledge(delete, &at);
    assert!(register.check_table(&with(put)).is_err(), "an acknowledged delete is undone");

    let again = register.try_change(&at, Left::Item);
    assert!(register.check_table(&ledger::Table::new()).is_ok());
    assert!(register.check_table(&with(again)).is_ok());

    let mut history = History::default();
    assert!(register.check_history(&history).is_err(), "the stream lacks an acknowledged put");
    history.written.insert((at.clone(), put), 1);
    assert!(register.check_history(&history).is_ok());
    history.written.insert((at.clone(), put), 2);
    assert!(register.check_history(&history).is_err(), "twice");
    history.written.insert((at.clone(), put), 1);
    history.written.insert((at.clone(), 77), 1);
    assert!(register.check_history(&history).is_err(), "nobody tried that");
}
