//! Step 2: the entities and their relations, drawn.

use std::collections::BTreeSet;

use super::facts::{bytes, bytes_text, or_nothing};
use super::page::NOTHING;
use super::{Looked, Page};
use keywright_model::{Entity, Model};

/// The cardinality of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cardinality {
    /// One item of each.
    OneToOne,
    /// One item of the first has several of the second.
    OneToMany,
    /// Each has several of the other, through items that name both.
    ManyToMany,
}

/// A relation between two entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The entity on the side of one.
    pub from: String,
    /// The entity on the other side.
    pub to: String,
    /// How many items go together.
    pub cardinality: Cardinality,
    /// The entity that links many to many.
    pub through: Option<String>,
    /// Whether the model declares it (`parent`), or an attribute that identifies the other entity implies it.
    pub declared: bool,
}

impl Cardinality {
    /// In numbers: `1:N`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "1:1",
            Self::OneToMany => "1:N",
            Self::ManyToMany => "M:N",
        }
    }
}

/// All relations: an entity with one parent is 1:N, or 1:1 if its key holds only the parent's identity; an
/// entity with several parents links them M:N. An attribute that is another entity's identity is a reference.
pub fn relations(model: &Model) -> Vec<Relation> {
    let mut found = Vec::new();
    for entity in &model.entities {
        let parents: Vec<&Entity> = entity.parents.iter().filter_map(|name| model.entity(name)).collect();
        if let [parent] = parents.as_slice() {
            let own = identity(entity);
            let only_parents = !own.is_empty() && own.is_subset(&identity(parent));
            let cardinality = if only_parents { Cardinality::OneToOne } else { Cardinality::OneToMany };
            found.push(relation(parent, entity, cardinality, None, true));
        }
        for (place, parent) in parents.iter().enumerate() {
            for other in parents.iter().skip(place + 1) {
                found.push(relation(parent, other, Cardinality::ManyToMany, Some(entity), true));
            }
        }
    }
    references(model, &mut found);
    found
}

fn relation(
    from: &Entity,
    to: &Entity,
    cardinality: Cardinality,
    through: Option<&Entity>,
    declared: bool,
) -> Relation {
    Relation {
        from: from.name.clone(),
        to: to.name.clone(),
        cardinality,
        through: through.map(|entity| entity.name.clone()),
        declared,
    }
}

/// The attributes an entity's own key is made of.
fn identity(entity: &Entity) -> BTreeSet<&str> {
    entity.key_attributes().collect()
}

/// Entities with another entity's identity that are not declared its children.
fn references(model: &Model, found: &mut Vec<Relation>) {
    for entity in &model.entities {
        for other in &model.entities {
            let mut identity = identity(other).into_iter();
            let (Some(only), None) = (identity.next(), identity.next()) else { continue };
            // A 1:1 child has its parent's identity: the reference is to the parent.
            let borrowed = other
                .parents
                .iter()
                .filter_map(|name| model.entity(name))
                .any(|parent| self::identity(parent).contains(only));
            let known = borrowed
                || entity.name == other.name
                || entity.parents.contains(&other.name)
                || other.parents.contains(&entity.name)
                || entity.parents.iter().any(|parent| is_under(model, parent, &other.name));
            let same = self::identity(entity).iter().eq([&only]);
            if !known && !same && refers(model, entity, other, only) {
                found.push(relation(other, entity, Cardinality::OneToMany, None, false));
            }
        }
    }
}

/// Whether an attribute refers to another entity's identity: as declared, else by its name if no third entity
/// has an identity with that name. (`id` is a common name.)
fn refers(model: &Model, entity: &Entity, other: &Entity, identity: &str) -> bool {
    let said = entity.attributes.iter().any(|own| {
        let line = model.line(entity, &own.name);
        line.iter().skip(1).any(|from| from.entity.name == other.name && from.attribute.name == identity)
    });
    let only = || {
        let known = model.entities.iter().filter(|own| own.identity() == Some(identity));
        known.filter(|own| !model.is_repeated(own, identity)).count() == 1
    };
    said || (entity.attribute(identity).is_some() && !model.is_repeated(entity, identity) && only())
}

/// Whether an entity is another's child, or its child's child.
fn is_under(model: &Model, name: &str, ancestor: &str) -> bool {
    let mut names = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(name) = names.pop() {
        if name == ancestor {
            return true;
        }
        if seen.insert(name) {
            names.extend(
                model.entity(name).into_iter().flat_map(|entity| &entity.parents).map(String::as_str),
            );
        }
    }
    false
}

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let model = looked.model;
    let mut page = Page::new(format!("Entities of {}", model.name));
    let rows = model.entities.iter().map(|entity| row(looked, entity)).collect();
    page.table(["entity", "table", "identity", "count", "size", "attributes"], rows);
    let relations = relations(model);
    if relations.is_empty() {
        page.say(
            "No relations are declared: write `parent: Order` in a child, two parents for many to many.",
        );
        return page;
    }
    page.heading("Relations");
    let drawn: Vec<String> = relations.iter().map(draw).collect();
    page.draw(drawn.join("\n"), Some(mermaid(model, &relations)));
    page
}

fn row(looked: &Looked<'_>, entity: &Entity) -> Vec<String> {
    let identity: Vec<&str> = identity(entity).into_iter().collect();
    let attributes = entity.attributes.iter().map(|attribute| {
        let copy = attribute.copy_of.as_ref().map(|(source, name)| format!(" = {source}.{name}"));
        format!("{}: {}{}", attribute.name, attribute.value_type.name(), copy.unwrap_or_default())
    });
    vec![
        entity.name.clone(),
        entity.table.clone(),
        or_nothing(identity.join(", ")),
        entity.count.map_or_else(|| NOTHING.to_owned(), |count| count.to_string()),
        bytes(looked, entity).map_or_else(|| NOTHING.to_owned(), bytes_text),
        attributes.collect::<Vec<_>>().join(", "),
    ]
}

/// Boxes side by side, joined by lines that say how many: `| Customer | 1 ----- N | Order |`.
fn draw(relation: &Relation) -> String {
    let (ends, line) = match (relation.cardinality, relation.declared) {
        (Cardinality::OneToOne, _) => (("1", "1"), "-----"),
        (Cardinality::OneToMany, false) => (("1", "N"), ". . ."),
        (Cardinality::OneToMany | Cardinality::ManyToMany, _) => (("1", "N"), "-----"),
    };
    let mut boxes = vec![relation.from.as_str()];
    boxes.extend(relation.through.as_deref());
    boxes.push(&relation.to);
    let joint = |place: usize| {
        let (left, right) = if place == 0 { ends } else { (ends.1, ends.0) };
        format!(" {left} {line} {right} ")
    };
    let mut rows = [String::new(), String::new(), String::new()];
    for (place, name) in boxes.iter().enumerate() {
        let between = if place == 0 { String::new() } else { joint(place - 1) };
        let blank = " ".repeat(between.chars().count());
        let rule = "-".repeat(name.chars().count() + 2);
        let parts = [format!("{blank}+{rule}+"), format!("{between}| {name} |"), format!("{blank}+{rule}+")];
        for (row, part) in rows.iter_mut().zip(parts) {
            row.push_str(&part);
        }
    }
    let [top, middle, bottom] = rows;
    let note = match (&relation.through, relation.declared) {
        (_, false) => "  a reference, no parent",
        (Some(_), _) => "  many to many",
        (None, true) => "",
    };
    format!("{top}\n{middle}{note}\n{bottom}\n")
}

/// The diagram in Mermaid's language, with the attributes of each entity.
fn mermaid(model: &Model, relations: &[Relation]) -> String {
    let mut lines = vec!["erDiagram".to_owned()];
    for entity in &model.entities {
        lines.push(format!("    {} {{", word(&entity.name)));
        let identity = identity(entity);
        for attribute in &entity.attributes {
            let key = if identity.contains(attribute.name.as_str()) { " PK" } else { "" };
            lines.push(format!("        {} {}{key}", attribute.value_type.name(), word(&attribute.name)));
        }
        lines.push("    }".to_owned());
    }
    for relation in relations {
        let (from, to) = (word(&relation.from), word(&relation.to));
        match (relation.cardinality, &relation.through) {
            (Cardinality::OneToOne, _) => lines.push(format!("    {from} ||--o| {to} : has")),
            (Cardinality::OneToMany, _) => {
                let line = if relation.declared { "--" } else { ".." };
                lines.push(format!("    {from} ||{line}o{{ {to} : has"));
            }
            (Cardinality::ManyToMany, Some(through)) => {
                lines.push(format!("    {from} ||--o{{ {} : has", word(through)));
                lines.push(format!("    {to} ||--o{{ {} : has", word(through)));
            }
            (Cardinality::ManyToMany, None) => lines.push(format!("    {from} }}o--o{{ {to} : has")),
        }
    }
    lines.join("\n")
}

/// A name as Mermaid takes it.
fn word(name: &str) -> String {
    name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect()
}
