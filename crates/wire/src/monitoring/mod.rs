//! CloudWatch's three protocols: bytes to typed requests, responses and faults to bytes.
//!
//! It knows JSON, CBOR, forms and XML; what a request means is in `semantics`.

mod cbor;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::monitoring::Operation;
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::monitoring::fault::{Fault, FaultKind};
use keywright_semantics::monitoring::request::Request;
use keywright_semantics::monitoring::response::Response;

use crate::document_json as json;
use crate::query::form::{self, FormFault};
use crate::query::xml;
use crate::render::render_error;

/// The namespace of CloudWatch's XML.
const NAMESPACE: &str = "http://monitoring.amazonaws.com/doc/2010-08-01/";

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// JSON 1.0 with a target header.
    Json,
    /// CBOR with the operation in the path.
    Cbor,
    /// A form, answered with XML.
    Query,
}

impl Protocol {
    /// The content type of responses.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/x-amz-json-1.0",
            Self::Cbor => "application/cbor",
            Self::Query => "text/xml",
        }
    }
}

/// Bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The value of `x-amzn-query-error`, in JSON and CBOR.
    pub query_error: Option<String>,
}

/// The typed request of a body. `operation` is the operation of the head; forms name theirs.
pub fn decode_monitoring(
    protocol: Protocol,
    operation: &str,
    body: &[u8],
) -> Result<(Operation, Request), Fault> {
    let (named, document) = match protocol {
        Protocol::Json => {
            let malformed = || Fault::new(FaultKind::Serialization, "The body is not a JSON object.");
            (operation.to_owned(), json::read(body).ok_or_else(malformed)?)
        }
        Protocol::Cbor => (operation.to_owned(), cbor::read(body)?),
        Protocol::Query => form::read(body).map_err(of_form)?,
    };
    let operation = Operation::from_name(&named).ok_or_else(|| Fault::unknown_operation(&named))?;
    Ok((operation, Request::validate(operation, &document)?))
}

fn of_form(fault: FormFault) -> Fault {
    let message = match fault {
        FormFault::TooLarge => "The form has too many fields.",
        FormFault::NoAction => "The form has no parameter Action.",
    };
    Fault::new(FaultKind::Serialization, message)
}

/// The bytes of a response.
pub fn render_monitoring(protocol: Protocol, operation: Operation, response: &Response) -> Rendered {
    let document = response.document();
    let body = match protocol {
        Protocol::Json => json::write(&document.unwrap_or(Document::Object(Vec::new()))),
        Protocol::Cbor => cbor::write(&document.unwrap_or(Document::Object(Vec::new()))),
        Protocol::Query => xml::response(NAMESPACE, operation.name(), document.as_ref()),
    };
    Rendered { status: 200, body, query_error: None }
}

fn written(protocol: Protocol, status: u16, (type_name, code, message): (String, &str, &str)) -> Rendered {
    let sender = if status < 500 { "Sender" } else { "Receiver" };
    let document =
        Document::object([("__type", Document::Text(type_name)), ("message", Document::text(message))]);
    let query_error = Some(format!("{code};{sender}"));
    match protocol {
        Protocol::Json => Rendered { status, body: json::write(&document), query_error },
        Protocol::Cbor => Rendered { status, body: cbor::write(&document), query_error },
        Protocol::Query => {
            Rendered { status, body: xml::error(NAMESPACE, [sender, code, message]), query_error: None }
        }
    }
}

/// The bytes of a fault.
pub fn render_fault(protocol: Protocol, fault: &Fault) -> Rendered {
    let namespace = match fault.kind {
        FaultKind::Serialization | FaultKind::UnknownOperation => "com.amazon.coral.service#",
        _ => "com.amazonaws.cloudwatch#",
    };
    let type_name = format!("{namespace}{}", fault.kind.shape());
    written(protocol, fault.kind.status(), (type_name, fault.kind.code(), &fault.message))
}

/// The bytes of an error that every API has: of signatures, and of a busy server.
pub fn render_common_error(protocol: Protocol, error: &Error) -> Rendered {
    let rendered = render_error(error);
    let shape = rendered.type_name.rsplit('#').next().unwrap_or_default();
    let code = match error.kind {
        ErrorKind::InvalidSignature => "SignatureDoesNotMatch",
        ErrorKind::UnrecognizedClient => "InvalidClientTokenId",
        ErrorKind::InternalServerError => "InternalFailure",
        _ => shape.strip_suffix("Exception").unwrap_or(shape),
    };
    written(protocol, rendered.status, (rendered.type_name.to_owned(), code, &error.message))
}

#[cfg(test)]
mod tests {
    use keywright_semantics::monitoring::document::TimeMs;

    use super::*;

    fn decoded(protocol: Protocol, operation: &str, body: &[u8]) -> Request {
        decode_monitoring(protocol, operation, body).expect("the request is right").1
    }

    #[test]
    fn one_request_is_the_same_in_all_protocols() {
        let json = br#"{"Namespace":"AWS/DynamoDB","MetricName":"UserErrors","StartTime":1791547200,
            "EndTime":1791550800.5,"Period":60,"Statistics":["Sum"],
            "Dimensions":[{"Name":"TableName","Value":"T"}]}"#;
        let form = b"Action=GetMetricStatistics&Version=2010-08-01&Namespace=AWS%2FDynamoDB\
            &MetricName=UserErrors&StartTime=2026-10-09T12%3A00%3A00Z&EndTime=2026-10-09T13%3A00%3A00.500Z\
            &Period=60&Statistics.member.1=Sum&Dimensions.member.1.Name=TableName\
            &Dimensions.member.1.Value=T";
        let tree = Document::object([
            ("Namespace", Document::text("AWS/DynamoDB")),
            ("MetricName", Document::text("UserErrors")),
            ("StartTime", Document::Time(TimeMs(1_791_547_200_000))),
            ("EndTime", Document::Time(TimeMs(1_791_550_800_500))),
            ("Period", Document::Integer(60)),
            ("Statistics", Document::List(vec![Document::text("Sum")])),
            (
                "Dimensions",
                Document::List(vec![Document::object([
                    ("Name", Document::text("TableName")),
                    ("Value", Document::text("T")),
                ])]),
            ),
        ]);
        let of_json = decoded(Protocol::Json, "GetMetricStatistics", json);
        assert_eq!(decoded(Protocol::Query, "", form), of_json);
        assert_eq!(decoded(Protocol::Cbor, "GetMetricStatistics", &cbor::write(&tree)), of_json);
    }

    #[test]
    fn a_fault_has_one_code_in_all_protocols() {
        let fault = Fault::missing("Namespace");
        let json = render_fault(Protocol::Json, &fault);
        assert_eq!(json.query_error.as_deref(), Some("MissingParameter;Sender"));
        assert_eq!(
            String::from_utf8(json.body).as_deref(),
            Ok("{\"__type\":\"com.amazonaws.cloudwatch#MissingRequiredParameterException\",\
                \"message\":\"The parameter Namespace is required.\"}")
        );
        assert_eq!(render_fault(Protocol::Cbor, &fault).query_error, json.query_error);
        let xml = String::from_utf8(render_fault(Protocol::Query, &fault).body).expect("XML is text");
        assert!(xml.contains("<Type>Sender</Type><Code>MissingParameter</Code>"), "{xml}");
    }

    #[test]
    fn responses_are_written_in_each_protocol() {
        let response = Response::GetMetricData {
            results: vec![keywright_semantics::monitoring::response::DataResult {
                id: "m1".to_owned(),
                label: "a<b".to_owned(),
                points: vec![(TimeMs(1_791_547_200_000), 2.5)],
                is_partial: false,
            }],
            next_token: None,
        };
        let body = |protocol| render_monitoring(protocol, Operation::GetMetricData, &response).body;
        assert_eq!(
            String::from_utf8(body(Protocol::Json)).as_deref(),
            Ok("{\"MetricDataResults\":[{\"Id\":\"m1\",\"Label\":\"a<b\",\"Timestamps\":[1791547200],\
                \"Values\":[2.5],\"StatusCode\":\"Complete\"}],\"Messages\":[]}")
        );
        let xml = String::from_utf8(body(Protocol::Query)).expect("XML is text");
        assert!(
            xml.contains("<Label>a&lt;b</Label><Timestamps><member>2026-10-09T12:00:00Z</member>"),
            "{xml}"
        );
        let read = cbor::read(&body(Protocol::Cbor)).expect("our own CBOR is read");
        let results = read.list_of("MetricDataResults").expect("a list");
        let times = results.first().expect("one result").member("Timestamps");
        assert_eq!(*times, Document::List(vec![Document::Time(TimeMs(1_791_547_200_000))]));
    }
}
