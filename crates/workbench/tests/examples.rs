//! The models in `examples/models`: all pass their check, but the one whose Scan must be found.

use std::path::Path;

use keywright_workbench::model::{parse, write};
use keywright_workbench::report::{Checked, text};

fn checked(name: &str) -> Checked {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models").join(name);
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let told = |faults: Vec<keywright_workbench::model::Fault>| -> String {
        faults.iter().map(|fault| fault.in_file(name) + "\n").collect()
    };
    let model = parse(&source).unwrap_or_else(|faults| panic!("{}", told(faults)));
    let again = parse(&write(&model)).unwrap_or_else(|faults| panic!("{}", told(faults)));
    assert_eq!(write(&model), write(&again), "{name} is written as it is read");
    keywright_workbench::check(&model, &|_| Err("no files".to_owned()), &mut |_| {})
        .unwrap_or_else(|faults| panic!("{}", told(faults)))
}

#[test]
fn r72_the_models_of_the_seeds_pass() {
    for name in
        ["ecommerce.yaml", "orders.yaml", "storefront.yaml", "shop-single-table.yaml", "building-blocks.yaml"]
    {
        let checked = checked(name);
        assert!(checked.passes(), "{}", text(&checked, name));
    }
}

#[test]
fn the_ten_questions_have_their_golden_results_with_two_indexes() {
    let checked = checked("ecommerce.yaml");
    let counts: Vec<u64> = checked.report.patterns.iter().map(|pattern| pattern.items_returned).collect();
    // Question 4 as the article's model answers it: both products of the order.
    assert_eq!(counts, [1, 1, 4, 2, 1, 1, 1, 1, 1, 2]);
    assert!(
        checked.report.patterns.iter().all(|pattern| pattern.read_units().0 == 1 && pattern.requests == 1)
    );
    assert_eq!(checked.report.tables[0].indexes.len(), 2);
}

#[test]
fn r70_the_scan_of_the_complaint_example_is_found() {
    let checked = checked("complaints.yaml");
    assert!(!checked.passes());
    let errors: Vec<(&str, &str)> = checked
        .findings
        .iter()
        .filter(|finding| finding.severity == keywright_workbench::lint::Severity::Error)
        .map(|finding| (finding.rule, finding.subject.as_str()))
        .collect();
    assert_eq!(errors, [("L002", "P5")]);
}
