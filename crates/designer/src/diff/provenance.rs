//! Provenance of a new entity's attributes: which are copies and of what, which move here, and which only
//! this entity has.
//!
//! `copyOf` declares copies, over as many entities as it takes to reach an existing one. What a model does
//! not declare is inferred from its keys and writes: an attribute that is always written together with one of
//! the same name is its copy, and an attribute that the other entity loses has moved.

use std::collections::{BTreeMap, BTreeSet};

use super::index_changes::made_of;
use super::input::{Subject, SubjectEntity, SubjectPattern, TouchKind};
use super::matching::{EntityRef, Match};
use super::stale_copies::variables;

/// The source of an attribute's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A copy of the source's attribute.
    Source(String),
    /// An attribute of the source that only the derived items have after the plan.
    Moved(String),
    /// A copy of another entity's attribute; the entity comes first.
    Other(String, String),
    /// None: writers supply the value here.
    Own,
}

/// Provenance of a derived item, attribute by attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Provenance {
    pub(super) origins: BTreeMap<String, Origin>,
    /// Whether the model declares one of them as a copy; otherwise the writes imply it.
    pub(super) declared: bool,
    /// Whether several source items make the same derived item.
    pub(super) shared: bool,
    /// Whether the key does not identify the source item: two source items may make one key.
    pub(super) claims: bool,
}

impl Provenance {
    /// Its attributes that come from the source, each with the source's name for it.
    pub(super) fn of_source(&self) -> impl Iterator<Item = (&String, &String)> {
        self.origins.iter().filter_map(|(name, origin)| match origin {
            Origin::Source(from) | Origin::Moved(from) => Some((name, from)),
            Origin::Other(..) | Origin::Own => None,
        })
    }

    /// The source's names of these attributes.
    pub(super) fn sources(&self) -> Vec<String> {
        let names: BTreeSet<&String> = self.of_source().map(|(_, from)| from).collect();
        names.into_iter().cloned().collect()
    }

    pub(super) fn moved(&self) -> Vec<String> {
        let moved = self.origins.iter().filter(|(_, origin)| matches!(origin, Origin::Moved(_)));
        moved.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn own(&self) -> Vec<String> {
        let own = self.origins.iter().filter(|(_, origin)| **origin == Origin::Own);
        own.map(|(name, _)| name.clone()).collect()
    }

    /// Its copied attributes.
    pub(super) fn copied(&self) -> Vec<String> {
        let copied = self.origins.iter().filter(|(_, origin)| **origin != Origin::Own);
        copied.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn others(&self) -> impl Iterator<Item = (&String, &String, &String)> {
        self.origins.iter().filter_map(|(name, origin)| match origin {
            Origin::Other(entity, from) => Some((name, entity, from)),
            Origin::Source(_) | Origin::Moved(_) | Origin::Own => None,
        })
    }
}

/// The result of a search for a new entity's source.
#[derive(Clone, Debug)]
pub(super) enum SearchResult<'a> {
    /// The source, as it was.
    Source(EntityRef<'a>, Provenance),
    /// A possible source that nothing declares; with the attributes that both have.
    Perhaps(EntityRef<'a>, Vec<String>),
}

/// Searches the source of a new entity.
pub(super) struct Search<'s, 'a> {
    pub(super) after: &'a Subject,
    pub(super) matches: &'s [Match<'a>],
}

impl<'a> Search<'_, 'a> {
    pub(super) fn source(&self, new: &EntityRef<'a>) -> Option<SearchResult<'a>> {
        let mut best: Option<(usize, EntityRef<'a>, Provenance)> = None;
        let mut perhaps = None;
        for matched in self.matches {
            let (Match::Stays(old, now) | Match::Moves(old, now)) = matched else { continue };
            let Some((evidence, provenance)) = self.made_of(new, old, now) else { continue };
            if evidence == 0 {
                if self.repeats(new, now, &provenance) {
                    perhaps = Some(SearchResult::Perhaps(*old, provenance.moved()));
                }
            } else if best.as_ref().is_none_or(|(most, ..)| evidence > *most) {
                best = Some((evidence, *old, provenance));
            }
        }
        best.map(|(_, old, provenance)| SearchResult::Source(old, provenance)).or(perhaps)
    }

    /// A source entity in the new one's key whose own match is open.
    pub(super) fn unknown(&self, new: &EntityRef<'a>) -> Option<String> {
        let of = |name: &String| self.flattened(new.entity, name).map(|(of, _)| of);
        let unknown = |of: &String| {
            self.matches.iter().any(|matched| {
                matches!(matched, Match::Unknown { .. })
                    && matched.after().is_some_and(|side| side.entity.name == *of && !side.is(new))
            })
        };
        variables(new).iter().filter_map(of).find(unknown)
    }

    /// Provenance if this entity were the source: it must determine the whole key. The best supported
    /// candidate comes first.
    fn made_of(
        &self,
        new: &EntityRef<'a>,
        old: &EntityRef<'a>,
        now: &EntityRef<'a>,
    ) -> Option<(usize, Provenance)> {
        let keys = variables(new);
        let mut provenance = Provenance::default();
        let mut declared: BTreeMap<String, usize> = BTreeMap::new();
        for name in attributes(new) {
            let flat = self.flattened(new.entity, &name);
            if let Some((of, _)) = &flat {
                *declared.entry(of.clone()).or_default() += 1;
            }
            let origin = self.origin(new, (old, now), (&name, keys.contains(&name)), flat);
            provenance.origins.insert(name, origin);
        }
        let known = |name: &String| {
            matches!(provenance.origins.get(name), Some(Origin::Source(_) | Origin::Moved(_)))
        };
        if keys.is_empty() || !keys.iter().all(known) {
            return None;
        }
        // A copy of an attribute that another new entity has is filled together with that one.
        let declared_of = |of: &str| declared.get(of).copied().unwrap_or(0);
        let own = declared_of(&now.entity.name);
        let comes = |of: &String| {
            let is = |matched: &Match<'_>| matched.after().is_some_and(|side| side.entity.name == *of);
            self.matches.iter().any(|matched| matched.before().is_none() && is(matched))
        };
        if declared.iter().any(|(of, count)| *count > own && comes(of)) {
            return None;
        }
        let from_source: BTreeSet<String> = provenance.of_source().map(|(_, from)| from.clone()).collect();
        let by_key: BTreeSet<String> = provenance
            .of_source()
            .filter(|(name, _)| keys.contains(*name))
            .map(|(_, from)| from.clone())
            .collect();
        let of_now = variables(now);
        provenance.declared = own > 0;
        provenance.shared = !of_now.is_subset(&from_source) && !variables(old).is_subset(&from_source);
        provenance.claims =
            !provenance.shared && !of_now.is_subset(&by_key) && !variables(old).is_subset(&by_key);
        let alone = provenance.own().is_empty() && !self.are_put_alone(new, now);
        let moves = !provenance.moved().is_empty() && !provenance.shared && alone;
        let written = provenance.own().is_empty() && self.are_put_together(new, now);
        Some((own * 4 + usize::from(moves) * 2 + usize::from(written), provenance))
    }

    fn origin(
        &self,
        new: &EntityRef<'a>,
        (old, now): (&EntityRef<'a>, &EntityRef<'a>),
        (name, of_key): (&str, bool),
        flat: Option<(String, String)>,
    ) -> Origin {
        let kind = new.entity.attributes.get(name);
        let has = |entity: &SubjectEntity, name: &str| kind.is_some() && entity.attributes.get(name) == kind;
        match flat {
            Some((of, from)) if of == now.entity.name => Origin::Source(from),
            Some((of, from)) => {
                // The items may have a copy of the same attribute, or the attribute that identifies its
                // owner.
                let copy = now.entity.copies.keys().find(|own| {
                    self.flattened(now.entity, own).is_some_and(|flat| flat == (of.clone(), from.clone()))
                });
                let keys = variables(now);
                let refers = |own: &&str| of_key || keys.contains(*own);
                let same = [name, from.as_str()].into_iter().find(|own| refers(own) && has(now.entity, own));
                match copy.map(String::as_str).or(same) {
                    Some(own) => Origin::Source(own.to_owned()),
                    None => Origin::Other(of, from),
                }
            }
            None if has(now.entity, name) => {
                let repeats = of_key || self.are_set_together(&new.entity.name, &now.entity.name, name);
                if repeats { Origin::Source(name.to_owned()) } else { Origin::Own }
            }
            None if has(old.entity, name) => Origin::Moved(name.to_owned()),
            None => Origin::Own,
        }
    }

    /// The final source of a copied attribute, in an entity that exists.
    fn flattened(&self, entity: &SubjectEntity, name: &str) -> Option<(String, String)> {
        let mut at = entity.copies.get(name)?.clone();
        for _ in 0..self.matches.len() {
            let side =
                self.matches.iter().find_map(|matched| matched.after().filter(|new| new.entity.name == at.0));
            let matched = self.matches.iter().find(|matched| {
                matched.after().zip(side).is_some_and(|(own, side)| own.is(&side))
                    && matched.before().is_none()
            });
            let next = match (matched, side) {
                (Some(Match::Derived(source, _, provenance)), _) => match provenance.origins.get(&at.1) {
                    Some(Origin::Source(from) | Origin::Moved(from)) => {
                        let now = self
                            .matches
                            .iter()
                            .find(|matched| matched.before().is_some_and(|old| old.is(source)));
                        let of = now.and_then(Match::after).unwrap_or(*source);
                        Some((of.entity.name.clone(), from.clone()))
                    }
                    Some(Origin::Other(of, from)) => Some((of.clone(), from.clone())),
                    Some(Origin::Own) | None => None,
                },
                (Some(_), Some(side)) => side.entity.copies.get(&at.1).cloned(),
                _ => None,
            };
            match next {
                Some(next) if next != at => at = next,
                _ => break,
            }
        }
        Some(at)
    }

    /// Whether no write sets only one of the two attributes of the same name.
    fn are_set_together(&self, new: &str, source: &str, name: &str) -> bool {
        let own = [name.to_owned()];
        let mut setters = self.after.patterns.iter().filter(|pattern| pattern.sets(new, &own));
        setters.all(|pattern| pattern.sets(source, &own))
    }

    /// Whether a write puts both the new items and the others, and none writes the new items alone.
    fn are_put_together(&self, new: &EntityRef<'_>, now: &EntityRef<'_>) -> bool {
        let puts = |pattern: &SubjectPattern| {
            pattern.touches.iter().any(|touch| {
                touch.entity == new.entity.name && matches!(touch.kind, TouchKind::Put | TouchKind::Create)
            })
        };
        let mut writers =
            self.after.patterns.iter().filter(|pattern| pattern.changes(&new.entity.name)).peekable();
        let any = writers.clone().any(puts);
        any && writers.all(|pattern| pattern.changes(&now.entity.name))
    }

    /// Whether a write puts the new items and leaves the others unchanged.
    fn are_put_alone(&self, new: &EntityRef<'_>, now: &EntityRef<'_>) -> bool {
        self.after.patterns.iter().any(|pattern| {
            let puts = pattern.touches.iter().any(|touch| {
                touch.entity == new.entity.name && matches!(touch.kind, TouchKind::Put | TouchKind::Create)
            });
            puts && !pattern.changes(&now.entity.name)
        })
    }

    /// Whether the items identify their source, and either have attributes that the source loses, or have
    /// only copies and no writers of their own.
    fn repeats(&self, new: &EntityRef<'_>, now: &EntityRef<'_>, provenance: &Provenance) -> bool {
        let written = self.after.patterns.iter().any(|pattern| pattern.changes(&new.entity.name));
        let names: BTreeSet<String> = attributes(new).into_iter().collect();
        let alike = !written && provenance.own().is_empty();
        !provenance.shared && (alike || !provenance.moved().is_empty()) && variables(now).is_subset(&names)
    }
}

/// An entity's attributes, without pure key attributes.
fn attributes(new: &EntityRef<'_>) -> Vec<String> {
    let keys = new.table.definition.key_attributes();
    let is_made = |name: &String| {
        keys.iter().any(|key| key.name == *name)
            && new.entity.templates.get(name).is_some_and(|text| made_of(text).all(|of| of != name))
    };
    new.entity.attributes.keys().filter(|name| !is_made(name)).cloned().collect()
}
