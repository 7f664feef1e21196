//! Whether the policies of replicas in several accounts let the service replicate between them (developer
//! guide: global tables in several accounts, permissions).
//!
//! Each replica's policy has to allow the service to read its changes, to write those of the others, and to
//! set what the others set. A request is checked where access is judged, between admission and execution.

use keywright_access::action::{Action, Replica, Verb};
use keywright_access::arn::Target;
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::{Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::Principal;
use keywright_engine::{AccountId, Engine, Namespace, Region};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::global as messages;
use keywright_semantics::request::{JoinGlobalTable, Request, UpdateTable};

use super::admission::Admitted;
use super::service::Service;
use crate::storage::any_store::AnyStore;

/// The service that replicates.
const REPLICATION: &str = "replication.dynamodb.amazonaws.com";
/// What it does with each replica.
const ALL: [Replica; 3] =
    [Replica::ReadDataForReplication, Replica::WriteDataForReplication, Replica::ReplicateSettings];

impl Service {
    /// Denies a request that has the service do with replicas what their policies do not allow.
    pub(super) fn check_replication(&self, admitted: &Admitted<Request>) -> Result<(), Error> {
        if !self.authenticator.verifies() {
            return Ok(());
        }
        let own = &admitted.caller().namespace;
        match admitted.request() {
            Request::JoinGlobalTable(request) => check_new(&self.engine()?, own, request),
            Request::UpdateTable(request) => check_update(&self.engine()?, own, request),
            _ => Ok(()),
        }
    }
}

/// Checks the policies of a new replica and of all that it joins.
fn check_new(engine: &Engine<AnyStore>, own: &Namespace, request: &JoinGlobalTable) -> Result<(), Error> {
    let (account, region) = (request.source.account.as_str(), request.source.region.as_str());
    let source = Namespace { account: AccountId::from(account), region: Region::stored(region) };
    let new_arn = arn(own, &request.name);
    // A text that is no document is refused when the request is executed.
    let document = request.policy.as_ref().map(|policy| Document::parse(&policy.text, PolicyKind::Table));
    let new = document.and_then(Result::ok).map(|document| Policy::new(new_arn.as_str(), document));
    // The engine refuses an account that has a replica already.
    let others = engine.replica_places(&source, &request.name);
    for member in others.into_iter().filter(|member| member.account != own.account) {
        let member_arn = arn(&member, &request.name);
        let policy = engine.resource_policy(&member, &request.name, None);
        let new_one = (own.account.as_str(), new_arn.as_str());
        let other = (member.account.as_str(), member_arn.as_str());
        for action in ALL {
            check(action, (&member_arn, policy.as_deref()), new_one)?;
            check(action, (&new_arn, new.as_ref()), other)?;
        }
    }
    Ok(())
}

/// Checks that a change of settings may be made in the replicas of other accounts.
fn check_update(engine: &Engine<AnyStore>, own: &Namespace, request: &UpdateTable) -> Result<(), Error> {
    let is_of_one_region =
        request.deletion_protection.is_some() || request.disassociation_protection.is_some();
    if is_of_one_region || request.replicas.is_some() {
        return Ok(());
    }
    let name = request.table.name.as_str();
    let own_arn = arn(own, name);
    let all = engine.replica_places(own, name);
    for member in all.iter().filter(|member| member.account != own.account) {
        let policy = engine.resource_policy(member, name, None);
        let by = (own.account.as_str(), own_arn.as_str());
        check(Replica::ReplicateSettings, (&arn(member, name), policy.as_deref()), by)?;
    }
    Ok(())
}

fn arn(place: &Namespace, table: &str) -> String {
    let Namespace { account, region } = place;
    format!("arn:aws:dynamodb:{region}:{account}:table/{table}")
}

/// Whether a table's policy lets the service do this for another replica, by its account and ARN.
fn check(
    action: Replica,
    (arn, policy): (&str, Option<&Policy>),
    (source_account, source_arn): (&str, &str),
) -> Result<(), Error> {
    let denied =
        || Error::new(ErrorKind::AccessDenied, messages::replication_not_allowed(action.name(), arn));
    let target = Target::parse(arn).ok_or_else(denied)?;
    let context = Context::default()
        .with(Known::SourceAccount, Value::one(source_account))
        .with(Known::SourceArn, Value::one(source_arn));
    let principal = Principal::service(REPLICATION);
    let question = Question {
        principal: &principal,
        action: Action::Served(Verb::Replica(action)),
        target: &target,
        context: &context,
    };
    let policies = Policies { resource: policy, ..Policies::default() };
    if decide(&question, &policies).is_allowed() { Ok(()) } else { Err(denied()) }
}
