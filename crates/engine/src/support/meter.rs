//! The consumed capacity that a response reports, by table and index, if the client asked for it.

use keywright_semantics::capacity::TableUsage;
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::response::{CapacityForm, ConsumedCapacity};

/// The consumed capacity of one table; `usage` is called only if it is reported.
pub(crate) fn consumed(
    level: ReturnConsumedCapacity,
    table_name: &str,
    form: CapacityForm,
    usage: impl FnOnce() -> TableUsage,
) -> Option<Box<ConsumedCapacity>> {
    match level {
        ReturnConsumedCapacity::None => None,
        ReturnConsumedCapacity::Total | ReturnConsumedCapacity::Indexes => {
            let (table_name, usage) = (table_name.to_owned(), usage());
            Some(Box::new(ConsumedCapacity { table_name, usage, form, level }))
        }
    }
}

/// Sums usage by table, in the order tables first appear.
#[derive(Default)]
pub(crate) struct Meter {
    tables: Vec<(String, TableUsage)>,
}

impl Meter {
    pub(crate) fn add(&mut self, table_name: &str, usage: TableUsage) {
        match self.tables.iter_mut().find(|(name, _)| name == table_name) {
            Some((_, total)) => {
                let before = total.table.write;
                total.merge(usage);
                assert!(total.table.write >= before, "merging usage never lowers it");
            }
            None => self.tables.push((table_name.to_owned(), usage)),
        }
    }

    pub(crate) fn report(
        self,
        level: ReturnConsumedCapacity,
        form: CapacityForm,
    ) -> Option<Vec<ConsumedCapacity>> {
        if level == ReturnConsumedCapacity::None {
            return None;
        }
        let figures = self.tables.into_iter();
        Some(figures.map(|(table_name, usage)| ConsumedCapacity { table_name, usage, form, level }).collect())
    }

    /// Every table's usage.
    pub(crate) fn into_tables(self) -> Vec<(String, TableUsage)> {
        self.tables
    }
}
