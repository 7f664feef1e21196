//! PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy: their typed requests.
//!
//! It does not know what a policy document says.

use super::parts::{DeleteResourcePolicyParts, GetResourcePolicyParts, PutResourcePolicyParts};
use super::table_ref::ArnScope;
use crate::error::{Error, ErrorKind};
use crate::limits::TABLE_NAME_BYTES_MIN;
use crate::messages::{resource_policy as messages, table, tags};

/// A table or a stream, as the ARN of a request on its policy names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyResource {
    /// What the client wrote.
    pub arn: String,
    /// The region and account in the ARN.
    pub scope: ArnScope,
    /// The table's name, also where the ARN names one of its streams.
    pub table: String,
    /// The label of the stream; none for the table itself.
    pub stream: Option<String>,
}

impl PolicyResource {
    /// Parses the ARN of a table or of one of its streams.
    pub fn parse(arn: &str) -> Result<Self, Error> {
        let invalid = |text: String| Err(Error::validation(table::invalid(text)));
        if !arn.starts_with("arn:") {
            return invalid(tags::arn_start(arn));
        }
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let &[_, partition, service, region, account, resource] = parts.as_slice() else {
            return invalid(messages::invalid_arn(arn));
        };
        if service != "dynamodb" {
            return Err(Error::new(ErrorKind::AccessDenied, table::ACCESS_DENIED));
        }
        if partition != "aws" {
            return invalid(messages::invalid_arn(arn));
        }
        let Some(path) = resource.strip_prefix("table/") else {
            return invalid(tags::not_a_dynamodb_arn(arn));
        };
        let (name, stream) = match path.split_once('/') {
            None => (path, None),
            Some((name, below)) => match below.strip_prefix("stream/") {
                Some(label) => (name, Some(label.to_owned())),
                None => return invalid(tags::only_table_or_stream(arn)),
            },
        };
        if name.len() < TABLE_NAME_BYTES_MIN {
            return invalid(messages::invalid_arn(arn));
        }
        let scope = ArnScope { region: region.to_owned(), account: account.to_owned() };
        Ok(Self { arn: arn.to_owned(), scope, table: name.to_owned(), stream })
    }
}

/// Which policy a resource must have for a change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedPolicy {
    /// None: `NO_POLICY`.
    None,
    /// The one with this revision.
    Revision(String),
}

impl ExpectedPolicy {
    fn of(text: String) -> Self {
        if text == "NO_POLICY" { Self::None } else { Self::Revision(text) }
    }
}

/// What the document of a new policy says about principals, as far as a server judges access. A server that
/// judges nobody finds nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyFindings {
    /// It names a principal that does not exist.
    pub names_unknown_principal: bool,
    /// It denies the caller the next change of the policy.
    pub locks_caller_out: bool,
}

/// The document of a new policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPolicy {
    /// What the client wrote.
    pub text: String,
    /// What judging it said.
    pub findings: PolicyFindings,
}

impl NewPolicy {
    /// A document that was not judged.
    pub const fn new(text: String) -> Self {
        let findings = PolicyFindings { names_unknown_principal: false, locks_caller_out: false };
        Self { text, findings }
    }
}

/// A PutResourcePolicy.
#[derive(Clone, Debug)]
pub struct PutResourcePolicy {
    /// The table or stream.
    pub resource: PolicyResource,
    /// The document.
    pub policy: NewPolicy,
    /// The policy that must be there.
    pub expected: Option<ExpectedPolicy>,
    /// Whether the caller may lock itself out.
    pub confirms_lock_out: bool,
}

impl PutResourcePolicy {
    /// Validates the parts.
    pub fn validate(parts: PutResourcePolicyParts) -> Result<Self, Error> {
        Ok(Self {
            resource: PolicyResource::parse(&parts.resource_arn)?,
            policy: NewPolicy::new(parts.policy),
            expected: parts.expected_revision_id.map(ExpectedPolicy::of),
            confirms_lock_out: parts.confirm_remove_self_resource_access.unwrap_or(false),
        })
    }
}

/// A GetResourcePolicy.
#[derive(Clone, Debug)]
pub struct GetResourcePolicy {
    /// The table or stream.
    pub resource: PolicyResource,
}

impl GetResourcePolicy {
    /// Validates the parts.
    pub fn validate(parts: &GetResourcePolicyParts) -> Result<Self, Error> {
        Ok(Self { resource: PolicyResource::parse(&parts.resource_arn)? })
    }
}

/// A DeleteResourcePolicy.
#[derive(Clone, Debug)]
pub struct DeleteResourcePolicy {
    /// The table or stream.
    pub resource: PolicyResource,
    /// The policy that must be there.
    pub expected: Option<ExpectedPolicy>,
}

impl DeleteResourcePolicy {
    /// Validates the parts.
    pub fn validate(parts: DeleteResourcePolicyParts) -> Result<Self, Error> {
        Ok(Self {
            resource: PolicyResource::parse(&parts.resource_arn)?,
            expected: parts.expected_revision_id.map(ExpectedPolicy::of),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_a_stream_are_named_by_arn() {
        let table = PolicyResource::parse("arn:aws:dynamodb:eu-west-1:123456789012:table/Shop").unwrap();
        assert_eq!((table.table.as_str(), table.stream), ("Shop", None));
        let stream = "arn:aws:dynamodb:eu-west-1:123456789012:table/Shop/stream/2026-01-02T03:04:05.678";
        let stream = PolicyResource::parse(stream).unwrap();
        assert_eq!(stream.table, "Shop");
        assert_eq!(stream.stream.as_deref(), Some("2026-01-02T03:04:05.678"));
    }

    #[test]
    fn each_fault_of_an_arn_has_its_text() {
        for (arn, message) in [
            ("Shop", "ARNs must start with 'arn:': Shop"),
            (
                "arn:aws-cn:dynamodb:eu-west-1:1:table/Shop",
                "Invalid resource Arn: arn:aws-cn:dynamodb:eu-west-1:1:table/Shop",
            ),
            (
                "arn:aws:dynamodb:eu-west-1:1:table/S",
                "Invalid resource Arn: arn:aws:dynamodb:eu-west-1:1:table/S",
            ),
            ("arn:aws:dynamodb:x", "Invalid resource Arn: arn:aws:dynamodb:x"),
            (
                "arn:aws:dynamodb:eu-west-1:1:table/Shop/index/i",
                "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: \
                 arn:aws:dynamodb:eu-west-1:1:table/Shop/index/i",
            ),
            (
                "arn:aws:dynamodb:eu-west-1:1:global-table/Shop",
                "Provided Arn is not a DynamoDB resource arn: arn:aws:dynamodb:eu-west-1:1:global-table/Shop",
            ),
        ] {
            let text = PolicyResource::parse(arn).unwrap_err().message;
            assert_eq!(text, format!("One or more parameter values were invalid: {message}"));
        }
        assert_eq!(PolicyResource::parse("arn:aws:s3:::bucket").unwrap_err().kind, ErrorKind::AccessDenied);
    }

    #[test]
    fn one_word_expects_that_there_is_no_policy() {
        assert_eq!(ExpectedPolicy::of("NO_POLICY".to_owned()), ExpectedPolicy::None);
        assert_eq!(ExpectedPolicy::of("1".to_owned()), ExpectedPolicy::Revision("1".to_owned()));
    }
}
