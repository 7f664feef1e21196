//! What clients read when a request is not, or not well, signed.
//!
//! Sources: the service's answers to unsigned, half-signed, stale and foreign requests, as quoted in public bug reports
//! of the AWS SDKs.

pub const MISSING_TOKEN: &str = "Request is missing Authentication Token";
pub const UNKNOWN_KEY: &str = "The security token included in the request is invalid.";
/// A session's token beside a key that is of no session.
pub const FOREIGN_TOKEN: &str = "The security token included in the request is invalid";
pub const BOTH_HEADER_AND_QUERY: &str =
    "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.";
pub const HEADER_REQUIRES_DATE: &str =
    "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ";
pub const BAD_EXPIRES: &str = "X-Amz-Expires must be a number of seconds from 1 to 604800.";
pub const WRONG_SERVICE: &str = "Credential should be scoped to correct service: 'dynamodb'. ";
pub const SIGNATURE_MISMATCH: &str = "The request signature we calculated does not match the signature you provided. \
    Check your AWS Secret Access Key and signing method. Consult the service documentation for details.";

pub fn header_requires(field: &str) -> String {
    format!("Authorization header requires '{field}' parameter. ")
}

pub fn with_authorization(missing: &str, authorization: &str) -> String {
    format!("{missing}Authorization={authorization}")
}

pub fn query_requires(parameter: &str) -> String {
    format!("AWS query-string parameters must include '{parameter}'. ")
}

pub fn with_query_note(missing: &str) -> String {
    format!("{missing}Re-examine the query-string parameters.")
}

pub fn bad_date(text: &str) -> String {
    format!(
        "Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601"
    )
}

pub fn bad_credential(credential: &str) -> String {
    format!(
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '{credential}'"
    )
}

pub fn unsupported_algorithm(algorithm: &str) -> String {
    format!("Unsupported AWS 'algorithm': '{algorithm}' (only AWS4-HMAC-SHA256 for now). ")
}

pub fn bad_region(region: &str) -> String {
    format!("Credential should be scoped to a valid region, not '{region}'. ")
}

pub fn bad_terminator(terminator: &str) -> String {
    format!("Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. ")
}

pub fn date_mismatch(scope_date: &str, time: &str) -> String {
    let date = time.get(..8).unwrap_or(time);
    format!(
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
         '{scope_date}' != '{date}', from '{time}'."
    )
}

pub fn expired(signed: &str, earliest: &str, now: &str) -> String {
    format!("Signature expired: {signed} is now earlier than {earliest} ({now} - 5 min.)")
}

pub fn presigned_expired(now: &str, last: &str) -> String {
    format!("Signature expired: {last} is now earlier than {now}")
}

pub fn not_yet_current(signed: &str, latest: &str, now: &str) -> String {
    format!("Signature not yet current: {signed} is still later than {latest} ({now} + 5 min.)")
}

pub fn header_not_signed(header: &str) -> String {
    let shown = match header {
        "host" => "Host",
        other => other,
    };
    format!("'{shown}' must be a 'SignedHeader' in the AWS Authorization.")
}
