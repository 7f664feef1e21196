//! Manifests: what a backup is, and which chunks it has. A backup is complete once its manifest is written.
//!
//! A manifest is JSON for people and scripts: keys and settings are base64, stamps are texts, because they do
//! not fit into the numbers of most readers of JSON.

use std::collections::BTreeMap;

use bytes::Bytes;
use keywright_objects::Entries;
use serde::{Deserialize, Serialize};

use crate::chunk::{CHUNK_BYTES_MAX, Chunk, base64_bytes};
use crate::fault::{Fault, Wrong};
use crate::names::{BackupPath, chunk_name};
use crate::place::Place;
use crate::sealed::{self, FORMAT};
use crate::sum::Sum;

/// The largest manifest that is read: hundreds of thousands of chunks.
const MANIFEST_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What a backup is, and its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// All but the chunks.
    pub summary: Summary,
    /// The chunks in the order of their keys.
    pub chunks: Vec<Chunk>,
}

/// What a backup is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Where it stands.
    pub path: BackupPath,
    /// What its writer said of it.
    pub parts: Parts,
    /// Its rows, tombstones too.
    pub rows: u64,
    /// The bytes of its chunks.
    pub bytes: u64,
    /// The number of its chunks.
    pub chunks: usize,
    /// The manifest's own sum.
    pub sha256: Sum,
}

/// What the writer of a backup says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The table's id, which tells it from another table of the same name.
    pub table_id: String,
    /// Whether it stands by itself.
    pub kind: Kind,
    /// The stamp as of which it has the table.
    pub stamp: u64,
    /// When it was asked for, in milliseconds since 1970.
    pub created_ms: u64,
    /// Whether a set of the same id names it: without the set's manifest, other tables of the set may be
    /// missing.
    pub of_set: bool,
    /// The table's settings: opaque here.
    pub settings: Bytes,
    /// The same settings in words, for people.
    pub described: BTreeMap<String, String>,
}

/// Whether a backup stands by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All rows.
    Full,
    /// The rows that have changed since another backup.
    Increment(Parent),
}

/// The backup that an increment builds on: one of the same table, in the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parent {
    /// Its id.
    pub id: String,
    /// Its stamp, where the increment begins.
    #[serde(with = "decimal")]
    pub stamp: u64,
    /// The sum of its manifest.
    pub sha256: Sum,
}

impl Summary {
    /// The backup as a parent of the next increment.
    pub fn as_parent(&self) -> Parent {
        Parent { id: self.path.id().to_owned(), stamp: self.parts.stamp, sha256: self.sha256 }
    }

    /// The backup it builds on.
    pub const fn parent(&self) -> Option<&Parent> {
        match &self.parts.kind {
            Kind::Full => None,
            Kind::Increment(parent) => Some(parent),
        }
    }
}

/// The first of these chunks that is not among the entries of its folder, or not with its length.
pub(crate) fn wrong_length<'c>(chunks: &'c [Chunk], entries: &Entries) -> Option<(&'c Chunk, Wrong)> {
    chunks.iter().find_map(|chunk| match entries.length(&chunk.name) {
        None => Some((chunk, Wrong::Missing)),
        Some(found) if found != chunk.bytes => Some((chunk, Wrong::Length { expected: chunk.bytes, found })),
        Some(_) => None,
    })
}

impl Manifest {
    /// Reads the manifest of a backup.
    pub async fn read(place: &Place, path: &BackupPath) -> Result<Self, Fault> {
        let object = path.manifest();
        let bytes = place.read_whole(&object, MANIFEST_BYTES_MAX).await?;
        Self::parse(path, &bytes).map_err(|wrong| place.damaged(&object, wrong))
    }

    /// Checks that all chunks are among the entries of the backup's folder, with their lengths.
    pub(crate) fn check_lengths(&self, place: &Place, entries: &Entries) -> Result<(), Fault> {
        match wrong_length(&self.chunks, entries) {
            Some((chunk, wrong)) => Err(place.damaged(&self.summary.path.object(&chunk.name), wrong)),
            None => Ok(()),
        }
    }

    pub(crate) fn parse(path: &BackupPath, bytes: &[u8]) -> Result<Self, Wrong> {
        let (stored, sha256): (Stored, Sum) = sealed::open(bytes)?;
        stored.manifest(path, sha256)
    }

    /// Writes the manifest of a backup whose chunks are written.
    pub(crate) async fn write(
        place: &Place,
        path: &BackupPath,
        parts: Parts,
        chunks: Vec<Chunk>,
    ) -> Result<Self, Fault> {
        let stored = Stored::of(path, parts, chunks);
        let (text, sha256) = sealed::seal(&stored);
        let object = path.manifest();
        // What cannot be read again is never written.
        let manifest = stored.manifest(path, sha256).map_err(|wrong| place.damaged(&object, wrong))?;
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        if bytes > MANIFEST_BYTES_MAX {
            let reason = format!("it would have more than {MANIFEST_BYTES_MAX} bytes: write larger chunks");
            return Err(place.damaged(&object, Wrong::Malformed(reason)));
        }
        place.put(&object, vec![text.into()]).await?;
        Ok(manifest)
    }
}

/// The members of a manifest's file, in their order.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u64,
    account: String,
    region: String,
    table: String,
    id: String,
    table_id: String,
    kind: StoredKind,
    parent: Option<Parent>,
    of_set: bool,
    #[serde(with = "decimal")]
    stamp: u64,
    created_ms: u64,
    settings: BTreeMap<String, String>,
    #[serde(with = "base64_bytes")]
    settings_row: Bytes,
    rows: u64,
    bytes: u64,
    chunks: Vec<Chunk>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredKind {
    Full,
    Increment,
}

impl Stored {
    fn of(path: &BackupPath, parts: Parts, chunks: Vec<Chunk>) -> Self {
        let (kind, parent) = match parts.kind {
            Kind::Full => (StoredKind::Full, None),
            Kind::Increment(parent) => (StoredKind::Increment, Some(parent)),
        };
        Self {
            format: FORMAT,
            account: path.scope().account().to_owned(),
            region: path.scope().region().to_owned(),
            table: path.table().to_owned(),
            id: path.id().to_owned(),
            table_id: parts.table_id,
            kind,
            parent,
            of_set: parts.of_set,
            stamp: parts.stamp,
            created_ms: parts.created_ms,
            settings: parts.described,
            settings_row: parts.settings,
            rows: chunks.iter().map(|chunk| chunk.rows).sum(),
            bytes: chunks.iter().map(|chunk| chunk.bytes).sum(),
            chunks,
        }
    }

    fn manifest(self, path: &BackupPath, sha256: Sum) -> Result<Manifest, Wrong> {
        let says = [&self.account, &self.region, &self.table, &self.id].map(String::as_str).join("/");
        if says != path.to_string() {
            return Err(Wrong::Elsewhere { says });
        }
        let malformed = |reason: &str| Err(Wrong::Malformed(reason.to_owned()));
        let kind = match (self.kind, self.parent) {
            (StoredKind::Full, None) => Kind::Full,
            (StoredKind::Increment, Some(parent)) if parent.stamp <= self.stamp => Kind::Increment(parent),
            (StoredKind::Increment, Some(_)) => return malformed("it is older than its parent"),
            _ => return malformed("exactly an increment has a parent"),
        };
        check_chunks(&self.chunks)?;
        let (rows, bytes) = totals(&self.chunks)?;
        for (what, expected, found) in [("rows", self.rows, rows), ("bytes", self.bytes, bytes)] {
            if expected != found {
                return Err(Wrong::Counts { what, expected, found });
            }
        }
        let parts = Parts {
            table_id: self.table_id,
            kind,
            stamp: self.stamp,
            created_ms: self.created_ms,
            of_set: self.of_set,
            settings: self.settings_row,
            described: self.settings,
        };
        let summary = Summary { path: path.clone(), parts, rows, bytes, chunks: self.chunks.len(), sha256 };
        Ok(Manifest { summary, chunks: self.chunks })
    }
}

/// Chunks are numbered, have rows, and ascend.
fn check_chunks(chunks: &[Chunk]) -> Result<(), Wrong> {
    let mut last_key: Option<&Bytes> = None;
    for (number, chunk) in chunks.iter().enumerate() {
        if chunk.name != chunk_name(number) || chunk.rows == 0 || chunk.bytes > CHUNK_BYTES_MAX {
            return Err(Wrong::Malformed(format!("its line of chunk {number} is not possible")));
        }
        if chunk.last_key < chunk.first_key || last_key.is_some_and(|last| *last >= chunk.first_key) {
            return Err(Wrong::Order);
        }
        last_key = Some(&chunk.last_key);
    }
    Ok(())
}

fn totals(chunks: &[Chunk]) -> Result<(u64, u64), Wrong> {
    let sum = |number: fn(&Chunk) -> u64| chunks.iter().map(number).try_fold(0, u64::checked_add);
    sum(|chunk| chunk.rows)
        .zip(sum(|chunk| chunk.bytes))
        .ok_or_else(|| Wrong::Malformed("its chunks have more rows or bytes than can be counted".to_owned()))
}

/// Stamps as texts of decimal digits.
pub(crate) mod decimal {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes members by reference")]
    pub(crate) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
