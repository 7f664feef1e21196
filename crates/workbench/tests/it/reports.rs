//! The reports of all examples in all four forms, in `snapshots/reports`. `UPDATE_EXPECT=1` rewrites them.

use std::path::Path;

use expect_test::expect_file;
use keywright_model::parse;
use keywright_workbench::report::{json, junit, markdown, text};

use crate::support::{checked_examples, no_files};

#[test]
fn the_reports_of_every_example_match_their_snapshots() {
    for (name, checked) in checked_examples() {
        let file = format!("{name}.yaml");
        for (ending, report) in [
            ("txt", text(checked, &file)),
            ("json", json(checked)),
            ("xml", junit(checked, &file)),
            ("md", markdown(checked)),
        ] {
            expect_file![format!("../snapshots/reports/{name}.{ending}")].assert_eq(&report);
        }
    }
}

#[test]
fn a_json_report_is_valid_and_says_whether_the_check_passes() {
    for (name, checked) in checked_examples() {
        let report: serde_json::Value = serde_json::from_str(&json(checked)).expect("JSON");
        assert_eq!(report["passes"], checked.passes(), "{name}");
        assert_eq!(report["patterns"].as_array().map(Vec::len), Some(checked.report.patterns.len()));
    }
}

/// Colour never carries a meaning alone: there is none.
#[test]
fn no_report_has_escapes_for_a_terminal() {
    for (name, checked) in checked_examples() {
        for report in [text(checked, "m"), json(checked), junit(checked, "m"), markdown(checked)] {
            assert!(!report.contains('\u{1b}'), "{name}");
        }
    }
}

/// A table beyond the service's limits is reported like any other finding, and its patterns fail with a
/// reason.
#[test]
fn a_table_beyond_the_limits_is_reported_in_every_format() {
    for name in ["L033-global-bad.yaml", "L033-local-bad.yaml", "L033-projected-bad.yaml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint").join(name);
        let model = parse(&std::fs::read_to_string(path).expect(name)).expect(name);
        let checked = keywright_workbench::check(&model, &no_files, &mut |_| {}).expect(name);
        assert!(!checked.passes());
        for report in [text(&checked, name), json(&checked), junit(&checked, name), markdown(&checked)] {
            assert!(
                report.contains("a table has at most") || report.contains("indexes have at most"),
                "{report}"
            );
            assert!(
                report.contains("use global indexes")
                    || report.contains("share indexes")
                    || report.contains("project all"),
                "{report}"
            );
            assert!(report.contains("do what rule L033 says"), "{report}");
        }
    }
}
