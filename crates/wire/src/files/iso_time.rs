//! Times as manifests and reports have them: `2026-01-14T10:18:50.622Z`, to and from milliseconds since 1970.

use crate::sigv4::TimeMs;

const MS_PER_SECOND: u64 = 1000;

/// The time with three decimals of its seconds. Times after the year 9999 become the last second of it.
pub(super) fn iso_time(ms: u64) -> String {
    let basic = TimeMs(ms).to_basic();
    let part = |range: std::ops::Range<usize>| basic.get(range).unwrap_or_default();
    let (year, month, day) = (part(0..4), part(4..6), part(6..8));
    let (hour, minute, second) = (part(9..11), part(11..13), part(13..15));
    format!("{year}-{month}-{day}T{hour}:{minute}:{second}.{:03}Z", ms % MS_PER_SECOND)
}

/// Reads a time with or without decimals; what is below a millisecond is cut. `None` for anything else.
pub(super) fn parse_iso_time(text: &str) -> Option<u64> {
    let (whole, fraction) = match text.strip_suffix('Z')?.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text.strip_suffix('Z')?, "0"),
    };
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2] =
        whole.as_bytes()
    else {
        return None;
    };
    let basic = [y1, y2, y3, y4, m1, m2, d1, d2, b'T', h1, h2, n1, n2, s1, s2, b'Z'];
    let TimeMs(seconds_ms) = TimeMs::parse_basic(std::str::from_utf8(&basic).ok()?)?;
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(3);
    let ms = digits.fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
    seconds_ms.checked_add(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_and_write_the_same_text() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-01-14T10:18:50.622Z", "2024-02-29T23:59:59.001Z"] {
            assert_eq!(iso_time(parse_iso_time(text).unwrap()), text);
        }
        assert_eq!(parse_iso_time("2026-01-14T10:18:50Z"), Some(1_768_385_930_000));
        assert_eq!(parse_iso_time("2026-01-14T10:18:50.6229Z"), Some(1_768_385_930_622));
        assert_eq!(parse_iso_time("2026-01-14T10:18:50.6Z"), Some(1_768_385_930_600));
    }

    #[test]
    fn texts_that_are_not_a_time_are_refused() {
        for text in [
            "",
            "Z",
            "2026-01-14",
            "2026-01-14T10:18:50.622",
            "2026-01-14T10:18:50.Z",
            "2026-13-14T10:18:50Z",
            "2026-01-14 10:18:50Z",
            "2026-01-14T10:18:50.6x2Z",
            "2026-01-14T10:18:50.622+01:00",
        ] {
            assert_eq!(parse_iso_time(text), None, "{text}");
        }
    }
}
