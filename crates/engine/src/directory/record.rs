//! Principals and managed policies as they are stored.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use keywright_semantics::iam::names::{Kind, policy_arn};
use serde::{Deserialize, Serialize};

/// The first byte of a row: its format.
const FORMAT: u8 = 1;

/// A user, a group or a role. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entity {
    pub name: String,
    /// Begins and ends with a slash.
    pub path: String,
    /// Never used again.
    pub id: String,
    pub created_ms: u64,
    /// The ARN of a managed policy.
    pub boundary: Option<String>,
    pub tags: BTreeMap<String, String>,
    /// Policies by their names.
    pub inline: BTreeMap<String, String>,
    /// ARNs of managed policies.
    pub attached: BTreeSet<String>,
    pub part: Part,
}

/// What only one kind has. Stored as its place in this list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Part {
    User { keys: Vec<StoredKey>, groups: BTreeSet<String> },
    Group,
    Role { trust: String, description: String, session_seconds_max: u32 },
}

/// An access key of a user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredKey {
    pub id: String,
    pub secret: String,
    pub is_active: bool,
    pub created_ms: u64,
}

impl std::fmt::Debug for StoredKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StoredKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A managed policy of an account. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManagedPolicy {
    pub name: String,
    pub path: String,
    pub id: String,
    pub created_ms: u64,
    pub updated_ms: u64,
    pub description: String,
    pub tags: BTreeMap<String, String>,
    pub versions: BTreeMap<u32, Version>,
    /// The version in force.
    pub default: u32,
    /// The number of the next version: numbers are not used again.
    pub next: u32,
}

/// A version of a managed policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub document: String,
    pub created_ms: u64,
}

impl Entity {
    pub(crate) const fn kind(&self) -> Kind {
        match self.part {
            Part::User { .. } => Kind::User,
            Part::Group => Kind::Group,
            Part::Role { .. } => Kind::Role,
        }
    }

    pub(crate) fn arn(&self, account: &str) -> String {
        self.kind().arn(account, &self.path, &self.name)
    }

    /// The access keys of a user.
    pub(crate) fn keys(&self) -> &[StoredKey] {
        match &self.part {
            Part::User { keys, .. } => keys,
            Part::Group | Part::Role { .. } => &[],
        }
    }

    /// The groups of a user, by their folded names.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &String> {
        match &self.part {
            Part::User { groups, .. } => Some(groups.iter()),
            Part::Group | Part::Role { .. } => None,
        }
        .into_iter()
        .flatten()
    }

    /// Characters of its inline policies, without blanks.
    pub(crate) fn inline_characters(&self) -> usize {
        self.inline.values().map(|document| characters(document)).sum()
    }
}

/// Characters of a policy, without blanks: what quotas count.
pub(crate) fn characters(document: &str) -> usize {
    document.chars().filter(|symbol| !symbol.is_whitespace()).count()
}

impl ManagedPolicy {
    pub(crate) fn arn(&self, account: &str) -> String {
        policy_arn(account, &self.path, &self.name)
    }

    /// The document in force.
    pub(crate) fn document(&self) -> Option<&str> {
        self.versions.get(&self.default).map(|version| version.document.as_str())
    }
}

pub(super) fn encode<T: Serialize>(record: &T) -> Bytes {
    let bytes = postcard::to_extend(record, vec![FORMAT]);
    bytes.expect("a record of owned values encodes into a vector").into()
}

pub(super) fn decode<'r, T: Deserialize<'r>>(row: &'r [u8]) -> Option<T> {
    row.strip_prefix(&[FORMAT]).and_then(|record| postcard::from_bytes(record).ok())
}
