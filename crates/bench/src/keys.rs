//! Chooses the item of a request: uniformly, or by a Zipf distribution, where few items get most requests.

use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution as _, Zipf};

/// Distribution of requests over the items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Spread {
    /// Every item with the same probability.
    Uniform,
    /// The item of rank n with a probability proportional to 1 / n^0.99, as in the Yahoo! Cloud Serving
    /// Benchmark. Ranks are scattered over the items.
    Zipf,
}

/// The exponent of the Yahoo! Cloud Serving Benchmark.
const ZIPF_EXPONENT: f64 = 0.99;

/// An endless sequence of choices that depends on the seed only.
pub(super) struct Chooser {
    items: u64,
    zipf: Option<Zipf<f64>>,
    random: SmallRng,
}

impl Chooser {
    pub(super) fn new(items: u64, spread: Spread, seed: u64) -> Self {
        let zipf = match spread {
            Spread::Uniform => None,
            Spread::Zipf => Zipf::new(float(items), ZIPF_EXPONENT).ok(),
        };
        Self { items, zipf, random: SmallRng::seed_from_u64(seed) }
    }

    /// An item's number, below `items`.
    pub(super) fn item(&mut self) -> u64 {
        match &self.zipf {
            None => self.random.random_range(0..self.items),
            Some(zipf) => scatter(whole(zipf.sample(&mut self.random)), self.items),
        }
    }

    /// A uniform number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random.random_range(0..bound)
    }
}

/// Scatters adjacent ranks. Two ranks can fall on one item, as in the original benchmark.
fn scatter(rank: u64, items: u64) -> u64 {
    let mixed = rank.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) % items
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a billion is exact in 53 bits")]
fn float(items: u64) -> f64 {
    items as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::as_conversions,
    reason = "ranks are whole, positive and at most the number of items"
)]
fn whole(rank: f64) -> u64 {
    rank as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(spread: Spread) -> Vec<u32> {
        let mut chooser = Chooser::new(1000, spread, 7);
        let mut counts = vec![0; 1000];
        for _ in 0..100_000 {
            counts[usize::try_from(chooser.item()).unwrap()] += 1;
        }
        counts.sort_unstable();
        counts
    }

    #[test]
    fn uniform_choices_reach_every_item_about_as_often() {
        let counts = counts(Spread::Uniform);
        assert!(counts[0] > 50 && counts[999] < 170, "{} to {}", counts[0], counts[999]);
    }

    #[test]
    fn zipf_gives_few_items_most_choices() {
        let counts = counts(Spread::Zipf);
        let top: u32 = counts.iter().rev().take(10).sum();
        assert!((30_000..60_000).contains(&top), "the ten hottest of a thousand got {top} of 100000");
    }

    #[test]
    fn the_same_seed_chooses_the_same_items() {
        let sequence = |seed| {
            let mut chooser = Chooser::new(1000, Spread::Zipf, seed);
            (0..50).map(|_| chooser.item()).collect::<Vec<_>>()
        };
        assert_eq!(sequence(1), sequence(1));
        assert_ne!(sequence(1), sequence(2));
    }
}
