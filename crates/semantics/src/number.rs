//! DynamoDB's number: 38 significant decimal digits, magnitudes from 1E-130 to 9.99…E+125, exact.
//!
//! It does not know attribute values; `value` and `codec` hold numbers.

use std::cmp::Ordering;
use std::fmt;

/// Significant digits a number may have (developer guide: Number).
const DIGITS_MAX: u32 = 38;
/// The largest power of ten that a number's first digit may stand for (developer guide: Number).
const MAGNITUDE_MAX: i32 = 125;
/// The smallest power of ten that a number's first digit may stand for (developer guide: Number).
const MAGNITUDE_MIN: i32 = -130;
/// Digits of a coefficient that certainly fits in a word.
const SHORT_DIGITS_MAX: usize = 18;
/// Exponents at which every coefficient of a word has a magnitude within the range.
const WORD_EXPONENT_MIN: i32 = -130;
const WORD_EXPONENT_MAX: i32 = 105;

/// The largest word, about 1.8E+19, has 20 digits.
const _: () = assert!(WORD_EXPONENT_MAX + 20 - 1 <= MAGNITUDE_MAX, "no word exceeds the range");
const _: () = assert!(WORD_EXPONENT_MIN >= MAGNITUDE_MIN, "no word falls below the range");

/// Why a number cannot be read or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberFault {
    /// The text is not a decimal number.
    NotNumeric,
    /// More than 38 significant digits.
    TooManyDigits,
    /// The magnitude exceeds 9.99…E+125.
    Overflow,
    /// The magnitude is below 1E-130 and not zero.
    Underflow,
}

/// A number, normalised: `± coefficient × 10^exponent`. Invariant: the coefficient is below 10^38 and does
/// not end in a zero digit; zero is `+0 × 10^0`; the magnitude, the first digit's power of ten, is within the
/// service's range; `digits` is the coefficient's number of digits, one for zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    digits: u8,
    exponent: i16,
    /// The coefficient in two words: a value in one is twice as large where it must begin at every sixteenth
    /// byte.
    high: u64,
    low: u64,
}

impl Number {
    /// The number zero.
    pub const ZERO: Self = Self { negative: false, digits: 1, exponent: 0, high: 0, low: 0 };

    /// The bytes after an encoded number, without decoding it. `None` if the bytes do not start with a
    /// number.
    pub(crate) fn skip(bytes: &[u8]) -> Option<&[u8]> {
        let (&kind, rest) = bytes.split_first()?;
        let end = match kind {
            KIND_ZERO => return Some(rest),
            KIND_POSITIVE => 0,
            KIND_NEGATIVE => 0xFF,
            _ => return None,
        };
        let pairs = rest.get(2..)?;
        pairs.get(pairs.iter().position(|&byte| byte == end)? + 1..)
    }

    fn coefficient(&self) -> u128 {
        (u128::from(self.high) << 64) | u128::from(self.low)
    }

    /// Parses a decimal text: optional sign, digits with an optional point, optional exponent.
    pub fn parse(text: &str) -> Result<Self, NumberFault> {
        let bytes = text.as_bytes();
        if let Some(number) = Self::parse_short(bytes) {
            return Ok(number);
        }
        let (negative, rest) = match bytes {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, bytes),
        };
        let mut digits = DigitReader::default();
        let mut rest = rest.iter();
        let mut exponent = 0;
        while let Some(&byte) = rest.next() {
            match byte {
                b'0'..=b'9' => digits.push(byte - b'0'),
                b'.' if !digits.after_point => digits.after_point = true,
                b'e' | b'E' => {
                    exponent = parse_exponent(rest.as_slice())?;
                    break;
                }
                _ => return Err(NumberFault::NotNumeric),
            }
        }
        if !digits.any {
            return Err(NumberFault::NotNumeric);
        }
        digits.finish(negative, exponent)
    }

    /// The number in a text that is as most are: few digits, perhaps with a minus or a point.
    fn parse_short(text: &[u8]) -> Option<Self> {
        let (negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        if text.len() > SHORT_DIGITS_MAX {
            return None;
        }
        let (mut low, mut digits, mut point) = (0_u64, 0_i16, None);
        for byte in text {
            match byte {
                b'0'..=b'9' => {
                    low = low * 10 + u64::from(byte - b'0');
                    digits += 1;
                }
                b'.' if point.is_none() => point = Some(digits),
                _ => return None,
            }
        }
        match low {
            0 if digits == 0 => None,
            0 => Some(Self::ZERO),
            _ => Some(Self::of_word(negative, low, point.map_or(0, |before| before - digits))),
        }
    }

    /// The normal form of a number whose coefficient fits in a word, and whose magnitude is within the range.
    fn of_word(negative: bool, mut low: u64, mut exponent: i16) -> Self {
        assert!(low > 0, "zero has a form of its own");
        while low.is_multiple_of(10) {
            low /= 10;
            exponent += 1;
        }
        let digits = u8::try_from(low.ilog10() + 1).unwrap_or(u8::MAX);
        assert!(u32::from(digits) <= DIGITS_MAX, "a word has at most 20 digits");
        Self { negative, digits, exponent, high: 0, low }
    }

    /// The normal form of a sign, coefficient and exponent. The fault names the limit that they exceed.
    fn normalised(negative: bool, mut coefficient: u128, mut exponent: i32) -> Result<Self, NumberFault> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        if (WORD_EXPONENT_MIN..=WORD_EXPONENT_MAX).contains(&exponent)
            && let (Ok(low), Ok(exponent)) = (u64::try_from(coefficient), i16::try_from(exponent))
        {
            return Ok(Self::of_word(negative, low, exponent));
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        let digits = digit_count(coefficient);
        if digits > DIGITS_MAX {
            return Err(NumberFault::TooManyDigits);
        }
        let digits = u8::try_from(digits).map_err(|_| NumberFault::TooManyDigits)?;
        let magnitude = exponent + i32::from(digits) - 1;
        if magnitude > MAGNITUDE_MAX {
            return Err(NumberFault::Overflow);
        }
        if magnitude < MAGNITUDE_MIN {
            return Err(NumberFault::Underflow);
        }
        let exponent = i16::try_from(exponent).map_err(|_| NumberFault::Underflow)?;
        assert!(u32::from(digits) <= DIGITS_MAX, "a number has at most 38 digits");
        let word = |part: u128| u64::try_from(part & u128::from(u64::MAX)).unwrap_or(u64::MAX);
        Ok(Self { negative, digits, exponent, high: word(coefficient >> 64), low: word(coefficient) })
    }

    /// Whether the number is zero.
    pub const fn is_zero(&self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// Whether the number is less than zero.
    pub const fn is_negative(&self) -> bool {
        self.negative
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i32 {
        i32::from(self.exponent) + i32::from(self.digits) - 1
    }

    /// Sign, coefficient and number of decimal places of a number with a fraction. `None` unless the
    /// coefficient and its power of ten fit in 64 bits, as those of prices and measurements do.
    pub fn to_places(&self) -> Option<(bool, u64, u32)> {
        let places = u32::try_from(-self.exponent).ok().filter(|places| (1..=18).contains(places))?;
        Some((self.negative, u64::try_from(self.coefficient()).ok()?, places))
    }

    /// The value as an integer. `None` if it has a fraction or does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        let scale = u32::try_from(self.exponent).ok()?;
        let absolute = i128::try_from(self.coefficient().checked_mul(power_of_ten(scale)?)?).ok()?;
        i64::try_from(if self.negative { -absolute } else { absolute }).ok()
    }

    /// The number with the opposite sign; zero stays zero.
    #[must_use]
    pub const fn negated(self) -> Self {
        Self { negative: !self.negative && !self.is_zero(), ..self }
    }

    /// The exact sum. A sum of more than 38 digits is a fault, as the service never rounds.
    pub fn checked_add(self, other: Self) -> Result<Self, NumberFault> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = u32::try_from(i32::from(high.exponent) - i32::from(low.exponent)).unwrap_or(u32::MAX);
        assert!(shift < u32::MAX, "the number with the greater exponent is aligned to the other one");
        // A number that does not fit has 39 digits or more, and so has the sum: the last digit of `low` is
        // not zero.
        let Some(aligned) = power_of_ten(shift).and_then(|scale| high.coefficient().checked_mul(scale))
        else {
            return Err(NumberFault::TooManyDigits);
        };
        let (negative, coefficient) = match (high.negative == low.negative, aligned.cmp(&low.coefficient())) {
            (true, _) => {
                (high.negative, aligned.checked_add(low.coefficient()).ok_or(NumberFault::TooManyDigits)?)
            }
            (false, Ordering::Less) => (low.negative, low.coefficient() - aligned),
            (false, _) => (high.negative, aligned - low.coefficient()),
        };
        Self::normalised(negative, coefficient, i32::from(low.exponent))
    }

    /// The exact difference.
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberFault> {
        self.checked_add(other.negated())
    }

    /// Bytes the number counts for in an item's size (observed): one, one for each two digits of the integer
    /// part and of the fraction without leading and trailing zeros, and one for a minus sign.
    pub fn size_bytes(&self) -> usize {
        if self.is_zero() {
            return 1;
        }
        let digits = i32::from(self.digits);
        let exponent = i32::from(self.exponent);
        let integer_end = (digits + exponent).max(0);
        let integer_digits = if exponent >= 0 { digits } else { integer_end.min(digits) };
        let fraction_digits = digits - integer_digits;
        assert!(fraction_digits >= 0, "the integer part has no more digits than the number");
        // Pairs are counted from the decimal point, so either part can have half a pair at its end.
        let pairs = |count: i32| usize::try_from((count + 1) / 2).unwrap_or(0);
        1 + pairs(integer_digits) + pairs(fraction_digits) + usize::from(self.negative)
    }

    /// Appends a form whose bytewise order is the numeric order and that is no prefix of another number's.
    ///
    /// Layout: one byte for sign and kind; unless the number is zero, two bytes of magnitude, then pairs of
    /// digits, each stored as its value plus one, then a zero byte. Negative numbers have all bytes after the
    /// first inverted.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        if self.is_zero() {
            out.push(KIND_ZERO);
            return;
        }
        if self.high == 0 && usize::from(self.digits) <= SHORT_DIGITS_MAX {
            return self.encode_short(out);
        }
        out.push(if self.negative { KIND_NEGATIVE } else { KIND_POSITIVE });
        let start = out.len();
        let biased = u16::try_from(self.magnitude() + MAGNITUDE_BIAS).unwrap_or(0);
        assert!(biased > 0, "a number's magnitude is within the service's range");
        out.extend_from_slice(&biased.to_be_bytes());
        let padded = if self.digits.is_multiple_of(2) { self.coefficient() } else { self.coefficient() * 10 };
        push_pairs(padded, usize::from(self.digits.div_ceil(2)), out);
        out.push(0);
        assert_eq!(out.len() - start + 1, self.encoded_bytes(), "a number takes the computed length");
        if self.negative {
            for byte in out.iter_mut().skip(start) {
                *byte = !*byte;
            }
        }
    }

    /// Appends the encoded form of a number that is not zero and has few digits.
    fn encode_short(&self, out: &mut Vec<u8>) {
        let (pairs, mask) = (usize::from(self.digits.div_ceil(2)), if self.negative { 0xFF } else { 0 });
        let kind = if self.negative { KIND_NEGATIVE } else { KIND_POSITIVE };
        let biased = u16::try_from(self.magnitude() + MAGNITUDE_BIAS).unwrap_or(0);
        assert!(biased > 0, "a number's magnitude is within the service's range");
        let [high, low] = biased.to_be_bytes();
        let mut bytes = [mask; SHORT_ENCODED_BYTES];
        let mut left = if self.digits.is_multiple_of(2) { self.low } else { self.low * 10 };
        for place in bytes.iter_mut().skip(ENCODED_HEAD_BYTES).take(pairs).rev() {
            *place = (u8::try_from(left % 100).unwrap_or(0) + 1) ^ mask;
            left /= 100;
        }
        assert!(left == 0, "the pairs hold every digit");
        if let Some(head) = bytes.first_chunk_mut::<ENCODED_HEAD_BYTES>() {
            *head = [kind, high ^ mask, low ^ mask];
        }
        out.extend_from_slice(bytes.get(..ENCODED_HEAD_BYTES + pairs + 1).unwrap_or_default());
    }

    /// How many bytes `encode_into` appends.
    pub fn encoded_bytes(&self) -> usize {
        if self.is_zero() { 1 } else { 4 + usize::from(self.digits.div_ceil(2)) }
    }

    /// Decodes a number that `encode_into` wrote, and returns the bytes after it. `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&kind, rest) = bytes.split_first()?;
        let mask = match kind {
            KIND_ZERO => return Some((Self::ZERO, rest)),
            KIND_POSITIVE => 0,
            KIND_NEGATIVE => 0xFF,
            _ => return None,
        };
        let (head, mut rest) = rest.split_first_chunk::<2>()?;
        let biased = u16::from_be_bytes(head.map(|byte| byte ^ mask));
        let mut coefficient: u128 = 0;
        let mut pairs = 0_i32;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            match byte ^ mask {
                0 => break,
                pair @ 1..=100 => {
                    coefficient = coefficient.checked_mul(100)?.checked_add(u128::from(pair - 1))?;
                }
                _ => return None,
            }
            pairs += 1;
        }
        let exponent = i32::from(biased) - MAGNITUDE_BIAS - pairs * 2 + 1;
        let first_pair_has_two_digits = digit_count(coefficient) == u32::try_from(pairs * 2).ok()?;
        let number = Self::normalised(mask != 0, coefficient, exponent).ok()?;
        (first_pair_has_two_digits && !number.is_zero()).then_some((number, rest))
    }
}

/// A number in its stored form, for rendering: printing it needs none of the arithmetic of decoding.
/// Invariant: zero has no pairs; any other number has a first digit that is not zero, at most 38 digits, and
/// a magnitude within the service's range.
#[derive(Clone, Copy, Debug)]
pub struct StoredNumber<'a> {
    /// Combined with each byte of the pairs by exclusive or: all ones for a negative number.
    mask: u8,
    /// The power of ten of the first digit.
    magnitude: i32,
    pairs: &'a [u8],
}

/// Pairs of digits of the longest coefficient.
const PAIRS_MAX: usize = 19;

impl<'a> StoredNumber<'a> {
    /// The number at the start of the bytes and the bytes after it. `None` where `Number::decode` finds none.
    #[inline]
    pub(crate) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&kind, rest) = bytes.split_first()?;
        let mask = match kind {
            KIND_ZERO => return Some((Self { mask: 0, magnitude: 0, pairs: &[] }, rest)),
            KIND_POSITIVE => 0,
            KIND_NEGATIVE => 0xFF,
            _ => return None,
        };
        let (head, rest) = rest.split_first_chunk::<2>()?;
        let magnitude = i32::from(u16::from_be_bytes(head.map(|byte| byte ^ mask))) - MAGNITUDE_BIAS;
        let count = pairs_before_end(rest, mask)?;
        let (pairs, rest) = rest.split_at_checked(count)?;
        let (end, rest) = rest.split_first()?;
        let valid = end ^ mask == 0
            && pairs.first().is_some_and(|first| pair_value(first ^ mask) >= 10)
            && count <= PAIRS_MAX
            && (MAGNITUDE_MIN..=MAGNITUDE_MAX).contains(&magnitude);
        valid.then_some((Self { mask, magnitude, pairs }, rest))
    }

    /// Appends plain decimal text, as `Number` displays itself.
    #[inline]
    pub fn push_text(&self, out: &mut Vec<u8>) {
        match self.short_text() {
            Some((text, length)) => {
                let end = out.len() + length;
                out.extend_from_slice(&text.to_le_bytes());
                out.truncate(end);
            }
            None => self.push_long_text(out),
        }
    }

    /// The text of a number of few digits as a word, the first character lowest, and its length.
    #[inline]
    fn short_text(&self) -> Option<(u64, usize)> {
        let integer = usize::try_from(self.magnitude).ok()? + 1;
        if self.pairs.len() > WORD_PAIRS_MAX || integer > 2 * WORD_PAIRS_MAX {
            return None;
        }
        let mut digits = WORD_OF_ZEROS;
        for (place, pair) in self.pairs.iter().enumerate() {
            let pair = two_digits(pair_value(pair ^ self.mask));
            digits ^= u64::from(u16::from_le_bytes(pair) ^ TWO_ZEROS) << (16 * place);
        }
        // A zero fills up an odd number of digits.
        let zeros_at_end = (digits ^ WORD_OF_ZEROS).leading_zeros() / u8::BITS;
        let significant = size_of::<u64>() - usize::try_from(zeros_at_end).ok()?;
        let (text, length) = if significant <= integer {
            (digits, integer)
        } else {
            let bits = 8 * integer;
            let fraction = digits >> bits;
            let point = u64::from(b'.') << bits;
            ((digits ^ (fraction << bits)) | point | (fraction << (bits + 8)), significant + 1)
        };
        Some(if self.mask == 0 { (text, length) } else { ((text << 8) | u64::from(b'-'), length + 1) })
    }

    fn push_long_text(&self, out: &mut Vec<u8>) {
        assert!(self.pairs.len() <= PAIRS_MAX, "a stored number has at most 38 digits");
        let mut digits = [b'0'; DIGITS_ROOM];
        let (places, _) = digits.as_chunks_mut();
        for (place, pair) in places.iter_mut().zip(self.pairs) {
            *place = two_digits(pair_value(pair ^ self.mask));
        }
        let written = digits.get(..2 * self.pairs.len()).unwrap_or_default();
        // A zero fills up an odd number of digits.
        let significant = written.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
        if significant == 0 {
            out.push(b'0');
            return;
        }
        if self.mask != 0 {
            out.push(b'-');
        }
        match usize::try_from(self.magnitude) {
            Ok(magnitude) if magnitude + 1 == significant => push_digits(&digits, significant, out),
            Ok(magnitude) if magnitude < significant => {
                let (integer, fraction) = digits.split_at(magnitude + 1);
                push_digits(&digits, integer.len(), out);
                out.push(b'.');
                push_digits(fraction, significant - integer.len(), out);
            }
            Ok(magnitude) => {
                push_digits(&digits, significant, out);
                out.resize(out.len() + magnitude + 1 - significant, b'0');
            }
            Err(_negative) => {
                out.extend_from_slice(b"0.");
                let zeros = usize::try_from(-1 - self.magnitude).unwrap_or_default();
                out.resize(out.len() + zeros, b'0');
                push_digits(&digits, significant, out);
            }
        }
    }
}

/// The greatest value of a pair of digits.
const PAIR_VALUE_MAX: u8 = 99;

/// The value of a stored pair; above [`PAIR_VALUE_MAX`] for a byte that is none.
const fn pair_value(stored: u8) -> u8 {
    stored.wrapping_sub(1)
}

/// How many stored pairs there are before the first byte that is none; `None` if all are pairs.
#[inline]
fn pairs_before_end(bytes: &[u8], mask: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Most numbers end within a word. The lowest mark is reliable, as borrows and carries go up.
    if let Some(word) = bytes.first_chunk() {
        let values = (u64::from_le_bytes(*word) ^ (ONES * u64::from(mask))).wrapping_sub(ONES);
        let marks =
            (values.wrapping_add(ONES * u64::from(i8::MAX.unsigned_abs() - PAIR_VALUE_MAX)) | values) & HIGH;
        if marks != 0 {
            return usize::try_from(marks.trailing_zeros() / u8::BITS).ok();
        }
    }
    bytes.iter().position(|byte| pair_value(byte ^ mask) > PAIR_VALUE_MAX)
}

/// The digits of a pair's value.
fn two_digits(value: u8) -> [u8; 2] {
    TWO_DIGITS.get(usize::from(value)).copied().unwrap_or([b'0'; 2])
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which refuses what is out of bounds")]
static TWO_DIGITS: [[u8; 2]; 100] = {
    let mut all = [[b'0'; 2]; 100];
    let (mut place, mut value) = (0, 0);
    while value <= PAIR_VALUE_MAX {
        all[place] = [b'0' + value / 10, b'0' + value % 10];
        place += 1;
        value += 1;
    }
    all
};

/// Pairs of a number whose text fits in a word, with a minus and a point.
const WORD_PAIRS_MAX: usize = 3;
const _: () = assert!(2 * WORD_PAIRS_MAX + 2 <= size_of::<u64>());
const TWO_ZEROS: u16 = u16::from_le_bytes([b'0'; 2]);
const WORD_OF_ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// Digits that are copied together.
const DIGITS_BLOCK: usize = 16;
/// The digits of the longest number, and a block, so that one begins at each digit.
const DIGITS_ROOM: usize = 2 * PAIRS_MAX + DIGITS_BLOCK;

/// Appends the first `count` digits. Copying a number of bytes known to the compiler and truncating takes a
/// few instructions; copying a variable number takes a call.
fn push_digits(digits: &[u8], count: usize, out: &mut Vec<u8>) {
    match digits.first_chunk::<DIGITS_BLOCK>() {
        Some(block) if count <= block.len() => {
            let end = out.len() + count;
            out.extend_from_slice(block);
            out.truncate(end);
        }
        _ => out.extend_from_slice(digits.get(..count).unwrap_or_default()),
    }
}

/// The kind and the magnitude of an encoded number.
const ENCODED_HEAD_BYTES: usize = 3;
/// Bytes of a number of few digits: its head, its pairs and its end.
const SHORT_ENCODED_BYTES: usize = ENCODED_HEAD_BYTES + SHORT_DIGITS_MAX.div_ceil(2) + 1;

const KIND_NEGATIVE: u8 = 0x01;
const KIND_ZERO: u8 = 0x02;
const KIND_POSITIVE: u8 = 0x03;
/// Makes every magnitude positive.
const MAGNITUDE_BIAS: i32 = 1024;

// The first byte orders negative numbers, zero and positive numbers.
const _: () = assert!(KIND_NEGATIVE < KIND_ZERO && KIND_ZERO < KIND_POSITIVE);
// Magnitudes are stored as positive numbers, so that their bytes have their order.
const _: () = assert!(MAGNITUDE_BIAS + MAGNITUDE_MIN > 0);

/// The powers of ten that fit in 128 bits.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which refuses what is out of bounds")]
static POWERS_OF_TEN: [u128; 39] = {
    let mut powers = [1; 39];
    let mut place = 1;
    while place < powers.len() {
        powers[place] = powers[place - 1] * 10;
        place += 1;
    }
    powers
};

fn power_of_ten(power: u32) -> Option<u128> {
    POWERS_OF_TEN.get(usize::try_from(power).ok()?).copied()
}

/// Appends the digits as so many pairs, highest first, each stored as its value plus one.
fn push_pairs(digits: u128, pairs: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + pairs, 0);
    let mut places = out.iter_mut().skip(start).rev();
    let mut left = digits;
    // Nine pairs at a time fit in 64 bits, whose division is much faster.
    while places.len() > 0 {
        let mut low = u64::try_from(left % NINE_PAIRS).unwrap_or(0);
        left /= NINE_PAIRS;
        for place in places.by_ref().take(9) {
            *place = u8::try_from(low % 100).unwrap_or(0) + 1;
            low /= 100;
        }
    }
    assert!(left == 0, "the pairs hold every digit");
}

const NINE_PAIRS: u128 = 1_000_000_000_000_000_000;

/// Decimal digits of a coefficient; zero has one.
fn digit_count(coefficient: u128) -> u32 {
    coefficient.checked_ilog10().unwrap_or(0) + 1
}

/// Collects digits as they are read. Leading zeros are dropped; trailing zeros are held back until another
/// digit follows.
#[derive(Default)]
struct DigitReader {
    any: bool,
    after_point: bool,
    coefficient: u128,
    significant: u32,
    /// Zeros read since the last other digit.
    held_zeros: u32,
    /// Digits read after the point.
    fraction: i64,
    overfull: bool,
}

impl DigitReader {
    fn push(&mut self, digit: u8) {
        self.any = true;
        if self.after_point {
            self.fraction += 1;
        }
        if digit == 0 {
            if self.coefficient != 0 {
                self.held_zeros += 1;
            }
            return;
        }
        let shift = self.held_zeros + 1;
        if self.overfull || (self.coefficient != 0 && self.significant + shift > DIGITS_MAX) {
            self.overfull = true;
            return;
        }
        let scale = power_of_ten(shift).unwrap_or(1);
        self.coefficient = self.coefficient * scale + u128::from(digit);
        self.significant = if self.significant == 0 { 1 } else { self.significant + shift };
        self.held_zeros = 0;
    }

    fn finish(self, negative: bool, exponent: i64) -> Result<Number, NumberFault> {
        assert!(self.significant <= DIGITS_MAX, "further digits are counted as an excess");
        if self.overfull {
            return Err(NumberFault::TooManyDigits);
        }
        if self.coefficient == 0 {
            return zero_written_with(exponent);
        }
        let exponent = exponent.saturating_sub(self.fraction).saturating_add(i64::from(self.held_zeros));
        let clamped = i32::try_from(exponent.clamp(-100_000, 100_000)).unwrap_or(0);
        Number::normalised(negative, self.coefficient, clamped)
    }
}

/// Zero, if its written exponent is within the range (observed: 0e125 is zero, 0e126 and 0e-131 are faults).
fn zero_written_with(exponent: i64) -> Result<Number, NumberFault> {
    if exponent > i64::from(MAGNITUDE_MAX) {
        return Err(NumberFault::Overflow);
    }
    if exponent < i64::from(MAGNITUDE_MIN) {
        return Err(NumberFault::Underflow);
    }
    Ok(Number::ZERO)
}

/// Parses an exponent. Observed: text with an exponent beyond 64 bits is not numeric; any other is checked by
/// the range.
fn parse_exponent(bytes: &[u8]) -> Result<i64, NumberFault> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() {
        return Err(NumberFault::NotNumeric);
    }
    let mut value: i64 = 0;
    for byte in digits {
        if !byte.is_ascii_digit() {
            return Err(NumberFault::NotNumeric);
        }
        let digit = i64::from(byte - b'0');
        let next = value
            .checked_mul(10)
            .and_then(|tens| if negative { tens.checked_sub(digit) } else { tens.checked_add(digit) });
        value = next.ok_or(NumberFault::NotNumeric)?;
    }
    Ok(value)
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign != Ordering::Equal || self.is_zero() {
            return by_sign;
        }
        let by_size = self.magnitude().cmp(&other.magnitude()).then_with(|| {
            // Equal magnitudes: align both coefficients to 38 digits.
            let aligned = |number: &Self| {
                let missing = DIGITS_MAX.saturating_sub(u32::from(number.digits));
                number.coefficient() * power_of_ten(missing).unwrap_or(1)
            };
            aligned(self).cmp(&aligned(other))
        });
        if self.negative { by_size.reverse() } else { by_size }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Number {
    /// Plain decimal without an exponent, as the service answers.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            formatter.write_str("-")?;
        }
        let coefficient = self.coefficient();
        let places = usize::from(self.exponent.unsigned_abs());
        if self.exponent >= 0 {
            return write!(formatter, "{coefficient}{:0<places$}", "");
        }
        match POWERS_OF_TEN.get(places) {
            Some(scale) => write!(formatter, "{}.{:0places$}", coefficient / scale, coefficient % scale),
            None => write!(formatter, "0.{coefficient:0places$}"),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::normalised(value < 0, u128::from(value.unsigned_abs()), 0).unwrap_or(Self::ZERO)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::normalised(false, u128::from(value), 0).unwrap_or(Self::ZERO)
    }
}

#[cfg(test)]
mod tests;
