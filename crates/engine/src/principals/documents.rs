//! Which texts may be stored as policies.

use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::messages;

use super::quotas::{MANAGED_CHARACTERS_MAX, TRUST_CHARACTERS_MAX};
use crate::directory::characters;

/// Checks a policy of a user, group or role, inline or managed.
pub(super) fn check_identity(document: &str) -> Result<(), Fault> {
    check(document)
}

/// Checks a managed policy.
pub(super) fn check_managed(document: &str) -> Result<(), Fault> {
    if characters(document) > MANAGED_CHARACTERS_MAX {
        return Err(Fault::limit(messages::quota("PolicySize", MANAGED_CHARACTERS_MAX)));
    }
    check(document)
}

/// Checks the policy that says who may take a role.
pub(super) fn check_trust(document: &str) -> Result<(), Fault> {
    if characters(document) > TRUST_CHARACTERS_MAX {
        return Err(Fault::limit(messages::quota("ACLSizePerRole", TRUST_CHARACTERS_MAX)));
    }
    check(document)
}

fn check(document: &str) -> Result<(), Fault> {
    let is_object = document.trim_start().starts_with('{');
    if is_object { Ok(()) } else { Err(Fault::malformed(messages::NOT_JSON)) }
}
