//! What the audit log learns of a request: noted on its way (`audit_notes`), recorded with its answer.
//!
//! Every answer passes here, of the API and of the studio. No operation knows of it. A request without a
//! valid signature has no record: nobody is known to have made it, and metrics count it.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::Method;
use keywright_access::action::Own;
use keywright_engine::{AccountId, Caller, Namespace, Principal, Region};
use keywright_semantics::messages::transport;
use keywright_wire::{IdentityApi, Operation, form_pairs, read_identity_response};
use serde_json::{Value, json};

use super::admission::Asker;
use super::audit_notes::{Called, Notes, Peer, UNKNOWN, is_data, is_reading, table_in, unrecorded};
use super::context::RequestContext;
use super::encryption;
use super::request_trace::Trace;
use super::response::{Answer, Framed, RequestId, ResponsePrefs};
use super::rights::Rights;
use super::service::{Service, failure};
use super::sessions::Holder;
use crate::audit::{self, Identity, Order, Origin, Record, Resource};
use crate::limits::COMPUTED_BYTES_AT_ONCE;

/// Parameters of Application Auto Scaling and Lambda that are names.
const NAMES: [&str; 7] = [
    "EventSourceArn",
    "PolicyName",
    "PolicyType",
    "ResourceId",
    "ScalableDimension",
    "ServiceNamespace",
    "UUID",
];

/// What an answer says.
#[derive(Debug)]
pub(super) struct Said {
    /// Code and text of an error.
    error: Option<(String, String)>,
    /// The id of an access key that it gives.
    access_key_id: Option<String>,
}

impl Said {
    fn of(answer: &Answer, is_identity: bool) -> Self {
        let (status, code, body) = answer.shown();
        if status < 400 {
            let text = if is_identity { std::str::from_utf8(body).unwrap_or_default() } else { "" };
            let key = text.split_once("<AccessKeyId>").and_then(|(_, rest)| rest.split_once('<'));
            return Self { error: None, access_key_id: key.map(|(id, _)| id.to_owned()) };
        }
        let (named, text) = match serde_json::from_slice::<Value>(body) {
            Ok(json) => {
                let text = |names: [&str; 3]| {
                    names.iter().find_map(|name| json.get(*name)?.as_str()).unwrap_or_default().to_owned()
                };
                let code = text(["__type", "code", "Code"]);
                let code = code.rsplit('#').next().unwrap_or_default().to_owned();
                (code, text(["message", "Message", "error"]))
            }
            Err(_) => read_identity_response(body).err().unwrap_or_default(),
        };
        let code = match (code, named.as_str()) {
            (Some(code), _) => code.split(';').next().unwrap_or_default().to_owned(),
            (None, "") => format!("HTTP{status}"),
            (None, named) => named.to_owned(),
        };
        Self { error: Some((code, text)), access_key_id: None }
    }
}

/// The code of an error, and its text unless that may quote the request.
fn shown_error((code, text): (String, String)) -> (String, Option<String>) {
    const QUOTING: [&str; 5] = ["Validation", "Serialization", "Malformed", "Invalid", "HTTP"];
    let quotes = QUOTING.iter().any(|part| code.contains(part));
    (code, Some(text).filter(|text| !quotes && !text.is_empty()))
}

/// The trace of a request, or of a call of the studio. It is recorded also if it is dropped before it is
/// answered.
pub(super) struct Traced<'s> {
    pub(super) trace: Trace,
    service: &'s Service,
}

impl Drop for Traced<'_> {
    fn drop(&mut self) {
        self.service.record_left(&self.trace);
    }
}

/// A request's kind in the log.
struct Kind {
    source: &'static str,
    name: String,
    api_version: Option<&'static str>,
    is_data: bool,
    is_read_only: bool,
    /// Whether it is recorded if it is not denied.
    is_usual: bool,
    parameters: Value,
}

impl Service {
    /// Begins the trace of a request, or of a call of the studio.
    pub(super) fn traced(&self) -> Traced<'_> {
        Traced { trace: Trace::begin(), service: self }
    }

    /// Begins the notes about a request from the network.
    pub(super) fn noted(&self, called: Called, context: &RequestContext<'_>) -> Option<Box<Notes>> {
        let log = self.audit.as_ref()?;
        Some(Box::new(Notes::new(log, called, Peer::of_network(context))))
    }

    /// The notes about a call of the studio.
    pub(super) fn noted_visit(
        &self,
        (called, peer): (Called, Peer),
        asker: &Asker<'_>,
        body: &[u8],
    ) -> Option<Box<Notes>> {
        let log = self.audit.as_ref()?;
        let rights = asker.judge.as_ref().map(|judge| judge.shared_rights());
        let mut notes = Notes::new(log, called, peer);
        notes.sign_as((asker.caller.clone(), rights), Bytes::copy_from_slice(body));
        Some(Box::new(notes))
    }

    /// Frames a small answer to a request of which the audit log has no notes; the answer itself if it is
    /// another one.
    pub(super) fn framed_now(
        answer: Answer,
        prefs: ResponsePrefs<'_>,
        trace: &Trace,
    ) -> Result<Framed, Answer> {
        let is_small = prefs.bytes_to_compress(&answer) <= COMPUTED_BYTES_AT_ONCE;
        if trace.audit.is_none() && is_small { Ok(prefs.frame(answer)) } else { Err(answer) }
    }

    /// Frames an answer, and records the request before it leaves. A change whose record is required and
    /// cannot be written is answered with an error.
    pub(super) async fn framed_and_recorded(
        &self,
        answer: Answer,
        prefs: ResponsePrefs<'_>,
        trace: &Trace,
    ) -> Framed {
        let may_be_recorded = |notes: &&Notes| {
            let is_refused = answer.shown().0 >= 400 || trace.denied.is_some();
            notes.signed.is_some() && (is_refused || is_usual(notes, trace))
        };
        let notes = trace.audit.as_deref().filter(may_be_recorded);
        let said = notes.map(|notes| Said::of(&answer, matches!(notes.called, Called::Identity(_))));
        let framed = self.offload(prefs.bytes_to_compress(&answer), || prefs.frame(answer)).await;
        let (Some(notes), Some(said)) = (notes, said) else {
            trace.settle();
            return framed;
        };
        Box::pin(self.recorded(framed, prefs, (notes, said), trace)).await
    }

    /// A response once its request is recorded.
    async fn recorded(
        &self,
        framed: Framed,
        prefs: ResponsePrefs<'_>,
        (notes, said): (&Notes, Said),
        trace: &Trace,
    ) -> Framed {
        let drawn = self.offload(notes.body.len(), || self.drawn(notes, trace, said, framed.id())).await;
        let Some(Drawn { lines: (lines, records), order, may_be_missing }) = drawn else {
            trace.settle();
            return framed;
        };
        let queued = notes.log.put(lines, records, order).await;
        trace.settle();
        if queued.written().await || may_be_missing || !notes.log.is_required() {
            return framed;
        }
        prefs.frame(failure(&unrecorded(transport::EXECUTED_UNRECORDED)))
    }

    /// Records a request whose client left before its answer, unless it can have changed nothing.
    fn record_left(&self, trace: &Trace) {
        let Some(notes) = trace.audit.as_ref().filter(|notes| !notes.is_settled.load(Ordering::Acquire))
        else {
            return;
        };
        let is_possible = notes.signed.is_some() && (trace.denied.is_some() || is_usual(notes, trace));
        if !is_possible {
            return;
        }
        let text = "The client left before the answer. The request may have been carried out.";
        let said = Said { error: Some((CLIENT_LEFT.to_owned(), text.to_owned())), access_key_id: None };
        let drawn = self.drawn(notes, trace, said, RequestId::draw().as_str());
        if let Some(Drawn { lines: (lines, records), may_be_missing, .. }) = drawn
            && (!may_be_missing || trace.denied.is_some())
        {
            notes.log.put_now(lines, records);
        }
    }

    /// The lines of a request; none if it is not recorded.
    fn drawn(&self, notes: &Notes, trace: &Trace, said: Said, request_id: &str) -> Option<Drawn> {
        let (caller, rights) = notes.signed.as_ref()?;
        let kind = self.kind(notes, trace, caller)?;
        let is_denied = trace.denied.is_some()
            || said.error.as_ref().is_some_and(|(code, _)| code.starts_with("AccessDenied"));
        if !kind.is_usual && !is_denied {
            return None;
        }
        let origin = origin(caller, rights.as_deref(), &notes.peer);
        let error = match said.error {
            Some(error) => Some(shown_error(error)),
            // A part of the request was denied.
            None if is_denied => Some(("AccessDenied".to_owned(), None)),
            None => None,
        };
        let response = match said.access_key_id {
            Some(id) if kind.source == IAM => json!({"accessKey": {"accessKeyId": id}}),
            Some(id) => json!({"credentials": {"accessKeyId": id}}),
            None => Value::Null,
        };
        let scaled =
            matches!(notes.called, Called::Scaling(_)).then(|| scaled_table(&kind.parameters)).flatten();
        let touched = notes.touched.iter().map(String::as_str).chain(scaled);
        let resources = touched.map(|name| resource(name, &caller.namespace)).collect();
        let record = Record {
            origin: &origin,
            source: kind.source,
            name: kind.name,
            api_version: kind.api_version,
            is_data: kind.is_data,
            is_read_only: kind.is_read_only,
            request_id,
            error,
            parameters: kind.parameters,
            response,
            resources,
            is_shared: !is_denied,
        };
        let order = if kind.is_data && !is_denied { Order::InTurn } else { Order::BeforeAnswer };
        let may_be_missing = kind.is_read_only || is_denied || notes.is_refused;
        Some(Drawn { lines: record.lines(), order, may_be_missing })
    }

    fn kind(&self, notes: &Notes, trace: &Trace, caller: &Caller) -> Option<Kind> {
        let body = &notes.body;
        let of = |source, name: &str, is_usual, parameters| Kind {
            source,
            name: name.to_owned(),
            api_version: None,
            is_data: false,
            is_read_only: is_reading(name),
            is_usual,
            parameters,
        };
        Some(match &notes.called {
            Called::Database => self.database_kind((notes, trace), trace.operation?, caller),
            Called::Identity(api) => {
                let pairs = form_pairs(body);
                let name = action_of(&pairs);
                let source = match api {
                    IdentityApi::Iam => IAM,
                    IdentityApi::Sts => "sts.amazonaws.com",
                };
                let parameters = audit::of_form(pairs.iter().map(|(name, text)| (&**name, &**text)));
                of(source, name, true, parameters)
            }
            Called::Monitoring(name) => {
                let pairs = if name.is_empty() { form_pairs(body) } else { Vec::new() };
                let name = if name.is_empty() { action_of(&pairs) } else { name };
                of("monitoring.amazonaws.com", name, !is_reading(name), Value::Null)
            }
            Called::Scaling(name) => {
                let shown = audit::of_members(body, &NAMES);
                of("application-autoscaling.amazonaws.com", name, true, shown)
            }
            Called::Mapping { method, uuid } => {
                let name = match *method {
                    Method::POST => "CreateEventSourceMapping",
                    Method::PUT => "UpdateEventSourceMapping",
                    Method::DELETE => "DeleteEventSourceMapping",
                    _ if uuid.is_empty() => "ListEventSourceMappings",
                    _ => "GetEventSourceMapping",
                };
                let mut shown = audit::of_members(body, &NAMES);
                if !uuid.is_empty() {
                    audit::add_member(&mut shown, "UUID", uuid);
                }
                of("lambda.amazonaws.com", name, true, shown)
            }
            Called::Own("") => return None,
            Called::Own(name) => {
                let shown = if *name == Own::ManageEncryption.name() {
                    encryption::recorded(body)
                } else {
                    Value::Null
                };
                of(KEYWRIGHT, name, !is_reading(name), shown)
            }
        })
    }

    fn database_kind(&self, (notes, trace): (&Notes, &Trace), operation: Operation, caller: &Caller) -> Kind {
        let name = operation.name();
        let is_read_only = is_read_only(notes, operation);
        let is_data = is_data(operation);
        let engine = self.database.engine();
        let key_of = |table: &str| {
            let Resource { arn, account } = resource(table, &caller.namespace);
            let region = arn.split(':').nth(3).unwrap_or_default();
            let place = Namespace { account: AccountId::from(&*account), region: Region::stored(region) };
            engine.as_ref().map(|engine| engine.table_key(&place, table_in(table))).unwrap_or_default()
        };
        Kind {
            source: "dynamodb.amazonaws.com",
            name: name.to_owned(),
            api_version: Some("2012-08-10"),
            is_data,
            is_read_only,
            is_usual: is_usual(notes, trace),
            parameters: audit::of_json(operation, &notes.body, &key_of),
        }
    }
}

/// Whether a request of the database changes nothing.
fn is_read_only(notes: &Notes, operation: Operation) -> bool {
    let name = operation.name();
    if name.contains("Execute") { notes.changes == Some(false) } else { is_reading(name) }
}

/// Whether a request is recorded if it is not denied, as far as its kind does not say. It is cheap: most
/// requests are about items, and most logs have none of them.
fn is_usual(notes: &Notes, trace: &Trace) -> bool {
    match (&notes.called, trace.operation) {
        (Called::Database, Some(operation)) => {
            !is_data(operation) || notes.covers(!is_read_only(notes, operation))
        }
        _ => true,
    }
}

/// A record as it is written.
struct Drawn {
    lines: (Vec<u8>, u64),
    order: Order,
    /// Whether the answer leaves also if the record is required and cannot be written: nothing was changed.
    may_be_missing: bool,
}

/// The code of a record whose client left before the answer.
const CLIENT_LEFT: &str = "ClientLeft";
const IAM: &str = "iam.amazonaws.com";
/// The source of our own calls.
const KEYWRIGHT: &str = "keywright";

/// The operation that a form names. Of several, the last one is executed.
fn action_of(pairs: &[(String, String)]) -> &str {
    let action = pairs.iter().rev().find(|(name, _)| name == "Action").map(|(_, action)| &**action);
    let is_name = |action: &&str| {
        (1..100).contains(&action.len()) && action.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    action.filter(is_name).unwrap_or(UNKNOWN)
}

/// The table of a scalable target, as `table/Orders/index/i` names it.
fn scaled_table(parameters: &Value) -> Option<&str> {
    let named = parameters.get("resourceId")?.as_str()?.strip_prefix("table/")?;
    Some(table_in(named)).filter(|name| audit::is_name(name))
}

/// A table or stream by its name or ARN.
fn resource(named: &str, namespace: &Namespace) -> Resource {
    let Namespace { account, region } = namespace;
    match named.starts_with("arn:").then(|| named.split(':').nth(4)).flatten() {
        Some(account) => Resource { arn: named.to_owned(), account: account.to_owned() },
        None => Resource {
            arn: format!("arn:aws:dynamodb:{region}:{account}:table/{named}"),
            account: account.to_string(),
        },
    }
}

/// Who made a request, and from where.
fn origin(caller: &Caller, rights: Option<&Rights>, peer: &Peer) -> Origin {
    let access_key_id = match &caller.principal {
        Principal::Account => None,
        Principal::AccessKey(id) => Some(id.to_string()),
        Principal::Limited(limited) => Some(limited.access_key_id.clone()),
    };
    let session = rights.and_then(|rights| rights.session.as_ref());
    let identity = match (&caller.principal, rights.and_then(|rights| rights.found.as_ref())) {
        (Principal::Limited(limited), Some(found)) => match session.map(|session| &session.holder) {
            Some(Holder::Role { .. }) => Identity::Role {
                id: limited.user_id.clone(),
                arn: limited.arn.clone(),
                role: (found.name.clone(), found.id.clone(), found.arn.clone()),
            },
            _ => Identity::User {
                name: found.name.clone(),
                id: limited.user_id.clone(),
                arn: limited.arn.clone(),
            },
        },
        _ => Identity::Root,
    };
    let Peer { ip, user_agent, tls, is_page } = peer;
    Origin {
        identity,
        account: caller.namespace.account.to_string(),
        region: caller.namespace.region.to_string(),
        access_key_id,
        session_since_ms: session.map(|session| session.issued_ms),
        source_identity: session.and_then(|session| session.source_identity.clone()),
        ip: ip.clone(),
        user_agent: user_agent.clone(),
        tls: tls.clone(),
        is_page: *is_page,
    }
}
