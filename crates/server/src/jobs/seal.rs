//! A backup becomes objects: chunks, each noted in the job's row once it stands, and the manifest last.
//!
//! Over a shared store, a process that was paused may find that another one does its work, and that it has
//! written an object once more. Equal rows give equal bytes, so it has changed nothing; and it removes what
//! it has written of a backup that was deleted meanwhile.

use keywright_archive::{
    Access, BackupPath, Chunk, Fault, Kind, Manifest, Parts, Place, Sizes, Writer, all_stand, delete,
    remove_orphans, remove_unfinished,
};
use keywright_engine::{ObjectJob, ObjectWork, Sealed};

use super::{Stop, Tools, shown};
use crate::storage::copies::{Copy, Sealed as SealedCopy};

/// Bytes of a page of rows; one item more may follow.
const PAGE_BYTES: usize = 1024 * 1024;
/// A chunk that is written is in memory, and so are a block and a page of rows.
const CHUNK_SHARE: u64 = 2;

pub(super) async fn seal(tools: &Tools, job: ObjectJob) -> Result<(), Stop> {
    let ended = copy(tools, job.clone()).await;
    if let (Err(Stop::Overtaken), ObjectWork::Seal { backup, .. }) = (&ended, &job.work)
        && tools.engine()?.is_deleted(&job).await?
    {
        let (place, path) = (tools.backups.for_removal(Access::Read)?, Copy::of(&job, backup)?.path()?);
        delete(&place, &path).await.map_err(|fault| Stop::of(&fault))?;
    }
    ended
}

async fn copy(tools: &Tools, job: ObjectJob) -> Result<(), Stop> {
    let ObjectWork::Seal { backup, is_at_end, .. } = &job.work else { return Err(Stop::Overtaken) };
    let copy = Copy::of(&job, backup)?;
    let (place, path) = (tools.backups.for_writing().await?, copy.path()?);
    let whole = if *is_at_end { whole(&place, &path).await? } else { None };
    let (job, manifest) = match whole {
        Some(manifest) => (job, manifest),
        None => make(tools, job, &place, &path).await?,
    };
    // Files that a killed process was writing.
    remove_orphans(&place, &path, &[]).await.map_err(|fault| Stop::of(&fault))?;
    let sealed = SealedCopy {
        at_ms: tools.now_ms(),
        chunks: u64::try_from(manifest.chunks.len()).unwrap_or(u64::MAX),
        bytes: manifest.summary.bytes,
    };
    tools.engine()?.end_seal(&job, &copy.within(place.to_string(), sealed).to_bytes()).await?;
    Ok(())
}

/// The manifest of the copy, if it stands here with all of its chunks.
async fn whole(place: &Place, path: &BackupPath) -> Result<Option<Manifest>, Stop> {
    let found = match Manifest::read(place, path).await {
        Ok(manifest) => all_stand(place, path, &manifest.chunks).await.map(|all| all.then_some(manifest)),
        Err(Fault::Damaged(_)) => Ok(None),
        Err(fault) => Err(fault),
    };
    found.map_err(|fault| Stop::of(&fault))
}

/// Writes the chunks that are not there yet, and the manifest; returns the job as it is then. If those that
/// were noted are not there, because the place is another one now, it begins anew.
async fn make(
    tools: &Tools,
    mut job: ObjectJob,
    place: &Place,
    path: &BackupPath,
) -> Result<(ObjectJob, Manifest), Stop> {
    let default = Sizes::default();
    let share = usize::try_from(tools.job_memory_bytes / CHUNK_SHARE).unwrap_or(usize::MAX);
    let sizes = Sizes { chunk_bytes: default.chunk_bytes.min(share), ..default };
    let objects = tools.engine()?.sealed_objects(&job).await?;
    let chunks: Option<Vec<Chunk>> = objects.iter().map(|object| Chunk::from_bytes(object)).collect();
    let mut chunks = chunks.ok_or_else(|| Stop::Failed {
        code: "DamagedJob",
        message: "what was noted of the chunks cannot be read".to_owned(),
    })?;
    let is_at_end = matches!(&job.work, ObjectWork::Seal { is_at_end: true, .. });
    if is_at_end || !all_stand(place, path, &chunks).await.map_err(|fault| Stop::of(&fault))? {
        tracing::warn!("{} begins anew in {place}: what it had copied is not there", shown(&job));
        let begun = tools.engine()?.note_sealed(&job, Sealed::Nothing, (0, 0)).await?;
        job = begun.ok_or(Stop::Overtaken)?;
        chunks.clear();
    }
    let mut writer = Writer::resume(place.clone(), path.clone(), sizes, chunks);
    let written = match write(tools, job, (&mut writer, sizes.chunk_bytes)).await {
        Ok((job, parts)) => {
            let noted = writer.sealed().len();
            writer.finish(parts).await.map(|manifest| (job, manifest, noted))
        }
        Err(Halt::Stop(stop)) => return Err(stop),
        Err(Halt::Store(fault)) => Err(fault),
    };
    let (job, manifest, noted) = match written {
        Ok(written) => written,
        Err(fault) => {
            // A file that was not finished takes room. Whole chunks stay: another process may have written
            // them.
            let _ = remove_unfinished(place, path);
            return Err(Stop::of(&fault));
        }
    };
    let rest = manifest.chunks.iter().skip(noted);
    let counts = rest.fold((0, 0), |(rows, bytes), chunk| (rows + chunk.rows, bytes + chunk.bytes));
    if !all_stand(place, path, &manifest.chunks).await.map_err(|fault| Stop::of(&fault))? {
        return Err(Stop::Later(format!("objects of the copy have disappeared from {place} meanwhile")));
    }
    let job = tools.engine()?.note_sealed(&job, Sealed::All, counts).await?.ok_or(Stop::Overtaken)?;
    Ok((job, manifest))
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

/// Adds all rows that are not in a chunk yet; returns the job as it is then, and what its manifest says.
async fn write(
    tools: &Tools,
    mut job: ObjectJob,
    (writer, chunk_bytes): (&mut Writer, usize),
) -> Result<(ObjectJob, Parts), Halt> {
    let ObjectWork::Seal { stamp, created_ms, public_id, settings, described, mut from, .. } =
        job.work.clone()
    else {
        return Err(Halt::Stop(Stop::Overtaken));
    };
    let parts = Parts {
        table_id: public_id,
        kind: Kind::Full,
        stamp,
        created_ms,
        of_set: false,
        settings,
        described,
    };
    tools.check_room(chunk_bytes)?;
    loop {
        let page = tools.engine()?.rows_of_backup(&job, from.as_ref(), PAGE_BYTES).await?;
        // Over a shared store, this process may not have seen the newest settings of the table yet.
        let page = page.ok_or_else(|| Stop::Later("the history of the table is not there".to_owned()))?;
        for row in page.rows {
            let sealed = writer.add(&row.key, Some(&row.value)).await.map_err(Halt::Store)?;
            let Some(chunk) = sealed else { continue };
            let (object, counts) = (chunk.to_bytes().into(), (chunk.rows, chunk.bytes));
            let sealed = Sealed::UpTo { last: &chunk.last_key, object: &object };
            let noted = tools.engine()?.note_sealed(&job, sealed, counts).await?;
            job = noted.ok_or(Stop::Overtaken)?;
            tools.check_room(chunk_bytes)?;
        }
        match page.next {
            None => return Ok((job, parts)),
            next => from = next,
        }
    }
}
