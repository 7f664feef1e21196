//! The part of a write that concerns one item: its key, and its expressions with values that let it run.

use std::collections::BTreeSet;

use keywright_semantics::request::parts::ValuePart;
use keywright_semantics::value::{AttributeValue, Item};

use super::derive::derived;
use super::example::placeholder;
use super::names::Names;
use super::placeholders::Inventor;
use keywright_model::expression::{ConditionExpression, Effect, Section};
use keywright_model::{Condition, Consistency, Entity, Node, Table, Write, WriteKind};

/// The part of a write that concerns one item.
pub(super) struct Action<'a> {
    pub(super) step: usize,
    pub(super) kind: WriteKind,
    pub(super) consistency: Consistency,
    pub(super) table: &'a Table,
    pub(super) entity: &'a Entity,
    pub(super) key: Item,
    pub(super) item: Item,
    /// The stored item that a conditional put runs on.
    pub(super) replaced: Option<Item>,
    /// Whether the stored item with this key is removed first, because no unused key is left.
    pub(super) vacated: bool,
    pub(super) condition: Option<String>,
    pub(super) update: String,
    pub(super) names: Names,
    pub(super) values: Vec<(String, ValuePart)>,
}

impl Action<'_> {
    /// Condition and update as expressions with placeholders, and their values.
    pub(super) fn express(
        &mut self,
        step: &Write,
        example: &[(String, Node)],
        inventor: &Inventor<'_, '_>,
    ) -> Result<(), String> {
        self.invent(step, example, inventor);
        self.stay(step, example, inventor);
        self.open(step, example);
        let partition = self.table.partition.name.clone();
        self.condition = match &step.condition {
            None => None,
            Some(Condition::NotExists) => {
                let name = self.names.placeholder(&partition);
                Some(format!("attribute_not_exists({name})"))
            }
            Some(Condition::Exists) => {
                let name = self.names.placeholder(&partition);
                Some(format!("attribute_exists({name})"))
            }
            Some(Condition::Expression(condition)) => {
                self.fill(&condition.values(), &condition.meanings(), example)?;
                Some(condition.render(|name| self.names.placeholder(name)))
            }
        };
        let mut update = Vec::new();
        for section in [Section::Set, Section::Remove, Section::Add, Section::Delete] {
            let effects: Vec<&Effect> = step.section(section).collect();
            let meanings: Vec<(&str, &str)> = effects.iter().flat_map(|effect| effect.meanings()).collect();
            let values: Vec<&str> = effects.iter().flat_map(|effect| effect.values()).collect();
            self.fill(&values, &meanings, example)?;
            let names = &mut self.names;
            let texts: Vec<String> =
                effects.iter().map(|effect| effect.render(|name| names.placeholder(name))).collect();
            if !texts.is_empty() {
                update.push(format!("{} {}", section.name(), texts.join(", ")));
            }
        }
        let placeholders: BTreeSet<&str> = self.values.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(placeholders.len(), self.values.len(), "a placeholder has one value");
        self.update = update.join(" ");
        if self.kind == WriteKind::Update && self.update.is_empty() {
            return Err("an update changes something: write `set: \"attribute = :value\"`".to_owned());
        }
        Ok(())
    }

    /// Values that an update sets and the example leaves out: different from the stored ones, or the update
    /// would change nothing. A value that the condition requires to be the stored one stays.
    fn invent(&mut self, step: &Write, example: &[(String, Node)], inventor: &Inventor<'_, '_>) {
        let equal = step.expression().map(ConditionExpression::equal).unwrap_or_default();
        let (own, made): (Vec<_>, Vec<_>) =
            step.assigned().partition(|(attribute, _)| self.entity.attribute(attribute).is_some());
        // A placeholder that sets several attributes has one value: an attribute's takes precedence over that
        // of a key made of it.
        for (attribute, name) in own.into_iter().chain(made) {
            let placeholder = format!(":{name}");
            let given = example.iter().any(|(known, _)| known == name)
                || self.values.iter().any(|(known, _)| *known == placeholder);
            if given || equal.contains(&(attribute, name)) {
                continue;
            }
            if let Some(value) = inventor.other_than(attribute, self.item.get(attribute)) {
                self.values.push((placeholder, Ok(value)));
            }
        }
    }

    /// A value that the condition requires to be equal and the example leaves out is the stored one, as if it
    /// had been read; one that must be unequal is another value.
    fn stay(&mut self, step: &Write, example: &[(String, Node)], inventor: &Inventor<'_, '_>) {
        let Some(condition) = step.expression() else { return };
        let equal = condition.equal().into_iter().map(|pair| (pair, true));
        let unequal = condition.unequal().into_iter().map(|pair| (pair, false));
        for ((attribute, name), equal) in equal.chain(unequal) {
            let placeholder = format!(":{name}");
            let known = example.iter().any(|(known, _)| known == name)
                || self.values.iter().any(|(known, _)| *known == placeholder);
            let stored = self.found().get(attribute);
            let value = if equal { stored.cloned() } else { inventor.other_than(attribute, stored) };
            if let (false, Some(value)) = (known, value) {
                self.values.push((placeholder, Ok(value)));
            }
        }
    }

    /// Keys that the update sets and the stored item lacks have no value yet.
    fn open(&mut self, step: &Write, example: &[(String, Node)]) {
        let made = derived(self.table, self.entity, step, example);
        for own in made.into_iter().filter(|own| own.owner.is_none()) {
            let known = self.values.iter().any(|(known, _)| *known == own.placeholder);
            if !known && !self.item.contains_key(&own.attribute) {
                self.values.push((own.placeholder, Ok(AttributeValue::from("x"))));
            }
        }
    }

    /// Gives values to placeholders of an expression that have none.
    fn fill(
        &mut self,
        names: &[&str],
        meanings: &[(&str, &str)],
        example: &[(String, Node)],
    ) -> Result<(), String> {
        for name in names {
            let placeholder_name = format!(":{name}");
            if self.values.iter().any(|(known, _)| *known == placeholder_name) {
                continue;
            }
            let value = placeholder(&[self.entity], meanings, name, example, Some(self.found()))?;
            self.values.push((placeholder_name, Ok(value)));
        }
        Ok(())
    }

    /// The stored item that its condition applies to.
    pub(super) fn found(&self) -> &Item {
        self.replaced.as_ref().unwrap_or(&self.item)
    }

    pub(super) fn some_values(&self) -> Option<Vec<(String, ValuePart)>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}
