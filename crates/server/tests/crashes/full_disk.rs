//! A disk that is full for a while, or whose syncs fail: what health reports, and when the server takes
//! writes again by itself.

use std::process::Command;
use std::time::Duration;

use crate::support::Server;
use crate::support::client::{Caller, client, create_indexed_table};
use crate::support::in_process::Http;
use crate::support::ledger::{TABLE, Workload, check, check_stream, enable_stream};
use crate::support::management::{get, readiness, sample, wait_for_state};
use crate::support::small_disk::SmallDisk;
use crate::support::strace;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn after_a_full_disk_the_server_takes_writes_again_and_has_lost_nothing() {
    for durability in ["synced", "relaxed"] {
        let Some(disk) = SmallDisk::mount(40) else { return };
        let filler = disk.path().join("filler");
        std::fs::create_dir(disk.path().join("data")).unwrap();
        std::fs::write(&filler, vec![0; 24 << 20]).unwrap();
        let data = disk.path().join("data");
        let server = Server::start(&[
            "--data",
            data.to_str().unwrap(),
            "--durability",
            durability,
            "--write-buffer-kib",
            "256",
        ]);
        let asking = client(&server.endpoint, Caller::default());
        create_indexed_table(&asking, TABLE).await;
        enable_stream(&asking).await;
        let http = Http::new(server.address());
        for round in 0..2 {
            let workload = Workload::new(round * 1_000_000, 2000);
            let writers = workload.start(&server.endpoint);
            let (status, report) = wait_for_state(&server, "disk_full", LONG);
            assert_eq!(status, 503, "{report}");
            let advice = report["advice"].as_str().unwrap();
            assert!(advice.contains("MiB") && advice.contains(data.to_str().unwrap()), "{report}");
            assert_eq!(get(&server, "/health/live").0, 200, "a restart would not help");
            workload.stop(writers).await;
            let acknowledged = workload.acknowledged_writes();
            check(&http, &acknowledged).await.unwrap_or_else(|fault| panic!("reads go on: {fault}"));
            std::thread::sleep(Duration::from_secs(1));
            assert_eq!(readiness(&server).0, 503, "there is still no room");
            std::fs::remove_file(&filler).unwrap();
            wait_for_state(&server, "serving", LONG);
            let table =
                check(&http, &acknowledged).await.unwrap_or_else(|fault| panic!("{durability}: {fault}"));
            check_stream(&http, &table).await.unwrap_or_else(|fault| panic!("{durability}: {fault}"));
            let (_, metrics) = get(&server, "/metrics");
            let opened = sample(&metrics, "keywright_store_opened_again_total").unwrap();
            assert!(opened > f64::from(u32::try_from(round).unwrap()), "{opened}");
            println!("{durability}: {} keys acknowledged before the disk was full", acknowledged.len());
            if round == 0 {
                let free =
                    Command::new("df").args(["--output=avail", "-k"]).arg(disk.path()).output().unwrap();
                let free = String::from_utf8(free.stdout).unwrap();
                let kib: usize = free.lines().nth(1).unwrap().trim().parse().unwrap();
                std::fs::write(&filler, vec![0; kib.saturating_sub(6 << 10) << 10]).unwrap();
            }
        }
        let workload = Workload::new(9_000_000, 100);
        let writers = workload.start(&server.endpoint);
        tokio::time::sleep(Duration::from_millis(500)).await;
        workload.stop(writers).await;
        let acknowledged = workload.acknowledged_writes();
        assert!(!acknowledged.is_empty());
        server.kill();
        let again = Server::on(&data);
        let http = Http::new(again.address());
        let table = check(&http, &acknowledged).await.unwrap_or_else(|fault| panic!("{durability}: {fault}"));
        check_stream(&http, &table).await.unwrap_or_else(|fault| panic!("{durability}: {fault}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_sync_the_server_is_not_ready_and_waits_for_a_restart() {
    if !strace::is_allowed("failed syncs") {
        return;
    }
    // A sync may report a full disk, too.
    for error in ["EIO", "ENOSPC"] {
        let folder = tempfile::tempdir().unwrap();
        let runner = strace::saboteur("fdatasync", &folder.path().join("journal/00000001"), error, 20);
        let server = Server::under(runner, &["--data", folder.path().to_str().unwrap()]).unwrap();
        create_indexed_table(&client(&server.endpoint, Caller::default()), TABLE).await;
        let workload = Workload::new(0, 200);
        let writers = workload.start(&server.endpoint);
        let (status, report) = wait_for_state(&server, "writes_failed", LONG);
        assert_eq!(status, 503, "{error}: {report}");
        assert!(report["advice"].as_str().unwrap().contains("restart the server"), "{error}: {report}");
        workload.stop(writers).await;
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(readiness(&server).1["state"], "writes_failed", "{error}");
        let (_, metrics) = get(&server, "/metrics");
        assert_eq!(sample(&metrics, "keywright_ready"), Some(0.0));
        assert_eq!(sample(&metrics, "keywright_store_opened_again_total"), Some(0.0), "{error}");
        let acknowledged = workload.acknowledged_writes();
        check(&Http::new(server.address()), &acknowledged).await.unwrap();
        server.end_under("KILL");
        let again = Server::on(folder.path());
        assert_eq!(readiness(&again).0, 200);
        check(&Http::new(again.address()), &acknowledged)
            .await
            .unwrap_or_else(|fault| panic!("{error}: {fault}"));
    }
}
