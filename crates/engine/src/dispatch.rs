//! The engine as its callers see it: open, execute, step, shut down.
//!
//! It knows which module runs which operation, and nothing of what the operation does.

use std::sync::Arc;

use keywright_semantics::error::Error;
use keywright_semantics::messages::global as messages;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::request::Request;
use keywright_semantics::response::Response;
use keywright_semantics::scaling::fault::Fault as ScalingFault;
use keywright_store::{Store, StoreError};

use crate::background::{self, stats_rows, throughput_rows};
use crate::batch::batch_get_item::batch_get_item;
use crate::batch::batch_write_item::batch_write_item;
use crate::batch::transact_get_items::transact_get_items;
use crate::batch::transact_write_items::transact_write_items;
use crate::catalogue::{Catalogue, CatalogueFault, KeyMap};
use crate::directory::{Directory, DirectoryFault};
use crate::history::bound;
use crate::read::get_item::get_item;
use crate::read::query::query;
use crate::read::scan::scan;
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::{Caller, Env, Namespace};
use crate::support::wake::NextWake;
use crate::ttl::{self, Backlog};
use crate::write::delete_item::delete_item;
use crate::write::put_item::put_item;
use crate::write::update_item::update_item;
use crate::{
    answered, backups, bulk, copy, destinations, exports, imports, monitoring, partiql, scaling, streams,
    tables,
};

/// How old the catalogue may be for an operation on items.
const CATALOGUE_AGE_MS_MAX: u64 = 1_000;

/// Why a database cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The catalogue cannot be read.
    Catalogue(CatalogueFault),
    /// The users, groups, roles and policies cannot be read.
    Principals(String),
    /// The store failed.
    Store(StoreError),
    /// The store is an unfinished copy of the installation of this name.
    UnfinishedCopy(String),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Catalogue(fault) => fault.fmt(formatter),
            Self::Principals(text) => formatter.write_str(text),
            Self::Store(fault) => fault.fmt(formatter),
            Self::UnfinishedCopy(source) => write!(
                formatter,
                "it is an unfinished copy of {source}: run the same `keywright copy` again, which goes on \
                 where it stopped"
            ),
        }
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    /// Whether the store could not be read or written, so that a later try may succeed.
    pub const fn is_of_store(&self) -> bool {
        match self {
            Self::Store(fault) | Self::Catalogue(CatalogueFault::Store(fault)) => {
                matches!(fault, StoreError::Io(_) | StoreError::Closed)
            }
            Self::Catalogue(_) | Self::Principals(_) | Self::UnfinishedCopy(_) => false,
        }
    }
}

impl From<CatalogueFault> for OpenError {
    fn from(fault: CatalogueFault) -> Self {
        Self::Catalogue(fault)
    }
}

impl From<DirectoryFault> for OpenError {
    fn from(fault: DirectoryFault) -> Self {
        match fault {
            DirectoryFault::Store(fault) => Self::Store(fault),
            DirectoryFault::Row(text) => Self::Principals(text),
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

impl<S: Store> Engine<S> {
    /// The names of tables by their keys, read from the store as far as it can be read.
    pub async fn key_map(&self) -> KeyMap {
        KeyMap::of_store(self.store()).await
    }

    /// Opens the database in the store; an empty store becomes an empty database.
    pub async fn open(store: S, env: Arc<dyn Env>, config: EngineConfig) -> Result<Self, OpenError> {
        if let Some(source) = copy::unfinished(&store).await? {
            return Err(OpenError::UnfinishedCopy(source));
        }
        let catalogue = Catalogue::open(store.clone()).await?;
        let opened_ms = env.now_ms();
        let directory = Directory::open(store.clone(), config.secrets.clone(), opened_ms).await?;
        let engine = Self::new(store, env, config, (catalogue, directory));
        engine.catalogue().note_followed(opened_ms);
        engine.begin_stamps(opened_ms).await?;
        stats_rows::load(&engine).await?;
        throughput_rows::load(&engine).await?;
        Ok(engine)
    }

    /// How many tables ask for encryption by a key, which the engine itself does not do.
    pub fn tables_with_key(&self) -> usize {
        self.catalogue().tables_with_key()
    }

    /// Sentences that name the tables which a later release wrote and this one does not serve, and say why.
    pub fn refused_tables(&self) -> Vec<String> {
        self.catalogue().refusals()
    }

    /// Executes one request of a caller.
    pub async fn execute(&self, caller: &Caller, request: Request) -> Result<Response, Error> {
        let started_us = self.env().now_us();
        self.metrics().begin(started_us / 1000);
        let outcome = if self.peers().owns(caller.namespace.region.as_str()) {
            Err(Error::validation(messages::owned_elsewhere(caller.namespace.region.as_str())))
        } else if self.is_shared() {
            Box::pin(self.run_on_shared(caller, &request)).await
        } else {
            self.run(caller, &request).await
        };
        answered::answered(self, caller, &request, &outcome, started_us);
        outcome
    }

    /// Counts a request that was refused before it was typed. What it touches is known once its JSON has the
    /// right types.
    pub fn note_refused(&self, namespace: &Namespace, table: Option<&str>, error: &Error) {
        answered::refused(self, namespace, table, error);
    }

    /// What time to live has to do in a table; `None` if there is no such table or it has no time to live.
    pub async fn expiry_backlog(&self, namespace: &Namespace, table: &str) -> Result<Option<Backlog>, Error> {
        let Some(table) = self.catalogue().find(namespace, table) else { return Ok(None) };
        ttl::backlog(self, &table, self.env().now_ms()).await
    }

    /// Executes one request of a caller on metrics and alarms.
    pub async fn monitor(
        &self,
        caller: &Caller,
        request: keywright_semantics::monitoring::request::Request,
    ) -> Result<keywright_semantics::monitoring::response::Response, Fault> {
        let region = caller.namespace.region.as_str();
        if self.peers().owns(region) {
            return Err(Fault::new(FaultKind::InvalidParameterValue, messages::owned_elsewhere(region)));
        }
        Box::pin(monitoring::execute(self, &caller.namespace, request)).await
    }

    /// Executes one request of a caller on scalable targets, policies and scheduled actions.
    pub async fn scale(
        &self,
        caller: &Caller,
        request: keywright_semantics::scaling::request::Request,
    ) -> Result<keywright_semantics::scaling::response::Response, ScalingFault> {
        let region = caller.namespace.region.as_str();
        if self.peers().owns(region) {
            return Err(ScalingFault::validation(messages::owned_elsewhere(region)));
        }
        Box::pin(scaling::execute(self, &caller.namespace, request)).await
    }

    /// Begins above the stamps of all commits that may be in the store.
    async fn begin_stamps(&self, now_ms: u64) -> Result<(), OpenError> {
        let view = self.store().snapshot().await?;
        let bound = bound::read(&view).await?;
        drop(view);
        #[cfg(test)]
        let bound = if self.links().is_broken(crate::support::links::Broken::Restart) {
            crate::support::stamp::Stamp::default()
        } else {
            bound
        };
        self.stamps().begin_at(bound);
        if self.is_shared() {
            background::members::step(self, now_ms).await.map_err(|_logged| StoreError::Closed)?;
        }
        Ok(())
    }

    async fn run_on_shared(&self, caller: &Caller, request: &Request) -> Result<Response, Error> {
        self.follow_for(request).await?;
        let epoch = self.catalogue().epoch();
        match self.run(caller, request).await {
            Err(error) if self.was_outdated(epoch, &error).await? => self.run(caller, request).await,
            outcome => outcome,
        }
    }

    /// Makes the catalogue as new as a request needs it: up to date for operations on tables, at most
    /// `CATALOGUE_AGE_MS_MAX` old for operations on items.
    async fn follow_for(&self, request: &Request) -> Result<(), Error> {
        let now_ms = self.env().now_ms();
        let since_ms = now_ms.saturating_sub(CATALOGUE_AGE_MS_MAX);
        if request.operation().is_about_items() && self.catalogue().is_followed_since(since_ms) {
            return Ok(());
        }
        Box::pin(self.catalogue().follow(now_ms)).await?;
        // A process that was silent for long has to join again before it commits with stamps.
        Box::pin(background::members::step(self, now_ms)).await
    }

    /// All operations but the shortest are boxed: this future is as large as the largest future in it, and it
    /// is copied several times on its way to the executor.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    async fn run(&self, caller: &Caller, request: &Request) -> Result<Response, Error> {
        let namespace = &caller.namespace;
        match request {
            Request::CreateBackup(request) => Box::pin(backups::create(self, namespace, request)).await,
            Request::DeleteBackup(request) => Box::pin(backups::remove(self, namespace, request)).await,
            Request::DescribeBackup(request) => Box::pin(backups::describe(self, namespace, request)).await,
            Request::DescribeContinuousBackups(request) => {
                backups::describe_continuous(self, namespace, request)
            }
            Request::DescribeExport(request) => Box::pin(exports::describe(self, namespace, request)).await,
            Request::ExportTableToPointInTime(request) => {
                Box::pin(exports::begin(self, namespace, request)).await
            }
            Request::ListExports(request) => Box::pin(exports::list(self, namespace, request)).await,
            Request::ListBackups(request) => Box::pin(backups::list(self, namespace, request)).await,
            Request::RestoreTableFromBackup(request) => {
                Box::pin(backups::from_backup(self, namespace, request)).await
            }
            Request::RestoreTableToPointInTime(request) => {
                Box::pin(backups::to_point_in_time(self, namespace, request)).await
            }
            Request::UpdateContinuousBackups(request) => {
                Box::pin(backups::update_continuous(self, namespace, request)).await
            }
            Request::StartBulkPutItems(request) => Box::pin(bulk::begin(self, namespace, request)).await,
            Request::DescribeBulkOperation(request) => {
                Box::pin(bulk::describe(self, namespace, request)).await
            }
            Request::ListBulkOperations(request) => Box::pin(bulk::list(self, namespace, request)).await,
            Request::CancelBulkOperation(request) => Box::pin(bulk::cancel(self, namespace, request)).await,
            Request::ImportTable(request) => Box::pin(imports::import(self, namespace, request)).await,
            Request::DescribeImport(request) => Box::pin(imports::describe(self, namespace, request)).await,
            Request::ListImports(request) => Box::pin(imports::list(self, namespace, request)).await,
            Request::CreateTable(request) => Box::pin(tables::create::run(self, namespace, request)).await,
            Request::JoinGlobalTable(request) => {
                Box::pin(scaling::join_global_table(self, namespace, request)).await
            }
            Request::DeleteTable(request) => Box::pin(tables::delete::run(self, namespace, request)).await,
            Request::DescribeContributorInsights(request) => {
                tables::insights::describe(self, namespace, request)
            }
            Request::ListContributorInsights(request) => tables::insights::list(self, namespace, request),
            Request::UpdateContributorInsights(request) => {
                Box::pin(tables::insights::update(self, namespace, request)).await
            }
            Request::DescribeEndpoints => Ok(tables::describe::endpoints(namespace)),
            Request::DescribeKinesisStreamingDestination(request) => {
                destinations::describe(self, namespace, request)
            }
            Request::DisableKinesisStreamingDestination(request) => {
                Box::pin(destinations::disable(self, namespace, request)).await
            }
            Request::EnableKinesisStreamingDestination(request) => {
                Box::pin(destinations::enable(self, namespace, request)).await
            }
            Request::UpdateKinesisStreamingDestination(request) => {
                Box::pin(destinations::update(self, namespace, request)).await
            }
            Request::DescribeLimits => Ok(tables::describe::limits(self)),
            Request::DescribeTable(request) => tables::describe::run(self, namespace, request),
            Request::DescribeStream(request) => {
                Box::pin(streams::describe_stream(self, namespace, request)).await
            }
            Request::GetRecords(request) => Box::pin(streams::get_records(self, namespace, request)).await,
            Request::GetShardIterator(request) => {
                Box::pin(streams::get_shard_iterator(self, namespace, request)).await
            }
            Request::ListStreams(request) => streams::list_streams(self, namespace, request),
            Request::CreateGlobalTable(_) => Err(tables::legacy_global::no_new_region()),
            Request::UpdateGlobalTable(request) => Err(tables::legacy_global::update(request)),
            Request::DescribeGlobalTable(request) => Err(tables::legacy_global::no_table(request)),
            Request::DescribeGlobalTableSettings(request) | Request::UpdateGlobalTableSettings(request) => {
                Err(tables::legacy_global::no_settings(request))
            }
            Request::DescribeTableReplicaAutoScaling(request) => {
                Box::pin(scaling::replicas::describe(self, namespace, request)).await
            }
            Request::UpdateTableReplicaAutoScaling(request) => {
                Box::pin(scaling::replicas::update(self, namespace, request)).await
            }
            Request::ListGlobalTables(_) => Ok(Response::ListGlobalTables),
            Request::ListTables(request) => Ok(tables::list::run(self, namespace, request)),
            Request::ListTagsOfResource(request) => tables::tags::list(self, namespace, request),
            Request::DeleteResourcePolicy(request) => {
                Box::pin(tables::policies::delete(self, namespace, request)).await
            }
            Request::GetResourcePolicy(request) => tables::policies::get(self, namespace, request),
            Request::PutResourcePolicy(request) => {
                Box::pin(tables::policies::put(self, namespace, request)).await
            }
            Request::TagResource(request) => Box::pin(tables::tags::tag(self, namespace, request)).await,
            Request::DescribeTimeToLive(request) => tables::ttl::describe(self, namespace, request),
            Request::UpdateTimeToLive(request) => {
                Box::pin(tables::ttl::update(self, namespace, request)).await
            }
            Request::UntagResource(request) => Box::pin(tables::tags::untag(self, namespace, request)).await,
            Request::UpdateTable(request) => Box::pin(scaling::update_table(self, namespace, request)).await,
            Request::BatchGetItem(request) => {
                Box::pin(batch_get_item(self, caller, request)).await.map(Response::BatchGetItem)
            }
            Request::BatchWriteItem(request) => {
                Box::pin(batch_write_item(self, caller, request)).await.map(Response::BatchWriteItem)
            }
            Request::DeleteItem(request) => {
                Box::pin(delete_item(self, caller, request)).await.map(Response::DeleteItem)
            }
            Request::BatchExecuteStatement(request) => {
                Box::pin(partiql::batch_execute_statement(&self.unobserved(), caller, request)).await
            }
            Request::ExecuteStatement(request) => {
                Box::pin(partiql::execute_statement(&self.unobserved(), caller, request)).await
            }
            Request::ExecuteTransaction(request) => {
                Box::pin(partiql::execute_transaction(&self.unobserved(), caller, request)).await
            }
            Request::GetItem(request) => get_item(self, caller, request).await.map(Response::GetItem),
            Request::PutItem(request) => {
                Box::pin(put_item(self, caller, request)).await.map(Response::PutItem)
            }
            Request::Query(request) => Box::pin(query(self, caller, request)).await.map(Response::Query),
            Request::Scan(request) => Box::pin(scan(self, caller, request)).await.map(Response::Scan),
            Request::TransactGetItems(request) => {
                Box::pin(transact_get_items(self, caller, request)).await.map(Response::TransactGetItems)
            }
            Request::TransactWriteItems(request) => {
                Box::pin(transact_write_items(self, caller, request)).await.map(Response::TransactWriteItems)
            }
            Request::UpdateItem(request) => {
                Box::pin(update_item(self, caller, request)).await.map(Response::UpdateItem)
            }
        }
    }

    /// Does a bounded piece of the background work that is due at this time, in milliseconds since 1970.
    pub async fn step(&self, now_ms: u64) -> NextWake {
        background::step(self, now_ms).await
    }

    /// Writes to the store what is kept in memory only. No request may be running.
    pub async fn shutdown(&self) -> Result<(), Error> {
        throughput_rows::save(self).await?;
        monitoring::rows::flush_all(self).await?;
        monitoring::insight_rows::flush_all(self).await?;
        stats_rows::flush(self, stats_rows::Stop::Clean).await?;
        if self.is_shared() { background::members::leave(self).await } else { Ok(()) }
    }

    /// Whether a shared store answered within this time. A store of one process needs no asking.
    pub fn has_heard_from_store(&self, within_ms: u64) -> bool {
        !self.is_shared() || self.catalogue().is_followed_since(self.env().now_ms().saturating_sub(within_ms))
    }

    /// The number of processes that serve the store.
    pub fn processes(&self) -> usize {
        if self.is_shared() { self.members().working() } else { 1 }
    }
}
