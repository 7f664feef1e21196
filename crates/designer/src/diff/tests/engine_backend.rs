//! The engine behind the simulator: each write also goes to its tables, and reads get their items from there.
//!
//! Every index of both designs exists from the beginning and projects all attributes; the simulator decides
//! when an index may be read.

use std::collections::BTreeMap;

use keywright_semantics::request::parts::QueryParts;
use keywright_semantics::request::{Query, Request};
use keywright_semantics::response::Response;
use keywright_semantics::value::{AttributeValue, Item};

use keywright_model::parse;
use keywright_workbench::run::{Database, parts_of};

type Row = BTreeMap<String, String>;

pub(super) struct Mirror {
    database: Database,
    /// The sort key of each table.
    sorts: BTreeMap<String, String>,
}

/// A valid name for a table or index: the simulator's are too short for the engine.
fn named(name: &str) -> String {
    format!("the-{}", name.replace('+', "-new"))
}

fn item(row: &Row) -> Item {
    row.iter().map(|(name, value)| (name.clone(), AttributeValue::S(value.clone()))).collect()
}

impl Mirror {
    /// Tables by name, each with its sort key.
    pub(super) fn new(sorts: BTreeMap<String, String>) -> Self {
        let database = Database::open().expect("an engine in memory");
        for (name, sort) in &sorts {
            let name = named(name);
            let text = format!(
                "format: 1\nmodel: m\ntables:\n  {name}: {{key: {{pk: S, {sort}: S}}, indexes: {{the-g1: {{pk: g1}}, the-g1-new: {{pk: g1}}, the-g2: {{pk: g2}}, the-g2-new: {{pk: g2}}, the-ga: {{pk: a}}, the-ga-new: {{pk: a}}}}}}\nentities:\n  E: {{key: {{pk: \"{{pk}}\", {sort}: \"{{{sort}}}\"}}, attrs: {{pk: S, {sort}: S, g1: S, g2: S, a: S}}}}\npatterns: []\n"
            );
            let model = parse(&text).unwrap_or_else(|faults| panic!("{faults:?}"));
            database.create(&model.tables[0]).expect("a table");
        }
        Self { database, sorts }
    }

    pub(super) fn put(&self, table: &str, row: &Row) {
        self.database.put(&named(table), &item(row)).expect("it is put");
    }

    pub(super) fn delete(&self, table: &str, key: &(String, String)) {
        let key: Row = [("pk".to_owned(), key.0.clone()), (self.sorts[table].clone(), key.1.clone())].into();
        self.database.restore(&named(table), &item(&key), None).expect("it is deleted");
    }

    /// The rows with a key, in the table or in an index; in the table, those whose sort key begins so.
    pub(super) fn query(
        &self,
        table: &str,
        index: Option<&str>,
        key: (&str, &str),
        begins: &str,
    ) -> Vec<((String, String), Row)> {
        let sort = &self.sorts[table];
        let mut known: Row = [(":key".to_owned(), key.1.to_owned())].into();
        let mut condition = format!("{} = :key", key.0);
        if !begins.is_empty() {
            condition = format!("{condition} AND begins_with({sort}, :begins)");
            known.insert(":begins".to_owned(), begins.to_owned());
        }
        let parts = QueryParts {
            table_name: named(table),
            index_name: index.map(named),
            key_condition_expression: Some(condition),
            expression_attribute_values: Some(parts_of(&item(&known))),
            ..QueryParts::default()
        };
        let query = Query::validate(parts).unwrap_or_else(|fault| panic!("{fault:?}"));
        let answer = self.database.execute(Request::Query(Box::new(query)));
        let Ok(Response::Query(page)) = answer else { panic!("{answer:?}") };
        let rows = page.items.into_iter().flatten().map(|stored| {
            let texts = stored.decode().into_iter().map(|(name, value)| match value {
                AttributeValue::S(text) => (name, text),
                other => panic!("{other:?}"),
            });
            let row: Row = texts.collect();
            ((row["pk"].clone(), row[sort].clone()), row)
        });
        rows.collect()
    }
}
