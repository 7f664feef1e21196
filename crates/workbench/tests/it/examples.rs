//! The models in `examples/models`: all pass their check, except the one whose Scan must be found.

use std::path::Path;

use keywright_exchange::import::import;
use keywright_exchange::of_model::{Items, of_model, stored_items};
use keywright_exchange::workbench_json::Document;
use keywright_model::data::load;
use keywright_model::{DataSource, Model, parse, write};
use keywright_workbench::report::{Checked, text};
use keywright_workbench::run::Outcome;

use crate::support::{example, no_files};

fn checked(name: &str) -> &'static Checked {
    let model = example(name);
    let again = crate::support::model(&write(&model));
    assert_eq!(write(&model), write(&again), "{name} is written as it is read");
    crate::support::checked_example(name)
}

/// Checks that a model with this many patterns and indexes passes, each pattern meets its expectation, and no
/// result has foreign items.
fn proved(name: &str, patterns: usize, indexes: usize) {
    let checked = checked(name);
    assert!(checked.passes(), "{}", text(checked, name));
    assert_eq!(checked.report.patterns.len(), patterns, "{name}");
    let table = checked.report.tables.first().expect("a table");
    assert_eq!(table.indexes.len(), indexes, "{name}");
    for pattern in &checked.report.patterns {
        assert_eq!(pattern.outcome, Outcome::Met, "{name} {}", pattern.id);
        assert_eq!(pattern.strangers, Vec::<Vec<String>>::new(), "{name} {}", pattern.id);
    }
}

#[test]
fn r72_the_models_of_the_seeds_pass_with_the_indexes_they_promise_and_every_pattern_proved() {
    // Patterns and indexes. The second model's ten patterns need two indexes, the third's five one; the
    // fourth's three fit in two.
    for (name, patterns, indexes) in [
        ("storefront.yaml", 11, 2),
        ("ecommerce.yaml", 10, 2),
        ("orders.yaml", 7, 1),
        ("shop-single-table.yaml", 12, 2),
        ("building-blocks.yaml", 11, 1),
    ] {
        proved(name, patterns, indexes);
    }
}

#[test]
fn the_design_challenges_pass_with_the_published_indexes_and_their_shards_follow_from_the_rate() {
    for (name, patterns, indexes) in [("retail-cart.yaml", 5, vec![1]), ("bank-payments.yaml", 7, vec![1, 2])]
    {
        let checked = checked(name);
        assert!(checked.passes(), "{}", text(checked, name));
        assert_eq!(checked.report.patterns.len(), patterns, "{name}");
        let tables = checked.report.tables.iter().map(|table| table.indexes.len());
        assert_eq!(tables.collect::<Vec<_>>(), indexes, "{name}");
        for pattern in &checked.report.patterns {
            assert_eq!(pattern.outcome, Outcome::Met, "{name} {}", pattern.id);
        }
    }
    // A million payments of 8 KB in half an hour are 556 a second, 4,448 write units: five shards, not four.
    let model = example("bank-payments.yaml");
    let run = keywright_workbench::run::run(&model, &no_files, &mut |_| {});
    let report = run.expect("it runs");
    for shards in [1, 5] {
        let source = write(&model).replace("|shard(5)", &format!("|shard({shards})"));
        let model = parse(&source).expect("a model");
        let heat = keywright_workbench::heat::of_model(&model, &report);
        let hot = heat.iter().find(|key| key.index.as_deref() == Some("byStatus")).expect("the index");
        assert_eq!((hot.shards, hot.needed), (shards, 5));
    }
}

/// The imported examples and the documents they were imported from.
const IMPORTED: [(&str, &str); 8] = [
    ("chat.yaml", "schema-examples/ChatSystemSchema.json"),
    ("complaints.yaml", "schema-examples/ComplaintManagementSchema.json"),
    ("connected-vehicles.yaml", "schema-examples/ConnectedVehiclesSchema.json"),
    ("game-profiles.yaml", "schema-examples/GamePlayerProfilesSchema.json"),
    ("online-shop.yaml", "an-online-shop/AnOnlineShop_facets.json"),
    ("recurring-payments.yaml", "schema-examples/RecurringPaymentsSchema.json"),
    ("sessions.yaml", "schema-examples/SessionManagementSchema.json"),
    ("social-network.yaml", "schema-examples/SocialNetworkSchema.json"),
];

#[test]
fn the_benchmark_cases_pass_with_the_published_indexes_and_every_pattern_proved() {
    for (name, patterns, indexes) in [("rubis.yaml", 16, 3), ("alleycat.yaml", 9, 2)] {
        proved(name, patterns, indexes);
    }
}

#[test]
fn the_imported_examples_pass_with_every_pattern_proved_but_the_one_with_a_scan() {
    let mut patterns = Vec::new();
    for (name, _) in IMPORTED {
        let checked = checked(name);
        assert_eq!(checked.passes(), name != "complaints.yaml", "{}", text(checked, name));
        for pattern in &checked.report.patterns {
            assert_eq!(pattern.outcome, Outcome::Met, "{name} {}", pattern.id);
            assert_eq!(pattern.strangers, Vec::<Vec<String>>::new(), "{name} {}", pattern.id);
        }
        patterns.push(checked.report.patterns.len());
    }
    assert_eq!(patterns, [9, 6, 22, 10, 16, 8, 8, 7]);
}

#[test]
fn the_imported_examples_hold_the_tables_and_items_of_their_documents_and_no_item_is_without_an_entity() {
    for (name, document) in IMPORTED {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/data/workbench");
        let source = std::fs::read_to_string(folder.join(document)).expect("the document is there");
        let draft = Document::parse(&source).and_then(|document| document.read()).expect("readable").draft;
        let model = example(name);
        let samples = load(&model, &no_files).expect("items");
        let stored = stored_items(&model);
        let made = of_model(&model, &stored);
        assert_eq!(made.tables.len(), draft.tables.len(), "{name}");
        for (own, table) in made.tables.iter().zip(&draft.tables) {
            assert_eq!(own.definition, table.definition, "{name}");
            assert_eq!(own.items, table.items, "{name}");
        }
        assert_eq!(samples.len(), stored.values().map(Vec::len).sum::<usize>(), "{name}");
        for sample in &samples {
            assert!(sample.entity.is_some(), "{name}: {:?} belongs to no entity", sample.item);
        }
    }
}

#[test]
fn r73_every_document_imports_as_a_model_that_passes_its_check() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/tests/data/workbench")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the test data is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let source = std::fs::read_to_string(&path).expect("the document can be read");
                let imported = import("imported", &source, None).expect("a known format").model;
                // As the command does: written to a model file and read back.
                let model = parse(&write(&imported)).expect("a model file");
                let checked = crate::support::check(&model);
                assert!(checked.passes(), "{}: {}", path.display(), text(&checked, "imported"));
                let items: u64 = checked.report.tables.iter().map(|table| table.items).sum();
                let kept: usize = stored_items(&imported).values().map(Vec::len).sum();
                assert_eq!(usize::try_from(items).ok(), Some(kept), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 31);
}

/// The report of each example, kept in `tests/reports`; `KEYWRIGHT_BLESS=1` rewrites it.
#[test]
fn the_patterns_and_findings_of_the_examples_match_their_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for path in crate::support::example_paths() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let found = patterns_and_findings(checked(&name));
        let path = folder.join(&name).with_extension("txt");
        if std::env::var_os("KEYWRIGHT_BLESS").is_some() {
            std::fs::write(&path, &found).expect("the report can be written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(found, kept, "{name}");
    }
}

/// The table of patterns, and the rule and subject of each finding, without the rules' wording.
fn patterns_and_findings(checked: &Checked) -> String {
    let report = text(checked, "");
    let table = report.split("\n\n").next().unwrap_or_default();
    let findings = checked
        .findings
        .iter()
        .map(|finding| format!("{} {} {}\n", finding.rule, finding.severity.name(), finding.subject));
    let findings: std::collections::BTreeSet<String> = findings.collect();
    format!("{table}\n\n{}", findings.into_iter().collect::<String>())
}

#[test]
fn the_ten_patterns_have_their_golden_results_with_two_indexes() {
    let checked = checked("ecommerce.yaml");
    let counts: Vec<u64> = checked.report.patterns.iter().map(|pattern| pattern.items_returned).collect();
    // Pattern 4 returns what the article's model returns: both products of the order.
    assert_eq!(counts, [1, 1, 4, 2, 1, 1, 1, 1, 1, 2]);
    assert!(
        checked.report.patterns.iter().all(|pattern| pattern.read_units().0 == 1 && pattern.requests == 1)
    );
    assert_eq!(checked.report.tables[0].indexes.len(), 2);
}

#[test]
fn r70_the_scan_of_the_complaint_example_is_found() {
    let checked = checked("complaints.yaml");
    assert!(!checked.passes());
    let errors: Vec<(&str, &str)> = checked
        .findings
        .iter()
        .filter(|finding| finding.severity == keywright_workbench::lint::Severity::Error)
        .map(|finding| (finding.rule, finding.subject.as_str()))
        .collect();
    assert_eq!(errors, [("L002", "P5")]);
}

/// A model whose sort key begins with a non-alphabetic prefix, and one without items whose index is keyed by
/// attributes that the table's key lacks.
const TROUBLESOME: [(&str, &str); 2] = [
    (
        "a sign before the word",
        r#"
format: 1
model: min1
tables:
  Tab: {key: {PK: S, SK: S}}
entities:
  User: {count: 10, key: {PK: "USER#{userId}", SK: "~PROFILE"}, attrs: {userId: S, name: S}}
  Ord: {count: 10, key: {PK: "USER#{userId}", SK: "ORDER#{orderId}"}, attrs: {userId: S, orderId: S, zip: S}}
data:
  inline:
    User: [{userId: u1, name: A}, {userId: u2, name: B}]
    Ord: [{userId: u1, orderId: o1, zip: z}]
patterns:
  - {id: P1, text: x, get: User, given: {userId: eq}, rate: 1}
"#,
    ),
    (
        "no items",
        r#"
format: 1
model: min3
tables:
  Tab: {key: {PK: S, SK: S}, indexes: {gix: {pk: gp, sk: gs, project: all}}}
entities:
  Inv: {count: 10, key: {PK: "o#{orderId}", SK: "i#{invId}"}, gix: {gp: "c#{custId}", gs: "i#{date}"}, attrs: {orderId: S, invId: S, custId: S, date: S, amt: N}}
patterns:
  - {id: P1, text: x, query: Inv, given: {custId: eq}, rate: 1}
"#,
    ),
];

/// The findings of a check, without line numbers.
fn findings(model: &Model) -> (bool, Vec<String>) {
    match keywright_workbench::check(model, &|_| Err("no files".to_owned()), &mut |_| {}) {
        Ok(checked) => {
            let patterns = checked.report.patterns.iter().map(|pattern| {
                format!("{} {:?} {:?} {}", pattern.id, pattern.outcome, pattern.index, pattern.items_returned)
            });
            let advice =
                checked.findings.iter().map(|finding| format!("{} {}", finding.rule, finding.subject));
            (checked.passes(), patterns.chain(advice).collect())
        }
        Err(faults) => (false, faults.iter().map(|fault| fault.text.clone()).collect()),
    }
}

#[test]
fn every_model_survives_a_round_trip_through_its_document_and_side_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let mut models: Vec<(String, Model)> = std::fs::read_dir(folder)
        .expect("the examples are there")
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "yaml"))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .map(|name| (name.clone(), example(&name)))
        .collect();
    assert!(models.len() >= 17, "{}", models.len());
    models.extend(TROUBLESOME.map(|(name, text)| (name.to_owned(), parse(text).expect("a model"))));
    for (name, model) in models {
        let mut items = stored_items(&Model::default());
        for sample in load(&model, &|_| Err("no files".to_owned())).expect("items") {
            items.entry(sample.table).or_default().push(sample.item);
        }
        let without_data = |model: &Model| Model { data: DataSource::default(), ..model.clone() };
        let side = parse(&write(&without_data(&model))).expect("a side file");
        let document = Document::fresh(&of_model(&model, &items), "Nov 21, 2026, 09:00 AM").document;
        let imported = import("other", &document.to_text(), Some(&side)).expect("a document");
        assert_eq!(imported.notes, Vec::<String>::new(), "{name}");
        let again = parse(&write(&imported.model)).expect("a model file");
        assert_eq!(write(&without_data(&again)), write(&without_data(&model)), "{name}");
        let sorted = |items: &Items| {
            let mut shown: Vec<String> = items
                .iter()
                .flat_map(|(table, own)| own.iter().map(move |item| format!("{table} {item:?}")))
                .collect();
            shown.sort();
            shown
        };
        assert_eq!(sorted(&stored_items(&again)), sorted(&items), "{name}");
        // The same model with the same items passes as before; only the origin of the items is new to a
        // check.
        if name == "storefront.yaml" || TROUBLESOME.iter().any(|(known, _)| *known == name) {
            assert_eq!(findings(&again), findings(&model), "{name}");
        }
    }
}

#[test]
fn changes_in_the_document_are_taken_over_and_the_rest_stays_as_in_the_model() {
    let model = parse(TROUBLESOME[1].1).expect("a model");
    let document = Document::fresh(&of_model(&model, &Items::new()), "Nov 21, 2026, 09:00 AM").document;
    let text = document
        .to_text()
        .replace("o#${orderId}", "order#${orderId}")
        .replace("\"gs\",\n            \"invId\"", "\"colour\",\n            \"gs\",\n            \"invId\"");
    assert_ne!(text, document.to_text());
    let again = import("other", &text, Some(&model)).expect("a document").model;
    let entity = &again.entities[0];
    let template = |key: &str| entity.template(key).map(|template| template.to_string());
    assert_eq!(template("PK").as_deref(), Some("order#{orderId}"));
    assert_eq!(template("SK").as_deref(), Some("i#{invId}"));
    assert_eq!(template("gp").as_deref(), Some("c#{custId}"));
    assert_eq!((entity.count, again.patterns.len()), (Some(10), 1));
    let names: Vec<&str> = entity.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    assert!(names.starts_with(&["orderId", "invId", "custId", "date", "amt"]), "{names:?}");
}
