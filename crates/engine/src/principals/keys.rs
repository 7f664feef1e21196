//! Access keys of users.

use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::Kind;
use keywright_semantics::iam::request::{GivenKey, Owner, Page};
use keywright_semantics::iam::response::{KeyView, LastUse, Paged, Response};
use keywright_store::Store;

use super::find::{find, find_mut};
use super::quotas::KEYS_MAX;
use super::view::{paged, time};
use super::{Asked, ids, user_of};
use crate::directory::{Account, Draft, Entity, Part, StoredKey};
use crate::state::Engine;
use crate::support::env::Caller;

/// The user of a request. Keys of the account itself are in the credentials file.
fn owner(caller: &Caller, named: Option<String>) -> Result<Owner, Fault> {
    match user_of(caller, named)? {
        Asked::User(name) => Ok(Owner { kind: Kind::User, name }),
        Asked::Root => Err(Fault::new(FaultKind::InvalidInput, messages::ROOT_KEYS)),
    }
}

fn shown(user: &str, key: &StoredKey) -> KeyView {
    KeyView {
        user: user.to_owned(),
        id: key.id.clone(),
        is_active: key.is_active,
        created: time(key.created_ms),
        secret: None,
    }
}

fn keys_mut(entity: &mut Entity) -> Option<&mut Vec<StoredKey>> {
    match &mut entity.part {
        Part::User { keys, .. } => Some(keys),
        Part::Group | Part::Role { .. } => None,
    }
}

pub(super) async fn create<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    user: Option<String>,
    given: Option<GivenKey>,
) -> Result<Response, Fault> {
    let owner = owner(caller, user)?;
    let change = |draft: &mut Draft| {
        let entity = find(draft.account(), &owner)?;
        if entity.keys().len() >= KEYS_MAX {
            return Err(Fault::limit(messages::quota("AccessKeysPerUser", KEYS_MAX)));
        }
        let (id, secret) = match &given {
            Some(given) => (given.id.clone(), given.secret.clone()),
            None => (ids::of_key(engine.env()), ids::secret(engine.env())),
        };
        // Ids are unique among all accounts.
        let is_taken = entity.keys().iter().any(|key| key.id == id) || engine.directory().key(&id).is_some();
        if is_taken {
            return Err(Fault::exists(messages::key_exists(&id)));
        }
        let key = StoredKey { id, secret, is_active: true, created_ms: engine.env().now_ms() };
        let view = KeyView { secret: Some(key.secret.clone()), ..shown(&entity.name, &key) };
        if let Some(keys) = keys_mut(find_mut(draft, &owner)?) {
            keys.push(key);
            assert!(keys.len() <= KEYS_MAX, "the quota was checked");
        }
        Ok(view)
    };
    Ok(Response::AccessKey(engine.directory().change(&caller.namespace.account, change).await?))
}

/// Changes the key of an id, or removes it: `make` says whether it stays.
async fn change<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    (user, id): (Option<String>, &str),
    make: impl Fn(&mut StoredKey) -> bool + Send + Sync,
) -> Result<Response, Fault> {
    let owner = owner(caller, user)?;
    let change = |draft: &mut Draft| {
        if !find(draft.account(), &owner)?.keys().iter().any(|key| key.id == id) {
            return Err(Fault::no_entity(messages::no_key(id)));
        }
        if let Some(keys) = keys_mut(find_mut(draft, &owner)?) {
            keys.retain_mut(|key| key.id != id || make(key));
        }
        Ok(())
    };
    engine.directory().change(&caller.namespace.account, change).await?;
    Ok(Response::Done)
}

pub(super) async fn delete<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    user: Option<String>,
    id: &str,
) -> Result<Response, Fault> {
    change(engine, caller, (user, id), |_key| false).await
}

pub(super) async fn update<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    user: Option<String>,
    (id, is_active): (&str, bool),
) -> Result<Response, Fault> {
    let set = |key: &mut StoredKey| {
        key.is_active = is_active;
        true
    };
    change(engine, caller, (user, id), set).await
}

pub(super) fn list(account: &Account, asked: &Asked, page: &Page) -> Result<Response, Fault> {
    let Asked::User(name) = asked else {
        return Ok(Response::AccessKeys(Paged { elements: Vec::new(), next: None }));
    };
    let entity = find(account, &Owner { kind: Kind::User, name: name.clone() })?;
    let keys = entity.keys().iter().map(|key| (key.id.clone(), shown(&entity.name, key)));
    Ok(Response::AccessKeys(paged(keys, page)))
}

/// When a key was used last, by a request to this process.
pub(super) fn last_used<S: Store>(
    engine: &Engine<S>,
    account: &Account,
    id: &str,
) -> Result<Response, Fault> {
    let found = engine.directory().key(id).filter(|(of, _)| of.id == account.id);
    let Some((_, user)) = found else { return Err(Fault::no_entity(messages::no_key(id))) };
    let last = engine.directory().last_use(id).map(|last| LastUse {
        at: time(last.at_ms),
        service: last.service.to_owned(),
        region: last.region,
    });
    Ok(Response::LastUsed { user: user.name.clone(), last })
}
