//! What stands in a place of backups. The place itself is the catalogue: nothing else is read.

use std::collections::BTreeMap;

use keywright_objects::Entries;

use crate::chain::break_of;
use crate::fault::{Fault, Wrong};
use crate::manifest::{Manifest, Summary};
use crate::names::{BackupPath, MANIFEST, SETS, Scope};
use crate::place::Place;
use crate::set::SetManifest;

/// All backups and sets of a place.
#[derive(Debug, Default)]
pub struct Listing {
    /// The backups, in the order of account, region, table and id.
    pub backups: Vec<Listed>,
    /// The sets, in the order of account, region and id.
    pub sets: Vec<ListedSet>,
}

/// A backup that was found.
#[derive(Debug)]
pub struct Listed {
    /// Where it stands.
    pub path: BackupPath,
    /// What state it is in.
    pub state: State,
}

/// The state of a backup, as far as its manifest and the lengths of its chunks tell.
#[derive(Debug)]
pub enum State {
    /// Its manifest is whole, its chunks are there with the right lengths, and so are those of all it builds
    /// on.
    Complete(Box<Summary>),
    /// It has no manifest: it is being written, or its writer has stopped.
    Incomplete {
        /// The objects that are there.
        objects: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// Its manifest cannot be read: what it builds on is not known.
    Unreadable(Fault),
    /// Its manifest is whole; a chunk is not, or its chain is broken.
    Damaged(Box<Summary>, Fault),
}

impl State {
    /// What the manifest says, if it can be read.
    pub fn summary(&self) -> Option<&Summary> {
        match self {
            Self::Complete(summary) | Self::Damaged(summary, _) => Some(summary),
            Self::Incomplete { .. } | Self::Unreadable(_) => None,
        }
    }
}

/// A set that was found.
#[derive(Debug)]
pub struct ListedSet {
    /// Account and region of its tables.
    pub scope: Scope,
    /// The id of its backups.
    pub id: String,
    /// What state it is in.
    pub state: SetState,
}

/// The state of a set.
#[derive(Debug)]
pub enum SetState {
    /// Its manifest is whole, and the backups that it names are complete.
    Complete(SetManifest),
    /// Backups of the set are there, its manifest is not: it is being written, or its writer has stopped.
    Incomplete,
    /// Its manifest, or a backup that it names, is damaged or missing.
    Damaged(Fault),
}

/// Lists a place. An error is one of the place; what is wrong with a backup stands in its line.
pub async fn list(place: &Place) -> Result<Listing, Fault> {
    let mut listing = Listing::default();
    for account in place.entries("").await?.folders {
        for region in place.entries(&account).await?.folders {
            // What no backup can be called is none.
            if let Ok(scope) = Scope::new(account.as_str(), region) {
                list_scope(place, &scope, &mut listing).await?;
            }
        }
    }
    listing.sort();
    Ok(listing)
}

/// Lists what a place has of one account and region.
pub async fn list_of(place: &Place, scope: &Scope) -> Result<Listing, Fault> {
    let mut listing = Listing::default();
    list_scope(place, scope, &mut listing).await?;
    listing.sort();
    Ok(listing)
}

impl Listing {
    fn sort(&mut self) {
        self.backups.sort_by(|a, b| a.path.cmp(&b.path));
        self.sets.sort_by(|a, b| (&a.scope, &a.id).cmp(&(&b.scope, &b.id)));
    }
}

async fn list_scope(place: &Place, scope: &Scope, listing: &mut Listing) -> Result<(), Fault> {
    let first = listing.backups.len();
    for table in place.entries(&scope.folder()).await?.folders {
        let folder = format!("{scope}/{table}");
        if table == SETS {
            continue;
        }
        for id in place.entries(&folder).await?.folders {
            let Ok(path) = scope.backup(table.as_str(), id) else { continue };
            let entries = place.entries(&path.folder()).await?;
            if !entries.objects.is_empty() {
                let state = state(place, &path, &entries).await?;
                listing.backups.push(Listed { path, state });
            }
        }
    }
    let backups = listing.backups.get_mut(first..).unwrap_or_default();
    find_breaks(place, backups);
    let backups = &*backups;
    let mut incomplete: Vec<&str> = backups
        .iter()
        .filter_map(|listed| listed.state.summary())
        .filter(|summary| summary.parts.of_set)
        .map(|summary| summary.path.id())
        .collect();
    for (name, _) in place.entries(&format!("{scope}/{SETS}")).await?.objects {
        let Some(id) = name.strip_suffix(".json").filter(|id| scope.set(id).is_ok()) else { continue };
        incomplete.retain(|incomplete| *incomplete != id);
        let state = set_state(place, scope, id, backups).await?;
        listing.sets.push(ListedSet { scope: scope.clone(), id: id.to_owned(), state });
    }
    incomplete.sort_unstable();
    incomplete.dedup();
    let set = |id: &str| ListedSet { scope: scope.clone(), id: id.to_owned(), state: SetState::Incomplete };
    listing.sets.extend(incomplete.into_iter().map(set));
    Ok(())
}

/// Marks the backups whose chain is broken.
fn find_breaks(place: &Place, backups: &mut [Listed]) {
    let known: BTreeMap<&BackupPath, (&Summary, bool)> = backups
        .iter()
        .filter_map(|listed| {
            let is_whole = matches!(listed.state, State::Complete(_));
            Some((&listed.path, (listed.state.summary()?, is_whole)))
        })
        .collect();
    let break_of = |listed: &Listed| match &listed.state {
        State::Complete(summary) => break_of(place, summary, |path| known.get(path).copied()),
        _ => None,
    };
    let breaks: Vec<Option<Fault>> = backups.iter().map(break_of).collect();
    for (listed, fault) in backups.iter_mut().zip(breaks) {
        if let (State::Complete(summary), Some(fault)) = (&listed.state, fault) {
            listed.state = State::Damaged(summary.clone(), fault);
        }
    }
}

async fn state(place: &Place, path: &BackupPath, entries: &Entries) -> Result<State, Fault> {
    if entries.length(MANIFEST).is_none() {
        let bytes = entries.objects.iter().map(|(_, bytes)| bytes).sum();
        return Ok(State::Incomplete { objects: entries.objects.len(), bytes });
    }
    let manifest = match Manifest::read(place, path).await {
        Ok(manifest) => manifest,
        Err(fault) if fault.is_damage() => return Ok(State::Unreadable(fault)),
        Err(fault) => return Err(fault),
    };
    let checked = manifest.check_lengths(place, entries);
    let summary = Box::new(manifest.summary);
    Ok(match checked {
        Ok(()) => State::Complete(summary),
        Err(fault) => State::Damaged(summary, fault),
    })
}

async fn set_state(place: &Place, scope: &Scope, id: &str, backups: &[Listed]) -> Result<SetState, Fault> {
    let set = match SetManifest::read(place, scope, id).await {
        Ok(set) => set,
        Err(fault) if fault.is_damage() => return Ok(SetState::Damaged(fault)),
        Err(fault) => return Err(fault),
    };
    let of_set: Vec<&Summary> = backups
        .iter()
        .filter(|listed| listed.path.id() == id)
        .filter_map(|listed| listed.state.summary())
        .collect();
    if let Some(wrong) = wrong_member(&set, &of_set) {
        return Ok(SetState::Damaged(place.damaged(&scope.set(id)?, wrong)));
    }
    let is_member = |listed: &&Listed| {
        listed.path.id() == id && set.tables.iter().any(|member| member.table == listed.path.table())
    };
    let damage = backups.iter().filter(is_member).find_map(|listed| match &listed.state {
        State::Damaged(_, Fault::Damaged(damage)) => Some(damage.clone()),
        _ => None,
    });
    Ok(damage.map_or(SetState::Complete(set), |damage| SetState::Damaged(Fault::Damaged(damage))))
}

/// The first member of a set that is not among the backups of its id.
pub(crate) fn wrong_member(set: &SetManifest, backups: &[&Summary]) -> Option<Wrong> {
    set.tables.iter().find_map(|member| {
        let table = member.table.clone();
        match backups.iter().find(|backup| backup.path.table() == table) {
            None => Some(Wrong::Member { table, reason: "that backup is not there or unreadable" }),
            Some(backup) if backup.sha256 != member.sha256 => {
                Some(Wrong::Member { table, reason: "that backup was replaced by another one" })
            }
            Some(_) => None,
        }
    })
}
