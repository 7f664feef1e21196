//! What is on its way between two servers at a time is bounded.

use super::*;

/// The bytes of the items of a batch, of which the last may go beyond.
const BATCH_BYTES: usize = 1024 * 1024;
const ITEM_BYTES: usize = 390 * 1024;
/// What a message has besides the values of its items.
const REST_BYTES: usize = 64 * 1024;

fn large(number: i64) -> Item {
    let mut large = row(&number.to_string(), number);
    large.insert("large".to_owned(), s(&"v".repeat(ITEM_BYTES)));
    large
}

fn take_traffic(world: &World) -> Traffic {
    std::mem::take(&mut *world.net.traffic.lock().unwrap())
}

#[test]
fn a_batch_of_large_items_has_few_of_them_and_the_next_waits_for_its_answer() {
    let world = World::new();
    (0..10).for_each(|number| world.put(FIRST, large(number)));
    world.add(FIRST, SECOND).expect("it is added");
    world.settle();
    let of_pass = take_traffic(&world);
    (0..10).for_each(|number| world.put(FIRST, large(100 + number)));
    world.settle();
    let of_log = take_traffic(&world);
    for traffic in [of_pass, of_log] {
        assert!(traffic.batch_bytes_max > 2 * ITEM_BYTES, "a batch has several items: {traffic:?}");
        assert!(traffic.batch_bytes_max < BATCH_BYTES + ITEM_BYTES + REST_BYTES, "{traffic:?}");
        assert!((4..=6).contains(&traffic.batches), "ten items, three in each: {traffic:?}");
        assert_eq!(traffic.waiting_most, 1, "one call at a time: {traffic:?}");
    }
    world.assert_equal("large items");
    assert_eq!(world.rows(SECOND, Space::Items).len(), 20);
}
