//! The basic ISO 8601 form that signatures use (`20261121T053000Z`), to and from milliseconds since 1970.

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMs(pub u64);

const SECOND_MS: u64 = 1000;
const DAY_SECONDS: u64 = 86_400;

impl TimeMs {
    /// Reads `YYYYMMDDTHHMMSSZ`; `None` for anything else or before 1970.
    pub fn parse_basic(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 16 || bytes.get(8) != Some(&b'T') || bytes.get(15) != Some(&b'Z') {
            return None;
        }
        let field = |from: usize, to: usize| -> Option<u64> {
            let digits = text.get(from..to)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
        };
        let (year, month, day) = (field(0, 4)?, field(4, 6)?, field(6, 8)?);
        let (hour, minute, second) = (field(9, 11)?, field(11, 13)?, field(13, 15)?);
        if year < 1970
            || !(1..=12).contains(&month)
            || !(1..=31).contains(&day)
            || hour > 23
            || minute > 59
            || second > 60
        {
            return None;
        }
        let seconds = days_from_civil(year, month, day) * DAY_SECONDS + hour * 3600 + minute * 60 + second;
        Some(Self(seconds * SECOND_MS))
    }

    /// Writes `YYYYMMDDTHHMMSSZ`.
    pub fn to_basic(self) -> String {
        let seconds = self.0 / SECOND_MS;
        let (year, month, day) = civil_from_days(seconds / DAY_SECONDS);
        let of_day = seconds % DAY_SECONDS;
        format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60)
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

/// Days since 1970-01-01 of a date of the Gregorian calendar, by counting 400-year eras that start in March.
const fn days_from_civil(year: u64, month: u64, day: u64) -> u64 {
    let shifted_year = if month <= 2 { year - 1 } else { year };
    let era = shifted_year / 400;
    let year_of_era = shifted_year % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of `days_from_civil`.
const fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, day)
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
        ] {
            assert_eq!(TimeMs::parse_basic(text), None, "{text}");
        }
    }
}
