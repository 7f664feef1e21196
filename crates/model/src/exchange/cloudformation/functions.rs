//! Evaluates the functions of a template from the template alone:
//! defaults of parameters, mappings, and conditions on both.

use std::collections::{BTreeMap, BTreeSet};

use super::STACK_REGION;
use crate::exchange::create_table::member;
use crate::exchange::supported::is_function;
use crate::json::Json;

/// The most levels of nested functions that are evaluated.
const FUNCTION_LEVELS_MAX: usize = 40;

/// A value that only a deployment knows, and the assumption made instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnresolvedValue {
    pub(super) path: String,
    pub(super) text: String,
}

pub(super) struct Functions<'a> {
    template: &'a Json,
    pub(super) unresolved: Vec<UnresolvedValue>,
    /// The parameters whose defaults were used, with the defaults.
    pub(super) defaults: BTreeMap<String, String>,
    assumed_conditions: BTreeSet<String>,
}

impl<'a> Functions<'a> {
    pub(super) const fn new(template: &'a Json) -> Self {
        Self {
            template,
            unresolved: Vec::new(),
            defaults: BTreeMap::new(),
            assumed_conditions: BTreeSet::new(),
        }
    }

    /// The value with its functions evaluated. Parts that only a deployment
    /// knows are noted and left out, or replaced by [`assumed`].
    pub(super) fn resolve(&mut self, json: &Json, path: &str) -> Json {
        self.value(json, path, 0)
    }

    fn value(&mut self, json: &Json, path: &str, level: usize) -> Json {
        if level > FUNCTION_LEVELS_MAX {
            return self.unknown("a function of many levels", path);
        }
        match json {
            Json::Object(members) => {
                if let ([(name, argument)], true) = (members.as_slice(), is_function(json)) {
                    return self.function(name, argument, path, level + 1);
                }
                let resolved = members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.value(value, &member(path, name), level + 1)))
                    .filter(|(_, value)| *value != Json::Null);
                Json::Object(resolved.collect())
            }
            Json::List(elements) => {
                let resolved = elements
                    .iter()
                    .enumerate()
                    .map(|(at, element)| self.value(element, &format!("{path}[{at}]"), level + 1));
                Json::List(resolved.filter(|value| *value != Json::Null).collect())
            }
            leaf => leaf.clone(),
        }
    }

    /// The value of a function, or its replacement.
    fn function(&mut self, name: &str, argument: &Json, path: &str, level: usize) -> Json {
        let known = match (name, argument) {
            ("Ref", Json::Text(name)) => return self.reference(name, path),
            ("Fn::Sub", Json::Text(text)) => return self.substitute(text, &[], path),
            ("Fn::Sub", Json::List(parts)) => {
                let text = parts.first().and_then(Json::as_str).unwrap_or_default();
                let values = parts.get(1).map_or(Json::Null, |values| self.value(values, path, level));
                return self.substitute(text, values.members(), path);
            }
            ("Fn::Join", Json::List(parts)) => {
                let delimiter = parts.first().and_then(Json::as_str).unwrap_or_default();
                let values = parts.get(1).map_or(Json::Null, |values| self.value(values, path, level));
                let texts: Vec<&str> = values.elements().iter().filter_map(Json::as_str).collect();
                Some(Json::text(texts.join(delimiter)))
            }
            ("Fn::If", Json::List(parts)) => {
                let condition = parts.first().and_then(Json::as_str).unwrap_or_default();
                let branch = if self.holds(condition, path) { 1 } else { 2 };
                return parts.get(branch).map_or(Json::Null, |value| self.value(value, path, level));
            }
            ("Fn::Select", Json::List(parts)) => {
                let at = parts.first().and_then(Json::as_u64).and_then(|at| usize::try_from(at).ok());
                let list = parts.get(1).map(|list| self.value(list, path, level));
                at.and_then(|at| list?.elements().get(at).cloned())
            }
            ("Fn::Split", Json::List(parts)) => {
                let delimiter = parts.first().and_then(Json::as_str).unwrap_or(",");
                let text = parts.get(1).map(|text| self.value(text, path, level));
                text.as_ref().and_then(Json::as_str).map(|text| list(text, delimiter))
            }
            ("Fn::FindInMap", Json::List(parts)) => {
                let keys: Vec<Json> = parts.iter().map(|part| self.value(part, path, level)).collect();
                let keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
                self.template.get("Mappings").and_then(|mappings| mappings.at(&keys)).cloned()
            }
            _ => None,
        };
        known.unwrap_or_else(|| {
            let of = argument.as_str().map(|text| format!(" {text}")).unwrap_or_default();
            self.unknown(&format!("{}{of}", name.replace("Fn::", "!")), path)
        })
    }

    fn reference(&mut self, name: &str, path: &str) -> Json {
        match name {
            "AWS::NoValue" => Json::Null,
            STACK_REGION => Json::text(STACK_REGION),
            _ => {
                let default = self.default_of(name);
                default.unwrap_or_else(|| self.unknown(&format!("!Ref {name}"), path))
            }
        }
    }

    /// The default of a parameter. For a parameter in Systems
    /// Manager the default is only a name, not the value.
    fn default_of(&mut self, name: &str) -> Option<Json> {
        let parameter = self.template.get("Parameters")?.get(name)?;
        let kind = parameter.str_at("Type").unwrap_or_default();
        if kind.starts_with("AWS::SSM::") {
            return None;
        }
        let default = parameter.get("Default")?;
        let text = match default {
            Json::Text(text) | Json::Number(text) => text.clone(),
            other => other.compact(),
        };
        self.defaults.insert(name.to_owned(), text.clone());
        let several = kind == "CommaDelimitedList" || kind.starts_with("List<");
        Some(if several { list(&text, ",") } else { default.clone() })
    }

    /// Replaces `${x}` by values and parameters. What only a
    /// deployment knows is removed, with the hyphen that joins it.
    fn substitute(&mut self, text: &str, values: &[(String, Json)], path: &str) -> Json {
        let mut out = String::new();
        let mut left_out: Vec<&str> = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                out.push_str(after);
                rest = "";
                break;
            };
            rest = tail;
            let own = values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            match own.or_else(|| self.default_of(name)) {
                Some(Json::Text(value) | Json::Number(value)) => out.push_str(&value),
                // `${!x}` stands for the literal text `${x}`.
                _ if name.starts_with('!') => out.push_str(name),
                _ => left_out.push(name),
            }
        }
        out.push_str(rest);
        let out = out.trim_matches(['-', '_', '.']).to_owned();
        if out.is_empty() && !left_out.is_empty() {
            return self.unknown(&format!("!Sub {text}"), path);
        }
        if !left_out.is_empty() {
            let names: Vec<String> = left_out.iter().map(|name| format!("${{{name}}}")).collect();
            self.note(path, format!("{} is known only on deployment; `{out}` is taken", names.join(", ")));
        }
        Json::Text(out)
    }

    fn unknown(&mut self, what: &str, path: &str) -> Json {
        let (value, text) = assumed(path);
        self.note(path, format!("{what} is known only on deployment; {text}"));
        value
    }

    fn note(&mut self, path: &str, text: String) {
        self.unresolved.push(UnresolvedValue { path: path.to_owned(), text });
    }

    /// Whether a condition of the template holds with the defaults.
    /// One that only a deployment can decide is assumed to hold.
    pub(super) fn holds(&mut self, condition: &str, path: &str) -> bool {
        let known = self.unresolved.len();
        let decided = self.decide(&Json::object([("Condition", Json::text(condition))]), 0);
        self.unresolved.truncate(known);
        if decided.is_none() && self.assumed_conditions.insert(condition.to_owned()) {
            self.note(
                path,
                format!("the condition {condition} is decided on deployment; it is taken to hold"),
            );
        }
        decided.unwrap_or(true)
    }

    fn decide(&mut self, json: &Json, level: usize) -> Option<bool> {
        let [(name, argument)] = json.members() else { return None };
        if level > FUNCTION_LEVELS_MAX {
            return None;
        }
        match name.as_str() {
            "Condition" => {
                let condition = self.template.get("Conditions")?.get(argument.as_str()?)?;
                self.decide(condition, level + 1)
            }
            "Fn::Not" => self.decide(argument.elements().first()?, level + 1).map(|holds| !holds),
            "Fn::And" | "Fn::Or" => {
                let all = name == "Fn::And";
                let sides: Option<Vec<bool>> =
                    argument.elements().iter().map(|side| self.decide(side, level + 1)).collect();
                sides.map(|sides| if all { !sides.contains(&false) } else { sides.contains(&true) })
            }
            "Fn::Equals" => {
                let [one, other] = argument.elements() else { return None };
                let known = self.unresolved.len();
                let (one, other) = (self.value(one, "", level + 1), self.value(other, "", level + 1));
                let text = |side: &Json| match side {
                    Json::Text(text) | Json::Number(text) if text != STACK_REGION => Some(text.clone()),
                    Json::Bool(value) => Some(value.to_string()),
                    _ => None,
                };
                (self.unresolved.len() == known).then(|| Some(text(&one)? == text(&other)?)).flatten()
            }
            _ => None,
        }
    }
}

fn list(text: &str, delimiter: &str) -> Json {
    Json::List(text.split(delimiter).map(|part| Json::text(part.trim())).collect())
}

/// The replacement for a value that only a deployment knows, by its place.
fn assumed(path: &str) -> (Json, &'static str) {
    match path.rsplit('.').next().unwrap_or(path) {
        "ReadCapacityUnits" | "WriteCapacityUnits" => (Json::number(1), "1 is assumed"),
        "TableName" => (Json::Null, "the table is called as its resource is"),
        "BillingMode" => (Json::Null, "the capacity given decides, on-demand without any"),
        "MinCapacity" | "MaxCapacity" | "TargetValue" => (Json::Null, "it does not scale here"),
        "Region" => (Json::Null, "this replica is left out"),
        _ => (Json::Null, "it is left out"),
    }
}
