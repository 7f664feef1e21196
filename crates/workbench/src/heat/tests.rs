//! Heat: the shard calculator, shares of the busiest key, verdicts at the limits.

use super::*;

fn writes(units_per_second: u128) -> Heat {
    Heat { write_micro_halves: units_per_second * 2_000_000, read_micro_halves: 0 }
}

#[test]
fn r77_20_000_writes_a_second_on_one_key_need_20_shards() {
    assert_eq!(shards_for_writes(20_000), 20);
    assert_eq!([0, 1, 1000, 1001, 20_001].map(shards_for_writes), [1, 1, 1, 2, 21]);
}

#[test]
fn a_key_is_warm_over_half_and_hot_over_the_whole_limit() {
    assert_eq!(
        [500, 501, 1000, 1001].map(|units| writes(units).verdict()),
        [Verdict::Cool, Verdict::Warm, Verdict::Warm, Verdict::Hot]
    );
    let reads = |units: u128| Heat { read_micro_halves: units * 2_000_000, write_micro_halves: 0 };
    assert_eq!(
        [1500, 3000, 3001].map(|units| reads(units).verdict()),
        [Verdict::Cool, Verdict::Warm, Verdict::Hot]
    );
}

#[test]
fn the_busiest_keys_share_follows_the_skew() {
    assert_eq!(busiest_share_ppm(Skew::Uniform, 4), 250_000);
    assert_eq!(busiest_share_ppm(Skew::Hottest { share_ppm: 900_000 }, 1000), 900_000);
    assert_eq!(busiest_share_ppm(Skew::Hottest { share_ppm: 1 }, 2), 500_000, "never below the even share");
    // 1 ÷ (1 + 1/2 + 1/3 + 1/4)
    assert_eq!(busiest_share_ppm(Skew::Zipf { exponent_milli: 1000 }, 4), 480_000);
    assert_eq!(busiest_share_ppm(Skew::Zipf { exponent_milli: 0 }, 10), 100_000);
}

#[test]
fn the_tail_of_a_long_zipf_distribution_is_not_lost() {
    // The harmonic number of a million is 14.392727.
    let share = busiest_share_ppm(Skew::Zipf { exponent_milli: 1000 }, 1_000_000);
    assert!((69_479..=69_482).contains(&share), "{share}");
}

#[test]
fn a_skewed_key_of_a_moderate_table_can_still_be_hot() {
    let table = writes(10_000);
    let share = busiest_share_ppm(Skew::Zipf { exponent_milli: 1100 }, 100_000);
    assert_eq!(table.of_busiest(share).verdict(), Verdict::Hot);
    assert_eq!(table.of_busiest(busiest_share_ppm(Skew::Uniform, 100_000)).verdict(), Verdict::Cool);
}
