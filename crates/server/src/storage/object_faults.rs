//! Faults of object stores in words, with what helps.

use keywright_objects::{ObjectFault, Refusal};

use crate::process::io_fault::Explained;

/// A fault of an object in words, with those of the system explained.
pub(crate) fn sentence(fault: &ObjectFault) -> String {
    if let Some(error) = fault.io_error() {
        return format!("cannot {} {}: {}", fault.action(), fault.object(), Explained(error));
    }
    match fault.refusal().and_then(advice) {
        Some(advice) => format!("{fault}; {advice}"),
        None => fault.to_string(),
    }
}

/// What helps if an S3-compatible store refuses.
fn advice(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Unreachable(_) => "check --s3-endpoint, and that the store runs",
        Refusal::NoBucket => "make the bucket, or name another place",
        Refusal::NoFolder(_) => "make that folder, or name another bucket",
        Refusal::UnknownKey => "check --s3-access-key-id or AWS_ACCESS_KEY_ID",
        Refusal::WrongSecret => "check KEYWRIGHT_S3_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY",
        Refusal::Denied => "allow it to list, read, write and remove objects of the bucket",
        Refusal::Clock => "set the clock of this machine",
        Refusal::Region => "check --s3-region",
        Refusal::NoCertificates | Refusal::Untrusted(_) => {
            "name a file with the certificates of those whom you trust in SSL_CERT_FILE"
        }
        Refusal::Full(_) => "free some, or raise the quota",
        Refusal::EncryptionKey(_) => "name a key that the store knows and that may be used",
        Refusal::Busy(_) | Refusal::Other(_) => return None,
    })
}
