//! Impossible designs are reported, hot keys are sharded, and large problems need little work.

use super::cases::{PER_SECOND, designed, entity, prices, problem, put_each, read, sparse, update, write};
use crate::design::{Fault, Problem, Slot, WriteKind, explain, name};
use keywright_model::MicroPerSecond;
use keywright_workbench::price::Money;

fn votes(scatter: bool) -> Problem {
    let mut votes = entity("Vote", &["voteId"], &["contestantId"]);
    for own in votes.attributes.iter_mut().filter(|own| own.name == "contestantId") {
        own.distinct = Some(10);
        own.hottest_ppm = Some(1_000_000);
    }
    let mut put = write("Vote", WriteKind::Put);
    put.peak = MicroPerSecond(20_000 * PER_SECOND);
    let mut pattern = read("votes of a contestant", &["Vote"], &["contestantId"], None);
    pattern.scatter = scatter;
    problem(vec![votes], vec![pattern], vec![put])
}

/// 20 shards carry 20,000 writes (R77); with 40, as the rules advise, each is half free.
#[test]
fn r77_the_designer_spreads_20_000_writes_a_second_over_the_40_shards_that_check_asks_for() {
    let design = designed(&votes(true)).expect("a design");
    assert_eq!(design.asked.first().map(|asked| asked.shards), Some(40));
}

/// An item's shard must differ from that of other items under the same key.
#[test]
fn shards_are_chosen_by_an_attribute_outside_the_partition_key() {
    let mut votes = votes(true);
    for entity in &mut votes.entities {
        entity.id = vec!["contestantId".to_owned(), "voteId".to_owned()];
    }
    let named = name(&designed(&votes).expect("a design"));
    let base = named.iter().find(|own| own.slot == Slot::Table).expect("a key");
    assert_eq!(base.partition, "c#{contestantId}#{voteId|shard(40)}");
}

#[test]
fn a_hot_key_without_scatter_gather_has_no_path_and_the_reason_names_the_shards() {
    let faults = designed(&votes(false)).expect_err("one partition cannot take it");
    assert!(faults.iter().any(|fault| fault.to_string().contains("needs 40 shards")), "{faults:?}");
}

#[test]
fn r84_a_pattern_without_an_equality_is_work_for_another_system() {
    let entities = vec![entity("Order", &["orderId"], &["total"])];
    let patterns = vec![read("sum of all", &["Order"], &[], Some("total"))];
    let faults = designed(&problem(entities, patterns, Vec::new())).expect_err("only a Scan");
    assert_eq!(faults, [Fault::NothingEqual("sum of all".to_owned())]);
}

#[test]
fn a_strong_read_is_kept_in_the_base_table() {
    let entities = vec![entity("Order", &["orderId"], &["customerId"])];
    let mut strong = read("orders", &["Order"], &["customerId"], None);
    strong.strong = true;
    let patterns = vec![strong, read("order", &["Order"], &["orderId"], None)];
    let writes = put_each(&entities);
    let design = designed(&problem(entities, patterns, writes)).expect("a design");
    assert_eq!(
        design.asked.iter().map(|asked| asked.slot).collect::<Vec<_>>(),
        [Slot::Table, Slot::Global(1)]
    );
}

#[test]
fn two_strong_reads_by_different_keys_of_items_that_are_changed_have_no_design() {
    let entities = vec![entity("Order", &["orderId"], &["customerId", "status"])];
    let mut patterns = vec![
        read("orders", &["Order"], &["customerId"], None),
        read("order", &["Order"], &["orderId"], None),
    ];
    for pattern in &mut patterns {
        pattern.strong = true;
    }
    let writes = vec![update("Order", &["status"])];
    assert!(designed(&problem(entities, patterns, writes)).is_err(), "an update only knows the order's id");
}

#[test]
fn an_attribute_that_changes_is_no_base_key() {
    let entities = vec![entity("Order", &["orderId"], &["status"])];
    let patterns = vec![read("by status", &["Order"], &["status"], None)];
    let mut writes = put_each(&entities);
    writes.push(update("Order", &["status"]));
    assert_eq!(designed(&problem(entities, patterns, writes)).expect("a design").gsis, 1);
}

#[test]
fn r80_a_sparse_index_costs_its_share_of_a_full_one() {
    let cost = |present_ppm, updated: bool| {
        let orders = sparse(entity("Order", &["orderId"], &["flag"]), "flag", present_ppm);
        let patterns =
            vec![read("flagged", &["Order"], &["flag"], None), read("one", &["Order"], &["orderId"], None)];
        let mut writes = put_each(std::slice::from_ref(&orders));
        if updated {
            writes.push(update("Order", &["flag"]));
        }
        designed(&problem(vec![orders], patterns, writes)).expect("a design").monthly.indexes
    };
    assert_eq!(cost(1_000_000, false).times(1, 100), cost(10_000, false));
    // Each move of an entry takes two writes, each insertion or removal takes one.
    let of_update = |present_ppm| cost(present_ppm, true) - cost(present_ppm, false);
    assert_eq!(of_update(1_000_000), of_update(10_000).times(2, 1));
}

#[test]
fn unknown_names_are_all_reported() {
    let entities = vec![entity("Order", &["orderId"], &[])];
    let patterns = vec![read("P1", &["Order"], &["colour"], None), read("P2", &["Nobody"], &["x"], None)];
    let faults = designed(&problem(entities, patterns, Vec::new())).expect_err("unknown names");
    assert_eq!(faults.len(), 2, "{faults:?}");
}

#[test]
fn r82_a_new_query_on_existing_data_adds_an_index_and_leaves_the_base_keys() {
    let entities = vec![entity("Order", &["orderId"], &["customerId", "status"])];
    let mut patterns = vec![
        read("one", &["Order"], &["orderId"], None),
        read("of a customer", &["Order"], &["customerId"], None),
    ];
    let mut writes = put_each(&entities);
    writes.push(update("Order", &["status"]));
    let before = designed(&problem(entities.clone(), patterns.clone(), writes.clone())).expect("a design");
    patterns.push(read("in a status", &["Order"], &["status"], None));
    let after = designed(&problem(entities, patterns, writes)).expect("a design");
    assert_eq!((before.gsis, after.gsis), (1, 2));
    let base =
        |design: &crate::design::Design| design.placed.iter().find(|own| own.slot == Slot::Table).cloned();
    assert_eq!(base(&before), base(&after));
}

#[test]
fn r83_the_explanation_says_what_each_pattern_costs_and_which_force_the_index() {
    let entities = vec![entity("Order", &["orderId"], &["customerId"])];
    let patterns = vec![
        read("one", &["Order"], &["orderId"], None),
        read("of a customer", &["Order"], &["customerId"], None),
    ];
    let mut writes = put_each(&entities);
    writes.push(update("Order", &[]));
    let explanation = explain(&problem(entities, patterns, writes), &prices()).expect("an explanation");
    let forces: Vec<bool> = explanation.patterns.iter().map(|pattern| pattern.forces).collect();
    assert_eq!(forces, [false, true]);
    assert!(explanation.patterns.iter().all(|pattern| pattern.saves > Money::ZERO));
}

/// Twelve entities with four patterns each and two collections: fifty patterns.
fn fifty_patterns() -> Problem {
    patterns_of(12)
}

fn patterns_of(count: usize) -> Problem {
    let mut entities = Vec::new();
    let mut patterns = Vec::new();
    for place in 0..count {
        let name = format!("E{place}");
        let id = format!("id{place}");
        let parent = format!("id{}", place / 2 * 2);
        let mut others = vec!["ownerId", "status", "createdAt"];
        if parent != id {
            others.push(&parent);
        }
        entities.push(entity(&name, &[&id], &others));
        patterns.push(read(&format!("{name} by id"), &[&name], &[&id], None));
        patterns.push(read(&format!("{name} of an owner"), &[&name], &["ownerId"], Some("createdAt")));
        patterns.push(read(
            &format!("{name} in a status"),
            &[&name],
            &["ownerId", "status"],
            Some("createdAt"),
        ));
        patterns.push(read(&format!("{name} by status"), &[&name], &["status"], Some("createdAt")));
    }
    patterns.push(read("first family", &["E0", "E1"], &["id0"], None));
    patterns.push(read("second family", &["E2", "E3"], &["id2"], None));
    let mut writes = put_each(&entities);
    writes.extend(entities.iter().map(|entity| update(&entity.name, &["status"])));
    problem(entities, patterns, writes)
}

#[test]
fn fifty_patterns_are_solved_with_bounded_work() {
    let problem = fifty_patterns();
    assert_eq!(problem.patterns.len(), 50);
    let design = designed(&problem).expect("a design");
    assert_eq!(design.asked.len(), 50);
    // 0 and 744 when this was written.
    assert!(design.effort.nodes < 20 && design.effort.pivots < 2_000, "{:?}", design.effort);
}

#[test]
fn two_hundred_patterns_are_solved_with_bounded_work() {
    let mut problem = patterns_of(49);
    problem.patterns.push(read("third family", &["E4", "E5"], &["id4"], None));
    problem.patterns.push(read("fourth family", &["E6", "E7"], &["id6"], None));
    assert_eq!(problem.patterns.len(), 200);
    let design = designed(&problem).expect("a design");
    assert_eq!(design.asked.len(), 200);
    // 0 and 2913 when this was written.
    assert!(design.effort.nodes < 80 && design.effort.pivots < 8_000, "{:?}", design.effort);
}

/// Sort keys have prefixes such that one range has a pattern's entities and nothing else.
#[test]
fn sort_key_prefixes_keep_other_entities_out_of_a_patterns_range() {
    let entities = vec![
        entity("Order", &["orderId"], &[]),
        entity("OrderItem", &["orderId", "productId"], &[]),
        entity("Note", &["orderId", "noteId"], &[]),
    ];
    let notes = read("notes", &["Note"], &["orderId"], None);
    let both = read("order with items", &["Order", "OrderItem"], &["orderId"], None);
    let design =
        designed(&problem(entities.clone(), vec![notes, both], put_each(&entities))).expect("a design");
    assert_eq!(design.gsis, 0);
    let mut sorts: Vec<(String, String)> =
        name(&design).into_iter().map(|own| (own.sort, own.entity)).collect();
    sorts.sort();
    assert_ne!(sorts.get(1).map(|(_, entity)| entity.as_str()), Some("Note"), "{sorts:?}");
}

/// The entity that three patterns share has only two neighbours.
#[test]
fn three_neighbours_of_one_entity_need_a_second_key_for_it() {
    let entities = vec![
        entity("Order", &["orderId"], &[]),
        entity("Line", &["orderId", "lineId"], &[]),
        entity("Event", &["orderId", "eventId"], &[]),
        entity("Note", &["orderId", "noteId"], &[]),
    ];
    let with = |other: &str| read(other, &["Order", other], &["orderId"], None);
    let of = |others: &[&str]| {
        let patterns = others.iter().map(|other| with(other)).collect();
        designed(&problem(entities.clone(), patterns, put_each(&entities))).expect("a design")
    };
    assert_eq!(of(&["Line", "Event"]).gsis, 0);
    assert_eq!(of(&["Line", "Event", "Note"]).gsis, 1);
}
