//! The members of a request, read with the constraints of the service model. Violations are collected, as the
//! service reports them together.

use super::fault::{Fault, FaultKind};
use crate::messages::shape;
use crate::monitoring::document::Document;

/// A bound of a whole number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub least: i64,
    pub most: i64,
}

pub(super) struct Reader<'d> {
    document: &'d Document,
    violations: Vec<String>,
}

fn malformed(name: &str, wanted: &str) -> Fault {
    Fault::new(FaultKind::Serialization, format!("The value of {name} is not {wanted}."))
}

/// The name of a member as violations write it.
fn path(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

impl<'d> Reader<'d> {
    pub(super) const fn new(document: &'d Document) -> Self {
        Self { document, violations: Vec::new() }
    }

    pub(super) fn violate(&mut self, name: &str, value: &str, constraint: &str) {
        self.violations.push(shape::echoed_violation(value, &path(name), constraint));
    }

    pub(super) fn require(&mut self, name: &str) {
        self.violations.push(shape::null_violation(&path(name)));
    }

    pub(super) fn text(&mut self, name: &str, most: i64) -> Result<Option<&'d str>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Text(text) => {
                if i64::try_from(text.chars().count()).is_ok_and(|length| length > most) {
                    self.violate(name, text, &shape::length_at_most(most));
                }
                Ok(Some(text))
            }
            _ => Err(malformed(name, "text")),
        }
    }

    pub(super) fn integer(&mut self, name: &str, range: Range) -> Result<Option<i64>, Fault> {
        let number = match self.document.member(name) {
            Document::Null => return Ok(None),
            Document::Integer(number) => *number,
            _ => return Err(malformed(name, "a whole number")),
        };
        assert!(range.least <= range.most, "a range has numbers");
        if number < range.least {
            self.violate(name, &number.to_string(), &shape::value_at_least(range.least));
        } else if number > range.most {
            self.violate(name, &number.to_string(), &shape::value_at_most(range.most));
        }
        Ok(Some(number))
    }

    pub(super) fn bool(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Bool(value) => Ok(Some(*value)),
            _ => Err(malformed(name, "true or false")),
        }
    }

    /// An object.
    pub(super) fn object(&self, name: &str) -> Result<Option<&'d Document>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            object @ Document::Object(_) => Ok(Some(object)),
            _ => Err(malformed(name, "an object")),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<Option<&'d [Document]>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::List(elements) => Ok(Some(elements)),
            _ => Err(malformed(name, "a list")),
        }
    }

    /// Whether there is a member with a content.
    pub(super) fn has(&self, name: &str) -> bool {
        match self.document.member(name) {
            Document::Null => false,
            Document::List(elements) => !elements.is_empty(),
            Document::Object(members) => !members.is_empty(),
            Document::Text(text) => !text.is_empty(),
            _ => true,
        }
    }

    pub(super) fn finish(self) -> Result<(), Fault> {
        if self.violations.is_empty() {
            return Ok(());
        }
        Err(Fault::new(FaultKind::Validation, shape::violations(&self.violations)))
    }
}
