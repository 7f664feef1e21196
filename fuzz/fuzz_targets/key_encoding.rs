//! Any two lists of key values: their encodings sort as the values do, with any bytes after them, and
//! prefixes bound the keys that begin with them. Numbers survive the way through text and bytes.

#![no_main]

use std::cmp::Ordering;

use keywright_semantics::key::{KeyValue, encode_sort, encode_sort_prefix, partition_hash, successor_prefix};
use keywright_semantics::number::Number;
use libfuzzer_sys::arbitrary::{self, Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Part {
    Text(String),
    Binary(Vec<u8>),
    Number(NumberPart),
}

/// Any number of the range, and many that are near each other.
#[derive(Debug)]
struct NumberPart(Number);

impl Arbitrary<'_> for NumberPart {
    fn arbitrary(source: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let (negative, wide): (bool, bool) = source.arbitrary()?;
        let coefficient = if wide {
            source.int_in_range(0..=10_u128.pow(38) - 1)?
        } else {
            source.arbitrary::<u16>()?.into()
        };
        let exponent = if wide { source.int_in_range(-170..=130)? } else { source.int_in_range(-4..=4)? };
        let text = format!("{}{coefficient}e{exponent}", if negative { "-" } else { "" });
        Ok(Self(Number::parse(&text).unwrap_or(Number::ZERO)))
    }
}

impl From<&Part> for KeyValue {
    fn from(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::S(text.clone()),
            Part::Binary(bytes) => Self::B(bytes.clone()),
            Part::Number(number) => Self::N(number.0),
        }
    }
}

#[derive(Arbitrary, Debug)]
struct Input {
    /// Keys of one schema: both sides have the same types.
    pairs: Vec<(Part, Part)>,
    tails: (Vec<u8>, Vec<u8>),
    prefix: Vec<u8>,
    stored_number: Vec<u8>,
    number_text: String,
}

fn encoded(values: &[KeyValue]) -> Vec<u8> {
    let mut out = Vec::new();
    for value in values {
        encode_sort(value.as_ref(), &mut out);
    }
    out
}

fn same_type(one: &KeyValue, other: &KeyValue) -> bool {
    one.as_ref().key_type() == other.as_ref().key_type()
}

fn check_order(one: &[KeyValue], other: &[KeyValue], tails: &(Vec<u8>, Vec<u8>)) {
    let (left, right) = (encoded(one), encoded(other));
    assert_eq!(left.cmp(&right), one.cmp(other));
    let hash = |values: &[KeyValue]| partition_hash(values.iter().map(KeyValue::as_ref));
    assert_eq!(hash(one) == hash(other), one == other);
    if one != other {
        let followed = [left, tails.0.clone()].concat().cmp(&[right, tails.1.clone()].concat());
        assert_eq!(followed, one.cmp(other));
    }
}

fn check_prefix(prefix: &[u8], value: &KeyValue) {
    let bytes = match value {
        KeyValue::S(text) => text.as_bytes(),
        KeyValue::B(bytes) => bytes,
        KeyValue::N(_) => return,
    };
    let mut start = Vec::new();
    encode_sort_prefix(prefix, &mut start);
    let key = encoded(std::slice::from_ref(value));
    let inside = key >= start && successor_prefix(&start).is_none_or(|end| key < end);
    assert_eq!(inside, bytes.starts_with(prefix));
}

fn check_numbers(one: Number, other: Number) {
    assert_eq!(Number::parse(&one.to_string()), Ok(one));
    let mut bytes = Vec::new();
    one.encode_into(&mut bytes);
    assert_eq!(bytes.len(), one.encoded_bytes());
    assert_eq!(Number::decode(&bytes), Some((one, &[][..])));
    assert_eq!(one.checked_add(other), other.checked_add(one));
    if let Ok(sum) = one.checked_add(other) {
        assert_eq!(sum.checked_sub(other), Ok(one));
    }
    if let Ok(difference) = one.checked_sub(other) {
        assert_eq!(difference.cmp(&Number::ZERO), one.cmp(&other));
    }
}

fuzz_target!(|input: Input| {
    let pairs: Vec<(KeyValue, KeyValue)> = input
        .pairs
        .iter()
        .map(|(one, other)| (KeyValue::from(one), KeyValue::from(other)))
        .filter(|(one, other)| same_type(one, other))
        .collect();
    let (one, other): (Vec<KeyValue>, Vec<KeyValue>) = pairs.into_iter().unzip();
    // A key has at least its partition's value.
    if !one.is_empty() {
        check_order(&one, &other, &input.tails);
    }
    for (left, right) in one.iter().zip(&other) {
        check_prefix(&input.prefix, left);
        if let (KeyValue::N(left), KeyValue::N(right)) = (left, right) {
            check_numbers(*left, *right);
        }
    }
    if let Some((number, rest)) = Number::decode(&input.stored_number) {
        let mut again = Vec::new();
        number.encode_into(&mut again);
        again.extend_from_slice(rest);
        assert_eq!(again, input.stored_number);
    }
    if let Ok(number) = Number::parse(&input.number_text) {
        assert_eq!(Number::parse(&number.to_string()).map(|again| again.cmp(&number)), Ok(Ordering::Equal));
    }
});
