//! Responses of all operations, and the documents that the protocol writes.

use super::names::{Kind, SERVICE_ACCOUNT};
use super::simulation::Evaluation;
use crate::monitoring::document::{Document, TimeMs};

/// A user, group or role as a response shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityView {
    /// Its kind.
    pub kind: Kind,
    /// Its name; empty for the account itself.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Its id, which is never used again.
    pub id: String,
    /// Its ARN.
    pub arn: String,
    /// When it was made.
    pub created: TimeMs,
    /// What lists leave out.
    pub details: Option<Box<Details>>,
    /// What only roles have.
    pub role: Option<Box<RolePart>>,
}

/// What lists of entities leave out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The ARN of the boundary.
    pub boundary: Option<String>,
    /// The tags.
    pub tags: Vec<(String, String)>,
}

/// What only roles have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolePart {
    /// Who may take it.
    pub trust: String,
    /// For people.
    pub description: String,
    /// Seconds of its sessions at most.
    pub session_seconds_max: u32,
}

/// A managed policy as a response shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyView {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// Its ARN.
    pub arn: String,
    /// Its path.
    pub path: String,
    /// The version in force.
    pub default_version: String,
    /// Entities that it is attached to.
    pub attachments: usize,
    /// Entities whose boundary it is.
    pub boundaries: usize,
    /// For people; lists leave it out.
    pub description: String,
    /// When it was made.
    pub created: TimeMs,
    /// When its versions changed last.
    pub updated: TimeMs,
    /// The tags; lists leave them out.
    pub tags: Vec<(String, String)>,
}

/// A version of a managed policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionView {
    /// `v1` and so on.
    pub id: String,
    /// Whether it is in force.
    pub is_default: bool,
    /// When it was made.
    pub created: TimeMs,
    /// The policy; lists leave it out.
    pub document: Option<String>,
}

/// An access key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyView {
    /// Whose it is.
    pub user: String,
    /// Its id.
    pub id: String,
    /// Whether it may be used.
    pub is_active: bool,
    /// When it was made.
    pub created: TimeMs,
    /// The secret, only where the key was made.
    pub secret: Option<String>,
}

/// When and where an access key was used last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// When.
    pub at: TimeMs,
    /// For which service.
    pub service: String,
    /// In which region.
    pub region: String,
}

/// Elements of a list, and the marker of the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paged<T> {
    /// The elements.
    pub elements: Vec<T>,
    /// The marker of the next page.
    pub next: Option<String>,
}

/// The response of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant shows what its name says")]
pub enum Response {
    /// Nothing to show.
    Done,
    AccessKey(KeyView),
    AccessKeys(Paged<KeyView>),
    AttachedPolicies(Paged<(String, String)>),
    Entities {
        kind: Kind,
        page: Paged<EntityView>,
    },
    EntitiesOfPolicy(Paged<EntityView>),
    Entity(EntityView),
    GroupWithUsers {
        group: EntityView,
        users: Paged<EntityView>,
    },
    InlinePolicies(Paged<String>),
    InlinePolicy {
        kind: Kind,
        owner: String,
        policy: String,
        document: String,
    },
    InstanceProfiles,
    LastUsed {
        user: String,
        last: Option<LastUse>,
    },
    ManagedPolicies(Paged<PolicyView>),
    ManagedPolicy(PolicyView),
    Simulated(Paged<Evaluation>),
    Tags(Paged<(String, String)>),
    /// An empty result.
    Updated,
    Version(VersionView),
    Versions(Paged<VersionView>),
}

/// A document in the form that IAM returns it: percent-encoded.
fn encoded(document: &str) -> Document {
    let mut out = String::with_capacity(document.len() * 2);
    for byte in document.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 0xf] {
                out.extend(char::from_digit(digit.into(), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    assert!(out.is_ascii(), "what is encoded is printable ASCII");
    Document::Text(out)
}

fn count(number: usize) -> Document {
    Document::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn tags(tags: &[(String, String)]) -> Document {
    if tags.is_empty() {
        return Document::Null;
    }
    Document::List(tags.iter().map(tag).collect())
}

fn tag((key, value): &(String, String)) -> Document {
    Document::object([("Key", Document::text(key)), ("Value", Document::text(value))])
}

/// A text that is left out if it is empty.
fn filled(text: &str) -> Document {
    if text.is_empty() { Document::Null } else { Document::text(text) }
}

impl EntityView {
    fn document(&self) -> Document {
        let details = self.details.as_deref();
        let boundary = details.and_then(|details| details.boundary.as_ref());
        let name = format!("{}Name", self.kind.title());
        let id = format!("{}Id", self.kind.title());
        let role = self.role.as_deref();
        Document::object([
            ("Path", filled(&self.path)),
            (&name, filled(&self.name)),
            (&id, Document::text(&self.id)),
            ("Arn", Document::text(&self.arn)),
            ("CreateDate", Document::Time(self.created)),
            ("AssumeRolePolicyDocument", Document::maybe(role, |role| encoded(&role.trust))),
            ("Description", Document::maybe(role, |role| filled(&role.description))),
            (
                "MaxSessionDuration",
                Document::maybe(role, |role| Document::Integer(role.session_seconds_max.into())),
            ),
            (
                "PermissionsBoundary",
                Document::maybe(boundary, |arn| {
                    Document::object([
                        ("PermissionsBoundaryType", Document::text("Policy")),
                        ("PermissionsBoundaryArn", Document::text(arn)),
                    ])
                }),
            ),
            ("Tags", Document::maybe(details, |details| tags(&details.tags))),
        ])
    }
}

impl PolicyView {
    fn document(&self) -> Document {
        Document::object([
            ("PolicyName", Document::text(&self.name)),
            ("PolicyId", Document::text(&self.id)),
            ("Arn", Document::text(&self.arn)),
            ("Path", Document::text(&self.path)),
            ("DefaultVersionId", Document::text(&self.default_version)),
            ("AttachmentCount", count(self.attachments)),
            ("PermissionsBoundaryUsageCount", count(self.boundaries)),
            ("IsAttachable", Document::Bool(true)),
            ("Description", filled(&self.description)),
            ("CreateDate", Document::Time(self.created)),
            ("UpdateDate", Document::Time(self.updated)),
            ("Tags", tags(&self.tags)),
        ])
    }

    /// Whether it is built in.
    pub fn is_built_in(&self) -> bool {
        self.arn.split(':').nth(4) == Some(SERVICE_ACCOUNT)
    }
}

impl VersionView {
    fn document(&self) -> Document {
        Document::object([
            ("Document", Document::maybe(self.document.as_deref(), encoded)),
            ("VersionId", Document::text(&self.id)),
            ("IsDefaultVersion", Document::Bool(self.is_default)),
            ("CreateDate", Document::Time(self.created)),
        ])
    }
}

impl KeyView {
    fn document(&self) -> Document {
        Document::object([
            ("UserName", Document::text(&self.user)),
            ("AccessKeyId", Document::text(&self.id)),
            ("Status", Document::text(if self.is_active { "Active" } else { "Inactive" })),
            ("SecretAccessKey", Document::maybe(self.secret.as_ref(), Document::text)),
            ("CreateDate", Document::Time(self.created)),
        ])
    }
}

fn paged<T>(name: &str, page: &Paged<T>, show: impl Fn(&T) -> Document) -> Document {
    Document::object([
        (name, Document::List(page.elements.iter().map(show).collect())),
        ("IsTruncated", Document::Bool(page.next.is_some())),
        ("Marker", Document::maybe(page.next.as_ref(), Document::text)),
    ])
}

/// The users, groups and roles of a policy.
fn entities_of_policy(page: &Paged<EntityView>) -> Document {
    let of = |kind: Kind| {
        let (name, id) = (format!("{}Name", kind.title()), format!("{}Id", kind.title()));
        let those = page.elements.iter().filter(|entity| entity.kind == kind);
        let show = |entity: &EntityView| {
            Document::object([(&name, Document::text(&entity.name)), (&id, Document::text(&entity.id))])
        };
        Document::List(those.map(show).collect())
    };
    Document::object([
        ("PolicyGroups", of(Kind::Group)),
        ("PolicyUsers", of(Kind::User)),
        ("PolicyRoles", of(Kind::Role)),
        ("IsTruncated", Document::Bool(page.next.is_some())),
        ("Marker", Document::maybe(page.next.as_ref(), Document::text)),
    ])
}

fn last_used(user: &str, last: Option<&LastUse>) -> Document {
    let absent = || Document::text("N/A");
    let last = Document::object([
        ("LastUsedDate", Document::maybe(last, |last| Document::Time(last.at))),
        ("ServiceName", last.map_or_else(absent, |last| Document::text(&last.service))),
        ("Region", last.map_or_else(absent, |last| Document::text(&last.region))),
    ]);
    Document::object([("UserName", Document::text(user)), ("AccessKeyLastUsed", last)])
}

impl Response {
    /// The result of the operation; none if it has none.
    pub fn document(&self) -> Option<Document> {
        Some(match self {
            Self::Done => return None,
            Self::Updated => Document::Object(Vec::new()),
            Self::AccessKey(key) => Document::object([("AccessKey", key.document())]),
            Self::AccessKeys(page) => paged("AccessKeyMetadata", page, KeyView::document),
            Self::AttachedPolicies(page) => paged("AttachedPolicies", page, |(name, arn)| {
                Document::object([("PolicyName", Document::text(name)), ("PolicyArn", Document::text(arn))])
            }),
            Self::Entities { kind, page } => paged(&format!("{}s", kind.title()), page, EntityView::document),
            Self::EntitiesOfPolicy(page) => entities_of_policy(page),
            Self::Entity(entity) => Document::object([(entity.kind.title(), entity.document())]),
            Self::GroupWithUsers { group, users } => {
                let Document::Object(mut members) = paged("Users", users, EntityView::document) else {
                    return None;
                };
                members.insert(0, ("Group".to_owned(), group.document()));
                Document::Object(members)
            }
            Self::InlinePolicies(page) => paged("PolicyNames", page, |name| Document::text(name)),
            Self::InlinePolicy { kind, owner, policy, document } => Document::object([
                (&format!("{}Name", kind.title()), Document::text(owner)),
                ("PolicyName", Document::text(policy)),
                ("PolicyDocument", encoded(document)),
            ]),
            Self::InstanceProfiles => Document::object([
                ("InstanceProfiles", Document::List(Vec::new())),
                ("IsTruncated", Document::Bool(false)),
            ]),
            Self::LastUsed { user, last } => last_used(user, last.as_ref()),
            Self::ManagedPolicies(page) => paged("Policies", page, PolicyView::document),
            Self::ManagedPolicy(policy) => Document::object([("Policy", policy.document())]),
            Self::Simulated(page) => paged("EvaluationResults", page, Evaluation::document),
            Self::Tags(page) => paged("Tags", page, tag),
            Self::Version(version) => Document::object([("PolicyVersion", version.document())]),
            Self::Versions(page) => paged("Versions", page, VersionView::document),
        })
    }
}
