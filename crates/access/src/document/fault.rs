//! Why a text is no policy document, and what the client reads then.
//!
//! The texts stand in `semantics`. It does not know which error an API answers with.

use keywright_semantics::messages::access as messages;

use super::kind::PolicyKind;

/// Why a text is no policy document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFault {
    /// It has more bytes than a document may.
    TooLong {
        /// How many it may have.
        bytes_max: usize,
    },
    /// It has a character that documents do not have.
    Character(char),
    /// It is not JSON, or has a member twice.
    Json,
    /// It is `null`.
    NotAPolicy,
    /// It has the wrong form: what it has where.
    Syntax(String),
    /// It has no statements.
    EmptyStatement,
    /// A statement lacks a member.
    Missing(&'static str),
    /// A statement has a member that documents of this kind do not have.
    Prohibited(&'static str),
    /// Two statements have one id.
    SameSid(String),
    /// An action without the prefix of a service.
    ActionPrefix(String),
    /// Actions that documents of this kind cannot name.
    Actions(Vec<String>),
    /// A resource that is neither `*` nor an ARN.
    Resource(String),
    /// A resource of `DynamoDB` that a document of this kind cannot name.
    RelativeId {
        /// The last field of the ARN.
        id: String,
        /// The ARN.
        arn: String,
    },
    /// A principal of no known form.
    Principal(String),
    /// A value that a condition's operator cannot read.
    ConditionValue {
        /// The operator.
        operator: String,
        /// The value.
        value: String,
    },
}

impl DocumentFault {
    /// The text that clients read for a document of this kind.
    pub fn message(&self, kind: PolicyKind) -> String {
        if kind.is_of_resource() { self.of_resource() } else { self.of_identity() }
    }

    /// The text of IAM and STS.
    fn of_identity(&self) -> String {
        match self {
            Self::TooLong { bytes_max } => messages::document_too_long(*bytes_max),
            Self::Character(_)
            | Self::Json
            | Self::NotAPolicy
            | Self::Syntax(_)
            | Self::EmptyStatement
            | Self::ConditionValue { .. } => messages::SYNTAX.to_owned(),
            Self::Missing("Action") => messages::NO_ACTIONS.to_owned(),
            Self::Missing("Resource") => messages::NO_RESOURCES.to_owned(),
            Self::Missing(member) => messages::missing_member(member),
            Self::Prohibited("Principal") => messages::PRINCIPAL_IN_IDENTITY_POLICY.to_owned(),
            Self::Prohibited(member) => messages::prohibited_member(member),
            Self::SameSid(_) => messages::SAME_SID.to_owned(),
            Self::ActionPrefix(_) => messages::ACTION_PREFIX.to_owned(),
            Self::Actions(_) => messages::NOT_AN_ACTION_OF_STS.to_owned(),
            Self::Resource(text) | Self::RelativeId { arn: text, .. } => messages::not_an_arn(text),
            Self::Principal(text) => messages::invalid_principal(text),
        }
    }

    /// The text of PutResourcePolicy and CreateTable.
    fn of_resource(&self) -> String {
        let detail = match self {
            Self::TooLong { bytes_max } => return messages::resource_policy_too_long(*bytes_max),
            Self::Principal(_) => return messages::INVALID_PRINCIPAL_OF_RESOURCE.to_owned(),
            Self::Character(_) | Self::Json => messages::INVALID_JSON.to_owned(),
            Self::NotAPolicy => messages::NOT_A_POLICY.to_owned(),
            Self::Syntax(_) | Self::ConditionValue { .. } => messages::SYNTAX_AT_START.to_owned(),
            Self::EmptyStatement => messages::EMPTY_STATEMENT.to_owned(),
            Self::Missing(member) => messages::missing_member(member),
            Self::Prohibited(member) => messages::prohibited_member(member),
            Self::SameSid(_) => messages::SAME_SID_OF_RESOURCE.to_owned(),
            Self::ActionPrefix(action) => messages::invalid_actions(std::slice::from_ref(action)),
            Self::Actions(actions) => messages::invalid_actions(actions),
            Self::Resource(text) => messages::not_an_arn(text),
            Self::RelativeId { id, arn } => messages::invalid_relative_id(id, arn),
        };
        messages::invalid_document(&detail)
    }

    /// What is wrong and what to write instead, for who wrote the document.
    pub fn advice(&self) -> String {
        match self {
            Self::TooLong { bytes_max } => format!("the document has more than {bytes_max} bytes: split it"),
            Self::Character(letter) => format!(
                "the document has the character {letter:?}: only tabs, line ends and U+0020 to U+00FF are allowed"
            ),
            Self::Json => "the document is not JSON, or has a member twice".to_owned(),
            Self::NotAPolicy => "the document is null: write an object with Version and Statement".to_owned(),
            Self::Syntax(what) => what.clone(),
            Self::EmptyStatement => "Statement has no statements: write at least one".to_owned(),
            Self::Missing(member) => format!("a statement has no {member}: add it"),
            Self::Prohibited(member) => format!("a document of this kind has no {member}: remove it"),
            Self::SameSid(sid) => format!("two statements have the Sid `{sid}`: give each its own"),
            Self::ActionPrefix(action) => {
                format!("the action `{action}` has no prefix: write `dynamodb:{action}`, or `*` for all")
            }
            Self::Actions(actions) => {
                format!("a document of this kind cannot name the actions {}", actions.join(", "))
            }
            Self::Resource(text) => format!("the resource `{text}` is neither `*` nor an ARN"),
            Self::RelativeId { id, arn } => format!(
                "the resource `{arn}` names `{id}`: write a table, an index of a table in its table's policy, or a \
                 stream in the stream's own policy"
            ),
            Self::Principal(text) => format!(
                "the principal {text} is neither `*`, nor an account, nor the ARN of a user, role or session"
            ),
            Self::ConditionValue { operator, value } => {
                format!("the operator {operator} cannot read the value `{value}`")
            }
        }
    }
}

impl std::fmt::Display for DocumentFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.advice())
    }
}

impl std::error::Error for DocumentFault {}
