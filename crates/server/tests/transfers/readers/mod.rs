//! Export folders, read by programs that are not ours: a script that knows only what is published of them,
//! `DuckDB`, and another server's import. `cargo xtask test` installs them.

mod duckdb;
#[cfg(feature = "sqlite")]
mod foreign;
mod script;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::exports::{Scene, and};
use crate::support::without_aws_settings;
use crate::table::{increment, row};

/// The folder of what is installed.
fn clients() -> PathBuf {
    std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it").into()
}

/// A script of this folder, run by the Python of an environment with these arguments; what it prints.
fn python(environment: &str, script: &str, arguments: &[&str]) -> Value {
    let mut command = Command::new(clients().join(environment).join("bin/python"));
    without_aws_settings(&mut command);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers/readers");
    let ended = command.arg("-B").arg(scripts.join(script)).args(arguments).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    serde_json::from_slice(&ended.stdout).unwrap()
}

/// A full export with a prefix and an increment of it.
struct Exported {
    scene: Scene,
    full: Value,
    change: Value,
}

/// Items of the full export, and the sum of their numbers.
const ITEMS: u64 = 300;
const SUM: u64 = ITEMS * (ITEMS - 1) / 2;
/// Puts of new items, changes and deletes in the increment.
const CHANGES: [u64; 3] = [10, 30, 20];

impl Exported {
    fn make() -> Self {
        let mut scene = Scene::with(ITEMS);
        let prefix = json!({"S3Prefix": "some/where"});
        let full = scene.export(&prefix).0;
        let [new, changed, deleted] = CHANGES;
        for number in (0..changed).chain(ITEMS..ITEMS + new) {
            scene.db.put(crate::table::TABLE, &row(number, 1));
        }
        (changed..changed + deleted).for_each(|number| scene.db.delete(number));
        let window = increment(full["ExportTime"].as_f64().unwrap(), None);
        let change = scene.export(&and(window, &prefix)).0;
        Self { scene, full, change }
    }

    fn bucket(&self) -> String {
        self.scene.bucket().to_str().unwrap().to_owned()
    }
}

/// The key of an export's summary.
fn summary_of(export: &Value) -> &str {
    export["ExportManifest"].as_str().unwrap()
}
