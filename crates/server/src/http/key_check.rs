//! The key that is to encrypt a table is asked for before the request is executed: a key that cannot be used
//! is refused as by the service, and an alias becomes the ARN of the key that it now stands for. The key that
//! a restored table takes over from its source is asked for too.
//!
//! The engine reaches no key management service, so this comes between admission and execution. Without a
//! service every key is taken as it is named.

use keywright_engine::Namespace;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::kms::{self as messages, KmsRefusal};
use keywright_semantics::request::Request;

use super::admission::Admitted;
use super::service::Service;
use crate::kms::{Client, Fault, KeyDescription, KeyState, Refusal};

/// The key that the service manages for an account.
const MANAGED: &str = "alias/aws/dynamodb";
const NOT_FOUND: &str = "NotFoundException";

impl Service {
    /// Checks the key that a request names for a table, and notes its ARN in the request; or the key that a
    /// restored table takes over.
    pub(super) async fn check_key(&self, admitted: &mut Admitted<Request>) -> Result<(), Error> {
        let Some(kms) = &self.kms else { return Ok(()) };
        if admitted.request_mut().encryption_key_mut().is_some() {
            return Box::pin(self.check_key_by(kms, admitted)).await;
        }
        match admitted.request() {
            Request::RestoreTableFromBackup(_) | Request::RestoreTableToPointInTime(_) => {
                Box::pin(self.check_key_of_source(kms, admitted)).await
            }
            _ => Ok(()),
        }
    }

    /// Checks the key that a restored table takes over from its source.
    async fn check_key_of_source(&self, kms: &Client, admitted: &Admitted<Request>) -> Result<(), Error> {
        let namespace = &admitted.caller().namespace;
        let Some(arn) = self.engine()?.key_to_restore(namespace, admitted.request()).await else {
            return Ok(());
        };
        let region = namespace.region.as_str();
        if arn.ends_with(&format!(":{MANAGED}")) {
            find_managed(kms, region).await?;
        } else {
            find(kms, &arn, region).await?;
        }
        Ok(())
    }

    async fn check_key_by(&self, kms: &Client, admitted: &mut Admitted<Request>) -> Result<(), Error> {
        let namespace = admitted.caller().namespace.clone();
        let Some(key) = admitted.request_mut().encryption_key_mut() else { return Ok(()) };
        let found = match key.key_id.as_deref() {
            Some(key_id) => find(kms, key_id, namespace.region.as_str()).await.map(Some),
            None => find_managed(kms, namespace.region.as_str()).await,
        };
        match found {
            Ok(found_arn) => {
                key.found_arn = found_arn;
                Ok(())
            }
            Err(refusal) if self.is_refused_anyway(&namespace, admitted.request()).await? => {
                tracing::debug!(%refusal, "the key of a request that is refused for another reason");
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Whether executing the request says that its table is there already, or is missing: that comes first.
    async fn is_refused_anyway(&self, namespace: &Namespace, request: &Request) -> Result<bool, Error> {
        let engine = self.engine()?;
        match request {
            Request::JoinGlobalTable(request) => engine.has_table(namespace, &request.name).await,
            Request::CreateTable(request) => engine.has_table(namespace, &request.name).await,
            Request::ImportTable(request) => engine.has_table(namespace, &request.creation.name).await,
            Request::RestoreTableFromBackup(request) => engine.has_table(namespace, &request.target).await,
            Request::RestoreTableToPointInTime(request) => engine.has_table(namespace, &request.target).await,
            Request::UpdateTable(request) if request.table.arn_scope().is_none() => {
                Ok(!engine.has_table(namespace, &request.table.name).await?)
            }
            _ => Ok(false),
        }
    }
}

/// The ARN of the key that the service manages; none if the endpoint does not have it.
async fn find_managed(kms: &Client, region: &str) -> Result<Option<String>, Error> {
    match kms.describe_key(MANAGED, region).await {
        Ok(key) => usable(key).map(Some),
        Err(Fault::Refused(refusal)) if refusal.name == NOT_FOUND => Ok(None),
        Err(fault) => Err(error_of(&fault)),
    }
}

/// The ARN of a key that a table of this region may have.
async fn find(kms: &Client, key_id: &str, region: &str) -> Result<String, Error> {
    if let Some(other) = region_of(key_id).filter(|of_arn| *of_arn != region) {
        let message = messages::invalid_arn(other);
        return Err(Error::validation(refusal(NOT_FOUND, &message).invalid()));
    }
    kms.describe_key(key_id, region).await.map_err(|fault| error_of(&fault)).and_then(usable)
}

/// The region in an ARN.
fn region_of(key_id: &str) -> Option<&str> {
    key_id.strip_prefix("arn:")?.split(':').nth(2)
}

/// What the service would be told of a key that we know not to be usable.
const fn refusal<'r>(exception: &'r str, message: &'r str) -> KmsRefusal<'r> {
    KmsRefusal { exception, code: exception, message, request_id: None }
}

fn usable(key: KeyDescription) -> Result<String, Error> {
    let KeyDescription { arn, state, is_symmetric } = key;
    let invalid_state =
        |message: String| Err(Error::validation(refusal("KMSInvalidStateException", &message).invalid()));
    match state {
        KeyState::Enabled if is_symmetric => Ok(arn),
        KeyState::Enabled => {
            let refusal = KmsRefusal {
                exception: "AWSKMSException",
                code: "ValidationException",
                message: messages::NOT_SYMMETRIC,
                request_id: None,
            };
            Err(Error::new(ErrorKind::InternalServerError, refusal.internal()))
        }
        KeyState::Disabled => {
            Err(Error::validation(refusal("DisabledException", &messages::disabled(&arn)).disabled()))
        }
        KeyState::PendingDeletion => invalid_state(messages::pending_deletion(&arn)),
        KeyState::PendingImport => invalid_state(messages::pending_import(&arn)),
        KeyState::Unavailable => invalid_state(messages::unavailable(&arn)),
    }
}

/// What the caller reads of a call that has failed.
fn error_of(fault: &Fault) -> Error {
    let Fault::Refused(Refusal { name, message, request_id }) = fault else {
        let why = messages::cannot_be_asked(&fault.to_string());
        return Error::new(ErrorKind::ServiceUnavailable, why);
    };
    let of = |exception| KmsRefusal { exception, code: name, message, request_id: request_id.as_deref() };
    match name.as_str() {
        NOT_FOUND | "InvalidArnException" | "KMSInvalidStateException" => {
            Error::validation(of(name).invalid())
        }
        "DisabledException" => Error::validation(of(name).disabled()),
        // Also if the endpoint does not take the server's own key.
        _ => Error::new(ErrorKind::AccessDenied, of("AWSKMSException").access_denied()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:kms:us-east-1:000000000000:key/1";

    fn of(state: KeyState, is_symmetric: bool) -> Result<String, (ErrorKind, String)> {
        usable(KeyDescription { arn: ARN.to_owned(), state, is_symmetric })
            .map_err(|error| (error.kind, error.message))
    }

    #[test]
    fn a_key_that_a_table_cannot_have_is_refused_in_the_words_of_the_service() {
        let rest = |code: &str| {
            format!("(Service: AWSKMS; Status Code: 400; Error Code: {code}; Request ID: null; Proxy: null)")
        };
        let model = "com.amazonaws.services.kms.model";
        assert_eq!(of(KeyState::Enabled, true), Ok(ARN.to_owned()));
        for (state, is_symmetric, kind, text) in [
            (
                KeyState::Disabled,
                true,
                ErrorKind::Validation,
                format!(
                    "KMS key disabled error: {model}.DisabledException: {ARN} is disabled. {}",
                    rest("DisabledException")
                ),
            ),
            (
                KeyState::PendingDeletion,
                true,
                ErrorKind::Validation,
                format!(
                    "KMS validation error: {model}.KMSInvalidStateException: {ARN} is pending deletion. {}",
                    rest("KMSInvalidStateException")
                ),
            ),
            (
                KeyState::PendingImport,
                true,
                ErrorKind::Validation,
                format!(
                    "KMS validation error: {model}.KMSInvalidStateException: {ARN} is pending import. {}",
                    rest("KMSInvalidStateException")
                ),
            ),
            (
                KeyState::Enabled,
                false,
                ErrorKind::InternalServerError,
                format!(
                    "KMS internal error: {model}.AWSKMSException: EncryptionContext is supported only when creating \
                     a grant for a symmetric encryption KMS key. {}",
                    rest("ValidationException")
                ),
            ),
        ] {
            assert_eq!(of(state, is_symmetric), Err((kind, text)), "{state:?}");
        }
    }

    #[test]
    fn a_refused_call_is_passed_on_and_a_silent_endpoint_is_no_fault_of_the_request() {
        let refused = |name: &str| {
            error_of(&Fault::Refused(Refusal {
                name: name.to_owned(),
                message: "M".to_owned(),
                request_id: Some("id".to_owned()),
            }))
        };
        let not_found = refused("NotFoundException");
        assert_eq!(not_found.kind, ErrorKind::Validation);
        assert!(
            not_found
                .message
                .starts_with("KMS validation error: com.amazonaws.services.kms.model.NotFoundException: M (")
        );
        assert!(not_found.message.ends_with("Error Code: NotFoundException; Request ID: id; Proxy: null)"));
        let denied = refused("AccessDeniedException");
        assert_eq!(denied.kind, ErrorKind::AccessDenied);
        assert!(denied.message.starts_with(
            "KMS key access denied error: com.amazonaws.services.kms.model.AWSKMSException: M ("
        ));
        assert_eq!(error_of(&Fault::Silent("x".to_owned())).kind, ErrorKind::ServiceUnavailable);
    }
}
