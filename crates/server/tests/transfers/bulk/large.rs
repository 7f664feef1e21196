//! An object without a line end, many objects, and large reports: memory stays within its bound.

#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use super::reports::Reports;
use super::{TABLE, conditional, counts, item, request, scene};
use crate::db::factor;
use crate::imports::large::{MIB, MORE_BYTES, peak, without_line_end};
use crate::imports::{line, with};

/// Bytes of an item whose condition does not hold.
const LARGE_BYTES: usize = 120_000;

/// Of two bulk puts the second one has so many times the reports, which are hundreds of MiB.
const TIMES: usize = 10;
/// How much more memory it may take: the store's buffers and caches are full by then.
const GROWTH_BYTES: u64 = 300 * MIB;

#[test]
fn an_object_without_a_line_end_and_thousands_of_small_ones_take_no_memory() {
    let mut scene = scene(&[]);
    let count = if factor() > 1 { 49_000 } else { 2_000 };
    for number in 0..count {
        scene.put(&format!("in/{number:05}"), line(&item(number)));
    }
    without_line_end(&scene, "in/endless");
    let before = peak(&scene);
    let ended = scene.db.bulk_put(&request());
    assert_eq!(counts(&ended), [count + 1, 1]);
    let more = peak(&scene).saturating_sub(before);
    assert!(more < MORE_BYTES, "{} MiB more than idle", more / MIB);
}

#[test]
fn large_reports_take_no_more_memory_than_small_ones() {
    let mut scene = scene(&[]);
    let text = |letter: &str| json!({"S": letter.repeat(LARGE_BYTES)});
    let there = with(item(1), "x", text("a"));
    scene.db.put(TABLE, &there);
    let attempted = with(item(1), "x", text("b"));
    let refused = conditional(&attempted, "attribute_not_exists(pk)", &Value::Null);
    let small = if factor() > 1 { 2_000 } else { 240 };
    let mut peaks = Vec::new();
    for count in [small, TIMES * small] {
        for object in 0..4 {
            scene.put(&format!("in/{object}"), refused.repeat(count / 4));
        }
        let ended = scene.db.bulk_put(&request());
        assert_eq!(counts(&ended), [u64::try_from(count).unwrap(), 0]);
        peaks.push(peak(&scene));
        let reports = Reports::of(&scene, &ended);
        let whole = |line: &Value| line["Item"] == attempted && line["ExistingItem"] == there;
        assert_eq!(reports.conditions().iter().filter(|line| whole(line)).count(), count);
    }
    let more = peaks[1] - peaks[0];
    assert!(more < GROWTH_BYTES, "{} MiB more", more / MIB);
}
