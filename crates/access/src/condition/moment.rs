//! Moments in conditions: ISO 8601 in the forms of W3C, or seconds since 1970.
//!
//! It does not know the time.

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;
const MILLIS: i64 = 1000;

/// Milliseconds since 1970 of a text.
pub(crate) fn parse(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<i64>() {
        return if text.len() == 4 && seconds > 0 { date(text) } else { seconds.checked_mul(MILLIS) };
    }
    match text.split_once('T') {
        Some((day, time)) => date(day)?.checked_add(time_of_day(time)?),
        None => date(text),
    }
}

/// `2026`, `2026-01` or `2026-01-31`.
fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let day = parts.next().map_or(Some(1), |part| digits(part, 2))?;
    let is_real = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
    (is_real && parts.next().is_none()).then(|| days_since_1970(year, month, day) * SECONDS_PER_DAY * MILLIS)
}

/// `12:00Z`, `12:00:05.123Z` or `12:00:05+01:00`.
fn time_of_day(text: &str) -> Option<i64> {
    let (clock, offset_minutes) = if let Some(clock) = text.strip_suffix('Z') {
        (clock, 0)
    } else {
        let at = text.rfind(['+', '-'])?;
        let (clock, offset) = text.split_at_checked(at)?;
        let (hours, minutes) = offset.get(1..)?.split_once(':')?;
        let minutes = bounded(hours, 23)? * 60 + bounded(minutes, 59)?;
        (clock, if offset.starts_with('-') { -minutes } else { minutes })
    };
    let mut parts = clock.split(':');
    let (hours, minutes) = (bounded(parts.next()?, 23)?, bounded(parts.next()?, 59)?);
    let millis = parts.next().map_or(Some(0), seconds)?;
    if parts.next().is_some() {
        return None;
    }
    Some(((hours * 60 + minutes - offset_minutes) * 60) * MILLIS + millis)
}

/// Milliseconds of `05` or `05.123`.
fn seconds(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let whole = bounded(whole, 60)?;
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: String = part.chars().chain("00".chars()).take(3).collect();
    Some(whole * MILLIS + millis.parse::<i64>().ok()?)
}

fn bounded(text: &str, max: i64) -> Option<i64> {
    digits(text, 2).filter(|number| *number <= max)
}

fn digits(text: &str, count: usize) -> Option<i64> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

const fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar. Years begin in March, so that the leap day is last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_the_forms_of_iso_8601_and_epoch_seconds() {
        let second = 1_767_225_600_000;
        for text in ["2026-01-01T00:00:00Z", "2026-01-01", "2026", "1767225600", "2026-01-01T01:00+01:00"] {
            assert_eq!(parse(text), Some(second), "{text}");
        }
        assert_eq!(parse("2026-01-01T00:00:00.25Z"), Some(second + 250));
        assert_eq!(parse("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        assert_eq!(parse("1969-12-31"), Some(-86_400_000));
        for text in ["", "2026-13", "2023-02-29", "2026-01-01T24:00Z", "2026-01-01T00:00", "now", "2026-1-1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
