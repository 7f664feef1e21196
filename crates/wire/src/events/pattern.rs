//! Patterns of events, in `EventBridge`'s language, as filters of mappings use them.
//!
//! A pattern is an object whose leaves are lists: of the rules in a list one must match, and all leaves must.
//! A list in the event matches if one of its elements does. A name that is absent matches only
//! `{"exists": false}`. Source: `EventBridge`'s guide on comparison operators, Lambda's guide on filters.

use serde_json::{Map, Number, Value};

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern(Node);

#[derive(Clone, Debug, PartialEq)]
enum Node {
    /// All members must match, and one of each list of alternatives.
    All { members: Vec<(String, Node)>, alternatives: Vec<Vec<Node>> },
    /// One of the rules must match.
    Leaf(Vec<Rule>),
}

#[derive(Clone, Debug, PartialEq)]
enum Rule {
    Null,
    Bool(bool),
    /// Numbers are the same if their texts are.
    Number(Number),
    Text(Texts),
    AnythingBut(Vec<Rule>),
    Numeric {
        above: Option<(f64, bool)>,
        below: Option<(f64, bool)>,
    },
    Exists(bool),
}

#[derive(Clone, Debug, PartialEq)]
enum Texts {
    Equal(String),
    /// In lower case.
    EqualIgnoringCase(String),
    Prefix(String),
    PrefixIgnoringCase(String),
    Suffix(String),
    SuffixIgnoringCase(String),
    /// The parts between the stars.
    Wildcard(Vec<String>),
}

/// The greatest number that `numeric` compares (guide).
const NUMBER_MAX: f64 = 5.0e9;
/// A name whose list has alternatives.
const OR: &str = "$or";
const KNOWN: &str = "prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, exists";

impl Pattern {
    /// Compiles a pattern; the fault says what is wrong and where.
    pub fn compile(text: &str) -> Result<Self, String> {
        // As bytes, like records: a second user of the parser of texts would make that of requests slower.
        let value = serde_json::from_slice::<Value>(text.as_bytes());
        let value = value.map_err(|fault| format!("It is not JSON: {fault}"))?;
        match value {
            Value::Object(members) => node(&members, "").map(Self),
            _ => Err("It is not a JSON object".to_owned()),
        }
    }

    /// Whether a record matches, as JSON. What is no JSON matches nothing.
    pub fn matches(&self, record: &[u8]) -> bool {
        serde_json::from_slice(record).is_ok_and(|record| self.matches_value(&record))
    }

    /// Whether a record matches.
    pub fn matches_value(&self, record: &Value) -> bool {
        self.0.matches(Some(record))
    }
}

fn place(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn node(object: &Map<String, Value>, path: &str) -> Result<Node, String> {
    if object.is_empty() && !path.is_empty() {
        return Err(format!("{path} is an empty object: name what must match"));
    }
    let mut members = Vec::new();
    let mut alternatives = Vec::new();
    for (name, value) in object {
        let path = place(path, name);
        match value {
            Value::Array(list) if name == OR => alternatives.push(alternatives_of(list, &path)?),
            Value::Object(inner) => members.push((name.clone(), node(inner, &path)?)),
            Value::Array(list) if list.is_empty() => {
                return Err(format!("{path} is an empty list, which nothing matches"));
            }
            Value::Array(list) => {
                let rules: Result<Vec<Rule>, String> = list.iter().map(|one| rule(one, &path)).collect();
                members.push((name.clone(), Node::Leaf(rules?)));
            }
            _ => return Err(format!("{path} must be a list of values, or an object: write [{value}]")),
        }
    }
    Ok(Node::All { members, alternatives })
}

fn alternatives_of(list: &[Value], path: &str) -> Result<Vec<Node>, String> {
    if list.len() < 2 {
        return Err(format!("{path} needs two alternatives at least"));
    }
    let alternative = |one: &Value| match one {
        Value::Object(members) if !members.is_empty() => node(members, path),
        _ => Err(format!("{path} must be a list of objects")),
    };
    list.iter().map(alternative).collect()
}

fn rule(value: &Value, path: &str) -> Result<Rule, String> {
    match value {
        Value::Null => Ok(Rule::Null),
        Value::Bool(value) => Ok(Rule::Bool(*value)),
        Value::Number(number) => Ok(Rule::Number(number.clone())),
        Value::String(text) => Ok(Rule::Text(Texts::Equal(text.clone()))),
        Value::Array(_) => Err(format!("{path} has a list in its list: write its values in one list")),
        Value::Object(members) => match members.iter().next() {
            Some((operator, operand)) if members.len() == 1 => operation(operator, operand, path),
            _ => Err(format!("{path} has an object that is not one operator of {KNOWN}")),
        },
    }
}

fn operation(operator: &str, operand: &Value, path: &str) -> Result<Rule, String> {
    let here = place(path, operator);
    match operator {
        "prefix" | "suffix" | "equals-ignore-case" | "wildcard" => {
            Ok(Rule::Text(texts(operator, operand, &here)?))
        }
        "anything-but" => anything_but(operand, &here),
        "numeric" => numeric(operand, &here),
        "exists" => match operand {
            Value::Bool(exists) => Ok(Rule::Exists(*exists)),
            _ => Err(format!("{here} must be true or false")),
        },
        other => Err(format!("{path} has the operator {other}, which is not one of {KNOWN}")),
    }
}

fn texts(operator: &str, operand: &Value, here: &str) -> Result<Texts, String> {
    let folded = |operand: &Value| match operand {
        Value::Object(members) if members.len() == 1 => {
            members.get("equals-ignore-case").and_then(Value::as_str).map(str::to_lowercase)
        }
        _ => None,
    };
    match (operator, operand) {
        ("prefix", Value::String(text)) => Ok(Texts::Prefix(text.clone())),
        ("suffix", Value::String(text)) => Ok(Texts::Suffix(text.clone())),
        ("equals-ignore-case", Value::String(text)) => Ok(Texts::EqualIgnoringCase(text.to_lowercase())),
        ("wildcard", Value::String(text)) if text.contains("**") => {
            Err(format!("{here} has two stars in succession"))
        }
        ("wildcard", Value::String(text)) => {
            Ok(Texts::Wildcard(text.split('*').map(str::to_owned).collect()))
        }
        ("prefix", operand) if let Some(text) = folded(operand) => Ok(Texts::PrefixIgnoringCase(text)),
        ("suffix", operand) if let Some(text) = folded(operand) => Ok(Texts::SuffixIgnoringCase(text)),
        _ => Err(format!("{here} must be a text")),
    }
}

fn anything_but(operand: &Value, here: &str) -> Result<Rule, String> {
    let value = |value: &Value| match value {
        Value::String(text) => Ok(Rule::Text(Texts::Equal(text.clone()))),
        Value::Number(number) => Ok(Rule::Number(number.clone())),
        _ => Err(format!("{here} must be a text or a number, or a list of them")),
    };
    let excluded = match operand {
        Value::Array(list) if list.is_empty() => return Err(format!("{here} is an empty list")),
        Value::Array(list) => list.iter().map(value).collect::<Result<_, _>>()?,
        Value::Object(members) => match members.iter().next() {
            Some((operator, operand)) if members.len() == 1 => {
                let operands = match operand {
                    Value::Array(list) if !list.is_empty() => list.iter().collect(),
                    one => vec![one],
                };
                let one = |operand: &&Value| texts(operator, operand, &place(here, operator)).map(Rule::Text);
                operands.iter().map(one).collect::<Result<_, _>>()?
            }
            _ => return Err(format!("{here} must have one operator")),
        },
        one => vec![value(one)?],
    };
    Ok(Rule::AnythingBut(excluded))
}

fn numeric(operand: &Value, here: &str) -> Result<Rule, String> {
    let form = || format!("{here} must be such as [\"=\", 5], [\">\", 0] or [\">\", 0, \"<=\", 5]");
    let Value::Array(list) = operand else { return Err(form()) };
    let pairs = list.chunks_exact(2);
    if !pairs.remainder().is_empty() || !(1..=2).contains(&pairs.len()) {
        return Err(form());
    }
    let (mut above, mut below) = (None, None);
    for pair in pairs {
        let [operator, number] = pair else { return Err(form()) };
        let number = number.as_f64().ok_or_else(form)?;
        if !(-NUMBER_MAX..=NUMBER_MAX).contains(&number) {
            return Err(format!("{here} compares numbers from -5.0e9 to 5.0e9 only"));
        }
        match operator.as_str() {
            Some("=") if list.len() == 2 => (above, below) = (Some((number, true)), Some((number, true))),
            Some(">") if above.is_none() && below.is_none() => above = Some((number, false)),
            Some(">=") if above.is_none() && below.is_none() => above = Some((number, true)),
            Some("<") if below.is_none() => below = Some((number, false)),
            Some("<=") if below.is_none() => below = Some((number, true)),
            _ => return Err(form()),
        }
    }
    match (above, below) {
        (Some((least, _)), Some((most, _))) if list.len() == 4 && least >= most => {
            Err(format!("{here} has no number between its bounds"))
        }
        _ => Ok(Rule::Numeric { above, below }),
    }
}

impl Node {
    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            Self::All { members, alternatives } => match value {
                // One element must match as a whole. Those that are no objects have no names.
                Some(Value::Array(elements)) if elements.iter().any(Value::is_object) => {
                    elements.iter().filter(|one| one.is_object()).any(|one| self.matches(Some(one)))
                }
                _ => {
                    let object = value.and_then(Value::as_object);
                    let has = |(name, node): &(String, Self)| {
                        node.matches(object.and_then(|object| object.get(name)))
                    };
                    members.iter().all(has)
                        && alternatives.iter().all(|nodes| nodes.iter().any(|node| node.matches(value)))
                }
            },
            Self::Leaf(rules) => rules.iter().any(|rule| rule.matches(value)),
        }
    }
}

impl Rule {
    fn matches(&self, value: Option<&Value>) -> bool {
        let leaf = value.filter(|value| is_leaf(value));
        match (self, leaf) {
            (Self::Exists(exists), leaf) => leaf.is_some() == *exists,
            (_, None) => false,
            (_, Some(Value::Array(elements))) => {
                elements.iter().filter(|one| is_leaf(one)).any(|one| self.matches(Some(one)))
            }
            (rule, Some(value)) => rule.matches_one(value),
        }
    }

    /// Whether a value that is neither list nor object matches.
    fn matches_one(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(wanted), Value::Bool(value)) => wanted == value,
            (Self::Number(wanted), Value::Number(value)) => wanted == value,
            (Self::Text(texts), Value::String(text)) => texts.matches(text),
            (Self::AnythingBut(excluded), value) => !excluded.iter().any(|rule| rule.matches_one(value)),
            (Self::Numeric { above, below }, Value::Number(number)) => {
                number.as_f64().is_some_and(|number| {
                    above.is_none_or(|(least, or_equal)| number > least || (or_equal && same(number, least)))
                        && below
                            .is_none_or(|(most, or_equal)| number < most || (or_equal && same(number, most)))
                })
            }
            _ => false,
        }
    }
}

fn same(one: f64, other: f64) -> bool {
    one.total_cmp(&other).is_eq()
}

/// Whether a value is one that rules look at: no object, and no list without such values.
fn is_leaf(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(elements) => elements.iter().any(is_leaf),
        _ => true,
    }
}

impl Texts {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Equal(wanted) => wanted == text,
            Self::EqualIgnoringCase(wanted) => *wanted == text.to_lowercase(),
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::PrefixIgnoringCase(prefix) => text.to_lowercase().starts_with(prefix.as_str()),
            Self::Suffix(suffix) => text.ends_with(suffix.as_str()),
            Self::SuffixIgnoringCase(suffix) => text.to_lowercase().ends_with(suffix.as_str()),
            Self::Wildcard(parts) => has_parts(text, parts),
        }
    }
}

/// Whether a text is made of these parts in their order, with anything between them.
fn has_parts(text: &str, parts: &[String]) -> bool {
    assert!(!parts.is_empty(), "a text without a star is one part");
    let [first, middle @ .., last] = parts else { return parts.first().is_some_and(|only| only == text) };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some((_, after)) = rest.split_once(part.as_str()) else { return false };
        rest = after;
    }
    rest.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_pattern_says_what_is_wrong_and_where() {
        for (pattern, part) in [
            ("", "not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"a":"b"}"#, "a must be a list of values, or an object: write [\"b\"]"),
            (r#"{"a":{"b":[]}}"#, "a.b is an empty list"),
            (r#"{"a":{}}"#, "a is an empty object"),
            (r#"{"a":[["b"]]}"#, "a has a list in its list"),
            (r#"{"a":[{"startsWith":"b"}]}"#, "the operator startsWith"),
            (r#"{"a":[{"prefix":1}]}"#, "a.prefix must be a text"),
            (r#"{"a":[{"exists":1}]}"#, "a.exists must be true or false"),
            (r#"{"a":[{"numeric":["=="]}]}"#, "a.numeric must be such as"),
            (r#"{"a":[{"numeric":["=","5"]}]}"#, "a.numeric must be such as"),
            (r#"{"a":[{"numeric":[">",5,"<",5]}]}"#, "no number between"),
            (r#"{"a":[{"numeric":["<",5,">",1]}]}"#, "a.numeric must be such as"),
            (r#"{"a":[{"numeric":["<",6e9]}]}"#, "-5.0e9 to 5.0e9"),
            (r#"{"a":[{"anything-but":[]}]}"#, "a.anything-but is an empty list"),
            (r#"{"a":[{"anything-but":[null]}]}"#, "a text or a number"),
            (r#"{"a":[{"wildcard":"a**b"}]}"#, "two stars"),
            (r#"{"$or":[{"a":["b"]}]}"#, "two alternatives"),
            (r#"{"a":[{"prefix":"b","suffix":"c"}]}"#, "not one operator"),
        ] {
            let fault = Pattern::compile(pattern).unwrap_err();
            assert!(fault.contains(part), "{pattern}: {fault}");
        }
    }

    #[test]
    fn parts_of_a_wildcard_are_found_in_their_order() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*a", "a", false),
            ("*", "", true),
            ("*b*", "abc", true),
            ("a*b*c", "acb", false),
            ("abc", "abc", true),
        ] {
            let pattern = Pattern::compile(&format!(r#"{{"x":[{{"wildcard":"{pattern}"}}]}}"#)).unwrap();
            assert_eq!(pattern.matches(format!(r#"{{"x":"{text}"}}"#).as_bytes()), expected, "{text}");
        }
    }
}
