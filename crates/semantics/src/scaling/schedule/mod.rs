//! Schedules of scheduled actions: `at(…)`, `rate(…)` and `cron(…)`, and when they fire next.
//!
//! Source: the user guide of Application Auto Scaling on scheduled actions. It does not know the clock. Time
//! zones come from the database that is built in.

mod cron;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use self::cron::Cron;
use super::fault::Fault;
use super::messages;
use crate::monitoring::document::TimeMs;

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    zone: TimeZone,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    At(DateTime),
    /// Milliseconds, more than none.
    Rate(i64),
    Cron(Box<Cron>),
}

const UNITS_MS: [(&str, i64); 3] = [("minute", 60_000), ("hour", 3_600_000), ("day", 86_400_000)];

impl Schedule {
    /// Reads a schedule. Its times are in this zone, or else in UTC.
    pub fn parse(text: &str, zone: Option<&str>) -> Result<Self, Fault> {
        let bad = |reason: &str| Fault::validation(messages::bad_schedule(text, reason));
        let inner = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (name, inner) = inner.ok_or_else(|| bad("it must be at(…), rate(…) or cron(…)"))?;
        let kind = match name {
            "at" => Kind::At(date_time(inner).ok_or_else(|| bad("at() takes yyyy-mm-ddThh:mm:ss"))?),
            "rate" => Kind::Rate(
                rate(inner).ok_or_else(|| bad("rate() takes a number and minutes, hours or days"))?,
            ),
            "cron" => Kind::Cron(Box::new(Cron::parse(inner).map_err(|reason| bad(&reason))?)),
            _ => return Err(bad("it must be at(…), rate(…) or cron(…)")),
        };
        let zone = match zone {
            None => TimeZone::UTC,
            Some(name) => {
                let found = TimeZoneDatabase::bundled().get(name);
                found.map_err(|_| Fault::validation(messages::bad_zone(name)))?
            }
        };
        Ok(Self { zone, kind })
    }

    /// The first time after a moment. `anchor` is where rates are counted from.
    pub fn next_after(&self, after: TimeMs, anchor: TimeMs) -> Option<TimeMs> {
        match &self.kind {
            Kind::At(at) => moment(&self.zone, *at).filter(|at| *at > after),
            Kind::Rate(every_ms) => {
                let passed = after.0.saturating_sub(anchor.0).div_euclid(*every_ms).max(0);
                Some(TimeMs(anchor.0.saturating_add((passed + 1).saturating_mul(*every_ms))))
            }
            Kind::Cron(cron) => {
                let local = self.zone.to_datetime(Timestamp::from_millisecond(after.0).ok()?);
                let mut candidates = cron.from(local.date());
                candidates.find_map(|local| moment(&self.zone, local).filter(|at| *at > after))
            }
        }
    }
}

/// The moment of a local time. A time that the clocks leave out is as much later; of a time that comes twice
/// it is the first.
fn moment(zone: &TimeZone, local: DateTime) -> Option<TimeMs> {
    let at = zone.to_ambiguous_timestamp(local).compatible().ok()?;
    Some(TimeMs(at.as_millisecond()))
}

/// `yyyy-mm-ddThh:mm:ss`.
fn date_time(text: &str) -> Option<DateTime> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let mut time = time.splitn(3, ':');
    let (hour, minute, second) = (time.next()?, time.next()?, time.next()?);
    let part = |text: &str, length: usize| (text.len() == length).then(|| text.parse::<i16>().ok()).flatten();
    let small = |text: &str| part(text, 2).and_then(|number| i8::try_from(number).ok());
    let (year, month, day) = (part(year, 4)?, small(month)?, small(day)?);
    DateTime::new(year, month, day, small(hour)?, small(minute)?, small(second)?, 0).ok()
}

/// A number and its unit, in milliseconds.
fn rate(text: &str) -> Option<i64> {
    let (number, unit) = text.split_once(' ')?;
    let number: i64 = number.parse().ok().filter(|number| *number > 0)?;
    let unit = unit.strip_suffix('s').unwrap_or(unit);
    let (_, unit_ms) = UNITS_MS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*unit_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> TimeMs {
        let at: Timestamp = text.parse().expect("tests write right times");
        TimeMs(at.as_millisecond())
    }

    fn firings(schedule: &str, zone: Option<&str>, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(schedule, zone).expect("the schedule is right");
        let mut times = Vec::new();
        let (anchor, mut after) = (ms(after), ms(after));
        while times.len() < count
            && let Some(next) = schedule.next_after(after, anchor)
        {
            times.push(Timestamp::from_millisecond(next.0).expect("in range").to_string());
            after = next;
        }
        times
    }

    #[test]
    fn a_time_fires_once_in_its_zone() {
        let at = "at(2026-10-09T12:00:30)";
        assert_eq!(firings(at, None, "2026-10-01T00:00:00Z", 2), ["2026-10-09T12:00:30Z"]);
        let tokyo = Some("Asia/Tokyo");
        assert_eq!(firings(at, tokyo, "2026-10-01T00:00:00Z", 2), ["2026-10-09T03:00:30Z"]);
        assert!(firings(at, None, "2026-10-09T12:00:30Z", 2).is_empty());
    }

    #[test]
    fn a_rate_counts_from_its_anchor() {
        assert_eq!(
            firings("rate(90 minutes)", None, "2026-10-09T12:00:10Z", 2),
            ["2026-10-09T13:30:10Z", "2026-10-09T15:00:10Z"]
        );
        assert_eq!(firings("rate(1 day)", None, "2026-10-09T00:00:00Z", 1), ["2026-10-10T00:00:00Z"]);
    }

    #[test]
    fn cron_takes_the_guides_forms() {
        for (fields, after, expected) in [
            ("0 10 * * ? *", "2026-10-09T10:00:00Z", "2026-10-10T10:00:00Z"),
            ("0/15 8-9 ? * MON-FRI *", "2026-10-09T09:45:00Z", "2026-10-12T08:00:00Z"),
            ("15 12 1,15 * ? *", "2026-10-09T00:00:00Z", "2026-10-15T12:15:00Z"),
            ("0 0 L * ? *", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z"),
            ("0 0 1W * ? *", "2026-07-31T12:00:00Z", "2026-08-03T00:00:00Z"),
            ("0 0 LW * ? *", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z"),
            ("0 0 ? * 6L *", "2026-10-01T00:00:00Z", "2026-10-30T00:00:00Z"),
            ("0 0 ? * 2#2 *", "2026-10-01T00:00:00Z", "2026-10-12T00:00:00Z"),
            ("0 0 ? * FRI-SUN *", "2026-10-12T00:00:00Z", "2026-10-16T00:00:00Z"),
            ("0 18 29 FEB ? *", "2026-10-09T00:00:00Z", "2028-02-29T18:00:00Z"),
            ("30 6 ? JAN,JUL 1 2030-2031", "2026-10-09T00:00:00Z", "2030-01-06T06:30:00Z"),
            ("*/20 * * * ? *", "2026-10-09T00:20:00Z", "2026-10-09T00:40:00Z"),
        ] {
            assert_eq!(firings(&format!("cron({fields})"), None, after, 1), [expected], "{fields}");
        }
        assert!(firings("cron(0 0 30 2 ? *)", None, "2026-10-09T00:00:00Z", 1).is_empty());
    }

    #[test]
    fn cron_follows_the_clocks_of_its_zone() {
        let berlin = Some("Europe/Berlin");
        assert_eq!(
            firings("cron(30 2 * * ? *)", berlin, "2026-03-28T00:00:00Z", 3),
            ["2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
        );
        assert_eq!(
            firings("cron(0 9 * * ? *)", berlin, "2026-10-24T00:00:00Z", 2),
            ["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z"]
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "at()",
            "at(2026-10-09)",
            "at(2026-13-09T00:00:00)",
            "rate(0 minutes)",
            "rate(5)",
            "rate(5 weeks)",
            "every(5 minutes)",
            "cron(* * * * *)",
            "cron(0 0 1 * 2 *)",
            "cron(0 0 ? * ? *)",
            "cron(60 0 1 * ? *)",
            "cron(0 0 1 13 ? *)",
            "cron(5-1 0 1 * ? *)",
            "cron(0 0 1 * ? 1969)",
            "cron(0 0 ? * 8 *)",
            "cron(0/0 0 1 * ? *)",
            "cron(a 0 1 * ? *)",
        ] {
            assert!(Schedule::parse(text, None).is_err(), "{text}");
        }
        let fault = Schedule::parse("rate(1 hour)", Some("Mars/Base")).unwrap_err();
        assert_eq!(fault.message, "\"Mars/Base\" is not a time zone");
    }
}
