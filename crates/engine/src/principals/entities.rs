//! Users, groups and roles: making, changing and deleting them; members of groups.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::{Kind, folded};
use keywright_semantics::iam::request::{NewEntity, NewRole, Owner};
use keywright_semantics::iam::response::Response;
use keywright_store::Store;

use super::find::{check_attachable, find, find_mut};
use super::quotas::{GROUPS_MAX, entities_max};
use super::{documents, ids, trust, view};
use crate::directory::{Account, Draft, Entity, Part};
use crate::state::Engine;
use crate::support::env::AccountId;

fn user(name: &str) -> Owner {
    Owner { kind: Kind::User, name: name.to_owned() }
}

pub(super) async fn create_user<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    new: NewEntity,
) -> Result<Response, Fault> {
    create(engine, id, new, || Part::User { keys: Vec::new(), groups: BTreeSet::new() }).await
}

pub(super) async fn create_group<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    new: NewEntity,
) -> Result<Response, Fault> {
    let new = NewEntity { boundary: None, tags: BTreeMap::new(), ..new };
    create(engine, id, new, || Part::Group).await
}

pub(super) async fn create_role<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    new: NewRole,
) -> Result<Response, Fault> {
    documents::check_trust(&new.trust)?;
    let NewRole { entity, trust, description, session_seconds_max } = new;
    let trust = trust::stored(engine, id, (&trust, ""));
    let part = || Part::Role { trust: trust.clone(), description: description.clone(), session_seconds_max };
    create(engine, id, entity, part).await
}

async fn create<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    new: NewEntity,
    part: impl Fn() -> Part + Send + Sync,
) -> Result<Response, Fault> {
    let made = engine
        .directory()
        .change(id, |draft| {
            let NewEntity { name, path, boundary, tags, id } = new.clone();
            let part = part();
            let mut entity = Entity {
                name,
                path,
                id: String::new(),
                created_ms: engine.env().now_ms(),
                boundary,
                tags,
                inline: BTreeMap::new(),
                attached: BTreeSet::new(),
                part,
            };
            let kind = entity.kind();
            // Trust policies of all accounts mean principals by their ids.
            let is_taken =
                |id: &String| !engine.directory().arns_of(&BTreeSet::from([id.clone()])).is_empty();
            if let Some(id) = id.as_ref().filter(|id| is_taken(id)) {
                return Err(Fault::exists(messages::id_exists(id)));
            }
            entity.id = id.unwrap_or_else(|| ids::of_entity(kind, engine.env()));
            check_new(draft.account(), &entity)?;
            draft.insert(entity.clone());
            Ok(entity)
        })
        .await?;
    Ok(Response::Entity(view::shown_whole(id, &made)))
}

fn check_new(account: &Account, entity: &Entity) -> Result<(), Fault> {
    let kind = entity.kind();
    if account.entity(kind, &entity.name).is_some() {
        return Err(Fault::exists(messages::exists(kind, &entity.name)));
    }
    let most = entities_max(kind);
    if account.count(kind) >= most {
        return Err(Fault::limit(messages::quota(&format!("{}sPerAccount", kind.title()), most)));
    }
    entity.boundary.iter().try_for_each(|arn| check_attachable(account, arn))
}

/// Gives a user or group another name or path. Its id stays, and so do its policies and members.
pub(super) async fn rename<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
    (new_name, new_path): (Option<String>, Option<String>),
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let mut entity = find(draft.account(), owner)?.clone();
        let before = entity.clone();
        entity.name = new_name.clone().unwrap_or(entity.name);
        entity.path = new_path.clone().unwrap_or(entity.path);
        let (old, new) = (folded(&before.name), folded(&entity.name));
        if old != new && draft.account().entity(owner.kind, &new).is_some() {
            return Err(Fault::exists(messages::exists(owner.kind, &entity.name)));
        }
        if entity == before {
            return Ok(());
        }
        draft.remove(owner.kind, &before.name);
        draft.insert(entity);
        if owner.kind == Kind::Group && old != new {
            for member in members(draft.account(), &old) {
                if let Some(Part::User { groups, .. }) =
                    draft.entity_mut(Kind::User, &member).map(|user| &mut user.part)
                {
                    groups.remove(&old);
                    groups.insert(new.clone());
                }
            }
        }
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// The folded names of a group's users.
fn members(account: &Account, group: &str) -> Vec<String> {
    let users = account.entities_after(Kind::User, None);
    let is_member = |user: &Entity| user.groups().any(|other| other == group);
    users.filter(|(_, user)| is_member(user)).map(|(name, _)| name.clone()).collect()
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    owner: &Owner,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        let entity = find(draft.account(), owner)?;
        let has_members =
            owner.kind == Kind::Group && !members(draft.account(), &folded(&entity.name)).is_empty();
        let conflict = if !entity.keys().is_empty() {
            Some(messages::KEYS_FIRST)
        } else if !entity.inline.is_empty() {
            Some(messages::INLINE_FIRST)
        } else if !entity.attached.is_empty() {
            Some(messages::ATTACHED_FIRST)
        } else if has_members || entity.groups().next().is_some() {
            Some(messages::MEMBERS_FIRST)
        } else {
            None
        };
        if let Some(message) = conflict {
            return Err(Fault::delete_conflict(message));
        }
        draft.remove(owner.kind, &owner.name);
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// Adds a user to a group. A member stays what it is.
pub(super) async fn join<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    group: &str,
    name: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        find(draft.account(), &Owner { kind: Kind::Group, name: group.to_owned() })?;
        let entity = find(draft.account(), &user(name))?;
        let count = entity.groups().filter(|other| **other != folded(group)).count();
        if count >= GROUPS_MAX {
            return Err(Fault::limit(messages::quota("GroupsPerUser", GROUPS_MAX)));
        }
        if let Part::User { groups, .. } = &mut find_mut(draft, &user(name))?.part {
            groups.insert(folded(group));
        }
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn leave<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    group: &str,
    name: &str,
) -> Result<Response, Fault> {
    let change = |draft: &mut Draft| {
        find(draft.account(), &Owner { kind: Kind::Group, name: group.to_owned() })?;
        find(draft.account(), &user(name))?;
        if let Part::User { groups, .. } = &mut find_mut(draft, &user(name))?.part
            && !groups.remove(&folded(group))
        {
            return Err(Fault::no_entity(messages::not_member(name, group)));
        }
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

/// Replaces the policy that says who may take a role.
pub(super) async fn trust<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    name: &str,
    document: String,
) -> Result<Response, Fault> {
    documents::check_trust(&document)?;
    let owner = Owner { kind: Kind::Role, name: name.to_owned() };
    let change = |draft: &mut Draft| {
        find(draft.account(), &owner)?;
        if let Part::Role { trust, .. } = &mut find_mut(draft, &owner)?.part {
            *trust = trust::stored(engine, id, (&document, trust));
        }
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Done)
}

pub(super) async fn update_role<S: Store>(
    engine: &Engine<S>,
    id: &AccountId,
    name: &str,
    (new_description, new_seconds_max): (Option<String>, Option<u32>),
) -> Result<Response, Fault> {
    let owner = Owner { kind: Kind::Role, name: name.to_owned() };
    let change = |draft: &mut Draft| {
        find(draft.account(), &owner)?;
        if let Part::Role { description, session_seconds_max, .. } = &mut find_mut(draft, &owner)?.part {
            if let Some(new) = &new_description {
                description.clone_from(new);
            }
            *session_seconds_max = new_seconds_max.unwrap_or(*session_seconds_max);
        }
        Ok(())
    };
    engine.directory().change(id, change).await?;
    Ok(Response::Updated)
}
