//! The basic ISO 8601 form that signatures use (`20261121T053000Z`), to and from milliseconds since 1970.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMs(pub u64);

const SECOND_MS: u64 = 1000;

const BASIC: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");

impl TimeMs {
    /// Reads `YYYYMMDDTHHMMSSZ`; `None` for anything else or before 1970.
    pub fn parse_basic(text: &str) -> Option<Self> {
        let seconds = PrimitiveDateTime::parse(text, BASIC).ok()?.assume_utc().unix_timestamp();
        Some(Self(u64::try_from(seconds).ok()?.checked_mul(SECOND_MS)?))
    }

    /// Writes `YYYYMMDDTHHMMSSZ`; times after the year 9999 as the last moment that this form can hold.
    pub fn to_basic(self) -> String {
        let seconds = i64::try_from(self.0 / SECOND_MS).unwrap_or(i64::MAX);
        let time =
            OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(PrimitiveDateTime::MAX.assume_utc());
        time.format(BASIC).unwrap_or_default()
    }

    #[must_use]
    pub const fn plus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds * SECOND_MS))
    }

    #[must_use]
    pub const fn minus_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds * SECOND_MS))
    }
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
    fn texts_that_are_no_time_are_refused() {
        for text in [
            "",
            "20261121",
            "20261321T000000Z",
            "2026-11-21T05:30:00Z",
            "20261121T05300+Z",
            "20261121T253000Z",
            "20260230T000000Z",
            "19691231T235959Z",
        ] {
            assert_eq!(TimeMs::parse_basic(text), None, "{text}");
        }
    }
}
