//! The database as the studio uses it: what the server gives to it.
//!
//! It does not know how a request is executed, nor who signs how.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::Response;
use keywright_connection::request_head::RequestHead;
use keywright_connection::secured::Secured;
use keywright_engine::{Backlog, Caller, Heat, HistoryFault, HistorySpan, Namespace};
use keywright_model::json::Json;
use keywright_semantics::error::Error;
use keywright_wire::Operation;
use keywright_wire::sigv4::SignedRequest;

/// Whether a request may change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may not.
    Read,
    /// It may.
    Write,
}

/// The key that a visitor signed in with, without its secret. Each call asks anew what it may.
#[derive(Clone, PartialEq, Eq)]
pub struct Pass {
    /// The id of the access key.
    pub access_key_id: String,
    /// The token of a session.
    pub session_token: Option<String>,
}

impl fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pass").field("access_key_id", &self.access_key_id).finish_non_exhaustive()
    }
}

/// Who makes a call, and from where.
#[derive(Clone, Debug)]
pub struct Visit {
    /// For whom.
    pub caller: Caller,
    /// The key of a user or session; none for a key of the account itself, and where nobody signs in.
    pub pass: Option<Arc<Pass>>,
    /// Where the browser connects from.
    pub ip: IpAddr,
    /// What the browser calls itself.
    pub user_agent: Option<Arc<str>>,
    /// What its connection's TLS handshake has agreed on; none without TLS.
    pub secured: Option<Secured>,
    /// Whom the browser's certificate names.
    pub certificate_subject: Option<Arc<str>>,
}

/// A visitor whose signature is verified.
#[derive(Clone, Debug)]
pub struct SignedIn {
    /// In whose name calls are made.
    pub caller: Caller,
    /// The key of a user or session; none for a key of the account itself.
    pub pass: Option<Pass>,
    /// The ARN of the account, the user or the role's session.
    pub arn: String,
    /// When its session ends, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// The signature as it was sent.
    pub signature: String,
}

/// What pages show or do that is no request of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right<'r> {
    /// Model files, and calls on models.
    UseModels,
    /// The names of the tables of the place.
    ListTables,
    /// How far the history of a table reaches.
    SeeHistorySpan {
        /// The table.
        table: &'r str,
    },
    /// Which keys of a table or index are hot.
    SeeHotKeys {
        /// The table.
        table: &'r str,
        /// The index.
        index: Option<&'r str>,
    },
    /// All items of a table or index, with one Scan.
    Scan {
        /// The table.
        table: &'r str,
        /// The index.
        index: Option<&'r str>,
    },
    /// What time to live has to do in a table.
    SeeBacklog {
        /// The table.
        table: &'r str,
    },
    /// Settings of a table, such as its replicas.
    ChangeTable {
        /// The table.
        table: &'r str,
    },
    /// The deletion of a table's replica.
    DeleteReplica {
        /// The table.
        table: &'r str,
        /// The region of the replica.
        region: &'r str,
    },
    /// What is simulated between regions.
    SeeSimulation,
    /// The simulation itself.
    ChangeSimulation,
}

/// Why a visitor does not get something.
#[derive(Debug)]
pub enum Unpermitted {
    /// The key is gone, or its session has ended.
    SignedOut(String),
    /// No policy allows it, or one denies it.
    Denied {
        /// The sentence of the API.
        text: String,
        /// Which statements decided.
        explanation: Option<Json>,
    },
    /// The database did not say.
    Failed(Error),
}

/// A request to the database.
#[derive(Debug)]
pub struct Call {
    /// What to do.
    pub operation: Operation,
    /// By whom.
    pub visit: Visit,
    /// The JSON of the request.
    pub body: Bytes,
    /// Whether it may change something.
    pub access: Access,
}

/// A request on metrics or alarms, in CloudWatch's JSON protocol.
#[derive(Debug)]
pub struct MonitoringCall<'a> {
    /// The name of the operation.
    pub operation: &'a str,
    /// By whom.
    pub visit: Visit,
    /// The JSON of the request.
    pub body: &'a [u8],
    /// Whether it may change something.
    pub access: Access,
}

/// A request on event source mappings, in Lambda's protocol.
#[derive(Debug)]
pub struct EventSourcesCall<'a> {
    /// The method, such as `PUT`.
    pub method: &'a str,
    /// The mapping that the path names; empty for all.
    pub mapping: &'a str,
    /// By whom.
    pub visit: Visit,
    /// The JSON of the request.
    pub body: &'a [u8],
    /// Whether it may change something.
    pub access: Access,
}

/// Calls of Keywright's own that the API's port serves below `/_keywright/`, and pages use too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeywrightOperation {
    /// Where backups and their copies are, or the verification of a copy.
    Backups,
    /// How the deliveries to Kinesis streams stand.
    Destinations,
    /// How replicas stand, which changes have lost, what an item is in a region.
    GlobalTables,
    /// What an item has been.
    History,
    /// What was wrong with the objects of an import.
    ImportErrors,
    /// How jobs stand.
    Jobs,
    /// Brings a table back to a time, or shows what that would do.
    Rollback,
    /// Who changed a table.
    TableChanges,
    /// How triggers stand.
    Triggers,
}

impl KeywrightOperation {
    /// The call of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "backups" => Some(Self::Backups),
            "destinations" => Some(Self::Destinations),
            "global-tables" => Some(Self::GlobalTables),
            "history" => Some(Self::History),
            "import-errors" => Some(Self::ImportErrors),
            "jobs" => Some(Self::Jobs),
            "rollback" => Some(Self::Rollback),
            "table-changes" => Some(Self::TableChanges),
            "triggers" => Some(Self::Triggers),
            _ => None,
        }
    }
}

/// A request to one of these calls: its body and its answer are those of the API's port.
#[derive(Debug)]
pub struct KeywrightCall<'a> {
    /// What to do.
    pub operation: KeywrightOperation,
    /// By whom.
    pub visit: Visit,
    /// The JSON of the request.
    pub body: &'a [u8],
    /// Whether it may change something.
    pub access: Access,
}

/// What a call does with the simulation of replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulationOperation {
    /// Shows it.
    Show,
    /// Replaces it.
    Replace,
    /// Ends it.
    End,
    /// Delivers changes by hand.
    Deliver,
}

impl SimulationOperation {
    /// The call of this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "show" => Some(Self::Show),
            "replace" => Some(Self::Replace),
            "end" => Some(Self::End),
            "deliver" => Some(Self::Deliver),
            _ => None,
        }
    }
}

/// A call on the simulation: its body and its answer are those of the API's port.
#[derive(Debug)]
pub struct SimulationCall<'a> {
    /// What to do.
    pub operation: SimulationOperation,
    /// By whom.
    pub visit: Visit,
    /// The JSON of the request.
    pub body: &'a [u8],
    /// Whether it may change something.
    pub access: Access,
}

/// Whether a visitor can simulate replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulating {
    /// The server was started without it.
    Off,
    /// Only from the server's machine.
    FromItsMachine,
    /// They can, as far as their rights go.
    On,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum Called {
    /// It was executed, or refused with an error of the database.
    Answered {
        /// As a client of the API gets it.
        response: Response<Full<Bytes>>,
        /// From its start to its end.
        took: Duration,
    },
    /// It would change something and may not. Nothing was executed.
    Changes,
    /// The visitor's key is gone, or its session has ended. Nothing was executed.
    SignedOut(String),
}

/// The database as the studio uses it: by the requests of the API.
pub trait Api: Send + Sync {
    /// Executes a request as one of a client, with its limits, errors and figures.
    fn call<'a>(&'a self, call: Call, head: RequestHead<'a>) -> BoxFuture<'a, Called>;

    /// Executes a request on metrics or alarms. It is no request of a client: no figure counts it.
    fn monitor<'a>(&'a self, call: MonitoringCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called>;

    /// Executes a request on event source mappings. No figure counts it.
    fn event_sources<'a>(
        &'a self,
        call: EventSourcesCall<'a>,
        head: RequestHead<'a>,
    ) -> BoxFuture<'a, Called>;

    /// Executes a request to one of Keywright's own calls. No figure counts it.
    fn call_keywright<'a>(&'a self, call: KeywrightCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called>;

    /// Executes a call on the simulation of replication, if this visitor can simulate. No figure counts it.
    fn simulate<'a>(&'a self, call: SimulationCall<'a>, head: RequestHead<'a>) -> BoxFuture<'a, Called>;

    /// Whether a visitor can simulate replication.
    fn simulating(&self, visit: &Visit) -> Simulating;

    /// Whether replication is simulated now.
    fn is_simulated(&self) -> bool;

    /// How far the history of a table reaches, and what it takes; none if it keeps none.
    fn history<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<HistorySpan>, HistoryFault>>;

    /// Where a table or global index is hot; none if there is no such thing.
    fn heat<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
        index: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<Heat>, Error>>;

    /// What time to live has to do in a table; none if it has none.
    fn backlog<'a>(
        &'a self,
        namespace: &'a Namespace,
        table: &'a str,
    ) -> BoxFuture<'a, Result<Option<Backlog>, Error>>;

    /// The accounts and regions that have tables, with their numbers, as far as the visitor may know them.
    fn places<'a>(&'a self, visit: &'a Visit, most: usize) -> BoxFuture<'a, Vec<(Namespace, usize)>>;

    /// Whether the visitor has a right.
    fn permit<'a>(&'a self, visit: &'a Visit, right: Right<'a>) -> BoxFuture<'a, Result<(), Unpermitted>>;

    /// Whether signatures are verified, so that visitors sign in.
    fn verifies(&self) -> bool;

    /// Who signed this request; where signatures are verified.
    fn sign_in<'a>(&'a self, request: SignedRequest<'a>) -> BoxFuture<'a, Result<SignedIn, Error>>;

    /// The database's time, in milliseconds since 1970.
    fn now_ms(&self) -> u64;
}
