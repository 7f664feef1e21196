//! A response as the short way of usual requests writes it, and as hyper takes it.
//!
//! It does not know what a response says.

use std::cell::RefCell;
use std::ops::Range;

use bytes::Bytes;
use hyper::body::Body;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use keywright_process::{environment, timestamp};

/// Digits of the greatest number.
const DIGITS_MAX: usize = 20;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From the day that 1970 began with.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const SECONDS_PER_DAY: u64 = 86_400;
const MS_PER_SECOND: u64 = 1_000;

thread_local! {
    /// A second since 1970 and its text.
    static DATE: RefCell<(u64, String)> = RefCell::new((0, date_of(0)));
}

/// What a service answers with.
pub trait Answering {
    /// The body of a response.
    type Body: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static;

    /// Writes the status line and the headers of the service.
    fn write_head(&self, text: &mut Vec<u8>);

    /// The body alone.
    fn into_body(self) -> Self::Body;

    /// The whole as hyper takes it.
    fn into_response(self) -> Response<Self::Body>;
}

impl<B: Body<Data = Bytes, Error: std::error::Error + Send + Sync> + Send + 'static> Answering
    for Response<B>
{
    type Body = B;

    fn write_head(&self, text: &mut Vec<u8>) {
        write_status(text, self.status());
        for (name, value) in self.headers() {
            write_header(text, name, value);
        }
    }

    fn into_body(self) -> B {
        Response::into_body(self)
    }

    fn into_response(self) -> Response<B> {
        self
    }
}

/// Writes the status line.
pub fn write_status(text: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        text.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    text.extend_from_slice(b"HTTP/1.1 ");
    text.extend_from_slice(status.as_str().as_bytes());
    text.push(b' ');
    text.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    text.extend_from_slice(b"\r\n");
}

/// Writes a header.
pub fn write_header(text: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    text.extend_from_slice(name.as_str().as_bytes());
    text.extend_from_slice(b": ");
    text.extend_from_slice(value.as_bytes());
    text.extend_from_slice(b"\r\n");
}

/// Writes a number in decimal digits.
pub fn write_number(text: &mut Vec<u8>, number: u64) {
    let (mut digits, mut start, mut rest) = ([b'0'; DIGITS_MAX], DIGITS_MAX, number);
    for (place, digit) in digits.iter_mut().enumerate().rev() {
        let [last, ..] = (rest % 10).to_le_bytes();
        *digit = b'0' + last;
        (rest, start) = (rest / 10, place);
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// A second since 1970 as HTTP has it (RFC 9110, 5.6.7).
fn date_of(second: u64) -> String {
    // Such as 1994-11-06T08:49:37.000Z.
    let text = timestamp::of(second * MS_PER_SECOND);
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let month = part(5..7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.checked_sub(1)?));
    let weekday = usize::try_from(second / SECONDS_PER_DAY % 7).ok().and_then(|day| DAYS.get(day));
    format!(
        "{}, {} {} {} {} GMT",
        weekday.unwrap_or(&""),
        part(8..10),
        month.unwrap_or(&""),
        part(0..4),
        part(11..19)
    )
}

/// Writes the length of the body, the date, and the end of the head, as hyper does.
pub(crate) fn write_end(text: &mut Vec<u8>, body_bytes: u64) {
    text.extend_from_slice(b"content-length: ");
    write_number(text, body_bytes);
    text.extend_from_slice(b"\r\ndate: ");
    let second = environment::now().0 / MS_PER_SECOND;
    DATE.with_borrow_mut(|(of, date)| {
        if *of != second {
            (*of, *date) = (second, date_of(second));
        }
        text.extend_from_slice(date.as_bytes());
    });
    text.extend_from_slice(b"\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_seconds_have_their_dates() {
        for (second, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(date_of(second), text);
        }
    }

    #[test]
    fn numbers_are_written_in_decimal_digits() {
        for number in [0, 7, 10, 99, 100, 4_294_967_295, u64::MAX] {
            let mut text = b"n: ".to_vec();
            write_number(&mut text, number);
            assert_eq!(text, format!("n: {number}").into_bytes());
        }
    }
}
