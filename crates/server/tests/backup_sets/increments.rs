//! Chains of increments: equal to full backups, and a gap in the history makes a full one.

use std::path::Path;

use serde_json::json;

use crate::bank::{self, TABLES, Transfers, id_of, run, text};
use crate::support::Server;
use crate::support::dice::Dice;
use crate::support::in_process::{Api as _, Http};

async fn set_recovery(http: &Http, is_on: bool) {
    for table in TABLES {
        let request = json!({
            "TableName": table,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": is_on},
        });
        http.call("UpdateContinuousBackups", &request).await.good();
    }
}

fn back_up(server: &Server, to: &Path, more: &[&str]) -> String {
    let all = ["backup", "--to", text(to), "--endpoint", &server.endpoint];
    run(&[&all[..], more].concat()).unwrap()
}

/// Restores a backup into a new folder and returns all items.
async fn restored(
    from: &Path,
    id: &str,
    into: &Path,
) -> Vec<std::collections::BTreeMap<String, serde_json::Value>> {
    run(&["restore", text(from), id, "--into", text(into)]).unwrap();
    bank::all(&Server::on(into)).await
}

async fn change(http: &Http, dice: &mut Dice, round: u64) {
    for _ in 0..10 {
        let (table, number) = (TABLES[usize::try_from(dice.roll(2)).unwrap()], dice.roll(bank::ACCOUNTS * 2));
        if dice.roll(3) == 0 {
            let key = json!({"pk": {"S": format!("account-{number}")}});
            http.call("DeleteItem", &json!({"TableName": table, "Key": key})).await.good();
        } else {
            bank::put(http, table, number, round * 1000 + number).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_backup_and_five_increments_restore_equal_and_prune_never_breaks_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let server = Server::in_memory();
    bank::open(&server).await;
    let http = Http::new(server.address());
    set_recovery(&http, true).await;
    let mut dice = Dice::new(7);
    let mut made = vec![id_of(&back_up(&server, &backups, &[]))];
    let mut states = vec![bank::all(&server).await];
    for round in 1..=5 {
        change(&http, &mut dice, round).await;
        let line = back_up(&server, &backups, &["--since", "latest"]);
        assert!(line.ends_with("2 increments"), "{line}");
        made.push(id_of(&line));
        states.push(bank::all(&server).await);
    }
    for (number, (id, state)) in made.iter().zip(&states).enumerate() {
        let into = folder.path().join(format!("into-{number}"));
        assert_eq!(restored(&backups, id, &into).await, *state, "backup {number}");
    }
    // All are older than what is kept.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    let kept = run(&["backup", "prune", text(&backups), "--keep", "1s"]).unwrap();
    assert!(kept.contains("builds on it"), "{kept}");
    run(&["backup", "verify", text(&backups)]).unwrap();
    let newest = restored(&backups, made.last().unwrap(), &folder.path().join("after")).await;
    assert_eq!(newest, *states.last().unwrap());
    let refused = run(&["backup", "prune", text(&backups), &made[2]]).unwrap_err();
    assert!(refused.contains("is an increment on it"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_in_the_history_makes_a_full_backup_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let server = Server::in_memory();
    bank::open(&server).await;
    let http = Http::new(server.address());
    back_up(&server, &backups, &[]);
    let ended = bank::command(&[
        "backup",
        "--to",
        text(&backups),
        "--endpoint",
        &server.endpoint,
        "--since",
        "latest",
    ])
    .output()
    .unwrap();
    let (line, notes) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && line.trim_end().ends_with("full"), "{line}");
    assert!(notes.contains("Left: a full backup, as its history does not reach back"), "{notes}");

    // What the backup itself keeps is enough, also under load and without point-in-time recovery.
    back_up(&server, &backups, &["--keep-history", "1h"]);
    let transfers = Transfers::start(&server, 3);
    let line = back_up(&server, &backups, &["--since", "latest", "--keep-history", "1h"]);
    assert!(line.ends_with("2 increments"), "{line}");
    transfers.stop().await;
    let line = back_up(&server, &backups, &["--since", "latest"]);
    assert!(line.ends_with("2 increments"), "{line}");
    let state = bank::all(&server).await;
    assert_eq!(restored(&backups, &id_of(&line), &folder.path().join("into")).await, state);

    // Turned off and on, the history has a gap.
    set_recovery(&http, true).await;
    back_up(&server, &backups, &[]);
    let expired = json!({"TableName": TABLES[0], "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": false}});
    http.call("UpdateContinuousBackups", &expired).await.good();
    let deleted = json!({"TableName": TABLES[1], "DeletionProtectionEnabled": false});
    http.call("UpdateTable", &deleted).await;
    let line = back_up(&server, &backups, &["--since", "latest"]);
    assert!(line.contains("increment"), "{line}");
}
