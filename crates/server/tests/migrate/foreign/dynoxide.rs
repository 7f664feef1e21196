//! dynoxide, over a file.

use std::time::Duration;

use super::{Foreign, program};
use crate::live;

fn dynoxide() -> Foreign {
    Foreign::start(|address, folder| {
        let mut dynoxide = program("dynoxide", "dynoxide");
        dynoxide.args(["--port", &address.port().to_string(), "--db-path"]).arg(folder.join("tables.db"));
        dynoxide
    })
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs dynoxide: run `cargo xtask test -- foreign::dynoxide`"]
async fn a_table_of_dynoxide_is_equal_after_a_migration_under_writes() {
    let server = dynoxide();
    println!("{}", live::scene(&server.endpoint(), 3, Duration::from_millis(5)).await);
}

/// The file as a running server has it, and as one leaves it that was stopped.
#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs dynoxide: run `cargo xtask test -- foreign::dynoxide`"]
async fn a_file_of_dynoxide_is_read_while_its_server_runs_and_after_it_was_killed() {
    use crate::command::succeeds;
    use crate::endpoint::{ask, assert_equal, create_table, described};
    use crate::support::Server;
    use crate::writers::fill;

    let (server, target) = (dynoxide(), Server::in_memory());
    let source = server.endpoint();
    create_table(&source, "Orders", Some("NEW_AND_OLD_IMAGES"));
    let ttl = r#"{"TableName":"Orders","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"until"}}"#;
    ask(&source, "UpdateTimeToLive", ttl);
    fill(&source, "Orders", 700).await;
    let file = server.folder.path().join("tables.db");
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--from", file.to_str().unwrap(), "--endpoint", &target.endpoint];
    succeeds(folder.path(), &arguments);
    assert_equal((&source, "Orders"), (&target.endpoint, "Orders"));
    for part in ["KeySchema", "AttributeDefinitions"] {
        assert_eq!(described(&source, "Orders", part), described(&target.endpoint, "Orders", part));
    }
    let stream = described(&target.endpoint, "Orders", "StreamSpecification");
    assert_eq!(stream.str_at("StreamViewType"), Some("NEW_AND_OLD_IMAGES"));
    // What is left of a server that was killed has its last changes in a log.
    let kept = folder.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let before = crate::endpoint::items(&source, "Orders");
    let kill = server;
    let path = kill.folder.path().to_owned();
    let mut kill = kill;
    kill.process.kill().unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), kept.join(entry.file_name())).unwrap();
    }
    let again = kept.join("tables.db");
    succeeds(
        folder.path(),
        &["--from", again.to_str().unwrap(), "--as", "Again", "--endpoint", &target.endpoint],
    );
    assert_eq!(before, crate::endpoint::items(&target.endpoint, "Again"));
}
