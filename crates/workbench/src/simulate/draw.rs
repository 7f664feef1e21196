//! Seeded choices: which key a request concerns, and when the next one comes.
//!
//! Integers only, so that the same seed gives the same bytes on every machine.

use keywright_model::Skew;
use keywright_semantics::share::ALL_PPM;

/// Values of a Zipf distribution that are distinguished; the rest is left out.
pub(super) const ZIPF_VALUES_MAX: u64 = 100_000;
/// Binary digits behind the point.
const FRACTION_BITS: u32 = 32;
const ONE: u128 = 1 << FRACTION_BITS;

/// Splitmix64 (Steele, Lea and Flood 2014): small, and the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; zero if `bound` is zero.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    fn hits(&mut self, share_ppm: u64) -> bool {
        self.below(ALL_PPM) < share_ppm
    }

    /// Whether something happens that happens in this share of all cases.
    pub(super) fn chance(&mut self, share_ppm: u64) -> bool {
        share_ppm >= ALL_PPM || self.hits(share_ppm)
    }

    /// A draw from the exponential distribution of mean one, in 2⁻³² (von Neumann 1951): comparisons of
    /// uniform numbers only, no logarithm.
    pub(super) fn exponential(&mut self) -> u64 {
        let mut whole = 0_u64;
        loop {
            let first = self.next() >> 32;
            let mut last = first;
            let mut length = 1_u32;
            loop {
                let next = self.next() >> 32;
                if next >= last {
                    break;
                }
                last = next;
                length += 1;
            }
            if length % 2 == 1 {
                return (whole << FRACTION_BITS).saturating_add(first);
            }
            whole += 1;
        }
    }
}

/// How the values of an attribute are chosen: numbers from zero, the most frequent first.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Uniform(u64),
    /// This share on the first so many values, the rest on the others.
    Hot {
        share_ppm: u64,
        hot: u64,
        values: u64,
    },
    /// Cumulated weights.
    Weighted(Vec<u64>),
    /// One after the other, round and round.
    Turn {
        values: u64,
        next: u64,
    },
    /// Always the first.
    Fixed,
}

impl Choice {
    pub(super) fn of_skew(skew: Skew, values: u64) -> Self {
        let values = values.max(1);
        match skew {
            Skew::Uniform => Self::Uniform(values),
            Skew::Hottest { share_ppm } => Self::Hot { share_ppm, hot: 1, values },
            Skew::Zipf { exponent_milli } => {
                let ranks = 1..=values.min(ZIPF_VALUES_MAX);
                let mut sum = 0_u64;
                let weights = ranks.map(|rank| {
                    sum = sum.saturating_add(power(rank, exponent_milli));
                    sum
                });
                Self::Weighted(weights.collect())
            }
        }
    }

    pub(super) fn draw(&mut self, random: &mut Random) -> u64 {
        match self {
            Self::Uniform(values) => random.below(*values),
            Self::Hot { share_ppm, hot, values } => {
                let hot = (*hot).min(*values);
                if *values == hot || random.hits(*share_ppm) {
                    random.below(hot)
                } else {
                    hot + random.below(*values - hot)
                }
            }
            Self::Weighted(sums) => {
                let drawn = random.below(sums.last().copied().unwrap_or(1));
                let place = sums.partition_point(|sum| *sum <= drawn);
                assert!(place < sums.len(), "a draw is below the sum of all weights");
                u64::try_from(place).unwrap_or(0)
            }
            Self::Turn { values, next } => {
                let own = *next;
                *next = (own + 1).checked_rem(*values).unwrap_or(0);
                own
            }
            Self::Fixed => 0,
        }
    }
}

/// `rank` to the power of minus `exponent_milli` thousandths, in 2⁻⁴⁰ and at least one of them.
fn power(rank: u64, exponent_milli: u64) -> u64 {
    assert!(rank > 0, "ranks count from one");
    let exponent = log2(rank) * u128::from(exponent_milli) / 1000;
    let (whole, mut fraction) = (exponent >> FRACTION_BITS, exponent % ONE);
    // 2⁻ᶠ, bit by bit: 2^(-1/2), 2^(-1/4), … are square roots.
    let mut value = ONE;
    let mut factor = ONE / 2;
    for _ in 0..FRACTION_BITS {
        factor = (factor << FRACTION_BITS).isqrt();
        fraction <<= 1;
        if fraction >= ONE {
            fraction -= ONE;
            value = (value * factor) >> FRACTION_BITS;
        }
    }
    let shifted = (value << 8).checked_shr(u32::try_from(whole).unwrap_or(u32::MAX)).unwrap_or(0);
    u64::try_from(shifted).unwrap_or(1).max(1)
}

/// The binary logarithm in 2⁻³².
fn log2(number: u64) -> u128 {
    let whole = number.max(1).ilog2();
    let mut rest = (u128::from(number.max(1)) << FRACTION_BITS) >> whole;
    let mut found = u128::from(whole) << FRACTION_BITS;
    for bit in (0..FRACTION_BITS).rev() {
        rest = (rest * rest) >> FRACTION_BITS;
        if rest >= 2 * ONE {
            rest >>= 1;
            found += 1 << bit;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_real_numbers() {
        let one = power(1, 1000);
        assert_eq!(one, 1 << 40);
        for (rank, exponent_milli, wanted_ppm) in [
            (2, 1000, 500_000),
            (4, 500, 500_000),
            (10, 1000, 100_000),
            (3, 1100, 298_650),
            (7, 0, 1_000_000),
        ] {
            let ppm = u128::from(power(rank, exponent_milli)) * 1_000_000 / u128::from(one);
            let wanted: u128 = wanted_ppm;
            assert!(ppm.abs_diff(wanted) <= 20, "{rank}^-{exponent_milli}: {ppm}");
        }
    }

    #[test]
    fn exponential_draws_have_their_mean_and_variance() {
        let mut random = Random::new(7);
        let draws: Vec<u128> = (0..100_000).map(|_| u128::from(random.exponential())).collect();
        let mean = draws.iter().sum::<u128>() * 1000 / 100_000 / ONE;
        assert!((990..=1010).contains(&mean), "{mean}");
        let squares = draws.iter().map(|draw| (draw * draw) >> FRACTION_BITS).sum::<u128>();
        let second = squares * 1000 / 100_000 / ONE;
        assert!((1960..=2040).contains(&second), "{second}");
    }

    #[test]
    fn hot_values_take_their_share() {
        let mut random = Random::new(1);
        let mut hot = Choice::Hot { share_ppm: 800_000, hot: 1, values: 1000 };
        let hits = (0..10_000).filter(|_| hot.draw(&mut random) == 0).count();
        assert!((7900..=8100).contains(&hits), "{hits}");
        let mut zipf = Choice::of_skew(Skew::Zipf { exponent_milli: 1000 }, 4);
        let hits = (0..10_000).filter(|_| zipf.draw(&mut random) == 0).count();
        assert!((4650..=4950).contains(&hits), "{hits}");
        let mut turn = Choice::Turn { values: 3, next: 0 };
        assert_eq!([0; 5].map(|_| turn.draw(&mut random)), [0, 1, 2, 0, 1]);
    }
}
