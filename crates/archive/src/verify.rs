//! Verification: every chunk of a backup is read whole, and everything that is wrong is named.

use crate::chain::Chain;
use crate::chunk::Chunk;
use crate::fault::Fault;
use crate::list::wrong_member;
use crate::manifest::{Manifest, Summary};
use crate::names::{BackupPath, Scope};
use crate::place::Place;
use crate::reader::BackupRows;
use crate::set::SetManifest;

/// Chunks of at most so many bytes are read once, larger ones twice.
const HELD_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What a verification has read and found.
#[derive(Debug, Default)]
pub struct Verified {
    /// The objects that were read.
    pub objects: u64,
    /// Their bytes, without manifests.
    pub bytes: u64,
    /// The rows that were read.
    pub rows: u64,
    /// What is wrong, or could not be read.
    pub faults: Vec<Fault>,
}

impl Verified {
    /// Adds what another verification has found.
    pub fn add(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.rows += other.rows;
        self.faults.extend(other.faults);
    }
}

/// Verifies a backup: its manifest, each chunk with sums, counts and order of rows, and the manifests of
/// all it builds on. `progress` is called with the bytes of each chunk that was read.
pub async fn verify(place: &Place, path: &BackupPath, progress: &mut (dyn FnMut(u64) + Send)) -> Verified {
    let mut verified = Verified { objects: 1, ..Verified::default() };
    let manifest = match Manifest::read(place, path).await {
        Ok(manifest) => manifest,
        Err(fault) => return Verified { faults: vec![fault], ..verified },
    };
    if manifest.summary.parent().is_some()
        && let Err(fault) = Chain::read(place, path).await
    {
        verified.faults.push(fault);
    }
    for chunk in manifest.chunks {
        let bytes = chunk.bytes;
        verified.objects += 1;
        match verify_chunk(place, path, chunk).await {
            Ok(rows) => {
                verified.rows += rows;
                verified.bytes += bytes;
            }
            Err(fault) => verified.faults.push(fault),
        }
        progress(bytes);
    }
    verified
}

/// Verifies one chunk of a backup; returns the number of its rows.
pub async fn verify_chunk(place: &Place, path: &BackupPath, chunk: Chunk) -> Result<u64, Fault> {
    let mut rows = BackupRows::of_chunk(place.clone(), path.clone(), chunk, HELD_BYTES_MAX);
    let mut count = 0;
    while rows.next().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Verifies the manifest of a set, and that the manifests it names are those that are there. Their chunks are
/// not read.
pub async fn verify_set(place: &Place, scope: &Scope, id: &str) -> Result<SetManifest, Fault> {
    let set = SetManifest::read(place, scope, id).await?;
    let mut found: Vec<Summary> = Vec::new();
    for member in &set.tables {
        match Manifest::read(place, &scope.backup(member.table.as_str(), id)?).await {
            Ok(manifest) => found.push(manifest.summary),
            Err(fault) if fault.is_missing() => {}
            Err(fault) => return Err(fault),
        }
    }
    match wrong_member(&set, &found.iter().collect::<Vec<_>>()) {
        Some(wrong) => Err(place.damaged(&scope.set(id)?, wrong)),
        None => Ok(set),
    }
}
