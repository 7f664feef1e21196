//! Broken model files: for every kind of mistake the place, line and column, and what to write instead.
//!
//! Each case is one mistake in a small model; `snapshots/broken-models.txt` holds its messages, and
//! `UPDATE_EXPECT=1` rewrites it. Reading that file is the test of the messages.

use std::fmt::Write as _;

use expect_test::expect_file;
use keywright_model::data::ItemFile;
use keywright_model::{Fault, parse};
use keywright_workbench::run::run;

const GOOD: &str = "format: 1
model: shop
tables:
  Shop:
    key: {pk: S, sk: S}
    indexes:
      gsi1: {pk: gsi1pk, sk: gsi1sk}
entities:
  Order:
    count: 10
    key: {pk: \"o#{id}\", sk: ORDER}
    gsi1: {pk: \"c#{customer}\", sk: \"{placed}\"}
    attrs: {id: S, customer: S, placed: S, total: N}
patterns:
  - id: P1
    get: Order
    given: {id: eq}
    example: {id: a}
data:
  inline:
    Order: [{id: a, customer: b, placed: c, total: 1}]
";

/// The mistake, the text of the valid model that is replaced, and its replacement.
const CASES: &[(&str, &str, &str)] = &[
    // The text.
    ("a bracket that is not closed", "{pk: S, sk: S}", "{pk: S, sk: S"),
    ("a tab as indentation", "    key: {pk: S, sk: S}", "\tkey: {pk: S, sk: S}"),
    ("a quotation mark that is not closed", "sk: ORDER}", "sk: \"ORDER}"),
    ("a field twice", "model: shop\n", "model: shop\nmodel: shop\n"),
    ("an alias to nothing", "count: 10", "count: *number"),
    ("a second document", "patterns:", "---\npatterns:"),
    ("a list as a field's name", "count: 10", "[count]: 10"),
    // The top level.
    ("no format", "format: 1\n", ""),
    ("a format of another time", "format: 1", "format: 2"),
    ("a format that is no number", "format: 1", "format: one"),
    ("no name", "model: shop\n", ""),
    ("an unknown field", "patterns:", "pattern:"),
    ("a list where a mapping belongs", "tables:\n  Shop:", "tables:\n  - Shop:"),
    // Tables.
    ("a table without a key", "    key: {pk: S, sk: S}\n", ""),
    ("a key of three attributes", "{pk: S, sk: S}", "{pk: S, sk: S, tk: S}"),
    ("a key attribute of no key's type", "{pk: S, sk: S}", "{pk: S, sk: BOOL}"),
    (
        "an unknown field of a table",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    biling: on-demand\n",
    ),
    (
        "a billing mode that is none",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: free\n",
    ),
    (
        "provisioned without units",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {rcus: 5}}\n",
    ),
    (
        "scaling upside down",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {rcu: 5, wcu: 5, autoscale: {min: 9, max: 3}}}\n",
    ),
    (
        "units of nothing",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {rcu: 0, wcu: 0}}\n",
    ),
    (
        "scaling to nothing and beyond what it can aim at",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {autoscale: {min: 0, max: 9, target: 95}}}\n",
    ),
    (
        "scaling that aims at nothing",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {autoscale: {max: 9, target: 0}}}\n",
    ),
    (
        "scaling without an upper bound",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    billing: {provisioned: {autoscale: {min: 1}}}\n",
    ),
    ("a stream of no view", "    key: {pk: S, sk: S}\n", "    key: {pk: S, sk: S}\n    stream: newest\n"),
    (
        "a switch that is neither true nor false",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    pitr: always\n",
    ),
    ("a class that is none", "    key: {pk: S, sk: S}\n", "    key: {pk: S, sk: S}\n    class: cheap\n"),
    ("a name that the service does not take", "  Shop:", "  S!:"),
    // Indexes.
    ("an index without a partition key", "{pk: gsi1pk, sk: gsi1sk}", "{sk: gsi1sk}"),
    ("an unknown field of an index", "{pk: gsi1pk, sk: gsi1sk}", "{pk: gsi1pk, sk: gsi1sk, projection: all}"),
    ("a projection that is none", "{pk: gsi1pk, sk: gsi1sk}", "{pk: gsi1pk, sk: gsi1sk, project: some}"),
    (
        "an index with five partition attributes",
        "{pk: gsi1pk, sk: gsi1sk}",
        "{pk: [id, customer, placed, gsi1pk, total], sk: gsi1sk}",
    ),
    ("an index that names an attribute twice", "{pk: gsi1pk, sk: gsi1sk}", "{pk: gsi1pk, sk: gsi1pk}"),
    (
        "a local index with another partition key",
        "{pk: gsi1pk, sk: gsi1sk}",
        "{pk: gsi1pk, sk: gsi1sk, local: true}",
    ),
    ("a local index without a sort key", "{pk: gsi1pk, sk: gsi1sk}", "{local: true}"),
    // Entities.
    (
        "an entity that is a text",
        "  Order:\n    count: 10\n    key: {pk: \"o#{id}\", sk: ORDER}\n    gsi1: {pk: \"c#{customer}\", sk: \"{placed}\"}\n    attrs: {id: S, customer: S, placed: S, total: N}\n",
        "  Order: many\n",
    ),
    ("a count that is no number", "count: 10", "count: ten"),
    ("a count below zero", "count: 10", "count: -10"),
    ("a count of more than any table holds", "count: 10", "count: 99999999999999999"),
    ("an attribute called as the key that is written", "attrs: {id: S,", "attrs: {pk: S, id: S,"),
    ("an attribute called as an index's key that is written", "attrs: {id: S,", "attrs: {gsi1sk: S, id: S,"),
    (
        "an attribute called as a part of a key that is to be found",
        "    key: {pk: \"o#{id}\", sk: ORDER}\n    gsi1: {pk: \"c#{customer}\", sk: \"{placed}\"}\n    attrs: {id: S,",
        "    attrs: {pk: S, gsi1pk: S, gsi1sk: S, id: S,",
    ),
    ("an index that is not there", "    gsi1: {pk: \"c#", "    gsi2: {pk: \"c#"),
    ("a table that is not there", "count: 10", "table: Shopp"),
    ("a parent that is not there", "count: 10", "parent: Customer"),
    ("a template with half a bracket", "\"o#{id}\"", "\"o#{id\""),
    ("a template with a stray bracket", "\"o#{id}\"", "\"o#id}\""),
    ("a template with an unknown attribute", "\"o#{id}\"", "\"o#{ids}\""),
    ("a template with an unknown function", "\"o#{id}\"", "\"o#{id:upper()}\""),
    ("a template padded too far", "\"o#{id}\"", "\"o#{id:pad(99)}\""),
    ("a template with no shards", "\"o#{id}\"", "\"o#{id|shard(0)}\""),
    ("an empty template", "\"o#{id}\"", "\"\""),
    ("a key attribute without a template", "key: {pk: \"o#{id}\", sk: ORDER}", "key: {pk: \"o#{id}\"}"),
    ("a template for an attribute the key has not", "sk: ORDER}", "sort: ORDER}"),
    ("an attribute of no type", "total: N", "total: number"),
    ("a format that is none", "placed: S", "placed: {type: S, format: iso}"),
    ("values of another type", "total: N", "total: {type: N, values: [1, much]}"),
    ("a value that is none", "placed: S", "placed: {type: S, values: [null, b]}"),
    ("no different values", "placed: S", "placed: {type: S, distinct: 0}"),
    ("an unknown field of an attribute", "placed: S", "placed: {type: S, length: 20}"),
    ("a copy of what is not named", "placed: S", "placed: {type: S, copyOf: Product}"),
    ("a copy of what is not there", "placed: S", "placed: {type: S, copyOf: Order.at}"),
    ("a share above one", "placed: S", "placed: {type: S, present: 1.5}"),
    ("a skew that is none", "count: 10", "skew: {id: steep}"),
    ("a skew of an unknown attribute", "count: 10", "skew: {ids: uniform}"),
    ("a unique attribute that is not there", "count: 10", "unique: mail"),
    // Patterns.
    (
        "patterns that are no list",
        "  - id: P1\n    get: Order\n    given: {id: eq}\n    example: {id: a}\n",
        "  P1: {get: Order}\n",
    ),
    ("a pattern without an id", "  - id: P1\n    get", "  - get"),
    ("an id twice", "  - id: P1\n", "  - {id: P1, get: Order, given: {id: eq}}\n  - id: P1\n"),
    ("a pattern that does nothing", "    get: Order\n", ""),
    ("a pattern that does two things", "    get: Order\n", "    get: Order\n    put: Order\n"),
    ("an unknown entity", "get: Order", "get: Orders"),
    ("a get of two entities", "get: Order", "get: [Order, Order]"),
    ("an unknown attribute", "given: {id: eq}", "given: {ids: eq}"),
    ("an unknown comparison", "given: {id: eq}", "given: {id: equals}"),
    ("a given that is a list", "given: {id: eq}", "given: [id]"),
    ("an order that is none", "    get: Order\n", "    query: Order\n    order: newest\n"),
    ("a consistency that is none", "    get: Order\n", "    get: Order\n    consistency: strict\n"),
    ("an index to use that is not there", "    get: Order\n", "    query: Order\n    uses: gsi9\n"),
    (
        "an attribute to return that is not there",
        "    get: Order\n",
        "    get: Order\n    attributes: [totals]\n",
    ),
    ("a rate that is a word", "    get: Order\n", "    get: Order\n    rate: often\n"),
    ("a rate with too many decimals", "    get: Order\n", "    get: Order\n    rate: 0.0000001\n"),
    (
        "a largest size below the average",
        "    count: 10\n",
        "    count: 10\n    size: 300\n    maxSize: 100\n",
    ),
    ("an entity that is its own parent", "    count: 10\n", "    count: 10\n    parent: Order\n"),
    (
        "parents in a circle",
        "  Order:\n    count: 10\n",
        "  Line: {parent: Order, key: {pk: \"l#{id}\", sk: l}, attrs: {id: S}}\n  Order:\n    count: 10\n    parent: Line\n",
    ),
    ("a number larger than any", "total: N}", "total: {type: N, size: 4800}}"),
    ("a truth value of several bytes", "total: N}", "total: N, done: {type: BOOL, size: 2}}"),
    (
        "a replica that is in no region",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    replicas: [eu-west-1, mars]\n",
    ),
    (
        "two replicas in one region",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    replicas: [eu-west-1, eu-west-1]\n",
    ),
    (
        "replicas on fixed write units",
        "    key: {pk: S, sk: S}\n",
        "    key: {pk: S, sk: S}\n    replicas: [eu-west-1]\n    billing: {provisioned: {rcu: 5, wcu: 5}}\n",
    ),
    ("a peak below the average", "    get: Order\n", "    get: Order\n    rate: {avg: 5, peak: 1}\n"),
    ("an unknown field of a rate", "    get: Order\n", "    get: Order\n    rate: {average: 5}\n"),
    (
        "more on average than at most",
        "    get: Order\n",
        "    query: Order\n    returns: {avg: 10, max: 5}\n",
    ),
    ("a page of nothing", "    get: Order\n", "    query: Order\n    returns: {avg: 10, page: 0}\n"),
    ("a limit of nothing", "    get: Order\n", "    query: Order\n    limit: 0\n"),
    ("an unknown field of what returns", "    get: Order\n", "    query: Order\n    returns: {most: 5}\n"),
    ("an unknown field of what is expected", "    get: Order\n", "    get: Order\n    expect: {item: 5}\n"),
    ("a quarter of a unit", "    get: Order\n", "    get: Order\n    expect: {rcu: 0.25}\n"),
    ("a third of a unit", "    get: Order\n", "    get: Order\n    expect: {rcu: 0.3}\n"),
    (
        "a failure of nothing",
        "    get: Order\n    given: {id: eq}\n",
        "    put: Order\n    expect: {fails-when: {total: 0}}\n",
    ),
    (
        "a failure by an unknown attribute",
        "    get: Order\n    given: {id: eq}\n",
        "    put: Order\n    expect: {fails-when: {Order.totals: 0}}\n",
    ),
    ("a transaction of nothing", "    get: Order\n    given: {id: eq}\n", "    transact: []\n"),
    ("a step that is none", "    get: Order\n    given: {id: eq}\n", "    transact: [{upsert: Order}]\n"),
    ("a step of no items", "    get: Order\n    given: {id: eq}\n", "    batch: [{put: Order, n: 0}]\n"),
    (
        "a step of an unknown entity",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{put: Ordre}]\n",
    ),
    (
        "a step's unknown field",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{put: Order, when: x}]\n",
    ),
    (
        "a batch that updates",
        "    get: Order\n    given: {id: eq}\n",
        "    batch: [{update: Order, set: \"total = :t\"}]\n",
    ),
    (
        "a transaction that reads and writes",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{get: Order}, {put: Order}]\n",
    ),
    (
        "a check without a condition",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{check: Order}]\n",
    ),
    ("a question after what is no write", "    get: Order\n", "    get: Order\n    after: W1\n"),
    ("an owner that is no attribute", "count: 10", "owner: customr"),
    ("a get by an index", "    get: Order\n", "    get: Order\n    uses: gsi1\n"),
    // Names inside patterns.
    ("an example of a misspelt attribute", "example: {id: a}", "example: {ids: a}"),
    (
        "a filter of a misspelt attribute",
        "    get: Order\n",
        "    query: Order\n    filter: \"totl > :t AND placed.day = :d\"\n",
    ),
    (
        "an update of misspelt attributes",
        "    get: Order\n    given: {id: eq}\n",
        "    update: Order\n    set: \"totl = totl + :n\"\n    if: \"plcaed = :p\"\n",
    ),
    (
        "a removal and an addition of misspelt attributes",
        "    get: Order\n    given: {id: eq}\n",
        "    update: Order\n    remove: custmer\n    add: \"totle :n\"\n",
    ),
    (
        "a step of misspelt attributes",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{put: Order, if: \"attribute_not_exists(idd)\", example: {totel: 1}}]\n",
    ),
    (
        "an example of a misspelt placeholder",
        "    get: Order\n    given: {id: eq}\n    example: {id: a}\n",
        "    update: Order\n    set: \"total = :amount\"\n    example: {id: a, amuont: 3}\n",
    ),
    (
        "a filter that no condition reads like",
        "    get: Order\n",
        "    query: Order\n    filter: \"total = = :t\"\n",
    ),
    (
        "an update whose expressions break off",
        "    get: Order\n    given: {id: eq}\n",
        "    update: Order\n    set: \"total = total + + :n\"\n    remove: \"customer,\"\n    if: \"total >\"\n",
    ),
    ("a placeholder of a name", "    get: Order\n", "    query: Order\n    filter: \"#t > :t\"\n"),
    (
        "an expected item of half a key",
        "    get: Order\n",
        "    get: Order\n    expect: {items: [[\"o#a\"]]}\n",
    ),
    (
        "an expected reason that is none",
        "    get: Order\n    given: {id: eq}\n",
        "    put: Order\n    expect: {fails-when: null, reason: ConditionCheckFailed}\n",
    ),
    (
        "fewer expected reasons than steps",
        "    get: Order\n    given: {id: eq}\n",
        "    transact: [{put: Order}, {put: Order}, {put: Order}]\n    expect: {reason: [None, None]}\n",
    ),
    // Data.
    ("data of an unknown kind", "  inline:\n", "  records:\n"),
    ("records of an unknown entity", "    Order: [{id: a", "    Ordre: [{id: a"),
    ("a sample of nothing", "data:\n", "data:\n  generate: {seed: 1, sample: 0}\n"),
    ("an unknown field of generate", "data:\n", "data:\n  generate: {sead: 1}\n"),
    ("records that are no list", "[{id: a, customer: b, placed: c, total: 1}]", "{id: a}"),
    ("a record that is a text", "[{id: a, customer: b, placed: c, total: 1}]", "[a]"),
    ("a record with an unknown attribute", "total: 1}]", "totals: 1}]"),
    ("a record without an attribute of its key", "[{id: a, ", "[{"),
    ("a record with a value of another type", "total: 1}]", "total: much}]"),
    (
        "items of an unknown table",
        "  inline:\n    Order: [{id: a, customer: b, placed: c, total: 1}]\n",
        "  items: {Shopp: [{pk: {S: a}, sk: {S: b}}]}\n",
    ),
    (
        "an item without its key",
        "  inline:\n    Order: [{id: a, customer: b, placed: c, total: 1}]\n",
        "  items: {Shop: [{pk: {S: a}}]}\n",
    ),
    (
        "an item whose key has another type",
        "  inline:\n    Order: [{id: a, customer: b, placed: c, total: 1}]\n",
        "  items: {Shop: [{pk: {S: a}, sk: {N: \"1\"}}]}\n",
    ),
    (
        "a file that cannot be read",
        "  inline:\n    Order: [{id: a, customer: b, placed: c, total: 1}]\n",
        "  file: gone.yaml\n",
    ),
];

/// A broken file of items, and its mistake.
const FILES: &[(&str, &str)] = &[
    ("neither JSON nor YAML", "Order: [{id: a\n"),
    ("a list without names", "[{\"id\": \"a\"}]"),
    ("an unknown entity", "Order:\n  - {id: a, customer: b, placed: c}\nOrdre:\n  - {id: b}\n"),
    (
        "an unknown attribute on its third line",
        "Order:\n  - {id: a, customer: b, placed: c}\n  - {id: b, customer: b, place: c}\n",
    ),
    (
        "a value of another type",
        "{\"Order\": [\n  {\"id\": \"a\", \"customer\": \"b\", \"placed\": \"c\", \"total\": \"much\"}\n]}",
    ),
    ("an item without its key", "{\"Items\": [\n  {\"pk\": {\"S\": \"a\"}}\n]}"),
    (
        "a line that is no JSON",
        "{\"Item\": {\"pk\": {\"S\": \"a\"}, \"sk\": {\"S\": \"b\"}}}\n{\"Item\": oops}\n",
    ),
    (
        "a line without an item",
        "{\"Item\": {\"pk\": {\"S\": \"a\"}, \"sk\": {\"S\": \"b\"}}}\n{\"Items\": 1}\n",
    ),
];

fn said(out: &mut String, title: &str, model: &str, file: &str) {
    let no_such = |name: &str| {
        if name == "items" { Ok(ItemFile::Text(file.to_owned())) } else { Err("no such file".to_owned()) }
    };
    let faults = parse(model).and_then(|model| run(&model, &no_such, &mut |_| {}).map(drop));
    let _ = writeln!(out, "# {title}");
    for fault in faults.err().unwrap_or_default() {
        let _ = writeln!(out, "{}", Fault::in_file(&fault, "shop.yaml"));
    }
    out.push('\n');
}

#[test]
fn every_fault_has_a_place_and_a_correction() {
    let mut out = String::new();
    for (title, from, to) in CASES {
        assert!(GOOD.contains(from), "{title}: {from}");
        said(&mut out, title, &GOOD.replacen(from, to, 1), "");
    }
    said(&mut out, "an empty file", "", "");
    expect_file!["../snapshots/broken-models.txt"].assert_eq(&out);
    for case in out.split("\n\n").filter(|case| !case.trim().is_empty()) {
        assert!(case.lines().count() > 1, "nothing is said of it: {case}");
        assert!(case.lines().skip(1).all(|line| line.starts_with("shop.yaml:")), "{case}");
    }
}

/// Fields with a value that would be valid where the field has a meaning.
const FIELDS: &[&str] = &[
    "given: {id: eq}",
    "order: desc",
    "filter: \"total > :t\"",
    "attributes: [id]",
    "returns: {max: 1}",
    "limit: 1",
    "consistency: strong",
    "uses: Shop",
    "if: exists",
    "set: \"total = :t\"",
    "remove: total",
    "add: \"total :t\"",
    "returnValues: true",
    "after: W",
    "expect: {exact: true}",
    "expect: {count: 1}",
    "expect: {fails-when: null}",
];

#[test]
fn a_field_that_a_kind_of_pattern_has_no_meaning_for_is_refused() {
    let mut out = String::new();
    for kind in [
        "get: Order",
        "query: Order",
        "scan: Order",
        "scatter-gather: Order",
        "put: Order",
        "update: Order",
        "delete: Order",
        "transact: [{put: Order}, {delete: Order}]",
        "transact: [{get: Order}, {get: Order}]",
        "batch: [{put: Order}]",
        "batch: [{get: Order}]",
    ] {
        for field in FIELDS {
            let model =
                GOOD.replace("    get: Order\n    given: {id: eq}\n", &format!("    {kind}\n    {field}\n"));
            for fault in parse(&model).err().unwrap_or_default() {
                let _ = writeln!(out, "{kind}: {}", fault.in_file("shop.yaml"));
            }
        }
    }
    for group in ["transact", "batch"] {
        for kind in ["put", "delete", "get"] {
            for field in &FIELDS[8..13] {
                let step = format!("    {group}: [{{{kind}: Order, {field}}}]\n");
                let model = GOOD.replace("    get: Order\n    given: {id: eq}\n", &step);
                for fault in parse(&model).err().unwrap_or_default() {
                    let _ = writeln!(out, "{}: {}", step.trim(), fault.in_file("shop.yaml"));
                }
            }
        }
    }
    expect_file!["../snapshots/meaningless-fields.txt"].assert_eq(&out);
}

#[test]
fn every_mistake_in_a_file_of_items_is_placed_in_that_file() {
    let model = GOOD
        .replace("  inline:\n    Order: [{id: a, customer: b, placed: c, total: 1}]\n", "  file: items\n");
    let mut out = String::new();
    for (title, file) in FILES {
        said(&mut out, title, &model, file);
    }
    expect_file!["../snapshots/broken-files.txt"].assert_eq(&out);
}
