//! The item collections: the sample's items by partition, for the table and each index, sorted as a Query
//! reads them. With a pattern, they show what it read and returned.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use keywright_semantics::key::{KeyValueRef, encode_sort};
use keywright_semantics::value::{AttributeValue, Item};

use super::{Looked, Page};
use crate::run::{OperationKind, PatternReport};
use keywright_model::data::{Sample, key_text};
use keywright_model::{Index, KeyAttribute, Table};

/// Beyond this number, partitions of a table or index are counted, not drawn.
const PARTITIONS_MAX: usize = 40;
/// Beyond this number, items of a partition are counted, not drawn.
const ITEMS_MAX: usize = 40;

pub(super) fn page(looked: &Looked<'_>, pattern: Option<&str>) -> Page {
    let mut page = Page::new(format!("Item collections of {}", looked.model.name));
    let run = pattern.and_then(|id| looked.checked.report.pattern(id));
    if let (Some(id), None) = (pattern, run) {
        let known: Vec<&str> = looked.model.patterns.iter().map(|pattern| pattern.id.as_str()).collect();
        page.say(format!("There is no pattern {id}; there are {}.", known.join(", ")));
        return page;
    }
    if let Some(run) = run {
        page.say(run_summary(run));
    }
    for table in &looked.model.tables {
        let paths = std::iter::once(None).chain(table.indexes.iter().map(Some));
        for index in paths {
            let wanted = run.is_none_or(|run| {
                run.table == table.name && run.index.as_deref() == index.map(|index| index.name.as_str())
            });
            if wanted {
                path(looked, table, index, run, &mut page);
            }
        }
    }
    page
}

/// A sentence on the pattern's run, and the legend of the marks.
fn run_summary(run: &PatternReport) -> String {
    format!(
        "{}: {} {} — {} items read, {} returned.\n`>` read and returned, `x` read and left out by the filter.",
        run.id,
        run.operation.name(),
        run.key.as_deref().unwrap_or_default(),
        run.items_read,
        run.items_returned
    )
}

/// An item in a collection.
pub(super) struct Entry<'a> {
    pub(super) sample: &'a Sample,
    /// Sort key and table key, so that equal sort keys have an order.
    order: Vec<u8>,
    shown: String,
    mark: char,
}

/// The items of one partition, as a Query reads them.
pub(super) struct Partition<'a> {
    /// The values of the partition key.
    pub(super) key: Vec<String>,
    pub(super) entries: Vec<Entry<'a>>,
}

/// The attributes of the key of a table or index.
pub(super) fn key_parts<'a>(
    table: &'a Table,
    index: Option<&'a Index>,
) -> (Vec<&'a KeyAttribute>, Vec<&'a KeyAttribute>) {
    match index {
        None => (vec![&table.partition], table.sort.iter().collect()),
        Some(index) => (index.partition.iter().collect(), index.sort.iter().collect()),
    }
}

/// The partitions of a table or index by their names, each in the order of its sort key.
pub(super) fn partitions<'a>(
    looked: &'a Looked<'_>,
    table: &Table,
    index: Option<&Index>,
    run: Option<&PatternReport>,
) -> BTreeMap<String, Partition<'a>> {
    let (partition, sort) = key_parts(table, index);
    let mut partitions: BTreeMap<String, Partition<'a>> = BTreeMap::new();
    for sample in latest(looked, table) {
        let (Some(key), Some(shown)) = (values(&sample.item, &partition), values(&sample.item, &sort)) else {
            continue;
        };
        let mut order = Vec::new();
        for part in sort.iter().copied().chain(table.key_parts()) {
            if let Some(value) = sample.item.get(&part.name).and_then(KeyValueRef::from_value) {
                encode_sort(value, &mut order);
            }
        }
        let mark = run.map_or(' ', |run| mark(table, &sample.item, run));
        let entry = Entry { sample, order, shown: shown.join(BETWEEN), mark };
        let place = partitions.entry(key.join(BETWEEN));
        place.or_insert_with(|| Partition { key, entries: Vec::new() }).entries.push(entry);
    }
    for partition in partitions.values_mut() {
        partition.entries.sort_by(|one, other| one.order.cmp(&other.order));
    }
    partitions
}

fn path(
    looked: &Looked<'_>,
    table: &Table,
    index: Option<&Index>,
    run: Option<&PatternReport>,
    page: &mut Page,
) {
    let partitions = partitions(looked, table, index, run);
    let (partition, sort) = key_parts(table, index);
    let names =
        |parts: &[&KeyAttribute]| parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("+");
    let place = index.map_or_else(
        || format!("Table {}", table.name),
        |index| format!("Index {}.{}", table.name, index.name),
    );
    let keys = if sort.is_empty() {
        names(&partition)
    } else {
        format!("{} → {}", names(&partition), names(&sort))
    };
    page.heading(format!("{place}: {keys}"));
    let items: usize = partitions.values().map(|partition| partition.entries.len()).sum();
    page.say(format!("{} partitions, {items} items.", partitions.len()));
    page.draw(drawn(partitions), None);
}

/// Each key once: the last item put under it.
pub(super) fn latest<'a>(looked: &'a Looked<'_>, table: &Table) -> Vec<&'a Sample> {
    let own: Vec<&KeyAttribute> = table.key_parts().collect();
    let mut found: BTreeMap<Option<Vec<String>>, &Sample> = BTreeMap::new();
    for sample in looked.samples.iter().filter(|sample| sample.table == table.name) {
        found.insert(values(&sample.item, &own), sample);
    }
    found.into_values().collect()
}

/// What stands between the values of several key attributes.
const BETWEEN: &str = " | ";

/// The values of some attributes; `None` if one is missing, because the item is then not in the index.
pub(super) fn values(item: &Item, parts: &[&KeyAttribute]) -> Option<Vec<String>> {
    let text = |value| key_text(value).unwrap_or_else(|| hex(value));
    parts.iter().map(|part| item.get(&part.name).map(text)).collect()
}

fn hex(value: &AttributeValue) -> String {
    let AttributeValue::B(bytes) = value else { return String::new() };
    bytes.iter().fold("0x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn mark(table: &Table, item: &Item, run: &PatternReport) -> char {
    let key: Vec<String> = table
        .key_parts()
        .filter_map(|part| item.get(&part.name))
        .map(|value| key_text(value).unwrap_or_default())
        .collect();
    let read = run.operation == OperationKind::Scan || run.read.contains(&key);
    match (run.returned.contains(&key), read) {
        (true, _) => '>',
        (false, true) => 'x',
        (false, false) => ' ',
    }
}

fn drawn(partitions: BTreeMap<String, Partition<'_>>) -> String {
    let mut all: Vec<(String, Vec<Entry<'_>>)> =
        partitions.into_iter().map(|(name, partition)| (name, partition.entries)).collect();
    // Partitions that the pattern touched come first, so that they are drawn even if others are only counted.
    all.sort_by_key(|(_, entries)| entries.iter().all(|entry| entry.mark == ' '));
    let more = all.len().saturating_sub(PARTITIONS_MAX);
    let mut out = String::new();
    for (name, entries) in all.into_iter().take(PARTITIONS_MAX) {
        let _ = writeln!(out, "[{name}]");
        let width =
            entries.iter().take(ITEMS_MAX).map(|entry| entry.shown.chars().count()).max().unwrap_or(0);
        for entry in entries.iter().take(ITEMS_MAX) {
            let padding = " ".repeat(width.saturating_sub(entry.shown.chars().count()));
            let entity = entry.sample.entity.as_deref().unwrap_or("(no entity)");
            let _ = writeln!(out, "  {} {}{padding}  {entity}", entry.mark, entry.shown);
        }
        if let Some(left) = entries.len().checked_sub(ITEMS_MAX).filter(|left| *left > 0) {
            let _ = writeln!(out, "    … and {left} more items");
        }
    }
    if more > 0 {
        let _ = writeln!(out, "… and {more} more partitions");
    }
    out
}
