//! Files of users: users, groups, roles and policies of one account as JSON, for version control, tests and
//! CI.
//!
//! - `read`: texts to files, or what is wrong where; `write`: the other way; `check`: what a file names and
//!   does not have.
//! - `plan`: the calls of IAM that make an account as a file says; `left`: what they leave; `outcome`: what
//!   the account has after each; `lockout`: whether they take away the rights of the one who makes them.
//! - `bound`: the policies that bind a user, role or group.
//!
//! It reads no secrets, and does not know servers.

mod bound;
mod check;
mod document;
mod left;
mod lockout;
mod outcome;
mod plan;
mod read;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::iam::names::{Kind, folded, policy_arn};

pub use bound::{Bound, BuiltIn, UnknownPolicy};
pub use check::{FileFinding, FileRule, check};
pub use document::PolicyDocument;
pub use left::left;
pub use lockout::{Caller, Lockout, Loss, locks_out};
pub use plan::{PlanFault, Prune, Step, plan};
pub use read::FileFault;

/// A file of users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessFile {
    /// The account that it is for; none if it is for any.
    pub account: Option<String>,
    /// Whom and what it has.
    pub principals: Principals,
}

/// Users, groups, roles and policies of an account.
///
/// Invariant: keys of the maps are folded names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principals {
    /// Managed policies.
    pub policies: BTreeMap<String, ManagedPolicy>,
    /// Users, groups and roles.
    pub entities: BTreeMap<(Kind, String), Entity>,
}

/// A managed policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedPolicy {
    /// The name.
    pub name: String,
    /// The path; none for `/`, or for that which it has.
    pub path: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// The document in force.
    pub document: PolicyDocument,
    /// Ids of its other versions, the oldest first; none in files.
    pub versions: Vec<String>,
}

/// A user, group or role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The kind.
    pub kind: Kind,
    /// The name.
    pub name: String,
    /// The path; none for `/`, or for that which it has.
    pub path: Option<String>,
    /// The id, by which sessions know it; none for one that is made up.
    pub id: Option<String>,
    /// Inline policies by their names.
    pub inline: BTreeMap<String, PolicyDocument>,
    /// Managed policies: ARNs, or names of policies of the file.
    pub attached: BTreeSet<String>,
    /// The boundary: an ARN, or the name of a policy of the file.
    pub boundary: Option<String>,
    /// Tags.
    pub tags: BTreeMap<String, String>,
    /// The groups of a user.
    pub groups: BTreeSet<String>,
    /// The access keys of a user by their ids.
    pub keys: BTreeMap<String, AccessKey>,
    /// Who may take a role. Every role has one.
    pub trust: Option<PolicyDocument>,
    /// For people; of a role.
    pub description: Option<String>,
    /// Seconds of a role's sessions at most.
    pub session_seconds_max: Option<u32>,
}

/// An access key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessKey {
    /// Whether it may be used.
    pub is_active: bool,
    /// Where its secret is; none if the account has the key already.
    pub secret: Option<Secret>,
}

/// Where a secret is.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// In a file.
    File(String),
    /// In an environment variable.
    Variable(String),
    /// Here, readable by everyone who has the file.
    PlainText(String),
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "File({path:?})"),
            Self::Variable(name) => write!(formatter, "Variable({name:?})"),
            Self::PlainText(_) => formatter.write_str("PlainText"),
        }
    }
}

impl Entity {
    /// One that has nothing.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            path: None,
            id: None,
            inline: BTreeMap::new(),
            attached: BTreeSet::new(),
            boundary: None,
            tags: BTreeMap::new(),
            groups: BTreeSet::new(),
            keys: BTreeMap::new(),
            trust: None,
            description: None,
            session_seconds_max: None,
        }
    }
}

impl Principals {
    /// Adds an entity; whether its name was free.
    pub fn insert(&mut self, entity: Entity) -> bool {
        self.entities.insert((entity.kind, folded(&entity.name)), entity).is_none()
    }

    /// Adds a policy; whether its name was free.
    pub fn insert_policy(&mut self, policy: ManagedPolicy) -> bool {
        self.policies.insert(folded(&policy.name), policy).is_none()
    }

    /// The entity of a name.
    pub fn entity(&self, kind: Kind, name: &str) -> Option<&Entity> {
        self.entities.get(&(kind, folded(name)))
    }

    /// The ARN of a policy by its ARN or, if the file has it, by its name.
    pub fn policy_arn(&self, account: &str, named: &str) -> String {
        match self.policies.get(&folded(named)) {
            Some(policy) => policy.arn(account),
            None => named.to_owned(),
        }
    }
}

impl ManagedPolicy {
    /// The ARN in an account.
    pub fn arn(&self, account: &str) -> String {
        policy_arn(account, self.path.as_deref().unwrap_or("/"), &self.name)
    }
}
