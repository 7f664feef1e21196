//! Which reads change, and when: after the new place is filled, and before the old one is removed.
//!
//! A read is judged copy by copy. As long as an item exists under its old and its new key, a read that finds
//! both skips one of them. As long as some items have their old index key and others the new one, the read
//! queries both.

use keywright_semantics::schema::{IndexSchema, KeySchema};

use super::actions::{Access, Location, ReadChange};
use super::changes::slot;
use super::index_changes::{altered, moves, needed};
use super::input::{Reading, Subject, SubjectEntity, SubjectPattern};
use super::matching::{EntityRef, Match};
use super::plan::StepKind;
use super::planner::{is_open, must_be_copied, written};
use super::remarks::{Refusal, SearchedBy};

/// What the application changes in its reads, each with its step.
type Changes = Vec<(StepKind, ReadChange)>;

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
    pub(super) fn read_changes(&self) -> Changes {
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
    pub(super) fn refused(&self) -> Vec<Refusal> {
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
    fn gap(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> Option<Refusal> {
        let gone = was.sources.iter().find(|source| self.ends_early(source, was, now))?;
        let gained = self.gained(was, now);
        let made = |source: &&&Source<'a>| match self.match_of_new(&source.side) {
            Some(Match::Derived(of, ..)) => of.is(&gone.side),
            _ => false,
        };
        let stays = was.sources.iter().any(|source| self.followed(source, now).is_some());
        let comes = |source: &&&Source<'a>| !stays && self.is_new(source, now.pattern);
        let then = gained.iter().find(made).or(gained.iter().find(comes))?;
        Some(Refusal::ReadGap {
            pattern: now.pattern.id.clone(),
            entity: gone.side.entity.name.clone(),
            from: gone.access(),
            instead: then.side.entity.name.clone(),
        })
    }

    /// Why a read that changes its index has no answer while the key attributes of that index change. One
    /// index holds the entries of both keys only if the reader can compute both keys, and neither read can.
    fn turned(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> Option<Refusal> {
        let asks_still = |source: &&Source<'a>| {
            let then = self.match_of_old(&source.side).and_then(Match::after);
            then.is_some_and(|side| now.sources.iter().any(|source| source.side.is(&side)))
        };
        if is_asked_alike(was, now) {
            return None;
        }
        let gone = was.sources.iter().filter(|source| self.is_turned_under(source, was)).find(asks_still)?;
        Some(Refusal::ReadChangesWithKey {
            pattern: was.pattern.id.clone(),
            entity: self.named(gone).to_owned(),
            from: gone.access(),
            was: was.searched_by(),
            becomes: now.searched_by(),
        })
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
    fn meets_both(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Changes) {
        let id = &was.pattern.id;
        for source in &was.sources {
            if self.ends_early(source, was, now) {
                let leave_out = ReadChange::LeaveOut {
                    pattern: id.clone(),
                    entity: self.named(source).to_owned(),
                    from: source.access(),
                };
                found.push((StepKind::ReadBoth, leave_out));
            } else if self.is_turned_under(source, was) {
                let to = self.followed(source, now);
                found.push((StepKind::ReadBoth, asks_both(Some(id.clone()), source, to)));
            }
            if let Some(Match::Moves(_, new)) = self.match_of_old(&source.side)
                && self.doubles(source, was)
            {
                found.push((StepKind::ReadBoth, skips_new(id, new, source)));
            }
        }
        for (matched, source) in self.strangers(was, Match::before) {
            if comes(matched, &source, was)
                && let Some(new) = matched.after()
            {
                found.push((StepKind::ReadBoth, skips_new(id, &new, &source)));
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

    /// What changes for a read that both designs have.
    fn switched(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Changes) {
        if self.is_all_gone(was, now) && self.is_all_there(was, now) {
            self.asks_instead(was, now, found);
            return;
        }
        let pattern = || was.pattern.id.clone();
        let mut changes = self.other_places(was, now);
        for source in &was.sources {
            let attributes = self.lacked(source, was, now);
            if self.followed(source, now).is_some() && !attributes.is_empty() {
                let entity = self.named(source).to_owned();
                changes.push(ReadChange::RelyOn { pattern: pattern(), entity, attributes });
            }
        }
        changes.dedup();
        found.extend(changes.into_iter().map(|change| (StepKind::SwitchReads, change)));
        // A read that queries both places finds from then on what the new place holds.
        let both = was
            .sources
            .iter()
            .any(|source| self.is_turned_under(source, was) && !self.ends_early(source, was, now));
        self.passes_old(now, if both { StepKind::ReadBoth } else { StepKind::SwitchReads }, found);
    }

    /// Where a read finds its items, if that changes.
    fn other_places(&self, was: &PatternRead<'a>, now: &PatternRead<'a>) -> Vec<ReadChange> {
        let pattern = || was.pattern.id.clone();
        let losses: Vec<(&Source<'a>, Loss)> = was
            .sources
            .iter()
            .filter(|source| !self.is_unknown(source))
            .filter_map(|source| Some((source, self.loss(source, was)?)))
            .collect();
        let (from, place) = (was.place(), now.place());
        let left_alone = was.sources.iter().any(|source| self.is_unknown(source));
        if from != place && !left_alone {
            return vec![ReadChange::ReadInstead { pattern: pattern(), place, from }];
        }
        if losses.iter().any(|(_, loss)| *loss == Loss::Place) {
            return vec![ReadChange::ReadAgain { pattern: pattern(), place }];
        }
        let lost = losses.iter().filter(|(source, _)| !self.ends_early(source, was, now));
        let lost = lost.map(|(source, loss)| {
            let (pattern, entity, place) = (pattern(), self.named(source).to_owned(), place.clone());
            let stays = self.followed(source, now).is_some();
            match (loss, source.index) {
                (Loss::Key, None) if stays => ReadChange::ReadByNewKey { pattern, entity: None, place },
                (Loss::Key | Loss::Slot, _) if stays => {
                    ReadChange::ReadByNewKey { pattern, entity: Some(entity), place }
                }
                _ => ReadChange::ReadLess { pattern, entity, place },
            }
        });
        let gained = self
            .gained(was, now)
            .into_iter()
            .filter(|source| !self.is_left_alone(source) && self.is_new(source, now.pattern));
        lost.chain(gained.map(|source| reads_more(&was.pattern.id, source))).collect()
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
    fn asks_instead(&self, was: &PatternRead<'a>, now: &PatternRead<'a>, found: &mut Changes) {
        let gained = self.gained(was, now).into_iter();
        found.extend(gained.map(|source| (StepKind::ReadBoth, reads_more(&was.pattern.id, source))));
        self.passes_old(now, StepKind::ReadBoth, found);
    }

    /// Adds the changes that make a read skip old copies: while a moved entity exists under both keys, a read
    /// of it skips the old copies, from the step that switches reads. Items of other entities that the read
    /// meets in the same place are skipped from step `kind`.
    fn passes_old(&self, now: &PatternRead<'a>, kind: StepKind, found: &mut Changes) {
        let id = &now.pattern.id;
        for source in &now.sources {
            if let Some(Match::Moves(old, new)) = self.match_of_new(&source.side)
                && source.finds(old, new, now)
                && is_same_table(old, new)
            {
                found.push((StepKind::SwitchReads, skips_old(id, &new.entity.name, old, source, false)));
            }
        }
        for (matched, source) in self.strangers(now, Match::after) {
            if let Some(old) = remains(matched, &source, now) {
                let entity = &matched.after().unwrap_or(old).entity.name;
                let leaving = matches!(matched, Match::Stays(..));
                found.push((kind, skips_old(id, entity, &old, &source, leaving)));
            }
        }
    }

    fn begins(&self, now: &PatternRead<'a>, found: &mut Changes) {
        let begin = ReadChange::BeginRead { pattern: now.pattern.id.clone(), place: now.place() };
        found.push((StepKind::SwitchReads, begin));
        self.passes_old(now, StepKind::SwitchReads, found);
    }

    /// A read that the new design does not have.
    fn ends(&self, was: &PatternRead<'a>, found: &mut Changes) {
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
        found.push((kind, ReadChange::EndRead { pattern: was.pattern.id.clone() }));
    }

    /// Indexes that are deleted or whose entries change and that no known read uses: another program may use
    /// them.
    fn unused_indexes(&self, found: &mut Changes) {
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
                        found.push((StepKind::ReadBoth, asks_both(None, &source, to.as_ref())));
                    }
                }
                if now.index(&index.name) != Some(index) && !asked(None) {
                    let (table, index) = (was.definition.name.clone(), index.name.clone());
                    found.push((StepKind::SwitchReads, ReadChange::UnusedIndex { table, index }));
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

/// A read by the old and the new key; by a program that the models do not know if no pattern is named.
fn asks_both(pattern: Option<String>, source: &Source<'_>, to: Option<&Source<'_>>) -> ReadChange {
    ReadChange::ReadBothKeys {
        pattern,
        entity: to.map_or(source.side.entity, |to| to.side.entity).name.clone(),
        from: source.access(),
        to: to.map(Source::access),
    }
}

fn reads_more(id: &str, source: &Source<'_>) -> ReadChange {
    ReadChange::ReadMore {
        pattern: id.to_owned(),
        entity: source.side.entity.name.clone(),
        from: source.access(),
    }
}

fn skips_new(id: &str, new: &EntityRef<'_>, source: &Source<'_>) -> ReadChange {
    ReadChange::SkipNew {
        pattern: id.to_owned(),
        entity: new.entity.name.clone(),
        key: new.key(),
        place: source.place(),
    }
}

fn skips_old(id: &str, entity: &str, old: &EntityRef<'_>, source: &Source<'_>, leaving: bool) -> ReadChange {
    ReadChange::SkipOld {
        pattern: id.to_owned(),
        entity: entity.to_owned(),
        key: old.key(),
        place: source.place(),
        leaving,
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

    /// The attributes that a read searches by.
    fn searched_by(&self) -> SearchedBy {
        let is_one = |name: &String| self.pattern.equal.contains(name);
        let (equal, ranges) = self.pattern.given.iter().cloned().partition(is_one);
        SearchedBy { equal, ranges }
    }

    /// The tables or the index of a read.
    fn place(&self) -> Location {
        let indexed = self.sources.iter().find(|source| source.index.is_some());
        if let Some(source) = indexed {
            return source.place();
        }
        let mut tables: Vec<String> = Vec::new();
        for source in &self.sources {
            let name = &source.side.table.definition.name;
            if !tables.contains(name) {
                tables.push(name.clone());
            }
        }
        Location { tables, index: None }
    }
}

impl<'a> Source<'a> {
    fn place(&self) -> Location {
        Location {
            tables: vec![self.side.table.definition.name.clone()],
            index: self.index.map(|index| index.name.clone()),
        }
    }

    /// The place with the key that a read queries by.
    fn access(&self) -> Access {
        Access { place: self.place(), key: slot(self.side.entity, self.key_schema()) }
    }

    fn key_schema(&self) -> &'a KeySchema {
        self.index.map_or(&self.side.table.definition.schema.key, |index| &index.key)
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
