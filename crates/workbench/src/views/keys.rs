//! Step 3: the key template of every entity, in the table and in every index, in one table.

use super::page::NOTHING;
use super::{Looked, Page};
use keywright_model::{Entity, KeyAttribute, Table};

pub(super) fn page(looked: &Looked<'_>) -> Page {
    let mut page = Page::new(format!("Keys of {}", looked.model.name));
    for table in &looked.model.tables {
        page.heading(format!("Table {}", table.name));
        let columns = columns(table);
        let headers = std::iter::once("entity".to_owned()).chain(columns.iter().map(Column::header));
        let headers: Vec<String> = headers.collect();
        let rows = looked.model.entities_of(&table.name).map(|entity| {
            let cells = columns.iter().map(|column| column.cell(entity));
            std::iter::once(entity.name.clone()).chain(cells).collect()
        });
        page.table(headers.iter().map(String::as_str), rows.collect());
    }
    page.say(format!(
        "`{NOTHING}`: the entity's items have no such attribute and are not in that index, which is what makes an index sparse."
    ));
    page
}

/// One key attribute of the table or of an index.
struct Column<'a> {
    index: Option<&'a str>,
    part: &'a KeyAttribute,
    /// All key attributes of the same key: an item without one of them is not in the index.
    all: Vec<&'a KeyAttribute>,
}

fn columns(table: &Table) -> Vec<Column<'_>> {
    let own: Vec<&KeyAttribute> = table.key_parts().collect();
    let mut columns: Vec<Column<'_>> =
        own.iter().map(|part| Column { index: None, part, all: own.clone() }).collect();
    for index in &table.indexes {
        let all: Vec<&KeyAttribute> = index.key_parts().collect();
        columns.extend(all.iter().map(|part| Column { index: Some(&index.name), part, all: all.clone() }));
    }
    columns
}

impl Column<'_> {
    fn header(&self) -> String {
        let name = &self.part.name;
        match self.index {
            None => name.clone(),
            Some(index) if name.starts_with(index) => name.clone(),
            Some(index) => format!("{index}.{name}"),
        }
    }

    fn cell(&self, entity: &Entity) -> String {
        let whole = self.all.iter().all(|part| entity.template(&part.name).is_some());
        match entity.template(&self.part.name) {
            Some(template) if whole => template.to_string(),
            _ => NOTHING.to_owned(),
        }
    }
}
