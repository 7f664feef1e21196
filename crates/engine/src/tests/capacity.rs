//! Capacity figures by the developer guide and observed behaviour.

use keywright_semantics::capacity::{HalfUnits, TableUsage};
use keywright_semantics::response::{ConsumedCapacity, PageOutput, WriteItemOutput};
use keywright_semantics::value::Item;

use super::harness::*;

fn wcu(output: WriteItemOutput) -> TableUsage {
    output.consumed_capacity.expect("it was asked for").usage
}

fn rcu(output: PageOutput) -> ConsumedCapacity {
    *output.consumed_capacity.expect("it was asked for")
}

fn sized(bytes: usize, rest: &[(&str, &str)]) -> Item {
    let mut item = item([("pk", s("p")), ("sk", s("s"))]);
    for (name, text) in rest {
        item.insert((*name).into(), s(text));
    }
    let used = keywright_semantics::size::item_bytes(&item);
    item.insert("d".into(), s(&"d".repeat(bytes - used - 1)));
    item
}

#[test]
fn the_tables_arm_is_the_larger_image() {
    let bench = bench();
    let key = || item([("pk", s("p")), ("sk", s("s"))]);
    assert_eq!(wcu(bench.put(sized(1024, &[])).expect("put")).table.write, HalfUnits(2));
    assert_eq!(wcu(bench.put(sized(3000, &[])).expect("put")).table.write, HalfUnits(6));
    assert_eq!(wcu(bench.put(sized(100, &[])).expect("put")).table.write, HalfUnits(6));
    assert_eq!(wcu(bench.delete(&delete_request(key())).expect("delete")).table.write, HalfUnits(2));
    assert_eq!(wcu(bench.delete(&delete_request(key())).expect("nothing")).table.write, HalfUnits(2));
}

#[test]
fn an_index_is_charged_for_the_change_of_its_rows_only() {
    let bench = bench();
    let lsi = |usage: &TableUsage| usage.local_indexes.get("lsi").map(|usage| usage.write);
    let first = wcu(bench.put(sized(100, &[("l", "1"), ("x", "a")])).expect("put"));
    assert_eq!(lsi(&first), Some(HalfUnits(2)));
    assert!(first.global_indexes.is_empty());
    let same = wcu(bench.put(sized(100, &[("l", "1"), ("x", "a")])).expect("put"));
    assert_eq!((lsi(&same), same.table.write), (None, HalfUnits(2)));
    let unprojected = wcu(bench.put(sized(200, &[("l", "1"), ("x", "a")])).expect("put"));
    assert_eq!(lsi(&unprojected), None);
    let projected = wcu(bench.put(sized(200, &[("l", "1"), ("x", "b")])).expect("put"));
    assert_eq!(lsi(&projected), Some(HalfUnits(2)));
    let moved = wcu(bench.put(sized(200, &[("l", "2"), ("x", "b")])).expect("put"));
    assert_eq!((lsi(&moved), moved.total().write), (Some(HalfUnits(4)), HalfUnits(6)));
}

#[test]
fn a_page_is_charged_for_the_sum_of_what_it_evaluated() {
    let bench = bench();
    for place in 0..3 {
        let mut item = sized(3000, &[]);
        item.insert("sk".into(), s(&place.to_string()));
        bench.put(item).expect("put");
    }
    let mut request = query_request(None, key_condition("pk = :p", [(":p", s("p"))]));
    request.filter = Some(condition("attribute_exists(nothing)", []));
    let page = bench.query(&request).expect("query");
    assert_eq!((page.count, page.scanned_count), (0, 3));
    // 9000 bytes are three blocks of 4 KB, half a unit each.
    assert_eq!(rcu(page).usage.table.read, HalfUnits(3));
    let nothing = query_request(None, key_condition("pk = :p", [(":p", s("other"))]));
    assert_eq!(rcu(bench.query(&nothing).expect("query")).usage.table.read, HalfUnits(1));
}

#[test]
fn a_local_index_that_fetches_charges_each_item_to_the_table() {
    let bench = bench();
    for place in 0..3 {
        let mut item = sized(3000, &[("l", "1")]);
        item.insert("sk".into(), s(&place.to_string()));
        bench.put(item).expect("put");
    }
    let mut request = query_request(Some("lsi"), key_condition("pk = :p", [(":p", s("p"))]));
    let held = rcu(bench.query(&request).expect("query")).usage;
    assert_eq!((held.table.read, held.total().read), (HalfUnits(0), HalfUnits(1)));
    request.select = ALL;
    let page = bench.query(&request).expect("query");
    assert!(items(&page).iter().all(|item| item.contains_key("d")));
    let fetched = rcu(page).usage;
    assert_eq!((fetched.table.read, fetched.total().read), (HalfUnits(3), HalfUnits(4)));
}

#[test]
fn a_get_is_charged_before_projection_and_for_nothing_at_least_a_block() {
    let bench = bench();
    bench.put(sized(5000, &[])).expect("put");
    let mut request = get_request(item([("pk", s("p")), ("sk", s("s"))]));
    request.projection = Some(Box::new(projection("pk")));
    let usage = |request| {
        let output =
            block_on(crate::read::get_item::get_item(&bench.engine, &caller(), request)).expect("get");
        output.consumed_capacity.expect("it was asked for").usage.table.read
    };
    assert_eq!(usage(&request), HalfUnits(4));
    assert_eq!(usage(&get_request(item([("pk", s("p")), ("sk", s("none"))]))), HalfUnits(2));
}
