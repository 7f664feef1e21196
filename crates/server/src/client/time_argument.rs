//! Times on the command line: RFC 3339, or so long ago.

use std::str::FromStr;

use keywright_wire::sigv4::TimeMs;

use crate::process::environment;

/// A time as the command line names it, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeArgument(pub(crate) u64);

const FORM: &str = "write a time such as 2026-10-06T23:16:32Z, or how long ago it was: -90s, -10m, -2h, -3d";

impl FromStr for TimeArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = match text.strip_prefix('-') {
            Some(ago) => ago_ms(ago).map(|ago_ms| environment::now().0.saturating_sub(ago_ms)),
            None => time_ms(text),
        };
        time.map(Self).ok_or_else(|| FORM.to_owned())
    }
}

/// A length of time as the command line names it, such as `10m`, in milliseconds.
pub(crate) fn period(text: &str) -> Result<u64, String> {
    ago_ms(text).ok_or_else(|| "write a period such as 90s, 10m, 12h or 7d".to_owned())
}

/// Reads `10m` as milliseconds.
fn ago_ms(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(seconds)?.checked_mul(1_000)
}

/// Reads `2026-10-06T23:16:32.5+02:00`. Digits below a millisecond are cut.
fn time_ms(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let at = rest.find(|sign: char| !(sign.is_ascii_digit() || sign == ':'))?;
    let (time, rest) = rest.split_at(at);
    let is_spaced = |text: &str, sign: char, at: [usize; 2]| {
        text.len() == at[1] + 3 && text.match_indices(sign).map(|(place, _)| place).eq(at)
    };
    if !is_spaced(date, '-', [4, 7]) || !is_spaced(time, ':', [2, 5]) {
        return None;
    }
    let basic = format!("{}T{}Z", date.replace('-', ""), time.replace(':', ""));
    let whole_ms = TimeMs::parse_basic(&basic)?.0;
    let (fraction_ms, zone) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(rest) => {
            let (digits, zone) = rest.split_at(rest.find(|sign: char| !sign.is_ascii_digit())?);
            let first: String = digits.chars().chain("00".chars()).take(3).collect();
            (if digits.is_empty() { return None } else { first.parse::<u64>().ok()? }, zone)
        }
    };
    let ms = whole_ms.checked_add(fraction_ms)?;
    if matches!(zone, "Z" | "z") {
        return Some(ms);
    }
    let (sign, zone) = zone.split_at_checked(1)?;
    let (hours, minutes) = zone.split_once(':')?;
    let part =
        |text: &str, below: u64| text.parse::<u64>().ok().filter(|number| text.len() == 2 && *number < below);
    let zone_ms = (part(hours, 24)? * 60 + part(minutes, 60)?) * 60_000;
    match sign {
        "+" => ms.checked_sub(zone_ms),
        "-" => ms.checked_add(zone_ms),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::timestamp;

    #[test]
    fn times_of_every_zone_and_precision_are_read() {
        for (text, same) in [
            ("2026-10-06T23:16:32Z", "2026-10-06T23:16:32.000Z"),
            ("2026-10-06t23:16:32.5z", "2026-10-06T23:16:32.500Z"),
            ("2026-10-06T23:16:32.123456Z", "2026-10-06T23:16:32.123Z"),
            ("2026-10-07T01:16:32+02:00", "2026-10-06T23:16:32.000Z"),
            ("2026-10-06T17:46:32.001-05:30", "2026-10-06T23:16:32.001Z"),
        ] {
            let time = text.parse::<TimeArgument>().map(|time| timestamp::of(time.0));
            assert_eq!(time.as_deref(), Ok(same), "{text}");
        }
    }

    #[test]
    fn a_time_ago_is_before_now() {
        let now_ms = environment::now().0;
        for (text, ago_ms) in [("-90s", 90_000), ("-10m", 600_000), ("-2h", 7_200_000), ("-3d", 259_200_000)]
        {
            let time = text.parse::<TimeArgument>().expect(text).0;
            assert!((now_ms - ago_ms..=environment::now().0 - ago_ms).contains(&time), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_form() {
        for text in [
            "",
            "-",
            "-m",
            "-1.5h",
            "-10x",
            "10m",
            "now",
            "2026-10-06",
            "2026-10-06T23:16:32",
            "2026-10-06T23:16Z",
            "2026-13-06T23:16:32Z",
            "2026-10-06T23:16:32.Z",
            "2026-10-06T23:16:32+2:00",
            "2026-10-06T23:16:32+02:60",
            "20261006T231632Z",
            "1969-12-31T23:59:59Z",
            "2026-10-06T2:316:32Z",
        ] {
            assert_eq!(text.parse::<TimeArgument>(), Err(FORM.to_owned()), "{text}");
        }
    }
}
