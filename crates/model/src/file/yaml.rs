//! YAML as a tree whose nodes have positions.
//!
//! It knows nothing of models. JSON is YAML, so it is read as well.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::fault::{At, Fault};
use crate::json::Json;
use crate::yaml::{self, Dialect, Extent, Mark, Scalar};

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins; zero if it did not come from a file.
    pub at: At,
    /// What it is.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Nothing: an empty value, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The digits as written.
    Number(String),
    /// A text, quoted or not.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// Keys are unique and in the file's order.
    Map(Vec<(Node, Node)>),
}

/// Positions do not count in comparisons.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Node {}

impl From<NodeKind> for Node {
    fn from(kind: NodeKind) -> Self {
        Self { at: At::default(), kind }
    }
}

impl Node {
    /// A node that did not come from a file.
    pub fn text(text: impl Into<String>) -> Self {
        NodeKind::Text(text.into()).into()
    }

    /// A number that did not come from a file.
    pub fn number(number: impl std::fmt::Display) -> Self {
        NodeKind::Number(number.to_string()).into()
    }

    /// A list that did not come from a file.
    pub fn list(elements: Vec<Self>) -> Self {
        NodeKind::List(elements).into()
    }

    /// A mapping that did not come from a file; its names must differ.
    pub fn map<Name: Into<String>>(members: impl IntoIterator<Item = (Name, Self)>) -> Self {
        NodeKind::Map(members.into_iter().map(|(name, node)| (Self::text(name), node)).collect()).into()
    }

    /// What the node is called in messages.
    pub fn description(&self) -> &'static str {
        match self.kind {
            NodeKind::Null => "nothing",
            NodeKind::Bool(_) => "true or false",
            NodeKind::Number(_) => "a number",
            NodeKind::Text(_) => "a text",
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a mapping",
        }
    }

    /// A scalar as text; numbers and booleans as written.
    pub fn scalar(&self) -> Option<String> {
        match &self.kind {
            NodeKind::Text(text) | NodeKind::Number(text) => Some(text.clone()),
            NodeKind::Bool(value) => Some(value.to_string()),
            NodeKind::Null | NodeKind::List(_) | NodeKind::Map(_) => None,
        }
    }

    /// The members of a mapping with their names; empty for any other value.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Self)> {
        let members = match &self.kind {
            NodeKind::Map(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().filter_map(|(name, value)| match &name.kind {
            NodeKind::Text(text) | NodeKind::Number(text) => Some((text.as_str(), value)),
            _ => None,
        })
    }

    /// The value of a mapping's member; `None` for any other kind of node.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.members().find(|(member, _)| *member == name).map(|(_, value)| value)
    }

    /// The elements of a list; a single value is a list of one.
    pub fn elements(&self) -> &[Self] {
        match &self.kind {
            NodeKind::List(elements) => elements,
            NodeKind::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }
}

/// Reads one document; an empty file is a fault.
pub(super) fn read(text: &str) -> Result<Node, Fault> {
    let root = read_document(text)?;
    root.ok_or_else(|| Fault::new(At { line: 1, column: 1 }, "the file is empty: begin with `format: 1`"))
}

/// Reads one document of any kind; an empty one is an empty mapping.
pub fn read_yaml(text: &str) -> Result<Node, Fault> {
    Ok(read_document(text)?.unwrap_or(NodeKind::Map(Vec::new()).into()))
}

fn read_document(text: &str) -> Result<Option<Node>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    yaml::read::<ModelFile>(text).map_err(|fault| Fault::new(fault.at, fault.reason))
}

/// How model files and files of items are written.
enum ModelFile {}

impl Dialect for ModelFile {
    type Tree = Node;
    type Name = Node;
    /// Where each name is.
    type Names = BTreeMap<String, At>;

    const VALUES_MAX: Option<usize> = None;
    const SECOND_DOCUMENT: &'static str = "a second document: write one model a file";

    fn scalar(mark: Mark, scalar: Scalar<'_>) -> Node {
        Node { at: mark.at, kind: scalar_kind(scalar) }
    }

    fn list(mark: Mark, elements: Vec<Node>) -> Node {
        Node { at: mark.at, kind: NodeKind::List(elements) }
    }

    fn mapping(mark: Mark, members: Vec<(Node, Node)>) -> Node {
        Node { at: mark.at, kind: NodeKind::Map(members) }
    }

    fn name(node: &Node, earlier: &mut Self::Names) -> Result<Node, String> {
        let Some(text) = node.scalar() else {
            return Err("a field's name must be a text".to_owned());
        };
        match earlier.entry(text.clone()) {
            Entry::Occupied(first) => {
                Err(format!("`{text}` appears a second time; first at {}", first.get()))
            }
            Entry::Vacant(place) => {
                place.insert(node.at);
                Ok(Node { at: node.at, kind: NodeKind::Text(text) })
            }
        }
    }

    fn extent(node: &Node) -> Extent {
        match &node.kind {
            NodeKind::List(elements) => Extent::of_all(elements.iter().map(Self::extent)),
            NodeKind::Map(members) => Extent::of_all(
                members.iter().flat_map(|(name, value)| [Self::extent(name), Self::extent(value)]),
            ),
            NodeKind::Number(text) | NodeKind::Text(text) => Extent::of_leaf(text.len()),
            NodeKind::Null | NodeKind::Bool(_) => Extent::of_leaf(0),
        }
    }
}

fn scalar_kind(scalar: Scalar<'_>) -> NodeKind {
    match scalar.text {
        text if !scalar.is_plain => NodeKind::Text(text.to_owned()),
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        text if is_number(text) => NodeKind::Number(text.to_owned()),
        text => NodeKind::Text(text.to_owned()),
    }
}

/// Whether a plain scalar is a decimal number: digits with an optional sign, point and exponent.
pub(super) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))
}

/// Converts a JSON tree; of repeated members the last one counts.
impl From<&Json> for Node {
    fn from(json: &Json) -> Self {
        let kind = match json {
            Json::Null => NodeKind::Null,
            Json::Bool(value) => NodeKind::Bool(*value),
            Json::Number(digits) => NodeKind::Number(digits.clone()),
            Json::Text(text) => NodeKind::Text(text.clone()),
            Json::List(elements) => NodeKind::List(elements.iter().map(Self::from).collect()),
            Json::Object(members) => {
                let mut kept: Vec<(Self, Self)> = Vec::new();
                let mut places: BTreeMap<&str, usize> = BTreeMap::new();
                for (name, value) in members {
                    if let Some((_, known)) = places.get(name.as_str()).and_then(|place| kept.get_mut(*place))
                    {
                        *known = Self::from(value);
                    } else {
                        places.insert(name, kept.len());
                        kept.push((Self::text(name), Self::from(value)));
                    }
                }
                NodeKind::Map(kept)
            }
        };
        kind.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_positions() {
        let node = read("a:\n  - b: {c: 1}\n").expect("YAML");
        let inner = node.get("a").and_then(|list| list.elements()[0].get("b")).expect("there");
        assert_eq!(inner.at, At { line: 2, column: 8 });
        assert_eq!(inner.get("c").expect("there").kind, NodeKind::Number("1".to_owned()));
    }

    #[test]
    fn a_repeated_field_names_the_first() {
        let fault = read("a: 1\nb: 2\na: 3\n").expect_err("repeated");
        assert_eq!((fault.at.line, fault.text.as_str()), (3, "`a` appears a second time; first at 1:1"));
    }

    #[test]
    fn anchors_and_aliases_repeat_a_few_megabytes() {
        let long = "x".repeat(500_000);
        let levels: Vec<String> = (1..200).map(|level| format!("- &a{level} [*a{}]\n", level - 1)).collect();
        let levels = levels.concat();
        for (text, part) in [
            (format!("- &a {long}\n{}", "- *a\n".repeat(20)), "repeat more than"),
            (format!("{}{long}{}", "&a [".repeat(20), "]".repeat(20)), "repeat more than"),
            (format!("- &a0 [x]\n{levels}"), "levels"),
        ] {
            let fault = read_yaml(&text).expect_err("more than its bound");
            assert!(fault.text.contains(part), "{}", fault.text);
        }
        let few = format!("- &a {long}\n{}", "- *a\n".repeat(5));
        assert_eq!(read_yaml(&few).expect("YAML").elements().len(), 6);
    }

    #[test]
    fn what_is_not_closed_is_reported_where_it_opens() {
        for (text, (line, column), mark) in [
            ("a: 1\nb:\n  - x\n  - {c: 1, d: [2]\ne: 3\n", (4, 5), "`{`"),
            ("a: 1\nb:\n  - {c: 1}\n  - [1, {d: 2}\n  - [3]\n", (4, 5), "`[`"),
            ("a: {b: {c: 1}\n", (1, 4), "`{`"),
            ("a: [1, {b: 2]\n", (1, 8), "`{`"),
            ("a: 1\n# don't\nb: it's {x}\nc: {d: \"}\",\n", (4, 4), "`{`"),
            ("a: \"x\nb: 1\n", (1, 4), "`\"`"),
            ("a: \"x\nb: \"y\"\nc: 1\n", (1, 4), "`\"`"),
            ("a: 'it''s\nb: 'y'\n", (1, 4), "`'`"),
            ("a: {b: \"x, c: 1}\nd: {e: \"y\"}\n", (1, 8), "`\"`"),
            ("ü: 1\nb: [\"ä\", {c: 1]\n", (2, 10), "`{`"),
        ] {
            let fault = read_yaml(text).expect_err("not closed");
            assert_eq!(fault.at, At { line, column }, "{text}: {}", fault.text);
            assert!(fault.text.contains(mark) && fault.text.contains("not closed"), "{text}: {}", fault.text);
        }
    }

    #[test]
    fn other_errors_are_reported_where_they_stand() {
        for (text, (line, column)) in [
            ("a: {b: 1,\n  c: \"x\" d,\n  e: 2}\n", (2, 10)),
            ("a: \"x\" y\n", (1, 8)),
            ("a: 1\n b: 2\n", (2, 3)),
        ] {
            let fault = read_yaml(text).expect_err("not YAML");
            assert_eq!(fault.at, At { line, column }, "{text}: {}", fault.text);
            assert!(!fault.text.contains("not closed,"), "{text}: {}", fault.text);
        }
    }

    #[test]
    fn dates_and_versions_are_texts() {
        assert!(is_number("-1.5e3") && is_number("7"));
        assert!(!is_number("2023-04-25") && !is_number("1.2.3") && !is_number(".5") && !is_number("0x1"));
    }
}
