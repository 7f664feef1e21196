//! `ExpressionAttributeNames` and `ExpressionAttributeValues`: checks, lookup, and detection of unused
//! placeholders.
//!
//! It does not know expressions: it only records which placeholders they looked up.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::fault::Fault;
use crate::codec::EncodedValue;
use crate::error::Error;
use crate::limits::{ATTRIBUTE_NAME_BYTES_MAX, PLACEHOLDER_BYTES_MAX};
use crate::messages::hash_order::sort_as_copied;
use crate::messages::{Wording, expression as messages};
use crate::request::parts::{AttributeMapPart, ValuePart};
use crate::value::{AttributeValue, ValueFault};

const NAMES: &str = "ExpressionAttributeNames";
const VALUES: &str = "ExpressionAttributeValues";

/// A placeholder, its replacement, and whether an expression uses it.
#[derive(Debug)]
struct Entry<'r, T> {
    placeholder: &'r str,
    stands_for: T,
    used: bool,
}

/// A value of the request. An expression may use it hundreds of times, so its copies are shared.
#[derive(Debug)]
struct SharedValue<'r> {
    plain: &'r AttributeValue,
    copy: OnceCell<Arc<AttributeValue>>,
    encoded: RefCell<Encoded>,
}

/// The stored form of a value. Most values are used once: that use gets a copy of its own, and only a second
/// one takes the count of those who share it.
#[derive(Debug, Default)]
enum Encoded {
    #[default]
    Unused,
    UsedOnce,
    Shared(EncodedValue),
}

/// A request's placeholders, and which of them its expressions have used. Invariant: both lists are sorted.
#[derive(Debug, Default)]
pub struct Placeholders<'r> {
    names: Vec<Entry<'r, &'r str>>,
    values: Vec<Entry<'r, SharedValue<'r>>>,
}

impl<'r> Placeholders<'r> {
    /// Checks both maps: they are not empty, their keys have the forms `#x` and `:x`, their values have no
    /// faults.
    pub fn new(
        names: Option<&'r [(String, String)]>,
        values: Option<&'r AttributeMapPart>,
        wording: Wording,
    ) -> Result<Self, Error> {
        let names = names.map(check_names).transpose().map_err(Error::validation)?;
        let values =
            values.map(|values| check_values(values, wording)).transpose().map_err(Error::validation)?;
        Ok(Self { names: sorted(names.unwrap_or_default()), values: sorted(values.unwrap_or_default()) })
    }

    /// The attribute name of a `#placeholder`.
    pub(super) fn name(&mut self, placeholder: &str) -> Result<&'r str, Fault> {
        let found = find(&mut self.names, placeholder).copied();
        found.ok_or_else(|| Fault::new(messages::name_undefined(placeholder)))
    }

    /// The value of a `:placeholder`.
    pub(super) fn value(&mut self, placeholder: &str) -> Result<&'r AttributeValue, Fault> {
        self.shared(placeholder).map(|value| value.plain)
    }

    /// The value of a `:placeholder`, as a copy that all uses share.
    pub(super) fn value_copy(&mut self, placeholder: &str) -> Result<Arc<AttributeValue>, Fault> {
        let value = self.shared(placeholder)?;
        Ok(Arc::clone(value.copy.get_or_init(|| Arc::new(value.plain.clone()))))
    }

    /// The value of a `:placeholder` in its stored form, which all uses share.
    pub(super) fn encoded_value(&mut self, placeholder: &str) -> Result<EncodedValue, Fault> {
        let value = self.shared(placeholder)?;
        let (encoded, next) = match value.encoded.take() {
            Encoded::Unused => (EncodedValue::encode(value.plain), Encoded::UsedOnce),
            Encoded::UsedOnce => {
                let shared = EncodedValue::encode(value.plain);
                (shared.clone(), Encoded::Shared(shared))
            }
            Encoded::Shared(shared) => (shared.clone(), Encoded::Shared(shared)),
        };
        value.encoded.replace(next);
        Ok(encoded)
    }

    fn shared(&mut self, placeholder: &str) -> Result<&SharedValue<'r>, Fault> {
        find(&mut self.values, placeholder).ok_or_else(|| Fault::new(messages::value_undefined(placeholder)))
    }

    /// Fails if a placeholder was not used. To be called after every expression is parsed.
    pub fn finish(&self) -> Result<(), Error> {
        check_used(NAMES, &self.names)?;
        check_used(VALUES, &self.values)
    }
}

fn check_names(names: &[(String, String)]) -> Result<Vec<Entry<'_, &str>>, String> {
    if names.is_empty() {
        return Err(messages::names_empty().to_owned());
    }
    let mut entries = Vec::with_capacity(names.len());
    for (placeholder, name) in names {
        if placeholder.len() > PLACEHOLDER_BYTES_MAX {
            return Err(messages::name_placeholder_too_long(placeholder.len()));
        }
        if !is_placeholder(placeholder, '#') {
            return Err(messages::placeholder_syntax(NAMES, placeholder));
        }
        if name.is_empty() {
            return Err(messages::name_empty(placeholder));
        }
        if name.len() > ATTRIBUTE_NAME_BYTES_MAX {
            return Err(messages::name_too_large(placeholder));
        }
        entries.push(Entry { placeholder: placeholder.as_str(), stands_for: name.as_str(), used: false });
    }
    Ok(entries)
}

/// All keys are checked before any value.
fn check_values(
    values: &[(String, ValuePart)],
    wording: Wording,
) -> Result<Vec<Entry<'_, SharedValue<'_>>>, String> {
    if values.is_empty() {
        return Err(messages::values_empty().to_owned());
    }
    for (placeholder, _) in values {
        if placeholder.len() > PLACEHOLDER_BYTES_MAX {
            return Err(messages::value_placeholder_too_long().to_owned());
        }
        if !is_placeholder(placeholder, ':') {
            return Err(messages::placeholder_syntax(VALUES, placeholder));
        }
    }
    let mut entries = Vec::with_capacity(values.len());
    for (placeholder, value) in values {
        let plain = match value {
            Ok(value) => value,
            Err(ValueFault::TooDeepByOne(value)) if wording == Wording::Legacy => &**value,
            Err(fault) => {
                let text = crate::messages::value::fault(fault, wording);
                return Err(match wording {
                    Wording::Present => text,
                    Wording::Legacy => messages::value_invalid(&text, placeholder),
                });
            }
        };
        let stands_for = SharedValue { plain, copy: OnceCell::new(), encoded: RefCell::default() };
        entries.push(Entry { placeholder: placeholder.as_str(), stands_for, used: false });
    }
    Ok(entries)
}

fn sorted<T>(mut entries: Vec<Entry<'_, T>>) -> Vec<Entry<'_, T>> {
    entries.sort_by_key(|entry| entry.placeholder);
    entries
}

fn is_placeholder(text: &str, mark: char) -> bool {
    text.strip_prefix(mark).is_some_and(|word| {
        !word.is_empty()
            && word.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

fn find<'e, T>(entries: &'e mut [Entry<'_, T>], placeholder: &str) -> Option<&'e T> {
    let position = entries.binary_search_by(|entry| entry.placeholder.cmp(placeholder)).ok()?;
    let entry = entries.get_mut(position)?;
    entry.used = true;
    Some(&entry.stands_for)
}

fn check_used<T>(map: &str, entries: &[Entry<'_, T>]) -> Result<(), Error> {
    let mut unused: Vec<&str> =
        entries.iter().filter(|entry| !entry.used).map(|entry| entry.placeholder).collect();
    if unused.is_empty() {
        return Ok(());
    }
    // The service copies its map's keys and removes those that are used (observed).
    sort_as_copied(&mut unused, entries.len());
    Err(Error::validation(messages::placeholders_unused(map, &unused)))
}
