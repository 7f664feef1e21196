//! The text of a request's expressions and the values they name.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Default)]
pub struct Expression {
    values: BTreeMap<String, Value>,
}

impl Expression {
    pub fn value(&mut self, value: Value) -> String {
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), value);
        name
    }

    pub fn number(&mut self, value: i64) -> String {
        self.value(super::number(value))
    }

    pub fn text(&mut self, value: &str) -> String {
        self.value(super::text(value))
    }

    pub fn into(self, body: &mut Value) {
        if !self.values.is_empty() {
            body["ExpressionAttributeValues"] = json!(self.values);
        }
    }
}
