//! The programs of articles, and an archive, in real S3-compatible stores that check signatures (requirement
//! `r65`).
//!
//! `cargo xtask test` installs rclone's, and with `--long` also `SeaweedFS`.

mod rclone;
mod seaweedfs;

use serde_json::json;

use crate::clients::{python, run};
use crate::function::eventually;
use crate::scene::{Scene, TABLE};
use crate::support::stores::{BUCKET, KEY, SECRET, Store};

/// `archive_old_data` and `set_ttl` run unchanged, what expires then is archived, and both are in the store.
async fn old_data_is_archived(store: &Store) {
    let endpoint = store.endpoint();
    let scene = Scene::of(store.server(&["--in-memory", "--ttl-delay-ms", "0"]));
    let mut programs = python("archival.py");
    programs.args([&scene.server.endpoint, &endpoint, BUCKET, KEY, SECRET]);
    run(programs);
    scene.create(TABLE).await;
    scene.enable_ttl().await;
    let names: Vec<String> = (0..40).map(|number| format!("e{number}")).collect();
    scene
        .trigger(
            &format!("s3://{BUCKET}/expired"),
            json!({
                "BatchSize": 7,
                "FilterCriteria": {"Filters": [{"Pattern": "{\"userIdentity\":{\"type\":[\"Service\"]}}"}]},
            }),
        )
        .await;
    scene.put_expiring(&names, 1_790_000_000).await;
    eventually("the archive", || (scene.figures()["archived"] == 40).then_some(()));
    let mut check = python("archival.py");
    check.args([&scene.server.endpoint, &endpoint, BUCKET, KEY, SECRET, "40"]);
    run(check);
}
