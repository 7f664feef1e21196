//! The headers that the server uses, collected in one pass: several parts of the server look at most of them,
//! and each lookup in the header map costs a hash.
//!
//! It does not know what any header means.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, DATE, HOST, HeaderName, HeaderValue, ORIGIN};

const AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Prefix of the headers with which browsers describe a request (Fetch Metadata).
const FETCH_METADATA: &str = "sec-fetch-";
/// A request must not repeat these headers, because they decide whether it is admitted.
const SINGLE: [HeaderName; 3] = [HOST, ORIGIN, FETCH_SITE];
/// A claim is read from the first of each.
const CLAIM: [HeaderName; 3] = [AUTHORIZATION, AMZ_DATE, DATE];

/// The first header of each of these names.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'h> {
    /// `Accept-Encoding`.
    pub accept_encoding: Option<&'h HeaderValue>,
    /// `Content-Encoding`.
    pub content_encoding: Option<&'h HeaderValue>,
    /// The text of `Content-Type`; empty if it is absent or not text.
    pub content_type: &'h str,
    /// `Authorization`, `X-Amz-Date` and `Date`: what says who signed and when.
    pub claim: Claim<'h>,
    /// `Sec-Fetch-Site`.
    pub fetch_site: Option<&'h HeaderValue>,
    /// `Host`.
    pub host: Option<&'h HeaderValue>,
    /// `Origin`.
    pub origin: Option<&'h HeaderValue>,
    /// The text of `X-Amz-Target`; empty if it is absent or not text.
    pub target: &'h str,
    /// Whether the request has Fetch Metadata headers, so that it comes from a browser.
    pub fetch_metadata: bool,
    /// Whether a header that decides on admission is repeated.
    pub repeated: bool,
    /// Bytes of all names and values.
    pub bytes: usize,
}

/// The first headers of the names that a claim is read from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim<'h> {
    /// `Authorization`.
    pub authorization: Option<&'h HeaderValue>,
    /// `X-Amz-Date`.
    pub amz_date: Option<&'h HeaderValue>,
    /// `Date`.
    pub date: Option<&'h HeaderValue>,
    /// Whether one of them is repeated.
    pub is_repeated: bool,
}

impl<'h> RequestHead<'h> {
    /// Looks at every header once.
    pub fn read(headers: &'h HeaderMap) -> Self {
        let mut head = Self::default();
        let (mut content_type, mut target) = (None, None);
        for (name, value) in headers {
            let text = name.as_str();
            head.bytes += text.len() + value.len();
            // Lengths first: they tell most names apart.
            let place = match (text.len(), text) {
                (4, "host") => &mut head.host,
                (4, "date") => &mut head.claim.date,
                (6, "origin") => &mut head.origin,
                (10, "x-amz-date") => &mut head.claim.amz_date,
                (12, "content-type") => &mut content_type,
                (12, "x-amz-target") => &mut target,
                (13, "authorization") => &mut head.claim.authorization,
                (15, "accept-encoding") => &mut head.accept_encoding,
                (16, "content-encoding") => &mut head.content_encoding,
                _ if text.starts_with(FETCH_METADATA) => {
                    head.fetch_metadata = true;
                    if *name != FETCH_SITE {
                        continue;
                    }
                    &mut head.fetch_site
                }
                _ => continue,
            };
            if place.is_none() {
                *place = Some(value);
            } else {
                head.repeated |= SINGLE.contains(name);
                head.claim.is_repeated |= CLAIM.contains(name);
            }
        }
        head.content_type = text(content_type);
        head.target = text(target);
        head
    }
}

/// A header's text; empty if it is absent or not text.
pub fn text(value: Option<&HeaderValue>) -> &str {
    value.and_then(visible).unwrap_or_default()
}

/// A header's text, if it is visible ASCII and blanks. Equal to `HeaderValue::to_str`, which checks each byte
/// on its own. Header values hold no control characters but tabs.
pub fn visible(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok().filter(|text| text.is_ascii())
}

#[cfg(test)]
mod tests {
    use hyper::header::CONTENT_TYPE;

    use super::*;

    const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

    #[test]
    fn visible_agrees_with_the_library() {
        for first in 0..=u8::MAX {
            for bytes in [vec![first], [b"a".repeat(40), vec![first], b"b".repeat(40)].concat()] {
                if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                    assert_eq!(visible(&value), value.to_str().ok(), "{first}");
                }
            }
        }
        let value = HeaderValue::from_bytes("Gr\u{fc}\u{df}e".as_bytes())
            .expect("header values may have bytes beyond ASCII");
        assert_eq!(visible(&value), None);
    }

    #[test]
    fn the_first_of_a_repeated_header_counts() {
        let mut headers = HeaderMap::new();
        headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.append(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.append(TARGET, HeaderValue::from_static("DynamoDB_20120810.GetItem"));
        let head = RequestHead::read(&headers);
        assert_eq!((head.content_type, head.target), ("application/json", "DynamoDB_20120810.GetItem"));
        assert!(!head.claim.is_repeated);
        assert_eq!((text(head.origin), head.accept_encoding), ("", None));
        assert_eq!(head.bytes, 3 * 12 + 16 + 10 + 25);
    }
}
