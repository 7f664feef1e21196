//! A seeded random generator, and choices by skew.

use crate::Skew;

/// Splitmix64 (Steele, Lea and Flood 2014): small, and the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; zero if `bound` is zero.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// The numbers below `bound` in random order.
    pub(super) fn shuffled(&mut self, bound: u64) -> Vec<u64> {
        let mut order: Vec<u64> = (0..bound).collect();
        for last in (1..order.len()).rev() {
            let other = self.below(u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1));
            order.swap(last, usize::try_from(other).unwrap_or(last));
        }
        order
    }

    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
    }
}

/// Chooses among `n` things; the first is the most frequent.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Uniform(u64),
    Weighted(Vec<f64>),
}

impl Choice {
    /// A choice for the draws after each of `n` things was drawn once: all `draws` together follow the skew,
    /// as far as the first round allows.
    pub(super) fn after_one_each(n: usize, skew: Skew, draws: u64) -> Self {
        let Self::Weighted(sums) = Self::new(n, Some(skew)) else { return Self::new(n, None) };
        let draws = f64::from(u32::try_from(draws).unwrap_or(u32::MAX));
        let all = sums.last().copied().unwrap_or(1.0);
        let mut before = 0.0;
        let left: Vec<f64> = sums
            .iter()
            .map(|sum| {
                let weight = (sum - before) / all * draws;
                before = *sum;
                (weight - 1.0).max(0.0)
            })
            .collect();
        // If the first round already uses up every share, the remaining draws follow the plain skew.
        if left.iter().sum::<f64>() > 0.0 {
            Self::cumulative(left.into_iter())
        } else {
            Self::new(n, Some(skew))
        }
    }

    pub(super) fn new(n: usize, skew: Option<Skew>) -> Self {
        let uniform = Self::Uniform(u64::try_from(n).unwrap_or(u64::MAX));
        match skew {
            None | Some(Skew::Uniform) => uniform,
            Some(Skew::Zipf { exponent_milli }) => {
                let exponent = f64::from(u32::try_from(exponent_milli).unwrap_or(u32::MAX)) / 1000.0;
                Self::cumulative(
                    (1..=n).map(|rank| f64::from(u32::try_from(rank).unwrap_or(u32::MAX)).powf(-exponent)),
                )
            }
            Some(Skew::Hottest { share_ppm }) => {
                let share = f64::from(u32::try_from(share_ppm).unwrap_or(0)) / 1e6;
                let others = f64::from(u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX)).max(1.0);
                Self::cumulative((0..n).map(|rank| if rank == 0 { share } else { (1.0 - share) / others }))
            }
        }
    }

    fn cumulative(weights: impl Iterator<Item = f64>) -> Self {
        let mut sum = 0.0;
        Self::Weighted(
            weights
                .map(|weight: f64| {
                    assert!(!weight.is_nan(), "a weight is a number");
                    sum += weight;
                    sum
                })
                .collect(),
        )
    }

    pub(super) fn pick(&self, random: &mut Random) -> usize {
        match self {
            Self::Uniform(n) => usize::try_from(random.below(*n)).unwrap_or(0),
            Self::Weighted(sums) => {
                let mark = random.share() * sums.last().copied().unwrap_or(0.0);
                sums.partition_point(|sum| *sum <= mark).min(sums.len().saturating_sub(1))
            }
        }
    }
}
