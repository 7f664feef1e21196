//! Messages about missing and wrong signatures.
//!
//! Sources: the service's answers to unsigned, half-signed, stale and foreign requests, as quoted in public
//! bug reports of the AWS SDKs.

/// No signature at all.
pub const MISSING_TOKEN: &str = "Request is missing Authentication Token";
/// An access key that does not exist.
pub const UNKNOWN_KEY: &str = "The security token included in the request is invalid.";
/// A session token together with an access key that belongs to no session.
pub const FOREIGN_TOKEN: &str = "The security token included in the request is invalid";
/// A session that has ended.
pub const EXPIRED_TOKEN: &str = "The security token included in the request is expired";
/// A user or session that no policy lets do anything.
pub const NOT_ALLOWED: &str = "User is not authorized to perform this action";
/// A header signature and a presigned query in one request.
pub const BOTH_HEADER_AND_QUERY: &str =
    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.";
/// A signed request without a date.
pub const HEADER_REQUIRES_DATE: &str =
    "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
/// A presigned request whose lifetime is out of range.
pub const BAD_EXPIRES: &str = "X-Amz-Expires must be a number of seconds from 1 to 604800.";
/// A credential scope of another service.
pub fn wrong_service(service: &str) -> String {
    format!("Credential should be scoped to correct service: '{service}'. ")
}

/// The signature computed here differs from the one sent.
pub const SIGNATURE_MISMATCH: &str = "The request signature we calculated does not match the signature you provided. \
    Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";

/// The `Authorization` header lacks a part. Several such sentences are joined, see [`with_authorization`].
pub fn header_requires(field: &str) -> String {
    format!("Authorization header requires '{field}' parameter. ")
}

/// Missing parts of the header, followed by the header as it came.
pub fn with_authorization(missing: &str, authorization: &str) -> String {
    format!("{missing}Authorization={authorization}")
}

/// A presigned request lacks a parameter. Several such sentences are joined, see [`with_query_note`].
pub fn query_requires(parameter: &str) -> String {
    format!("AWS query-string parameters must include '{parameter}'. ")
}

/// Missing parameters of the query, followed by the closing sentence.
pub fn with_query_note(missing: &str) -> String {
    format!("{missing}Re-examine the query-string parameters.")
}

/// A time that is not in ISO 8601 basic format.
pub fn bad_date(text: &str) -> String {
    format!(
        "Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
    )
}

/// A credential without five parts.
pub fn bad_credential(credential: &str) -> String {
    format!(
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{credential}'"
    )
}

/// An algorithm other than AWS4-HMAC-SHA256.
pub fn unsupported_algorithm(algorithm: &str) -> String {
    format!("Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). ")
}

/// A credential scope without a known region.
pub fn bad_region(region: &str) -> String {
    format!("Credential should be scoped to a valid region, not '{region}'. ")
}

/// A credential scope that does not end in `aws4_request`.
pub fn bad_terminator(terminator: &str) -> String {
    format!("Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. ")
}

/// A credential scope of another day than the request's time.
pub fn date_mismatch(scope_date: &str, time: &str) -> String {
    let date = time.get(..8).unwrap_or(time);
    format!(
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
         '{scope_date}' != '{date}', from '{time}'."
    )
}

/// A request signed too long ago. All times are in ISO 8601 basic format.
pub fn expired(signed: &str, earliest: &str, now: &str) -> String {
    format!("Signature expired: {signed} is now earlier than {earliest} ({now} - 5 min.)")
}

/// A presigned request past its lifetime; `last` is the end of it.
pub fn presigned_expired(now: &str, last: &str) -> String {
    format!("Signature expired: {last} is now earlier than {now}")
}

/// A request signed in the future.
pub fn not_yet_current(signed: &str, latest: &str, now: &str) -> String {
    format!("Signature not yet current: {signed} is still later than {latest} ({now} + 5 min.)")
}

/// A header that must be signed and is not, in lower case.
pub fn header_not_signed(header: &str) -> String {
    let shown = match header {
        "host" => "Host",
        other => other,
    };
    format!("'{shown}' must be a 'SignedHeader' in the AWS Authorization.")
}
