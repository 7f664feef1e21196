//! Times in the basic ISO 8601 format of signatures (`20261121T053000Z`), to and from milliseconds since
//! 1970.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMs(pub u64);

const SECOND_MS: u64 = 1000;

const BASIC: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");

impl TimeMs {
    /// Reads `YYYYMMDDTHHMMSSZ`; `None` for anything else or before 1970.
    pub fn parse_basic(text: &str) -> Option<Self> {
        // Parsed by hand: each request has such a text, and a general parser takes four times as long.
        let &[y1, y2, y3, y4, m1, m2, d1, d2, b'T', h1, h2, n1, n2, s1, s2, b'Z'] = text.as_bytes() else {
            return None;
        };
        let year = i32::from(two_digits(y1, y2)?) * 100 + i32::from(two_digits(y3, y4)?);
        let month = Month::try_from(two_digits(m1, m2)?).ok()?;
        let date = Date::from_calendar_date(year, month, two_digits(d1, d2)?).ok()?;
        let time = Time::from_hms(two_digits(h1, h2)?, two_digits(n1, n2)?, two_digits(s1, s2)?).ok()?;
        let seconds = PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp();
        Some(Self(u64::try_from(seconds).ok()?.checked_mul(SECOND_MS)?))
    }

    /// Writes `YYYYMMDDTHHMMSSZ`. Times after the year 9999 become the last second of that year.
    pub fn to_basic(self) -> String {
        let seconds = i64::try_from(self.seconds()).unwrap_or(i64::MAX);
        let time =
            OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(PrimitiveDateTime::MAX.assume_utc());
        time.format(BASIC).unwrap_or_default()
    }

    /// Whole seconds since 1970.
    pub(super) const fn seconds(self) -> u64 {
        self.0 / SECOND_MS
    }

    /// The time so many seconds later.
    #[must_use]
    pub const fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds * SECOND_MS))
    }

    /// The time so many seconds earlier.
    #[must_use]
    pub const fn minus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds * SECOND_MS))
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| byte - b'0');
    Some(digit(tens)? * 10 + digit(ones)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_and_write_the_same_text() {
        for text in ["19700101T000000Z", "20000229T235959Z", "20241231T120000Z", "20261121T053000Z"] {
            assert_eq!(TimeMs::parse_basic(text).unwrap().to_basic(), text);
        }
        assert_eq!(TimeMs::parse_basic("20150830T123600Z"), Some(TimeMs(1_440_938_160_000)));
    }

    #[test]
    fn texts_that_are_not_a_time_are_refused() {
        for text in [
            "",
            "20261121",
            "20261321T000000Z",
            "2026-11-21T05:30:00Z",
            "20261121T05300+Z",
            "20261121T053000z",
            "20261121T053000Z ",
            "20261121 053000Z",
            "20261121T053060Z",
            "20261121T056000Z",
            "20260021T053000Z",
            "20260100T053000Z",
            "20250229T000000Z",
            "20261121T253000Z",
            "20260230T000000Z",
            "19691231T235959Z",
        ] {
            assert_eq!(TimeMs::parse_basic(text), None, "{text}");
        }
    }
}
