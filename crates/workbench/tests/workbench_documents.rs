//! `NoSQL` Workbench documents of every version we have: read, written back, changed.

use std::fs;
use std::path::{Path, PathBuf};

use keywright_workbench::exchange::json::Json;
use keywright_workbench::exchange::of_model::of_model;
use keywright_workbench::exchange::to_model::to_model;
use keywright_workbench::exchange::workbench_json::Document;

/// Every document of the test data, by path.
fn documents() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/workbench")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the test data is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = fs::read_to_string(&path).expect("the file can be read");
                found.push((path, text));
            }
        }
    }
    found.sort();
    assert_eq!(found.len(), 31, "the number of documents in the test data");
    found
}

#[test]
fn import_export_import_is_the_identity() {
    for (path, text) in documents() {
        let name = path.display();
        let document = Document::parse(&text).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let read = document.read().unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let written = document.updated(&read.draft).expect("the document can be read");
        assert_eq!(written.document, document, "{name}");
        assert_eq!(written.lost, Vec::<String>::new(), "{name}");
        let again = Document::parse(&written.document.to_text()).expect("what is written can be read");
        assert_eq!(again, document, "{name}");
    }
}

#[test]
fn a_document_written_anew_says_the_same_tables_and_items() {
    for (path, text) in documents() {
        let name = path.display();
        let draft = Document::parse(&text).and_then(|document| document.read()).expect("readable").draft;
        let fresh = Document::fresh(&draft, "Nov 21, 2026, 09:00 AM");
        let again = fresh.document.read().expect("readable").draft;
        assert_eq!(again.name, draft.name, "{name}");
        for (again, table) in again.tables.iter().zip(&draft.tables) {
            assert_eq!(again.definition, table.definition, "{name}");
            let by_entity = |table: &keywright_workbench::exchange::draft::DraftTable| {
                let mut items: Vec<_> = table
                    .entities
                    .iter()
                    .flat_map(|entity| {
                        entity.members.iter().map(|at| (entity.name.clone(), table.items[*at].clone()))
                    })
                    .map(|pair| format!("{pair:?}"))
                    .collect();
                items.sort();
                items
            };
            assert_eq!(by_entity(again), by_entity(table), "{name}");
            for entity in &table.entities {
                let known = again.entity(&entity.name).expect("a facet for each entity");
                let keys = table.key_names();
                for key in keys {
                    assert_eq!(known.templates.get(key), entity.templates.get(key), "{name} {}", entity.name);
                }
            }
        }
    }
}

#[test]
fn unknown_members_their_order_and_digits_survive_a_change() {
    let text = r#"{"Later":{"z":1.10,"a":[]},"ModelName":"m","DataModel":[{"New":null,"TableName":"T","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"S","Extra":true}},"TableData":[{"pk":{"S":"a"},"n":{"N":"1"}},{"pk":{"S":"b"}}],"More":"x"}]}"#;
    let document = Document::parse(text).expect("a document");
    let mut draft = document.read().expect("readable").draft;
    draft.tables[0].items.remove(1);
    draft.tables[0].entities[0].members = vec![0];
    let written = document.updated(&draft).expect("readable").document;
    assert_eq!(written.json().compact(), text.replace(r#",{"pk":{"S":"b"}}"#, ""));
}

#[test]
fn faults_name_the_place_and_what_to_write() {
    let text = r#"{"DataModel":[{"TableName":"T","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"X"}}},{"KeyAttributes":{}}]}"#;
    let faults = Document::parse(text).expect("a document").read().expect_err("faults");
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "DataModel[0].KeyAttributes.PartitionKey: write AttributeName and AttributeType, which is S, N or B",
            "DataModel[1]: the TableName is missing",
        ]
    );
    assert!(Document::of(Json::Null).is_err());
}

#[test]
fn a_document_goes_through_the_model_unchanged() {
    for (path, text) in documents() {
        let name = path.display();
        let document = Document::parse(&text).expect("a document");
        let draft = document.read().expect("readable").draft;
        let model = to_model(&draft).model;
        let items =
            draft.tables.iter().map(|table| (table.definition.name.clone(), table.items.clone())).collect();
        let written = document.updated(&of_model(&model, &items)).expect("readable");
        assert_eq!(written.document.to_text(), document.to_text(), "{name}");
        for (table, again) in draft.tables.iter().zip(of_model(&model, &items).tables) {
            for (entity, again) in table.entities.iter().zip(&again.entities) {
                assert_eq!(entity.members, again.members, "{name} {}", entity.name);
            }
        }
    }
}
