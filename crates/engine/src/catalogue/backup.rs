//! Backups as they are stored: what they are of, where their items are, and the settings of their table.
//!
//! ```text
//! backups | hash of account and region | id | name of the table
//! ```
//!
//! An id begins with the time of the request, so the backups of a caller are in the order of time. A backup
//! needs nothing of its table's name: the table may be gone, or another one have the name.

use bytes::Bytes;
use keywright_semantics::error::Error;
use keywright_semantics::key::{KeyValueRef, partition_hash};
use keywright_store::{KeyRange, Snapshot};
use serde::{Deserialize, Serialize};

use super::destination::Destinations;
use super::history::History;
use super::record;
use super::table::Table;
use crate::support::env::Namespace;
use crate::support::fault;
use crate::support::layout::{self, Space, TableId};
use crate::support::stamp::Stamp;

/// The first byte of a row: its format.
const FORMAT: u8 = 1;
/// The end of the ids of backups that the system makes.
const SYSTEM_SUFFIX: &str = "-00000000";
/// Bytes of an id.
const ID_BYTES: usize = 14 + SYSTEM_SUFFIX.len();
/// Bytes of the hash of account and region.
const HASH_BYTES: usize = 16;

/// A backup of an account and region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BackupName {
    /// The name of its table.
    pub table: String,
    pub id: String,
}

impl BackupName {
    pub(crate) fn key(&self, namespace: &Namespace) -> Bytes {
        [&prefix(namespace)[..], self.id.as_bytes(), self.table.as_bytes()].concat().into()
    }

    pub(crate) fn arn(&self, namespace: &Namespace) -> String {
        format!(
            "arn:aws:dynamodb:{}:{}:table/{}/backup/{}",
            namespace.region, namespace.account, self.table, self.id
        )
    }

    /// The backup that the system makes at this time when it deletes a table.
    pub(crate) fn of_system(table: &str, ms: u64) -> Self {
        Self { table: table.to_owned(), id: format!("{ms:014}{SYSTEM_SUFFIX}") }
    }
}

/// Who made a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Maker {
    User,
    System,
}

/// Where the items of a backup are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Items {
    /// In the table and its history, which the backup holds. This job copies them to the backup store, if one
    /// does.
    Held { seal: Option<String> },
    /// In the backup store, at this place.
    Sealed { place: Vec<u8> },
}

/// A backup. Its fields are stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Backup {
    pub id: String,
    pub name: String,
    pub maker: Maker,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
    /// The number of its table.
    pub table: u64,
    pub stamp: Stamp,
    /// Items and their bytes, as they were counted at its time.
    pub item_count: u64,
    pub size_bytes: u64,
    pub items: Items,
    /// The job that restores a table from it.
    pub restoring: Option<String>,
    /// The settings of its table, as a record.
    pub settings: Vec<u8>,
}

/// What a new backup is, apart from its table.
pub(crate) struct NewBackup<'n> {
    pub id: &'n str,
    pub name: &'n str,
    pub maker: Maker,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
    pub stamp: Stamp,
    pub item_count: u64,
    pub size_bytes: u64,
    pub seal: Option<String>,
}

impl Backup {
    pub(crate) fn of(table: &Table, new: NewBackup<'_>) -> Self {
        Self {
            id: new.id.to_owned(),
            name: new.name.to_owned(),
            maker: new.maker,
            created_ms: new.created_ms,
            expires_ms: new.expires_ms,
            table: table.id.0,
            stamp: new.stamp,
            item_count: new.item_count,
            size_bytes: new.size_bytes,
            items: Items::Held { seal: new.seal },
            restoring: None,
            settings: settings(table),
        }
    }

    /// The same with its items elsewhere.
    #[must_use]
    pub(crate) fn with_items(self, items: Items) -> Self {
        Self { items, ..self }
    }

    /// The same while this job restores a table from it.
    #[must_use]
    pub(crate) fn restored_by(self, job: &str) -> Self {
        Self { restoring: Some(job.to_owned()), ..self }
    }

    pub(crate) const fn table(&self) -> TableId {
        TableId(self.table)
    }

    /// The settings of its table at its time.
    pub(crate) fn source(&self) -> Result<Table, Error> {
        decode_settings(&self.settings)
    }

    pub(crate) fn encode(&self) -> Bytes {
        let row = postcard::to_extend(self, vec![FORMAT]);
        row.expect("a backup of owned values encodes into a vector").into()
    }

    pub(crate) fn decode(row: &[u8]) -> Result<Self, Error> {
        let row = row.strip_prefix(&[FORMAT]).ok_or_else(fault::internal)?;
        postcard::from_bytes(row).map_err(|_fault| fault::internal())
    }
}

/// The settings of a table in the form in which a backup has them: a record without what belongs to the
/// table's own life.
pub(crate) fn settings(table: &Table) -> Vec<u8> {
    record::encode(&Table {
        history: History::default(),
        filling: None,
        logs: Vec::new(),
        destinations: Destinations::default(),
        doomed_indexes: Vec::new(),
        insights: Vec::new(),
        warm_jobs: Vec::new(),
        later: Vec::new(),
        ..table.clone()
    })
}

/// The table of such settings.
pub(crate) fn decode_settings(settings: &[u8]) -> Result<Table, Error> {
    record::decode(settings).map_err(|fault| match fault {
        record::RecordFault::Refused(table) => table.error(),
        record::RecordFault::UnknownFormat(_) | record::RecordFault::Malformed(_) => fault::internal(),
    })
}

fn prefix(namespace: &Namespace) -> Vec<u8> {
    let (account, region) = (namespace.account.as_str(), namespace.region.as_str());
    let hash = partition_hash([KeyValueRef::S(account), KeyValueRef::S(region)]);
    [&[Space::Backups.byte()][..], &hash.0].concat()
}

/// Whether this is the id of a backup that the system made.
pub(crate) fn is_of_system(id: &str) -> bool {
    id.ends_with(SYSTEM_SUFFIX)
}

/// The backup of a row's key.
pub(crate) fn name_of_key(key: &[u8]) -> Option<BackupName> {
    let named = std::str::from_utf8(key.get(1 + HASH_BYTES..)?).ok()?;
    let (id, table) = named.split_at_checked(ID_BYTES)?;
    Some(BackupName { table: table.to_owned(), id: id.to_owned() })
}

/// A name for the backup that the system makes of a table now: tables of one name may be deleted in one
/// millisecond.
pub(crate) async fn new_system_name(
    view: &impl Snapshot,
    namespace: &Namespace,
    table: &str,
    now_ms: u64,
) -> Result<BackupName, Error> {
    let mut ms = now_ms;
    loop {
        let name = BackupName::of_system(table, ms);
        if find(view, namespace, &name).await?.is_none() {
            return Ok(name);
        }
        ms = ms.saturating_add(1);
    }
}

/// The rows of a caller's backups from a time on, before another, and after one backup.
pub(crate) fn between(
    namespace: &Namespace,
    (from_ms, before_ms): (Option<u64>, Option<u64>),
    after: Option<&BackupName>,
) -> KeyRange {
    let all = layout::prefix_range(prefix(namespace));
    let at = |ms: u64| Bytes::from([&prefix(namespace)[..], format!("{ms:014}").as_bytes()].concat());
    let after = after.map(|backup| layout::after(&backup.key(namespace)));
    let starts = [from_ms.map(at), after].into_iter().flatten();
    let start = starts.fold(all.start, Bytes::max);
    KeyRange { start, end: before_ms.map(at).or(all.end) }
}

/// The rows of all backups of all callers.
pub(crate) fn all() -> KeyRange {
    layout::prefix_range(vec![Space::Backups.byte()])
}

/// The backup of this name.
pub(crate) async fn find(
    view: &impl Snapshot,
    namespace: &Namespace,
    name: &BackupName,
) -> Result<Option<Backup>, Error> {
    let row = view.get(&name.key(namespace)).await.map_err(|error| fault::storage(&error))?;
    row.map(|row| Backup::decode(&row)).transpose()
}
