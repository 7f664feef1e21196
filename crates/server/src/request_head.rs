//! What the head of a request says, found in one pass: most headers are looked at by several who decide, and each
//! search in the map of headers costs a hash.
//!
//! It does not know what follows from any header.

use hyper::HeaderMap;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName, HeaderValue, ORIGIN};

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Begins the names of the headers by which browsers describe a request (Fetch Metadata).
const FETCH_METADATA: &str = "sec-fetch-";
/// A request must not have these twice: they decide whether it is admitted.
const SINGLE: [HeaderName; 3] = [HOST, ORIGIN, FETCH_SITE];

/// The first header of each of these names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestHead<'h> {
    pub(crate) accept_encoding: Option<&'h HeaderValue>,
    pub(crate) content_encoding: Option<&'h HeaderValue>,
    pub(crate) content_type: Option<&'h HeaderValue>,
    pub(crate) fetch_site: Option<&'h HeaderValue>,
    pub(crate) host: Option<&'h HeaderValue>,
    pub(crate) origin: Option<&'h HeaderValue>,
    pub(crate) target: Option<&'h HeaderValue>,
    /// Whether a browser describes the request.
    pub(crate) fetch_metadata: bool,
    /// Whether a header stands more than once that decides whether the request is admitted.
    pub(crate) repeated: bool,
    /// Bytes of all names and values.
    pub(crate) bytes: usize,
}

impl<'h> RequestHead<'h> {
    pub(crate) fn read(headers: &'h HeaderMap) -> Self {
        let mut told = Self::default();
        for (name, value) in headers {
            told.bytes += name.as_str().len() + value.len();
            let place = match name {
                name if *name == ACCEPT_ENCODING => &mut told.accept_encoding,
                name if *name == CONTENT_ENCODING => &mut told.content_encoding,
                name if *name == CONTENT_TYPE => &mut told.content_type,
                name if *name == HOST => &mut told.host,
                name if *name == ORIGIN => &mut told.origin,
                name if *name == TARGET => &mut told.target,
                name if name.as_str().starts_with(FETCH_METADATA) => {
                    told.fetch_metadata = true;
                    if *name != FETCH_SITE {
                        continue;
                    }
                    &mut told.fetch_site
                }
                _ => continue,
            };
            match place {
                None => *place = Some(value),
                Some(_) => told.repeated |= SINGLE.contains(name),
            }
        }
        told
    }
}

/// A header's text; nothing where it is absent or no text.
pub(crate) fn text(value: Option<&HeaderValue>) -> &str {
    value.and_then(visible).unwrap_or_default()
}

/// A header's text, unless it has other characters than visible ASCII and blanks: what `HeaderValue::to_str` says, which
/// looks at every byte on its own. No header holds control characters but tabs.
pub(crate) fn visible(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok().filter(|text| text.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headers_text_is_what_the_library_says_it_is() {
        for first in 0..=u8::MAX {
            for bytes in [vec![first], [b"a".repeat(40), vec![first], b"b".repeat(40)].concat()] {
                if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                    assert_eq!(visible(&value), value.to_str().ok(), "{first}");
                }
            }
        }
        let value = HeaderValue::from_bytes("Gr\u{fc}\u{df}e".as_bytes())
            .expect("bytes beyond ASCII may stand in a header");
        assert_eq!(visible(&value), None);
    }

    #[test]
    fn the_first_of_a_repeated_header_counts() {
        let mut headers = HeaderMap::new();
        headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.append(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        headers.append(TARGET, HeaderValue::from_static("DynamoDB_20120810.GetItem"));
        let told = RequestHead::read(&headers);
        assert_eq!(text(told.content_type), "application/json");
        assert_eq!(text(told.target), "DynamoDB_20120810.GetItem");
        assert_eq!((text(told.origin), told.accept_encoding), ("", None));
        assert_eq!(told.bytes, 3 * 12 + 16 + 10 + 25);
    }
}
