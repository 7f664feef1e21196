//! A key, or names of an expression, on the command line as JSON.

use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_semantics::value::Item;

/// Reads a key: `{"pk": {"S": "a"}}`, or plain values such as `{"pk": "a"}`.
pub(crate) fn key(text: &str) -> Result<Item, String> {
    let form = r#"write JSON such as {"pk": "a", "sk": 7} or {"pk": {"S": "a"}, "sk": {"N": "7"}}"#;
    let json = Json::parse(text).map_err(|fault| format!("{fault}; {form}"))?;
    read_item(&json).map(|read| read.item).filter(|key| !key.is_empty()).ok_or_else(|| form.to_owned())
}

/// Placeholders of names, and what they stand for.
#[derive(Clone, Debug)]
pub(crate) struct Names(pub(crate) Vec<(String, String)>);

/// Reads placeholders of names: `{"#s": "status"}`.
pub(crate) fn names(text: &str) -> Result<Names, String> {
    let form = r##"write JSON such as {"#s": "status"}"##;
    let json = Json::parse(text).map_err(|fault| format!("{fault}; {form}"))?;
    let name = |(name, value): &(String, Json)| Some((name.clone(), value.as_str()?.to_owned()));
    let names: Option<Vec<_>> = json.members().iter().map(name).collect();
    names.filter(|names| !names.is_empty()).map(Names).ok_or_else(|| form.to_owned())
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

    #[test]
    fn names_are_texts() {
        assert_eq!(
            names(r##"{"#s": "status"}"##).expect("names").0,
            [("#s".to_owned(), "status".to_owned())]
        );
        for text in ["", "{}", r##"{"#s": 1}"##] {
            assert!(names(text).expect_err(text).contains("#s"), "{text}");
        }
    }
}
