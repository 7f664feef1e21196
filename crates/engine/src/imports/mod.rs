//! ImportTable, DescribeImport and ListImports, and the errors of an import.
//!
//! One commit makes the new table, which is CREATING, and the job that fills it (`jobs::import`). While an
//! import fills a table, another one into a table of that name is accepted and fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::IMPORTS_MAX;
use keywright_semantics::messages::{import as messages, table as table_messages};
use keywright_semantics::request::imports::{check_caller, import_not_found, import_of_arn};
use keywright_semantics::request::{ArnScope, DescribeImport, ImportTable, ListImports, TransferArn};
use keywright_semantics::response::{
    ImportDescription, ImportFailure, ImportStatus, ListImportsOutput, Response, TimestampMs,
};
use keywright_store::Store;

use crate::catalogue::{Filling, NO_TABLES, NewName, OtherRows, Table, TableStatus, table_arn};
use crate::jobs::row::{self as jobs, Cursor, Import as ImportWork, Job, NewJob, Work};
use crate::jobs::source::{SourceError, errors_of, reading};
use crate::jobs::transfer::{Beginning, Verdict};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::TableId;
use crate::tables::create::{check_new, check_room, new_table, uuid};
use crate::transfers::list::page;
use crate::transfers::row::{Asked, Failure, Kind, NewTransfer, Status, Transfer, TransferName, find};
use crate::transfers::token::{self, RequestHash};

/// Tries while others begin imports or make tables.
const TRIES_MAX: usize = 20;

/// The errors of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportErrors {
    /// The import's ARN.
    pub arn: String,
    /// The bucket that it reads.
    pub bucket: String,
    /// All of them.
    pub count: u64,
    /// The first ones, in the order of the objects.
    pub kept: Vec<SourceError>,
}

/// An import that is to begin.
struct New<'r> {
    namespace: &'r Namespace,
    request: &'r ImportTable,
    token: String,
    id: String,
    public_id: String,
    now_ms: u64,
    status_until_ms: u64,
}

pub(crate) async fn import<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ImportTable,
) -> Result<Response, Error> {
    let now_ms = engine.env().now_ms();
    let client_token = request.parts.client_token.clone();
    let new = New {
        namespace,
        request,
        token: client_token.unwrap_or_else(|| uuid(engine.env().random_u128())),
        id: jobs::new_id(engine.env(), now_ms),
        public_id: uuid(engine.env().random_u128()),
        now_ms,
        status_until_ms: now_ms.saturating_add(engine.config().transition_ms),
    };
    let name = request.creation.name.as_str();
    for _ in 0..TRIES_MAX {
        let begun = match new.repeated(engine).await? {
            Some(transfer) => Some(transfer),
            None => match engine.catalogue().find(namespace, name) {
                None => new.begin(engine).await?,
                Some(table) if table.filling.as_ref().is_some_and(Filling::is_import) => {
                    new.begin_in_vain(engine, &table).await?
                }
                Some(_) => return Err(exists(name)),
            },
        };
        if let Some(transfer) = begun {
            return Ok(Response::ImportTable(Box::new(described(&transfer, None)?)));
        }
    }
    Err(fault::internal())
}

fn exists(name: &str) -> Error {
    Error::new(ErrorKind::ResourceInUse, table_messages::table_exists(name))
}

fn conflict() -> Error {
    Error::new(ErrorKind::ImportConflict, messages::CONFLICT)
}

impl New<'_> {
    const fn hash(&self) -> RequestHash {
        RequestHash(self.request.fingerprint.0)
    }

    /// The import that an earlier request with this token has begun. It comes before all other checks: the
    /// table of the name is that import's.
    async fn repeated<S: Store>(&self, engine: &Engine<S>) -> Result<Option<Transfer>, Error> {
        let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let kind = (self.namespace, Kind::Import);
        token::repeated(&view, kind, (&self.token, self.hash()), self.now_ms, conflict).await
    }

    async fn prepare<S: Store>(&self, engine: &Engine<S>) -> Result<Beginning, Error> {
        let token = (self.token.as_str(), self.hash());
        Beginning::prepare(engine, (self.namespace, Kind::Import), token, IMPORTS_MAX, self.now_ms).await
    }

    /// Whether it may begin; false: what was looked at before has changed.
    fn may_begin(beginning: &Beginning, rows: &OtherRows) -> Result<bool, Error> {
        match beginning.judge(rows, 0)? {
            Verdict::New => Ok(true),
            Verdict::Repeated(_) | Verdict::Overtaken => Ok(false),
            Verdict::Conflict => Err(conflict()),
            Verdict::TooMany => {
                Err(Error::new(ErrorKind::LimitExceeded, messages::too_many_imports(IMPORTS_MAX)))
            }
        }
    }

    /// Makes the table and begins to fill it; `None` if what was looked at before has changed.
    async fn begin<S: Store>(&self, engine: &Engine<S>) -> Result<Option<Transfer>, Error> {
        let (namespace, creation) = (self.namespace, &self.request.creation);
        if let Some(refusal) = engine.catalogue().refused(namespace, &creation.name) {
            return Err(refusal);
        }
        check_new(engine, namespace, creation)?;
        let beginning = self.prepare(engine).await?;
        let transfer = self.transfer();
        let is_stale = AtomicBool::new(false);
        let build = |id: TableId, _: &mut [Table], rows: &mut OtherRows| {
            if !Self::may_begin(&beginning, rows)? {
                is_stale.store(true, Ordering::Relaxed);
                return Err(fault::internal());
            }
            let table = Table {
                public_id: self.public_id.clone(),
                status: TableStatus::Creating,
                status_until_ms: self.status_until_ms,
                filling: Some(Filling::by_import(self.id.clone())),
                ..new_table(namespace, creation, id, self.now_ms)
            };
            beginning.write(&transfer, &self.job(&table, Cursor::default()), rows);
            Ok(table)
        };
        let permit = || {
            engine.pace().check_presence()?;
            check_room(engine, namespace)
        };
        let new = NewName { namespace, name: &creation.name, public_id: &self.public_id };
        let made = engine.catalogue().create_with(new, (&NO_TABLES, &beginning.keys()), permit, build).await;
        match made {
            Ok(_) => {
                engine.due().jobs_changed(self.now_ms);
                Ok(Some(transfer))
            }
            Err(_) if is_stale.into_inner() => Ok(None),
            // Made meanwhile: the next look says by what.
            Err(error) if error.kind == ErrorKind::ResourceInUse => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Begins an import whose table another import makes: its first step ends it.
    async fn begin_in_vain<S: Store>(
        &self,
        engine: &Engine<S>,
        table: &Arc<Table>,
    ) -> Result<Option<Transfer>, Error> {
        let beginning = self.prepare(engine).await?;
        let transfer = self.transfer();
        let at_end = Cursor { is_at_end: true, ..Cursor::default() };
        let write = |_: &mut [Table], rows: &mut OtherRows| {
            // An earlier try of unknown outcome has written it.
            if rows.found(2).is_some() {
                return Ok(true);
            }
            if !Self::may_begin(&beginning, rows)? {
                return Ok(false);
            }
            beginning.write(&transfer, &self.job(table, at_end.clone()), rows);
            Ok(true)
        };
        let keys = [&beginning.keys()[..], &[transfer.key()]].concat();
        let (_, has_begun) = engine.catalogue().change_all(&NO_TABLES, &keys, || Ok(()), write).await?;
        engine.due().jobs_changed(self.now_ms);
        Ok(has_begun.then_some(transfer))
    }

    fn job(&self, table: &Table, cursor: Cursor) -> Job {
        let work = Work::Import(ImportWork::default());
        let new = NewJob { work, namespace: self.namespace, table, now_ms: self.now_ms };
        Job { cursor, ..Job::with_id(self.id.clone(), new) }
    }

    fn transfer(&self) -> Transfer {
        let mut parts = self.request.parts.clone();
        parts.s3_bucket_source.s3_bucket_owner.get_or_insert_with(|| self.namespace.account.to_string());
        Transfer::new(NewTransfer {
            id: self.id.clone(),
            namespace: self.namespace,
            table_name: self.request.creation.name.clone(),
            table_id: self.public_id.clone(),
            token: self.token.clone(),
            now_ms: self.now_ms,
            asked: Asked::Import(Box::new((&parts).into())),
        })
    }
}

pub(crate) async fn describe<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DescribeImport,
) -> Result<Response, Error> {
    check_caller(&request.import, &scope(namespace))?;
    let (transfer, job) = look(engine, namespace, &request.import).await?;
    follow_end(engine, namespace, &transfer).await?;
    Ok(Response::DescribeImport(Box::new(described(&transfer, job.as_ref())?)))
}

pub(crate) async fn list<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &ListImports,
) -> Result<Response, Error> {
    let own = scope(namespace);
    let is_wanted = |transfer: &Transfer| {
        request
            .table
            .as_ref()
            .is_none_or(|table| table.arn_scope() == Some(&own) && table.name == transfer.table_name)
    };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let token = request.token.as_deref();
    let found = page(&view, (namespace, Kind::Import), token, request.limit, is_wanted).await?;
    let invalid = || Error::validation(messages::invalid_token(token.unwrap_or_default()));
    let found = found.ok_or_else(invalid)?;
    for transfer in &found.transfers {
        follow_end(engine, namespace, transfer).await?;
    }
    let imports = found.transfers.iter().map(|transfer| described(transfer, None)).collect::<Result<_, _>>();
    Ok(Response::ListImports(ListImportsOutput { imports: imports?, next_token: found.next_token }))
}

impl<S: Store> Engine<S> {
    /// The errors of an import of the caller's.
    pub async fn import_errors(&self, namespace: &Namespace, arn: &str) -> Result<ImportErrors, Error> {
        let arn = import_of_arn(arn)?;
        check_caller(&arn, &scope(namespace))?;
        let (transfer, job) = look(self, namespace, &arn).await?;
        let kept = errors_of(self, &transfer.id).await?;
        let described = described(&transfer, job.as_ref())?;
        Ok(ImportErrors {
            arn: described.import_arn,
            bucket: described.request.s3_bucket_source.s3_bucket,
            count: described.errors,
            kept,
        })
    }
}

fn scope(namespace: &Namespace) -> ArnScope {
    ArnScope { region: namespace.region.to_string(), account: namespace.account.to_string() }
}

/// An import of the caller's, and its job.
async fn look<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    arn: &TransferArn,
) -> Result<(Transfer, Option<Job>), Error> {
    let name = TransferName { kind: Kind::Import, table: arn.table_name.clone(), id: arn.id.clone() };
    let view = engine.store().snapshot().await.map_err(|error| fault::storage(&error))?;
    let transfer = find(&view, namespace, &name).await?.ok_or_else(|| import_not_found(&arn.as_given))?;
    let job = jobs::find(&view, &arn.id).await?;
    Ok((transfer, job))
}

/// Reads the table of an import that has ended, if the copy in memory is older than the end: the commit that
/// ends an import is in the store a moment before the table is ACTIVE in that copy, and a client that is
/// shown the end may use the table.
async fn follow_end<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    transfer: &Transfer,
) -> Result<(), Error> {
    let is_filling =
        |table: &Arc<Table>| table.filling.as_ref().is_some_and(|filling| filling.job == transfer.id);
    match engine.catalogue().find(namespace, &transfer.table_name).filter(is_filling) {
        Some(table) if transfer.ended_ms.is_some() => engine.catalogue().refresh(table.id).await,
        Some(_) | None => Ok(()),
    }
}

/// An import as clients see it. While it is at work, its job has the counts.
fn described(transfer: &Transfer, job: Option<&Job>) -> Result<ImportDescription, Error> {
    let Asked::Import(import) = &transfer.asked else { return Err(fault::internal()) };
    let request = import.parts(&transfer.token).ok_or_else(fault::internal)?;
    let namespace = transfer.namespace();
    let reading = job.filter(|_| transfer.ended_ms.is_none()).and_then(reading);
    let counts = reading.map_or(transfer.counts, |reading| reading.counts);
    let Namespace { account, region } = &namespace;
    let failure = |Failure { code, message }: Failure| ImportFailure { code, message };
    Ok(ImportDescription {
        import_arn: transfer.name().arn(&namespace),
        status: match transfer.status {
            Status::InProgress | Status::Cancelling => ImportStatus::InProgress,
            Status::Completed | Status::CompletedWithErrors => ImportStatus::Completed,
            Status::Cancelled | Status::Failed => ImportStatus::Failed,
        },
        table_arn: table_arn((account.as_str(), region.as_str()), &transfer.table_name),
        table_id: transfer.table_id.clone(),
        request,
        log_group_arn: format!("arn:aws:logs:{region}:{account}:log-group:/aws-dynamodb/imports:*"),
        start: TimestampMs(transfer.started_ms),
        end: transfer.ended_ms.map(TimestampMs),
        processed_bytes: counts.bytes,
        processed_items: counts.processed,
        imported_items: counts.written,
        errors: counts.failed,
        failure: transfer.failure.clone().map(failure),
    })
}
