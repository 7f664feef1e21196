//! The texts of IAM and STS. Sources: the services' answers as public bug reports and emulators' recorded
//! tests quote them; what has no record is ours and in the same form.

use crate::iam::names::Kind;

/// A user, group or role that does not exist.
pub fn no_entity(kind: Kind, name: &str) -> String {
    format!("The {} with name {name} cannot be found.", kind.word())
}

/// A new name that is taken.
pub fn exists(kind: Kind, name: &str) -> String {
    format!("{} with name {name} already exists.", kind.title())
}

/// An inline policy that does not exist.
pub fn no_inline(kind: Kind, policy: &str) -> String {
    format!("The {} policy with name {policy} cannot be found.", kind.word())
}

/// A managed policy that does not exist.
pub fn no_policy(arn: &str) -> String {
    format!("Policy {arn} was not found.")
}

/// A managed policy that is to be attached and does not exist.
pub fn not_attachable(arn: &str) -> String {
    format!("Policy {arn} does not exist or is not attachable.")
}

/// A policy that is to be detached and is not attached.
pub fn not_attached(arn: &str) -> String {
    format!("Policy {arn} was not found.")
}

/// A version that does not exist.
pub fn no_version(arn: &str, version: &str) -> String {
    format!("Policy {arn} version {version} does not exist or is not attachable.")
}

/// The name of a new managed policy is taken.
pub fn policy_exists(name: &str) -> String {
    format!("A policy called {name} already exists. Duplicate names are not allowed.")
}

/// An access key that does not exist.
pub fn no_key(id: &str) -> String {
    format!("The Access Key with id {id} cannot be found.")
}

/// A user that is not in the group.
pub fn not_member(user: &str, group: &str) -> String {
    format!("The user with name {user} is not in the group with name {group}.")
}

/// An entity without a boundary.
pub fn no_boundary(kind: Kind, name: &str) -> String {
    format!("{} {name} does not have a permissions boundary.", kind.title())
}

/// A quota of the account or an entity.
pub fn quota(name: &str, most: usize) -> String {
    format!("Cannot exceed quota for {name}: {most}")
}

/// The inline policies of an entity are too large together.
pub fn inline_too_large(kind: Kind, name: &str, most: usize) -> String {
    format!("Maximum policy size of {most} bytes exceeded for {} {name}", kind.word())
}

/// A managed policy has all its versions.
pub fn versions(most: usize) -> String {
    format!(
        "A managed policy can have up to {most} versions. Before you create a new version, you must delete an \
         existing version."
    )
}

/// What must be removed before an entity is deleted.
pub const KEYS_FIRST: &str = "Cannot delete entity, must delete access keys first.";
/// The same of inline policies.
pub const INLINE_FIRST: &str = "Cannot delete entity, must delete policies first.";
/// The same of attached policies.
pub const ATTACHED_FIRST: &str = "Cannot delete entity, must detach all policies first.";
/// The same of a user's groups and a group's users.
pub const MEMBERS_FIRST: &str = "Cannot delete entity, must remove users from group first.";
/// A policy that is attached or a boundary.
pub const POLICY_ATTACHED: &str = "Cannot delete a policy attached to entities.";
/// A policy with further versions.
pub const VERSIONS_FIRST: &str = "This policy has more than one version. Before you delete a policy, you must delete the policy's \
     versions. The default version is deleted with the policy.";
/// The default version is to be deleted.
pub const DEFAULT_VERSION: &str = "Cannot delete the default version of a policy.";
/// A built-in policy is to be changed.
pub const BUILT_IN: &str = "Cannot change a policy that belongs to the service.";
/// A root key asks for keys of its own.
pub const ROOT_KEYS: &str =
    "Keys of the account itself are in the server's credentials file. Name a user with UserName.";
/// A session asks for what belongs to a user.
pub const NO_USER: &str = "Must specify userName when calling with non-User credentials";
/// An id of an access key that a client gives has other characters.
pub const BAD_KEY_ID: &str =
    "The specified value for accessKeyId is invalid. It must contain only letters, digits and underscores.";

/// A secret that a client gives is too short or too long.
pub fn secret_length(least: usize, most: usize) -> String {
    format!("The specified value for secretAccessKey is invalid. It must have {least} to {most} characters.")
}

/// An id that a client gives to a new entity has another form.
pub fn bad_id(kind: Kind) -> String {
    let (word, prefix) = (kind.word(), kind.id_prefix());
    format!(
        "The specified value for {word}Id is invalid. It must begin with {prefix} and contain only capital letters and digits."
    )
}

/// A client gives the id of a new user or role.
pub const ID_AT_START: &str = "The id of a user or role can only be given by the access file of a server that \
    starts: an id is what trust policies and sessions mean. Leave out UserId or RoleId, or the id in the file.";

/// The id of a new entity that another one has.
pub fn id_exists(id: &str) -> String {
    format!("An entity with the id {id} already exists.")
}

/// The id of a new access key that is taken.
pub fn key_exists(id: &str) -> String {
    format!("The Access Key with id {id} already exists.")
}

/// The ARN of a simulation's caller is none of a user, or its source none of a user, group or role.
pub fn not_simulated(arn: &str) -> String {
    format!("Invalid Entity Arn: {arn} does not clearly define entity type and name.")
}

/// A simulation with a resource's policy names nobody who asks.
pub const CALLER_REQUIRED: &str =
    "CallerArn is required when a ResourcePolicy is specified and no user is simulated.";
/// A text that is no JSON.
pub const NOT_JSON: &str = "Syntax errors in policy.";
/// A tag key that occurs twice.
pub const DUPLICATE_TAGS: &str = "Duplicate tag keys found. Please note that Tag keys are case insensitive.";
/// Another request changes the same account all the time.
pub const BUSY: &str = "Another request changes the principals of this account. Try again.";
/// The store failed.
pub const FAILED: &str =
    "The request processing has failed because of an unknown error, exception or failure.";
/// A session that is to have another source identity than its caller's.
pub const OTHER_SOURCE_IDENTITY: &str = "The source identity of a session cannot be changed.";
/// The session's policies are too large.
pub const PACKED: &str =
    "Packed size of session policies or tags consumes more than 100% of the allotted space.";

/// A name with characters that no name has.
pub fn bad_name(path: &str) -> String {
    format!(
        "The specified value for {path} is invalid. It must contain only alphanumeric characters and/or the \
         following: +=,.@_-"
    )
}

/// A path that does not begin and end with a slash.
pub fn bad_path(path: &str) -> String {
    format!(
        "The specified value for {path} is invalid. It must begin and end with / and contain only alphanumeric \
         characters and/or / characters."
    )
}

/// A text that is no ARN.
pub fn bad_arn(arn: &str) -> String {
    format!("Invalid ARN:  {arn}")
}

/// A policy with a character that no policy has.
pub fn bad_characters(path: &str) -> String {
    format!(
        "The specified value for {path} is invalid. It must contain only printable ASCII characters, and the \
         characters of Latin-1, tab, line feed and carriage return."
    )
}

/// An operation that is not served.
pub fn unknown_action(name: &str, version: &str) -> String {
    format!("Could not find operation {name} for version {version}")
}

/// A request without an operation.
pub const MISSING_ACTION: &str = "Missing Action";
/// A form that is too large to be read.
pub const FORM_TOO_LARGE: &str = "The form has too many fields.";

/// A caller without the right to do this. `reason` ends the sentence.
pub fn denied(caller: &str, action: &str, resource: &str, reason: &str) -> String {
    format!("User: {caller} is not authorized to perform: {action} on resource: {resource}{reason}")
}

/// The end of [`denied`] for a caller whose policies do not allow the action.
pub fn no_identity_policy(action: &str) -> String {
    format!(" because no identity-based policy allows the {action} action")
}

/// A session that a role does not allow for so long.
pub const TOO_LONG_FOR_ROLE: &str =
    "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.";
/// A role that another role's session takes.
pub const TOO_LONG_FOR_CHAIN: &str =
    "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.";
/// A root key takes a role, or a session asks for a session.
pub const ROOT_TAKES_ROLE: &str = "Roles may not be assumed by root accounts.";
/// A session asks for a session token.
pub const SESSION_OF_SESSION: &str = "Cannot call GetSessionToken with session credentials";

/// What an open server says, whose signatures nobody verifies.
pub const NOT_SERVED: &str = "This server judges nobody: it has no users and policies until it is started with \
                              --credentials FILE or --access FILE.";
