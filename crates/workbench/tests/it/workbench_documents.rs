//! `NoSQL` Workbench documents of every version in the test data: read, written back, changed.

use std::fs;
use std::path::{Path, PathBuf};

use keywright_exchange::import::import;
use keywright_exchange::of_model::{of_model, stored_items};
use keywright_exchange::to_model::to_model;
use keywright_exchange::workbench_json::Document;
use keywright_model::json::Json;
use keywright_model::{parse, write};
use keywright_workbench::run::Outcome;

/// Every document of the test data, by path.
fn documents() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/data/workbench")];
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
        let written = document.updated(&read.draft);
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
            assert_eq!(again.items, table.items, "{name}: in their order");
            let by_entity = |table: &keywright_exchange::draft::DraftTable| {
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
    let written = document.updated(&draft).document;
    assert_eq!(written.json().compact(), text.replace(r#",{"pk":{"S":"b"}}"#, ""));
}

#[test]
fn faults_name_the_place_and_the_correction() {
    let text = r#"{"DataModel":[{"TableName":"T","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"X"}}},{"KeyAttributes":{}}]}"#;
    let faults = Document::parse(text).expect("a document").read().expect_err("faults");
    let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "DataModel[0].KeyAttributes.PartitionKey: write AttributeName and AttributeType, which is S, N or B",
            "DataModel[1]: the TableName is missing",
            "DataModel[1].KeyAttributes: the PartitionKey is missing",
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
        let written = document.updated(&of_model(&model, &items));
        assert_eq!(written.document.to_text(), document.to_text(), "{name}");
        for (table, again) in draft.tables.iter().zip(of_model(&model, &items).tables) {
            for (entity, again) in table.entities.iter().zip(&again.entities) {
                assert_eq!(entity.members, again.members, "{name} {}", entity.name);
            }
        }
    }
}

/// The shop's document with queries as the web modeler saves them, one of which cannot become a pattern.
fn with_saved_queries() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../exchange/tests/data/workbench/simple-aws-ecommerce/ECommerce-9-10.json");
    let mut document = Json::parse(&fs::read_to_string(path).expect("the document is there")).expect("JSON");
    let queries = r#"{
        "Customer": {"view": "SimpleAWSEcommerce", "PK": "c#12345", "SK": {"condition": "=", "values": ["c#12345"]}, "filter": []},
        "Order with everything": {"view": "SimpleAWSEcommerce", "PK": "o#12345", "filter": []},
        "Products of an order": {"view": "SimpleAWSEcommerce", "PK": "o#12345", "SK": {"condition": "begins", "values": ["p#"]}, "filter": []},
        "Orders of a product in a range": {"view": "GSI1", "PK": "p#99887", "SK": {"condition": "between", "values": ["2023-04-25T00:00:00", "2023-04-25T23:59:59"]}, "filter": []},
        "Ordered since": {"view": "GSI2", "PK": "c#12345", "SK": {"condition": ">=", "values": ["p#2023-04-15"]}, "filter": []},
        "Many of a product": {"view": "SimpleAWSEcommerce", "PK": "o#12345", "SK": {"condition": "begins", "values": ["p#"]}, "filter": [{"attribute": "Quantity", "type": "Number", "condition": ">", "values": ["2"]}, {"operator": "OR", "attribute": "Price", "type": "Number", "condition": "between", "values": ["7", "8"]}]},
        "Nowhere": {"view": "GSI9", "PK": "x", "filter": []}
    }"#;
    let Some(Json::List(tables)) = document.get_mut("DataModel") else { panic!("a list of tables") };
    tables.first_mut().expect("a table").set("SavedQuery", Json::parse(queries).expect("JSON"));
    document.pretty()
}

#[test]
fn saved_queries_become_patterns_that_find_the_items_they_found() {
    let text = with_saved_queries();
    let imported = import("shop", &text, None).expect("a document");
    assert_eq!(
        imported.notes.last().map(String::as_str),
        Some("saved query `Nowhere` of SimpleAWSEcommerce: left out, there is no index `GSI9`")
    );
    let model = parse(&write(&imported.model)).expect("a model file");
    let checked = crate::support::check(&model);
    let found: Vec<(&str, &str, Option<&str>, u64, &Outcome)> = checked
        .report
        .patterns
        .iter()
        .map(|pattern| {
            let text = pattern.text.as_deref().unwrap_or_default();
            let index = pattern.index.as_deref();
            (text, pattern.operation.name(), index, pattern.items_returned, &pattern.outcome)
        })
        .collect();
    assert_eq!(
        found,
        [
            ("Customer", "GetItem", None, 1, &Outcome::Met),
            ("Order with everything", "Query", None, 4, &Outcome::Met),
            ("Products of an order", "Query", None, 2, &Outcome::Met),
            ("Orders of a product in a range", "Query", Some("GSI1"), 1, &Outcome::Met),
            ("Ordered since", "Query", Some("GSI2"), 2, &Outcome::Met),
            ("Many of a product", "Query", None, 1, &Outcome::Ran),
        ]
    );
}

#[test]
fn saved_queries_survive_in_the_document_and_a_side_model_keeps_its_own_words_for_them() {
    let text = with_saved_queries();
    let imported = import("shop", &text, None).expect("a document");
    let document = Document::parse(&text).expect("a document");
    let written = document.updated(&of_model(&imported.model, &stored_items(&imported.model)));
    assert_eq!(written.document, document);
    let mut side = imported.model.clone();
    side.patterns[0].id = "getCustomer".to_owned();
    let again = import("shop", &text, Some(&side)).expect("a document").model;
    assert_eq!(again.patterns.len(), side.patterns.len());
    assert_eq!(again.patterns[0].id, "getCustomer");
}

#[test]
fn value_templates_of_the_web_modeler_name_an_entitys_variables() {
    let text = r#"{"ModelName":"m","ModelSchema":{"indexes":{},"models":{
        "Order":{"PK":{"type":"String","value":"c#${customer}"},"SK":{"type":"String","value":"order#${number}"},"type":{"type":"String"}},
        "Refund":{"PK":{"type":"String","value":"c#${customer}"},"SK":{"type":"String","value":"refund#${number}"}}}},
        "DataModel":[{"TableName":"Orders","KeyAttributes":{"PartitionKey":{"AttributeName":"PK","AttributeType":"S"},"SortKey":{"AttributeName":"SK","AttributeType":"S"}},
        "TableData":[{"PK":{"S":"c#1"},"SK":{"S":"order#17"},"type":{"S":"Order"}}]}]}"#;
    let model = import("m", text, None).expect("a document").model;
    let templates: Vec<(String, Vec<String>)> = model
        .entities
        .iter()
        .map(|entity| {
            let templates = entity.key.templates.iter().map(|(_, template)| template.to_string());
            (entity.name.clone(), templates.collect())
        })
        .collect();
    let keys = |sort: &str| vec!["c#{customer}".to_owned(), sort.to_owned()];
    assert_eq!(
        templates,
        [("Order".to_owned(), keys("order#{number}")), ("Refund".to_owned(), keys("refund#{number}"))]
    );
    let document = Document::parse(text).expect("a document");
    let draft = document.read().expect("readable").draft;
    assert_eq!(document.updated(&draft).document, document);
}

#[test]
fn further_settings_of_an_index_survive_a_change_of_its_key_or_projection() {
    let text = r#"{"ModelName":"m","DataModel":[{"TableName":"T","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"S"}},"GlobalSecondaryIndexes":[{"IndexName":"i","KeyAttributes":{"PartitionKey":{"AttributeName":"g","AttributeType":"S","Extra":true},"More":1},"Projection":{"ProjectionType":"ALL","Later":[]},"Own":"x"}],"TableData":[{"pk":{"S":"a"},"g":{"S":"b"}}]}]}"#;
    let document = Document::parse(text).expect("a document");
    let mut draft = document.read().expect("readable").draft;
    let index = &mut draft.tables[0].definition.schema.indexes[0];
    index.projection = keywright_semantics::schema::Projection::KeysOnly;
    let written = document.updated(&draft).document.json().compact();
    assert_eq!(written, text.replace(r#""ProjectionType":"ALL""#, r#""ProjectionType":"KEYS_ONLY""#));
    let index = &mut draft.tables[0].definition.schema.indexes[0];
    index.key.partition[0].name = "h".to_owned();
    let written = document.updated(&draft).document.json().compact();
    assert!(
        written.contains(r#"{"AttributeName":"h","AttributeType":"S","Extra":true},"More":1}"#),
        "{written}"
    );
}

/// Documents that lack something a model needs, each with a word of the note that says what to add.
const INCOMPLETE: [(&str, &str, &str); 16] = [
    ("a table without items", r#"{"TableName":"Tab","KeyAttributes":KEY}"#, "write its key templates"),
    (
        "an entity without items and template",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"TableData":[],"TableFacets":[{"FacetName":"Order"}]}"#,
        "write the key's template",
    ),
    (
        "an entity with half a template",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"TableFacets":[{"FacetName":"Order","KeyAttributeAlias":{"PartitionKeyAlias":"o#${id}"}}]}"#,
        "write the key's template",
    ),
    (
        "an alias that is no template",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"TableFacets":[{"FacetName":"Order","KeyAttributeAlias":{"PartitionKeyAlias":"o#${","SortKeyAlias":"x"}}]}"#,
        "Order",
    ),
    ("a table without name", r#"{"KeyAttributes":KEY}"#, "the table is called Table1"),
    ("a name that no table can have", r#"{"TableName":"a b","KeyAttributes":KEY}"#, "it is called a_b"),
    ("a table without key", r#"{"TableName":"Tab"}"#, "write its key attributes"),
    (
        "a key of no known type",
        r#"{"TableName":"Tab","KeyAttributes":{"PartitionKey":{"AttributeName":"pk","AttributeType":"X"}}}"#,
        "S is assumed for pk",
    ),
    (
        "an index without key",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"GlobalSecondaryIndexes":[{"IndexName":"byDay"}]}"#,
        "byDay is left out",
    ),
    (
        "an index that no item is in",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"GlobalSecondaryIndexes":[{"IndexName":"byDay","KeyAttributes":{"PartitionKey":{"AttributeName":"day","AttributeType":"S"}},"Projection":{"ProjectionType":"SOME"}}]}"#,
        "ALL is assumed",
    ),
    (
        "an index key of another type than the table declares",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"NonKeyAttributes":[{"AttributeName":"day","AttributeType":"N"}],"GlobalSecondaryIndexes":[{"IndexName":"byDay","KeyAttributes":{"PartitionKey":{"AttributeName":"day","AttributeType":"S"}}}]}"#,
        "N is used",
    ),
    (
        "an index key of another type than the table's key",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"GlobalSecondaryIndexes":[{"IndexName":"bySk","KeyAttributes":{"PartitionKey":{"AttributeName":"sk","AttributeType":"N"}}}]}"#,
        "S is used",
    ),
    (
        "an index whose key has one attribute twice",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"GlobalSecondaryIndexes":[{"IndexName":"bySk","KeyAttributes":{"PartitionKey":{"AttributeName":"sk","AttributeType":"S"},"SortKey":{"AttributeName":"sk","AttributeType":"S"}}}],"TableData":[{"pk":{"S":"a"},"sk":{"S":"b"}}]}"#,
        "the index is left out",
    ),
    (
        "an index with the name of a field",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"GlobalSecondaryIndexes":[{"IndexName":"owner","KeyAttributes":{"PartitionKey":{"AttributeName":"day","AttributeType":"S"}}}],"TableData":[{"pk":{"S":"o#1"},"sk":{"S":"b"},"day":{"S":"d#1"}},{"pk":{"S":"o#2"},"sk":{"S":"b"},"day":{"S":"d#2"}}]}"#,
        "",
    ),
    (
        "an item that is no object",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"TableData":[1,{"pk":{"S":"a"},"sk":{"S":"b"}}]}"#,
        "the item is left out",
    ),
    (
        "items without keys",
        r#"{"TableName":"Tab","KeyAttributes":KEY,"TableData":[{"sk":{"S":"b"}},{"pk":{"N":"1"},"sk":{"S":""}}]}"#,
        "are left out",
    ),
];

#[test]
fn an_incomplete_document_becomes_a_checkable_model_with_notes_of_what_to_add() {
    let key = r#"{"PartitionKey":{"AttributeName":"pk","AttributeType":"S"},"SortKey":{"AttributeName":"sk","AttributeType":"S"}}"#;
    let whole = r#"{"TableName":"Whole","KeyAttributes":KEY,"TableData":[{"pk":{"S":"o#1"},"sk":{"S":"o"}},{"pk":{"S":"o#2"},"sk":{"S":"o"}}]}"#;
    let whole = whole.replace("KEY", key);
    for (case, table, note) in INCOMPLETE {
        let table = table.replace("KEY", key);
        let text = format!(r#"{{"ModelName":"m","DataModel":[{table},{whole}]}}"#);
        let imported = import("m", &text, None).unwrap_or_else(|faults| panic!("{case}: {faults:?}"));
        assert!(imported.notes.iter().any(|known| known.contains(note)), "{case}: {:?}", imported.notes);
        let model = parse(&write(&imported.model)).unwrap_or_else(|faults| panic!("{case}: {faults:?}"));
        assert_eq!(model.tables.len(), 2, "{case}");
        for table in &model.tables {
            assert!(model.entities_of(&table.name).next().is_some(), "{case}: {} has no entity", table.name);
        }
        crate::support::check(&model);
        let document = Document::parse(&text).expect("a document");
        let _ = document.updated(&of_model(&model, &stored_items(&model)));
    }
}

#[test]
fn tables_with_the_same_name_get_different_names() {
    let table =
        r#"{"TableName":"Shop","KeyAttributes":{"PartitionKey":{"AttributeName":"id","AttributeType":"S"}}}"#;
    let imported = import("m", &format!(r#"{{"DataModel":[{table},{table}]}}"#), None).expect("a document");
    let names: Vec<&str> = imported.model.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["Shop", "Shop_2"]);
    assert!(imported.notes.iter().any(|note| note.contains("two tables have this name")));
}
