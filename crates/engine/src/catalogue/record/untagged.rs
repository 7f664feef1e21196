//! Records of formats 1 and 2: a format byte, the record's version (u64), then the record in postcard's
//! compact encoding.
//!
//! Both are read. Format 2 is written as long as some process over a shared store knows no other. Nothing is
//! added to them any more.

use std::collections::BTreeMap;

use keywright_semantics::schema::{BillingMode, TableSchema};
use serde::{Deserialize, Serialize};

use super::RecordFault;
use super::schema::{AttributeRecord, IndexRecord, KeyRecord, index_of_record, index_record};
use crate::catalogue::change_log::{Purpose, StreamRecord, StreamState, StreamTerms};
use crate::catalogue::destination::Destinations;
use crate::catalogue::history::History;
use crate::catalogue::policies::Policies;
use crate::catalogue::remote::Remote;
use crate::catalogue::rows::record_version;
use crate::catalogue::shards::NewLog;
use crate::catalogue::stored::BillingModeRecord;
use crate::catalogue::table::{
    ClassState, DoomedIndex, ModeChanges, OnDemandLimits, Seen, Table, Throughput, Warm,
};
use crate::catalogue::table_state::{EncryptionState, TableStatus};
use crate::catalogue::ttl::TtlState;
use crate::support::layout::TableId;

/// The first format: a `TableRecord` alone.
pub(super) const FORMAT_FIRST: u8 = 1;
/// The second format: a `TableRecord`, then a `LaterRecord`, then added parts.
pub(super) const FORMAT: u8 = 2;

#[derive(Serialize, Deserialize)]
struct TableRecord {
    id: u64,
    public_id: String,
    account: String,
    region: String,
    name: String,
    status: TableStatus,
    status_until_ms: u64,
    created_ms: u64,
    key: KeyRecord,
    indexes: Vec<IndexRecord>,
    doomed_indexes: Vec<IndexRecord>,
    next_index_id: u32,
    definitions: Vec<AttributeRecord>,
    #[serde(with = "BillingModeRecord")]
    billing: BillingMode,
    on_demand_since_ms: Option<u64>,
    throughput: Throughput,
    on_demand: OnDemandLimits,
    warm: Option<Warm>,
    stream: StreamState,
    class: Option<ClassState>,
    encryption: Option<EncryptionState>,
    deletion_protection: bool,
    deletion_protection_changed_ms: Option<u64>,
    tags: BTreeMap<String, String>,
}

/// The fields that the first format did not have.
#[derive(Default, Serialize, Deserialize)]
struct LaterRecord {
    streams: Vec<StreamRecord>,
    next_shard: u32,
    ttl: TtlState,
}

/// A table's record of format 2.
///
/// # Panics
///
/// If the table has sections of later releases, history, a job that fills it, policies, destinations or
/// replicas: only stores of tagged records have those.
pub(super) fn encode(table: &Table) -> Vec<u8> {
    assert!(table.later.is_empty(), "sections of later releases are written in tagged records only");
    assert!(!super::has_history(table), "history and jobs are written in tagged records only");
    assert!(
        !super::has_policies(table) && !super::has_destinations(table),
        "policies, destinations and their logs are written in tagged records only"
    );
    assert!(!super::has_replicas(table), "replicas are written in tagged records only");
    let mut start = vec![FORMAT];
    start.extend_from_slice(&table.version.to_be_bytes());
    let later = LaterRecord {
        streams: StreamRecord::of_streams(&table.logs),
        next_shard: table.next_shard,
        ttl: table.ttl.clone(),
    };
    postcard::to_extend(&TableRecord::from(table), start)
        .and_then(|bytes| postcard::to_extend(&later, bytes))
        // Releases that do not know it ignore what follows the record they know.
        .and_then(|bytes| match added_parts(table) {
            0 => Ok(bytes),
            _ => postcard::to_extend(&table.mode_changes, bytes),
        })
        .and_then(|bytes| match added_parts(table) {
            0 | 1 => Ok(bytes),
            _ => postcard::to_extend(&table.insights, bytes),
        })
        .and_then(|bytes| match added_parts(table) {
            0..=2 => Ok(bytes),
            _ => postcard::to_extend(&table.warm_jobs, bytes),
        })
        .and_then(|bytes| match added_parts(table) {
            0..=3 => Ok(bytes),
            _ => postcard::to_extend(&table.copied_bytes, bytes),
        })
        .expect("a record of owned values encodes into a vector")
}

/// How many of the parts that were added one after the other are written: all up to the last that says
/// something.
fn added_parts(table: &Table) -> usize {
    let says_nothing = [
        table.mode_changes.is_empty(),
        table.insights.is_empty(),
        table.warm_jobs.is_empty(),
        table.copied_bytes.is_none(),
    ];
    says_nothing.iter().rposition(|nothing| !nothing).map_or(0, |last| last + 1)
}

/// The table of a record of format 1 or 2.
pub(super) fn decode(bytes: &[u8]) -> Result<Table, RecordFault> {
    let format = bytes.first().copied();
    if !matches!(format, Some(FORMAT | FORMAT_FIRST)) {
        return Err(RecordFault::UnknownFormat(format));
    }
    let cut_short = || RecordFault::Malformed("it is cut short".to_owned());
    let malformed = |error: postcard::Error| RecordFault::Malformed(error.to_string());
    let version = record_version(bytes).ok_or_else(cut_short)?;
    let rest = bytes.get(9..).ok_or_else(cut_short)?;
    let (record, rest): (TableRecord, _) = postcard::take_from_bytes(rest).map_err(malformed)?;
    let mut table = Table { version, ..record.into() };
    if format == Some(FORMAT_FIRST) {
        begin_stream(&mut table);
    } else {
        let (later, rest): (LaterRecord, _) = postcard::take_from_bytes(rest).map_err(malformed)?;
        read_added(&mut table, rest).map_err(malformed)?;
        table.logs = later.streams.into_iter().map(Into::into).collect();
        table.next_shard = later.next_shard;
        table.ttl = later.ttl;
    }
    Ok(table)
}

/// Reads the parts that were added one after the other. A record has the first few of them.
fn read_added(table: &mut Table, rest: &[u8]) -> Result<(), postcard::Error> {
    fn part<'r, T: Deserialize<'r>>(place: &mut T, rest: &'r [u8]) -> Result<&'r [u8], postcard::Error> {
        if rest.is_empty() {
            return Ok(rest);
        }
        let (read, rest) = postcard::take_from_bytes(rest)?;
        *place = read;
        Ok(rest)
    }
    let rest = part(&mut table.mode_changes, rest)?;
    let rest = part(&mut table.insights, rest)?;
    let rest = part(&mut table.warm_jobs, rest)?;
    part(&mut table.copied_bytes, rest)?;
    Ok(())
}

/// The first format said that a stream is enabled, but kept no records: the stream begins when the record is
/// read. The stream of a table that is being deleted does not begin, because nothing would disable it.
fn begin_stream(table: &mut Table) {
    if table.status == TableStatus::Deleting {
        table.stream.view = None;
        return;
    }
    if let (Some(view), Some(label)) = (table.stream.view, table.stream.label.clone()) {
        let created_ms = table.created_ms;
        let purpose = Purpose::Stream(StreamTerms { label, view, settled_ms: created_ms, owner: 0 });
        table.open_log(NewLog { purpose, opened_ms: created_ms, after: 0 }, 1);
    }
}

impl From<&Table> for TableRecord {
    fn from(table: &Table) -> Self {
        let doomed = table.doomed_indexes.iter().map(|index| index_record(&index.schema, &index.state));
        Self {
            id: table.id.0,
            public_id: table.public_id.clone(),
            account: table.account.clone(),
            region: table.region.clone(),
            name: table.name.clone(),
            status: table.status,
            status_until_ms: table.status_until_ms,
            created_ms: table.created_ms,
            key: (&table.schema.key).into(),
            indexes: table.indexes_with_states().map(|(schema, state)| index_record(schema, state)).collect(),
            doomed_indexes: doomed.collect(),
            next_index_id: table.next_index_id,
            definitions: table.definitions.iter().map(Into::into).collect(),
            billing: table.billing,
            on_demand_since_ms: table.on_demand_since_ms,
            throughput: table.throughput,
            on_demand: table.on_demand,
            warm: table.warm,
            stream: table.stream.clone(),
            class: table.class,
            encryption: table.encryption.clone(),
            deletion_protection: table.deletion_protection,
            deletion_protection_changed_ms: table.deletion_protection_changed_ms,
            tags: table.tags.clone(),
        }
    }
}

impl From<TableRecord> for Table {
    fn from(record: TableRecord) -> Self {
        let (indexes, states) = record.indexes.into_iter().map(index_of_record).unzip();
        let doomed = record.doomed_indexes.into_iter().map(index_of_record);
        Self {
            id: TableId(record.id),
            version: 0,
            public_id: record.public_id,
            account: record.account,
            region: record.region,
            name: record.name,
            status: record.status,
            status_until_ms: record.status_until_ms,
            created_ms: record.created_ms,
            schema: TableSchema { key: record.key.into(), indexes },
            states,
            doomed_indexes: doomed.map(|(schema, state)| DoomedIndex { schema, state }).collect(),
            next_index_id: record.next_index_id,
            definitions: record.definitions.into_iter().map(Into::into).collect(),
            billing: record.billing,
            on_demand_since_ms: record.on_demand_since_ms,
            throughput: record.throughput,
            on_demand: record.on_demand,
            warm: record.warm,
            stream: record.stream,
            logs: Vec::new(),
            next_shard: 0,
            destinations: Destinations::default(),
            ttl: TtlState::default(),
            class: record.class,
            encryption: record.encryption,
            deletion_protection: record.deletion_protection,
            deletion_protection_changed_ms: record.deletion_protection_changed_ms,
            tags: record.tags,
            mode_changes: ModeChanges::default(),
            insights: Vec::new(),
            warm_jobs: Vec::new(),
            copied_bytes: None,
            copied_by: None,
            history: History::default(),
            filling: None,
            bulk_put: None,
            key_change: None,
            replicates_settings: false,
            policies: Policies::default(),
            replication: None,
            remote: Remote::default(),
            has_old_versions: false,
            strong: None,
            later: Vec::new(),
            seen: Seen::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::WarmJob;
    use crate::catalogue::insights::{InsightsMode, InsightsPhase, InsightsState};
    use crate::support::layout::IndexId;
    use crate::tests::harness::{bench, namespace};
    use keywright_semantics::schema::StreamView;

    /// A table with a stream, and its record in the first format.
    fn of_the_first_format(status: TableStatus) -> (Table, Vec<u8>) {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let mut old = Table { status, ..(*table).clone() };
        old.stream = StreamState { view: Some(StreamView::KeysOnly), label: Some("label".to_owned()) };
        let mut bytes = vec![FORMAT_FIRST];
        bytes.extend_from_slice(&old.version.to_be_bytes());
        let bytes = postcard::to_extend(&TableRecord::from(&old), bytes).expect("it encodes");
        (old, bytes)
    }

    #[test]
    fn the_stream_of_a_table_that_the_first_format_was_deleting_does_not_begin() {
        let (_, bytes) = of_the_first_format(TableStatus::Deleting);
        let read = decode(&bytes).expect("the first format is still read");
        assert_eq!((read.logs.as_slice(), read.stream.view), ([].as_slice(), None));
    }

    #[test]
    fn records_of_the_first_format_are_read_and_their_stream_begins() {
        let (old, bytes) = of_the_first_format(TableStatus::Active);
        let read = decode(&bytes).expect("the first format is still read");
        assert_eq!((read.version, &read.schema, &read.stream), (old.version, &old.schema, &old.stream));
        let stream = read.live_stream().expect("a stream was enabled");
        assert_eq!((stream.terms.label.as_str(), stream.log.open_shards().count()), ("label", 1));
        assert!(read.ttl.enabled().is_none());
    }

    #[test]
    fn changes_of_the_mode_are_kept_behind_what_older_releases_read() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let changes = ModeChanges { to_on_demand_ms: vec![1, 2], class_ms: vec![3] };
        let later = Table { mode_changes: changes.clone(), ..(*table).clone() };
        assert_eq!(decode(&encode(&later)).map(|table| table.mode_changes), Ok(changes));
        assert!(encode(&later).starts_with(&encode(&table)), "older releases read the same record");
    }

    #[test]
    fn insights_and_raises_of_warm_throughput_are_kept_behind_the_changes_of_the_mode() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let state = InsightsState {
            phase: InsightsPhase::On,
            mode: InsightsMode::Throttled,
            rules_ms: 7,
            changed_ms: 8,
            settled_ms: 9,
        };
        let changes = ModeChanges { to_on_demand_ms: vec![1], class_ms: Vec::new() };
        let insights = vec![(None, state), (Some(IndexId(1)), state)];
        let wanted = Warm { read_units: 1, write_units: 2 };
        let warm_jobs = vec![WarmJob { index: None, wanted, done_ms: 3 }];
        for (mode_changes, insights, warm_jobs) in [
            (ModeChanges::default(), insights.clone(), Vec::new()),
            (changes.clone(), insights.clone(), warm_jobs.clone()),
            (changes, Vec::new(), warm_jobs.clone()),
            (ModeChanges::default(), Vec::new(), warm_jobs),
        ] {
            let later = Table { mode_changes, insights, warm_jobs, ..(*table).clone() };
            assert_eq!(decode(&encode(&later)).as_ref(), Ok(&later));
            assert!(encode(&later).starts_with(&encode(&table)), "older releases read the same record");
        }
    }

    #[test]
    fn what_a_branch_copied_is_kept_behind_the_raises_of_warm_throughput() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let later = Table { copied_bytes: Some(7), ..(*table).clone() };
        assert_eq!(decode(&encode(&later)).as_ref(), Ok(&later));
        assert!(encode(&later).starts_with(&encode(&table)), "older releases read the same record");
    }

    #[test]
    fn damaged_records_are_refused() {
        let table = bench().engine.catalogue().find(&namespace(), "t").expect("the bench has a table");
        let bytes = encode(&table);
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
        }
    }
}
