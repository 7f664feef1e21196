//! `read_export.py`: names, orders, sums and counts.

use serde_json::json;

use super::{CHANGES, Exported, ITEMS, SUM, python, summary_of};

#[test]
#[ignore = "needs Python: run `cargo xtask test`"]
fn a_script_that_knows_only_what_is_published_reads_a_full_export_and_an_increment() {
    let exported = Exported::make();
    let read = |export| python("python", "read_export.py", &[&exported.bucket(), summary_of(export)]);
    let full = read(&exported.full);
    assert_eq!(full, json!({"type": "FULL", "files": 4, "lines": ITEMS, "sum": SUM}));
    let [new, changed, deleted] = CHANGES;
    let change = read(&exported.change);
    assert_eq!(
        change,
        json!({"type": "INCREMENTAL", "files": 4, "lines": new + changed + deleted, "new": new,
            "changed": changed, "deleted": deleted})
    );
}
