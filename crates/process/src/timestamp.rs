//! The present time as text (RFC 3339, UTC, milliseconds), for log lines.

use super::environment;

const MS_PER_SECOND: u64 = 1_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// The present time.
pub fn now() -> String {
    of(environment::now().0)
}

/// A time in milliseconds since 1970.
pub fn of(ms: u64) -> String {
    let seconds = ms / MS_PER_SECOND;
    let (year, month, day) = date(seconds / SECONDS_PER_DAY);
    let second = seconds % SECONDS_PER_DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        second / 3_600,
        second / 60 % 60,
        second % 60,
        ms % MS_PER_SECOND
    )
}

/// The Gregorian date of a day since 1970, with years that begin in March, so that leap days come last
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": `civil_from_days`).
const fn date(day: u64) -> (u64, u64, u64) {
    let day = day + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day_of_month)
}

/// The current time as the NoSQL Workbench writes it: `Apr 25, 2023, 05:37 PM`.
pub fn of_workbench() -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let basic = environment::now().to_basic();
    let number = |range: std::ops::Range<usize>| -> usize {
        basic.get(range).and_then(|digits| digits.parse().ok()).unwrap_or_default()
    };
    let (year, month, day) = (number(0..4), number(4..6), number(6..8));
    let (hour, minute) = (number(9..11), number(11..13));
    let month = MONTHS.get(month.saturating_sub(1)).copied().unwrap_or("Jan");
    let (half, hour) = (if hour < 12 { "AM" } else { "PM" }, (hour + 11) % 12 + 1);
    format!("{month} {day:02}, {year}, {hour:02}:{minute:02} {half}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_have_their_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(of(seconds * 1_000), text);
        }
        assert_eq!(of(1_234), "1970-01-01T00:00:01.234Z");
    }
}
