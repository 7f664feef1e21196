//! IAM's operations: each reads the directory's copy in memory, or changes one account in one commit.
//!
//! - `entities`: users, groups and roles; `keys`: access keys; `held`: the policies, boundaries and tags of
//!   an entity; `managed`: managed policies and their versions.
//! - `built_in`: the managed policies that every account has. `quotas`: how many of each there may be.
//! - `find`: what a request names. `lookup`: what signatures and sessions need to know of a principal.
//! - `simulate`: what policies would say of a request.
//! - `view`: what responses show; `ids`: ids and secrets.
//!
//! It does not know who may call an operation, how policies are judged, or how sessions are sealed.

mod built_in;
mod documents;
mod entities;
mod find;
mod held;
mod ids;
mod keys;
mod lookup;
mod managed;
mod quotas;
mod simulate;
mod trust;
mod view;

use keywright_semantics::error::Error;
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::request::Request;
use keywright_semantics::iam::response::Response;
use keywright_store::Store;

use crate::state::Engine;
use crate::support::env::{Caller, Principal};

pub use crate::directory::{HeldPolicies, SessionKey};
pub use lookup::{FoundKey, FoundPrincipal, FoundRole, Subject, built_in_policy};

/// How old the copy in memory may be when a request is judged by it, over a store that other processes
/// change.
const COPY_AGE_MS_MAX: u64 = 1_000;

impl<S: Store> Engine<S> {
    /// Executes one request of a caller on principals and policies.
    pub async fn manage_principals(&self, caller: &Caller, request: Request) -> Result<Response, Fault> {
        // Another process may have changed what is read here.
        let followed = self.find_new_principals().await;
        followed.map_err(|_error| Fault::new(FaultKind::ServiceFailure, messages::FAILED))?;
        let response = Box::pin(execute(self, caller, request)).await?;
        Ok(trust::shown(self, response))
    }

    /// Reads what other processes changed, unless that was read a moment ago.
    pub async fn follow_principals(&self) -> Result<(), Error> {
        let now_ms = self.env().now_ms();
        if !self.is_shared() || self.directory().is_followed_since(now_ms.saturating_sub(COPY_AGE_MS_MAX)) {
            return Ok(());
        }
        Ok(self.directory().follow(now_ms).await?)
    }

    /// Reads what other processes changed of tables' policies, unless that was read a moment ago.
    pub async fn follow_policies(&self) -> Result<(), Error> {
        let now_ms = self.env().now_ms();
        if !self.is_shared() || self.catalogue().is_followed_since(now_ms.saturating_sub(COPY_AGE_MS_MAX)) {
            return Ok(());
        }
        self.catalogue().follow(now_ms).await
    }

    /// Reads what other processes changed, for a key that this one does not know.
    pub async fn find_new_principals(&self) -> Result<(), Error> {
        if !self.is_shared() {
            return Ok(());
        }
        Ok(self.directory().follow(self.env().now_ms()).await?)
    }

    /// The key under which session tokens are sealed. The first process over a store makes it.
    pub async fn session_key(&self) -> Result<SessionKey, Error> {
        self.directory().session_key(self.env()).await
    }
}

async fn execute<S: Store>(engine: &Engine<S>, caller: &Caller, request: Request) -> Result<Response, Fault> {
    let id = &caller.namespace.account;
    match request {
        Request::AddUserToGroup { group, user } => entities::join(engine, id, &group, &user).await,
        Request::Attach { owner, arn } => held::attach(engine, id, &owner, &arn).await,
        Request::CreateAccessKey { user, given } => keys::create(engine, caller, user, given).await,
        Request::CreateGroup(new) => entities::create_group(engine, id, new).await,
        Request::CreatePolicy(new) => managed::create(engine, id, *new).await,
        Request::CreatePolicyVersion { arn, document, is_default } => {
            managed::add_version(engine, id, &arn, (document, is_default)).await
        }
        Request::CreateRole(new) => entities::create_role(engine, id, *new).await,
        Request::CreateUser(new) => entities::create_user(engine, id, new).await,
        Request::Delete(owner) => entities::delete(engine, id, &owner).await,
        Request::DeleteAccessKey { user, id: key } => keys::delete(engine, caller, user, &key).await,
        Request::DeleteBoundary(owner) => held::delete_boundary(engine, id, &owner).await,
        Request::DeleteInline { owner, policy } => held::delete_inline(engine, id, &owner, &policy).await,
        Request::DeletePolicy { arn } => managed::delete(engine, id, &arn).await,
        Request::DeletePolicyVersion { arn, version } => {
            managed::delete_version(engine, id, &arn, &version).await
        }
        Request::Detach { owner, arn } => held::detach(engine, id, &owner, &arn).await,
        Request::PutBoundary { owner, arn } => held::put_boundary(engine, id, &owner, &arn).await,
        Request::PutInline { owner, policy, document } => {
            held::put_inline(engine, id, &owner, (policy, document)).await
        }
        Request::RemoveUserFromGroup { group, user } => entities::leave(engine, id, &group, &user).await,
        Request::Rename { owner, new_name, new_path } => {
            entities::rename(engine, id, &owner, (new_name, new_path)).await
        }
        Request::SetDefaultPolicyVersion { arn, version } => {
            managed::set_default(engine, id, &arn, &version).await
        }
        Request::Tag { owner, tags } => held::tag(engine, id, &owner, tags).await,
        Request::Untag { owner, keys } => held::untag(engine, id, &owner, &keys).await,
        Request::UpdateAccessKey { user, id: key, is_active } => {
            keys::update(engine, caller, user, (&key, is_active)).await
        }
        Request::UpdateAssumeRolePolicy { role, document } => {
            entities::trust(engine, id, &role, document).await
        }
        Request::UpdateRole { role, description, session_seconds_max } => {
            entities::update_role(engine, id, &role, (description, session_seconds_max)).await
        }
        request => read(engine, caller, request),
    }
}

/// Executes a request that changes nothing.
fn read<S: Store>(engine: &Engine<S>, caller: &Caller, request: Request) -> Result<Response, Fault> {
    let account = engine.directory().account(&caller.namespace.account);
    match request {
        Request::GetAccessKeyLastUsed { id } => keys::last_used(engine, &account, &id),
        Request::GetGroup { group, page } => view::group(&account, &group, &page),
        Request::GetInline { owner, policy } => held::inline(&account, &owner, &policy),
        Request::GetPolicy { arn } => managed::get(&account, &arn),
        Request::GetPolicyVersion { arn, version } => managed::version(&account, &arn, &version),
        Request::GetRole { role } => view::role(&account, &role),
        Request::GetUser { user } => view::user(&account, &user_of(caller, user)?),
        Request::List { kind, path_prefix, page } => Ok(view::list(&account, kind, (&path_prefix, &page))),
        Request::ListAccessKeys { user, page } => keys::list(&account, &user_of(caller, user)?, &page),
        Request::ListAttached { owner, path_prefix, page } => {
            held::list_attached(&account, &owner, (&path_prefix, &page))
        }
        Request::ListEntitiesForPolicy(list) => managed::entities(&account, &list),
        Request::ListGroupsForUser { user, page } => view::groups_of(&account, &user, &page),
        Request::ListInline { owner, page } => held::list_inline(&account, &owner, &page),
        Request::ListInstanceProfilesForRole { role } => {
            view::role(&account, &role).map(|_role| Response::InstanceProfiles)
        }
        Request::ListPolicies(list) => Ok(managed::list(&account, &list)),
        Request::ListPolicyVersions { arn, page } => managed::versions(&account, &arn, &page),
        Request::Simulate(simulation) => simulate::run(&account, &simulation),
        Request::ListTags { owner, page } => held::list_tags(&account, &owner, &page),
        Request::AddUserToGroup { .. }
        | Request::Attach { .. }
        | Request::CreateAccessKey { .. }
        | Request::CreateGroup(_)
        | Request::CreatePolicy(_)
        | Request::CreatePolicyVersion { .. }
        | Request::CreateRole(_)
        | Request::CreateUser(_)
        | Request::Delete(_)
        | Request::DeleteAccessKey { .. }
        | Request::DeleteBoundary(_)
        | Request::DeleteInline { .. }
        | Request::DeletePolicy { .. }
        | Request::DeletePolicyVersion { .. }
        | Request::Detach { .. }
        | Request::PutBoundary { .. }
        | Request::PutInline { .. }
        | Request::RemoveUserFromGroup { .. }
        | Request::Rename { .. }
        | Request::SetDefaultPolicyVersion { .. }
        | Request::Tag { .. }
        | Request::Untag { .. }
        | Request::UpdateAccessKey { .. }
        | Request::UpdateAssumeRolePolicy { .. }
        | Request::UpdateRole { .. } => unreachable!("`execute` has taken all that change something"),
    }
}

/// The user that a request names, or the caller.
fn user_of(caller: &Caller, named: Option<String>) -> Result<Asked, Fault> {
    match (named, &caller.principal) {
        (Some(name), _) => Ok(Asked::User(name)),
        (None, Principal::Account | Principal::AccessKey(_)) => Ok(Asked::Root),
        (None, Principal::Limited(limited)) => match &limited.user {
            Some(user) => Ok(Asked::User(user.clone())),
            None => Err(Fault::validation(messages::NO_USER)),
        },
    }
}

/// Whom a request without a user's name is about.
enum Asked {
    User(String),
    /// The account itself.
    Root,
}
