//! What every rule looks at, and the questions many of them ask.

use crate::model::{
    At, Attribute, AttributeFormat, Entity, Index, Model, Operation, Pattern, Read, Table, Template, Write,
};
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

    /// Every step of every change.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&'a Pattern, &'a Write, &'a Entity)> {
        let model = self.model;
        model.patterns.iter().flat_map(move |pattern| {
            pattern.steps().iter().filter_map(move |step| Some((pattern, step, model.entity(&step.entity)?)))
        })
    }

    /// Every entity with its table.
    pub(super) fn entities(&self) -> impl Iterator<Item = (&'a Table, &'a Entity)> {
        self.model.entities.iter().filter_map(|entity| Some((self.model.table(&entity.table)?, entity)))
    }

    /// Every index with its table.
    pub(super) fn indexes(&self) -> impl Iterator<Item = (&'a Table, &'a Index)> {
        self.model.tables.iter().flat_map(|table| table.indexes.iter().map(move |index| (table, index)))
    }

    /// Every entity in every key that holds it: the table's (`None`) and the indexes'.
    pub(super) fn each_partition(
        &self,
        mut visit: impl FnMut(&'a Table, Option<&'a Index>, &'a Entity, &[Template]),
    ) {
        for (table, index, entity, templates) in crate::heat::keys(self.model) {
            visit(table, index, entity, &templates);
        }
    }

    /// The templates of an entity's sort keys in the table and every index.
    pub(super) fn all_sort_templates(&self, table: &Table, entity: &Entity) -> Vec<Template> {
        let _ = self;
        let own = table.sort.iter().filter_map(|part| entity.template(&part.name));
        let indexed =
            table.indexes.iter().flat_map(|index| &index.sort).filter_map(|part| entity.template(&part.name));
        own.chain(indexed).collect()
    }

    /// The templates of all partition keys of some entities.
    pub(super) fn partition_templates(&self, entities: &[String]) -> Vec<Template> {
        let mut all = Vec::new();
        self.each_partition(|_, _, entity, templates| {
            if entities.contains(&entity.name) {
                all.extend(templates.iter().cloned());
            }
        });
        all
    }

    /// The templates of the sort key that a pattern's path has, for one entity.
    pub(super) fn sort_of(&self, entity: &Entity, report: &PatternReport) -> Vec<Template> {
        let Some(table) = self.model.table(&report.table) else { return Vec::new() };
        let parts = match report.index.as_ref().and_then(|name| table.index(name)) {
            Some(index) => index.sort.as_slice(),
            None => table.sort.as_slice(),
        };
        parts.iter().filter_map(|part| entity.template(&part.name)).collect()
    }

    /// The same for all entities of the pattern.
    pub(super) fn sort_templates(&self, report: &PatternReport) -> Vec<Template> {
        let entities = report.entities.iter().filter_map(|name| self.model.entity(name));
        entities.flat_map(|entity| self.sort_of(entity, report)).collect()
    }

    /// The key attributes of a pattern's path.
    pub(super) fn key_names(&self, report: &PatternReport) -> Vec<String> {
        let Some(table) = self.model.table(&report.table) else { return Vec::new() };
        match report.index.as_ref().and_then(|name| table.index(name)) {
            Some(index) => index.key_parts().map(|part| part.name.clone()).collect(),
            None => table.key_parts().map(|part| part.name.clone()).collect(),
        }
    }

    /// The texts that the model's own records have for an attribute of some entities.
    pub(super) fn recorded(&self, entities: &[String], name: &str) -> Vec<String> {
        let records = self.model.data.records.iter().filter(|records| entities.contains(&records.entity));
        records.flat_map(|records| &records.records).filter_map(|record| record.get(name)?.scalar()).collect()
    }

    pub(super) fn attribute(&self, entities: &[String], name: &str) -> Option<&'a Attribute> {
        entities.iter().find_map(|entity| self.model.entity(entity)?.attribute(name))
    }

    /// Average size of an item: the author's word, else the sample's.
    pub(super) fn bytes(&self, entity: &Entity) -> Option<u64> {
        entity.size_bytes.or_else(|| self.report.entity(&entity.name)?.bytes_average())
    }

    /// How many different values an attribute has: the author's word, or the count of the entity it identifies.
    pub(super) fn distinct(&self, entity: &Entity, name: &str) -> Option<u64> {
        crate::heat::distinct(self.model, entity, name)
    }

    /// How many different partition keys some templates make of an entity; `None` when unknown.
    pub(super) fn partitions(&self, entity: &Entity, templates: &[Template]) -> Option<u64> {
        let mut product: u64 = 1;
        for template in templates {
            for part in &template.parts {
                let factor = match part {
                    crate::model::Part::Literal(_) => 1,
                    crate::model::Part::Attribute { name, .. } => self.distinct(entity, name)?,
                    crate::model::Part::Shard { shards, .. } => u64::from(*shards),
                };
                product = product.saturating_mul(factor);
            }
        }
        Some(product)
    }
}

/// Every template of an entity, with its key attribute.
pub(super) fn names(entity: &Entity) -> impl Iterator<Item = &(String, Template)> {
    std::iter::once(&entity.key)
        .chain(entity.slots.iter().map(|(_, slot)| slot))
        .flat_map(|slot| &slot.templates)
}

pub(super) const fn is_time(format: AttributeFormat) -> bool {
    matches!(
        format,
        AttributeFormat::Iso8601
            | AttributeFormat::Date
            | AttributeFormat::EpochMs
            | AttributeFormat::EpochSeconds
            | AttributeFormat::LocalTime
    )
}

/// The words of an expression.
pub(super) fn words(expression: &str) -> Vec<String> {
    expression
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'))
        .filter(|word| !word.is_empty() && !word.starts_with(':'))
        .map(str::to_owned)
        .collect()
}

/// The attributes that a change assigns.
pub(super) fn assigned(step: &Write) -> Vec<String> {
    let set = step.set.iter().flat_map(|text| text.split(','));
    let set = set.filter_map(|clause| clause.split('=').next()).flat_map(words);
    let others = step.add.iter().chain(&step.remove).flat_map(|text| text.split(','));
    set.chain(others.filter_map(|clause| words(clause).into_iter().next())).collect()
}

pub(super) fn is_transaction(pattern: &Pattern) -> bool {
    matches!(pattern.operation, Operation::Transact(_))
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
