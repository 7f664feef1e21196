//! Rights: who a user or session is, and by which policies its requests are judged.
//!
//! It does not know what a request needs.

use std::sync::Arc;

use keywright_access::document::PolicyKind;
use keywright_access::policies::{Policies, Policy, compiled_policy};
use keywright_access::principal::{Named, Principal};
use keywright_engine::{AccountId, Engine, FoundPrincipal, HeldPolicies, Limited};

use super::sessions::{Holder, Session};
use crate::storage::any_store::AnyStore;

/// What a session's policy is called in explanations.
const SESSION_POLICY: &str = "of the session";

/// A user or session, or the account itself.
#[derive(Debug)]
pub(crate) struct Rights {
    pub(crate) principal: Principal,
    /// The user, or the role of a session; none for the account itself.
    pub(crate) found: Option<FoundPrincipal>,
    pub(crate) session: Option<Session>,
}

/// The policies that bind one request, as of one moment.
pub(crate) struct Binding {
    held: Arc<HeldPolicies>,
    session: Vec<Arc<Policy>>,
}

impl Rights {
    /// A user who signed with a key of its own.
    pub(crate) fn of_user(found: FoundPrincipal) -> Self {
        Self { principal: user(&found), found: Some(found), session: None }
    }

    /// The account itself, which policies of tables and streams can bind.
    pub(crate) fn of_root(account: &AccountId) -> Self {
        Self { principal: Principal::root(account.as_str()), found: None, session: None }
    }

    /// The session of a user or role; none for one of the account itself.
    pub(crate) fn of_session(found: FoundPrincipal, session: Session) -> Option<Self> {
        let principal = match &session.holder {
            Holder::Root { .. } => return None,
            Holder::User { .. } => user(&found),
            Holder::Role { session: name, .. } => {
                let role = Named { path: &found.path, name: &found.name };
                let principal = Principal::session(found.account.as_str(), role, &found.id, name);
                principal.with_tags(tags_of_session(&found, &session))
            }
        };
        let principal = match &session.source_identity {
            None => principal,
            Some(identity) => principal.with_source_identity(identity.as_str()),
        };
        Some(Self { principal, found: Some(found), session: Some(session) })
    }

    /// The caller as the engine knows it.
    pub(crate) fn limited(&self, access_key_id: &str) -> Limited {
        Limited {
            arn: self.principal.arn().to_owned(),
            user_id: self.principal.user_id().to_owned(),
            user: self.principal.user_name().map(str::to_owned),
            access_key_id: access_key_id.to_owned(),
        }
    }

    /// The policies that bind it now.
    pub(crate) fn binding(&self, engine: &Engine<AnyStore>) -> Binding {
        let Some(found) = &self.found else { return Binding { held: Arc::default(), session: Vec::new() } };
        let held = engine.policies_of(found);
        let session = self.session.as_ref().map(|session| session_policies(engine, &found.account, session));
        Binding { held, session: session.unwrap_or_default() }
    }
}

impl Binding {
    pub(crate) fn policies<'b>(&'b self, resource: Option<&'b Policy>) -> Policies<'b> {
        Policies {
            identity: &self.held.identity,
            boundary: self.held.boundary.as_deref(),
            session: &self.session,
            resource,
        }
    }
}

fn user(found: &FoundPrincipal) -> Principal {
    let named = Named { path: &found.path, name: &found.name };
    Principal::user(found.account.as_str(), named, found.id.as_str()).with_tags(found.tags.clone())
}

/// The tags of a role, and those of the session, which replace tags of the same key.
fn tags_of_session(role: &FoundPrincipal, session: &Session) -> Vec<(String, String)> {
    let is_replaced = |key: &str| session.tags.iter().any(|(other, _)| other.eq_ignore_ascii_case(key));
    let own = role.tags.iter().filter(|(key, _)| !is_replaced(key));
    session.tags.iter().chain(own).cloned().collect()
}

fn session_policies(engine: &Engine<AnyStore>, account: &AccountId, session: &Session) -> Vec<Arc<Policy>> {
    let inline = session.policy.iter().map(|text| compiled_policy(SESSION_POLICY, text, PolicyKind::Session));
    let managed = session.policy_arns.iter().map(|arn| engine.session_policy(account, arn));
    inline.chain(managed).collect()
}
