//! Items as plain JSON that loses nothing: `{"id": "a", "n": 1.50, "tags": {"SS": ["x"]}}`.
//!
//! Texts, numbers with all their digits, true, false, null, lists and maps are JSON's own. What JSON has no
//! word for (binary values, sets) is written in `DynamoDB`'s typed form, and so is a map whose only member is
//! named like a type, which would be taken for a typed value. `item_lines` writes plain JSON for other
//! programs, in which sets become lists.

use std::collections::BTreeSet;

use keywright_semantics::value::{AttributeValue, Item, ValueType};

use super::lines::Lines;
use keywright_model::item_json::{ordered, read_item, write_value};
use keywright_model::json::Json;
use keywright_model::{At, Fault, Faults};

/// Writes an item: the attributes named in `order` first, in that order, then the others by name.
pub fn write_plain(item: &Item, order: &[String]) -> Json {
    Json::Object(ordered(item, order).map(|(name, value)| (name.clone(), plain(value))).collect())
}

fn plain(value: &AttributeValue) -> Json {
    match value {
        AttributeValue::S(text) => Json::text(text),
        AttributeValue::N(number) => Json::number(number),
        AttributeValue::Bool(value) => Json::Bool(*value),
        AttributeValue::Null => Json::Null,
        AttributeValue::L(elements) => Json::List(elements.iter().map(plain).collect()),
        AttributeValue::M(members) if !looks_typed(members.keys()) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        AttributeValue::M(_)
        | AttributeValue::B(_)
        | AttributeValue::Ss(_)
        | AttributeValue::Ns(_)
        | AttributeValue::Bs(_) => write_value(value),
    }
}

/// Whether a map would be read as a typed value.
fn looks_typed<'n>(mut names: impl Iterator<Item = &'n String>) -> bool {
    let first = names.next();
    names.next().is_none() && first.is_some_and(|name| ValueType::from_name(name).is_some())
}

/// Reads the item that a text of plain JSON is; `json` is the text, parsed. The faults have their lines.
pub fn read_plain(text: &str, json: &Json) -> Result<Item, Faults> {
    let mut reader = Reader { faults: Vec::new() };
    let item = match json {
        Json::Object(_) => reader.members(json, ""),
        _ => reader.refuse("", "an item is a JSON object", Item::new()),
    };
    if reader.faults.is_empty() {
        return Ok(item);
    }
    let lines = Lines::of(text);
    let placed = |(path, text): (String, String)| {
        let line = lines.line(&path).unwrap_or(1);
        Fault::new(At { line, column: 1 }, if path.is_empty() { text } else { format!("{path}: {text}") })
    };
    Err(reader.faults.into_iter().map(placed).collect())
}

struct Reader {
    /// Path and text of each fault.
    faults: Vec<(String, String)>,
}

impl Reader {
    fn refuse<T>(&mut self, path: &str, text: impl Into<String>, instead: T) -> T {
        self.faults.push((path.to_owned(), text.into()));
        instead
    }

    fn members(&mut self, json: &Json, path: &str) -> Item {
        let (mut attributes, mut seen) = (Vec::new(), BTreeSet::new());
        for (name, value) in json.members() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            attributes.push((name.clone(), self.value(value, &path)));
            if !seen.insert(name) {
                self.refuse(&path, "this name stands twice", ());
            }
        }
        attributes.into_iter().collect()
    }

    fn value(&mut self, json: &Json, path: &str) -> AttributeValue {
        match json {
            Json::Null => AttributeValue::Null,
            Json::Bool(value) => AttributeValue::Bool(*value),
            Json::Text(text) => AttributeValue::S(text.clone()),
            Json::Number(digits) => AttributeValue::number(digits).unwrap_or_else(|_| {
                let text = format!("{digits} is no number of DynamoDB: 38 digits, from 1E-130 to 9.9E125");
                self.refuse(path, text, AttributeValue::Null)
            }),
            Json::List(elements) => {
                let each = elements.iter().enumerate();
                AttributeValue::L(each.map(|(at, own)| self.value(own, &format!("{path}[{at}]"))).collect())
            }
            Json::Object(members) if looks_typed(members.iter().map(|(name, _)| name)) => {
                self.typed(json, path)
            }
            Json::Object(_) => AttributeValue::M(self.members(json, path)),
        }
    }

    fn typed(&mut self, json: &Json, path: &str) -> AttributeValue {
        let alone = Json::object([("value", json.clone())]);
        let read = read_item(&alone).filter(|read| read.typed);
        read.and_then(|mut read| read.item.remove("value")).unwrap_or_else(|| {
            let name = json.members().first().map_or("", |(name, _)| name.as_str());
            let text = format!(
                "a map with the one member `{name}` is a value of this type, and this is none: write such a map as \
                 {{\"M\": {{\"{name}\": {{\"S\": \"…\"}}}}}}"
            );
            self.refuse(path, text, AttributeValue::Null)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Item, Faults> {
        read_plain(text, &Json::parse(text).expect("JSON"))
    }

    #[test]
    fn every_value_comes_back() {
        let digits = "1".repeat(38);
        let typed = format!(
            r#"{{"S":{{"S":""}},"b":{{"B":"AAE="}},"bs":{{"BS":["AA=="]}},"big":{{"N":"{digits}"}},"deep":{{"L":[{{"M":{{"S":{{"S":"x"}}}}}},{{"M":{{}}}}]}},"like":{{"M":{{"S":{{"S":"x"}}}}}},"likeM":{{"M":{{"M":{{"M":{{"a":{{"N":"1"}}}}}}}}}},"m":{{"M":{{"S":{{"S":"x"}},"n":{{"NULL":true}}}}}},"ns":{{"NS":["1","2"]}},"ss":{{"SS":["1"]}},"t":{{"BOOL":true}}}}"#
        );
        let item = read_item(&Json::parse(&typed).expect("JSON")).expect("an item").item;
        let plain = write_plain(&item, &[]).pretty();
        assert_eq!(read(&plain).expect(&plain), item, "{plain}");
        assert!(plain.contains(&digits) && plain.contains("\"m\": {\n    \"S\": \"x\""), "{plain}");
    }

    #[test]
    fn faults_have_their_lines() {
        for (text, line, part) in [
            ("{\n \"a\": 1,\n \"n\": 1e200}", 3, "n: 1e200 is no number"),
            ("{\n \"a\": [1,\n {\"S\": 1}]}", 3, "a[1]: a map with the one member `S`"),
            ("{\"a\": 1,\n \"a\": 2}", 2, "stands twice"),
            ("[]", 1, "an item is a JSON object"),
        ] {
            let faults = read(text).expect_err(text);
            assert!(faults[0].text.contains(part), "{faults:?}");
            assert_eq!(faults[0].at.line, line, "{faults:?}");
        }
    }
}
