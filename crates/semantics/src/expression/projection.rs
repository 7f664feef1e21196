//! Projections: which parts of an item a read returns.

use super::path::DocumentPath;
use super::placeholders::Placeholders;
use crate::codec::{EncodedItem, MapRef};
use crate::error::Error;

/// The paths a read returns. Invariant: at least one, none a prefix of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<DocumentPath>,
}

impl Projection {
    /// The legacy `AttributesToGet`: top-level names, taken as they are.
    pub fn from_attributes(names: &[String]) -> Self {
        Self { paths: names.iter().map(DocumentPath::top_level).collect() }
    }

    /// The paths, in the order written.
    pub fn paths(&self) -> &[DocumentPath] {
        &self.paths
    }

    /// The top-level attributes it mentions, each once, in the order written.
    pub fn attributes(&self) -> Vec<&str> {
        unimplemented!()
    }

    /// The parts of the item that the paths lead to; elements of lists close up.
    pub fn project(&self, item: MapRef<'_>) -> EncodedItem {
        let _ = item;
        unimplemented!()
    }
}

/// Prints the canonical text, with placeholders for names that need them.
impl std::fmt::Display for Projection {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}

/// Parses a `ProjectionExpression` and binds its placeholders.
pub fn parse_projection(text: &str, placeholders: &mut Placeholders) -> Result<Projection, Error> {
    let _ = (text, placeholders);
    unimplemented!()
}
