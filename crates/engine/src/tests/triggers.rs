//! Triggers: which lanes there are, which records each gets, and that of two who move one only one goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use keywright_semantics::event_sources::fault::FaultKind;
use keywright_semantics::event_sources::request::{Create, List, Request, Start, Update};
use keywright_semantics::event_sources::settings::{Changes, Settings};
use keywright_semantics::event_sources::target::Target;
use keywright_semantics::event_sources::view::{Counts, Failure, Mapping, Response, State};
use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_store::Store;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use crate::support::config::EngineConfig;
use crate::triggers::{TriggerLane, TriggerProgress, TriggerRecord, TriggerSection};

const DAY_MS: u64 = 86_400_000;

fn streaming(config: EngineConfig) -> Bench<MemoryStore> {
    streaming_as(config, StreamViewType::NewAndOldImages)
}

fn streaming_as(config: EngineConfig, view: StreamViewType) -> Bench<MemoryStore> {
    let schema = TableSchema { key: key(&[("pk", KeyType::S)], &[("sk", KeyType::S)]), indexes: Vec::new() };
    let mut table = create_request(schema);
    table.stream = Some(view);
    bench_with(MemoryStore::new(), config, table)
}

fn function(name: &str) -> Settings {
    Settings::new(Target::Function(name.to_owned()))
}

impl<S: Store> Bench<S> {
    fn map(&self, request: Request) -> Result<Response, FaultKind> {
        block_on(self.engine.map_event_sources(&caller(), request)).map_err(|fault| fault.kind)
    }

    fn mapped(&self, request: Request) -> Result<Mapping, FaultKind> {
        match self.map(request)? {
            Response::One(mapping) => Ok(*mapping),
            page @ Response::Page { .. } => panic!("{page:?}"),
        }
    }

    fn trigger(&self, start: Start, settings: Settings) -> Result<Mapping, FaultKind> {
        let create = Create { stream: self.stream(), start, is_enabled: true, settings };
        self.mapped(Request::Create(Box::new(create)))
    }

    fn change_trigger(
        &self,
        uuid: &str,
        is_enabled: Option<bool>,
        changes: Changes,
    ) -> Result<Mapping, FaultKind> {
        self.mapped(Request::Update(Box::new(Update { uuid: uuid.to_owned(), is_enabled, changes })))
    }

    fn lanes(&self) -> Vec<TriggerLane> {
        block_on(self.engine.trigger_lanes()).expect("the store answers")
    }

    fn read(&self, lane: &TriggerLane) -> (Vec<TriggerRecord>, TriggerProgress) {
        let page = block_on(self.engine.trigger_records(lane, lane.progress.after, (1_000, 1 << 20)));
        let page = page.expect("the store answers").expect("the stream is there");
        let after = page.last.or(lane.progress.after);
        (page.records, TriggerProgress { after, is_done: page.is_at_end, ..lane.progress.clone() })
    }

    fn note_trigger(&self, lane: &TriggerLane, progress: TriggerProgress) -> Option<TriggerLane> {
        block_on(self.engine.note_trigger(lane, progress)).expect("the store answers")
    }

    fn is_unchanged(&self, lane: &TriggerLane) -> bool {
        block_on(self.engine.is_trigger_unchanged(lane)).expect("the store answers")
    }

    fn change(&self, pk: &str, number: i64) {
        self.put(item([("pk", s(pk)), ("sk", s("1")), ("n", n(number))])).expect("it is put");
    }
}

/// The values of `n` of some records, by their partition keys.
fn numbers(records: &[TriggerRecord]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in records {
        let image = record.record.new_image.as_ref().expect("items are put").decode();
        let text = |name: &str| match &image[name] {
            keywright_semantics::value::AttributeValue::S(text) => text.clone(),
            keywright_semantics::value::AttributeValue::N(number) => number.to_string(),
            other => panic!("{other:?}"),
        };
        found.entry(text("pk")).or_default().push(text("n"));
    }
    found
}

#[test]
fn latest_begins_right_after_the_answer_and_trim_horizon_at_the_oldest_record() {
    let bench = streaming(EngineConfig::default());
    bench.change("a", 1);
    bench.trigger(Start::Latest, function("f")).expect("it is new");
    bench.trigger(Start::TrimHorizon, function("g")).expect("it is new");
    bench.change("a", 2);
    let lanes = bench.lanes();
    let of = |name: &str| {
        let lane = lanes.iter().find(|lane| lane.settings.target.text() == name).expect("it delivers");
        numbers(&bench.read(lane).0).remove("a").expect("it has records")
    };
    assert_eq!((of("f"), of("g")), (vec!["2".to_owned()], vec!["1".to_owned(), "2".to_owned()]));
}

#[test]
fn a_mapping_says_whether_its_stream_lacks_old_images() {
    for (view, expected) in [
        (StreamViewType::KeysOnly, true),
        (StreamViewType::NewImage, true),
        (StreamViewType::OldImage, false),
        (StreamViewType::NewAndOldImages, false),
    ] {
        let bench = streaming_as(EngineConfig::default(), view);
        let uuid = bench.trigger(Start::Latest, function("f")).expect("it is new").uuid;
        let mapping = bench.mapped(Request::Get(uuid)).expect("it is there");
        assert_eq!((mapping.lacks_old_images, mapping.stream_end), (expected, None), "{view:?}");
    }
}

#[test]
fn of_two_that_move_a_lane_only_one_goes_on() {
    let bench = streaming(EngineConfig::default());
    bench.trigger(Start::TrimHorizon, function("f")).expect("it is new");
    bench.change("a", 1);
    let lane = bench.lanes().remove(0);
    let other = lane.clone();
    let (_, progress) = bench.read(&lane);
    let lane = bench.note_trigger(&lane, progress.clone()).expect("nobody else has moved it");
    let failed = TriggerProgress { attempts: 1, ..other.progress.clone() };
    assert!(bench.note_trigger(&other, failed).is_none(), "it was moved meanwhile");
    // A note whose answer was lost is written once more.
    assert!(bench.note_trigger(&other, progress).is_some());
    bench.mapped(Request::Delete(lane.uuid.clone())).expect("it is there");
    let more = TriggerProgress { attempts: 2, ..lane.progress.clone() };
    assert!(bench.note_trigger(&lane, more).is_none(), "the mapping is gone");
    assert!(bench.lanes().is_empty());
}

#[test]
fn a_child_shard_follows_once_all_lanes_of_its_parent_are_done() {
    let config = EngineConfig { stream_shard_open_ms_max: 1_000, ..EngineConfig::default() };
    let bench = streaming(config);
    let settings = Settings { parallelization: 2, ..function("f") };
    bench.trigger(Start::TrimHorizon, settings).expect("it is new");
    bench.change("a", 1);
    bench.env.now_ms.fetch_add(2_000, Ordering::Relaxed);
    block_on(bench.engine.step(2_000));
    bench.change("a", 2);
    let first = bench.lanes();
    let shards: BTreeSet<&String> = first.iter().map(|lane| &lane.shard_id).collect();
    assert_eq!((first.len(), shards.len()), (2, 1), "only the parent's lanes");
    let end = |lane: &TriggerLane| {
        let (_, progress) = bench.read(lane);
        assert!(progress.is_done, "the shard is closed and read");
        bench.note_trigger(lane, progress).expect("nobody else has moved it");
    };
    end(&first[0]);
    assert_eq!(bench.lanes().len(), 1, "the other lane is not done");
    end(&first[1]);
    let second = bench.lanes();
    assert_eq!(second.len(), 2);
    assert!(second.iter().all(|lane| !shards.contains(&lane.shard_id)));
    let found: Vec<TriggerRecord> = second.iter().flat_map(|lane| bench.read(lane).0).collect();
    assert_eq!(numbers(&found)["a"], ["2"]);
}

#[test]
fn lanes_divide_the_items_and_keep_each_items_order_also_when_their_number_changes() {
    let bench = streaming(EngineConfig::default());
    let settings = Settings { parallelization: 4, ..function("f") };
    let uuid = bench.trigger(Start::TrimHorizon, settings).expect("it is new").uuid;
    for number in 0..5 {
        (0..20).for_each(|pk| bench.change(&format!("p{pk}"), number));
    }
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let lanes = bench.lanes();
    assert_eq!(lanes.len(), 4);
    for (place, lane) in lanes.iter().enumerate() {
        let (records, progress) = bench.read(lane);
        for (pk, numbers) in numbers(&records) {
            assert!(seen.insert(pk, numbers).is_none(), "an item is in one lane");
        }
        if place > 0 {
            bench.note_trigger(lane, progress).expect("nobody else has moved it");
        }
    }
    assert_eq!(seen.len(), 20);
    assert!(seen.values().all(|numbers| *numbers == ["0", "1", "2", "3", "4"]));
    // One lane is behind: all begin there, and no record is left out.
    let changes = Changes { parallelization: Some(2), ..Changes::default() };
    bench.change_trigger(&uuid, None, changes).expect("it is there");
    let lanes = bench.lanes();
    assert_eq!(lanes.len(), 2);
    let again: usize = lanes.iter().map(|lane| bench.read(lane).0.len()).sum();
    assert_eq!(again, 100);
}

#[test]
fn a_lane_of_the_number_of_lanes_before_notes_nothing_also_where_its_place_is_the_same() {
    let bench = streaming(EngineConfig::default());
    let settings = Settings { parallelization: 2, ..function("f") };
    let uuid = bench.trigger(Start::TrimHorizon, settings).expect("it is new").uuid;
    bench.change("a", 1);
    for lane in bench.lanes() {
        let (_, progress) = bench.read(&lane);
        bench.note_trigger(&lane, progress).expect("nobody else has moved it");
    }
    (0..20).for_each(|pk| bench.change(&format!("p{pk}"), 2));
    let before = bench.lanes().remove(0);
    let (of_lane, progress) = bench.read(&before);
    assert!((1..20).contains(&of_lane.len()), "the other lane has some");
    assert!(bench.is_unchanged(&before));
    let changes = Changes { parallelization: Some(1), ..Changes::default() };
    bench.change_trigger(&uuid, None, changes).expect("it is there");
    assert!(!bench.is_unchanged(&before));
    assert!(bench.note_trigger(&before, progress).is_none(), "the records of the other lane would be lost");
    let whole = bench.lanes().remove(0);
    assert_eq!(bench.read(&whole).0.len(), 20);
    bench.change_trigger(&uuid, Some(false), Changes::default()).expect("it is there");
    assert!(!bench.is_unchanged(&whole), "nothing is begun for a mapping that is disabled");
}

#[test]
fn a_lane_that_has_lost_records_goes_on_after_them_also_if_none_follow() {
    let bench = streaming(EngineConfig { stream_shard_open_ms_max: 3 * DAY_MS, ..EngineConfig::default() });
    bench.trigger(Start::TrimHorizon, function("f")).expect("it is new");
    bench.change("a", 1);
    let lane = bench.lanes().remove(0);
    let (_, progress) = bench.read(&lane);
    let lane = bench.note_trigger(&lane, progress).expect("nobody else has moved it");
    bench.change("a", 2);
    let now_ms = bench.env.now_ms.fetch_add(2 * DAY_MS, Ordering::Relaxed) + 2 * DAY_MS;
    for _ in 0..3 {
        block_on(bench.engine.step(now_ms));
    }
    let page = |after| {
        let page = block_on(bench.engine.trigger_records(&lane, after, (1_000, 1 << 20)));
        page.expect("the store answers").expect("the shard is there")
    };
    let lost = page(lane.progress.after);
    assert!(lost.records.is_empty() && lost.lost_to > lane.progress.after);
    assert_eq!(page(lost.lost_to).lost_to, None, "it is said once");
}

#[test]
fn what_a_shard_has_counted_stays_when_it_is_forgotten_before_it_was_delivered() {
    let bench = streaming(EngineConfig { stream_shard_open_ms_max: DAY_MS, ..EngineConfig::default() });
    let uuid = bench.trigger(Start::TrimHorizon, function("f")).expect("it is new").uuid;
    bench.change("a", 1);
    let lane = bench.lanes().remove(0);
    let (_, progress) = bench.read(&lane);
    let counts = Counts { delivered: 1, ..Counts::default() };
    let failure = Some(Failure { at_ms: 0, text: "no answer".to_owned(), is_present: true });
    bench.note_trigger(&lane, TriggerProgress { counts, failure, ..progress }).expect("nobody has moved it");
    let get = || bench.mapped(Request::Get(uuid.clone())).expect("it is there");
    let mut seen = Vec::new();
    for _ in 0..8 {
        let now_ms = bench.env.now_ms.fetch_add(DAY_MS / 2, Ordering::Relaxed) + DAY_MS / 2;
        for _ in 0..3 {
            block_on(bench.engine.step(now_ms));
        }
        for later in bench.lanes().iter().filter(|later| later.shard_id != lane.shard_id) {
            let (_, progress) = bench.read(later);
            bench.note_trigger(later, progress).expect("nobody else has moved it");
        }
        seen.push(get().failure);
    }
    assert_eq!(get().counts.delivered, 1);
    let is_lost = |failure: &Failure| !failure.is_present && failure.text.contains("lost");
    assert!(seen.iter().flatten().any(is_lost), "{seen:?}");
    assert!(seen.last().is_some_and(|last| last.as_ref().is_none_or(|last| !last.is_present)), "{seen:?}");
}

#[test]
fn a_mapping_of_a_stream_to_a_target_is_made_once_and_found_by_its_owner_alone() {
    let bench = streaming(EngineConfig::default());
    let made = bench.trigger(Start::Latest, function("f")).expect("it is new");
    assert_eq!((made.state, made.reason.as_str()), (State::Creating, "User action"));
    assert_eq!(bench.trigger(Start::Latest, function("f")), Err(FaultKind::ResourceConflict));
    let arn = "arn:aws:lambda:us-east-1:000000000000:function:f";
    assert_eq!(bench.trigger(Start::Latest, function(arn)), Err(FaultKind::ResourceConflict));
    let get = || bench.mapped(Request::Get(made.uuid.clone()));
    assert_eq!(get().map(|mapping| mapping.state), Ok(State::Enabled));
    let other = crate::Caller::account(crate::Namespace {
        account: crate::AccountId::from("111111111111"),
        ..namespace()
    });
    let foreign = block_on(bench.engine.map_event_sources(&other, Request::Get(made.uuid.clone())));
    assert_eq!(foreign.map_err(|fault| fault.kind), Err(FaultKind::ResourceNotFound));
    let list = List { stream: None, target: Some("f".to_owned()), marker: None, limit: 1 };
    let Ok(Response::Page { mappings, next_marker }) = bench.map(Request::List(list)) else {
        panic!("a page")
    };
    assert_eq!((mappings.len(), next_marker), (1, None));
    let deleted = bench.mapped(Request::Delete(made.uuid.clone())).expect("it is there");
    assert_eq!((deleted.state, get()), (State::Deleting, Err(FaultKind::ResourceNotFound)));
}

#[test]
fn a_transition_takes_its_time_and_nothing_is_changed_or_delivered_meanwhile() {
    let bench = streaming(EngineConfig { transition_ms: 1_000, ..EngineConfig::default() });
    bench.env.now_ms.fetch_add(1_000, Ordering::Relaxed);
    let uuid = bench.trigger(Start::Latest, function("f")).expect("it is new").uuid;
    let state = || bench.mapped(Request::Get(uuid.clone())).map(|mapping| mapping.state);
    let go = || bench.env.now_ms.fetch_add(1_000, Ordering::Relaxed);
    assert_eq!((state(), bench.lanes().len()), (Ok(State::Creating), 0));
    assert_eq!(bench.mapped(Request::Delete(uuid.clone())), Err(FaultKind::ResourceInUse));
    go();
    assert_eq!((state(), bench.lanes().len()), (Ok(State::Enabled), 1));
    bench.change_trigger(&uuid, Some(false), Changes::default()).expect("it is settled");
    assert_eq!((state(), bench.lanes().len()), (Ok(State::Disabling), 0));
    go();
    assert_eq!(state(), Ok(State::Disabled));
    bench.mapped(Request::Delete(uuid.clone())).expect("it is settled");
    assert_eq!(state(), Ok(State::Deleting));
    go();
    assert_eq!(state(), Err(FaultKind::ResourceNotFound));
    assert!(bench.lanes().is_empty());
    assert!(block_on(bench.engine.triggers(None)).expect("the store answers").is_empty());
}

#[test]
fn the_lag_is_the_age_of_the_oldest_record_and_a_stream_that_is_gone_disables() {
    let bench = streaming(EngineConfig::default());
    let uuid = bench.trigger(Start::TrimHorizon, function("f")).expect("it is new").uuid;
    let get = || bench.mapped(Request::Get(uuid.clone())).expect("it is there");
    assert_eq!(get().lag_ms, None);
    bench.change("a", 1);
    bench.env.now_ms.fetch_add(700, Ordering::Relaxed);
    assert_eq!(get().lag_ms, Some(700));
    let lane = bench.lanes().remove(0);
    let (_, progress) = bench.read(&lane);
    bench.note_trigger(&lane, progress).expect("nobody else has moved it");
    assert_eq!(get().lag_ms, None);
    let delete = keywright_semantics::request::DeleteTable { table: table_ref() };
    block_on(bench.engine.execute(&caller(), keywright_semantics::request::Request::DeleteTable(delete)))
        .expect("it is there");
    assert_eq!(get().state, State::Enabled, "its records can be read for a day");
    assert!(get().last_result().starts_with("PROBLEM: The table of the stream was deleted"));
    let is_deleted = |mapping: &Mapping| {
        let place = caller().namespace;
        bench.engine.is_table_of_stream_deleted(&place, &mapping.table, &mapping.stream_arn)
    };
    assert!(is_deleted(&get()) && get().lag_ms.is_none(), "nobody waits for its records");
    for _ in 0..20 {
        let now_ms = bench.env.now_ms.fetch_add(DAY_MS, Ordering::Relaxed) + DAY_MS;
        block_on(bench.engine.step(now_ms));
    }
    assert_eq!((get().state, get().reason.contains("gone")), (State::Disabled, true));
    assert!(bench.lanes().is_empty());
}

#[test]
fn sections_of_a_file_make_mappings_once_change_them_and_leave_them_disabled() {
    let bench = streaming(EngineConfig::default());
    let section = |settings: Settings| TriggerSection {
        name: "n".to_owned(),
        place: None,
        table: TABLE.to_owned(),
        start: Start::TrimHorizon,
        is_enabled: true,
        settings,
    };
    let keep = |sections: &[TriggerSection], is_start| {
        block_on(bench.engine.keep_trigger_sections(sections, is_start)).expect("the store answers")
    };
    let all = || block_on(bench.engine.triggers(None)).expect("the store answers");
    let missing = TriggerSection { table: "x".to_owned(), name: "m".to_owned(), ..section(function("f")) };
    assert_eq!(keep(&[section(function("f")), missing], true), ["m"]);
    keep(&[section(function("f"))], false);
    let [first] = all().try_into().expect("one mapping");
    let first: Mapping = first;
    assert_eq!(first.section.as_deref(), Some("n"));
    bench.change("a", 1);
    let lane = bench.lanes().remove(0);
    let (_, progress) = bench.read(&lane);
    bench.note_trigger(&lane, progress).expect("nobody else has moved it");
    keep(&[section(Settings { batch_size: 7, ..function("f") })], true);
    let [second] = all().try_into().expect("the same mapping");
    let second: Mapping = second;
    assert_eq!((second.uuid, second.settings.batch_size, second.lag_ms), (first.uuid.clone(), 7, None));
    let change = |is_enabled| bench.change_trigger(&first.uuid, Some(is_enabled), Changes::default());
    let delete = || bench.mapped(Request::Delete(first.uuid.clone()));
    assert_eq!(change(false).map(|_| ()), Err(FaultKind::InvalidParameterValue), "the file has it");
    assert_eq!(delete().map(|_| ()), Err(FaultKind::InvalidParameterValue), "the file has it");
    keep(&[], true);
    let [third] = all().try_into().expect("the same mapping");
    let third: Mapping = third;
    assert_eq!(third.state, State::Disabled);
    assert!(bench.lanes().is_empty());
    change(true).expect("no section has it any more");
    delete().expect("no section has it any more");
}
