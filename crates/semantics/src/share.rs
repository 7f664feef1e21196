//! Shares of a whole, counted in parts per million: nothing is counted in floating point.

/// The whole, in parts per million.
pub const ALL_PPM: u64 = 1_000_000;
/// Millionths in one: rates per second are counted in millionths.
pub const MICRO: u64 = ALL_PPM;
/// The same, for products with amounts of money.
pub const MICRO_WIDE: i128 = 1_000_000;
/// One percent, in parts per million.
pub const PPM_PER_PERCENT: u64 = ALL_PPM / 100;
