//! DynamoDB's number: 38 significant decimal digits, magnitudes from 1E-130 to 9.99…E+125, exact.
//!
//! It does not know attribute values; `value` and `codec` hold numbers.

use std::cmp::Ordering;
use std::fmt;

/// Significant digits a number may have (developer guide: Number).
const DIGITS_MAX: u32 = 38;
/// The greatest power of ten of a number's first digit (developer guide: Number).
const MAGNITUDE_MAX: i32 = 125;
/// The smallest power of ten of a number's first digit (developer guide: Number).
const MAGNITUDE_MIN: i32 = -130;

/// What is wrong with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberFault {
    NotNumeric,
    TooManyDigits,
    Overflow,
    Underflow,
}

/// A number, normalised: `± coefficient × 10^exponent`. Invariant: the coefficient is below 10^38 and does not end in a
/// zero digit; zero is `+0 × 10^0`; the first digit's power of ten is within the service's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    coefficient: u128,
    exponent: i16,
}

impl Number {
    pub const ZERO: Self = Self { negative: false, coefficient: 0, exponent: 0 };

    /// Reads a decimal text: optional sign, digits with an optional point, optional exponent.
    pub fn parse(text: &str) -> Result<Self, NumberFault> {
        let bytes = text.as_bytes();
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

    /// Brings a sign, coefficient and exponent into the normal form, or says which limit they pass.
    fn normalised(negative: bool, mut coefficient: u128, mut exponent: i32) -> Result<Self, NumberFault> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        while coefficient.is_multiple_of(10) {
            coefficient /= 10;
            exponent += 1;
        }
        let digits = digit_count(coefficient);
        if digits > DIGITS_MAX {
            return Err(NumberFault::TooManyDigits);
        }
        let magnitude = exponent + i32::try_from(digits).unwrap_or(i32::MAX) - 1;
        if magnitude > MAGNITUDE_MAX {
            return Err(NumberFault::Overflow);
        }
        if magnitude < MAGNITUDE_MIN {
            return Err(NumberFault::Underflow);
        }
        let exponent = i16::try_from(exponent).map_err(|_| NumberFault::Underflow)?;
        Ok(Self { negative, coefficient, exponent })
    }

    pub const fn is_zero(&self) -> bool {
        self.coefficient == 0
    }

    pub const fn is_negative(&self) -> bool {
        self.negative
    }

    /// The power of ten of the first digit.
    fn magnitude(&self) -> i32 {
        i32::from(self.exponent) + i32::try_from(digit_count(self.coefficient)).unwrap_or(0) - 1
    }

    /// The value as an integer, if it is one and fits.
    pub fn to_i64(&self) -> Option<i64> {
        let scale = u32::try_from(self.exponent).ok()?;
        let absolute = i128::try_from(self.coefficient.checked_mul(10_u128.checked_pow(scale)?)?).ok()?;
        i64::try_from(if self.negative { -absolute } else { absolute }).ok()
    }

    #[must_use]
    pub const fn negated(self) -> Self {
        Self { negative: !self.negative && self.coefficient != 0, ..self }
    }

    /// The exact sum. More than 38 digits are a fault, as the service answers them.
    pub fn checked_add(self, other: Self) -> Result<Self, NumberFault> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = u32::try_from(i32::from(high.exponent) - i32::from(low.exponent)).unwrap_or(u32::MAX);
        if shift > DIGITS_MAX {
            return Err(NumberFault::TooManyDigits);
        }
        let Some(aligned) = 10_u128.checked_pow(shift).and_then(|scale| high.coefficient.checked_mul(scale))
        else {
            return Err(NumberFault::TooManyDigits);
        };
        let (negative, coefficient) = match (high.negative == low.negative, aligned.cmp(&low.coefficient)) {
            (true, _) => {
                (high.negative, aligned.checked_add(low.coefficient).ok_or(NumberFault::TooManyDigits)?)
            }
            (false, Ordering::Less) => (low.negative, low.coefficient - aligned),
            (false, _) => (high.negative, aligned - low.coefficient),
        };
        Self::normalised(negative, coefficient, i32::from(low.exponent))
    }

    /// The exact difference.
    pub fn checked_sub(self, other: Self) -> Result<Self, NumberFault> {
        self.checked_add(other.negated())
    }

    /// Bytes the number counts for in an item's size: one, one for each two digits of the integer part and of the
    /// fraction, zeros at the ends aside, and one for a minus sign (observed behaviour of the service).
    pub fn size_bytes(&self) -> usize {
        if self.is_zero() {
            return 1;
        }
        let digits = i32::try_from(digit_count(self.coefficient)).unwrap_or(0);
        let exponent = i32::from(self.exponent);
        let integer_end = (digits + exponent).max(0);
        let integer_digits = if exponent >= 0 { digits } else { integer_end.min(digits) };
        let fraction_digits = digits - integer_digits;
        // Pairs are counted from the decimal point, so a part may begin or end in the middle of a pair.
        let pairs = |count: i32| usize::try_from((count + 1) / 2).unwrap_or(0);
        1 + pairs(integer_digits) + pairs(fraction_digits) + usize::from(self.negative)
    }

    /// Appends a form whose bytewise order is the numbers' order and that tells where it ends.
    ///
    /// One byte of sign and kind; for others than zero two bytes of magnitude, then pairs of digits, each one more than
    /// its value, ended by a zero byte. Negative numbers have all bytes after the first inverted.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        if self.is_zero() {
            out.push(KIND_ZERO);
            return;
        }
        out.push(if self.negative { KIND_NEGATIVE } else { KIND_POSITIVE });
        let start = out.len();
        let biased = u16::try_from(self.magnitude() + MAGNITUDE_BIAS).unwrap_or(0);
        out.extend_from_slice(&biased.to_be_bytes());
        let digits = digit_count(self.coefficient);
        let padded = if digits.is_multiple_of(2) { self.coefficient } else { self.coefficient * 10 };
        let pairs = digits.div_ceil(2);
        for place in (0..pairs).rev() {
            let pair = padded / 100_u128.pow(place) % 100;
            out.push(u8::try_from(pair).unwrap_or(0) + 1);
        }
        out.push(0);
        if self.negative {
            for byte in out.iter_mut().skip(start) {
                *byte = !*byte;
            }
        }
    }

    /// Reads what `encode_into` wrote, and returns what follows it. `None` for anything else.
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

const KIND_NEGATIVE: u8 = 0x01;
const KIND_ZERO: u8 = 0x02;
const KIND_POSITIVE: u8 = 0x03;
/// Makes every magnitude positive.
const MAGNITUDE_BIAS: i32 = 1024;

/// Decimal digits of a coefficient; zero has one.
fn digit_count(coefficient: u128) -> u32 {
    coefficient.checked_ilog10().unwrap_or(0) + 1
}

/// Collects digits as they are read, leading zeros aside, trailing zeros held back until a later digit needs them.
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
        self.coefficient =
            self.coefficient * 10_u128.pow(if self.coefficient == 0 { 0 } else { shift }) + u128::from(digit);
        self.significant = if self.significant == 0 { 1 } else { self.significant + shift };
        self.held_zeros = 0;
    }

    fn finish(self, negative: bool, exponent: i64) -> Result<Number, NumberFault> {
        if self.overfull {
            return Err(NumberFault::TooManyDigits);
        }
        let exponent = exponent - self.fraction + i64::from(self.held_zeros);
        if self.coefficient == 0 {
            return Ok(Number::ZERO);
        }
        let clamped = i32::try_from(exponent.clamp(-100_000, 100_000)).unwrap_or(0);
        Number::normalised(negative, self.coefficient, clamped)
    }
}

/// An exponent's digits; beyond a million the exact value no longer matters.
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
        value = (value * 10 + i64::from(byte - b'0')).min(1_000_000);
    }
    Ok(if negative { -value } else { value })
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
                number.coefficient * 10_u128.pow(DIGITS_MAX - digit_count(number.coefficient))
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
    /// Plain decimal, never an exponent: what the service answers.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            formatter.write_str("-")?;
        }
        let digits = self.coefficient.to_string();
        let exponent = i32::from(self.exponent);
        if exponent >= 0 {
            formatter.write_str(&digits)?;
            return write_zeros(formatter, exponent);
        }
        let point = i32::try_from(digits.len()).unwrap_or(0) + exponent;
        match usize::try_from(point) {
            Ok(point) if point > 0 => {
                let (integer, fraction) = digits.split_at(point);
                write!(formatter, "{integer}.{fraction}")
            }
            _ => {
                formatter.write_str("0.")?;
                write_zeros(formatter, -point)?;
                formatter.write_str(&digits)
            }
        }
    }
}

fn write_zeros(formatter: &mut fmt::Formatter<'_>, count: i32) -> fmt::Result {
    for _ in 0..count {
        formatter.write_str("0")?;
    }
    Ok(())
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
