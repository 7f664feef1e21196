//! The requests of writes: puts and deletes that depend on what an item was.
//!
//! A condition cannot say that an item has no other attributes than some. What was there in fact the answer
//! says.

use keywright_model::item_json::write_item;
use keywright_model::json::Json;
use keywright_semantics::schema::KeyAttribute;
use keywright_semantics::value::{AttributeValue, Item};

use super::marker::MARKER;

/// Attributes of an item that a condition names: an expression has at most 4 KB.
const COMPARED_MAX: usize = 100;

/// A condition with its names and values.
#[derive(Default)]
struct Condition {
    parts: Vec<String>,
    names: Vec<(String, String)>,
    values: Item,
}

impl Condition {
    /// That the item is as it was; `None`: that there is none.
    fn unchanged(keys: &[KeyAttribute], was: Option<&Item>, image: Option<&Item>) -> Self {
        let mut own = Self::default();
        let partition = keys.first().map(|key| key.name.clone()).unwrap_or_default();
        own.names.push(("#k".to_owned(), partition));
        let Some(was) = was else {
            own.parts.push("attribute_not_exists(#k)".to_owned());
            return own;
        };
        own.parts.push("attribute_exists(#k)".to_owned());
        let is_key = |name: &str| keys.iter().any(|key| key.name == name);
        let others = was.iter().filter(|(name, _)| !is_key(name) && *name != MARKER);
        for (number, (name, value)) in others.take(COMPARED_MAX).enumerate() {
            own.parts.push(format!("#a{number} = :a{number}"));
            own.names.push((format!("#a{number}"), name.clone()));
            own.values.insert(format!(":a{number}"), value.clone());
        }
        let new = image.into_iter().flat_map(Item::keys).filter(|name| !was.contains_key(name));
        for (number, name) in new.take(COMPARED_MAX / 2).enumerate() {
            own.parts.push(format!("attribute_not_exists(#n{number})"));
            own.names.push((format!("#n{number}"), name.clone()));
        }
        own
    }

    fn write(self, request: &mut Json) {
        request.set("ConditionExpression", Json::text(self.parts.join(" AND ")));
        let names = self.names.iter().map(|(short, name)| (short.as_str(), Json::text(name)));
        request.set("ExpressionAttributeNames", Json::object(names));
        if !self.values.is_empty() {
            request.set("ExpressionAttributeValues", write_item(&self.values, &[]));
        }
    }
}

/// An operation and its request.
pub(super) type Request = (&'static str, Json);

fn about(table: &str, key: &Item) -> Json {
    Json::object([("TableName", Json::text(table)), ("Key", write_item(key, &[]))])
}

/// Reads an item.
pub(super) fn get(table: &str, key: &Item) -> Request {
    let mut request = about(table, key);
    request.set("ConsistentRead", Json::Bool(true));
    ("GetItem", request)
}

pub(super) fn put(table: &str, item: &Item) -> Request {
    ("PutItem", Json::object([("TableName", Json::text(table)), ("Item", write_item(item, &[]))]))
}

/// Puts an item, or deletes it, if it still is what it was. The answer has what it was in fact.
pub(super) fn replace(
    table: &str,
    keys: &[KeyAttribute],
    key: &Item,
    (was, image): (Option<&Item>, Option<&Item>),
) -> Request {
    let (operation, mut request) = match image {
        Some(image) => put(table, image),
        None => ("DeleteItem", about(table, key)),
    };
    Condition::unchanged(keys, was, image).write(&mut request);
    request.set("ReturnValues", Json::text("ALL_OLD"));
    (operation, request)
}

/// Marks an item that is about to be deleted, if there is one. Of an expiry, if it is the one that expired.
pub(super) fn mark(
    table: &str,
    keys: &[KeyAttribute],
    key: &Item,
    (id, expired): (&str, Option<&Item>),
) -> Request {
    let mut request = about(table, key);
    let there = Item::new();
    let mut condition = Condition::unchanged(keys, Some(expired.unwrap_or(&there)), None);
    condition.names.push(("#m".to_owned(), MARKER.to_owned()));
    condition.values.insert(":m".to_owned(), AttributeValue::S(id.to_owned()));
    condition.write(&mut request);
    request.set("UpdateExpression", Json::text("SET #m = :m"));
    ("UpdateItem", request)
}

/// Deletes an item that is marked so.
pub(super) fn delete_marked(table: &str, key: &Item, id: &str) -> Request {
    let mut request = about(table, key);
    let condition = Condition {
        parts: vec!["#m = :m".to_owned()],
        names: vec![("#m".to_owned(), MARKER.to_owned())],
        values: Item::from([(":m".to_owned(), AttributeValue::S(id.to_owned()))]),
    };
    condition.write(&mut request);
    ("DeleteItem", request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keywright_semantics::schema::KeyType;

    #[test]
    fn a_write_depends_on_every_attribute_that_was_there_and_on_new_ones_not_being_there() {
        let keys = [KeyAttribute { name: "pk".to_owned(), key_type: KeyType::S }];
        let item = |names: &[&str]| -> Item {
            names.iter().map(|name| ((*name).to_owned(), AttributeValue::S("x".to_owned()))).collect()
        };
        let condition = |was: Option<&Item>, image: Option<&Item>| {
            let (operation, request) = replace("T", &keys, &item(&["pk"]), (was, image));
            (operation, request.str_at("ConditionExpression").unwrap().to_owned())
        };
        let (was, image) = (item(&["pk", "a"]), item(&["pk", "b"]));
        assert_eq!(
            condition(Some(&was), Some(&image)),
            ("PutItem", "attribute_exists(#k) AND #a0 = :a0 AND attribute_not_exists(#n0)".to_owned())
        );
        assert_eq!(condition(None, Some(&image)), ("PutItem", "attribute_not_exists(#k)".to_owned()));
        assert_eq!(
            condition(Some(&was), None),
            ("DeleteItem", "attribute_exists(#k) AND #a0 = :a0".to_owned())
        );
        let (_, marked) = mark("T", &keys, &item(&["pk"]), ("7", Some(&was)));
        assert_eq!(marked.str_at("ConditionExpression"), Some("attribute_exists(#k) AND #a0 = :a0"));
    }
}
