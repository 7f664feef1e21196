//! The naive table: a map of items that every read scans. Also the requests that both tables get, natively
//! and as PartiQL statements.

pub mod action;
pub mod condition;
pub mod expression;
pub mod pair;
pub mod projection;
pub mod random;
pub mod reading;
pub mod update;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use action::Action;
use reading::Reading;
use update::Update;

pub type Key = (String, String);
/// Attributes other than the key, as the API writes values.
pub type Item = BTreeMap<String, Value>;

pub const CONDITION_FAILED: &str = "ConditionalCheckFailedException";
pub const VALIDATION: &str = "ValidationException";
pub const DUPLICATE: &str = "DuplicateItemException";

pub fn key_json(key: &Key) -> Value {
    json!({"pk": {"S": key.0}, "sk": {"S": key.1}})
}

pub fn whole(key: &Key, rest: &Item) -> Value {
    let mut item = key_json(key);
    for (name, value) in rest {
        item[name] = value.clone();
    }
    item
}

pub fn text(value: impl Into<String>) -> Value {
    json!({"S": value.into()})
}

pub fn number(value: i64) -> Value {
    json!({"N": value.to_string()})
}

pub fn number_of(value: &Value) -> Option<i64> {
    value["N"].as_str()?.parse().ok()
}

#[derive(Clone, Debug, Default)]
pub struct Naive(BTreeMap<Key, Item>);

impl Naive {
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.0.get(key)
    }

    pub fn item_json(&self, key: &Key) -> Option<Value> {
        self.0.get(key).map(|rest| whole(key, rest))
    }

    /// Executes the action, or returns the error's name.
    pub fn apply(&mut self, action: &Action) -> Result<(), &'static str> {
        let key = action.key();
        if !action.condition().is_none_or(|condition| condition.holds(key, self.0.get(key))) {
            return Err(CONDITION_FAILED);
        }
        match action {
            Action::Put { rest, .. } => {
                self.0.insert(key.clone(), rest.clone());
            }
            Action::Update { changes, .. } => self.update(key, changes)?,
            Action::Delete { .. } => {
                self.0.remove(key);
            }
            Action::Check { .. } => {}
        }
        Ok(())
    }

    /// Executes the action as a PartiQL statement: an INSERT replaces nothing, an UPDATE creates nothing.
    pub fn apply_statement(&mut self, action: &Action) -> Result<(), &'static str> {
        let there = self.0.contains_key(action.key());
        match action {
            Action::Put { .. } if there => Err(DUPLICATE),
            Action::Update { .. } if !there => Err(CONDITION_FAILED),
            _ => self.apply(action),
        }
    }

    fn update(&mut self, key: &Key, changes: &[Update]) -> Result<(), &'static str> {
        // An update that only removes creates no item.
        if changes.iter().all(Update::takes_away) && !self.0.contains_key(key) {
            return Ok(());
        }
        let there = self.0.contains_key(key);
        let mut item = self.0.get(key).cloned().unwrap_or_default();
        // Without an item a path below an attribute is not an error either.
        for change in changes.iter().filter(|change| there || !matches!(change, Update::RemoveNested)) {
            change.apply(&mut item)?;
        }
        self.0.insert(key.clone(), item);
        Ok(())
    }

    /// All items that the read returns, and the number of items scanned.
    pub fn read(&self, reading: &Reading) -> (Vec<Value>, u64) {
        let (hash, sort) = reading.key_names();
        let mut rows: Vec<(&Key, &Item, Value)> = self
            .0
            .iter()
            .map(|(key, rest)| (key, rest, whole(key, rest)))
            .filter(|(_, _, item)| item.get(hash).is_some() && item.get(sort).is_some())
            .filter(|(_, _, item)| {
                reading.hash.as_ref().is_none_or(|wanted| item[hash] == text(wanted.as_str()))
            })
            .filter(|(_, _, item)| reading.range_covers(&item[sort]))
            .collect();
        let examined = u64::try_from(rows.len()).unwrap();
        if let Some(filter) = reading.usable_filter() {
            rows.retain(|(key, rest, _)| filter.holds(key, Some(rest)));
        }
        let mut items: Vec<Value> = rows.into_iter().map(|(_, _, item)| item).collect();
        if reading.hash.is_some() {
            items.sort_by_key(|item| reading.order_of(item));
            if !reading.forward {
                items.reverse();
            }
        }
        (items, examined)
    }
}
