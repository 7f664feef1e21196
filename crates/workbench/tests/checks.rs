//! Models checked on the engine, and their reports.

use expect_test::{Expect, expect};
use keywright_workbench::model::{Model, parse};
use keywright_workbench::report::{Checked, json, junit, markdown, text};

fn model(text: &str) -> Model {
    match parse(text) {
        Ok(model) => model,
        Err(faults) => {
            panic!("{}", faults.iter().map(|fault| fault.in_file("x.yaml") + "\n").collect::<String>())
        }
    }
}

fn checked(text: &str) -> Checked {
    let no_files = |name: &str| Err(format!("no {name} in this test"));
    match keywright_workbench::check(&model(text), &no_files, &mut |_| {}) {
        Ok(checked) => checked,
        Err(faults) => {
            panic!("{}", faults.iter().map(|fault| fault.in_file("x.yaml") + "\n").collect::<String>())
        }
    }
}

const SHOP: &str = include_str!("models/shop.yaml");

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
            shop.yaml:48:46: warning L052: W1 puts OrderItem and would overwrite one that is there
                fix: write `if: not-exists`
            shop.yaml:5:3: note L060: Shop has no point-in-time recovery
                fix: write `pitr: true`
            shop.yaml:5:3: note L060: Shop can be deleted by mistake
                fix: write `deletionProtection: true`

            2 patterns: 2 met, 0 ran without expectation, 0 failed. 0 errors, 4 warnings, 2 notes. The check passes.
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

            2 patterns: 2 met, 0 ran without expectation, 0 failed. 0 errors, 4 warnings, 2 notes. The check passes.

            | pattern | question | operation | path | key | read | returned | RCU | WCU | result |
            |---|---|---|---|---|--:|--:|--:|--:|---|
            | P6 | All orders of a product in a date range | Query | gsi1 | `gsi1pk = "p#99887" AND gsi1sk BETWEEN "2023-04-25T00:00:00" AND "2023-04-25T23:59:59.999"` | 1 | 1 | 0.5 | 0 | met |
            | W1 | Place an order | TransactWriteItems | Shop |  | 0 | 0 | 0 | 17 | met |

            ## Findings

            - **warning L034** (line 12): no pattern uses index `gsi2` of Shop; every write pays for it *Fix:* remove it, or write down the pattern it is for
            - **warning L034** (line 13): no pattern uses index `byStatus` of Shop; every write pays for it *Fix:* remove it, or write down the pattern it is for
            - **warning L058** (line 19): `tenantId` is not in the partition key of Order: access cannot be confined to a tenant by key *Fix:* begin the partition key with `{tenantId}`
            - **warning L052** (line 48): W1 puts OrderItem and would overwrite one that is there *Fix:* write `if: not-exists`
            - **note L060** (line 5): Shop has no point-in-time recovery *Fix:* write `pitr: true`
            - **note L060** (line 5): Shop can be deleted by mistake *Fix:* write `deletionProtection: true`
        "#]],
    );
    shows(
        &junit(&checked, "shop.yaml"),
        &expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuite name="shop" tests="2" failures="0">
          <testcase classname="shop.yaml" name="P6 All orders of a product in a date range" file="shop.yaml" line="35"/>
          <testcase classname="shop.yaml" name="W1 Place an order" file="shop.yaml" line="46"/>
        </testsuite>
    "#]],
    );
    assert!(json(&checked).starts_with("{\n  \"model\": \"shop\""));
}

#[test]
fn the_starter_passes_and_nothing_is_found_wrong_with_it() {
    let checked = checked(keywright_workbench::model::starter());
    assert!(checked.passes(), "{}", text(&checked, "model.yaml"));
    assert!(checked.findings.is_empty(), "{}", text(&checked, "model.yaml"));
}
