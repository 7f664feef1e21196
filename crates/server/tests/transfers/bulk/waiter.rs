//! Bulk puts as boto3 sees them: its model of the API, and its waiter.

use std::process::Command;

use serde_json::json;

use super::{item, scene};
use crate::imports::{BUCKET, line};
use crate::support::without_aws_settings;

#[test]
#[ignore = "needs clients: run `cargo xtask test`"]
fn boto3_starts_awaits_lists_and_cancels_bulk_puts() {
    let scene = scene(&[]);
    scene.put("good/1", (0..20).map(|number| line(&item(number))).collect::<String>());
    scene.put("bad/1", line(&json!({"pk": {"S": "no sort key"}})));
    scene.put("slow/1", (0..60_000).map(|number| line(&item(number))).collect::<String>());
    let clients = std::env::var_os("KEYWRIGHT_CLIENTS").expect("`cargo xtask test` sets it");
    let mut python = Command::new(std::path::Path::new(&clients).join("python/bin/python"));
    without_aws_settings(&mut python);
    let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers/bulk");
    python.arg("-B").arg(scripts.join("waiter.py")).args([&scene.server().endpoint, BUCKET]);
    let ended = python.output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{}{}", said(&ended.stdout), said(&ended.stderr));
}
