//! Exact fractions: a twentieth of 20,000 is exactly 1000. A comparison with a limit cannot fail by rounding.

use std::cmp::Ordering;

use keywright_semantics::share::ALL_PPM;

/// The largest denominator; beyond it a number is rounded to billionths.
const UNDER_MAX: u128 = 1_000_000_000_000_000_000;
/// The denominator of a rounded number.
const COARSE: u128 = 1_000_000_000;
/// A non-negative number, as a fraction in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exact {
    over: u128,
    under: u128,
}

impl Exact {
    /// Zero.
    pub const ZERO: Self = Self { over: 0, under: 1 };
    /// One.
    pub const ONE: Self = Self { over: 1, under: 1 };

    /// A whole number.
    pub fn of(whole: impl Into<u128>) -> Self {
        Self { over: whole.into(), under: 1 }
    }

    /// `over` divided by `under`, in lowest terms.
    pub fn part(over: impl Into<u128>, under: impl Into<u128>) -> Self {
        let (over, under) = (over.into(), under.into());
        let divisor = common(over, under).max(1);
        let reduced = Self { over: over / divisor, under: (under / divisor).max(1) };
        assert!(reduced.under > 0, "a fraction has a denominator");
        if reduced.under > UNDER_MAX { reduced.coarse() } else { reduced }
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let divisor = common(self.under, other.under).max(1);
        let sum = || {
            let under = (self.under / divisor).checked_mul(other.under)?;
            let own = self.over.checked_mul(other.under / divisor)?;
            let sum = own.checked_add(other.over.checked_mul(self.under / divisor)?)?;
            Some(Self::part(sum, under))
        };
        sum().unwrap_or_else(|| {
            let over = self.coarse_over().saturating_add(other.coarse_over());
            Self::part(over, COARSE)
        })
    }

    /// The product.
    #[must_use]
    pub fn times(self, other: Self) -> Self {
        // Common factors are cancelled first, so that fewer products overflow.
        let (one, two) = (Self::part(self.over, other.under), Self::part(other.over, self.under));
        let exact = one.over.checked_mul(two.over).zip(one.under.checked_mul(two.under));
        exact.map_or_else(
            || Self::part(self.coarse_over().saturating_mul(other.coarse_over()), COARSE * COARSE),
            |(over, under)| Self::part(over, under),
        )
    }

    /// The number rounded up to a whole.
    pub fn ceil(self) -> u64 {
        u64::try_from(self.over.div_ceil(self.under)).unwrap_or(u64::MAX)
    }

    /// The number in millionths, rounded up.
    pub fn ppm(self) -> u64 {
        self.times(Self::of(u128::from(ALL_PPM))).ceil()
    }

    /// The quotient; one if the divisor is zero.
    #[must_use]
    pub fn of_all(self, all: Self) -> Self {
        if all == Self::ZERO { Self::ONE } else { self.times(Self { over: all.under, under: all.over }) }
    }

    fn coarse(self) -> Self {
        Self::part(self.coarse_over(), COARSE)
    }

    fn coarse_over(self) -> u128 {
        let (whole, rest) = (self.over / self.under, self.over % self.under);
        // With a denominator this large the last digits do not matter.
        let part = rest
            .checked_mul(COARSE)
            .map_or_else(|| rest / (self.under / COARSE).max(1), |rest| rest / self.under);
        whole.saturating_mul(COARSE).saturating_add(part)
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        let wholes = (self.over / self.under).cmp(&(other.over / other.under));
        let rest = |own: &Self| own.over % own.under;
        // Remainders are below the denominators, so their products do not overflow.
        wholes.then_with(|| (rest(self) * other.under).cmp(&(rest(other) * self.under)))
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The greatest common divisor.
fn common(one: u128, two: u128) -> u128 {
    let (mut one, mut two) = (one, two);
    while two > 0 {
        (one, two) = (two, one % two);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_parts_are_exact() {
        let third = Exact::part(1_u64, 3_u64);
        assert_eq!(third.plus(third).plus(third), Exact::ONE);
        assert_eq!(Exact::of(20_000_u64).times(Exact::part(1_u64, 20_u64)), Exact::of(1000_u64));
        assert_eq!((third.ppm(), third.ceil(), Exact::ZERO.ceil()), (333_334, 1, 0));
        assert!(third < Exact::part(334_u64, 1000_u64) && third > Exact::part(333_u64, 1000_u64));
        assert_eq!(third.of_all(Exact::part(2_u64, 3_u64)), Exact::part(1_u64, 2_u64));
        assert_eq!(Exact::ONE.of_all(Exact::ZERO), Exact::ONE);
    }

    #[test]
    fn large_denominators_are_rounded_without_overflow() {
        let fine = Exact::part(1_u64, u64::MAX);
        assert!(fine.times(fine) <= fine && fine < Exact::part(1_u64, 1_000_000_u64));
        let large = Exact::of(u128::from(u64::MAX) << 20);
        assert!(large.times(Exact::part(1_u64, 3_u64)) < large);
        assert!(large.plus(Exact::part(1_u64, 999_999_999_989_u64)) >= large);
        let primes = [999_983_u64, 999_979, 999_961, 999_959, 999_953];
        let sum = primes.iter().fold(Exact::ZERO, |sum, prime| sum.plus(Exact::part(1_u64, *prime)));
        assert!((5..=6).contains(&sum.ppm()), "{sum:?}");
    }
}
