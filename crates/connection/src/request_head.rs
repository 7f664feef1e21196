//! The headers that the server uses, collected in one pass: several parts of the server look at most of them,
//! and each lookup in the header map costs a hash.
//!
//! It does not know what any header means.

use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Prefix of the headers with which browsers describe a request (Fetch Metadata).
const FETCH_METADATA: &str = "sec-fetch-";
/// A request must not repeat these headers, because they decide whether it is admitted.
const SINGLE: [HeaderName; 3] = [HOST, ORIGIN, FETCH_SITE];

/// The first header of each of these names.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'h> {
    /// `Accept-Encoding`.
    pub accept_encoding: Option<&'h HeaderValue>,
    /// `Content-Encoding`.
    pub content_encoding: Option<&'h HeaderValue>,
    /// `Content-Type`.
    pub content_type: Option<&'h HeaderValue>,
    /// `Sec-Fetch-Site`.
    pub fetch_site: Option<&'h HeaderValue>,
    /// `Host`.
    pub host: Option<&'h HeaderValue>,
    /// `Origin`.
    pub origin: Option<&'h HeaderValue>,
    /// `X-Amz-Target`.
    pub target: Option<&'h HeaderValue>,
    /// Whether the request has Fetch Metadata headers, so that it comes from a browser.
    pub fetch_metadata: bool,
    /// Whether a header that decides on admission is repeated.
    pub repeated: bool,
    /// Bytes of all names and values.
    pub bytes: usize,
}

impl<'h> RequestHead<'h> {
    /// Looks at every header once.
    pub fn read(headers: &'h HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            head.bytes += name.as_str().len() + value.len();
            let place = match name {
                name if *name == ACCEPT_ENCODING => &mut head.accept_encoding,
                name if *name == CONTENT_ENCODING => &mut head.content_encoding,
                name if *name == CONTENT_TYPE => &mut head.content_type,
                name if *name == HOST => &mut head.host,
                name if *name == ORIGIN => &mut head.origin,
                name if *name == TARGET => &mut head.target,
                name if name.as_str().starts_with(FETCH_METADATA) => {
                    head.fetch_metadata = true;
                    if *name != FETCH_SITE {
                        continue;
                    }
                    &mut head.fetch_site
                }
                _ => continue,
            };
            match place {
                None => *place = Some(value),
                Some(_) => head.repeated |= SINGLE.contains(name),
            }
        }
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
    use super::*;

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
        assert_eq!(text(head.content_type), "application/json");
        assert_eq!(text(head.target), "DynamoDB_20120810.GetItem");
        assert_eq!((text(head.origin), head.accept_encoding), ("", None));
        assert_eq!(head.bytes, 3 * 12 + 16 + 10 + 25);
    }
}
