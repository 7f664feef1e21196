//! What an entity has: inline and attached policies, a boundary, tags.

use std::collections::BTreeMap;

use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::IamArn;
use keywright_semantics::iam::request::{Owner, Page};
use keywright_semantics::iam::response::Response;
use keywright_store::Store;

use super::documents;
use super::find::{check_attachable, find, find_mut};
use super::quotas::{ATTACHED_MAX, TAGS_OF_ENTITY_MAX, inline_characters_max};
use super::view::paged;
use crate::directory::{Account, Draft, characters};
use crate::state::Engine;
use crate::support::env::AccountId;

/// Attaches a managed policy. One that is attached already stays.
pub(super) async fn attach<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    arn: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let entity = find(draft.account(), owner)?;
        check_attachable(draft.account(), arn)?;
        if entity.attached.contains(arn) {
            return Ok(());
        }
        if entity.attached.len() >= ATTACHED_MAX {
            let quota = format!("PoliciesPer{}", owner.kind.title());
            return Err(Fault::limit(messages::quota(&quota, ATTACHED_MAX)));
        }
        find_mut(draft, owner)?.attached.insert(arn.to_owned());
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn detach<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    arn: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        if !find(draft.account(), owner)?.attached.contains(arn) {
            return Err(Fault::no_entity(messages::no_policy(arn)));
        }
        find_mut(draft, owner)?.attached.remove(arn);
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) fn list_attached(
    account: &Account,
    owner: &Owner,
    (path_prefix, page): (&str, &Page),
) -> Result<Response, Fault> {
    let has_path = |arn: &&String| IamArn::parse(arn).is_some_and(|arn| arn.path.starts_with(path_prefix));
    let attached = find(account, owner)?.attached.iter().filter(has_path);
    let named = attached.map(|arn| {
        let name = IamArn::parse(arn).map_or_else(|| arn.clone(), |arn| arn.name.to_owned());
        (arn.clone(), (name, arn.clone()))
    });
    Ok(Response::AttachedPolicies(paged(named, page)))
}

/// Stores an inline policy, or replaces the one of that name.
pub(super) async fn put_inline<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    (name, document): (String, String),
) -> Result<Response, Fault> {
    documents::check_identity(&document)?;
    let change = |draft: &mut Draft| {
        let entity = find(draft.account(), owner)?;
        let replaced = entity.inline.get(&name).map_or(0, |before| characters(before));
        let most = inline_characters_max(owner.kind);
        if entity.inline_characters() - replaced + characters(&document) > most {
            return Err(Fault::limit(messages::inline_too_large(owner.kind, &entity.name, most)));
        }
        find_mut(draft, owner)?.inline.insert(name.clone(), document.clone());
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn delete_inline<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    name: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        if !find(draft.account(), owner)?.inline.contains_key(name) {
            return Err(Fault::no_entity(messages::no_inline(owner.kind, name)));
        }
        find_mut(draft, owner)?.inline.remove(name);
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) fn inline(account: &Account, owner: &Owner, name: &str) -> Result<Response, Fault> {
    let entity = find(account, owner)?;
    let document = entity.inline.get(name);
    let document = document.ok_or_else(|| Fault::no_entity(messages::no_inline(owner.kind, name)))?;
    Ok(Response::InlinePolicy {
        kind: owner.kind,
        owner: entity.name.clone(),
        policy: name.to_owned(),
        document: document.clone(),
    })
}

pub(super) fn list_inline(account: &Account, owner: &Owner, page: &Page) -> Result<Response, Fault> {
    let names = find(account, owner)?.inline.keys().map(|name| (name.clone(), name.clone()));
    Ok(Response::InlinePolicies(paged(names, page)))
}

pub(super) async fn put_boundary<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    arn: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        find(draft.account(), owner)?;
        check_attachable(draft.account(), arn)?;
        find_mut(draft, owner)?.boundary = Some(arn.to_owned());
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn delete_boundary<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let entity = find(draft.account(), owner)?;
        if entity.boundary.is_none() {
            return Err(Fault::no_entity(messages::no_boundary(owner.kind, &entity.name)));
        }
        find_mut(draft, owner)?.boundary = None;
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// Adds tags. A key that differs by case alone from one that is there replaces it.
pub(super) async fn tag<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    tags: BTreeMap<String, String>,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let mut next = find(draft.account(), owner)?.tags.clone();
        next.retain(|key, _| !tags.keys().any(|new| new.eq_ignore_ascii_case(key)));
        next.extend(tags.clone());
        if next.len() > TAGS_OF_ENTITY_MAX {
            let quota = format!("TagsPer{}", owner.kind.title());
            return Err(Fault::limit(messages::quota(&quota, TAGS_OF_ENTITY_MAX)));
        }
        find_mut(draft, owner)?.tags = next;
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// Removes tags. Keys that are not there are ignored.
pub(super) async fn untag<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    keys: &[String],
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        find(draft.account(), owner)?;
        let is_named = |key: &str| keys.iter().any(|named| named.eq_ignore_ascii_case(key));
        find_mut(draft, owner)?.tags.retain(|key, _| !is_named(key));
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) fn list_tags(account: &Account, owner: &Owner, page: &Page) -> Result<Response, Fault> {
    let tags = find(account, owner)?.tags.iter();
    let tags = tags.map(|(key, value)| (key.clone(), (key.clone(), value.clone())));
    Ok(Response::Tags(paged(tags, page)))
}
