//! Stale copies: items left under a key that no writer knows any more.
//!
//! If a copy's key uses attributes that the writer's key does not determine, an update or delete would orphan
//! the old copy. The writer therefore reads the item first, which gives the copy's key.

use std::collections::BTreeSet;

use super::actions::RekeyWrite;
use super::index_changes::made_of;
use super::input::{SubjectPattern, ids};
use super::matching::EntityRef;
use super::plan::StepKind;
use super::planner::Planner;

/// A copy, and the key by which its writers know the item.
pub(super) struct StaleCopy<'a> {
    /// The entity of the copies.
    pub(super) copies: &'a str,
    /// The names of the item's entity.
    pub(super) names: &'a [&'a str],
    /// The key by which writers know the item, with its variables.
    pub(super) known: (Vec<String>, BTreeSet<String>),
    /// The key of the copy, with its variables.
    pub(super) made: (Vec<String>, BTreeSet<String>),
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
    /// Adds the deletion of the stale copy, if the known key does not determine the copy's key or an update
    /// changes that key.
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
        let patterns = ids(straying);
        let delete = RekeyWrite::DeleteStaleCopy {
            entity: (*copies).to_owned(),
            patterns: patterns.clone(),
            known: known.clone(),
            stale: made.clone(),
            undetermined: undetermined.clone(),
        };
        self.act(*during, delete);
        if *lasts && !undetermined.is_empty() {
            let find = RekeyWrite::FindByAttributes {
                entity: (*copies).to_owned(),
                patterns,
                attributes: undetermined,
                key: made.clone(),
            };
            self.act(StepKind::StopWrites, find);
        }
    }
}
