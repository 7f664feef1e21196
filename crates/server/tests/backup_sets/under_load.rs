//! A backup of a server under load, and its way back.

use serde_json::json;

use crate::bank::{self, TABLES, Transfers, check_whole, items, run, text};
use crate::support::Server;
use crate::support::dice::wanted;
use crate::support::in_process::{Api as _, Http};

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_restores_to_one_stamp_over_all_tables() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    let server = Server::on(&data);
    bank::open(&server).await;
    let transfers = Transfers::start(&server, wanted("KEYWRIGHT_SEED", 1));
    let rounds = wanted("KEYWRIGHT_BACKUPS", 3);
    for round in 0..rounds {
        let before = transfers.done();
        let made = run(&["backup", "--to", text(&backups), "--endpoint", &server.endpoint]).unwrap();
        assert!(made.contains("2 tables") && made.ends_with("full"), "{made}");
        assert!(transfers.done() > before, "the load goes on");
        let into = folder.path().join(format!("restored-{round}"));
        let said = run(&["restore", text(&backups), "--into", text(&into)]).unwrap();
        assert!(said.contains("2 tables, 120 items"), "{said}");
        let restored = Server::on(&into);
        check_whole(&restored).await;
        check_settings(&restored).await;
    }
    let moved = transfers.stop().await;
    check_whole(&server).await;
    println!("{rounds} backups while {moved} transactions moved units: each restored with all of them");
}

/// A native restore brings a table back as it was.
async fn check_settings(server: &Server) {
    let http = Http::new(server.address());
    let table = http.call("DescribeTable", &json!({"TableName": TABLES[0]})).await.good()["Table"].clone();
    assert_eq!(table["TableStatus"], "ACTIVE");
    assert_eq!(table["StreamSpecification"], json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}));
    assert_eq!(table["DeletionProtectionEnabled"], json!(true));
    let tags = http.call("ListTagsOfResource", &json!({"ResourceArn": table["TableArn"]})).await.good();
    assert_eq!(tags["Tags"], json!([{"Key": "team", "Value": "bank"}]));
    let ttl = http.call("DescribeTimeToLive", &json!({"TableName": TABLES[0]})).await.good();
    assert_eq!(ttl["TimeToLiveDescription"]["AttributeName"], "due");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_restored_into_a_running_server_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    let server = Server::in_memory();
    bank::open(&server).await;
    run(&["backup", "--to", text(&backups), "--endpoint", &server.endpoint]).unwrap();
    let restore = |more: &[&str]| {
        let endpoint = ["restore", text(&backups), "--endpoint", &server.endpoint];
        run(&[&endpoint[..], more].concat())
    };
    let refused = restore(&[]).unwrap_err();
    assert!(refused.contains("there is a table Left"), "{refused}");
    restore(&["--table", "Left", "--as", "Again"]).unwrap();
    assert_eq!(items(&server, "Again", None).await, items(&server, "Left", None).await);
    assert_eq!(items(&server, "Again", Some("by-owner")).await, items(&server, "Left", None).await);
    let tables = Http::new(server.address()).call("ListTables", &json!({})).await.good();
    assert_eq!(tables["TableNames"], json!(["Again", "Left", "Right"]), "what was refused left nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_stopped_server_is_backed_up_and_a_running_one_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups, into) =
        (folder.path().join("data"), folder.path().join("backups"), folder.path().join("into"));
    let server = Server::on(&data);
    bank::open(&server).await;
    let before = bank::all(&server).await;
    let refused = run(&["backup", "--to", text(&backups), "--data", text(&data)]).unwrap_err();
    assert!(refused.contains("--endpoint"), "{refused}");
    assert!(server.stop());
    run(&["backup", "--to", text(&backups), "--data", text(&data), "--table", "Right"]).unwrap();
    run(&["restore", text(&backups), "--into", text(&into)]).unwrap();
    let restored = Server::on(&into);
    assert_eq!(items(&restored, "Right", None).await, before[1]);
    let tables = Http::new(restored.address()).call("ListTables", &json!({})).await.good();
    assert_eq!(tables["TableNames"], json!(["Right"]));
    assert_eq!(bank::all(&Server::on(&data)).await, before);
}
