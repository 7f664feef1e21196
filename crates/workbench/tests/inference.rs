//! Entities of live tables from nothing but their items: words of the design are told from values by counting.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::collections::{BTreeMap, BTreeSet};

use keywright_workbench::exchange::json::Json;
use keywright_workbench::exchange::live::{LiveTable, draft};
use keywright_workbench::exchange::to_model::to_model;
use keywright_workbench::model::{Model, parse, write};
use proptest::prelude::*;

/// Thirty words that could be anything, as names are.
const NAMES: [&str; 30] = [
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "ken", "laura",
    "mallory", "niaj", "olivia", "peggy", "rupert", "sybil", "trent", "victor", "walter", "xena", "yves",
    "zoe", "root", "anna", "bert", "cleo", "dora", "emil",
];

/// An item in short: `PK=…`, `SK=…` and attributes, `n:…` for numbers.
fn item(attributes: &[(&str, String)]) -> Json {
    Json::object(attributes.iter().map(|(name, text)| {
        let value = match text.strip_prefix("n:") {
            Some(number) => Json::object([("N", Json::text(number))]),
            None => Json::object([("S", Json::text(text))]),
        };
        (*name, value)
    }))
}

fn pair(partition: impl Into<String>, sort: impl Into<String>, attributes: &[&str]) -> Json {
    let keys = [("PK", partition.into()), ("SK", sort.into())];
    let more = attributes.iter().map(|name| (*name, "something else".to_owned()));
    item(&keys.into_iter().chain(more).collect::<Vec<_>>())
}

/// A live table with these items.
fn live(items: Vec<Json>) -> LiveTable {
    let index = items.iter().any(|item| item.get("GSI1PK").is_some());
    let (more, indexes) = if index {
        (
            r#",{"AttributeName":"GSI1PK","AttributeType":"S"}"#,
            r#","GlobalSecondaryIndexes":[{"IndexName":"GSI1","KeySchema":[{"AttributeName":"GSI1PK","KeyType":"HASH"},{"AttributeName":"SK","KeyType":"RANGE"}],"Projection":{"ProjectionType":"ALL"}}]"#,
        )
    } else {
        ("", "")
    };
    // A thousand times as many items as are shown.
    let count = items.len() * 1000;
    let text = format!(
        r#"{{"TableName":"app","AttributeDefinitions":[{{"AttributeName":"PK","AttributeType":"S"}},{{"AttributeName":"SK","AttributeType":"S"}}{more}],"KeySchema":[{{"AttributeName":"PK","KeyType":"HASH"}},{{"AttributeName":"SK","KeyType":"RANGE"}}],"BillingModeSummary":{{"BillingMode":"PAY_PER_REQUEST"}},"ItemCount":{count},"TableSizeBytes":{}{indexes}}}"#,
        count * 100
    );
    LiveTable {
        description: Json::parse(&text).expect("JSON"),
        time_to_live: None,
        backups: None,
        besides: Vec::new(),
        unanswered: Vec::new(),
        items,
    }
}

/// The model of a live table with these items; it passes its check without a key that two items share.
fn imported(items: Vec<Json>) -> Model {
    let made = to_model(&draft("app", &[live(items)]).expect("a draft")).model;
    let model = parse(&write(&made)).expect("a model file");
    let checked =
        keywright_workbench::check(&model, &|_| Err("no files".to_owned()), &mut |_| {}).expect("it runs");
    let shared: Vec<&str> = checked
        .findings
        .iter()
        .filter(|found| found.rule == "L010")
        .map(|found| found.text.as_str())
        .collect();
    assert_eq!(shared, Vec::<&str>::new(), "{}", write(&model));
    assert!(checked.passes(), "{}", write(&model));
    model
}

/// Entities with the templates of their keys, variables without names.
fn shapes(model: &Model) -> BTreeSet<String> {
    let shape = |template: String| {
        let mut shape = String::new();
        let mut rest = template.as_str();
        while let Some((word, after)) = rest.split_once('{') {
            shape.push_str(word);
            shape.push('*');
            rest = after.split_once('}').map_or("", |(_, rest)| rest);
        }
        shape + rest
    };
    let keys = model.entities.iter().map(|entity| {
        let own =
            |key: &str| entity.template(key).map(|template| shape(template.to_string())).unwrap_or_default();
        format!("{} {} | {}", entity.name, own("PK"), own("SK"))
    });
    keys.collect()
}

fn words(number: usize) -> Vec<String> {
    let (first, second) = ("bcdfglmnprst", "aeiou");
    let letter = |letters: &str, at: usize| letters.chars().nth(at % letters.len()).expect("a letter");
    let syllable = |at: usize| format!("{}{}", letter(first, at), letter(second, at / first.len()));
    (0..number).map(|at| format!("{}{}{}", syllable(at), syllable(at / 7 + 5), syllable(at / 60))).collect()
}

#[test]
fn users_whose_ids_are_words_are_one_entity_however_many_there_are() {
    for number in [1, 2, 3, 24, 200] {
        let names = if number == 200 {
            words(200)
        } else {
            NAMES[..number].iter().map(|name| (*name).to_owned()).collect()
        };
        let mut items = Vec::new();
        for name in &names {
            items.push(pair(format!("USER#{name}"), format!("USER#{name}"), &["bio"]));
            items.extend(
                (0..2).map(|at| pair(format!("USER#{name}"), format!("POST#{name}#{at}"), &["text"])),
            );
        }
        let wanted = BTreeSet::from(["USER USER#* | USER#*".to_owned(), "POST USER#* | POST#*#*".to_owned()]);
        assert_eq!(shapes(&imported(items)), wanted, "{number}");

        let mut items = Vec::new();
        for (at, name) in names.iter().enumerate() {
            items.push(pair(format!("USER#{name}"), "PROFILE", &["bio"]));
            items.extend(
                (0..2).map(|post| pair(format!("USER#{name}"), format!("POST#{at:04}{post}"), &["text"])),
            );
            let others = NAMES.iter().filter(|other| *other != name).take(4);
            items.extend(
                others.map(|other| pair(format!("USER#{name}"), format!("FOLLOWS#{other}"), &["at"])),
            );
        }
        let wanted = ["USER USER#* | PROFILE", "POST USER#* | POST#*", "FOLLOWS USER#* | FOLLOWS#*"];
        assert_eq!(shapes(&imported(items)), wanted.map(str::to_owned).into(), "{number}");
    }
}

#[test]
fn values_that_read_like_words_are_values_behind_every_kind_of_prefix() {
    let categories = ["books", "music", "toys", "food"];
    let products = (0..40)
        .map(|at| pair(format!("CATEGORY#{}", categories[at % 4]), format!("PRODUCT#{at}"), &["name"]));
    assert_eq!(
        shapes(&imported(products.collect())),
        BTreeSet::from(["PRODUCT CATEGORY#* | PRODUCT#*".to_owned()])
    );

    let countries = ["DE", "FR", "IT", "ES", "PL"];
    let mut items: Vec<Json> = Vec::new();
    for country in countries {
        let partition = format!("COUNTRY#{country}");
        items.push(pair(&partition, "META", &["population"]));
        items.extend(
            ["north", "south", "east", "west"]
                .map(|city| pair(&partition, format!("CITY#{city}"), &["population"])),
        );
        items.extend(
            ["theme", "lang", "tz"].map(|name| pair(&partition, format!("SETTING#{name}"), &["value"])),
        );
    }
    let wanted = ["COUNTRY COUNTRY#* | META", "CITY COUNTRY#* | CITY#*", "SETTING COUNTRY#* | SETTING#*"];
    assert_eq!(shapes(&imported(items)), wanted.map(str::to_owned).into());

    let keys = ["theme", "lang", "tz", "limits", "flags", "mail", "smtp", "quota", "beta", "logo"];
    let mut items: Vec<Json> = keys.map(|key| pair(format!("config:{key}"), "v", &["value"])).into();
    items.extend((0..50).map(|at| pair(format!("user:{at}"), "v", &["name"])));
    assert_eq!(
        shapes(&imported(items)),
        ["config config:* | v", "user user:* | v"].map(str::to_owned).into()
    );
}

#[test]
fn ids_with_digits_mails_and_uuids_are_values_as_before() {
    let ids: [fn(usize) -> String; 3] = [
        |at| format!("u{at}"),
        |at| format!("{}@example.com", NAMES[at]),
        |at| format!("8c3f{at:04}-aaaa-4bbb-8ccc-ddddeeeeffff"),
    ];
    for id in ids {
        let mut items = Vec::new();
        for at in 0..10 {
            items.push(pair(format!("USER#{}", id(at)), "PROFILE", &["bio"]));
            items.push(pair(
                format!("USER#{}", id(at)),
                format!("ORDER#2026-01-{:02}#{}", at + 1, id(at)),
                &["total"],
            ));
        }
        let wanted = ["USER USER#* | PROFILE", "ORDER USER#* | ORDER#*#*"];
        assert_eq!(shapes(&imported(items)), wanted.map(str::to_owned).into());
    }
}

#[test]
fn what_there_is_one_of_stays_a_word() {
    let mut items: Vec<Json> = (0..20).map(|at| pair(format!("USER#u{at}"), "METADATA", &["bio"])).collect();
    items.extend((0..20).map(|at| pair(format!("USER#u{at}"), "SETTINGS", &["theme", "language"])));
    items.push(pair("CONFIG", "SETTINGS", &["mail", "limit"]));
    items.push(pair("CONFIG", "VERSION", &["number"]));
    let found = shapes(&imported(items));
    assert!(found.iter().any(|shape| shape.ends_with(" CONFIG | SETTINGS")), "{found:?}");
    assert!(found.iter().any(|shape| shape.ends_with(" CONFIG | VERSION")), "{found:?}");
    assert!(found.iter().any(|shape| shape.ends_with(" USER#* | METADATA")), "{found:?}");
    assert!(found.iter().any(|shape| shape.ends_with(" USER#* | SETTINGS")), "{found:?}");
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn parts_of_an_order_that_have_attributes_of_their_own_are_entities_and_parts_that_are_alike_are_one() {
    let mut items = Vec::new();
    for at in 0..6 {
        items.push(pair(format!("ORDER#{at}"), "PART#header", &["customer", "total"]));
        items.push(pair(format!("ORDER#{at}"), "PART#shipping", &["street", "zip"]));
        items.extend(
            ["EUR", "USD", "GBP", "CHF", "JPY", "SEK"]
                .map(|currency| pair(format!("ORDER#{at}"), format!("PRICE#{currency}"), &["amount"])),
        );
    }
    let found = shapes(&imported(items));
    let wanted =
        ["header ORDER#* | PART#header", "shipping ORDER#* | PART#shipping", "PRICE ORDER#* | PRICE#*"];
    assert_eq!(found, wanted.map(str::to_owned).into());
}

#[test]
fn tenants_and_followers_whose_names_are_words_are_values() {
    let mut items = Vec::new();
    for tenant in ["acme", "globex", "initech"] {
        for name in &NAMES[..8] {
            items.push(pair(format!("TENANT#{tenant}#USER#{name}"), "PROFILE", &["mail"]));
            items.push(pair(format!("TENANT#{tenant}#USER#{name}"), format!("LIKE#p1#{name}"), &["at"]));
        }
    }
    let wanted = ["USER TENANT#*#USER#* | PROFILE", "LIKE TENANT#*#USER#* | LIKE#*#*"];
    assert_eq!(shapes(&imported(items)), wanted.map(str::to_owned).into());
}

#[test]
fn an_index_of_open_tasks_alone_is_sparse_and_one_word_of_all_is_a_word() {
    for third in [true, false] {
        let items = (0..30).map(|at| {
            let mut own = vec![("PK", format!("USER#{}", NAMES[at])), ("SK", format!("TASK#{at}"))];
            if !third || at % 3 == 0 {
                own.push(("GSI1PK", "OPEN".to_owned()));
            }
            item(&own)
        });
        let model = imported(items.collect());
        let template = model.entities[0].template("GSI1PK").map(|template| template.to_string());
        assert_eq!(template.as_deref(), Some(if third { "{GSI1PK}" } else { "OPEN" }));
    }
}

#[test]
fn an_attribute_of_two_types_is_told_and_taken_for_the_commoner_one() {
    let items = (0..30).map(|at| {
        let value = if at % 3 == 0 { format!("s{at}") } else { format!("n:{at}") };
        item(&[("PK", format!("A#{at}")), ("SK", "A".to_owned()), ("v", value)])
    });
    let live = live(items.collect());
    let made = to_model(&draft("app", &[live]).expect("a draft"));
    let told = made.notes.join("\n");
    assert!(
        told.contains("app.A: v is N in 20 and S in 10 of the items; the model takes it for N"),
        "{told}"
    );
    assert_eq!(made.model.entities[0].attribute("v").map(|known| known.value_type.name()), Some("N"));
}

/// How one entity's sort key is made in a random design.
#[derive(Clone, Debug)]
enum Sort {
    Word,
    OwnId,
    TwoIds,
    SameId,
}

/// One kind of items below a partition prefix.
#[derive(Clone, Debug)]
struct Kind {
    name: &'static str,
    sort: Sort,
    /// How many there are in each partition.
    each: usize,
}

/// Partitions of one prefix and what is in each of them.
#[derive(Clone, Debug)]
struct Part {
    prefix: &'static str,
    number: usize,
    kinds: Vec<Kind>,
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let sorts = prop_oneof![Just(Sort::Word), Just(Sort::OwnId), Just(Sort::TwoIds), Just(Sort::SameId)];
    let names = vec!["POST", "ORDER", "ITEM", "EVENT", "NOTE", "INVOICE"];
    let names = proptest::sample::subsequence(names, 1..=4);
    (names, proptest::collection::vec((sorts, 3..6_usize), 4)).prop_map(|(names, forms)| {
        let kinds = names.into_iter().zip(forms).map(|(name, (sort, each))| Kind { name, sort, each });
        kinds.collect()
    })
}

fn designs() -> impl Strategy<Value = Vec<Part>> {
    let prefixes = proptest::sample::subsequence(vec!["USER", "ORG", "TEAM", "SHOP"], 1..=3);
    let parts = proptest::collection::vec((15..60_usize, kinds()), 3);
    (prefixes, parts).prop_map(|(prefixes, parts)| {
        let parts = prefixes.into_iter().zip(parts);
        parts.map(|(prefix, (number, kinds))| Part { prefix, number, kinds }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_design_is_found_in_its_data_though_every_id_is_a_word(design in designs(), start in 0..500_usize) {
        let names = words(1000);
        let mut next = start;
        let mut name = || { next = (next + 7) % names.len(); names[next].clone() };
        let mut items: BTreeMap<String, Json> = BTreeMap::new();
        let mut wanted: BTreeSet<(String, String)> = BTreeSet::new();
        for Part { prefix, number, kinds } in &design {
            for _ in 0..*number {
                let own = name();
                let partition = format!("{prefix}#{own}");
                for Kind { name: kind, sort: form, each } in kinds {
                    let attributes = [format!("{}Name", kind.to_lowercase()), format!("{}At", prefix.to_lowercase())];
                    let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
                    let sorts: Vec<String> = match form {
                        Sort::Word => vec![(*kind).to_owned()],
                        Sort::SameId => vec![format!("{kind}#{own}")],
                        Sort::OwnId => (0..*each).map(|_| format!("{kind}#{}", name())).collect(),
                        Sort::TwoIds => (0..*each).map(|_| format!("{kind}#{}#{}", name(), name())).collect(),
                    };
                    for sort in sorts {
                        items.insert(format!("{partition} {sort}"), pair(&partition, sort, &attributes));
                    }
                    let sort = match form {
                        Sort::Word => (*kind).to_owned(),
                        Sort::SameId | Sort::OwnId => format!("{kind}#*"),
                        Sort::TwoIds => format!("{kind}#*#*"),
                    };
                    wanted.insert((format!("{prefix}#*"), sort));
                }
            }
        }
        let found: BTreeSet<(String, String)> = shapes(&imported(items.into_values().collect()))
            .iter()
            .filter_map(|shape| shape.split_once(' ')?.1.split_once(" | "))
            .map(|(partition, sort)| (partition.to_owned(), sort.to_owned()))
            .collect();
        prop_assert_eq!(found, wanted);
    }
}
