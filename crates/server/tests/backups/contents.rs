//! All that a table and its indexes hold.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::db::Db;

pub(crate) type Key = (String, String);
/// Items by their key.
pub(crate) type Items = BTreeMap<Key, Value>;

pub(crate) struct Contents {
    pub(crate) items: Items,
    global: Items,
    local: Items,
}

pub(crate) fn key_of(item: &Value) -> Key {
    let text = |name: &str| item[name]["S"].as_str().unwrap().to_owned();
    (text("pk"), text("sk"))
}

impl Contents {
    /// Reads a table and both of its indexes.
    pub(crate) fn of(db: &mut Db, table: &str) -> Self {
        Self {
            items: scan(db, table, None),
            global: scan(db, table, Some("gsi")),
            local: scan(db, table, Some("lsi")),
        }
    }

    /// Checks that the table has these items, and each index those that belong to it.
    pub(crate) fn check(&self, expected: &Items, story: &str) {
        same(&self.items, expected, &format!("{story}: items"));
        for (index, attribute, found) in [("gsi", "g", &self.global), ("lsi", "l", &self.local)] {
            let entries = expected.iter().filter(|(_, item)| !item[attribute].is_null());
            let entries: Items = entries.map(|(key, item)| (key.clone(), item.clone())).collect();
            same(found, &entries, &format!("{story}: entries of {index}"));
        }
    }
}

pub(crate) fn scan(db: &mut Db, table: &str, index: Option<&str>) -> Items {
    let mut items = Items::new();
    let mut body = json!({"TableName": table});
    if let Some(index) = index {
        body["IndexName"] = json!(index);
    }
    loop {
        let page = db.call("Scan", &body);
        for item in page["Items"].as_array().unwrap() {
            assert_eq!(items.insert(key_of(item), item.clone()), None, "an item twice");
        }
        match page.get("LastEvaluatedKey") {
            Some(last) => body["ExclusiveStartKey"] = last.clone(),
            None => return items,
        }
    }
}

/// Checks that both are equal, and says in short what is not.
fn same(found: &Items, expected: &Items, story: &str) {
    let lost = expected.keys().find(|key| !found.contains_key(*key));
    let more = found.keys().find(|key| !expected.contains_key(*key));
    let other = found.iter().find(|(key, item)| expected.get(*key).is_some_and(|wanted| wanted != *item));
    let sizes = (found.len(), expected.len());
    assert!(
        found == expected,
        "{story}: {sizes:?} found and expected; lost {lost:?}, too many {more:?}, other {other:?}"
    );
}
