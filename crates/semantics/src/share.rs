//! Shares of a whole, counted in parts per million: nothing is counted in floating point.

/// The whole, in parts per million.
pub const ALL_PPM: u64 = 1_000_000;
/// One percent, in parts per million.
pub const PPM_PER_PERCENT: u64 = ALL_PPM / 100;
