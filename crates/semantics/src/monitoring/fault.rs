//! Why CloudWatch refuses a request: kinds with their names in all protocols, and texts.
//!
//! Source: the public service model's shapes and error codes.

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The service failed.
    Internal,
    /// Two parameters contradict each other.
    InvalidParameterCombination,
    /// A parameter has a value that it must not have.
    InvalidParameterValue,
    /// A page's token was never returned.
    InvalidNextToken,
    /// A quota is used up.
    LimitExceeded,
    /// A required parameter is absent.
    MissingParameter,
    /// An alarm does not exist.
    ResourceNotFound,
    /// The resource of an ARN does not exist.
    ResourceNotFoundException,
    /// The body cannot be read.
    Serialization,
    /// No operation has the name, or it is not served.
    UnknownOperation,
    /// A metric query or an alarm breaks a rule.
    Validation,
}

impl FaultKind {
    /// The shape's name, which JSON and CBOR carry.
    pub const fn shape(self) -> &'static str {
        match self {
            Self::Internal => "InternalServiceFault",
            Self::InvalidParameterCombination => "InvalidParameterCombinationException",
            Self::InvalidParameterValue => "InvalidParameterValueException",
            Self::InvalidNextToken => "InvalidNextToken",
            Self::LimitExceeded => "LimitExceededFault",
            Self::MissingParameter => "MissingRequiredParameterException",
            Self::ResourceNotFound => "ResourceNotFound",
            Self::ResourceNotFoundException => "ResourceNotFoundException",
            Self::Serialization => "SerializationException",
            Self::UnknownOperation => "UnknownOperationException",
            Self::Validation => "ValidationException",
        }
    }

    /// The code that clients of the query protocol see, and the others in `x-amzn-query-error`.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Internal => "InternalServiceError",
            Self::InvalidParameterCombination => "InvalidParameterCombination",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::InvalidNextToken => "InvalidNextToken",
            Self::LimitExceeded => "LimitExceeded",
            Self::MissingParameter => "MissingParameter",
            Self::ResourceNotFound => "ResourceNotFound",
            Self::ResourceNotFoundException => "ResourceNotFoundException",
            Self::Serialization => "MalformedInput",
            Self::UnknownOperation => "InvalidAction",
            Self::Validation => "ValidationError",
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> u16 {
        match self {
            Self::Internal => 500,
            Self::ResourceNotFound | Self::ResourceNotFoundException => 404,
            Self::InvalidParameterCombination
            | Self::InvalidParameterValue
            | Self::InvalidNextToken
            | Self::LimitExceeded
            | Self::MissingParameter
            | Self::Serialization
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
}

impl Fault {
    /// A fault of any kind.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A required parameter is absent.
    pub fn missing(name: &str) -> Self {
        Self::new(FaultKind::MissingParameter, format!("The parameter {name} is required."))
    }

    /// A parameter must not have its value.
    pub fn value(name: &str, rule: &str) -> Self {
        Self::new(FaultKind::InvalidParameterValue, format!("The parameter {name} {rule}."))
    }

    /// Parameters contradict each other.
    pub fn combination(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidParameterCombination, message)
    }

    /// A rule of metric queries or alarms is broken.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Validation, message)
    }

    /// An operation that does not exist, or is not served.
    pub fn unknown_operation(name: &str) -> Self {
        Self::new(
            FaultKind::UnknownOperation,
            format!("The action {name} is not valid for this web service, or not served by this server."),
        )
    }
}
