//! What IAM means here: its operations, typed requests, names and ARNs, faults and responses.
//!
//! It does not know how policies are judged, stored principals or clocks.

pub mod fault;
pub mod messages;
pub mod names;
pub(crate) mod reader;
pub mod request;
pub mod response;
pub mod simulation;

use crate::operation::named;

named! {
    /// The operations that are served.
    AddUserToGroup,
    AttachGroupPolicy,
    AttachRolePolicy,
    AttachUserPolicy,
    CreateAccessKey,
    CreateGroup,
    CreatePolicy,
    CreatePolicyVersion,
    CreateRole,
    CreateUser,
    DeleteAccessKey,
    DeleteGroup,
    DeleteGroupPolicy,
    DeletePolicy,
    DeletePolicyVersion,
    DeleteRole,
    DeleteRolePermissionsBoundary,
    DeleteRolePolicy,
    DeleteUser,
    DeleteUserPermissionsBoundary,
    DeleteUserPolicy,
    DetachGroupPolicy,
    DetachRolePolicy,
    DetachUserPolicy,
    GetAccessKeyLastUsed,
    GetGroup,
    GetGroupPolicy,
    GetPolicy,
    GetPolicyVersion,
    GetRole,
    GetRolePolicy,
    GetUser,
    GetUserPolicy,
    ListAccessKeys,
    ListAttachedGroupPolicies,
    ListAttachedRolePolicies,
    ListAttachedUserPolicies,
    ListEntitiesForPolicy,
    ListGroupPolicies,
    ListGroups,
    ListGroupsForUser,
    ListInstanceProfilesForRole,
    ListPolicies,
    ListPolicyVersions,
    ListRolePolicies,
    ListRoleTags,
    ListRoles,
    ListUserPolicies,
    ListUserTags,
    ListUsers,
    PutGroupPolicy,
    PutRolePermissionsBoundary,
    PutRolePolicy,
    PutUserPermissionsBoundary,
    PutUserPolicy,
    RemoveUserFromGroup,
    SetDefaultPolicyVersion,
    SimulateCustomPolicy,
    SimulatePrincipalPolicy,
    TagRole,
    TagUser,
    UntagRole,
    UntagUser,
    UpdateAccessKey,
    UpdateAssumeRolePolicy,
    UpdateGroup,
    UpdateRole,
    UpdateUser,
}

impl Operation {
    /// Whether it never changes anything.
    pub fn only_reads(self) -> bool {
        let name = self.name();
        ["Get", "List", "Simulate"].iter().any(|prefix| name.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests;
