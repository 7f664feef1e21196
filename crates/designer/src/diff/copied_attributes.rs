//! Copied attributes (`copyOf`): who writes them, who updates the copies, and how the copies are found.
//!
//! A copy stays right as long as every writer that changes the source updates the copies too. A put over an
//! existing item changes all attributes outside its key, as an update does. Where no key leads from the
//! source to its copies, each change scans the table; the plan says so.

use std::collections::BTreeSet;

use super::actions::{Access, AttributeWrite, FoundBy, Job, Location, ReadChange};
use super::changes::slot;
use super::index_changes::{MoveKind, Needed, made_of, moves};
use super::index_lifetime::{rewrite, standing};
use super::input::{SubjectEntity, SubjectPattern, TouchKind, ids};
use super::matching::{EntityRef, Match};
use super::plan::StepKind;
use super::planner::Planner;
use super::stale_copies::variables;
use keywright_model::Template;
use keywright_semantics::schema::KeySchema;

/// An attribute that copies one of another entity.
pub(super) struct Copied<'c, 'a> {
    pub(super) name: &'c str,
    /// The entity with the copies.
    pub(super) side: EntityRef<'a>,
    /// The source entity and the source attribute.
    pub(super) of: &'c str,
    pub(super) from: &'c str,
    /// The source of the whole items, if these are derived items.
    pub(super) made_of: Option<EntityRef<'a>>,
}

impl<'a> Planner<'a> {
    /// Every writer that changes a source attribute updates its copies.
    pub(super) fn copies(&mut self, side: EntityRef<'a>, needed: &[Needed]) {
        for one in needed {
            let Some((of, from)) = side.entity.copies.get(&one.name) else { continue };
            self.kept_like(&Copied { name: &one.name, side, of, from, made_of: None });
        }
    }

    /// Attributes that are no longer copies: no writer keeps them right, so they are removed once no read
    /// uses them.
    pub(super) fn copies_dropped(&mut self, old: EntityRef<'a>, new: EntityRef<'a>) {
        let leaves: BTreeSet<String> = moves(old.entity, new.entity, old.table, new.table)
            .into_iter()
            .filter(|one| one.kind == MoveKind::Leaves)
            .flat_map(|one| one.written)
            .collect();
        let goes = |name: &&String| !new.entity.attributes.contains_key(*name) && !leaves.contains(*name);
        let gone: Vec<String> = old.entity.copies.keys().filter(goes).cloned().collect();
        if gone.is_empty() {
            return;
        }
        let entity = &new.entity.name;
        let takes = |pattern: &&SubjectPattern| {
            pattern.read_entities().any(|read| read == old.entity.name)
                && (pattern.whole || pattern.needs.iter().any(|need| gone.contains(need)))
        };
        let readers: Vec<&SubjectPattern> = self.before.patterns.iter().filter(takes).collect();
        self.act_of(StepKind::SwitchReads, readers, |patterns| ReadChange::StopReading {
            entity: entity.clone(),
            patterns,
            attributes: gone.clone(),
            instead: None,
        });
        let setters =
            self.writes().filter(|own| own.sets(entity, &gone) || own.sets(&old.entity.name, &gone));
        let stop = AttributeWrite::StopSetting {
            entity: entity.clone(),
            patterns: ids(setters),
            attributes: gone.clone(),
        };
        self.act(StepKind::StopWrites, stop);
        let counted = SubjectEntity { count: old.entity.count, ..new.entity.clone() };
        let stands = standing(Some(old.table), new.table, StepKind::DeleteItems);
        let units = rewrite(&counted, old.entity, &[], &gone, &stands);
        let remove = Job::RemoveAttributes {
            entity: entity.clone(),
            items: counted.count.declared(),
            table: new.table.definition.name.clone(),
            attributes: gone,
        };
        self.scan(StepKind::DeleteItems, new.table, units, remove);
    }

    /// Says which writers keep a copied attribute equal to its source.
    pub(super) fn kept_like(&mut self, copied: &Copied<'_, 'a>) {
        let Copied { name, side, of, from, .. } = copied;
        let entity = &side.entity.name;
        let changers = self.changers(of, from);
        if changers.is_empty() && self.is_of_key(of, from) {
            return;
        }
        let keep = AttributeWrite::KeepCopies {
            entity: entity.clone(),
            attribute: (*name).to_owned(),
            source: (*of).to_owned(),
            from: (*from).to_owned(),
            patterns: ids(changers),
            found: self.found_by(copied),
        };
        self.act(StepKind::WriteBoth, keep);
        let ends = |pattern: &&SubjectPattern| {
            let deletes = |entity: &str| {
                pattern.touches.iter().any(|touch| touch.entity == entity && touch.kind == TouchKind::Delete)
            };
            self.called(of).iter().any(|name| deletes(name)) && !deletes(entity)
        };
        let ending: Vec<&SubjectPattern> = self.writes().filter(ends).collect();
        self.act_of(StepKind::WriteBoth, ending, |patterns| AttributeWrite::LeaveCopies {
            entity: entity.clone(),
            attribute: (*name).to_owned(),
            source: (*of).to_owned(),
            patterns,
        });
    }

    /// Writers that give an attribute of existing items another value: an update that names it, and a put
    /// over an existing item unless the attribute is part of the item's key.
    fn changers(&self, of: &str, attribute: &str) -> Vec<&'a SubjectPattern> {
        let own = [attribute.to_owned()];
        let names = self.called(of);
        let is_key = self.is_of_key(of, attribute);
        let changes = |pattern: &&SubjectPattern| {
            pattern.touches.iter().any(|touch| {
                names.contains(&touch.entity.as_str())
                    && match touch.kind {
                        TouchKind::Put => !is_key,
                        TouchKind::Update => touch.attributes.contains(&own[0]),
                        TouchKind::Create | TouchKind::Delete | TouchKind::Read => false,
                    }
            })
        };
        self.writes().filter(changes).collect()
    }

    /// Whether an attribute is part of an entity's key: it cannot change while the item exists.
    fn is_of_key(&self, entity: &str, attribute: &str) -> bool {
        self.side_of(entity).is_some_and(|side| variables(&side).contains(attribute))
    }

    /// The entity's names in the new and in the old design.
    fn called<'n>(&self, entity: &'n str) -> Vec<&'n str>
    where
        'a: 'n,
    {
        let matches = self
            .matches
            .iter()
            .filter(|matched| matched.after().is_some_and(|new| new.entity.name == *entity));
        let before = matches.filter_map(|matched| matched.before().map(|old| old.entity.name.as_str()));
        std::iter::once(entity).chain(before).collect()
    }

    fn side_of(&self, entity: &str) -> Option<EntityRef<'a>> {
        self.matches.iter().filter_map(Match::after).find(|new| new.entity.name == *entity)
    }

    /// How a writer that changes the source finds its copies; none if the new design has no such source.
    fn found_by(&self, copied: &Copied<'_, 'a>) -> Option<FoundBy> {
        let Copied { side, of, made_of, .. } = copied;
        let original = self.side_of(of)?;
        if let Some(access) = query_for_copies(&original, side) {
            return Some(FoundBy::Key(access));
        }
        // A derived item's source, or another copied entity, may lead to the copies and determine their keys.
        let repeated = side.entity.copies.values().filter_map(|(of, _)| self.side_of(of));
        let sources = made_of.iter().copied().chain(repeated);
        let mut ways = sources.filter_map(|source| Some((source, query_for_copies(&original, &source)?)));
        if let Some((source, access)) = ways.find(|(source, _)| is_known_by(side, source)) {
            return Some(FoundBy::Through { entity: source.entity.name.clone(), access });
        }
        let (table, read_units) = (side.table.definition.name.clone(), self.scan_units(side.table));
        Some(FoundBy::Scan { table, read_units })
    }
}

/// Whether the other entity's items determine the whole key of these.
fn is_known_by(side: &EntityRef<'_>, source: &EntityRef<'_>) -> bool {
    variables(side).iter().all(|name| {
        let copied = side.entity.copies.get(name).filter(|(of, _)| *of == source.entity.name);
        source.entity.attributes.contains_key(copied.map_or(name, |(_, from)| from))
    })
}

/// The table or index in which one query by the source's key finds all its copies: its partition key is
/// copied from the source.
fn query_for_copies(original: &EntityRef<'_>, side: &EntityRef<'_>) -> Option<Access> {
    let (of, entity) = (&original.entity.name, side.entity);
    let tells = |name: &str| {
        let copied = entity.copies.get(name).filter(|(known, _)| known == of);
        let from = copied.map_or(name, |(_, from)| from.as_str());
        variables(original).contains(from)
    };
    let is_determined = |key: &KeySchema| {
        let templates: Vec<Template> =
            key.partition.iter().filter_map(|key| entity.template_of(&key.name)).collect();
        let mut names = templates.iter().flat_map(made_of).peekable();
        templates.len() == key.partition.len() && names.peek().is_some() && names.all(tells)
    };
    let definition = &side.table.definition;
    let table = &definition.schema.key;
    let access = |index: Option<&str>, key: &KeySchema| Access {
        place: Location { tables: vec![definition.name.clone()], index: index.map(str::to_owned) },
        key: slot(entity, key),
    };
    if is_determined(table) {
        return Some(access(None, table));
    }
    let index =
        definition.schema.indexes.iter().find(|index| entity.is_in(index) && is_determined(&index.key))?;
    Some(access(Some(&index.name), &index.key))
}
