//! What can be asked about the history of a table: how far it reaches, the versions of an item, an item as it
//! was.
//!
//! The service has no such operation. Reading history consumes no capacity: it is not the clients' traffic.

use std::fmt;
use std::sync::Arc;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::value::Item;
use keywright_store::{Store, StoreError};
use time::OffsetDateTime;

use super::as_of::AsOf;
use super::rows::{Author, span_prefix};
use super::versions::{Version, versions};
use crate::bind::key::bind_row;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::{prefix_range, within_items};
use crate::support::stamp::Stamp;

/// How far a table's history reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistorySpan {
    /// The first time, in milliseconds since 1970, as of which the table can be read.
    pub earliest_ms: u64,
    /// The last one: each commit before it has ended.
    pub latest_ms: u64,
    /// An estimate of the bytes that the history takes in the store.
    pub bytes: u64,
}

/// Who changed an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    /// A request, or a job that writes as a client does.
    Client,
    /// The service, because the item's time to live had passed.
    TimeToLive,
}

/// The change that made a version of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemChange {
    /// When it was committed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The stamp of its commit. Changes of one transaction have the same; of two changes of one item the
    /// later has the greater.
    pub stamp: u64,
    /// Its author.
    pub by: ChangedBy,
}

/// An item as a change left it.
#[derive(Clone, Debug)]
pub struct ItemVersion {
    /// The change; `None` if it is older than the history.
    pub change: Option<ItemChange>,
    /// The item; `None` if the change deleted it, or if there was none before the history began.
    pub item: Option<EncodedItem>,
}

/// Versions of an item, newest first.
#[derive(Clone, Debug)]
pub struct ItemHistory {
    /// At least one.
    pub versions: Vec<ItemVersion>,
    /// The stamp before which the next versions were made; `None` if there are none.
    pub before: Option<u64>,
}

/// Why the history of an item cannot be read.
#[derive(Clone, Debug)]
pub enum HistoryFault {
    /// There is no such table.
    NoTable(String),
    /// The table keeps no history.
    Off(String),
    /// The history does not reach to this time.
    Outside {
        /// The table.
        table: String,
        /// The time, in milliseconds since 1970.
        at_ms: u64,
        /// How far the history reaches.
        earliest_ms: u64,
        /// The same.
        latest_ms: u64,
    },
    /// The key does not match the table, for this reason.
    Key {
        /// The table.
        table: String,
        /// The sentence of the service.
        reason: String,
    },
    /// The store failed, or a later release wrote the table.
    Failed(Error),
}

impl fmt::Display for HistoryFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable(table) => write!(formatter, "There is no table {table}"),
            Self::Off(table) => write!(
                formatter,
                "Table {table} keeps no history: turn on point-in-time recovery with UpdateContinuousBackups, \
                 and the versions of its items are kept from then on"
            ),
            Self::Outside { table, at_ms, earliest_ms, latest_ms } => write!(
                formatter,
                "{} is outside the history of table {table}, which reaches from {} to {}",
                Utc(*at_ms),
                Utc(*earliest_ms),
                Utc(*latest_ms)
            ),
            Self::Key { table, reason } => {
                write!(formatter, "The key does not match table {table}: {reason}")
            }
            Self::Failed(error) => formatter.write_str(&error.message),
        }
    }
}

impl std::error::Error for HistoryFault {}

impl From<StoreError> for HistoryFault {
    fn from(error: StoreError) -> Self {
        Self::Failed(fault::storage(&error))
    }
}

/// A time in milliseconds since 1970, written as RFC 3339 in UTC.
struct Utc(u64);

impl fmt::Display for Utc {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0 / 1000).unwrap_or(i64::MAX);
        let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (date, ms) = (time.date(), self.0 % 1000);
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{ms:03}Z",
            date.year(),
            u8::from(date.month()),
            date.day(),
            time.hour(),
            time.minute(),
            time.second()
        )
    }
}

impl<S: Store> Engine<S> {
    /// How far the history of a table reaches; `None` if it keeps none.
    pub async fn history_of(
        &self,
        namespace: &Namespace,
        table: &str,
    ) -> Result<Option<HistorySpan>, HistoryFault> {
        let table = table_of(self, namespace, table).await?;
        let Some(generation) = table.history.generation() else { return Ok(None) };
        let Some((earliest_ms, latest_ms)) = window_of(self, &table) else { return Ok(None) };
        let range = prefix_range(span_prefix((table.id, generation)));
        let bytes = self.store().size_estimate_bytes(&range).await?;
        Ok(Some(HistorySpan { earliest_ms, latest_ms, bytes }))
    }

    /// At most `limit` versions of an item, newest first, of those that were made before a stamp. Large
    /// versions make fewer.
    pub async fn item_history(
        &self,
        namespace: &Namespace,
        table: &str,
        key: &Item,
        (before, limit): (Option<u64>, usize),
    ) -> Result<ItemHistory, HistoryFault> {
        let table = table_of(self, namespace, table).await?;
        if !table.history.is_on() {
            return Err(HistoryFault::Off(table.name.clone()));
        }
        let row = bind_row(table.id, &table.schema, key).map_err(|fault| key_fault(&table, fault.message))?;
        let view = self.store().snapshot().await?;
        let before = before.map(|before| Stamp::of_bytes(before.to_be_bytes()));
        let within = within_items(&row);
        let (found, has_more) = versions(&view, &table, &within, (before, limit.max(1))).await?;
        let made = |version: Version| {
            let item = version.value.map(EncodedItem::from_stored).transpose();
            let item = item.map_err(|error| HistoryFault::Failed(fault::corrupt(error)))?;
            Ok(ItemVersion { change: version.made.map(ItemChange::of), item })
        };
        let versions: Vec<ItemVersion> = found.into_iter().map(made).collect::<Result<_, HistoryFault>>()?;
        let last = versions.last().and_then(|version| version.change);
        Ok(ItemHistory { before: last.filter(|_| has_more).map(|change| change.stamp), versions })
    }

    /// An item as all commits before a time had left it, in milliseconds since 1970; `None` if there was
    /// none.
    pub async fn item_at(
        &self,
        namespace: &Namespace,
        table: &str,
        key: &Item,
        at_ms: u64,
    ) -> Result<Option<EncodedItem>, HistoryFault> {
        let table = table_of(self, namespace, table).await?;
        let off = || HistoryFault::Off(table.name.clone());
        let (earliest_ms, latest_ms) = window_of(self, &table).ok_or_else(off)?;
        let row = bind_row(table.id, &table.schema, key).map_err(|fault| key_fault(&table, fault.message))?;
        let outside = || HistoryFault::Outside { table: table.name.clone(), at_ms, earliest_ms, latest_ms };
        if !(earliest_ms..=latest_ms).contains(&at_ms) {
            return Err(outside());
        }
        let as_of = AsOf::of(&table, Stamp::first_of(at_ms)).ok_or_else(outside)?;
        let view = self.store().snapshot().await?;
        let item = as_of.item(&view, &within_items(&row)).await?;
        let item = item.map(EncodedItem::from_stored).transpose();
        item.map_err(|error| HistoryFault::Failed(fault::corrupt(error)))
    }
}

impl ItemChange {
    fn of((stamp, author): (Stamp, Author)) -> Self {
        let by = match author {
            Author::Client => ChangedBy::Client,
            Author::TimeToLive => ChangedBy::TimeToLive,
        };
        Self { at_ms: stamp.ms(), stamp: u64::from_be_bytes(stamp.to_bytes()), by }
    }
}

fn key_fault(table: &Table, reason: String) -> HistoryFault {
    HistoryFault::Key { table: table.name.clone(), reason }
}

/// A table by its name, as the store has it.
async fn table_of<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    name: &str,
) -> Result<Arc<Table>, HistoryFault> {
    if engine.is_shared() {
        let followed = engine.catalogue().follow(engine.env().now_ms()).await;
        followed.map_err(HistoryFault::Failed)?;
    }
    if let Some(refusal) = engine.catalogue().refused(namespace, name) {
        return Err(HistoryFault::Failed(refusal));
    }
    engine.catalogue().find(namespace, name).ok_or_else(|| HistoryFault::NoTable(name.to_owned()))
}

/// The first and the last millisecond as of which a table can be read; `None` while it keeps no history.
pub(crate) fn window_of<S: Store>(engine: &Engine<S>, table: &Table) -> Option<(u64, u64)> {
    let now_ms = engine.env().now_ms();
    let first = table.history.needed_from(now_ms)?;
    let is_whole = Stamp::first_of(first.ms()) >= first;
    let earliest_ms = if is_whole { first.ms() } else { first.ms() + 1 };
    Some((earliest_ms, engine.settled_before(now_ms).ms().max(earliest_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_of_a_time_names_both_ends() {
        let fault = HistoryFault::Outside {
            table: "Orders".to_owned(),
            at_ms: 951_782_400_001,
            earliest_ms: 0,
            latest_ms: 4_107_542_400_000,
        };
        assert_eq!(
            fault.to_string(),
            "2000-02-29T00:00:00.001Z is outside the history of table Orders, which reaches from \
             1970-01-01T00:00:00.000Z to 2100-03-01T00:00:00.000Z"
        );
    }
}
