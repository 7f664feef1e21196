//! Item files in forms of our own and of DynamoDB: its JSON, its export's lines, and records by entity in
//! YAML or JSON.

use crate::json::Json;
use crate::{At, Fault, Faults, Model, Node, NodeKind, did_you_mean, read_yaml};

/// The contents of an item file.
#[derive(Default)]
pub(super) struct Contents {
    /// Records by entity.
    pub(super) records: Vec<(String, Node)>,
    /// Stored items, by table.
    pub(super) stored: Vec<(String, Node)>,
}

/// Reads an item file; faults have positions in it.
pub(super) fn read(model: &Model, text: &str) -> Result<Contents, Faults> {
    let json = Json::parse(text);
    // Several lines do not parse as one JSON document. A single exported line does: it is read as an export
    // unless the model has an entity or table named `Item`.
    let named = model.entity(EXPORTED).is_some() || model.table(EXPORTED).is_some();
    if is_lines(text) && (json.is_err() || !named) {
        return lines(model, text);
    }
    // Nearly all JSON is YAML, and the YAML reader keeps positions.
    let root = match (read_yaml(text), json) {
        (Ok(root), _) => root,
        (Err(_), Ok(json)) => Node::from(&json),
        (Err(fault), Err(_)) => return Err(vec![fault]),
    };
    let mut contents = Contents::default();
    if let Some(items) = root.get("Items") {
        let table = only_table(model).map_err(|fault| vec![Fault::new(items.at, fault)])?;
        contents.stored = items.elements().iter().map(|item| (table.clone(), item.clone())).collect();
        return Ok(contents);
    }
    let mut faults = Faults::new();
    if !matches!(root.kind, NodeKind::Map(_)) {
        let text = format!(
            "{} stands where records belong: write `Entity: [{{attribute: value}}, …]`",
            root.description()
        );
        faults.push(Fault::new(root.at, text));
    }
    for (name, list) in root.members() {
        if let Err(fault) = contents.list(model, name, list) {
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(contents) } else { Err(faults) }
}

impl Contents {
    /// Requests of a batch, records of an entity, or items of a table.
    fn list(&mut self, model: &Model, name: &str, list: &Node) -> Result<(), Fault> {
        for element in list.elements() {
            let put = element.get("PutRequest").and_then(|put| put.get("Item"));
            match put {
                Some(item) => self.stored.push((name.to_owned(), item.clone())),
                None if model.entity(name).is_some() => self.records.push((name.to_owned(), element.clone())),
                None if model.table(name).is_some() => self.stored.push((name.to_owned(), element.clone())),
                None => {
                    let entities = model.entities.iter().map(|entity| &*entity.name);
                    let known = entities.chain(model.tables.iter().map(|table| &*table.name));
                    let hint = did_you_mean(name, known);
                    return Err(Fault::new(
                        list.at,
                        format!("there is no entity and no table `{name}`{hint}"),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The member of an export's line that is the item.
const EXPORTED: &str = "Item";

/// The format of a table export: one `{"Item": …}` per line.
fn is_lines(text: &str) -> bool {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| line.trim_start().starts_with("{\"Item\""))
}

fn lines(model: &Model, text: &str) -> Result<Contents, Faults> {
    let at = |number: usize| At { line: number + 1, column: 1 };
    let table = only_table(model).map_err(|fault| vec![Fault::new(at(0), fault)])?;
    let mut contents = Contents::default();
    let mut faults = Faults::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match Json::parse(line).as_ref().map(|row| row.get("Item")) {
            Ok(Some(item)) => {
                contents.stored.push((table.clone(), Node { at: at(number), ..Node::from(item) }));
            }
            Ok(None) => faults.push(Fault::new(at(number), "write `{\"Item\": {…}}` on each line")),
            Err(fault) => faults.push(Fault::new(at(number), fault.to_string())),
        }
    }
    if faults.is_empty() { Ok(contents) } else { Err(faults) }
}

fn only_table(model: &Model) -> Result<String, String> {
    match model.tables.as_slice() {
        [table] => Ok(table.name.clone()),
        _ => Err("these items do not say which table they belong to: write `items: {Table: …}`".to_owned()),
    }
}
