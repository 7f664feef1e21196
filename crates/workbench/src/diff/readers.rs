//! Which questions are asked elsewhere, and when: after what they ask is there, and before what they asked goes.
//!
//! What goes is looked up in the old design, question by question: whatever a plan deletes, its readers are found here.

use std::collections::BTreeSet;

use keywright_semantics::schema::IndexSchema;

use super::changes::slot_text;
use super::planner::must_be_copied;
use super::subject::{Subject, SubjectPattern, SubjectTable};

/// What a release that moves the reads does, one sentence a question.
pub(super) fn switches(before: &Subject, after: &Subject, moved: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for pattern in &after.patterns {
        let Some(now) = Question::of(pattern, after) else { continue };
        let known = before.patterns.iter().find(|known| known.id == pattern.id);
        match known.and_then(|known| Question::of(known, before)) {
            Some(was) => found.extend(was.switched(&now, after)),
            None if now.needs_what_is_new(before, moved) => {
                found.push(format!("{}, which is new, asks {}", pattern.id, now.place()));
            }
            None => {}
        }
    }
    for pattern in &before.patterns {
        let asked = after.patterns.iter().find(|known| known.id == pattern.id);
        if asked.is_some_and(|known| Question::of(known, after).is_some()) {
            continue;
        }
        if Question::of(pattern, before).is_some_and(|was| !was.losses(after).is_empty()) {
            found.push(format!("{} is asked no more", pattern.id));
        }
    }
    found.extend(unread(before, after));
    found
}

/// Indexes that go and that no question is known to ask: something else may.
fn unread(before: &Subject, after: &Subject) -> Vec<String> {
    let mut found = Vec::new();
    for was in &before.tables {
        let Some(now) = after.table(&was.definition.name) else { continue };
        for index in
            was.definition.schema.indexes.iter().filter(|index| now.index(&index.name) != Some(*index))
        {
            let asks = |source: &Source<'_>| {
                source.table.definition.name == was.definition.name && source.index == Some(index)
            };
            let asked = before
                .patterns
                .iter()
                .filter_map(|pattern| Question::of(pattern, before))
                .any(|question| question.sources.iter().any(asks));
            if !asked {
                found.push(format!(
                    "nothing asks {} any more: its consumed read capacity stays at nought",
                    index.name
                ));
            }
        }
    }
    found
}

/// What a pattern reads.
struct Question<'a> {
    id: &'a str,
    sources: Vec<Source<'a>>,
}

/// Where a question finds the items of one entity.
struct Source<'a> {
    entity: &'a str,
    table: &'a SubjectTable,
    /// The index that is asked; none where it is the table itself.
    index: Option<&'a IndexSchema>,
}

/// Why a source is there no more once the plan is through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    /// The table or the index goes, or is made anew.
    Place,
    /// The table has no items of the entity any more.
    Entity,
    /// The items are there under another key.
    Key,
    /// The items are in the table, but not in the index.
    Entries,
}

impl<'a> Question<'a> {
    /// What a pattern asks; none where it reads nothing. A write reads what it checks.
    fn of(pattern: &'a SubjectPattern, subject: &'a Subject) -> Option<Self> {
        let entities: Vec<&str> = pattern.read_entities().collect();
        if entities.is_empty() {
            return None;
        }
        let mut sources = Vec::new();
        for table in &subject.tables {
            let index = pattern.uses.as_deref().and_then(|uses| table.index(uses));
            for entity in entities.iter().filter(|entity| table.entity(entity).is_some()) {
                sources.push(Source { entity, table, index });
            }
        }
        Some(Self { id: &pattern.id, sources })
    }

    fn losses(&self, after: &Subject) -> Vec<(&Source<'a>, Loss)> {
        self.sources.iter().filter_map(|source| Some((source, source.loss(after)?))).collect()
    }

    /// What changes for a question that is asked before and after.
    fn switched(&self, now: &Question<'_>, after: &Subject) -> Vec<String> {
        let (id, losses) = (self.id, self.losses(after));
        let (from, to) = (self.place(), now.place());
        if from != to {
            return vec![format!("{id} asks {to} instead of {from}")];
        }
        if losses.iter().any(|(_, loss)| *loss == Loss::Place) {
            return vec![format!("{id} asks the new {to}")];
        }
        let texts = losses.iter().map(|(source, loss)| match (loss, source.index) {
            (Loss::Key, None) => format!("{id} asks {to} by the new key"),
            (Loss::Key, Some(_)) => {
                format!("{id} takes {} from {to} under the new key alone", source.entity)
            }
            (Loss::Place | Loss::Entity | Loss::Entries, _) => {
                format!("{id} looks for no {} in {to} any more", source.entity)
            }
        });
        let mut told: Vec<String> = texts.collect();
        told.dedup();
        told
    }

    /// Whether what it asks is made, filled or moved by the plan.
    fn needs_what_is_new(&self, before: &Subject, moved: &BTreeSet<String>) -> bool {
        self.sources.iter().any(|source| {
            let known = before.table(&source.table.definition.name);
            let is_new = |index: &IndexSchema| known.and_then(|was| was.index(&index.name)) != Some(index);
            moved.contains(source.entity) || source.index.is_some_and(is_new)
        })
    }

    /// Where a question is asked, in words.
    fn place(&self) -> String {
        let indexed = self.sources.iter().find_map(|source| Some((source.table, source.index?)));
        if let Some((table, index)) = indexed {
            return format!("index {} of {}", index.name, table.definition.name);
        }
        let mut names: Vec<&str> = Vec::new();
        for source in &self.sources {
            let name = source.table.definition.name.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() { "the table".to_owned() } else { format!("table {}", names.join(", ")) }
    }
}

impl Source<'_> {
    fn loss(&self, after: &Subject) -> Option<Loss> {
        let Some(now) = after.table(&self.table.definition.name) else { return Some(Loss::Place) };
        if must_be_copied(self.table, now)
            || self.index.is_some_and(|index| now.index(&index.name) != Some(index))
        {
            return Some(Loss::Place);
        }
        let Some(entity) = now.entity(self.entity) else { return Some(Loss::Entity) };
        let old = self.table.entity(self.entity)?;
        let key = &now.definition.schema.key;
        if slot_text(old, key) != slot_text(entity, key) && !slot_text(old, key).is_empty() {
            return Some(Loss::Key);
        }
        let leaves = self.index.is_some_and(|index| old.is_in(index) && !entity.is_in(index));
        leaves.then_some(Loss::Entries)
    }
}
