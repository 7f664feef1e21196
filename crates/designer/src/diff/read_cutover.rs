//! Which reads change, and when: after the new place is filled, and before the old one is removed.
//!
//! A read is judged copy by copy. As long as an item exists under its old and its new key, a read that finds
//! both skips one of them. As long as some items have their old index key and others the new one, the read
//! queries both.

use keywright_semantics::schema::{IndexSchema, KeySchema};

use super::action::Action;
use super::changes::slot_text;
use super::index_changes::{altered, moves, needed};
use super::input::{Reading, Subject, SubjectEntity, SubjectPattern};
use super::matching::{EntityRef, Match};
use super::phrasing::and;
use super::plan::StepKind;
use super::planner::{is_open, must_be_copied, written};

/// What the application changes in its reads.
pub(super) struct ReadChange {
    pub(super) kind: StepKind,
    pub(super) text: String,
    pub(super) actions: Vec<Action>,
}

pub(super) struct Readers<'a> {
    pub(super) before: &'a Subject,
    pub(super) after: &'a Subject,
    pub(super) matches: &'a [Match<'a>],
}

/// The read of a pattern.
struct PatternRead<'a> {
    pattern: &'a SubjectPattern,
    sources: Vec<Source<'a>>,
}

/// Where a read finds the items of one entity.
#[derive(Clone, Copy)]
struct Source<'a> {
    side: EntityRef<'a>,
    /// The index that it queries; none for the table itself.
    index: Option<&'a IndexSchema>,
}

/// Why a source does not exist after the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// The table or the index is deleted, or created again.
    Place,
    /// The table no longer holds items of the entity.
    Entity,
    /// The items have another primary key.
    Key,
    /// The items have another key in the index.
    Slot,
    /// The items are in the table, but not in the index.
    Entries,
}

impl<'a> Readers<'a> {
    /// All changes of reads, in the order of the patterns.
    pub(super) fn read_changes(&self) -> Vec<ReadChange> {
        let mut found = Vec::new();
        for pattern in &self.after.patterns {
            let Some(now) = PatternRead::of(pattern, self.after) else { continue };
            let known = self.before.patterns.iter().find(|known| known.id == pattern.id);
            match known.and_then(|known| PatternRead::of(known, self.before)) {
                Some(was) => {
                    self.meets_both(&was, &now, &mut found);
                    self.switched(&was, &now, &mut found);
                }
                None if now.sources.iter().any(|source| self.is_new(source, pattern))
                    || self.meets_more(&now) =>
                {
                    self.begins(&now, &mut found);
                }
                None => {}
            }
        }
        for pattern in &self.before.patterns {
            let asked = self.after.patterns.iter().find(|known| known.id == pattern.id);
            if asked.is_some_and(|known| PatternRead::of(known, self.after).is_some()) {
                continue;
            }
            if let Some(was) = PatternRead::of(pattern, self.before) {
                self.ends(&was, &mut found);
            }
        }
        self.unused_indexes(&mut found);
        found
    }

    /// Reads that would have no answer for a while: their old place is removed before the new one is ready.
    pub(super) fn refused(&self) -> Vec<String> {
        let mut found = Vec::new();
        for pattern in &self.after.patterns {
            let Some(now) = PatternRead::of(pattern, self.after) else { continue };
            let known = self.before.patterns.iter().find(|known| known.id == pattern.id);
            let Some(was) = known.and_then(|known| PatternRead::of(known, self.before)) else { continue };
            found.extend(self.turned(&was, &now).or_else(|| self.gap(&was, &now)));
        }
        found
    }

    /// Why a read has no answer for a while: its old place is removed before the new one is ready.
    fn gap(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> Option<String> {
        let gone = was.sources.iter().find(|source| self.ends_early(source, was, now))?;
        let gained = self.gained(was, now);
        let made = |source: &&&Source<'a>| match self.match_of_new(&source.side) {
            Some(Match::Derived(of, ..)) => of.is(&gone.side),
            _ => false,
        };
        let stays = was.sources.iter().any(|source| self.followed(source, now).is_some());
        let comes = |source: &&&Source<'a>| !stays && self.is_new(source, now.pattern);
        let then = gained.iter().find(made).or(gained.iter().find(comes))?;
        let (id, old, new) = (&now.pattern.id, &gone.side.entity.name, &then.side.entity.name);
        Some(format!(
            "no plan: {id} asks for {old} by {} and shall ask for {new} instead, and the key of {old} in {} changes before {new} is there: compare with a model that adds {new} and keeps that key, then that one with this; until then nothing is moved or deleted",
            gone.key(),
            gone.place_name()
        ))
    }

    /// Why a read that changes its index has no answer while the key attributes of that index change. One
    /// index holds the entries of both keys only if the reader can compute both keys, and neither read can.
    fn turned(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> Option<String> {
        let asks_still = |source: &&Source<'a>| {
            let then = self.match_of_old(&source.side).and_then(Match::after);
            then.is_some_and(|side| now.sources.iter().any(|source| source.side.is(&side)))
        };
        if is_asked_alike(was, now) {
            return None;
        }
        let gone = was.sources.iter().filter(|source| self.is_turned_under(source, was)).find(asks_still)?;
        Some(format!(
            "no plan: {} is asked by {} and shall be asked by {}, and the key of {} in {}, {}, changes under it: give the new question an id and an index of its own, compare with a model that has both questions, then that one with this; until then nothing is moved or deleted",
            was.pattern.id,
            was.asked_by(),
            now.asked_by(),
            self.named(gone),
            gone.place_name(),
            gone.key()
        ))
    }

    fn match_of_old(&self, side: &EntityRef<'_>) -> Option<&Match<'a>> {
        self.matches.iter().find(|matched| matched.before().is_some_and(|old| old.is(side)))
    }

    fn match_of_new(&self, side: &EntityRef<'_>) -> Option<&Match<'a>> {
        self.matches.iter().find(|matched| matched.after().is_some_and(|new| new.is(side)))
    }

    /// Whether the plan changes the index entries that a source finds while they are read.
    fn alters(&self, source: &Source<'_>) -> bool {
        let (Some(Match::Stays(old, new)), Some(index)) = (self.match_of_old(&source.side), source.index)
        else {
            return false;
        };
        altered(old.entity, index, &written(old, new))
    }

    /// Whether the plan changes the keys that a read queries by. A full scan of an index uses no key: it
    /// finds an entry under any key.
    fn is_turned_under(&self, source: &Source<'_>, was: &PatternRead<'_>) -> bool {
        was.pattern.reading != Reading::Scan && self.alters(source)
    }

    /// Whether a read also finds the new copies of the items that it returns.
    fn doubles(&self, source: &Source<'_>, was: &PatternRead<'_>) -> bool {
        let Some(Match::Moves(old, new)) = self.match_of_old(&source.side) else { return false };
        is_same_table(old, new) && source.finds(new, old, was)
    }

    /// What a read does while old and new data exist.
    fn meets_both(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Vec<ReadChange>) {
        let id = &was.pattern.id;
        for source in &was.sources {
            if self.ends_early(source, was, now) {
                let entity = self.named(source).to_owned();
                let text = format!(
                    "{id} asks {} for {entity} no more, and passes over what it meets of it: its key there changes",
                    source.asked()
                );
                let action = Action::AskWithout { pattern: id.clone(), entity };
                found.push(ReadChange { kind: StepKind::ReadBoth, text, actions: vec![action] });
            } else if self.is_turned_under(source, was) {
                found.push(Self::asks_both(id, source, self.followed(source, now)));
            }
            if let Some(Match::Moves(_, new)) = self.match_of_old(&source.side)
                && self.doubles(source, was)
            {
                let text = format!(
                    "{id} passes over the items of {} under {} {}, until the reads move",
                    new.entity.name,
                    new.key_text(),
                    source.within()
                );
                let action = Action::PassNew { pattern: id.clone(), entity: new.entity.name.clone() };
                found.push(ReadChange { kind: StepKind::ReadBoth, text, actions: vec![action] });
            }
        }
        for (matched, source) in self.strangers(was, Match::before) {
            if comes(matched, &source, was)
                && let Some(new) = matched.after()
            {
                let entity = new.entity.name.clone();
                let text = format!(
                    "{id} passes over the items of {entity} under {} {}, until the reads move",
                    new.key_text(),
                    source.within()
                );
                let action = Action::PassNew { pattern: id.clone(), entity };
                found.push(ReadChange { kind: StepKind::ReadBoth, text, actions: vec![action] });
            }
        }
    }

    /// Entities that a read does not want and may find where it reads, each with one of the sources that it
    /// reads there.
    fn strangers(
        &self,
        read: &PatternRead<'a>,
        era: impl Fn(&Match<'a>) -> Option<EntityRef<'a>>,
    ) -> Vec<(&Match<'a>, Source<'a>)> {
        let own = |matched: &&Match<'a>| {
            era(matched).is_some_and(|side| read.sources.iter().any(|source| source.side.is(&side)))
        };
        let strangers = self.matches.iter().filter(|matched| !own(matched));
        strangers.flat_map(|matched| read.sources.iter().map(move |source| (matched, *source))).collect()
    }

    /// Whether a read temporarily finds more than it does after the plan.
    fn meets_more(&self, now: &PatternRead<'a>) -> bool {
        self.strangers(now, Match::after)
            .iter()
            .any(|(matched, source)| remains(matched, source, now).is_some() || lingers(matched, source, now))
    }

    /// The new source that replaces an old one of a read.
    fn followed<'q>(&self, source: &Source<'_>, now: &'q PatternRead<'a>) -> Option<&'q Source<'a>> {
        let new = self.match_of_old(&source.side)?.after()?;
        now.sources.iter().find(|source| source.side.is(&new))
    }

    /// Whether a read can ask for an entity only until its keys change.
    fn ends_early(&self, source: &Source<'_>, was: &PatternRead<'_>, now: &PatternRead<'a>) -> bool {
        self.is_turned_under(source, was) && self.followed(source, now).is_none()
    }

    /// Sources that only the new version of a read has.
    fn gained<'q>(&self, was: &PatternRead<'a>, now: &'q PatternRead<'a>) -> Vec<&'q Source<'a>> {
        let kept: Vec<EntityRef<'a>> = was
            .sources
            .iter()
            .filter_map(|source| self.followed(source, now))
            .map(|source| source.side)
            .collect();
        now.sources.iter().filter(|source| !kept.iter().any(|side| side.is(&source.side))).collect()
    }

    /// Attributes that the old items lack and the new version of a read needs.
    fn lacked(&self, source: &Source<'_>, was: &PatternRead<'_>, now: &PatternRead<'_>) -> Vec<String> {
        let Some(Match::Stays(old, new)) = self.match_of_old(&source.side) else { return Vec::new() };
        let one = std::slice::from_ref(now.pattern);
        let lacks = needed(old.entity, new.entity, new.table, one).into_iter();
        let lacks = lacks.filter(|one| !is_open(self.matches, (old, new), one)).map(|one| one.name);
        lacks.filter(|name| now.pattern.whole || !was.pattern.needs.contains(name)).collect()
    }

    fn asks_both(id: &str, source: &Source<'_>, to: Option<&Source<'_>>) -> ReadChange {
        let from = source.asked();
        let entity = to.map_or(source.side.entity, |to| to.side.entity);
        let then = match to {
            Some(to) if to.place_name() == source.place_name() => format!("and by {}", to.key()),
            Some(to) => format!("and {}", to.asked()),
            None => "and by the new key".to_owned(),
        };
        ReadChange {
            kind: StepKind::ReadBoth,
            text: format!(
                "{id} asks {from} {then} for {}, takes each item once, and only what answers it by its own attributes",
                entity.name
            ),
            actions: vec![Action::AskBoth { pattern: id.to_owned() }],
        }
    }

    /// What changes for a read that both designs have.
    fn switched(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Vec<ReadChange>) {
        let id = &was.pattern.id;
        if self.is_all_gone(was, now) && self.is_all_there(was, now) {
            self.asks_instead(was, now, found);
            return;
        }
        let losses: Vec<(&Source<'a>, Loss)> = was
            .sources
            .iter()
            .filter(|source| !self.is_unknown(source))
            .filter_map(|source| Some((source, self.loss(source, was)?)))
            .collect();
        let (from, to) = (was.place(), now.place());
        let left_alone = was.sources.iter().any(|source| self.is_unknown(source));
        let mut sentences: Vec<String> = if from != to && !left_alone {
            vec![format!("{id} asks {to} instead of {from}")]
        } else if losses.iter().any(|(_, loss)| *loss == Loss::Place) {
            vec![format!("{id} asks the new {to}")]
        } else {
            let stays = |source: &Source<'a>| self.followed(source, now).is_some();
            let texts = losses.iter().filter(|(source, _)| !self.ends_early(source, was, now));
            let texts = texts.map(|(source, loss)| {
                let entity = self.named(source);
                match (loss, source.index) {
                    (Loss::Key, None) if stays(source) => format!("{id} asks {to} by the new key"),
                    (Loss::Key, Some(_)) if stays(source) => {
                        format!("{id} takes {entity} from {to} under the new key alone")
                    }
                    (Loss::Slot, _) if stays(source) => {
                        format!("{id} asks {to} for {entity} by the new key alone")
                    }
                    _ => format!("{id} looks for no {entity} in {to} any more"),
                }
            });
            let mut texts: Vec<String> = texts.collect();
            let gained = self
                .gained(was, now)
                .into_iter()
                .filter(|source| !self.is_left_alone(source) && self.is_new(source, now.pattern));
            texts.extend(gained.map(|source| {
                format!("{id} asks {} for {} from now on", source.asked(), source.side.entity.name)
            }));
            texts
        };
        for source in &was.sources {
            let names = self.lacked(source, was, now);
            if self.followed(source, now).is_some() && !names.is_empty() {
                sentences.push(format!("{id} counts on {} of {}", and(&names), self.named(source)));
            }
        }
        sentences.dedup();
        let mut actions = vec![Action::AskNew { pattern: id.clone() }];
        if !sentences.is_empty() {
            for text in sentences {
                found.push(ReadChange {
                    kind: StepKind::SwitchReads,
                    text,
                    actions: std::mem::take(&mut actions),
                });
            }
        }
        // A read that queries both places finds from then on what the new place holds.
        let both = was
            .sources
            .iter()
            .any(|source| self.is_turned_under(source, was) && !self.ends_early(source, was, now));
        self.passes_old(now, if both { StepKind::ReadBoth } else { StepKind::SwitchReads }, found);
    }

    /// Whether all old sources of a read are gone when the first release goes out.
    fn is_all_gone(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> bool {
        !was.sources.is_empty() && was.sources.iter().all(|source| self.ends_early(source, was, now))
    }

    /// Whether all new sources of a read exist from the beginning.
    fn is_all_there(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> bool {
        let gained = self.gained(was, now);
        !gained.is_empty()
            && gained.iter().all(|source| !self.is_new(source, now.pattern) && !self.is_left_alone(source))
    }

    /// If all old sources are replaced, the new ones are read in the same release: in between the read would
    /// have no answer.
    fn asks_instead(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Vec<ReadChange>) {
        let id = &was.pattern.id;
        let mut actions = vec![Action::AskNew { pattern: id.clone() }];
        for source in self.gained(was, now) {
            let text = format!("{id} asks {} for {} from now on", source.asked(), source.side.entity.name);
            found.push(ReadChange { kind: StepKind::ReadBoth, text, actions: std::mem::take(&mut actions) });
        }
        self.passes_old(now, StepKind::ReadBoth, found);
    }

    /// A moved read finds the old copies until they are deleted. A moved entity is read the new way when the
    /// reads move and not earlier, also by reads that query both places for another entity.
    fn passes_old(&self, now: &PatternRead<'a>, kind: StepKind, found: &mut Vec<ReadChange>) {
        let id = &now.pattern.id;
        for source in &now.sources {
            if let Some(Match::Moves(old, new)) = self.match_of_new(&source.side)
                && source.finds(old, new, now)
                && is_same_table(old, new)
            {
                let text = format!(
                    "{id} passes over the items of {} under {} {}, until they are deleted",
                    new.entity.name,
                    old.key_text(),
                    source.within()
                );
                let action = Action::PassOld { pattern: id.clone(), entity: new.entity.name.clone() };
                found.push(ReadChange { kind: StepKind::SwitchReads, text, actions: vec![action] });
            }
        }
        for (matched, source) in self.strangers(now, Match::after) {
            if let Some(old) = remains(matched, &source, now) {
                let entity = matched.after().unwrap_or(old).entity.name.clone();
                let text = format!(
                    "{id} passes over the items of {entity} under {} {}, until they are {}",
                    old.key_text(),
                    source.within(),
                    if matches!(matched, Match::Stays(..)) { "there no more" } else { "deleted" }
                );
                let action = Action::PassOld { pattern: id.clone(), entity };
                found.push(ReadChange { kind, text, actions: vec![action] });
            }
        }
    }

    fn begins(&self, now: &PatternRead<'a>, found: &mut Vec<ReadChange>) {
        let id = &now.pattern.id;
        found.push(ReadChange {
            kind: StepKind::SwitchReads,
            text: format!("{id}, which is new, asks {}", now.place()),
            actions: vec![Action::AskNew { pattern: id.clone() }],
        });
        self.passes_old(now, StepKind::SwitchReads, found);
    }

    /// A read that the new design does not have.
    fn ends(&self, was: &PatternRead<'a>, found: &mut Vec<ReadChange>) {
        let id = &was.pattern.id;
        let stranger = self.strangers(was, Match::before);
        let kind = if was
            .sources
            .iter()
            .any(|source| self.is_turned_under(source, was) || self.doubles(source, was))
            || stranger.iter().any(|(matched, source)| comes(matched, source, was))
        {
            StepKind::ReadBoth
        } else if was.sources.iter().any(|source| self.loss(source, was).is_some()) {
            StepKind::SwitchReads
        } else {
            return;
        };
        let text = format!("{id} is asked no more");
        found.push(ReadChange { kind, text, actions: vec![Action::AskNoMore { pattern: id.clone() }] });
    }

    /// Indexes that are deleted or whose entries change and that no known read uses: another program may use
    /// them.
    fn unused_indexes(&self, found: &mut Vec<ReadChange>) {
        let questions: Vec<PatternRead<'_>> =
            self.before.patterns.iter().filter_map(|pattern| PatternRead::of(pattern, self.before)).collect();
        for was in &self.before.tables {
            let Some(now) = self.after.table(&was.definition.name) else { continue };
            for index in &was.definition.schema.indexes {
                let asks = |source: &Source<'_>, entity: Option<&SubjectEntity>| {
                    source.side.table.definition.name == was.definition.name
                        && source.index == Some(index)
                        && entity.is_none_or(|entity| source.side.entity.name == entity.name)
                };
                let asked = |entity| {
                    questions.iter().any(|read| read.sources.iter().any(|source| asks(source, entity)))
                };
                for entity in &was.entities {
                    let source = Source { side: EntityRef { table: was, entity }, index: Some(index) };
                    if self.alters(&source) && !asked(Some(entity)) {
                        let to = self.match_of_old(&source.side).and_then(Match::after).and_then(|side| {
                            let index = side.table.index(&index.name)?;
                            side.entity.is_in(index).then_some(Source { side, index: Some(index) })
                        });
                        let mut change =
                            Self::asks_both(&format!("whatever asks {}", index.name), &source, to.as_ref());
                        change.actions.clear();
                        found.push(change);
                    }
                }
                if now.index(&index.name) != Some(index) && !asked(None) {
                    found.push(ReadChange {
                        kind: StepKind::SwitchReads,
                        text: format!(
                            "nothing asks {} any more: its consumed read capacity stays at zero",
                            index.name
                        ),
                        actions: Vec::new(),
                    });
                }
            }
        }
    }

    /// The entity's name in the new design.
    fn named(&self, source: &Source<'a>) -> &'a str {
        let matched = self.match_of_old(&source.side);
        &matched.and_then(Match::after).unwrap_or(source.side).entity.name
    }

    fn is_left_alone(&self, source: &Source<'_>) -> bool {
        matches!(self.match_of_new(&source.side), Some(Match::Unknown { .. }))
    }

    fn is_unknown(&self, source: &Source<'_>) -> bool {
        matches!(self.match_of_old(&source.side), Some(Match::Unknown { .. }))
    }

    fn loss(&self, source: &Source<'_>, was: &PatternRead<'_>) -> Option<Loss> {
        let old = match self.match_of_old(&source.side)? {
            Match::Unknown { .. } | Match::New(_) | Match::Derived(..) => return None,
            Match::Gone(old) | Match::Stays(old, _) | Match::Moves(old, _) => old,
        };
        let name = &source.side.table.definition.name;
        let Some(now) = self.after.table(name) else { return Some(Loss::Place) };
        if must_be_copied(source.side.table, now)
            || source.index.is_some_and(|index| now.index(&index.name) != Some(index))
        {
            return Some(Loss::Place);
        }
        match self.match_of_old(old)? {
            Match::Gone(_) => Some(Loss::Entity),
            Match::Moves(_, new) => {
                Some(if new.table.definition.name == *name { Loss::Key } else { Loss::Entity })
            }
            Match::Stays(_, new) => {
                let leaves =
                    source.index.is_some_and(|index| old.entity.is_in(index) && !new.entity.is_in(index));
                if leaves {
                    Some(Loss::Entries)
                } else {
                    self.is_turned_under(source, was).then_some(Loss::Slot)
                }
            }
            Match::New(_) | Match::Derived(..) | Match::Unknown { .. } => None,
        }
    }

    /// Whether the plan creates, fills or moves the sources of a new read.
    fn is_new(&self, source: &Source<'_>, pattern: &SubjectPattern) -> bool {
        let known = self.before.table(&source.side.table.definition.name);
        let made = |index: &IndexSchema| known.and_then(|was| was.index(&index.name)) != Some(index);
        if source.index.is_some_and(made) {
            return true;
        }
        match self.match_of_new(&source.side) {
            Some(Match::Moves(..) | Match::New(_) | Match::Derived(..)) => true,
            Some(Match::Stays(old, new)) => {
                let moves = moves(old.entity, new.entity, old.table, new.table);
                let lacks = needed(old.entity, new.entity, new.table, std::slice::from_ref(pattern));
                source.index.is_some_and(|index| moves.iter().any(|one| one.index == index))
                    || !lacks.is_empty()
            }
            Some(Match::Gone(_) | Match::Unknown { .. }) | None => false,
        }
    }
}

/// Whether the plan adds items where a read searches.
fn comes(matched: &Match<'_>, source: &Source<'_>, read: &PatternRead<'_>) -> bool {
    let Some(new) = matched.after() else { return false };
    let place = source.side.table;
    let here = new.table.definition.name == place.definition.name && !must_be_copied(place, new.table);
    let comes = match matched {
        Match::New(_) | Match::Derived(..) | Match::Moves(..) => true,
        Match::Stays(old, _) => source.index.is_some_and(|index| {
            let written = written(old, &new);
            index.key.attributes().any(|key| written.contains(&key.name))
        }),
        Match::Gone(_) | Match::Unknown { .. } => false,
    };
    here && comes && source.finds(&new, &source.side, read)
}

/// Old copies that stay where a read searches until the end of the plan.
fn remains<'a>(matched: &Match<'a>, source: &Source<'a>, read: &PatternRead<'a>) -> Option<EntityRef<'a>> {
    let old = matched.before()?;
    let place = source.side.table;
    let here = old.table.definition.name == place.definition.name && !must_be_copied(old.table, place);
    let goes = match matched {
        Match::Gone(_) | Match::Moves(..) => true,
        Match::Stays(old, new) => {
            source.index.is_some_and(|index| old.entity.is_in(index) && !new.entity.is_in(index))
        }
        Match::New(_) | Match::Derived(..) | Match::Unknown { .. } => false,
    };
    (here && goes && source.finds(&old, &source.side, read)).then_some(old)
}

/// Whether old entries stay where a read searches until the plan gives them another key.
fn lingers(matched: &Match<'_>, source: &Source<'_>, read: &PatternRead<'_>) -> bool {
    let (Match::Stays(old, new), Some(index)) = (matched, source.index) else { return false };
    old.table.definition.name == source.side.table.definition.name
        && altered(old.entity, index, &written(old, new))
        && source.finds(old, &source.side, read)
}

/// Whether both versions of a read take the same values, and the same number of them.
fn is_asked_alike(was: &PatternRead<'_>, now: &PatternRead<'_>) -> bool {
    was.pattern.given == now.pattern.given && was.pattern.equal == now.pattern.equal
}

fn is_same_table(old: &EntityRef<'_>, new: &EntityRef<'_>) -> bool {
    old.table.definition.name == new.table.definition.name && !must_be_copied(old.table, new.table)
}

impl<'a> PatternRead<'a> {
    /// The read of a pattern; none if it reads nothing or no request answers it. A write reads what it
    /// checks.
    fn of(pattern: &'a SubjectPattern, subject: &'a Subject) -> Option<Self> {
        let entities: Vec<&str> = pattern.read_entities().collect();
        if entities.is_empty() || !pattern.answered {
            return None;
        }
        let mut sources = Vec::new();
        for table in &subject.tables {
            let index = pattern.uses.as_deref().and_then(|uses| table.index(uses));
            for entity in entities.iter().filter_map(|entity| table.entity(entity)) {
                sources.push(Source { side: EntityRef { table, entity }, index });
            }
        }
        Some(Self { pattern, sources })
    }

    /// The key values that a read takes, in words.
    fn asked_by(&self) -> String {
        let Some(_) = self.pattern.given.first() else { return "nothing".to_owned() };
        let is_one = |name: &&String| self.pattern.equal.contains(name);
        let (one, ranges): (Vec<&String>, Vec<&String>) = self.pattern.given.iter().partition(is_one);
        let ranges = ranges.into_iter().map(|name| format!("a range of {name}"));
        and(&one.into_iter().cloned().chain(ranges).collect::<Vec<_>>())
    }

    /// The table or index of a read, in words.
    fn place(&self) -> String {
        let indexed = self.sources.iter().find(|source| source.index.is_some());
        if let Some(source) = indexed {
            return source.place_name();
        }
        let mut names: Vec<&str> = Vec::new();
        for source in &self.sources {
            let name = source.side.table.definition.name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() { "the table".to_owned() } else { format!("table {}", names.join(", ")) }
    }
}

impl<'a> Source<'a> {
    fn place_name(&self) -> String {
        let table = &self.side.table.definition.name;
        match self.index {
            Some(index) => format!("index {} of {table}", index.name),
            None => format!("table {table}"),
        }
    }

    fn key_schema(&self) -> &'a KeySchema {
        self.index.map_or(&self.side.table.definition.schema.key, |index| &index.key)
    }

    /// The key that a read queries by.
    fn key(&self) -> String {
        slot_text(self.side.entity, self.key_schema())
    }

    fn asked(&self) -> String {
        format!("{} by {}", self.place_name(), self.key())
    }

    fn within(&self) -> String {
        match self.index {
            Some(index) => format!("in {}", index.name),
            None => format!("in {}", self.side.table.definition.name),
        }
    }

    /// Whether a read of one copy of an entity's items, `own`, also finds the other copy. A read by the whole
    /// key finds only the item with that key.
    fn finds(&self, copy: &EntityRef<'_>, own: &EntityRef<'_>, read: &PatternRead<'_>) -> bool {
        let key = self.key_schema();
        if self.index.is_some_and(|index| !copy.entity.is_in(index)) {
            return false;
        }
        let shape = |side: &EntityRef<'_>, name: &str| side.entity.shape_of(name);
        let partition = key.partition.iter().all(|key| shape(own, &key.name).meets(&shape(copy, &key.name)));
        // A read of several entities also returns what sorts between them.
        let several = read.sources.len() > 1;
        let sort =
            several || key.sort.iter().all(|key| shape(own, &key.name).begins_like(&shape(copy, &key.name)));
        match (read.pattern.reading, self.index) {
            (Reading::Scan, _) => true,
            (Reading::Get, None) => false,
            (Reading::Get | Reading::Query, _) => partition && sort,
        }
    }
}
