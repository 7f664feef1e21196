//! What a comparison names, and what its plan costs, on the steps of the e-commerce example.

use keywright_semantics::schema::Projection;

use super::*;
use crate::exchange::workbench_json::Document;
use crate::price::{Prices, TODAY};

fn subject(step: &str) -> Subject {
    let path = format!(
        "{}/tests/data/workbench/simple-aws-ecommerce/ECommerce-{step}.json",
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
            // Three items are written, with their entries in GSI1, which holds all attributes; then GSI2 is filled.
            9,
        ),
    ];
    for (from, to, expected, units) in cases {
        let difference = diff(&subject(from), &subject(to));
        assert_eq!(changes(&difference), expected, "{from} to {to}");
        assert_eq!(difference.plan.write_units(), Some(units), "{from} to {to}");
    }
}

#[test]
fn a_model_does_not_differ_from_itself() {
    let difference = diff(&subject("9-10"), &subject("9-10"));
    assert_eq!(difference.changes, []);
    assert_eq!(difference.plan, Plan::default());
}

fn pattern(id: &str, uses: Option<&str>, entity: &str) -> SubjectPattern {
    SubjectPattern {
        id: id.to_owned(),
        text: format!("pattern {id}"),
        uses: uses.map(str::to_owned),
        entities: vec![entity.to_owned()],
        definition: String::new(),
    }
}

#[test]
fn r82_a_new_pattern_yields_new_data_in_the_base_table_or_an_index_for_the_new_query() {
    let (before, mut after) = (subject("3-4"), subject("6"));
    after.patterns = vec![pattern("P5", None, "invoice"), pattern("P6", Some("GSI1"), "orderItem")];
    let plan = diff(&before, &after).plan;
    assert_eq!(
        plan.summary,
        [
            "new data → base table: invoice in SimpleAWSEcommerce",
            "new query → base table: P5 needs no index",
            "new query → index: P6 needs the new index SimpleAWSEcommerce.GSI1",
        ]
    );
    let kinds: Vec<StepKind> = plan.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [StepKind::UpdateItems, StepKind::CreateIndex, StepKind::LoadItems]);

    let mut later = after.clone();
    later.patterns.push(pattern("P7", Some("GSI1"), "invoice"));
    assert_eq!(
        diff(&after, &later).plan.summary,
        ["new query → index: P7 is served by SimpleAWSEcommerce.GSI1, which is there"]
    );
}

#[test]
fn costs_grow_with_the_counts_and_sizes_the_model_gives() {
    let (mut before, mut after) = (subject("5"), subject("6"));
    for side in [&mut before, &mut after] {
        let entities = side.tables[0].entities.iter_mut();
        for entity in entities.filter(|entity| entity.name == "orderItem") {
            entity.count = 30_000_000;
        }
    }
    let plan = diff(&before, &after).plan;
    assert_eq!(plan.write_units(), Some(60_000_000));
    // 0.625 dollars a million.
    let prices = Prices::built_in(TODAY).expect("built in");
    assert_eq!(plan.write_cost(&prices).map(|cost| cost.to_string()), Some("$37.50".to_owned()));
}

#[test]
fn an_index_that_changes_is_built_anew_before_the_old_one_goes() {
    let (before, mut after) = (subject("6"), subject("6"));
    after.tables[0].definition.schema.indexes[0].projection = Projection::KeysOnly;
    let kinds: Vec<StepKind> = diff(&before, &after).plan.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds, [StepKind::CreateIndex, StepKind::DeleteIndex]);
}

#[test]
fn a_changed_key_copies_the_table() {
    let (before, mut after) = (subject("6"), subject("6"));
    after.tables[0].definition.schema.key.sort.clear();
    let difference = diff(&before, &after);
    assert_eq!(changes(&difference)[0], "~ table SimpleAWSEcommerce changed: key was PK, SK, is PK");
    let kinds: Vec<StepKind> = difference.plan.steps.iter().map(|step| step.kind).collect();
    assert_eq!(kinds.first(), Some(&StepKind::CreateTable));
    assert_eq!(kinds.last(), Some(&StepKind::DeleteTable));
}
