//! The APIs of one endpoint and how a request's head tells them apart.
//!
//! It knows prefixes, paths and content types; each API knows its own operations.

use crate::event_sources;
use crate::identity::IdentityApi;
use crate::monitoring::Protocol;

/// An API of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// DynamoDB and its streams.
    DynamoDb,
    /// Lambda's event source mappings; method and path name the operation.
    EventSources,
    /// IAM or STS. A form of theirs has the head of one of CloudWatch's: the signature's scope tells them
    /// apart.
    Identity(IdentityApi),
    /// CloudWatch, in one of its protocols.
    Monitoring(Protocol),
    /// Application Auto Scaling.
    Scaling,
}

/// The prefix of CloudWatch's targets and paths.
const MONITORING: &str = "GraniteServiceVersion20100801";
/// The prefix of Application Auto Scaling's targets.
const SCALING: &str = "AnyScaleFrontendService";
/// The path of a request in CBOR, up to the operation.
const CBOR_PATH: &str = "/service/GraniteServiceVersion20100801/operation/";
const FORM: &str = "application/x-www-form-urlencoded";

impl Family {
    /// The family of a request, and the operation if its head names it: forms name it in their body.
    pub fn of<'h>(path: &'h str, target: &'h str, content_type: &str) -> (Self, &'h str) {
        if let Some(operation) = path.strip_prefix(CBOR_PATH) {
            return (Self::Monitoring(Protocol::Cbor), operation);
        }
        if event_sources::is_path(path) {
            return (Self::EventSources, "");
        }
        let named = |api: &str| target.strip_prefix(api)?.strip_prefix('.');
        if let Some(operation) = named(MONITORING) {
            return (Self::Monitoring(Protocol::Json), operation);
        }
        if let Some(operation) = named(SCALING) {
            return (Self::Scaling, operation);
        }
        if !target.is_empty() {
            return (Self::DynamoDb, "");
        }
        let media = content_type.split(';').next().unwrap_or_default().trim();
        if media.eq_ignore_ascii_case(FORM) {
            return (Self::Monitoring(Protocol::Query), "");
        }
        (Self::DynamoDb, "")
    }

    /// The API of a form whose signature is scoped to this service.
    #[must_use]
    pub fn of_form(self, scope_service: &str) -> Self {
        match (self, scope_service) {
            (Self::Monitoring(Protocol::Query), "iam") => Self::Identity(IdentityApi::Iam),
            (Self::Monitoring(Protocol::Query), "sts") => Self::Identity(IdentityApi::Sts),
            (other, _) => other,
        }
    }

    /// The name of the service in the scope of a signature.
    pub const fn signature_service(self) -> &'static str {
        match self {
            Self::DynamoDb => "dynamodb",
            Self::EventSources => "lambda",
            Self::Identity(IdentityApi::Iam) => "iam",
            Self::Identity(IdentityApi::Sts) => "sts",
            Self::Monitoring(_) => "monitoring",
            Self::Scaling => "application-autoscaling",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_belongs_to_one_api() {
        for (path, target, content_type, expected) in [
            ("/", "DynamoDB_20120810.GetItem", "application/x-amz-json-1.0", (Family::DynamoDb, "")),
            ("/", "", "", (Family::DynamoDb, "")),
            ("/2015-03-31/event-source-mappings/", "", "application/json", (Family::EventSources, "")),
            ("/2015-03-31/event-source-mappings/u", "", "", (Family::EventSources, "")),
            ("/2015-03-31/event-source-mappingsX", "", "", (Family::DynamoDb, "")),
            (
                "/",
                "GraniteServiceVersion20100801.ListMetrics",
                "application/x-amz-json-1.0",
                (Family::Monitoring(Protocol::Json), "ListMetrics"),
            ),
            (
                "/service/GraniteServiceVersion20100801/operation/ListMetrics",
                "",
                "application/cbor",
                (Family::Monitoring(Protocol::Cbor), "ListMetrics"),
            ),
            (
                "/",
                "AnyScaleFrontendService.PutScalingPolicy",
                "application/x-amz-json-1.1",
                (Family::Scaling, "PutScalingPolicy"),
            ),
            (
                "/",
                "",
                "application/x-www-form-urlencoded; charset=utf-8",
                (Family::Monitoring(Protocol::Query), ""),
            ),
        ] {
            assert_eq!(Family::of(path, target, content_type), expected);
        }
    }
}
