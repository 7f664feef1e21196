//! Visitors of the studio: who signed in, and by which policies each of their calls is judged.
//!
//! A visitor is known by the id of its key and the token of its session. What they may do is looked up with
//! each call, so a deleted key, a changed policy and an ended session bind the next one.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::header::USER_AGENT;
use keywright_access::action::Own;
use keywright_engine::{Namespace, Principal};
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::iam::names::root_arn;
use keywright_semantics::monitoring;
use keywright_semantics::operation::Operation;
use keywright_semantics::touches::{Action, ReplicaChange, Resource, Touch, Touches};
use keywright_wire::Family;
use keywright_wire::sigv4::{SignedRequest, session_token};

use super::admission::Asker;
use super::explanations::Why;
use super::judgement::{Circumstances, Judge, Peer};
use super::known_claim::KnownClaim;
use super::rights::Rights;
use super::service::Service;
use crate::studio::{Access, Pass, Right, SignedIn, Unpermitted, Visit};

/// A visitor's call, and where it is said why it is denied.
pub(super) struct Visiting<'s> {
    pub(super) asker: Asker<'s>,
    pub(super) why: Why,
}

impl Service {
    /// Verifies the signature with which a visitor signs in.
    pub(super) async fn signed_in(&self, request: &SignedRequest<'_>) -> Result<SignedIn, Error> {
        let claimed = self.claimed(request, Family::DynamoDb, &KnownClaim::default()).await?;
        let signature = claimed.signature().unwrap_or_default().to_owned();
        let signer = claimed.verify(request)?;
        self.note_key_use(&signer, Family::DynamoDb);
        let access_key_id = match &signer.caller.principal {
            Principal::Account => String::new(),
            Principal::AccessKey(id) => id.to_string(),
            Principal::Limited(limited) => limited.access_key_id.clone(),
        };
        let token = session_token(request).map(Cow::into_owned);
        let expires_ms = match &token {
            None => None,
            Some(token) => Some(self.session_of(&self.engine()?, &access_key_id, token).await?.expires_ms),
        };
        // Keys of the file stay what they are as long as the process runs.
        let is_in_file = self.authenticator.account_of(&access_key_id).is_some();
        let pass = (!is_in_file).then_some(Pass { access_key_id, session_token: token });
        let arn = match &signer.rights {
            Some(rights) => rights.principal.arn().to_owned(),
            None => root_arn(signer.caller.namespace.account.as_str()),
        };
        Ok(SignedIn { caller: signer.caller, pass, arn, expires_ms, signature })
    }

    /// What a visitor may do now; none for the account itself.
    async fn rights_of(&self, visit: &Visit) -> Result<Option<Arc<Rights>>, Error> {
        match &visit.pass {
            None => Ok(None),
            Some(pass) => {
                let Pass { access_key_id, session_token } = &**pass;
                Ok(self.key_now(access_key_id, session_token.as_deref()).await?.rights)
            }
        }
    }

    /// By which policies a visitor's calls for a place are judged.
    fn judge_visitor(
        &self,
        rights: Arc<Rights>,
        visit: &Visit,
        namespace: &Namespace,
    ) -> Result<Judge, Error> {
        let agent = visit.user_agent.as_deref();
        let header = |name| agent.filter(|_| name == USER_AGENT).map(str::to_owned);
        let peer = Peer {
            ip: Some(visit.ip),
            is_secure: self.is_secure,
            certificate_subject: visit.certificate_subject.as_deref().map(str::to_owned),
        };
        let circumstances = Circumstances::new(peer, namespace.clone(), header);
        Ok(self.judge_of(rights, self.engine()?, circumstances))
    }

    /// Who makes a call of the studio.
    pub(super) async fn visiting(&self, visit: Visit, access: Access) -> Result<Visiting<'_>, Error> {
        let why = Why::default();
        let judge = match self.rights_of(&visit).await? {
            None => None,
            Some(rights) => {
                let judge = self.judge_visitor(rights, &visit, &visit.caller.namespace)?;
                Some(judge.explaining(why.clone()))
            }
        };
        Ok(Visiting { asker: Asker::of_studio(visit.caller, access, judge), why })
    }

    /// Whether a visitor has a right.
    pub(super) async fn permitted(&self, visit: &Visit, right: Right<'_>) -> Result<(), Unpermitted> {
        let rights = self.rights_of(visit).await.map_err(unknown)?;
        let Some(rights) = rights else { return Ok(()) };
        let why = Why::default();
        let judge = self.judge_visitor(rights, visit, &visit.caller.namespace).map_err(unknown)?;
        let judge = judge.explaining(why.clone());
        let judged = match right {
            Right::UseModels => judge.own_call(Own::UseModels),
            Right::ListTables => judge.permit(&Touches::account(Action::Operation(Operation::ListTables))),
            Right::SeeHistorySpan { table } => {
                judge.permit(&of_table(Operation::DescribeContinuousBackups, (table, None)))
            }
            Right::SeeBacklog { table } => {
                judge.permit(&of_table(Operation::DescribeTimeToLive, (table, None)))
            }
            Right::Scan { table, index } => {
                judge.first_look(&of_table(Operation::Scan, (table, index))).map(|_allowed_or_open| ())
            }
            Right::ChangeTable { table } => {
                judge.permit(&Touches::update_table(Resource::of_table(table, None::<&str>), Vec::new()))
            }
            Right::DeleteReplica { table, region } => {
                let deletion = vec![ReplicaChange::Delete(region.into())];
                judge.permit(&Touches::update_table(Resource::of_table(table, None::<&str>), deletion))
            }
            Right::SeeSimulation => judge.own_call(Own::GetSimulation),
            Right::ChangeSimulation => judge.own_call(Own::ChangeSimulation),
            Right::SeeHotKeys { table, index } => {
                // It shows values of keys, as the report of a rule does.
                let report = Action::Monitoring(monitoring::Operation::GetInsightRuleReport);
                judge
                    .permit(&of_table(Operation::DescribeContributorInsights, (table, index)))
                    .and_then(|()| judge.permit(&Touches::account(report)))
            }
        };
        judged.map_err(|error| match error.kind {
            ErrorKind::AccessDenied => {
                Unpermitted::Denied { text: error.message, explanation: why.explanation().cloned() }
            }
            _ => Unpermitted::Failed(error),
        })
    }

    /// The places with tables that a visitor may know: all without credentials, else the regions of the own
    /// account whose tables it may list.
    pub(super) async fn places_of(&self, visit: &Visit, most: usize) -> Vec<(Namespace, usize)> {
        let Some(engine) = self.database.engine() else { return Vec::new() };
        let mut places = engine.places(most);
        if !self.authenticator.verifies() {
            return places;
        }
        let Ok(rights) = self.rights_of(visit).await else { return Vec::new() };
        places.retain(|(place, _)| {
            let is_own = place.account == visit.caller.namespace.account;
            let may_list = |rights: &Arc<Rights>| {
                let list = Touches::account(Action::Operation(Operation::ListTables));
                let judge = self.judge_visitor(Arc::clone(rights), visit, place);
                judge.is_ok_and(|judge| judge.permit(&list).is_ok())
            };
            is_own && rights.as_ref().is_none_or(may_list)
        });
        places
    }
}

/// An operation on a table or index.
fn of_table<'t>(operation: Operation, (table, index): (&'t str, Option<&'t str>)) -> Touches<'t> {
    Touches::One(Touch::own(operation, Resource::of_table(table, index)))
}

/// Whether an error says that a key is gone, or that its session has ended.
pub(super) fn is_signed_out(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::UnrecognizedClient | ErrorKind::ExpiredToken)
}

fn unknown(error: Error) -> Unpermitted {
    if is_signed_out(&error) { Unpermitted::SignedOut(error.message) } else { Unpermitted::Failed(error) }
}
