//! Updates: parsed, bound and applied to an item.

use super::path::DocumentPath;
use super::placeholders::Placeholders;
use crate::error::Error;
use crate::value::Item;

/// An update with every placeholder bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {}

/// What an update made of an item, and which places it touched.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    pub new: Item,
    touched: Vec<DocumentPath>,
}

impl Updated {
    /// The places the update touched, in the order written.
    pub fn touched(&self) -> &[DocumentPath] {
        &self.touched
    }

    /// The `UPDATED_OLD` image: what was at the touched places before.
    pub fn updated_old(&self, old: &Item) -> Item {
        let _ = old;
        unimplemented!()
    }

    /// The `UPDATED_NEW` image: what is at the touched places now.
    pub fn updated_new(&self, new: &Item) -> Item {
        let _ = new;
        unimplemented!()
    }
}

impl Update {
    /// Applies the update to the old item, or to a new one that has only its key. All operands read the old item.
    pub fn apply(&self, old: Option<&Item>, key: &Item) -> Result<Updated, Error> {
        let _ = (old, key);
        unimplemented!()
    }

    /// The paths it changes, in the order written.
    pub fn targets(&self) -> Vec<&DocumentPath> {
        unimplemented!()
    }

    /// Every document path it mentions, operands included.
    pub fn paths(&self) -> Vec<&DocumentPath> {
        unimplemented!()
    }

    /// Whether it changes this top-level attribute or something below it.
    pub fn touches_attribute(&self, name: &str) -> bool {
        let _ = name;
        unimplemented!()
    }

    /// What the size rule of UpdateItem adds to an item without its key attributes: 3 bytes, 19 for each action that
    /// writes a value, 2 for each that clears one, 1 for each list index, 50 for each arithmetic operation. The size
    /// that counts is the larger of the item's and of this sum.
    pub fn overhead_bytes(&self) -> usize {
        unimplemented!()
    }
}

/// Prints the canonical text, with placeholders for values and for names that need them.
impl std::fmt::Display for Update {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}

/// Parses an `UpdateExpression` and binds its placeholders.
pub fn parse_update(text: &str, placeholders: &mut Placeholders) -> Result<Update, Error> {
    let _ = (text, placeholders);
    unimplemented!()
}
