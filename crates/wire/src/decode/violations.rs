//! Walks a request's body along the shape of its operation and collects every violation of a constraint.
//!
//! Types have been checked before. Members are visited in the table's order, which is the service's. The
//! first ten violations are answered together. This file does not know what values mean.

use std::borrow::Cow;
use std::fmt::Write;

use keywright_semantics::error::Error;
use keywright_semantics::limits::VIOLATIONS_MAX;
use keywright_semantics::messages::shape as text;

use super::java_debug;
use super::validation_2026::{self, Validator};
use crate::json::{Node, member};
use crate::operation::Operation;
use crate::shapes::{Constraint, Input, Kind, Member, Presence, Shape};

/// What a new table says of its key.
const KEY_MEMBERS: [&str; 2] = ["AttributeDefinitions", "KeySchema"];

/// All violations of the body, as one error.
pub(super) fn check(operation: Operation, input: &Input, body: &Node<'_>) -> Result<(), Error> {
    let mut walk = Walk { operation, input, path: Path::default(), found: Vec::new() };
    if let (Kind::Structure { members, .. }, Node::Object(entries)) = (input.shape.kind, body) {
        let missing = |wanted: &&Member| {
            wanted.presence == Presence::RequiredFirst && member(entries, wanted.name).is_none()
        };
        if let Some(missing) = members.iter().find(missing) {
            return Err(Error::validation(text::parameter_required(missing.name)));
        }
        walk.structure(members, entries);
        // A replica of another account's table takes its key from that.
        if operation == Operation::CreateTable && member(entries, "GlobalTableSourceArn").is_some() {
            walk.found
                .retain(|one| !(one.kind == ViolationKind::Absent && KEY_MEMBERS.contains(&one.member)));
        }
    }
    let validator = Validator::of(operation, &walk.found, body);
    if let Some(fault) = validation_2026::conditional_operator(operation, validator, &walk.found, body) {
        return Err(Error::validation(fault));
    }
    let texts = validation_2026::reworded(operation, validator, walk.found);
    if texts.is_empty() { Ok(()) } else { Err(Error::validation(text::violations(&texts))) }
}

/// The constraint that a value violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViolationKind {
    /// A required member is absent.
    Absent,
    /// A text, list or map is shorter than allowed.
    TooShort,
    /// A text, list or map is longer than allowed.
    TooLong,
    /// An element of a list or a value of a map violates its bounds.
    Elements,
    /// A key of a map violates its bounds.
    Keys,
    /// A number is outside its range.
    Range,
    /// A text does not match its pattern.
    Pattern,
    /// A text is not a value of its enumeration.
    Enum,
}

impl ViolationKind {
    /// The constraint by which the shape table chooses the wording. Absence is always worded alike.
    const fn constraint(self) -> Option<Constraint> {
        match self {
            Self::Absent => None,
            Self::TooShort | Self::TooLong | Self::Elements => Some(Constraint::Length),
            Self::Keys => Some(Constraint::Keys),
            Self::Range => Some(Constraint::Range),
            Self::Pattern => Some(Constraint::Pattern),
            Self::Enum => Some(Constraint::Enum),
        }
    }
}

/// One violation.
pub(super) struct Violation {
    /// The member of the request that has the value or contains it.
    pub member: &'static str,
    pub kind: ViolationKind,
    pub text: String,
}

/// The place of a value. Messages spell it in one of two ways, depending on their wording.
#[derive(Default)]
struct Path<'w> {
    steps: Vec<Step<'w>>,
}

#[derive(Clone, Copy)]
enum Step<'w> {
    Member(&'static str),
    /// An element of a list, counted from 1.
    Element(usize),
    /// A value of a map.
    Entry(&'w str),
}

impl Path<'_> {
    /// `requestItems.tbl.member.1.member.putRequest.item`, or the same path with the members' own spelling.
    fn spelled(&self, lower_first: bool) -> String {
        let mut out = String::new();
        for step in &self.steps {
            if !out.is_empty() {
                out.push('.');
            }
            let _ = match step {
                Step::Member(name) if lower_first => write!(out, "{}", java_debug::LowerFirst(name)),
                Step::Member(name) => write!(out, "{name}"),
                Step::Element(number) => write!(out, "{number}.member"),
                Step::Entry(key) => write!(out, "{}.member", java_debug::cut(key)),
            };
        }
        out
    }
}

struct Walk<'w> {
    operation: Operation,
    input: &'w Input,
    path: Path<'w>,
    found: Vec<Violation>,
}

impl<'w> Walk<'w> {
    fn is_full(&self) -> bool {
        self.found.len() >= VIOLATIONS_MAX
    }

    fn structure(&mut self, members: &'static [Member], entries: &'w [(Cow<'_, str>, Node<'_>)]) {
        for wanted in members {
            if self.is_full() {
                return;
            }
            let value = member(entries, wanted.name);
            if value.is_none() && wanted.presence == Presence::Optional {
                continue;
            }
            self.path.steps.push(Step::Member(wanted.name));
            match value {
                Some(value) => self.value(wanted.shape, value),
                None => self.absent(),
            }
            self.path.steps.pop();
        }
    }

    fn value(&mut self, shape: &'static Shape, node: &'w Node<'_>) {
        match (shape.kind, node) {
            (Kind::Text, Node::Text(value)) => self.text(shape, node, value),
            (Kind::Choice(values), Node::Text(value)) if !values.contains(&value.as_ref()) => {
                self.add(ViolationKind::Enum, shape, node, &text::one_of(values));
            }
            (Kind::Integer | Kind::Long, Node::Integer(value)) => self.number(shape, node, *value),
            (Kind::List(element), Node::List(list)) => self.list(shape, element, node, list),
            (Kind::Map { key, value }, Node::Object(entries)) => self.map(shape, key, value, node, entries),
            (Kind::Structure { members, .. }, Node::Object(entries)) => self.structure(members, entries),
            _ => {}
        }
    }

    fn text(&mut self, shape: &'static Shape, node: &Node<'_>, value: &str) {
        if shape.arn_passes && value.starts_with("arn:") {
            return;
        }
        self.length(shape, node, text_length(value));
        if let Some(pattern) = shape.pattern.filter(|pattern| !pattern.matches(value)) {
            self.add(ViolationKind::Pattern, shape, node, &text::pattern(pattern.text()));
        }
    }

    fn number(&mut self, shape: &'static Shape, node: &Node<'_>, value: i64) {
        if let Some(min) = shape.min.filter(|min| value < *min) {
            self.add(ViolationKind::Range, shape, node, &text::value_at_least(min));
        }
        if let Some(max) = shape.max.filter(|max| value > *max) {
            self.add(ViolationKind::Range, shape, node, &text::value_at_most(max));
        }
    }

    fn length(&mut self, shape: &'static Shape, node: &Node<'_>, length: i64) {
        if let Some(min) = shape.min.filter(|min| length < *min) {
            self.add(ViolationKind::TooShort, shape, node, &text::length_at_least(min));
        }
        if let Some(max) = shape.max.filter(|max| length > *max) {
            self.add(ViolationKind::TooLong, shape, node, &text::length_at_most(max));
        }
    }

    fn list(
        &mut self,
        shape: &'static Shape,
        element: &'static Shape,
        node: &Node<'_>,
        list: &'w [Node<'_>],
    ) {
        self.length(shape, node, count(list.len()));
        if matches!(element.kind, Kind::Text) {
            if element.is_bounded() && list.iter().any(|inner| violates(element, inner)) {
                self.add(ViolationKind::Elements, shape, node, &text::elements(&constraints(element)));
            }
            return;
        }
        for (index, inner) in list.iter().enumerate() {
            if self.is_full() {
                return;
            }
            self.path.steps.push(Step::Element(index + 1));
            self.value(element, inner);
            self.path.steps.pop();
        }
    }

    fn map(
        &mut self,
        shape: &'static Shape,
        key: &'static Shape,
        value: &'static Shape,
        node: &Node<'_>,
        entries: &'w [(Cow<'_, str>, Node<'_>)],
    ) {
        self.length(shape, node, count(entries.len()));
        if key.is_bounded() && entries.iter().any(|(name, _)| text_violates(key, name)) {
            self.add(ViolationKind::Keys, shape, node, &text::map_keys(&constraints(key)));
        }
        let bounded = matches!(value.kind, Kind::List(_)) && value.is_bounded();
        if bounded && entries.iter().any(|(_, inner)| violates(value, inner)) {
            self.add(ViolationKind::Elements, shape, node, &text::map_values(&constraints(value)));
        }
        if matches!(value.kind, Kind::AttributeValue | Kind::Text) {
            return;
        }
        for (name, inner) in entries {
            if self.is_full() {
                return;
            }
            self.path.steps.push(Step::Entry(name));
            match (value.kind, inner) {
                // Violations of the list's own bounds have been reported for the map.
                (Kind::List(element), Node::List(list)) if bounded => self.elements(element, list),
                _ => self.value(value, inner),
            }
            self.path.steps.pop();
        }
    }

    fn elements(&mut self, element: &'static Shape, list: &'w [Node<'_>]) {
        for (index, inner) in list.iter().enumerate() {
            self.path.steps.push(Step::Element(index + 1));
            self.value(element, inner);
            self.path.steps.pop();
        }
    }

    fn absent(&mut self) {
        if !self.is_full() {
            let path = self.path.spelled(true);
            self.push(ViolationKind::Absent, text::null_violation(&path));
        }
    }

    fn add(&mut self, kind: ViolationKind, shape: &Shape, node: &Node<'_>, constraint: &str) {
        if self.is_full() {
            return;
        }
        let echoes = kind.constraint().is_none_or(|constraint| self.input.echoes(constraint));
        let violation = if echoes {
            let echo = match (kind, self.operation) {
                (ViolationKind::Keys, Operation::BatchGetItem) => java_debug::json(node),
                _ => java_debug::value(shape, node),
            };
            text::echoed_violation(&echo, &self.path.spelled(true), constraint)
        } else {
            text::unechoed_violation(&self.path.spelled(false), constraint)
        };
        self.push(kind, violation);
    }

    fn push(&mut self, kind: ViolationKind, text: String) {
        let top = self.path.steps.iter().find_map(|step| match step {
            Step::Member(name) => Some(*name),
            Step::Element(_) | Step::Entry(_) => None,
        });
        self.found.push(Violation { member: top.unwrap_or_default(), kind, text });
    }
}

/// The length of a text in UTF-16 units, as Java counts them.
fn text_length(value: &str) -> i64 {
    count(if value.is_ascii() { value.len() } else { value.encode_utf16().count() })
}

/// A length as bounds have it.
pub(super) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Whether a length, or a number, is outside of the shape's bounds.
pub(super) fn out_of_bounds(shape: &Shape, length: i64) -> bool {
    shape.min.is_some_and(|min| length < min) || shape.max.is_some_and(|max| length > max)
}

/// Whether a text violates its length or its pattern.
#[inline]
pub(super) fn text_violates(shape: &Shape, value: &str) -> bool {
    shape.is_bounded() && bounded_text_violates(shape, value)
}

fn bounded_text_violates(shape: &Shape, value: &str) -> bool {
    if shape.arn_passes && value.starts_with("arn:") {
        return false;
    }
    let violates_length = !is_surely_within(shape, value) && out_of_bounds(shape, text_length(value));
    violates_length || shape.pattern.is_some_and(|pattern| !pattern.matches(value))
}

/// Whether the text's bytes alone show that its length is within the bounds: it is at most their number, and
/// at least 1 if there are any.
fn is_surely_within(shape: &Shape, value: &str) -> bool {
    let (least, most) = (i64::from(!value.is_empty()), count(value.len()));
    shape.min.is_none_or(|min| min <= least) && shape.max.is_none_or(|max| most <= max)
}

fn violates(shape: &Shape, node: &Node<'_>) -> bool {
    match node {
        Node::Text(value) => text_violates(shape, value),
        Node::List(list) => out_of_bounds(shape, count(list.len())),
        _ => false,
    }
}

/// The texts of the bounds of keys, elements or values, in the order of the message.
fn constraints(shape: &Shape) -> Vec<String> {
    let max = shape.max.map(text::length_at_most);
    let min = shape.min.map(text::length_at_least);
    let pattern = shape.pattern.map(|pattern| text::pattern(pattern.text()));
    max.into_iter().chain(min).chain(pattern).collect()
}
