//! Why IAM or STS refuses a request. Source: the public service models, and their common errors.

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The caller may not do this.
    AccessDenied,
    /// Another request changes the same account.
    ConcurrentModification,
    /// The entity has parts that must be removed first.
    DeleteConflict,
    /// The name is taken.
    EntityAlreadyExists,
    /// A parameter does not fit what is stored.
    InvalidInput,
    /// A parameter does not fit the others.
    InvalidParameterValue,
    /// No operation has the name, or it is not served.
    InvalidAction,
    /// A quota is used up.
    LimitExceeded,
    /// A policy is no policy.
    MalformedPolicyDocument,
    /// The request names no operation.
    MissingAction,
    /// An entity does not exist.
    NoSuchEntity,
    /// The session's tags and policies are too large together.
    PackedPolicyTooLarge,
    /// The service failed.
    ServiceFailure,
    /// A parameter breaks a rule.
    ValidationError,
}

impl FaultKind {
    /// The code that clients see.
    pub const fn code(self) -> &'static str {
        match self {
            Self::AccessDenied => "AccessDenied",
            Self::ConcurrentModification => "ConcurrentModification",
            Self::DeleteConflict => "DeleteConflict",
            Self::EntityAlreadyExists => "EntityAlreadyExists",
            Self::InvalidInput => "InvalidInput",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::InvalidAction => "InvalidAction",
            Self::LimitExceeded => "LimitExceeded",
            Self::MalformedPolicyDocument => "MalformedPolicyDocument",
            Self::MissingAction => "MissingAction",
            Self::NoSuchEntity => "NoSuchEntity",
            Self::PackedPolicyTooLarge => "PackedPolicyTooLarge",
            Self::ServiceFailure => "ServiceFailure",
            Self::ValidationError => "ValidationError",
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::AccessDenied => 403,
            Self::NoSuchEntity => 404,
            Self::ConcurrentModification
            | Self::DeleteConflict
            | Self::EntityAlreadyExists
            | Self::LimitExceeded => 409,
            Self::ServiceFailure => 500,
            Self::InvalidInput
            | Self::InvalidParameterValue
            | Self::InvalidAction
            | Self::MalformedPolicyDocument
            | Self::MissingAction
            | Self::PackedPolicyTooLarge
            | Self::ValidationError => 400,
        }
    }
}

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The text the client reads.
    pub message: String,
}

impl Fault {
    /// A fault of any kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A parameter breaks a rule.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(FaultKind::ValidationError, message)
    }

    /// An entity does not exist.
    pub fn no_entity(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NoSuchEntity, message)
    }

    /// The name is taken.
    pub fn exists(message: impl Into<String>) -> Self {
        Self::new(FaultKind::EntityAlreadyExists, message)
    }

    /// A quota is used up.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(FaultKind::LimitExceeded, message)
    }

    /// A policy is no policy.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(FaultKind::MalformedPolicyDocument, message)
    }

    /// The entity has parts that must be removed first.
    pub fn delete_conflict(message: impl Into<String>) -> Self {
        Self::new(FaultKind::DeleteConflict, message)
    }
}
