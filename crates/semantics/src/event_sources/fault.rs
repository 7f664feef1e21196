//! Why Lambda refuses a request on mappings. Source: the public service model.

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// A parameter breaks a rule.
    InvalidParameterValue,
    /// There is such a mapping already, or it changes at the moment.
    ResourceConflict,
    /// The mapping is between two states.
    ResourceInUse,
    /// There is no such mapping.
    ResourceNotFound,
    /// The body cannot be read.
    Serialization,
    /// The service failed.
    Service,
    /// A parameter is outside of the bounds of the service model.
    Validation,
}

impl FaultKind {
    /// The name that clients see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidParameterValue => "InvalidParameterValueException",
            Self::ResourceConflict => "ResourceConflictException",
            Self::ResourceInUse => "ResourceInUseException",
            Self::ResourceNotFound => "ResourceNotFoundException",
            Self::Serialization => "SerializationException",
            Self::Service => "ServiceException",
            Self::Validation => "ValidationException",
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidParameterValue | Self::ResourceInUse | Self::Serialization | Self::Validation => 400,
            Self::ResourceNotFound => 404,
            Self::ResourceConflict => 409,
            Self::Service => 500,
        }
    }

    /// The member of the body that has the text.
    pub const fn message_member(self) -> &'static str {
        match self {
            Self::ResourceInUse | Self::ResourceNotFound | Self::Service => "Message",
            Self::InvalidParameterValue | Self::ResourceConflict | Self::Serialization | Self::Validation => {
                "message"
            }
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
    pub fn parameter(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParameterValue, message)
    }

    /// There is no such mapping.
    pub fn not_found() -> Self {
        Self::new(FaultKind::ResourceNotFound, "The resource you requested does not exist.")
    }
}
