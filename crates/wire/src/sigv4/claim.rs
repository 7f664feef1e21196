//! The claim of a request: its access key, time, region, service and signed headers.
//!
//! A claim that was read is not proven; `verify` checks its signature.

use std::borrow::Cow;
use std::ops::Range;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::{PRESIGNED_SECONDS_MAX, SIGNATURE_SKEW_SECONDS_MAX};
use keywright_semantics::messages::auth;
use keywright_semantics::place::RegionName;
use memchr::{memchr, memchr_iter, memchr2_iter};

use super::SignedRequest;
use super::percent::percent_decode;
use super::time::TimeMs;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
pub(super) const TERMINATOR: &str = "aws4_request";
pub(super) const SERVICE: &str = "dynamodb";

/// Where the signature is; it decides what the signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In the `Authorization` header.
    Header,
    /// The query string of a presigned request.
    Query {
        /// How long the signature is valid after its date.
        expires_seconds: u64,
    },
}

/// The headers from which a claim is read. Verifying the signature needs all headers.
pub const CLAIM_HEADERS: [&str; 3] = ["authorization", "x-amz-date", "date"];

/// A well-formed claim. A header-signed one borrows from the request.
///
/// Invariant: `credential` is `access key/date/region/service/aws4_request`, the service is this one, and
/// `region` is the range of the region in it, which is a `RegionName`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    credential: Cow<'a, str>,
    region: Range<usize>,
    /// Names in lower case, joined by semicolons.
    signed_headers: Cow<'a, str>,
    /// 64 hexadecimal digits, if it is one.
    pub signature: Cow<'a, str>,
    /// The time as signed, verbatim.
    pub time_text: Cow<'a, str>,
    /// Where the signature was found.
    pub placement: Placement,
}

impl Claim<'_> {
    /// The access key and the scope, as sent.
    pub fn credential(&self) -> &str {
        &self.credential
    }

    /// The access key id, which names the account.
    pub fn access_key_id(&self) -> &str {
        memchr(b'/', self.credential.as_bytes())
            .and_then(|end| self.credential.get(..end))
            .unwrap_or_default()
    }

    /// # Panics
    ///
    /// Never: a claim without a region's name is not read.
    pub fn region(&self) -> RegionName<'_> {
        let text = self.credential.get(self.region.clone()).unwrap_or_default();
        RegionName::parse(text).expect("the region was checked when the claim was read")
    }

    /// The names of the headers that the signature covers, in lower case.
    pub fn signed_headers(&self) -> impl Iterator<Item = &str> {
        self.signed_headers.split(';')
    }

    /// `date/region/service/aws4_request`.
    pub fn scope(&self) -> &str {
        self.credential.split_once('/').map_or("", |(_, scope)| scope)
    }
}

/// Whether the time of a claim is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeCheck {
    /// Any time is accepted, because the signature is not verified either.
    Skip,
    /// The claim must be valid at this time.
    Now(TimeMs),
}

/// Reads the claim from the Authorization header or, without one, from a presigned query. Faults are checked
/// in the service's order: missing parts, date, time, host, algorithm, credential, scope.
pub fn read_claim<'a>(
    request: &SignedRequest<'a>,
    service: &'static str,
    check: TimeCheck,
) -> Result<Claim<'a>, Error> {
    let query_algorithm = query_value(request.query, "X-Amz-Algorithm");
    let raw = match (request.header("authorization"), query_algorithm) {
        (Some(_), Some(_)) => {
            return Err(Error::new(ErrorKind::InvalidSignature, auth::BOTH_HEADER_AND_QUERY));
        }
        (Some(authorization), None) => from_header(request, authorization.trim())?,
        (None, Some(algorithm)) => from_query(request, algorithm)?,
        (None, None) => return Err(missing_token()),
    };
    if let TimeCheck::Now(now) = check {
        check_time(&raw, now)?;
        check_coverage(request, &raw)?;
    }
    build(raw, service)
}

fn missing_token() -> Error {
    Error::new(ErrorKind::MissingAuthenticationToken, auth::MISSING_TOKEN)
}

fn incomplete(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IncompleteSignature, message)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidSignature, message)
}

fn from_header<'a>(request: &SignedRequest<'a>, authorization: &'a str) -> Result<RawClaim<'a>, Error> {
    if !authorization.starts_with("AWS4-") {
        return Err(missing_token());
    }
    let space = memchr(b' ', authorization.as_bytes()).unwrap_or(authorization.len());
    let algorithm = authorization.get(..space).unwrap_or_default();
    let rest = authorization.get(space + 1..).unwrap_or_default();
    let fields = HeaderFields::read(rest);
    let time_text = request.header("x-amz-date").or_else(|| request.header("date"));
    let mut missing = String::new();
    for (field, name) in [
        (fields.credential, "Credential"),
        (fields.signature, "Signature"),
        (fields.signed_headers, "SignedHeaders"),
    ] {
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
        return Err(incomplete(auth::with_authorization(&missing, authorization)));
    };
    Ok(RawClaim {
        algorithm: Cow::Borrowed(algorithm),
        credential: Cow::Borrowed(credential),
        signature: Cow::Borrowed(signature),
        signed_headers: lower_case(signed_headers),
        time: read_time(time_text)?,
        time_text: Cow::Borrowed(time_text),
        placement: Placement::Header,
    })
}

fn read_time(text: &str) -> Result<TimeMs, Error> {
    TimeMs::parse_basic(text).ok_or_else(|| incomplete(auth::bad_date(text)))
}

fn lower_case(names: &str) -> Cow<'_, str> {
    // No early exit, so that the compiler vectorises the check.
    if names.bytes().fold(false, |found, byte| found | byte.is_ascii_uppercase()) {
        Cow::Owned(names.to_ascii_lowercase())
    } else {
        Cow::Borrowed(names)
    }
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
        // By bytes: this runs for each request, and splitting by characters takes several times as long.
        let ends = memchr2_iter(b',', b' ', text.as_bytes()).chain([text.len()]);
        let mut start = 0;
        for end in ends {
            fields.read_one(text.get(start..end).unwrap_or_default());
            start = end + 1;
        }
        fields
    }

    fn read_one(&mut self, part: &'a str) {
        // The gap between a comma and the space after it.
        if part.is_empty() {
            return;
        }
        let Some(sign) = memchr(b'=', part.as_bytes()) else { return };
        let (name, value) = (part.get(..sign).unwrap_or_default(), part.get(sign + 1..).unwrap_or_default());
        let slot = match name {
            "Credential" => &mut self.credential,
            "Signature" => &mut self.signature,
            "SignedHeaders" => &mut self.signed_headers,
            _ => return,
        };
        if !value.is_empty() {
            *slot = Some(value);
        }
    }
}

fn from_query(request: &SignedRequest<'_>, algorithm: String) -> Result<RawClaim<'static>, Error> {
    let value = |name: &str| query_value(request.query, name).filter(|value| !value.is_empty());
    let required = ["X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date"];
    let mut missing = String::new();
    if algorithm.is_empty() {
        missing.push_str(&auth::query_requires("X-Amz-Algorithm"));
    }
    for name in required {
        if value(name).is_none() {
            missing.push_str(&auth::query_requires(name));
        }
    }
    let [Some(credential), Some(signature), Some(signed_headers), Some(time_text)] = required.map(value)
    else {
        return Err(incomplete(auth::with_query_note(&missing)));
    };
    let expires_seconds = match value("X-Amz-Expires") {
        None => DEFAULT_EXPIRES_SECONDS,
        Some(text) => text
            .parse()
            .ok()
            .filter(|seconds| (1..=PRESIGNED_SECONDS_MAX).contains(seconds))
            .ok_or_else(|| incomplete(auth::BAD_EXPIRES))?,
    };
    Ok(RawClaim {
        algorithm: Cow::Owned(algorithm),
        credential: Cow::Owned(credential),
        signature: Cow::Owned(signature),
        signed_headers: Cow::Owned(signed_headers.to_ascii_lowercase()),
        time: read_time(&time_text)?,
        time_text: Cow::Owned(time_text),
        placement: Placement::Query { expires_seconds },
    })
}

/// The validity of a presigned request without X-Amz-Expires: the same window as for a header signature.
const DEFAULT_EXPIRES_SECONDS: u64 = SIGNATURE_SKEW_SECONDS_MAX;

/// A claim with all its parts, before they are checked.
struct RawClaim<'a> {
    algorithm: Cow<'a, str>,
    credential: Cow<'a, str>,
    signature: Cow<'a, str>,
    signed_headers: Cow<'a, str>,
    time_text: Cow<'a, str>,
    time: TimeMs,
    placement: Placement,
}

fn check_time(raw: &RawClaim<'_>, now: TimeMs) -> Result<(), Error> {
    let latest = now.plus_seconds(SIGNATURE_SKEW_SECONDS_MAX);
    if raw.time > latest {
        return Err(invalid(auth::not_yet_current(&raw.time_text, &latest.to_basic(), &now.to_basic())));
    }
    match raw.placement {
        Placement::Header => {
            let earliest = now.minus_seconds(SIGNATURE_SKEW_SECONDS_MAX);
            if raw.time < earliest {
                return Err(invalid(auth::expired(&raw.time_text, &earliest.to_basic(), &now.to_basic())));
            }
        }
        Placement::Query { expires_seconds } => {
            let last = raw.time.plus_seconds(expires_seconds);
            if last < now {
                return Err(invalid(auth::presigned_expired(&now.to_basic(), &last.to_basic())));
            }
        }
    }
    Ok(())
}

/// Headers that decide the meaning of a request. A header signature must cover those that are sent.
const MUST_BE_SIGNED: &[&str] = &["host", "x-amz-date", "x-amz-target"];

fn check_coverage(request: &SignedRequest<'_>, raw: &RawClaim<'_>) -> Result<(), Error> {
    let must: &[&str] = match raw.placement {
        Placement::Header => MUST_BE_SIGNED,
        // A presigned URL without a signed target would be valid for every operation.
        Placement::Query { .. } => &["host", "x-amz-target"],
    };
    let signed = |name: &str| raw.signed_headers.split(';').any(|header| header == name);
    match must.iter().find(|name| request.header(name).is_some() && !signed(name)) {
        Some(name) => Err(invalid(auth::header_not_signed(name))),
        None => Ok(()),
    }
}

fn build<'a>(raw: RawClaim<'a>, wanted: &'static str) -> Result<Claim<'a>, Error> {
    if raw.algorithm != ALGORITHM {
        return Err(incomplete(auth::unsupported_algorithm(&raw.algorithm)));
    }
    let mut slashes = memchr_iter(b'/', raw.credential.as_bytes());
    let mut slash = || slashes.next();
    let (Some(first), Some(second), Some(third), Some(fourth), None) =
        (slash(), slash(), slash(), slash(), slash())
    else {
        return Err(incomplete(auth::bad_credential(&raw.credential)));
    };
    let part = |from: usize, to: usize| raw.credential.get(from..to).unwrap_or_default();
    let (date, region) = (part(first + 1, second), part(second + 1, third));
    let (service, terminator) = (part(third + 1, fourth), part(fourth + 1, raw.credential.len()));
    let mut wrong = String::new();
    if RegionName::parse(region).is_none() {
        wrong.push_str(&auth::bad_region(region));
    }
    if service != wanted {
        wrong.push_str(&auth::wrong_service(wanted));
    }
    if terminator != TERMINATOR {
        wrong.push_str(&auth::bad_terminator(terminator));
    }
    if raw.time_text.get(..8) != Some(date) {
        wrong.push_str(&auth::date_mismatch(date, &raw.time_text));
    }
    if !wrong.is_empty() {
        return Err(invalid(wrong));
    }
    Ok(Claim {
        region: second + 1..third,
        credential: raw.credential,
        signed_headers: raw.signed_headers,
        signature: raw.signature,
        time_text: raw.time_text,
        placement: raw.placement,
    })
}

/// The service that a request's signature is scoped to, as it was sent: nothing is checked.
pub fn scope_service(authorization: &str, query: &str) -> Option<String> {
    let of = |credential: &str| credential.split('/').nth(3).map(str::to_owned);
    match authorization.split_once("Credential=") {
        Some((_, rest)) => of(rest.split([',', ' ']).next().unwrap_or_default()),
        None => of(&query_value(query, "X-Amz-Credential")?),
    }
}

/// The decoded value of the first query parameter of that name.
pub(super) fn query_value(query: &str, name: &str) -> Option<String> {
    if query.is_empty() {
        return None;
    }
    query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decode(key) == name.as_bytes())
            .then(|| String::from_utf8_lossy(&percent_decode(value)).into_owned())
    })
}
