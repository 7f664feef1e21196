//! Step 4: the indexes, the entities in them, and the patterns they serve.

use super::facts::{is_in, or_nothing};
use super::{Looked, Page};
use keywright_model::{Index, IndexKind, Projection, Table};

const HEADERS: [&str; 7] =
    ["index", "kind", "key", "projection", "entities in it", "entries in the sample", "patterns"];

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Indexes of {}", looked.model.name));
    for table in &looked.model.tables {
        page.heading(format!("Table {}", table.name));
        if table.indexes.is_empty() {
            page.say("It has no index: every pattern is served by the table's own key.");
            continue;
        }
        page.table(HEADERS, table.indexes.iter().map(|index| row(looked, table, index)).collect());
    }
    let tables = looked.model.tables.iter();
    let indexes: usize = tables.map(|table| table.indexes.len()).sum();
    let all = if indexes == 1 { "1 index".to_owned() } else { format!("{indexes} indexes") };
    page.say(format!(
        "{all} in all. A write of an item is one write to its table and one to each index it is in."
    ));
    page
}

fn row(looked: &Looked<'_>, table: &Table, index: &Index) -> Vec<String> {
    let names = |parts: &[keywright_model::KeyAttribute]| {
        parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("+")
    };
    let key = match index.sort.as_slice() {
        [] => names(&index.partition),
        sort => format!("{}, {}", names(&index.partition), names(sort)),
    };
    let projection = match &index.projection {
        Projection::All => "all".to_owned(),
        Projection::KeysOnly => "keys".to_owned(),
        Projection::Include(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    let entities: Vec<&str> = looked
        .model
        .entities_of(&table.name)
        .filter(|entity| is_in(entity, index))
        .map(|entity| entity.name.as_str())
        .collect();
    let patterns: Vec<&str> = looked
        .checked
        .report
        .patterns
        .iter()
        .filter(|pattern| pattern.table == table.name && pattern.index.as_ref() == Some(&index.name))
        .map(|pattern| pattern.id.as_str())
        .collect();
    let kind = match index.kind {
        IndexKind::Global => "global",
        IndexKind::Local => "local",
    };
    vec![
        index.name.clone(),
        kind.to_owned(),
        key,
        projection,
        or_nothing(entities.join(", ")),
        entries(looked, table, index),
        or_nothing(patterns.join(", ")),
    ]
}

/// The number of the table's items in the index; a small one means sparse.
fn entries(looked: &Looked<'_>, table: &Table, index: &Index) -> String {
    let report = looked.checked.report.tables.iter().find(|report| report.name == table.name);
    let found = report.and_then(|report| {
        let entries = report.indexes.iter().find(|known| known.name == index.name)?.items;
        Some(format!("{entries} of {}", report.items))
    });
    or_nothing(found.unwrap_or_default())
}
