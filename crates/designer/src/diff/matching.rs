//! Matches the entities of the old and the new design.
//!
//! The key identifies an item: entities whose keys write the same texts in the same table are the same
//! items, even if the entities or their attributes have other names. Equal names match entities only where
//! no key contradicts it. Where the two models leave a match open, nothing is moved or deleted, and the
//! comparison says so.

use super::actions::KeyPlace;
use super::changes::slot;
use super::input::{Subject, SubjectEntity, SubjectTable};
use super::planner::must_be_copied;
use super::provenance::{Provenance, Search, SearchResult};
use super::remarks::{Items, NotPlanned};
use super::stale_copies::variables;
use keywright_model::template::Shape;

/// An entity with its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntityRef<'a> {
    pub(super) table: &'a SubjectTable,
    pub(super) entity: &'a SubjectEntity,
}

/// What becomes of an entity's items.
#[derive(Clone, Debug)]
pub(super) enum Match<'a> {
    /// The items keep their key and their table.
    Stays(EntityRef<'a>, EntityRef<'a>),
    /// The items get another key or another table: they become other items.
    Moves(EntityRef<'a>, EntityRef<'a>),
    New(EntityRef<'a>),
    /// Derived items that the new design adds, with their source first.
    Derived(EntityRef<'a>, EntityRef<'a>, Provenance),
    Gone(EntityRef<'a>),
    /// The models leave the match open; `why` says what is open. It is stored with one of the entities
    /// that it is about.
    Unknown {
        old: Option<EntityRef<'a>>,
        new: Option<EntityRef<'a>>,
        why: Option<NotPlanned>,
    },
}

impl<'a> Match<'a> {
    pub(super) const fn before(&self) -> Option<EntityRef<'a>> {
        match self {
            Self::Stays(old, _) | Self::Moves(old, _) | Self::Gone(old) => Some(*old),
            Self::New(_) | Self::Derived(..) => None,
            Self::Unknown { old, .. } => *old,
        }
    }

    pub(super) const fn after(&self) -> Option<EntityRef<'a>> {
        match self {
            Self::Stays(_, new) | Self::Moves(_, new) | Self::New(new) | Self::Derived(_, new, _) => {
                Some(*new)
            }
            Self::Gone(_) => None,
            Self::Unknown { new, .. } => *new,
        }
    }
}

impl EntityRef<'_> {
    pub(super) fn is(&self, other: &EntityRef<'_>) -> bool {
        self.entity.name == other.entity.name && self.table.definition.name == other.table.definition.name
    }

    /// The shape of each attribute of the table's key.
    pub(super) fn shapes(&self) -> Vec<Shape> {
        let keys = self.table.definition.schema.key.attributes();
        keys.map(|key| self.entity.shape_of(&key.name)).collect()
    }

    /// Whether items of both entities may have the same key.
    pub(super) fn meets(&self, other: &EntityRef<'_>) -> bool {
        let (own, others) = (self.shapes(), other.shapes());
        own.len() == others.len() && own.iter().zip(&others).all(|(own, other)| own.meets(other))
    }

    /// Whether the keys write the same texts. Variables that both models have under the same name are
    /// different values; a variable that only one model has is a renamed one at the same position.
    fn writes_as(&self, other: &EntityRef<'_>) -> bool {
        let types = |side: &EntityRef<'_>| -> Vec<_> {
            side.table.definition.schema.key.attributes().map(|key| key.key_type).collect()
        };
        let (own, others) = (self.shapes(), other.shapes());
        types(self) == types(other)
            && own.iter().zip(&others).all(|(own, their)| {
                own.alike(their).is_some_and(|names| {
                    names.iter().all(|(old, new)| {
                        old == new
                            || !other.entity.attributes.contains_key(*old)
                                && !self.entity.attributes.contains_key(*new)
                    })
                })
            })
    }

    /// The templates of the table's key.
    pub(super) fn key(&self) -> Vec<String> {
        slot(self.entity, &self.table.definition.schema.key)
    }

    pub(super) fn place(&self) -> KeyPlace {
        KeyPlace { table: self.table.definition.name.clone(), key: self.key(), again: false }
    }

    fn items(&self) -> Items {
        Items { entity: self.entity.name.clone(), table: self.table.definition.name.clone(), key: self.key() }
    }
}

/// The match of every entity of both models: those of the new one in its order, then the removed ones.
pub(super) fn matches<'a>(before: &'a Subject, after: &'a Subject) -> Vec<Match<'a>> {
    let sides = |subject: &'a Subject| -> Vec<EntityRef<'a>> {
        let tables = subject.tables.iter();
        tables
            .flat_map(|table| table.entities.iter().map(move |entity| EntityRef { table, entity }))
            .collect()
    };
    let mut finder = Finder { before, after, olds: sides(before), news: sides(after), matches: Vec::new() };
    finder.pair_up();
    finder.doubt();
    finder.in_order()
}

struct Finder<'a> {
    before: &'a Subject,
    after: &'a Subject,
    /// Old entities without a match so far.
    olds: Vec<EntityRef<'a>>,
    news: Vec<EntityRef<'a>>,
    matches: Vec<Match<'a>>,
}

impl<'a> Finder<'a> {
    fn pair_up(&mut self) {
        let same_table =
            |old: &EntityRef<'_>, new: &EntityRef<'_>| old.table.definition.name == new.table.definition.name;
        let same_name = |old: &EntityRef<'_>, new: &EntityRef<'_>| old.entity.name == new.entity.name;
        self.pair(|old, new| same_name(old, new) && same_table(old, new) && old.writes_as(new));
        let (before, after) = (self.before, self.after);
        let renamed = |old: &EntityRef<'_>, new: &EntityRef<'_>| {
            !knows(after, &old.entity.name) && !knows(before, &new.entity.name) && old.writes_as(new)
        };
        self.pair(|old, new| same_table(old, new) && renamed(old, new));
        self.pair(|old, new| same_name(old, new) && same_table(old, new));
        self.pair(same_name);
        // A renamed table holds the same keys; its entities may have been renamed at the same time.
        let moved_table = |old: &EntityRef<'_>, new: &EntityRef<'_>| {
            after.table(&old.table.definition.name).is_none()
                && before.table(&new.table.definition.name).is_none()
        };
        self.pair(|old, new| moved_table(old, new) && renamed(old, new));
    }

    /// Matches entities that are each other's only candidate.
    fn pair(&mut self, is_same: impl Fn(&EntityRef<'a>, &EntityRef<'a>) -> bool) {
        let news = self.news.clone();
        for new in news {
            let found: Vec<EntityRef<'a>> =
                self.olds.iter().filter(|old| is_same(old, &new)).copied().collect();
            let &[old] = found.as_slice() else { continue };
            if self.news.iter().filter(|new| is_same(&old, new)).count() != 1 {
                continue;
            }
            self.olds.retain(|known| !known.is(&old));
            self.news.retain(|known| !known.is(&new));
            let stays = old.table.definition.name == new.table.definition.name
                && !must_be_copied(old.table, new.table)
                && old.writes_as(&new);
            self.matches.push(if stays { Match::Stays(old, new) } else { Match::Moves(old, new) });
        }
        // An entity without old items is compared again with the remaining ones.
    }

    /// Withdraws matches that the keys contradict.
    fn doubt(&mut self) {
        let (olds, news) = (std::mem::take(&mut self.olds), std::mem::take(&mut self.news));
        self.matches.extend(news.into_iter().map(Match::New));
        self.matches.extend(olds.into_iter().map(Match::Gone));
        self.find_derived();
        let doubts: Vec<Option<(Match<'a>, Vec<EntityRef<'a>>)>> =
            self.matches.iter().map(|matched| self.doubt_of(matched)).collect();
        let mut doubted: Vec<EntityRef<'a>> = Vec::new();
        for (matched, doubt) in self.matches.iter_mut().zip(doubts) {
            if let Some((unknown, others)) = doubt {
                *matched = unknown;
                doubted.extend(others);
            }
        }
        for matched in &mut self.matches {
            if let Match::New(new) | Match::Derived(_, new, _) = matched
                && doubted.iter().any(|other| other.is(new))
            {
                *matched = Match::Unknown { old: None, new: Some(*new), why: None };
            }
        }
        self.doubt_derived();
        self.doubt_new();
    }

    /// Entities that only the new design has may be derived from existing items; then they need no load from
    /// outside. A derived item's key may depend on another derived item of the same source.
    fn find_derived(&mut self) {
        for _ in 0..self.matches.len() {
            let search = Search { after: self.after, matches: &self.matches };
            let found = self.matches.iter().enumerate().find_map(|(at, matched)| {
                let Match::New(new) = matched else { return None };
                match search.source(new) {
                    Some(SearchResult::Source(old, provenance)) => {
                        Some((at, Match::Derived(old, *new, provenance)))
                    }
                    Some(SearchResult::Perhaps(..)) | None => None,
                }
            });
            match found.and_then(|(at, second)| Some((self.matches.get_mut(at)?, second))) {
                Some((matched, second)) => *matched = second,
                None => break,
            }
        }
    }

    /// Entities that look like derived items without a `copyOf` are neither loaded nor derived.
    fn doubt_new(&mut self) {
        let search = Search { after: self.after, matches: &self.matches };
        let doubts: Vec<Option<Match<'a>>> = self
            .matches
            .iter()
            .map(|matched| {
                let Match::New(new) = matched else { return None };
                let Some(SearchResult::Perhaps(old, moved)) = search.source(new) else {
                    let of = search.unknown(new)?;
                    let why = NotPlanned::SourceLeftOut { items: new.items(), source: of };
                    return Some(Match::Unknown { old: None, new: Some(*new), why: Some(why) });
                };
                let (items, source) = (new.items(), old.items());
                let why = if moved.is_empty() {
                    NotPlanned::MaybeDerived { items, source }
                } else {
                    NotPlanned::MaybeMoved { items, source, attributes: moved }
                };
                Some(Match::Unknown { old: None, new: Some(*new), why: Some(why) })
            })
            .collect();
        for (matched, doubt) in self.matches.iter_mut().zip(doubts) {
            if let Some(doubt) = doubt {
                *matched = doubt;
            }
        }
    }

    /// Derived items whose source has an open match are not written either.
    fn doubt_derived(&mut self) {
        let unknown: Vec<EntityRef<'a>> = self
            .matches
            .iter()
            .filter_map(|matched| match matched {
                Match::Unknown { old, .. } => *old,
                _ => None,
            })
            .collect();
        let (before, after) = (self.before, self.after);
        for matched in &mut self.matches {
            let Match::Derived(source, new, provenance) = &*matched else { continue };
            let why = if unknown.iter().any(|old| old.is(source)) {
                NotPlanned::SourceLeftOut { items: new.items(), source: source.entity.name.clone() }
            } else if let Some(attribute) = changing_key_attribute(before, after, source, new, provenance) {
                NotPlanned::ChangingKey { items: new.items(), source: source.items(), attribute }
            } else {
                continue;
            };
            *matched = Match::Unknown { old: None, new: Some(*new), why: Some(why) };
        }
    }

    /// If other new entities may hold or overwrite the items of an entity that moves or goes: those entities,
    /// and the match that says so in its place.
    fn doubt_of(&self, matched: &Match<'a>) -> Option<(Match<'a>, Vec<EntityRef<'a>>)> {
        let (Match::Moves(old, _) | Match::Gone(old)) = matched else { return None };
        let own = matched.after();
        let others = || {
            let news = self.matches.iter().filter_map(Match::after);
            news.filter(move |new| own.is_none_or(|own| !own.is(new)))
        };
        let stands =
            self.after.table(&old.table.definition.name).is_some_and(|now| !must_be_copied(old.table, now));
        let in_place = |new: &EntityRef<'a>| new.table.definition.name == old.table.definition.name;
        let meeting: Vec<EntityRef<'a>> =
            others().filter(|new| stands && in_place(new) && old.meets(new)).collect();
        let why = if let Some(first) = meeting.first() {
            NotPlanned::OverlappingKeys { items: old.items(), other: first.items() }
        } else if let Some((attributes, side)) = self.merged(old).filter(|_| own.is_none()) {
            let why = NotPlanned::MaybeMerged { items: old.items(), other: side.items(), attributes };
            return Some((Match::Unknown { old: Some(*old), new: None, why: Some(why) }, Vec::new()));
        } else {
            let is_new = |new: &EntityRef<'a>| {
                self.matches.iter().any(|matched| match matched {
                    Match::New(known) => known.is(new),
                    // An entity with attributes of its own does not come from its source alone.
                    Match::Derived(_, known, provenance) => {
                        known.is(new) && (!provenance.declared || !provenance.own().is_empty())
                    }
                    _ => false,
                })
            };
            let like: Vec<EntityRef<'a>> = others()
                .filter(|new| own.is_none() && is_new(new) && resembles(old.entity, new.entity))
                .collect();
            let first = like.first()?;
            let why = NotPlanned::MaybeRenamed {
                items: old.items(),
                others: like.iter().map(EntityRef::items).collect(),
                split: like.len() > 1 || self.may_be_merged(old, first),
            };
            return Some((Match::Unknown { old: Some(*old), new: None, why: Some(why) }, like));
        };
        Some((Match::Unknown { old: Some(*old), new: own, why: Some(why) }, meeting))
    }

    /// Attributes of removed items that items of the same identity gain: the values may have moved.
    fn merged(&self, gone: &EntityRef<'a>) -> Option<(Vec<String>, EntityRef<'a>)> {
        self.matches.iter().find_map(|matched| {
            let (Match::Stays(old, new) | Match::Moves(old, new)) = matched else { return None };
            let names = gone_into(gone, old, new);
            (!names.is_empty()).then_some((names, *new))
        })
    }

    /// Whether items of another removed entity may have become the same items.
    fn may_be_merged(&self, old: &EntityRef<'_>, new: &EntityRef<'_>) -> bool {
        self.matches.iter().any(|matched| match matched {
            Match::Gone(other) => !other.is(old) && resembles(other.entity, new.entity),
            _ => false,
        })
    }

    fn in_order(self) -> Vec<Match<'a>> {
        let place = |matched: &Match<'a>| {
            let mut news = self
                .after
                .tables
                .iter()
                .flat_map(|table| table.entities.iter().map(move |entity| EntityRef { table, entity }));
            matched.after().and_then(|new| news.position(|known| known.is(&new))).unwrap_or(usize::MAX)
        };
        let mut matches = self.matches.clone();
        matches.sort_by_key(place);
        matches
    }
}

/// Attributes in the key of derived items that a write changes, where a change would have to move the item's
/// own attributes.
fn changing_key_attribute(
    before: &Subject,
    after: &Subject,
    source: &EntityRef<'_>,
    new: &EntityRef<'_>,
    provenance: &Provenance,
) -> Option<String> {
    if provenance.own().is_empty() && provenance.moved().is_empty() {
        return None;
    }
    let keys = variables(new);
    let fixed = variables(source);
    let mut changing =
        provenance.of_source().filter(|(name, from)| keys.contains(*name) && !fixed.contains(*from));
    let patterns = || before.patterns.iter().chain(&after.patterns);
    let sets = |from: &String| {
        let names = std::slice::from_ref(from);
        patterns().any(|pattern| {
            let own = [source.entity.name.as_str(), new.entity.name.as_str()];
            own.iter()
                .any(|name| pattern.sets(name, names) && (pattern.updates(name) || pattern.replaces(name)))
        })
    };
    let unknown = !patterns().any(|pattern| pattern.changes(&source.entity.name));
    changing.find(|(_, from)| unknown || sets(from)).map(|(name, _)| name.clone())
}

fn knows(subject: &Subject, entity: &str) -> bool {
    subject.tables.iter().any(|table| table.entity(entity).is_some())
}

/// The attributes of removed items that other items of the same identity gain: the values may have moved.
pub(super) fn gone_into(gone: &EntityRef<'_>, old: &EntityRef<'_>, new: &EntityRef<'_>) -> Vec<String> {
    let own = &gone.entity.attributes;
    let tells = variables(old).iter().all(|name| own.contains_key(name))
        && variables(gone).iter().all(|name| old.entity.attributes.contains_key(name));
    let gets = own.iter().filter(|(name, kind)| {
        tells
            && !gone.entity.copies.contains_key(*name)
            && new.entity.attributes.get(*name) == Some(*kind)
            && !old.entity.attributes.contains_key(*name)
            && !old.table.definition.key_attributes().iter().any(|key| key.name == **name)
    });
    gets.map(|(name, _)| name.clone()).collect()
}

/// Whether one entity may be the other under another name: they share half of the attributes of the smaller
/// one.
fn resembles(one: &SubjectEntity, other: &SubjectEntity) -> bool {
    let common =
        one.attributes.iter().filter(|(name, kind)| other.attributes.get(*name) == Some(*kind)).count();
    let fewer = one.attributes.len().min(other.attributes.len());
    fewer == 0 || common * 2 >= fewer
}
