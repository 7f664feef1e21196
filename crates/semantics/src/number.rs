//! DynamoDB's number: 38 significant decimal digits, magnitudes from 1E-130 to 9.99…E+125, exact.

/// A number, normalised: no trailing zeros in the coefficient, zero is unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    negative: bool,
    coefficient: u128,
    exponent: i16,
}
