//! The engine as its callers see it: open, execute, step, shut down.
//!
//! It knows which module runs which operation, and nothing of what they do.

use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;
use keywright_semantics::request::Request;
use keywright_semantics::response::Response;
use keywright_store::{Store, StoreError};

use crate::batch_get_item::batch_get_item;
use crate::batch_write_item::batch_write_item;
use crate::catalogue::{Catalogue, CatalogueFault, Table, record_bytes};
use crate::config::EngineConfig;
use crate::delete_item::delete_item;
use crate::env::{Caller, Env};
use crate::get_item::get_item;
use crate::lane::{Lane, Pace, Presence};
use crate::latch::Latches;
use crate::layout::TableId;
use crate::partiql;
use crate::purge::Clearing;
use crate::put_item::put_item;
use crate::query::query;
use crate::scan::scan;
use crate::stats::Stats;
use crate::stats_rows::Recounting;
use crate::streams::{self, ShardLoads, TrimTimes};
use crate::transact_get_items::transact_get_items;
use crate::transact_write_items::transact_write_items;
use crate::ttl::NextExpiry;
use crate::update_item::update_item;
use crate::{background, stats_rows, tables};

/// A database over a store. Clones are the same database.
pub struct Engine<S: Store> {
    shared: Arc<Shared<S>>,
    /// Whether the client of what this clone executes still waits.
    presence: Option<Presence>,
}

impl<S: Store> Clone for Engine<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), presence: self.presence.clone() }
    }
}

struct Shared<S: Store> {
    store: S,
    env: Arc<dyn Env>,
    config: EngineConfig,
    catalogue: Catalogue<S>,
    stats: Stats,
    recounting: Recounting<S::Snapshot>,
    clearing: Clearing,
    latches: Arc<Latches>,
    shard_loads: ShardLoads,
    trim_times: TrimTimes,
    ttl_outlook: NextExpiry,
}

/// Why a database cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    Catalogue(CatalogueFault),
    Store(StoreError),
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Catalogue(fault) => fault.fmt(formatter),
            Self::Store(fault) => fault.fmt(formatter),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<CatalogueFault> for OpenError {
    fn from(fault: CatalogueFault) -> Self {
        Self::Catalogue(fault)
    }
}

impl From<StoreError> for OpenError {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

/// When `step` wants to be called again; `None` when only a request can make work for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextWake {
    pub at_ms: Option<u64>,
}

impl NextWake {
    /// The earlier of two wishes.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        match (self.at_ms, other.at_ms) {
            (Some(one), Some(two)) => Self { at_ms: Some(one.min(two)) },
            (one, two) => Self { at_ms: one.or(two) },
        }
    }
}

impl<S: Store> Engine<S> {
    /// Opens the database that is in the store, or a new one if it is empty.
    pub async fn open(store: S, env: Arc<dyn Env>, config: EngineConfig) -> Result<Self, OpenError> {
        let catalogue = Catalogue::open(store.clone()).await?;
        let shared = Shared {
            store,
            env,
            config,
            catalogue,
            stats: Stats::default(),
            recounting: Recounting::default(),
            clearing: Clearing::default(),
            latches: Latches::new(),
            shard_loads: ShardLoads::default(),
            trim_times: TrimTimes::default(),
            ttl_outlook: NextExpiry::default(),
        };
        let engine = Self { shared: Arc::new(shared), presence: None };
        stats_rows::load(&engine).await?;
        Ok(engine)
    }

    /// Executes one request of a caller.
    ///
    /// All ways but the shortest are boxed: this future is as large as the largest that lies in it, and is copied several
    /// times on its way to where it runs.
    pub async fn execute(&self, caller: &Caller, request: Request) -> Result<Response, Error> {
        match request {
            Request::CreateTable(request) => Box::pin(tables::create::run(self, caller, &request)).await,
            Request::DeleteTable(request) => Box::pin(tables::delete::run(self, caller, &request)).await,
            Request::DescribeEndpoints => Ok(tables::describe::endpoints(caller)),
            Request::DescribeLimits => Ok(tables::describe::limits()),
            Request::DescribeTable(request) => tables::describe::run(self, caller, &request),
            Request::DescribeStream(request) => {
                Box::pin(streams::describe_stream(self, caller, &request)).await
            }
            Request::GetRecords(request) => Box::pin(streams::get_records(self, caller, &request)).await,
            Request::GetShardIterator(request) => {
                Box::pin(streams::get_shard_iterator(self, caller, &request)).await
            }
            Request::ListStreams(request) => Ok(streams::list_streams(self, caller, &request)),
            Request::ListTables(request) => Ok(tables::list::run(self, caller, &request)),
            Request::ListTagsOfResource(request) => tables::tags::list(self, caller, &request),
            Request::TagResource(request) => Box::pin(tables::tags::tag(self, caller, &request)).await,
            Request::DescribeTimeToLive(request) => tables::ttl::describe(self, caller, &request),
            Request::UpdateTimeToLive(request) => Box::pin(tables::ttl::update(self, caller, &request)).await,
            Request::UntagResource(request) => Box::pin(tables::tags::untag(self, caller, &request)).await,
            Request::UpdateTable(request) => Box::pin(tables::update::run(self, caller, &request)).await,
            Request::BatchGetItem(request) => {
                Box::pin(batch_get_item(self, caller, &request)).await.map(Response::BatchGetItem)
            }
            Request::BatchWriteItem(request) => {
                Box::pin(batch_write_item(self, caller, &request)).await.map(Response::BatchWriteItem)
            }
            Request::DeleteItem(request) => {
                Box::pin(delete_item(self, caller, &request)).await.map(Response::DeleteItem)
            }
            Request::BatchExecuteStatement(request) => {
                Box::pin(partiql::batch_execute_statement(self, caller, &request)).await
            }
            Request::ExecuteStatement(request) => {
                Box::pin(partiql::execute_statement(self, caller, &request)).await
            }
            Request::ExecuteTransaction(request) => {
                Box::pin(partiql::execute_transaction(self, caller, &request)).await
            }
            Request::GetItem(request) => get_item(self, caller, &request).await.map(Response::GetItem),
            Request::PutItem(request) => {
                Box::pin(put_item(self, caller, &request)).await.map(Response::PutItem)
            }
            Request::Query(request) => Box::pin(query(self, caller, &request)).await.map(Response::Query),
            Request::Scan(request) => Box::pin(scan(self, caller, &request)).await.map(Response::Scan),
            Request::TransactGetItems(request) => {
                Box::pin(transact_get_items(self, caller, &request)).await.map(Response::TransactGetItems)
            }
            Request::TransactWriteItems(request) => {
                Box::pin(transact_write_items(self, caller, &request)).await.map(Response::TransactWriteItems)
            }
            Request::UpdateItem(request) => {
                Box::pin(update_item(self, caller, &request)).await.map(Response::UpdateItem)
            }
        }
    }

    /// Does some of the background work that is due: bounded, so that requests are not kept waiting.
    pub async fn step(&self, now_ms: u64) -> NextWake {
        background::step(self, now_ms).await
    }

    /// Writes down what is only in memory. Requests must have ended.
    pub async fn shutdown(&self) -> Result<(), Error> {
        stats_rows::flush(self, stats_rows::Stop::Clean).await
    }

    /// The same database for one request: its long computations end if the client leaves before anything is written.
    #[must_use]
    pub fn for_client(&self, presence: Presence) -> Self {
        Self { shared: Arc::clone(&self.shared), presence: Some(presence) }
    }

    /// Where long computations take place, for those around the engine as well.
    pub fn lane(&self) -> &Lane {
        &self.shared.config.lane
    }

    /// The pace of a request that begins to compute.
    pub(crate) fn pace(&self) -> Pace<'_> {
        Pace::new(self.lane(), self.presence.as_ref())
    }

    /// Changes a table's record for a client, unless the client has left before its turn came.
    pub(crate) async fn change_table<R>(
        &self,
        id: TableId,
        change: impl Fn(&mut Table) -> Result<R, Error>,
    ) -> Result<(Arc<Table>, R), Error> {
        let full = self.catalogue().record_bytes() >= self.config().record_bytes_max;
        let permit = || self.pace().check_presence();
        let checked = |table: &mut Table| {
            let before = full.then(|| table.clone());
            let result = change(table)?;
            match before {
                Some(before) if record_bytes(table) > record_bytes(&before) => Err(Error::new(
                    ErrorKind::LimitExceeded,
                    messages::definitions_limit(self.config().record_bytes_max),
                )),
                _ => Ok(result),
            }
        };
        self.catalogue().change_if(id, permit, checked).await
    }

    pub(crate) fn store(&self) -> &S {
        &self.shared.store
    }

    pub(crate) fn env(&self) -> &dyn Env {
        &*self.shared.env
    }

    pub(crate) fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    pub(crate) fn catalogue(&self) -> &Catalogue<S> {
        &self.shared.catalogue
    }

    pub(crate) fn latches(&self) -> &Arc<Latches> {
        &self.shared.latches
    }

    pub(crate) fn shard_loads(&self) -> &ShardLoads {
        &self.shared.shard_loads
    }

    pub(crate) fn ttl_outlook(&self) -> &NextExpiry {
        &self.shared.ttl_outlook
    }

    pub(crate) fn trim_times(&self) -> &TrimTimes {
        &self.shared.trim_times
    }

    pub(crate) fn clearing(&self) -> &Clearing {
        &self.shared.clearing
    }

    pub(crate) fn recounting(&self) -> &Recounting<S::Snapshot> {
        &self.shared.recounting
    }

    pub(crate) fn stats(&self) -> &Stats {
        &self.shared.stats
    }
}
