//! Responses of all operations, and the documents that the protocol writes.

use crate::monitoring::document::{Document, TimeMs};

/// The credentials of a session.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionCredentials {
    /// The id of its access key.
    pub access_key_id: String,
    /// The secret of its access key.
    pub secret_access_key: String,
    /// The sealed session.
    pub session_token: String,
    /// When it ends.
    pub expiration: TimeMs,
}

impl std::fmt::Debug for SessionCredentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SessionCredentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// The session of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedRole {
    /// Its credentials.
    pub credentials: SessionCredentials,
    /// The role's id and the session's name.
    pub assumed_role_id: String,
    /// The session's ARN.
    pub arn: String,
    /// The share of the space for policies and tags that they take.
    pub packed_percent: u32,
    /// Who the caller said to be.
    pub source_identity: Option<String>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// A session of a role began.
    AssumedRole(Box<AssumedRole>),
    /// Whose access key it is.
    AccessKeyInfo {
        /// The account.
        account: String,
    },
    /// Who the caller is.
    CallerIdentity {
        /// The caller's ARN.
        arn: String,
        /// The caller's id.
        user_id: String,
        /// The caller's account.
        account: String,
    },
    /// A session of the caller began.
    SessionToken(SessionCredentials),
}

impl SessionCredentials {
    fn document(&self) -> Document {
        Document::object([
            ("AccessKeyId", Document::text(&self.access_key_id)),
            ("SecretAccessKey", Document::text(&self.secret_access_key)),
            ("SessionToken", Document::text(&self.session_token)),
            ("Expiration", Document::Time(self.expiration)),
        ])
    }
}

impl Response {
    /// The result of the operation.
    pub fn document(&self) -> Document {
        match self {
            Self::AssumedRole(assumed) => Document::object([
                ("Credentials", assumed.credentials.document()),
                (
                    "AssumedRoleUser",
                    Document::object([
                        ("AssumedRoleId", Document::text(&assumed.assumed_role_id)),
                        ("Arn", Document::text(&assumed.arn)),
                    ]),
                ),
                ("PackedPolicySize", Document::Integer(assumed.packed_percent.into())),
                ("SourceIdentity", Document::maybe(assumed.source_identity.as_ref(), Document::text)),
            ]),
            Self::AccessKeyInfo { account } => Document::object([("Account", Document::text(account))]),
            Self::CallerIdentity { arn, user_id, account } => Document::object([
                ("UserId", Document::text(user_id)),
                ("Account", Document::text(account)),
                ("Arn", Document::text(arn)),
            ]),
            Self::SessionToken(credentials) => Document::object([("Credentials", credentials.document())]),
        }
    }
}
