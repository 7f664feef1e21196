//! Infers the entities of live tables from their items alone: constant words of the key design are
//! distinguished from values by counting.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::collections::{BTreeMap, BTreeSet};

use keywright_exchange::live::{LiveTable, draft};
use keywright_exchange::to_model::to_model;
use keywright_model::json::Json;
use keywright_model::{Model, parse, write};
use proptest::prelude::*;

use crate::support::{cases, live_table};

/// Thirty ordinary words, used as names.
const NAMES: [&str; 30] = [
    "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy", "ken", "laura",
    "mallory", "niaj", "olivia", "peggy", "rupert", "sybil", "trent", "victor", "walter", "xena", "yves",
    "zoe", "root", "anna", "bert", "cleo", "dora", "emil",
];

/// An item in short form: `PK=…`, `SK=…` and attributes, `n:…` for numbers.
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
    // A thousand times as many items as the sample has.
    let count = items.len() * 1000;
    let text = format!(
        r#"{{"TableName":"app","AttributeDefinitions":[{{"AttributeName":"PK","AttributeType":"S"}},{{"AttributeName":"SK","AttributeType":"S"}}{more}],"KeySchema":[{{"AttributeName":"PK","KeyType":"HASH"}},{{"AttributeName":"SK","KeyType":"RANGE"}}],"BillingModeSummary":{{"BillingMode":"PAY_PER_REQUEST"}},"ItemCount":{count},"TableSizeBytes":{}{indexes}}}"#,
        count * 100
    );
    live_table(&text, items)
}

/// The model imported from these items; it passes its check without two items under one key.
fn imported(items: Vec<Json>) -> Model {
    imported_table(&live(items))
}

/// The same for a table with other keys. Its collections can be read: all entities name a shared partition
/// key's value alike.
fn imported_table(table: &LiveTable) -> Model {
    let made = to_model(&draft("app", std::slice::from_ref(table)).0).model;
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
    assert!(checked.passes(), "{:?}\n{}", checked.findings, write(&model));
    assert_eq!(named_apart(&model), Vec::<String>::new(), "{}", write(&model));
    model
}

/// Partition keys that share a value but have differently named variables.
fn named_apart(model: &Model) -> Vec<String> {
    let table = &model.tables[0];
    let samples = keywright_model::data::load(model, &|_| Err("no files".to_owned())).expect("their items");
    let mut templates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in samples {
        let entity = sample.entity.as_ref().and_then(|name| model.entity(name)).expect("an entity");
        let template = entity.template(&table.partition.name).expect("a key").to_string();
        let value = format!("{:?}", sample.item.get(&table.partition.name));
        templates.entry(value).or_default().insert(template);
    }
    templates.into_values().filter(|own| own.len() > 1).flatten().collect()
}

/// Entities with the templates of their keys, without variable names.
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
fn users_with_words_as_ids_are_one_entity_for_any_number_of_users() {
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
fn a_segment_with_a_single_value_stays_a_constant() {
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
fn parts_of_an_order_are_separate_entities_only_if_their_attributes_differ() {
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
fn an_attribute_of_two_types_gets_the_more_frequent_one_and_a_note() {
    let items = (0..30).map(|at| {
        let value = if at % 3 == 0 { format!("s{at}") } else { format!("n:{at}") };
        item(&[("PK", format!("A#{at}")), ("SK", "A".to_owned()), ("v", value)])
    });
    let live = live(items.collect());
    let made = to_model(&draft("app", &[live]).0);
    let notes = made.notes.join("\n");
    assert!(
        notes.contains("app.A: v has type N in 20 and S in 10 of the items; the model says N"),
        "{notes}"
    );
    assert_eq!(made.model.entities[0].attribute("v").map(|known| known.value_type.name()), Some("N"));
}

#[test]
fn tenants_in_front_of_the_words_are_values_whatever_case_the_words_have() {
    for (case, tenants) in [("lower", 3), ("upper", 3), ("lower", 2), ("lower", 40)] {
        let word = |text: &str| if case == "lower" { text.to_owned() } else { text.to_uppercase() };
        let names =
            if tenants == 40 { words(40) } else { ["acme", "globex", "initech"].map(str::to_owned).into() };
        let mut items = Vec::new();
        for tenant in names.iter().take(tenants) {
            for at in 0..20 {
                let user = format!("{tenant}#{}#{at}", word("user"));
                items.push(pair(&user, "profile", &["name"]));
                items.extend((0..2).map(|invoice| pair(&user, format!("inv#{invoice}"), &["amount"])));
                items.push(pair(format!("{tenant}#{}#{at}", word("product")), "meta", &["price"]));
            }
        }
        let model = imported(items);
        let wanted = ["profile", "inv#*", "meta"]
            .map(|sort| format!("*#{}#* | {sort}", word(if sort == "meta" { "product" } else { "user" })));
        let found: BTreeSet<String> =
            shapes(&model).iter().filter_map(|shape| Some(shape.split_once(' ')?.1.to_owned())).collect();
        assert_eq!(found, wanted.into(), "{case} {tenants}");
        for entity in &model.entities {
            let template = entity.template("PK").expect("a key").to_string();
            assert!(template.starts_with("{tenantId}#"), "{template}");
        }
    }
}

#[test]
fn parts_of_two_things_with_attributes_of_their_own_are_no_tenants() {
    let mut items = Vec::new();
    for at in 0..20 {
        items.push(pair(format!("post#{at}"), "meta", &["text", "title"]));
        items.push(pair(format!("photo#{at}"), "meta", &["url", "width"]));
        items.push(pair(format!("post#comment#{at}"), "meta", &["comment", "by"]));
        items.push(pair(format!("photo#comment#{at}"), "meta", &["comment", "by"]));
    }
    let found = shapes(&imported(items));
    for prefix in ["post#", "photo#"] {
        assert!(found.iter().all(|shape| !shape.contains(" *#")), "{prefix} {found:?}");
    }
}

#[test]
fn a_profile_and_its_orders_are_asked_for_by_one_name() {
    let mut items: Vec<Json> = (0..60).map(|at| pair(at.to_string(), "profile", &["n"])).collect();
    items.extend((0..180).map(|at| pair((at / 3).to_string(), format!("order#{at}"), &["total"])));
    let model = imported(items);
    let templates: BTreeSet<String> =
        model.entities.iter().map(|own| own.template("PK").expect("a key").to_string()).collect();
    assert_eq!(templates, BTreeSet::from(["{profileId}".to_owned()]));

    // One entity has the value under one name, another under a second name, a third not at all.
    let mut items = Vec::new();
    for name in &NAMES[..12] {
        let key = ("PK", format!("USER#{name}"));
        items.push(item(&[key.clone(), ("SK", "PROFILE".to_owned()), ("username", (*name).to_owned())]));
        items.push(item(&[key.clone(), ("SK", "POST#1".to_owned()), ("author", (*name).to_owned())]));
        items.push(item(&[key, ("SK", "LIKE#1".to_owned()), ("at", "n:5".to_owned())]));
    }
    let model = imported(items);
    let templates: BTreeSet<String> =
        model.entities.iter().map(|own| own.template("PK").expect("a key").to_string()).collect();
    assert_eq!(templates.len(), 1, "{templates:?}");
}

#[test]
fn a_table_of_pages_with_translations_and_versions_passes_its_check() {
    let mut items = Vec::new();
    for name in NAMES {
        items.extend(
            ["en", "de", "fr"].map(|lang| pair(format!("PAGE#{name}"), format!("LANG#{lang}"), &["title"])),
        );
        items.extend((0..2).map(|version| pair(format!("PAGE#{name}"), format!("v{version}"), &["body"])));
    }
    assert_eq!(imported(items).entities.len(), 2);
    // Readings next to a description of the device, random ids next to a word.
    let mut items = Vec::new();
    for at in 0..20 {
        items.push(pair(format!("DEVICE#{at}"), "META", &["model"]));
        items.extend(
            (10..15)
                .map(|hour| pair(format!("DEVICE#{at}"), format!("2026-01-01T{hour}:00:00Z"), &["value"])),
        );
        items.push(pair(format!("USER#{at}"), "Profile", &["name"]));
        items.extend((0..3).map(|note| pair(format!("USER#{at}"), format!("kX{at:02}{note}pQ7"), &["text"])));
    }
    assert_eq!(imported(items).entities.len(), 4);
}

#[test]
fn a_number_between_words_is_a_version_and_the_words_stay() {
    let sort = |tail: &str| {
        let versions = |thing: usize| {
            (0..2 + thing % 3).map(move |version| {
                pair(format!("Equipment_{thing}"), format!("v{version}{tail}"), &["auditor"])
            })
        };
        let model = imported((0..8).flat_map(versions).collect());
        model.entities.iter().map(|own| own.template("SK").expect("a key").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(sort("_Audit"), ["v{version}_Audit"]);
    // Without a word after it, it may be a name.
    assert_eq!(sort(""), ["{id}"]);
}

#[test]
fn items_that_no_key_distinguishes_are_one_entity_unless_their_ids_are_random() {
    let described = |partition: &str, sort: &str, items: Vec<Json>| {
        let text = format!(
            r#"{{"TableName":"app","AttributeDefinitions":[{{"AttributeName":"id","AttributeType":"{partition}"}},{{"AttributeName":"ts","AttributeType":"{sort}"}}],"KeySchema":[{{"AttributeName":"id","KeyType":"HASH"}},{{"AttributeName":"ts","KeyType":"RANGE"}}],"BillingMode":"PAY_PER_REQUEST"}}"#
        );
        live_table(&text, items)
    };
    let logins = (0..100).map(|at| {
        let kind = if at % 2 == 0 { "login" } else { "logout" };
        item(&[("id", format!("n:{}", at / 10)), ("ts", format!("n:{at}")), ("type", kind.to_owned())])
    });
    let table = described("N", "N", logins.collect());
    let notes = to_model(&draft("app", std::slice::from_ref(&table)).0).notes.join("\n");
    assert!(notes.contains("their keys do not distinguish them"), "{notes}");
    assert_eq!(imported_table(&table).entities.len(), 1);

    let pets = (0..40).map(|at| {
        let kind = if at % 2 == 0 { "Dog" } else { "Cat" };
        let id =
            |salt: usize| format!("{:08x}-aaaa-4bbb-8ccc-{:012x}", at * 7919 + salt, at * 104_729 + salt);
        item(&[("id", id(1)), ("ts", id(2)), ("__typename", kind.to_owned())])
    });
    assert_eq!(imported_table(&described("S", "S", pets.collect())).entities.len(), 2);
}

/// The sort-key design of one entity in a random layout.
#[derive(Clone, Debug)]
enum Sort {
    Word,
    OwnId,
    TwoIds,
    SameId,
}

/// One kind of item under a partition prefix.
#[derive(Clone, Debug)]
struct Kind {
    name: &'static str,
    sort: Sort,
    /// Number of these items per partition.
    each: usize,
}

/// The partitions with one prefix, and their contents.
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
    #![proptest_config(ProptestConfig::with_cases(cases(16)))]

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

/// The prefix before the ids in a random layout's partition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Upper,
    Lower,
    /// The name of a tenant, then the word.
    Tenant,
    /// No prefix: there is one kind of partition.
    Bare,
}

/// The form of the ids.
#[derive(Clone, Copy, Debug)]
enum Ids {
    Words,
    Numbers,
    Uuids,
    Mails,
}

impl Ids {
    fn make(self, at: usize, names: &[String]) -> String {
        match self {
            Self::Words => names[at % names.len()].clone(),
            Self::Numbers => (at + 1).to_string(),
            Self::Uuids => format!("{:08x}-aaaa-4bbb-8ccc-{:012x}", at * 7919, at * 104_729),
            Self::Mails => format!("{}{at}@example.com", names[at % names.len()]),
        }
    }
}

/// One kind of item in the partitions of a random layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// `profile`
    Itself,
    /// `order#…`
    Numbered,
    /// `event#2026-…`
    Timed,
    /// `2026-…`, without a word
    BareTime,
    /// `v0`, `v1`
    Version,
}

#[derive(Clone, Debug)]
struct Layout {
    lead: Lead,
    ids: Ids,
    upper: bool,
    /// The rows of each prefix.
    parts: Vec<Vec<Row>>,
    number: usize,
}

fn layouts() -> impl Strategy<Value = Layout> {
    let leads = prop::sample::select(vec![Lead::Upper, Lead::Lower, Lead::Tenant, Lead::Bare]);
    let ids = prop::sample::select(vec![Ids::Words, Ids::Numbers, Ids::Uuids, Ids::Mails]);
    let named = prop::sample::subsequence(vec![Row::Itself, Row::Numbered, Row::Timed], 1..=3);
    let bare = prop::sample::select(vec![None, None, Some(Row::BareTime), Some(Row::Version)]);
    let rows = (named, bare).prop_map(|(mut rows, bare)| {
        rows.extend(bare);
        rows
    });
    let parts = proptest::collection::vec(rows, 2..=3);
    (leads, ids, any::<bool>(), parts, 12..24_usize).prop_map(|(lead, ids, upper, parts, number)| {
        let parts = if lead == Lead::Bare { parts[..1].to_vec() } else { parts };
        Layout { lead, ids, upper, parts, number }
    })
}

impl Layout {
    fn word(&self, word: &str) -> String {
        if self.upper { word.to_uppercase() } else { word.to_owned() }
    }

    /// The sort keys of one kind of item in a partition, and their shape.
    fn rows(&self, row: Row, place: usize) -> (Vec<String>, String) {
        let (order, event) = (self.word(["order", "task", "visit"][place]), self.word("event"));
        match row {
            Row::Itself => {
                let word = self.word(["profile", "meta", "info"][place]);
                (vec![word.clone()], word)
            }
            Row::Numbered => ((0..3).map(|at| format!("{order}#{at}")).collect(), format!("{order}#*")),
            Row::Timed => {
                ((1..4).map(|at| format!("{event}#2026-01-0{at}T10:00:00Z")).collect(), format!("{event}#*"))
            }
            Row::BareTime => ((1..4).map(|at| format!("2026-02-0{at}T10:00:00Z")).collect(), "*".to_owned()),
            Row::Version => ((0..2).map(|at| format!("v{at}")).collect(), "*".to_owned()),
        }
    }

    /// The items and the shapes of their keys.
    fn make(&self, names: &[String]) -> (Vec<Json>, BTreeSet<(String, String)>) {
        let tenants = if self.lead == Lead::Tenant { 3 } else { 1 };
        let (mut items, mut wanted) = (Vec::new(), BTreeSet::new());
        for (place, rows) in self.parts.iter().enumerate() {
            let word = self.word(["user", "product", "team"][place]);
            for tenant in 0..tenants {
                for at in 0..self.number {
                    let id = self.ids.make(place * 100 + at, names);
                    let partition = match self.lead {
                        Lead::Upper => format!("{}#{id}", word.to_uppercase()),
                        Lead::Lower => format!("{word}#{id}"),
                        Lead::Tenant => format!("{}#{word}#{id}", ["acme", "globex", "initech"][tenant]),
                        Lead::Bare => id,
                    };
                    for row in rows {
                        let attributes = [format!("{row:?}{place}"), format!("of{place}")];
                        let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
                        let sorts = self.rows(*row, place).0.into_iter();
                        items.extend(sorts.map(|sort| pair(&partition, sort, &attributes)));
                    }
                }
            }
            let shape = match self.lead {
                Lead::Upper => format!("{}#*", word.to_uppercase()),
                Lead::Lower => format!("{word}#*"),
                Lead::Tenant => format!("*#{word}#*"),
                Lead::Bare => "*".to_owned(),
            };
            wanted.extend(rows.iter().map(|row| (shape.clone(), self.rows(*row, place).1)));
        }
        (items, wanted)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    #[test]
    fn a_layout_is_found_in_its_items_and_its_model_passes_its_check(layout in layouts()) {
        let (items, wanted) = layout.make(&words(1000));
        let model = imported(items);
        let found: BTreeSet<(String, String)> = shapes(&model)
            .iter()
            .filter_map(|shape| shape.split_once(' ')?.1.split_once(" | "))
            .map(|(partition, sort)| (partition.to_owned(), sort.to_owned()))
            .collect();
        prop_assert_eq!(&found, &wanted);
        prop_assert_eq!(model.entities.len(), wanted.len());
    }
}
