//! The canonical form of a document of a table or stream: what clients read back, and what tells whether two
//! documents say the same.
//!
//! Source: a public catalogue of live measurements of resource policies (2026). Principals and values keep
//! the order in which they were sent.

use std::collections::BTreeSet;

use keywright_semantics::iam::names::root_arn;
use keywright_semantics::place::is_account;

use super::json::Json;
use super::parse::MEMBERS;

/// The version of a document that names none.
const VERSION: &str = "2008-10-17";

/// The canonical form of a text that is a document; none for one that is no JSON object.
pub fn canonical(text: &str) -> Option<String> {
    let form = form(&Json::parse(text)?)?;
    let Json::Object(members) = &form else { return None };
    if members.iter().any(|(name, _)| name == "Version") {
        return Some(written(&form));
    }
    let version = ("Version".to_owned(), Json::Text(VERSION.to_owned()));
    Some(written(&Json::Object([vec![version], members.clone()].concat())))
}

/// The same without a version that the text does not name: a document without it is another one than one
/// with the default.
pub fn compact(text: &str) -> Option<String> {
    Some(written(&form(&Json::parse(text)?)?))
}

fn written(form: &Json) -> String {
    let mut out = String::new();
    write(form, &mut out);
    out
}

/// Whether two documents are the same but for their spelling. The order of members does not count, that of
/// lists does. A version that is left out is not the same as its default.
pub fn are_same(one: &str, other: &str) -> bool {
    let form_of = |text| Json::parse(text).as_ref().and_then(form).map(sorted);
    form_of(one).is_some_and(|one| Some(one) == form_of(other))
}

fn member<'j>(document: &'j Json, name: &str) -> Option<&'j Json> {
    let Json::Object(members) = document else { return None };
    members.iter().find(|(other, _)| other == name).map(|(_, value)| value)
}

fn form(document: &Json) -> Option<Json> {
    let version = member(document, "Version").map(|version| ("Version".to_owned(), version.clone()));
    let statements = match member(document, "Statement")? {
        Json::List(list) => list.iter().map(statement).collect(),
        one => vec![statement(one)],
    };
    let id = member(document, "Id").map(|id| ("Id".to_owned(), id.clone()));
    let statements = ("Statement".to_owned(), Json::List(statements));
    Some(Json::Object([version, id, Some(statements)].into_iter().flatten().collect()))
}

fn statement(statement: &Json) -> Json {
    let Json::Object(members) = statement else { return statement.clone() };
    let made = MEMBERS.iter().filter_map(|name| {
        let (_, value) = members.iter().find(|(other, _)| other == name)?;
        let value = match *name {
            "Effect" => effect(value),
            "Principal" | "NotPrincipal" => principals(value),
            "Condition" => condition(value),
            _ => one_or_several(value),
        };
        Some(((*name).to_owned(), value))
    });
    Json::Object(made.collect())
}

fn effect(value: &Json) -> Json {
    match value {
        Json::Text(text) if text.eq_ignore_ascii_case("Allow") => Json::Text("Allow".to_owned()),
        Json::Text(text) if text.eq_ignore_ascii_case("Deny") => Json::Text("Deny".to_owned()),
        other => other.clone(),
    }
}

/// Principals of accounts by the ARNs of their roots, each once.
fn principals(value: &Json) -> Json {
    let Json::Object(kinds) = value else { return value.clone() };
    let named = kinds.iter().map(|(kind, names)| {
        let list = match names {
            Json::List(list) => list.clone(),
            one => vec![one.clone()],
        };
        let name_of = |name: Json| match name {
            Json::Text(text) if kind == "AWS" && is_account(&text) => Json::Text(root_arn(&text)),
            other => other,
        };
        let mut seen = Vec::new();
        for name in list.into_iter().map(name_of) {
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
        (kind.clone(), one_or_several(&Json::List(seen)))
    });
    Json::Object(named.collect())
}

/// Operators with keys and values; numbers and flags are texts.
fn condition(value: &Json) -> Json {
    let Json::Object(operators) = value else { return value.clone() };
    let operators = operators.iter().map(|(operator, keys)| {
        let keys = match keys {
            Json::Object(keys) => {
                Json::Object(keys.iter().map(|(key, values)| (key.clone(), values_of(values))).collect())
            }
            other => other.clone(),
        };
        (operator.clone(), keys)
    });
    Json::Object(operators.collect())
}

fn values_of(value: &Json) -> Json {
    let text = |one: &Json| match one {
        Json::Number(text) => Json::Text(text.clone()),
        Json::Bool(flag) => Json::Text(flag.to_string()),
        other => other.clone(),
    };
    match value {
        Json::List(list) => one_or_several(&Json::List(list.iter().map(text).collect())),
        one => text(one),
    }
}

/// A list of one is that one.
fn one_or_several(value: &Json) -> Json {
    match value {
        Json::List(list) if list.len() == 1 => list.first().unwrap_or(value).clone(),
        other => other.clone(),
    }
}

/// The same with the members of every object in the order of their names.
fn sorted(json: Json) -> Json {
    match json {
        Json::List(list) => Json::List(list.into_iter().map(sorted).collect()),
        Json::Object(members) => {
            let count = members.len();
            let mut members: Vec<_> =
                members.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            let names: BTreeSet<&String> = members.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), count, "no member stands twice");
            Json::Object(members)
        }
        other => other,
    }
}

/// Writes JSON without blanks.
fn write(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => out.push_str(number),
        Json::Text(text) => out.push_str(&quoted(text)),
        Json::List(list) => {
            out.push('[');
            for (index, one) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(one, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(name));
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
