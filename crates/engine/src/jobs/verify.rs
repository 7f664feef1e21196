//! The verification of a sealed backup: what is read is the caller's matter, what was found stays in the
//! backup's row.

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_store::Store;

use super::end::{end, failed};
use super::object_job::ObjectJob;
use super::row::{self, Counts, Cursor, Job, NewJob, State, Verify, Work, new_id};
use super::view::JobView;
use crate::catalogue::backup::{self, Backup, BackupName, Items};
use crate::catalogue::{NO_TABLES, OtherRows, Table};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;

impl<S: Store> Engine<S> {
    /// Begins to verify the copy of a backup. If a job does so already, it is that one.
    pub async fn verify_backup(
        &self,
        namespace: &Namespace,
        table: &str,
        id: &str,
    ) -> Result<JobView, Error> {
        let name = BackupName { table: table.to_owned(), id: id.to_owned() };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let open = row::open(&view, usize::MAX).await?;
        drop(view);
        let is_same = |job: &&Job| {
            job.namespace() == *namespace
                && matches!(&job.work, Work::Verify(verify) if verify.backup == name)
        };
        if let Some(job) = open.iter().find(is_same) {
            return Ok(job.clone().into());
        }
        let now_ms = self.env().now_ms();
        let job_id = new_id(self.env(), now_ms);
        let begin = |_: &mut [Table], rows: &mut OtherRows| {
            let arn = name.arn(namespace);
            let row = rows.found(0);
            let row = row.ok_or_else(|| Error::new(ErrorKind::BackupNotFound, messages::not_found(&arn)))?;
            let backup = Backup::decode(row)?;
            let Items::Sealed { place } = &backup.items else {
                return Err(Error::validation(format!(
                    "The backup store has no copy of the backup {arn}: its items are in the history of its table"
                )));
            };
            let work = Work::Verify(Verify { backup: name.clone(), place: place.clone() });
            let source = backup.source()?;
            let job = Job::with_id(job_id.clone(), NewJob { work, namespace, table: &source, now_ms });
            rows.put(job.open_key(), job.encode());
            Ok(job)
        };
        let key = name.key(namespace);
        let changed =
            self.catalogue().change_all(&NO_TABLES, std::slice::from_ref(&key), || Ok(()), begin).await?;
        self.due().jobs_changed(now_ms);
        Ok(changed.1.into())
    }

    /// Notes that objects were read and are whole, and where the next ones begin. `items` and `bytes` are
    /// those since the last note.
    pub async fn note_verified(
        &self,
        job: &ObjectJob,
        next: &Bytes,
        (items, bytes): (u64, u64),
    ) -> Result<Option<ObjectJob>, Error> {
        let before = &job.job;
        let after = Job {
            cursor: Cursor { place: next.to_vec(), ..Cursor::default() },
            counts: Counts { items: before.counts.items + items, bytes: before.counts.bytes + bytes },
            ..before.begun(self.env().now_ms())
        };
        if self.replace(before, &after, &[]).await? { self.for_caller(after).await } else { Ok(None) }
    }

    /// Ends a verification. The place of the backup is `place` from now on, in which the caller has noted
    /// what it found. `damage` is a word for what is wrong, and a sentence.
    pub async fn end_verification(
        &self,
        job: &ObjectJob,
        place: &Bytes,
        damage: Option<(&str, &str)>,
    ) -> Result<bool, Error> {
        let Work::Verify(Verify { backup: name, .. }) = &job.job.work else { return Ok(false) };
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let is_there = backup::find(&view, &job.namespace, name).await?.is_some();
        drop(view);
        let state = match damage {
            _ if !is_there => failed("BackupDeleted", "the backup was deleted while its copy was verified"),
            Some((code, message)) => failed(code, message),
            None => State::Completed,
        };
        let key = name.key(&job.namespace);
        let note = |_: &mut [Table], rows: &mut OtherRows| {
            let Some(row) = rows.found(1) else { return Ok(()) };
            let backup = Backup::decode(row)?;
            if matches!(backup.items, Items::Sealed { .. }) {
                let items = Items::Sealed { place: place.to_vec() };
                rows.put(key.clone(), backup.with_items(items).encode());
            }
            Ok(())
        };
        end(self, &job.job, &state, (&[], std::slice::from_ref(&key)), note).await
    }
}
