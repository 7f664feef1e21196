//! The parts of a file's record from their JSON, read as those of requests are.

use keywright_semantics::error::Error;
use keywright_semantics::request::parts::AttributeMapPart;

use super::build::FromNode;
use super::types;
use crate::json::Node;
use crate::shapes::{ATTRIBUTES, NAMES, Shape, TEXT};

/// A map of attributes, or its first value of a wrong type.
pub(crate) fn attributes(node: Node<'_>) -> Result<AttributeMapPart, Error> {
    checked(&ATTRIBUTES, node)
}

/// A map of placeholders to names.
pub(crate) fn names(node: Node<'_>) -> Result<Vec<(String, String)>, Error> {
    checked(&NAMES, node)
}

/// A text.
pub(crate) fn text(node: Node<'_>) -> Result<String, Error> {
    checked(&TEXT, node)
}

fn checked<'a, T: FromNode<'a>>(shape: &Shape, mut node: Node<'a>) -> Result<T, Error> {
    types::check(shape, &mut node)?;
    T::from_node(node)
}
