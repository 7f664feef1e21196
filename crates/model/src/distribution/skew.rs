//! The share of requests on the busiest of a number of values, by a declared skew.

use super::Exact;
use crate::Skew;
use keywright_semantics::share::ALL_PPM;

/// Terms of a Zipf distribution that are summed one by one; the tail is integrated.
const ZIPF_TERMS_MAX: u32 = 10_000;

/// The share of requests on the busiest of `keys` values, in parts per million, rounded up.
pub fn busiest_share_ppm(skew: Skew, keys: u64) -> u64 {
    busiest(skew, keys).ppm()
}

/// The share of requests on the busiest of `keys` values.
pub fn busiest(skew: Skew, keys: u64) -> Exact {
    let keys = keys.max(1);
    let even = Exact::part(1_u64, keys);
    match skew {
        Skew::Uniform => even,
        Skew::Hottest { share_ppm } => Exact::part(share_ppm.min(ALL_PPM), ALL_PPM).max(even),
        Skew::Zipf { exponent_milli } => Exact::part(zipf_share_ppm(exponent_milli, keys), ALL_PPM).max(even),
    }
}

/// 1 ÷ Σ k⁻ˢ: the first terms are summed; the rest is the integral from half a step before the next term.
fn zipf_share_ppm(exponent_milli: u64, keys: u64) -> u64 {
    let exponent = f64::from(u32::try_from(exponent_milli).unwrap_or(u32::MAX)) / 1000.0;
    let summed = u32::try_from(keys).unwrap_or(u32::MAX).min(ZIPF_TERMS_MAX);
    let head: f64 = (1..=summed).map(|rank| f64::from(rank).powf(-exponent)).sum();
    let (from, to) = (f64::from(summed) + 0.5, float(keys) + 0.5);
    let tail = if to <= from {
        0.0
    } else if (exponent - 1.0).abs() < 1e-9 {
        (to / from).ln()
    } else {
        (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    // A billionth is subtracted first: 480000.0000000001 is
    // a rounding error of the sum, not a share above 480000.
    let share = (1_000_000.0 / (head + tail) * (1.0 - 1e-9)).ceil();
    format!("{share:.0}").parse().unwrap_or(ALL_PPM)
}

fn float(number: u64) -> f64 {
    number.to_string().parse().unwrap_or(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_keys_share_follows_the_skew() {
        assert_eq!(busiest_share_ppm(Skew::Uniform, 4), 250_000);
        assert_eq!(busiest_share_ppm(Skew::Hottest { share_ppm: 900_000 }, 1000), 900_000);
        assert_eq!(
            busiest_share_ppm(Skew::Hottest { share_ppm: 1 }, 2),
            500_000,
            "never below the even share"
        );
        // 1 ÷ (1 + 1/2 + 1/3 + 1/4)
        assert_eq!(busiest_share_ppm(Skew::Zipf { exponent_milli: 1000 }, 4), 480_000);
        assert_eq!(busiest_share_ppm(Skew::Zipf { exponent_milli: 0 }, 10), 100_000);
    }

    #[test]
    fn the_tail_of_a_long_zipf_distribution_is_counted() {
        // The harmonic number of a million is 14.392727.
        let share = busiest_share_ppm(Skew::Zipf { exponent_milli: 1000 }, 1_000_000);
        assert!((69_479..=69_482).contains(&share), "{share}");
    }
}
