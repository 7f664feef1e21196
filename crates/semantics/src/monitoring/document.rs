//! Values between the protocols and the typed requests and responses: a tree without types of its own.
//!
//! It does not know JSON, CBOR, forms or XML.

use super::fault::{Fault, FaultKind};

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeMs(
    /// The number.
    pub i64,
);

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// Absent.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(String),
    /// Text of a form, which may stand for a number, a time or a truth value.
    Form(String),
    /// A point in time.
    Time(TimeMs),
    /// Elements in their order.
    List(Vec<Document>),
    /// Members in their order.
    Object(Vec<(String, Document)>),
    /// Entries with keys of the client's; only in responses.
    Map(Vec<(String, Document)>),
}

fn malformed(name: &str, wanted: &str) -> Fault {
    Fault::new(FaultKind::Serialization, format!("The value of {name} is not {wanted}."))
}

const MS_PER_SECOND: f64 = 1000.0;

/// Seconds since 1970, from a number that may have a fraction.
#[expect(clippy::as_conversions, clippy::cast_possible_truncation, reason = "the cast saturates")]
pub fn time_of_seconds(seconds: f64) -> TimeMs {
    TimeMs((seconds * MS_PER_SECOND).round() as i64)
}

/// A time as forms write it: `2026-10-09T12:00:00Z`, with a fraction or not, with an offset or not.
pub fn time_of_text(text: &str) -> Option<TimeMs> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone_at = time.find(['Z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at_checked(zone_at)?;
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = whole.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0))?);
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let ms: i64 = digits.parse().ok()?;
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    in_range.then_some(TimeMs((seconds - offset_seconds(zone)?) * 1000 + ms))
}

fn offset_seconds(zone: &str) -> Option<i64> {
    if zone.is_empty() || zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
    let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

/// Days since 1970 of a date of the Gregorian calendar.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Document {
    /// An object of these members, without those that are absent.
    pub fn object<const N: usize>(members: [(&str, Document); N]) -> Self {
        let present = members.into_iter().filter(|(_, value)| *value != Self::Null);
        Self::Object(present.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A value, or `Null` if it is absent.
    pub fn maybe<T>(value: Option<T>, make: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, make)
    }

    /// A list of texts.
    pub fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    /// The member of that name; `Null` if there is none.
    pub fn member(&self, name: &str) -> &Self {
        const ABSENT: &Document = &Document::Null;
        let Self::Object(members) = self else { return ABSENT };
        members.iter().rev().find(|(other, _)| other == name).map_or(ABSENT, |(_, value)| value)
    }

    /// The text of a member.
    pub fn text_of(&self, name: &str) -> Result<Option<String>, Fault> {
        match self.member(name) {
            Self::Null => Ok(None),
            Self::Text(text) | Self::Form(text) => Ok(Some(text.clone())),
            _ => Err(malformed(name, "text")),
        }
    }

    /// The text of a member that must be there and not be empty.
    pub fn required_text(&self, name: &str) -> Result<String, Fault> {
        let text = self.text_of(name)?.ok_or_else(|| Fault::missing(name))?;
        if text.is_empty() { Err(Fault::value(name, "must not be empty")) } else { Ok(text) }
    }

    /// The whole number of a member.
    pub fn integer_of(&self, name: &str) -> Result<Option<i64>, Fault> {
        match self.member(name) {
            Self::Null => Ok(None),
            Self::Integer(number) => Ok(Some(*number)),
            Self::Form(text) => text.parse().map(Some).map_err(|_| malformed(name, "a whole number")),
            _ => Err(malformed(name, "a whole number")),
        }
    }

    /// The number of a member.
    pub fn number_of(&self, name: &str) -> Result<Option<f64>, Fault> {
        self.member(name).number(name)
    }

    /// This value as the number of a parameter.
    #[expect(clippy::as_conversions, clippy::cast_precision_loss, reason = "numbers of clients are doubles")]
    pub fn number(&self, parameter: &str) -> Result<Option<f64>, Fault> {
        match self {
            Self::Null => Ok(None),
            Self::Integer(number) => Ok(Some(*number as f64)),
            Self::Number(number) => Ok(Some(*number)),
            Self::Form(text) => text.parse().map(Some).map_err(|_| malformed(parameter, "a number")),
            _ => Err(malformed(parameter, "a number")),
        }
    }

    /// The truth value of a member.
    pub fn bool_of(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.member(name) {
            Self::Null => Ok(None),
            Self::Bool(value) => Ok(Some(*value)),
            Self::Form(text) => text.parse().map(Some).map_err(|_| malformed(name, "true or false")),
            _ => Err(malformed(name, "true or false")),
        }
    }

    /// The time of a member.
    pub fn time_of(&self, name: &str) -> Result<Option<TimeMs>, Fault> {
        let read = match self.member(name) {
            Self::Null => return Ok(None),
            Self::Time(time) => Some(*time),
            Self::Integer(seconds) => seconds.checked_mul(1000).map(TimeMs),
            Self::Number(seconds) => Some(time_of_seconds(*seconds)),
            Self::Text(text) | Self::Form(text) => time_of_text(text),
            Self::Bool(_) | Self::List(_) | Self::Object(_) | Self::Map(_) => None,
        };
        read.map(Some).ok_or_else(|| malformed(name, "a time"))
    }

    /// The elements of a member; none if it is absent.
    pub fn list_of(&self, name: &str) -> Result<&[Self], Fault> {
        match self.member(name) {
            Self::Null => Ok(&[]),
            Self::List(elements) => Ok(elements),
            _ => Err(malformed(name, "a list")),
        }
    }

    /// The texts of a member.
    pub fn texts_of(&self, name: &str) -> Result<Vec<String>, Fault> {
        let text = |element: &Self| match element {
            Self::Text(text) | Self::Form(text) => Ok(text.clone()),
            _ => Err(malformed(name, "a list of texts")),
        };
        self.list_of(name)?.iter().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_forms_are_read_with_fractions_and_offsets() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-10-09T12:00:00Z", Some(1_791_547_200_000)),
            ("2026-10-09T12:00:00.25Z", Some(1_791_547_200_250)),
            ("2026-10-09T14:00:00+02:00", Some(1_791_547_200_000)),
            ("2026-10-09T12:00:00", Some(1_791_547_200_000)),
            ("2024-02-29T00:00:00Z", Some(1_709_164_800_000)),
            ("2026-10-09", None),
            ("2026-13-09T12:00:00Z", None),
            ("soon", None),
        ] {
            assert_eq!(time_of_text(text).map(|time| time.0), ms, "{text}");
        }
    }

    #[test]
    fn only_texts_of_forms_stand_for_numbers() {
        let of = |value| Document::object([("Period", value)]).integer_of("Period");
        assert_eq!(of(Document::Form("60".to_owned())), Ok(Some(60)));
        assert_eq!(of(Document::text("60")).unwrap_err().kind, FaultKind::Serialization);
        assert_eq!(of(Document::Null), Ok(None));
    }
}
