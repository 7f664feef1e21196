//! Stale copies: items left under a key that no writer knows any more.
//!
//! If a copy's key uses attributes that the writer's key does not determine, an update or delete would orphan
//! the old copy. The writer therefore reads the item first, which gives the copy's key.

use std::collections::BTreeSet;

use super::action::Action;
use super::index_changes::made_of;
use super::input::SubjectPattern;
use super::matching::EntityRef;
use super::phrasing::{Subjects, and};
use super::plan::StepKind;
use super::planner::Planner;

/// A copy, and the key by which its writers know the item.
pub(super) struct StaleCopy<'a> {
    /// The entity of the copies.
    pub(super) copies: &'a str,
    /// The names of the item's entity.
    pub(super) names: &'a [&'a str],
    /// The key by which writers know the item, with its variables.
    pub(super) known: (&'a str, BTreeSet<String>),
    /// The key of the copy, with its variables.
    pub(super) made: (&'a str, BTreeSet<String>),
    /// The step from which the copy is found by the known key.
    pub(super) during: StepKind,
    /// Whether the copy stays after the plan.
    pub(super) lasts: bool,
}

/// The variables of a table's key.
pub(super) fn variables(side: &EntityRef<'_>) -> BTreeSet<String> {
    let keys = side.table.definition.schema.key.attributes();
    let templates = keys.filter_map(|key| side.entity.template_of(&key.name));
    templates.flat_map(|template| made_of(&template).map(str::to_owned).collect::<Vec<_>>()).collect()
}

impl Planner<'_> {
    /// Has the stale copy deleted, where the known key does not determine the copy's key or an update changes
    /// it.
    pub(super) fn stale_deleted(&mut self, stale: &StaleCopy<'_>) {
        let StaleCopy { copies, names, known: (known, of_known), made: (made, of_made), during, lasts } =
            stale;
        let undetermined: Vec<String> = of_made.difference(of_known).cloned().collect();
        let changing: Vec<String> = of_made.iter().cloned().collect();
        let all = self.writes().filter(|pattern| names.iter().any(|name| pattern.changes(name)));
        let all: Vec<&SubjectPattern> = all.collect();
        let strays = |pattern: &&&SubjectPattern| {
            names.iter().any(|name| {
                pattern.replaces(name) && !undetermined.is_empty()
                    || pattern.updates(name) && pattern.sets(name, &changing)
            })
        };
        let straying: Vec<&SubjectPattern> = all.iter().filter(strays).copied().collect();
        if straying.is_empty() && (undetermined.is_empty() || !all.is_empty()) {
            return;
        }
        let who =
            Subjects::of(straying.into_iter(), || "whatever changes, replaces or deletes it".to_owned());
        let why = if undetermined.is_empty() {
            String::new()
        } else {
            format!(", which alone tells {}", and(&undetermined))
        };
        let text = format!(
            "{} the item under {known} first{why}, and {} what is under the {made} that it made, if that is not what is put, in the same transaction and on condition that the item is still what was read: else the stale copy stays",
            who.each("reads", "read"),
            if who.is_many() { "delete" } else { "deletes" },
        );
        self.act(*during, text, vec![Action::DeleteStaleCopy { entity: (*copies).to_owned() }]);
        if *lasts && !undetermined.is_empty() {
            let text = format!(
                "{} the item by {} too, as {made} is made of it: what changes it deletes the item under the previous key and puts it under the new one in one transaction, as a key cannot be updated",
                who.each("goes on finding", "go on finding"),
                and(&undetermined)
            );
            self.act(StepKind::StopWrites, text, Vec::new());
        }
    }
}
