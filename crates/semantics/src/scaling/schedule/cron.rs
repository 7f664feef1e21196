//! The six fields of a `cron` schedule and the local times that they match.
//!
//! Source: the user guide's cron reference: `, - * ? / L W #`, names of months and weekdays, Sunday is 1.

use jiff::civil::{Date, DateTime};

/// The last year that a field may name.
const YEAR_MAX: i16 = 2199;
const YEAR_MIN: i16 = 1970;
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const WEEK: i8 = 7;

/// The numbers that a field matches, sorted.
type Numbers = Vec<i16>;

/// Which days of a month match.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Days {
    /// Days of the month.
    Numbers(Numbers),
    /// The last day.
    Last,
    /// The last day from Monday to Friday.
    LastWorkday,
    /// The day from Monday to Friday that is nearest to this one, in the same month.
    NearestWorkday(i8),
    /// Days of the week: 1 is Sunday.
    Weekdays(Numbers),
    /// The last such day of the week.
    LastWeekday(i8),
    /// Such a day of the week, counted from the first in the month.
    NthWeekday(i8, i8),
}

/// A parsed expression. Invariant: every list has an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cron {
    minutes: Numbers,
    hours: Numbers,
    days: Days,
    months: Numbers,
    years: Numbers,
}

/// A field: its name, its smallest and greatest number, and the names of its numbers.
struct Field {
    name: &'static str,
    first: i16,
    last: i16,
    names: &'static [&'static str],
}

const fn field(name: &'static str, first: i16, last: i16) -> Field {
    Field { name, first, last, names: &[] }
}

impl Field {
    fn refused(&self, text: &str) -> String {
        format!("\"{text}\" does not fit the field {}", self.name)
    }

    fn number(&self, text: &str) -> Result<i16, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let named = named.and_then(|place| i16::try_from(place).ok()).map(|place| place + self.first);
        let number = named.or_else(|| text.parse().ok());
        let in_range = number.filter(|number| (self.first..=self.last).contains(number));
        in_range.ok_or_else(|| self.refused(text))
    }

    /// One element of a list: a number, a range, or either with a step.
    fn element(&self, text: &str) -> Result<Numbers, String> {
        let (range, step) = match text.split_once('/') {
            None => (text, None),
            Some((range, step)) => {
                let step = step.parse::<i16>().ok().filter(|step| *step > 0);
                (range, Some(step.ok_or_else(|| self.refused(text))?))
            }
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.first, self.last),
            Some((from, to)) => (self.number(from)?, self.number(to)?),
            // `5/10` goes on from 5.
            None if step.is_some() => (self.number(range)?, self.last),
            None => (self.number(range)?, self.number(range)?),
        };
        let step = usize::try_from(step.unwrap_or(1)).unwrap_or(1);
        if from <= to {
            return Ok((from..=to).step_by(step).collect());
        }
        if self.names.is_empty() {
            return Err(self.refused(text));
        }
        // A range of names may pass the end: FRI-MON.
        Ok((from..=self.last).chain(self.first..=to).step_by(step).collect())
    }

    fn numbers(&self, text: &str) -> Result<Numbers, String> {
        let mut numbers = Numbers::new();
        for element in text.split(',') {
            numbers.extend(self.element(element)?);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

const DAY_OF_MONTH: Field = field("day-of-month", 1, 31);
const DAY_OF_WEEK: Field = Field { name: "day-of-week", first: 1, last: 7, names: &WEEKDAYS };

fn days(of_month: &str, of_week: &str) -> Result<Days, String> {
    let small = |number: i16| i8::try_from(number).unwrap_or_default();
    match (of_month, of_week) {
        ("?", "?") => Err("one of day-of-month and day-of-week must not be ?".to_owned()),
        ("L", "?") => Ok(Days::Last),
        ("LW" | "WL", "?") => Ok(Days::LastWorkday),
        (day, "?") => match day.strip_suffix('W') {
            Some(day) => Ok(Days::NearestWorkday(small(DAY_OF_MONTH.number(day)?))),
            None => Ok(Days::Numbers(DAY_OF_MONTH.numbers(day)?)),
        },
        ("?", "L") => Ok(Days::Weekdays(vec![DAY_OF_WEEK.last])),
        ("?", day) => match (day.strip_suffix('L'), day.split_once('#')) {
            (Some(day), _) => Ok(Days::LastWeekday(small(DAY_OF_WEEK.number(day)?))),
            (None, Some((weekday, nth))) => {
                let nth = nth.parse::<i8>().ok().filter(|nth| (1..=5).contains(nth));
                let nth = nth.ok_or_else(|| DAY_OF_WEEK.refused(day))?;
                Ok(Days::NthWeekday(small(DAY_OF_WEEK.number(weekday)?), nth))
            }
            (None, None) => Ok(Days::Weekdays(DAY_OF_WEEK.numbers(day)?)),
        },
        _ => Err("one of day-of-month and day-of-week must be ?".to_owned()),
    }
}

/// The day's number in its week: 1 is Sunday.
fn weekday(date: Date) -> i8 {
    date.weekday().to_sunday_one_offset()
}

fn is_workday(date: Date) -> bool {
    (2..WEEK).contains(&weekday(date))
}

fn same_month(date: Date, day: i8) -> Option<Date> {
    Date::new(date.year(), date.month(), day).ok()
}

fn nearest_workday(date: Date, wanted: i8) -> Option<Date> {
    let wanted = same_month(date, wanted)?;
    let day = wanted.day();
    // A Saturday gives way to the Friday before, a Sunday to the Monday after, within the month.
    let near = [day, day - 1, day + 1, day + 2, day - 2];
    near.into_iter().filter_map(|day| same_month(date, day)).find(|date| is_workday(*date))
}

impl Days {
    fn matches(&self, date: Date) -> bool {
        let left = date.days_in_month() - date.day();
        match self {
            Self::Numbers(days) => days.contains(&i16::from(date.day())),
            Self::Last => left == 0,
            Self::LastWorkday => is_workday(date) && (left == 0 || (weekday(date) == 6 && left <= 2)),
            Self::NearestWorkday(day) => nearest_workday(date, *day) == Some(date),
            Self::Weekdays(days) => days.contains(&i16::from(weekday(date))),
            Self::LastWeekday(day) => weekday(date) == *day && left < WEEK,
            Self::NthWeekday(day, nth) => weekday(date) == *day && (date.day() - 1) / WEEK + 1 == *nth,
        }
    }
}

impl Cron {
    /// Reads six fields. The error says which is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let &[minutes, hours, of_month, months, of_week, years] = fields.as_slice() else {
            return Err(
                "cron() takes six fields: minutes hours day-of-month month day-of-week year".to_owned()
            );
        };
        Ok(Self {
            minutes: field("minutes", 0, 59).numbers(minutes)?,
            hours: field("hours", 0, 23).numbers(hours)?,
            days: days(of_month, of_week)?,
            months: Field { name: "month", first: 1, last: 12, names: &MONTHS }.numbers(months)?,
            years: field("year", YEAR_MIN, YEAR_MAX).numbers(years)?,
        })
    }

    /// The days of a month that match, in order.
    fn days_of(&self, month: Date) -> impl Iterator<Item = Date> {
        let is_possible = match &self.days {
            Days::Numbers(days) => days.first().is_some_and(|day| *day <= i16::from(month.days_in_month())),
            _ => true,
        };
        let last = if is_possible { month.days_in_month() } else { 0 };
        (1..=last).filter_map(move |day| same_month(month, day)).filter(|date| self.days.matches(*date))
    }

    /// All local times on and after a day, in order.
    pub(super) fn from(&self, first: Date) -> impl Iterator<Item = DateTime> {
        let years = self.years.iter().filter(move |year| **year >= first.year());
        let months = years.flat_map(move |year| {
            let month = move |month: &i16| Date::new(*year, i8::try_from(*month).ok()?, 1).ok();
            self.months.iter().filter_map(month)
        });
        // A schedule that never comes is looked for until the last year.
        let from_month = first.first_of_month();
        let days = months.filter(move |month| *month >= from_month).flat_map(|month| self.days_of(month));
        days.filter(move |date| *date >= first).flat_map(move |date| {
            self.hours.iter().flat_map(move |hour| {
                self.minutes.iter().filter_map(move |minute| {
                    let (hour, minute) = (i8::try_from(*hour).ok()?, i8::try_from(*minute).ok()?);
                    Some(date.at(hour, minute, 0, 0))
                })
            })
        })
    }
}
