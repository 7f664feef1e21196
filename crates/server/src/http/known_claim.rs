//! The claim of an earlier request on the same connection, on a server that verifies no signatures: clients
//! repeat it with another signature and time, so it is compared and not read again.
//!
//! It does not know what a claim must be.

use std::sync::{Mutex, PoisonError};

use keywright_engine::Caller;
use keywright_wire::sigv4::{Claim, Placement, SignedRequest, TimeMs};

use crate::connection::request_head::Claim as RawClaim;

/// The name of the last field of the header that clients send.
const LAST_FIELD: &str = "Signature=";
/// Digits of the day in a time.
const DAY_BYTES: usize = 8;

/// The last claim that was read on a connection.
#[derive(Debug, Default)]
pub(crate) struct KnownClaim(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    service: &'static str,
    /// The `Authorization` header without its signature, which ends it.
    authorization: Box<str>,
    /// The last `X-Amz-Date`, which is a time.
    time: Box<str>,
    caller: Caller,
}

impl KnownClaim {
    /// The caller, if the request's claim is the known one but for the signature and the time of the day. So
    /// each other fault of a claim would have been the known one's too.
    pub(super) fn caller(&self, request: &SignedRequest<'_>, service: &'static str) -> Option<Caller> {
        if !request.query.is_empty() {
            return None;
        }
        let (authorization, time) = (request.header("authorization")?, request.header("x-amz-date")?);
        self.find((authorization.as_bytes(), time.as_bytes()), service)
    }

    /// The same of a request without a query, by its headers as they came.
    pub(super) fn caller_of_head(&self, claim: &RawClaim<'_>, service: &'static str) -> Option<Caller> {
        let (authorization, time) = (claim.authorization?, claim.amz_date?);
        if claim.is_repeated {
            return None;
        }
        self.find((authorization.as_bytes(), time.as_bytes()), service)
    }

    fn find(&self, (authorization, time): (&[u8], &[u8]), service: &'static str) -> Option<Caller> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.as_mut().filter(|known| known.service == service)?;
        let signature = authorization.strip_prefix(known.authorization.as_bytes())?;
        // Nothing that ends a field, no blanks that would be cut off, and nothing beyond ASCII.
        // Without an early end, so that the compiler compares many bytes at a time.
        let has_end =
            signature.iter().fold(false, |found, &byte| found | matches!(byte, 0..=b' ' | b',' | 127..));
        if signature.is_empty() || has_end {
            return None;
        }
        if known.time.as_bytes() != time {
            let time = std::str::from_utf8(time).ok()?;
            let is_same_day = time.get(..DAY_BYTES) == known.time.get(..DAY_BYTES);
            TimeMs::parse_basic(time).filter(|_| is_same_day)?;
            known.time = time.into();
        }
        Some(known.caller.clone())
    }

    /// Notes the claim of a request that was well-formed.
    pub(super) fn note(
        &self,
        request: &SignedRequest<'_>,
        claim: &Claim<'_>,
        service: &'static str,
        caller: &Caller,
    ) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Known::of(request, claim, service, caller);
    }
}

impl Known {
    fn of(
        request: &SignedRequest<'_>,
        claim: &Claim<'_>,
        service: &'static str,
        caller: &Caller,
    ) -> Option<Self> {
        if claim.placement != Placement::Header || !request.query.is_empty() {
            return None;
        }
        let authorization = request.header("authorization")?.strip_suffix(&*claim.signature)?;
        let time = request.header("x-amz-date")?;
        if !authorization.ends_with(LAST_FIELD) || TimeMs::parse_basic(time).is_none() {
            return None;
        }
        let (authorization, time) = (authorization.into(), time.into());
        Some(Self { service, authorization, time, caller: caller.clone() })
    }
}

#[cfg(test)]
mod tests {
    use keywright_wire::sigv4::{TimeCheck, read_claim};

    use super::super::auth::{Authenticator, Begun, CheckedClaim};
    use super::*;

    const USUAL: &str = "AWS4-HMAC-SHA256 Credential=key/20261129/eu-west-1/dynamodb/aws4_request, \
                         SignedHeaders=host;x-amz-date, Signature=00ff";
    const TIME: &str = "20261129T120000Z";

    /// The caller or the error of a request on a connection that knows this claim.
    fn begun(known: &KnownClaim, headers: &[(&str, &str)], query: &str, service: &'static str) -> String {
        let request = SignedRequest { method: "POST", path: "/", query, headers, body: b"" };
        match Authenticator::Unverified.begin(&request, service, known, || TimeMs(0)) {
            Ok(Begun::Checked(CheckedClaim::Trusted(caller))) => format!("{caller:?}"),
            Ok(_) => "another".to_owned(),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn a_known_claim_changes_no_caller_and_no_error() {
        let other = |from: &str, to: &str| USUAL.replace(from, to);
        let authorizations = [
            USUAL.to_owned(),
            other("00ff", "0a0b0c"),
            other("00ff", ""),
            other("00ff", " "),
            other("00ff", "\t"),
            other("00ff", "00ff "),
            other("00ff", "00ff, Credential=other/20261129/us-east-1/dynamodb/aws4_request"),
            other("00ff", "00ff,Signature="),
            other("00ff", "a=b"),
            other("key/", "123456789012/"),
            other("eu-west-1", "us-east-1"),
            other("/dynamodb/", "/lambda/"),
            other("aws4_request", "aws5_request"),
            other("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA512"),
            other(", Signature=00ff", ""),
            other("20261129", "20261130"),
            format!(" {USUAL}"),
            "Basic eHg=".to_owned(),
        ];
        let times = [
            Some(TIME),
            Some("20261129T235959Z"),
            Some("20261130T000000Z"),
            Some("20261129"),
            Some(""),
            None,
        ];
        let mut seen = 0;
        for first in &authorizations {
            for authorization in &authorizations {
                for time in times {
                    for query in ["", "a=b", "X-Amz-Algorithm=AWS4-HMAC-SHA256"] {
                        for service in ["dynamodb", "lambda"] {
                            let known = KnownClaim::default();
                            begun(
                                &known,
                                &[("authorization", first.as_str()), ("x-amz-date", TIME)],
                                "",
                                "dynamodb",
                            );
                            let mut headers = vec![("authorization", authorization.as_str())];
                            headers.extend(time.map(|time| ("x-amz-date", time)));
                            let fresh = begun(&KnownClaim::default(), &headers, query, service);
                            assert_eq!(
                                begun(&known, &headers, query, service),
                                fresh,
                                "{headers:?} after {first}"
                            );
                            seen += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(seen, authorizations.len().pow(2) * times.len() * 6);
    }

    #[test]
    fn another_signature_and_second_of_the_same_claim_are_known() {
        let known = KnownClaim::default();
        let headers = [("authorization", USUAL), ("x-amz-date", TIME)];
        begun(&known, &headers, "", "dynamodb");
        let (authorization, time) = (USUAL.replace("00ff", "a1b2"), "20261129T120001Z");
        let headers = [("authorization", authorization.as_str()), ("x-amz-date", time)];
        let request = SignedRequest { method: "POST", path: "/", query: "", headers: &headers, body: b"" };
        let claim = read_claim(&request, "dynamodb", TimeCheck::Skip).unwrap();
        let caller = known.caller(&request, "dynamodb").unwrap();
        assert_eq!(caller.namespace.region.as_str(), claim.region().as_str());
        assert!(known.caller(&request, "lambda").is_none());
    }
}
