//! The endpoint of a clock that stands: `GET /_keywright/clock` shows it, `POST` moves it.
//!
//! It knows the form of requests and responses.

use serde::Deserialize;
use serde_json::json;

use crate::process::timestamp;

pub(crate) const PATH: &str = "/_keywright/clock";
/// A `POST` must have this value in the header `x-keywright`. A page of a browser cannot send it to another
/// origin without a preflight.
pub(crate) const HEADER_VALUE: &str = "clock";
/// Bytes of a request's body.
pub(crate) const BODY_BYTES_MAX: usize = 256;
/// The longest step: a year of minutes takes some seconds, with many scalable targets some minutes.
const ADVANCE_MS_MAX: u64 = 366 * 24 * 3_600_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Body {
    advance_ms: u64,
}

/// By how many milliseconds the clock is to be moved.
pub(crate) fn read(body: &[u8]) -> Result<u64, String> {
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| format!(r#"the body is not {{"advance-ms": NUMBER}}: {error}"#))?;
    if body.advance_ms > ADVANCE_MS_MAX {
        return Err(format!("advance-ms is {}: at most {ADVANCE_MS_MAX}, a year", body.advance_ms));
    }
    Ok(body.advance_ms)
}

/// What the clock shows.
pub(crate) fn shown(now_ms: u64) -> Vec<u8> {
    json!({"now-ms": now_ms, "time": timestamp::of(now_ms)}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_by_how_much() {
        assert_eq!(read(br#"{"advance-ms": 60000}"#), Ok(60_000));
        for body in [
            "",
            "{}",
            r#"{"advance-ms": -1}"#,
            r#"{"advance-ms": 1, "x": 1}"#,
            r#"{"advance-ms": 31622400001}"#,
        ] {
            assert!(read(body.as_bytes()).unwrap_err().contains("advance-ms"), "{body}");
        }
    }
}
