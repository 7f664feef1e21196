//! Reads of part of a family: the children of one parent are in one collection, where each read's items are
//! one range.

use keywright_designer::design::{verify, verify_writes};
use keywright_model::Model;
use keywright_workbench::run::OperationKind;

use crate::support::{billed, check, designed, model};

/// The written model runs as predicted, and the rules find no fault with its keys.
fn proved(written: &Model) {
    for own in verify(written).expect("it runs") {
        assert!(own.agrees(), "{own:?}");
    }
    for own in verify_writes(written).expect("they run") {
        assert!(own.agrees() && !own.refused, "{own:?}");
    }
    let found = check(written);
    let against = ["L008", "L010", "L011", "L014", "L052", "L057"];
    let said: Vec<String> = found
        .findings
        .iter()
        .filter(|own| against.contains(&own.rule))
        .map(|own| format!("{own:?}"))
        .collect();
    assert!(said.is_empty(), "{said:#?}");
}

const SHOP: &str = "format: 1
model: shop
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  Order: {count: 1000000, size: 400, ORDER attrs: {orderId: {type: S, format: uuid}, total: N}}
  Line: {count: 4000000, size: 150, parent: Order, LINE attrs: {orderId: S, sku: {type: S, distinct: 5000}, qty: N}}
  Event: {count: 8000000, size: 200, parent: Order, EVENT attrs: {orderId: S, eventId: {type: S, format: ulid}, at: {type: S, format: iso8601}, what: S}}
patterns:
  - {id: Q1, query: [Order, Line], given: {orderId: eq}, returns: {avg: 5, max: 200, page: 200}, rate: 20}
  - {id: Q2, query: Event, given: {orderId: eq}, order: {by: at}, returns: {avg: 8, max: 500, page: 50}, rate: 5}
  - {id: W1, put: Event, if: not-exists, rate: 10}
  - {id: W2, put: Line, if: not-exists, rate: 5}
data: {generate: {seed: 2, sample: 300}}
";

#[test]
fn a_read_of_two_entities_of_three_needs_no_index_and_costs_what_the_best_by_hand_does() {
    let text = |order: &str, line: &str, event: &str| {
        SHOP.replace("ORDER", order).replace("LINE", line).replace("EVENT", event)
    };
    let (design, written) =
        designed(&text("unique: [[orderId]],", "unique: [[orderId, sku]],", "unique: [[eventId]],"));
    assert_eq!((design.gsis, written.tables.first().map(|own| own.indexes.len())), (0, Some(0)));
    proved(&written);
    let by_hand = text(
        "key: {pk: 'o#{orderId}', sk: 'a#'},",
        "key: {pk: 'o#{orderId}', sk: 'l#{sku}'},",
        "key: {pk: 'e#{orderId}', sk: 'e#{at}#{eventId}'},",
    );
    assert!(billed(&written).total() <= billed(&model(&by_hand)).total());
}

/// Comments sort before posts by their names, and a page of a post with its comments begins with the post.
#[test]
fn a_page_of_a_parent_with_its_children_begins_with_the_parent_and_leaves_out_other_entities() {
    let (design, written) = designed(
        "format: 1
model: blog
tables: {Blog: {key: {pk: S, sk: S}}}
entities:
  Post: {count: 50000, size: 900, unique: [[postId]], attrs: {postId: {type: S, format: ulid}, body: S}}
  Comment: {count: 1000000, size: 300, parent: Post, unique: [[commentId]], attrs: {postId: S, commentId: {type: S, format: ulid}, words: S}}
  Like: {count: 200000, size: 90, parent: Post, unique: [[postId, userId]], attrs: {postId: S, userId: {type: S, distinct: 3000}}}
patterns:
  - {id: Q1, get: Post, given: {postId: eq}, rate: 10}
  - {id: Q2, query: [Post, Comment], given: {postId: eq}, returns: {avg: 21, max: 2000, page: 100}, rate: 10}
  - {id: Q3, query: [Post, Like], given: {postId: eq}, returns: {avg: 4, max: 20}, rate: 10}
  - {id: Q4, query: Like, given: {postId: eq}, returns: {avg: 4, max: 20}, rate: 10}
  - {id: W1, put: Like, if: not-exists, rate: 10}
  - {id: W2, put: Comment, if: not-exists, rate: 1}
data: {generate: {seed: 2, sample: 300}}
",
    );
    assert_eq!(design.gsis, 0);
    proved(&written);
    let report = check(&written).report;
    let asked = report.patterns.iter().filter(|own| own.operation == OperationKind::Query);
    assert!(asked.clone().count() == 3 && asked.into_iter().all(|own| own.strangers.is_empty()));
}

#[test]
fn items_of_several_entities_sort_together_where_a_read_needs_one_order() {
    let (design, written) = designed(
        "format: 1
model: desk
tables: {Desk: {key: {pk: S, sk: S}}}
entities:
  Ticket: {count: 10000, size: 600, unique: [[ticketId]], attrs: {ticketId: {type: S, format: uuid}, title: S}}
  Comment: {count: 90000, size: 400, parent: Ticket, unique: [[commentId]], attrs: {ticketId: S, commentId: {type: S, format: ulid}, at: {type: S, format: iso8601}, body: S}}
  Change: {count: 50000, size: 150, parent: Ticket, unique: [[changeId]], attrs: {ticketId: S, changeId: {type: S, format: ulid}, at: {type: S, format: iso8601}, what: S}}
patterns:
  - {id: Q1, get: Ticket, given: {ticketId: eq}, rate: 10}
  - {id: Q2, query: [Comment, Change], given: {ticketId: eq}, order: {by: at}, returns: {avg: 14, max: 100}, rate: 5}
  - {id: Q3, query: [Comment, Change], given: {ticketId: eq, at: ge}, returns: {avg: 4, max: 100}, rate: 5}
  - {id: Q4, query: [Ticket, Comment, Change], given: {ticketId: eq}, returns: {avg: 15, max: 100}, rate: 5}
  - {id: W1, put: Comment, if: not-exists, rate: 2}
  - {id: W2, put: Change, if: not-exists, rate: 1}
data: {generate: {seed: 3, sample: 200}}
",
    );
    assert_eq!(design.gsis, 0);
    proved(&written);
}
