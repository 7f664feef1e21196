//! Verification of signatures made by the official signer, intact and altered.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use aws_sigv4::http_request::{
    SignableBody, SignableRequest, SignatureLocation, SigningParams, SigningSettings, sign,
};
use aws_sigv4::sign::v4;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;

use super::{Keyring, SignedRequest, Signer, SigningKeys, TimeCheck, TimeMs, read_claim, verify};

const KEY: &str = "AKIAEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const NOW: TimeMs = TimeMs(1_795_239_000_000);
const BODY: &[u8] = br#"{"TableName":"t"}"#;

struct OneKey;

impl Keyring for OneKey {
    fn secret(&self, access_key_id: &str) -> Option<&str> {
        (access_key_id == KEY).then_some(SECRET)
    }
}

/// A request signed by the official signer.
#[derive(Clone)]
struct Sent {
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Sent {
    fn signed_at(time: TimeMs, region: &str, location: SignatureLocation) -> Self {
        let identity = aws_credential_types::Credentials::new(KEY, SECRET, None, None, "test").into();
        let mut settings = SigningSettings::default();
        settings.signature_location = location;
        if location == SignatureLocation::QueryParams {
            settings.expires_in = Some(Duration::from_mins(15));
        }
        let params: SigningParams<'_> = v4::SigningParams::builder()
            .identity(&identity)
            .region(region)
            .name("dynamodb")
            .time(SystemTime::UNIX_EPOCH + Duration::from_millis(time.0))
            .settings(settings)
            .build()
            .unwrap()
            .into();
        let mut headers = vec![
            ("host".to_owned(), "localhost:8000".to_owned()),
            ("x-amz-target".to_owned(), "DynamoDB_20120810.GetItem".to_owned()),
        ];
        let url = "http://localhost:8000/?a=b%20c&A=%C3%A9";
        let signable = SignableRequest::new(
            "POST",
            url,
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())),
            SignableBody::Bytes(BODY),
        )
        .unwrap();
        let (instructions, _signature) = sign(signable, &params).unwrap().into_parts();
        let mut query = "a=b%20c&A=%C3%A9".to_owned();
        let (new_headers, new_parameters) = instructions.into_parts();
        for header in new_headers {
            headers.push((header.name().to_owned(), header.value().to_owned()));
        }
        for (name, value) in new_parameters {
            query.push('&');
            query.push_str(name);
            query.push('=');
            for byte in value.bytes() {
                write!(query, "%{byte:02X}").unwrap();
            }
        }
        Self { path: "/".to_owned(), query, headers, body: BODY.to_vec() }
    }

    fn header(&mut self, name: &str) -> &mut String {
        &mut self.headers.iter_mut().find(|(header, _)| header == name).unwrap().1
    }

    fn check(&self, now: TimeMs) -> Result<String, Error> {
        let headers: Vec<(&str, &str)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = SignedRequest {
            method: "POST",
            path: &self.path,
            query: &self.query,
            headers: &headers,
            body: &self.body,
        };
        let claim = read_claim(&request, "dynamodb", TimeCheck::Now(now))?;
        verify(&request, &claim, &OneKey, &SigningKeys::default())?;
        Ok(claim.region().as_str().to_owned())
    }

    fn fault(&self, now: TimeMs) -> (ErrorKind, String) {
        let error = self.check(now).unwrap_err();
        (error.kind, error.message)
    }
}

fn header_signed() -> Sent {
    Sent::signed_at(NOW, "eu-west-1", SignatureLocation::Headers)
}

fn presigned() -> Sent {
    Sent::signed_at(NOW, "eu-west-1", SignatureLocation::QueryParams)
}

#[test]
fn a_signature_of_the_official_signer_holds_in_header_and_query() {
    assert_eq!(header_signed().check(NOW).unwrap(), "eu-west-1");
    assert_eq!(presigned().check(NOW).unwrap(), "eu-west-1");
}

#[test]
fn our_signer_signs_as_the_official_one_does() {
    let mut signer = Signer::new(KEY, SECRET, "eu-west-1");
    let tomorrow = NOW.plus_seconds(86_400);
    for time in [NOW, NOW, tomorrow] {
        let official = Sent::signed_at(time, "eu-west-1", SignatureLocation::Headers);
        let headers: Vec<(&str, &str)> =
            official.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let request = SignedRequest {
            method: "POST",
            path: &official.path,
            query: &official.query,
            headers: &headers,
            body: &official.body,
        };
        let ours = signer.authorization(&request, &["host", "x-amz-date", "x-amz-target"], time);
        assert_eq!(Some(ours.as_str()), request.header("authorization"));
    }
}

#[test]
fn a_header_that_is_signed_twice_is_a_wrong_signature() {
    let mut sent = header_signed();
    let authorization = sent.header("authorization");
    *authorization = authorization.replace("SignedHeaders=", "SignedHeaders=host;");
    assert_eq!(sent.fault(NOW), (ErrorKind::InvalidSignature, auth::SIGNATURE_MISMATCH.to_owned()));
}

#[test]
fn a_signature_covers_body_target_path_and_query() {
    let changes: [fn(&mut Sent); 4] = [
        |sent| sent.body.push(b' '),
        |sent| *sent.header("x-amz-target") = "DynamoDB_20120810.DeleteTable".to_owned(),
        |sent| sent.path = "/other".to_owned(),
        |sent| sent.query.push_str("&more=1"),
    ];
    for change in changes {
        let mut sent = header_signed();
        change(&mut sent);
        assert_eq!(sent.fault(NOW), (ErrorKind::InvalidSignature, auth::SIGNATURE_MISMATCH.to_owned()));
    }
    let mut sent = presigned();
    sent.body.clear();
    assert_eq!(sent.fault(NOW).0, ErrorKind::InvalidSignature);
}

#[test]
fn a_session_token_is_refused() {
    let expected = (ErrorKind::UnrecognizedClient, auth::FOREIGN_TOKEN.to_owned());
    let mut sent = header_signed();
    sent.headers.push(("x-amz-security-token".to_owned(), "token".to_owned()));
    assert_eq!(sent.fault(NOW), expected);
    let mut sent = presigned();
    sent.query.push_str("&X-Amz-Security-Token=token");
    assert_eq!(sent.fault(NOW), expected);
}

#[test]
fn blanks_in_headers_do_not_matter() {
    let mut sent = header_signed();
    *sent.header("x-amz-target") = "  DynamoDB_20120810.GetItem ".to_owned();
    assert!(sent.check(NOW).is_ok());
}

#[test]
fn clocks_may_differ_by_five_minutes() {
    let sent = header_signed();
    assert!(sent.check(NOW.plus_seconds(300)).is_ok());
    assert!(sent.check(NOW.minus_seconds(300)).is_ok());
    let late = NOW.plus_seconds(301);
    assert_eq!(
        sent.fault(late),
        (
            ErrorKind::InvalidSignature,
            format!(
                "Signature expired: {} is now earlier than {} ({} - 5 min.)",
                NOW.to_basic(),
                NOW.plus_seconds(1).to_basic(),
                late.to_basic()
            )
        )
    );
    let early = NOW.minus_seconds(301);
    assert_eq!(
        sent.fault(early),
        (
            ErrorKind::InvalidSignature,
            format!(
                "Signature not yet current: {} is still later than {} ({} + 5 min.)",
                NOW.to_basic(),
                NOW.minus_seconds(1).to_basic(),
                early.to_basic()
            )
        )
    );
}

#[test]
fn a_presigned_request_holds_for_its_own_time() {
    assert!(presigned().check(NOW.plus_seconds(900)).is_ok());
    assert_eq!(presigned().fault(NOW.plus_seconds(901)).0, ErrorKind::InvalidSignature);
}

#[test]
fn an_unknown_key_is_not_recognised() {
    let mut sent = header_signed();
    let changed = sent.header("authorization").replace(KEY, "AKIANOBODY");
    *sent.header("authorization") = changed;
    assert_eq!(
        sent.fault(NOW),
        (ErrorKind::UnrecognizedClient, "The security token included in the request is invalid.".to_owned())
    );
}

#[test]
fn an_unsigned_request_is_missing_its_token() {
    let mut sent = header_signed();
    sent.headers.retain(|(name, _)| name != "authorization");
    assert_eq!(
        sent.fault(NOW),
        (ErrorKind::MissingAuthenticationToken, "Request is missing Authentication Token".to_owned())
    );
}

#[test]
fn an_incomplete_signature_reports_all_missing_parts() {
    let mut sent = header_signed();
    *sent.header("authorization") = "AWS4-HMAC-SHA256 Signature=b".to_owned();
    sent.headers.retain(|(name, _)| name != "x-amz-date");
    assert_eq!(
        sent.fault(NOW),
        (
            ErrorKind::IncompleteSignature,
            "Authorization header requires 'Credential' parameter. \
             Authorization header requires 'SignedHeaders' parameter. \
             Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. \
             Authorization=AWS4-HMAC-SHA256 Signature=b"
                .to_owned()
        )
    );
}

#[test]
fn a_scope_of_another_service_date_or_terminator_is_refused() {
    for (from, to) in [("dynamodb", "s3"), ("aws4_request", "aws5_request"), ("20261121", "20261120")] {
        let mut sent = header_signed();
        let changed = sent.header("authorization").replace(from, to);
        *sent.header("authorization") = changed;
        assert_eq!(sent.fault(NOW).0, ErrorKind::InvalidSignature, "{to}");
    }
}

#[test]
fn the_target_must_be_covered() {
    let mut sent = header_signed();
    let changed = sent.header("authorization").replace(";x-amz-target", "");
    *sent.header("authorization") = changed;
    assert_eq!(
        sent.fault(NOW),
        (
            ErrorKind::InvalidSignature,
            "'x-amz-target' must be a 'SignedHeader' in the AWS Authorization.".to_owned()
        )
    );
}

#[test]
fn a_region_of_more_than_64_bytes_is_not_a_region() {
    let sent = |length: usize| Sent::signed_at(NOW, &"r".repeat(length), SignatureLocation::Headers);
    assert_eq!(sent(64).check(NOW).unwrap(), "r".repeat(64));
    let (_, message) = sent(65).fault(NOW);
    assert_eq!(message, format!("Credential should be scoped to a valid region, not '{}'. ", "r".repeat(65)));
}
