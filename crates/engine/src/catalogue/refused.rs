//! Tables that a later release wrote and that this one must not serve: their records have critical sections
//! that it does not know.
//!
//! Such a table keeps its name and all its rows. Every operation on it is refused, DeleteTable too: the
//! unknown section may say that its rows or its history must be kept, or name rows that this release would
//! leave behind. No background work is done for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::messages::table as messages;

use crate::support::env::{AccountId, Namespace, Region};
use crate::support::layout::TableId;

/// A table that is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedTable {
    pub id: TableId,
    pub account: String,
    pub region: String,
    pub name: String,
    /// What the unknown critical sections hold, for people.
    pub unknown: Vec<String>,
}

impl RefusedTable {
    /// Why the table is not served, and what to do.
    pub(crate) fn sentence(&self) -> String {
        messages::of_later_release(&self.name, &self.unknown)
    }

    /// The error of every operation on the table.
    pub(crate) fn error(&self) -> Error {
        Error::new(ErrorKind::ResourceInUse, self.sentence())
    }

    pub(super) fn namespace(&self) -> Namespace {
        Namespace {
            account: AccountId::from(self.account.as_str()),
            region: Region::stored(self.region.as_str()),
        }
    }
}

/// All tables that are not served. Invariant: `names` has only tables of `tables`.
#[derive(Debug, Default)]
pub(super) struct RefusedTables {
    tables: BTreeMap<TableId, Arc<RefusedTable>>,
    /// Those that were not deleted.
    names: BTreeMap<Namespace, BTreeMap<String, TableId>>,
}

impl RefusedTables {
    pub(super) fn insert(&mut self, table: RefusedTable) {
        self.tables.insert(table.id, Arc::new(table));
    }

    /// Notes that the table has its name; false if it is not one of these.
    pub(super) fn note_named(&mut self, id: TableId) -> bool {
        let Some(table) = self.tables.get(&id) else { return false };
        self.names.entry(table.namespace()).or_default().insert(table.name.clone(), id);
        true
    }

    pub(super) fn has(&self, id: TableId) -> bool {
        self.tables.contains_key(&id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &RefusedTable> {
        self.tables.values().map(|table| &**table)
    }

    /// The table of this name.
    pub(super) fn find(&self, namespace: &Namespace, name: &str) -> Option<&RefusedTable> {
        let id = self.names.get(namespace)?.get(name)?;
        self.tables.get(id).map(|table| &**table)
    }

    /// A table that has or had this name: its streams may still be kept.
    pub(super) fn find_with_deleted(&self, namespace: &Namespace, name: &str) -> Option<&RefusedTable> {
        self.all().find(|table| table.name == name && table.namespace() == *namespace)
    }

    /// The names in a namespace, in order.
    pub(super) fn names(&self, namespace: &Namespace) -> impl Iterator<Item = &String> {
        self.names.get(namespace).into_iter().flat_map(BTreeMap::keys)
    }
}
