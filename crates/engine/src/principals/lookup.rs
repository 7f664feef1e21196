//! What signatures, sessions and decisions need to know of principals. All of it is in memory.

use std::sync::Arc;

use keywright_semantics::iam::names::{Kind, folded};
use keywright_store::Store;

use super::built_in;
use crate::directory::{Account, Entity, Part};
use crate::state::Engine;
use crate::support::env::AccountId;

/// An access key of a user, which may be used.
#[derive(Clone)]
pub struct FoundKey {
    /// The secret.
    pub secret: String,
    /// Whose it is.
    pub user: FoundPrincipal,
}

/// A user or a role as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPrincipal {
    /// The account.
    pub account: AccountId,
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: String,
    /// The path.
    pub path: String,
    /// The id, which is never used again.
    pub id: String,
    /// The ARN.
    pub arn: String,
    /// The tags.
    pub tags: Vec<(String, String)>,
}

/// A role as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRole {
    /// What all principals have.
    pub principal: FoundPrincipal,
    /// The policy that says who may take it.
    pub trust: String,
    /// Seconds of its sessions at most.
    pub session_seconds_max: u32,
}

/// The policies of a user or role, as of one change of the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPolicies {
    /// Inline and attached policies, also those of groups: names or ARNs, and documents.
    pub identity: Vec<(String, String)>,
    /// The boundary. A boundary whose policy is gone allows nothing.
    pub boundary: Option<(String, Option<String>)>,
}

fn found(account: &Account, entity: &Entity) -> FoundPrincipal {
    FoundPrincipal {
        account: account.id.clone(),
        kind: entity.kind(),
        name: entity.name.clone(),
        path: entity.path.clone(),
        id: entity.id.clone(),
        arn: entity.arn(account.id.as_str()),
        tags: entity.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

fn document(account: &Account, arn: &str) -> Option<String> {
    let own = account.policy(arn).map(|policy| &**policy);
    own.or_else(|| built_in::find(arn)).and_then(|policy| policy.document()).map(str::to_owned)
}

impl<S: Store> Engine<S> {
    /// The user's key of an id, if there is one that may be used.
    pub fn find_key(&self, id: &str) -> Option<FoundKey> {
        let (account, user) = self.directory().key(id)?;
        let key = user.keys().iter().find(|key| key.id == id && key.is_active)?;
        Some(FoundKey { secret: key.secret.clone(), user: found(&account, &user) })
    }

    /// Notes that a user's key was used.
    pub fn note_key_use(&self, id: &str, (service, region): (&'static str, &str)) {
        self.directory().note_use(id, (service, region), self.env().now_ms());
    }

    /// The account of an access key of a user, also of one that may not be used.
    pub fn account_of_key(&self, id: &str) -> Option<AccountId> {
        self.directory().key(id).map(|(account, _)| account.id.clone())
    }

    /// The user or role of a name and id. One that was deleted and made again has another id.
    pub fn find_principal(
        &self,
        account: &AccountId,
        (kind, name): (Kind, &str),
        id: &str,
    ) -> Option<FoundPrincipal> {
        let account = self.directory().account(account);
        let entity = account.entity(kind, name).filter(|entity| entity.id == id)?;
        Some(found(&account, entity))
    }

    /// The role of an ARN's name and path.
    pub fn find_role(&self, account: &AccountId, (path, name): (&str, &str)) -> Option<FoundRole> {
        let account = self.directory().account(account);
        let entity: &Arc<Entity> = account.entity(Kind::Role, name)?;
        let Part::Role { trust, session_seconds_max, .. } = &entity.part else { return None };
        (entity.path == path && entity.name == name).then(|| FoundRole {
            principal: found(&account, entity),
            trust: trust.clone(),
            session_seconds_max: *session_seconds_max,
        })
    }

    /// The policies of a user or role; none at all if it is gone.
    pub fn policies_of(&self, principal: &FoundPrincipal) -> FoundPolicies {
        let account = self.directory().account(&principal.account);
        let entity = account.entity(principal.kind, &folded(&principal.name));
        let Some(entity) = entity.filter(|entity| entity.id == principal.id) else {
            return FoundPolicies::default();
        };
        let groups = entity.groups().filter_map(|name| account.entity(Kind::Group, name));
        let mut policies = FoundPolicies::default();
        for holder in groups.chain([entity]) {
            let inline = holder.inline.iter().map(|(name, document)| (name.clone(), document.clone()));
            policies.identity.extend(inline);
            let attached = holder.attached.iter();
            policies
                .identity
                .extend(attached.filter_map(|arn| Some((arn.clone(), document(&account, arn)?))));
        }
        policies.boundary = entity.boundary.as_ref().map(|arn| (arn.clone(), document(&account, arn)));
        policies
    }

    /// The document in force of a managed policy of an account, or of a built-in one.
    pub fn managed_document(&self, account: &AccountId, arn: &str) -> Option<String> {
        document(&self.directory().account(account), arn)
    }
}
