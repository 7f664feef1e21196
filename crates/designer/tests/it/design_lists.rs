//! Entities kept as lists in the items of their parents.

use keywright_designer::design;
use keywright_model::{HalfUnits, Model, Operation};

use crate::support::{billed, check, designed, model, problem};

const CART: &str = "format: 1
model: cart
tables: {Cart: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 100000, size: 300, unique: [[orderId]], attrs: {orderId: {type: S, format: uuid}, note: S}}
  Line: {count: 300000, size: 100, parent: Order, unique: [[orderId, sku]], attrs: {orderId: {type: S, format: uuid}, sku: {type: S, distinct: 1000}, qty: N}}
patterns:
  - {id: Q1, query: [Order, Line], given: {orderId: eq}, returns: {avg: 4, max: 50}, rate: 5}
  - {id: W1, transact: [{put: Order, if: not-exists}, {put: Line, n: 3}MORE], rate: 5}
data: {generate: {seed: 12, sample: 200}}
";

/// The written model is billed as predicted, and the rules find no fault with its transactions.
fn holds(written: &Model) {
    for own in design::verify_writes(written).expect("they run") {
        assert!(own.agrees() && !own.refused, "{own:?}");
    }
    assert!(!check(written).findings.iter().any(|own| own.rule == "L039"));
}

#[test]
fn a_transaction_whose_children_become_a_list_is_a_write_of_one_item_and_paid_once() {
    let (found, written) = designed(&CART.replace("MORE", ""));
    assert!(found.embedded.iter().any(|own| own.child == "Line"), "{:?}", found.embedded);
    let write = written.pattern("W1").expect("W1");
    assert!(matches!(write.operation, Operation::Write(_)), "{:?}", write.operation);
    holds(&written);
    let bill = billed(&written);
    let units: Vec<HalfUnits> =
        bill.lines.iter().filter(|line| line.pattern == "W1").map(|line| line.write).collect();
    assert_eq!(units, [HalfUnits(2)]);
}

#[test]
fn a_transaction_with_a_further_condition_check_stays_one() {
    let text = CART.replace("MORE", ", {put: Note}").replace(
        "patterns:",
        "  Note: {count: 100, size: 50, unique: [[noteId]], attrs: {noteId: S}}\npatterns:",
    );
    let (_, written) = designed(&text);
    let write = written.pattern("W1").expect("W1");
    assert!(
        matches!(&write.operation, Operation::Transact(steps) if steps.len() > 1),
        "{:?}",
        write.operation
    );
    holds(&written);
}

const HOTEL: &str = "format: 1
model: hotel
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Hotel: {count: 1000, size: 500, unique: [[hotelId]], attrs: {hotelId: S, name: S}}
  Room: {count: 20000, size: 60, parent: Hotel, unique: [[hotelId, roomNo]], attrs: {hotelId: S, roomNo: {type: N, distinct: 20}, beds: N}}
  Night: {count: 200000, size: 100, NIGHT unique: [[hotelId, roomNo, night]], attrs: {hotelId: S, roomNo: N, night: {type: S, format: date, distinct: 730}BEDS}}
patterns:
  - {id: Q1, query: [Hotel, Room], given: {hotelId: eq}, returns: {avg: 21, max: 40}, rate: 5}
  - {id: Q9, query: Night, given: {hotelId: eq, roomNo: eq, night: between}, returns: {avg: 10, max: 60}, rate: 3}
  - {id: W1, put: Night, if: not-exists, rate: 1}
data: {generate: {seed: 10, sample: 400}}
";

#[test]
fn an_entity_that_others_belong_to_or_copy_is_no_list_and_the_reason_is_reported() {
    for (night, beds) in [("parent: Room,", ""), ("", ", beds: {type: N, copyOf: Room.beds}")] {
        let original = model(&HOTEL.replace("NIGHT", night).replace("BEDS", beds));
        let found = design::solve(&problem(&original), &crate::support::prices()).expect("a design");
        assert!(found.embedded.is_empty(), "{:?}", found.embedded);
        let said = design::unlisted(&original, &found).join("\n");
        assert!(said.contains("Night belongs to it or copies what it has"), "{said}");
        let made = design::to_model(&original, "Tab", &found).expect("templates");
        assert!(check(&made).passes());
    }
    let (found, _) = designed(&HOTEL.replace("NIGHT", "").replace("BEDS", ""));
    assert!(found.embedded.iter().any(|own| own.child == "Room"), "{:?}", found.embedded);
}
