//! Attributes that repeat one of other items: who writes them, who has to change them wherever they are, and how those are
//! found.
//!
//! A copy is right as long as whoever changes the original changes it too, and a put in the place of an item changes
//! whatever its key does not fix, as an update does. Where no key leads from the original to its copies, each change of it
//! is a scan; a plan that did not say so would be one that nobody can follow.

use std::collections::BTreeSet;

use super::action::Action;
use super::changes::slot_text;
use super::index_changes::{MoveKind, Needed, made_of, moves};
use super::index_lifetime::{rewrite, standing};
use super::input::{SubjectEntity, SubjectPattern, TouchKind};
use super::matching::{EntityRef, Match};
use super::phrasing::{Subjects, and, items};
use super::plan::StepKind;
use super::planner::Planner;
use super::stale_copies::variables;
use keywright_semantics::schema::KeySchema;

/// An attribute that repeats one of other items.
pub(super) struct Copied<'c, 'a> {
    pub(super) name: &'c str,
    /// The items that have it.
    pub(super) side: EntityRef<'a>,
    /// The entity and the attribute that it repeats.
    pub(super) of: &'c str,
    pub(super) from: &'c str,
    /// The items that those which have it are made of, one of one.
    pub(super) made_of: Option<EntityRef<'a>>,
}

impl<'a> Planner<'a> {
    /// Whatever changes what an attribute is a copy of changes the copies.
    pub(super) fn copies(&mut self, side: EntityRef<'a>, needed: &[Needed]) {
        for one in needed {
            let Some((of, from)) = side.entity.copies.get(&one.name) else { continue };
            self.kept_like(&Copied { name: &one.name, side, of, from, made_of: None });
        }
    }

    /// What items no longer repeat: nobody would keep it right where it is, so that it goes once nobody takes it.
    pub(super) fn copies_dropped(&mut self, old: EntityRef<'a>, new: EntityRef<'a>, needed: &[Needed]) {
        let leaves: BTreeSet<String> = moves(old.entity, new.entity, old.table, new.table)
            .into_iter()
            .filter(|one| one.kind == MoveKind::Leaves)
            .flat_map(|one| one.written)
            .collect();
        let goes = |name: &&String| {
            !new.entity.attributes.contains_key(*name)
                && !leaves.contains(*name)
                && !needed.iter().any(|needed| needed.from.as_ref() == Some(*name))
        };
        let gone: Vec<String> = old.entity.copies.keys().filter(goes).cloned().collect();
        if gone.is_empty() {
            return;
        }
        let (names, entity) = (and(&gone), &new.entity.name);
        let takes = |pattern: &&SubjectPattern| {
            pattern.read_entities().any(|read| read == old.entity.name)
                && (pattern.whole || pattern.needs.iter().any(|need| gone.contains(need)))
        };
        let readers: Vec<&SubjectPattern> = self.before.patterns.iter().filter(takes).collect();
        self.act_of(StepKind::SwitchReads, readers, |who| {
            format!("{} no {names} of {entity} any more", who.each("takes", "take"))
        });
        let setters =
            self.writes().filter(|own| own.sets(entity, &gone) || own.sets(&old.entity.name, &gone));
        let who = Subjects::of(setters, || format!("whatever writes {entity}"));
        let unset = Action::Unset { entity: entity.clone(), attributes: gone.clone() };
        self.act(
            StepKind::StopWrites,
            format!("{} {names} of {entity}", who.no_longer("sets", "set")),
            vec![unset],
        );
        let counted = SubjectEntity { count: old.entity.count, ..new.entity.clone() };
        let stands = standing(Some(old.table), new.table, StepKind::DeleteItems);
        let units = rewrite(&counted, old.entity, &[], &gone, &stands);
        let table = &new.table.definition.name;
        let text = format!("scan {table} and remove {names} from the {}", items(counted.count, entity));
        let action = Action::Remove { entity: entity.clone(), attributes: gone };
        self.scan(StepKind::DeleteItems, new.table, text, units, vec![action]);
    }

    /// Says who keeps a copy like what it is a copy of.
    pub(super) fn kept_like(&mut self, copied: &Copied<'_, 'a>) {
        let Copied { name, side, of, from, .. } = copied;
        let entity = &side.entity.name;
        let changers = self.changers(of, from);
        if changers.is_empty() && self.is_of_key(of, from) {
            return;
        }
        let who = Subjects::of(changers.into_iter(), || format!("whatever changes {from} of {of}"));
        let text = format!(
            "{name} of {entity} is {from} of its {of}: whatever puts a {entity} reads that too and checks in the same transaction that it is still so, and {} it in each {entity} that is there{}",
            who.each("sets", "set"),
            self.found_by(copied),
        );
        let action = Action::KeepLike { entity: entity.clone(), attribute: (*name).to_owned() };
        self.act(StepKind::WriteBoth, text, vec![action]);
        let ends = |pattern: &&SubjectPattern| {
            let deletes = |entity: &str| {
                pattern.touches.iter().any(|touch| touch.entity == entity && touch.kind == TouchKind::Delete)
            };
            self.called(of).iter().any(|name| deletes(name)) && !deletes(entity)
        };
        let ending: Vec<&SubjectPattern> = self.writes().filter(ends).collect();
        self.act_of(StepKind::WriteBoth, ending, |who| {
            format!(
                "{} {of} and no {entity} of it: {name} stays there as it was, and the comparison leaves it",
                who.each("deletes", "delete")
            )
        });
    }

    /// What gives an attribute of items that are there another value: an update that names it, and a put in the place of
    /// one that is there, as far as it is no part of their key.
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

    /// Whether the key of an entity's items is made of an attribute: then it is what it is as long as they are there.
    fn is_of_key(&self, entity: &str, attribute: &str) -> bool {
        self.side_of(entity).is_some_and(|side| variables(&side).contains(attribute))
    }

    /// What an entity of the new design is called in either.
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

    /// How whoever changes the original finds its copies.
    fn found_by(&self, copied: &Copied<'_, 'a>) -> String {
        let Copied { side, of, made_of, .. } = copied;
        let Some(original) = self.side_of(of) else { return String::new() };
        if let Some(place) = led(&original, side) {
            return format!(", found in {place}");
        }
        // What they are made of, or repeat besides, may be found instead and tell their keys.
        let repeated = side.entity.copies.values().filter_map(|(of, _)| self.side_of(of));
        let sources = made_of.iter().copied().chain(repeated);
        let mut ways = sources.filter_map(|source| Some((source, led(&original, &source)?)));
        if let Some((source, place)) = ways.find(|(source, _)| is_known_by(side, source)) {
            return format!(", found by way of each {} in {place}", source.entity.name);
        }
        let table = &side.table.definition.name;
        let units =
            self.scan_units(side.table).map(|units| format!(", {units} read units")).unwrap_or_default();
        format!(
            "; no key or index leads from {of} to its {}, so each time that is a Scan of {table}{units}: an index by what tells the {of} would find them",
            side.entity.name
        )
    }
}

/// Whether other items tell all that the key of items is made of.
fn is_known_by(side: &EntityRef<'_>, source: &EntityRef<'_>) -> bool {
    variables(side).iter().all(|name| {
        let copied = side.entity.copies.get(name).filter(|(of, _)| *of == source.entity.name);
        source.entity.attributes.contains_key(copied.map_or(name, |(_, from)| from))
    })
}

/// Where all items that repeat something of another one are found by its key: a table or an index whose partition key they
/// have from it.
fn led(original: &EntityRef<'_>, side: &EntityRef<'_>) -> Option<String> {
    let (of, entity) = (&original.entity.name, side.entity);
    let tells = |name: &str| {
        let copied = entity.copies.get(name).filter(|(known, _)| known == of);
        let from = copied.map_or(name, |(_, from)| from.as_str());
        variables(original).contains(from)
    };
    let told = |key: &KeySchema| {
        let templates: Vec<String> =
            key.partition.iter().filter_map(|key| entity.template_of(&key.name)).collect();
        let mut names = templates.iter().flat_map(|template| made_of(template)).peekable();
        templates.len() == key.partition.len() && names.peek().is_some() && names.all(tells)
    };
    let definition = &side.table.definition;
    let table = &definition.schema.key;
    if told(table) {
        return Some(format!("table {} by {}", definition.name, slot_text(entity, table)));
    }
    let index = definition.schema.indexes.iter().find(|index| entity.is_in(index) && told(&index.key))?;
    Some(format!("index {} of {} by {}", index.name, definition.name, slot_text(entity, &index.key)))
}
