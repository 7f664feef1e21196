//! Several servers over one store: when one dies, another delivers what it owned, in the order of each item.

use std::collections::BTreeMap;

use serde_json::json;

use crate::function::{Function, eventually, key};
use crate::scene::{Scene, TABLE};
use crate::support::shared_store::url_or_say;

#[tokio::test(flavor = "multi_thread")]
async fn when_a_server_dies_another_delivers_every_change_at_least_once_and_in_order() {
    let Some(url) = url_or_say("triggers") else { return };
    let function = Function::taking_all();
    let start = || Scene::start(&["--store", &url, "--lambda-endpoint", &function.url]);
    let (first, second) = (start(), start());
    first.create(TABLE).await;
    first.trigger("f", json!({"ParallelizationFactor": 4, "BatchSize": 5})).await;
    let put = async |scene: &Scene, number: u64| {
        scene.put_number(&format!("p{}", number % 10), "1", number).await;
    };
    for number in 0..100 {
        put(&first, number).await;
    }
    eventually("the first deliveries", || (!function.records().is_empty()).then_some(()));
    // One of them owns the table: each is killed once.
    first.server.kill();
    for number in 100..200 {
        put(&second, number).await;
    }
    let third = start();
    eventually("deliveries by those that are left", || {
        let numbers = last_numbers(&function);
        (numbers.len() == 10 && numbers.values().all(|number| *number >= 190)).then_some(())
    });
    second.server.kill();
    for number in 200..300 {
        put(&third, number).await;
    }
    eventually("deliveries by the last one", || {
        let numbers = last_numbers(&function);
        numbers.values().all(|number| *number >= 290).then_some(())
    });
    for (pk, numbers) in numbers_of_items(&function) {
        let mut seen = Vec::new();
        for number in numbers {
            // What was not acknowledged is sent again from there on; nothing is left out or comes early.
            let next = seen.iter().max().map_or(0, |last: &u64| last / 10 + 1);
            assert!(number / 10 <= next, "{pk}: {number} came before {}", next * 10);
            seen.push(number);
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 30, "{pk}: {seen:?}");
    }
}

/// The numbers of each item, in the order of delivery.
fn numbers_of_items(function: &Function) -> BTreeMap<String, Vec<u64>> {
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for record in function.records() {
        let number = record["dynamodb"]["NewImage"]["n"]["N"].as_str().unwrap().parse().unwrap();
        found.entry(key(&record, "pk")).or_default().push(number);
    }
    found
}

fn last_numbers(function: &Function) -> BTreeMap<String, u64> {
    numbers_of_items(function)
        .into_iter()
        .map(|(pk, numbers)| (pk, numbers.into_iter().max().unwrap()))
        .collect()
}
