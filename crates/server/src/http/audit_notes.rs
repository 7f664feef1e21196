//! Notes for the audit log about one request, made on its way.
//!
//! It does not know answers or how a record looks (`audited`).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HOST, USER_AGENT};
use hyper::http::request::Parts;
use keywright_access::action::Own;
use keywright_access::arn::Target;
use keywright_engine::{AccountId, Caller, Namespace, Region};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::transport;
use keywright_semantics::place::DEFAULT_ACCOUNT;
use keywright_semantics::touches::{Resource as Touched, Touches};
use keywright_wire::{EVENT_SOURCES_PATH, Family, IdentityApi, Operation};

use super::auth::Signer;
use super::context::RequestContext;
use super::rights::Rights;
use crate::audit::{self, Audit, TlsDetails};
use crate::connection::request_head;
use crate::limits::AUDIT_RESOURCES_MAX;
use crate::studio::Visit;

/// Bytes of the UUID of a mapping.
const UUID_BYTES: usize = 36;
/// What stands for a name that cannot be shown.
pub(super) const UNKNOWN: &str = "Unknown";

/// Which call a request is, as far as its head says.
#[derive(Clone, Debug)]
pub(super) enum Called {
    Database,
    Identity(IdentityApi),
    Monitoring(String),
    Scaling(String),
    /// One of mappings, by the UUID that its path names; empty if it names none.
    Mapping {
        method: Method,
        uuid: String,
    },
    /// One of our own, by the right that it needs; empty as long as only its body says which.
    Own(&'static str),
}

impl Called {
    /// `own` names one of our own calls.
    pub(super) fn of(head: &Parts, api: Family, operation: &str, own: Option<&'static str>) -> Self {
        match (own, api) {
            (Some(name), _) => Self::Own(name),
            (None, Family::DynamoDb) => Self::Database,
            (None, Family::EventSources) => Self::mapping(&head.method, head.uri.path()),
            (None, Family::Monitoring(_)) => Self::Monitoring(operation.to_owned()),
            (None, Family::Identity(api)) => Self::Identity(api),
            (None, Family::Scaling) => Self::Scaling(operation.to_owned()),
        }
    }

    /// A call on event source mappings.
    pub(super) fn mapping(method: &Method, path: &str) -> Self {
        let uuid = path.strip_prefix(EVENT_SOURCES_PATH).unwrap_or_default().trim_matches('/');
        let is_uuid =
            uuid.len() <= UUID_BYTES && uuid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let uuid = if is_uuid { uuid } else { UNKNOWN };
        Self::Mapping { method: method.clone(), uuid: uuid.to_owned() }
    }
}

/// Where a request came from.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) ip: String,
    pub(super) user_agent: Option<String>,
    /// None without TLS.
    pub(super) tls: Option<TlsDetails>,
    pub(super) is_page: bool,
}

impl Peer {
    pub(super) fn of_network(context: &RequestContext<'_>) -> Self {
        let header = |name| context.head.headers.get(name).and_then(request_head::visible).map(str::to_owned);
        let tls = context.client.secured().map(|secured| TlsDetails { secured, host: header(HOST) });
        let ip = context.ip.to_canonical().to_string();
        Self { ip, user_agent: header(USER_AGENT), tls, is_page: false }
    }

    pub(super) fn of_visit(visit: &Visit) -> Self {
        let user_agent = visit.user_agent.as_deref().map(str::to_owned);
        let tls = visit.secured.map(|secured| TlsDetails { secured, host: None });
        Self { ip: visit.ip.to_canonical().to_string(), user_agent, tls, is_page: true }
    }
}

/// Notes about one request, where there is an audit log.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(super) log: Arc<Audit>,
    pub(super) called: Called,
    pub(super) peer: Peer,
    /// None as long as no signature is verified.
    pub(super) signed: Option<(Caller, Option<Arc<Rights>>)>,
    pub(super) body: Bytes,
    /// Tables and streams, as the client named them.
    pub(super) touched: Vec<String>,
    /// Whether it can write, once that is known.
    pub(super) changes: Option<bool>,
    /// Whether it was refused because its record could not be written.
    pub(super) is_refused: bool,
    /// Whether its record is in the queue, or it has none.
    pub(super) is_settled: AtomicBool,
}

impl Notes {
    pub(super) fn new(log: &Arc<Audit>, called: Called, peer: Peer) -> Self {
        let (log, touched, body) = (Arc::clone(log), Vec::new(), Bytes::new());
        Self {
            log,
            called,
            peer,
            signed: None,
            body,
            touched,
            changes: None,
            is_refused: false,
            is_settled: AtomicBool::new(false),
        }
    }

    /// Notes which right one of our own calls needs, and on what.
    pub(super) fn name(&mut self, (own, target): (Own, Target<'_>)) {
        self.called = Called::Own(own.name());
        if let Target::One(arn) = target {
            self.touched.extend(Some(arn.to_string()).filter(|arn| audit::is_name(arn)));
        }
    }

    pub(super) fn sign(&mut self, signer: &Signer, body: &Bytes) {
        self.sign_as((signer.caller.clone(), signer.rights.clone()), body.clone());
    }

    pub(super) fn sign_as(&mut self, signed: (Caller, Option<Arc<Rights>>), body: Bytes) {
        self.signed = Some(signed);
        self.body = body;
    }

    /// Without credentials, a process of this machine makes the request.
    pub(super) fn sign_by_machine(&mut self) {
        let account = AccountId::from(DEFAULT_ACCOUNT);
        let place = Namespace { account, region: Region::stored("us-east-1") };
        self.signed = Some((Caller::account(place), None));
    }

    pub(super) fn touch(&mut self, touches: &Touches<'_>) {
        for touch in touches.as_slice() {
            let named = match &touch.resource {
                Touched::Stream(arn) => Some(&**arn),
                resource => resource.table_as_sent(),
            };
            let is_new = |name: &&str| !self.touched.iter().any(|known| known == name);
            if let Some(name) = named.filter(|name| audit::is_name(name)).filter(is_new)
                && self.touched.len() < AUDIT_RESOURCES_MAX
            {
                self.touched.push(name.to_owned());
            }
        }
    }

    /// Lets a change pass, unless its record is required and cannot be written.
    pub(super) fn permit(&mut self, operation: Option<Operation>, changes: bool) -> Result<(), Error> {
        self.changes = Some(changes);
        let is_reading = operation.is_some_and(|operation| is_reading(operation.name()));
        if !changes || is_reading || !self.log.refuses_changes() {
            return Ok(());
        }
        match operation {
            Some(operation) if is_data(operation) && !self.covers(true) => Ok(()),
            _ => {
                self.is_refused = true;
                Err(unrecorded(transport::UNRECORDED))
            }
        }
    }

    /// Whether requests about items of its tables are recorded.
    pub(super) fn covers(&self, changes: bool) -> bool {
        let names = self.touched.iter().map(|name| table_in(name));
        self.log.data().covers(changes, names)
    }
}

/// The error of a change whose record is required and cannot be written.
pub(super) fn unrecorded(text: &'static str) -> Error {
    Error::new(ErrorKind::ServiceUnavailable, text)
}

/// The name of the table in a name or ARN.
pub(super) fn table_in(named: &str) -> &str {
    let below = named.split_once(":table/").map_or(named, |(_, below)| below);
    below.split('/').next().unwrap_or_default()
}

/// Whether an operation of this name changes nothing.
pub(super) fn is_reading(name: &str) -> bool {
    const READING: [&str; 9] =
        ["BatchGet", "Describe", "Find", "Get", "List", "Query", "Scan", "Simulate", "TransactGet"];
    READING.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a request is about items, or records of a stream. A bulk put is a job.
pub(super) const fn is_data(operation: Operation) -> bool {
    match operation {
        Operation::StartBulkPutItems => false,
        Operation::GetRecords | Operation::GetShardIterator => true,
        other => other.is_about_items(),
    }
}
