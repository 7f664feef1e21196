//! Projections: which parts of an item a read returns.

use super::fault::{Fault, SizeText, check_size};
use super::kept::{self, Language, Tree};
use super::path::{self, DocumentPath};
use super::placeholders::Placeholders;
use super::print::{CanonicalText, Printer};
use super::selection::ItemSelection;
use super::syntax::RawPath;
use super::work::Work;
use super::{checks, parser};
use crate::codec::{EncodedItem, MapRef};
use crate::error::Error;

/// Steps that finding one path takes, about.
const PATH_STEPS: usize = 32;

/// The paths a read returns. Invariant: at least one, none a prefix of another; `selection` is made from
/// `paths`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    paths: Vec<DocumentPath>,
    selection: ItemSelection,
}

impl Projection {
    fn new(paths: Vec<DocumentPath>) -> Self {
        Self { selection: ItemSelection::new(&paths), paths }
    }

    /// The legacy `AttributesToGet`: top-level names, taken as they are.
    pub fn from_attributes(names: &[String]) -> Self {
        Self::new(names.iter().map(DocumentPath::top_level).collect())
    }

    /// The paths, in the order written.
    pub fn paths(&self) -> &[DocumentPath] {
        &self.paths
    }

    /// The top-level attributes of the paths, each once, in the order written.
    pub fn attributes(&self) -> Vec<&str> {
        path::distinct_attributes(&self.paths)
    }

    /// The parts of the item that the paths lead to. Chosen list elements move together.
    pub fn project(&self, item: MapRef<'_>) -> EncodedItem {
        self.selection.of_encoded(item)
    }

    /// The work of projecting an item: two walks over the item and a search for each path.
    pub fn work(&self) -> Work {
        Work::walks(2).and(Work::bytes(self.paths.len().saturating_mul(PATH_STEPS)))
    }

    /// The canonical text, with the placeholders it needs.
    pub fn canonical(&self) -> CanonicalText {
        let mut printer = Printer::default();
        for (position, path) in self.paths.iter().enumerate() {
            if position > 0 {
                printer.text(", ");
            }
            printer.path(path);
        }
        printer.finish()
    }
}

/// Prints the canonical text, with placeholders for names that need them.
impl std::fmt::Display for Projection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.canonical().text)
    }
}

/// Parses a `ProjectionExpression` and binds its placeholders.
pub fn parse_projection(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Projection, Error> {
    parse(text, placeholders).map_err(|fault| fault.in_parameter("ProjectionExpression"))
}

fn parse(text: &str, placeholders: &mut Placeholders<'_>) -> Result<Projection, Fault> {
    if let Some(tree) = kept::find(Language::Projection, text)
        && let Tree::Projection(raw) = &*tree
    {
        return bind(raw, placeholders);
    }
    check_size(text, SizeText::Plain)?;
    let raw = parser::projection(text)?;
    raw.iter().try_for_each(checks::check_path)?;
    let projection = bind(&raw, placeholders)?;
    let owned = || Tree::Projection(raw.into_iter().map(RawPath::into_owned).collect());
    kept::keep(Language::Projection, text, owned);
    Ok(projection)
}

fn bind(raw: &[RawPath<'_>], placeholders: &mut Placeholders<'_>) -> Result<Projection, Fault> {
    let paths =
        raw.iter().map(|path| DocumentPath::bind(path, placeholders)).collect::<Result<Vec<_>, _>>()?;
    path::check_distinct(&paths)?;
    Ok(Projection::new(paths))
}
