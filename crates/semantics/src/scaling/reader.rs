//! The members of a request, read with the constraints of the service model. Violations are collected, as
//! the service reports them together.

use std::collections::BTreeMap;

use super::fault::{Fault, FaultKind};
use crate::messages::shape;
use crate::monitoring::document::{Document, TimeMs};

/// Violations that one fault lists.
const LISTED_MAX: usize = 10;

pub(super) struct Reader<'d> {
    document: &'d Document,
    /// The path of this object in texts, empty for the request itself.
    path: String,
    violations: Vec<String>,
}

fn malformed(name: &str, wanted: &str) -> Fault {
    Fault::new(FaultKind::Serialization, format!("The value of {name} is not {wanted}."))
}

/// How many characters a text may have.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub least: usize,
    pub most: usize,
}

pub(super) const RESOURCE_LENGTH: Length = Length { least: 1, most: 1600 };

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl<'d> Reader<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, path: String::new(), violations: Vec::new() }
    }

    /// A reader of an object within this one. Its violations are to be taken with `join`.
    pub(super) fn within(&self, name: &str) -> Result<Option<Reader<'d>>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            document @ Document::Object(_) => {
                let path = format!("{}.", self.path_of(name));
                Ok(Some(Reader { document, path, violations: Vec::new() }))
            }
            _ => Err(malformed(name, "an object")),
        }
    }

    pub(super) fn join(&mut self, inner: Reader<'_>) {
        self.violations.extend(inner.violations);
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        let mut letters = name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        format!("{}{}", self.path, first.into_iter().chain(letters).collect::<String>())
    }

    pub(super) fn violate(&mut self, name: &str, value: &str, constraint: &str) {
        let path = self.path_of(name);
        self.violations.push(shape::echoed_violation(value, &path, constraint));
    }

    /// A member that must be there.
    pub(super) fn require(&mut self, name: &str) {
        let path = self.path_of(name);
        self.violations.push(shape::null_violation(&path));
    }

    fn check_length(&mut self, name: &str, text: &str, length: Length) {
        let characters = text.chars().count();
        if characters < length.least {
            self.violate(name, text, &shape::length_at_least(signed(length.least)));
        } else if characters > length.most {
            self.violate(name, text, &shape::length_at_most(signed(length.most)));
        }
    }

    pub(super) fn text(&mut self, name: &str, length: Length) -> Result<Option<String>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Text(text) => {
                self.check_length(name, text, length);
                Ok(Some(text.clone()))
            }
            _ => Err(malformed(name, "text")),
        }
    }

    /// A text that must be there. An absent one is a violation and reads as empty.
    pub(super) fn required_text(&mut self, name: &str, length: Length) -> Result<String, Fault> {
        let text = self.text(name, length)?;
        Ok(text.unwrap_or_else(|| {
            self.require(name);
            String::new()
        }))
    }

    pub(super) fn texts(&mut self, name: &str, length: Length, most: usize) -> Result<Vec<String>, Fault> {
        let elements = match self.document.member(name) {
            Document::Null => return Ok(Vec::new()),
            Document::List(elements) => elements,
            _ => return Err(malformed(name, "a list")),
        };
        if elements.len() > most {
            self.violate(name, &format!("{} elements", elements.len()), &shape::length_at_most(signed(most)));
        }
        let mut texts = Vec::new();
        for element in elements {
            let Document::Text(text) = element else { return Err(malformed(name, "a list of texts")) };
            self.check_length(name, text, length);
            texts.push(text.clone());
        }
        Ok(texts)
    }

    /// A whole number that is at least this.
    pub(super) fn count(&mut self, name: &str, least: i64) -> Result<Option<u64>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Integer(number) => {
                if *number < least {
                    self.violate(name, &number.to_string(), &shape::value_at_least(least));
                }
                Ok(Some(u64::try_from(*number).unwrap_or_default()))
            }
            _ => Err(malformed(name, "a whole number")),
        }
    }

    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "numbers of clients are doubles")]
    pub(super) fn number(&self, name: &str) -> Result<Option<f64>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Integer(number) => Ok(Some(*number as f64)),
            Document::Number(number) => Ok(Some(*number)),
            _ => Err(malformed(name, "a number")),
        }
    }

    pub(super) fn bool(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.document.member(name) {
            Document::Null => Ok(None),
            Document::Bool(value) => Ok(Some(*value)),
            _ => Err(malformed(name, "true or false")),
        }
    }

    pub(super) fn time(&self, name: &str) -> Result<Option<TimeMs>, Fault> {
        self.document.time_of(name).map_err(|_| malformed(name, "a time"))
    }

    pub(super) fn is_present(&self, name: &str) -> bool {
        *self.document.member(name) != Document::Null
    }

    /// A map of tags.
    pub(super) fn tags(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>, Fault> {
        let members = match self.document.member(name) {
            Document::Null => return Ok(None),
            Document::Object(members) => members,
            _ => return Err(malformed(name, "a map")),
        };
        let mut tags = BTreeMap::new();
        for (key, value) in members {
            let Document::Text(value) = value else { return Err(malformed(name, "a map of texts")) };
            self.check_length(name, key, Length { least: 1, most: 128 });
            self.check_length(name, value, Length { least: 0, most: 256 });
            tags.insert(key.clone(), value.clone());
        }
        Ok(Some(tags))
    }

    /// Ends with all violations, if there are any.
    pub(super) fn finish(mut self) -> Result<(), Fault> {
        if self.violations.is_empty() {
            return Ok(());
        }
        self.violations.truncate(LISTED_MAX);
        Err(Fault::validation(shape::violations(&self.violations)))
    }
}
