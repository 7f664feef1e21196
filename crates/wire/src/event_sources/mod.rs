//! Lambda's REST protocol for event source mappings: bytes to typed requests, responses and faults to bytes.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::event_sources::fault::{Fault, FaultKind};
use keywright_semantics::event_sources::request::Request;
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::{Mapping, Response};
use keywright_semantics::monitoring::document::{Document, TimeMs};

use crate::document_json as json;
use crate::events::Pattern;
use crate::render::render_error;

/// The path of all mappings.
pub const EVENT_SOURCES_PATH: &str = "/2015-03-31/event-source-mappings";
/// The content type of requests and responses.
pub const EVENT_SOURCES_CONTENT_TYPE: &str = "application/json";
const ACCEPTED: u16 = 202;
const OK: u16 = 200;

/// Bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedMapping {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The value of `x-amzn-errortype`.
    pub error_type: Option<String>,
}

/// The line of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'r> {
    /// The method.
    pub method: &'r str,
    /// The path.
    pub path: &'r str,
    /// What follows the question mark.
    pub query: &'r str,
}

/// Whether a path is that of mappings.
pub(crate) fn is_path(path: &str) -> bool {
    path.strip_prefix(EVENT_SOURCES_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The typed request of a line and a body.
pub fn decode_event_sources(line: RequestLine<'_>, body: &[u8]) -> Result<Request, Fault> {
    let uuid = line.path.strip_prefix(EVENT_SOURCES_PATH).unwrap_or_default().trim_matches('/');
    let malformed = || Fault::new(FaultKind::Serialization, "The body is not a JSON object.");
    let document = || json::read(body).ok_or_else(malformed);
    let request = match (line.method, uuid) {
        ("POST", "") => Request::create(&document()?)?,
        ("GET", "") => {
            let parameters: Vec<(String, String)> =
                form_urlencoded::parse(line.query.as_bytes()).into_owned().collect();
            Request::list(&parameters)?
        }
        (_, "") => return Err(unknown(line)),
        ("GET", _) => Request::Get(uuid.to_owned()),
        ("DELETE", _) => Request::Delete(uuid.to_owned()),
        ("PUT", _) => Request::update(uuid, &document()?)?,
        _ => return Err(unknown(line)),
    };
    for pattern in request.filters() {
        if let Err(reason) = Pattern::compile(pattern) {
            return Err(Fault::parameter(format!("Invalid filter pattern definition. {reason}")));
        }
    }
    Ok(request)
}

fn unknown(line: RequestLine<'_>) -> Fault {
    let message = format!("There is no operation {} {}.", line.method, line.path);
    Fault::new(FaultKind::ResourceNotFound, message)
}

/// The bytes of a response.
pub fn render_event_sources(response: &Response, changes_something: bool) -> RenderedMapping {
    let document = match response {
        Response::One(mapping) => configuration(mapping),
        Response::Page { mappings, next_marker } => Document::object([
            ("NextMarker", Document::maybe(next_marker.as_ref(), Document::text)),
            ("EventSourceMappings", Document::List(mappings.iter().map(configuration).collect())),
        ]),
    };
    let status = if changes_something { ACCEPTED } else { OK };
    RenderedMapping { status, body: json::write(&document), error_type: None }
}

fn number(number: u32) -> Document {
    Document::Integer(i64::from(number))
}

/// A number of which none is written as -1.
fn bound(bound: Option<u32>) -> Document {
    Document::Integer(bound.map_or(-1, i64::from))
}

fn configuration(mapping: &Mapping) -> Document {
    let settings = &mapping.settings;
    let patterns =
        settings.filters.iter().map(|pattern| Document::object([("Pattern", Document::text(pattern))]));
    let filters: Vec<Document> = patterns.collect();
    let criteria = (!filters.is_empty()).then(|| Document::object([("Filters", Document::List(filters))]));
    let types =
        if settings.reports_failures { vec![Document::text("ReportBatchItemFailures")] } else { Vec::new() };
    let destination = settings.on_failure.as_ref().map(Target::text).map(Document::Text);
    let on_failure = match destination {
        Some(text) => Document::object([("Destination", text)]),
        None => Document::Object(Vec::new()),
    };
    Document::object([
        ("UUID", Document::text(&mapping.uuid)),
        ("StartingPosition", Document::text(mapping.start.name())),
        ("BatchSize", number(settings.batch_size)),
        ("MaximumBatchingWindowInSeconds", number(settings.batching_window_s)),
        ("ParallelizationFactor", number(settings.parallelization)),
        ("EventSourceArn", Document::text(&mapping.stream_arn)),
        ("FilterCriteria", criteria.unwrap_or(Document::Null)),
        ("FunctionArn", Document::Text(settings.target.arn(&mapping.region, &mapping.account))),
        ("LastModified", Document::Time(TimeMs(i64::try_from(mapping.modified_ms).unwrap_or(i64::MAX)))),
        ("LastProcessingResult", Document::Text(mapping.last_result())),
        ("State", Document::text(mapping.state.name())),
        ("StateTransitionReason", Document::text(&mapping.reason)),
        ("DestinationConfig", Document::object([("OnFailure", on_failure)])),
        ("MaximumRecordAgeInSeconds", bound(settings.record_age_s_max)),
        ("BisectBatchOnFunctionError", Document::Bool(settings.bisects)),
        ("MaximumRetryAttempts", bound(settings.retries_max)),
        ("TumblingWindowInSeconds", number(settings.tumbling_window_s)),
        ("FunctionResponseTypes", Document::List(types)),
        ("EventSourceMappingArn", Document::Text(mapping.arn())),
    ])
}

fn written(status: u16, name: &str, (member, message): (&str, &str)) -> RenderedMapping {
    let who = if status < 500 { "User" } else { "Service" };
    let document = Document::object([("Type", Document::text(who)), (member, Document::text(message))]);
    RenderedMapping { status, body: json::write(&document), error_type: Some(name.to_owned()) }
}

/// The bytes of a fault.
pub fn render_event_sources_fault(fault: &Fault) -> RenderedMapping {
    written(fault.kind.status(), fault.kind.name(), (fault.kind.message_member(), &fault.message))
}

/// The bytes of an error that every API has: of signatures, and of a busy server.
pub fn render_event_sources_error(error: &Error) -> RenderedMapping {
    let rendered = render_error(error);
    let (status, name) = match error.kind {
        ErrorKind::InternalServerError => (rendered.status, FaultKind::Service.name()),
        ErrorKind::InvalidSignature | ErrorKind::UnrecognizedClient => {
            (403, rendered.type_name.rsplit('#').next().unwrap_or_default())
        }
        _ => (rendered.status, rendered.type_name.rsplit('#').next().unwrap_or_default()),
    };
    written(status, name, ("message", &error.message))
}

#[cfg(test)]
mod tests {
    use keywright_semantics::event_sources::request::Start;
    use keywright_semantics::event_sources::settings::Settings;
    use keywright_semantics::event_sources::view::{Counts, State};

    use super::*;

    fn line<'r>(method: &'r str, path: &'r str) -> RequestLine<'r> {
        RequestLine { method, path, query: "" }
    }

    #[test]
    fn a_request_is_told_by_its_method_and_path_with_a_slash_at_the_end_or_not() {
        let of = |method, path: &str, body: &[u8]| decode_event_sources(line(method, path), body);
        let one = format!("{EVENT_SOURCES_PATH}/3b1e0b05-8b51-4c0f-a9a1-4d1d6f1a2c3d");
        for path in [one.clone(), format!("{one}/")] {
            let Ok(Request::Get(uuid)) = of("GET", &path, b"") else { panic!("{path}") };
            assert_eq!(uuid, "3b1e0b05-8b51-4c0f-a9a1-4d1d6f1a2c3d");
        }
        assert!(matches!(of("DELETE", &one, b""), Ok(Request::Delete(_))));
        assert!(matches!(of("PUT", &one, b"{\"Enabled\":false}"), Ok(Request::Update(_))));
        assert!(matches!(of("GET", &format!("{EVENT_SOURCES_PATH}/"), b""), Ok(Request::List(_))));
        assert_eq!(of("DELETE", EVENT_SOURCES_PATH, b"").unwrap_err().kind, FaultKind::ResourceNotFound);
        assert_eq!(of("PUT", &one, b"[]").unwrap_err().kind, FaultKind::Serialization);
    }

    #[test]
    fn a_list_reads_the_parameters_of_its_query() {
        let query = "FunctionName=f&MaxItems=2&EventSourceArn=arn%3Aaws%3Ax&Marker=";
        let request =
            decode_event_sources(RequestLine { method: "GET", path: EVENT_SOURCES_PATH, query }, b"");
        let Ok(Request::List(list)) = request else { panic!("{request:?}") };
        assert_eq!((list.limit, list.stream.as_deref()), (2, Some("arn:aws:x")));
        assert_eq!((list.target.as_deref(), list.marker), (Some("f"), None));
        let query = "MaxItems=0";
        let refused =
            decode_event_sources(RequestLine { method: "GET", path: EVENT_SOURCES_PATH, query }, b"");
        assert_eq!(refused.unwrap_err().kind, FaultKind::Validation);
    }

    #[test]
    fn a_bad_pattern_is_refused_with_its_place() {
        let body = br#"{"FilterCriteria":{"Filters":[{"Pattern":"{\"eventName\":\"REMOVE\"}"}]}}"#;
        let fault = decode_event_sources(line("PUT", &format!("{EVENT_SOURCES_PATH}/u")), body).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidParameterValue);
        assert!(
            fault.message.starts_with("Invalid filter pattern definition. eventName"),
            "{}",
            fault.message
        );
    }

    #[test]
    fn a_mapping_has_lambdas_members_and_a_fault_its_text_where_the_client_looks() {
        let mapping = Mapping {
            uuid: "u".to_owned(),
            account: "000000000000".to_owned(),
            region: "us-east-1".to_owned(),
            stream_arn: "arn:stream".to_owned(),
            table: "T".to_owned(),
            start: Start::Latest,
            settings: Settings::new(Target::Function("f".to_owned())),
            state: State::Enabled,
            reason: "User action".to_owned(),
            modified_ms: 1_500,
            section: None,
            counts: Counts::default(),
            failure: None,
            stream_end: None,
            lacks_old_images: false,
            lag_ms: None,
        };
        let rendered = render_event_sources(&Response::One(Box::new(mapping)), true);
        assert_eq!(rendered.status, 202);
        assert_eq!(
            String::from_utf8(rendered.body).as_deref(),
            Ok("{\"UUID\":\"u\",\"StartingPosition\":\"LATEST\",\"BatchSize\":100,\
                \"MaximumBatchingWindowInSeconds\":0,\"ParallelizationFactor\":1,\"EventSourceArn\":\"arn:stream\",\
                \"FunctionArn\":\"arn:aws:lambda:us-east-1:000000000000:function:f\",\"LastModified\":1.500,\
                \"LastProcessingResult\":\"No records processed\",\"State\":\"Enabled\",\
                \"StateTransitionReason\":\"User action\",\"DestinationConfig\":{\"OnFailure\":{}},\
                \"MaximumRecordAgeInSeconds\":-1,\"BisectBatchOnFunctionError\":false,\"MaximumRetryAttempts\":-1,\
                \"TumblingWindowInSeconds\":0,\"FunctionResponseTypes\":[],\
                \"EventSourceMappingArn\":\"arn:aws:lambda:us-east-1:000000000000:event-source-mapping:u\"}")
        );
        let fault = render_event_sources_fault(&Fault::not_found());
        assert_eq!((fault.status, fault.error_type.as_deref()), (404, Some("ResourceNotFoundException")));
        assert_eq!(
            String::from_utf8(fault.body).as_deref(),
            Ok("{\"Type\":\"User\",\"Message\":\"The resource you requested does not exist.\"}")
        );
    }
}
