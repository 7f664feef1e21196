//! How the run executes reads: pages, filters, every kind of key, and items from files. Each on the engine.

use keywright_exchange::item_file;
use keywright_model::data::{ItemFile, ReadFile};
use keywright_workbench::report::text;
use keywright_workbench::run::{Outcome, PatternReport, Report, run};

use crate::support::{fault_lines, no_files};

fn ran(model: &str) -> Report {
    ran_with(model, &no_files)
}

fn ran_with(model: &str, read_file: ReadFile<'_>) -> Report {
    run(&crate::support::model(model), read_file, &mut |_| {})
        .unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)))
}

fn pattern<'a>(report: &'a Report, id: &str) -> &'a PatternReport {
    let pattern = report.pattern(id).expect(id);
    assert!(pattern.outcome.is_good(), "{id}: {:?}", pattern.outcome);
    pattern
}

/// The returned sort keys, in order.
fn sorts(pattern: &PatternReport) -> Vec<&str> {
    pattern.returned.iter().filter_map(|key| key.last()).map(String::as_str).collect()
}

const POSTS: &str = "
format: 1
model: posts
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  User: {count: 1, key: {pk: \"u#{user}\", sk: PROFILE}, attrs: {user: S}}
  Post:
    count: 60
    parent: User
    key: {pk: \"u#{user}\", sk: \"POST#{n:pad(4)}\"}
    attrs: {user: S, n: {type: N, format: sequence}, text: {type: S, size: SIZE}}
patterns:
  - {id: All, query: Post, given: {user: eq}, rate: 1, PAGED}
data: {generate: {seed: 1, sample: 60}}
";

#[test]
fn every_page_of_a_read_is_read_and_paid_for() {
    let report = ran(&POSTS.replace("SIZE", "20").replace("PAGED", "returns: {max: 60, page: 25}"));
    let all = pattern(&report, "All");
    assert_eq!((all.requests, all.partitions, all.items_returned, all.more), (3, 1, 60, false));
    // Each page is rounded up on its own.
    assert_eq!(all.read_units().0, 3);
}

#[test]
fn a_limit_reads_one_page_and_says_that_there_is_more() {
    let report = ran(&POSTS.replace("SIZE", "20").replace("PAGED", "limit: 25"));
    let all = pattern(&report, "All");
    assert_eq!((all.requests, all.items_returned, all.more), (1, 25, true));
}

#[test]
fn a_read_over_a_megabyte_has_the_pages_of_the_service() {
    let report = ran(&POSTS.replace("SIZE", "50000").replace("PAGED", "returns: {max: 60}"));
    let all = pattern(&report, "All");
    assert_eq!((all.items_returned, all.more), (60, false));
    assert_eq!(all.requests, 3);
}

const FAMILY: &str = "
format: 1
model: family
tables:
  Tab:
    key: {pk: S, sk: S}
    indexes:
      recent: {local: true, sk: at, project: keys}
      byStatus: {pk: [shop, status], sk: [day, total], project: all}
      byTotal: {pk: shop, sk: total, project: all}
entities:
  Customer: {count: 1, key: {pk: \"c#{c}\", sk: C}, attrs: {c: S, name: S}}
  Order:
    count: 3
    parent: Customer
    key: {pk: \"c#{c}\", sk: \"ORDER#{day}\"}
    attrs: {c: S, day: S, at: S, shop: S, status: S, total: N, note: S}
  Payment:
    count: 3
    parent: Customer
    key: {pk: \"c#{c}\", sk: \"PAY#{day}\"}
    attrs: {c: S, day: S}
patterns:
PATTERNS
data:
  inline:
    Customer: [{c: \"1\", name: Ada}]
    Order:
      - {c: \"1\", day: \"2026-01-01\", at: c, shop: s, status: OPEN, total: 9, note: one}
      - {c: \"1\", day: \"2026-01-02\", at: b, shop: s, status: PAID, total: 10, note: two}
      - {c: \"1\", day: \"2026-01-03\", at: a, shop: s, status: OPEN, total: 100, note: three}
    Payment:
      - {c: \"1\", day: \"2026-01-01\"}
      - {c: \"1\", day: \"2026-01-02\"}
      - {c: \"1\", day: \"2026-01-03\"}
";

fn family(patterns: &str) -> Report {
    ran(&FAMILY.replace("PATTERNS", patterns))
}

#[test]
fn a_filter_on_one_entitys_attribute_leaves_the_others_in() {
    let report = family(
        "  - {id: P, query: [Customer, Order, Payment], given: {c: eq, status: eq}, example: {c: \"1\", status: OPEN}}
  - {id: Q, query: [Customer, Order, Payment], given: {c: eq}, filter: \"status <> :closed\", example: {c: \"1\", closed: PAID}}",
    );
    let days =
        ["C", "ORDER#2026-01-01", "ORDER#2026-01-03", "PAY#2026-01-01", "PAY#2026-01-02", "PAY#2026-01-03"];
    assert_eq!(sorts(pattern(&report, "P")), days);
    // The author's own expression is used unchanged: an absent attribute differs from every value.
    assert_eq!(sorts(pattern(&report, "Q")), days);
}

#[test]
fn a_range_over_several_entities_is_read_as_one_and_filtered_to_each() {
    let report = family(
        "  - {id: P, query: [Order, Payment], given: {c: eq, day: ge}, example: {c: \"1\", day: \"2026-01-02\"}}",
    );
    let both = pattern(&report, "P");
    assert_eq!(sorts(both), ["ORDER#2026-01-02", "ORDER#2026-01-03", "PAY#2026-01-02", "PAY#2026-01-03"]);
    assert_eq!(both.items_read, 5, "the first payment lies between the orders asked for and the payments");
}

#[test]
fn a_given_that_no_key_takes_filters_a_get_as_well() {
    let report = family(
        "  - {id: Open, get: Order, given: {c: eq, day: eq, status: eq}, example: {c: \"1\", day: \"2026-01-02\", status: OPEN}}
  - {id: Any, get: Order, given: {c: eq, day: eq}, example: {c: \"1\", day: \"2026-01-02\"}}",
    );
    assert_eq!(pattern(&report, "Open").items_returned, 0);
    assert_eq!(pattern(&report, "Any").items_returned, 1);
}

#[test]
fn a_local_index_is_read_strongly_and_fetches_missing_attributes() {
    let report = family(
        "  - {id: P, query: Order, given: {c: eq, at: le}, order: desc, consistency: strong, uses: recent, attributes: [note], example: {c: \"1\", at: b}}
  - {id: K, query: Order, given: {c: eq, at: le}, uses: recent, attributes: [at], example: {c: \"1\", at: b}}",
    );
    let fetched = pattern(&report, "P");
    assert_eq!(sorts(fetched), ["ORDER#2026-01-02", "ORDER#2026-01-03"]);
    // One unit for the index, one for each item fetched from the table.
    assert_eq!(fetched.read_units().0, 6);
    assert_eq!(pattern(&report, "K").read_units().0, 1, "keys alone are not fetched");
}

const WIDE: &str = "
format: 1
model: wide
tables:
  Tab:
    key: {pk: S, sk: S}
    indexes:
      byAge: {local: true, sk: age, project: keys}
      byAgeAll: {local: true, sk: age, project: all}
entities:
  O: {count: 4, key: {pk: \"c#{c}\", sk: \"o#{id}\"}, attrs: {c: S, id: S, age: N, body: S}}
patterns:
PATTERNS
data: {inline: {O: [RECORDS]}}
";

/// Four items of three kilobytes under one key, with a keys-only local index and one that projects
/// everything.
fn wide(patterns: &str) -> Report {
    let record = |n: u32| format!("{{c: k, id: i{n}, age: {n}, body: {}}}", "z".repeat(3000));
    let records = (0..4).map(record).collect::<Vec<_>>().join(", ");
    ran(&WIDE.replace("PATTERNS", patterns).replace("RECORDS", &records))
}

#[test]
fn a_local_index_fetches_all_attributes_for_a_pattern_that_names_none() {
    let report = wide(
        "  - {id: All, query: O, given: {c: eq, age: ge}, uses: byAge, example: {c: k, age: 0}}
  - {id: Body, query: O, given: {c: eq, age: ge}, uses: byAge, attributes: [body], example: {c: k, age: 0}}
  - {id: Told, query: O, given: {c: eq, age: ge}, uses: byAge, attributes: [c, id, age], example: {c: k, age: 0}}
  - {id: Held, query: O, given: {c: eq, age: ge}, uses: byAgeAll, example: {c: k, age: 0}}",
    );
    // Half a unit for the index's rows, then half a unit for each whole item, each rounded by itself.
    for id in ["All", "Body"] {
        assert_eq!(pattern(&report, id).read_units().0, 5, "{id}");
        assert!(pattern(&report, id).bytes_returned > 12_000, "{id}");
    }
    assert_eq!(pattern(&report, "Told").read_units().0, 1, "keys tell what they are made of");
    assert_eq!(pattern(&report, "Held").read_units().0, 3, "twelve kilobytes at once");
}

#[test]
fn a_strong_batch_of_gets_reads_strongly() {
    let report = family(
        "  - {id: S, batch: [{get: Customer}, {get: Order}], consistency: strong, example: {c: \"1\", day: \"2026-01-01\"}, expect: {rcu: 2, count: 2}}
  - {id: E, batch: [{get: Customer}, {get: Order}], example: {c: \"1\", day: \"2026-01-01\"}, expect: {rcu: 1, count: 2}}",
    );
    pattern(&report, "S");
    pattern(&report, "E");
}

/// Why a pattern has no plan, one sentence for each key.
fn no_plan(report: &Report) -> String {
    let [only] = report.patterns.as_slice() else { panic!("one pattern") };
    let Outcome::NoPlan(reasons) = &only.outcome else { panic!("{:?}", only.outcome) };
    reasons.join("; ")
}

#[test]
fn a_get_without_the_whole_key_is_refused_and_the_missing_attribute_named() {
    let report = family("  - {id: P, get: Order, given: {c: eq}, example: {c: \"1\"}}");
    let why = no_plan(&report);
    assert!(why.contains("whole key, and `day` is not given by equality"), "{why}");
    let report =
        family("  - {id: P, get: Order, given: {c: eq, day: ge}, example: {c: \"1\", day: \"2026-01-01\"}}");
    assert!(no_plan(&report).contains("`day`"));
}

#[test]
fn a_strong_read_that_only_a_global_index_answers_is_refused() {
    for uses in ["", "uses: byTotal, "] {
        let pattern = format!(
            "  - {{id: P, query: Order, given: {{shop: eq, total: ge}}, {uses}consistency: strong, example: {{shop: s, total: 9}}}}"
        );
        let why = no_plan(&family(&pattern));
        assert!(
            why.contains("byTotal: it is a global index, and the pattern is strongly consistent"),
            "{why}"
        );
    }
    let scan = "  - {id: P, scan: Order, uses: byTotal, consistency: strong, admin: true}";
    assert!(no_plan(&family(scan)).contains("strongly consistent"));
}

#[test]
fn a_global_index_does_not_filter_by_an_attribute_it_lacks() {
    let keys = FAMILY.replace("sk: total, project: all", "sk: total, project: keys");
    for question in [
        "given: {shop: eq, note: eq}, example: {shop: s, note: one}",
        "given: {shop: eq}, filter: \"note = :n\", example: {shop: s, n: one}",
    ] {
        let pattern = format!("  - {{id: P, query: Order, uses: byTotal, attributes: [day], {question}}}");
        let why = no_plan(&ran(&keys.replace("PATTERNS", &pattern)));
        assert_eq!(why, "byTotal: it does not hold note, which the pattern filters by");
    }
}

#[test]
fn a_key_of_several_attributes_is_not_bound_past_a_gap_or_a_range() {
    for (given, before, name) in [
        ("shop: eq, status: eq, total: ge", "day", "total"),
        ("shop: eq, status: eq, day: ge, total: eq", "day", "total"),
    ] {
        let pattern = format!(
            "  - {{id: P, query: Order, uses: byStatus, given: {{{given}}}, example: {{shop: s, status: OPEN, day: \"2026-01-01\", total: 9}}}}"
        );
        let why = no_plan(&family(&pattern));
        let expected = format!(
            "byStatus: `{before}` comes before `{name}` in the sort key and is not given by equality"
        );
        assert_eq!(why, expected);
    }
}

#[test]
fn a_failed_condition_is_billed_by_the_larger_of_the_stored_and_the_new_item() {
    let report = wide(
        "  - {id: Put, put: O, if: not-exists, example: {c: k, id: i1, age: 1, body: short}, expect: {fails-when: null, reason: ConditionalCheckFailed, wcu: 3}}
  - {id: Update, update: O, set: \"age = :n\", if: \"age > :least\", example: {c: k, id: i1, n: 1, least: 99}, expect: {fails-when: null, reason: ConditionalCheckFailed, wcu: 3}}
  - {id: Gone, update: O, set: \"age = :n\", if: exists, example: {c: nobody, id: none, n: 1}, expect: {fails-when: null, reason: ConditionalCheckFailed, wcu: 1}}
  - {id: Both, transact: [{put: O, if: not-exists}, {delete: O, if: exists, example: {c: nobody, id: none}}], example: {c: k, id: i1, age: 1, body: short}, expect: {fails-when: null, reason: ConditionalCheckFailed, wcu: 8}}",
    );
    for id in ["Put", "Update", "Gone", "Both"] {
        pattern(&report, id);
    }
}

#[test]
fn an_example_without_the_attribute_of_a_sparse_index_puts_an_item_outside_it() {
    let model = "
format: 1
model: sparse
tables: {Tab: {key: {pk: S}, indexes: {flag: {pk: fl, project: all}, byName: {pk: name, project: all}}}}
entities:
  O: {count: 9, key: {pk: \"o#{id}\"}, attrs: {id: S, name: S, fl: S}}
patterns:
  - {id: Out, put: O, if: not-exists, example: {id: c}}
  - {id: In, put: O, if: not-exists, example: {id: c, fl: y}}
data: {inline: {O: [{id: a, name: n}, {id: b, name: n, fl: y}]}}
";
    let report = ran(model);
    assert_eq!(pattern(&report, "Out").write_units().0, 4, "the table and the index that holds every item");
    assert_eq!(pattern(&report, "In").write_units().0, 6);
}

#[test]
fn a_refusal_of_the_service_says_what_to_change() {
    for (question, expected) in [
        (
            "{id: P, query: Order, given: {c: eq}, filter: \"lower(status) = :s\", example: {c: \"1\", s: OPEN}}",
            "change its `given` or `filter` or `example`",
        ),
        (
            "{id: P, update: Order, set: \"total = lower(:n)\", if: exists, example: {c: \"1\", day: \"2026-01-01\", n: 1}}",
            "change its `set` or `example`",
        ),
        (
            "{id: P, put: Order, if: not-exists, example: {c: \"1\", day: \"2026-01-01\"}}",
            "write an `example` on which it does, or what is expected",
        ),
    ] {
        let report = family(&format!("  - {question}"));
        let Outcome::Failed(text) = &report.patterns[0].outcome else { panic!("{question}") };
        assert!(text.contains(expected), "{text}");
    }
}

const STOCK: &str = "
format: 1
model: stock
tables: {Tab: {key: {pk: S}}}
entities:
  Part: {count: 40, key: {pk: \"p#{p}\"}, attrs: {p: S, n: N}}
  Bin: {count: 400, key: {pk: \"b#{b}\"}, attrs: {b: S}}
patterns:
  - {id: P, PATTERN, rate: 1}
data: DATA
";

fn stock(pattern: &str, data: &str) -> Result<(), String> {
    let report = ran(&STOCK.replace("PATTERN", pattern).replace("DATA", data));
    let own = report.patterns.first().expect("the pattern");
    match &own.outcome {
        Outcome::Failed(text) => {
            assert!(own.capacity.is_empty(), "what is refused has no units");
            Err(text.clone())
        }
        _ => Ok(()),
    }
}

#[test]
fn more_items_than_a_request_takes_are_refused_with_the_field_that_says_how_many() {
    let generated = "{generate: {seed: 1, sample: 400}}";
    for (pattern, expected) in [
        (
            "batch: [{put: Bin, n: 26}]",
            "a BatchWriteItem takes at most 25 items, and this one has 26: give it a lower `n`, or write several patterns",
        ),
        (
            "batch: [{get: Bin, n: 101}]",
            "a BatchGetItem takes at most 100 items, and this one has 101: give it a lower `n`, ",
        ),
        (
            "transact: [{put: Bin, n: 101}]",
            "a TransactWriteItems takes at most 100 items, and this one has 101: give it a lower `n`, ",
        ),
        (
            "transact: [{get: Bin, n: 99}, {get: Part, n: 2}]",
            "a TransactGetItems takes at most 100 items, and this one has 101",
        ),
    ] {
        let text = stock(pattern, generated).expect_err(pattern);
        assert!(text.starts_with(expected), "{pattern}: {text}");
    }
    for pattern in
        ["batch: [{put: Bin, n: 25}]", "batch: [{get: Bin, n: 100}]", "transact: [{put: Bin, n: 100}]"]
    {
        assert_eq!(stock(pattern, generated), Ok(()), "{pattern}");
    }
    let puts = vec!["{put: Bin}"; 26].join(", ");
    let text = stock(&format!("batch: [{puts}]"), generated).expect_err("26 steps");
    assert!(text.contains("give it fewer steps"), "{text}");
}

/// Following the message makes it run.
#[test]
fn a_write_of_more_items_than_there_are_names_the_number_and_the_correction() {
    let generated = |sample: u64| format!("{{generate: {{seed: 1, sample: {sample}}}}}");
    let inline = "{inline: {Part: [{p: a, n: 1}, {p: b, n: 2}], Bin: [{b: x}]}}";
    for (pattern, data, expected) in [
        (
            "batch: [{get: Part, n: 60}]",
            generated(40),
            "it takes 60 of Part that are there, each once, and there are 40: write `count: 60` of Part, or give it a lower `n`",
        ),
        (
            "transact: [{update: Part, set: \"n = :n\"}, {delete: Part}, {update: Part, set: \"n = n + :m\"}]",
            inline.to_owned(),
            "it takes 3 of Part that are there, each once, and there are 2: write 1 more into `data`, or give it fewer steps",
        ),
        (
            "batch: [{delete: Bin, n: 3}]",
            inline.to_owned(),
            "there is 1: write 2 more into `data`, or give it a lower `n`",
        ),
        (
            "update: Part, set: \"n = :n\"",
            "{inline: {Bin: [{b: x}]}}".to_owned(),
            "it takes 1 of Part that are there, each once, and there are 0: write 1 into `data`, or `data: {generate: {seed: 1, sample: 1}}`",
        ),
    ] {
        let text = stock(pattern, &data).expect_err(pattern);
        assert!(text.contains(expected), "{pattern}: {text}");
    }
    assert_eq!(stock("batch: [{get: Part, n: 20}]", &generated(40)), Ok(()));
    let grown = STOCK.replace("count: 40,", "count: 60,").replace("PATTERN", "batch: [{get: Part, n: 60}]");
    let report = ran(&grown.replace("DATA", &generated(400)));
    assert!(report.patterns[0].outcome.is_good(), "{:?}", report.patterns[0].outcome);
}

#[test]
fn the_planner_finds_a_local_index_by_itself() {
    let report = family("  - {id: P, query: Order, given: {c: eq, at: le}, example: {c: \"1\", at: b}}");
    assert_eq!(pattern(&report, "P").index.as_deref(), Some("recent"));
}

#[test]
fn keys_of_several_attributes_are_bound_from_the_left() {
    let report = family(
        "  - {id: All, query: Order, given: {shop: eq, status: eq}, example: {shop: s, status: OPEN}}
  - {id: Day, query: Order, given: {shop: eq, status: eq, day: eq, total: gt}, example: {shop: s, status: OPEN, day: \"2026-01-03\", total: 99}}
  - {id: From, query: Order, given: {shop: eq, status: eq, day: between}, order: desc, example: {shop: s, status: OPEN, day: [\"2026-01-02\", \"2026-01-09\"]}}
  - {id: Half, query: Order, given: {shop: eq, status: eq, total: gt}, uses: byStatus, example: {shop: s, status: OPEN, total: 99}}",
    );
    let keys = |id: &str| {
        let pattern = pattern(&report, id);
        assert_eq!(pattern.index.as_deref(), Some("byStatus"), "{id}");
        sorts(pattern)
    };
    assert_eq!(keys("All"), ["ORDER#2026-01-01", "ORDER#2026-01-03"]);
    assert_eq!(keys("Day"), ["ORDER#2026-01-03"]);
    assert_eq!(keys("From"), ["ORDER#2026-01-03"]);
    assert_eq!(pattern(&report, "Day").filter, None);
}

#[test]
fn numbers_are_keys_that_sort_as_numbers() {
    let report = family(
        "  - {id: P, query: Order, given: {shop: eq, total: ge}, uses: byTotal, example: {shop: s, total: 10}}",
    );
    assert_eq!(sorts(pattern(&report, "P")), ["ORDER#2026-01-02", "ORDER#2026-01-03"]);
}

const FILED: &str = "
format: 1
model: filed
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Post: {count: 2, key: {pk: \"u#{user}\", sk: \"POST#{n:pad(4)}\"}, attrs: {user: S, n: N}}
patterns:
  - {id: P, query: Post, given: {user: eq}, example: {user: a}}
data: {files: [items]}
";

#[test]
fn items_come_from_files_in_every_form() {
    let item = |n: u32| {
        format!(
            "{{\"pk\": {{\"S\": \"u#a\"}}, \"sk\": {{\"S\": \"POST#000{n}\"}}, \"user\": {{\"S\": \"a\"}}, \"n\": {{\"N\": \"{n}\"}}}}"
        )
    };
    for (form, text) in [
        ("records in YAML", "Post:\n  - {user: a, n: 1}\n  - {user: a, n: 2}\n".to_owned()),
        (
            "records in JSON",
            "{\"Post\": [{\"user\": \"a\", \"n\": 1}, {\"user\": \"a\", \"n\": 2}]}".to_owned(),
        ),
        ("an answer of Scan or Query", format!("{{\"Items\": [{}, {}], \"Count\": 2}}", item(1), item(2))),
        (
            "a request of BatchWriteItem",
            format!(
                "{{\"Tab\": [{{\"PutRequest\": {{\"Item\": {}}}}}, {{\"PutRequest\": {{\"Item\": {}}}}}]}}",
                item(1),
                item(2)
            ),
        ),
        ("items by table", format!("{{\"Tab\": [{}, {}]}}", item(1), item(2))),
        ("an export's lines", format!("{{\"Item\": {}}}\n\n{{\"Item\": {}}}\n", item(1), item(2))),
    ] {
        let report = ran_with(FILED, &|name| {
            if name == "items" { Ok(ItemFile::Text(text.clone())) } else { Err("no".to_owned()) }
        });
        let pattern = pattern(&report, "P");
        assert_eq!(sorts(pattern), ["POST#0001", "POST#0002"], "{form}");
        assert_eq!(report.entity("Post").map(|post| post.items), Some(2), "{form}");
    }
}

#[test]
fn an_export_of_one_line_is_an_export_and_an_entity_of_its_name_has_records() {
    let line =
        r#"{"Item": {"pk": {"S": "u#a"}, "sk": {"S": "POST#0001"}, "user": {"S": "a"}, "n": {"N": "1"}}}"#;
    for text in [line.to_owned(), format!("{line}\n"), format!("\n{line}\n\n")] {
        let report = ran_with(FILED, &|_| Ok(ItemFile::Text(text.clone())));
        assert_eq!(sorts(pattern(&report, "P")), ["POST#0001"], "{text}");
    }
    let named = FILED.replace("Post", "Item");
    let report =
        ran_with(&named, &|_| Ok(ItemFile::Text("{\"Item\": [{\"user\": \"a\", \"n\": 1}]}".to_owned())));
    assert_eq!(report.entity("Item").map(|entity| entity.items), Some(1));
}

#[test]
fn items_come_from_a_workbench_document() {
    let document =
        include_str!("../../../exchange/tests/data/workbench/simple-aws-ecommerce/ECommerce-9-10.json");
    let model = "
format: 1
model: filed
tables:
  SimpleAWSEcommerce:
    key: {PK: S, SK: S}
entities:
  Customer: {count: 1, key: {PK: \"{PK}\", SK: \"{SK}\"}, attrs: {PK: S, SK: S}}
patterns:
  - {id: P, query: Customer, given: {PK: eq}, example: {PK: \"c#12345\"}, admin: true}
data: {file: shop.json}
";
    let report = ran_with(model, &|_| Ok(item_file(document.to_owned())));
    assert!(pattern(&report, "P").items_returned > 0, "{report:?}");
}

#[test]
fn a_scatter_gather_asks_every_shard_and_every_page_of_it() {
    let report = ran("
format: 1
model: shards
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Hit: {count: 40, key: {pk: \"{page}#{id|shard(4)}\", sk: \"{id}\"}, attrs: {page: {type: S, values: [home]}, id: S}}
patterns:
  - {id: P, scatter-gather: Hit, given: {page: eq}, returns: {max: 40, page: 5}, example: {page: home}}
data: {generate: {seed: 1, sample: 40}}
");
    let gathered = pattern(&report, "P");
    assert_eq!((gathered.partitions, gathered.items_returned), (4, 40));
    assert!(gathered.requests > 8, "{}", gathered.requests);
    let checked = keywright_workbench::report::Checked { report: report.clone(), findings: Vec::new() };
    assert!(text(&checked, "x.yaml").contains(&format!("Query × 4, {} pages", gathered.requests)));
}

#[test]
fn a_pattern_that_no_single_request_answers_is_refused_with_a_reason_for_each_key() {
    let report = family("  - {id: P, query: Order, given: {note: eq}, example: {note: one}}");
    let Outcome::NoPlan(reasons) = &report.patterns[0].outcome else { panic!("a plan") };
    assert_eq!(reasons.len(), 4, "{reasons:?}");
}

/// Three keys lead to the items of a group; one of them returns them in the pattern's order.
#[test]
fn among_several_keys_the_one_with_the_patterns_order_is_used() {
    let model = |local: &str| {
        format!(
            r#"
format: 1
model: ranking
tables: {{Tab: {{key: {{pk: S, sk: S}}, indexes: {{ranks: {{{local} sk: score, project: keys}}, other: {{pk: grp, sk: id, project: all}}}}}}}}
entities:
  M: {{count: 3, key: {{pk: "g#{{grp}}", sk: "m#{{id}}"}}, attrs: {{id: S, grp: S, score: N}}}}
patterns:
  - {{id: P, query: M, given: {{grp: eq}}, order: {{by: score, direction: desc}}, attributes: [grp, id, score], example: {{grp: x}}}}
  - {{id: Q, query: M, given: {{grp: eq}}, order: desc, attributes: [grp, id, score], example: {{grp: x}}}}
data: {{inline: {{M: [{{id: a, grp: x, score: -5}}, {{id: b, grp: x, score: 12.5}}, {{id: c, grp: x, score: 7}}]}}}}
"#
        )
    };
    for kind in ["local: true,", "pk: grp,"] {
        let report = ran(&model(kind));
        let ranked = pattern(&report, "P");
        assert_eq!(ranked.index.as_deref(), Some("ranks"), "{kind}");
        assert_eq!(sorts(ranked), ["m#b", "m#c", "m#a"], "{kind}");
        assert_eq!(pattern(&report, "Q").index, None, "{kind}");
    }
}

fn due(key: &str, set: &str, example: &str) -> Report {
    ran(&format!(
        r#"
format: 1
model: dk
tables: {{Tab: {{key: {{pk: S, sk: S}}, indexes: {{gsi1: {{pk: gsi1pk, sk: gsi1sk, project: all}}}}}}}}
entities:
  P:
    count: 100
    key: {{pk: "p#{{id}}", sk: "p#"}}
    gsi1: {{gsi1pk: "g#{{grp}}", gsi1sk: "{key}"}}
    attrs: {{id: S, grp: {{type: S, distinct: 20}}, due: {{type: S, format: date}}, total: N, seen: {{type: S, format: date}}}}
patterns:
  - {{id: W, update: P, set: "{set}", if: exists, rate: 1{example}}}
data: {{generate: {{seed: 1, sample: 100}}}}
"#
    ))
}

#[test]
fn one_placeholder_sets_an_attribute_and_the_key_that_is_made_of_it() {
    for set in [
        "due = :t, gsi1sk = :t",
        "gsi1sk = :t, due = :t",
        "due = :t, gsi1sk = :k",
        "total = :total, due = :t, gsi1sk = :t",
    ] {
        let report = due("{due}", set, "");
        // The table, and the index twice: an entry out, an entry in.
        assert_eq!(pattern(&report, "W").write_units().0, 6, "{set}");
    }
    // A value that the author gives goes to both as well.
    pattern(&due("{due}", "due = :t, gsi1sk = :t", ", example: {t: \"2031-01-01\"}"), "W");
    // The same for several attributes, none of which is a key.
    pattern(&due("{due}", "due = :t, seen = :t, gsi1sk = :t", ""), "W");
    pattern(&due("x#{grp}", "due = :t, seen = :t", ""), "W");
}

#[test]
fn one_placeholder_cannot_set_an_attribute_and_a_key_with_another_value() {
    for (key, example) in [("d#{due}", ""), ("d#{due}", ", example: {t: \"2031-01-01\"}"), ("{due}#{id}", "")]
    {
        let report = due(key, "gsi1sk = :t, due = :t", example);
        let Some(Outcome::Failed(reason)) = report.pattern("W").map(|own| own.outcome.clone()) else {
            panic!("{key}: it stores a key that its template does not make")
        };
        assert_eq!(
            reason,
            format!(
                "`:t` sets both `due` and `gsi1sk`, but `gsi1sk` is made as `{key}`: give it a placeholder of its own, `gsi1sk = :gsi1sk`"
            )
        );
    }
    let report = due("d#{due}", "due = :t, gsi1pk = :k, gsi1sk = :k", "");
    assert!(
        matches!(&report.pattern("W").expect("W").outcome, Outcome::Failed(reason) if reason.contains("gsi1pk"))
    );
}
