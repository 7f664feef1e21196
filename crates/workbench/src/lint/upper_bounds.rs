//! L006: upper bounds that sort before the last values that they should include.
//!
//! It compares texts as the service does: a bound is short if the last value of what it names sorts after it.

use super::context::{Context, finding};
use super::{Finding, Severity};
use keywright_model::{AttributeFormat, Given, GivenOp, Node, Template};

/// The latest time of any year, to the last digit that is judged.
const LATEST: &str = "9999-12-31T23:59:59.999999999";
/// Characters of a year, of a date, of a time to the minute, to the second and to the millisecond.
const YEAR: usize = 4;
const DATE: usize = 10;
const MINUTES: usize = 16;
const SECONDS: usize = 19;
const MILLISECONDS: usize = 23;
/// Seconds in a day and in a minute.
const DAY: u64 = 86_400;
const MINUTE: u64 = 60;

pub(super) fn short(context: &Context<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pattern, read, report) in context.reads() {
        for given in &read.given {
            let example = pattern.example.iter().find(|(name, _)| *name == given.attribute);
            let Some(upper) = example.and_then(|(_, node)| upper(given, node)) else { continue };
            let sorts = context.sort_templates(report);
            let known = Known {
                format: context
                    .attribute(&read.entities, &given.attribute)
                    .and_then(|attribute| attribute.format),
                recorded: context.recorded(&read.entities, &given.attribute),
                continues: sorts.iter().any(|template| continues(template, &given.attribute)),
                op: given.op,
            };
            let Some(last) = known.last_left_out(&upper) else { continue };
            found.push(finding(
                "L006",
                Severity::Warning,
                given.at,
                &pattern.id,
                format!(
                    "the upper bound `{upper}` of {} sorts before the last values that it should include",
                    pattern.id
                ),
                format!(
                    "write the bound to the last digit that is stored, such as `{last}`, or the next day with `lt`"
                ),
            ));
        }
    }
    found
}

/// The example's upper bound, if the attribute is given one.
fn upper(given: &Given, node: &Node) -> Option<String> {
    let place = match given.op {
        GivenOp::Between => 1,
        GivenOp::Le | GivenOp::Lt => 0,
        GivenOp::Eq | GivenOp::BeginsWith | GivenOp::Gt | GivenOp::Ge => return None,
    };
    node.elements().get(place)?.scalar()
}

/// Whether a key goes on after an attribute; the planner then includes all that continues an upper bound.
fn continues(template: &Template, attribute: &str) -> bool {
    let place = template.parts.iter().position(|part| part.attribute() == Some(attribute));
    place.is_some_and(|place| place + 1 < template.parts.len())
}

/// What is known of the attribute that a bound is for.
struct Known {
    format: Option<AttributeFormat>,
    /// The values in the data.
    recorded: Vec<String>,
    continues: bool,
    op: GivenOp,
}

impl Known {
    /// A value that the bound should include and leaves out.
    fn last_left_out(&self, upper: &str) -> Option<String> {
        if let Some(unit) = self.epoch_unit(upper) {
            return self.last_of_day(upper.parse().ok()?, unit);
        }
        let stored = || self.recorded.iter().find(|value| self.is_longer(value, upper)).cloned();
        let Some(bound) = Time::parse(upper) else { return stored() };
        let shown: Vec<Form<'_>> = self.recorded.iter().filter_map(|value| Form::of(value)).collect();
        let is_known = self.format.is_some_and(AttributeFormat::is_time) || !shown.is_empty();
        let forms = if shown.is_empty() { vec![self.form(&bound)] } else { shown };
        let left_out = forms.iter().find_map(|form| {
            let last = bound.last(form, self.op != GivenOp::Lt && is_known)?;
            // A bound with all digits stored and no zone is meant for values of any zone.
            let zone = if bound.zone.is_empty() && bound.clock.len() >= form.digits { "" } else { form.zone };
            self.leaves_out(&format!("{last}{zone}"), upper).then(|| format!("{last}{}", form.zone))
        });
        left_out.or_else(stored)
    }

    /// Whether a stored value continues the bound and is not included.
    fn is_longer(&self, value: &str, upper: &str) -> bool {
        self.op != GivenOp::Lt && value.len() > upper.len() && value.starts_with(upper) && !self.continues
    }

    fn leaves_out(&self, value: &str, upper: &str) -> bool {
        match self.op {
            GivenOp::Lt => value >= upper,
            _ => value > upper && !(self.continues && value.starts_with(upper)),
        }
    }

    /// How values are written if the data show none: as the format says, else like the bound.
    fn form<'a>(&self, bound: &Time<'a>) -> Form<'a> {
        match self.format {
            Some(AttributeFormat::Date) => Form { digits: DATE, separator: 'T', zone: "" },
            // Without data, a day that ends with its last whole second may be all that is stored.
            Some(AttributeFormat::Iso8601) => {
                let whole = bound.clock.len() == SECONDS && bound.clock.ends_with("23:59:59");
                Form { digits: if whole { SECONDS } else { MILLISECONDS }, separator: 'T', zone: "Z" }
            }
            Some(AttributeFormat::LocalTime) => Form { digits: SECONDS, separator: 'T', zone: "" },
            _ => Form {
                digits: bound.clock.len().max(SECONDS),
                separator: bound.separator(),
                zone: bound.zone,
            },
        }
    }

    /// Units a second, if the values count from 1970: as the format says, else as their digits show.
    fn epoch_unit(&self, upper: &str) -> Option<u64> {
        let unit = |digits: usize| match digits {
            10 => Some(1),
            13 => Some(1000),
            _ => None,
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self.format {
            _ if !is_number(upper) => None,
            Some(AttributeFormat::EpochSeconds) => Some(1),
            Some(AttributeFormat::EpochMs) => Some(1000),
            Some(_) => None,
            None => {
                let alike = |value: &String| is_number(value) && value.len() == upper.len();
                let all = !self.recorded.is_empty() && self.recorded.iter().all(alike);
                unit(upper.len()).filter(|_| all)
            }
        }
    }

    /// The end of the bound's day in UTC, if the bound is the beginning of its last minute or second.
    fn last_of_day(&self, upper: u64, unit: u64) -> Option<String> {
        let (day, rest) = (upper / (DAY * unit), upper % (DAY * unit));
        let last = (day + 1) * DAY * unit - 1;
        let is_end = rest == (DAY - MINUTE) * unit || rest == (DAY - 1) * unit || upper == last;
        let left_out = if self.op == GivenOp::Lt { last >= upper } else { last > upper };
        (is_end && left_out).then(|| last.to_string())
    }
}

/// A time as text: `2026-11-27`, `2026-11-27T23:59`, `2026-11-27 23:59:59.999+01:00`.
struct Time<'a> {
    /// The digits of the date and the time with what stands between them.
    clock: &'a str,
    zone: &'a str,
}

impl<'a> Time<'a> {
    /// `None` if the text does not begin with a year, or is no time.
    fn parse(text: &'a str) -> Option<Self> {
        let alike = |(own, of): &(char, char)| match of {
            'T' => matches!(own, 'T' | 't' | ' '),
            '-' | ':' | '.' => own == of,
            _ => own.is_ascii_digit(),
        };
        // Every character that fits is one byte.
        let length = text.chars().zip(LATEST.chars()).take_while(alike).count();
        let (clock, zone) = text.split_at_checked(length)?;
        let offset = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        let is_zone = match zone.chars().next() {
            None => true,
            Some('Z' | 'z') => zone.len() == 1,
            Some('+' | '-') => length > DATE && zone.get(1..).is_some_and(offset),
            Some(_) => false,
        };
        (clock.len() >= YEAR && is_zone).then_some(Self { clock, zone })
    }

    fn separator(&self) -> char {
        self.clock.chars().nth(DATE).unwrap_or('T')
    }

    /// The last time, as values are written, of what the bound names: the day if it is the beginning of a
    /// day's last minute or second, and, where a part of a date may be named, the year, month, day, hour or
    /// minute.
    fn last(&self, form: &Form<'_>, or_part: bool) -> Option<String> {
        let named = match self.clock.get(DATE + 1..) {
            Some(clock) if is_end_of_day(clock) => DATE,
            _ if or_part && self.clock.len() < SECONDS.min(form.digits) => self.clock.len(),
            _ => return None,
        };
        let whole = format!("{}{}", self.clock.get(..named)?, LATEST.get(named..)?);
        let with_separator = |(place, own): (usize, char)| if place == DATE { form.separator } else { own };
        Some(whole.chars().enumerate().map(with_separator).take(form.digits).collect())
    }
}

/// Whether a time of day is the beginning of the last minute, or within the last second.
fn is_end_of_day(clock: &str) -> bool {
    let Some(rest) = clock.strip_prefix("23:59") else { return false };
    let is_zero = |rest: &str| rest.chars().all(|own| matches!(own, ':' | '.' | '0'));
    is_zero(rest) || rest.starts_with(":59")
}

/// How an attribute's times are written.
struct Form<'a> {
    /// Characters before the zone.
    digits: usize,
    separator: char,
    zone: &'a str,
}

impl<'a> Form<'a> {
    fn of(value: &'a str) -> Option<Self> {
        let time = Time::parse(value)?;
        let is_whole = time.clock.len() == DATE || time.clock.len() >= MINUTES;
        is_whole.then(|| Self { digits: time.clock.len(), separator: time.separator(), zone: time.zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(
        format: Option<AttributeFormat>,
        recorded: &[&str],
        continues: bool,
        op: GivenOp,
        upper: &str,
    ) -> Option<String> {
        let recorded = recorded.iter().map(|value| (*value).to_owned()).collect();
        Known { format, recorded, continues, op }.last_left_out(upper)
    }

    /// A bound with what it leaves out; nothing if it includes all of what it names.
    type Case = (&'static str, Option<&'static str>);

    fn all(format: Option<AttributeFormat>, recorded: &[&str], op: GivenOp, cases: &[Case]) {
        for (upper, last) in cases {
            let found = left_out(format, recorded, false, op, upper);
            assert_eq!(found.as_deref(), *last, "{upper} for {format:?} {recorded:?}");
        }
    }

    #[test]
    fn the_end_of_a_day_cuts_its_last_minute_in_every_format() {
        let last = Some("2026-11-27T23:59:59.999Z");
        let iso: &[Case] = &[
            ("2026", Some("2026-12-31T23:59:59.999Z")),
            ("2026-11-27", last),
            ("2026-11-27T23:59", last),
            ("2026-11-27T23:59:00", last),
            ("2026-11-27T23:59:00Z", last),
            ("2026-11-27T23:59:00.000Z", last),
            ("2026-11-27T23:59:00.000", last),
            ("2026-11-27T23:59:00+01:00", last),
            ("2026-11-27T23:59:00-0500", last),
            ("2026-11-27T23:59+01:00", last),
            ("2026-11-27 23:59:59.999Z", last),
            ("2026-11-27T23:59:59.000Z", last),
            ("2026-11-27T10:30", Some("2026-11-27T10:30:59.999Z")),
            // A point and a colon sort before `Z`.
            ("2026-11-27T23:59Z", None),
            ("2026-11-27T23:59:59Z", None),
            ("2026-11-27T23:59:59", None),
            ("2026-11-27T23:59:59.999", None),
            ("2026-11-27T23:59:59.999Z", None),
            ("2026-11-27T10:30:15", None),
            ("2026-11-28T00:00:00.000Z", None),
        ];
        all(Some(AttributeFormat::Iso8601), &[], GivenOp::Between, iso);
        all(Some(AttributeFormat::Iso8601), &[], GivenOp::Le, iso);
        let local: &[Case] = &[
            ("2026-11-27T23:59:00", Some("2026-11-27T23:59:59")),
            ("2026-11-27T23:59", Some("2026-11-27T23:59:59")),
            ("2026-11-27T23:59:59", None),
        ];
        all(Some(AttributeFormat::LocalTime), &[], GivenOp::Between, local);
        let date: &[Case] =
            &[("2026-11", Some("2026-11-31")), ("2026-11-27", None), ("2026-11-27T23:59:00", None)];
        all(Some(AttributeFormat::Date), &[], GivenOp::Between, date);
        let seconds: &[Case] =
            &[("1795823940", Some("1795823999")), ("1795823999", None), ("1795790000", None)];
        all(Some(AttributeFormat::EpochSeconds), &[], GivenOp::Between, seconds);
        all(None, &["1795790000"], GivenOp::Between, seconds);
        all(None, &[], GivenOp::Between, &[("1795823940", None)]);
        let milliseconds: &[Case] = &[
            ("1795823940000", Some("1795823999999")),
            ("1795823999000", Some("1795823999999")),
            ("1795823999999", None),
        ];
        all(Some(AttributeFormat::EpochMs), &[], GivenOp::Between, milliseconds);
    }

    #[test]
    fn the_data_show_how_values_are_written() {
        let with_offset: &[Case] = &[
            ("2026-11-27T23:59:00+01:00", Some("2026-11-27T23:59:59.999+01:00")),
            ("2026-11-27T23:59:59+01:00", Some("2026-11-27T23:59:59.999+01:00")),
        ];
        all(None, &["2026-11-27T09:30:00.500+01:00"], GivenOp::Between, with_offset);
        let with_milliseconds: &[Case] = &[
            ("2026-11-27T23:59:59", Some("2026-11-27T23:59:59.999Z")),
            ("2026-11-27T23:59:59Z", None),
            ("2026-11-27T10:30:15", None),
        ];
        let recorded = ["2026-11-27T09:30:00.500Z"];
        all(Some(AttributeFormat::Iso8601), &recorded, GivenOp::Between, with_milliseconds);
        let with_space: &[Case] =
            &[("2026-11-27 23:59:00", Some("2026-11-27 23:59:59")), ("2026-11-27 23:59:59", None)];
        all(None, &["2026-11-27 09:30:00"], GivenOp::Between, with_space);
        let without_data: &[Case] = &[
            ("2026-11-27T23:59:00Z", Some("2026-11-27T23:59:59Z")),
            ("2026-11-27T23:59:59Z", None),
            ("2026-11-27", None),
            ("2026", None),
            ("ORDER-9", None),
        ];
        all(None, &[], GivenOp::Between, without_data);
        all(None, &["v10"], GivenOp::Between, &[("v1", Some("v10")), ("v2", None)]);
    }

    #[test]
    fn an_exclusive_bound_at_the_end_of_a_day_is_short_and_the_next_day_is_not() {
        let cases: &[Case] = &[
            ("2026-11-27T23:59:59.999Z", Some("2026-11-27T23:59:59.999Z")),
            ("2026-11-27T23:59:00Z", Some("2026-11-27T23:59:59.999Z")),
            ("2026-11-28", None),
            ("2026-11-28T00:00", None),
        ];
        all(Some(AttributeFormat::Iso8601), &[], GivenOp::Lt, cases);
        let epoch: &[Case] = &[("1795823999", Some("1795823999")), ("1795824000", None)];
        all(Some(AttributeFormat::EpochSeconds), &[], GivenOp::Lt, epoch);
    }

    #[test]
    fn where_the_key_goes_on_a_bound_includes_all_that_continues_it() {
        let iso = Some(AttributeFormat::Iso8601);
        for upper in ["2026-11-27", "2026-11-27T23:59", "2026-11-27T23:59:59"] {
            assert_eq!(left_out(iso, &[], true, GivenOp::Between, upper), None, "{upper}");
        }
        assert!(left_out(iso, &[], true, GivenOp::Between, "2026-11-27T23:59:00").is_some());
    }
}
