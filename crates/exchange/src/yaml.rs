//! YAML in the same tree as JSON, for templates in either format.
//!
//! `saphyr-parser` reads the text. This file builds the tree, expands the short forms of `CloudFormation`'s
//! functions (`!Ref x` becomes `{"Ref": "x"}`), and writes trees in block style.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::fault::ExchangeFault;
use keywright_model::copies::{Copies, Extent, check_levels};
use keywright_model::json::{Json, Members};
use keywright_model::not_yaml::Reading;

/// The most nodes in the text of one document. A template with more is taken for an attack.
const NODES_MAX: usize = 1_000_000;

/// Reads one document; JSON is YAML too, but keeps its digits only through `Json::parse`.
pub fn parse(text: &str) -> Result<Json, ExchangeFault> {
    let mut builder = Builder {
        anchors: BTreeMap::new(),
        open: Vec::new(),
        root: None,
        nodes: 0,
        copies: Copies::of(text),
    };
    let mut reading = Reading::of(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let (at, reason) = reading.fault(&error);
            ExchangeFault::new(format!("line {}", at.line), reason)
        })?;
        reading.see(&event, span);
        builder
            .take(event)
            .map_err(|reason| ExchangeFault::new(format!("line {}", span.start.line()), reason))?;
    }
    builder.root.ok_or_else(|| ExchangeFault::new("", "the document is empty"))
}

struct Builder {
    anchors: BTreeMap<usize, Json>,
    open: Vec<Open>,
    root: Option<Json>,
    nodes: usize,
    copies: Copies,
}

/// A collection whose end has not been read yet.
struct Open {
    function: Option<String>,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Json>),
    Object(Members, Option<String>),
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = wrap(function(tag.as_deref()), scalar(&text, style, tag.as_deref()));
                self.done(value, anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).ok_or("an alias to nothing")?;
                self.copies.take_below(self.open.len(), extent(value))?;
                let value = value.clone();
                self.done(value, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(anchor, tag.as_deref(), OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.open(anchor, tag.as_deref(), OpenKind::Object(Vec::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => Ok(()),
        }
    }

    fn open(&mut self, anchor: usize, tag: Option<&Tag>, kind: OpenKind) -> Result<(), String> {
        check_levels(self.open.len() + 1)?;
        self.open.push(Open { function: function(tag), anchor, kind });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Err("an end without a beginning".to_owned());
        };
        let value = match open.kind {
            OpenKind::List(elements) => Json::List(elements),
            OpenKind::Object(members, _) => Json::Object(members),
        };
        self.done(wrap(open.function, value), open.anchor)
    }

    fn done(&mut self, value: Json, anchor: usize) -> Result<(), String> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(format!("more than {NODES_MAX} values"));
        }
        if anchor > 0 {
            self.copies.take(extent(&value))?;
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None if self.root.is_some() => return Err("a second document: write one".to_owned()),
            None => self.root = Some(value),
            Some(OpenKind::List(elements)) => elements.push(value),
            Some(OpenKind::Object(members, key)) => match key.take() {
                Some(name) => members.push((name, value)),
                None => *key = Some(key_text(&value)?),
            },
        }
        Ok(())
    }
}

/// What a copy of the value takes.
pub(super) fn extent(value: &Json) -> Extent {
    match value {
        Json::List(elements) => Extent::of_all(elements.iter().map(extent)),
        Json::Object(members) => Extent::of_all(
            members.iter().flat_map(|(name, member)| [Extent::of_leaf(name.len()), extent(member)]),
        ),
        Json::Number(text) | Json::Text(text) => Extent::of_leaf(text.len()),
        Json::Null | Json::Bool(_) => Extent::of_leaf(0),
    }
}

fn key_text(value: &Json) -> Result<String, String> {
    match value {
        Json::Text(text) | Json::Number(text) => Ok(text.clone()),
        Json::Bool(value) => Ok(value.to_string()),
        _ => Err("a member's name must be a text".to_owned()),
    }
}

/// The function a tag such as `!Ref` stands for.
fn function(tag: Option<&Tag>) -> Option<String> {
    let tag = tag.filter(|tag| !tag.is_yaml_core_schema() && tag.handle == "!")?;
    match tag.suffix.as_str() {
        "" => None,
        "Ref" | "Condition" => Some(tag.suffix.clone()),
        name => Some(format!("Fn::{name}")),
    }
}

fn wrap(function: Option<String>, value: Json) -> Json {
    match function {
        Some(name) => Json::Object(vec![(name, value)]),
        None => value,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Json {
    let plain = matches!(style, ScalarStyle::Plain) && tag.is_none();
    match text {
        _ if !plain => Json::text(text),
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        _ if is_number(text) => Json::number(text),
        _ => Json::text(text),
    }
}

/// Whether plain text is a number as JSON writes it.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && matches!(Json::parse(text), Ok(Json::Number(_)))
}

/// Writes a tree in block style, with a newline at the end.
pub fn write(value: &Json) -> String {
    let mut out = String::new();
    write_block(&mut out, value, 0);
    out
}

fn write_block(out: &mut String, value: &Json, level: usize) {
    match value {
        Json::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                indent(out, level);
                out.push_str(&text(name));
                out.push(':');
                write_member(out, member, level);
            }
        }
        Json::List(elements) if !elements.is_empty() => {
            for element in elements {
                write_element(out, element, level);
            }
        }
        leaf => {
            indent(out, level);
            write_leaf(out, leaf);
            out.push('\n');
        }
    }
}

fn write_member(out: &mut String, member: &Json, level: usize) {
    match member {
        Json::Object(members) if !members.is_empty() => {
            out.push('\n');
            write_block(out, member, level + 1);
        }
        Json::List(elements) if !elements.is_empty() => {
            out.push('\n');
            write_block(out, member, level + 1);
        }
        leaf => {
            out.push(' ');
            write_leaf(out, leaf);
            out.push('\n');
        }
    }
}

/// `- ` and the element, whose first line follows the dash.
fn write_element(out: &mut String, element: &Json, level: usize) {
    let mut block = String::new();
    write_block(&mut block, element, level + 1);
    indent(out, level);
    out.push_str("- ");
    out.push_str(block.trim_start());
}

fn write_leaf(out: &mut String, leaf: &Json) {
    match leaf {
        Json::Text(value) => out.push_str(&text(value)),
        other => out.push_str(&other.compact()),
    }
}

/// Text that reads back as the same text: plain if safe, otherwise in double quotes as in JSON.
fn text(value: &str) -> String {
    let safe = value.starts_with(|first: char| first.is_ascii_alphabetic())
        && value.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./:".contains(letter))
        && !value.ends_with(':')
        && !matches!(
            value.to_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if safe { value.to_owned() } else { Json::text(value).compact() }
}

fn indent(out: &mut String, level: usize) {
    out.extend(std::iter::repeat_n("  ", level));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_functions_have_their_long_form() {
        let read =
            parse("a: !Ref Name\nb: !Sub \"${x}-t\"\nc: !If [X, 1, !Ref AWS::NoValue]\n").expect("YAML");
        assert_eq!(
            read.compact(),
            r#"{"a":{"Ref":"Name"},"b":{"Fn::Sub":"${x}-t"},"c":{"Fn::If":["X",1,{"Ref":"AWS::NoValue"}]}}"#
        );
    }

    #[test]
    fn written_yaml_reads_back() {
        let text = r##"{"a":[{"x":"#","y":[[1,2],[]]},"no","1","a: b"],"b":{},"c":null,"d::e":true,"f":"2010-09-09"}"##;
        let tree = Json::parse(text).expect("JSON");
        let written = write(&tree);
        assert_eq!(parse(&written).expect("YAML"), tree, "{written}");
    }

    #[test]
    fn aliases_cannot_grow_without_bound() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let row = vec![format!("*a{}", level - 1); 10].join(", ");
            text = format!("{text}a{level}: &a{level} [{row}]\n");
        }
        assert!(parse(&text).is_err());
        let long = "x".repeat(500_000);
        let many = parse(&format!("- &a {long}\n{}", "- *a\n".repeat(20))).expect_err("ten megabytes");
        assert!(many.text.contains("repeat more than"), "{many}");
        assert!(parse(&format!("- &a {long}\n{}", "- *a\n".repeat(5))).is_ok());
    }
}
