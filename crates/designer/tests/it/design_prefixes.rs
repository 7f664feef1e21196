//! Prefixes that a model fixes for its entities.

use keywright_designer::design::{KeyStyle, NoChoice, Wanted, choose, verify};
use keywright_model::Model;
use keywright_workbench::price::{Prices, TODAY};

use crate::support::{check, model};

fn orders(first: &str, second: &str) -> Model {
    model(&format!(
        "format: 1
model: orders
tables: {{Shop: {{key: {{PK: S, SK: S}}}}}}
entities:
  Customer: {{count: 1000, size: 300, unique: [[customerId]], prefix: CUSTOMER, attrs: {{customerId: S, name: S}}}}
  Order: {{count: 20000, size: 300, unique: [[orderId]], prefix: {first}, attrs: {{orderId: S, customerId: S, total: N}}}}
  Part: {{count: 80000, size: 100, unique: [[orderId, no]], parent: Order, prefix: {second}, attrs: {{orderId: S, no: N, sku: S}}}}
patterns:
  - {{id: P1, get: Customer, given: {{customerId: eq}}, rate: 5}}
  - {{id: P2, query: [Order, Part], given: {{orderId: eq}}, returns: {{avg: 5, page: 50}}, rate: 20}}
  - {{id: P3, query: Order, given: {{customerId: eq}}, returns: {{avg: 20, page: 50}}, rate: 5}}
  - {{id: W1, put: Order, if: not-exists, rate: 1}}
data: {{generate: {{seed: 9, sample: 60}}}}
"
    ))
}

fn wanted() -> Wanted<'static> {
    Wanted { table: None, indexes: 5, keep: false, explain: false, style: KeyStyle::default() }
}

fn designed(model: &Model) -> Result<Model, NoChoice> {
    let prices = Prices::built_in(TODAY).expect("it is built in");
    let read_file = |name: &str| Err(format!("no file {name}"));
    choose(model, &wanted(), &prices, &read_file, &mut |_| {}).map(|choice| choice.billed.model)
}

fn templates(model: &Model, entity: &str) -> Vec<String> {
    let own = model.entity(entity).expect("it is there");
    own.key.templates.iter().map(|(_, template)| template.to_string()).collect()
}

#[test]
fn an_entitys_keys_begin_with_its_prefix() {
    let written = designed(&orders("ORDER", "PART")).expect("a design");
    let customer = templates(&written, "Customer");
    assert!(customer[0].starts_with("CUSTOMER#{customerId}"), "{customer:?}");
    assert!(customer[1].starts_with("CUSTOMER#"), "{customer:?}");
    let order = templates(&written, "Order");
    assert!(order.iter().all(|own| own.starts_with("ORDER#")), "{order:?}");
    let part = templates(&written, "Part");
    assert!(part[0].starts_with("ORDER#{orderId}") && part[1].starts_with("PART#"), "{part:?}");
    for own in verify(&written).expect("it runs") {
        assert!(own.agrees(), "{own:?}");
    }
    assert!(check(&written).passes());
}

#[test]
fn a_prefix_with_which_a_pattern_cannot_be_answered_is_refused_with_its_place() {
    // A page of an order with its lines begins with the order, and LINE sorts before ORDER.
    let Err(NoChoice::Faults(faults)) = designed(&orders("ORDER", "LINE")) else { panic!("it is refused") };
    assert!(faults.iter().all(|fault| fault.at.line > 4), "{faults:?}");
    assert!(faults.iter().any(|fault| fault.text.contains("`prefix`")), "{faults:?}");
}

#[test]
fn two_entities_of_a_table_cannot_have_one_prefix() {
    let Err(NoChoice::Faults(faults)) = designed(&orders("ORDER", "ORDER")) else { panic!("it is refused") };
    let lines: Vec<usize> = faults.iter().map(|fault| fault.at.line).collect();
    assert_eq!(lines, [7]);
    assert!(faults.iter().all(|fault| fault.text.contains("`Order` and `Part`")), "{faults:?}");
}
