//! What signatures, sessions and decisions need to know of principals. All of it is in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_access::document::PolicyKind;
use keywright_access::policies::{Policy, compiled_policy};
use keywright_semantics::iam::names::{IamArn, Kind};
use keywright_semantics::iam::request::{Owner, Request};
use keywright_semantics::schema::KeySchema;
use keywright_store::Store;

use super::built_in;
use crate::directory::{Account, Entity, HeldPolicies, Part};
use crate::state::Engine;
use crate::support::env::{AccountId, Namespace};

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

/// What a request of IAM is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its ARN.
    pub arn: String,
    /// The tags that it has.
    pub tags: Vec<(String, String)>,
    /// The boundary that it has.
    pub boundary: Option<String>,
}

impl Subject {
    /// The path in its ARN.
    pub fn path(&self) -> &str {
        IamArn::parse(&self.arn).map_or("/", |arn| arn.path)
    }
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

fn found(account: &Account, entity: &Entity) -> FoundPrincipal {
    FoundPrincipal {
        account: account.id.clone(),
        kind: entity.kind(),
        name: entity.name.clone(),
        path: entity.path.clone(),
        id: entity.id.clone(),
        arn: entity.arn(account.id.as_str()),
        tags: pairs(&entity.tags),
    }
}

/// A policy that allows nothing: what stands for a policy that is gone.
const NOTHING: &str =
    r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"keywright:None","Resource":"*"}}"#;

pub(super) fn document<'a>(account: &'a Account, arn: &str) -> Option<&'a str> {
    let own = account.policy(arn).map(|policy| &**policy);
    own.or_else(|| built_in::find(arn)).and_then(|policy| policy.document())
}

/// The text of a managed policy that every account has.
pub fn built_in_policy(arn: &str) -> Option<&'static str> {
    built_in::find(arn).and_then(|policy| policy.document())
}

/// A managed policy, compiled. One that is gone allows nothing.
fn managed(account: &Account, arn: &str, kind: PolicyKind) -> Arc<Policy> {
    compiled_policy(arn, document(account, arn).unwrap_or(NOTHING), kind)
}

fn held(account: &Account, entity: &Entity) -> HeldPolicies {
    let groups = entity.groups().filter_map(|name| account.entity(Kind::Group, name)).map(|group| &**group);
    let mut policies = HeldPolicies::default();
    for holder in groups.chain([entity]) {
        let inline = holder.inline.iter();
        policies
            .identity
            .extend(inline.map(|(name, text)| compiled_policy(name, text, PolicyKind::Identity)));
        let attached = holder.attached.iter();
        policies.identity.extend(attached.map(|arn| managed(account, arn, PolicyKind::Identity)));
    }
    let boundary = entity.boundary.as_ref();
    policies.boundary = boundary.map(|arn| managed(account, arn, PolicyKind::Boundary));
    policies
}

impl<S: Store> Engine<S> {
    /// The user's key of an id, if there is one that may be used.
    pub fn find_key(&self, id: &str) -> Option<FoundKey> {
        let (account, user) = self.directory().key(id)?;
        let key = user.keys().iter().find(|key| key.id == id && key.is_active)?;
        Some(FoundKey { secret: key.secret.clone(), user: found(&account, &user) })
    }

    /// The account and name of the user of an access key, also of one that may not be used.
    pub fn holder_of_key(&self, id: &str) -> Option<(AccountId, String)> {
        self.directory().key(id).map(|(account, user)| (account.id.clone(), user.name.clone()))
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
    pub fn policies_of(&self, principal: &FoundPrincipal) -> Arc<HeldPolicies> {
        let account = self.directory().account(&principal.account);
        let entity = account.entity(principal.kind, &principal.name);
        match entity.filter(|entity| entity.id == principal.id) {
            None => Arc::default(),
            Some(entity) => account.compiled((entity.kind(), &entity.name), || held(&account, entity)),
        }
    }

    /// A managed policy of an account, or a built-in one, as the policy of a session.
    pub fn session_policy(&self, account: &AccountId, arn: &str) -> Arc<Policy> {
        managed(&self.directory().account(account), arn, PolicyKind::Session)
    }

    /// Whether a managed policy exists.
    pub fn has_managed_policy(&self, account: &AccountId, arn: &str) -> bool {
        document(&self.directory().account(account), arn).is_some()
    }

    /// What a request of IAM is about, with the paths of entities that exist.
    pub fn subject_of(&self, account: &AccountId, request: &Request, caller: Option<&str>) -> Subject {
        let account = self.directory().account(account);
        let own = || caller.map(|name| Owner { kind: Kind::User, name: name.to_owned() });
        let owner = request.owner().or_else(|| request.is_about_user_of_key().then(own).flatten());
        let entity = owner.as_ref().and_then(|owner| account.entity(owner.kind, &owner.name));
        let plain = || match &owner {
            Some(owner) => owner.kind.arn(account.id.as_str(), "/", &owner.name),
            None => request.resource(account.id.as_str()),
        };
        Subject {
            arn: entity.map_or_else(plain, |entity| entity.arn(account.id.as_str())),
            tags: entity.map(|entity| pairs(&entity.tags)).unwrap_or_default(),
            boundary: entity.and_then(|entity| entity.boundary.clone()),
        }
    }

    /// The tags of a table, in memory; none if there is no such table.
    pub fn table_tags(&self, namespace: &Namespace, table: &str) -> Vec<(String, String)> {
        self.catalogue().find(namespace, table).map(|table| pairs(&table.tags)).unwrap_or_default()
    }

    /// The names of a table's key attributes, in memory; none if there is no such table.
    pub fn table_key(&self, namespace: &Namespace, table: &str) -> Vec<String> {
        let found = self.catalogue().find(namespace, table);
        let names = |key: &KeySchema| key.attributes().map(|attribute| attribute.name.clone()).collect();
        found.map(|table| names(&table.schema.key)).unwrap_or_default()
    }

    /// Whether a table or stream has a policy.
    pub fn has_resource_policies(&self) -> bool {
        self.catalogue().has_policies()
    }

    /// The policy of a table, or of its stream of a label, in memory.
    pub fn resource_policy(
        &self,
        namespace: &Namespace,
        table: &str,
        stream: Option<&str>,
    ) -> Option<Arc<Policy>> {
        self.catalogue().policy_of(namespace, table, stream)
    }

    /// Whether an account has a user, group, role or policy.
    pub fn holds_account(&self, account: &AccountId) -> bool {
        self.directory().holds(account)
    }

    /// How many users all accounts have together.
    pub fn user_count(&self) -> usize {
        self.directory().user_count()
    }

    /// Whether a user, a role or the role of a session of this ARN exists.
    pub fn holds_principal(&self, arn: &str) -> bool {
        let mut fields = arn.splitn(6, ':').skip(2);
        let (Some(service), Some(account), Some(resource)) = (fields.next(), fields.nth(1), fields.next())
        else {
            return false;
        };
        let account = self.directory().account(&AccountId::from(account));
        let has = |kind, name: &str, is_it: &dyn Fn(&Entity) -> bool| {
            account.entity(kind, name).is_some_and(|entity| is_it(entity))
        };
        let name = resource.rsplit('/').next().unwrap_or_default();
        match (service, resource.split_once('/')) {
            ("iam", Some(("user", _))) => has(Kind::User, name, &|user| user.arn(account.id.as_str()) == arn),
            ("iam", Some(("role", _))) => has(Kind::Role, name, &|role| role.arn(account.id.as_str()) == arn),
            ("sts", Some(("assumed-role", session))) => {
                let role = session.split('/').next().unwrap_or_default();
                has(Kind::Role, role, &|entity| entity.name == role)
            }
            _ => false,
        }
    }

    /// The attributes of the partition key of a table or index, in memory; none if there is no such one.
    pub fn partition_names(
        &self,
        namespace: &Namespace,
        table: &str,
        index: Option<&str>,
    ) -> Option<Vec<String>> {
        let table = self.catalogue().find(namespace, table)?;
        let key = match index {
            None => &table.schema.key,
            Some(name) => &table.schema.indexes.iter().find(|index| *index.name == *name)?.key,
        };
        Some(key.partition.iter().map(|attribute| attribute.name.clone()).collect())
    }

    /// The ARN of the stream that a shard iterator is of; none if it was never issued.
    pub fn stream_of_iterator(&self, text: &str) -> Option<String> {
        crate::streams::stream_of_iterator(text).map(|stream| stream.arn)
    }
}

pub(super) fn pairs(tags: &BTreeMap<String, String>) -> Vec<(String, String)> {
    tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}
