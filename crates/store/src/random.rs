//! Pseudo-random numbers from a seed.

/// `SplitMix64` (Steele, Lea, Flood 2014): small, and good enough to choose faults and keys.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence that the seed decides.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "the sequence never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is a number below the bound");
        self.next() % bound
    }

    /// True half of the time.
    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}
