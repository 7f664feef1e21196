//! Every row of published examples is decided as its page says, and the first look never contradicts it.

use std::collections::BTreeSet;

use crate::rows;

/// Rows that the table has at least.
const ROWS_MIN: usize = 200;

#[test]
fn requests_are_decided_as_published_examples_say() {
    let rows = rows::read();
    assert!(rows.len() >= ROWS_MIN, "{} rows", rows.len());
    let wrong = rows.iter().filter_map(|row| {
        let decision = row.decide(&row.context());
        (decision != row.decision).then(|| format!("{}: {} and not {decision}", row.name, row.decision))
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_first_look_never_contradicts_the_second() {
    let rows = rows::read();
    let mut depends = 0;
    for row in &rows {
        let first = row.decide(&row.context().unbound());
        match first.as_str() {
            "depends" => depends += 1,
            decided => assert_eq!(decided == "allow", row.decision == "allow", "{}: {decided}", row.name),
        }
    }
    assert!(depends >= 30, "only {depends} rows depend on what is bound");
}

#[test]
fn the_table_has_every_kind_of_decision() {
    let rows = rows::read();
    let decisions: BTreeSet<&str> = rows.iter().map(|row| row.decision.as_str()).collect();
    let expected = [
        "allow",
        "explicit boundary",
        "explicit identity",
        "explicit resource",
        "explicit session",
        "implicit boundary",
        "implicit identity",
        "implicit resource",
        "implicit session",
    ];
    assert_eq!(decisions.into_iter().collect::<Vec<_>>(), expected);
}
