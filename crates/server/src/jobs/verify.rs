//! The copy of a backup is read whole: its manifests, and each chunk with its sums, counts and order of rows.
//!
//! Each chunk is noted in the job's row once it was read, so a job that was stopped goes on after it. What
//! was found stays with the backup.

use bytes::Bytes;
use keywright_archive::verify_chunk;
use keywright_engine::ObjectJob;

use super::{Stop, Tools, shown};
use crate::storage::copies::{Copy, DAMAGED, Finding};

pub(super) async fn verify(tools: &Tools, job: ObjectJob, at: &Bytes, from: &Bytes) -> Result<(), Stop> {
    let copy = Copy::read(at)?;
    let first = first_chunk(from);
    let mut newest = job;
    let damage = match read(tools, &copy, &mut newest, first).await {
        Ok(()) => None,
        Err(Stop::Failed { code, message }) if code == DAMAGED => {
            tracing::error!("{} has found damage: {message}", shown(&newest));
            Some((code, message))
        }
        Err(stop) => return Err(stop),
    };
    let finding =
        Finding { at_ms: tools.now_ms(), damage: damage.as_ref().map(|(_, message)| message.clone()) };
    let damage = damage.as_ref().map(|(code, message)| (*code, message.as_str()));
    tools.engine()?.end_verification(&newest, &copy.verified(finding).to_bytes(), damage).await?;
    Ok(())
}

/// Reads all chunks from this one on: those of the full backup first.
async fn read(tools: &Tools, copy: &Copy, job: &mut ObjectJob, first: u64) -> Result<(), Stop> {
    let (place, chain) = tools.backups.chain(copy).await?;
    let chunks = chain
        .manifests()
        .iter()
        .flat_map(|manifest| manifest.chunks.iter().map(|chunk| (&manifest.summary.path, chunk)));
    for (number, (path, chunk)) in (0_u64..).zip(chunks).skip(usize::try_from(first).unwrap_or(usize::MAX)) {
        let rows = verify_chunk(&place, path, chunk.clone()).await;
        let rows = rows.map_err(|fault| copy.fault(&fault, &place))?;
        let next = Bytes::copy_from_slice(&(number + 1).to_be_bytes());
        let noted = tools.engine()?.note_verified(job, &next, (rows, chunk.bytes)).await?;
        *job = noted.ok_or(Stop::Overtaken)?;
    }
    Ok(())
}

/// The number of the first chunk that was not read yet.
fn first_chunk(from: &[u8]) -> u64 {
    from.first_chunk().map_or(0, |number| u64::from_be_bytes(*number))
}
