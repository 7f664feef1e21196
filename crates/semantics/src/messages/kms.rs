//! What a client reads if the key that is to encrypt a table cannot be used.
//!
//! The service passes on what its client of KMS says. All texts were recorded in October 2026; those of
//! states that nobody has recorded have the same form.

/// What the client of KMS says of a refused call.
#[derive(Clone, Copy, Debug)]
pub struct KmsRefusal<'r> {
    /// The class of the exception, such as `NotFoundException`.
    pub exception: &'r str,
    /// The error's name as KMS gives it.
    pub code: &'r str,
    /// What KMS says.
    pub message: &'r str,
    /// The id that KMS has given to the call.
    pub request_id: Option<&'r str>,
}

impl KmsRefusal<'_> {
    fn text(&self, kind: &str) -> String {
        let Self { exception, code, message, request_id } = self;
        let request_id = request_id.unwrap_or("null");
        format!(
            "KMS {kind} error: com.amazonaws.services.kms.model.{exception}: {message} (Service: AWSKMS; Status \
             Code: 400; Error Code: {code}; Request ID: {request_id}; Proxy: null)"
        )
    }

    /// A key that is disabled.
    pub fn disabled(&self) -> String {
        self.text("key disabled")
    }

    /// A key that is not there or in a state in which it cannot be used.
    pub fn invalid(&self) -> String {
        self.text("validation")
    }

    /// A key that the caller may not use.
    pub fn access_denied(&self) -> String {
        self.text("key access denied")
    }

    /// A key of a kind that a table cannot have. The service answers with HTTP 500.
    pub fn internal(&self) -> String {
        self.text("internal")
    }
}

/// A key that does not encrypt data with one secret.
pub const NOT_SYMMETRIC: &str =
    "EncryptionContext is supported only when creating a grant for a symmetric encryption KMS key.";

/// The ARN of a key in another region.
pub fn invalid_arn(region: &str) -> String {
    format!("Invalid arn {region}")
}

/// A key that is disabled.
pub fn disabled(arn: &str) -> String {
    format!("{arn} is disabled.")
}

/// A key that is to be deleted.
pub fn pending_deletion(arn: &str) -> String {
    format!("{arn} is pending deletion.")
}

/// A key whose secret is not there yet.
pub fn pending_import(arn: &str) -> String {
    format!("{arn} is pending import.")
}

/// A key in another state in which it cannot be used.
pub fn unavailable(arn: &str) -> String {
    format!("{arn} is unavailable.")
}

/// Our own: the endpoint that is to be asked does not answer.
pub fn cannot_be_asked(why: &str) -> String {
    format!("Whether the KMS key may be used cannot be found out now, try again: {why}")
}
