//! Writer knowledge decides which derived items are possible and which writes read first. Conditions check
//! that it is current, and a writer with stale knowledge is refused.

use crate::support::{no_files, prices};
use keywright_designer::design::{self, Design, Fault, Proof, Slot, carry};
use keywright_model::{Condition, Model, Pattern, WriteKind, write};
use keywright_workbench::report::text;

fn solved(model: &Model, indexes: usize) -> Result<Design, Vec<Fault>> {
    let problem = design::Problem { gsi_max: indexes, ..crate::support::problem(model) };
    design::solve(&problem, &prices())
}

/// The model designed with at most this many indexes and read back; its writes are run, and its check passes.
fn designed(text: &str, indexes: usize) -> (Design, Model) {
    let original = crate::support::model(text);
    let found = solved(&original, indexes).expect("a design");
    let mut model = design::to_model(&original, &original.tables.first().expect("a table").name, &found)
        .expect("templates");
    for own in design::verify_writes(&model).expect("it runs") {
        assert!(own.agrees() && !own.refused, "{own:?}\n{}", write(&model));
    }
    carry(&original, &no_files, &found.embedded, &mut model).expect("it runs");
    let model = crate::support::model(&write(&model));
    checked(&model);
    (found, model)
}

fn checked(model: &Model) -> String {
    let checked = crate::support::check(model);
    let said = text(&checked, "x.yaml");
    assert!(checked.passes(), "{said}\n{}", write(model));
    said
}

fn pattern<'a>(model: &'a Model, id: &str) -> &'a Pattern {
    model.pattern(id).expect("the pattern")
}

/// What each step does to which entity under which condition.
fn steps(model: &Model, id: &str) -> Vec<(WriteKind, String, Option<String>)> {
    let condition = |own: &Condition| match own {
        Condition::Exists => "exists".to_owned(),
        Condition::NotExists => "not-exists".to_owned(),
        Condition::Expression(expression) => expression.text().to_owned(),
    };
    let own = pattern(model, id).steps().iter();
    own.map(|step| (step.kind, step.entity.clone(), step.condition.as_ref().map(condition))).collect()
}

fn step(kind: WriteKind, entity: &str, condition: &str) -> (WriteKind, String, Option<String>) {
    (kind, entity.to_owned(), (!condition.is_empty()).then(|| condition.to_owned()))
}

const TWO_WAYS: &str = r"
format: 1
model: two-ways
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  A: {count: 1000, size: 30, unique: [[id]], attrs: {id: S, x: S, y: S}}
patterns:
  - {id: P1, get: A, given: {id: eq}, rate: 5}
  - {id: P2, query: A, given: {x: eq}, returns: {avg: 10, max: 10}, rate: 5}
  - {id: W1, update: A, set: 'y = :y', if: exists, rate: 1, example: {id: i1, x: x1, y: new}}
data: {generate: {seed: 1, sample: 50}}
";

#[test]
fn an_update_whose_example_names_the_second_key_keeps_derived_items_without_any_index() {
    let (found, model) = designed(TWO_WAYS, 0);
    assert_eq!(found.gsis, 0);
    let both = [step(WriteKind::Update, "A", "exists"), step(WriteKind::Update, "AByX", "exists")];
    assert_eq!(steps(&model, "W1"), both);
    let (found, _) = designed(&TWO_WAYS.replace("rate: 5}", "rate: 5, consistency: strong}"), 5);
    assert_eq!((found.gsis, found.proof), (0, Proof::NoIndexes));
    let Proof::Possible { gsis: 0, with, .. } = designed(TWO_WAYS, 5).0.proof else { panic!("a way with 0") };
    assert_eq!(with.second_items, [("A".to_owned(), vec!["x".to_owned()])]);
}

#[test]
fn an_update_whose_condition_compares_the_second_key_knows_it_as_well() {
    let text = TWO_WAYS.replace("if: exists", "if: 'x = :was'").replace("x: x1, y: new", "was: x1, y: new");
    let (_, model) = designed(&text, 0);
    let both = [step(WriteKind::Update, "A", "x = :was"), step(WriteKind::Update, "AByX", "exists")];
    assert_eq!(steps(&model, "W1"), both);
}

#[test]
fn without_knowing_the_second_key_there_are_no_derived_items_and_the_missing_knowledge_is_reported() {
    let original = crate::support::model(&TWO_WAYS.replace("x: x1, ", ""));
    let faults = solved(&original, 0).expect_err("no design");
    let said = faults.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("derived items of A by x would do if") && said.contains("W1 knew x"), "{said}");
    // The value that it writes is not the previous one.
    let sets = TWO_WAYS.replace("set: 'y = :y'", "set: 'x = :x'");
    let said = solved(&crate::support::model(&sets), 0).expect_err("no design");
    let said = said.iter().map(ToString::to_string).collect::<String>();
    assert!(said.contains("W1 knew x"), "{said}");
}

#[test]
fn an_update_of_the_second_key_that_knows_the_whole_item_moves_the_derived_item() {
    let text = TWO_WAYS
        .replace("set: 'y = :y', if: exists", "set: 'x = :x', if: 'x = :was'")
        .replace("{id: i1, x: x1, y: new}", "{id: i1, was: x1, x: x2, y: y1}")
        .replace("data:", "  - {id: W2, update: A, set: 'y = :y', if: 'x = :x', rate: 1}\n  - {id: W3, delete: A, if: 'x = :x', rate: 1}\n  - {id: W4, put: A, rate: 1}\ndata:");
    let (found, model) = designed(&text, 0);
    assert!(found.placed.iter().any(|own| own.slot == Slot::Copy));
    let moved = [
        step(WriteKind::Update, "A", "x = :was and y = :y"),
        step(WriteKind::Delete, "AByX", "exists"),
        step(WriteKind::Put, "AByX", "not-exists"),
    ];
    assert_eq!(steps(&model, "W1"), moved);
    let gone = [step(WriteKind::Delete, "A", "x = :x"), step(WriteKind::Delete, "AByX", "exists")];
    assert_eq!(steps(&model, "W3"), gone);
    // A put over an existing item would leave its derived item under the old key.
    let put = [step(WriteKind::Put, "A", "not-exists"), step(WriteKind::Put, "AByX", "not-exists")];
    assert_eq!(steps(&model, "W4"), put);
}

#[test]
fn a_derived_item_whose_key_the_writer_has_wrong_is_not_left_behind() {
    let (_, model) = designed(TWO_WAYS, 0);
    let mistaken = write(&model).replace(
        "example: {id: i1, x: x1,",
        "expect: {fails-when: null, reason: ConditionalCheckFailed}\n    example: {id: i1, x: x9,",
    );
    let ran = crate::support::checked(&mistaken);
    assert!(text(&ran, "x.yaml").contains("1 met"), "{}\n{mistaken}", text(&ran, "x.yaml"));
}

#[test]
fn only_items_with_the_attributes_of_the_key_have_derived_items() {
    let text = TWO_WAYS.replace("x: S,", "x: {type: S, present: 0.5},").replace(
        "  - {id: W1, update: A, set: 'y = :y', if: exists, rate: 1, example: {id: i1, x: x1, y: new}}",
        "  - {id: W1, put: A, if: not-exists, rate: 1}\n  - {id: W2, delete: A, if: 'x = :x', rate: 1}",
    );
    let (_, model) = designed(&text, 0);
    assert!(model.entity("AByX").is_some());
}

#[test]
fn hot_keys_of_items_in_transactions_have_twice_the_shards() {
    let text = r"
format: 1
model: votes
tables: {Votes: {key: {pk: S, sk: S}}}
entities:
  Vote: {count: 100000, size: 100, unique: [[voter]], attrs: {voter: S, side: {type: S, values: [A, B]}}}
patterns:
  - {id: P1, get: Vote, given: {voter: eq}, rate: 5}
  - {id: P2, scatter-gather: Vote, given: {side: eq}, returns: {avg: 100, max: 1000}, rate: 1}
  - {id: W1, put: Vote, if: not-exists, rate: {avg: 100, peak: 2600}}
";
    let (found, _) = designed(text, 0);
    let copy = found.placed.iter().find(|own| own.slot == Slot::Copy).expect("derived items");
    assert_eq!(
        copy.view.shards, 6,
        "half of 2600 votes, twice for transactions, on shards that are half free"
    );
}

const TICKETS: &str = r"
format: 1
model: tickets
tables: {Desk: {key: {pk: S, sk: S}}}
entities:
  Ticket: {count: 2000, size: 800, unique: [[ticketId]], attrs: {ticketId: S, agentId: {type: S, distinct: 30}, status: {type: S, values: [OPEN, WAITING, CLOSED]}, priority: N, body: S}}
patterns:
  - {id: Q1, get: Ticket, given: {ticketId: eq}, rate: 10}
  - {id: Q3, query: Ticket, given: {agentId: eq, status: eq}, order: {by: priority, direction: desc}, returns: {avg: 20, max: 100, page: 20}, rate: 5}
  - {id: W1, put: Ticket, if: not-exists, rate: 1}
  - {id: W3, update: Ticket, set: 'agentId = :agentId, priority = priority + :n', if: 'status = :open', rate: 0.5}
data: {generate: {seed: 7, sample: 100}}
";

#[test]
fn a_write_whose_condition_does_not_hold_on_generated_items_is_shown_on_items_where_it_does() {
    let text = TICKETS.replace(
        "data:",
        "  - {id: W5, update: Ticket, set: 'status = :status', if: 'priority > :least and status <> :status and attribute_exists(body)', rate: 0.5, example: {least: 1000000}}\n  - {id: W6, delete: Ticket, if: 'status = :status', rate: 0.1, example: {status: NEVER}}\ndata:",
    );
    let original = crate::support::model(&text);
    let found = solved(&original, 5).expect("a design");
    let model = design::to_model(&original, "Desk", &found).expect("templates");
    for own in design::verify_writes(&model).expect("it runs") {
        assert!(own.agrees() && !own.refused, "{own:?}");
    }
}

/// The sort key of an agent's tickets of a status has two attributes, of which W3 sets one and computes the
/// other.
const HANDED_OVER: &str = r#"
format: 1
model: tickets
tables: {Desk: {key: {pk: S, sk: S}}}
entities:
  Ticket: {count: 200000, size: 800, unique: [[ticketId]], attrs: {ticketId: {type: S, format: uuid}, customerId: {type: S, distinct: 20000}, agentId: {type: S, distinct: 300}, status: {type: S, values: [OPEN, WAITING, CLOSED]}, openedAt: {type: S, format: iso8601}, priority: {type: N}, body: S}}
patterns:
  - {id: Q1, get: Ticket, given: {ticketId: eq}, rate: 10}
  - {id: Q2, query: Ticket, given: {customerId: eq}, order: {by: openedAt, direction: desc}, returns: {avg: 10, max: 200, page: 20}, rate: 5}
  - {id: Q3, query: Ticket, given: {agentId: eq, status: eq}, order: {by: priority, direction: desc}, returns: {avg: 20, max: 100, page: 20}, rate: 5}
  - {id: W1, put: Ticket, if: not-exists, rate: 1}
  - {id: W2, update: Ticket, set: "status = :status", if: exists, rate: 1}
  - {id: W3, update: Ticket, set: "agentId = :agentId, priority = priority + :n", if: "status = :open", rate: 0.5}
data: {generate: {seed: 7, sample: 300}}
"#;

/// `HANDED_OVER` with another entity that has the attributes of its keys, and would be in an index with these
/// as plain keys.
fn with_another_entity() -> String {
    let other = "  Draft: {count: 1000, size: 300, unique: [[draftId]], attrs: {draftId: {type: S, format: uuid}, agentId: S, status: S, priority: N, ticketId: {type: S, format: uuid}}}
patterns:
  - {id: Q9, get: Draft, given: {draftId: eq}, rate: 1}";
    HANDED_OVER.replace("patterns:", other)
}

#[test]
fn keys_that_are_attributes_as_they_are_spare_a_writer_the_reading() {
    let (found, model) = designed(HANDED_OVER, 5);
    assert!(found.reading.is_empty() && found.placed.iter().any(|own| own.several));
    let parts = |index: &keywright_model::Index| -> Vec<String> {
        index.key_parts().map(|part| part.name.clone()).collect()
    };
    let indexes = &model.tables.first().expect("a table").indexes;
    assert!(indexes.iter().any(|index| parts(index) == ["agentId", "status", "priority"]));
    assert_eq!(steps(&model, "W3"), [step(WriteKind::Update, "Ticket", "status = :open")]);
    for own in design::verify(&model).expect("it runs") {
        assert!(own.agrees(), "{own:?}");
    }
}

#[test]
fn a_key_of_attributes_read_before_the_write_is_refused_when_they_have_changed() {
    let (found, model) = designed(&with_another_entity(), 5);
    let reading = found.reading.first().expect("a read before W3");
    assert_eq!(reading.pattern, "W3");
    assert!(reading.monthly > keywright_workbench::price::Money::ZERO);
    let (_, _, condition) = steps(&model, "W3").remove(0);
    let condition = condition.expect("a condition");
    for name in &reading.names {
        assert!(condition.contains(&format!("{name} = :old_{name}")), "{condition}");
    }
    assert_eq!(pattern(&model, "W3-read").rate, pattern(&model, "W3").rate, "as often as the write comes");
    assert!(!checked(&model).contains("L054"));
    // Another writer has changed a variable of the key in between.
    let name = reading.names.iter().next().expect("a name");
    let value = if name == "priority" { "4711" } else { "NEVER" };
    let text = write(&model);
    let start = text.find("  - id: W3\n").or_else(|| text.find("  - {id: W3,")).expect("W3");
    let (before, after) = text.split_at(start);
    let expect =
        format!("expect: {{fails-when: {{Ticket.{name}: {value}}}, reason: ConditionalCheckFailed}}");
    let stale = if after.starts_with("  - id: W3\n") {
        format!("{before}{}", after.replacen("  - id: W3\n", &format!("  - id: W3\n    {expect}\n"), 1))
    } else {
        format!("{before}{}", after.replacen("{id: W3,", &format!("{{id: W3, {expect},"), 1))
    };
    assert!(checked(&crate::support::model(&stale)).contains("1 met"));
}

#[test]
fn attributes_compared_by_a_condition_are_not_read_again() {
    let known = HANDED_OVER.replace("if: \"status = :open\"", "if: \"status = :open and priority = :was\"");
    let (found, model) = designed(&known, 5);
    assert!(found.reading.is_empty() && model.pattern("W3-read").is_none(), "{:?}", found.reading);
    let again = designed(&write(&designed(HANDED_OVER, 5).1), 5);
    assert!(again.0.reading.is_empty(), "designed anew, its condition tells what it knows");
}

#[test]
fn items_that_one_transaction_puts_have_derived_items_of_their_own() {
    let text = r"
format: 1
model: places
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  Line: {count: 3000, size: 150, unique: [[orderId, productId]], attrs: {orderId: {type: S, distinct: 1000}, productId: {type: S, distinct: 12}, day: {type: S, format: iso8601}}}
patterns:
  - {id: P1, query: Line, given: {productId: eq}, order: {by: day, direction: desc}, returns: {avg: 20, max: 50}, rate: 5}
  - {id: P2, query: Line, given: {orderId: eq}, returns: {avg: 3, max: 20}, rate: 5}
  - {id: W1, transact: [{put: Line, n: 6, if: not-exists}], rate: 1}
";
    let (found, _) = designed(text, 0);
    assert!(found.placed.iter().any(|own| own.slot == Slot::Copy));
}

/// `OR` leaves open whether there is an item: its derived item could stay behind under another key.
#[test]
fn a_put_whose_condition_allows_an_existing_item_replaces_it() {
    let update =
        "  - {id: W1, update: A, set: 'y = :y', if: exists, rate: 1, example: {id: i1, x: x1, y: new}}";
    assert!(TWO_WAYS.contains(update));
    let solves = |condition: &str| {
        let put = format!("  - {{id: W1, put: A, if: '{condition}', rate: 1}}");
        solved(&crate::support::model(&TWO_WAYS.replace(update, &put)), 0).is_ok()
    };
    assert!(solves("attribute_not_exists(id)") && solves("y = :y And attribute_not_exists(id)"));
    assert!(!solves("attribute_not_exists(id) OR y < :y"));
}

/// With readable prefixes and without keys of several attributes the design does the same; its writers must
/// then read what they do not know.
#[test]
fn the_style_of_keys_is_the_authors_choice() {
    let original = crate::support::model(HANDED_OVER);
    let styled = |style: design::KeyStyle| {
        let problem = design::Problem { style, ..crate::support::problem(&original) };
        let found = design::solve(&problem, &prices()).expect("a design");
        let names = design::name(&found);
        (found, names)
    };
    let (short, short_names) = styled(design::KeyStyle::default());
    assert!(short.placed.iter().any(|own| own.several));
    let style = design::KeyStyle { prefixes: design::Prefixes::Readable, multi_attribute: false };
    let (readable, names) = styled(style);
    assert!(readable.placed.iter().all(|own| !own.several) && !readable.reading.is_empty());
    let prefixes = |names: &[design::Named]| -> Vec<String> {
        let texts = names.iter().flat_map(|own| [&own.partition, &own.sort]);
        texts
            .filter_map(|text| Some(text.split_once('#')?.0.to_owned()))
            .filter(|own| !own.is_empty() && !own.starts_with('{'))
            .collect()
    };
    assert!(prefixes(&short_names).iter().all(|own| own.len() <= 2), "{short_names:?}");
    assert!(prefixes(&names).iter().all(|own| own.len() > 2), "{names:?}");
}
