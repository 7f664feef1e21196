//! Any file imports as a model that can be read again, or gives
//! faults. Any table survives a round trip through every format.

#![allow(clippy::indexing_slicing, reason = "a test that cannot go on stops")]

use std::fs;
use std::path::Path;

use keywright_exchange::cloudformation::{self, Resource};
use keywright_exchange::create_table::{read_document, write_request};
use keywright_exchange::import::{Source, import, readable};
use keywright_exchange::of_model::{of_model, stored_items};
use keywright_exchange::to_model::to_model;
use keywright_exchange::workbench_json::Document;
use keywright_exchange::yaml;
use keywright_model::json::Json;
use keywright_model::tables::{AutoScaling, Capacity, Provisioned, Scaling, TableDefinition, Units};
use keywright_model::{parse, write};
use keywright_semantics::request::parts::{StreamViewType, TableClass};
use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema,
};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::cases;

/// Texts that formats confuse: YAML keywords, numbers, quotes, comments, other scripts.
fn awkward() -> impl Strategy<Value = String> {
    let words = [
        "true",
        "null",
        "~",
        "1e5",
        "0x1F",
        "007",
        "no",
        "y",
        "- a",
        "a: b",
        "a #b",
        "'",
        "\"",
        "{x}",
        "[x",
        "&a",
        "*a",
        "!Ref",
        "%",
        "@",
        "`",
        "é#ü",
        "日本",
        "a\tb",
        "a\\nb",
        " lead",
        "trail ",
        "2026-01-01",
        "=",
        "<<",
        "|",
        ">",
        "?",
        "x\u{85}y",
        "\u{feff}z",
    ];
    prop_oneof![select(words.to_vec()).prop_map(str::to_owned), "[a-zA-Z_][a-zA-Z0-9_.#-]{0,12}"]
}

fn table_name() -> impl Strategy<Value = String> {
    let words = ["true", "null", "123", "1e5", "0x1F", "no.", "yes", "...", "1.5", "2026-01-01"];
    prop_oneof![select(words.to_vec()).prop_map(str::to_owned), "[a-zA-Z0-9_.-]{3,20}"]
}

fn key_type() -> impl Strategy<Value = KeyType> {
    select(vec![KeyType::S, KeyType::N, KeyType::B])
}

/// A table with valid keys: each attribute has one type, and index names differ.
fn table() -> impl Strategy<Value = TableDefinition> {
    let attributes = btree_set(awkward(), 6..=8).prop_flat_map(|names| {
        let names: Vec<String> = names.into_iter().collect();
        let types = vec(key_type(), names.len());
        (Just(names), types)
    });
    let indexes = vec((any::<Index>(), any::<[Index; 2]>(), 0..3_usize, any::<bool>()), 0..3);
    let billing = option::of((1..50_u64, 1..50_u64, option::of((1..10_u64, 10..90_u64, 20..90_u64))));
    let settings = (
        option::of(awkward()),
        option::of(select(vec![StreamViewType::KeysOnly, StreamViewType::NewAndOldImages])),
        any::<[bool; 3]>(),
        btree_set(select(vec!["eu-west-1", "ap-south-1", "sa-east-1"]), 0..3),
    );
    (table_name(), attributes, indexes, billing, settings).prop_map(
        |(name, (names, types), indexes, billing, settings)| {
            let attribute = |at: usize| KeyAttribute {
                name: names[at % names.len()].clone(),
                key_type: types[at % types.len()],
            };
            let key = KeySchema { partition: vec![attribute(0)], sort: vec![attribute(1)] };
            let indexes = indexes.into_iter().enumerate().map(
                |(number, (first, [second, third], projection, local))| {
                    let pick = |index: Index| 2 + index.index(names.len() - 2);
                    let sort = pick(second);
                    let (kind, partition) =
                        if local { (IndexKind::Local, 0) } else { (IndexKind::Global, pick(first)) };
                    let sort = if sort == partition { Vec::new() } else { vec![attribute(sort)] };
                    let (kind, partition) =
                        if sort.is_empty() { (IndexKind::Global, pick(first)) } else { (kind, partition) };
                    IndexSchema {
                        name: format!("index-{number}.{}", ["true", "x", "0"][number]),
                        kind,
                        key: KeySchema { partition: vec![attribute(partition)], sort },
                        projection: match projection {
                            0 => Projection::All,
                            1 => Projection::KeysOnly,
                            _ => {
                                Projection::Include([format!("{}!", names[third.index(names.len())])].into())
                            }
                        },
                    }
                },
            );
            let mut indexes: Vec<IndexSchema> = indexes.collect();
            // Formats list local indexes separately.
            indexes.sort_by_key(|index| index.kind == IndexKind::Global);
            let schema = TableSchema { key, indexes };
            let (ttl, stream, [rare, recovery, protection], replicas) = settings;
            TableDefinition {
                billing: billing.map_or(Capacity::OnDemand, |(read, write, scaling)| {
                    let scaling = scaling.map(|(units_min, more, target_percent)| Scaling {
                        units_min,
                        units_max: units_min + more,
                        target_percent,
                    });
                    Capacity::Provisioned(Provisioned {
                        table: Units { read, write },
                        indexes: std::collections::BTreeMap::new(),
                        autoscaling: scaling.map(|both| AutoScaling { read: Some(both), write: Some(both) }),
                    })
                }),
                ttl,
                stream,
                class: rare.then_some(TableClass::StandardInfrequentAccess),
                point_in_time_recovery: recovery,
                deletion_protection: protection,
                replicas: replicas.into_iter().map(str::to_owned).collect(),
                ..TableDefinition::new(name, schema)
            }
        },
    )
}

/// The paths of all values in a document.
fn ways(json: &Json, way: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    found.push(way.clone());
    let children = json.members().iter().map(|(_, value)| value).chain(json.elements());
    for (at, child) in children.enumerate() {
        way.push(at);
        ways(child, way, found);
        way.pop();
    }
}

/// Changes the value at a path.
fn change(json: &mut Json, way: &[usize], to: &Change) {
    let Some((at, rest)) = way.split_first() else {
        if let Change::Replace(with) = to {
            *json = with.clone();
        }
        return;
    };
    match json {
        Json::Object(members) if rest.is_empty() => match to {
            Change::Remove => drop(members.remove(*at)),
            Change::Rename(name) => members[*at].0.clone_from(name),
            Change::Twice => members.push(members[*at].clone()),
            Change::Replace(with) => members[*at].1 = with.clone(),
        },
        Json::List(elements) if rest.is_empty() => match to {
            Change::Remove | Change::Rename(_) => drop(elements.remove(*at)),
            Change::Twice => elements.push(elements[*at].clone()),
            Change::Replace(with) => elements[*at] = with.clone(),
        },
        Json::Object(members) => change(&mut members[*at].1, rest, to),
        Json::List(elements) => change(&mut elements[*at], rest, to),
        _ => {}
    }
}

#[derive(Clone, Debug)]
enum Change {
    Remove,
    Rename(String),
    Twice,
    Replace(Json),
}

fn changes() -> impl Strategy<Value = Vec<(Index, Change)>> {
    let leaf = prop_oneof![
        Just(Json::Null),
        Just(Json::Bool(true)),
        Just(Json::Number("1".to_owned())),
        Just(Json::List(Vec::new())),
        Just(Json::Object(Vec::new())),
        awkward().prop_map(Json::Text),
        Just(Json::Text(String::new())),
    ];
    let change = prop_oneof![
        Just(Change::Remove),
        awkward().prop_map(Change::Rename),
        Just(Change::Twice),
        leaf.prop_map(Change::Replace),
    ];
    vec((any::<Index>(), change), 1..4)
}

/// A document of each kind that can be imported.
fn sources() -> Vec<Json> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/workbench");
    let documents = [
        "simple-aws-ecommerce/ECommerce-6.json",
        "an-online-shop/AnOnlineShop_facets.json",
        "schema-examples/RecurringPaymentsSchema.json",
        "schema-examples/ChatSystemSchema.json",
    ];
    let read = |name| Json::parse(&fs::read_to_string(folder.join(name)).expect("the test data is there"));
    let mut sources: Vec<Json> = documents.into_iter().map(|name| read(name).expect("JSON")).collect();
    let tables = import("m", &sources[2].compact(), None).expect("a document").model;
    let draft = keywright_exchange::of_model::of_model(&tables, &std::collections::BTreeMap::new());
    let tables: Vec<TableDefinition> = draft.tables.into_iter().map(|table| table.definition).collect();
    sources.push(Json::List(tables.iter().map(write_request).collect()));
    sources.push(cloudformation::write("a template", &tables, &Resource::AsModelled));
    sources.push(cloudformation::write(
        "a template",
        &tables,
        &Resource::GlobalTable(vec!["eu-west-1".to_owned()]),
    ));
    sources
}

/// Fails with the first different line, because a whole document is unreadable.
fn same(found: &str, wanted: &str) -> Result<(), TestCaseError> {
    let differing =
        found.lines().zip(wanted.lines()).enumerate().find(|(_, (found, wanted))| found != wanted);
    match differing {
        Some((at, (line, other))) => {
            let around: Vec<&str> = found.lines().skip(at.saturating_sub(4)).take(8).collect();
            Err(TestCaseError::fail(format!(
                "line {}: {line}, not {other}, in\n{}",
                at + 1,
                around.join("\n")
            )))
        }
        None if found.len() == wanted.len() => Ok(()),
        None => Err(TestCaseError::fail("one ends before the other")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn every_table_survives_a_round_trip_through_every_format(table in table()) {
        let request = write_request(&table);
        let read = read_document(&Json::parse(&request.compact()).expect("JSON")).expect("a request");
        // A request has no members for these settings.
        let silent = TableDefinition {
            ttl: None,
            point_in_time_recovery: false,
            replicas: Vec::new(),
            billing: match &table.billing {
                Capacity::Provisioned(capacity) => Capacity::Provisioned(Provisioned { autoscaling: None, ..capacity.clone() }),
                Capacity::OnDemand => Capacity::OnDemand,
            },
            ..table.clone()
        };
        prop_assert_eq!(&read, &[silent]);
        let template = cloudformation::write("", std::slice::from_ref(&table), &Resource::AsModelled);
        let mut table = table;
        if !table.replicas.is_empty() {
            // Replicas require it.
            table.stream = Some(StreamViewType::NewAndOldImages);
        }
        for text in [template.pretty(), yaml::write(&template)] {
            let read = cloudformation::parse(&text).map_err(|faults| TestCaseError::fail(format!("{faults:?}\n{text}")))?;
            prop_assert_eq!(&read.tables, std::slice::from_ref(&table), "{}", text);
        }
    }

    #[test]
    fn a_damaged_file_gives_a_readable_model_or_faults(source in 0..7_usize, changes in changes()) {
        let mut json = sources().swap_remove(source);
        for (at, to) in changes {
            let mut found = Vec::new();
            ways(&json, &mut Vec::new(), &mut found);
            let way = found.swap_remove(at.index(found.len()));
            change(&mut json, &way, &to);
        }
        let text = json.compact();
        match import("damaged", &text, None) {
            Err(faults) => {
                prop_assert!(!faults.is_empty());
                prop_assert!(!Document::looks_like(&json), "a document was refused: {faults:?}");
            }
            Ok(imported) => {
                let written = write(&imported.model);
                if let Err(faults) = parse(&written) {
                    let reported: Vec<String> = faults.iter().map(|fault| fault.in_file("m")).collect();
                    return Err(TestCaseError::fail(format!("{}\n{written}", reported.join("\n"))));
                }
                if let Source::Workbench(document) = &imported.source {
                    // Assumed or repaired parts differ from the document.
                    let Ok(read) = document.read() else { return Ok(()) };
                    let draft = read.draft;
                    if readable(&to_model(&draft).model).is_err() {
                        return Ok(());
                    }
                    // A table without entities in the document gets one with the raw key attributes.
                    if draft.tables.iter().any(|table| table.entities.is_empty()) {
                        return Ok(());
                    }
                    same(&document.updated(&draft).document.to_text(), &document.to_text())?;
                    let through = of_model(&imported.model, &stored_items(&imported.model));
                    same(&document.updated(&through).document.to_text(), &document.to_text())?;
                }
            }
        }
    }
}
