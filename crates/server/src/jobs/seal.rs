//! A backup becomes objects: chunks, each noted in the job's row once it stands, and the manifest last.

use bytes::Bytes;
use keywright_archive::{Access, Chunk, Fault, Kind, Parts, Sizes, Writer, remove_orphans};
use keywright_engine::{ObjectJob, ObjectWork};

use super::{Stop, Tools};
use crate::storage::copies::Copy;

/// Bytes of a page of rows; one item more may follow.
const PAGE_BYTES: usize = 1024 * 1024;
/// A chunk that is written is in memory, and so are a block and a page of rows.
const CHUNK_SHARE: u64 = 2;

pub(super) async fn seal(tools: &Tools, job: ObjectJob) -> Result<(), Stop> {
    let ObjectWork::Seal { backup, stamp, created_ms, public_id, settings, described, progress, .. } =
        job.work.clone()
    else {
        return Err(Stop::Overtaken);
    };
    let copy = Copy::of(&job, &backup)?;
    let (place, path) = (tools.backups.place(Access::Create)?, copy.path()?);
    let default = Sizes::default();
    let share = usize::try_from(tools.job_memory_bytes / CHUNK_SHARE).unwrap_or(usize::MAX);
    let sizes = Sizes { chunk_bytes: default.chunk_bytes.min(share), ..default };
    let chunks = read_chunks(&progress).ok_or_else(|| Stop::Failed {
        code: "DamagedJob",
        message: "what was noted of the chunks cannot be read".to_owned(),
    })?;
    let parts = Parts {
        table_id: public_id,
        kind: Kind::Full,
        stamp,
        created_ms,
        of_set: false,
        settings,
        described,
    };
    let mut writer = Writer::resume(place.clone(), path.clone(), sizes, chunks);
    let written = match write(tools, job, &mut writer).await {
        Ok(job) => {
            let known = writer.sealed().to_vec();
            match writer.finish(parts).await {
                Ok(manifest) => Ok((job, manifest.chunks, known.len())),
                Err(fault) => Err((fault, known)),
            }
        }
        Err(Halt::Stop(stop)) => return Err(stop),
        Err(Halt::Store(fault)) => Err((fault, writer.sealed().to_vec())),
    };
    let (job, chunks, noted) = match written {
        Ok(written) => written,
        Err((fault, known)) => {
            // A file that was not finished takes room. The next try removes what this one cannot.
            let _ = remove_orphans(&place, &path, &known).await;
            return Err(Stop::of(&fault));
        }
    };
    // Files that a killed process was writing.
    remove_orphans(&place, &path, &[]).await.map_err(|fault| Stop::of(&fault))?;
    let rest = chunks.iter().skip(noted);
    let counts = rest.fold((0, 0), |(rows, bytes), chunk| (rows + chunk.rows, bytes + chunk.bytes));
    let noted = tools.engine()?.note_sealed(&job, None, chunks_bytes(&chunks), counts).await?;
    let job = noted.ok_or(Stop::Overtaken)?;
    let store = place.to_string();
    tools.engine()?.end_seal(&job, &copy.within(store).to_bytes()).await?;
    Ok(())
}

/// Why rows are not written any more.
enum Halt {
    Stop(Stop),
    Store(Fault),
}

impl<T: Into<Stop>> From<T> for Halt {
    fn from(stop: T) -> Self {
        Self::Stop(stop.into())
    }
}

/// Adds all rows that are not in a chunk yet; returns the job as it is then.
async fn write(tools: &Tools, mut job: ObjectJob, writer: &mut Writer) -> Result<ObjectJob, Halt> {
    let ObjectWork::Seal { mut from, is_at_end, .. } = job.work.clone() else {
        return Err(Halt::Stop(Stop::Overtaken));
    };
    if is_at_end {
        return Ok(job);
    }
    loop {
        let page = tools.engine()?.rows_of_backup(&job, from.as_ref(), PAGE_BYTES).await?;
        // Over a shared store, this process may not have seen the newest settings of the table yet.
        let page = page.ok_or_else(|| Stop::Later("the history of the table is not there".to_owned()))?;
        for row in page.rows {
            let sealed = writer.add(&row.key, Some(&row.value)).await.map_err(Halt::Store)?;
            let Some(chunk) = sealed.cloned() else { continue };
            let progress = chunks_bytes(writer.sealed());
            let counts = (chunk.rows, chunk.bytes);
            let noted = tools.engine()?.note_sealed(&job, Some(&chunk.last_key), progress, counts).await?;
            job = noted.ok_or(Stop::Overtaken)?;
        }
        match page.next {
            None => return Ok(job),
            next => from = next,
        }
    }
}

/// Chunks as the engine keeps them: each after its length.
fn chunks_bytes(chunks: &[Chunk]) -> Bytes {
    let mut all = Vec::new();
    for chunk in chunks.iter().map(Chunk::to_bytes) {
        all.extend(u32::try_from(chunk.len()).unwrap_or(u32::MAX).to_be_bytes());
        all.extend(chunk);
    }
    all.into()
}

fn read_chunks(mut all: &[u8]) -> Option<Vec<Chunk>> {
    let mut chunks = Vec::new();
    while let Some((length, rest)) = all.split_first_chunk() {
        let (chunk, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
        chunks.push(Chunk::from_bytes(chunk)?);
        all = rest;
    }
    all.is_empty().then_some(chunks)
}
