//! `ExpressionAttributeNames` and `ExpressionAttributeValues`: checked, looked up, and the unused ones found.
//!
//! It does not know the expressions: they ask it, and it remembers what they asked for.

use crate::error::Error;
use crate::request::parts::AttributeMapPart;
use crate::value::AttributeValue;

/// A request's placeholders, and which of them its expressions have used.
#[derive(Clone, Debug, Default)]
pub struct Placeholders {
    names: Vec<(String, String, bool)>,
    values: Vec<(String, AttributeValue, bool)>,
}

impl Placeholders {
    /// Checks both maps by themselves: not empty, keys of the form `#x` and `:x`, values without faults.
    pub fn new(names: Option<&[(String, String)]>, values: Option<&AttributeMapPart>) -> Result<Self, Error> {
        let _ = (names, values);
        unimplemented!()
    }

    /// Call it when every expression is parsed: fails if a placeholder was not used.
    pub fn finish(&self) -> Result<(), Error> {
        unimplemented!()
    }
}
