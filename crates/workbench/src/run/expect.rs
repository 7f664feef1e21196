//! Compares what came out with what was expected.

use keywright_semantics::capacity::HalfUnits;

use super::report::{Outcome, PatternReport};
use crate::model::{Expectation, Pattern};

/// Judges a pattern that ran.
pub(super) fn judge(pattern: &Pattern, report: &PatternReport) -> Outcome {
    match &pattern.expect {
        None => Outcome::Ran,
        Some(expect) => outcome(complaints(expect, report)),
    }
}

pub(super) fn outcome(complaints: Vec<String>) -> Outcome {
    if complaints.is_empty() { Outcome::Met } else { Outcome::Unmet(complaints) }
}

/// One sentence for each expectation on items and units that was not met.
pub(super) fn complaints(expect: &Expectation, report: &PatternReport) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Some(items) = &expect.items {
        for item in items.iter().filter(|item| !report.returned.contains(item)) {
            complaints.push(format!("expected {} among the items; it did not come", listed(item)));
        }
        if expect.exact {
            for item in report.returned.iter().filter(|item| !items.contains(item)) {
                complaints.push(format!("{} came and was not expected", listed(item)));
            }
            if complaints.is_empty() && *items != report.returned {
                complaints.push("the items came in another order than expected".to_owned());
            }
        }
    }
    if let Some(count) = expect.count
        && count != report.items_returned
    {
        complaints.push(format!("expected {count} items, {} came", report.items_returned));
    }
    for (what, expected, measured) in [
        ("read", expect.read_units, report.read_units()),
        ("write", expect.write_units, report.write_units()),
    ] {
        if let Some(expected) = expected
            && expected != measured
        {
            complaints.push(format!(
                "expected {} {what} units, it took {}",
                units(expected),
                units(measured)
            ));
        }
    }
    complaints
}

fn listed(key: &[String]) -> String {
    format!("[{}]", key.join(", "))
}

/// Units in whole numbers and halves.
pub fn units(HalfUnits(half): HalfUnits) -> String {
    if half.is_multiple_of(2) { (half / 2).to_string() } else { format!("{}.5", half / 2) }
}
