//! Numbers that follow from a seed, and the ways traffic is spread.

use crate::model::Skew;

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

    /// Below `bound`; nought if that is nought.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
    }
}

/// Chooses among `n` things, the first being the hottest.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    Uniform(u64),
    Weighted(Vec<f64>),
}

impl Choice {
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
                .map(|weight| {
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
