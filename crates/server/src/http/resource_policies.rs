//! Policies of tables and streams, as requests are judged by them: when the account itself is judged, in
//! whose namespace a request is executed, and what a new document says about principals.
//!
//! The account itself is judged only where a policy or another account comes in: all other requests of its
//! keys pay one look at whether the database has policies. It does not know how policies are kept.

use std::sync::Arc;

use keywright_access::action::{Action, Verb};
use keywright_access::arn::Target;
use keywright_access::decide::{Decision, Denial, Question, decide};
use keywright_access::document::{Document, PolicyKind, PrincipalName, Principals};
use keywright_access::needs::{Scope, foreign_owner, needs};
use keywright_access::policies::{Policies, Policy};
use keywright_engine::{AccountId, Caller, Namespace, Reach};
use keywright_semantics::error::Error;
use keywright_semantics::operation::Operation;
use keywright_semantics::request::{NewPolicy, PolicyFindings, Request};
use keywright_semantics::touches::{Action as Touched, Touches};

use super::context::RequestContext;
use super::governing::policy_of;
use super::judgement::{Judge, named};
use super::rights::Rights;
use super::service::Service;
use crate::connection::refused::Cause;

/// The account itself as signer of one request to `DynamoDB`, where access is judged.
#[derive(Clone, Copy)]
pub(super) struct Root<'s> {
    service: &'s Service,
    /// None in the studio.
    context: Option<&'s RequestContext<'s>>,
    operation: Operation,
}

impl Root<'_> {
    /// The judge of a request; none if no policy and no other account is concerned.
    pub(super) fn judge(&self, caller: &Caller, touches: &Touches<'_>) -> Result<Option<Judge>, Error> {
        let running = self.service.database.running();
        let Some(running) = running.as_ref() else {
            return Err(self.service.busy(Cause::StoreReopening));
        };
        let engine = &running.engine;
        let Namespace { account, region } = &caller.namespace;
        let streams = named(engine, touches);
        let touches = streams.as_ref().unwrap_or(touches);
        let is_concerned = || {
            let scope = Scope { account: account.as_str(), region: region.as_str() };
            let mut needs = needs(touches, scope);
            engine.has_resource_policies() && needs.any(|need| policy_of(engine, &need.target).is_some())
        };
        let mut all = touches.as_slice().iter();
        let is_judged = all.any(|touch| {
            touch.action == Touched::Operation(Operation::PutResourcePolicy)
                || foreign_owner(&touch.resource, account.as_str()).is_some()
        });
        if !is_judged && !is_concerned() {
            return Ok(None);
        }
        let rights = Arc::new(Rights::of_root(account));
        let circumstances = self.service.circumstances(self.context, caller.namespace.clone());
        let judge = self.service.judge_of(rights, engine.clone(), circumstances);
        Ok(Some(judge.of_operation(self.operation)))
    }
}

impl Service {
    /// The account itself as signer, where access is judged.
    pub(super) fn root<'s>(
        &'s self,
        context: Option<&'s RequestContext<'s>>,
        operation: Operation,
    ) -> Option<Root<'s>> {
        self.authenticator.verifies().then_some(Root { service: self, context, operation })
    }

    /// Reads what other processes over the store changed of policies, where access is judged.
    pub(super) async fn follow_policies(&self) -> Result<(), Error> {
        if !self.authenticator.verifies() {
            return Ok(());
        }
        self.engine()?.follow_policies().await
    }
}

impl Judge {
    /// The caller as the engine sees it: in the namespace of the account that owns the one resource of a
    /// request, or with tables of several accounts in reach. All of them have been judged.
    pub(super) fn reaching(&self, caller: Caller, touches: &Touches<'_>) -> Caller {
        let streams = named(self.engine(), touches);
        match streams.as_ref().unwrap_or(touches) {
            Touches::One(touch) => match foreign_owner(&touch.resource, caller.namespace.account.as_str()) {
                None => caller,
                Some(owner) => {
                    let account = AccountId::from(owner);
                    let namespace = Namespace { account, region: caller.namespace.region.clone() };
                    Caller { namespace, ..caller }
                }
            },
            Touches::Several(_) => Caller { reach: Reach::Others, ..caller },
        }
    }

    /// Notes in a request for a new policy what its document says about principals.
    pub(super) fn review(&self, request: &mut Request) {
        match request {
            Request::PutResourcePolicy(put) => {
                let stream = put.resource.stream.is_some();
                let kind = if stream { PolicyKind::Stream } else { PolicyKind::Table };
                self.review_policy(&mut put.policy, (&put.resource.arn, kind));
            }
            Request::CreateTable(create) => {
                let Namespace { account, region } = self.namespace();
                let arn = format!("arn:aws:dynamodb:{region}:{account}:table/{}", create.name);
                if let Some(policy) = &mut create.policy {
                    self.review_policy(policy, (&arn, PolicyKind::Table));
                }
            }
            Request::JoinGlobalTable(join) => {
                let Namespace { account, region } = self.namespace();
                let arn = format!("arn:aws:dynamodb:{region}:{account}:table/{}", join.name);
                if let Some(policy) = &mut join.policy {
                    self.review_policy(policy, (&arn, PolicyKind::Table));
                }
            }
            _ => {}
        }
    }

    fn review_policy(&self, policy: &mut NewPolicy, (arn, kind): (&str, PolicyKind)) {
        // The engine reports the faults of a text that is no document.
        let Ok(document) = Document::parse(&policy.text, kind) else { return };
        let mut names = document.statements().iter().flat_map(|one| named_in(one.principals()));
        let names_unknown_principal = names.any(|name| !self.knows(name));
        let locks_caller_out = self.is_locked_out_by(document, arn);
        policy.findings = PolicyFindings { names_unknown_principal, locks_caller_out };
    }

    /// Whether a principal of a document exists.
    fn knows(&self, name: &PrincipalName) -> bool {
        match name {
            PrincipalName::Everyone | PrincipalName::Service(_) | PrincipalName::Foreign(_) => true,
            PrincipalName::Account(account) => {
                self.accounts().contains(account)
                    || self.engine().holds_account(&AccountId::from(account.as_str()))
            }
            PrincipalName::Arn(arn) => self.engine().holds_principal(arn),
            PrincipalName::Id { .. } => false,
        }
    }

    /// Whether a document denies the caller the next change of the policy.
    fn is_locked_out_by(&self, document: Document, arn: &str) -> bool {
        let Some(target) = Target::parse(arn) else { return false };
        let policy = Policy::new(arn, document);
        let context = self.context();
        let question = Question {
            principal: &self.rights().principal,
            action: Action::Served(Verb::of_operation(Operation::PutResourcePolicy)),
            target: &target,
            context: &context,
        };
        let policies = Policies { resource: Some(&policy), ..Policies::default() };
        matches!(decide(&question, &policies), Decision::Deny(Denial::Explicit { .. }))
    }
}

/// The names in a statement's principals.
fn named_in(principals: &Principals) -> &[PrincipalName] {
    match principals {
        Principals::Owner => &[],
        Principals::Named(names) | Principals::Except(names) => names,
    }
}
