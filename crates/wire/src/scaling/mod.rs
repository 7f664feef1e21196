//! Application Auto Scaling's protocol, JSON 1.1: bytes to typed requests, responses and faults to bytes.
//!
//! What a request means is in `semantics`.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::scaling::Operation;
use keywright_semantics::scaling::fault::{Fault, FaultKind};
use keywright_semantics::scaling::request::Request;
use keywright_semantics::scaling::response::Response;

use crate::document_json as json;
use crate::render::render_error;

/// The content type of responses.
pub const SCALING_CONTENT_TYPE: &str = "application/x-amz-json-1.1";

/// Bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedScaling {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// The typed request of a body.
pub fn decode_scaling(operation: &str, body: &[u8]) -> Result<(Operation, Request), Fault> {
    let unknown = || Fault::new(FaultKind::UnknownOperation, format!("There is no operation {operation}."));
    let malformed = || Fault::new(FaultKind::Serialization, "The body is not a JSON object.");
    let operation = Operation::from_name(operation).ok_or_else(unknown)?;
    Ok((operation, Request::validate(operation, &json::read(body).ok_or_else(malformed)?)?))
}

/// The bytes of a response.
pub fn render_scaling(response: &Response) -> RenderedScaling {
    RenderedScaling { status: 200, body: json::write(&response.document()) }
}

fn written(status: u16, name: &str, message: &str, resource: Option<&String>) -> RenderedScaling {
    let document = Document::object([
        ("__type", Document::text(name)),
        ("Message", Document::text(message)),
        ("ResourceName", Document::maybe(resource, Document::text)),
    ]);
    RenderedScaling { status, body: json::write(&document) }
}

/// The bytes of a fault.
pub fn render_scaling_fault(fault: &Fault) -> RenderedScaling {
    written(fault.kind.status(), fault.kind.name(), &fault.message, fault.resource.as_ref())
}

/// The bytes of an error that every API has: of signatures, and of a busy server.
pub fn render_scaling_error(error: &Error) -> RenderedScaling {
    let rendered = render_error(error);
    let name = match error.kind {
        ErrorKind::InternalServerError => FaultKind::Internal.name(),
        _ => rendered.type_name.rsplit('#').next().unwrap_or_default(),
    };
    written(rendered.status, name, &error.message, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_carries_its_name_and_a_message_with_a_capital() {
        let fault = decode_scaling("Scale", b"{}").unwrap_err();
        let text = String::from_utf8(render_scaling_fault(&fault).body);
        assert_eq!(
            text.as_deref(),
            Ok("{\"__type\":\"UnknownOperationException\",\"Message\":\"There is no operation Scale.\"}")
        );
        assert_eq!(decode_scaling("DeleteScalingPolicy", b"[]").unwrap_err().kind, FaultKind::Serialization);
    }

    #[test]
    fn a_request_is_read_and_a_response_written() {
        let body = br#"{"ServiceNamespace":"dynamodb","ResourceId":"table/T",
            "ScalableDimension":"dynamodb:table:ReadCapacityUnits","MinCapacity":5,"MaxCapacity":10}"#;
        let request = decode_scaling("RegisterScalableTarget", body).expect("the request is right");
        let (_, Request::RegisterScalableTarget(register)) = request else { panic!("{request:?}") };
        assert_eq!((register.min, register.max), (Some(5), Some(10)));
        let rendered = render_scaling(&Response::RegisterScalableTarget("arn".to_owned()));
        assert_eq!(String::from_utf8(rendered.body).as_deref(), Ok("{\"ScalableTargetARN\":\"arn\"}"));
    }
}
