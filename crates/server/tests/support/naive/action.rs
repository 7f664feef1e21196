//! A write or a condition check, and its form in each kind of request.

use serde_json::{Value, json};

use super::condition::Condition;
use super::expression::Expression;
use super::update::Update;
use super::{Item, Key, key_json, whole};

#[derive(Clone, Debug)]
pub enum Action {
    Put {
        key: Key,
        rest: Item,
        condition: Option<Condition>,
    },
    /// The changes touch different attributes.
    Update {
        key: Key,
        changes: Vec<Update>,
        condition: Option<Condition>,
    },
    Delete {
        key: Key,
        condition: Option<Condition>,
    },
    Check {
        key: Key,
        condition: Condition,
    },
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
            Self::Update { key, changes, .. } => Self::Update { key, changes, condition: None },
            Self::Delete { key, .. } => Self::Delete { key, condition: None },
            check @ Self::Check { .. } => check,
        }
    }

    pub fn condition(&self) -> Option<&Condition> {
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
            Self::Update { key, changes, .. } => {
                let text = Update::text(changes, &mut expression);
                ("UpdateItem", json!({"Key": key_json(key), "UpdateExpression": text}))
            }
            Self::Delete { key, .. } => ("DeleteItem", json!({"Key": key_json(key)})),
            Self::Check { key, .. } => ("ConditionCheck", json!({"Key": key_json(key)})),
        };
        body["TableName"] = json!("tab");
        if let Some(condition) = self.condition() {
            body["ConditionExpression"] = json!(condition.text(&mut expression));
        }
        expression.into(&mut body);
        (operation, body)
    }

    pub fn transact_request(&self) -> Value {
        let (operation, mut body) = self.request();
        body["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        json!({operation.trim_end_matches("Item"): body})
    }

    /// `None` for actions that a batch cannot contain.
    pub fn batch_request(&self) -> Option<Value> {
        match self {
            Self::Put { key, rest, .. } => Some(json!({"PutRequest": {"Item": whole(key, rest)}})),
            Self::Delete { key, .. } => Some(json!({"DeleteRequest": {"Key": key_json(key)}})),
            Self::Update { .. } | Self::Check { .. } => None,
        }
    }

    /// The action without its condition as a PartiQL statement; `None` if PartiQL cannot express it.
    pub fn statement(&self) -> Option<Value> {
        let at = |key: &Key| vec![json!({"S": key.0}), json!({"S": key.1})];
        let (text, parameters) = match self {
            Self::Put { key, rest, .. } => {
                let item = whole(key, rest);
                let attributes = item.as_object()?;
                let places: Vec<String> = attributes.keys().map(|name| format!("'{name}': ?")).collect();
                let text = format!("INSERT INTO \"tab\" VALUE {{{}}}", places.join(", "));
                (text, attributes.values().cloned().collect())
            }
            Self::Update { key, changes, .. } => {
                let mut text = "UPDATE \"tab\"".to_owned();
                let mut parameters = Vec::new();
                for change in changes {
                    let (clause, values) = change.statement_clause()?;
                    text = format!("{text} {clause}");
                    parameters.extend(values);
                }
                parameters.extend(at(key));
                (format!("{text} WHERE pk = ? AND sk = ?"), parameters)
            }
            Self::Delete { key, .. } => ("DELETE FROM \"tab\" WHERE pk = ? AND sk = ?".to_owned(), at(key)),
            Self::Check { .. } => return None,
        };
        let mut body = json!({"Statement": text});
        if !parameters.is_empty() {
            body["Parameters"] = json!(parameters);
        }
        Some(body)
    }
}
