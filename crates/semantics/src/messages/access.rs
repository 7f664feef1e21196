//! Messages about policies and denied requests.
//!
//! Sources: the service's answers to denied requests as quoted in public reports; a public catalogue of live
//! measurements of resource policies (2026); IAM's answers to malformed documents, as quoted in reports.

/// What kind of policy decided a denied request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyLayer {
    /// Policies of a user, its groups, or a role.
    Identity,
    /// The permissions boundary of a user or role.
    Boundary,
    /// Policies of one session.
    Session,
    /// The policy of a table or stream.
    Resource,
}

impl PolicyLayer {
    /// What the service calls it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Identity => "identity-based policy",
            Self::Boundary => "permissions boundary",
            Self::Session => "session policy",
            Self::Resource => "resource-based policy",
        }
    }

    const fn article(self) -> &'static str {
        match self {
            Self::Identity => "an",
            Self::Boundary | Self::Session | Self::Resource => "a",
        }
    }
}

/// A request that no policy of a kind allows.
pub fn not_allowed(principal: &str, action: &str, resource: &str, layer: PolicyLayer) -> String {
    format!(
        "User: {principal} is not authorized to perform: {action} on resource: {resource} because no {} allows \
         the {action} action",
        layer.words()
    )
}

/// A request that a policy of a kind denies.
pub fn denied(principal: &str, action: &str, resource: &str, layer: PolicyLayer) -> String {
    format!(
        "User: {principal} is not authorized to perform: {action} on resource: {resource} with an explicit deny \
         in {} {}",
        layer.article(),
        layer.words()
    )
}

/// A resource of another account, named to an operation that works within one.
pub const ONE_ACCOUNT_ONLY: &str =
    "This action is only supported by accounts that match the resource owner\u{2019}s account.";

/// Any fault of form in a document of IAM.
pub const SYNTAX: &str = "Syntax errors in policy.";
/// A statement without actions.
pub const NO_ACTIONS: &str = "Policy statement must contain actions.";
/// A statement without resources.
pub const NO_RESOURCES: &str = "Policy statement must contain resources.";
/// A policy of a user, group or role that names principals.
pub const PRINCIPAL_IN_IDENTITY_POLICY: &str = "Policy document should not specify a principal.";
/// Two statements with one id.
pub const SAME_SID: &str = "Statement IDs (SID) in a single policy must be unique.";
/// An action without the prefix of a service.
pub const ACTION_PREFIX: &str = "Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.";
/// A trust policy about something else than sessions.
pub const NOT_AN_ACTION_OF_STS: &str = "AssumeRole policy may only specify STS AssumeRole actions.";

/// A document of IAM that is too long.
pub fn document_too_long(characters_max: usize) -> String {
    format!("Cannot exceed quota for PolicySize: {characters_max}")
}

/// A member that a document of a kind does not have.
pub fn prohibited_member(member: &str) -> String {
    format!("Has prohibited field {member}")
}

/// A member that a statement needs.
pub fn missing_member(member: &str) -> String {
    format!("Missing required field {member}")
}

/// A resource that is no ARN.
pub fn not_an_arn(resource: &str) -> String {
    format!("Resource {resource} must be in ARN format or \"*\".")
}

/// A principal of a trust policy that does not exist or has no known form.
pub fn invalid_principal(principal: &str) -> String {
    format!("Invalid principal in policy: {principal}")
}

const INVALID_PARAMETERS: &str = "One or more parameter values were invalid: ";

/// A resource policy that is too long.
pub fn resource_policy_too_long(bytes_max: usize) -> String {
    format!("{INVALID_PARAMETERS}Maximum policy size of {bytes_max} bytes exceeded")
}

/// A principal of a resource policy that does not exist or has no known form.
pub const INVALID_PRINCIPAL_OF_RESOURCE: &str =
    "One or more parameter values were invalid: Invalid principal in policy document.";

/// A resource policy that is no document, with the reason.
pub fn invalid_document(detail: &str) -> String {
    format!("{INVALID_PARAMETERS}Invalid policy document: {detail}")
}

/// A resource policy that is not JSON.
pub const INVALID_JSON: &str = "This policy contains invalid Json";
/// A resource policy that is `null`.
pub const NOT_A_POLICY: &str = "This text appears not to be a policy";
/// A resource policy of the wrong form. The position is that of the first member for every fault.
pub const SYNTAX_AT_START: &str = "Syntax error at position (1,3)";
/// A resource policy without statements.
pub const EMPTY_STATEMENT: &str = "Could not parse the policy: Statement is empty!";
/// Two statements of a resource policy with one id.
pub const SAME_SID_OF_RESOURCE: &str = "The Statement Ids in the policy are not unique";

/// Actions that a resource policy cannot name.
pub fn invalid_actions(actions: &[String]) -> String {
    let quoted: Vec<String> = actions.iter().map(|action| format!("\"{action}\"")).collect();
    format!("The following action names are invalid: {}", quoted.join(", "))
}

/// A resource of a resource policy that it cannot name.
pub fn invalid_relative_id(id: &str, arn: &str) -> String {
    format!("The relative-id \"{id}\" is invalid for ARN \"{arn}\"")
}

/// A resource policy that lets everyone in.
pub const PUBLIC: &str = "Resource-based policy grants unbounded access in one or more elements. Please revise \
    the policy to ensure least-privilege form of access";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_request_names_caller_action_resource_and_kind_of_policy() {
        let table = "arn:aws:dynamodb:us-east-1:123456789012:table/T";
        let user = "arn:aws:iam::123456789012:user/Ann";
        assert_eq!(
            not_allowed(user, "dynamodb:GetItem", table, PolicyLayer::Identity),
            format!(
                "User: {user} is not authorized to perform: dynamodb:GetItem on resource: {table} because no \
                 identity-based policy allows the dynamodb:GetItem action"
            )
        );
        assert!(denied(user, "a", "r", PolicyLayer::Identity).ends_with("in an identity-based policy"));
        assert!(denied(user, "a", "r", PolicyLayer::Boundary).ends_with("in a permissions boundary"));
    }
}
