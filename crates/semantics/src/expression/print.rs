//! Canonical texts: an expression printed so that parsing it again gives the same expression.
//!
//! Plain identifiers are printed as they are, other names as `#n0`, `#n1`, … and values as `:v0`, `:v1`, ….

use super::lexer::{TokenKind, Tokens};
use super::path::{DocumentPath, PathStep};
use super::reserved::is_reserved;
use crate::request::parts::AttributeMapPart;
use crate::value::AttributeValue;

/// An expression as text, with the placeholders the text uses.
#[derive(Clone, Debug, PartialEq)]
pub struct CanonicalText {
    /// The expression.
    pub text: String,
    /// `ExpressionAttributeNames`: placeholder and name.
    pub names: Vec<(String, String)>,
    /// `ExpressionAttributeValues`: placeholder and value; no value is a fault.
    pub values: AttributeMapPart,
}

#[derive(Default)]
pub(super) struct Printer {
    text: String,
    names: Vec<(String, String)>,
    values: AttributeMapPart,
}

impl Printer {
    pub(super) fn finish(self) -> CanonicalText {
        CanonicalText { text: self.text, names: self.names, values: self.values }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn path(&mut self, path: &DocumentPath) {
        self.name(&path.attribute);
        for step in &path.steps {
            match step {
                PathStep::Field(name) => {
                    self.text.push('.');
                    self.name(name);
                }
                PathStep::Index(index) => {
                    self.text.push('[');
                    self.text.push_str(&index.to_string());
                    self.text.push(']');
                }
            }
        }
    }

    pub(super) fn name(&mut self, name: &str) {
        if is_plain(name) {
            self.text.push_str(name);
            return;
        }
        let known = self.names.iter().position(|(_, other)| other == name);
        let placeholder = format!("#n{}", known.unwrap_or(self.names.len()));
        self.text.push_str(&placeholder);
        if known.is_none() {
            self.names.push((placeholder, name.to_owned()));
        }
    }

    pub(super) fn value(&mut self, value: AttributeValue) {
        let placeholder = format!(":v{}", self.values.len());
        self.text.push_str(&placeholder);
        self.values.push((placeholder, Ok(value)));
    }
}

/// Whether a name reads as one identifier that is not reserved.
fn is_plain(name: &str) -> bool {
    let tokens = Tokens::new(name);
    let first = tokens.at(0);
    first.kind == TokenKind::Identifier && first.text == name && !is_reserved(name)
}
