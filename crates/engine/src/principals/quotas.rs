//! How many principals and policies an account may have, and how large policies may be. Source: the IAM
//! quotas of the user guide.

use keywright_semantics::iam::names::Kind;

/// Managed policies attached to one entity.
pub(super) const ATTACHED_MAX: usize = 10;
/// Groups of one user.
pub(super) const GROUPS_MAX: usize = 10;
/// Access keys of one user.
pub(super) const KEYS_MAX: usize = 2;
/// Managed policies of an account.
pub(super) const POLICIES_MAX: usize = 1500;
/// Versions of a managed policy.
pub(super) const VERSIONS_MAX: usize = 5;
/// Characters of a managed policy, without blanks.
pub(super) const MANAGED_CHARACTERS_MAX: usize = 6144;
/// Characters of the policy that says who may take a role, without blanks.
pub(super) const TRUST_CHARACTERS_MAX: usize = 2048;
/// Tags of an entity or policy.
pub(super) const TAGS_OF_ENTITY_MAX: usize = 50;

/// Entities of a kind in one account.
pub(super) const fn entities_max(kind: Kind) -> usize {
    match kind {
        Kind::User => 5000,
        Kind::Group => 300,
        Kind::Role => 1000,
    }
}

/// Characters of all inline policies of an entity, without blanks.
pub(super) const fn inline_characters_max(kind: Kind) -> usize {
    match kind {
        Kind::User => 2048,
        Kind::Group => 5120,
        Kind::Role => 10_240,
    }
}
