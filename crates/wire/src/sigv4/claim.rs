//! What a request claims: who signed it, when, for which region and service, over which headers.
//!
//! Reading a claim proves nothing; `verify` does.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::auth;

use super::SignedRequest;
use super::canonical::percent_decode;
use super::time::TimeMs;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";

/// Where the signature was found; it decides what the signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    Header,
    /// A presigned request, and for how many seconds from its date it holds.
    Query { expires_seconds: u64 },
}

/// A well-formed claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub access_key_id: String,
    /// `YYYYMMDD` of the credential scope.
    pub date: String,
    pub region: String,
    pub service: String,
    pub signed_headers: Vec<String>,
    pub signature: String,
    /// The time as signed, verbatim and understood.
    pub time_text: String,
    pub time: TimeMs,
    pub placement: Placement,
}

impl Claim {
    /// `date/region/service/aws4_request`.
    pub fn scope(&self) -> String {
        format!("{}/{}/{}/{TERMINATOR}", self.date, self.region, self.service)
    }
}

/// Reads the claim from the Authorization header or, failing that, from a presigned query.
pub fn read_claim(request: &SignedRequest<'_>) -> Result<Claim, Error> {
    let query_algorithm = query_value(request.query, "X-Amz-Algorithm");
    match (request.header("authorization"), query_algorithm) {
        (Some(_), Some(_)) => Err(incomplete(auth::BOTH_HEADER_AND_QUERY)),
        (Some(authorization), None) => from_header(request, authorization),
        (None, Some(algorithm)) => from_query(request, &algorithm),
        (None, None) => Err(Error::new(ErrorKind::MissingAuthenticationToken, auth::MISSING_TOKEN)),
    }
}

fn incomplete(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IncompleteSignature, message)
}

fn from_header(request: &SignedRequest<'_>, authorization: &str) -> Result<Claim, Error> {
    let trimmed = authorization.trim();
    let Some(rest) = trimmed.strip_prefix(ALGORITHM) else {
        return Err(Error::new(ErrorKind::MissingAuthenticationToken, auth::MISSING_TOKEN));
    };
    let fields = HeaderFields::read(rest);
    let time_text = request.header("x-amz-date").or_else(|| request.header("date"));
    let mut missing = String::new();
    for (field, name) in
        [(fields.credential, "Credential"), (fields.signature, "Signature"), (fields.signed_headers, "SignedHeaders")]
    {
        if field.is_none() {
            missing.push_str(&auth::header_requires(name));
        }
    }
    if time_text.is_none() {
        missing.push_str(auth::HEADER_REQUIRES_DATE);
    }
    let (Some(credential), Some(signature), Some(signed_headers), Some(time_text)) =
        (fields.credential, fields.signature, fields.signed_headers, time_text)
    else {
        return Err(incomplete(auth::with_authorization(&missing, trimmed)));
    };
    let time = TimeMs::parse_basic(time_text).ok_or_else(|| incomplete(auth::bad_date(time_text)))?;
    build(RawClaim { credential, signature, signed_headers, time_text, time, placement: Placement::Header })
}

/// The comma-separated `Name=value` fields after the algorithm.
#[derive(Default)]
struct HeaderFields<'a> {
    credential: Option<&'a str>,
    signature: Option<&'a str>,
    signed_headers: Option<&'a str>,
}

impl<'a> HeaderFields<'a> {
    fn read(text: &'a str) -> Self {
        let mut fields = Self::default();
        for part in text.split(',') {
            let Some((name, value)) = part.trim().split_once('=') else { continue };
            let slot = match name {
                "Credential" => &mut fields.credential,
                "Signature" => &mut fields.signature,
                "SignedHeaders" => &mut fields.signed_headers,
                _ => continue,
            };
            if !value.is_empty() {
                *slot = Some(value);
            }
        }
        fields
    }
}

fn from_query(request: &SignedRequest<'_>, algorithm: &str) -> Result<Claim, Error> {
    if algorithm != ALGORITHM {
        return Err(incomplete(auth::UNSUPPORTED_ALGORITHM));
    }
    let value = |name: &str| query_value(request.query, name).filter(|value| !value.is_empty());
    let required = [
        "X-Amz-Credential",
        "X-Amz-Signature",
        "X-Amz-SignedHeaders",
        "X-Amz-Date",
    ];
    let mut missing = String::new();
    for name in required {
        if value(name).is_none() {
            missing.push_str(&auth::query_requires(name));
        }
    }
    let [Some(credential), Some(signature), Some(signed_headers), Some(time_text)] = required.map(value) else {
        return Err(incomplete(auth::with_query_note(&missing)));
    };
    let expires_seconds = match value("X-Amz-Expires") {
        None => DEFAULT_EXPIRES_SECONDS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|seconds| (1..=EXPIRES_SECONDS_MAX).contains(seconds))
            .ok_or_else(|| incomplete(auth::BAD_EXPIRES))?,
    };
    let time = TimeMs::parse_basic(&time_text).ok_or_else(|| incomplete(auth::bad_date(&time_text)))?;
    build(RawClaim {
        credential: &credential,
        signature: &signature,
        signed_headers: &signed_headers,
        time_text: &time_text,
        time,
        placement: Placement::Query { expires_seconds },
    })
}

/// What a presigned request without X-Amz-Expires gets: the same window as a header signature.
const DEFAULT_EXPIRES_SECONDS: u64 = 300;
/// Seven days (Signature Version 4: query parameters).
const EXPIRES_SECONDS_MAX: u64 = 604_800;

struct RawClaim<'a> {
    credential: &'a str,
    signature: &'a str,
    signed_headers: &'a str,
    time_text: &'a str,
    time: TimeMs,
    placement: Placement,
}

fn build(raw: RawClaim<'_>) -> Result<Claim, Error> {
    let mut parts = raw.credential.rsplitn(5, '/');
    let scope = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(terminator), Some(service), Some(region), Some(date), Some(access_key_id)) = scope else {
        return Err(incomplete(auth::bad_credential(raw.credential)));
    };
    let invalid = |message: String| Err(Error::new(ErrorKind::InvalidSignature, message));
    if terminator != TERMINATOR {
        return invalid(auth::bad_terminator(terminator));
    }
    if access_key_id.is_empty() || region.is_empty() {
        return Err(incomplete(auth::bad_credential(raw.credential)));
    }
    if service != "dynamodb" {
        return invalid(auth::WRONG_SERVICE.to_owned());
    }
    if raw.time_text.get(..8) != Some(date) {
        return invalid(auth::date_mismatch(date, raw.time_text));
    }
    let signed_headers: Vec<String> = raw.signed_headers.split(';').map(str::to_ascii_lowercase).collect();
    Ok(Claim {
        access_key_id: access_key_id.to_owned(),
        date: date.to_owned(),
        region: region.to_owned(),
        service: service.to_owned(),
        signed_headers,
        signature: raw.signature.to_owned(),
        time_text: raw.time_text.to_owned(),
        time: raw.time,
        placement: raw.placement,
    })
}

/// The decoded value of the first query parameter of that name.
fn query_value(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decode(key) == name.as_bytes())
            .then(|| String::from_utf8_lossy(&percent_decode(value)).into_owned())
    })
}
