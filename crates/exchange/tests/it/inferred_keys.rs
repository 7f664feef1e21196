//! An imported model writes the keys that its items have: every inferred template makes the stored key of
//! every item from the item's attributes, in the table and in each index.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;

use keywright_exchange::import::import;
use keywright_exchange::live;
use keywright_model::data::{attributes_from_keys, complete, entity_of};
use keywright_model::item_json::read_item;
use keywright_model::json::Json;
use keywright_model::{Model, Table, parse, write};
use keywright_semantics::value::Item;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{cases, live_table};

/// A table with an overloaded index, one with a partition key only, and one of plain attributes.
const TABLE: &str = r#"{"TableName":"App","BillingMode":"PAY_PER_REQUEST",
  "AttributeDefinitions":[{"AttributeName":"PK","AttributeType":"S"},{"AttributeName":"SK","AttributeType":"S"},
    {"AttributeName":"PK1","AttributeType":"S"},{"AttributeName":"SK1","AttributeType":"S"},{"AttributeName":"PK2","AttributeType":"S"},
    {"AttributeName":"owner","AttributeType":"S"},{"AttributeName":"size","AttributeType":"N"}],
  "KeySchema":[{"AttributeName":"PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],
  "GlobalSecondaryIndexes":[
    {"IndexName":"GSI1","KeySchema":[{"AttributeName":"PK1","KeyType":"HASH"},{"AttributeName":"SK1","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
    {"IndexName":"GSI2","KeySchema":[{"AttributeName":"PK2","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}},
    {"IndexName":"byOwner","KeySchema":[{"AttributeName":"owner","KeyType":"HASH"},{"AttributeName":"size","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]}"#;

/// Where items of a table are imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Live,
    /// A Workbench document; with facets, each kind of item has one.
    Workbench {
        facets: bool,
    },
}

/// Items of a table by kind.
type Kinds = BTreeMap<String, Vec<Json>>;

/// The model of these items, as its file reads, and the notes of the import.
fn imported(origin: Origin, kinds: &Kinds) -> (Model, Vec<String>) {
    let (made, notes) = match origin {
        Origin::Live => {
            let items = kinds.values().flatten().cloned().collect();
            let made = live::import("app", &[live_table(TABLE, items)]).expect("a model");
            (made.model, made.notes)
        }
        Origin::Workbench { facets } => {
            let made = import("app", &document(facets, kinds).compact(), None).expect("a model");
            (made.model, made.notes)
        }
    };
    let text = write(&made);
    let model = parse(&text);
    (model.unwrap_or_else(|faults| panic!("{}\n{text}", crate::support::fault_lines(&faults))), notes)
}

fn document(facets: bool, kinds: &Kinds) -> Json {
    let key = |names: &[(&str, &str, &str)]| {
        Json::object(names.iter().map(|(role, name, value_type)| {
            let own = [("AttributeName", Json::text(*name)), ("AttributeType", Json::text(*value_type))];
            (*role, Json::object(own))
        }))
    };
    let index = |name: &str, names: &[(&str, &str, &str)]| {
        Json::object([("IndexName", Json::text(name)), ("KeyAttributes", key(names))])
    };
    let items = || kinds.values().flatten().cloned().collect();
    let mut table = Json::object([
        ("TableName", Json::text("App")),
        ("KeyAttributes", key(&[("PartitionKey", "PK", "S"), ("SortKey", "SK", "S")])),
        (
            "GlobalSecondaryIndexes",
            Json::List(vec![
                index("GSI1", &[("PartitionKey", "PK1", "S"), ("SortKey", "SK1", "S")]),
                index("GSI2", &[("PartitionKey", "PK2", "S"), ("SortKey", "SK", "S")]),
                index("byOwner", &[("PartitionKey", "owner", "S"), ("SortKey", "size", "N")]),
            ]),
        ),
    ]);
    if facets {
        let facet = |(name, items): (&String, &Vec<Json>)| {
            Json::object([("FacetName", Json::text(name)), ("TableData", Json::List(items.clone()))])
        };
        table.set("TableFacets", Json::List(kinds.iter().map(facet).collect()));
    } else {
        table.set("TableData", Json::List(items()));
    }
    Json::object([("ModelName", Json::text("app")), ("DataModel", Json::List(vec![table]))])
}

/// What the model writes otherwise than it is stored, one line for each item. A value with a delimiter can
/// let an item fit the keys of several entities: one of them is that of the item.
fn wrong(origin: Origin, model: &Model, kinds: &Kinds) -> Vec<String> {
    let table = &model.tables[0];
    let items = kinds.iter().flat_map(|(kind, items)| items.iter().map(move |item| (kind, item)));
    let differing = items.filter_map(|(kind, json)| {
        let item = read_item(json).expect("an item").item;
        // A facet is the entity of its items, whichever keys others have.
        let facet = (origin == Origin::Workbench { facets: true }).then(|| kind.clone());
        let Some(entity) = facet.clone().or_else(|| entity_of(model, &table.name, &item)) else {
            return Some(format!("no entity: {item:?}"));
        };
        let fault = wrong_in(model, table, &entity, &item)?;
        let others = model.entities.iter().filter(|_| facet.is_none());
        let by_another =
            others.map(|other| wrong_in(model, table, &other.name, &item)).any(|own| own.is_none());
        (!by_another).then_some(fault)
    });
    differing.collect()
}

fn wrong_in(model: &Model, table: &Table, name: &str, item: &Item) -> Option<String> {
    let entity = model.entity(name).expect("it was found");
    let is_made = |key: &str| entity.template(key).is_some_and(|template| template.whole() != Some(key));
    let keys: Vec<&str> = table
        .key_parts()
        .chain(table.indexes.iter().flat_map(keywright_model::Index::key_parts))
        .map(|part| part.name.as_str())
        .collect();
    let mut bare = item.clone();
    bare.retain(|name, _| !(keys.contains(&name.as_str()) && is_made(name)));
    bare.extend(attributes_from_keys(model, entity, item));
    let made = match complete(model, entity, bare) {
        Ok(made) => made,
        Err(fault) => return Some(format!("{name}: {fault}: {item:?}")),
    };
    let part = |own: &Item, names: &[&str]| -> Option<Vec<_>> {
        names.iter().map(|name| own.get(name).cloned()).collect()
    };
    let own: Vec<&str> = table.key_parts().map(|part| part.name.as_str()).collect();
    let indexes = table.indexes.iter().map(|index| {
        (index.name.as_str(), index.key_parts().map(|part| part.name.as_str()).collect::<Vec<_>>())
    });
    let differing = std::iter::once(("the table", own)).chain(indexes).find_map(|(place, names)| {
        let (stored, made) = (part(item, &names), part(&made, &names));
        (stored != made).then(|| format!("{name} in {place}: stored {stored:?}, made {made:?}"))
    });
    differing.map(|text| format!("{text} of {item:?}"))
}

/// An item in short form: `n:7` is a number.
fn item(members: &[(&str, &str)]) -> Json {
    Json::object(members.iter().map(|(name, text)| {
        let value = match text.strip_prefix("n:") {
            Some(number) => ("N", Json::text(number)),
            None => ("S", Json::text(*text)),
        };
        (*name, Json::object([value]))
    }))
}

fn kinds(named: &[(&str, Vec<Json>)]) -> Kinds {
    named.iter().map(|(name, items)| ((*name).to_owned(), items.clone())).collect()
}

fn template(model: &Model, entity: &str, key: &str) -> String {
    let entity = model.entity(entity).unwrap_or_else(|| panic!("{entity}"));
    entity.template(key).map(|template| template.to_string()).unwrap_or_default()
}

#[test]
fn the_two_ends_of_a_message_are_two_variables() {
    for held in [true, false] {
        let user = |id: &str| {
            item(&[
                ("PK", &format!("USER#{id}")),
                ("SK", "PROFILE"),
                ("PK1", &format!("USER#{id}")),
                ("SK1", "PROFILE"),
                ("name", "x"),
            ])
        };
        let message = |from: &str, to: &str, id: &str| {
            let mut members = vec![("text", "hello")];
            let keys =
                [format!("USER#{from}"), format!("MSG#{id}"), format!("USER#{to}"), format!("MSG#{id}")];
            members.extend(["PK", "SK", "PK1", "SK1"].into_iter().zip(keys.iter().map(String::as_str)));
            if held {
                members.push(("recipient", to));
            }
            item(&members)
        };
        let all = kinds(&[
            ("USER", ["u1", "u2", "u3"].map(user).to_vec()),
            ("MSG", vec![message("u1", "u2", "m1"), message("u1", "u3", "m2"), message("u2", "u1", "m3")]),
        ]);
        for origin in [Origin::Live, Origin::Workbench { facets: true }, Origin::Workbench { facets: false }]
        {
            let (model, notes) = imported(origin, &all);
            assert_eq!(wrong(origin, &model, &all), Vec::<String>::new(), "{origin:?}");
            assert_eq!(template(&model, "MSG", "PK"), "USER#{userId}");
            let other = if held { "USER#{recipient}" } else { "USER#{userId2}" };
            assert_eq!(template(&model, "MSG", "PK1"), other, "{origin:?}");
            // All kinds of items in the index's collections name its key alike, where that holds.
            let own = if held { other } else { "USER#{userId}" };
            assert_eq!(template(&model, "USER", "PK1"), own);
            let note = "because `USER#{userId}` makes `USER#u1` of an item whose PK1 is `USER#u2`";
            assert_eq!(notes.iter().any(|own| own.contains(note)), !held, "{notes:?}");
        }
    }
}

#[test]
fn an_index_that_items_are_in_for_other_reasons_than_their_attributes_has_a_raw_key() {
    let task = |at: usize| {
        let (pk, sk, status) = (format!("USER#u{}", at % 3), format!("TASK#t{at}"), ["open", "done"][at % 2]);
        let (index, mut members) = (format!("STATUS#{status}"), Vec::new());
        members.extend([("PK", pk.as_str()), ("SK", &sk), ("status", status)]);
        if at % 4 < 2 {
            members.push(("PK2", &index));
        }
        item(&members)
    };
    let all = kinds(&[("TASK", (0..16).map(task).collect())]);
    let (model, notes) = imported(Origin::Live, &all);
    assert_eq!(wrong(Origin::Live, &model, &all), Vec::<String>::new());
    let entity = &model.entities[0];
    assert_eq!(entity.template("PK2").expect("a key").to_string(), "{PK2}");
    assert_eq!(entity.attribute("PK2").expect("an attribute").present_ppm, Some(500_000));
    assert!(
        notes.iter().any(|note| note.contains("puts all 16 items into GSI2, and 8 are in it")),
        "{notes:?}"
    );
}

#[test]
fn a_variable_that_only_a_sparse_index_shows_is_present_where_the_index_is() {
    let user = |at: usize| {
        let (pk, mail) = (format!("USER#u{at}"), format!("MAIL#m{at}"));
        let mut members = vec![("PK", pk.as_str()), ("SK", "PROFILE")];
        members.extend(at.is_multiple_of(4).then_some(("PK2", mail.as_str())));
        item(&members)
    };
    let all = kinds(&[("USER", (0..16).map(user).collect())]);
    let (model, _) = imported(Origin::Live, &all);
    assert_eq!(wrong(Origin::Live, &model, &all), Vec::<String>::new());
    let names: Vec<&str> =
        model.entities[0].slot("GSI2").expect("in the index").templates[0].1.attributes().collect();
    let attribute = model.entities[0].attribute(names[0]).expect("an attribute");
    assert_eq!(attribute.present_ppm, Some(250_000));
}

/// One segment of a key in a random design.
#[derive(Clone, Debug)]
enum Segment {
    Word(&'static str),
    /// One of the entity's attributes, by number; a number can be padded.
    Value(usize, bool),
}

/// An attribute of a random design.
#[derive(Clone, Debug)]
struct Attribute {
    kind: Kind,
    is_stored: bool,
    /// Whether every item has it.
    always: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Name,
    Number,
    Few,
    Same,
    Odd,
}

/// Which items of an entity are in an index.
#[derive(Clone, Copy, Debug)]
enum Membership {
    /// Those that have the attributes of its key.
    Having,
    /// Some of them.
    Some,
}

#[derive(Clone, Debug)]
struct Entity {
    attributes: Vec<Attribute>,
    key: [Vec<Segment>; 2],
    first: Option<([Vec<Segment>; 2], Membership)>,
    second: Option<(Vec<Segment>, Membership)>,
    is_owned: bool,
    number: usize,
}

const ATTRIBUTES: usize = 4;
const NAMES: [&str; 6] = ["u1", "u2", "u3", "amber", "birch", "7"];
const ODD: [&str; 6] = ["a#b", "{x}", "2026-01-02T10:00:00Z", "x:y", "007", "é"];

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let word = select(vec!["USER", "ORDER", "MSG", "user", "META", "A"]).prop_map(Segment::Word);
    let value = || (0..ATTRIBUTES, any::<bool>()).prop_map(|(at, padded)| Segment::Value(at, padded));
    prop_oneof![
        (word.clone(), value()).prop_map(|(word, value)| vec![word, value]),
        (word.clone(), value(), value()).prop_map(|(word, one, two)| vec![word, one, two]),
        (word.clone(), value(), word.clone(), value()).prop_map(|(a, one, b, two)| vec![a, one, b, two]),
        word.prop_map(|word| vec![word]),
        value().prop_map(|value| vec![value]),
    ]
}

fn entity() -> impl Strategy<Value = Entity> {
    let kind =
        select(vec![Kind::Name, Kind::Number, Kind::Few, Kind::Same, Kind::Odd, Kind::Name, Kind::Number]);
    let attribute = (kind, prop::bool::weighted(0.7), prop::bool::weighted(0.7))
        .prop_map(|(kind, is_stored, always)| Attribute { kind, is_stored, always });
    let membership = || select(vec![Membership::Having, Membership::Having, Membership::Some]);
    (
        vec(attribute, ATTRIBUTES),
        [segments(), segments()],
        option::of(([segments(), segments()], membership())),
        option::of((segments(), membership())),
        any::<bool>(),
        1..10_usize,
    )
        .prop_map(|(attributes, key, first, second, is_owned, number)| Entity {
            attributes,
            key,
            first,
            second,
            is_owned,
            number,
        })
}

impl Entity {
    /// Items whose values follow from a seed.
    fn items(&self, name: &str, is_typed: bool, seed: usize) -> Vec<Json> {
        (0..self.number).map(|row| self.item(name, is_typed, seed, row)).collect()
    }

    fn item(&self, name: &str, is_typed: bool, seed: usize, row: usize) -> Json {
        let dice = |salt: usize, sides: usize| {
            let mixed = (seed + row * 31 + salt * 101).wrapping_mul(2_654_435_761) >> 7;
            mixed % sides
        };
        let text = |at: usize| match self.attributes[at].kind {
            Kind::Name => format!(
                "{}{}",
                NAMES[dice(at, NAMES.len())],
                if at == 0 { row.to_string() } else { String::new() }
            ),
            Kind::Number => (row * 9 + at).to_string(),
            Kind::Few => ["open", "done"][dice(at, 2)].to_owned(),
            Kind::Same => "acme".to_owned(),
            Kind::Odd => format!("{}{row}", ODD[dice(at, ODD.len())]),
        };
        let is_number = |at: usize| matches!(self.attributes[at].kind, Kind::Number);
        let has = |at: usize| self.attributes[at].always || dice(at + 20, 3) > 0;
        let made = |segments: &[Segment]| {
            let parts = segments.iter().map(|segment| match segment {
                Segment::Word(word) => (*word).to_owned(),
                Segment::Value(at, true) if is_number(*at) => format!("{:0>4}", text(*at)),
                Segment::Value(at, _) => text(*at),
            });
            parts.collect::<Vec<_>>().join("#")
        };
        let in_index = |segments: &[Segment], membership: Membership, salt: usize| {
            let having = segments.iter().all(|segment| match segment {
                Segment::Word(_) => true,
                Segment::Value(at, _) => has(*at),
            });
            having && (matches!(membership, Membership::Having) || dice(salt, 2) == 0)
        };
        let in_key = |at: usize| {
            let mut parts = self.key.iter().flatten();
            parts.any(|segment| matches!(segment, Segment::Value(own, _) if *own == at))
        };
        let mut members: Vec<(String, String)> =
            vec![("PK".to_owned(), made(&self.key[0])), ("SK".to_owned(), made(&self.key[1]))];
        for at in 0..ATTRIBUTES {
            if self.attributes[at].is_stored && (has(at) || in_key(at)) {
                let sign = if is_number(at) { "n:" } else { "" };
                members.push((["id", "ref", "status", "rank"][at].to_owned(), format!("{sign}{}", text(at))));
            }
        }
        if let Some(([partition, sort], membership)) = &self.first
            && in_index(&[partition.as_slice(), sort].concat(), *membership, 40)
        {
            members.extend([("PK1".to_owned(), made(partition)), ("SK1".to_owned(), made(sort))]);
        }
        if let Some((partition, membership)) = &self.second
            && in_index(partition, *membership, 41)
        {
            members.push(("PK2".to_owned(), made(partition)));
        }
        if self.is_owned && dice(42, 4) > 0 {
            members.push(("owner".to_owned(), NAMES[dice(43, 3)].to_owned()));
            members.push(("size".to_owned(), format!("n:{}", dice(44, 900))));
        }
        if is_typed {
            members.push(("entityType".to_owned(), name.to_owned()));
        }
        let members: Vec<(&str, &str)> =
            members.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        item(&members)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn a_model_imported_from_random_items_writes_their_keys(
        entities in vec(entity(), 1..=4),
        is_typed in any::<bool>(),
        origin in select(vec![Origin::Live, Origin::Workbench { facets: false }, Origin::Workbench { facets: true }]),
        seed in 0..1000_usize,
    ) {
        let mut keys = std::collections::BTreeSet::new();
        let mut all = Kinds::new();
        for (entity, name) in entities.iter().zip(["Ant", "Bee", "Cat", "Dog"]) {
            let mut items = entity.items(name, is_typed, seed);
            items.retain(|item| keys.insert(["PK", "SK"].map(|name| item.get(name).expect("a key").compact())));
            if !items.is_empty() {
                all.insert(name.to_owned(), items);
            }
        }
        let (model, notes) = imported(origin, &all);
        let wrong = wrong(origin, &model, &all);
        prop_assert!(wrong.is_empty(), "{}\n{}\n{}", wrong.join("\n"), notes.join("\n"), write(&model));
    }
}
