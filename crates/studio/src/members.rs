//! Reads the members of a request's JSON. A missing or wrong member is a fault that names it.

use keywright_model::json::Json;
use keywright_model::{At, Fault};

use super::refusal::{Kind, Refusal};
use crate::limits::{STUDIO_TEXT_VALUES_MAX, STUDIO_VALUES_MAX};

/// Parses a body; an empty one is an empty object.
pub(super) fn parse(body: &[u8]) -> Result<Json, Refusal> {
    parse_within(body, STUDIO_VALUES_MAX)
}

/// Parses a body with at most so many values.
pub(super) fn parse_within(body: &[u8], most: usize) -> Result<Json, Refusal> {
    if body.is_empty() {
        return Ok(Json::Object(Vec::new()));
    }
    let text = std::str::from_utf8(body).map_err(|_| Refusal::fault("the body is not UTF-8"))?;
    if values_max(body) > most {
        return Err(Refusal::new(Kind::TooLarge, "the body has too many values"));
    }
    match parse_text(text)? {
        json @ Json::Object(_) => Ok(json),
        _ => Err(Refusal::fault("the body is not a JSON object")),
    }
}

/// At least as many as the body has values. What stands in a text, such as lines of CSV, is none.
fn values_max(body: &[u8]) -> usize {
    let (mut values, mut in_text, mut escaped) = (1, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' | b',' if !in_text => values += 1,
            _ => {}
        }
    }
    values
}

/// Parses a JSON text; the fault has its place.
pub(super) fn parse_text(text: &str) -> Result<Json, Refusal> {
    // The tree's own reader reads parts, so its places are within them.
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        let at = At { line: error.line().max(1), column: error.column().max(1) };
        let reason = error.to_string();
        let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason);
        return Err(Refusal::faults(vec![Fault::new(at, format!("not JSON: {reason}"))]));
    }
    Json::parse(text).map_err(|fault| Refusal::fault(fault.to_string()))
}

fn wrong(name: &str, form: &str) -> Refusal {
    Refusal::fault(format!("the request's `{name}` is missing or not {form}"))
}

/// A member that may be missing or null.
pub(super) fn optional<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    json.get(name).filter(|value| **value != Json::Null)
}

pub(super) fn text<'j>(json: &'j Json, name: &str) -> Result<&'j str, Refusal> {
    json.str_at(name).ok_or_else(|| wrong(name, "a text"))
}

/// A text that the call reads in turn.
pub(super) fn source<'j>(json: &'j Json, name: &str) -> Result<&'j str, Refusal> {
    readable(text(json, name)?, name)
}

pub(super) fn optional_source<'j>(json: &'j Json, name: &str) -> Result<Option<&'j str>, Refusal> {
    optional_text(json, name)?.map(|text| readable(text, name)).transpose()
}

/// Refuses a text with too many values, be they lines, JSON or YAML.
fn readable<'j>(text: &'j str, name: &str) -> Result<&'j str, Refusal> {
    let values = text.bytes().filter(|byte| matches!(byte, b'{' | b'[' | b',' | b'\n')).count();
    if values > STUDIO_TEXT_VALUES_MAX {
        let text = format!("the request's `{name}` has too many values: send it in parts");
        return Err(Refusal::new(Kind::TooLarge, text));
    }
    Ok(text)
}

pub(super) fn optional_text<'j>(json: &'j Json, name: &str) -> Result<Option<&'j str>, Refusal> {
    optional(json, name).map(|value| value.as_str().ok_or_else(|| wrong(name, "a text"))).transpose()
}

/// A list of texts; empty if it is missing.
pub(super) fn texts(json: &Json, name: &str) -> Result<Vec<String>, Refusal> {
    let Some(list) = optional(json, name) else { return Ok(Vec::new()) };
    let Json::List(elements) = list else { return Err(wrong(name, "a list of texts")) };
    let texts: Option<Vec<String>> = elements.iter().map(|one| one.as_str().map(str::to_owned)).collect();
    texts.ok_or_else(|| wrong(name, "a list of texts"))
}

pub(super) fn list<'j>(json: &'j Json, name: &str) -> Result<&'j [Json], Refusal> {
    match json.get(name) {
        Some(Json::List(elements)) => Ok(elements),
        _ => Err(wrong(name, "a list")),
    }
}

/// A switch; off if it is missing.
pub(super) fn switch(json: &Json, name: &str) -> Result<bool, Refusal> {
    match optional(json, name) {
        None => Ok(false),
        Some(Json::Bool(on)) => Ok(*on),
        Some(_) => Err(wrong(name, "true or false")),
    }
}

/// A whole number within bounds.
pub(super) fn number<T>(
    json: &Json,
    name: &str,
    default: T,
    bounds: std::ops::RangeInclusive<T>,
) -> Result<T, Refusal>
where
    T: TryFrom<u64> + PartialOrd + std::fmt::Display,
{
    let Some(value) = optional(json, name) else { return Ok(default) };
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number
        .filter(|number| bounds.contains(number))
        .ok_or_else(|| wrong(name, &format!("a whole number from {} to {}", bounds.start(), bounds.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_body_has_its_place() {
        let refusal = parse(b"{\n \"a\": tru }").unwrap_err().json().compact();
        assert!(refusal.contains("\"line\":2,\"column\":10"), "{refusal}");
        assert!(parse(b"[]").is_err());
        assert_eq!(parse(b""), Ok(Json::Object(Vec::new())));
    }

    #[test]
    fn a_wrong_member_is_named() {
        let json = parse(br#"{"a": 1, "b": null, "n": 7}"#).unwrap();
        assert!(text(&json, "a").unwrap_err().text.contains("`a`"));
        assert_eq!(optional_text(&json, "b"), Ok(None));
        assert_eq!(number(&json, "n", 3_u8, 1..=7), Ok(7));
        assert_eq!(number(&json, "m", 3_u8, 1..=7), Ok(3));
        assert!(number(&json, "n", 3_u8, 1..=6).is_err());
    }

    #[test]
    fn values_are_bounded_and_texts_are_not() {
        let list = format!(r#"{{"list":[{}[]]}}"#, "[],".repeat(STUDIO_VALUES_MAX));
        assert!(parse(list.as_bytes()).is_err());
        let lines = format!(r#"{{"text":"\"{}"}}"#, "1,[".repeat(STUDIO_VALUES_MAX));
        assert!(parse(lines.as_bytes()).is_ok());
    }

    #[test]
    fn a_text_that_is_read_has_as_many_values_as_a_part_of_an_import_and_not_many_more() {
        let of = |text: String| Json::object([("text", Json::text(text))]);
        assert!(source(&of("1\n".repeat(256 << 10)), "text").is_ok());
        for many in ["[],", "1,", "a\n", "\",\""] {
            let text = of(many.repeat(STUDIO_TEXT_VALUES_MAX + 1));
            assert_eq!(source(&text, "text").unwrap_err().kind, Kind::TooLarge, "{many}");
        }
    }
}
