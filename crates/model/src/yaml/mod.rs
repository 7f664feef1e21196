//! YAML documents as trees: the one reader for model files and for other tools' templates.
//!
//! `saphyr-parser` reads the text. This module follows its events, resolves anchors and aliases within their
//! bounds (`copies`), and says where a text is not YAML (`faults`). What the tree is, and what names, numbers
//! and tags mean in it, a [`Dialect`] says.

mod copies;
mod faults;

pub use copies::Extent;

use std::collections::BTreeMap;
use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle};

use copies::{Copies, check_levels};
use faults::{Reading, place};

/// A position in a text, counted from one; zero if the thing did not come from a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// From one.
    pub line: usize,
    /// From one, in characters.
    pub column: usize,
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRead {
    /// The place in the text that has to change.
    pub at: At,
    /// A sentence without its place.
    pub reason: String,
}

/// What stands before a value in its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Where the value begins.
    pub at: At,
    /// Its tag, if it has one.
    pub tag: Option<Tag>,
}

/// The tag of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A name of the document's own kind: `Ref` of `!Ref`.
    Own(String),
    /// Any other, such as `!!str`.
    Other,
}

/// A scalar as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// Without its quotation marks.
    pub text: &'a str,
    /// Whether it is neither quoted nor a block, so that it can be a number.
    pub is_plain: bool,
}

/// A kind of documents: the tree that they become.
pub trait Dialect {
    /// A value.
    type Tree: Clone;
    /// The name of a member.
    type Name;
    /// What is known of a mapping's names while it is read.
    type Names: Default;

    /// The most values of one text, names included; none if nothing but the size of the text bounds them.
    const VALUES_MAX: Option<usize>;
    /// What to say of a text with two documents.
    const SECOND_DOCUMENT: &'static str;

    /// A text, a number, a boolean or nothing.
    fn scalar(mark: Mark, scalar: Scalar<'_>) -> Self::Tree;

    /// A sequence.
    fn list(mark: Mark, elements: Vec<Self::Tree>) -> Self::Tree;

    /// A mapping, its members in the order of the text.
    fn mapping(mark: Mark, members: Vec<(Self::Name, Self::Tree)>) -> Self::Tree;

    /// The name that a value is in a mapping; an error says why it cannot be one.
    fn name(value: &Self::Tree, earlier: &mut Self::Names) -> Result<Self::Name, String>;

    /// What a copy of a value takes.
    fn extent(value: &Self::Tree) -> Extent;
}

/// Reads one document; `None` if the text has none.
pub fn read<D: Dialect>(text: &str) -> Result<Option<D::Tree>, NotRead> {
    let mut builder: Builder<D> = Builder {
        anchors: BTreeMap::new(),
        open: Vec::new(),
        root: None,
        values: 0,
        copies: Copies::of(text),
    };
    let mut reading = Reading::of(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let (at, reason) = reading.fault(&error);
            NotRead { at, reason }
        })?;
        let at = place(&span.start);
        reading.see(&event, span);
        builder.take(event, at).map_err(|reason| NotRead { at, reason })?;
    }
    Ok(builder.root)
}

struct Builder<D: Dialect> {
    anchors: BTreeMap<usize, D::Tree>,
    open: Vec<Open<D>>,
    root: Option<D::Tree>,
    values: usize,
    copies: Copies,
}

/// A collection whose end has not been read yet.
struct Open<D: Dialect> {
    anchor: usize,
    mark: Mark,
    kind: OpenKind<D>,
}

enum OpenKind<D: Dialect> {
    List(Vec<D::Tree>),
    Mapping(OpenMapping<D>),
}

struct OpenMapping<D: Dialect> {
    members: Vec<(D::Name, D::Tree)>,
    names: D::Names,
    /// The name whose value comes next.
    name: Option<D::Name>,
}

impl<D: Dialect> Builder<D> {
    fn take(&mut self, event: Event<'_>, at: At) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar { text: &text, is_plain: style == ScalarStyle::Plain };
                self.done(D::scalar(Mark { at, tag: tag.as_deref().map(own_tag) }, scalar), anchor)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).ok_or("an alias to nothing")?;
                self.copies.take_below(self.open.len(), D::extent(value))?;
                let value = value.clone();
                self.done(value, 0)
            }
            Event::SequenceStart(anchor, tag) => {
                let mark = Mark { at, tag: tag.as_deref().map(own_tag) };
                self.begin(anchor, mark, OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let mark = Mark { at, tag: tag.as_deref().map(own_tag) };
                let empty = OpenMapping { members: Vec::new(), names: D::Names::default(), name: None };
                self.begin(anchor, mark, OpenKind::Mapping(empty))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, mark: Mark, kind: OpenKind<D>) -> Result<(), String> {
        check_levels(self.open.len() + 1)?;
        self.open.push(Open { anchor, mark, kind });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(open) = self.open.pop() else {
            return Err("an end without a beginning".to_owned());
        };
        let value = match open.kind {
            OpenKind::List(elements) => D::list(open.mark, elements),
            OpenKind::Mapping(mapping) => D::mapping(open.mark, mapping.members),
        };
        self.done(value, open.anchor)
    }

    fn done(&mut self, value: D::Tree, anchor: usize) -> Result<(), String> {
        self.values += 1;
        if let Some(max) = D::VALUES_MAX
            && self.values > max
        {
            return Err(format!("more than {max} values"));
        }
        if anchor > 0 {
            self.copies.take(D::extent(&value))?;
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None if self.root.is_some() => return Err(D::SECOND_DOCUMENT.to_owned()),
            None => self.root = Some(value),
            Some(OpenKind::List(elements)) => elements.push(value),
            Some(OpenKind::Mapping(mapping)) => match mapping.name.take() {
                Some(name) => mapping.members.push((name, value)),
                None => mapping.name = Some(D::name(&value, &mut mapping.names)?),
            },
        }
        Ok(())
    }
}

fn own_tag(tag: &saphyr_parser::Tag) -> Tag {
    if tag.is_yaml_core_schema() || tag.handle != "!" || tag.suffix.is_empty() {
        return Tag::Other;
    }
    Tag::Own(tag.suffix.clone())
}
