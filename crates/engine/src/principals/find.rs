//! Entities and policies that a request names, or the fault that they do not exist.

use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::messages;
use keywright_semantics::iam::names::{IamArn, Kind, folded};
use keywright_semantics::iam::request::Owner;

use super::built_in;
use crate::directory::{Account, Draft, Entity};

/// An entity that must exist.
pub(super) fn find<'a>(account: &'a Account, owner: &Owner) -> Result<&'a Entity, Fault> {
    let found = account.entity(owner.kind, &owner.name).map(|entity| &**entity);
    let found = found.ok_or_else(|| missing(owner.kind, &owner.name))?;
    assert_eq!(folded(&found.name), folded(&owner.name), "an entity stands under its name");
    Ok(found)
}

/// An entity to change, which must exist.
pub(super) fn find_mut<'d>(draft: &'d mut Draft, owner: &Owner) -> Result<&'d mut Entity, Fault> {
    draft.entity_mut(owner.kind, &owner.name).ok_or_else(|| missing(owner.kind, &owner.name))
}

fn missing(kind: Kind, name: &str) -> Fault {
    Fault::no_entity(messages::no_entity(kind, name))
}

/// Refuses the ARN of a managed policy that does not exist.
pub(super) fn check_attachable(account: &Account, arn: &str) -> Result<(), Fault> {
    if account.policy(arn).is_some() || built_in::find(arn).is_some() {
        return Ok(());
    }
    if IamArn::parse(arn).is_none() {
        return Err(Fault::validation(messages::bad_arn(arn)));
    }
    Err(Fault::no_entity(messages::not_attachable(arn)))
}
