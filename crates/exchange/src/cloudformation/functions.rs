//! Evaluates the functions of a template from the template and the values given for its parameters: these and
//! the defaults of the others, mappings, and conditions on both.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::limits::TABLE_NAME_BYTES_MIN;

use super::{Parameters, STACK_REGION};
use crate::create_table::member;
use crate::supported::is_function;
use crate::yaml::extent;
use keywright_model::json::Json;

/// The most levels of nested functions that are evaluated.
const FUNCTION_LEVELS_MAX: usize = 40;

/// Bytes of one evaluated text. No name and no value in a table's definition is larger.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Memory for the results of all functions of a template: a text can be in many of them.
const RESULTS_BYTES_MAX: usize = 16 << 20;

/// Values and conditions that are evaluated; a template of the service has at most a megabyte of text.
const STEPS_MAX: usize = 1_000_000;

const _: () = assert!(TEXT_BYTES_MAX <= RESULTS_BYTES_MAX, "the results hold the longest text");

/// Unresolved values of which there are notes, and bytes of one: nobody reads more.
const NOTES_MAX: usize = 1_000;
const NOTE_BYTES_MAX: usize = 4 << 10;

/// Bytes of a name in a path. Logical ids have at most 255 letters.
pub(super) const ID_BYTES_MAX: usize = 255;

/// A value that only a deployment knows, and the assumption made instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnresolvedValue {
    pub(super) path: String,
    pub(super) text: String,
    /// The parameter or function.
    what: String,
}

pub(super) struct Functions<'a> {
    template: &'a Json,
    pub(super) unresolved: Vec<UnresolvedValue>,
    /// The parameters whose defaults were used, with the defaults.
    pub(super) defaults: BTreeMap<String, String>,
    assumed_conditions: BTreeSet<String>,
    parameters: BTreeMap<&'a str, &'a Json>,
    /// Values given for parameters.
    given: &'a Parameters,
    conditions: BTreeMap<&'a str, &'a Json>,
    /// The conditions decided so far; one that is being decided counts as undecided.
    decided: BTreeMap<&'a str, Option<bool>>,
    /// The number of values that only a deployment knows, those without a note included.
    unknown: usize,
    steps_left: usize,
    bytes_left: usize,
    /// Why evaluation ended before its end.
    pub(super) exceeded: Option<String>,
}

impl<'a> Functions<'a> {
    pub(super) fn new(template: &'a Json, given: &'a Parameters) -> Self {
        let section = |name: &str| {
            let members = template.get(name).map_or(&[][..], Json::members);
            members.iter().map(|(name, value)| (name.as_str(), value)).collect()
        };
        Self {
            template,
            unresolved: Vec::new(),
            defaults: BTreeMap::new(),
            assumed_conditions: BTreeSet::new(),
            parameters: section("Parameters"),
            given,
            conditions: section("Conditions"),
            decided: BTreeMap::new(),
            unknown: 0,
            steps_left: STEPS_MAX,
            bytes_left: RESULTS_BYTES_MAX,
            exceeded: None,
        }
    }

    /// Takes steps of evaluation; false if there are no more.
    fn takes_steps(&mut self, steps: usize) -> bool {
        match self.steps_left.checked_sub(steps) {
            Some(left) => self.steps_left = left,
            None => self.exceed(format!("more than {STEPS_MAX} values are to be evaluated")),
        }
        assert!(self.steps_left <= STEPS_MAX, "steps are only taken");
        self.exceeded.is_none()
    }

    fn exceed(&mut self, text: String) {
        self.exceeded.get_or_insert(text);
    }

    /// Whether a text of so many bytes may be made.
    fn holds_text(&mut self, bytes: usize) -> bool {
        if bytes > TEXT_BYTES_MAX {
            self.exceed(format!("a function makes a text of more than {TEXT_BYTES_MAX} bytes"));
        }
        self.exceeded.is_none()
    }

    /// The result of a function, counted; nothing beyond the bound.
    fn counted(&mut self, result: Cow<'_, Json>) -> Json {
        match self.bytes_left.checked_sub(extent(&result).bytes) {
            Some(left) => self.bytes_left = left,
            None => self.exceed(format!("the functions make more than {RESULTS_BYTES_MAX} bytes")),
        }
        assert!(self.bytes_left <= RESULTS_BYTES_MAX, "bytes are only taken");
        if self.exceeded.is_some() { Json::Null } else { result.into_owned() }
    }

    /// The value with its functions evaluated. Parts that only a deployment
    /// knows are noted and left out, or replaced by [`assumed`].
    pub(super) fn resolve(&mut self, json: &Json, path: &str) -> Json {
        self.value(json, path, 0)
    }

    fn value(&mut self, json: &Json, path: &str, level: usize) -> Json {
        if !self.takes_steps(1) {
            return Json::Null;
        }
        if level > FUNCTION_LEVELS_MAX {
            return self.unknown("a function of many levels", "", path);
        }
        match json {
            Json::Object(members) => {
                if let ([(name, argument)], true) = (members.as_slice(), is_function(json)) {
                    return self.function(name, argument, path, level + 1);
                }
                let resolved = members
                    .iter()
                    .map(|(name, value)| {
                        (name.clone(), self.value(value, &member(path, cut(name, ID_BYTES_MAX)), level + 1))
                    })
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
                return self.join(parts.get(1).unwrap_or(&Json::Null), delimiter, path, level);
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
                match text.as_ref().and_then(Json::as_str) {
                    Some(text) if self.holds_text(text.len()) => {
                        return self.counted(Cow::Owned(list(text, delimiter)));
                    }
                    _ => None,
                }
            }
            ("Fn::FindInMap", Json::List(parts)) => {
                let keys: Vec<Json> = parts.iter().map(|part| self.value(part, path, level)).collect();
                let keys: Vec<&str> = keys.iter().filter_map(Json::as_str).collect();
                self.mapped(&keys)
            }
            _ => None,
        };
        known.unwrap_or_else(|| {
            let of = argument.as_str().map(|text| format!(" {text}")).unwrap_or_default();
            self.unknown(&format!("{}{of}", name.replace("Fn::", "!")), &of, path)
        })
    }

    /// Texts with a delimiter between them. What only a deployment knows is left out.
    fn join(&mut self, parts: &Json, delimiter: &str, path: &str, level: usize) -> Json {
        let known = self.unresolved.len();
        let values: Vec<Json> = match parts {
            Json::List(elements) => elements.iter().map(|element| self.value(element, path, level)).collect(),
            list => self.value(list, path, level).elements().to_vec(),
        };
        let texts: Vec<&str> = values.iter().filter_map(Json::as_str).collect();
        let bytes = texts.iter().map(|text| text.len() + delimiter.len()).sum();
        if !self.holds_text(bytes) {
            return Json::Null;
        }
        let out = texts.join(delimiter);
        if !values.contains(&Json::Null) || out.is_empty() {
            return self.counted(Cow::Owned(Json::Text(out)));
        }
        let left_out = self.unresolved.split_off(known.min(self.unresolved.len()));
        let names: Vec<String> = left_out.into_iter().map(|value| value.what).collect();
        self.without(&names, &out, path)
    }

    /// The value of a mapping. Each level is searched from its beginning.
    fn mapped(&mut self, keys: &[&str]) -> Option<Json> {
        let mut found = self.template.get("Mappings")?;
        for key in keys {
            if !self.takes_steps(found.members().len()) {
                return None;
            }
            found = found.get(key)?;
        }
        Some(self.counted(Cow::Borrowed(found)))
    }

    fn reference(&mut self, name: &str, path: &str) -> Json {
        match name {
            "AWS::NoValue" => Json::Null,
            STACK_REGION => Json::text(self.region()),
            _ => {
                let value = self.parameter(name);
                value.unwrap_or_else(|| self.unknown(&format!("!Ref {name}"), name, path))
            }
        }
    }

    /// The region of the stack, if it is given; otherwise the name of its parameter.
    pub(super) fn region(&self) -> &'a str {
        self.given.get(STACK_REGION).map_or(STACK_REGION, String::as_str)
    }

    /// The value of a parameter: the given one, otherwise its default. For a parameter in Systems Manager the
    /// default is only a name, not the value.
    fn parameter(&mut self, name: &str) -> Option<Json> {
        let parameter = self.parameters.get(name).copied();
        let kind = parameter.and_then(|parameter| parameter.str_at("Type")).unwrap_or_default();
        let several = kind.contains("CommaDelimitedList") || kind.contains("List<");
        if let Some(given) = self.given.get(name) {
            if !self.holds_text(given.len()) {
                return Some(Json::Null);
            }
            let value = if several { list(given, ",") } else { Json::text(given) };
            return Some(self.counted(Cow::Owned(value)));
        }
        if kind.starts_with("AWS::SSM::") {
            return None;
        }
        let parameter = parameter?;
        let default = parameter.get("Default")?;
        if !self.defaults.contains_key(name) {
            let text = match default {
                Json::Text(text) | Json::Number(text) => text.clone(),
                other => other.compact(),
            };
            if !self.holds_text(text.len()) {
                return Some(Json::Null);
            }
            self.defaults.insert(name.to_owned(), text);
        }
        let several = several.then(|| self.defaults.get(name).map(|text| list(text, ","))).flatten();
        Some(self.counted(several.map_or(Cow::Borrowed(default), Cow::Owned)))
    }

    /// Replaces `${x}` by values and parameters. What only a deployment knows is left out.
    fn substitute(&mut self, text: &str, values: &[(String, Json)], path: &str) -> Json {
        let mut own: BTreeMap<&str, &Json> = BTreeMap::new();
        for (name, value) in values {
            own.entry(name).or_insert(value);
        }
        let mut out = String::new();
        let mut left_out: Vec<String> = Vec::new();
        let mut rest = text;
        if !self.holds_text(text.len()) {
            return Json::Null;
        }
        while let Some((before, after)) = rest.split_once("${") {
            if !self.holds_text(out.len()) {
                return Json::Null;
            }
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                out.push_str(after);
                rest = "";
                break;
            };
            rest = tail;
            let value = if own.contains_key(name) { None } else { self.parameter(name) };
            match own.get(name).copied().or(value.as_ref()) {
                Some(Json::Text(value) | Json::Number(value)) if value.len() <= TEXT_BYTES_MAX => {
                    out.push_str(value);
                }
                // `${!x}` stands for the literal text `${x}`.
                _ if name.starts_with('!') => out.push_str(name),
                _ => {
                    left_out.push(format!("${{{name}}}"));
                    if is_name(path) {
                        out.push_str(&word(name));
                    }
                }
            }
        }
        out.push_str(rest);
        if !self.holds_text(out.len()) {
            return Json::Null;
        }
        if left_out.is_empty() {
            return self.counted(Cow::Owned(Json::Text(out)));
        }
        self.without(&left_out, &out, path)
    }

    /// A text without the parts that only a deployment knows, and without the signs that join these.
    fn without(&mut self, parts: &[String], text: &str, path: &str) -> Json {
        let names = parts.join(", ");
        let text = text.trim_matches(['-', '_', '.']);
        if text.is_empty() {
            return self.unknown(&names, &names, path);
        }
        if !parts.is_empty() {
            self.note(path, &names, &format!("{names} is known only on deployment; `{text}` is used"));
        }
        self.counted(Cow::Owned(Json::text(text)))
    }

    /// What stands for a value that only a deployment knows. `name` is that of the parameter, if it is one.
    fn unknown(&mut self, what: &str, name: &str, path: &str) -> Json {
        let (value, text) = assumed(path, name);
        self.note(path, what, &format!("{what} is known only on deployment; {text}"));
        value
    }

    fn note(&mut self, path: &str, what: &str, text: &str) {
        self.unknown += 1;
        if self.unresolved.len() < NOTES_MAX {
            let what = cut(what, NOTE_BYTES_MAX).to_owned();
            let known = referred(&what).filter(|name| self.parameters.contains_key(name));
            let how = known.map(|name| format!("; `--parameter {name}=VALUE` gives it"));
            let text = cut(text, NOTE_BYTES_MAX).to_owned() + &how.collect::<String>();
            self.unresolved.push(UnresolvedValue { path: path.to_owned(), text, what });
        }
        assert!(self.unresolved.len() <= self.unknown, "each note is on a value that is not known");
    }

    /// Whether a condition of the template holds with the parameters' values.
    /// One that only a deployment can decide is assumed to hold.
    pub(super) fn holds(&mut self, condition: &str, path: &str) -> bool {
        let known = self.unresolved.len();
        let decided = self.decide(&Json::object([("Condition", Json::text(condition))]), 0);
        self.unresolved.truncate(known);
        if decided.is_none() && self.assumed_conditions.insert(condition.to_owned()) {
            let text = format!("the condition {condition} is decided on deployment; it is assumed to hold");
            self.note(path, "", &text);
        }
        decided.unwrap_or(true)
    }

    fn decide(&mut self, json: &Json, level: usize) -> Option<bool> {
        let [(name, argument)] = json.members() else { return None };
        if level > FUNCTION_LEVELS_MAX || !self.takes_steps(1) {
            return None;
        }
        match name.as_str() {
            "Condition" => {
                let (name, condition) = self.conditions.get_key_value(argument.as_str()?)?;
                let (name, condition) = (*name, *condition);
                if let Some(decided) = self.decided.get(name) {
                    return *decided;
                }
                self.decided.insert(name, None);
                let decided = self.decide(condition, level + 1);
                self.decided.insert(name, decided);
                decided
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
                let known = self.unknown;
                let (one, other) = (self.value(one, "", level + 1), self.value(other, "", level + 1));
                let text = |side: &Json| match side {
                    Json::Text(text) | Json::Number(text) if text != STACK_REGION => Some(text.clone()),
                    Json::Bool(value) => Some(value.to_string()),
                    _ => None,
                };
                (self.unknown == known).then(|| Some(text(&one)? == text(&other)?)).flatten()
            }
            _ => None,
        }
    }
}

/// The beginning of a text, of at most so many bytes.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

fn list(text: &str, delimiter: &str) -> Json {
    Json::List(text.split(delimiter).map(|part| Json::text(part.trim())).collect())
}

/// The names that a reference or a text with places refers to, each once.
fn referred(what: &str) -> impl Iterator<Item = &str> {
    let refers = what.starts_with("!Ref ") || what.contains("${");
    let words = what.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|_| refers);
    words.collect::<BTreeSet<_>>().into_iter()
}

/// Whether the value at a path is the name of an attribute or an index: a table needs one, so the name of the
/// parameter that gives it stands for it.
fn is_name(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    matches!(last, "AttributeName" | "IndexName") || path.ends_with("PrimaryKey.Name") || {
        last.split('[').next() == Some("NonKeyAttributes") && last.ends_with(']')
    }
}

/// The letters, digits, hyphens and underscores of a text.
fn word(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric() || "_-".contains(*letter)).collect()
}

/// The replacement for a value that only a deployment knows, by its place.
fn assumed(path: &str, name: &str) -> (Json, String) {
    let text = |text: &str| (Json::text(text), format!("`{text}` is assumed"));
    let nothing = |text: &str| (Json::Null, text.to_owned());
    let last = path.rsplit('.').next().unwrap_or(path);
    match last {
        _ if is_name(path) => match word(name) {
            name if name.is_empty() => text("unnamed"),
            name if last == "IndexName" && name.len() < TABLE_NAME_BYTES_MIN => {
                text(&format!("{name}-index"))
            }
            name => text(&name),
        },
        "AttributeType" => text("S"),
        "KeyType" if path.contains("KeySchema[0]") => text("HASH"),
        "KeyType" => text("RANGE"),
        "ReadCapacityUnits" | "WriteCapacityUnits" => (Json::number(1), "1 is assumed".to_owned()),
        "TableName" => nothing("the table has the name of its resource"),
        "BillingMode" => nothing("the capacity given decides, on-demand without any"),
        "MinCapacity" | "MaxCapacity" | "TargetValue" => nothing("it does not scale here"),
        "Region" => nothing("this replica is left out"),
        _ => nothing("it is left out"),
    }
}
