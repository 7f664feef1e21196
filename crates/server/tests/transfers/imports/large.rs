//! Many objects, and one without a line end: memory stays within its bound.

use std::io::{BufWriter, Write as _};

use serde_json::json;

use super::{Scene, counts, line, request};
use crate::db::factor;

pub(crate) const MIB: u64 = 1024 * 1024;
/// What an import may take more than an idle server, with the store's write buffer and caches: as restores.
pub(crate) const MORE_BYTES: u64 = 256 * MIB;

/// The most memory that the server has held, in bytes.
pub(crate) fn peak(scene: &Scene) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", scene.server().id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

/// Makes an object that is one line without an end.
pub(crate) fn without_line_end(scene: &Scene, key: &str) {
    let bytes = if factor() > 1 { 1024 * MIB } else { 200 * MIB };
    let mut file = BufWriter::new(std::fs::File::create(scene.object(key)).unwrap());
    file.write_all(b"{\"Item\":{\"pk\":{\"S\":\"").unwrap();
    let piece = "x".repeat(1024 * 1024);
    for _ in 0..bytes / MIB {
        file.write_all(piece.as_bytes()).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_object_without_a_line_end_is_one_error_and_takes_no_memory() {
    let mut scene = Scene::new();
    scene.put("in/1", line(&json!({"pk": {"S": "a"}})));
    without_line_end(&scene, "in/2");
    scene.put("in/3", line(&json!({"pk": {"S": "b"}})));
    let before = peak(&scene);
    let import = scene.imported(&request("New", "in/"));
    assert_eq!(counts(&import), [3, 2, 1], "{import}");
    let more = peak(&scene).saturating_sub(before);
    assert!(more < MORE_BYTES, "{} MiB more than idle", more / MIB);
}

#[test]
#[cfg(target_os = "linux")]
fn tens_of_thousands_of_objects_are_read_and_one_too_many_is_refused() {
    let count = if factor() > 1 { 50_000 } else { 3_000 };
    let mut scene = Scene::new();
    for number in 0..count {
        scene.put(&format!("in/{number:05}"), line(&json!({"pk": {"S": format!("k{number}")}})));
    }
    let before = peak(&scene);
    let import = scene.imported(&request("New", "in/"));
    assert_eq!(counts(&import), [count, count, 0]);
    let more = peak(&scene).saturating_sub(before);
    assert!(more < MORE_BYTES, "{} MiB more than idle", more / MIB);
    if count == 50_000 {
        scene.put("in/more", "");
        let import = scene.imported(&request("Other", "in/"));
        assert_eq!(import["FailureCode"], "TooManyObjects");
        scene.db.wait_until_gone("Other");
    }
}
