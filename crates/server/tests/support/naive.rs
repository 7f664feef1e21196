//! The naive table: a map of items, and every read a walk over all of them.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::collections::BTreeMap;

use serde_json::{Value, json};

pub type Key = (String, String);
/// Attributes beside the key, as the API writes values.
pub type Item = BTreeMap<String, Value>;

#[derive(Clone, Debug)]
pub enum Condition {
    Exists(&'static str),
    TextIs(&'static str, String),
    /// The attribute `n`.
    LessThan(i64),
    /// The list `t`.
    LongerThan(usize),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Clone, Debug)]
pub enum Update {
    Set(&'static str, Value),
    /// To `n`.
    Add(i64),
    /// `n`, if it is not there.
    SetUnlessThere(i64),
    /// To the list `t`; a fault if it is not there.
    Append(i64),
    Remove(&'static str),
}

#[derive(Clone, Debug)]
pub enum Action {
    Put { key: Key, rest: Item, condition: Option<Condition> },
    Update { key: Key, change: Update, condition: Option<Condition> },
    Delete { key: Key, condition: Option<Condition> },
    Check { key: Key, condition: Condition },
}

/// A Query of one partition (`hash`) or a Scan, over all pages.
#[derive(Clone, Debug)]
pub struct Reading {
    pub index: Option<&'static str>,
    pub hash: Option<String>,
    /// Sort keys not less than this.
    pub from: Option<u8>,
    pub forward: bool,
    pub limit: Option<usize>,
    pub filter: Option<Condition>,
    pub segments: u32,
}

const CONDITION_FAILED: &str = "ConditionalCheckFailedException";
const VALIDATION: &str = "ValidationException";

pub fn key_json(key: &Key) -> Value {
    json!({"pk": {"S": key.0}, "sk": {"S": key.1}})
}

fn number(item: &Item) -> Option<i64> {
    item.get("n")?["N"].as_str()?.parse().ok()
}

/// The text of an expression and its values.
#[derive(Default)]
struct Expression {
    values: BTreeMap<String, Value>,
}

impl Expression {
    fn value(&mut self, value: Value) -> String {
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), value);
        name
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::Exists(name) => format!("attribute_exists({name})"),
            Condition::TextIs(name, text) => format!("{name} = {}", self.value(json!({"S": text}))),
            Condition::LessThan(bound) => format!("n < {}", self.value(json!({"N": bound.to_string()}))),
            Condition::LongerThan(length) => {
                format!("size(t) > {}", self.value(json!({"N": length.to_string()})))
            }
            Condition::Not(inner) => format!("NOT ({})", self.condition(inner)),
            Condition::And(one, two) => format!("({}) AND ({})", self.condition(one), self.condition(two)),
            Condition::Or(one, two) => format!("({}) OR ({})", self.condition(one), self.condition(two)),
        }
    }

    fn update(&mut self, update: &Update) -> String {
        match update {
            Update::Set(name, value) => format!("SET {name} = {}", self.value(value.clone())),
            Update::Add(by) => format!("ADD n {}", self.value(json!({"N": by.to_string()}))),
            Update::SetUnlessThere(to) => {
                format!("SET n = if_not_exists(n, {})", self.value(json!({"N": to.to_string()})))
            }
            Update::Append(what) => {
                format!("SET t = list_append(t, {})", self.value(json!({"L": [{"N": what.to_string()}]})))
            }
            Update::Remove(name) => format!("REMOVE {name}"),
        }
    }

    fn into(self, body: &mut Value) {
        if !self.values.is_empty() {
            body["ExpressionAttributeValues"] = json!(self.values);
        }
    }
}

impl Condition {
    /// Against an item with its key; `None`: there is none.
    fn holds(&self, item: Option<&Item>) -> bool {
        let attribute = |name: &str| item.and_then(|item| item.get(name));
        match self {
            Self::Exists(name) => item.is_some() && (*name == "pk" || attribute(name).is_some()),
            Self::TextIs(name, text) => attribute(name).is_some_and(|value| value["S"] == json!(text)),
            Self::LessThan(bound) => item.and_then(number).is_some_and(|number| number < *bound),
            Self::LongerThan(length) => attribute("t")
                .and_then(|value| value["L"].as_array())
                .is_some_and(|list| list.len() > *length),
            Self::Not(inner) => !inner.holds(item),
            Self::And(one, two) => one.holds(item) && two.holds(item),
            Self::Or(one, two) => one.holds(item) || two.holds(item),
        }
    }

    /// Whether it names an attribute that a filter on this index may not: a key of what is read.
    fn names(&self, name: &str) -> bool {
        match self {
            Self::Exists(own) | Self::TextIs(own, _) => *own == name,
            Self::LessThan(_) => name == "n",
            Self::LongerThan(_) => name == "t",
            Self::Not(inner) => inner.names(name),
            Self::And(one, two) | Self::Or(one, two) => one.names(name) || two.names(name),
        }
    }
}

impl Action {
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. }
            | Self::Update { key, .. }
            | Self::Delete { key, .. }
            | Self::Check { key, .. } => key,
        }
    }

    pub fn without_condition(self) -> Self {
        match self {
            Self::Put { key, rest, .. } => Self::Put { key, rest, condition: None },
            Self::Delete { key, .. } => Self::Delete { key, condition: None },
            other => other,
        }
    }

    fn condition(&self) -> Option<&Condition> {
        match self {
            Self::Put { condition, .. } | Self::Update { condition, .. } | Self::Delete { condition, .. } => {
                condition.as_ref()
            }
            Self::Check { condition, .. } => Some(condition),
        }
    }

    /// The operation's name and body.
    pub fn request(&self) -> (&'static str, Value) {
        let mut expression = Expression::default();
        let (operation, mut body) = match self {
            Self::Put { key, rest, .. } => ("PutItem", json!({"Item": whole(key, rest)})),
            Self::Update { key, change, .. } => {
                let text = expression.update(change);
                ("UpdateItem", json!({"Key": key_json(key), "UpdateExpression": text}))
            }
            Self::Delete { key, .. } => ("DeleteItem", json!({"Key": key_json(key)})),
            Self::Check { key, .. } => ("ConditionCheck", json!({"Key": key_json(key)})),
        };
        body["TableName"] = json!("tab");
        if let Some(condition) = self.condition() {
            body["ConditionExpression"] = json!(expression.condition(condition));
        }
        expression.into(&mut body);
        (operation, body)
    }

    pub fn transact_request(&self) -> Value {
        let (operation, body) = self.request();
        json!({operation.trim_end_matches("Item"): body})
    }

    /// `None` for what no batch can hold.
    pub fn batch_request(&self) -> Option<Value> {
        match self {
            Self::Put { key, rest, .. } => Some(json!({"PutRequest": {"Item": whole(key, rest)}})),
            Self::Delete { key, .. } => Some(json!({"DeleteRequest": {"Key": key_json(key)}})),
            Self::Update { .. } | Self::Check { .. } => None,
        }
    }
}

fn whole(key: &Key, rest: &Item) -> Value {
    let mut item = key_json(key);
    for (name, value) in rest {
        item[name] = value.clone();
    }
    item
}

impl Reading {
    pub fn everything(index: Option<&'static str>) -> Self {
        Self { index, hash: None, from: None, forward: true, limit: None, filter: None, segments: 1 }
    }

    fn key_names(&self) -> (&'static str, &'static str) {
        match self.index {
            None => ("pk", "sk"),
            Some("gsi") => ("g", "n"),
            Some(_) => ("pk", "l"),
        }
    }

    fn least(&self, from: u8) -> Value {
        match self.index {
            None => json!({"S": format!("s{from}")}),
            Some("gsi") => json!({"N": (i64::from(from) - 2).to_string()}),
            Some(_) => json!({"S": format!("v{from}")}),
        }
    }

    /// A Query may not filter by the keys it reads.
    fn usable_filter(&self) -> Option<&Condition> {
        let (hash, sort) = self.key_names();
        self.filter
            .as_ref()
            .filter(|filter| self.hash.is_none() || !(filter.names(hash) || filter.names(sort)))
    }

    pub fn request(&self, segment: u32, segments: u32) -> (&'static str, Value) {
        let mut expression = Expression::default();
        let mut body = json!({"TableName": "tab"});
        if let Some(index) = self.index {
            body["IndexName"] = json!(index);
        }
        if let Some(limit) = self.limit {
            body["Limit"] = json!(limit);
        }
        if let Some(filter) = self.usable_filter() {
            body["FilterExpression"] = json!(expression.condition(filter));
        }
        let operation = if let Some(wanted) = &self.hash {
            let (hash, sort) = self.key_names();
            let mut text = format!("{hash} = {}", expression.value(json!({"S": wanted})));
            if let Some(from) = self.from {
                text = format!("{text} AND {sort} >= {}", expression.value(self.least(from)));
            }
            body["KeyConditionExpression"] = json!(text);
            body["ScanIndexForward"] = json!(self.forward);
            "Query"
        } else {
            if segments > 1 {
                body["Segment"] = json!(segment);
                body["TotalSegments"] = json!(segments);
            }
            "Scan"
        };
        expression.into(&mut body);
        (operation, body)
    }

    /// What decides an item's place in a Query's answer.
    pub fn order_of(&self, item: &Value) -> (i64, String) {
        let value = &item[self.key_names().1];
        match value["N"].as_str() {
            Some(digits) => (digits.parse().unwrap(), String::new()),
            None => (0, value["S"].as_str().unwrap().to_owned()),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Naive(BTreeMap<Key, Item>);

impl Naive {
    pub fn item_json(&self, key: &Key) -> Option<Value> {
        self.0.get(key).map(|rest| whole(key, rest))
    }

    /// Does it, or names the error.
    pub fn apply(&mut self, action: &Action) -> Result<(), &'static str> {
        let key = action.key();
        if !action.condition().is_none_or(|condition| condition.holds(self.0.get(key))) {
            return Err(CONDITION_FAILED);
        }
        match action {
            Action::Put { rest, .. } => {
                self.0.insert(key.clone(), rest.clone());
            }
            Action::Update { change, .. } => self.update(key, change)?,
            Action::Delete { .. } => {
                self.0.remove(key);
            }
            Action::Check { .. } => {}
        }
        Ok(())
    }

    fn update(&mut self, key: &Key, update: &Update) -> Result<(), &'static str> {
        // Removing alone makes no item.
        if matches!(update, Update::Remove(_)) && !self.0.contains_key(key) {
            return Ok(());
        }
        let mut item = self.0.get(key).cloned().unwrap_or_default();
        match update {
            Update::Set(name, value) => {
                item.insert((*name).to_owned(), value.clone());
            }
            Update::Add(by) => {
                let sum = number(&item).unwrap_or(0) + by;
                item.insert("n".to_owned(), json!({"N": sum.to_string()}));
            }
            Update::SetUnlessThere(to) => {
                item.entry("n".to_owned()).or_insert_with(|| json!({"N": to.to_string()}));
            }
            Update::Append(what) => {
                let list = item.get_mut("t").ok_or(VALIDATION)?;
                list["L"].as_array_mut().unwrap().push(json!({"N": what.to_string()}));
            }
            Update::Remove(name) => {
                item.remove(*name);
            }
        }
        self.0.insert(key.clone(), item);
        Ok(())
    }

    /// All items that the reading answers, and how many it looked at.
    pub fn read(&self, reading: &Reading) -> (Vec<Value>, u64) {
        let (hash, sort) = reading.key_names();
        let mut rows: Vec<(&Key, &Item, Value)> = self
            .0
            .iter()
            .map(|(key, rest)| (key, rest, whole(key, rest)))
            .filter(|(_, _, item)| item.get(hash).is_some() && item.get(sort).is_some())
            .filter(|(_, _, item)| {
                reading.hash.as_ref().is_none_or(|wanted| item[hash]["S"] == json!(wanted))
            })
            .filter(|(_, _, item)| {
                let least = |from| reading.order_of(&json!({ sort: reading.least(from) }));
                let from = reading.from.filter(|_| reading.hash.is_some());
                from.is_none_or(|from| reading.order_of(item) >= least(from))
            })
            .collect();
        let examined = u64::try_from(rows.len()).unwrap();
        if let Some(filter) = reading.usable_filter() {
            rows.retain(|(_, rest, _)| filter.holds(Some(rest)));
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
