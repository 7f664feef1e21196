//! Principals as responses show them, and pages of lists.

use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::names::{Kind, root_arn};
use keywright_semantics::iam::request::{Owner, Page};
use keywright_semantics::iam::response::{Details, EntityView, Paged, Response, RolePart};
use keywright_semantics::monitoring::document::TimeMs;

use super::Asked;
use super::find::find;
use crate::directory::{Account, Entity, Part};
use crate::support::env::AccountId;

/// A time as responses have it: in whole seconds.
pub(super) fn time(ms: u64) -> TimeMs {
    TimeMs(i64::try_from(ms / 1000 * 1000).unwrap_or(i64::MAX))
}

/// The page of a list whose elements come with their places in it, in order.
pub(super) fn paged<T>(list: impl Iterator<Item = (String, T)>, page: &Page) -> Paged<T> {
    let is_after = |(place, _): &(String, T)| page.after.as_ref().is_none_or(|after| place > after);
    let mut list = list.filter(is_after).peekable();
    let (mut elements, mut newest) = (Vec::new(), None);
    while elements.len() < page.limit
        && let Some((place, element)) = list.next()
    {
        elements.push(element);
        newest = Some(place);
    }
    assert!(elements.len() <= page.limit, "a page has no more elements than its limit");
    Paged { elements, next: newest.filter(|_| list.peek().is_some()) }
}

/// An entity as lists show it.
pub(super) fn shown(account: &AccountId, entity: &Entity) -> EntityView {
    let role = match &entity.part {
        Part::Role { trust, description, session_seconds_max } => Some(Box::new(RolePart {
            trust: trust.clone(),
            description: description.clone(),
            session_seconds_max: *session_seconds_max,
        })),
        Part::User { .. } | Part::Group => None,
    };
    EntityView {
        kind: entity.kind(),
        name: entity.name.clone(),
        path: entity.path.clone(),
        id: entity.id.clone(),
        arn: entity.arn(account.as_str()),
        created: time(entity.created_ms),
        details: None,
        role,
    }
}

/// An entity with its boundary and tags.
pub(super) fn shown_whole(account: &AccountId, entity: &Entity) -> EntityView {
    let tags = entity.tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let details = Details { boundary: entity.boundary.clone(), tags };
    EntityView { details: Some(Box::new(details)), ..shown(account, entity) }
}

pub(super) fn role(account: &Account, name: &str) -> Result<Response, Fault> {
    let entity = find(account, &Owner { kind: Kind::Role, name: name.to_owned() })?;
    Ok(Response::Entity(shown_whole(&account.id, entity)))
}

pub(super) fn user(account: &Account, asked: &Asked) -> Result<Response, Fault> {
    let name = match asked {
        Asked::User(name) => name.clone(),
        Asked::Root => return Ok(Response::Entity(root(&account.id))),
    };
    let entity = find(account, &Owner { kind: Kind::User, name })?;
    Ok(Response::Entity(shown_whole(&account.id, entity)))
}

/// The account itself as a user.
fn root(account: &AccountId) -> EntityView {
    EntityView {
        kind: Kind::User,
        name: String::new(),
        path: String::new(),
        id: account.to_string(),
        arn: root_arn(account.as_str()),
        created: TimeMs(0),
        details: None,
        role: None,
    }
}

pub(super) fn list(account: &Account, kind: Kind, (path_prefix, page): (&str, &Page)) -> Response {
    let entities = account.entities_after(kind, page.after.as_deref());
    let named = entities
        .filter(|(_, entity)| entity.path.starts_with(path_prefix))
        .map(|(name, entity)| (name.clone(), shown(&account.id, entity)));
    Response::Entities { kind, page: paged(named, page) }
}

/// A group with its users.
pub(super) fn group(account: &Account, name: &str, page: &Page) -> Result<Response, Fault> {
    let group = find(account, &Owner { kind: Kind::Group, name: name.to_owned() })?;
    let folded = keywright_semantics::iam::names::folded(name);
    let users = account
        .entities_after(Kind::User, page.after.as_deref())
        .filter(|(_, user)| user.groups().any(|other| *other == folded))
        .map(|(name, user)| (name.clone(), shown(&account.id, user)));
    Ok(Response::GroupWithUsers { group: shown(&account.id, group), users: paged(users, page) })
}

pub(super) fn groups_of(account: &Account, user: &str, page: &Page) -> Result<Response, Fault> {
    let user = find(account, &Owner { kind: Kind::User, name: user.to_owned() })?;
    let groups = user.groups().filter_map(|name| {
        let group = account.entity(Kind::Group, name)?;
        Some((name.clone(), shown(&account.id, group)))
    });
    Ok(Response::Entities { kind: Kind::Group, page: paged(groups, page) })
}
