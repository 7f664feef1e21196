//! Times, durations, rates and shares as texts.

use keywright_model::Node;
use keywright_semantics::share::{ALL_PPM, MICRO};

use super::DAY_SECONDS;

/// Digits behind the point of a millionth.
const MICRO_DIGITS: usize = 6;

/// Seconds of `90s`, `60m`, `2h`, `1d`, or of a plain number of seconds.
pub(super) fn seconds(node: &Node) -> Option<u64> {
    let text = node.scalar()?;
    let units = [('s', 1), ('m', 60), ('h', 3600), ('d', DAY_SECONDS)];
    let (digits, unit) = units
        .iter()
        .find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, *unit)))
        .unwrap_or((text.as_str(), 1));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// A decimal number in millionths.
pub(super) fn micro(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || fraction.len() > MICRO_DIGITS {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<MICRO_DIGITS$}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(MICRO)?.checked_add(fraction)
}

/// A share in millionths: `0.8` or `80%`; at most all.
pub(super) fn share_ppm(node: &Node) -> Option<u64> {
    let text = node.scalar()?;
    let share = match text.strip_suffix('%') {
        Some(percent) => micro(percent)? / 100,
        None => micro(&text)?,
    };
    (share <= ALL_PPM).then_some(share)
}

/// Milliseconds since 1970 of `2026-11-27T17:00:00Z`; seconds may be left out.
pub(super) fn time_ms(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |part: &str, digits: usize| -> Option<u64> {
        (part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())?
    };
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let mut time = time.split(':');
    let (hour, minute) = (number(time.next()?, 2)?, number(time.next()?, 2)?);
    let second = time.next().map_or(Some(0), |part| number(part, 2))?;
    let is_time = hour < 24 && minute < 60 && second < 60;
    let days_in = days_in_month(year, month)?;
    if !is_time || year < 1970 || day == 0 || day > days_in {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_month(year: u64, month: u64) -> Option<u64> {
    match month {
        2 => Some(28 + u64::from(is_leap(year))),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

/// Days from 1970 to the first of this month.
fn days_before(year: u64, month: u64) -> u64 {
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    years + (1..month).filter_map(|month| days_in_month(year, month)).sum::<u64>()
}

/// A time as `2026-11-27T17:00Z`.
pub(in super::super) fn minute_text(ms: u64) -> String {
    let minutes = ms / 60_000;
    let (mut days, in_day) = (minutes / 1440, minutes % 1440);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while let Some(length) = days_in_month(year, month).filter(|length| days >= *length) {
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}T{:02}:{:02}Z", days + 1, in_day / 60, in_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_shown() {
        assert_eq!(time_ms("1970-01-01T00:00Z"), Some(0));
        assert_eq!(time_ms("2026-11-27T17:00:00Z"), Some(1_795_798_800_000));
        assert_eq!(minute_text(1_795_798_800_000), "2026-11-27T17:00Z");
        assert_eq!(minute_text(1_709_164_800_000), "2024-02-29T00:00Z");
        for wrong in ["2026-02-29T00:00Z", "2026-13-01T00:00Z", "2026-11-27 17:00", "2026-11-27T24:00Z"] {
            assert_eq!(time_ms(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_rates_and_shares_are_exact() {
        assert_eq!(
            ["90", "90s", "2m", "1h", "7d", "m", "-1"].map(|text| seconds(&Node::text(text))),
            [Some(90), Some(90), Some(120), Some(3600), Some(604_800), None, None]
        );
        assert_eq!(
            ["2000", "0.5", ".5", "1.0000001"].map(micro),
            [Some(2_000_000_000), Some(500_000), None, None]
        );
        assert_eq!(
            ["80%", "0.8", "1.1", "101%"].map(|text| share_ppm(&Node::text(text))),
            [Some(800_000), Some(800_000), None, None]
        );
    }
}
