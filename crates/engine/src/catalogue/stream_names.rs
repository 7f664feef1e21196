//! The names of all streams, in order: their account and region, their table's name, their label.
//!
//! A deleted table's streams are kept for a day, so thousands of tables may have had one name. A request for
//! one stream, or for a page of them, must not look at all of these.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::owner;
use super::table::Table;
use crate::support::env::Namespace;
use crate::support::layout::TableId;

/// A stream's name within its account and region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamName {
    pub table: String,
    pub label: String,
}

/// Which table each stream belongs to. Invariant: no account and region without a stream.
#[derive(Debug, Default)]
pub(super) struct StreamNames(BTreeMap<Namespace, BTreeMap<StreamName, TableId>>);

fn labels(table: &Table) -> impl Iterator<Item = &str> {
    table.streams().map(|stream| stream.terms.label.as_str())
}

fn named(table: &str, label: &str) -> StreamName {
    StreamName { table: table.to_owned(), label: label.to_owned() }
}

impl StreamNames {
    /// Notes a table that is new here.
    pub(super) fn add(&mut self, table: &Table) {
        if labels(table).next().is_none() {
            return;
        }
        let streams = self.0.entry(owner(table)).or_default();
        streams.extend(labels(table).map(|label| (named(&table.name, label), table.id)));
    }

    /// Forgets a table that is gone.
    pub(super) fn remove(&mut self, table: &Table) {
        if labels(table).next().is_none() {
            return;
        }
        let namespace = owner(table);
        let Some(streams) = self.0.get_mut(&namespace) else { return };
        for label in labels(table) {
            let name = named(&table.name, label);
            if streams.get(&name) == Some(&table.id) {
                streams.remove(&name);
            }
        }
        if streams.is_empty() {
            self.0.remove(&namespace);
        }
    }

    /// Notes what a table's new copy has.
    pub(super) fn replace(&mut self, before: &Table, after: &Table) {
        if !labels(before).eq(labels(after)) {
            self.remove(before);
            self.add(after);
        }
    }

    /// The table of a stream.
    pub(super) fn table(&self, namespace: &Namespace, table: &str, label: &str) -> Option<TableId> {
        self.0.get(namespace)?.get(&named(table, label)).copied()
    }

    /// The streams after `start`, only those of tables of one name if there is one.
    pub(super) fn after<'s>(
        &'s self,
        namespace: &Namespace,
        table: Option<&'s str>,
        start: Option<&StreamName>,
    ) -> impl Iterator<Item = (&'s StreamName, TableId)> {
        let first = table.map(|table| named(table, ""));
        let from = match (first, start) {
            (Some(first), Some(start)) if *start < first => Bound::Included(first),
            (_, Some(start)) => Bound::Excluded(start.clone()),
            (Some(first), None) => Bound::Included(first),
            (None, None) => Bound::Unbounded,
        };
        let streams = self.0.get(namespace).into_iter();
        streams
            .flat_map(move |streams| streams.range((from.clone(), Bound::Unbounded)))
            .take_while(move |(name, _)| table.is_none_or(|table| name.table == table))
            .map(|(name, id)| (name, *id))
    }
}

#[cfg(test)]
mod tests {
    use keywright_semantics::schema::StreamView;

    use super::*;
    use crate::catalogue::{NewLog, Purpose, StreamTerms};
    use crate::tests::harness::{bench, namespace};

    fn table(id: u64, name: &str, labels: &[&str]) -> Table {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let mut table = Table { id: TableId(id), name: name.to_owned(), ..(*table).clone() };
        for label in labels {
            table.close_stream(1, 1);
            let terms = StreamTerms {
                label: (*label).to_owned(),
                view: StreamView::KeysOnly,
                settled_ms: 0,
                owner: 0,
            };
            table.open_log(NewLog { purpose: Purpose::Stream(terms), opened_ms: 0, after: 1 }, 1);
        }
        table
    }

    fn listed(names: &StreamNames, table: Option<&str>, start: Option<&StreamName>) -> Vec<String> {
        let namespace = namespace();
        let found = names.after(&namespace, table, start);
        found.map(|(name, id)| format!("{} {} {}", name.table, name.label, id.0)).collect()
    }

    #[test]
    fn streams_are_listed_by_table_and_label_from_any_place_on() {
        let mut names = StreamNames::default();
        for table in
            [table(3, "bb", &["1"]), table(1, "b", &["1", "2"]), table(2, "b", &["3"]), table(4, "a", &[])]
        {
            names.add(&table);
        }
        assert_eq!(listed(&names, None, None), ["b 1 1", "b 2 1", "b 3 2", "bb 1 3"]);
        assert_eq!(listed(&names, Some("b"), None), ["b 1 1", "b 2 1", "b 3 2"]);
        assert_eq!(listed(&names, Some("b"), Some(&named("b", "1"))), ["b 2 1", "b 3 2"]);
        assert_eq!(listed(&names, Some("bb"), Some(&named("b", "1"))), ["bb 1 3"]);
        assert_eq!(listed(&names, Some("b"), Some(&named("bb", "1"))), [""; 0]);
        assert_eq!(names.table(&namespace(), "b", "3"), Some(TableId(2)));
        assert_eq!(names.table(&namespace(), "a", "3"), None);
    }

    #[test]
    fn what_a_table_loses_is_not_listed_and_nothing_is_left_of_the_last_one() {
        let mut names = StreamNames::default();
        let (one, other) = (table(1, "b", &["1", "2"]), table(2, "b", &["3"]));
        names.add(&one);
        names.add(&other);
        let shorter = table(1, "b", &["2"]);
        names.replace(&one, &shorter);
        assert_eq!(listed(&names, None, None), ["b 2 1", "b 3 2"]);
        names.remove(&other);
        // Another table's stream of that name stays.
        names.remove(&table(9, "b", &["2"]));
        assert_eq!(listed(&names, None, None), ["b 2 1"]);
        names.remove(&shorter);
        assert!(names.0.is_empty());
    }
}
