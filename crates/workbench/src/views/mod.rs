//! Views of a model: the six steps from access patterns to validation, the item collections, and advice from
//! the numbers.
//!
//! A view shows what the model declares and what its run measured. It has no rules of its own: verdicts come
//! from `lint`, money from `cost`, heat from `heat`. Advice that only a view gives (several tables, another
//! service, unbounded growth) stands with its numbers.

mod advice;
mod checklist;
mod collections;
mod collections_json;
mod denormalisation;
mod entities;
mod facts;
mod indexes;
mod keys;
mod other_services;
mod page;
mod patterns;
mod several_tables;
mod validation;

use crate::check;
use crate::report::Checked;
use crate::run::Progress;
use keywright_model::data::{self, ReadFile, Sample};
use keywright_model::{Faults, Model};

pub use collections_json::collections_json;
pub use entities::{Cardinality, Relation, relations};
pub use facts::kind;
pub use page::{Block, Page, Table};

/// One view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`about` says what each shows")]
pub enum View {
    Patterns,
    Entities,
    Keys,
    Indexes,
    Denormalisation,
    Validation,
    Collections,
    Advice,
    Checklist,
}

/// All views; the first six are the steps of modelling, in their order.
pub const VIEWS: [View; 9] = [
    View::Patterns,
    View::Entities,
    View::Keys,
    View::Indexes,
    View::Denormalisation,
    View::Validation,
    View::Collections,
    View::Advice,
    View::Checklist,
];

/// The views that are steps: list patterns, entities, keys, indexes, denormalisation, validation.
pub const STEPS: usize = 6;

const _: () = assert!(STEPS <= VIEWS.len(), "the steps are views");

impl View {
    /// As the command line spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Patterns => "patterns",
            Self::Entities => "entities",
            Self::Keys => "keys",
            Self::Indexes => "indexes",
            Self::Denormalisation => "denormalisation",
            Self::Validation => "validation",
            Self::Collections => "collections",
            Self::Advice => "advice",
            Self::Checklist => "checklist",
        }
    }

    /// A one-line description.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Patterns => "Step 1: the reads and writes, with rates, sizes and consistency",
            Self::Entities => "Step 2: the entities and how they relate, drawn",
            Self::Keys => "Step 3: the key template of every entity in the table and every index",
            Self::Indexes => "Step 4: the indexes, who is in them and which patterns they serve",
            Self::Denormalisation => "Step 5: the copied attributes, who updates them, and what that writes",
            Self::Validation => "Step 6: pattern, operation, index and result of the run",
            Self::Collections => {
                "The item collections of every table and index; --pattern marks what it reads"
            }
            Self::Advice => {
                "Sparse indexes, splits, shards, time to live, other tables and services, where numbers speak for them"
            }
            Self::Checklist => "What a table needs before production",
        }
    }
}

/// A model with everything that views show.
#[derive(Clone, Debug)]
pub struct Looked<'a> {
    /// The model.
    pub model: &'a Model,
    /// Its items, as loaded.
    pub samples: Vec<Sample>,
    /// Its run, and what the rules say of it.
    pub checked: Checked,
}

impl<'a> Looked<'a> {
    /// Runs a model, applies the rules, and keeps its items.
    pub fn at(
        model: &'a Model,
        read_file: ReadFile<'_>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, Faults> {
        let samples = data::load(model, read_file)?;
        let checked = check(model, read_file, progress)?;
        Ok(Self { model, samples, checked })
    }

    /// A model that has been run, with its items.
    pub fn of(model: &'a Model, checked: Checked) -> Self {
        Self { model, samples: checked.report.samples.clone(), checked }
    }

    /// A view's page. In the item collections, `pattern` marks the items that it reads and returns.
    pub fn show(&self, view: View, pattern: Option<&str>) -> Page {
        match view {
            View::Patterns => patterns::page(self),
            View::Entities => entities::page(self),
            View::Keys => keys::page(self),
            View::Indexes => indexes::page(self),
            View::Denormalisation => denormalisation::page(self),
            View::Validation => validation::page(self),
            View::Collections => collections::page(self, pattern),
            View::Advice => advice::page(self),
            View::Checklist => checklist::page(self),
        }
    }
}
