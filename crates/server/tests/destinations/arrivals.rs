//! Items that count, and what a stream may have received of them: every change, in order, perhaps again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fake::Put;

/// An item's state after so many changes.
pub(crate) fn counting(item: u64, changes: u64) -> Value {
    json!({"pk": {"S": format!("item{item}")}, "n": {"N": changes.to_string()}})
}

/// The changes that arrived of each item, each as often as it arrived.
fn arrived(puts: &[Put]) -> BTreeMap<String, Vec<(u64, String)>> {
    let mut arrived: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for put in puts {
        let record = put.json();
        let image = &record["dynamodb"]["NewImage"];
        let (item, count) = (image["pk"]["S"].as_str().unwrap(), image["n"]["N"].as_str().unwrap());
        let id = record["eventID"].as_str().unwrap().to_owned();
        arrived.entry(item.to_owned()).or_default().push((count.parse().unwrap(), id));
    }
    arrived
}

/// Whether all of `changes` changes of each of `items` items have arrived.
pub(crate) fn are_all(puts: &[Put], items: u64, changes: u64) -> bool {
    let arrived = arrived(puts);
    u64::try_from(arrived.len()).unwrap() == items
        && arrived.values().all(|of_item| of_item.iter().any(|(count, _)| *count == changes))
}

/// Checks that each item's changes arrived in their order, none left out; those that arrived again are the
/// same records. Returns how many did.
pub(crate) fn check(puts: &[Put], items: u64, changes: u64) -> usize {
    let mut again = 0;
    let arrived = arrived(puts);
    assert_eq!(u64::try_from(arrived.len()).unwrap(), items);
    for (item, of_item) in arrived {
        let mut ids: Vec<String> = Vec::new();
        for (count, id) in of_item {
            let place = usize::try_from(count).unwrap() - 1;
            assert!(place <= ids.len(), "{item}: change {count} came before {}", ids.len() + 1);
            if place < ids.len() {
                assert_eq!(ids[place], id, "{item}: a repeated change is the same record");
                again += 1;
            } else {
                ids.push(id);
            }
        }
        assert_eq!(u64::try_from(ids.len()).unwrap(), changes, "{item}");
    }
    again
}
