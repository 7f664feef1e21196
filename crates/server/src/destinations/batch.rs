//! Which records go into one `PutRecords`.
//!
//! A call may fail for some of its records only. So that an item's changes never change their order, a call
//! has one record of each item at most, and the next one waits until it is done.

use std::collections::HashSet;

use keywright_wire::kinesis::{PUT_BYTES_MAX, RECORDS_MAX, Record};

/// A page of records on its way, in the order of the changes.
pub(super) struct Page {
    records: Vec<Option<Record>>,
}

impl Page {
    /// `None` stands for a record that is not to be sent.
    pub(super) const fn new(records: Vec<Option<Record>>) -> Self {
        Self { records }
    }

    /// The places of the records of the next call; none at the end.
    pub(super) fn next(&self) -> Vec<usize> {
        let (mut places, mut bytes, mut items) = (Vec::new(), 0, HashSet::new());
        for (place, record) in self.waiting() {
            let grown = bytes + record.counted_bytes();
            if places.len() == RECORDS_MAX || (grown > PUT_BYTES_MAX && !places.is_empty()) {
                break;
            }
            if items.insert(record.partition_key.as_str()) {
                places.push(place);
                bytes = grown;
            }
        }
        places
    }

    pub(super) fn records<'p>(&'p self, places: &'p [usize]) -> impl Iterator<Item = &'p Record> {
        places.iter().filter_map(|place| self.records.get(*place).and_then(Option::as_ref))
    }

    /// Notes that a record was put.
    pub(super) fn done(&mut self, place: usize) {
        if let Some(record) = self.records.get_mut(place) {
            *record = None;
        }
    }

    /// How many records are done before the first one that is not.
    pub(super) fn done_to(&self) -> usize {
        self.waiting().next().map_or(self.records.len(), |(place, _)| place)
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, &Record)> {
        let records = self.records.iter().enumerate();
        records.filter_map(|(place, record)| record.as_ref().map(|record| (place, record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a page has gaps too")]
    fn record(key: &str, bytes: usize) -> Option<Record> {
        Some(Record { partition_key: key.to_owned(), data: vec![0; bytes] })
    }

    #[test]
    fn a_call_has_one_record_of_each_item_and_the_next_one_waits_until_it_is_done() {
        let mut page = Page::new(vec![record("a", 1), record("b", 1), record("a", 1), None, record("c", 1)]);
        assert_eq!(page.next(), [0, 1, 4]);
        page.done(1);
        page.done(4);
        // The first of a has failed: it is sent again before the second one.
        assert_eq!((page.next(), page.done_to()), (vec![0], 0));
        page.done(0);
        assert_eq!((page.next(), page.done_to()), (vec![2], 2));
        page.done(2);
        assert_eq!((page.next(), page.done_to()), (Vec::new(), 5));
    }

    #[test]
    fn a_call_keeps_the_limits_of_records_and_of_bytes() {
        let many = Page::new((0..600).map(|number| record(&number.to_string(), 1)).collect());
        assert_eq!(many.next().len(), RECORDS_MAX);
        let large = Page::new((0..9).map(|number| record(&number.to_string(), 1024 * 1024 - 1)).collect());
        assert_eq!(large.next().len(), 5);
        let mut bytes = large.records(&large.next()).map(Record::counted_bytes).sum::<usize>();
        assert!(bytes <= PUT_BYTES_MAX);
        bytes += 1024 * 1024;
        assert!(bytes > PUT_BYTES_MAX);
    }
}
