//! Builds the parts of a request from its JSON, after types and constraints have been checked.
//!
//! The generated file `parts` maps members to fields; this file builds each kind of value.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use keywright_semantics::error::Error;
use keywright_semantics::messages::shape as text;
use keywright_semantics::request::KeyPart;
use keywright_semantics::request::parts::{AttributeMapPart, ValuePart};

use super::value::attribute_value;
use crate::json::Node;

/// From this many entries on, a hash set finds repeated names.
const HASHED_ENTRIES_MIN: usize = 24;

/// A part that can be built from a node.
pub(super) trait FromNode<'a>: Sized {
    fn from_node(node: Node<'a>) -> Result<Self, Error>;

    /// The value of an absent member. Most absent required members have been reported by now; members whose
    /// absence the service reports later become empty values.
    fn absent(name: &str) -> Result<Self, Error> {
        Err(Error::validation(text::violations(&[text::null_violation(name)])))
    }
}

/// The members of an object, taken one by one.
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Node<'a>)>);

impl<'a> Members<'a> {
    pub(super) fn of(node: Node<'a>) -> Self {
        match node {
            Node::Object(members) => Self(members),
            _ => Self(Vec::new()),
        }
    }

    /// The value of a member. Of repeated names the last one counts.
    pub(super) fn take<T: FromNode<'a>>(&mut self, name: &str) -> Result<T, Error> {
        let found = self.0.iter_mut().rev().find(|(other, _)| other == name);
        match found.map(|(_, node)| std::mem::take(node)) {
            None | Some(Node::Null) => T::absent(name),
            Some(node) => T::from_node(node),
        }
    }
}

/// An enumeration's value by its name. The walk over constraints has checked most names; a few enumerations
/// are checked here only.
pub(super) fn choice<T>(
    kind: &str,
    node: &Node<'_>,
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    let name = match node {
        Node::Text(name) => name.as_ref(),
        _ => "",
    };
    from_name(name).ok_or_else(|| match kind {
        "TableClass" => Error::validation(text::TABLE_CLASS),
        _ => Error::validation(text::violations(&[text::null_violation(kind)])),
    })
}

/// Decoders of enumerations by their wire names, on both ways.
macro_rules! choices {
    ($($name:ident,)*) => {
        $(
            impl ReadShort for $name {
                fn read(reader: &mut Reader<'_>, shape: &'static Shape) -> Option<Self> {
                    short::choice(reader, shape, Self::from_name)
                }
            }

            impl<'a> FromNode<'a> for $name {
                fn from_node(node: Node<'a>) -> Result<Self, Error> {
                    choice(stringify!($name), &node, Self::from_name)
                }
            }
        )*
    };
}

/// Decoders of structures. Those with a shape are also read on the short way.
macro_rules! structures {
    (@short $name:ident $fields:tt) => {};
    (@short $name:ident $shape:ident $fields:tt) => {
        short_structure! { $name $shape $fields }
    };
    ($($name:ident $(: $shape:ident)? { $($field:ident: $member:literal,)* })*) => {
        $(
            long_structure! { $name { $($field: $member,)* } }
            structures! { @short $name $($shape)? { $($field: $member,)* } }
        )*
    };
}

/// A decoder of a structure: each field comes from the member of the given name.
macro_rules! long_structure {
    ($name:ident { $($field:ident: $member:literal,)* }) => {
        impl<'a> FromNode<'a> for $name {
            fn from_node(node: Node<'a>) -> Result<Self, Error> {
                #[allow(unused_mut, unused_variables, reason = "a structure may have no members")]
                let mut members = Members::of(node);
                Ok(Self { $($field: members.take($member)?,)* })
            }
        }
    };
}

pub(super) use {choices, long_structure, structures};

impl<'a, T: FromNode<'a>> FromNode<'a> for Option<T> {
    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        T::from_node(node).map(Some)
    }

    fn absent(_: &str) -> Result<Self, Error> {
        Ok(None)
    }
}

impl<'a> FromNode<'a> for String {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(Self::new())
    }

    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        match node {
            Node::Text(value) => Ok(value.into_owned()),
            _ => Ok(Self::new()),
        }
    }
}

impl<'a> FromNode<'a> for i64 {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(0)
    }

    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        match node {
            Node::Integer(value) => Ok(value),
            _ => Ok(0),
        }
    }
}

impl<'a> FromNode<'a> for f64 {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(0.0)
    }

    #[expect(
        clippy::as_conversions,
        clippy::cast_precision_loss,
        reason = "a double of JSON has no more digits"
    )]
    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        match node {
            Node::Integer(value) => Ok(value as Self),
            Node::Decimal(value) => Ok(value),
            _ => Ok(0.0),
        }
    }
}

impl<'a> FromNode<'a> for bool {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(false)
    }

    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        Ok(matches!(node, Node::Bool(true)))
    }
}

impl<'a> FromNode<'a> for ValuePart {
    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        Ok(attribute_value(node))
    }
}

impl<'a, T: FromNode<'a>> FromNode<'a> for Vec<T> {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(Self::new())
    }

    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        match node {
            Node::List(list) => list.into_iter().map(T::from_node).collect(),
            _ => Ok(Self::new()),
        }
    }
}

impl<'a, T: FromNode<'a>> FromNode<'a> for Vec<(String, T)> {
    fn absent(_: &str) -> Result<Self, Error> {
        Ok(Self::new())
    }

    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        let Node::Object(entries) = node else { return Ok(Self::new()) };
        let mut made = Self::with_capacity(entries.len());
        for (name, node) in without_repeats(entries) {
            if !node.is_null() {
                made.push((name.into_owned(), T::from_node(node)?));
            }
        }
        Ok(made)
    }
}

impl<'a> FromNode<'a> for KeyPart {
    fn from_node(node: Node<'a>) -> Result<Self, Error> {
        let Node::Object(entries) = node else { return Ok(Self::default()) };
        let entries = without_repeats(entries);
        let numbers = entries.iter().filter_map(|(name, value)| {
            let text = number_text(value)?;
            Some((name.clone().into_owned(), text.to_owned()))
        });
        let numbers = numbers.collect();
        Ok(Self::spelled(AttributeMapPart::from_node(Node::Object(entries))?, numbers))
    }
}

/// The text of the number that the node of an attribute value holds.
fn number_text<'n>(value: &'n Node<'_>) -> Option<&'n str> {
    let Node::Object(members) = value else { return None };
    match members.iter().rev().find(|(name, _)| name == "N") {
        Some((_, Node::Text(text))) => Some(text),
        _ => None,
    }
}

/// The entries with each name once: the last entry of a repeated name stays.
pub(super) fn without_repeats<'a>(
    mut entries: Vec<(Cow<'a, str>, Node<'a>)>,
) -> Vec<(Cow<'a, str>, Node<'a>)> {
    if !are_distinct(entries.iter().map(|(name, _)| name.as_ref())) {
        let last: HashMap<String, usize> =
            entries.iter().enumerate().map(|(index, (name, _))| (name.as_ref().to_owned(), index)).collect();
        let mut index = 0;
        entries.retain(|(name, _)| {
            let kept = last.get(name.as_ref()) == Some(&index);
            index += 1;
            kept
        });
    }
    entries
}

/// Whether no name is repeated.
pub(super) fn are_distinct<'n>(mut names: impl ExactSizeIterator<Item = &'n str> + Clone) -> bool {
    if names.len() >= HASHED_ENTRIES_MIN {
        let mut seen = HashSet::with_capacity(names.len());
        return names.all(|name| seen.insert(name));
    }
    while let Some(name) = names.next() {
        if names.clone().any(|other| is_same(name.as_bytes(), other.as_bytes())) {
            return false;
        }
    }
    true
}

/// Equality of names, of which most differ in their length, their first or their last byte.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.first() == other.first() && one.last() == other.last() && one == other
}
