//! Numbers against exact decimal arithmetic of another library.

use bigdecimal::BigDecimal;
use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap()
}

fn any_number() -> impl Strategy<Value = Number> {
    (any::<bool>(), 0_u128..10_u128.pow(38), -130_i32..=88)
        .prop_filter_map("beyond the range", |(negative, coefficient, exponent)| {
            Number::normalised(negative, coefficient, exponent).ok()
        })
}

fn near_number() -> impl Strategy<Value = Number> {
    (any::<bool>(), 0_u128..10_u128.pow(18), -12_i32..=6)
        .prop_filter_map("beyond the range", |(negative, coefficient, exponent)| {
            Number::normalised(negative, coefficient, exponent).ok()
        })
}

/// Pairs whose digits overlap: the same exponents, exponents 38 apart, and all between.
fn overlapping_numbers() -> impl Strategy<Value = (Number, Number)> {
    let coefficient = || prop_oneof![0_u128..10_u128.pow(38), 0_u128..1000, Just(10_u128.pow(38) - 1)];
    let signs = (any::<bool>(), any::<bool>());
    (signs, coefficient(), coefficient(), -168_i32..=125, -40_i32..=40).prop_filter_map(
        "beyond the range",
        |(signs, one, other, exponent, apart)| {
            let one = Number::normalised(signs.0, one, exponent).ok()?;
            Some((one, Number::normalised(signs.1, other, exponent + apart).ok()?))
        },
    )
}

/// The value that the other library reads from a text, or the fault that the service reports.
fn read_exactly(text: &str) -> Result<BigDecimal, NumberFault> {
    let value: BigDecimal = text.parse().map_err(|_| NumberFault::NotNumeric)?;
    // The service checks the range of zero by its written exponent.
    let exponent: i64 = text.split_once(['e', 'E']).map_or(0, |(_, exponent)| exponent.parse().unwrap());
    match exponent {
        126.. if value == 0 => Err(NumberFault::Overflow),
        ..-130 if value == 0 => Err(NumberFault::Underflow),
        _ => refuse_beyond_limits(value),
    }
}

fn refuse_beyond_limits(value: BigDecimal) -> Result<BigDecimal, NumberFault> {
    let (digits, scale) = value.normalized().into_bigint_and_exponent();
    let count = i64::try_from(digits.magnitude().to_string().len()).unwrap();
    let magnitude = count - 1 - scale;
    if digits.magnitude().bits() == 0 {
        Ok(value)
    } else if count > 38 {
        Err(NumberFault::TooManyDigits)
    } else if magnitude > 125 {
        Err(NumberFault::Overflow)
    } else if magnitude < -130 {
        Err(NumberFault::Underflow)
    } else {
        Ok(value)
    }
}

fn exact(number: Number) -> BigDecimal {
    number.to_string().parse().unwrap()
}

fn encoded(number: Number) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.encode_into(&mut bytes);
    bytes
}

#[test]
fn numbers_print_in_plain_decimal() {
    for (written, printed) in [
        ("0", "0"),
        ("-0", "0"),
        ("0e125", "0"),
        ("-0.0e-130", "0"),
        ("007", "7"),
        ("+1.50", "1.5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E2", "100"),
        ("-1.5e-3", "-0.0015"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("1000000000000000000000000000000000000000000", "1000000000000000000000000000000000000000000"),
        ("9.9e1", "99"),
    ] {
        assert_eq!(number(written).to_string(), printed, "{written}");
    }
    assert_eq!(number("1e125").to_string().len(), 126);
    assert_eq!(number("1e-130").to_string().len(), 132);
}

#[test]
fn each_malformed_text_has_its_fault() {
    assert_eq!(number(&format!("0.{}1e2000001", "0".repeat(2_000_000))), number("1"));
    for (text, fault) in [
        ("", NumberFault::NotNumeric),
        ("-", NumberFault::NotNumeric),
        (".", NumberFault::NotNumeric),
        ("1e", NumberFault::NotNumeric),
        ("1.2.3", NumberFault::NotNumeric),
        (" 1", NumberFault::NotNumeric),
        ("NaN", NumberFault::NotNumeric),
        ("0x1", NumberFault::NotNumeric),
        ("123456789012345678901234567890123456789", NumberFault::TooManyDigits),
        ("0.123456789012345678901234567890123456789", NumberFault::TooManyDigits),
        ("1e126", NumberFault::Overflow),
        ("-99e125", NumberFault::Overflow),
        ("1e-131", NumberFault::Underflow),
        ("1e9223372036854775807", NumberFault::Overflow),
        ("1e-9223372036854775808", NumberFault::Underflow),
        ("0.1e-9223372036854775808", NumberFault::Underflow),
        ("1e9223372036854775808", NumberFault::NotNumeric),
        ("1e-9223372036854775809", NumberFault::NotNumeric),
        ("0e126", NumberFault::Overflow),
        ("0e-131", NumberFault::Underflow),
    ] {
        assert_eq!(Number::parse(text), Err(fault), "{text}");
    }
}

#[test]
fn sizes_count_pairs_of_digits_on_each_side_of_the_point() {
    for (text, bytes) in [
        ("0", 1),
        ("1", 2),
        ("-1", 3),
        ("12", 2),
        ("123", 3),
        ("1000", 2),
        ("0.001", 2),
        ("100.5", 4),
        ("12.34", 3),
    ] {
        assert_eq!(number(text).size_bytes(), bytes, "{text}");
    }
}

#[test]
fn sums_beyond_38_digits_are_faults() {
    assert_eq!(number("1e100").checked_add(number("1")), Err(NumberFault::TooManyDigits));
    assert_eq!(number("9e125").checked_add(number("9e125")), Err(NumberFault::Overflow));
    assert_eq!(number("1.1e-130").checked_sub(number("1e-130")), Err(NumberFault::Underflow));
    assert_eq!(number("1e37").checked_add(number("1")), Ok(number("10000000000000000000000000000000000001")));
    assert_eq!(number("1e38").checked_add(number("1")), Err(NumberFault::TooManyDigits));
    assert_eq!(number("1e125").checked_add(number("1e-130")), Err(NumberFault::TooManyDigits));
    assert_eq!(number("1e100").checked_sub(number("1e100")), Ok(Number::ZERO));
}

#[test]
fn integers_convert_both_ways() {
    for value in [0, 1, -1, 10, i64::MAX, i64::MIN] {
        assert_eq!(Number::from(value).to_i64(), Some(value));
    }
    assert_eq!(number("1.5").to_i64(), None);
    assert_eq!(number("1e30").to_i64(), None);
}

proptest! {
    #[test]
    fn printing_and_parsing_are_inverse(one in any_number()) {
        prop_assert_eq!(Number::parse(&one.to_string()), Ok(one));
    }

    #[test]
    fn texts_parse_to_the_value_that_bigdecimal_reads(
        text in prop_oneof!["[-+]?[0-9]{1,3}(\\.[0-9]{1,3})?([eE][-+]?[0-9]{1,3})?", "-?0{0,3}[0-9]{30,45}0{0,99}",
            "-?0\\.0{0,99}[0-9]{30,45}0{0,9}(e-?[0-9]{1,2})?"]
    ) {
        let found = Number::parse(&text).map(exact);
        prop_assert_eq!(found, read_exactly(&text));
    }

    #[test]
    fn arbitrary_texts_never_panic(text in prop_oneof![any::<String>(), "[-+.eE0-9]{0,60}"]) {
        if let Ok(found) = Number::parse(&text) {
            prop_assert_eq!(Number::parse(&found.to_string()), Ok(found));
        }
    }

    #[test]
    fn overlapping_sums_are_exact_or_the_right_fault((one, other) in overlapping_numbers()) {
        prop_assert_eq!(one.checked_add(other).map(exact), refuse_beyond_limits(exact(one) + exact(other)));
        prop_assert_eq!(one.checked_sub(other).map(exact), refuse_beyond_limits(exact(one) - exact(other)));
    }

    #[test]
    fn far_apart_sums_are_exact_or_the_right_fault(one in any_number(), other in any_number()) {
        prop_assert_eq!(one.checked_add(other).map(exact), refuse_beyond_limits(exact(one) + exact(other)));
    }

    #[test]
    fn order_is_numeric_order_of_overlapping_numbers((one, other) in overlapping_numbers()) {
        prop_assert_eq!(one.cmp(&other), exact(one).cmp(&exact(other)));
        prop_assert_eq!(encoded(one).cmp(&encoded(other)), one.cmp(&other));
    }

    #[test]
    fn order_is_numeric_order(one in any_number(), other in any_number()) {
        prop_assert_eq!(one.cmp(&other), exact(one).cmp(&exact(other)));
    }

    #[test]
    fn order_of_encodings_is_order_of_numbers(one in any_number(), other in any_number()) {
        prop_assert_eq!(encoded(one).cmp(&encoded(other)), one.cmp(&other));
    }

    #[test]
    fn order_of_encodings_is_order_of_near_numbers(one in near_number(), other in near_number()) {
        prop_assert_eq!(encoded(one).cmp(&encoded(other)), one.cmp(&other));
    }

    #[test]
    fn encodings_decode_and_tell_where_they_end(one in any_number(), tail in any::<Vec<u8>>()) {
        let mut bytes = encoded(one);
        prop_assert_eq!(bytes.len(), one.encoded_bytes());
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(Number::skip(&bytes), Some(tail.as_slice()));
        prop_assert_eq!(Number::decode(&bytes), Some((one, tail.as_slice())));
    }

    #[test]
    fn decoding_arbitrary_bytes_never_panics_and_is_canonical(bytes in any::<Vec<u8>>()) {
        if let Some((one, rest)) = Number::decode(&bytes) {
            prop_assert_eq!(Number::skip(&bytes), Some(rest));
            let mut again = encoded(one);
            again.extend_from_slice(rest);
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn sums_are_exact_or_refused(one in near_number(), other in near_number()) {
        let sum = exact(one) + exact(other);
        match one.checked_add(other) {
            Ok(found) => prop_assert_eq!(exact(found), sum),
            Err(fault) => prop_assert_eq!(fault, NumberFault::TooManyDigits),
        }
        if let Ok(difference) = one.checked_sub(other) {
            prop_assert_eq!(exact(difference), exact(one) - exact(other));
        }
    }
}

/// The text of a stored number at the start of the bytes, and the number of bytes after it.
fn stored(bytes: &[u8]) -> Option<(String, usize)> {
    let (number, rest) = StoredNumber::split(bytes)?;
    let mut text = Vec::new();
    number.push_text(&mut text);
    Some((String::from_utf8(text).unwrap(), rest.len()))
}

fn decoded(bytes: &[u8]) -> Option<(String, usize)> {
    Number::decode(bytes).map(|(number, rest)| (number.to_string(), rest.len()))
}

/// Bytes that are nearly a stored number, of either sign.
fn nearly_stored() -> impl Strategy<Value = Vec<u8>> {
    let pair = prop_oneof![8 => 1_u8..=100, 1 => 0_u8..=1, 1 => any::<u8>()];
    let magnitude = prop_oneof![8 => 850_u16..=1200, 1 => any::<u16>()];
    (0_u8..=4, magnitude, proptest::collection::vec(pair, 0..24)).prop_map(|(kind, magnitude, pairs)| {
        let mask = if kind == KIND_NEGATIVE { 0xFF } else { 0 };
        let body = magnitude.to_be_bytes().into_iter().chain(pairs).chain([0, 7]).map(|byte| byte ^ mask);
        [kind].into_iter().chain(body).collect()
    })
}

/// Their texts fit in a word, with and without a point, at its end, and beyond it.
#[test]
fn numbers_of_few_digits_print_in_place_as_they_do_when_read() {
    let coefficients = (0..1_000).chain((1_000..2_000_000).step_by(9_973)).chain([999_999, 1_000_001]);
    for coefficient in coefficients {
        for exponent in -8..=4 {
            for sign in ["", "-"] {
                let number = Number::parse(&format!("{sign}{coefficient}E{exponent}")).unwrap();
                assert_eq!(stored(&encoded(number)), Some((number.to_string(), 0)));
            }
        }
    }
}

proptest! {
    #[test]
    fn stored_numbers_print_in_place_as_they_do_when_read(number in any_number()) {
        let mut bytes = encoded(number);
        bytes.push(1);
        prop_assert_eq!(stored(&bytes), Some((number.to_string(), 1)));
    }

    #[test]
    fn bytes_are_a_stored_number_in_place_exactly_when_they_are_one_to_the_reader(bytes in nearly_stored()) {
        prop_assert_eq!(stored(&bytes), decoded(&bytes));
    }
}

#[test]
fn the_pairs_of_a_stored_number_end_at_the_first_byte_that_is_none() {
    let before_end =
        |bytes: &[u8], mask: u8| bytes.iter().position(|byte| !(1..=100).contains(&(byte ^ mask)));
    for mask in [0, 0xFF] {
        for length in 0..20 {
            let pairs: Vec<u8> = (1..=100).cycle().step_by(33).take(length).map(|pair| pair ^ mask).collect();
            assert_eq!(pairs_before_end(&pairs, mask), None);
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = pairs.clone();
                    bytes[place] = byte;
                    assert_eq!(
                        pairs_before_end(&bytes, mask),
                        before_end(&bytes, mask),
                        "{byte} {place} {length}"
                    );
                }
            }
        }
    }
}
