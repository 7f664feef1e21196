//! Designs that are more than one table with full indexes: embedded entities, projections, derived items,
//! local indexes, a second table, and kept parts.

use std::collections::BTreeSet;

use super::cases::{designed, entity, owned, problem, put_each, read, update, write};
use crate::design::{
    Design, Entity, Kept, KeptIndex, KeptKey, Parent, Pattern, Problem, Projected, Proof, Slot, View,
    WriteKind, name,
};
use keywright_model::{MicroPerSecond, Template};
use keywright_semantics::schema::TableClass;

fn slots(design: &Design) -> Vec<Slot> {
    design.asked.iter().map(|asked| asked.slot).collect()
}

fn orders(children_max: u64) -> Problem {
    let mut item = entity("OrderItem", &["orderId", "productId"], &[]);
    item.parent = Some(Parent { name: "Order".to_owned(), children_max });
    let entities = vec![entity("Order", &["orderId"], &[]), item];
    let patterns = [
        read("order", &["Order"], &["orderId"], None),
        read("items", &["OrderItem"], &["orderId"], None),
        read("both", &["Order", "OrderItem"], &["orderId"], None),
    ];
    let patterns = patterns.map(|pattern| Pattern { results: 1, ..pattern }).to_vec();
    let mut writes = put_each(&entities);
    for write in &mut writes {
        "place".clone_into(&mut write.id);
    }
    problem(entities, patterns, writes)
}

#[test]
fn few_items_that_are_only_read_with_their_parent_become_its_list() {
    let design = designed(&orders(20)).expect("a design");
    let embedded = design.embedded.first().expect("embedded");
    assert_eq!((embedded.child.as_str(), embedded.list.as_str()), ("OrderItem", "orderItems"));
    assert_eq!(design.problem.writes.len(), 1, "the order's write takes its items along");
    let mut apart = orders(20);
    apart.entities.iter_mut().for_each(|entity| entity.parent = None);
    assert!(design.monthly.total() < designed(&apart).expect("a design").monthly.total());
}

#[test]
fn items_that_may_not_fit_their_parent_or_are_read_alone_stay_items() {
    // 2000 items of 300 bytes are more than 400 KB.
    assert_eq!(designed(&orders(2000)).expect("a design").embedded, []);
    let mut alone = orders(20);
    alone.patterns.push(read("sales", &["OrderItem"], &["productId"], None));
    assert_eq!(designed(&alone).expect("a design").embedded, []);
}

fn large(name: &str, id: &[&str], others: &[&str]) -> Entity {
    Entity { size_bytes: 5000, ..entity(name, id, others) }
}

fn listed(reads: &[&str]) -> Problem {
    let entities = vec![large("Order", &["orderId"], &["customerId", "total", "status"])];
    let mut list = read("orders", &["Order"], &["customerId"], None);
    list.reads = Some(owned(reads).into_iter().collect());
    let mut writes = put_each(&entities);
    writes.push(update("Order", &["status"]));
    problem(entities, vec![read("order", &["Order"], &["orderId"], None), list], writes)
}

#[test]
fn an_index_of_large_items_projects_only_the_attributes_that_are_read() {
    let held = |reads| {
        let design = designed(&listed(reads)).expect("a design");
        design.tables.first().expect("a table").projections.clone()
    };
    let only = |names: &[&str]| Projected::Only(owned(names).into_iter().collect::<BTreeSet<_>>());
    assert_eq!(held(&["total"]), [(Slot::Global(1), only(&["total"]))]);
    assert_eq!(held(&[]), [(Slot::Global(1), only(&[]))], "keys only");
}

#[test]
fn small_items_are_projected_whole_since_nothing_is_saved() {
    let mut small = listed(&["total"]);
    for entity in &mut small.entities {
        entity.size_bytes = 60;
    }
    // Only the update makes a difference: it rewrites an entry only if the index projects what it changes.
    small.writes.pop();
    let design = designed(&small).expect("a design");
    assert_eq!(design.tables.first().map(|table| table.projections.len()), Some(0));
}

fn followers(strong: bool) -> Problem {
    let entities = vec![entity("Follow", &["followerId", "followedId"], &[])];
    let mut patterns = vec![
        read("follows", &["Follow"], &["followerId"], None),
        read("followed", &["Follow"], &["followedId"], None),
    ];
    for pattern in &mut patterns {
        pattern.strong = strong;
    }
    let writes = put_each(&entities);
    problem(entities, patterns, writes)
}

#[test]
fn strong_reads_under_two_partitions_need_a_derived_item() {
    let design = designed(&followers(true)).expect("a design");
    assert_eq!(slots(&design), [Slot::Table, Slot::Table]);
    assert_eq!((design.gsis, design.proof.clone()), (0, Proof::NoIndexes));
    let copies: Vec<_> = design.placed.iter().filter(|own| own.slot == Slot::Copy).collect();
    assert_eq!(copies.len(), 1);
    let eventual = designed(&followers(false)).expect("a design");
    assert_eq!(eventual.gsis, 1, "where reads may be eventual an index is cheaper");
    assert!(eventual.monthly.total() < design.monthly.total());
}

fn strong_orders() -> Problem {
    let entities = vec![entity("Order", &["customerId", "orderId"], &["date", "status"])];
    let mut patterns = vec![
        read("by id", &["Order"], &["customerId", "orderId"], None),
        read("by date", &["Order"], &["customerId"], Some("date")),
        read("by status", &["Order"], &["customerId", "status"], None),
    ];
    for pattern in &mut patterns {
        pattern.strong = true;
    }
    let mut writes = put_each(&entities);
    writes.push(update("Order", &["date", "status"]));
    problem(entities, patterns, writes)
}

#[test]
fn strong_reads_of_one_partition_in_other_orders_use_local_indexes() {
    let design = designed(&strong_orders()).expect("a design");
    assert_eq!(design.gsis, 0);
    assert_eq!(design.tables.first().map(|table| table.locals), Some(2));
    assert!(slots(&design).iter().all(|slot| slot.is_strong()));
}

#[test]
fn no_local_index_where_a_collection_could_pass_10_gb() {
    let mut hot = strong_orders();
    for entity in &mut hot.entities {
        entity.count = 100_000_000;
        for own in entity.attributes.iter_mut().filter(|own| own.name == "customerId") {
            own.hottest_ppm = Some(900_000);
        }
    }
    for write in &mut hot.writes {
        write.peak = MicroPerSecond(1);
    }
    assert!(designed(&hot).is_err());
}

#[test]
fn r81_much_data_that_is_rarely_read_moves_to_a_table_of_infrequent_access() {
    let mut archive = large("Archive", &["archiveId"], &[]);
    archive.count = 10_000_000;
    let entities = vec![entity("Order", &["orderId"], &[]), archive];
    let mut rare = read("archived", &["Archive"], &["archiveId"], None);
    rare.rate = MicroPerSecond(1000);
    let patterns = vec![read("order", &["Order"], &["orderId"], None), rare];
    let mut writes = put_each(&entities);
    for write in writes.iter_mut().filter(|write| write.entity == "Archive") {
        write.rate = MicroPerSecond(1000);
    }
    let design = designed(&problem(entities, patterns, writes)).expect("a design");
    let classes: Vec<_> =
        design.tables.iter().map(|table| (table.class, table.entities.iter().copied().collect())).collect();
    assert_eq!(classes, [(TableClass::Standard, vec![0]), (TableClass::StandardInfrequentAccess, vec![1])]);
}

fn kept_orders() -> Problem {
    let entities = vec![
        entity("Order", &["orderId"], &["customerId", "status"]),
        entity("Note", &["noteId"], &["customerId"]),
    ];
    let patterns = vec![
        read("order", &["Order"], &["orderId"], None),
        read("orders", &["Order"], &["customerId"], None),
        read("notes", &["Note"], &["customerId"], None),
        read("in a status", &["Order"], &["status"], None),
    ];
    let mut writes = put_each(&entities);
    writes.push(update("Order", &["status"]));
    writes.push(write("Note", WriteKind::Delete));
    problem(entities, patterns, writes)
}

fn templates(text: &str) -> Vec<Template> {
    Template::parse(text).into_iter().collect()
}

fn kept(slot: Slot, by: &str, partition: &str, sort: &str, rest: &[&str]) -> KeptKey {
    let view = View { entity: 0, partition: owned(&[by]), sort: owned(rest), shards: 1 };
    KeptKey {
        slot,
        view,
        partition: templates(partition),
        sort: templates(sort),
        tells: [by].into_iter().chain(rest.iter().copied()).map(str::to_owned).collect(),
    }
}

#[test]
fn r82_existing_keys_stay_and_only_missing_ones_are_designed() {
    let mut problem = kept_orders();
    problem.kept = Kept {
        keys: vec![
            kept(Slot::Table, "orderId", "o#{orderId}", "o", &[]),
            kept(Slot::Global(1), "customerId", "c#{customerId}", "o#{orderId}", &["orderId"]),
        ],
        globals: vec![KeptIndex { name: "byCustomer".to_owned(), includes: None, open: true }],
        locals: Vec::new(),
    };
    let design = designed(&problem).expect("a design");
    assert_eq!(design.gsis, 2);
    assert!(
        matches!(design.proof, Proof::Impossible { gsis: 1, .. } | Proof::Possible { gsis: 1, .. }),
        "{:?}",
        design.proof
    );
    let text = |design: &Design, entity: &str, slot: Slot| {
        let named = name(design).into_iter().find(|own| own.entity == entity && own.slot == slot);
        named.map(|own| (own.partition, own.sort))
    };
    let owned = |one: &str, other: &str| Some((one.to_owned(), other.to_owned()));
    assert_eq!(text(&design, "Order", Slot::Table), owned("o#{orderId}", "o"));
    assert_eq!(text(&design, "Order", Slot::Global(1)), owned("c#{customerId}", "o#{orderId}"));
    problem.patterns.pop();
    let design = designed(&problem).expect("a design");
    assert_eq!((design.gsis, design.proof.clone()), (1, Proof::AllKept));
    let note = text(&design, "Note", Slot::Global(1)).expect("it joins the index that exists");
    assert_eq!(note, ("c#{customerId}".to_owned(), "n#".to_owned()));
}

#[test]
fn a_closed_index_takes_no_further_entities() {
    let mut problem = kept_orders();
    problem.patterns.pop();
    problem.kept.globals = vec![KeptIndex { name: "byCustomerId".to_owned(), includes: None, open: false }];
    problem.kept.keys = vec![
        kept(Slot::Table, "orderId", "{orderId}", "{orderId}", &[]),
        kept(Slot::Global(1), "customerId", "{customerId}", "{orderId}", &["orderId"]),
    ];
    let design = designed(&problem).expect("a design");
    let notes = design.placed.iter().filter(|own| own.view.entity == 1 && own.slot == Slot::Global(1));
    assert_eq!(notes.count(), 0);
    assert_eq!(design.gsis, 2);
}

#[test]
fn a_transaction_costs_twice_in_the_table_and_once_in_an_index() {
    let cost = |transactional| {
        let mut problem = kept_orders();
        for write in &mut problem.writes {
            write.transactional = transactional;
        }
        designed(&problem).expect("a design").monthly
    };
    let (plain, twice) = (cost(false), cost(true));
    assert_eq!(twice.base_writes, plain.base_writes + plain.base_writes);
    assert_eq!(twice.indexes, plain.indexes);
}
