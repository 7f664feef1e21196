//! Which texts may be stored as policies.

use keywright_access::document::{Document, PolicyKind};
use keywright_semantics::iam::fault::Fault;
use keywright_semantics::iam::messages;

use super::quotas::{MANAGED_CHARACTERS_MAX, TRUST_CHARACTERS_MAX};
use crate::directory::characters;

/// Checks an inline policy of a user, group or role.
pub(super) fn check_identity(document: &str) -> Result<(), Fault> {
    check(document, PolicyKind::Identity)
}

/// Checks a managed policy.
pub(super) fn check_managed(document: &str) -> Result<(), Fault> {
    if characters(document) > MANAGED_CHARACTERS_MAX {
        return Err(Fault::limit(messages::quota("PolicySize", MANAGED_CHARACTERS_MAX)));
    }
    check(document, PolicyKind::Identity)
}

/// Checks the policy that says who may take a role.
pub(super) fn check_trust(document: &str) -> Result<(), Fault> {
    if characters(document) > TRUST_CHARACTERS_MAX {
        return Err(Fault::limit(messages::quota("ACLSizePerRole", TRUST_CHARACTERS_MAX)));
    }
    check(document, PolicyKind::Trust)
}

fn check(document: &str, kind: PolicyKind) -> Result<(), Fault> {
    Document::parse(document, kind).map(drop).map_err(|fault| Fault::malformed(fault.message(kind)))
}
