//! What a caller needs to deliver the logs of destinations: what is to be done, pages of records, how far
//! they are sent.

use bytes::Bytes;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_semantics::limits::DESTINATION_RETENTION_MS;
use keywright_semantics::response::DestinationRecord;
use keywright_store::{CommitError, LogEntry, LogPosition, LogRead, Snapshot, Store, Transaction};

use crate::catalogue::{
    ChangeLog, Counts, DestinationId, DestinationTerms, OtherRows, Phase, Rest, Shard, Table, owner,
};
use crate::changes::delivered::{self, Cursor};
use crate::changes::place_of;
use crate::changes::record::{ChangeRecord, written_ms};
use crate::state::Engine;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::hex::hex;
use crate::support::layout::{TableId, log_of};

/// Tries of a commit that notes progress.
const TRIES_MAX: u32 = 20;
const US_PER_MS: u64 = 1000;

/// The log of one enabling of a destination, of a table that this process owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The account and region of its table.
    pub namespace: Namespace,
    /// The name of the table.
    pub table: String,
    /// The stream.
    pub stream_arn: String,
    /// What is to be done.
    pub want: Want,
    key: (TableId, DestinationId),
}

/// What is to be done for a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The stream is to be looked at: [`Engine::note_contact`].
    Contact {
        /// When the destination was enabled, in milliseconds since 1970.
        since_ms: u64,
    },
    /// The records of these shards are to be sent: [`Engine::delivery_page`].
    Records {
        /// The numbers of the shards. Each may be sent on its own.
        shards: Vec<u32>,
    },
}

impl Delivery {
    /// Tells it from all others, also from later enablings of the same stream.
    pub fn number(&self) -> (u64, u32) {
        (self.key.0.0, self.key.1.0)
    }
}

/// How the first contact with a stream went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// It takes records.
    Reached,
    /// It cannot be used, for this reason.
    Refused(String),
}

/// A record that is to be sent.
#[derive(Clone, Debug)]
pub struct PagedRecord {
    /// The record.
    pub record: DestinationRecord,
    at: LogPosition,
}

/// What was done with records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// They were delivered.
    pub delivered: u64,
    /// They were passed over because of their size.
    pub skipped: u64,
}

/// The next records of a shard.
#[derive(Debug)]
pub struct DeliveryPage {
    /// In the order in which the changes were made.
    pub records: Vec<PagedRecord>,
    /// Records before them that were too old, and are given up with the next note.
    pub dropped: u64,
    /// The time of the first record, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
    /// Whether the shard ends with them.
    is_end: bool,
    table: TableId,
    shard: u32,
    dropped_to: Option<LogPosition>,
    /// The row as it was read or last written.
    row: Option<Bytes>,
    cursor: Cursor,
}

impl DeliveryPage {
    /// Whether there is nothing to be done.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.dropped == 0
    }

    /// Why the last try failed, as it was noted.
    pub fn waits_for(&self) -> Option<&str> {
        self.cursor.waits_for.as_deref()
    }
}

impl<S: Store> Engine<S> {
    /// What is to be done for destinations of tables that this process owns.
    pub fn deliveries(&self) -> Vec<Delivery> {
        let mut found = Vec::new();
        for table in self.catalogue().all() {
            if table.destination_logs().next().is_some() && self.owns(table.id) {
                found.extend(deliveries_of(&table));
            }
        }
        found
    }

    /// Notes how the first contact with a stream went.
    pub async fn note_contact(&self, delivery: &Delivery, contact: &Contact) -> Result<(), Error> {
        let (table, id) = delivery.key;
        let now_ms = self.env().now_ms();
        let note = |table: &mut Table| {
            let found = table.destinations.with_id_mut(id);
            let Some(destination) = found.filter(|found| found.phase == Phase::Enabling) else {
                return Ok(());
            };
            match contact {
                Contact::Reached => destination.phase = Phase::Active,
                Contact::Refused(why) => {
                    destination.phase = Phase::Failed(why.clone());
                    table.close_destination(id, now_ms, Rest::Discarded);
                }
            }
            Ok(())
        };
        self.catalogue().change(table, note).await.map(|_| ())
    }

    /// The next records of a shard; `None` if there is no such shard any more. A page has at least one record
    /// if there is one, also a large one.
    pub async fn delivery_page(
        &self,
        delivery: &Delivery,
        shard: u32,
        (entries_max, bytes_max): (usize, usize),
    ) -> Result<Option<DeliveryPage>, Error> {
        let (id, destination) = delivery.key;
        let Some(table) = self.catalogue().with_id(id) else { return Ok(None) };
        let mut logs = table.destination_logs().filter(|(_, terms)| terms.id == destination);
        let Some((log, terms)) = logs.next() else { return Ok(None) };
        let Some(shard) = log.shard(shard) else { return Ok(None) };
        // Taken after the shard was looked up: if the shard is closed, the snapshot has all its records.
        let view = self.store().snapshot().await.map_err(|error| fault::storage(&error))?;
        let row = delivered::read(&view, id, shard.number).await?;
        let cursor = Cursor::decode(row.as_ref())?;
        let after = cursor.after(shard);
        let read = LogRead { id: log_of(id, shard.number), after, entries_max, bytes_max };
        let entries = view.read_log(read).await.map_err(|error| fault::storage(&error))?;
        let horizon_ms = self.env().now_ms().saturating_sub(DESTINATION_RETENTION_MS);
        let (mut records, mut dropped, mut dropped_to) = (Vec::new(), 0, None);
        for entry in &entries {
            if records.is_empty() && written_ms(&entry.bytes).map_err(|_| fault::internal())? < horizon_ms {
                dropped += 1;
                dropped_to = Some(entry.position);
            } else {
                records.push(paged(&table, (shard, terms), entry)?);
            }
        }
        let is_end = entries.is_empty() && shard.closed.is_some_and(|closed| closed.last.is_some());
        let oldest_ms = records.first().map(|first| first.record.created_us / US_PER_MS);
        Ok(Some(DeliveryPage {
            records,
            dropped,
            oldest_ms,
            is_end,
            table: id,
            shard: shard.number,
            dropped_to,
            row,
            cursor,
        }))
    }

    /// Notes that the first `count` records of a page are done, with what was done with them, and gives up
    /// those that the page has dropped. False: another process has noted something, and the page is to be
    /// read again.
    pub async fn note_sent(&self, page: &mut DeliveryPage, count: usize, sent: Sent) -> Result<bool, Error> {
        assert!(count <= page.records.len(), "only records of the page are done");
        let last = page.records.drain(..count).next_back().map(|record| record.at).or(page.dropped_to);
        let Some(last) = last else { return Ok(true) };
        let dropped = std::mem::take(&mut page.dropped);
        page.dropped_to = None;
        let more = Counts { delivered: sent.delivered, dropped, skipped: sent.skipped };
        let cursor =
            Cursor { last: Some(place_of(last)), counts: page.cursor.counts.plus(more), waits_for: None };
        self.move_cursor(page, cursor).await
    }

    /// Notes why the first record of a page could not be sent. False as in [`Self::note_sent`].
    pub async fn note_unsent(&self, page: &mut DeliveryPage, reason: &str) -> Result<bool, Error> {
        if page.waits_for() == Some(reason) {
            return Ok(true);
        }
        let cursor = Cursor { waits_for: Some(reason.to_owned()), ..page.cursor.clone() };
        self.move_cursor(page, cursor).await
    }

    /// Writes a cursor's row, if it is as the page has it.
    async fn move_cursor(&self, page: &mut DeliveryPage, cursor: Cursor) -> Result<bool, Error> {
        assert!(cursor.last >= page.cursor.last, "a cursor never moves back");
        let (key, new) = (delivered::key(page.table, page.shard), cursor.encode());
        for _ in 0..TRIES_MAX {
            let mut txn = self.store().begin().await.map_err(|error| fault::storage(&error))?;
            let found = txn.get_for_write(std::slice::from_ref(&key)).await;
            let found = found.map_err(|error| fault::storage(&error))?.into_iter().next().flatten();
            if found.as_ref() != Some(&new) {
                if found != page.row {
                    return Ok(false);
                }
                txn.put(key.clone(), new.clone());
                match txn.commit().await {
                    Ok(_version) => {}
                    Err(CommitError::Conflict | CommitError::Unknown) => continue,
                    Err(CommitError::TooLarge) => return Err(fault::internal()),
                    Err(CommitError::Failed(error)) => return Err(fault::storage(&error)),
                }
            }
            page.row = Some(new);
            page.cursor = cursor;
            return Ok(true);
        }
        Err(fault::internal())
    }

    /// Forgets a shard if its page says that it is closed and delivered. What follows it can be sent then.
    pub async fn end_if_delivered(&self, page: &DeliveryPage) -> Result<(), Error> {
        if !page.is_end {
            return Ok(());
        }
        let cleared = self.store().trim_log(log_of(page.table, page.shard), LogPosition::LAST).await;
        cleared.map_err(|error| fault::storage(&error))?;
        let key = delivered::key(page.table, page.shard);
        let forget = |tables: &mut [Table], rows: &mut OtherRows| {
            let counts = Cursor::decode(rows.found(0))?.counts;
            rows.delete(key.clone());
            for table in tables {
                forget_shard(table, page.shard, counts);
            }
            Ok(())
        };
        let keys = std::slice::from_ref(&key);
        self.catalogue().change_all(&[page.table], keys, || Ok(()), forget).await.map(|_| ())
    }
}

/// Removes a closed shard, and its log with the last one. What was done with its records counts on in the
/// destination.
fn forget_shard(table: &mut Table, number: u32, counts: Counts) {
    let is_closed = |log: &ChangeLog| log.shard(number).is_some_and(|shard| shard.closed.is_some());
    let found = table.destination_logs().find(|(log, _)| is_closed(log)).map(|(_, terms)| terms.id);
    let Some(id) = found else { return };
    if let Some(destination) = table.destinations.with_id_mut(id) {
        destination.ended = destination.ended.plus(counts);
    }
    for log in &mut table.logs {
        log.shards.retain(|shard| shard.number != number);
    }
    table.logs.retain(|log| log.is_open() || !log.shards.is_empty());
}

/// What is to be done for the destinations of a table.
fn deliveries_of(table: &Table) -> Vec<Delivery> {
    let mut streams: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (log, terms) in table.destination_logs().filter(|(_, terms)| !terms.is_discarded) {
        // Older changes of an item go to a stream before newer ones.
        let waits = streams.contains(&terms.stream_arn.as_str());
        streams.push(&terms.stream_arn);
        if let Some(want) = want(table, log, terms, waits) {
            found.push(Delivery {
                namespace: owner(table),
                table: table.name.clone(),
                stream_arn: terms.stream_arn.clone(),
                want,
                key: (table.id, terms.id),
            });
        }
    }
    found
}

fn want(table: &Table, log: &ChangeLog, terms: &DestinationTerms, waits: bool) -> Option<Want> {
    let destination = table.destinations.with_id(terms.id);
    if let Some(enabling) = destination.filter(|destination| destination.phase == Phase::Enabling) {
        return Some(Want::Contact { since_ms: enabling.enabled_ms });
    }
    if waits {
        return None;
    }
    let is_first = |shard: &&Shard| shard.parent.is_none_or(|parent| log.shard(parent).is_none());
    let shards: Vec<u32> = log.shards.iter().filter(is_first).map(|shard| shard.number).collect();
    Some(Want::Records { shards })
}

/// A record as its stream gets it.
fn paged(
    table: &Table,
    (shard, terms): (&Shard, &DestinationTerms),
    entry: &LogEntry,
) -> Result<PagedRecord, Error> {
    let change = ChangeRecord::decode(&entry.bytes).map_err(|_| fault::internal())?;
    let place = place_of(entry.position);
    let named = [shard.number.to_string(), place.version.to_string(), place.index.to_string()];
    let named = std::iter::once(table.public_id.as_str()).chain(named.iter().map(String::as_str));
    let hash = partition_hash(named.map(KeyValueRef::S)).0;
    let fine_us = u64::from(change.extra_us.unwrap_or(0));
    let record = DestinationRecord {
        event_id: uuid(&hash),
        event: change.event,
        identity: change.identity,
        region: table.region.clone(),
        table_name: table.name.clone(),
        created_us: change.at_ms.saturating_mul(US_PER_MS).saturating_add(fine_us),
        precision: terms.precision.map(Into::into),
        size_bytes: u64::try_from(change.size_bytes()).unwrap_or(u64::MAX),
        partition_key: partition_key(&change.keys),
        keys: change.keys,
        new_image: change.new,
        old_image: change.old,
    };
    Ok(PagedRecord { record, at: entry.position })
}

/// The same for all changes of an item. How the service makes it is not known; it has 32 such digits.
fn partition_key(keys: &EncodedItem) -> String {
    hex(&partition_hash([KeyValueRef::B(keys.as_bytes())]).0).to_ascii_uppercase()
}

/// These bytes in the form of a UUID. The same record has the same one each time that it is sent.
fn uuid(bytes: &[u8; 16]) -> String {
    let text = hex(bytes);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}
