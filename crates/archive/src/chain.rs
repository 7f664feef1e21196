//! Chains: a full backup and the increments on it, read as one table: of each key, the newest row wins, and
//! tombstones drop.

use bytes::Bytes;

use crate::fault::{Fault, Wrong};
use crate::manifest::{Manifest, Summary};
use crate::names::BackupPath;
use crate::place::Place;
use crate::reader::BackupRows;
use crate::row::Row;

/// The longest chain: a restore reads all of its backups at once, with a block of each in memory.
pub const CHAIN_LENGTH_MAX: usize = 100;
const ABSENT: &str = "that backup is not there or incomplete";
const TOO_LONG: &str = "the chain is longer than any that is written";

/// A full backup and the increments on it.
///
/// Invariant: the first is full, each further one is an increment of the one before, by id, stamp, table and
/// the sum of its manifest.
#[derive(Clone, Debug)]
pub struct Chain {
    manifests: Vec<Manifest>,
}

impl Chain {
    /// Reads the manifests of a backup and of all it builds on.
    pub async fn read(place: &Place, path: &BackupPath) -> Result<Self, Fault> {
        let mut manifests = vec![Manifest::read(place, path).await?];
        while let Some(child) = manifests.last().filter(|child| child.summary.parent().is_some()) {
            if manifests.len() == CHAIN_LENGTH_MAX {
                return Err(unfit(place, &child.summary, TOO_LONG));
            }
            let parent = read_parent(place, &child.summary).await?;
            manifests.push(parent);
        }
        manifests.reverse();
        Ok(Self { manifests })
    }

    /// The manifests, the full backup's first.
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// The backup that the chain is for.
    pub fn newest(&self) -> &Summary {
        &self.manifests.last().expect("a chain has at least one backup").summary
    }

    /// Checks that the chunks of all backups are there with their lengths. Their content is not read.
    pub async fn check_lengths(&self, place: &Place) -> Result<(), Fault> {
        for manifest in &self.manifests {
            manifest.check_lengths(place, &place.entries(&manifest.summary.path.folder()).await?)?;
        }
        Ok(())
    }

    /// The rows of the table as the newest backup has it, after a key or all. `memory_bytes` bounds the
    /// chunks that are kept in memory; a block of each backup comes on top.
    pub fn rows(&self, place: &Place, after: Option<&Bytes>, memory_bytes: u64) -> ChainRows {
        let share = memory_bytes / u64::try_from(self.manifests.len()).unwrap_or(u64::MAX).max(1);
        let layer = |manifest| Layer {
            rows: BackupRows::new(place.clone(), manifest, after.cloned(), share),
            head: None,
            is_at_end: false,
        };
        ChainRows { layers: self.manifests.iter().rev().map(layer).collect() }
    }
}

fn unfit(place: &Place, child: &Summary, reason: &'static str) -> Fault {
    let id = child.parent().map_or("", |parent| parent.id.as_str()).to_owned();
    place.damaged(&child.path.manifest(), Wrong::Parent { id, reason })
}

/// The manifest of the backup that an increment builds on.
pub(crate) async fn read_parent(place: &Place, child: &Summary) -> Result<Manifest, Fault> {
    let expected = child.parent().expect("the caller asks for the parent of an increment");
    let path = child.path.sibling(&expected.id)?;
    let parent = match Manifest::read(place, &path).await {
        Ok(parent) => parent,
        Err(fault) if fault.is_missing() => return Err(unfit(place, child, ABSENT)),
        Err(fault) => return Err(fault),
    };
    match misfit(child, &parent.summary) {
        Some(reason) => Err(unfit(place, child, reason)),
        None => Ok(parent),
    }
}

/// Why a backup is not the one that an increment builds on, though it has its id.
fn misfit(child: &Summary, parent: &Summary) -> Option<&'static str> {
    let expected = child.parent()?;
    if parent.sha256 != expected.sha256 {
        return Some("that backup was replaced by another one");
    }
    if parent.parts.stamp != expected.stamp {
        return Some("that backup has another stamp");
    }
    (parent.parts.table_id != child.parts.table_id)
        .then_some("that backup is of another table of the same name")
}

/// Where the chain of a backup is broken. `find` gives a backup whose manifest could be read, and whether its
/// chunks are there.
pub(crate) fn break_of<'s>(
    place: &Place,
    newest: &'s Summary,
    find: impl Fn(&BackupPath) -> Option<(&'s Summary, bool)>,
) -> Option<Fault> {
    let mut child = newest;
    for _ in 1..CHAIN_LENGTH_MAX {
        let path = child.path.sibling(&child.parent()?.id).ok()?;
        let reason = match find(&path) {
            None => Some(ABSENT),
            Some((_, false)) => Some("that backup is damaged"),
            Some((parent, true)) => {
                let reason = misfit(child, parent);
                if reason.is_none() {
                    child = parent;
                }
                reason
            }
        };
        if let Some(reason) = reason {
            return Some(unfit(place, child, reason));
        }
    }
    child.parent().map(|_| unfit(place, child, TOO_LONG))
}

/// The rows of a chain: each has a value.
pub struct ChainRows {
    /// The newest backup first.
    layers: Vec<Layer>,
}

struct Layer {
    rows: BackupRows,
    /// The next row, if it was read.
    head: Option<Row>,
    is_at_end: bool,
}

impl Layer {
    /// The key of the next row.
    async fn peek(&mut self) -> Result<Option<&Bytes>, Fault> {
        if self.head.is_none() && !self.is_at_end {
            self.head = self.rows.next().await?;
            self.is_at_end = self.head.is_none();
        }
        Ok(self.head.as_ref().map(|row| &row.key))
    }
}

impl ChainRows {
    /// The key and value of the next row; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>, Fault> {
        loop {
            let mut least: Option<Bytes> = None;
            for layer in &mut self.layers {
                if let Some(key) = layer.peek().await?
                    && least.as_ref().is_none_or(|least| key < least)
                {
                    least = Some(key.clone());
                }
            }
            let Some(key) = least else { return Ok(None) };
            let mut newest: Option<Row> = None;
            for layer in &mut self.layers {
                if layer.head.as_ref().is_some_and(|row| row.key == key) {
                    let row = layer.head.take();
                    newest = newest.or(row);
                }
            }
            if let Some(Row { key, value: Some(value) }) = newest {
                return Ok(Some((key, value)));
            }
        }
    }
}
