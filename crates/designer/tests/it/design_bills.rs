//! Bills of designs: the written model costs no more than the published keys.

use crate::support::{all_designed, example, examples, model, no_files, prices};
use keywright_designer::design::{Billed, billed};
use keywright_model::{Model, parse};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::price::Money;

/// The result of `design` for a model.
fn designed(original: &Model) -> Billed {
    let prices = prices();
    let (model, embedded) = all_designed(original);
    let costing = Costing { prices: &prices, settings: Settings::default() };
    billed(original, model, &embedded, &no_files, &costing).expect("a bill")
}

/// The examples, and models without keys.
fn models() -> Vec<(String, Model)> {
    let own = [
        ("ten-patterns", include_str!("../../../model/tests/models/ten-patterns.yaml")),
        ("order-entry", include_str!("../../../model/tests/models/order-entry.yaml")),
    ];
    own.into_iter()
        .map(|(name, text)| (name.to_owned(), model(text)))
        .chain(examples().iter().cloned())
        .collect()
}

/// Published keys that cost less. The keys of `complaints` answer a rare pattern by a full scan, which is
/// cheap; the index of `sessions` has the table's own keys reversed, which saves 0.06 %.
const EXCEPT: [&str; 2] = ["complaints", "sessions"];

#[test]
fn a_design_costs_as_much_as_its_written_model_and_no_more_than_the_published_keys() {
    let mut dearer = Vec::new();
    let mut compared = 0;
    for (name, original) in models() {
        let own = designed(&original);
        let again = crate::support::billed(&parse(&own.text).expect("it reads back"));
        assert_eq!(own.bill, again, "{name}");
        assert_eq!(own.bill.parts(|_| true).total(), own.bill.total(), "{name}");
        if original.entities.iter().all(|entity| !entity.key.templates.is_empty()) {
            compared += 1;
            let (published, total) = (crate::support::billed(&original).total(), own.bill.total());
            if total > published && !EXCEPT.contains(&name.as_str()) {
                dearer.push(format!("{name}: {total} designed, {published} published"));
            }
        }
    }
    assert!(compared >= 15, "{compared}");
    assert_eq!(dearer, Vec::<String>::new());
}

#[test]
fn provisioned_capacity_and_backups_are_in_the_price_of_a_design() {
    let parts = designed(&example("chat.yaml")).bill.parts(|name| name == "Chat");
    assert!(parts.unused > Money::ZERO, "{parts:?}");
    let parts = designed(&example("orders.yaml")).bill.parts(|_| true);
    assert!(parts.features.iter().any(|(name, _)| *name == "point-in-time recovery"), "{parts:?}");
}

#[test]
fn a_key_that_has_fewer_shards_than_before_is_named() {
    let notices = |name: &str| designed(&example(name)).notices;
    let said = "Metric has fewer shards, in the table from 10 to none: the declared rates need no more. Keep them if its load is higher or less even.";
    assert!(notices("shop-single-table.yaml").iter().any(|own| own == said));
    let votes = include_str!("../../../../examples/models/building-blocks.yaml");
    let many = designed(&crate::support::model(&votes.replace("shard(20)", "shard(80)"))).notices;
    assert!(
        many.iter().any(|own| own.contains("Vote has fewer shards, in the table from 80 to 20:")),
        "{many:?}"
    );
    assert!(notices("orders.yaml").iter().all(|own| !own.contains("shards")));
}
