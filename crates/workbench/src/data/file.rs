//! Item files: `NoSQL` Workbench documents, DynamoDB's JSON, and records by entity in YAML or JSON.

use keywright_semantics::value::Item;

use crate::exchange::json::Json;
use crate::exchange::to_model::node;
use crate::exchange::workbench_json::Document;
use crate::exchange::yaml;
use crate::model::{Model, Node};

/// What a file holds.
#[derive(Default)]
pub(super) struct Contents {
    /// Records by entity.
    pub(super) records: Vec<(String, Node)>,
    /// Items as stored, by table.
    pub(super) stored: Vec<(String, Node)>,
    pub(super) items: Vec<(String, Item)>,
}

pub(super) fn read(model: &Model, text: &str) -> Result<Contents, String> {
    let root = match Json::parse(text) {
        Ok(root) => root,
        Err(_) if is_lines(text) => return lines(model, text),
        Err(_) => yaml::parse(text).map_err(|fault| fault.to_string())?,
    };
    if Document::looks_like(&root) {
        return workbench(root);
    }
    let mut contents = Contents::default();
    if let Some(items) = root.get("Items") {
        contents.stored = items
            .elements()
            .iter()
            .map(|item| Ok((only_table(model)?, node(item))))
            .collect::<Result<_, String>>()?;
        return Ok(contents);
    }
    for (name, list) in root.members() {
        for element in list.elements() {
            let put = element.get("PutRequest").and_then(|put| put.get("Item"));
            match put {
                Some(item) => contents.stored.push((name.clone(), node(item))),
                None if model.entity(name).is_some() => contents.records.push((name.clone(), node(element))),
                None if model.table(name).is_some() => contents.stored.push((name.clone(), node(element))),
                None => return Err(format!("`{name}` is no entity and no table of the model")),
            }
        }
    }
    Ok(contents)
}

fn workbench(root: Json) -> Result<Contents, String> {
    let faults = |faults: Vec<crate::exchange::fault::ExchangeFault>| {
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let draft = Document::of(root).map_err(faults)?.read().map_err(faults)?.draft;
    let items = draft.tables.into_iter().flat_map(|table| {
        let name = table.definition.name;
        table.items.into_iter().map(move |item| (name.clone(), item))
    });
    Ok(Contents { items: items.collect(), ..Contents::default() })
}

/// The form of a table's export: one `{"Item": …}` a line.
fn is_lines(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.trim_start().starts_with("{\"Item\""))
}

fn lines(model: &Model, text: &str) -> Result<Contents, String> {
    let table = only_table(model)?;
    let mut contents = Contents::default();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = Json::parse(line).map_err(|fault| format!("line {}: {fault}", number + 1))?;
        let item = row.get("Item").ok_or_else(|| format!("line {}: no `Item`", number + 1))?;
        contents.stored.push((table.clone(), node(item)));
    }
    Ok(contents)
}

fn only_table(model: &Model) -> Result<String, String> {
    match model.tables.as_slice() {
        [table] => Ok(table.name.clone()),
        _ => Err("these items do not say which table they belong to: write `items: {Table: …}`".to_owned()),
    }
}
