//! Generated data follows the model's declarations: distinct
//! keys, numbers of values, formats, sizes, references.

use std::collections::{BTreeMap, BTreeSet};

use keywright_model::data::{Sample, load};
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::AttributeValue;
use proptest::prelude::*;

use crate::support::{cases, model, no_files};

fn generated(text: &str) -> Vec<Sample> {
    load(&model(text), &no_files).expect("items")
}

fn of<'a>(samples: &'a [Sample], entity: &'a str) -> impl Iterator<Item = &'a Sample> {
    samples.iter().filter(move |sample| sample.entity.as_deref() == Some(entity))
}

fn count(number: usize) -> u64 {
    u64::try_from(number).expect("few")
}

/// The number of items for each value of an attribute.
fn groups(samples: &[Sample], entity: &str, name: &str) -> BTreeMap<String, usize> {
    let mut groups = BTreeMap::new();
    for sample in of(samples, entity) {
        *groups.entry(format!("{:?}", sample.item.get(name))).or_insert(0) += 1;
    }
    groups
}

fn keys(samples: &[Sample], entity: &str) -> BTreeSet<String> {
    of(samples, entity).map(|it| format!("{:?} {:?}", it.item.get("pk"), it.item.get("sk"))).collect()
}

/// A model of objects that belong to users, where users are no entity.
fn objects(user: &str, sample: u64) -> String {
    format!(
        r#"
format: 1
model: m
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  O: {{count: 1000, key: {{pk: "u#{{u}}", sk: "o#{{id}}"}}, attrs: {{u: {user}, id: S}}}}
patterns: [{{id: Q, query: O, given: {{u: eq}}}}]
data: {{generate: {{seed: 1, sample: {sample}}}}}
"#
    )
}

#[test]
fn a_partition_attribute_has_as_many_values_as_it_is_declared_to_have() {
    for user in
        ["{type: S, distinct: 4}", "{type: S, values: [p, q, r, s]}", "{type: S, distinct: 4, format: uuid}"]
    {
        for (sample, items) in [(1000, 250), (100, 25)] {
            let samples = generated(&objects(user, sample));
            let groups = groups(&samples, "O", "u");
            assert_eq!(groups.len(), 4, "{user}");
            assert!(groups.values().all(|group| *group == items), "{user}: {groups:?}");
            assert_eq!(keys(&samples, "O").len(), samples.len(), "{user}");
        }
    }
}

#[test]
fn a_sample_keeps_the_items_under_a_key_and_at_least_ten_keys() {
    let numbers = |distinct: u64, sample: u64| {
        let samples = generated(&objects(&format!("{{type: S, distinct: {distinct}}}"), sample));
        (groups(&samples, "O", "u").len(), samples.len())
    };
    assert_eq!(numbers(100, 1000), (100, 1000));
    assert_eq!(numbers(500, 100), (50, 100));
    assert_eq!(numbers(100, 100), (10, 100));
    assert_eq!(numbers(30, 100), (10, 100));
}

#[test]
fn padded_numbers_restart_for_each_value_of_the_other_key_attributes() {
    let text = r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Job: {count: 1000, key: {pk: "j#{job}", sk: j}, attrs: {job: {type: S, format: uuid}}}
  Attempt: {count: 1500, parent: Job, key: {pk: "j#{job}", sk: "a#{no:pad(2)}"}, attrs: {job: {type: S, format: uuid}, no: N}}
patterns: [{id: Q, query: [Job, Attempt], given: {job: eq}}]
data: {generate: {seed: 1, sample: 1500}}
"#;
    let samples = generated(text);
    assert_eq!((of(&samples, "Attempt").count(), keys(&samples, "Attempt").len()), (1500, 1500));
}

#[test]
fn keys_made_of_a_reference_and_an_attribute_with_few_values_are_unique() {
    let text = r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  Dev: {count: 1000, key: {pk: "d#{dev}", sk: "d#"}, attrs: {dev: S}}
  Slot: {count: 20000, key: {pk: "d#{dev}", sk: "s#{slot:pad(4)}"}, attrs: {dev: S, slot: {type: N, distinct: 100}}}
patterns: [{id: Q, query: Slot, given: {dev: eq}, returns: {avg: 20}}]
data: {generate: {seed: 1, sample: SAMPLE}}
"#;
    for sample in ["100", "300", "1000", "5000"] {
        let samples = generated(&text.replace("SAMPLE", sample));
        assert_eq!(keys(&samples, "Slot").len(), of(&samples, "Slot").count(), "{sample}");
    }
}

#[test]
fn the_average_result_of_a_read_determines_the_items_per_key() {
    let text = objects("S", 1000).replace("given: {u: eq}", "given: {u: eq}, returns: {avg: 50}");
    let samples = generated(&text);
    assert_eq!(groups(&samples, "O", "u").len(), 20);
}

#[test]
fn keys_of_two_references_are_unique_in_a_small_sample() {
    let samples = generated(
        r#"
format: 1
model: shop
tables: {Shop: {key: {pk: S, sk: S}}}
entities:
  Product: {count: 10000, key: {pk: "p#{productId}", sk: "p#"}, attrs: {productId: S}}
  Order: {count: 1000000, key: {pk: "o#{orderId}", sk: "o#"}, attrs: {orderId: S}}
  Line: {count: 3000000, key: {pk: "o#{orderId}", sk: "l#{productId}"}, attrs: {orderId: S, productId: S}}
  Review:
    {count: 3000000, key: {pk: "r#{id}", sk: "r#"}, unique: [[orderId, productId]],
     attrs: {id: S, orderId: S, productId: S}}
data: {generate: {seed: 1, sample: 200}}
"#,
    );
    assert_eq!((of(&samples, "Order").count(), of(&samples, "Line").count()), (66, 200));
    assert_eq!(keys(&samples, "Line").len(), 200);
    let pairs: BTreeSet<String> = of(&samples, "Review")
        .map(|it| format!("{:?} {:?}", it.item["orderId"], it.item["productId"]))
        .collect();
    assert_eq!(pairs.len(), 200);
    let (orders, products) = (groups(&samples, "Order", "orderId"), groups(&samples, "Product", "productId"));
    for line in of(&samples, "Line") {
        assert!(orders.contains_key(&format!("{:?}", line.item.get("orderId"))));
        assert!(products.contains_key(&format!("{:?}", line.item.get("productId"))));
    }
}

#[test]
fn every_combination_is_used_when_there_are_only_as_many_as_items() {
    let samples = generated(
        r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  M: {count: 300, key: {pk: "t#{tenant}", sk: "d#{day}"},
      attrs: {tenant: {type: S, distinct: 10}, day: {type: S, format: date, distinct: 30}}}
  P: {count: 300, key: {pk: "p#{tenant}", sk: "d#{day}"},
      attrs: {tenant: {type: S, distinct: 3}, day: {type: S, format: date}}}
data: {generate: {seed: 3, sample: 300}}
"#,
    );
    assert_eq!(keys(&samples, "M").len(), 300);
    assert_eq!(groups(&samples, "M", "day").len(), 30);
    assert_eq!(keys(&samples, "P").len(), 300);
}

#[test]
fn the_hottest_values_have_their_share_and_all_values_occur() {
    let text = objects("{type: S, distinct: 50}", 1000).replace("attrs:", "skew: {u: hottest(0.3)}, attrs:");
    let samples = generated(&text);
    let groups = groups(&samples, "O", "u");
    let most = groups.values().max().copied().expect("some");
    assert_eq!(groups.len(), 50);
    assert!((250..350).contains(&most), "{most}");
}

#[test]
fn generated_items_take_no_key_of_an_inline_item() {
    let samples = generated(
        r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  O: {count: 50, key: {pk: "o#{id}", sk: "o#"}, attrs: {id: S}}
data: {generate: {seed: 1, sample: 50}, inline: {O: [{id: "1"}, {id: "7"}]}}
"#,
    );
    assert_eq!((samples.len(), keys(&samples, "O").len()), (52, 52));
}

#[test]
fn attributes_and_items_have_the_declared_sizes() {
    let samples = generated(
        r#"
format: 1
model: m
tables: {Tab: {key: {pk: S, sk: S}}}
entities:
  O: {count: 50, size: 5000, key: {pk: "o#{id}", sk: "o#"},
      attrs: {id: {type: S, size: 9}, body: {type: S, size: 900}, list: {type: L, size: 60}, map: {type: M, size: 60},
              bytes: {type: B, size: 70}, number: {type: N, size: 9}, huge: {type: S, size: 3000}}}
  Big: {count: 5, key: {pk: "b#{id}", sk: "b#"}, attrs: {id: S, body: {type: S, size: 300000}}}
data: {generate: {seed: 1, sample: 50}}
"#,
    );
    for sample in of(&samples, "O") {
        let size = |name: &str| keywright_semantics::size::value_bytes(&sample.item[name]);
        let names = ["id", "body", "list", "map", "bytes", "number", "huge"];
        assert_eq!(names.map(size), [9, 900, 60, 60, 70, 9, 3000], "{:?}", sample.item["number"]);
        assert_eq!(item_bytes(&sample.item), 5000);
    }
    assert!(of(&samples, "Big").all(|it| item_bytes(&it.item) > 300_000));
}

/// A small random model: key attributes of some types, and a
/// child identified by its parent and an attribute of its own.
fn small_model() -> impl Strategy<Value = (String, u64, u64)> {
    let kinds = prop_oneof![
        Just("S".to_owned()),
        (1_u64..40).prop_map(|distinct| format!("{{type: S, distinct: {distinct}}}")),
        (1_u64..40).prop_map(|distinct| format!("{{type: S, distinct: {distinct}, size: 9}}")),
        (2_u64..9).prop_map(|distinct| format!("{{type: S, format: uuid, distinct: {distinct}}}")),
        Just("{type: S, format: iso8601}".to_owned()),
        Just("{type: S, values: [a, b, c]}".to_owned()),
    ];
    let sorts = prop_oneof![
        Just("S"),
        Just("{type: S, format: iso8601}"),
        Just("{type: S, format: date}"),
        Just("{type: S, format: ulid}"),
        Just("{type: S, format: sequence}"),
    ];
    (kinds, sorts, 1_u64..80, 1_u64..250, 0_u64..200, any::<u16>()).prop_map(
        |(kind, sort, population, sample, size, seed)| {
            let text = format!(
                r#"
format: 1
model: m
tables: {{Tab: {{key: {{pk: S, sk: S}}}}}}
entities:
  P: {{count: {population}, size: {}, key: {{pk: "p#{{a}}", sk: "p#{{b}}"}}, attrs: {{a: {kind}, b: {sort}, note: S}}}}
  C: {{count: {}, parent: P, key: {{pk: "p#{{a}}", sk: "c#{{b}}#{{c}}"}}, unique: [[c, d]],
      attrs: {{a: {kind}, b: {sort}, c: S, d: {{type: N, distinct: 3}}}}}}
data: {{generate: {{seed: {seed}, sample: {sample}}}}}
"#,
                200 + size,
                population * 3,
            );
            (text, population, sample)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    #[test]
    fn generated_data_follows_the_declarations_of_small_models((text, population, sample) in small_model()) {
        let known = model(&text);
        let samples = generated(&text);
        prop_assert_eq!(&samples, &generated(&text));
        for entity in &known.entities {
            let items: Vec<&Sample> = of(&samples, &entity.name).collect();
            prop_assert_eq!(keys(&samples, &entity.name).len(), items.len(), "keys of {}", entity.name);
            for attribute in &entity.attributes {
                let own = count(groups(&samples, &entity.name, &attribute.name).len());
                let known = attribute.distinct.unwrap_or(u64::MAX);
                prop_assert!(own <= known);
                // A sample of the whole population has every declared value.
                if entity.name == "P" && sample >= population * 3 && attribute.distinct.is_some() {
                    prop_assert_eq!(own, known.min(population), "{}", attribute.name);
                }
            }
        }
        let size = known.entities[0].size_bytes;
        prop_assert!(of(&samples, "P").all(|it| Some(count(item_bytes(&it.item))) == size));
        let parents = keys(&samples, "P");
        for child in of(&samples, "C") {
            let text = |name: &str| match &child.item[name] {
                AttributeValue::S(text) => text.clone(),
                other => format!("{other:?}"),
            };
            let parent = format!(
                "{:?} {:?}",
                Some(AttributeValue::S(format!("p#{}", text("a")))),
                Some(AttributeValue::S(format!("p#{}", text("b"))))
            );
            prop_assert!(parents.contains(&parent), "{parent}");
        }
        // As many children per parent as declared, except for rounding.
        let (parents, children) = (count(of(&samples, "P").count()), count(of(&samples, "C").count()));
        prop_assert!(children <= parents * 3 + 2 && children + 3 > parents * 3 - 2 || parents == 1, "{parents} {children}");
    }
}
