//! Streams as consumers see them: every change once, in order, in shards that can be followed; gone after a
//! day.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::limits::{SHARD_ITERATOR_MS, STREAM_RETENTION_MS, TIMESTAMP_AHEAD_MS_MAX};
use keywright_semantics::request::parts::{StreamSpecificationParts, StreamViewType, UpdateTableParts};
use keywright_semantics::request::{
    DeleteTable, DescribeStream, GetRecords, GetShardIterator, ListStreams, Request, ShardPosition,
    ShardSelection, StreamRef, UpdateTable,
};
use keywright_semantics::response::{
    GetRecordsOutput, Response, ShardDescription, StreamDescription, StreamEvent, StreamRecord, StreamStatus,
    StreamSummary,
};
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::sequence::SequenceNumber;
use keywright_semantics::value::Item;
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::state::purge_progress::Kept;
use crate::support::config::EngineConfig;

const HOUR_MS: u64 = 60 * 60 * 1000;

fn plain_schema() -> TableSchema {
    TableSchema { key: key(&[("pk", KeyType::S)], &[("sk", KeyType::S)]), indexes: Vec::new() }
}

fn streaming(view: StreamViewType) -> Bench<MemoryStore> {
    streaming_with(view, EngineConfig::default())
}

fn streaming_with(view: StreamViewType, config: EngineConfig) -> Bench<MemoryStore> {
    let mut table = create_request(plain_schema());
    table.stream = Some(view);
    bench_with(MemoryStore::new(), config, table)
}

fn row(pk: &str, sk: &str, x: i64) -> Item {
    item([("pk", s(pk)), ("sk", s(sk)), ("x", n(x))])
}

fn key_of(pk: &str, sk: &str) -> Item {
    item([("pk", s(pk)), ("sk", s(sk))])
}

impl<S: Store> Bench<S> {
    pub(super) fn streams(&self) -> Vec<StreamSummary> {
        let request = ListStreams { table_name: Some(TABLE.into()), limit: 100, exclusive_start: None };
        match block_on(self.engine.execute(&caller(), Request::ListStreams(request))) {
            Ok(Response::ListStreams(output)) => output.streams,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn stream(&self) -> StreamRef {
        let streams = self.streams();
        StreamRef::parse(&streams.last().expect("there is a stream").stream_arn).expect("a stream's name")
    }

    pub(super) fn describe(&self, stream: &StreamRef) -> Result<StreamDescription, Error> {
        self.describe_shards(stream, ShardSelection::All)
    }

    fn describe_shards(
        &self,
        stream: &StreamRef,
        shards: ShardSelection,
    ) -> Result<StreamDescription, Error> {
        let stream = stream.clone();
        let request = DescribeStream { stream, limit: 100, exclusive_start_shard_id: None, shards };
        match block_on(self.engine.execute(&caller(), Request::DescribeStream(request)))? {
            Response::DescribeStream(description) => Ok(*description),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn iterator(
        &self,
        stream: &StreamRef,
        shard: &str,
        position: ShardPosition,
    ) -> Result<String, Error> {
        let request = GetShardIterator { stream: stream.clone(), shard_id: shard.into(), position };
        match block_on(self.engine.execute(&caller(), Request::GetShardIterator(Box::new(request))))? {
            Response::GetShardIterator(iterator) => Ok(iterator),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn records(&self, iterator: &str, limit: usize) -> Result<GetRecordsOutput, Error> {
        let request = GetRecords { shard_iterator: iterator.into(), limit };
        match block_on(self.engine.execute(&caller(), Request::GetRecords(request)))? {
            Response::GetRecords(output) => Ok(output),
            other => panic!("{other:?}"),
        }
    }

    /// All records of a shard from a position on, read in small pages.
    fn read_shard(&self, stream: &StreamRef, shard: &str, position: ShardPosition) -> Vec<StreamRecord> {
        let mut iterator = self.iterator(stream, shard, position).ok();
        let mut records = Vec::new();
        while let Some(text) = iterator {
            let page = self.records(&text, 3).expect("the iterator is fresh");
            let is_empty = page.records.is_empty();
            records.extend(page.records);
            iterator = page.next_shard_iterator.filter(|_| !is_empty);
        }
        records
    }

    /// The ids of all shards, in the order of pages of `limit` shards.
    fn shard_ids(&self, stream: &StreamRef, limit: usize) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        loop {
            let request = DescribeStream {
                stream: stream.clone(),
                limit,
                exclusive_start_shard_id: ids.last().cloned(),
                shards: ShardSelection::All,
            };
            match block_on(self.engine.execute(&caller(), Request::DescribeStream(request))) {
                Ok(Response::DescribeStream(page)) => {
                    ids.extend(page.shards.into_iter().map(|shard| shard.shard_id));
                    if page.last_evaluated_shard_id.is_none() {
                        return ids;
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }

    pub(super) fn read_stream(&self, stream: &StreamRef) -> Vec<StreamRecord> {
        let shards = self.describe(stream).expect("the stream exists").shards;
        let read =
            |shard: &ShardDescription| self.read_shard(stream, &shard.shard_id, ShardPosition::TrimHorizon);
        shards.iter().flat_map(read).collect()
    }

    fn pass(&self, ms: u64) {
        self.env.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Runs all background work that is due now.
    fn settle(&self) {
        let now_ms = self.env.now_ms.load(Ordering::Relaxed);
        while block_on(self.engine.step(now_ms)).at_ms.is_some_and(|wake| wake <= now_ms) {}
    }

    fn set_stream(&self, view: Option<StreamViewType>) -> Result<(), Error> {
        let parts = UpdateTableParts {
            table_name: TABLE.into(),
            stream_specification: Some(StreamSpecificationParts {
                stream_enabled: view.is_some(),
                stream_view_type: view,
            }),
            ..UpdateTableParts::default()
        };
        let request = UpdateTable::validate(&parts).expect("a well-formed request");
        block_on(self.engine.execute(&caller(), Request::UpdateTable(Box::new(request)))).map(|_| ())
    }
}

fn events(records: &[StreamRecord]) -> Vec<StreamEvent> {
    records.iter().map(|record| record.event).collect()
}

fn image(item: Option<&EncodedItem>) -> Option<Item> {
    item.map(EncodedItem::decode)
}

/// A consumer's copy after applying these records in order.
fn replay<'r>(records: impl IntoIterator<Item = &'r StreamRecord>) -> BTreeMap<String, Item> {
    let mut copy = BTreeMap::new();
    records.into_iter().for_each(|record| apply(&mut copy, record));
    copy
}

/// Applies one change to a consumer's copy.
pub(super) fn apply(copy: &mut BTreeMap<String, Item>, record: &StreamRecord) {
    let key = format!("{:?}", record.keys.decode());
    match image(record.new_image.as_ref()) {
        Some(item) => copy.insert(key, item),
        None => copy.remove(&key),
    };
}

pub(super) fn table_as_copy(bench: &Bench<MemoryStore>) -> BTreeMap<String, Item> {
    let key = |item: &Item| {
        let key: Item = ["pk", "sk"].iter().map(|name| ((*name).to_owned(), item[*name].clone())).collect();
        format!("{key:?}")
    };
    bench.scan_all(None).into_iter().map(|item| (key(&item), item)).collect()
}

#[test]
fn a_change_is_recorded_once_and_no_change_not_at_all() {
    use StreamEvent::{Insert, Modify, Remove};
    let bench = streaming(StreamViewType::NewAndOldImages);
    bench.put(row("a", "1", 1)).expect("put");
    bench.put(row("a", "1", 1)).expect("put");
    bench.put(row("a", "1", 2)).expect("put");
    bench.delete(&delete_request(key_of("a", "1"))).expect("delete");
    bench.delete(&delete_request(key_of("a", "1"))).expect("delete");
    let mut failing = delete_request(key_of("b", "1"));
    failing.write.condition = Some(Box::new(condition("attribute_exists(pk)", [])));
    bench.delete(&failing).expect_err("there is no such item");
    bench.update(&update_request(key_of("b", "1"), Some(update("REMOVE x", [])))).expect("update");
    bench
        .update(&update_request(key_of("b", "1"), Some(update("SET x = :v", [(":v", n(5))]))))
        .expect("update");
    let records = bench.read_stream(&bench.stream());
    let of_a: Vec<&StreamRecord> = records.iter().filter(|r| r.keys.decode() == key_of("a", "1")).collect();
    assert_eq!(of_a.iter().map(|record| record.event).collect::<Vec<_>>(), [Insert, Modify, Remove]);
    assert_eq!(image(of_a[1].old_image.as_ref()), Some(row("a", "1", 1)));
    assert_eq!(image(of_a[1].new_image.as_ref()), Some(row("a", "1", 2)));
    assert_eq!((image(of_a[0].old_image.as_ref()), image(of_a[2].new_image.as_ref())), (None, None));
    assert!(records.is_sorted_by(|one, next| one.sequence_number < next.sequence_number));
    let ids: BTreeSet<&str> = records.iter().map(|record| record.event_id.as_str()).collect();
    assert_eq!(ids.len(), records.len());
    assert_eq!(replay(&records), table_as_copy(&bench));
}

#[test]
fn a_transaction_leaves_all_its_records_or_none() {
    let bench = streaming(StreamViewType::NewImage);
    let action = |pk: &str, condition: Option<&str>| keywright_semantics::request::TransactWrite {
        table: table_ref(),
        action: keywright_semantics::request::TransactAction::Put { item: row(pk, "1", 1) },
        condition: condition.map(|text| super::harness::condition(text, [])),
        on_condition_failure: keywright_semantics::request::OnConditionFailure::Nothing,
    };
    let run = |actions| {
        let request = keywright_semantics::request::TransactWriteItems {
            actions,
            token: None,
            capacity: keywright_semantics::request::parts::ReturnConsumedCapacity::None,
            metrics: keywright_semantics::request::parts::ReturnItemCollectionMetrics::None,
        };
        block_on(bench.engine.execute(&caller(), Request::TransactWriteItems(request)))
    };
    run(vec![action("a", None), action("b", Some("attribute_exists(pk)"))]).expect_err("b does not exist");
    assert!(bench.read_stream(&bench.stream()).is_empty());
    run(vec![action("a", None), action("b", None)]).expect("nothing speaks against it");
    let records = bench.read_stream(&bench.stream());
    assert_eq!(events(&records), [StreamEvent::Insert, StreamEvent::Insert]);
    let versions: BTreeSet<u64> = records.iter().map(|record| record.sequence_number.place().0).collect();
    assert_eq!(versions.len(), 1, "one commit");
}

#[test]
fn positions_in_a_shard_are_what_they_say() {
    let bench = streaming(StreamViewType::NewImage);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0);
    for second in 0..10 {
        bench.put(row("a", &second.to_string(), 1)).expect("put");
        bench.pass(1000);
    }
    let all = bench.read_shard(&stream, &shard.shard_id, ShardPosition::TrimHorizon);
    assert_eq!(all.len(), 10);
    let count = |position| bench.read_shard(&stream, &shard.shard_id, position).len();
    assert_eq!(count(ShardPosition::At(shard.starting_sequence_number)), 10);
    assert_eq!(count(ShardPosition::After(shard.starting_sequence_number)), 10);
    assert_eq!(count(ShardPosition::At(all[4].sequence_number)), 6);
    assert_eq!(count(ShardPosition::After(all[4].sequence_number)), 5);
    assert_eq!(count(ShardPosition::AtTimestampMs(0)), 10);
    assert_eq!(count(ShardPosition::AtTimestampMs(4000)), 6);
    assert_eq!(count(ShardPosition::AtTimestampMs(4001)), 5);
    let latest = bench.iterator(&stream, &shard.shard_id, ShardPosition::Latest).expect("an iterator");
    bench.put(row("a", "new", 1)).expect("put");
    let page = bench.records(&latest, 1000).expect("a page");
    assert_eq!(page.records.len(), 1);
    let rest = bench.records(&page.next_shard_iterator.expect("the shard is open"), 1000).expect("a page");
    assert!(rest.records.is_empty() && rest.next_shard_iterator.is_some());
}

#[test]
fn a_time_before_the_horizon_is_the_horizon_and_one_in_the_future_is_refused() {
    let config = EngineConfig { stream_shard_open_ms_max: 1000 * HOUR_MS, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::NewImage, config);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0).shard_id;
    bench.put(row("a", "old", 1)).expect("put");
    bench.pass(HOUR_MS);
    bench.put(row("a", "young", 1)).expect("put");
    bench.pass(STREAM_RETENTION_MS - HOUR_MS);
    bench.settle();
    let numbers = |position| -> Vec<SequenceNumber> {
        let records = bench.read_shard(&stream, &shard, position);
        records.into_iter().map(|record| record.sequence_number).collect()
    };
    let kept = numbers(ShardPosition::TrimHorizon);
    assert_eq!(kept.len(), 1, "the old record is trimmed");
    assert_eq!(numbers(ShardPosition::AtTimestampMs(0)), kept);
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    for ahead_ms in [now_ms, now_ms + TIMESTAMP_AHEAD_MS_MAX] {
        let iterator = bench.iterator(&stream, &shard, ShardPosition::AtTimestampMs(ahead_ms));
        let iterator = iterator.expect("clocks may differ a little");
        assert!(bench.records(&iterator, 10).expect("a page").records.is_empty());
    }
    for ahead_ms in [now_ms + TIMESTAMP_AHEAD_MS_MAX + 1, u64::MAX] {
        let refused = bench.iterator(&stream, &shard, ShardPosition::AtTimestampMs(ahead_ms)).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Validation);
        assert_eq!(
            refused.message,
            "Timestamp must not be in the future when ShardIteratorType is AT_TIMESTAMP"
        );
    }
}

#[test]
fn an_iterator_lives_fifteen_minutes() {
    let bench = streaming(StreamViewType::NewImage);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0).shard_id;
    let iterator = bench.iterator(&stream, &shard, ShardPosition::TrimHorizon).expect("an iterator");
    bench.pass(SHARD_ITERATOR_MS);
    bench.records(&iterator, 1).expect("it is just not too old");
    bench.pass(1);
    assert_eq!(bench.records(&iterator, 1).unwrap_err().kind, ErrorKind::ExpiredIterator);
    assert_eq!(bench.records("nonsense", 1).unwrap_err().kind, ErrorKind::Validation);
    let missing = bench.iterator(&stream, "shardId-00000000000000000000-ffffffff", ShardPosition::Latest);
    assert_eq!(missing.unwrap_err().kind, ErrorKind::ResourceNotFound);
}

#[test]
fn records_are_gone_after_a_day_and_their_places_known_as_gone() {
    let config = EngineConfig { stream_shard_open_ms_max: 1000 * HOUR_MS, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::NewImage, config);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0).shard_id;
    bench.put(row("a", "old", 1)).expect("put");
    bench.put(row("a", "old", 2)).expect("put");
    let old = bench.read_stream(&stream);
    bench.pass(HOUR_MS);
    bench.put(row("a", "young", 1)).expect("put");
    bench.pass(STREAM_RETENTION_MS - HOUR_MS);
    bench.settle();
    let at_old = ShardPosition::At(old[0].sequence_number);
    let stale = bench.iterator(&stream, &shard, ShardPosition::After(old[0].sequence_number));
    assert_eq!(stale.unwrap_err().kind, ErrorKind::TrimmedDataAccess);
    assert_eq!(bench.iterator(&stream, &shard, at_old).unwrap_err().kind, ErrorKind::TrimmedDataAccess);
    assert_eq!(bench.read_stream(&stream).len(), 1);
    bench.pass(HOUR_MS);
    bench.settle();
    assert!(bench.read_stream(&stream).is_empty());
    bench.put(row("a", "new", 1)).expect("put");
    assert_eq!(bench.read_stream(&stream).len(), 1);
}

#[test]
fn an_iterator_that_fell_behind_the_horizon_is_told() {
    let config = EngineConfig { stream_shard_open_ms_max: 1000 * HOUR_MS, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::NewImage, config);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0).shard_id;
    let latest = ShardPosition::Latest;
    for round in 0..3 {
        bench.put(row("a", "x", round)).expect("put");
    }
    bench.pass(STREAM_RETENTION_MS - 1000);
    let behind = {
        let records = bench.read_stream(&stream);
        bench.iterator(&stream, &shard, ShardPosition::After(records[0].sequence_number)).expect("kept still")
    };
    let ahead = bench.iterator(&stream, &shard, latest).expect("an iterator");
    bench.pass(2000);
    bench.settle();
    assert_eq!(bench.records(&behind, 10).unwrap_err().kind, ErrorKind::TrimmedDataAccess);
    assert!(bench.records(&ahead, 10).expect("nothing of it is gone").records.is_empty());
}

#[test]
fn who_has_read_all_that_is_gone_reads_on() {
    let config = EngineConfig { stream_shard_open_ms_max: 1000 * HOUR_MS, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::NewImage, config);
    let stream = bench.stream();
    let shard = bench.describe(&stream).expect("it exists").shards.remove(0).shard_id;
    bench.put(row("a", "x", 1)).expect("put");
    let checkpoint = ShardPosition::After(bench.read_stream(&stream)[0].sequence_number);
    bench.pass(STREAM_RETENTION_MS - 1000);
    let start = bench.iterator(&stream, &shard, ShardPosition::TrimHorizon).expect("an iterator");
    let read_all = bench.records(&start, 10).expect("it is kept still").next_shard_iterator;
    bench.pass(2000);
    bench.settle();
    assert!(bench.read_stream(&stream).is_empty());
    bench.put(row("a", "x", 2)).expect("put");
    let resumed = bench.iterator(&stream, &shard, checkpoint).expect("nothing after it is gone");
    for iterator in [read_all.expect("the shard is open"), resumed] {
        assert_eq!(bench.records(&iterator, 10).expect("nothing was missed").records.len(), 1);
    }
}

#[test]
fn a_shard_gives_way_to_a_child_and_consumers_can_follow() {
    let bench = streaming(StreamViewType::NewAndOldImages);
    let stream = bench.stream();
    for round in 0..5 {
        for number in 0..20 {
            bench.put(row(&format!("p{number}"), "s", round)).expect("put");
        }
        bench.pass(5 * HOUR_MS);
        bench.settle();
    }
    let shards = bench.describe(&stream).expect("it exists").shards;
    assert!(shards.len() >= 5, "{}", shards.len());
    for pair in shards.windows(2) {
        assert_eq!(pair[1].parent_shard_id.as_ref(), Some(&pair[0].shard_id));
        let end = pair[0].ending_sequence_number.expect("only the last one is open");
        assert!(end < pair[1].starting_sequence_number);
        let children = ShardSelection::ChildrenOf(pair[0].shard_id.clone());
        let children = bench.describe_shards(&stream, children).expect("it exists").shards;
        assert_eq!(children, [pair[1].clone()]);
        let records = bench.read_shard(&stream, &pair[0].shard_id, ShardPosition::TrimHorizon);
        assert!(records.iter().all(|record| record.sequence_number <= end));
        assert_eq!(records.last().map_or(end, |record| record.sequence_number), end);
    }
    assert_eq!(replay(&bench.read_stream(&stream)), table_as_copy(&bench));
}

#[test]
fn shards_stop_giving_way_before_there_are_too_many() {
    let config =
        EngineConfig { stream_shard_open_ms_max: 1, stream_shards_kept_max: 30, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::KeysOnly, config);
    for _ in 0..50 {
        bench.pass(1);
        bench.settle();
    }
    let shards = || {
        let table = bench.engine.catalogue().find(&namespace(), TABLE).expect("it exists");
        table.live_stream().expect("it is enabled").log.shards.len()
    };
    assert_eq!(shards(), 30);
    bench.put(row("a", "1", 1)).expect("the last one still takes records");
    assert_eq!(bench.read_stream(&bench.stream()).len(), 1);
    bench.pass(STREAM_RETENTION_MS);
    bench.settle();
    assert_eq!(shards(), 2, "the closed ones are a day old, and the last one gave way");
}

#[test]
fn a_table_with_too_many_shards_of_one_day_begins_no_further_stream() {
    let config = EngineConfig { stream_shards_kept_max: 3, ..EngineConfig::default() };
    let bench = streaming_with(StreamViewType::KeysOnly, config);
    for _ in 0..2 {
        bench.set_stream(None).expect("it is enabled");
        bench.set_stream(Some(StreamViewType::KeysOnly)).expect("there is room");
    }
    bench.set_stream(None).expect("it is enabled");
    let refused = bench.set_stream(Some(StreamViewType::KeysOnly)).expect_err("three are kept");
    assert_eq!(refused.kind, ErrorKind::LimitExceeded);
    bench.pass(STREAM_RETENTION_MS + 1);
    bench.settle();
    bench.set_stream(Some(StreamViewType::KeysOnly)).expect("the old ones are gone");
}

#[test]
fn shards_are_listed_once_each_and_after_their_parents_when_the_clock_was_set_back() {
    let bench = streaming(StreamViewType::KeysOnly);
    let stream = bench.stream();
    bench.pass(20 * HOUR_MS);
    bench.settle();
    bench.env.now_ms.fetch_sub(19 * HOUR_MS, Ordering::Relaxed);
    let table = bench.engine.catalogue().find(&namespace(), TABLE).expect("it exists");
    let split = |table: &mut crate::catalogue::Table| {
        let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
        let open = table
            .live_stream()
            .and_then(|stream| stream.log.open_shards().next())
            .expect("one is open")
            .number;
        table.succeed_shard(open, crate::catalogue::Succession::Split, now_ms);
        Ok(())
    };
    block_on(bench.engine.catalogue().change(table.id, split)).expect("the table exists");
    let listed = bench.shard_ids(&stream, 1);
    assert_eq!(listed.len(), 4);
    assert!(listed.is_sorted(), "{listed:?}");
}

#[test]
fn only_writes_that_were_committed_count_as_a_shards_load() {
    use super::flaky_store::{Fate, FlakyStore};
    let store = FlakyStore::default();
    let mut table = create_request(plain_schema());
    table.stream = Some(StreamViewType::KeysOnly);
    let bench = bench_with(store.clone(), EngineConfig::default(), table);
    store.next(&[Fate::Conflict, Fate::Conflict]);
    bench.put(row("a", "1", 1)).expect("the third try goes through");
    bench.pass(61_000);
    let table = bench.engine.catalogue().find(&namespace(), TABLE).expect("it exists");
    let now_ms = bench.env.now_ms.load(Ordering::Relaxed);
    assert_eq!(bench.engine.shard_loads().last_window_units(table.id, 1, now_ms), 1);
}

#[test]
fn a_hot_shard_splits_and_each_item_stays_in_order() {
    let bench = streaming(StreamViewType::NewAndOldImages);
    let stream = bench.stream();
    // Items of 100 KB: 65,000 write units within a minute exceed a partition's throughput.
    let large = "x".repeat(100_000);
    for round in 0..3 {
        for number in 0..650 {
            let mut item = row(&format!("p{}", number % 40), "s", round * 1000 + number);
            item.insert("large".into(), s(&large));
            bench.put(item).expect("put");
        }
        bench.pass(61_000);
        bench.settle();
    }
    let shards = bench.describe(&stream).expect("it exists").shards;
    let open: Vec<&ShardDescription> =
        shards.iter().filter(|shard| shard.ending_sequence_number.is_none()).collect();
    assert!(open.len() >= 2, "{shards:?}");
    let parents: BTreeSet<&str> =
        shards.iter().filter_map(|shard| shard.parent_shard_id.as_deref()).collect();
    assert!(parents.iter().all(|parent| shards.iter().any(|shard| shard.shard_id == **parent)));
    // Parents before children, as consumer libraries read; the listing has them in that order.
    assert_eq!(replay(&bench.read_stream(&stream)), table_as_copy(&bench));
}

#[test]
fn a_disabled_stream_can_be_read_for_a_day_and_a_new_one_has_another_name() {
    let bench = streaming(StreamViewType::KeysOnly);
    bench.put(row("a", "1", 1)).expect("put");
    let first = bench.stream();
    bench.set_stream(None).expect("it is enabled");
    bench.put(row("a", "1", 2)).expect("put");
    let description = bench.describe(&first).expect("it can be read for a day");
    assert_eq!(description.status, StreamStatus::Disabled);
    assert!(description.shards.iter().all(|shard| shard.ending_sequence_number.is_some()));
    let records = bench.read_stream(&first);
    assert_eq!(events(&records), [StreamEvent::Insert]);
    assert!(records[0].new_image.is_none() && records[0].old_image.is_none());
    bench.set_stream(Some(StreamViewType::NewImage)).expect("it is disabled");
    let second = bench.stream();
    assert_ne!(first, second);
    assert_eq!(bench.streams().len(), 2);
    assert!(bench.read_stream(&second).is_empty());
    bench.put(row("a", "1", 3)).expect("put");
    assert_eq!(events(&bench.read_stream(&second)), [StreamEvent::Modify]);
    bench.pass(STREAM_RETENTION_MS);
    bench.settle();
    assert_eq!(bench.describe(&first).unwrap_err().kind, ErrorKind::ResourceNotFound);
    assert_eq!(bench.streams().len(), 1);
}

#[test]
fn the_stream_of_a_deleted_table_can_be_read_for_a_day() {
    let bench = streaming(StreamViewType::NewImage);
    bench.put(row("a", "1", 1)).expect("put");
    let stream = bench.stream();
    let delete = DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("it is active");
    bench.settle();
    assert_eq!(bench.describe(&stream).expect("it is kept").status, StreamStatus::Disabled);
    assert_eq!(bench.read_stream(&stream).len(), 1);
    let id = bench.engine.catalogue().doomed()[0].id;
    assert!(bench.engine.purge_progress().is_purged(id, Kept::Nothing), "its rows are not looked for again");
    bench.pass(STREAM_RETENTION_MS);
    bench.settle();
    assert!(!bench.engine.purge_progress().is_purged(id, Kept::Nothing));
    assert_eq!(bench.describe(&stream).unwrap_err().kind, ErrorKind::ResourceNotFound);
    assert!(bench.engine.catalogue().all().is_empty(), "nothing is left of the table");
}

#[test]
fn tables_of_one_name_created_within_a_millisecond_have_streams_of_their_own() {
    let bench = streaming(StreamViewType::NewImage);
    bench.put(row("a", "old", 1)).expect("put");
    let first = bench.stream();
    for _ in 0..3 {
        let delete = DeleteTable { table: table_ref() };
        block_on(bench.engine.execute(&caller(), Request::DeleteTable(delete))).expect("it is active");
        let mut table = create_request(plain_schema());
        table.stream = Some(StreamViewType::NewImage);
        let create = Request::CreateTable(Box::new(table));
        block_on(bench.engine.execute(&caller(), create)).expect("the name is free");
    }
    let arns: BTreeSet<String> = bench.streams().into_iter().map(|stream| stream.stream_arn).collect();
    assert_eq!(arns.len(), 4);
    assert_eq!(bench.read_stream(&first).len(), 1);
    assert!(bench.read_stream(&bench.stream()).is_empty());
    bench.set_stream(None).expect("it is enabled");
    bench.set_stream(Some(StreamViewType::NewImage)).expect("it is disabled");
    assert_eq!(bench.streams().len(), 5);
}

#[test]
fn streams_and_their_shards_survive_a_restart() {
    let store = MemoryStore::new();
    let mut table = create_request(plain_schema());
    table.stream = Some(StreamViewType::NewImage);
    let bench = bench_with(store.clone(), EngineConfig::default(), table);
    bench.put(row("a", "1", 1)).expect("put");
    let stream = bench.stream();
    let before = bench.describe(&stream).expect("it exists");
    let env = std::sync::Arc::clone(&bench.env);
    let shared: std::sync::Arc<dyn crate::support::env::Env> = std::sync::Arc::<TestEnv>::clone(&env);
    let engine = block_on(crate::Engine::open(store, shared, EngineConfig::default()));
    let bench = Bench { engine: engine.expect("the store opens again"), env };
    assert_eq!(bench.describe(&stream).expect("it exists"), before);
    bench.put(row("a", "1", 2)).expect("put");
    assert_eq!(events(&bench.read_stream(&stream)), [StreamEvent::Insert, StreamEvent::Modify]);
}

#[test]
fn provisioned_tables_begin_with_a_shard_for_each_partition() {
    let mut table = create_request(plain_schema());
    table.stream = Some(StreamViewType::NewAndOldImages);
    table.billing = keywright_semantics::request::parts::BillingMode::Provisioned;
    table.throughput = Some(keywright_semantics::request::Throughput { read_units: 10, write_units: 3500 });
    let bench = bench_with(MemoryStore::new(), EngineConfig::default(), table);
    let stream = bench.stream();
    for number in 0..200 {
        bench.put(row(&format!("p{number}"), "s", 1)).expect("put");
    }
    let shards = bench.describe(&stream).expect("it exists").shards;
    assert_eq!(shards.len(), 4);
    for shard in &shards {
        let records = bench.read_shard(&stream, &shard.shard_id, ShardPosition::TrimHorizon);
        assert!(records.len() > 20, "{}", records.len());
    }
    assert_eq!(replay(&bench.read_stream(&stream)), table_as_copy(&bench));
}
