//! A request to IAM or STS, in the query protocol.
//!
//! It does not know what any operation of IAM does; sessions are begun in `assume`.

use keywright_access::action::{Action, Verb};
use keywright_access::arn::Target;
use keywright_access::context::{Known, Value};
use keywright_engine::Principal;
use keywright_semantics::error::Error;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::root_arn;
use keywright_semantics::iam::request::Request;
use keywright_semantics::sts::request::Request as StsRequest;
use keywright_semantics::sts::response::Response as StsResponse;
use keywright_semantics::{iam, sts};
use keywright_wire::{
    Family, GivenTags, IdentityApi, IdentityRequest, read_identity, render_iam, render_identity_error,
    render_identity_fault, render_sts,
};

use super::auth::Signer;
use super::context::RequestContext;
use super::judgement::Judge;
use super::receive::BodyForm;
use super::request_trace::Trace;
use super::response::Answer;
use super::service::Service;
use crate::connection::body::RequestBody;

/// Why a request has no response: by an error that every API has, or by a fault of IAM or STS.
pub(super) enum Refused {
    Error(Error),
    Fault(Fault),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl Service {
    /// Answers a request to IAM or STS, faults too.
    pub(super) async fn serve_identity(
        &self,
        context: &RequestContext<'_>,
        api: IdentityApi,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Answer {
        match self.identified(context, api, body, trace).await {
            Ok(answer) => answer,
            Err(Refused::Fault(fault)) => Answer::identity(render_identity_fault(api, &fault)),
            Err(Refused::Error(error)) => {
                trace.note_error(&error);
                self.delay_failed_signature(&error, context.client).await;
                Answer::identity(render_identity_error(api, &error))
            }
        }
    }

    async fn identified(
        &self,
        context: &RequestContext<'_>,
        api: IdentityApi,
        body: RequestBody,
        trace: &mut Trace,
    ) -> Result<Answer, Refused> {
        let expected = (Family::Identity(api), BodyForm::Short);
        let signed = self.receive_signed(context, expected, body, trace).await.map_err(Error::from)?;
        let decode = || read_identity(api, &signed.body).map(|form| form.parts());
        let (decoded, _memory) = self.decode_other(&signed.body, decode).await?;
        let judge = self.judge(context, &signed.signer)?;
        match decoded? {
            (IdentityRequest::Iam(operation, request), checked) => {
                // Before the faults of parameters: a denied caller learns nothing of them.
                match judge {
                    Some(judge) => allow(judge, operation, (&signed.signer, &request))?,
                    None => refuse_unjudged(&signed.signer)?,
                }
                checked?;
                trace.permit(request.changes_something())?;
                self.manage(operation, request, &signed.signer).await
            }
            (IdentityRequest::Sts(operation, request), checked) => {
                let response = self.identify((request, checked), (&signed.signer, judge)).await?;
                Ok(Answer::identity(render_sts(operation, &response)))
            }
        }
    }

    /// Executes a request of IAM whose caller is allowed to make it.
    async fn manage(
        &self,
        operation: iam::Operation,
        request: Request,
        signer: &Signer,
    ) -> Result<Answer, Refused> {
        if let Request::CreateAccessKey { given: Some(given), .. } = &request
            && self.authenticator.account_of(&given.id).is_some()
        {
            return Err(Fault::exists(messages::key_exists(&given.id)).into());
        }
        if request.gives_entity_id() {
            return Err(Fault::new(FaultKind::InvalidParameterValue, messages::ID_AT_START).into());
        }
        let engine = self.engine()?;
        let (caller, changes) = (signer.caller.clone(), request.changes_something());
        let work = async move { engine.manage_principals(&caller, request).await };
        let response = self.complete(changes, work).await?;
        let rendered = self.offload(0, || render_iam(operation, &response)).await;
        Ok(Answer::identity(rendered))
    }

    /// Executes a request of STS, once its caller is allowed to make it and its parameters are right.
    async fn identify(
        &self,
        (request, checked): (StsRequest, Result<(), Fault>),
        (signer, judge): (&Signer, Option<Judge>),
    ) -> Result<StsResponse, Refused> {
        match request {
            StsRequest::GetCallerIdentity => Ok(caller_identity(signer)),
            StsRequest::GetAccessKeyInfo { id } => {
                match judge {
                    Some(judge) => allow_sts(&judge, sts::Operation::GetAccessKeyInfo)?,
                    None => refuse_unjudged(signer)?,
                }
                checked?;
                let account = self.authenticator.account_of(&id).map(str::to_owned);
                let account = match account {
                    Some(account) => Some(account),
                    None => self.engine()?.account_of_key(&id).map(|account| account.to_string()),
                };
                let account = account.ok_or_else(|| Fault::no_entity(messages::no_key(&id)))?;
                Ok(StsResponse::AccessKeyInfo { account })
            }
            StsRequest::GetSessionToken { seconds } => {
                checked?;
                self.session_of_caller(signer, seconds).await
            }
            StsRequest::AssumeRole(assume) => self.assume_role((*assume, checked), judge).await,
        }
    }
}

/// Refuses a user or session that no policy judges: that must not happen.
fn refuse_unjudged(signer: &Signer) -> Result<(), Refused> {
    match &signer.caller.principal {
        Principal::Account | Principal::AccessKey(_) => Ok(()),
        Principal::Limited(_) => {
            Err(Fault::new(FaultKind::AccessDenied, keywright_semantics::messages::auth::NOT_ALLOWED).into())
        }
    }
}

/// Who a signer is.
fn caller_identity(signer: &Signer) -> StsResponse {
    let account = signer.caller.namespace.account.to_string();
    let (arn, user_id) = match &signer.caller.principal {
        Principal::Limited(limited) => (limited.arn.clone(), limited.user_id.clone()),
        Principal::Account | Principal::AccessKey(_) => (root_arn(&account), account.clone()),
    };
    StsResponse::CallerIdentity { arn, user_id, account }
}

/// Judges a request of STS that is about nothing in particular.
fn allow_sts(judge: &Judge, operation: sts::Operation) -> Result<(), Error> {
    let name = format!("sts:{}", operation.name());
    let (action, target) = (Action::parse(&name), Target::Everything);
    judge.decided((action, &target), &judge.context())
}

/// The value of a condition's key, where the request has one.
pub(super) fn maybe(text: Option<&String>) -> Value<'_> {
    text.map_or(Value::Absent, |text| Value::one(text.as_str()))
}

/// Judges a request of IAM on what it is about. Another name of a user or group is judged too.
fn allow(
    judge: Judge,
    operation: iam::Operation,
    (signer, request): (&Signer, &Request),
) -> Result<(), Refused> {
    let account = &signer.caller.namespace.account;
    let (tags, keys) = request.given_tags();
    let judge = judge.giving(GivenTags { tags, keys });
    let user = judge.rights().principal.user_name();
    let subject = judge.engine().subject_of(account, request, user);
    let name = format!("iam:{}", operation.name());
    let action = Verb::parse(&name).map_or(Action::Other(&name), Action::Served);
    let boundary = request.given_boundary().or(subject.boundary.as_ref());
    let renamed = match request {
        Request::Rename { owner, new_name, new_path } => {
            let path = new_path.as_deref().unwrap_or(subject.path());
            let name = new_name.as_ref().unwrap_or(&owner.name);
            Some(owner.kind.arn(account.as_str(), path, name))
        }
        _ => None,
    };
    for arn in [Some(&subject.arn), renamed.as_ref()].into_iter().flatten() {
        let target = Target::parse(arn).unwrap_or(Target::Everything);
        let context = judge
            .context()
            .with(Known::PolicyArn, maybe(request.attached_policy()))
            .with(Known::PermissionsBoundary, maybe(boundary))
            .with_resource_tags(&subject.tags);
        judge.decided((action, &target), &context)?;
    }
    Ok(())
}
