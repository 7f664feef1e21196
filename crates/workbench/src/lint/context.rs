//! The input of every rule, and helpers that many rules share.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::size::value_bytes;
use keywright_semantics::value::Item;

use crate::run::{Measured, PatternReport, Report, measure};
use keywright_model::data::key_text;
use keywright_model::{
    At, Attribute, Entity, Index, Model, Operation, Pattern, Projection, Read, Table, Template, Write,
};

use super::{Finding, Severity};

/// A model and its run.
pub struct Context<'a> {
    /// The model as written.
    pub model: &'a Model,
    /// Its run on the sample.
    pub report: &'a Report,
    /// The items that were loaded, by entity.
    items: BTreeMap<&'a str, Vec<&'a Item>>,
    /// The declared workload, metered when the first rule needs it; `None` if it cannot be metered.
    measured: OnceCell<Option<Measured>>,
}

impl<'a> Context<'a> {
    /// Everything that rules ask for more than once, derived from a model and its run.
    pub fn new(model: &'a Model, report: &'a Report) -> Self {
        let mut items: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for sample in &report.samples {
            if let Some(entity) = &sample.entity {
                items.entry(entity).or_default().push(&sample.item);
            }
        }
        Self { model, report, items, measured: OnceCell::new() }
    }

    /// What the declared workload consumes, as `cost` and `heat` meter it.
    pub(super) fn measured(&self) -> Option<&Measured> {
        self.measured.get_or_init(|| measure(self.model, &self.report.samples).ok()).as_ref()
    }

    /// Every read pattern with its measured run.
    pub(super) fn reads(&self) -> impl Iterator<Item = (&'a Pattern, &'a Read, &'a PatternReport)> {
        self.model
            .patterns
            .iter()
            .filter_map(|pattern| Some((pattern, pattern.read()?, self.report.pattern(&pattern.id)?)))
    }

    /// Every step of every write pattern.
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

    /// Every entity in every partition key that holds it: the table's (`None`) and the indexes'.
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

    /// One entity's templates for the sort key that a pattern's read uses.
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

    /// The key attributes of the table or index that a pattern reads.
    pub(super) fn key_names(&self, report: &PatternReport) -> Vec<String> {
        let Some(table) = self.model.table(&report.table) else { return Vec::new() };
        match report.index.as_ref().and_then(|name| table.index(name)) {
            Some(index) => index.key_parts().map(|part| part.name.clone()).collect(),
            None => table.key_parts().map(|part| part.name.clone()).collect(),
        }
    }

    /// The text values of an attribute in the loaded items of some entities. Generated items are left out:
    /// they only repeat what the model declares.
    pub(super) fn recorded(&self, entities: &[String], name: &str) -> Vec<String> {
        if self.model.data.generate.is_some() {
            let records = self.model.data.records.iter().filter(|records| entities.contains(&records.entity));
            let records = records.flat_map(|records| &records.records);
            return records.filter_map(|record| record.get(name)?.scalar()).collect();
        }
        let items = entities.iter().flat_map(|entity| self.items(entity));
        items.filter_map(|item| key_text(item.get(name)?)).collect()
    }

    /// The text values of an entity's key attribute as imported: from a table in use, not from the author's
    /// examples.
    pub(super) fn stored(&self, entity: &Entity, key: &str) -> Vec<String> {
        let data = &self.model.data;
        let imported = data.items.iter().any(|raw| raw.table == entity.table)
            && !data.records.iter().any(|records| records.entity == entity.name)
            && data.generate.is_none();
        let items = self.items(&entity.name).filter(|_| imported);
        items.filter_map(|item| key_text(item.get(key)?)).collect()
    }

    /// The number of distinct values of an attribute in the loaded items of some entities, and the number of
    /// items that have it.
    pub(super) fn variety(&self, entities: &[String], name: &str) -> (usize, usize) {
        let items = entities.iter().flat_map(|entity| self.items(entity));
        let values: Vec<String> = items.filter_map(|item| key_text(item.get(name)?)).collect();
        (values.iter().collect::<BTreeSet<_>>().len(), values.len())
    }

    pub(super) fn attribute(&self, entities: &[String], name: &str) -> Option<&'a Attribute> {
        entities.iter().find_map(|entity| self.model.entity(entity)?.attribute(name))
    }

    /// Average size of an item: declared for the item or its attributes, else the sample's.
    pub(super) fn bytes(&self, entity: &Entity) -> Option<u64> {
        entity.size_bytes.or_else(|| {
            let whole = |_: &str| true;
            self.sized(entity, &whole)
        })
    }

    /// The size that an item can have: by the sample or by its declarations, which are the entity's largest
    /// size, else its average or the sum of its attributes' sizes. No item is smaller than one of its
    /// attributes.
    pub(super) fn bytes_max(&self, entity: &Entity) -> u64 {
        let sampled = self.report.entity(&entity.name).map_or(0, |report| report.bytes_max);
        let sizes = entity.attributes.iter().filter_map(|own| Some((&own.name, own.size_bytes?)));
        let stored = sizes.map(|(name, bytes)| bytes.saturating_add(count(name.len())));
        let (sum, largest) =
            stored.fold((0_u64, 0), |(sum, largest), bytes| (sum.saturating_add(bytes), bytes.max(largest)));
        let declared = entity.size_bytes_max.unwrap_or_else(|| entity.size_bytes.unwrap_or(0).max(sum));
        declared.max(largest).max(sampled)
    }

    /// Average bytes that an item adds to an index: zero if it is not in it.
    pub(super) fn entry_bytes(&self, table: &Table, index: &Index, entity: &Entity) -> u64 {
        let key = |name: &str| table.key_parts().chain(index.key_parts()).any(|part| part.name == name);
        let held = |name: &str| match &index.projection {
            Projection::All => true,
            Projection::KeysOnly => key(name),
            Projection::Include(names) => key(name) || names.contains(name),
        };
        let whole = if index.projection == Projection::All { entity.size_bytes } else { None };
        let bytes = whole.or_else(|| self.sized(entity, &held)).unwrap_or(0);
        let items: Vec<&Item> = self.items(&entity.name).collect();
        let inside = items.iter().filter(|item| index.key_parts().all(|part| item.contains_key(&part.name)));
        let (inside, all) = (inside.count(), items.len());
        match (u64::try_from(inside), u64::try_from(all)) {
            (Ok(inside), Ok(all)) if all > 0 => (u128::from(bytes) * u128::from(inside))
                .div_ceil(u128::from(all))
                .try_into()
                .unwrap_or(u64::MAX),
            _ if index.key_parts().all(|part| entity.template(&part.name).is_some()) => bytes,
            _ => 0,
        }
    }

    /// Average bytes of some attributes of an item: for each its declared size, else the sample's; `None` if
    /// there is neither sample nor declaration.
    fn sized(&self, entity: &Entity, held: &dyn Fn(&str) -> bool) -> Option<u64> {
        let items: Vec<&Item> = self.items(&entity.name).collect();
        let declared = |name: &str| entity.attribute(name).and_then(|attribute| attribute.size_bytes);
        let number = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let mut measured: u64 = 0;
        let mut names = BTreeSet::new();
        for (name, value) in items.iter().flat_map(|item| item.iter()).filter(|(name, _)| held(name)) {
            names.insert(name.as_str());
            let value = declared(name).unwrap_or_else(|| count(value_bytes(value)));
            measured = measured.saturating_add(count(name.len())).saturating_add(value);
        }
        let average = if number == 0 { 0 } else { measured.div_ceil(number) };
        // Attributes that no sampled item has still count with their declared size.
        let absent =
            entity.attributes.iter().filter(|own| held(&own.name) && !names.contains(own.name.as_str()));
        let absent: Vec<u64> = absent
            .filter(|own| number == 0 && own.present_ppm.is_none())
            .filter_map(|own| Some(count(own.name.len()) + own.size_bytes?))
            .collect();
        (number > 0 || !absent.is_empty()).then(|| average + absent.iter().sum::<u64>())
    }

    /// The items of an entity that were loaded.
    pub(super) fn items(&self, entity: &str) -> impl Iterator<Item = &'a Item> {
        self.items.get(entity).into_iter().flatten().copied()
    }

    /// The number of distinct values of an attribute: as declared, or the count of the entity that it
    /// identifies.
    pub(super) fn distinct(&self, entity: &Entity, name: &str) -> Option<u64> {
        self.model.distinct(entity, name)
    }

    /// The number of distinct partition keys that some templates make for an entity; `None` if unknown.
    pub(super) fn partitions(&self, entity: &Entity, templates: &[Template]) -> Option<u64> {
        keywright_model::distribution::different(self.model, entity, templates)
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Every template of an entity, with its key attribute.
pub(super) fn names(entity: &Entity) -> impl Iterator<Item = &(String, Template)> {
    std::iter::once(&entity.key)
        .chain(entity.slots.iter().map(|(_, slot)| slot))
        .flat_map(|slot| &slot.templates)
}

pub(super) fn is_transaction(pattern: &Pattern) -> bool {
    matches!(pattern.operation, Operation::Transact(_))
}

/// A share in whole percent; a share above zero is never shown as 0.
pub(super) fn percent(part: u64, whole: u64) -> String {
    match u128::from(part) * 100 / u128::from(whole.max(1)) {
        0 if part > 0 => "less than 1 %".to_owned(),
        percent => format!("{percent} %"),
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
    Finding {
        rule,
        severity,
        at,
        subject: subject.to_owned(),
        text: text.into(),
        fix: fix.into(),
        alike: Vec::new(),
    }
}
