//! Files as texts.

use std::fmt::Write as _;

use keywright_semantics::iam::names::Kind;

use super::{AccessFile, AccessKey, Entity, ManagedPolicy, Secret};
use crate::document::Json;

const INDENT: usize = 2;
/// Characters of a list that stands in one line.
const LINE_MAX: usize = 90;

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn object(members: impl IntoIterator<Item = (&'static str, Option<Json>)>) -> Json {
    let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Json::Object(present.collect())
}

fn filled<T>(list: Vec<T>, make: impl FnOnce(Vec<T>) -> Json) -> Option<Json> {
    (!list.is_empty()).then(|| make(list))
}

impl AccessFile {
    /// The text of the file.
    pub fn text(&self) -> String {
        let policies = self.principals.policies.values().map(|policy| (policy.name.clone(), policy.json()));
        let of = |kind: Kind| {
            let those = self.principals.entities.values().filter(|entity| entity.kind == kind);
            let named = those.map(|entity| (entity.name.clone(), entity.json()));
            filled(named.collect(), Json::Object)
        };
        let json = object([
            ("account", self.account.as_deref().map(text)),
            ("policies", filled(policies.collect(), Json::Object)),
            ("groups", of(Kind::Group)),
            ("users", of(Kind::User)),
            ("roles", of(Kind::Role)),
        ]);
        let mut out = String::new();
        pretty(&mut out, &json, 0);
        out.push('\n');
        out
    }
}

impl ManagedPolicy {
    fn json(&self) -> Json {
        object([
            ("path", self.path.as_deref().map(text)),
            ("description", self.description.as_deref().map(text)),
            ("document", Some(self.document.json().clone())),
        ])
    }
}

impl Entity {
    fn json(&self) -> Json {
        let texts = |texts: Vec<Json>| filled(texts, Json::List);
        let tags = self.tags.iter().map(|(key, value)| (key.clone(), text(value)));
        let inline = self.inline.iter().map(|(name, document)| (name.clone(), document.json().clone()));
        let keys = self.keys.iter().map(|(id, key)| key.json(id));
        object([
            ("path", self.path.as_deref().map(text)),
            ("id", self.id.as_deref().map(text)),
            ("trust", self.trust.as_ref().map(|document| document.json().clone())),
            ("description", self.description.as_deref().map(text)),
            ("session_seconds_max", self.session_seconds_max.map(|number| Json::Number(number.to_string()))),
            ("boundary", self.boundary.as_deref().map(text)),
            ("groups", texts(self.groups.iter().map(|name| text(name)).collect())),
            ("attached", texts(self.attached.iter().map(|name| text(name)).collect())),
            ("inline", filled(inline.collect(), Json::Object)),
            ("tags", filled(tags.collect(), Json::Object)),
            ("keys", filled(keys.collect(), Json::List)),
        ])
    }
}

impl AccessKey {
    fn json(&self, id: &str) -> Json {
        let secret = |wanted: fn(&Secret) -> Option<&String>| {
            self.secret.as_ref().and_then(wanted).map(|secret| text(secret))
        };
        object([
            ("id", Some(text(id))),
            ("active", (!self.is_active).then_some(Json::Bool(false))),
            ("secret_file", secret(|one| if let Secret::File(path) = one { Some(path) } else { None })),
            (
                "secret_variable",
                secret(|one| if let Secret::Variable(name) = one { Some(name) } else { None }),
            ),
            (
                "secret_in_plain_text",
                secret(|one| if let Secret::PlainText(text) = one { Some(text) } else { None }),
            ),
        ])
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// JSON without blanks.
pub(super) fn compact(json: &Json) -> String {
    let mut out = String::new();
    write(&mut out, json, "");
    out
}

/// JSON in one line.
fn write(out: &mut String, json: &Json, blank: &str) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => out.push_str(number),
        Json::Text(text) => quoted(out, text),
        Json::List(list) => {
            out.push('[');
            for (place, element) in list.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                    out.push_str(blank);
                }
                write(out, element, blank);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (place, (name, value)) in members.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                    out.push_str(blank);
                }
                quoted(out, name);
                out.push(':');
                out.push_str(blank);
                write(out, value, blank);
            }
            out.push('}');
        }
    }
}

/// JSON for people.
fn pretty(out: &mut String, json: &Json, depth: usize) {
    let mut line = String::new();
    write(&mut line, json, " ");
    let (open, close) = match json {
        Json::List(list) if !list.is_empty() && line.len() > LINE_MAX => ('[', ']'),
        Json::Object(members) if !members.is_empty() && (depth < 2 || line.len() > LINE_MAX) => ('{', '}'),
        _ => return out.push_str(&line),
    };
    out.push(open);
    let begin = |out: &mut String, place: usize| {
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(out, "{comma}\n{:1$}", "", (depth + 1) * INDENT);
    };
    match json {
        Json::List(list) => {
            for (place, element) in list.iter().enumerate() {
                begin(out, place);
                pretty(out, element, depth + 1);
            }
        }
        Json::Object(members) => {
            for (place, (name, value)) in members.iter().enumerate() {
                begin(out, place);
                quoted(out, name);
                out.push_str(": ");
                pretty(out, value, depth + 1);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
    let _ = write!(out, "\n{:1$}{close}", "", depth * INDENT);
}
