//! DeleteBackup, and the end of backups that have expired.
//!
//! The row goes first. A backup in the backup store leaves a job that removes its objects; one whose items
//! its table holds releases them.

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_semantics::request::DeleteBackup;
use keywright_semantics::response::{BackupDescription, BackupDetails, BackupStatus, Response};
use keywright_store::{Snapshot, Store};

use super::describe::{description, find, not_found};
use super::scope;
use crate::catalogue::backup::{self, Backup, BackupName, Items, Maker};
use crate::catalogue::{OtherRows, Table};
use crate::jobs::end::failed;
use crate::jobs::row::{DeleteObjects, Job, NewJob, Work, open_key};
use crate::monitoring::STORE_WIDE;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::support::rows::each_row;
use crate::support::wake::NextWake;

/// Tries while others change the backup.
const TRIES_MAX: usize = 20;
/// The time between two looks if no backup is known to expire earlier.
const LOOK_MS: u64 = 3_600_000;
/// The time until a backup that could not be removed is tried again.
const RETRY_MS: u64 = 60_000;

/// Why a backup is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    Client,
    Expiry,
}

pub(crate) async fn remove<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DeleteBackup,
) -> Result<Response, Error> {
    request.backup.check_caller(&scope(namespace))?;
    let name = BackupName { table: request.backup.table_name.clone(), id: request.backup.id.clone() };
    let removed = remove_named(engine, namespace, &name, Cause::Client).await?;
    let backup = removed.ok_or_else(|| not_found(&request.backup.as_given))?;
    let described = description(&backup, &name, namespace)?;
    let details = BackupDetails { status: BackupStatus::Deleted, ..described.details };
    Ok(Response::DeleteBackup(Box::new(BackupDescription { details, ..described })))
}

/// Removes a backup; `None` if there is none.
async fn remove_named<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    name: &BackupName,
    cause: Cause,
) -> Result<Option<Backup>, Error> {
    // After an unknown outcome it is gone.
    let mut tried = None;
    for _ in 0..TRIES_MAX {
        let Some(found) = find(engine, namespace, name).await? else { return Ok(tried) };
        check(&found, &name.arn(namespace), cause)?;
        let removal = Removal::of(engine, namespace, name, found)?;
        let permit = || Ok(());
        let others = removal.keys();
        let change = |tables: &mut [Table], rows: &mut OtherRows| Ok(removal.apply(tables, rows));
        match engine.catalogue().change_all(&removal.tables, &others, permit, change).await {
            Ok((_, true)) => {
                engine.due().jobs_changed(engine.env().now_ms());
                return Ok(Some(removal.backup));
            }
            // Somebody changed the backup meanwhile.
            Ok((_, false)) => tried = Some(removal.backup),
            Err(error) if error.kind == ErrorKind::ResourceNotFound => {
                engine.catalogue().follow(engine.env().now_ms()).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(fault::internal())
}

fn check(backup: &Backup, arn: &str, cause: Cause) -> Result<(), Error> {
    if cause == Cause::Client && backup.maker == Maker::System {
        let expires_ms = backup.expires_ms.unwrap_or(0);
        return Err(Error::validation(messages::system_backup(arn, expires_ms)));
    }
    if backup.restoring.is_some() {
        return Err(Error::new(ErrorKind::BackupInUse, messages::being_restored(arn)));
    }
    Ok(())
}

/// The removal of a backup as it was read.
struct Removal {
    key: Bytes,
    backup: Backup,
    /// The table that holds its items.
    tables: Vec<TableId>,
    /// The key of the job that seals it.
    seal: Option<Bytes>,
    /// The job that removes its objects.
    objects: Option<Job>,
    now_ms: u64,
}

impl Removal {
    fn of<S: Store>(
        engine: &Engine<S>,
        namespace: &Namespace,
        name: &BackupName,
        backup: Backup,
    ) -> Result<Self, Error> {
        let (seal, place) = match &backup.items {
            Items::Held { seal } => (seal.as_deref(), None),
            Items::Sealed { place } => (None, Some(place.clone())),
        };
        let is_held = matches!(backup.items, Items::Held { .. });
        let now_ms = engine.env().now_ms();
        let objects = if seal.is_some() || place.is_some() {
            let work = Work::DeleteObjects(DeleteObjects { backup: name.clone(), place });
            let table = &backup.source()?;
            Some(Job::new(engine.env(), NewJob { work, namespace, table, now_ms }))
        } else {
            None
        };
        Ok(Self {
            key: name.key(namespace),
            tables: if is_held { vec![backup.table()] } else { Vec::new() },
            seal: seal.map(open_key),
            objects,
            now_ms,
            backup,
        })
    }

    fn keys(&self) -> Vec<Bytes> {
        std::iter::once(&self.key).chain(&self.seal).cloned().collect()
    }

    /// False if the backup is not as it was read.
    fn apply(&self, tables: &mut [Table], rows: &mut OtherRows) -> bool {
        if rows.found(0) != Some(&self.backup.encode()) {
            return false;
        }
        rows.delete(self.key.clone());
        for table in tables {
            table.history.release(&self.backup.id);
        }
        if let Some(seal) = rows.found(1).and_then(|row| Job::decode(row)) {
            let state = failed("BackupDeleted", "the backup was deleted while it was sealed");
            rows.delete(seal.open_key());
            rows.put(seal.ended_key(), seal.ended(state, self.now_ms).encode());
        }
        if let Some(job) = &self.objects {
            rows.put(job.open_key(), job.encode());
        }
        true
    }
}

/// Removes backups that have expired. One process does it.
pub(crate) async fn step<S: Store>(engine: &Engine<S>, now_ms: u64) -> Result<NextWake, Error> {
    let due = &engine.due().expiring_backups;
    if !engine.owns(STORE_WIDE) {
        return Ok(NextWake::default());
    }
    if now_ms < due.at_ms() {
        return Ok(NextWake { at_ms: Some(due.at_ms()) });
    }
    due.begin(now_ms.saturating_add(LOOK_MS));
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let expired = expired(engine, &view, now_ms).await;
    drop(view);
    for (namespace, name) in expired? {
        if remove_named(engine, &namespace, &name, Cause::Expiry).await.is_err() {
            // A table is being restored from it, or the store has a fault.
            due.wake_at(now_ms.saturating_add(RETRY_MS));
        }
    }
    Ok(NextWake { at_ms: Some(due.at_ms()) })
}

/// The backups that have expired. Notes when the next one does.
async fn expired<S: Store>(
    engine: &Engine<S>,
    view: &impl Snapshot,
    now_ms: u64,
) -> Result<Vec<(Namespace, BackupName)>, Error> {
    let mut found = Vec::new();
    let read = each_row(view, backup::all(), |entry| {
        let Ok(backup) = Backup::decode(&entry.value) else { return };
        match backup.expires_ms {
            Some(expires_ms) if expires_ms <= now_ms => {
                let source = backup.source().ok();
                found.extend(source.zip(backup::name_of_key(&entry.key)));
            }
            Some(expires_ms) => engine.due().expiring_backups.wake_at(expires_ms),
            None => {}
        }
    });
    read.await.map_err(|error| fault::storage(&error))?;
    Ok(found.into_iter().map(|(source, name)| (crate::catalogue::owner(&source), name)).collect())
}
