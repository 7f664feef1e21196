//! A key on the command line, as JSON.

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

/// Reads a key: `{"pk": {"S": "a"}}`, or plain values such as `{"pk": "a"}`.
pub(crate) fn key(text: &str) -> Result<Item, String> {
    let form = r#"write JSON such as {"pk": "a", "sk": 7} or {"pk": {"S": "a"}, "sk": {"N": "7"}}"#;
    let json = Json::parse(text).map_err(|fault| format!("{fault}; {form}"))?;
    read_item(&json).map(|read| read.item).filter(|key| !key.is_empty()).ok_or_else(|| form.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_typed_or_plain() {
        let typed = key(r#"{"pk": {"S": "a"}, "sk": {"N": "7"}}"#);
        assert_eq!(typed, key(r#"{"pk": "a", "sk": 7}"#));
        assert!(typed.is_ok());
        for text in ["", "a", "[]", "{}", r#"{"pk": }"#] {
            assert!(key(text).expect_err(text).contains("write JSON"), "{text}");
        }
    }
}
