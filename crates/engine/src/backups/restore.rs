//! RestoreTableFromBackup and RestoreTableToPointInTime: one commit makes the new table, holds the history
//! of the source, and writes the job that fills it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::RESTORES_MAX;
use keywright_semantics::messages::backup as messages;
use keywright_semantics::messages::table as table_messages;
use keywright_semantics::request::{
    CreateTable, Request, RestoreOverrides, RestoreTableFromBackup, RestoreTableToPointInTime, RestoreTime,
};
use keywright_semantics::response::{Response, TableDescription};
use keywright_store::{Snapshot as _, Store};

use super::continuous::Window;
use super::describe::{find, not_found};
use super::settings::creation_of;
use super::{lookup, scope};
use crate::catalogue::backup::{Backup, BackupName, Items};
use crate::catalogue::{Filling, NewName, OtherRows, Table, TableStatus, Target as RecordTarget};
use crate::jobs::row::{Job, NewJob, Restore, Source, Work, last_restore_key, open_restores};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::tables::create::{check_new, check_room, new_table, uuid};
use crate::tables::describe::{View, describe};

/// Tries while others change the backup.
const TRIES_MAX: usize = 20;

pub(crate) async fn to_point_in_time<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &RestoreTableToPointInTime,
) -> Result<Response, Error> {
    request.check_caller(&scope(namespace))?;
    let source = lookup(engine, namespace, &request.source)?;
    let now_ms = engine.env().now_ms();
    // Before the table is looked at again: it has what was answered before the request.
    let stamp_of = |table: &Table| {
        let off = || {
            let text = messages::recovery_not_enabled(&table.name);
            Error::new(ErrorKind::PointInTimeRecoveryUnavailable, text)
        };
        let window = Window::of(engine, table, now_ms).ok_or_else(off)?;
        match request.time {
            RestoreTime::Latest => Ok(window.latest()),
            RestoreTime::At(ms) => window.at(ms),
        }
    };
    let stamp = stamp_of(&source)?;
    let new = Target::of(engine, namespace, &request.target, &source, &request.overrides, now_ms).await?;
    let build = |id: TableId, tables: &mut [Table], rows: &mut OtherRows| {
        let [table] = tables else { return Err(fault::internal()) };
        // It may be another one by now.
        stamp_of(table)?;
        let stamp = stamp.max(table.history.since());
        if !table.history.hold(&new.job_id, stamp) {
            return Err(fault::internal());
        }
        let from = Source::History { table: table.id.0, stamp };
        let restore_ms = match request.time {
            RestoreTime::Latest => stamp.ms(),
            RestoreTime::At(ms) => ms,
        };
        let filling = Filling {
            job: new.job_id.clone(),
            source_table_arn: Some(table.arn()),
            source_backup_arn: None,
            restore_ms,
        };
        Ok(new.build(id, Restore { source: from, backup: None }, filling, rows))
    };
    let table = new.create(engine, (&[source.target()], &[]), build).await?;
    Ok(Response::RestoreTableToPointInTime(Box::new(answer(engine, &table))))
}

pub(crate) async fn from_backup<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &RestoreTableFromBackup,
) -> Result<Response, Error> {
    request.check_caller(&scope(namespace))?;
    let name = BackupName { table: request.backup.table_name.clone(), id: request.backup.id.clone() };
    let arn = name.arn(namespace);
    let key = name.key(namespace);
    for _ in 0..TRIES_MAX {
        let (backup, new) = check(engine, namespace, request, &name).await?;
        let now_ms = new.now_ms;
        let settings = backup.source()?;
        let is_stale = AtomicBool::new(false);
        let stale = || {
            is_stale.store(true, Ordering::Relaxed);
            fault::internal()
        };
        let build = |id: TableId, tables: &mut [Table], rows: &mut OtherRows| {
            if rows.found(0) != Some(&backup.encode()) {
                return Err(stale());
            }
            let source = match &backup.items {
                Items::Sealed { place } => Source::Sealed { place: place.clone() },
                Items::Held { .. } => Source::History { table: backup.table().0, stamp: backup.stamp },
            };
            if !tables.iter_mut().all(|table| table.history.hold(&new.job_id, backup.stamp)) {
                return Err(stale());
            }
            rows.put(key.clone(), backup.clone().restored_by(&new.job_id).encode());
            let filling = Filling {
                job: new.job_id.clone(),
                source_table_arn: Some(settings.arn()),
                source_backup_arn: Some(arn.clone()),
                restore_ms: backup.created_ms,
            };
            Ok(new.build(id, Restore { source, backup: Some(name.clone()) }, filling, rows))
        };
        let sources: &[TableId] = match backup.items {
            Items::Held { .. } => &[backup.table()],
            Items::Sealed { .. } => &[],
        };
        match new.create(engine, (sources, std::slice::from_ref(&key)), build).await {
            Ok(table) => {
                return Ok(Response::RestoreTableFromBackup(Box::new(answer(engine, &table))));
            }
            // The backup was changed meanwhile: sealed, or taken, or deleted with its table.
            Err(error) if is_stale.into_inner() || error.kind == ErrorKind::ResourceNotFound => {
                engine.catalogue().follow(now_ms).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Err(fault::internal())
}

/// Checks all but the backup's copy: the backup, and the table that is to be made of it.
async fn check<'n, S: Store>(
    engine: &Engine<S>,
    namespace: &'n Namespace,
    request: &RestoreTableFromBackup,
    name: &BackupName,
) -> Result<(Backup, Target<'n>), Error> {
    let found = find(engine, namespace, name).await?;
    let backup = found.ok_or_else(|| not_found(&request.backup.as_given))?;
    let now_ms = engine.env().now_ms();
    let source = backup.source()?;
    let new = Target::of(engine, namespace, &request.target, &source, &request.overrides, now_ms).await?;
    if backup.restoring.is_some() {
        let text = messages::being_restored_to_another(&name.arn(namespace));
        return Err(Error::new(ErrorKind::BackupInUse, text));
    }
    Ok((backup, new))
}

impl<S: Store> Engine<S> {
    /// Where the copy stands that a restore would read: a caller looks at it before the table is made. `None`
    /// if the restore reads no copy, or is refused for another reason: executing it says which.
    pub async fn copy_to_restore(
        &self,
        namespace: &Namespace,
        request: &RestoreTableFromBackup,
    ) -> Option<Bytes> {
        if self.is_shared() {
            self.catalogue().follow(self.env().now_ms()).await.ok()?;
        }
        request.check_caller(&scope(namespace)).ok()?;
        let name = BackupName { table: request.backup.table_name.clone(), id: request.backup.id.clone() };
        let (backup, _) = check(self, namespace, request, &name).await.ok()?;
        match backup.items {
            Items::Sealed { place } => Some(place.into()),
            Items::Held { .. } => None,
        }
    }
}

impl<S: Store> Engine<S> {
    /// The ARN of the key that a restored table would take over from its source: a caller asks whether it can
    /// be used, before the table is made. `None` if the table takes over none, or the restore is refused
    /// before its time is looked at.
    pub async fn key_to_restore(&self, namespace: &Namespace, request: &Request) -> Option<String> {
        let new = match request {
            Request::RestoreTableFromBackup(request) if request.overrides.encryption.is_none() => {
                request.check_caller(&scope(namespace)).ok()?;
                let name =
                    BackupName { table: request.backup.table_name.clone(), id: request.backup.id.clone() };
                check(self, namespace, request, &name).await.ok()?.1
            }
            Request::RestoreTableToPointInTime(request) if request.overrides.encryption.is_none() => {
                request.check_caller(&scope(namespace)).ok()?;
                let source = lookup(self, namespace, &request.source).ok()?;
                let now_ms = self.env().now_ms();
                Target::of(self, namespace, &request.target, &source, &request.overrides, now_ms)
                    .await
                    .ok()?
            }
            _ => return None,
        };
        new.creation.encryption?.key_id
    }
}

/// The table that a restore is to make.
struct Target<'r> {
    namespace: &'r Namespace,
    creation: CreateTable,
    public_id: String,
    job_id: String,
    now_ms: u64,
    status_until_ms: u64,
}

impl<'r> Target<'r> {
    /// Checks the name, then what the table is to be.
    async fn of<S: Store>(
        engine: &Engine<S>,
        namespace: &'r Namespace,
        name: &str,
        source: &Table,
        overrides: &RestoreOverrides,
        now_ms: u64,
    ) -> Result<Self, Error> {
        check_name(engine, namespace, name)?;
        let creation = creation_of(source, overrides, name)?;
        count(engine, namespace).await?;
        check_new(engine, namespace, &creation)?;
        Ok(Self {
            namespace,
            creation,
            public_id: uuid(engine.env().random_u128()),
            job_id: crate::jobs::row::new_id(engine.env(), now_ms),
            now_ms,
            status_until_ms: now_ms.saturating_add(engine.config().transition_ms),
        })
    }

    /// The new table; its job is among the rows.
    fn build(&self, id: TableId, restore: Restore, filling: Filling, rows: &mut OtherRows) -> Table {
        let table = Table {
            public_id: self.public_id.clone(),
            status: TableStatus::Creating,
            status_until_ms: self.status_until_ms,
            filling: Some(filling),
            ..new_table(self.namespace, &self.creation, id, self.now_ms)
        };
        let new = NewJob {
            work: Work::Restore(restore),
            namespace: self.namespace,
            table: &table,
            now_ms: self.now_ms,
        };
        let job = Job::with_id(self.job_id.clone(), new);
        rows.put(job.open_key(), job.encode());
        table
    }

    async fn create<S: Store>(
        &self,
        engine: &Engine<S>,
        (sources, others): (&[impl Copy + Into<RecordTarget> + Sync], &[Bytes]),
        build: impl Fn(TableId, &mut [Table], &mut OtherRows) -> Result<Table, Error>,
    ) -> Result<Arc<Table>, Error> {
        let (namespace, name) = (self.namespace, self.creation.name.as_str());
        // Once more in its turn: others may have been made meanwhile.
        let permit = || {
            engine.pace().check_presence()?;
            check_name(engine, namespace, name)?;
            check_room(engine, namespace)
        };
        let key = last_restore_key(&namespace.account);
        let keys: Vec<Bytes> = others.iter().chain([&key]).cloned().collect();
        let _turn = engine.restore_turn().lock().await;
        for _ in 0..TRIES_MAX {
            let last = count(engine, namespace).await?;
            let is_overtaken = AtomicBool::new(false);
            let build = |id: TableId, tables: &mut [Table], rows: &mut OtherRows| {
                // Another process has begun a restore, which is not counted.
                if rows.found(others.len()) != last.as_ref() {
                    is_overtaken.store(true, Ordering::Relaxed);
                    return Err(fault::internal());
                }
                rows.put(key.clone(), Bytes::copy_from_slice(self.job_id.as_bytes()));
                build(id, tables, rows)
            };
            let new = NewName { namespace, name, public_id: &self.public_id };
            let made = engine.catalogue().create_with(new, (sources, &keys), permit, build).await;
            if is_overtaken.into_inner() {
                continue;
            }
            engine.due().jobs_changed(self.now_ms);
            return made.map_err(|error| match error.kind {
                ErrorKind::ResourceInUse => exists(name),
                _ => error,
            });
        }
        Err(fault::internal())
    }
}

fn exists(name: &str) -> Error {
    Error::new(ErrorKind::TableAlreadyExists, table_messages::table_exists(name))
}

/// Checks that no table has the name.
fn check_name<S: Store>(engine: &Engine<S>, namespace: &Namespace, name: &str) -> Result<(), Error> {
    let Some(table) = engine.catalogue().find(namespace, name) else {
        return engine.catalogue().refused(namespace, name).map_or(Ok(()), Err);
    };
    let Some(filling) = &table.filling else { return Err(exists(name)) };
    if filling.is_import() {
        return Err(exists(name));
    }
    let source = filling.source_backup_arn.as_ref().or(filling.source_table_arn.as_ref());
    let text = messages::table_being_restored(name, source.map_or("", String::as_str));
    Err(Error::new(ErrorKind::TableInUse, text))
}

/// Checks that the account may have one more restore, over all processes. Returns the row that says which one
/// has begun last: while it stays, none is added.
async fn count<S: Store>(engine: &Engine<S>, namespace: &Namespace) -> Result<Option<Bytes>, Error> {
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    if open_restores(&view, &namespace.account).await? >= RESTORES_MAX {
        return Err(Error::new(ErrorKind::LimitExceeded, messages::too_many_restores(RESTORES_MAX)));
    }
    let found = view.get_many(&[last_restore_key(&namespace.account)]).await;
    Ok(found.map_err(|error| fault::storage(&error))?.into_iter().flatten().next())
}

fn answer<S: Store>(engine: &Engine<S>, table: &Table) -> TableDescription {
    describe(table, View::of(engine))
}
