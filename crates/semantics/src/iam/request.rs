//! Typed requests, with the checks that need no stored entity. Sources: the public service model and the API
//! reference.

use std::collections::BTreeMap;

use super::Operation;
use super::fault::Fault;
use super::messages;
use super::names::{Kind, is_id, policy_arn, root_arn};
pub use super::reader::Page;
use super::reader::{Length, Reader};
use super::simulation::Simulation;
use crate::monitoring::document::Document;

const USER_NAME_MAX: usize = 64;
const GROUP_NAME_MAX: usize = 128;
const ROLE_NAME_MAX: usize = 64;
const POLICY_NAME_MAX: usize = 128;
const DESCRIPTION: Length = Length::of(0, 1000);
/// Seconds of the sessions that a role allows at most.
const ROLE_SECONDS: (i64, i64) = (3600, 43_200);

/// An entity that has policies, by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Its kind.
    pub kind: Kind,
    /// Its name as the client spells it.
    pub name: String,
}

/// The parts of CreateUser and CreateGroup, where boundary and tags are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntity {
    /// The name.
    pub name: String,
    /// The path.
    pub path: String,
    /// The ARN of the boundary.
    pub boundary: Option<String>,
    /// The tags.
    pub tags: BTreeMap<String, String>,
    /// The id, if the client gives one: ours, for files of users. Sessions are those of an id.
    pub id: Option<String>,
}

/// The parts of CreateRole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRole {
    /// What all entities have.
    pub entity: NewEntity,
    /// Who may take the role.
    pub trust: String,
    /// For people.
    pub description: String,
    /// Seconds of its sessions at most.
    pub session_seconds_max: u32,
}

/// The parts of CreatePolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPolicy {
    /// The name.
    pub name: String,
    /// The path.
    pub path: String,
    /// The policy.
    pub document: String,
    /// For people.
    pub description: String,
    /// The tags.
    pub tags: BTreeMap<String, String>,
}

/// Which managed policies are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyScope {
    /// All.
    All,
    /// Those that are built in.
    BuiltIn,
    /// Those of the account.
    Local,
}

/// For what a managed policy is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyUsage {
    /// As a policy.
    Permissions,
    /// As a boundary.
    Boundary,
}

/// The parts of ListPolicies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPolicies {
    /// Whose policies.
    pub scope: PolicyScope,
    /// Only those that are used.
    pub only_attached: bool,
    /// The beginning of their paths.
    pub path_prefix: String,
    /// Only those that are used for this.
    pub usage: Option<PolicyUsage>,
    /// The page.
    pub page: Page,
}

/// The parts of ListEntitiesForPolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntities {
    /// The policy.
    pub arn: String,
    /// Only entities of this kind.
    pub kind: Option<Kind>,
    /// The beginning of their paths.
    pub path_prefix: String,
    /// Only those that use the policy for this.
    pub usage: Option<PolicyUsage>,
    /// The page.
    pub page: Page,
}

/// The id and secret of a new access key that a client gives.
#[derive(Clone, PartialEq, Eq)]
pub struct GivenKey {
    /// The id.
    pub id: String,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for GivenKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("GivenKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the operation of its name; owners stand for three kinds")]
pub enum Request {
    AddUserToGroup {
        group: String,
        user: String,
    },
    Attach {
        owner: Owner,
        arn: String,
    },
    /// With an id and a secret that the client gives: ours, for files of users.
    CreateAccessKey {
        user: Option<String>,
        given: Option<GivenKey>,
    },
    CreateGroup(NewEntity),
    CreatePolicy(Box<NewPolicy>),
    CreatePolicyVersion {
        arn: String,
        document: String,
        is_default: bool,
    },
    CreateRole(Box<NewRole>),
    CreateUser(NewEntity),
    Delete(Owner),
    DeleteAccessKey {
        user: Option<String>,
        id: String,
    },
    DeleteBoundary(Owner),
    DeleteInline {
        owner: Owner,
        policy: String,
    },
    DeletePolicy {
        arn: String,
    },
    DeletePolicyVersion {
        arn: String,
        version: String,
    },
    Detach {
        owner: Owner,
        arn: String,
    },
    GetAccessKeyLastUsed {
        id: String,
    },
    GetGroup {
        group: String,
        page: Page,
    },
    GetInline {
        owner: Owner,
        policy: String,
    },
    GetPolicy {
        arn: String,
    },
    GetPolicyVersion {
        arn: String,
        version: String,
    },
    GetRole {
        role: String,
    },
    GetUser {
        user: Option<String>,
    },
    List {
        kind: Kind,
        path_prefix: String,
        page: Page,
    },
    ListAccessKeys {
        user: Option<String>,
        page: Page,
    },
    ListAttached {
        owner: Owner,
        path_prefix: String,
        page: Page,
    },
    ListEntitiesForPolicy(ListEntities),
    ListGroupsForUser {
        user: String,
        page: Page,
    },
    ListInline {
        owner: Owner,
        page: Page,
    },
    ListInstanceProfilesForRole {
        role: String,
    },
    ListPolicies(ListPolicies),
    ListPolicyVersions {
        arn: String,
        page: Page,
    },
    ListTags {
        owner: Owner,
        page: Page,
    },
    PutBoundary {
        owner: Owner,
        arn: String,
    },
    PutInline {
        owner: Owner,
        policy: String,
        document: String,
    },
    RemoveUserFromGroup {
        group: String,
        user: String,
    },
    Rename {
        owner: Owner,
        new_name: Option<String>,
        new_path: Option<String>,
    },
    SetDefaultPolicyVersion {
        arn: String,
        version: String,
    },
    Simulate(Box<Simulation>),
    Tag {
        owner: Owner,
        tags: BTreeMap<String, String>,
    },
    Untag {
        owner: Owner,
        keys: Vec<String>,
    },
    UpdateAccessKey {
        user: Option<String>,
        id: String,
        is_active: bool,
    },
    UpdateAssumeRolePolicy {
        role: String,
        document: String,
    },
    UpdateRole {
        role: String,
        description: Option<String>,
        session_seconds_max: Option<u32>,
    },
}

/// The members of a form that name entities.
impl Reader<'_> {
    fn user(&mut self) -> String {
        self.required_name("UserName", USER_NAME_MAX)
    }

    fn group(&mut self) -> String {
        self.required_name("GroupName", GROUP_NAME_MAX)
    }

    fn role(&mut self) -> String {
        self.required_name("RoleName", ROLE_NAME_MAX)
    }

    fn maybe_user(&mut self) -> Option<String> {
        self.name("UserName", USER_NAME_MAX)
    }

    fn owner(&mut self, kind: Kind) -> Owner {
        let name = match kind {
            Kind::User => self.user(),
            Kind::Group => self.group(),
            Kind::Role => self.role(),
        };
        Owner { kind, name }
    }

    fn policy(&mut self) -> String {
        self.required_name("PolicyName", POLICY_NAME_MAX)
    }

    fn policy_arn(&mut self) -> String {
        self.required_arn("PolicyArn")
    }

    fn entity(&mut self, kind: Kind) -> NewEntity {
        NewEntity {
            name: self.owner(kind).name,
            path: self.new_path(),
            boundary: self.arn("PermissionsBoundary"),
            tags: self.tags("Tags"),
            id: self.given_id(kind),
        }
    }

    /// The id that a client gives to a new user or role.
    fn given_id(&mut self, kind: Kind) -> Option<String> {
        let id = self.text(&format!("{}Id", kind.title()), Length::of(16, 128))?;
        if !is_id(kind, &id) {
            self.fail(messages::bad_id(kind));
        }
        Some(id)
    }

    fn seconds_max(&mut self) -> Option<u32> {
        self.integer("MaxSessionDuration", ROLE_SECONDS).and_then(|seconds| u32::try_from(seconds).ok())
    }

    fn version(&mut self) -> String {
        self.required_text("VersionId", Length::of(2, 64))
    }

    fn key_id(&mut self) -> String {
        self.required_text("AccessKeyId", Length::of(16, 128))
    }

    /// The key that a client gives; none unless it gives an id or a secret.
    fn given_key(&mut self) -> Option<GivenKey> {
        let is_given = ["AccessKeyId", "SecretAccessKey"].iter().any(|name| self.has(name));
        is_given.then(|| GivenKey { id: self.new_key_id(), secret: self.new_secret() })
    }

    fn new_key_id(&mut self) -> String {
        let id = self.key_id();
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.fail(messages::BAD_KEY_ID.to_owned());
        }
        id
    }

    fn new_secret(&mut self) -> String {
        self.required_secret("SecretAccessKey", Length::of(16, 128))
    }

    fn usage(&mut self) -> Option<PolicyUsage> {
        let word = self.word("PolicyUsageFilter", &["PermissionsPolicy", "PermissionsBoundary"])?;
        Some(if word == "PermissionsPolicy" { PolicyUsage::Permissions } else { PolicyUsage::Boundary })
    }

    fn new_role(&mut self) -> NewRole {
        NewRole {
            entity: self.entity(Kind::Role),
            trust: self.required_document("AssumeRolePolicyDocument"),
            description: self.text("Description", DESCRIPTION).unwrap_or_default(),
            session_seconds_max: self.seconds_max().unwrap_or(3600),
        }
    }

    fn new_policy(&mut self) -> NewPolicy {
        NewPolicy {
            name: self.policy(),
            path: self.new_path(),
            document: self.required_document("PolicyDocument"),
            description: self.text("Description", DESCRIPTION).unwrap_or_default(),
            tags: self.tags("Tags"),
        }
    }

    fn list_policies(&mut self) -> ListPolicies {
        ListPolicies {
            scope: match self.word("Scope", &["All", "AWS", "Local"]) {
                Some("AWS") => PolicyScope::BuiltIn,
                Some("Local") => PolicyScope::Local,
                _ => PolicyScope::All,
            },
            only_attached: self.bool("OnlyAttached").unwrap_or(false),
            path_prefix: self.path_prefix(),
            usage: self.usage(),
            page: self.page(),
        }
    }

    fn list_entities(&mut self) -> ListEntities {
        let filters = ["User", "Role", "Group", "LocalManagedPolicy", "AWSManagedPolicy"];
        ListEntities {
            arn: self.policy_arn(),
            kind: match self.word("EntityFilter", &filters) {
                Some("User") => Some(Kind::User),
                Some("Role") => Some(Kind::Role),
                Some("Group") => Some(Kind::Group),
                _ => None,
            },
            path_prefix: self.path_prefix(),
            usage: self.usage(),
            page: self.page(),
        }
    }

    fn put_inline(&mut self, kind: Kind) -> Request {
        let (owner, policy) = (self.owner(kind), self.policy());
        Request::PutInline { owner, policy, document: self.required_document("PolicyDocument") }
    }

    fn rename(&mut self, kind: Kind, (new_name, most): (&str, usize)) -> Request {
        let owner = self.owner(kind);
        Request::Rename { owner, new_name: self.name(new_name, most), new_path: self.path("NewPath") }
    }
}

impl Request {
    /// The typed request of a form.
    pub fn validate(operation: Operation, document: &Document) -> Result<Self, Fault> {
        let (request, checked) = Self::parts(operation, document);
        checked.map(|()| request)
    }

    /// What a form asks for, as far as it can be read, and what is wrong with it. With a fault the request is
    /// good for judging who may make it and nothing else.
    pub fn parts(operation: Operation, document: &Document) -> (Self, Result<(), Fault>) {
        let mut reader = Reader::new(document);
        let request = Self::read(operation, &mut reader);
        (request, reader.finish())
    }

    fn read(operation: Operation, reader: &mut Reader<'_>) -> Self {
        match operation {
            Operation::AddUserToGroup => Self::AddUserToGroup { group: reader.group(), user: reader.user() },
            Operation::RemoveUserFromGroup => {
                Self::RemoveUserFromGroup { group: reader.group(), user: reader.user() }
            }
            Operation::AttachGroupPolicy => Self::attach(Kind::Group, reader),
            Operation::AttachRolePolicy => Self::attach(Kind::Role, reader),
            Operation::AttachUserPolicy => Self::attach(Kind::User, reader),
            Operation::DetachGroupPolicy => Self::detach(Kind::Group, reader),
            Operation::DetachRolePolicy => Self::detach(Kind::Role, reader),
            Operation::DetachUserPolicy => Self::detach(Kind::User, reader),
            Operation::CreateGroup => Self::CreateGroup(reader.entity(Kind::Group)),
            Operation::CreateRole => Self::CreateRole(Box::new(reader.new_role())),
            Operation::CreateUser => Self::CreateUser(reader.entity(Kind::User)),
            Operation::DeleteGroup => Self::Delete(reader.owner(Kind::Group)),
            Operation::DeleteRole => Self::Delete(reader.owner(Kind::Role)),
            Operation::DeleteUser => Self::Delete(reader.owner(Kind::User)),
            Operation::DeleteRolePermissionsBoundary => Self::DeleteBoundary(reader.owner(Kind::Role)),
            Operation::DeleteUserPermissionsBoundary => Self::DeleteBoundary(reader.owner(Kind::User)),
            Operation::PutRolePermissionsBoundary => Self::put_boundary(Kind::Role, reader),
            Operation::PutUserPermissionsBoundary => Self::put_boundary(Kind::User, reader),
            Operation::DeleteGroupPolicy => Self::delete_inline(Kind::Group, reader),
            Operation::DeleteRolePolicy => Self::delete_inline(Kind::Role, reader),
            Operation::DeleteUserPolicy => Self::delete_inline(Kind::User, reader),
            Operation::GetGroupPolicy => Self::get_inline(Kind::Group, reader),
            Operation::GetRolePolicy => Self::get_inline(Kind::Role, reader),
            Operation::GetUserPolicy => Self::get_inline(Kind::User, reader),
            Operation::PutGroupPolicy => reader.put_inline(Kind::Group),
            Operation::PutRolePolicy => reader.put_inline(Kind::Role),
            Operation::PutUserPolicy => reader.put_inline(Kind::User),
            Operation::ListGroupPolicies => Self::list_inline(Kind::Group, reader),
            Operation::ListRolePolicies => Self::list_inline(Kind::Role, reader),
            Operation::ListUserPolicies => Self::list_inline(Kind::User, reader),
            Operation::ListAttachedGroupPolicies => Self::list_attached(Kind::Group, reader),
            Operation::ListAttachedRolePolicies => Self::list_attached(Kind::Role, reader),
            Operation::ListAttachedUserPolicies => Self::list_attached(Kind::User, reader),
            Operation::GetGroup => Self::GetGroup { group: reader.group(), page: reader.page() },
            Operation::GetRole => Self::GetRole { role: reader.role() },
            Operation::GetUser => Self::GetUser { user: reader.maybe_user() },
            Operation::ListGroups => Self::list(Kind::Group, reader),
            Operation::ListRoles => Self::list(Kind::Role, reader),
            Operation::ListUsers => Self::list(Kind::User, reader),
            Operation::ListGroupsForUser => {
                Self::ListGroupsForUser { user: reader.user(), page: reader.page() }
            }
            Operation::ListInstanceProfilesForRole => {
                Self::ListInstanceProfilesForRole { role: reader.role() }
            }
            Operation::ListRoleTags => Self::list_tags(Kind::Role, reader),
            Operation::ListUserTags => Self::list_tags(Kind::User, reader),
            Operation::TagRole => Self::tag(Kind::Role, reader),
            Operation::TagUser => Self::tag(Kind::User, reader),
            Operation::UntagRole => Self::untag(Kind::Role, reader),
            Operation::UntagUser => Self::untag(Kind::User, reader),
            Operation::UpdateGroup => reader.rename(Kind::Group, ("NewGroupName", GROUP_NAME_MAX)),
            Operation::UpdateUser => reader.rename(Kind::User, ("NewUserName", USER_NAME_MAX)),
            Operation::UpdateAssumeRolePolicy => Self::UpdateAssumeRolePolicy {
                role: reader.role(),
                document: reader.required_document("PolicyDocument"),
            },
            Operation::UpdateRole => Self::UpdateRole {
                role: reader.role(),
                description: reader.text("Description", DESCRIPTION),
                session_seconds_max: reader.seconds_max(),
            },
            Operation::CreateAccessKey => {
                Self::CreateAccessKey { user: reader.maybe_user(), given: reader.given_key() }
            }
            Operation::DeleteAccessKey => {
                Self::DeleteAccessKey { user: reader.maybe_user(), id: reader.key_id() }
            }
            Operation::GetAccessKeyLastUsed => Self::GetAccessKeyLastUsed { id: reader.key_id() },
            Operation::ListAccessKeys => {
                Self::ListAccessKeys { user: reader.maybe_user(), page: reader.page() }
            }
            Operation::UpdateAccessKey => Self::UpdateAccessKey {
                user: reader.maybe_user(),
                id: reader.key_id(),
                is_active: reader.required_word("Status", &["Active", "Inactive"]) == "Active",
            },
            Operation::SimulateCustomPolicy => Self::Simulate(Box::new(reader.simulation(None))),
            Operation::SimulatePrincipalPolicy => {
                Self::Simulate(Box::new(reader.simulation(Some("PolicySourceArn"))))
            }
            Operation::CreatePolicy
            | Operation::CreatePolicyVersion
            | Operation::DeletePolicy
            | Operation::DeletePolicyVersion
            | Operation::GetPolicy
            | Operation::GetPolicyVersion
            | Operation::ListEntitiesForPolicy
            | Operation::ListPolicies
            | Operation::ListPolicyVersions
            | Operation::SetDefaultPolicyVersion => Self::read_of_policy(operation, reader),
        }
    }

    /// A request on managed policies.
    fn read_of_policy(operation: Operation, reader: &mut Reader<'_>) -> Self {
        match operation {
            Operation::CreatePolicy => Self::CreatePolicy(Box::new(reader.new_policy())),
            Operation::CreatePolicyVersion => Self::CreatePolicyVersion {
                arn: reader.policy_arn(),
                document: reader.required_document("PolicyDocument"),
                is_default: reader.bool("SetAsDefault").unwrap_or(false),
            },
            Operation::DeletePolicy => Self::DeletePolicy { arn: reader.policy_arn() },
            Operation::DeletePolicyVersion => {
                Self::DeletePolicyVersion { arn: reader.policy_arn(), version: reader.version() }
            }
            Operation::GetPolicyVersion => {
                Self::GetPolicyVersion { arn: reader.policy_arn(), version: reader.version() }
            }
            Operation::ListEntitiesForPolicy => Self::ListEntitiesForPolicy(reader.list_entities()),
            Operation::ListPolicies => Self::ListPolicies(reader.list_policies()),
            Operation::ListPolicyVersions => {
                Self::ListPolicyVersions { arn: reader.policy_arn(), page: reader.page() }
            }
            Operation::SetDefaultPolicyVersion => {
                Self::SetDefaultPolicyVersion { arn: reader.policy_arn(), version: reader.version() }
            }
            _ => Self::GetPolicy { arn: reader.policy_arn() },
        }
    }

    fn attach(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::Attach { owner: reader.owner(kind), arn: reader.policy_arn() }
    }

    fn detach(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::Detach { owner: reader.owner(kind), arn: reader.policy_arn() }
    }

    fn put_boundary(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::PutBoundary { owner: reader.owner(kind), arn: reader.required_arn("PermissionsBoundary") }
    }

    fn delete_inline(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::DeleteInline { owner: reader.owner(kind), policy: reader.policy() }
    }

    fn get_inline(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::GetInline { owner: reader.owner(kind), policy: reader.policy() }
    }

    fn list_inline(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::ListInline { owner: reader.owner(kind), page: reader.page() }
    }

    fn list_attached(kind: Kind, reader: &mut Reader<'_>) -> Self {
        let (owner, path_prefix) = (reader.owner(kind), reader.path_prefix());
        Self::ListAttached { owner, path_prefix, page: reader.page() }
    }

    fn list(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::List { kind, path_prefix: reader.path_prefix(), page: reader.page() }
    }

    fn list_tags(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::ListTags { owner: reader.owner(kind), page: reader.page() }
    }

    fn tag(kind: Kind, reader: &mut Reader<'_>) -> Self {
        Self::Tag { owner: reader.owner(kind), tags: reader.tags("Tags") }
    }

    fn untag(kind: Kind, reader: &mut Reader<'_>) -> Self {
        let owner = reader.owner(kind);
        Self::Untag { owner, keys: reader.texts("TagKeys", Length::of(1, 128), super::reader::TAGS_MAX) }
    }

    /// The entity that the request is about, if it names one that may exist.
    pub fn owner(&self) -> Option<Owner> {
        let of = |kind, name: &String| Some(Owner { kind, name: name.clone() });
        match self {
            Self::Attach { owner, .. }
            | Self::Delete(owner)
            | Self::DeleteBoundary(owner)
            | Self::DeleteInline { owner, .. }
            | Self::Detach { owner, .. }
            | Self::GetInline { owner, .. }
            | Self::ListAttached { owner, .. }
            | Self::ListInline { owner, .. }
            | Self::ListTags { owner, .. }
            | Self::PutBoundary { owner, .. }
            | Self::PutInline { owner, .. }
            | Self::Rename { owner, .. }
            | Self::Tag { owner, .. }
            | Self::Untag { owner, .. } => Some(owner.clone()),
            Self::AddUserToGroup { group, .. }
            | Self::GetGroup { group, .. }
            | Self::RemoveUserFromGroup { group, .. } => of(Kind::Group, group),
            Self::CreateAccessKey { user, .. }
            | Self::DeleteAccessKey { user, .. }
            | Self::GetUser { user }
            | Self::ListAccessKeys { user, .. }
            | Self::UpdateAccessKey { user, .. } => user.as_ref().and_then(|user| of(Kind::User, user)),
            Self::GetRole { role }
            | Self::ListInstanceProfilesForRole { role }
            | Self::UpdateAssumeRolePolicy { role, .. }
            | Self::UpdateRole { role, .. } => of(Kind::Role, role),
            Self::ListGroupsForUser { user, .. } => of(Kind::User, user),
            Self::CreateGroup(_)
            | Self::CreatePolicy(_)
            | Self::CreatePolicyVersion { .. }
            | Self::CreateRole(_)
            | Self::CreateUser(_)
            | Self::DeletePolicy { .. }
            | Self::DeletePolicyVersion { .. }
            | Self::GetAccessKeyLastUsed { .. }
            | Self::GetPolicy { .. }
            | Self::GetPolicyVersion { .. }
            | Self::List { .. }
            | Self::ListEntitiesForPolicy(_)
            | Self::ListPolicies(_)
            | Self::ListPolicyVersions { .. }
            | Self::SetDefaultPolicyVersion { .. }
            | Self::Simulate(_) => None,
        }
    }

    /// Whether a request that names no user is about the caller.
    pub const fn is_about_user_of_key(&self) -> bool {
        matches!(
            self,
            Self::CreateAccessKey { .. }
                | Self::DeleteAccessKey { .. }
                | Self::GetUser { .. }
                | Self::ListAccessKeys { .. }
                | Self::UpdateAccessKey { .. }
        )
    }

    /// Whether it gives the id of a new user or role.
    pub fn gives_entity_id(&self) -> bool {
        match self {
            Self::CreateUser(new) => new.id.is_some(),
            Self::CreateRole(new) => new.entity.id.is_some(),
            _ => false,
        }
    }

    /// The boundary that the request gives.
    pub fn given_boundary(&self) -> Option<&String> {
        match self {
            Self::CreateUser(new) => new.boundary.as_ref(),
            Self::CreateRole(new) => new.entity.boundary.as_ref(),
            Self::PutBoundary { arn, .. } => Some(arn),
            _ => None,
        }
    }

    /// The managed policy that the request attaches or detaches.
    pub fn attached_policy(&self) -> Option<&String> {
        match self {
            Self::Attach { arn, .. } | Self::Detach { arn, .. } => Some(arn),
            _ => None,
        }
    }

    /// The tags that the request gives, and the keys of all that it names.
    pub fn given_tags(&self) -> (Vec<(String, String)>, Vec<String>) {
        let tags = match self {
            Self::CreateUser(new) => &new.tags,
            Self::CreateRole(new) => &new.entity.tags,
            Self::CreatePolicy(new) => &new.tags,
            Self::Tag { tags, .. } => tags,
            Self::Untag { keys, .. } => return (Vec::new(), keys.clone()),
            _ => return (Vec::new(), Vec::new()),
        };
        let pairs = tags.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        (pairs, tags.keys().cloned().collect())
    }

    /// What the request is about, as policies name it, for a caller of this account. Paths of entities that
    /// a request names are not known before they are looked up.
    pub fn resource(&self, account: &str) -> String {
        if let Some(owner) = self.owner() {
            return owner.kind.arn(account, "/", &owner.name);
        }
        match self {
            Self::CreateGroup(new) => Kind::Group.arn(account, &new.path, &new.name),
            Self::CreateUser(new) => Kind::User.arn(account, &new.path, &new.name),
            Self::CreateRole(new) => Kind::Role.arn(account, &new.entity.path, &new.entity.name),
            Self::CreatePolicy(new) => policy_arn(account, &new.path, &new.name),
            Self::CreatePolicyVersion { arn, .. }
            | Self::DeletePolicy { arn }
            | Self::DeletePolicyVersion { arn, .. }
            | Self::GetPolicy { arn }
            | Self::GetPolicyVersion { arn, .. }
            | Self::ListPolicyVersions { arn, .. }
            | Self::SetDefaultPolicyVersion { arn, .. } => arn.clone(),
            Self::ListEntitiesForPolicy(list) => list.arn.clone(),
            Self::List { kind, path_prefix, .. } => kind.arn(account, path_prefix, ""),
            Self::ListPolicies(list) => policy_arn(account, &list.path_prefix, ""),
            Self::GetAccessKeyLastUsed { .. } => "*".to_owned(),
            Self::Simulate(simulation) => simulation.source.clone().unwrap_or_else(|| "*".to_owned()),
            _ => root_arn(account),
        }
    }

    /// Whether executing it can write to the store.
    pub fn changes_something(&self) -> bool {
        !matches!(
            self,
            Self::GetAccessKeyLastUsed { .. }
                | Self::GetGroup { .. }
                | Self::GetInline { .. }
                | Self::GetPolicy { .. }
                | Self::GetPolicyVersion { .. }
                | Self::GetRole { .. }
                | Self::GetUser { .. }
                | Self::List { .. }
                | Self::ListAccessKeys { .. }
                | Self::ListAttached { .. }
                | Self::ListEntitiesForPolicy(_)
                | Self::ListGroupsForUser { .. }
                | Self::ListInline { .. }
                | Self::ListInstanceProfilesForRole { .. }
                | Self::ListPolicies(_)
                | Self::ListPolicyVersions { .. }
                | Self::ListTags { .. }
                | Self::Simulate(_)
        )
    }
}
