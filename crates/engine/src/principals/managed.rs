//! Managed policies and their versions.

use std::collections::BTreeMap;

use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::IamArn;
use keywright_semantics::iam::request::{
    ListEntities, ListPolicies, NewPolicy, Page, PolicyScope, PolicyUsage,
};
use keywright_semantics::iam::response::{PolicyView, Response, VersionView};
use keywright_store::Store;

use super::quotas::{POLICIES_MAX, VERSIONS_MAX};
use super::view::{self, paged, time};
use super::{built_in, documents, ids};
use crate::directory::{Account, Draft, Entity, ManagedPolicy, Version};
use crate::state::Engine;
use crate::support::env::AccountId;

fn missing(arn: &str) -> Fault {
    if IamArn::parse(arn).is_none() {
        return Fault::validation(messages::bad_arn(arn));
    }
    Fault::no_entity(messages::no_policy(arn))
}

/// A managed policy of the account or a built-in one.
pub(super) fn find<'a>(account: &'a Account, arn: &str) -> Result<&'a ManagedPolicy, Fault> {
    let own = account.policy(arn).map(|policy| &**policy);
    own.or_else(|| built_in::find(arn)).ok_or_else(|| missing(arn))
}

/// A managed policy to change.
fn find_mut<'d>(draft: &'d mut Draft, arn: &str) -> Result<&'d mut ManagedPolicy, Fault> {
    if built_in::find(arn).is_some() {
        return Err(Fault::new(FaultKind::AccessDenied, messages::BUILT_IN));
    }
    draft.policy_mut(arn).ok_or_else(|| missing(arn))
}

/// The number of a version's id.
fn number(id: &str) -> Option<u32> {
    id.strip_prefix('v')?.parse().ok()
}

fn no_version(arn: &str, id: &str) -> Fault {
    Fault::no_entity(messages::no_version(arn, id))
}

pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    new: NewPolicy,
) -> Result<Response, Fault> {
    documents::check_managed(&new.document)?;
    let change = |draft: &mut Draft| {
        let NewPolicy { name, path, document, description, tags } = new.clone();
        if draft.account().has_policy_named(&name) {
            return Err(Fault::exists(messages::policy_exists(&name)));
        }
        if draft.account().policy_count() >= POLICIES_MAX {
            return Err(Fault::limit(messages::quota("PoliciesPerAccount", POLICIES_MAX)));
        }
        let now_ms = engine.env().now_ms();
        let policy = ManagedPolicy {
            name,
            path,
            id: ids::of_policy(engine.env()),
            created_ms: now_ms,
            updated_ms: now_ms,
            description,
            tags,
            versions: BTreeMap::from([(1, Version { document, created_ms: now_ms })]),
            default: 1,
            next: 2,
        };
        draft.insert_policy(policy.clone());
        Ok(policy)
    };
    let made = engine.directory().change(id, change).await?;
    Ok(Response::ManagedPolicy(shown(&made, id.as_str(), Uses::default())))
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    arn: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let (versions, name) = {
            let policy = find_mut(draft, arn)?;
            (policy.versions.len(), policy.name.clone())
        };
        if Uses::of(draft.account(), arn) != Uses::default() {
            return Err(Fault::delete_conflict(messages::POLICY_ATTACHED));
        }
        if versions > 1 {
            return Err(Fault::delete_conflict(messages::VERSIONS_FIRST));
        }
        draft.remove_policy(&name);
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn add_version<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    arn: &str,
    (document, is_default): (String, bool),
) -> Result<Response, Fault> {
    documents::check_managed(&document)?;
    let change = |draft: &mut Draft| {
        let policy = find_mut(draft, arn)?;
        if policy.versions.len() >= VERSIONS_MAX {
            return Err(Fault::limit(messages::versions(VERSIONS_MAX)));
        }
        let (number, created_ms) = (policy.next, engine.env().now_ms());
        assert!(!policy.versions.contains_key(&number), "numbers of versions are not used again");
        policy.versions.insert(number, Version { document: document.clone(), created_ms });
        policy.next = number.saturating_add(1);
        policy.updated_ms = created_ms;
        if is_default {
            policy.default = number;
        }
        Ok(VersionView { id: format!("v{number}"), is_default, created: time(created_ms), document: None })
    };
    Ok(Response::Version(engine.directory().change(id, change).await?))
}

pub(super) async fn delete_version<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    arn: &str,
    version: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let policy = find_mut(draft, arn)?;
        let number = number(version).filter(|number| policy.versions.contains_key(number));
        let number = number.ok_or_else(|| no_version(arn, version))?;
        if number == policy.default {
            return Err(Fault::delete_conflict(messages::DEFAULT_VERSION));
        }
        policy.versions.remove(&number);
        policy.updated_ms = engine.env().now_ms();
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn set_default<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    arn: &str,
    version: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let policy = find_mut(draft, arn)?;
        let number = number(version).filter(|number| policy.versions.contains_key(number));
        policy.default = number.ok_or_else(|| no_version(arn, version))?;
        policy.updated_ms = engine.env().now_ms();
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// Of how many entities a policy is a policy, and of how many the boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Uses {
    attachments: usize,
    boundaries: usize,
}

impl Uses {
    fn of(account: &Account, arn: &str) -> Self {
        account.all().fold(Self::default(), |uses, entity| Self {
            attachments: uses.attachments + usize::from(entity.attached.contains(arn)),
            boundaries: uses.boundaries + usize::from(entity.boundary.as_deref() == Some(arn)),
        })
    }

    /// The uses of all policies that are used.
    fn of_all(account: &Account) -> BTreeMap<&str, Self> {
        let mut uses: BTreeMap<&str, Self> = BTreeMap::new();
        for entity in account.all() {
            for arn in &entity.attached {
                uses.entry(arn).or_default().attachments += 1;
            }
            if let Some(arn) = &entity.boundary {
                uses.entry(arn).or_default().boundaries += 1;
            }
        }
        uses
    }

    const fn count(self, usage: Option<PolicyUsage>) -> usize {
        match usage {
            None => self.attachments + self.boundaries,
            Some(PolicyUsage::Permissions) => self.attachments,
            Some(PolicyUsage::Boundary) => self.boundaries,
        }
    }
}

fn shown(policy: &ManagedPolicy, account: &str, uses: Uses) -> PolicyView {
    PolicyView {
        name: policy.name.clone(),
        id: policy.id.clone(),
        arn: policy.arn(account),
        path: policy.path.clone(),
        default_version: format!("v{}", policy.default),
        attachments: uses.attachments,
        boundaries: uses.boundaries,
        description: policy.description.clone(),
        created: time(policy.created_ms),
        updated: time(policy.updated_ms),
        tags: policy.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

/// The account in a policy's ARN.
fn account_in(arn: &str) -> &str {
    IamArn::parse(arn).map_or("", |arn| arn.account)
}

pub(super) fn get(account: &Account, arn: &str) -> Result<Response, Fault> {
    let policy = find(account, arn)?;
    Ok(Response::ManagedPolicy(shown(policy, account_in(arn), Uses::of(account, arn))))
}

fn shown_version(policy: &ManagedPolicy, number: u32, version: &Version) -> VersionView {
    VersionView {
        id: format!("v{number}"),
        is_default: number == policy.default,
        created: time(version.created_ms),
        document: None,
    }
}

pub(super) fn version(account: &Account, arn: &str, id: &str) -> Result<Response, Fault> {
    let policy = find(account, arn)?;
    let number = number(id).ok_or_else(|| no_version(arn, id))?;
    let version = policy.versions.get(&number).ok_or_else(|| no_version(arn, id))?;
    let document = Some(version.document.clone());
    Ok(Response::Version(VersionView { document, ..shown_version(policy, number, version) }))
}

/// The versions, the newest first.
pub(super) fn versions(account: &Account, arn: &str, page: &Page) -> Result<Response, Fault> {
    let policy = find(account, arn)?;
    let versions = policy.versions.iter().rev();
    let named = versions.map(|(number, version)| {
        (format!("{:010}", u32::MAX - number), shown_version(policy, *number, version))
    });
    Ok(Response::Versions(paged(named, page)))
}

pub(super) fn list(account: &Account, list: &ListPolicies) -> Response {
    let uses = Uses::of_all(account);
    let wants = |policy: &PolicyView| {
        let is_used = Uses { attachments: policy.attachments, boundaries: policy.boundaries };
        policy.path.starts_with(&list.path_prefix)
            && (!list.only_attached || is_used.count(None) > 0)
            && (list.usage.is_none() || is_used.count(list.usage) > 0)
    };
    let view = |policy: &ManagedPolicy, of: &str| {
        let arn = policy.arn(of);
        let uses = uses.get(arn.as_str()).copied().unwrap_or_default();
        PolicyView { description: String::new(), tags: Vec::new(), ..shown(policy, of, uses) }
    };
    let own = account.policies().filter(|_| list.scope != PolicyScope::BuiltIn);
    let own = own.map(|(name, policy)| (format!("1{name}"), view(policy, account.id.as_str())));
    let built_in = built_in::all().iter().filter(|_| list.scope != PolicyScope::Local);
    let built_in = built_in.map(|policy| (format!("0{}", policy.name), view(policy, built_in::ACCOUNT)));
    Response::ManagedPolicies(paged(built_in.chain(own).filter(|(_, policy)| wants(policy)), &list.page))
}

/// The entities that use a policy.
pub(super) fn entities(account: &Account, list: &ListEntities) -> Result<Response, Fault> {
    find(account, &list.arn)?;
    let uses = |entity: &Entity| {
        let is_attached = entity.attached.contains(&list.arn);
        let is_boundary = entity.boundary.as_ref() == Some(&list.arn);
        match list.usage {
            None => is_attached || is_boundary,
            Some(PolicyUsage::Permissions) => is_attached,
            Some(PolicyUsage::Boundary) => is_boundary,
        }
    };
    let wanted = account.all().filter(|entity| {
        list.kind.is_none_or(|kind| kind == entity.kind())
            && entity.path.starts_with(&list.path_prefix)
            && uses(entity)
    });
    let shown = wanted.map(|entity| {
        let marker = format!("{}/{}", entity.kind().word(), entity.name);
        (marker, view::shown(&account.id, entity))
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Response::EntitiesOfPolicy(paged(shown.into_iter(), &list.page)))
}
