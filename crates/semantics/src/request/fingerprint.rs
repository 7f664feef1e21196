//! The fingerprint of a request: equal for equal requests, independent of the order of their maps.
//!
//! Everything goes into one hash. Each text is preceded by its length and each map is sorted, so that
//! different requests never feed it the same bytes. This file does not know which members belong to a
//! request.

use super::parts::AttributeMapPart;
use crate::codec::EncodedValue;
use crate::value::ValueFault;

/// The hash of the members added so far.
#[derive(Clone, Debug)]
pub(super) struct Digest(blake3::Hasher);

impl Digest {
    pub(super) fn new() -> Self {
        Self(blake3::Hasher::new())
    }

    pub(super) fn finish(self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }

    pub(super) fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(super) fn optional<T>(&mut self, value: Option<&T>, add: impl FnOnce(&mut Self, &T)) {
        match value {
            None => self.tag(0),
            Some(value) => {
                self.tag(1);
                add(self, value);
            }
        }
    }

    /// A map from placeholder to name.
    pub(super) fn names(&mut self, names: &[(String, String)]) {
        let mut sorted: Vec<_> = names.iter().collect();
        sorted.sort_unstable();
        self.count(sorted.len());
        for (placeholder, name) in sorted {
            self.text(placeholder);
            self.text(name);
        }
    }

    /// An item, a key or a map of placeholders. A value with a fault is left out: its request is refused,
    /// except for values that are one level too deep, which some members may have.
    pub(super) fn values(&mut self, values: &AttributeMapPart) {
        let readable = values.iter().filter_map(|(name, value)| match value {
            Ok(value) => Some((name, value)),
            Err(ValueFault::TooDeepByOne(value)) => Some((name, &**value)),
            Err(_) => None,
        });
        let mut sorted: Vec<_> = readable.collect();
        sorted.sort_unstable_by_key(|(name, _)| *name);
        self.count(sorted.len());
        for (name, value) in sorted {
            self.text(name);
            self.bytes(EncodedValue::encode(value).as_bytes());
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    pub(super) fn count(&mut self, count: usize) {
        self.0.update(&u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
    }
}
