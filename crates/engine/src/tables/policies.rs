//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy, and the policy that CreateTable gives a table.
//!
//! The checks run in the service's order (observed): the table or stream, the document, the expected
//! revision, the table's state, what changed before. It does not know who the caller is; whether a document
//! locks the caller out comes with the request.

use std::sync::Arc;

use keywright_access::document::{Document, PolicyKind, are_same, canonical, compact};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::{access, resource_policy as messages, table as table_messages};
use keywright_semantics::request::{
    DeleteResourcePolicy, ExpectedPolicy, GetResourcePolicy, NewPolicy, PolicyResource, PutResourcePolicy,
};
use keywright_semantics::response::{GetResourcePolicyOutput, Response};
use keywright_store::Store;

use crate::catalogue::{Governed, Policies, Table, TableStatus};
use crate::state::Engine;
use crate::streams::label_of;
use crate::support::env::Namespace;
use crate::support::fault;

/// How long a change is pending, where the wait between changes is as long (observed: about two seconds).
const PENDING_MS: u64 = 2_000;

pub(crate) async fn put<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &PutResourcePolicy,
) -> Result<Response, Error> {
    let found = find(engine, namespace, &request.resource)?;
    let text = check(engine, &request.policy, kind(&request.resource.stream))?;
    engine.catalogue().check_knows_policies(&found.name).await?;
    let moment = Moment::of(engine);
    let change = |table: &mut Table| {
        let governed = &request.resource.stream;
        check_revision(table, governed, request.expected.as_ref())?;
        check_state(table)?;
        if let Some(same) = table.policies.of(governed).filter(|policy| are_same(&policy.text, &text)) {
            return Ok(same.revision_ms);
        }
        moment.check_wait(table, governed)?;
        if request.policy.findings.locks_caller_out && !request.confirms_lock_out {
            return Err(Error::new(ErrorKind::AccessDenied, messages::LOCKED_OUT));
        }
        Ok(table.policies.put(governed.clone(), text.clone(), moment.now_ms))
    };
    let (_table, revision_ms) = engine.change_table(found.target(), change).await?;
    Ok(Response::PutResourcePolicy(revision_id(revision_ms)))
}

pub(crate) fn get<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &GetResourcePolicy,
) -> Result<Response, Error> {
    let found = find(engine, namespace, &request.resource)?;
    let policy = found.policies.of(&request.resource.stream);
    let policy = policy.ok_or_else(|| not_found(messages::not_found(&request.resource.arn)))?;
    let mut text = policy.text.clone();
    engine.directory().show_policies(&mut [&mut text]);
    Ok(Response::GetResourcePolicy(GetResourcePolicyOutput {
        policy: canonical(&text).ok_or_else(fault::internal)?,
        revision_id: revision_id(policy.revision_ms),
    }))
}

pub(crate) async fn delete<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &DeleteResourcePolicy,
) -> Result<Response, Error> {
    let found = find(engine, namespace, &request.resource)?;
    let moment = Moment::of(engine);
    let change = |table: &mut Table| {
        let governed = &request.resource.stream;
        check_revision(table, governed, request.expected.as_ref())?;
        check_state(table)?;
        let before = table.policies.last_revision_ms(governed);
        if table.policies.of(governed).is_some() {
            moment.check_wait(table, governed)?;
            table.policies.remove(governed.clone(), moment.now_ms);
        }
        Ok(before)
    };
    let (_table, revision_ms) = engine.change_table(found.target(), change).await?;
    Ok(Response::DeleteResourcePolicy(revision_ms.map(revision_id)))
}

/// The policies of a table that is made with this one.
pub(super) fn of_new_table<S: Store>(
    engine: &Engine<S>,
    policy: Option<&NewPolicy>,
    now_ms: u64,
) -> Result<Policies, Error> {
    let mut policies = Policies::default();
    if let Some(policy) = policy {
        policies.put(None, check(engine, policy, PolicyKind::Table)?, now_ms);
    }
    Ok(policies)
}

/// The table of a request, in any state. A stream's may be deleted.
fn find<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    resource: &PolicyResource,
) -> Result<Arc<Table>, Error> {
    if resource.scope.account != namespace.account.as_str() {
        return Err(Error::validation(access::ONE_ACCOUNT_ONLY));
    }
    if resource.scope.region != namespace.region.as_str() {
        return Err(Error::validation(table_messages::invalid(messages::invalid_arn(&resource.arn))));
    }
    let (catalogue, name) = (engine.catalogue(), resource.table.as_str());
    let no_table = || catalogue.missing(namespace, name, table_messages::table_not_found(name));
    match &resource.stream {
        None => catalogue.find(namespace, name).ok_or_else(no_table),
        Some(label) => {
            let table = catalogue.table_of_stream(namespace, name, label);
            table.filter(|table| table.stream_labelled(label).is_some()).ok_or_else(|| {
                if catalogue.find(namespace, name).is_none() {
                    return no_table();
                }
                Error::new(ErrorKind::ResourceNotFound, messages::stream_not_found(name, label))
            })
        }
    }
}

const fn kind(governed: &Governed) -> PolicyKind {
    match governed {
        None => PolicyKind::Table,
        Some(_) => PolicyKind::Stream,
    }
}

/// The compact form of a document that may be in force, as it is stored: users and roles by their ids.
fn check<S: Store>(engine: &Engine<S>, policy: &NewPolicy, kind: PolicyKind) -> Result<String, Error> {
    let document = Document::parse(&policy.text, kind);
    let document = document.map_err(|fault| Error::validation(fault.message(kind)))?;
    if policy.findings.names_unknown_principal {
        return Err(Error::validation(access::INVALID_PRINCIPAL_OF_RESOURCE));
    }
    if document.is_public() {
        return Err(Error::validation(access::PUBLIC));
    }
    let text = compact(&policy.text).ok_or_else(fault::internal)?;
    Ok(engine.directory().stored_policy(&text))
}

fn check_revision(
    table: &Table,
    governed: &Governed,
    expected: Option<&ExpectedPolicy>,
) -> Result<(), Error> {
    let found = table.policies.of(governed).map(|policy| revision_id(policy.revision_ms));
    let text = match (expected, found) {
        (None, _) | (Some(ExpectedPolicy::None), None) => return Ok(()),
        (Some(ExpectedPolicy::None), Some(found)) => messages::policy_exists(&table.name, &found),
        (Some(ExpectedPolicy::Revision(expected)), None) => {
            messages::no_policy_of_revision(&table.name, expected)
        }
        (Some(ExpectedPolicy::Revision(expected)), Some(found)) if *expected == found => return Ok(()),
        (Some(ExpectedPolicy::Revision(expected)), Some(found)) => {
            messages::other_revision(&table.name, expected, &found)
        }
    };
    Err(not_found(text))
}

fn check_state(table: &Table) -> Result<(), Error> {
    let text = match table.status {
        TableStatus::Active | TableStatus::Updating => return Ok(()),
        TableStatus::Creating => table_messages::being_created(&table.name),
        TableStatus::Deleting => table_messages::being_deleted(&table.name),
    };
    Err(Error::new(ErrorKind::ResourceInUse, text))
}

/// When a change is made, and how long it must be after another.
struct Moment {
    now_ms: u64,
    wait_ms: u64,
}

impl Moment {
    fn of<S: Store>(engine: &Engine<S>) -> Self {
        Self { now_ms: engine.env().now_ms(), wait_ms: engine.config().policy_change_wait_ms }
    }

    fn check_wait(&self, table: &Table, governed: &Governed) -> Result<(), Error> {
        let Some(last_ms) = table.policies.last_revision_ms(governed) else { return Ok(()) };
        let age_ms = self.now_ms.saturating_sub(last_ms);
        if age_ms >= self.wait_ms {
            return Ok(());
        }
        if age_ms < PENDING_MS {
            return Err(Error::new(ErrorKind::ResourceInUse, messages::pending(&table.name)));
        }
        let until = format!("{}Z", label_of(last_ms.saturating_add(self.wait_ms)));
        Err(Error::new(ErrorKind::Throttling, messages::too_soon(&table.name, self.wait_ms, &until)))
    }
}

/// A revision as clients see it.
fn revision_id(revision_ms: u64) -> String {
    revision_ms.to_string()
}

fn not_found(text: String) -> Error {
    Error::new(ErrorKind::PolicyNotFound, text)
}
