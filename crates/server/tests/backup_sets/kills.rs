//! SIGKILL of the command and of the server at random moments: what is complete restores, what is not is
//! never taken for it, and a restore goes on.

use std::path::Path;
use std::time::Duration;

use crate::bank::{self, Transfers, check_whole, run, said, spawn, text};
use crate::support::Server;
use crate::support::dice::{Dice, wanted};

/// `KEYWRIGHT_KILLS` sets another number.
const KILLS_DEFAULT: u64 = 4;
/// A backup or restore of these tables takes about so long.
const WORK_MS: u64 = 400;

/// Kills a command after a while; says whether it had ended by itself.
fn kill_after(arguments: &[&str], after_ms: u64) -> bool {
    let mut child = spawn(arguments);
    std::thread::sleep(Duration::from_millis(after_ms));
    let had_ended = child.try_wait().unwrap().is_some();
    child.kill().unwrap();
    child.wait().unwrap();
    had_ended
}

/// Restores the newest backup, if one is complete, and checks it.
async fn check_newest(backups: &Path, into: &Path) -> bool {
    let restored = run(&["restore", text(backups), "--into", text(into)]);
    match restored {
        Ok(_) => {
            check_whole(&Server::on(into)).await;
            true
        }
        Err(said) => {
            let none = ["there is no complete backup", "there are no backups in"];
            assert!(none.iter().any(|text| said.contains(text)), "{said}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_whose_command_or_server_is_killed_is_complete_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (kills, seed) = (wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT), wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let mut server = Server::on(&data);
    bank::open(&server).await;
    let mut complete = 0;
    for kill in 0..kills {
        let backups = folder.path().join(format!("backups-{kill}"));
        let transfers = Transfers::start(&server, seed + kill);
        let after_ms = dice.roll(WORK_MS);
        let arguments =
            ["backup", "--to", text(&backups), "--endpoint", &server.endpoint.clone()].map(str::to_owned);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if dice.roll(2) == 0 {
            kill_after(&arguments, after_ms);
            transfers.stop().await;
        } else {
            let child = spawn(&arguments);
            tokio::time::sleep(Duration::from_millis(after_ms)).await;
            server.kill();
            let ended = child.wait_with_output().unwrap();
            transfers.stop().await;
            server = Server::on(&data);
            if let Err(fault) = said(&ended) {
                assert!(fault.contains("Backup:") || fault.contains("cannot connect"), "{fault}");
            }
        }
        let into = folder.path().join(format!("into-{kill}"));
        complete += u64::from(check_newest(&backups, &into).await);
        check_whole(&server).await;
    }
    // The same command begins anew.
    let backups = folder.path().join("backups-0");
    run(&["backup", "--to", text(&backups), "--endpoint", &server.endpoint]).unwrap();
    assert!(check_newest(&backups, &folder.path().join("last")).await);
    println!(
        "seed {seed}: {kills} kills of the command or the server during a backup, {complete} were complete by then"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_goes_on_with_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let (backups, data) = (folder.path().join("backups"), folder.path().join("data"));
    let source = Server::in_memory();
    bank::open(&source).await;
    run(&["backup", "--to", text(&backups), "--endpoint", &source.endpoint]).unwrap();
    let (kills, seed) = (wanted("KEYWRIGHT_KILLS", KILLS_DEFAULT), wanted("KEYWRIGHT_SEED", 1));
    let mut dice = Dice::new(seed);
    let mut ended_early = 0;
    for kill in 0..kills {
        let into = folder.path().join(format!("into-{kill}"));
        let arguments = ["restore", text(&backups), "--into", text(&into)];
        if kill_after(&arguments, dice.roll(WORK_MS)) {
            ended_early += 1;
        } else if let Err(refused) = run(&arguments) {
            // It was killed after its last commit.
            assert!(refused.contains("is not empty"), "{refused}");
        }
        let restored = Server::on(&into);
        check_whole(&restored).await;
        assert_eq!(bank::all(&restored).await, bank::all(&source).await);
    }
    // The server is killed instead.
    let mut server = Server::on(&data);
    for _ in 0..2 {
        let child = spawn(&["restore", text(&backups), "--endpoint", &server.endpoint]);
        tokio::time::sleep(Duration::from_millis(dice.roll(WORK_MS))).await;
        server.kill();
        child.wait_with_output().unwrap();
        server = Server::on(&data);
    }
    let outcome = run(&["restore", text(&backups), "--endpoint", &server.endpoint]);
    assert!(outcome.as_ref().err().is_none_or(|refused| refused.contains("there is a table")), "{outcome:?}");
    check_whole(&server).await;
    println!(
        "seed {seed}: {kills} kills during a restore into a folder, {ended_early} after its end, 2 of a server"
    );
}
