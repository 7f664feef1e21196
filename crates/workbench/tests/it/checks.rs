//! Models checked on the engine, and their reports.

use expect_test::{Expect, expect};
use keywright_workbench::lint::{Finding, Severity};
use keywright_workbench::report::{Checked, json, junit, markdown, text};

use crate::support::checked;

const SHOP: &str = include_str!("../../../model/tests/models/shop.yaml");

fn shows(rendered: &str, expected: &Expect) {
    expected.assert_eq(rendered);
}

#[test]
fn the_sample_of_the_documentation_passes_as_text() {
    shows(
        &text(&checked(SHOP), "shop.yaml"),
        &expect![[r"
            pattern  operation           path  read  returned  units  result
            P6       Query               gsi1     1         1  0.5 R  met
            W1       TransactWriteItems  Shop     0         0   17 W  met

            shop.yaml:12:7: warning L034: no pattern uses index `gsi2` of Shop; every write pays for it
                fix: remove it, or write down the pattern it is for
            shop.yaml:13:7: warning L034: no pattern uses index `byStatus` of Shop; every write pays for it
                fix: remove it, or write down the pattern it is for
            shop.yaml:19:3: warning L058: `tenantId` is not in the partition key of Order: access cannot be confined to a tenant by key
                fix: begin the partition key with `{tenantId}`
            shop.yaml:49:46: warning L052: W1 puts OrderItem and would overwrite one that is there
                fix: write `if: not-exists`
            shop.yaml:5:3: note L060: Shop has no point-in-time recovery
                fix: write `pitr: true`
            shop.yaml:5:3: note L060: Shop can be deleted by mistake
                fix: write `deletionProtection: true`
            shop.yaml:16:37: note L061: Customer.name averages 3 bytes in the data but is declared as 30; check meters the data, cost and rules use the declared size
                fix: declare what real items have, or give the data values of real length
            shop.yaml:18:35: note L061: Product.name averages 4 bytes in the data but is declared as 40; check meters the data, cost and rules use the declared size
                fix: declare what real items have, or give the data values of real length

            2 patterns: 2 met, 0 ran without expectation, 0 failed. 0 errors, 4 warnings, 4 notes. The check passes.
        "]],
    );
}

#[test]
fn reports_come_as_markdown_and_junit() {
    let checked = checked(SHOP);
    shows(
        &markdown(&checked),
        &expect![[r#"
            # shop

            2 patterns: 2 met, 0 ran without expectation, 0 failed. 0 errors, 4 warnings, 4 notes. The check passes.

            | pattern | question | operation | path | key | read | returned | RCU | WCU | result |
            |---|---|---|---|---|--:|--:|--:|--:|---|
            | P6 | All orders of a product in a date range | Query | gsi1 | `gsi1pk = "p#99887" AND gsi1sk BETWEEN "2023-04-25T00:00:00" AND "2023-04-25T23:59:59.999"` | 1 | 1 | 0.5 | 0 | met |
            | W1 | Place an order | TransactWriteItems | Shop |  | 0 | 0 | 0 | 17 | met |

            ## Findings

            - **warning L034** (line 12): no pattern uses index `gsi2` of Shop; every write pays for it *Fix:* remove it, or write down the pattern it is for
            - **warning L034** (line 13): no pattern uses index `byStatus` of Shop; every write pays for it *Fix:* remove it, or write down the pattern it is for
            - **warning L058** (line 19): `tenantId` is not in the partition key of Order: access cannot be confined to a tenant by key *Fix:* begin the partition key with `{tenantId}`
            - **warning L052** (line 49): W1 puts OrderItem and would overwrite one that is there *Fix:* write `if: not-exists`
            - **note L060** (line 5): Shop has no point-in-time recovery *Fix:* write `pitr: true`
            - **note L060** (line 5): Shop can be deleted by mistake *Fix:* write `deletionProtection: true`
            - **note L061** (line 16): Customer.name averages 3 bytes in the data but is declared as 30; check meters the data, cost and rules use the declared size *Fix:* declare what real items have, or give the data values of real length
            - **note L061** (line 18): Product.name averages 4 bytes in the data but is declared as 40; check meters the data, cost and rules use the declared size *Fix:* declare what real items have, or give the data values of real length
        "#]],
    );
    shows(
        &junit(&checked, "shop.yaml"),
        &expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="shop" tests="2" failures="0">
              <testcase classname="shop.yaml" name="P6 All orders of a product in a date range" file="shop.yaml" line="36"/>
              <testcase classname="shop.yaml" name="W1 Place an order" file="shop.yaml" line="47"/>
            </testsuite>
        "#]],
    );
    assert!(json(&checked).starts_with("{\n  \"model\": \"shop\""));
}

#[test]
fn the_starter_passes_and_nothing_is_found_wrong_with_it() {
    let checked = checked(keywright_model::starter());
    assert!(checked.passes(), "{}", text(&checked, "model.yaml"));
    assert!(checked.findings.is_empty(), "{}", text(&checked, "model.yaml"));
}

/// Nine items under three keys, and declared sizes that the data do not have.
const TWINS: &str = "
format: 1
model: twins
tables: {Tab: {key: {pk: S}, pitr: true, deletionProtection: true}}
entities:
  Order: {count: 9, size: 500, key: {pk: \"o#{id}\"}, attrs: {id: S, n: N}}
  Note: {count: 9, key: {pk: \"n#{id}\"}, attrs: {id: S, body: {type: S, size: 20000}}}
  Whole: {count: 9, size: 5, key: {pk: \"w#{id}\"}, attrs: {id: S}}
data:
  inline:
    Order: [{id: a, n: 1}, {id: a, n: 2}, {id: a, n: 3}, {id: b, n: 1}, {id: b, n: 2}, {id: b, n: 3}]
    Note: [{id: a, body: x}]
    Whole: [{id: a}]
";

#[test]
fn similar_findings_are_folded_into_the_first_with_their_number() {
    let checked = checked(TWINS);
    let twins: Vec<_> = checked.findings.iter().filter(|finding| finding.rule == "L010").collect();
    assert_eq!(twins.len(), 1, "{twins:?}");
    assert_eq!(twins.first().map(|finding| finding.alike.len()), Some(3));
    let report_text = text(&checked, "twins.yaml");
    assert!(report_text.contains("twins.yaml:11:28: error L010"), "{report_text}");
    assert!(
        report_text.contains("    also twins.yaml:11:43: two items of the data have the key [o#a]"),
        "{report_text}"
    );
    assert!(report_text.contains("    and 1 more like these\n    fix: "), "{report_text}");
    assert!(report_text.contains(" 1 error,"), "{report_text}");
    let marked = markdown(&checked);
    assert!(
        marked.contains("; also (line 11): two items") && marked.contains("; and 1 more like these"),
        "{marked}"
    );
    let cases = junit(&checked, "twins.yaml");
    assert!(cases.contains("also line 11: ") && cases.contains("and 1 more like these"), "{cases}");
    let report: serde_json::Value = serde_json::from_str(&json(&checked)).expect("JSON");
    let all = report["findings"].as_array().expect("findings");
    let twin = all.iter().find(|finding| finding["rule"] == "L010").expect("L010");
    assert_eq!((twin["count"].as_u64(), twin["notListed"].as_u64()), (Some(4), Some(1)));
    assert_eq!(twin["also"].as_array().map(Vec::len), Some(2));
}

fn smaller(checked: &Checked) -> impl Iterator<Item = &Finding> {
    checked.findings.iter().filter(|finding| finding.rule == "L061")
}

#[test]
fn every_report_notes_data_smaller_than_declared_once_per_entity() {
    let checked = checked(TWINS);
    let notes: Vec<(usize, &str)> = smaller(&checked)
        .map(|note| (note.at.line, note.text.split(" in the data").next().expect("a text")))
        .collect();
    assert_eq!(notes, [(6, "Order averages 11 bytes"), (7, "Note.body averages 1 bytes")]);
    for report in [text(&checked, "x.yaml"), json(&checked), markdown(&checked)] {
        assert!(report.contains("declared as 500"), "{report}");
    }
    let larger = TWINS.replace("size: 500, ", "").replace("size: 20000", "size: 1");
    assert_eq!(smaller(&self::checked(&larger)).count(), 0);
}

#[test]
fn ten_of_eleven_thrown_away_by_a_filter_are_over_ninety_in_a_hundred() {
    let rows = |count: usize| {
        let state = |number| if number == 1 { "open" } else { "done" };
        let row = |number| format!("{{customer: a, ticket: t{number:02}, state: {}}}", state(number));
        (1..=count).map(row).collect::<Vec<_>>().join(", ")
    };
    let severity = |count: usize| {
        let found = checked(&format!(
            "format: 1\nmodel: filter\ntables: {{Tab: {{key: {{pk: S, sk: S}}}}}}\nentities:
  Ticket: {{count: 1000, size: 100, key: {{pk: \"c#{{customer}}\", sk: \"t#{{ticket}}\"}}, attrs: {{customer: S, ticket: S, state: S}}}}
patterns:
  - {{id: Q, query: Ticket, given: {{customer: eq}}, filter: \"state = :s\", returns: {{avg: 1, max: 20, page: 20}}, rate: 1, example: {{customer: a, s: open}}}}
data: {{inline: {{Ticket: [{}]}}}}
",
            rows(count)
        ));
        found.findings.iter().find(|finding| finding.rule == "L003").map(|finding| finding.severity)
    };
    assert_eq!(severity(2), None);
    assert_eq!(severity(3), Some(Severity::Warning));
    assert_eq!(severity(10), Some(Severity::Warning));
    assert_eq!(severity(11), Some(Severity::Error));
}
