//! What tests of both halves share.

/// The number of cases of a property test: `short`, or a multiple of it in long runs (`cargo xtask test
/// --long`).
pub(crate) fn property_cases(short: u32) -> u32 {
    let times = std::env::var("KEYWRIGHT_TEST_LONG").ok().and_then(|times| times.parse().ok());
    short * times.unwrap_or(1)
}
