//! `DuckDB`, as an analyst reads an export.

use serde_json::json;

use super::{CHANGES, Exported, ITEMS, SUM, python, summary_of};

#[test]
#[ignore = "needs DuckDB: run `cargo xtask test`"]
fn a_database_of_analysts_counts_and_adds_up_what_the_table_has() {
    let exported = Exported::make();
    let read = |export| python("duckdb", "read_with_duckdb.py", &[&exported.bucket(), summary_of(export)]);
    let [new, changed, deleted] = CHANGES;
    assert_eq!(read(&exported.full), json!({"lines": ITEMS, "sum": SUM, "partitions": 17}));
    assert_eq!(
        read(&exported.change),
        json!({"lines": new + changed + deleted, "put": new + changed, "old": changed + deleted})
    );
}
