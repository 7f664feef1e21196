//! Money in whole nano-dollars: a request unit costs hundreds of them, so sums are exact.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// Decimal places of a nano-dollar.
const PLACES: usize = 9;

/// Nano-dollars in a dollar.
const NANOS_PER_DOLLAR: i128 = 1_000_000_000;

const _: () =
    assert!(10_i128.pow(9) == NANOS_PER_DOLLAR && PLACES == 9, "a dollar has as many nanos as places");

/// An amount in nano-dollars; negative for a saving. 128 bits hold any product of the quantities in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money(i128);

/// Why a text is not an amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoneyFault {
    /// The text is not digits with at most one point.
    NotDecimal(String),
    /// The amount has a part below one nano-dollar.
    TooFine(String),
}

impl fmt::Display for MoneyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDecimal(text) => write!(f, "`{text}` is not an amount; write dollars such as \"0.625\""),
            Self::TooFine(text) => write!(f, "`{text}` is finer than a nano-dollar"),
        }
    }
}

impl Money {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// From nano-dollars.
    pub const fn nanos(nanos: i128) -> Self {
        Self(nanos)
    }

    /// From whole dollars.
    pub const fn dollars(dollars: i128) -> Self {
        Self(dollars * NANOS_PER_DOLLAR)
    }

    /// The amount in nano-dollars.
    pub const fn as_nanos(self) -> i128 {
        self.0
    }

    /// Dollars with all non-zero decimals, at least two: for prices, not for sums.
    pub fn exact(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        let dollar = NANOS_PER_DOLLAR.unsigned_abs();
        let part = format!("{:0PLACES$}", magnitude % dollar);
        let part = part.trim_end_matches('0');
        format!("{sign}${}.{part:0<2}", magnitude / dollar)
    }

    /// The price of one when `text` dollars buy `per`.
    pub fn parse_per(text: &str, per: u32) -> Result<Self, MoneyFault> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = part.trim_end_matches('0');
        if whole.is_empty() || !whole.bytes().chain(digits.bytes()).all(|byte| byte.is_ascii_digit()) {
            return Err(MoneyFault::NotDecimal(text.to_owned()));
        }
        let places = u32::try_from(digits.len()).map_err(|_| MoneyFault::TooFine(text.to_owned()))?;
        let number: i128 =
            format!("{whole}{digits}").parse().map_err(|_| MoneyFault::NotDecimal(text.to_owned()))?;
        let below = 10_i128.checked_pow(places).ok_or_else(|| MoneyFault::TooFine(text.to_owned()))?;
        let nanos = number * NANOS_PER_DOLLAR;
        let divisor = below * i128::from(per.max(1));
        if nanos % divisor == 0 {
            Ok(Self(nanos / divisor))
        } else {
            Err(MoneyFault::TooFine(text.to_owned()))
        }
    }

    /// `self × numerator ÷ denominator`, rounded half away from zero.
    #[must_use]
    pub fn times(self, numerator: i128, denominator: i128) -> Self {
        assert!(denominator > 0, "money is divided by a positive number");
        let product = self.0 * numerator;
        let half = denominator / 2;
        Self(if product < 0 { (product - half) / denominator } else { (product + half) / denominator })
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Money {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// Dollars and cents. An amount below a cent is said to be that; `exact` has its places.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let magnitude = self.0.unsigned_abs();
        let dollar = NANOS_PER_DOLLAR.unsigned_abs();
        let cent = dollar / 100;
        if magnitude > 0 && magnitude < cent {
            return f.pad(if self.0 < 0 { "> -$0.01" } else { "< $0.01" });
        }
        let cents = (magnitude + cent / 2) / cent;
        f.pad(&format!("{sign}${}.{:02}", cents / 100, cents % 100))
    }
}
