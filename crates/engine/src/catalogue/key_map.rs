//! Which tables' rows lie in a range of stored keys, for reports about damaged files.
//!
//! It works on the rows of the catalogue that can still be read. A table whose record is lost is named by its
//! number.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

use bytes::Bytes;
use keywright_semantics::key::{first_text, successor_prefix};
use keywright_semantics::schema::KeyType;
use keywright_store::{KeyRange, LogId, Store, StoreError};

use super::record::{self, RecordFault};
use super::refused::RefusedTable;
use super::rows::RECORDS;
use crate::support::hex::hex;
use crate::support::layout::{
    IndexId, SPACES, Space, TableId, index_prefix, prefix_range, space_of, table_prefix,
};
use crate::support::rows::each_row;

const HASH_BYTES: usize = 16;

/// A range of keys of rows.
pub type RowRange = (Bound<Bytes>, Bound<Bytes>);

/// Rows of one kind, of one table or of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affected {
    /// What the rows are, such as `items`.
    pub what: &'static str,
    /// Whose rows they are; `None` for rows of the whole installation.
    pub table: Option<AffectedTable>,
    /// The index whose entries they are.
    pub index: Option<String>,
    /// The bound before the first key, if it lies within the table: `partition hash …, sort key …`.
    pub after: Option<String>,
    /// The last key, if it lies within the table.
    pub through: Option<String>,
    /// How many keys of them are known, where single keys are.
    pub keys: Option<usize>,
}

/// A table by its number, with its name if that can be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AffectedTable {
    /// Its number in the store.
    pub number: u64,
    /// Account, region and name.
    pub name: Option<(String, String, String)>,
}

impl fmt::Display for Affected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.table, &self.index) {
            (None, _) => write!(formatter, "rows of the installation ({})", self.what)?,
            (Some(_), None) => write!(formatter, "{} of", self.what)?,
            (Some(_), Some(index)) => {
                write!(formatter, "{} of index {} in", self.what, index.escape_debug())?;
            }
        }
        match &self.table {
            None => {}
            Some(AffectedTable { name: Some((account, region, name)), .. }) => {
                let [account, region, name] = [account, region, name].map(|text| text.escape_debug());
                write!(formatter, " table {name} ({account}, {region})")?;
            }
            Some(AffectedTable { number, .. }) => {
                write!(formatter, " table number {number}, whose name is lost")?;
            }
        }
        match self.keys {
            None => {}
            Some(1) => formatter.write_str(", 1 key")?,
            Some(keys) => write!(formatter, ", {keys} keys")?,
        }
        match (&self.after, &self.through) {
            (None, None) => Ok(()),
            (Some(after), None) => write!(formatter, ", after {after}"),
            (None, Some(through)) => write!(formatter, ", up to {through}"),
            (Some(after), Some(through)) => write!(formatter, ", after {after}, up to {through}"),
        }
    }
}

struct Named {
    account: String,
    region: String,
    name: String,
    sort: Vec<KeyType>,
    /// `None` if this release does not know them.
    indexes: Option<BTreeMap<IndexId, (String, Vec<KeyType>)>>,
}

/// The names of tables and indexes by their numbers.
#[derive(Default)]
pub struct KeyMap {
    tables: BTreeMap<TableId, Named>,
}

impl KeyMap {
    /// The rows that name tables.
    pub fn wanted() -> KeyRange {
        prefix_range(vec![Space::Catalogue.byte(), RECORDS])
    }

    /// From rows of [`KeyMap::wanted`]. A row that cannot be read is left out.
    pub fn of_rows<'r>(rows: impl Iterator<Item = &'r Bytes>) -> Self {
        let mut map = Self::default();
        for row in rows {
            map.add(row);
        }
        map
    }

    /// From a store, as far as it can be read.
    pub(crate) async fn of_store<S: Store>(store: &S) -> Self {
        let mut map = Self::default();
        if let Ok(view) = store.snapshot().await {
            let _unreadable: Result<(), StoreError> =
                each_row(&view, Self::wanted(), |row| map.add(&row.value)).await;
        }
        map
    }

    fn add(&mut self, row: &Bytes) {
        let table = match record::decode(row) {
            Ok(table) => table,
            Err(RecordFault::Refused(table)) => {
                let RefusedTable { id, account, region, name, .. } = *table;
                let (sort, indexes) = (Vec::new(), None);
                self.tables.insert(id, Named { account, region, name, sort, indexes });
                return;
            }
            Err(RecordFault::UnknownFormat(_) | RecordFault::Malformed(_)) => return,
        };
        let types = |attributes: &[keywright_semantics::schema::KeyAttribute]| {
            attributes.iter().map(|attribute| attribute.key_type).collect::<Vec<_>>()
        };
        let indexes =
            table.indexes().map(|(_, id, index)| (id, (index.name.clone(), types(&index.key.sort))));
        let indexes = Some(indexes.collect());
        let sort = types(&table.schema.key.sort);
        let named = Named { account: table.account, region: table.region, name: table.name, sort, indexes };
        self.tables.insert(table.id, named);
    }

    fn table(&self, id: TableId) -> AffectedTable {
        let name = self
            .tables
            .get(&id)
            .map(|named| (named.account.clone(), named.region.clone(), named.name.clone()));
        AffectedTable { number: id.0, name }
    }

    /// What the rows of a range may be, in the order of keys.
    pub fn affected(&self, range: &RowRange) -> Vec<Affected> {
        let mut all = Vec::new();
        for space in SPACES.iter().copied() {
            if space.is_of_tables() {
                let bounds = [&range.0, &range.1].into_iter().filter_map(|bound| table_of(bound, space));
                let mut tables: Vec<TableId> = self.tables.keys().copied().chain(bounds).collect();
                tables.sort_unstable();
                tables.dedup();
                for table in tables {
                    all.extend(self.of_table(space, table, range));
                }
            } else if overlaps(range, &[space.byte()]) {
                let (after, through) = (None, None);
                all.push(Affected {
                    what: space.name(),
                    table: None,
                    index: None,
                    after,
                    through,
                    keys: None,
                });
            }
        }
        all
    }

    /// The rows of one kind of a table in a range.
    fn of_table(&self, space: Space, id: TableId, range: &RowRange) -> Vec<Affected> {
        let named = self.tables.get(&id);
        let affected = |prefix: &[u8], index: Option<&str>, sort: Option<&[KeyType]>| {
            let bound = |bound: &Bound<Bytes>| match bound {
                Bound::Included(key) | Bound::Excluded(key) => {
                    key.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(|rest| describe(rest, sort))
                }
                Bound::Unbounded => None,
            };
            overlaps(range, prefix).then(|| Affected {
                what: space.name(),
                table: Some(self.table(id)),
                index: index.map(str::to_owned),
                after: bound(&range.0),
                through: bound(&range.1),
                keys: None,
            })
        };
        let indexes = named.and_then(|named| named.indexes.as_ref()).filter(|_| space == Space::IndexEntries);
        if let Some(indexes) = indexes {
            let of_index = |(index, (name, sort)): (&IndexId, &(String, Vec<KeyType>))| {
                affected(&index_prefix(id, *index), Some(name), Some(sort))
            };
            return indexes.iter().filter_map(of_index).collect();
        }
        let sort = named.filter(|_| space == Space::Items).map(|named| named.sort.as_slice());
        affected(&table_prefix(space, id), None, sort).into_iter().collect()
    }

    /// What single keys are, counted by table.
    pub fn affected_by_keys<'k>(&self, keys: impl Iterator<Item = &'k Bytes>) -> Vec<Affected> {
        let mut counts: BTreeMap<(u8, Option<TableId>), usize> = BTreeMap::new();
        for key in keys {
            let Some(space) = key.first().copied().and_then(space_of) else { continue };
            let bound = Bound::Included(key.clone());
            let table = space.is_of_tables().then(|| table_of(&bound, space)).flatten();
            *counts.entry((space.byte(), table)).or_default() += 1;
        }
        let affected = |((space, table), count): ((u8, Option<TableId>), usize)| {
            let what = space_of(space)?.name();
            let table = table.map(|id| self.table(id));
            Some(Affected { what, table, index: None, after: None, through: None, keys: Some(count) })
        };
        counts.into_iter().filter_map(affected).collect()
    }

    /// The streams whose records a range of logs may hold.
    pub fn affected_streams(&self, (first, last): (Option<LogId>, Option<LogId>)) -> Vec<Affected> {
        let from = TableId(first.map_or(0, |id| id.log));
        let to = TableId(last.map_or(u64::MAX, |id| id.log));
        let bounds = [first, last].into_iter().flatten().map(|id| TableId(id.log));
        let known = self.tables.keys().copied().filter(|id| (from..=to).contains(id));
        let mut tables: Vec<TableId> = known.chain(bounds).collect();
        tables.sort_unstable();
        tables.dedup();
        let affected = |id| Affected {
            what: "stream records",
            table: Some(self.table(id)),
            index: None,
            after: None,
            through: None,
            keys: None,
        };
        tables.into_iter().map(affected).collect()
    }
}

/// The table of a bound within a space.
fn table_of(bound: &Bound<Bytes>, space: Space) -> Option<TableId> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => {
            let number = key.strip_prefix(&[space.byte()])?.first_chunk::<8>()?;
            Some(TableId(u64::from_be_bytes(*number)))
        }
        Bound::Unbounded => None,
    }
}

/// Whether a range may have a key with this prefix.
fn overlaps((start, end): &RowRange, prefix: &[u8]) -> bool {
    let after = successor_prefix(prefix);
    let begins = match start {
        Bound::Unbounded => true,
        Bound::Included(start) | Bound::Excluded(start) => {
            after.as_ref().is_none_or(|after| start.as_ref() < after.as_slice())
        }
    };
    let ends = match end {
        Bound::Unbounded => true,
        Bound::Included(end) => end.as_ref() >= prefix,
        Bound::Excluded(end) => end.as_ref() > prefix,
    };
    begins && ends
}

/// A key within a table or index: the hash of its partition key, and its first sort value.
fn describe(rest: &[u8], sort: Option<&[KeyType]>) -> String {
    let (hash, rest) = rest.split_at_checked(HASH_BYTES).unwrap_or((rest, &[]));
    let mut text = format!("partition hash {}", hex(hash));
    let value = match sort.and_then(|sort| sort.first()) {
        Some(KeyType::S) => first_text(rest).map(|value| format!("\"{}\"", value.escape_debug())),
        Some(KeyType::N | KeyType::B) => Some(hex(rest)),
        None => None,
    };
    if let Some(value) = value.filter(|_| !rest.is_empty()) {
        text.push_str(", sort key ");
        text.push_str(&value);
    }
    text
}

#[cfg(test)]
mod tests {
    use keywright_semantics::key::KeyValueRef;

    use super::*;
    use crate::support::layout::item_key;
    use crate::tests::harness::{bench, namespace};

    fn map() -> KeyMap {
        let mut map = KeyMap::default();
        for (number, name) in [(3, "Shop"), (5, "Users")] {
            let indexes = Some(BTreeMap::from([(IndexId(1), ("byDay".to_owned(), vec![KeyType::S]))]));
            let (account, region) = ("123456789012".to_owned(), "us-east-1".to_owned());
            let named = Named { account, region, name: name.to_owned(), sort: vec![KeyType::S], indexes };
            map.tables.insert(TableId(number), named);
        }
        map
    }

    fn texts(affected: &[Affected]) -> Vec<String> {
        affected.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_range_within_a_table_names_the_table_and_both_keys() {
        let key = |sort| item_key(TableId(3), KeyValueRef::S("p"), Some(KeyValueRef::S(sort)));
        let found = map().affected(&(Bound::Excluded(key("a")), Bound::Included(key("b\n"))));
        let hash = hex(&key("a")[9..25]);
        assert_eq!(
            texts(&found),
            [format!(
                "items of table Shop (123456789012, us-east-1), after partition hash {hash}, sort key \"a\", \
                 up to partition hash {hash}, sort key \"b\\n\""
            )]
        );
    }

    #[test]
    fn a_range_over_several_kinds_of_rows_names_them_all() {
        let from = item_key(TableId(5), KeyValueRef::S("p"), None);
        let to = Bytes::from(index_prefix(TableId(3), IndexId(1)));
        let found = map().affected(&(Bound::Excluded(from), Bound::Included(to)));
        let whose = found.iter().map(|one| (one.what, one.table.as_ref().map(|table| table.number)));
        assert_eq!(whose.collect::<Vec<_>>(), [("items", Some(5)), ("index entries", Some(3))]);
        assert_eq!(texts(&found)[1], "index entries of index byDay in table Shop (123456789012, us-east-1)");
        let all = map().affected(&(Bound::Unbounded, Bound::Unbounded));
        assert!(all.iter().any(|one| one.what == "catalogue") && all.len() > SPACES.len());
    }

    #[test]
    fn a_table_without_a_readable_record_is_named_by_its_number() {
        let key = item_key(TableId(9), KeyValueRef::S("p"), None);
        let range = (Bound::Included(key.clone()), Bound::Included(key.clone()));
        assert!(texts(&map().affected(&range))[0].starts_with("items of table number 9"), "{range:?}");
        let shop = item_key(TableId(3), KeyValueRef::S("p"), None);
        let found = map().affected_by_keys([&key, &shop, &shop].into_iter());
        assert_eq!(texts(&found)[0], "items of table Shop (123456789012, us-east-1), 2 keys");
        assert_eq!(found[1].keys, Some(1));
        let log = Some(LogId { log: 5, shard: 0 });
        assert_eq!(
            texts(&map().affected_streams((log, log))),
            ["stream records of table Users (123456789012, us-east-1)"]
        );
    }

    #[test]
    fn a_table_that_is_not_served_is_named_too() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let row = record::with_section(&record::encode(&table), 99, true, b"").into();
        let key = item_key(table.id, KeyValueRef::S("p"), None);
        let found = KeyMap::of_rows([&row].into_iter()).affected_by_keys([&key].into_iter());
        assert_eq!(texts(&found), ["items of table t (000000000000, us-east-1), 1 key"]);
    }
}
