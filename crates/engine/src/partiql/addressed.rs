//! Which partitions a statement addresses, as policies see it.
//!
//! It asks the same functions that bind statements, so that a decision and the read that it allows agree.

use keywright_semantics::partiql::{Access, KeyForms, Select, Statement, Where};
use keywright_semantics::schema::KeySchema;
use keywright_semantics::value::AttributeValue;
use keywright_store::Store;

use super::access::access;
use super::keys::key_match;
use crate::state::Engine;
use crate::support::env::Namespace;

/// What a statement addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// The values that it names for each attribute of the partition key of its table or index.
    pub partition_values: Vec<Vec<AttributeValue>>,
    /// Whether it reads the whole table or index. Only a SELECT can.
    pub is_full_scan: bool,
}

impl<S: Store> Engine<S> {
    /// What a statement addresses; none if there is no such table or index. It reads the catalogue in memory
    /// alone.
    pub fn addressed(&self, namespace: &Namespace, statement: &Statement) -> Option<Addressed> {
        let table = self.catalogue().find(namespace, &statement.table().name)?;
        let key = match statement.key_index() {
            None => &table.schema.key,
            Some(name) => &table.schema.indexes.iter().find(|index| *index.name == *name)?.key,
        };
        Some(Addressed::of(key, statement))
    }
}

impl Addressed {
    /// What a statement addresses in a table or index of this key.
    pub fn of(key: &KeySchema, statement: &Statement) -> Self {
        match statement {
            Statement::Select(select) => of_select(key, select),
            Statement::Exists(select) => named(key, select.condition.as_ref(), KeyForms::Equal),
            Statement::Update { condition, .. } | Statement::Delete { condition, .. } => {
                named(key, condition.as_ref(), KeyForms::Equal)
            }
            Statement::Insert { item, .. } => {
                let values = |name: &str| item.get(name).cloned().into_iter().collect();
                let values = key.partition.iter().map(|attribute| values(&attribute.name));
                Self { partition_values: values.collect(), is_full_scan: false }
            }
        }
    }
}

/// The values that a clause names for the key of one item.
fn named(key: &KeySchema, condition: Option<&Where>, forms: KeyForms) -> Addressed {
    let found = key_match(key, condition, forms).key;
    let values = |name: &str| found.get(name).cloned().into_iter().collect();
    let values = key.partition.iter().map(|attribute| values(&attribute.name));
    Addressed { partition_values: values.collect(), is_full_scan: false }
}

/// A SELECT. One that is refused once it is bound counts as one that reads everything.
fn of_select(key: &KeySchema, select: &Select) -> Addressed {
    let Ok(Access::Reads(reads)) = access(key, select) else {
        let named = named(key, select.condition.as_ref(), KeyForms::EqualOrIn);
        return Addressed { is_full_scan: true, ..named };
    };
    let mut partition_values = vec![Vec::new(); key.partition.len()];
    if let Some(first) = partition_values.first_mut() {
        *first = reads.into_iter().map(|read| read.partition).collect();
    }
    Addressed { partition_values, is_full_scan: false }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::partiql::prepare;
    use keywright_semantics::schema::{KeyAttribute, KeyType};

    use super::*;

    fn key() -> KeySchema {
        let of = |name: &str| vec![KeyAttribute { name: name.to_owned(), key_type: KeyType::S }];
        KeySchema { partition: of("pk"), sort: of("sk") }
    }

    /// The partitions that the SELECT with this clause addresses, and whether it reads everything.
    fn select(clause: &str) -> (Vec<String>, bool) {
        let statement = prepare(&format!("SELECT * FROM Tab {clause}"), &[]).unwrap();
        let Statement::Select(select) = statement else { panic!("{statement:?}") };
        let Addressed { partition_values, is_full_scan } = of_select(&key(), &select);
        let [values] = partition_values.as_slice() else { panic!("{partition_values:?}") };
        let texts = values.iter().map(|value| match value {
            AttributeValue::S(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        (texts.collect(), is_full_scan)
    }

    #[test]
    fn every_partition_that_is_read_is_addressed_and_a_scan_is_one() {
        for (clause, values, is_full_scan) in [
            ("", &[][..], true),
            ("WHERE pk = 'a'", &["a"], false),
            ("WHERE 'a' = pk AND x = 1", &["a"], false),
            ("WHERE pk IN ['a', 'b']", &["a", "b"], false),
            ("WHERE pk = 'a' OR pk = 'b'", &["a", "b"], false),
            ("WHERE pk = 'a' OR x = 1", &[], true),
            ("WHERE NOT pk = 'a'", &[], true),
            ("WHERE pk > 'a'", &[], true),
            ("WHERE sk = 'a'", &[], true),
            // Two values at once: nothing is found, but everything is read.
            ("WHERE pk = 'a' AND pk = 'b'", &["a"], true),
            ("WHERE pk IN ['a', 'b'] AND pk IN ['b', 'c']", &[], true),
        ] {
            let (found, scans) = select(clause);
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            assert_eq!((found.as_slice(), scans), (values, is_full_scan), "{clause}");
        }
    }
}
