//! Compares the result of a run with its expectation.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::value::AttributeValue;

use super::database::key_texts;
use super::report::{Outcome, PatternReport};
use keywright_model::data::Sample;
use keywright_model::{Expectation, Model, Order, Pattern, Read};

/// One sentence for each difference from a pattern's expectation.
pub(super) fn judge(pattern: &Pattern, report: &PatternReport) -> Vec<String> {
    pattern.expect.as_ref().map(|expect| complaints(expect, report)).unwrap_or_default()
}

/// The first place where returned items are not in the pattern's order. The program merges the items of
/// several partitions, so their order is not checked.
pub(super) fn disordered(
    model: &Model,
    samples: &[Sample],
    read: &Read,
    report: &PatternReport,
) -> Option<String> {
    let by = &read.order_by.as_ref()?.attribute;
    let table = model.table(&report.table).filter(|_| report.partitions == 1)?;
    let mut known: BTreeMap<Vec<String>, &AttributeValue> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.table == table.name) {
        if let Some(value) = sample.item.get(by) {
            known.insert(key_texts(table, &sample.item), value);
        }
    }
    let values: Vec<&AttributeValue> =
        report.returned.iter().filter_map(|key| known.get(key).copied()).collect();
    let descending = read.order == Some(Order::Descending);
    let wrong = values.windows(2).any(|pair| match pair {
        [AttributeValue::S(one), AttributeValue::S(two)] => out_of_order(one.cmp(two), descending),
        [AttributeValue::N(one), AttributeValue::N(two)] => out_of_order(one.cmp(two), descending),
        _ => false,
    });
    wrong.then(|| {
        let direction = if descending { "descending" } else { "ascending" };
        format!(
            "the items did not come in {direction} order of `{by}`: put it into the sort key that is read"
        )
    })
}

fn out_of_order(order: Ordering, descending: bool) -> bool {
    if descending { order.is_lt() } else { order.is_gt() }
}

pub(super) fn outcome(complaints: Vec<String>) -> Outcome {
    if complaints.is_empty() { Outcome::Met } else { Outcome::Unmet(complaints) }
}

/// One sentence for each unmet expectation on items and units.
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

/// Units as a decimal number of whole and half units.
pub fn units(HalfUnits(half): HalfUnits) -> String {
    if half.is_multiple_of(2) { (half / 2).to_string() } else { format!("{}.5", half / 2) }
}
