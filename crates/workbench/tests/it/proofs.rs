//! What `check` proves: R66, R70 and R71, and statements of the published guides that are wrong.

use keywright_model::{Consistency, MilliItems, Order};
use keywright_workbench::report::{Checked, text};
use keywright_workbench::run::{OperationKind, Outcome};

use crate::support::{checked, model};

/// Orders of two customers, a status index, a keys-only index, votes spread over shards.
const SHOP: &str = "
format: 1
model: shop
tables:
  Shop:
    key: {pk: S, sk: S}
    pitr: true
    deletionProtection: true
    indexes:
      byStatus: {pk: status, sk: placed, project: all}
      keysOnly: {pk: place, sk: placed, project: keys}
entities:
  Customer: {count: 2, key: {pk: \"c#{c}\", sk: PROFILE}, attrs: {c: S, name: S, credit: N}}
  Order:
    count: 5
    parent: Customer
    key: {pk: \"c#{c}\", sk: \"ORDER#{placed}#{o}\"}
    attrs: {c: S, o: S, placed: {type: S, format: date}, status: S, place: S, total: N}
  Vote: {count: 8, key: {pk: \"v#{poll}#{voter|shard(4)}\", sk: \"{voter}\"}, attrs: {poll: S, voter: S}}
patterns:
PATTERNS
data:
  inline:
    Customer: [{c: \"1\", name: Ada, credit: 10}, {c: \"2\", name: Bob, credit: 0}]
    Order:
      - {c: \"1\", o: a, placed: \"2026-01-01\", status: OPEN, place: x, total: 1}
      - {c: \"1\", o: b, placed: \"2026-01-02\", status: PAID, place: x, total: 2}
      - {c: \"1\", o: c, placed: \"2026-01-03\", status: OPEN, place: x, total: 3}
      - {c: \"2\", o: d, placed: \"2026-01-04\", status: OPEN, place: x, total: 4}
    Vote:
      - {poll: p, voter: \"1\"}
      - {poll: p, voter: \"2\"}
      - {poll: p, voter: \"3\"}
      - {poll: p, voter: \"4\"}
";

/// The shop with one pattern, and whether its check passes.
fn with(pattern: &str) -> (Checked, bool) {
    let checked = checked(&SHOP.replace("PATTERNS", &format!("  - {{id: P, rate: 1, {pattern}}}")));
    let passes = checked.passes();
    (checked, passes)
}

fn rules(checked: &Checked) -> Vec<&str> {
    checked.findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn r66_a_pattern_has_number_text_type_cardinality_order_filter_rate_size_and_consistency() {
    let model = model(&SHOP.replace(
        "PATTERNS",
        "  - id: P7
    text: Orders of a customer, newest first
    query: Order
    given: {c: eq}
    order: desc
    filter: \"total > :least\"
    returns: {avg: 3, max: 200, page: 20}
    rate: {avg: 0.5, peak: 40}
    consistency: strong
  - {id: P8, get: Customer, given: {c: eq}}",
    ));
    let pattern = model.pattern("P7").expect("there");
    let read = pattern.read().expect("a question");
    let (rate, returns) = (pattern.rate.expect("a rate"), pattern.returns.expect("a size"));
    assert_eq!(pattern.text.as_deref(), Some("Orders of a customer, newest first"));
    assert_eq!((read.order, read.consistency), (Some(Order::Descending), Consistency::Strong));
    assert_eq!(read.filter.as_ref().map(ToString::to_string).as_deref(), Some("total > :least"));
    assert_eq!((rate.average.0, rate.peak.0), (500_000, 40_000_000));
    assert_eq!((returns.average, returns.max, returns.page), (Some(MilliItems::of(3)), Some(200), Some(20)));
    assert_eq!(model.pattern("P8").expect("there").rate, None, "a missing rate is not zero");
}

#[test]
fn r66_a_missing_rate_is_reported() {
    let checked = checked(&SHOP.replace("PATTERNS", "  - {id: P, get: Customer, given: {c: eq}}"));
    let said = checked.findings.iter().find(|finding| finding.rule == "L060" && finding.subject == "P");
    assert_eq!(
        said.map(|finding| finding.text.as_str()),
        Some("P has no rate: its cost and its heat are unknown")
    );
}

#[test]
fn r70_each_pattern_is_one_request_by_one_path_and_the_check_names_it() {
    use OperationKind::{
        BatchGetItem, BatchWriteItem, DeleteItem, GetItem, PutItem, Query, ScatterGather, TransactGetItems,
        TransactWriteItems, UpdateItem,
    };
    for (pattern, operation, index) in [
        ("get: Customer, given: {c: eq}", GetItem, None),
        ("query: [Customer, Order], given: {c: eq}, returns: {max: 9}", Query, None),
        ("query: Order, given: {status: eq}, returns: {max: 9}, admin: true", Query, Some("byStatus")),
        ("scatter-gather: Vote, given: {poll: eq}, returns: {max: 9}", ScatterGather, None),
        ("put: Customer, if: not-exists", PutItem, None),
        ("update: Customer, set: \"credit = credit + :n\", if: exists", UpdateItem, None),
        ("delete: Order", DeleteItem, None),
        (
            "transact: [{put: Order, if: not-exists}, {update: Customer, set: \"credit = credit - :n\", if: exists}]",
            TransactWriteItems,
            None,
        ),
        ("transact: [{get: Customer}, {get: Order}]", TransactGetItems, None),
        ("batch: [{put: Order, n: 3}]", BatchWriteItem, None),
        ("batch: [{get: Order, n: 2}]", BatchGetItem, None),
    ] {
        let (checked, passes) = with(pattern);
        let shown = text(&checked, "shop.yaml");
        assert!(passes, "{shown}");
        let report = checked.report.pattern("P").expect("ran");
        assert_eq!((report.operation, report.index.as_deref()), (operation, index), "{pattern}");
        assert_eq!(report.requests, report.partitions, "{pattern}");
        let path = index.unwrap_or("Shop");
        assert!(shown.lines().nth(1).is_some_and(|line| line.contains(path)), "{shown}");
    }
}

#[test]
fn r70_a_scan_a_pattern_without_a_plan_and_an_undeclared_scatter_gather_fail() {
    for (pattern, rule) in [
        ("scan: Order, given: {total: gt}, example: {total: 1}", "L002"),
        ("query: Order, given: {total: eq}, example: {total: 1}, returns: {max: 9}", "L001"),
        ("query: Order, given: {c: ge, placed: eq}, returns: {max: 9}", "L004"),
        ("query: Vote, given: {poll: eq}, returns: {max: 9}", "L001"),
        ("query: Order, given: {status: eq}, consistency: strong, uses: byStatus, returns: {max: 9}", "L050"),
        ("query: Order, given: {place: eq}, attributes: [total], returns: {max: 9}", "L036"),
    ] {
        let (checked, passes) = with(pattern);
        assert!(!passes && rules(&checked).contains(&rule), "{}", text(&checked, "shop.yaml"));
    }
    // An operator may scan.
    assert!(with("scan: Order, admin: true").1);
}

/// The unmet expectations of a pattern.
fn complaints(pattern: &str) -> Vec<String> {
    let (checked, passes) = with(pattern);
    match &checked.report.pattern("P").expect("ran").outcome {
        Outcome::Unmet(complaints) => {
            assert!(!passes);
            complaints.clone()
        }
        Outcome::Met => Vec::new(),
        other => panic!("{pattern}: {other:?}"),
    }
}

#[test]
fn r71_results_are_compared_with_the_expectation() {
    let open = "query: Order, given: {status: eq}, example: {status: OPEN}, returns: {max: 9}";
    let expecting = |expected: &str| complaints(&format!("{open}, expect: {{{expected}}}"));
    let [a, c, d] = [
        "[\"c#1\", \"ORDER#2026-01-01#a\"]",
        "[\"c#1\", \"ORDER#2026-01-03#c\"]",
        "[\"c#2\", \"ORDER#2026-01-04#d\"]",
    ];
    let none: [&str; 0] = [];
    assert_eq!(expecting(&format!("items: [{a}, {c}, {d}], exact: true, count: 3, rcu: 0.5")), none);
    assert_eq!(expecting(&format!("items: [{d}]")), none, "others may come");
    assert_eq!(
        expecting(&format!("items: [{d}], exact: true")),
        [
            "[c#1, ORDER#2026-01-01#a] came and was not expected",
            "[c#1, ORDER#2026-01-03#c] came and was not expected"
        ]
    );
    assert_eq!(
        expecting(&format!("items: [{c}, {a}, {d}], exact: true")),
        ["the items came in another order than expected"]
    );
    assert_eq!(expecting("items: [[\"c#3\", x]]"), ["expected [c#3, x] among the items; it did not come"]);
    assert_eq!(expecting("count: 4"), ["expected 4 items, 3 came"]);
    assert_eq!(expecting("rcu: 1"), ["expected 1 read units, it took 0.5"]);
}

#[test]
fn r71_writes_are_executed_metered_and_made_to_fail_as_expected() {
    let none: [&str; 0] = [];
    let put = "put: Order, if: not-exists, example: {c: \"1\", o: z, placed: \"2026-02-01\", status: OPEN, place: x, total: 9}";
    assert_eq!(complaints(&format!("{put}, expect: {{wcu: 3}}")), none, "the table and two indexes");
    assert_eq!(complaints(&format!("{put}, expect: {{wcu: 1}}")), ["expected 1 write units, it took 3"]);
    let pay = "transact: [{put: Order, if: not-exists}, {update: Customer, set: \"credit = credit - :n\", if: \"credit >= :n\"}], example: {c: \"1\", n: 5}";
    let failing = |reasons: &str| {
        complaints(&format!("{pay}, expect: {{fails-when: {{Customer.credit: 0}}, reason: {reasons}}}"))
    };
    assert_eq!(failing("[None, ConditionalCheckFailed]"), none);
    assert_eq!(
        failing("[ConditionalCheckFailed, None]"),
        [
            "expected it to fail with [ConditionalCheckFailed, None], it failed with [None, ConditionalCheckFailed]"
        ]
    );
    let rich = complaints(&format!("{pay}, expect: {{fails-when: {{Customer.credit: 50}}}}"));
    assert_eq!(rich, ["expected it to fail, and it did not"]);
}

/// "DynamoDB Database Design" says that projections and filters save read units. Neither does: every item
/// read is billed.
#[test]
fn projections_and_filters_save_no_read_units() {
    let units = |pattern: &str| {
        let (checked, _) = with(pattern);
        let report = checked.report.pattern("P").expect("ran").clone();
        (report.read_units(), report.items_read, report.items_returned)
    };
    let long = SHOP.replace("name: Ada", &format!("name: {}", "a".repeat(9000)));
    let get = |more: &str| {
        let model = long.replace(
            "PATTERNS",
            &format!("  - {{id: P, get: Customer, given: {{c: eq}}, example: {{c: \"1\"}}{more}}}"),
        );
        checked(&model).report.pattern("P").expect("ran").read_units()
    };
    assert_eq!(get(""), get(", attributes: [credit]"));
    let (all, read, returned) = units("query: Order, given: {c: eq}, example: {c: \"1\"}");
    let (some, still_read, fewer) =
        units("query: Order, given: {c: eq}, filter: \"total > :t\", example: {c: \"1\", t: 2}");
    assert_eq!((all, read, returned), (some, still_read, 3));
    assert_eq!(fewer, 1);
}

/// "DynamoDB Database Design" says that a filter on another attribute scans the whole table. It reads only
/// the partition's range.
#[test]
fn a_filtered_query_reads_its_partition_and_not_the_table() {
    let (checked, _) =
        with("query: Order, given: {c: eq}, filter: \"total > :t\", example: {c: \"2\", t: 0}");
    assert_eq!(checked.report.pattern("P").expect("ran").items_read, 1);
}

/// "DynamoDB Data Modeling" reads "profile and newest orders" in one Query: `PROFILE` sorts after `ORDER#…`,
/// so that works only in descending order.
#[test]
fn a_profile_that_sorts_last_comes_with_the_newest_orders_only_when_read_backwards() {
    let page = "query: [Customer, Order], given: {c: eq}, example: {c: \"1\"}, limit: 2";
    let (ascending, _) = with(page);
    assert!(rules(&ascending).contains(&"L014"), "{}", text(&ascending, "shop.yaml"));
    let (descending, _) = with(&format!("{page}, order: desc"));
    assert!(!rules(&descending).contains(&"L014"));
    assert_eq!(
        descending.report.pattern("P").expect("ran").returned,
        [["c#1", "PROFILE"], ["c#1", "ORDER#2026-01-03#c"]]
    );
}

/// "DynamoDB Design Patterns That Scale" updates one of two copies, without a condition, of an order whose
/// key is a time.
#[test]
fn updates_of_one_copy_or_without_a_condition_and_a_time_as_key_are_found() {
    let checked = checked(
        "
format: 1
model: orders
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  User: {count: 2, key: {pk: \"u#{u}\", sk: PROFILE}, attrs: {u: S}}
  Order:
    count: 4
    parent: User
    key: {pk: \"u#{u}\", sk: \"ORDER#{at}\"}
    attrs: {u: S, at: {type: S, format: iso8601}, status: S, sales: N}
  Copy:
    count: 4
    key: {pk: \"day#{at}\", sk: \"{u}\"}
    attrs: {u: S, at: {type: S, format: iso8601}, status: {type: S, copyOf: Order.status}}
patterns:
  - {id: W, update: Order, set: \"status = :s, sales = :n\", rate: 1}
data: {generate: {seed: 1, sample: 4}}
",
    );
    for rule in ["L010", "L052", "L053"] {
        assert!(rules(&checked).contains(&rule), "{rule}: {}", text(&checked, "shop.yaml"));
    }
}

/// Every requirement of the workbench has a test with its number, here or with the commands.
#[test]
fn every_requirement_of_the_workbench_has_a_test_with_its_number() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = String::new();
    let folders = ["model", "workbench", "designer", "server"].into_iter();
    let mut open: Vec<_> =
        folders.flat_map(|name| [crates.join(name).join("src"), crates.join(name).join("tests")]).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources += &std::fs::read_to_string(path).expect("readable");
            }
        }
    }
    let missing: Vec<u32> = (66..=86).filter(|number| !sources.contains(&format!("fn r{number}_"))).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
}
