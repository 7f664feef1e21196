//! YAML in the same tree as JSON, for templates in either format.
//!
//! This file expands the short forms of `CloudFormation`'s functions (`!Ref x` becomes `{"Ref": "x"}`), and
//! writes trees in block style.

use keywright_model::json::{Json, Members};
use keywright_model::yaml::{self, Dialect, Extent, Mark, Scalar, Tag};

use super::fault::ExchangeFault;

/// Reads one document; JSON is YAML too, but keeps its digits only through `Json::parse`.
pub fn parse(text: &str) -> Result<Json, ExchangeFault> {
    let root = yaml::read::<Template>(text)
        .map_err(|fault| ExchangeFault::new(format!("line {}", fault.at.line), fault.reason))?;
    root.ok_or_else(|| ExchangeFault::new("", "the document is empty"))
}

/// How templates are written.
enum Template {}

impl Dialect for Template {
    type Tree = Json;
    type Name = String;
    type Names = ();

    /// A template with more is taken for an attack.
    const VALUES_MAX: Option<usize> = Some(1_000_000);
    const SECOND_DOCUMENT: &'static str = "a second document: write one";

    fn scalar(mark: Mark, scalar: Scalar<'_>) -> Json {
        let is_text = !scalar.is_plain || mark.tag.is_some();
        let value = if is_text { Json::text(scalar.text) } else { plain(scalar.text) };
        wrap(mark.tag, value)
    }

    fn list(mark: Mark, elements: Vec<Json>) -> Json {
        wrap(mark.tag, Json::List(elements))
    }

    fn mapping(mark: Mark, members: Members) -> Json {
        wrap(mark.tag, Json::Object(members))
    }

    fn name(value: &Json, (): &mut ()) -> Result<String, String> {
        match value {
            Json::Text(text) | Json::Number(text) => Ok(text.clone()),
            Json::Bool(value) => Ok(value.to_string()),
            _ => Err("a member's name must be a text".to_owned()),
        }
    }

    fn extent(value: &Json) -> Extent {
        extent(value)
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

/// The value, or the function that its tag stands for with the value as its argument.
fn wrap(tag: Option<Tag>, value: Json) -> Json {
    let Some(Tag::Own(name)) = tag else { return value };
    let function = if matches!(name.as_str(), "Ref" | "Condition") { name } else { format!("Fn::{name}") };
    Json::Object(vec![(function, value)])
}

fn plain(text: &str) -> Json {
    match text {
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
