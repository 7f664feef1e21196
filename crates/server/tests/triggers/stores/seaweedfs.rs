//! `SeaweedFS`: a store that spreads objects over volumes.

use std::time::Instant;

use serde_json::json;

use super::{BUCKET, KEY, SECRET, START_TIME_MAX, Store, free_address, old_data_is_archived, program};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs SeaweedFS: run `cargo xtask test --long`"]
async fn r65_old_data_is_archived_by_a_program_and_expired_items_by_a_trigger() {
    let (address, folder) = (free_address(), tempfile::tempdir().unwrap());
    let keys = json!({"identities": [{
        "name": "keywright",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "List", "Write"],
    }]});
    let (config, data) = (folder.path().join("s3.json"), folder.path().join("data"));
    std::fs::write(&config, keys.to_string()).unwrap();
    std::fs::create_dir(&data).unwrap();
    let mut weed = program("seaweedfs", "weed");
    weed.args(["server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
    weed.args(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.volumeSizeLimitMB=64"]);
    weed.arg(format!("-s3.port={}", address.port())).arg(format!("-s3.config={}", config.display()));
    weed.arg(format!("-dir={}", data.display()));
    let ports = ["s3.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"];
    weed.args(ports.map(|port| format!("-{port}={}", free_address().port())));
    let (master, grpc) = (free_address(), free_address());
    weed.arg(format!("-master.port={}", master.port())).arg(format!("-master.port.grpc={}", grpc.port()));
    let store = Store::start(weed, address, folder);
    let begun = Instant::now();
    let made = || {
        let mut make = crate::clients::python("archival.py");
        make.args(["", &format!("http://{address}"), BUCKET, KEY, SECRET, "make"]);
        make.output().unwrap().status.success()
    };
    while !made() {
        assert!(begun.elapsed() < START_TIME_MAX, "the store takes no bucket");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    old_data_is_archived(&store).await;
}
