//! Generated values: numbered, so that the same number gives the same
//! value and different numbers give different values, or random.

use keywright_semantics::number::Number;
use keywright_semantics::size::{DOCUMENT_OVERHEAD_BYTES, ELEMENT_OVERHEAD_BYTES};
use keywright_semantics::value::{AttributeValue, Item, ValueType};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::random::Random;
use crate::value::from_node;
use crate::{Attribute, AttributeFormat};

/// The start of generated times: 2026-01-01T00:00:00Z.
const EPOCH_SECONDS: u64 = 1_767_225_600;
/// Generated times lie within 30 days from the start, unless more are needed.
const TIME_SPAN_SECONDS: u64 = 30 * DAY_SECONDS;
const DAY_SECONDS: u64 = 86_400;
/// The number of different days.
const DAYS_MAX: u64 = 1_000_000;
/// The size of a text without a declared size.
const TEXT_BYTES: u64 = 12;
/// The largest generated text; it leaves room for the rest of the item.
const TEXT_BYTES_MAX: u64 = 390_000;
/// The most digits of a DynamoDB number.
const DIGITS_MAX: u64 = 38;
/// Upper bound of numbers without a declared size.
const NUMBER_MAX: u64 = 10_000;
/// The name inside a generated map.
const MEMBER: &str = "value";

/// The purpose of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Part of a key or of a `unique` list: short and ordered.
    Key,
    Plain,
}

/// The value with index `number` among the `of` values that the attribute has.
pub(super) fn numbered(attribute: &Attribute, number: u64, of: u64, used: Use) -> AttributeValue {
    if !attribute.values.is_empty() {
        let node = usize::try_from(number).ok().and_then(|number| attribute.values.get(number));
        return node
            .and_then(|node| from_node(node, attribute.value_type).ok())
            .unwrap_or(AttributeValue::Null);
    }
    if let Some(format) = attribute.format {
        let span = TIME_SPAN_SECONDS * 1000;
        let step = match format {
            AttributeFormat::Date => DAY_SECONDS * 1000,
            AttributeFormat::EpochSeconds | AttributeFormat::LocalTime => (span / of.max(1)).max(1000),
            _ => (span / of.max(1)).max(1),
        };
        // Years have four digits.
        let milliseconds =
            if format == AttributeFormat::Date { number % DAYS_MAX } else { number }.saturating_mul(step);
        return formatted(attribute, format, milliseconds, number, &mut Random::new(number));
    }
    match attribute.value_type {
        ValueType::N => AttributeValue::N(Number::from(number.saturating_add(1))),
        ValueType::Bool => AttributeValue::Bool(number == 1),
        ValueType::Null => AttributeValue::Null,
        _ if used == Use::Key => {
            let width = attribute.size_bytes.unwrap_or(0).min(TEXT_BYTES_MAX);
            let width = usize::try_from(width).unwrap_or(0);
            let digits = number.saturating_add(1).to_string();
            let zeros = "0".repeat(width.saturating_sub(digits.len()));
            wrapped(attribute.value_type, zeros + &digits)
        }
        _ => wrapped(attribute.value_type, lengthened(attribute, &format!("{number:x}"), of)),
    }
}

/// A random value.
pub(super) fn any(attribute: &Attribute, place: u64, random: &mut Random) -> AttributeValue {
    if let Some(format) = attribute.format {
        return formatted(attribute, format, random.below(TIME_SPAN_SECONDS * 1000), place, random);
    }
    match attribute.value_type {
        ValueType::N => number(attribute, random.below(NUMBER_MAX)),
        ValueType::Bool => AttributeValue::Bool(random.below(2) == 1),
        ValueType::Null => AttributeValue::Null,
        _ => {
            let text = lengthened(attribute, &format!("{:x}", random.next()), 1);
            wrapped(attribute.value_type, text)
        }
    }
}

/// A number of the attribute's size: one byte per two digits and one more.
fn number(attribute: &Attribute, value: u64) -> AttributeValue {
    let digits = attribute.size_bytes.map_or(0, |size| (size.saturating_sub(1) * 2).min(DIGITS_MAX));
    let digits = usize::try_from(digits).unwrap_or(0);
    let text = value.to_string();
    let text = if digits == 0 { text } else { format!("{text:1<digits$}") };
    AttributeValue::number(&text).unwrap_or(AttributeValue::Null)
}

/// A text of the attribute's size, or longer where `of` different texts need it.
fn lengthened(attribute: &Attribute, stem: &str, of: u64) -> String {
    let around = match attribute.value_type {
        ValueType::L => DOCUMENT_OVERHEAD_BYTES + ELEMENT_OVERHEAD_BYTES,
        ValueType::M => DOCUMENT_OVERHEAD_BYTES + ELEMENT_OVERHEAD_BYTES + MEMBER.len(),
        _ => 0,
    };
    let size = attribute.size_bytes.unwrap_or(TEXT_BYTES).min(TEXT_BYTES_MAX);
    let size = usize::try_from(size).unwrap_or(0).saturating_sub(around).max(1);
    let told_apart = if of > 1 { format!("{:x}", of - 1).len() } else { 1 };
    let kept: String = stem.chars().take(size.max(told_apart)).collect();
    // A format width has only 16 bits; texts can be longer.
    let rest = "x".repeat(size.saturating_sub(kept.len()));
    kept + &rest
}

fn wrapped(value_type: ValueType, text: String) -> AttributeValue {
    match value_type {
        ValueType::B => AttributeValue::B(text.into_bytes()),
        ValueType::L => AttributeValue::L(vec![AttributeValue::S(text)]),
        ValueType::M => AttributeValue::M(Item::from([(MEMBER.to_owned(), AttributeValue::S(text))])),
        ValueType::Ss => AttributeValue::Ss(vec![text]),
        ValueType::Ns => AttributeValue::Ns(vec![Number::from(7_i64)]),
        ValueType::Bs => AttributeValue::Bs(vec![text.into_bytes()]),
        ValueType::S | ValueType::N | ValueType::Bool | ValueType::Null => AttributeValue::S(text),
    }
}

fn formatted(
    attribute: &Attribute,
    format: AttributeFormat,
    milliseconds: u64,
    place: u64,
    random: &mut Random,
) -> AttributeValue {
    let seconds = EPOCH_SECONDS.saturating_add(milliseconds / 1000);
    let text = match format {
        AttributeFormat::Iso8601 => format!("{}.{:03}Z", date_time(seconds), milliseconds % 1000),
        AttributeFormat::LocalTime => date_time(seconds),
        AttributeFormat::Date => date_time(seconds).chars().take(10).collect(),
        AttributeFormat::EpochSeconds => seconds.to_string(),
        AttributeFormat::EpochMs => (EPOCH_SECONDS * 1000).saturating_add(milliseconds).to_string(),
        AttributeFormat::Uuid => uuid(random),
        AttributeFormat::Ulid => {
            format!("01{:024X}", u128::from(random.next()) << 8 | u128::from(place))
        }
        AttributeFormat::Sequence => place.saturating_add(1).to_string(),
        AttributeFormat::Email => format!("user{}@example.com", place.saturating_add(1)),
    };
    match attribute.value_type {
        ValueType::N => AttributeValue::number(&text).unwrap_or(AttributeValue::Null),
        _ => AttributeValue::S(text),
    }
}

fn uuid(random: &mut Random) -> String {
    let bits = format!("{:016x}{:016x}", random.next(), random.next());
    let part = |from: usize, to: usize| bits.get(from..to).unwrap_or_default().to_owned();
    format!("{}-{}-4{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}

/// A time as `YYYY-MM-DDThh:mm:ss`, without a zone.
fn date_time(seconds: u64) -> String {
    const FORM: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(FORM).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        assert_eq!(date_time(EPOCH_SECONDS), "2026-01-01T00:00:00");
        assert_eq!(date_time(951_782_399), "2000-02-28T23:59:59");
        assert_eq!(date_time(951_782_400), "2000-02-29T00:00:00");
    }
}
