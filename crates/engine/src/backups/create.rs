//! CreateBackup, and backups of several tables at one stamp.

use bytes::Bytes;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::backup as messages;
use keywright_semantics::messages::table as table_messages;
use keywright_semantics::request::{CreateBackup, TableRef};
use keywright_semantics::response::{BackupDetails, BackupStatus, Response};
use keywright_store::Store;

use super::describe::details;
use super::lookup;
use crate::catalogue::backup::{Backup, BackupName, Maker, NewBackup};
use crate::catalogue::{OtherRows, Table, TableStatus, Target};
use crate::history::cut::Cut;
use crate::jobs::row::{Job, NewJob, Seal, Work, new_id};
use crate::state::Engine;
use crate::state::stats::Counted;
use crate::support::env::Namespace;
use crate::support::fault;

/// A backup that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupWish {
    /// The name of the table.
    pub table: String,
    /// The name of the backup.
    pub name: String,
    /// When it expires, in milliseconds since 1970; `None` for never.
    pub expires_ms: Option<u64>,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackedUp {
    /// The name of the table.
    pub table: String,
    /// The backup's id.
    pub id: String,
    /// The backup's ARN.
    pub arn: String,
}

impl<S: Store> Engine<S> {
    /// Backs up tables of an account and region, all of them at one stamp: a transaction is in all of them,
    /// or in none.
    pub async fn back_up(
        &self,
        namespace: &Namespace,
        wishes: &[BackupWish],
    ) -> Result<Vec<BackedUp>, Error> {
        self.back_up_tables(namespace, wishes, |_| Ok(())).await
    }

    /// The same, if `check` finds the tables fit for it in the commit that does it.
    pub(super) async fn back_up_tables(
        &self,
        namespace: &Namespace,
        wishes: &[BackupWish],
        check: impl Fn(&[Table]) -> Result<(), Error>,
    ) -> Result<Vec<BackedUp>, Error> {
        let backups = create_all(self, namespace, wishes, check).await?;
        let made = wishes.iter().zip(backups).map(|(wish, backup)| {
            let name = BackupName { table: wish.table.clone(), id: backup.id };
            BackedUp { arn: name.arn(namespace), table: name.table, id: name.id }
        });
        Ok(made.collect())
    }
}

pub(crate) async fn create<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &CreateBackup,
) -> Result<Response, Error> {
    // The region and account of an ARN.
    let table = lookup(engine, namespace, &request.table)?;
    let wish = BackupWish { table: table.name.clone(), name: request.name.clone(), expires_ms: None };
    let made = create_all(engine, namespace, std::slice::from_ref(&wish), |_| Ok(())).await?;
    let backup = made.first().ok_or_else(fault::internal)?;
    let name = BackupName { table: wish.table, id: backup.id.clone() };
    // The service answers so, and reports it as available from then on.
    let details = BackupDetails { status: BackupStatus::Creating, ..details(backup, &name, namespace) };
    Ok(Response::CreateBackup(Box::new(details)))
}

/// A wished backup with what it has to have before the commit.
struct Planned {
    name: BackupName,
    key: Bytes,
    seal: Option<Job>,
}

impl Planned {
    fn of<S: Store>(engine: &Engine<S>, namespace: &Namespace, table: &Table, now_ms: u64) -> Self {
        let id = new_id(engine.env(), now_ms);
        let name = BackupName { table: table.name.clone(), id };
        let seal = engine.config().seals.then(|| {
            let work = Work::Seal(Seal::of(name.clone()));
            Job::new(engine.env(), NewJob { work, namespace, table, now_ms })
        });
        Self { key: name.key(namespace), name, seal }
    }
}

async fn create_all<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    wishes: &[BackupWish],
    check: impl Fn(&[Table]) -> Result<(), Error>,
) -> Result<Vec<Backup>, Error> {
    let now_ms = engine.env().now_ms();
    let mut tables = Vec::with_capacity(wishes.len());
    for wish in wishes {
        let table = TableRef::named(wish.table.clone());
        tables.push(lookup(engine, namespace, &table)?);
    }
    let ids: Vec<Target> = tables.iter().map(|table| table.target()).collect();
    let planned: Vec<Planned> =
        tables.iter().map(|table| Planned::of(engine, namespace, table, now_ms)).collect();
    let cut = Cut::prepare(engine, now_ms).await?;
    let change = |tables: &mut [Table], rows: &mut OtherRows| {
        check(tables)?;
        let stamp = cut.draw(engine, tables);
        let mut made = Vec::with_capacity(wishes.len());
        for ((table, wish), planned) in tables.iter_mut().zip(wishes).zip(&planned) {
            if table.status == TableStatus::Creating {
                return Err(Error::new(ErrorKind::TableNotFound, messages::table_not_found(&table.name)));
            }
            let items = engine.stats().get(Counted::Items(table.id));
            let backup = Backup::of(
                table,
                NewBackup {
                    id: &planned.name.id,
                    name: &wish.name,
                    maker: Maker::User,
                    created_ms: now_ms,
                    expires_ms: wish.expires_ms,
                    stamp,
                    item_count: u64::try_from(items.rows).unwrap_or(0),
                    size_bytes: u64::try_from(items.bytes).unwrap_or(0),
                    seal: planned.seal.as_ref().map(|job| job.id.clone()),
                },
            );
            assert!(table.history.hold(&backup.id, stamp), "a new stamp is in the history");
            rows.put(planned.key.clone(), backup.encode());
            if let Some(job) = &planned.seal {
                let mut job = job.clone();
                if let Work::Seal(seal) = &mut job.work {
                    seal.stamp = stamp;
                }
                rows.put(job.open_key(), job.encode());
            }
            made.push(backup);
        }
        Ok(made)
    };
    let permit = || {
        engine.pace().check_presence()?;
        let bytes_max = engine.config().record_bytes_max;
        if engine.catalogue().record_bytes() >= bytes_max {
            return Err(Error::new(ErrorKind::LimitExceeded, table_messages::definitions_limit(bytes_max)));
        }
        Ok(())
    };
    let (_, made) = engine.catalogue().change_all(&ids, &[], permit, change).await?;
    engine.due().jobs_changed(now_ms);
    wishes.iter().filter_map(|wish| wish.expires_ms).for_each(|ms| {
        engine.due().expiring_backups.wake_at(ms);
    });
    Ok(made)
}
