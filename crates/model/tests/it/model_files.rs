//! Model files are read, checked and written back.

use expect_test::{Expect, expect};
use keywright_model::{Operation, parse, write};

use crate::support::model;

const SHOP: &str = include_str!("../../../model/tests/models/shop.yaml");

fn faults(text: &str, expected: &Expect) {
    let faults = parse(text).expect_err("faulty");
    expected.assert_eq(&faults.iter().map(|fault| fault.in_file("shop.yaml") + "\n").collect::<String>());
}

#[test]
fn the_sample_of_the_documentation_is_read_completely() {
    let shop = model(SHOP);
    assert_eq!((shop.tables.len(), shop.entities.len(), shop.patterns.len()), (1, 4, 2));
    let by_status = shop.tables[0].index("byStatus").expect("there");
    assert_eq!((by_status.partition.len(), by_status.sort.len()), (2, 1));
    let Operation::Transact(steps) = &shop.patterns[1].operation else { panic!("a transaction") };
    assert_eq!((steps.len(), steps[1].n), (3, 3));
}

#[test]
fn a_written_model_reads_as_the_same_model() {
    let shop = model(SHOP);
    let written = write(&shop);
    let again = write(&model(&written));
    assert_eq!(written, again);
}

#[test]
fn owners_earlier_writes_and_strong_batches_are_written_and_read_again() {
    let text = "
format: 1
model: m
tables: {Tab: {key: {pk: S}}}
entities: {A: {key: {pk: \"{shop}#{id}\"}, attrs: {id: S, shop: S}, owner: shop}}
patterns:
  - {id: W, put: A, if: not-exists}
  - {id: Q, get: A, given: {shop: eq, id: eq}, after: W}
  - {id: B, batch: [{get: A, n: 2}], consistency: strong}
";
    let written = write(&model(text));
    for kept in ["owner: shop", "after: W", "consistency: strong"] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert_eq!(written, write(&model(&written)));
}

#[test]
fn all_faults_are_reported_at_once_with_position_and_fix() {
    faults(
        "format: 1
model: shop
tables:
  Shop: {key: {pk: S, sk: X}, biling: on-demand}
  Other: {key: {pk: S, sk: S}, indexes: {gsi: {pk: a, sk: b}}}
entities:
  A: {table: Other, key: {pk: \"a#{idd}\", sk: A}, gssi: {pk: x}, attrs: {id: S, n: {type: Q}}}
patterns:
  - {id: P1, query: B, given: {id: eq}, tabel: x}
  - {id: P2, query: A, given: {id: equal, idx: eq}, rate: often}
  - {id: P2, given: {id: eq}}
",
        &expect![[r#"
            shop.yaml:4:27: the type of a key attribute cannot be `X`; known are S, N, B
            shop.yaml:4:31: unknown field `biling` of a table; did you mean `billing`?
            shop.yaml:5:42: no entity has a value for `a`, a key attribute of index `gsi`: write `gsi: {pk: "…", sk: "…"}` in an entity
            shop.yaml:5:42: no entity has a value for `b`, a key attribute of index `gsi`: write `gsi: {pk: "…", sk: "…"}` in an entity
            shop.yaml:7:26: `a#{idd}`: `A` has no attribute `idd`; did you mean `id`?
            shop.yaml:7:50: `gssi` is no field of an entity and no index of `Other`; did you mean `gsi`?
            shop.yaml:7:90: an attribute's type cannot be `Q`; known are S, N, B, BOOL, NULL, L, M, SS, NS, BS
            shop.yaml:9:21: there is no entity `B`; known are A
            shop.yaml:9:41: unknown field `tabel` of a pattern; known are id, text, get, query, scan, scatter-gather, put, update, delete, transact, batch, given, order, filter, attributes, returns, limit, rate, consistency, uses, example, expect, admin, after, if, set, remove, add, deleteFrom, returnValues
            shop.yaml:10:36: how an attribute is given cannot be `equal`; did you mean `eq`?
            shop.yaml:10:43: `A` has no attribute `idx`; did you mean `id`?
            shop.yaml:10:59: `rate` is `often` here: write a number with at most 6 decimals
            shop.yaml:11:5: pattern `P2` does nothing: write one of get, query, scan, scatter-gather, put, update, delete, transact, batch
        "#]],
    );
}

/// Unknown fields are faults at every level unless they begin with `x-`.
#[test]
fn extension_fields_are_accepted_at_every_level() {
    let with = model(
        "
format: 1
model: own
x-owner: {team: shop}
tables:
  Shop: {x-a: 1, key: {pk: S}, billing: {provisioned: {rcu: 1, wcu: 1, x-a: 1}}, indexes: {byDay: {pk: day, x-a: 1}}}
  x-table: anything
entities:
  Order: {x-a: 1, key: {pk: \"o#{id}\", x-a: 1}, attrs: {id: S, day: {type: S, x-a: 1}}}
patterns:
  - id: P
    x-a: {jira: 7}
    query: Order
    given: {day: eq}
    returns: {max: 5, x-a: 1}
    rate: {avg: 1, x-a: 1}
    example: {day: \"1\"}
    expect: {count: 1, x-a: 1}
data: {inline: {Order: [{id: \"1\", day: \"1\"}]}, x-a: 1}
",
    );
    assert_eq!(with.tables.len(), 1);
    assert_eq!(with.entities[0].attributes.len(), 2);
    assert_eq!(with.patterns.len(), 1);
}

#[test]
fn a_model_file_can_be_json() {
    let json = r#"{"format": 1, "model": "shop", "tables": {"Shop": {"key": {"pk": "S", "sk": "S"}}},
        "entities": {"Order": {"key": {"pk": "o#{id}", "sk": "ORDER"}, "attrs": {"id": "S"}}},
        "patterns": [{"id": "P", "get": "Order", "given": {"id": "eq"}}]}"#;
    let yaml = "
format: 1
model: shop
tables: {Shop: {key: {pk: S, sk: S}}}
entities: {Order: {key: {pk: \"o#{id}\", sk: ORDER}, attrs: {id: S}}}
patterns: [{id: P, get: Order, given: {id: eq}}]
";
    assert_eq!(write(&model(json)), write(&model(yaml)));
}

/// Every use of a name that its definition misspells is one fault, with the lines of all uses.
#[test]
fn one_typo_is_one_fault() {
    const MODEL: &str = r#"format: 1
model: shop
tables:
  Shop: {key: {pk: S, sk: S}}
entities:
  Customer: {key: {pk: "c#{customerId}", sk: "c"}, attrs: {customerId: S, name: S}}
  Order:
    parent: Customer
    key: {pk: "c#{customerId}", sk: "o#{orderId}"}
    attrs: {customerId: S, orderId: S, status: S}
patterns:
  - {id: P1, query: Order, given: {customerId: eq, orderId: begins-with}, rate: 1}
  - {id: P2, get: Order, given: {customerId: eq, orderId: eq}, rate: 1}
  - {id: W1, put: Order, if: not-exists, example: {customerId: a, orderId: b}, rate: 1}
  - {id: W2, update: Order, set: "status = :s", if: "orderId = :o", rate: 1}
  - {id: W3, delete: Order, rate: 1}
data:
  inline: {Order: [{customerId: a, orderId: b, status: OPEN}]}
"#;
    parse(MODEL).expect("a model");
    for (right, typo, line) in [
        ("orderId: S, status", "ordreId: S, status", 9),
        ("  Order:\n", "  Ordr:\n", 12),
        ("attrs: {customerId: S, name", "attrs: {customreId: S, name", 6),
        ("set: \"status", "set: \"stauts", 15),
    ] {
        let faults = parse(&MODEL.replacen(right, typo, 1)).expect_err(typo);
        let texts: Vec<String> = faults.iter().map(|fault| fault.in_file("shop.yaml")).collect();
        assert_eq!(faults.len(), 1, "{}", texts.join("\n"));
        assert_eq!(faults[0].at.line, line, "{}", texts.join("\n"));
    }
}

#[test]
fn a_file_of_many_faults_names_a_hundred_and_counts_the_others() {
    const TABLE: &str = "format: 1\nmodel: m\ntables: {Tab: {key: {pk: S}}}\n";
    let fields: Vec<String> = (0..5_000).map(|at| format!("qz{at}: 1\n")).collect();
    let fields = fields.concat();
    let attributes: Vec<String> = (0..5_000).map(|at| format!("attribute{at}: S")).collect();
    let given: Vec<String> = (0..5_000).map(|at| format!("zz{at}: eq")).collect();
    let unknown = format!(
        "{TABLE}entities:\n  E: {{key: {{pk: \"{{attribute1}}\"}}, attrs: {{{}}}}}\npatterns:\n  - {{id: P, query: E, given: {{{}}}, rate: 1}}\n",
        attributes.join(", "),
        given.join(", ")
    );
    for text in [format!("{TABLE}{fields}"), unknown] {
        let faults = parse(&text).expect_err("faults");
        let last = faults.last().map(|fault| fault.text.as_str()).unwrap_or_default();
        assert_eq!((faults.len(), last), (101, "and 4900 more faults: fix these first"));
        assert!(faults.iter().all(|fault| fault.text.len() < 1_000), "{}", faults[0].text);
    }
}
