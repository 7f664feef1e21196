//! Imports a file of any known format as a model.

use super::cloudformation::{self, Parameters};
use super::create_table;
use super::draft::{Draft, DraftTable};
use super::fault::{ExchangeFault, Faults};
use super::lines::Lines;
use super::live::{described, of_items};
use super::repair::{distinct_names, made_readable};
use super::sidecar::to_model_with_sidecar;
use super::to_model::{Made, to_model};
use super::workbench_json::{Document, Read};
use super::yaml;
use keywright_model::json::Json;
use keywright_model::{Model, parse as parse_model, write as write_model};

/// The origin of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The document itself. It keeps what the model cannot hold, for a later export.
    Workbench(Document),
    /// One or several requests, or answers of `DescribeTable`.
    CreateTable,
    /// A template, of SAM too.
    CloudFormation,
}

/// An imported model.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// A model that its own reader accepts.
    pub model: Model,
    /// What kind of file it was.
    pub source: Source,
    /// A sentence for each part that was assumed, changed or left out.
    pub notes: Vec<String>,
}

/// The formats that [`import`] reads.
pub const FORMATS: &str = "NoSQL Workbench documents (JSON with DataModel), CreateTable requests and DescribeTable \
                           answers (JSON with KeySchema), CloudFormation and SAM templates (JSON or YAML with Resources)";

/// Reads a file of any known format. `name` names the model if the file does
/// not. `side` is a model with the parts that a Workbench document cannot
/// hold, such as patterns and counts; other formats have no such model.
pub fn import(name: &str, text: &str, side: Option<&Model>) -> Result<Imported, Faults> {
    import_with(name, text, side, &Parameters::new())
}

/// [`import`] with values for the parameters of a `CloudFormation` template.
pub fn import_with(
    name: &str,
    text: &str,
    side: Option<&Model>,
    parameters: &Parameters,
) -> Result<Imported, Faults> {
    let tree = parse(text)?;
    if !parameters.is_empty() && !cloudformation::looks_like(&tree) {
        let text = "only a CloudFormation template has parameters: leave --parameter out";
        return Err(vec![ExchangeFault::new("", text)]);
    }
    let (draft, source, mut notes) = if Document::looks_like(&tree) {
        let document = Document::of(tree)?;
        let Read { mut draft, mut notes, assumed } = document.read_all();
        notes.extend(assumed.iter().map(|known| format!("{}; {}", known.fault, known.assumed)));
        distinct_names(&mut draft, &mut notes);
        (draft, Source::Workbench(document), notes)
    } else if cloudformation::looks_like(&tree) {
        let read = cloudformation::read(&tree, &Lines::of(text), parameters)?;
        let tables = read.tables.into_iter().map(|table| of_items(&table, &[]));
        let description = tree.str_at("Description").unwrap_or_default().to_owned();
        (Draft { description, ..draft(name, tables.collect()) }, Source::CloudFormation, read.notes)
    } else if is_create_table(&tree) {
        let tables = create_table::read_document(&tree)?;
        let written = create_table::written(&tree);
        let drafts = tables.into_iter().zip(&written).map(|(table, (_, json))| described(&table, json, &[]));
        (draft(name, drafts.collect()), Source::CreateTable, create_table_notes(&written, text))
    } else {
        return Err(vec![ExchangeFault::new("", unknown(&tree))]);
    };
    let Made { mut model, notes: more } = match (&source, side) {
        (Source::Workbench(document), Some(side)) => to_model_with_sidecar(document, &draft, side),
        _ => to_model(&draft),
    };
    notes.extend(more);
    if let Source::Workbench(document) = &source {
        let (patterns, more) = document.patterns(&model);
        // The side model already contains the patterns made from the queries, with more detail.
        let new =
            patterns.into_iter().filter(|new| !model.patterns.iter().any(|known| known.text == new.text));
        model.patterns.extend(new.collect::<Vec<_>>());
        notes.extend(more);
    }
    match source {
        Source::Workbench(_) => model = made_readable(model, &mut notes)?,
        Source::CreateTable | Source::CloudFormation => readable(&model)?,
    }
    Ok(Imported { model, source, notes })
}

/// Whether a text has the format that a side model belongs to.
pub fn takes_a_side(text: &str) -> bool {
    parse(text).is_ok_and(|tree| Document::looks_like(&tree))
}

/// The members of requests and descriptions that a model cannot hold, with their lines.
fn create_table_notes(written: &[(String, &Json)], text: &str) -> Vec<String> {
    let lines = Lines::of(text);
    let mut notes = Vec::new();
    for (path, table) in written {
        let name = table.str_at("TableName").unwrap_or_default();
        for unheld in create_table::unheld(table) {
            let line = lines.line(&create_table::member(path, &unheld));
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            notes.push(format!("{line}{name}.{unheld}: a model does not hold this; left out"));
        }
    }
    notes
}

/// Checks that the model can be written and read again: the
/// file can describe a table that the service would refuse.
pub fn readable(model: &Model) -> Result<(), Faults> {
    let mut twice = Faults::new();
    for (at, table) in model.tables.iter().enumerate() {
        if model.tables.iter().take(at).any(|other| other.name == table.name) {
            twice.push(ExchangeFault::new(&table.name, "two tables have this name"));
        }
        for (at, index) in table.indexes.iter().enumerate() {
            if table.indexes.iter().take(at).any(|other| other.name == index.name) {
                let place = format!("{}.{}", table.name, index.name);
                twice.push(ExchangeFault::new(place, "two indexes have this name"));
            }
        }
    }
    if !twice.is_empty() {
        return Err(twice);
    }
    let faults = parse_model(&write_model(model)).err().unwrap_or_default();
    let reported = faults
        .into_iter()
        .map(|fault| ExchangeFault::new("", format!("the imported model is not valid: {}", fault.text)));
    let reported: Faults = reported.collect();
    if reported.is_empty() { Ok(()) } else { Err(reported) }
}

/// Reads JSON, or YAML if the text is not JSON. A text that begins like JSON is reported with its JSON error.
fn parse(text: &str) -> Result<Json, Faults> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    Json::parse(text).or_else(|json| {
        yaml::parse(text).map_err(|yaml| {
            let mut fault = if is_json { ExchangeFault::new("", json.to_string()) } else { yaml };
            // A file with such a member is of that format, and only its fault matters.
            if !["Resources", "DataModel", "KeySchema"].iter().any(|member| text.contains(member)) {
                fault.text = format!("{}; import reads {FORMATS}", fault.text);
            }
            vec![fault]
        })
    })
}

fn is_create_table(tree: &Json) -> bool {
    let one = |json: &Json| {
        ["Table", "TableDescription"].iter().any(|name| json.get(name).is_some())
            || json.get("KeySchema").is_some()
    };
    match tree {
        Json::List(elements) => !elements.is_empty() && elements.iter().all(one),
        tree => one(tree),
    }
}

fn unknown(tree: &Json) -> String {
    let known = format!("import reads {FORMATS}");
    if tree.get("format").is_some() && tree.get("model").is_some() {
        return format!("this is a model file already; {known}");
    }
    format!("the format is not known; {known}")
}

fn draft(name: &str, tables: Vec<DraftTable>) -> Draft {
    Draft { name: name.to_owned(), description: String::new(), tables }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_detected_from_the_content() {
        let template = "Resources:\n  Things:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n";
        let request = r#"{"TableName":"Things","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}"#;
        for (text, source) in [
            (template.to_owned(), Source::CloudFormation),
            (request.to_owned(), Source::CreateTable),
            (format!("[{request}]"), Source::CreateTable),
            (format!("{{\"Table\":{request}}}"), Source::CreateTable),
        ] {
            let imported = import("shop", &text, None).expect("a known format");
            assert_eq!(imported.source, source);
            assert_eq!(imported.model.name, "shop");
            assert_eq!(imported.model.tables[0].name, "Things");
        }
    }

    #[test]
    fn a_template_and_its_model_describe_the_same_table() {
        let template = "Description: \"Orders: all of them\"\nResources:\n  Things:\n    Type: AWS::DynamoDB::Table\n    Properties:\n      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]\n      KeySchema: [{AttributeName: id, KeyType: HASH}]\n";
        let imported = import("shop", template, None).expect("a template");
        assert_eq!(imported.model.text.as_deref(), Some("Orders: all of them"));
    }

    #[test]
    fn an_index_without_items_keeps_its_key() {
        let table = r#"{"TableName":"Shop","KeyAttributes":{"PartitionKey":{"AttributeName":"id","AttributeType":"S"}},
            "GlobalSecondaryIndexes":[{"IndexName":"byDay","KeyAttributes":{"PartitionKey":{"AttributeName":"day","AttributeType":"N"}}}],
            "TableData":[{"id":{"S":"a"}}]}"#;
        let imported = import("m", &format!("{{\"DataModel\":[{table}]}}"), None).expect("a document");
        let model = parse_model(&write_model(&imported.model)).expect("a model file");
        assert_eq!(model.tables[0].indexes[0].partition[0].key_type, keywright_model::KeyType::N);
        assert!(imported.notes[0].contains("index key day"), "{:?}", imported.notes);
    }

    #[test]
    fn the_fault_of_an_unknown_file_lists_the_known_formats() {
        for (text, part) in [
            ("a: 1", "the format is not known"),
            ("format: 1\nmodel: m", "a model file already"),
            ("{\"a\": 1,}", "the format is not known"),
            ("{\"a\" 1", "not JSON"),
            ("#!/bin/sh\naws dynamodb create-table --table-name T\n", "the format is not known"),
            ("aws dynamodb create-table \\\n  --table-name: T: U\n", "not YAML"),
            ("\u{0}\u{1}ELF\u{7f}", "YAML"),
        ] {
            let faults = import("m", text, None).expect_err("not a known format");
            assert!(faults[0].to_string().contains(part), "{faults:?}");
            for format in ["NoSQL Workbench", "DescribeTable", "CloudFormation"] {
                assert!(faults[0].to_string().contains(format), "{faults:?}");
            }
        }
        let broken =
            import("m", "Resources:\n  T: {Type: AWS::DynamoDB::Table\n", None).expect_err("no YAML");
        assert!(!broken[0].to_string().contains("NoSQL"), "{broken:?}");
    }
}
