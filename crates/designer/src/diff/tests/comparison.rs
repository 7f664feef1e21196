//! The differences that a comparison names, and the cost of its plan, on the steps of the e-commerce example.

use keywright_semantics::schema::Projection;

use super::facts::{facts_of, remarks};
use crate::diff::StepKind::{
    Backfill, CreateIndex, CreateTable, DeleteIndex, DeleteTable, LoadItems, StopWrites, SwitchReads, Verify,
    WriteBoth,
};
use crate::diff::*;
use keywright_exchange::of_model::Items;
use keywright_exchange::workbench_json::Document;
use keywright_model::json::Json;
use keywright_model::parse;
use keywright_workbench::price::{Money, Prices, TODAY};

fn subject(step: &str) -> Subject {
    let path = format!(
        "{}/../exchange/tests/data/workbench/simple-aws-ecommerce/ECommerce-{step}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(path).expect("the test data is there");
    let draft = Document::parse(&text).and_then(|document| document.read()).expect("a document").draft;
    Subject::of_draft(&draft)
}

fn changes(difference: &Difference) -> Vec<String> {
    difference.changes.iter().map(ToString::to_string).collect()
}

#[test]
fn r73_the_difference_of_each_step_to_the_next_names_what_was_added() {
    let cases: [(&str, &str, &[&str], u64); 7] = [
        ("0", "1", &["+ entity SimpleAWSEcommerce.customer added: c#{customerId}, c#{customerId}"], 1),
        ("1", "2", &["+ entity SimpleAWSEcommerce.product added: p#{productId}, p#{productId}"], 1),
        (
            "2",
            "3-4",
            &[
                "+ entity SimpleAWSEcommerce.orderItem added: o#{orderId}, p#{productId}",
                "+ entity SimpleAWSEcommerce.order added: o#{orderId}, c#{customerId}",
            ],
            3,
        ),
        ("3-4", "5", &["+ entity SimpleAWSEcommerce.invoice added: o#{orderId}, i#{invoiceId}"], 1),
        (
            "5",
            "6",
            &[
                "+ index SimpleAWSEcommerce.GSI1 added: GSI1-PK, GSI1-SK, all attributes",
                "~ entity SimpleAWSEcommerce.orderItem changed: enters GSI1 as p#{productId}, {date}",
            ],
            4,
        ),
        (
            "6",
            "7-8",
            &[
                "~ entity SimpleAWSEcommerce.invoice changed: enters GSI1 as i#{invoiceId}, i#{invoiceId}; attribute Detail (M) added",
            ],
            2,
        ),
        (
            "7-8",
            "9-10",
            &[
                "+ index SimpleAWSEcommerce.GSI2 added: GSI2-PK, GSI2-SK, all attributes",
                "~ entity SimpleAWSEcommerce.orderItem changed: enters GSI2 as c#{customerId}, p#{date}",
                "~ entity SimpleAWSEcommerce.invoice changed: enters GSI2 as c#{customerId}, i#{Date}",
            ],
            // Three items are written, with their entries in GSI1, which projects all; then GSI2 is filled.
            9,
        ),
    ];
    for (from, to, expected, units) in cases {
        let difference = diff(&subject(from), &subject(to));
        assert_eq!(changes(&difference), expected, "{from} to {to}");
        assert_eq!(difference.plan.units().map(Units::writes), Some(units), "{from} to {to}");
    }
}

#[test]
fn a_model_does_not_differ_from_itself() {
    let difference = diff(&subject("9-10"), &subject("9-10"));
    assert_eq!(difference.changes, []);
    assert_eq!(difference.plan, Plan::default());
}

fn kinds(plan: &Plan) -> Vec<StepKind> {
    plan.steps.iter().map(|step| step.kind).collect()
}

fn pattern(id: &str, uses: Option<&str>, entity: &str) -> SubjectPattern {
    SubjectPattern {
        id: id.to_owned(),
        text: format!("pattern {id}"),
        writes: false,
        uses: uses.map(str::to_owned),
        reading: Reading::Query,
        entities: vec![entity.to_owned()],
        given: Vec::new(),
        equal: Vec::new(),
        needs: Vec::new(),
        whole: false,
        touches: Vec::new(),
        answered: true,
        definition: String::new(),
    }
}

#[test]
fn r82_a_new_pattern_yields_new_data_in_the_base_table_or_an_index_for_the_new_query() {
    let (before, mut after) = (subject("3-4"), subject("6"));
    after.patterns = vec![pattern("P5", None, "invoice"), pattern("P6", Some("GSI1"), "orderItem")];
    let plan = diff(&before, &after).plan;
    assert_eq!(
        remarks(&plan),
        [
            "new-data: entity=invoice, table=SimpleAWSEcommerce, moved=",
            "needs-no-index: pattern=P5",
            "needs-index: pattern=P6, table=SimpleAWSEcommerce, index=GSI1",
            "estimated: entities=customer 3 product 2 orderItem 2 order 1 invoice 1",
        ]
    );
    assert_eq!(kinds(&plan), [CreateIndex, WriteBoth, Backfill, LoadItems, Verify, SwitchReads]);

    let mut later = after.clone();
    later.patterns.push(pattern("P7", Some("GSI1"), "invoice"));
    assert_eq!(
        remarks(&diff(&after, &later).plan),
        ["served-by-index: pattern=P7, table=SimpleAWSEcommerce, index=GSI1"]
    );
}

#[test]
fn costs_grow_with_the_counts_and_sizes_the_model_gives() {
    let (mut before, mut after) = (subject("5"), subject("6"));
    for side in [&mut before, &mut after] {
        let entities = side.tables[0].entities.iter_mut();
        for entity in entities.filter(|entity| entity.name == "orderItem") {
            entity.count = Count::Declared(30_000_000);
        }
    }
    let plan = diff(&before, &after).plan;
    assert_eq!(plan.units().map(Units::writes), Some(60_000_000));
    // 0.625 dollars a million.
    let prices = Prices::built_in(TODAY).expect("built in");
    let backfill = plan.steps.iter().find(|step| step.kind == StepKind::Backfill).expect("a backfill");
    let units = backfill.units.expect("examples");
    assert_eq!((units.table_writes, units.index_writes), (30_000_000, 30_000_000));
    let writes = Step { units: Some(Units { reads: 0, ..units }), ..backfill.clone() };
    assert_eq!(writes.cost(&prices).map(|cost| cost.to_string()), Some("$37.50".to_owned()));
    assert_eq!(units.seconds(1000), 60_000);
}

#[test]
fn a_changed_index_is_created_again_before_the_old_one_is_dropped() {
    let (before, mut after) = (subject("6"), subject("6"));
    after.tables[0].definition.schema.indexes[0].projection = Projection::KeysOnly;
    assert_eq!(kinds(&diff(&before, &after).plan), [CreateIndex, SwitchReads, DeleteIndex]);
}

#[test]
fn an_attribute_whose_name_begins_that_of_a_key_variable_is_compared_like_any_other() {
    let of = |kind: &str| {
        let text = format!(
            "format: 1\nmodel: m\ntables:\n  Orders: {{key: {{pk: S}}}}\nentities:\n  Order: {{count: 1000, size: 700, key: {{pk: \"{{orderId}}\"}}, attrs: {{orderId: S, order: {kind}}}}}\npatterns:\n  - {{id: W1, put: Order, rate: 1}}\n"
        );
        Subject::of_model(&parse(&text).expect("a model"), &Items::new())
    };
    let difference = diff(&of("N"), &of("S"));
    assert_eq!(changes(&difference), ["~ entity Orders.Order changed: attribute order was N, is S"]);
    assert!(!difference.plan.steps.is_empty());
}

#[test]
fn a_changed_key_copies_the_table() {
    let (before, mut after) = (subject("6"), subject("6"));
    after.tables[0].definition.schema.key.sort.clear();
    let difference = diff(&before, &after);
    assert_eq!(changes(&difference)[0], "~ table SimpleAWSEcommerce changed: key was PK, SK, is PK");
    assert_eq!(
        kinds(&difference.plan),
        [CreateTable, WriteBoth, Backfill, Verify, SwitchReads, StopWrites, DeleteTable]
    );
    let backfill = &difference.plan.steps[2];
    let prices = Prices::built_in(TODAY).expect("built in");
    let other = backfill.alternative.as_ref().expect("files");
    assert!(other.cost(&prices).is_some_and(|cost| cost > Money::ZERO), "{other:?}");
}

/// A model of one table with the given lines.
fn model(key: &str, indexes: &str, attributes: &str, patterns: &str) -> Subject {
    let text = format!(
        "format: 1\nmodel: m\ntables:\n  Orders: {{key: {{pk: S, sk: S}}{indexes}}}\nentities:\n  Order: {{count: 1000000, size: 2500, key: {key}{attributes}}}\npatterns:\n{patterns}"
    );
    let made = parse(&text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
    Subject::of_model(&made, &Items::new())
}

const PLAIN: &str = "{pk: \"o#{id}\", sk: o}";
const BY_CUSTOMER: &str = "{pk: \"c#{customer}\", sk: \"o#{id}\"}";
const ATTRIBUTES: &str = ", attrs: {id: S, customer: S, at: S}";
const PUT: &str = "  - {id: W1, put: Order, if: not-exists, rate: 1}\n";
const GET: &str = "  - {id: R1, get: Order, given: {id: eq}, rate: 5}\n";
const GET_BOTH: &str = "  - {id: R1, get: Order, given: {customer: eq, id: eq}, rate: 5}\n";
const OF_CUSTOMER: &str = "  - {id: Q2, query: Order, given: {customer: eq}, uses: gsi1, rate: 1}\n";

#[test]
fn a_key_that_loses_its_shards_is_named_also_where_the_tables_key_has_new_names() {
    let of = |names: [&str; 2], key: &str| {
        let [pk, sk] = names;
        let text = format!(
            "format: 1\nmodel: m\ntables:\n  Votes: {{key: {{{pk}: S, {sk}: S}}}}\nentities:\n  Vote: {{count: 1000, size: 700, key: {{{pk}: \"{key}\", {sk}: \"v#{{vote}}\"}}, attrs: {{candidate: S, vote: S}}}}\npatterns:\n  - {{id: W1, put: Vote, rate: 1}}\n"
        );
        Subject::of_model(&parse(&text).expect("a model"), &Items::new())
    };
    let (sharded, plain) = ("c#{candidate}#{vote|shard(10)}", "c#{candidate}");
    let same = diff(&of(["pk", "sk"], sharded), &of(["pk", "sk"], plain));
    let shards = "shards were 10, are none";
    assert_eq!(
        changes(&same),
        [format!("~ entity Votes.Vote changed: pk was {sharded}, is {plain}; {shards}")]
    );
    let renamed = diff(&of(["PK", "SK"], sharded), &of(["pk", "sk"], plain));
    let entity = format!(
        "~ entity Votes.Vote changed: key was {sharded}, v#{{vote}}, is {plain}, v#{{vote}}; {shards}"
    );
    assert_eq!(changes(&renamed), ["~ table Votes changed: key was PK, SK, is pk, sk".to_owned(), entity]);
    // New names alone change no template.
    assert_eq!(changes(&diff(&of(["PK", "SK"], sharded), &of(["pk", "sk"], sharded))).len(), 1);
}

/// The operations of all steps.
fn lines(plan: &Plan) -> Vec<String> {
    plan.steps.iter().flat_map(facts_of).collect()
}

#[test]
fn items_under_a_new_key_are_written_twice_filled_up_verified_read_and_only_then_deleted() {
    let before = model(PLAIN, "", ATTRIBUTES, &format!("{PUT}{GET}"));
    let after = model(BY_CUSTOMER, "", ATTRIBUTES, &format!("{PUT}{GET_BOTH}"));
    let plan = diff(&before, &after).plan;
    assert_eq!(
        lines(&plan),
        [
            "dual-write: entity=Order, patterns=W1, old=Orders o#{id} o, new=Orders c#{customer} o#{id}",
            "check-old-copy: entity=Order, old=Orders o#{id} o, new=Orders c#{customer} o#{id}",
            "copy: entity=Order, items=1000000, old=Orders o#{id} o, new=Orders c#{customer} o#{id}, values=, condition=attribute_not_exists(pk)",
            "compare-copies: entity=Order, old=Orders o#{id} o, new=Orders c#{customer} o#{id}",
            "use-new-copy: entity=Order, patterns=, old=Orders o#{id} o, new=Orders c#{customer} o#{id}",
            "read-by-new-key: pattern=R1, place=Orders",
            "stop-dual-write: entity=Order, patterns=W1, old=Orders o#{id} o",
            "delete-old: entity=Order, items=1000000, old=Orders o#{id} o",
        ]
    );
    // 2500 bytes are three write units; a scan reads 8 KB per unit, of the old and of the new items.
    let units: Vec<(u64, u64)> =
        plan.steps.iter().filter_map(|step| step.units).map(|units| (units.reads, units.writes())).collect();
    let scan = 610_352;
    assert_eq!(units, [(0, 0), (scan, 3_000_000), (scan, 0), (0, 0), (0, 0), (scan, 3_000_000)]);
}

#[test]
fn an_index_on_new_attributes_is_created_then_written_then_filled_conditionally_and_read_last() {
    let indexes = ", indexes: {gsi1: {pk: g1, sk: at}}";
    let slot = ", gsi1: {g1: \"c#{customer}\", at: \"{at}\"}";
    let before = model(PLAIN, "", ATTRIBUTES, &format!("{PUT}{GET}"));
    let after = model(PLAIN, indexes, &format!("{slot}{ATTRIBUTES}"), &format!("{PUT}{GET}{OF_CUSTOMER}"));
    let there = lines(&diff(&before, &after).plan);
    assert_eq!(
        there,
        [
            "create-index: table=Orders, index=gsi1, definition=g1 at ALL, renamed=",
            "set-attributes: entity=Order, patterns=W1, values=g1 c#{customer}, added=true",
            "fill: entity=Order, items=1000000, table=Orders, values=g1 c#{customer}, condition=attribute_exists(pk) AND attribute_not_exists(g1)",
            "compare-filled: entity=Order, table=Orders, values=g1 c#{customer}",
            "compare-counts: entity=Order, table=Orders, index=gsi1",
            "begin-read: pattern=Q2, place=Orders gsi1",
        ]
    );
    // The way back: no read uses it before it is dropped.
    let back = lines(&diff(&after, &before).plan);
    assert_eq!(back, ["end-read: pattern=Q2", "delete-index: table=Orders, index=gsi1",]);
}

#[test]
fn an_index_on_attributes_that_are_there_fills_itself_and_each_index_is_a_request_of_its_own() {
    let before = model(PLAIN, "", ATTRIBUTES, GET);
    let indexes = ", indexes: {gsi1: {pk: customer}, gsi2: {pk: at, project: keys}}";
    let plan = diff(&before, &model(PLAIN, indexes, ATTRIBUTES, GET)).plan;
    assert_eq!(kinds(&plan), [StepKind::CreateIndex, StepKind::CreateIndex]);
    let writes: Vec<Option<u64>> = plan.steps.iter().map(|step| step.units.map(Units::writes)).collect();
    assert_eq!(writes[0], Some(3_000_000));
}

#[test]
fn a_changed_index_key_is_read_by_old_and_new_until_all_items_have_it() {
    let indexes = ", indexes: {gsi1: {pk: g1}}";
    let slot = |template: &str| format!(", gsi1: {{g1: \"{template}\"}}{ATTRIBUTES}");
    let patterns = format!("{PUT}{OF_CUSTOMER}");
    let before = model(PLAIN, indexes, &slot("c#{customer}"), &patterns);
    let after = model(PLAIN, indexes, &slot("customer#{customer}"), &patterns);
    assert_eq!(
        lines(&diff(&before, &after).plan),
        [
            "read-both-keys: pattern=Q2, entity=Order, from=Orders gsi1 c#{customer}, to=Orders gsi1 customer#{customer}",
            "set-attributes: entity=Order, patterns=W1, values=g1 customer#{customer}",
            "fill: entity=Order, items=1000000, table=Orders, values=g1 customer#{customer}, condition=g1 = :g1 AND customer = :customer",
            "compare-filled: entity=Order, table=Orders, values=g1 customer#{customer}",
            "read-by-new-key: pattern=Q2, entity=Order, place=Orders gsi1",
        ]
    );
}

#[test]
fn replicas_multiply_the_cost_of_a_plan_and_a_plan_has_no_needless_step() {
    let before = model(PLAIN, ", replicas: [eu-west-1]", ATTRIBUTES, &format!("{PUT}{GET}"));
    let after = model(BY_CUSTOMER, ", replicas: [eu-west-1]", ATTRIBUTES, &format!("{PUT}{GET_BOTH}"));
    let prices = Prices::built_in(TODAY).expect("built in");
    let plan = diff(&before, &after).plan;
    let delete = plan.steps.last().expect("a step");
    // Twice 3,000,000 replicated units at 0.625 a million, and 610,352 reads at 0.125.
    assert_eq!(delete.cost(&prices).map(Money::as_nanos), Some(3_750_000_000 + 610_352 * 125));
    let alone = model(PLAIN, "", ATTRIBUTES, &format!("{PUT}{GET}"));
    assert_eq!(
        lines(&diff(&alone, &before).plan),
        [
            "set-setting: table=Orders, setting=stream, value=NEW_AND_OLD_IMAGES, call=UpdateTable",
            "set-setting: table=Orders, setting=replicas, value=eu-west-1, call=UpdateTable",
        ]
    );
    assert_eq!(diff(&alone, &alone).plan, Plan::default());
}

#[test]
fn text_markdown_and_json_of_a_plan_have_the_same_figures() {
    let before = model(PLAIN, "", ATTRIBUTES, &format!("{PUT}{GET}"));
    let after = model(BY_CUSTOMER, "", ATTRIBUTES, &format!("{PUT}{GET_BOTH}"));
    let difference = diff(&before, &after);
    let prices = Prices::built_in(TODAY).expect("built in");
    let terms = Terms { prices: &prices, rate: 100 };
    let text = difference.text(terms);
    assert!(
        text.contains(
            "     = 610352 read and 3000000 write units, $1.95, 9 hours at 100 write units a second\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("Together: 1831056 read and 6000000 write units, $3.98, once, on demand"),
        "{text}"
    );
    let markdown = difference.markdown(terms);
    let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(rows.len(), 1 + difference.plan.steps.len(), "{markdown}");
    assert!(rows.iter().all(|row| row.replace("\\|", "").matches('|').count() == 8), "{markdown}");
    assert!(rows[2].contains("| 610352 | 3000000 | $1.95 | 9 hours"), "{markdown}");
    let json = difference.json(terms);
    let steps = json.get("steps").expect("steps").elements();
    assert_eq!(steps[1].str_at("who"), Some("job"));
    let copy = &steps[1].get("operations").expect("operations").elements()[0];
    let condition = Some("attribute_not_exists(pk)");
    assert_eq!((copy.str_at("kind"), copy.str_at("condition")), (Some("copy"), condition));
    assert_eq!(copy.get("writeUnits").and_then(Json::as_u64), Some(3_000_000));
    assert_eq!(steps[1].get("seconds").and_then(Json::as_u64), Some(30_000));
    assert_eq!(json.get("writeUnits").and_then(Json::as_u64), Some(6_000_000));
}

#[test]
fn unmeasured_sizes_are_unknown_and_not_zero() {
    let unmeasured = |key: &str| {
        let text = format!(
            "format: 1\nmodel: m\ntables:\n  Tab: {{key: {{pk: S}}}}\nentities:\n  E: {{count: 10, key: {{pk: \"{key}\"}}, attrs: {{id: S}}}}\npatterns: []\n"
        );
        Subject::of_model(&parse(&text).expect("a model"), &Items::new())
    };
    let difference = diff(&unmeasured("a#{id}"), &unmeasured("b#{id}"));
    let prices = Prices::built_in(TODAY).expect("built in");
    assert_eq!((difference.plan.units(), difference.plan.cost(&prices)), (None, None));
    let text = difference.text(Terms { prices: &prices, rate: 1000 });
    assert!(text.contains("units unknown") && text.contains("Together: unknown"), "{text}");
}

const CHANGES: &str = "  - {id: W1, put: Order, rate: 1}\n  - {id: W2, update: Order, set: \"note = :n\", rate: 1}\n  - {id: W3, delete: Order, rate: 1}\n";

#[test]
fn a_recreated_table_moves_the_reads_to_its_indexes_before_the_old_one_is_deleted() {
    let slot = format!(", gsi1: {{customer: \"{{customer}}\"}}{ATTRIBUTES}");
    let patterns = format!("{PUT}{GET}{OF_CUSTOMER}");
    let before = model(PLAIN, ", indexes: {gsi1: {pk: customer}}", &slot, &patterns);
    let mut after = before.clone();
    let mut local = after.tables[0].definition.schema.indexes[0].clone();
    local.name = "near".to_owned();
    local.kind = keywright_semantics::schema::IndexKind::Local;
    after.tables[0].definition.schema.indexes.push(local);
    let plan = diff(&before, &after).plan;
    let switch = plan.steps.iter().find(|step| step.kind == SwitchReads).expect("a switch");
    assert_eq!(
        facts_of(switch),
        [
            "use-new-copy: entity=Order, patterns=, old=Orders o#{id} o, new=Orders o#{id} o true",
            "read-again: pattern=R1, place=Orders",
            "read-again: pattern=Q2, place=Orders gsi1",
        ]
    );
    assert_eq!(plan.steps.last().map(|step| step.kind), Some(DeleteTable));
}

#[test]
fn items_that_go_to_another_table_are_deleted_from_the_old_one_once() {
    let text = |table: &str| {
        format!(
            "format: 1\nmodel: m\ntables:\n  Shop: {{key: {{pk: S, sk: S}}}}\n  Orders: {{key: {{pk: S, sk: S}}}}\nentities:\n  User: {{table: Shop, count: 5, size: 100, key: {{pk: \"u#{{id}}\", sk: u}}, attrs: {{id: S}}}}\n  Log: {{table: Orders, count: 5, size: 100, key: {{pk: \"l#{{id}}\", sk: l}}, attrs: {{id: S}}}}\n  Order: {{table: {table}, count: 1000, size: 700, key: {PLAIN}, attrs: {{id: S, customer: S, at: S, note: S}}}}\npatterns:\n{CHANGES}{GET}"
        )
    };
    let made = |table: &str| {
        let text = text(table);
        let made = parse(&text).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
        Subject::of_model(&made, &Items::new())
    };
    let plan = diff(&made("Shop"), &made("Orders")).plan;
    let step = |kind: StepKind| plan.steps.iter().find(|step| step.kind == kind).expect("a step");
    assert_eq!(
        facts_of(step(StepKind::DeleteItems)),
        ["delete-old: entity=Order, items=1000, old=Shop o#{id} o"]
    );
    assert_eq!(step(StepKind::DeleteItems).units.map(Units::writes), Some(1000));
    assert_eq!(
        facts_of(step(SwitchReads)),
        [
            "use-new-copy: entity=Order, patterns=W2, updated=true, old=Shop o#{id} o, new=Orders o#{id} o",
            "read-instead: pattern=R1, place=Orders, from=Shop",
        ]
    );
    assert_eq!(
        facts_of(step(WriteBoth)),
        [
            "dual-write: entity=Order, patterns=W1 W2 W3, old=Shop o#{id} o, new=Orders o#{id} o",
            "check-old-copy: entity=Order, old=Shop o#{id} o, new=Orders o#{id} o",
            "put-whole: entity=Order, patterns=W2, old=Shop o#{id} o, new=Orders o#{id} o",
        ]
    );
}

#[test]
fn a_changed_index_key_is_set_by_its_writers_and_by_nothing_else() {
    let indexes = ", indexes: {gsi1: {pk: g1}}";
    let attributes = ", attrs: {id: S, customer: S, at: S, note: S}";
    let slot = |template: &str| format!(", gsi1: {{g1: \"{template}\"}}{attributes}");
    let moves = "  - {id: W4, update: Order, set: \"customer = :c\", rate: 1}\n";
    let patterns = format!("{CHANGES}{moves}{OF_CUSTOMER}");
    let before = model(PLAIN, indexes, &slot("c#{customer}"), &patterns);
    let after = model(PLAIN, indexes, &slot("customer#{customer}"), &patterns);
    let plan = diff(&before, &after).plan;
    let step = plan.steps.iter().find(|step| step.kind == WriteBoth).expect("a step");
    assert_eq!(
        facts_of(step),
        ["set-attributes: entity=Order, patterns=W1 W4, values=g1 customer#{customer}"]
    );
}
