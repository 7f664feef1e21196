//! What clients sent, as they wrote it down: a line for each acknowledged request.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// An item's key, as text.
pub(super) type Key = String;

/// An item before and after a change; `Null` is no item.
pub(super) type Change = (Value, Value);

#[derive(Default)]
pub(super) struct Record {
    pub(super) tables: BTreeMap<String, History>,
}

/// What was done to a table.
pub(super) struct History {
    /// The names of the partition key and the sort key.
    pub(super) key: Vec<String>,
    pub(super) indexes: Vec<String>,
    pub(super) has_stream: bool,
    pub(super) changes: BTreeMap<Key, Vec<Change>>,
}

impl Record {
    pub(super) fn read(file: &Path) -> Self {
        let mut record = Self::default();
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let request: Value = serde_json::from_str(line).unwrap();
            record.take(request["operation"].as_str().unwrap(), &request["body"]);
        }
        assert!(!record.tables.is_empty(), "the client wrote down nothing");
        record
    }

    /// How many items with all these attributes were sent.
    pub(super) fn images_with(&self, table: &str, attributes: &[&str]) -> usize {
        let changes = self.tables[table].changes.values().flatten();
        let has_all = |image: &Value| attributes.iter().all(|name| image.get(name).is_some());
        changes.filter(|(_, image)| image.is_object() && has_all(image)).count()
    }

    fn take(&mut self, operation: &str, body: &Value) {
        match operation {
            "CreateTable" => self.create(body),
            "PutItem" | "UpdateItem" | "DeleteItem" => self.change(operation, body),
            "BatchWriteItem" => {
                for (table, writes) in body["RequestItems"].as_object().unwrap() {
                    for (kind, write) in
                        writes.as_array().unwrap().iter().filter_map(Value::as_object).flatten()
                    {
                        let mut write = write.clone();
                        write["TableName"] = Value::from(table.as_str());
                        self.change(kind, &write);
                    }
                }
            }
            "TransactWriteItems" => {
                let writes = body["TransactItems"].as_array().unwrap().iter().filter_map(Value::as_object);
                for (kind, write) in writes.flatten() {
                    self.change(kind, write);
                }
            }
            reads => assert!(
                ["Describe", "Get", "BatchGet", "TransactGet", "Query", "Scan"]
                    .iter()
                    .any(|read| reads.starts_with(read)),
                "{operation} is not understood"
            ),
        }
    }

    fn create(&mut self, body: &Value) {
        let names = |of: &Value, member: &str| -> Vec<String> {
            let of = of.as_array().into_iter().flatten();
            of.map(|one| one[member].as_str().unwrap().to_owned()).collect()
        };
        let history = History {
            key: names(&body["KeySchema"], "AttributeName"),
            indexes: names(&body["GlobalSecondaryIndexes"], "IndexName"),
            has_stream: body["StreamSpecification"]["StreamEnabled"] == true,
            changes: BTreeMap::new(),
        };
        let twice = self.tables.insert(body["TableName"].as_str().unwrap().to_owned(), history);
        assert!(twice.is_none());
    }

    fn change(&mut self, kind: &str, write: &Value) {
        let history = self.tables.get_mut(write["TableName"].as_str().unwrap()).unwrap();
        let (key, image) = match kind {
            "PutItem" | "PutRequest" | "Put" => {
                let item = canonical_item(&write["Item"]);
                (history.key_of(&item), item)
            }
            "DeleteItem" | "DeleteRequest" | "Delete" => {
                (history.key_of(&canonical_item(&write["Key"])), Value::Null)
            }
            "UpdateItem" => history.updated(write),
            "ConditionCheck" => return,
            other => panic!("{other} is not understood"),
        };
        let changes = history.changes.entry(key).or_default();
        let before = changes.last().map_or(Value::Null, |(_, image)| image.clone());
        changes.push((before, image));
    }
}

impl History {
    pub(super) fn key_of(&self, item: &Value) -> Key {
        self.key.iter().map(|name| item[name].to_string()).collect::<Vec<_>>().join(" ")
    }

    /// The items that must be there now.
    pub(super) fn items(&self) -> BTreeMap<Key, Value> {
        let last =
            self.changes.iter().filter_map(|(key, changes)| Some((key.clone(), changes.last()?.1.clone())));
        last.filter(|(_, image)| image.is_object()).collect()
    }

    /// The clients change only their note, which is neither encrypted nor signed.
    fn updated(&self, write: &Value) -> (Key, Value) {
        assert_eq!(write["UpdateExpression"], "SET #note = :note");
        let key = self.key_of(&canonical_item(&write["Key"]));
        let mut image = self.items()[&key].clone();
        image[write["ExpressionAttributeNames"]["#note"].as_str().unwrap()] =
            write["ExpressionAttributeValues"][":note"].clone();
        (key, image)
    }
}

/// An item in the one form in which equal items are equal texts: sets in order, numbers without idle zeros.
pub(super) fn canonical_item(item: &Value) -> Value {
    item.as_object().unwrap().iter().map(|(name, value)| (name.clone(), canonical(value))).collect()
}

fn canonical(value: &Value) -> Value {
    let (kind, content) = value.as_object().unwrap().iter().next().unwrap();
    let content = match kind.as_str() {
        "N" => canonical_number(content),
        "NS" => in_order(content.as_array().unwrap().iter().map(canonical_number)),
        "SS" | "BS" => in_order(content.as_array().unwrap().iter().cloned()),
        "L" => content.as_array().unwrap().iter().map(canonical).collect(),
        "M" => canonical_item(content),
        _ => content.clone(),
    };
    json!({kind: content})
}

/// The numbers that clients send without encryption are short enough for this.
fn canonical_number(text: &Value) -> Value {
    let number: f64 = text.as_str().unwrap().parse().unwrap();
    Value::from(number.to_string())
}

fn in_order(elements: impl Iterator<Item = Value>) -> Value {
    let mut elements: Vec<Value> = elements.collect();
    elements.sort_by_key(ToString::to_string);
    Value::from(elements)
}
