//! The members of a form, read with the constraints of the service models. Violations are collected, as the
//! services report them together.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::messages;
use super::names::{is_name, is_path, is_policy_text};
use crate::messages::shape;
use crate::monitoring::document::Document;

/// Violations that one fault lists.
const LISTED_MAX: usize = 10;
/// Bytes of a value that a violation repeats.
const ECHOED_BYTES_MAX: usize = 256;
/// Tags of one entity, and of one request (IAM quotas).
pub(crate) const TAGS_MAX: usize = 50;
/// Elements of a page (API reference: the default and the most).
const PAGE: usize = 100;
const PAGE_MAX: i64 = 1000;

/// How many characters a text may have.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    pub(crate) least: usize,
    pub(crate) most: usize,
}

impl Length {
    pub(crate) const fn of(least: usize, most: usize) -> Self {
        Self { least, most }
    }
}

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The last name of the page before.
    pub after: Option<String>,
    /// The most elements of the page.
    pub limit: usize,
}

pub(crate) struct Reader<'d> {
    document: &'d Document,
    violations: Vec<String>,
    /// The first fault with a text of its own.
    fault: Option<String>,
}

fn shown(text: &str) -> &str {
    text.get(..text.floor_char_boundary(ECHOED_BYTES_MAX)).unwrap_or_default()
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A member's name as violations spell it.
fn spelled(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

impl<'d> Reader<'d> {
    pub(crate) fn new(document: &'d Document) -> Self {
        Self { document, violations: Vec::new(), fault: None }
    }

    fn violate(&mut self, name: &str, value: &str, constraint: &str) {
        self.violations.push(shape::echoed_violation(shown(value), &spelled(name), constraint));
    }

    pub(crate) fn fail(&mut self, message: String) {
        self.fault.get_or_insert(message);
    }

    fn check_length(&mut self, name: &str, text: &str, length: Length) {
        assert!(length.least <= length.most, "bounds are in order");
        let characters = text.chars().count();
        if characters < length.least {
            self.violate(name, text, &shape::length_at_least(signed(length.least)));
        } else if characters > length.most {
            self.violate(name, text, &shape::length_at_most(signed(length.most)));
        }
    }

    /// The text of a member without a check of its length; none if it is absent or has members of its own.
    fn raw(&self, name: &str) -> Option<&'d str> {
        match self.document.member(name) {
            Document::Text(text) | Document::Form(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a member is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// A text that must be there and that no fault repeats.
    pub(crate) fn required_secret(&mut self, name: &str, length: Length) -> String {
        let Some(text) = self.raw(name) else {
            self.absent(name);
            return String::new();
        };
        if !(length.least..=length.most).contains(&text.chars().count()) {
            self.fail(messages::secret_length(length.least, length.most));
        }
        text.to_owned()
    }

    pub(crate) fn text(&mut self, name: &str, length: Length) -> Option<String> {
        let text = self.raw(name)?;
        self.check_length(name, text, length);
        Some(text.to_owned())
    }

    /// A text that must be there. An absent one is a violation and reads as empty.
    pub(crate) fn required_text(&mut self, name: &str, length: Length) -> String {
        self.text(name, length).unwrap_or_else(|| {
            self.absent(name);
            String::new()
        })
    }

    /// Notes that a member is missing which must be there.
    pub(crate) fn absent(&mut self, name: &str) {
        self.violations.push(shape::null_violation(&spelled(name)));
    }

    /// Reads the members of an element, whose faults are this form's.
    pub(crate) fn within<T>(&mut self, element: &Document, read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
        let mut inner = Reader::new(element);
        let made = read(&mut inner);
        self.violations.append(&mut inner.violations);
        if let Some(fault) = inner.fault {
            self.fail(fault);
        }
        made
    }

    fn check_name(&mut self, name: &str, text: &str) {
        if !is_name(text) {
            self.fail(messages::bad_name(&spelled(name)));
        }
    }

    /// The name of an entity.
    pub(crate) fn name(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.text(name, Length::of(1, most))?;
        self.check_name(name, &text);
        Some(text)
    }

    pub(crate) fn required_name(&mut self, name: &str, most: usize) -> String {
        let text = self.required_text(name, Length::of(1, most));
        self.check_name(name, &text);
        text
    }

    /// The path of an entity.
    pub(crate) fn path(&mut self, name: &str) -> Option<String> {
        let text = self.text(name, Length::of(1, 512))?;
        if !is_path(&text) {
            self.fail(messages::bad_path(&spelled(name)));
        }
        Some(text)
    }

    /// The path of a new entity, `/` unless it is given.
    pub(crate) fn new_path(&mut self) -> String {
        self.path("Path").unwrap_or_else(|| "/".to_owned())
    }

    /// The beginning of the paths that are asked for, `/` unless it is given.
    pub(crate) fn path_prefix(&mut self) -> String {
        self.text("PathPrefix", Length::of(1, 512)).unwrap_or_else(|| "/".to_owned())
    }

    pub(crate) fn arn(&mut self, name: &str) -> Option<String> {
        self.text(name, Length::of(20, 2048))
    }

    pub(crate) fn required_arn(&mut self, name: &str) -> String {
        self.required_text(name, Length::of(20, 2048))
    }

    fn check_document(&mut self, name: &str, text: &str) {
        if !is_policy_text(text) {
            self.fail(messages::bad_characters(&spelled(name)));
        }
    }

    /// A policy as text.
    pub(crate) fn document(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.text(name, Length::of(1, most))?;
        self.check_document(name, &text);
        Some(text)
    }

    pub(crate) fn required_document(&mut self, name: &str) -> String {
        let text = self.required_text(name, Length::of(1, 131_072));
        self.check_document(name, &text);
        text
    }

    /// A whole number within bounds.
    pub(crate) fn integer(&mut self, name: &str, (least, most): (i64, i64)) -> Option<i64> {
        assert!(least <= most, "bounds are in order");
        let text = self.raw(name)?;
        match text.parse::<i64>() {
            Ok(number) if number < least => self.violate(name, text, &shape::value_at_least(least)),
            Ok(number) if number > most => self.violate(name, text, &shape::value_at_most(most)),
            Ok(number) => return Some(number),
            Err(_) => self.violate(name, text, "Member must be a whole number"),
        }
        None
    }

    pub(crate) fn bool(&mut self, name: &str) -> Option<bool> {
        let text = self.raw(name)?;
        match text {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                self.violate(name, text, "Member must be true or false");
                None
            }
        }
    }

    /// One of some words.
    pub(crate) fn word(&mut self, name: &str, words: &[&'static str]) -> Option<&'static str> {
        assert!(!words.is_empty(), "there is a word to choose");
        let text = self.raw(name)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            self.violate(name, text, &shape::one_of(words));
        }
        found
    }

    pub(crate) fn required_word(&mut self, name: &str, words: &[&'static str]) -> &'static str {
        if self.raw(name).is_none() {
            self.absent(name);
        }
        self.word(name, words).unwrap_or_default()
    }

    /// The elements of a list. An empty list is written as an empty text.
    pub(crate) fn elements(&mut self, name: &str, most: usize) -> &'d [Document] {
        assert!(most > 0, "a list may have an element");
        let Document::List(elements) = self.document.member(name) else { return &[] };
        if elements.len() > most {
            self.violations
                .push(shape::unechoed_violation(&spelled(name), &shape::length_at_most(signed(most))));
            return &[];
        }
        elements
    }

    pub(crate) fn texts(&mut self, name: &str, length: Length, most: usize) -> Vec<String> {
        let mut texts = Vec::new();
        for element in self.elements(name, most) {
            if let Document::Text(text) | Document::Form(text) = element {
                self.check_length(name, text, length);
                texts.push(text.clone());
            }
        }
        texts
    }

    /// Tags. Keys that differ by case alone are the same.
    pub(crate) fn tags(&mut self, name: &str) -> BTreeMap<String, String> {
        let mut tags: BTreeMap<String, String> = BTreeMap::new();
        for element in self.elements(name, TAGS_MAX) {
            let (key, value) = self.within(element, |inner| {
                let key = inner.required_text("Key", Length::of(1, 128));
                (key, inner.required_text("Value", Length::of(0, 256)))
            });
            if tags.keys().any(|other| other.eq_ignore_ascii_case(&key)) {
                self.fail(messages::DUPLICATE_TAGS.to_owned());
            }
            tags.insert(key, value);
        }
        tags
    }

    pub(crate) fn page(&mut self) -> Page {
        let after = self.text("Marker", Length::of(1, 320));
        let limit = self.integer("MaxItems", (1, PAGE_MAX));
        Page { after, limit: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE) }
    }

    /// Ends with all violations, or with the first other fault, if there are any.
    pub(crate) fn finish(mut self) -> Result<(), Fault> {
        if !self.violations.is_empty() {
            self.violations.truncate(LISTED_MAX);
            return Err(Fault::validation(shape::violations(&self.violations)));
        }
        self.fault.map_or(Ok(()), |message| Err(Fault::validation(message)))
    }
}
