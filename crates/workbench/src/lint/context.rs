//! What every rule looks at, and the questions many of them ask.

use crate::model::{At, Entity, Index, Model, Pattern, Read, Table, Template};
use crate::run::{PatternReport, Report};

use super::{Finding, Severity};

/// A model and its run.
pub struct Context<'a> {
    pub model: &'a Model,
    pub report: &'a Report,
}

impl<'a> Context<'a> {
    pub fn new(model: &'a Model, report: &'a Report) -> Self {
        Self { model, report }
    }

    /// Every question with what its run measured.
    pub(super) fn reads(&self) -> impl Iterator<Item = (&'a Pattern, &'a Read, &'a PatternReport)> {
        self.model
            .patterns
            .iter()
            .filter_map(|pattern| Some((pattern, pattern.read()?, self.report.pattern(&pattern.id)?)))
    }

    /// Every entity with its table.
    pub(super) fn entities(&self) -> impl Iterator<Item = (&'a Table, &'a Entity)> {
        self.model.entities.iter().filter_map(|entity| Some((self.model.table(&entity.table)?, entity)))
    }

    /// Every index with its table.
    pub(super) fn indexes(&self) -> impl Iterator<Item = (&'a Table, &'a Index)> {
        self.model.tables.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
    }

    /// The templates of an entity's key in the table (`None`) or an index: partition and sort.
    pub(super) fn key(
        table: &Table,
        index: Option<&Index>,
        entity: &Entity,
    ) -> Option<(Vec<Template>, Vec<Template>)> {
        let fill = |names: Vec<&String>| {
            names.into_iter().map(|name| entity.template(name)).collect::<Option<Vec<_>>>()
        };
        match index {
            None => Some((
                fill(vec![&table.partition.name])?,
                fill(table.sort.iter().map(|part| &part.name).collect())?,
            )),
            Some(index) => Some((
                fill(index.partition.iter().map(|part| &part.name).collect())?,
                fill(index.sort.iter().map(|part| &part.name).collect())?,
            )),
        }
    }
}

/// A finding of a rule.
pub(super) fn finding(
    rule: &'static str,
    severity: Severity,
    at: At,
    subject: &str,
    text: impl Into<String>,
    fix: impl Into<String>,
) -> Finding {
    Finding { rule, severity, at, subject: subject.to_owned(), text: text.into(), fix: fix.into() }
}
