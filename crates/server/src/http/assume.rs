//! Sessions of STS: who may begin one, and what it may then do.

use std::collections::BTreeMap;

use keywright_access::action::Action;
use keywright_access::arn::Target;
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::{Decision, Question, decide_on_role};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::policies::{Policy, compiled_policy};
use keywright_engine::{AccountId, Engine, FoundRole, Principal};
use keywright_semantics::error::Error;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::{IamArn, session_arn};
use keywright_semantics::monitoring::document::TimeMs;
use keywright_semantics::sts::request::AssumeRole;
use keywright_semantics::sts::response::{AssumedRole, Response, SessionCredentials};
use keywright_wire::GivenTags;

use super::auth::Signer;
use super::identity::{Refused, maybe};
use super::judgement::{Judge, denied};
use super::rights::Rights;
use super::service::Service;
use super::sessions::{Holder, Session, SessionAccess};
use crate::process::environment;
use crate::storage::any_store::AnyStore;

/// Bytes of a session's policies and tags together.
const PACKED_BYTES_MAX: usize = 8 * 1024;
/// Seconds of the session that a role's session takes.
const CHAINED_SECONDS_MAX: u32 = 3600;
/// Seconds of a session of the account itself; one for longer gets these (API reference, GetSessionToken).
const ROOT_SECONDS_MAX: u32 = 3600;
/// Trust in nobody: what stands for that of a role that does not exist.
const TRUST_IN_NOBODY: &str = r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":{"AWS":"arn:aws:iam::000000000000:role/none"},"Action":"sts:AssumeRole"}}"#;

fn shown(access: SessionAccess, expires_ms: u64) -> SessionCredentials {
    SessionCredentials {
        access_key_id: access.access_key_id,
        secret_access_key: access.secret_access_key,
        session_token: access.token,
        expiration: TimeMs(i64::try_from(expires_ms / 1000 * 1000).unwrap_or(i64::MAX)),
    }
}

/// When a session of so many seconds begins and ends.
fn span(seconds: u32) -> (u64, u64) {
    let issued_ms = environment::now().0;
    (issued_ms, issued_ms.saturating_add(u64::from(seconds) * 1000))
}

impl Service {
    /// Begins a session of the caller: of a user, or of the account itself.
    pub(super) async fn session_of_caller(&self, signer: &Signer, seconds: u32) -> Result<Response, Refused> {
        let refused = || Fault::new(FaultKind::AccessDenied, messages::SESSION_OF_SESSION);
        let holder = match (signer.rights.as_deref(), &signer.caller.principal) {
            (Some(Rights { found: Some(found), session: None, .. }), _) => {
                Holder::User { name: found.name.clone(), id: found.id.clone() }
            }
            (None, Principal::AccessKey(id)) if self.authenticator.account_of(id).is_some() => {
                Holder::Root { key: id.to_string() }
            }
            _ => return Err(refused().into()),
        };
        let is_root = matches!(holder, Holder::Root { .. });
        let (issued_ms, expires_ms) = span(if is_root { seconds.min(ROOT_SECONDS_MAX) } else { seconds });
        let session = Session {
            account: signer.caller.namespace.account.to_string(),
            holder,
            issued_ms,
            expires_ms,
            tags: Vec::new(),
            transitive: Vec::new(),
            policy: None,
            policy_arns: Vec::new(),
            source_identity: None,
        };
        let access = self.sessions(&self.engine()?).await?.begin(&session);
        Ok(Response::SessionToken(shown(access, expires_ms)))
    }

    /// Begins a session of a role.
    pub(super) async fn assume_role(
        &self,
        (assume, checked): (AssumeRole, Result<(), Fault>),
        judge: Option<Judge>,
    ) -> Result<Response, Refused> {
        let Some(judge) = judge else {
            return Err(Fault::new(FaultKind::AccessDenied, messages::ROOT_TAKES_ROLE).into());
        };
        let tags = assume.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let keys = assume.tags.keys().cloned().collect();
        let judge = judge.giving(GivenTags { tags, keys });
        let engine = self.engine()?;
        let role = IamArn::parse(&assume.role_arn).and_then(|arn| {
            let account = AccountId::from(arn.account);
            Some((account.clone(), engine.find_role(&account, (arn.path, arn.name))?))
        });
        allow(&judge, &assume, role.as_ref().map(|(_, role)| role))?;
        checked?;
        let Some((account, role)) = role else {
            unreachable!("nobody is trusted by a role that does not exist");
        };
        check(&assume, &judge, &role)?;
        check_policies(&engine, &account, &assume)?;
        let (issued_ms, expires_ms) = span(assume.seconds);
        let session = session(&assume, &judge, &role, (issued_ms, expires_ms));
        let percent = packed_percent(&session)?;
        let access = self.sessions(&engine).await?.begin(&session);
        Ok(Response::AssumedRole(Box::new(AssumedRole {
            credentials: shown(access, expires_ms),
            assumed_role_id: format!("{}:{}", role.principal.id, assume.session_name),
            arn: session_arn(account.as_str(), &role.principal.name, &assume.session_name),
            packed_percent: percent,
            source_identity: session.source_identity,
        })))
    }
}

/// Judges who takes a role: by the caller's policies and by whom the role trusts. Tags and a source identity
/// are rights of their own.
fn allow(judge: &Judge, assume: &AssumeRole, role: Option<&FoundRole>) -> Result<(), Error> {
    let trust = role.map_or(TRUST_IN_NOBODY, |role| &role.trust);
    let trust = compiled_policy(&assume.role_arn, trust, PolicyKind::Trust);
    let tags = role.map(|role| role.principal.tags.clone()).unwrap_or_default();
    let target = Target::parse(&assume.role_arn).unwrap_or(Target::Everything);
    let context = context(judge, assume).with_resource_tags(&tags);
    let wanted = [
        Some("sts:AssumeRole"),
        (!assume.tags.is_empty()).then_some("sts:TagSession"),
        assume.source_identity.as_ref().map(|_| "sts:SetSourceIdentity"),
    ];
    for name in wanted.into_iter().flatten() {
        let action = Action::parse(name);
        allow_one(judge, (action, &target), (&context, &trust))?;
    }
    Ok(())
}

fn allow_one(
    judge: &Judge,
    (action, target): (Action<'_>, &Target<'_>),
    (context, trust): (&Context<'_>, &Policy),
) -> Result<(), Error> {
    let question = Question { principal: &judge.rights().principal, action, target, context };
    match decide_on_role(&question, &judge.policies_with(trust)) {
        Decision::Allow => Ok(()),
        Decision::Deny(denial) => Err(denied(&denial, &question)),
        Decision::Depends => Err(judge.undecided(action, target)),
    }
}

fn context<'c>(judge: &'c Judge, assume: &'c AssumeRole) -> Context<'c> {
    let transitive = assume.transitive_tags.iter().map(|key| key.as_str().into()).collect();
    let context = judge
        .context()
        .with(Known::ExternalId, maybe(assume.external_id.as_ref()))
        .with(Known::RoleSessionName, Value::one(assume.session_name.as_str()))
        .with(Known::DurationSeconds, Value::one(assume.seconds.to_string()))
        .with(Known::TransitiveTagKeys, Value::Many(transitive));
    match &assume.source_identity {
        None => context,
        Some(identity) => context.with(Known::SourceIdentity, Value::one(identity.as_str())),
    }
}

/// Checks what the role and the caller's own session allow.
fn check(assume: &AssumeRole, judge: &Judge, role: &FoundRole) -> Result<(), Fault> {
    if assume.seconds > role.session_seconds_max {
        return Err(Fault::validation(messages::TOO_LONG_FOR_ROLE));
    }
    let Some(own) = &judge.rights().session else { return Ok(()) };
    let is_chained = matches!(own.holder, Holder::Role { .. });
    if is_chained && assume.seconds > CHAINED_SECONDS_MAX {
        return Err(Fault::validation(messages::TOO_LONG_FOR_CHAIN));
    }
    let is_other = |identity: &String| own.source_identity.as_ref().is_some_and(|own| own != identity);
    if assume.source_identity.as_ref().is_some_and(is_other) {
        return Err(Fault::new(FaultKind::AccessDenied, messages::OTHER_SOURCE_IDENTITY));
    }
    Ok(())
}

/// Checks the policies that narrow the session.
fn check_policies(engine: &Engine<AnyStore>, account: &AccountId, assume: &AssumeRole) -> Result<(), Fault> {
    let kind = PolicyKind::Session;
    if let Some(text) = &assume.policy {
        Document::parse(text, kind).map_err(|fault| Fault::malformed(fault.message(kind)))?;
    }
    match assume.policy_arns.iter().find(|arn| !engine.has_managed_policy(account, arn)) {
        None => Ok(()),
        Some(arn) => Err(Fault::validation(messages::not_attachable(arn))),
    }
}

/// The session. Transitive tags of the caller's own session pass on to it, and so does its source identity.
fn session(
    assume: &AssumeRole,
    judge: &Judge,
    role: &FoundRole,
    (issued_ms, expires_ms): (u64, u64),
) -> Session {
    let own = judge.rights().session.as_ref();
    let mut tags: BTreeMap<String, String> = assume.tags.clone();
    let mut transitive = assume.transitive_tags.clone();
    for (key, value) in own.iter().flat_map(|own| &own.tags) {
        if own.is_some_and(|own| own.transitive.contains(key)) {
            tags.insert(key.clone(), value.clone());
            transitive.push(key.clone());
        }
    }
    let inherited = || own.and_then(|own| own.source_identity.clone());
    Session {
        account: role.principal.account.to_string(),
        holder: Holder::Role {
            name: role.principal.name.clone(),
            id: role.principal.id.clone(),
            session: assume.session_name.clone(),
        },
        issued_ms,
        expires_ms,
        tags: tags.into_iter().collect(),
        transitive,
        policy: assume.policy.clone(),
        policy_arns: assume.policy_arns.clone(),
        source_identity: assume.source_identity.clone().or_else(inherited),
    }
}

/// The share of the space for policies and tags that a session takes.
fn packed_percent(session: &Session) -> Result<u32, Fault> {
    let tags = session.tags.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    let arns = session.policy_arns.iter().map(String::len).sum::<usize>();
    let bytes = session.policy.as_ref().map_or(0, String::len) + arns + tags;
    if bytes > PACKED_BYTES_MAX {
        return Err(Fault::new(FaultKind::PackedPolicyTooLarge, messages::PACKED));
    }
    Ok(u32::try_from(bytes * 100 / PACKED_BYTES_MAX).unwrap_or(100))
}
