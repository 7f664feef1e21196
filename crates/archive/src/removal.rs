//! Removal of backups: of one, and of those that are too old. The manifest goes first, so that what is left
//! of a removal that stopped is incomplete and never half a backup.

use std::collections::{BTreeMap, BTreeSet};

use crate::fault::Fault;
use crate::list::{Listed, Listing, SetState, State, list};
use crate::manifest::Summary;
use crate::names::{BackupPath, MANIFEST, Scope};
use crate::place::Place;

/// An incomplete backup may still be written for so long.
const INCOMPLETE_MS_MIN: u64 = 24 * 60 * 60 * 1000;

/// Which backups stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Those that are at most so old, in milliseconds.
    pub for_ms: u64,
}

/// What a removal by age does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The manifests of sets to remove: a backup of each is removed.
    pub sets: Vec<(Scope, String)>,
    /// The backups to remove: an increment stands before what it builds on.
    pub backups: Vec<BackupPath>,
    /// Old backups that stay, because an increment that is kept builds on them or because they are the newest
    /// of their table that can be restored.
    pub needed: Vec<BackupPath>,
    /// Backups whose manifest cannot be read. What they build on is not known, so nothing of their table is
    /// removed.
    pub unreadable: Vec<BackupPath>,
}

/// Removes a backup: its manifest, then its chunks. What is gone already is no error. Whether an increment
/// builds on it is for the caller to know: `Listing::needed_by`.
pub async fn delete(place: &Place, path: &BackupPath) -> Result<(), Fault> {
    place.remove(&path.manifest()).await?;
    for (name, _) in place.entries(&path.folder()).await?.objects {
        if name != MANIFEST {
            place.remove(&path.object(&name)).await?;
        }
    }
    place.remove_unfinished(&path.folder()).map(|_| ())
}

/// Removes the manifest of a set. Its backups stay, each by itself.
pub async fn delete_set(place: &Place, scope: &Scope, id: &str) -> Result<(), Fault> {
    place.remove(&scope.set(id)?).await
}

/// Removes what is too old at this time, in milliseconds since 1970; says what.
pub async fn prune(place: &Place, keep: Keep, now_ms: u64) -> Result<Plan, Fault> {
    let plan = plan(&list(place).await?, keep, now_ms);
    plan.apply(place).await?;
    Ok(plan)
}

impl Plan {
    /// Removes the sets, then the backups, in their order.
    pub async fn apply(&self, place: &Place) -> Result<(), Fault> {
        for (scope, id) in &self.sets {
            delete_set(place, scope, id).await?;
        }
        for path in &self.backups {
            delete(place, path).await?;
        }
        Ok(())
    }
}

impl Listing {
    /// The backups that build directly on this one.
    pub fn needed_by(&self, path: &BackupPath) -> Vec<&BackupPath> {
        let builds_on = |child: &Summary| {
            let parent = child.parent().map(|parent| parent.id.as_str());
            parent == Some(path.id())
                && child.path.table() == path.table()
                && child.path.scope() == path.scope()
        };
        let children = self.backups.iter().filter(|listed| listed.state.summary().is_some_and(builds_on));
        children.map(|listed| &listed.path).collect()
    }
}

/// What a removal of all backups with an id does, also if they are new; the error is a backup that builds on
/// one of them.
pub fn plan_of_id(listing: &Listing, id: &str) -> Result<Plan, BackupPath> {
    let with_id = listing.backups.iter().filter(|listed| listed.path.id() == id);
    let backups: Vec<BackupPath> = with_id.map(|listed| listed.path.clone()).collect();
    if let Some(child) = backups.iter().flat_map(|path| listing.needed_by(path)).next() {
        return Err(child.clone());
    }
    let sets = listing.sets.iter().filter(|set| set.id == id && !matches!(set.state, SetState::Incomplete));
    let sets = sets.map(|set| (set.scope.clone(), set.id.clone())).collect();
    Ok(Plan { sets, backups, ..Plan::default() })
}

/// What `prune` would remove: backups that are older than `keep` says at this time, unless a kept increment
/// needs them or they are the newest that can be restored.
pub fn plan(listing: &Listing, keep: Keep, now_ms: u64) -> Plan {
    let mut tables: BTreeMap<(&Scope, &str), Vec<&Listed>> = BTreeMap::new();
    for listed in &listing.backups {
        tables.entry((listed.path.scope(), listed.path.table())).or_default().push(listed);
    }
    let mut plan = Plan::default();
    for backups in tables.values() {
        plan_table(backups, keep, now_ms, &mut plan);
    }
    plan.sets = sets(listing, keep, now_ms, &plan.backups);
    plan
}

/// Adds what becomes of the backups of one table.
fn plan_table(backups: &[&Listed], keep: Keep, now_ms: u64, plan: &mut Plan) {
    let unreadable = backups.iter().filter(|listed| matches!(listed.state, State::Unreadable(_)));
    let unreadable: Vec<BackupPath> = unreadable.map(|listed| listed.path.clone()).collect();
    if !unreadable.is_empty() {
        plan.unreadable.extend(unreadable);
        return;
    }
    let mut by_stamp: Vec<&Summary> = backups.iter().filter_map(|listed| listed.state.summary()).collect();
    by_stamp.sort_by_key(|summary| std::cmp::Reverse((summary.parts.stamp, summary.path.id())));
    let by_id: BTreeMap<&str, &Listed> = backups.iter().map(|listed| (listed.path.id(), *listed)).collect();
    let is_young = |summary: &Summary| now_ms.saturating_sub(summary.parts.created_ms) <= keep.for_ms;
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let newest = by_stamp.iter().find(|summary| is_restorable(summary, &by_id));
    for summary in by_stamp.iter().filter(|summary| is_young(summary)).chain(newest) {
        kept.extend(ancestry(summary, &by_id).map(|summary| summary.path.id()));
    }
    for summary in &by_stamp {
        match (kept.contains(summary.path.id()), is_young(summary)) {
            (true, false) => plan.needed.push(summary.path.clone()),
            (false, _) => plan.backups.push(summary.path.clone()),
            (true, true) => {}
        }
    }
    let age_max = keep.for_ms.max(INCOMPLETE_MS_MIN);
    let is_abandoned = |path: &BackupPath| path.id_ms().is_some_and(|ms| now_ms.saturating_sub(ms) > age_max);
    let incomplete = backups.iter().filter(|listed| matches!(listed.state, State::Incomplete { .. }));
    plan.backups
        .extend(incomplete.filter(|listed| is_abandoned(&listed.path)).map(|listed| listed.path.clone()));
}

/// A backup and all it builds on that is there, the newest first. Stamps never rise on the way, and a backup
/// that builds on itself comes once.
fn ancestry<'a>(
    summary: &'a Summary,
    by_id: &BTreeMap<&str, &'a Listed>,
) -> impl Iterator<Item = &'a Summary> {
    let parent = |child: &&'a Summary| by_id.get(child.parent()?.id.as_str())?.state.summary();
    std::iter::successors(Some(summary), parent).take(by_id.len())
}

/// Whether a backup and all it builds on are there as far as a listing tells.
fn is_restorable(summary: &Summary, by_id: &BTreeMap<&str, &Listed>) -> bool {
    let is_complete = |summary: &Summary| {
        by_id.get(summary.path.id()).is_some_and(|listed| matches!(listed.state, State::Complete(_)))
    };
    let mut chain = ancestry(summary, by_id).peekable();
    let mut is_whole = true;
    while let Some(link) = chain.next() {
        let is_end = chain.peek().is_none();
        is_whole &= is_complete(link) && (!is_end || link.parent().is_none());
    }
    is_whole
}

/// The manifests of sets that go: those of which a backup goes, and old ones of which no backup is left.
fn sets(listing: &Listing, keep: Keep, now_ms: u64, removed: &[BackupPath]) -> Vec<(Scope, String)> {
    let removed: BTreeSet<(&Scope, &str)> = removed.iter().map(|path| (path.scope(), path.id())).collect();
    let present: BTreeSet<(&Scope, &str)> =
        listing.backups.iter().map(|listed| (listed.path.scope(), listed.path.id())).collect();
    let goes = |key: &(&Scope, &str), state: &SetState| match state {
        SetState::Incomplete => false,
        SetState::Complete(_) | SetState::Damaged(_) if present.contains(key) => removed.contains(key),
        SetState::Complete(set) => now_ms.saturating_sub(set.created_ms) > keep.for_ms,
        SetState::Damaged(_) => true,
    };
    let sets = listing.sets.iter().filter(|set| goes(&(&set.scope, set.id.as_str()), &set.state));
    sets.map(|set| (set.scope.clone(), set.id.clone())).collect()
}
