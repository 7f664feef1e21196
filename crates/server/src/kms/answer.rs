//! What KMS answers: keys, data keys, and why it does not do what it is asked for.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keywright_wire::kinesis::error_name;
use serde_json::Value;

use crate::process::foreign::inline;

/// Bytes of a data key.
const DATA_KEY_BYTES: usize = 32;
/// Errors that may pass.
const TEMPORARY: [&str; 6] = [
    "DependencyTimeoutException",
    "InternalFailure",
    "KMSInternalException",
    "KeyUnavailableException",
    "LimitExceededException",
    "ThrottlingException",
];

/// Whether a key may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Enabled,
    Disabled,
    PendingDeletion,
    PendingImport,
    /// Any other one: the key cannot be used now.
    Unavailable,
}

impl KeyState {
    fn of_name(name: &str) -> Self {
        match name {
            "Enabled" => Self::Enabled,
            "Disabled" => Self::Disabled,
            "PendingDeletion" | "PendingReplicaDeletion" => Self::PendingDeletion,
            "PendingImport" => Self::PendingImport,
            _ => Self::Unavailable,
        }
    }
}

/// What a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyDescription {
    /// Of the key itself, also if it was asked for by an alias.
    pub(crate) arn: String,
    pub(crate) state: KeyState,
    /// Whether it encrypts data, with one secret: the only kind that a table can have.
    pub(crate) is_symmetric: bool,
}

impl KeyDescription {
    pub(super) fn read(answer: &Value) -> Option<Self> {
        let metadata = answer.get("KeyMetadata")?;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str);
        // Simple imitations leave the kind of a key out.
        let spec = text("KeySpec").or_else(|| text("CustomerMasterKeySpec")).unwrap_or("SYMMETRIC_DEFAULT");
        let usage = text("KeyUsage").unwrap_or("ENCRYPT_DECRYPT");
        let is_enabled = metadata.get("Enabled").and_then(Value::as_bool).unwrap_or(true);
        let state = match text("KeyState") {
            Some(name) => KeyState::of_name(name),
            None if is_enabled => KeyState::Enabled,
            None => KeyState::Disabled,
        };
        let arn = text("Arn")?.to_owned();
        Some(Self { arn, state, is_symmetric: spec == "SYMMETRIC_DEFAULT" && usage == "ENCRYPT_DECRYPT" })
    }
}

/// A key for data.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DataKey {
    /// The ARN of the key that seals it.
    pub(crate) key_arn: String,
    pub(crate) plaintext: [u8; DATA_KEY_BYTES],
    pub(crate) sealed: Vec<u8>,
}

/// Secrets never reach a log.
impl fmt::Debug for DataKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DataKey").field("key_arn", &self.key_arn).finish_non_exhaustive()
    }
}

impl DataKey {
    pub(super) fn read(answer: &Value) -> Option<Self> {
        Some(Self {
            key_arn: answer.get("KeyId")?.as_str()?.to_owned(),
            plaintext: bytes(answer, "Plaintext")?.try_into().ok()?,
            sealed: bytes(answer, "CiphertextBlob").filter(|sealed| !sealed.is_empty())?,
        })
    }
}

/// The bytes of a member.
pub(super) fn bytes(answer: &Value, member: &str) -> Option<Vec<u8>> {
    STANDARD.decode(answer.get(member)?.as_str()?).ok()
}

/// A call that the endpoint has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The error's name, such as `NotFoundException`.
    pub(crate) name: String,
    /// Without control characters.
    pub(crate) message: String,
    /// The id that the endpoint has given to the call.
    pub(crate) request_id: Option<String>,
}

/// Why a call did not do what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There was no answer, or one that tells nothing.
    Silent(String),
    /// The endpoint is too busy, or has a fault of its own.
    Busy(String),
    /// It refuses.
    Refused(Refusal),
    /// Nothing was asked: the key's ARN names no region, or it has no ARN and no region is set.
    NoRegion(String),
}

impl Fault {
    pub(super) fn unreadable() -> Self {
        Self::Silent("its answer is not one of KMS".to_owned())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(why) => write!(formatter, "the KMS endpoint does not answer: {why}"),
            Self::Busy(name) => write!(formatter, "the KMS endpoint is too busy: {name}"),
            Self::NoRegion(key) if key.starts_with("arn:") => {
                write!(formatter, "the ARN {} names no region: correct it, or pass --kms-region", inline(key))
            }
            Self::NoRegion(key) => write!(
                formatter,
                "the key {} names no region: write its ARN, pass --kms-region, or set AWS_REGION",
                inline(key)
            ),
            Self::Refused(Refusal { name, message, .. }) => {
                write!(formatter, "the KMS endpoint refuses: {name}: {message}")
            }
        }
    }
}

/// The fault of an answer that is no success.
pub(super) fn fault(status: u16, body: &[u8], request_id: Option<String>) -> Fault {
    let Some(name) = error_name(body) else {
        let name = format!("HTTP {status}");
        return if status >= 500 || status == 429 { Fault::Busy(name) } else { Fault::Silent(name) };
    };
    if status >= 500 || matches!(status, 408 | 429) || TEMPORARY.contains(&name.as_str()) {
        return Fault::Busy(name);
    }
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = ["message", "Message"].iter().find_map(|member| answer.get(member)?.as_str());
    let message = inline(message.unwrap_or_default()).into_owned();
    Fault::Refused(Refusal { name, message, request_id })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_read_with_its_state_and_kind() {
        let of = |metadata: Value| KeyDescription::read(&json!({ "KeyMetadata": metadata }));
        for (state, expected) in [
            ("Enabled", KeyState::Enabled),
            ("Disabled", KeyState::Disabled),
            ("PendingDeletion", KeyState::PendingDeletion),
            ("PendingReplicaDeletion", KeyState::PendingDeletion),
            ("PendingImport", KeyState::PendingImport),
            ("Updating", KeyState::Unavailable),
        ] {
            let key = of(json!({ "Arn": "a", "KeyState": state, "KeySpec": "SYMMETRIC_DEFAULT" })).unwrap();
            assert_eq!((key.state, key.is_symmetric), (expected, true), "{state}");
        }
        assert_eq!(of(json!({ "Arn": "a", "Enabled": false })).unwrap().state, KeyState::Disabled);
        assert!(!of(json!({ "Arn": "a", "KeySpec": "RSA_2048" })).unwrap().is_symmetric);
        assert!(!of(json!({ "Arn": "a", "KeyUsage": "GENERATE_VERIFY_MAC" })).unwrap().is_symmetric);
        assert_eq!(of(json!({ "KeyState": "Enabled" })), None);
    }

    #[test]
    fn a_data_key_has_32_bytes_and_stays_out_of_logs() {
        let answer = |bytes: &[u8]| json!({ "KeyId": "a", "Plaintext": STANDARD.encode(bytes), "CiphertextBlob": "AA==" });
        let key = DataKey::read(&answer(&[7; 32])).unwrap();
        assert_eq!((key.plaintext, key.sealed.as_slice()), ([7; 32], [0].as_slice()));
        assert!(!format!("{key:?}").contains('7'));
        assert_eq!(DataKey::read(&answer(&[7; 31])), None);
    }

    #[test]
    fn a_refusal_has_its_name_and_message_and_a_busy_endpoint_is_told_apart() {
        let body = br#"{"__type":"com.amazonaws.kms#NotFoundException","message":"Alias x is not found."}"#;
        let Fault::Refused(refusal) = fault(400, body, Some("id".to_owned())) else { panic!() };
        assert_eq!(
            (refusal.name.as_str(), refusal.message.as_str()),
            ("NotFoundException", "Alias x is not found.")
        );
        let busy = br#"{"__type":"ThrottlingException"}"#;
        assert_eq!(fault(400, busy, None), Fault::Busy("ThrottlingException".to_owned()));
        assert_eq!(fault(503, b"", None), Fault::Busy("HTTP 503".to_owned()));
        assert_eq!(fault(404, b"<html>", None), Fault::Silent("HTTP 404".to_owned()));
    }
}
