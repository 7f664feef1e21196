//! The query protocol of IAM and STS: forms to typed requests, responses and faults to XML.
//!
//! It does not know what a request means, or who may make it.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::iam::fault::{Fault, FaultKind};
use keywright_semantics::iam::messages;
use keywright_semantics::monitoring::document::Document;
use keywright_semantics::{iam, sts};

use crate::query::form::{self, FormFault};
use crate::query::read_xml;
use crate::query::xml;
use crate::render::render_error;

/// The code of the error of a server that judges nobody. No service has it.
const NOT_SERVED: &str = "NotServed";

/// The content type of responses.
pub const IDENTITY_CONTENT_TYPE: &str = "text/xml";

/// An API that speaks about principals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentityApi {
    /// Users, groups, roles, policies and keys.
    Iam,
    /// Sessions.
    Sts,
}

impl IdentityApi {
    /// The version of its operations.
    const fn version(self) -> &'static str {
        match self {
            Self::Iam => "2010-05-08",
            Self::Sts => "2011-06-15",
        }
    }

    /// The namespace of its XML.
    const fn namespace(self) -> &'static str {
        match self {
            Self::Iam => "https://iam.amazonaws.com/doc/2010-05-08/",
            Self::Sts => "https://sts.amazonaws.com/doc/2011-06-15/",
        }
    }
}

/// A request to one of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityRequest {
    /// To IAM.
    Iam(iam::Operation, iam::request::Request),
    /// To STS.
    Sts(sts::Operation, sts::request::Request),
}

/// A form whose operation is known, before its parameters are judged.
#[derive(Debug)]
pub struct IdentityForm {
    /// The API and operation.
    pub operation: IdentityOperation,
    parameters: Document,
}

/// An operation of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityOperation {
    /// Of IAM.
    Iam(iam::Operation),
    /// Of STS.
    Sts(sts::Operation),
}

impl IdentityOperation {
    /// The operation's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iam(operation) => operation.name(),
            Self::Sts(operation) => operation.name(),
        }
    }
}

/// Bytes to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedIdentity {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// The form of a body.
pub fn read_identity(api: IdentityApi, body: &[u8]) -> Result<IdentityForm, Fault> {
    let (named, parameters) = form::read(body).map_err(of_form)?;
    let unknown = || Fault::new(FaultKind::InvalidAction, messages::unknown_action(&named, api.version()));
    let operation = match api {
        IdentityApi::Iam => iam::Operation::from_name(&named).map(IdentityOperation::Iam),
        IdentityApi::Sts => sts::Operation::from_name(&named).map(IdentityOperation::Sts),
    };
    Ok(IdentityForm { operation: operation.ok_or_else(unknown)?, parameters })
}

fn of_form(fault: FormFault) -> Fault {
    match fault {
        FormFault::TooLarge => Fault::validation(messages::FORM_TOO_LARGE),
        FormFault::NoAction => Fault::new(FaultKind::MissingAction, messages::MISSING_ACTION),
    }
}

impl IdentityForm {
    /// The typed request of the form.
    pub fn judge(&self) -> Result<IdentityRequest, Fault> {
        let (request, checked) = self.parts();
        checked.map(|()| request)
    }

    /// What the form asks for, as far as it can be read, and what is wrong with it. With a fault the request
    /// is good for judging who may make it and nothing else.
    pub fn parts(&self) -> (IdentityRequest, Result<(), Fault>) {
        match self.operation {
            IdentityOperation::Iam(operation) => {
                let (request, checked) = iam::request::Request::parts(operation, &self.parameters);
                (IdentityRequest::Iam(operation, request), checked)
            }
            IdentityOperation::Sts(operation) => {
                let (request, checked) = sts::request::Request::parts(operation, &self.parameters);
                (IdentityRequest::Sts(operation, request), checked)
            }
        }
    }

    /// The text of a parameter, before anything is judged.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        match self.parameters.member(name) {
            Document::Text(text) | Document::Form(text) => Some(text),
            _ => None,
        }
    }
}

/// The bytes of a response of IAM.
pub fn render_iam(operation: iam::Operation, response: &iam::response::Response) -> RenderedIdentity {
    let document = response.document();
    let body = xml::response(IdentityApi::Iam.namespace(), operation.name(), document.as_ref());
    RenderedIdentity { status: 200, body }
}

/// The bytes of a response of STS.
pub fn render_sts(operation: sts::Operation, response: &sts::response::Response) -> RenderedIdentity {
    let document = response.document();
    let body = xml::response(IdentityApi::Sts.namespace(), operation.name(), Some(&document));
    RenderedIdentity { status: 200, body }
}

/// The form of a request to IAM or STS, as a client sends it.
pub fn identity_form(api: IdentityApi, operation: &str, members: &[(String, String)]) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("Action", operation).append_pair("Version", api.version());
    form.extend_pairs(members);
    form.finish()
}

/// The result in a response, or the code and message of an error. A body that is neither has no code.
pub fn read_identity_response(body: &[u8]) -> Result<Document, (String, String)> {
    let Some((name, root)) = std::str::from_utf8(body).ok().and_then(read_xml::read) else {
        return Err((String::new(), "the response is no XML of the query protocol".to_owned()));
    };
    if name == "ErrorResponse" {
        let text = |member| root.member("Error").text_of(member).ok().flatten().unwrap_or_default();
        return Err((text("Code"), text("Message")));
    }
    let result = name.strip_suffix("Response").map(|operation| format!("{operation}Result"));
    Ok(result.map_or(Document::Null, |result| root.member(&result).clone()))
}

/// Names and values of a form in the query protocol, as sent.
pub fn form_pairs(body: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
}

/// The policy in a response, which stands there percent-encoded.
pub fn policy_text(encoded: &str) -> String {
    let mut parts = form_urlencoded::parse(encoded.as_bytes());
    parts.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

fn written(api: IdentityApi, (status, code, message): (u16, &str, &str)) -> RenderedIdentity {
    let sender = if status < 500 { "Sender" } else { "Receiver" };
    RenderedIdentity { status, body: xml::error(api.namespace(), [sender, code, message]) }
}

/// The bytes of a fault.
pub fn render_identity_fault(api: IdentityApi, fault: &Fault) -> RenderedIdentity {
    written(api, (fault.kind.status(), fault.kind.code(), &fault.message))
}

/// The bytes of the response of a server that judges nobody.
pub fn render_identity_not_served(api: IdentityApi) -> RenderedIdentity {
    written(api, (404, NOT_SERVED, messages::NOT_SERVED))
}

/// The bytes of an error that every API has: of signatures, and of a busy server.
pub fn render_identity_error(api: IdentityApi, error: &Error) -> RenderedIdentity {
    let rendered = render_error(error);
    let shape = rendered.type_name.rsplit('#').next().unwrap_or_default();
    let (status, code) = match error.kind {
        ErrorKind::InvalidSignature => (403, "SignatureDoesNotMatch"),
        ErrorKind::UnrecognizedClient => (403, "InvalidClientTokenId"),
        ErrorKind::ExpiredToken => (403, "ExpiredToken"),
        ErrorKind::AccessDenied => (403, "AccessDenied"),
        ErrorKind::MissingAuthenticationToken => (403, "MissingAuthenticationToken"),
        ErrorKind::InternalServerError => (500, "ServiceFailure"),
        _ => (rendered.status, shape.strip_suffix("Exception").unwrap_or(shape)),
    };
    written(api, (status, code, &error.message))
}

#[cfg(test)]
mod tests {
    use keywright_semantics::iam::names::Kind;
    use keywright_semantics::iam::request::Request;
    use keywright_semantics::iam::response::Response;

    use super::*;

    fn xml(rendered: RenderedIdentity) -> String {
        String::from_utf8(rendered.body).expect("XML is text")
    }

    #[test]
    fn a_form_is_a_typed_request() {
        let body = b"Action=CreateUser&Version=2010-05-08&UserName=ann&Path=%2Fteam%2F\
            &Tags.member.1.Key=team&Tags.member.1.Value=a%26b";
        let form = read_identity(IdentityApi::Iam, body).expect("the form is right");
        let Ok(IdentityRequest::Iam(iam::Operation::CreateUser, Request::CreateUser(new))) = form.judge()
        else {
            panic!("{form:?}");
        };
        assert_eq!((new.name.as_str(), new.path.as_str()), ("ann", "/team/"));
        assert_eq!(new.tags.get("team").map(String::as_str), Some("a&b"));
    }

    #[test]
    fn what_is_no_operation_is_refused_with_the_name_and_version() {
        let refused = |api, body: &[u8]| {
            let fault = read_identity(api, body).expect_err("no operation");
            xml(render_identity_fault(api, &fault))
        };
        assert_eq!(
            refused(IdentityApi::Iam, b"Action=CreateSAMLProvider"),
            "<ErrorResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><Error><Type>Sender</Type>\
             <Code>InvalidAction</Code><Message>Could not find operation CreateSAMLProvider for version \
             2010-05-08</Message></Error></ErrorResponse>"
        );
        assert!(refused(IdentityApi::Sts, b"Action=CreateUser").contains("<Code>InvalidAction</Code>"));
        assert!(refused(IdentityApi::Sts, b"").contains("<Code>MissingAction</Code>"));
        let many = "a.b.c.d.e.f.g.h.i.j.k.l.m.n=1".to_owned();
        assert!(refused(IdentityApi::Iam, many.as_bytes()).contains("<Code>ValidationError</Code>"));
    }

    #[test]
    fn documents_are_percent_encoded_in_responses() {
        let response = Response::InlinePolicy {
            kind: Kind::User,
            owner: "ann".to_owned(),
            policy: "p".to_owned(),
            document: "{\"a\": \"ü~\"}".to_owned(),
        };
        let body = xml(render_iam(iam::Operation::GetUserPolicy, &response));
        assert!(
            body.contains(
                "<GetUserPolicyResult><UserName>ann</UserName><PolicyName>p</PolicyName>\
                 <PolicyDocument>%7B%22a%22%3A%20%22%C3%BC~%22%7D</PolicyDocument></GetUserPolicyResult>"
            ),
            "{body}"
        );
    }
}
