//! Why Application Auto Scaling refuses a request. Source: the public service model.

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Another request changes the same target.
    ConcurrentUpdate,
    /// The service failed.
    Internal,
    /// A page's token was never returned.
    InvalidNextToken,
    /// A quota is used up.
    LimitExceeded,
    /// A target, policy or scheduled action does not exist.
    ObjectNotFound,
    /// The target of an ARN does not exist.
    ResourceNotFound,
    /// The body cannot be read.
    Serialization,
    /// A target would have too many tags.
    TooManyTags,
    /// No operation has the name.
    UnknownOperation,
    /// A parameter breaks a rule.
    Validation,
}

impl FaultKind {
    /// The name that clients see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConcurrentUpdate => "ConcurrentUpdateException",
            Self::Internal => "InternalServiceException",
            Self::InvalidNextToken => "InvalidNextTokenException",
            Self::LimitExceeded => "LimitExceededException",
            Self::ObjectNotFound => "ObjectNotFoundException",
            Self::ResourceNotFound => "ResourceNotFoundException",
            Self::Serialization => "SerializationException",
            Self::TooManyTags => "TooManyTagsException",
            Self::UnknownOperation => "UnknownOperationException",
            Self::Validation => "ValidationException",
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Internal => 500,
            Self::ConcurrentUpdate
            | Self::InvalidNextToken
            | Self::LimitExceeded
            | Self::ObjectNotFound
            | Self::ResourceNotFound
            | Self::Serialization
            | Self::TooManyTags
            | Self::UnknownOperation
            | Self::Validation => 400,
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
    /// The ARN that the fault is about, where the service names it.
    pub resource: Option<String>,
}

impl Fault {
    /// A fault of any kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), resource: None }
    }

    /// A parameter breaks a rule.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Validation, message)
    }

    /// A target, policy or scheduled action does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::ObjectNotFound, message)
    }

    /// A fault about the target of an ARN.
    pub fn about(kind: FaultKind, arn: &str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), resource: Some(arn.to_owned()) }
    }
}
