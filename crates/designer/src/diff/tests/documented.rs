//! The reference page names each operation and remark with its fields.

use std::collections::BTreeSet;

use crate::diff::{Action, Remark};

#[test]
fn the_reference_page_has_a_row_for_each_kind_of_operation_and_remark() {
    let path = format!("{}/../../docs/reference/migrations.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).expect("the page is there");
    let kinds = [Action::kinds(), Remark::kinds()].concat();
    for (kind, fields) in &kinds {
        let fields: Vec<String> = fields.iter().map(|name| format!("`{name}`")).collect();
        let row = format!("\n| `{kind}` | {} |", fields.join(", "));
        assert!(page.contains(&row), "{row}");
    }
    let names: BTreeSet<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(names.len(), kinds.len(), "two kinds have one name");
}
