//! The arguments of a tool's call, taken one by one: what is left over is a fault.

use serde_json::{Map, Value};

/// Arguments that nothing has taken yet.
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn new(given: Option<Map<String, Value>>) -> Self {
        Self(given.unwrap_or_default())
    }

    /// All of them, as JSON.
    pub(super) fn json(self) -> String {
        Value::Object(self.0).to_string()
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a text")),
        }
    }

    pub(super) fn switch(&mut self, name: &str) -> Result<bool, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(is_on)) => Ok(is_on),
            Some(_) => Err(format!("`{name}` must be true or false")),
        }
    }

    /// A whole number of at most `most`.
    pub(super) fn number(&mut self, name: &str, most: u64) -> Result<Option<u64>, String> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if number <= most => Ok(Some(number)),
                _ => Err(format!("`{name}` must be a whole number from 0 to {most}")),
            },
        }
    }

    /// An object, or its text: some assistants write nested objects as texts.
    pub(super) fn object(&mut self, name: &str) -> Result<Map<String, Value>, String> {
        let fault = || format!("`{name}` must be an object");
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(object)) => Ok(object),
            Some(Value::String(text)) => serde_json::from_str(&text).map_err(|_| fault()),
            Some(_) => Err(fault()),
        }
    }

    /// Fails if the call has arguments that the tool does not know.
    pub(super) fn end(self) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("there is no argument `{name}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Arguments {
        Arguments::new(value.as_object().cloned())
    }

    #[test]
    fn arguments_of_another_type_and_unknown_ones_are_faults() {
        let mut given =
            of(&json!({"model": 1, "explain": "yes", "indexes": 21, "request": [], "more": true}));
        assert!(given.text("model").is_err());
        assert!(given.switch("explain").is_err());
        assert!(given.number("indexes", 20).is_err());
        assert!(given.object("request").is_err());
        assert_eq!(given.end().unwrap_err(), "there is no argument `more`");
    }

    #[test]
    fn what_is_missing_or_null_has_its_default() {
        let mut given = of(&json!({"model": null, "request": "{\"TableName\": \"T\"}"}));
        assert_eq!(given.text("model"), Ok(None));
        assert_eq!(given.switch("explain"), Ok(false));
        assert_eq!(given.number("indexes", 20), Ok(None));
        assert_eq!(given.object("request").unwrap().get("TableName"), Some(&json!("T")));
        assert!(given.end().is_ok());
    }
}
