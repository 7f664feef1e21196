//! Update clauses: their text, their effect, and the attribute or path that they change.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::expression::Expression;
use super::{Item, VALIDATION, number, number_of};

#[derive(Clone, Debug)]
pub enum Update {
    Set(&'static str, Value),
    /// To `n`.
    Add(i64),
    /// From `n`, by arithmetic; an error if it does not exist.
    Subtract(i64),
    /// `n`, if it does not exist.
    SetUnlessThere(i64),
    /// To the list `t`; an error if it does not exist.
    Append(i64),
    /// `m.a`; an error if `m` does not exist.
    SetNested(i64),
    RemoveNested,
    Remove(&'static str),
    /// To and from the set `u`.
    AddToSet(BTreeSet<String>),
    DeleteFromSet(BTreeSet<String>),
}

/// The section of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Set,
    Remove,
    Add,
    Delete,
}

impl Update {
    /// The top-level attribute that it changes.
    pub fn attribute(&self) -> &'static str {
        match self {
            Self::Set(name, _) | Self::Remove(name) => name,
            Self::Add(_) | Self::Subtract(_) | Self::SetUnlessThere(_) => "n",
            Self::Append(_) => "t",
            Self::SetNested(_) | Self::RemoveNested => "m",
            Self::AddToSet(_) | Self::DeleteFromSet(_) => "u",
        }
    }

    /// Whether it creates no item where there is none.
    pub fn takes_away(&self) -> bool {
        matches!(self, Self::Remove(_) | Self::RemoveNested | Self::DeleteFromSet(_))
    }

    fn clause(&self, expression: &mut Expression) -> (Section, String) {
        let set = |values: &BTreeSet<String>| json!({ "SS": values });
        match self {
            Self::Set(name, value) => (Section::Set, format!("{name} = {}", expression.value(value.clone()))),
            Self::Add(by) => (Section::Add, format!("n {}", expression.number(*by))),
            Self::Subtract(by) => (Section::Set, format!("n = n - {}", expression.number(*by))),
            Self::SetUnlessThere(to) => {
                (Section::Set, format!("n = if_not_exists(n, {})", expression.number(*to)))
            }
            Self::Append(what) => {
                let what = expression.value(json!({"L": [number(*what)]}));
                (Section::Set, format!("t = list_append(t, {what})"))
            }
            Self::SetNested(to) => (Section::Set, format!("m.a = {}", expression.number(*to))),
            Self::RemoveNested => (Section::Remove, "m.a".to_owned()),
            Self::Remove(name) => (Section::Remove, (*name).to_owned()),
            Self::AddToSet(values) => (Section::Add, format!("u {}", expression.value(set(values)))),
            Self::DeleteFromSet(values) => (Section::Delete, format!("u {}", expression.value(set(values)))),
        }
    }

    /// An update expression of these clauses.
    pub fn text(changes: &[Self], expression: &mut Expression) -> String {
        let mut clauses: Vec<(Section, String)> =
            changes.iter().map(|change| change.clause(expression)).collect();
        clauses.sort_by_key(|(section, _)| *section);
        let section = |(section, word): (Section, &str)| {
            let own: Vec<&str> =
                clauses.iter().filter(|(of, _)| *of == section).map(|(_, text)| text.as_str()).collect();
            (!own.is_empty()).then(|| format!("{word} {}", own.join(", ")))
        };
        let words = [
            (Section::Set, "SET"),
            (Section::Remove, "REMOVE"),
            (Section::Add, "ADD"),
            (Section::Delete, "DELETE"),
        ];
        words.into_iter().filter_map(section).collect::<Vec<_>>().join(" ")
    }

    /// The clause of a PartiQL UPDATE and its parameters, if PartiQL can express it.
    pub fn statement_clause(&self) -> Option<(String, Vec<Value>)> {
        match self {
            Self::Set(name, value) => Some((format!("SET {name} = ?"), vec![value.clone()])),
            Self::Subtract(by) => Some(("SET n = n - ?".to_owned(), vec![number(*by)])),
            Self::Append(what) => {
                Some(("SET t = list_append(t, ?)".to_owned(), vec![json!({"L": [number(*what)]})]))
            }
            Self::SetNested(to) => Some(("SET m.a = ?".to_owned(), vec![number(*to)])),
            Self::Remove(name) => Some((format!("REMOVE {name}"), Vec::new())),
            Self::Add(_)
            | Self::SetUnlessThere(_)
            | Self::RemoveNested
            | Self::AddToSet(_)
            | Self::DeleteFromSet(_) => None,
        }
    }

    pub fn apply(&self, item: &mut Item) -> Result<(), &'static str> {
        match self {
            Self::Set(name, value) => {
                item.insert((*name).to_owned(), value.clone());
            }
            Self::Add(by) => {
                let sum = item.get("n").and_then(number_of).unwrap_or(0) + by;
                item.insert("n".to_owned(), number(sum));
            }
            Self::Subtract(by) => {
                let n = item.get("n").and_then(number_of).ok_or(VALIDATION)?;
                item.insert("n".to_owned(), number(n - by));
            }
            Self::SetUnlessThere(to) => {
                item.entry("n".to_owned()).or_insert_with(|| number(*to));
            }
            Self::Append(what) => {
                let list = item.get_mut("t").ok_or(VALIDATION)?;
                list["L"].as_array_mut().unwrap().push(number(*what));
            }
            Self::SetNested(to) => {
                item.get_mut("m").ok_or(VALIDATION)?["M"]["a"] = number(*to);
            }
            Self::RemoveNested => {
                item.get_mut("m").ok_or(VALIDATION)?["M"].as_object_mut().unwrap().remove("a");
            }
            Self::Remove(name) => {
                item.remove(*name);
            }
            Self::AddToSet(values) => {
                let all = set_of(item).union(values).cloned().collect();
                keep_set(item, &all);
            }
            Self::DeleteFromSet(values) => {
                let left = set_of(item).difference(values).cloned().collect();
                keep_set(item, &left);
            }
        }
        Ok(())
    }

    /// The part of an item that `UPDATED_OLD` and `UPDATED_NEW` return for this clause.
    pub fn shown(&self, item: &Item) -> Option<Value> {
        let whole = item.get(self.attribute())?;
        match self {
            Self::SetNested(_) | Self::RemoveNested => Some(json!({"M": {"a": whole["M"].get("a")?}})),
            _ => Some(whole.clone()),
        }
    }
}

fn set_of(item: &Item) -> BTreeSet<String> {
    let Some(set) = item.get("u") else { return BTreeSet::new() };
    set["SS"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// An empty set is removed.
fn keep_set(item: &mut Item, set: &BTreeSet<String>) {
    if set.is_empty() {
        item.remove("u");
    } else {
        item.insert("u".to_owned(), json!({ "SS": set }));
    }
}
