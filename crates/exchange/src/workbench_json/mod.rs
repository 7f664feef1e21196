//! `NoSQL` Workbench documents of every version.
//!
//! A [`Document`] is the JSON as written: unknown members, their order and the digits of numbers survive.
//! Reading one gives a [`Draft`]. Writing a draft changes only the places of a base document that differ, so
//! an unchanged document is written back identically.
//!
//! The format is not documented; the files in `tests/data` show versions 1.0 and 3.0.

mod queries;
mod read;
mod write;

use super::draft::Draft;
use super::fault::{ExchangeFault, Faults};
use keywright_model::json::{Json, NotJson};
use keywright_model::{Model, Pattern};

/// A `NoSQL` Workbench document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    root: Json,
}

/// A draft and notes on how the document was interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What was read.
    pub draft: Draft,
    /// How it was interpreted.
    pub notes: Vec<String>,
    /// What could not be; empty for a well-formed document.
    pub assumed: Vec<Assumption>,
}

/// A place that could not be interpreted, and the assumption made instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// The place, and what is wrong there.
    pub fault: ExchangeFault,
    /// A sentence that says what was taken instead.
    pub assumed: String,
}

/// A document and notes on the parts of the draft that it cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The document.
    pub document: Document,
    /// What it cannot hold, each with its table.
    pub lost: Vec<String>,
}

impl Document {
    /// Parses a document; it must be JSON with a `DataModel`.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        let root = Json::parse(text)
            .map_err(|NotJson { reason }| vec![ExchangeFault::new("", format!("not JSON: {reason}"))])?;
        Self::of(root)
    }

    /// Accepts JSON that is such a document.
    pub fn of(root: Json) -> Result<Self, Faults> {
        if Self::looks_like(&root) {
            Ok(Self { root })
        } else {
            Err(vec![ExchangeFault::new("DataModel", "a NoSQL Workbench document has a list of tables here")])
        }
    }

    /// Whether JSON is such a document.
    pub fn looks_like(root: &Json) -> bool {
        matches!(root.get("DataModel"), Some(Json::List(_)))
    }

    /// The whole document as JSON.
    pub fn json(&self) -> &Json {
        &self.root
    }

    /// The document as text, indented as the Workbench indents.
    pub fn to_text(&self) -> String {
        self.root.pretty()
    }

    /// Tables, entities and items; fails if any part cannot be interpreted.
    pub fn read(&self) -> Result<Read, Faults> {
        let read = self.read_all();
        if read.assumed.is_empty() {
            return Ok(read);
        }
        Err(read.assumed.into_iter().map(|assumption| assumption.fault).collect())
    }

    /// Tables, entities and items as far as they can be interpreted, with assumptions for the rest.
    pub fn read_all(&self) -> Read {
        read::read(&self.root)
    }

    /// The document's saved queries as patterns of the imported
    /// model, and notes on those that cannot be converted.
    pub fn patterns(&self, model: &Model) -> (Vec<Pattern>, Vec<String>) {
        queries::patterns(&self.root, model)
    }

    /// Writes a draft into this document, changing only what differs.
    pub fn updated(&self, draft: &Draft) -> Written {
        let current = self.read_all().draft;
        let (root, lost) = write::update(self.root.clone(), &current, draft);
        Written { document: Self { root }, lost }
    }

    /// A new document for a draft. `written` is the date in it, such as `Apr 25, 2023, 05:37 PM`.
    pub fn fresh(draft: &Draft, written: &str) -> Written {
        let (root, lost) = write::fresh(draft, written);
        Written { document: Self { root }, lost }
    }
}
