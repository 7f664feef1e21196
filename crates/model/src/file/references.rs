//! Checks that everything a model refers to exists.

use std::collections::BTreeSet;

use super::ast::{
    Entity, Index, IndexKind, KeyAttribute, Model, Operation, Pattern, Read, ReadKind, Slot, Table, Write,
    WriteKind,
};
use super::fault::At;
use super::read::Reader;
use super::read_pattern::{SECTIONS, TARGETS, repeated};
use crate::expression::ConditionExpression;
use crate::template::Template;
use keywright_semantics::limits::{TABLE_NAME_BYTES_MAX, TABLE_NAME_BYTES_MIN};

pub(super) fn check(reader: &mut Reader, model: &Model) {
    for table in &model.tables {
        check_table(reader, model, table);
    }
    for entity in &model.entities {
        check_entity(reader, model, entity);
    }
    for (id, at) in repeated(&model.patterns) {
        reader.fault(at, format!("a second pattern has the id `{id}`"));
    }
    for pattern in &model.patterns {
        check_pattern(reader, model, pattern);
    }
    for records in &model.data.records {
        let _ = entity(reader, model, records.at, &records.entity);
    }
    for items in &model.data.items {
        if model.table(&items.table).is_none() {
            unknown(reader, items.at, "table", &items.table, model.tables.iter().map(|table| &*table.name));
        }
    }
}

fn unknown<'a>(
    reader: &mut Reader,
    at: At,
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) {
    if reader.is_broken(name) {
        return;
    }
    let hint = reader.hint(name, known);
    reader.unknown(at, name, format!("there is no {kind} `{name}`{hint}"));
}

fn entity<'a>(reader: &mut Reader, model: &'a Model, at: At, name: &str) -> Option<&'a Entity> {
    let found = model.entity(name);
    if found.is_none() {
        unknown(reader, at, "entity", name, model.entities.iter().map(|entity| &*entity.name));
    }
    found
}

fn check_table(reader: &mut Reader, model: &Model, table: &Table) {
    check_name(reader, table.at, "a table", &table.name);
    for index in &table.indexes {
        check_index(reader, model, table, index);
    }
    let mut types: Vec<&KeyAttribute> = Vec::new();
    for part in table.key_parts().chain(table.indexes.iter().flat_map(Index::key_parts)) {
        match types.iter().find(|other| other.name == part.name) {
            Some(other) if other.key_type != part.key_type => {
                reader.fault(table.at, format!("key attribute `{}` has two types", part.name));
            }
            Some(_) => {}
            None => types.push(part),
        }
    }
}

/// The naming rule for tables and indexes (developer guide: `HowItWorks.NamingRulesDataTypes`).
fn check_name(reader: &mut Reader, at: At, what: &str, name: &str) {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
    if !letters || !(TABLE_NAME_BYTES_MIN..=TABLE_NAME_BYTES_MAX).contains(&name.len()) {
        let text = format!(
            "`{name}` cannot be the name of {what}: write {TABLE_NAME_BYTES_MIN} to {TABLE_NAME_BYTES_MAX} of a-z, A-Z, 0-9, `_`, `-` and `.`"
        );
        reader.fault(at, text);
    }
}

/// A key attribute of an index must be filled by a slot or be an
/// attribute of some entity; otherwise the index stays empty.
fn check_index(reader: &mut Reader, model: &Model, table: &Table, index: &Index) {
    check_name(reader, index.at, "an index", &index.name);
    let names: Vec<&str> = index.key_parts().map(|part| part.name.as_str()).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    if distinct.len() < names.len() {
        reader.fault(index.at, format!("index `{}` names a key attribute twice", index.name));
    }
    for name in names {
        let known = table.key_parts().any(|part| part.name == name)
            || model.entities_of(&table.name).any(|entity| entity.template(name).is_some());
        if !known && !model.entities.is_empty() {
            let text = format!(
                "no entity has a value for `{name}`, a key attribute of index `{}`: write `{}: {{pk: \"…\", sk: \"…\"}}` in an entity",
                index.name, index.name
            );
            reader.fault(index.at, text);
        }
    }
}

fn check_entity(reader: &mut Reader, model: &Model, this: &Entity) {
    let mut seen = BTreeSet::new();
    for attribute in &this.attributes {
        if !seen.insert(attribute.name.as_str()) {
            reader.fault(attribute.at, format!("attribute `{}` is there twice", attribute.name));
        }
    }
    for parent in &this.parents {
        let at = reader.place(this.at, &["parent"]);
        let found = entity(reader, model, at, parent);
        if found.is_some_and(|found| is_below(model, found, this)) {
            let what = if *parent == this.name {
                format!("`{parent}` cannot be its own parent")
            } else {
                format!("`{parent}` is itself below `{}`", this.name)
            };
            reader.fault(
                at,
                format!("{what}: a parent is the item that this one belongs to, and whose key it repeats; leave it out"),
            );
        }
    }
    for attribute in &this.attributes {
        let Some((source, name)) = &attribute.copy_of else { continue };
        if let Some(source) = entity(reader, model, attribute.at, source) {
            known_attribute(reader, attribute.at, source, name);
        }
    }
    let skewed = this.skew.iter().map(|(name, _)| (name, "skew"));
    let owner = this.owner.iter().map(|name| (name, "owner"));
    let unique = this.unique.iter().flatten().map(|name| (name, "unique"));
    for (name, field) in skewed.chain(owner).chain(unique) {
        let at = reader.place(this.at, &[field]);
        known_attribute(reader, at, this, name);
    }
    check_slots(reader, model, this);
}

/// Whether an entity is the other one, or has it among its direct or indirect parents.
fn is_below(model: &Model, entity: &Entity, other: &Entity) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![entity.name.as_str()];
    while let Some(name) = open.pop() {
        if name == other.name {
            return true;
        }
        if seen.insert(name) {
            let parents = model.entity(name).map(|known| known.parents.as_slice()).unwrap_or_default();
            open.extend(parents.iter().map(String::as_str));
        }
    }
    false
}

fn check_slots(reader: &mut Reader, model: &Model, this: &Entity) {
    if this.table.is_empty() {
        return;
    }
    let Some(table) = model.table(&this.table) else {
        let known = model.tables.iter().map(|table| &*table.name);
        let at = reader.place(this.at, &["table"]);
        return unknown(reader, at, "table", &this.table, known);
    };
    check_names(reader, table, this);
    check_slot(reader, this, &this.key, table.key_parts());
    for (name, slot) in &this.slots {
        if let Some(index) = table.index(name) {
            // An entry of a local index is in its item's partition:
            // the slot shares the table's partition template.
            let shared = |part: &&KeyAttribute| {
                index.kind == IndexKind::Local && this.key.template(&part.name).is_some()
            };
            check_slot(reader, this, slot, index.key_parts().filter(|part| !shared(part)));
            continue;
        }
        if reader.is_broken(name) {
            continue;
        }
        let known = table.indexes.iter().map(|index| &*index.name);
        let fields = super::read_entity::ENTITY_FIELDS.iter().copied();
        let hint = reader.hint(name, known.chain(fields));
        let text = format!("`{name}` is no field of an entity and no index of `{}`{hint}", table.name);
        reader.fault(slot.at, text);
    }
}

/// An attribute has only one value: an entity's own attribute cannot have the name of a key attribute that
/// another template fills. Where the entity has no key yet, this applies to the key that is to be found.
fn check_names(reader: &mut Reader, table: &Table, this: &Entity) {
    let written = |name: &str| {
        let slots = std::iter::once(&this.key).chain(this.slots.iter().map(|(_, slot)| slot));
        slots
            .into_iter()
            .find_map(|slot| slot.template(name))
            .filter(|template| template.whole() != Some(name))
    };
    let keyless = table.key_parts().any(|part| this.template(&part.name).is_none());
    for attribute in &this.attributes {
        let name = attribute.name.as_str();
        let text = if let Some(template) = written(name) {
            format!(
                "`{name}` is a key attribute of `{}`, and `{}` writes `{template}` into it: give the attribute another name, or write `{name}: \"{{{name}}}\"`",
                table.name, this.name
            )
        } else if keyless && this.key.templates.is_empty() && table.key_parts().any(|part| part.name == name)
        {
            format!(
                "`{name}` is a key attribute of `{}`, into which a key of `{}` is to be written: give the attribute another name",
                table.name, this.name
            )
        } else {
            continue;
        };
        reader.fault(attribute.at, text);
    }
}

fn check_slot<'a>(
    reader: &mut Reader,
    this: &Entity,
    slot: &Slot,
    parts: impl Iterator<Item = &'a KeyAttribute>,
) {
    let mut missing = Vec::new();
    for part in parts {
        if slot.template(&part.name).is_none() && this.attribute(&part.name).is_none() {
            missing.push(part.name.clone());
        }
    }
    if !missing.is_empty() && !slot.templates.is_empty() {
        let write: Vec<String> = missing.iter().map(|name| format!("{name}: \"…\"")).collect();
        let text = format!(
            "`{}` has no template for {}: write `{}`",
            this.name,
            missing.join(" and "),
            write.join(", ")
        );
        reader.fault(slot.at, text);
    }
    for (_, template) in &slot.templates {
        check_template(reader, slot.at, this, template);
    }
}

fn check_template(reader: &mut Reader, at: At, this: &Entity, template: &Template) {
    for name in template.attributes() {
        if this.attribute(name).is_none() {
            let hint = reader.hint(name, this.attributes.iter().map(|attribute| &*attribute.name));
            let text = format!("`{template}`: `{}` has no attribute `{name}`{hint}", this.name);
            reader.unknown(at, name, text);
        }
    }
}

/// Key attributes count as attributes here: a filter or a list of returned attributes can name them.
fn known_attribute(reader: &mut Reader, at: At, this: &Entity, name: &str) {
    if this.attribute(name).is_none() && this.template(name).is_none() {
        let hint = reader.hint(name, this.attributes.iter().map(|attribute| &*attribute.name));
        reader.unknown(at, name, format!("`{}` has no attribute `{name}`{hint}", this.name));
    }
}

fn check_pattern(reader: &mut Reader, model: &Model, pattern: &Pattern) {
    match &pattern.operation {
        Operation::Read(read) => check_read(reader, model, pattern, read),
        Operation::Write(write) => {
            check_step(reader, model, write);
            check_examples_of_steps(reader, model, pattern);
        }
        Operation::Transact(steps) | Operation::Batch(steps) => {
            for step in steps {
                check_step(reader, model, step);
            }
            check_examples_of_steps(reader, model, pattern);
        }
    }
    let fails = pattern.expect.as_ref().and_then(|expect| expect.fails.as_ref());
    if let (Some(expect), Some(fails)) = (&pattern.expect, fails) {
        check_reasons(reader, pattern, expect.at, &fails.reasons);
    }
    for (name, attribute, _) in fails.map(|fails| fails.when.as_slice()).unwrap_or_default() {
        let at = reader.place(pattern.at, &["expect"]);
        if let Some(this) = entity(reader, model, at, name) {
            known_attribute(reader, at, this, attribute);
        }
    }
}

/// `after` must name writes.
fn check_after(reader: &mut Reader, model: &Model, pattern: &Pattern) {
    let writes = model.patterns.iter().filter(|other| {
        other.steps().iter().any(|step| !matches!(step.kind, WriteKind::Get | WriteKind::Check))
    });
    let writes: Vec<&str> = writes.map(|other| other.id.as_str()).collect();
    for name in pattern.after.iter().filter(|name| !writes.contains(&name.as_str())) {
        let at = reader.place(pattern.at, &["after"]);
        unknown(reader, at, "write", name, writes.iter().copied());
    }
}

fn check_read(reader: &mut Reader, model: &Model, pattern: &Pattern, read: &Read) {
    check_after(reader, model, pattern);
    let target = reader.place(pattern.at, TARGETS);
    let entities: Vec<&Entity> =
        read.entities.iter().filter_map(|name| entity(reader, model, target, name)).collect();
    if entities.len() < read.entities.len() {
        return;
    }
    let Some(first) = entities.first() else {
        let text = format!("pattern `{}` returns no entity: write its name", pattern.id);
        return reader.fault(target, text);
    };
    if entities.iter().any(|other| other.table != first.table) {
        let text = format!("pattern `{}` reads several tables: one request reads one", pattern.id);
        reader.fault(target, text);
    }
    if read.kind == ReadKind::Get && entities.len() > 1 {
        reader.fault(target, format!("pattern `{}`: a get returns one entity; write `query`", pattern.id));
    }
    for given in &read.given {
        if !entities.iter().any(|entity| entity.attribute(&given.attribute).is_some()) {
            known_attribute(reader, given.at, first, &given.attribute);
        }
    }
    if let Some(by) = &read.order_by
        && !entities.iter().any(|entity| entity.attribute(&by.attribute).is_some())
    {
        known_attribute(reader, by.at, first, &by.attribute);
    }
    for name in &read.attributes {
        let at = reader.place(pattern.at, &["attributes"]);
        known_to_one(reader, at, &entities, name);
    }
    if let Some(filter) = &read.filter {
        let names = (filter.attributes(), filter.name_placeholders());
        check_expression(reader, pattern.at, "filter", &entities, names);
    }
    let values = read.filter.iter().flat_map(ConditionExpression::values).collect();
    check_example(reader, pattern, &entities, &values);
    check_expected(reader, model, pattern, first);
    check_uses(reader, model, pattern, first);
    if let (ReadKind::Get, Some(uses)) = (read.kind, &pattern.uses)
        && *uses != first.table
    {
        let at = reader.place(pattern.at, &["uses"]);
        reader.fault(at, format!("a get reads the table by its key, not `{uses}`: write `query`"));
    }
}

/// One of the entities must have the attribute. A key attribute of any of them is accepted.
fn known_to_one(reader: &mut Reader, at: At, entities: &[&Entity], name: &str) {
    let known = |entity: &&Entity| entity.attribute(name).is_some() || entity.template(name).is_some();
    let [first, ..] = entities else { return };
    if entities.iter().any(known) {
        return;
    }
    let attributes = entities.iter().flat_map(|entity| &entity.attributes);
    let hint = reader.hint(name, attributes.map(|attribute| &*attribute.name));
    let who: Vec<String> = entities.iter().map(|entity| format!("`{}`", entity.name)).collect();
    let who = if entities.len() > 1 { who.join(" and ") } else { format!("`{}`", first.name) };
    let has = if entities.len() > 1 { "have" } else { "has" };
    reader.unknown(at, name, format!("{who} {has} no attribute `{name}`{hint}"));
}

/// The names in an expression must be attributes; the run creates the name placeholders.
fn check_expression(
    reader: &mut Reader,
    whole: At,
    field: &'static str,
    entities: &[&Entity],
    (attributes, placeholders): (Vec<&str>, Vec<&str>),
) {
    let at = reader.place(whole, &[field]);
    for name in attributes.into_iter().filter(|name| !name.starts_with('#')) {
        known_to_one(reader, at, entities, name);
    }
    for name in placeholders {
        let text = format!(
            "`#{name}` in `{field}`: write the attribute's own name, even if the service reserves it"
        );
        reader.fault(at, text);
    }
}

/// The names in an example must be attributes or placeholders of the pattern's expressions.
fn check_example(reader: &mut Reader, pattern: &Pattern, entities: &[&Entity], bound: &BTreeSet<&str>) {
    for (name, node) in &pattern.example {
        let known = |entity: &&Entity| entity.attribute(name).is_some() || entity.template(name).is_some();
        if bound.contains(name.as_str()) || entities.iter().any(known) {
            continue;
        }
        let attributes = entities.iter().flat_map(|entity| &entity.attributes);
        let hint = reader.hint(name, attributes.map(|own| &*own.name).chain(bound.iter().copied()));
        let text =
            format!("`{name}` in `example` is no attribute and no placeholder of `{}`{hint}", pattern.id);
        reader.unknown(node.at, name, text);
    }
}

/// The keys of expected items must have as many parts as the table's key.
fn check_expected(reader: &mut Reader, model: &Model, pattern: &Pattern, first: &Entity) {
    let (Some(expect), Some(table)) = (&pattern.expect, model.table(&first.table)) else { return };
    let parts: Vec<&str> = table.key_parts().map(|part| part.name.as_str()).collect();
    for row in expect.items.iter().flatten().filter(|row| row.len() != parts.len()) {
        let text = format!(
            "`[{}]` in `expect.items` is no key of `{}`: write `[{}]` for each item",
            row.join(", "),
            table.name,
            parts.join(", ")
        );
        reader.fault(expect.at, text);
    }
}

/// The codes of expected failures.
const REASONS: &[&str] = &[
    "None",
    "ConditionalCheckFailed",
    "ItemCollectionSizeLimitExceeded",
    "TransactionConflict",
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "ValidationError",
    "Validation",
];

fn check_reasons(reader: &mut Reader, pattern: &Pattern, at: At, reasons: &[String]) {
    for reason in reasons.iter().filter(|reason| !REASONS.contains(&reason.as_str())) {
        let hint = reader.hint(reason, REASONS.iter().copied());
        reader.fault(at, format!("`{reason}` in `expect.reason` is no reason to fail{hint}"));
    }
    let steps = pattern.steps().len();
    if reasons.len() > 1 && reasons.len() != steps {
        let text = format!(
            "`expect.reason` has {} codes for {steps} steps: write one, or one for each step",
            reasons.len()
        );
        reader.fault(at, text);
    }
}

fn check_uses(reader: &mut Reader, model: &Model, pattern: &Pattern, first: &Entity) {
    let (Some(uses), Some(table)) = (&pattern.uses, model.table(&first.table)) else { return };
    if *uses != table.name && table.index(uses).is_none() {
        let known = table.indexes.iter().map(|index| &*index.name).chain([&*table.name]);
        let at = reader.place(pattern.at, &["uses"]);
        unknown(reader, at, "index", uses, known);
    }
}

/// Each name in the example of writes or gets must belong to one of the steps.
fn check_examples_of_steps(reader: &mut Reader, model: &Model, pattern: &Pattern) {
    let steps = pattern.steps();
    let entities: Vec<&Entity> = steps.iter().filter_map(|step| model.entity(&step.entity)).collect();
    // An unknown entity of a step is reported as such, not as an unknown attribute.
    if entities.len() == steps.len() && !steps.is_empty() {
        check_example(reader, pattern, &entities, &steps.iter().flat_map(Write::values).collect());
        if let Some(first) =
            entities.first().filter(|first| entities.iter().all(|own| own.table == first.table))
        {
            check_expected(reader, model, pattern, first);
        }
    }
}

fn check_step(reader: &mut Reader, model: &Model, step: &Write) {
    let target = reader.place(step.at, TARGETS);
    let Some(this) = entity(reader, model, target, &step.entity) else { return };
    for effect in &step.effects {
        let field = SECTIONS.iter().find(|(_, section)| *section == effect.section());
        let field = field.map_or("set", |(field, _)| field);
        let attributes = std::iter::once(effect.attribute()).chain(effect.reads()).collect();
        check_expression(reader, step.at, field, &[this], (attributes, effect.name_placeholders()));
    }
    if let Some(condition) = step.expression() {
        let names = (condition.attributes(), condition.name_placeholders());
        check_expression(reader, step.at, "if", &[this], names);
    }
    for (name, node) in step.examples.iter().flatten() {
        if !step.uses_value(name) {
            known_attribute(reader, node.at, this, name);
        }
    }
}
