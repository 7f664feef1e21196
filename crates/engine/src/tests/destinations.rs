//! Logs of Kinesis destinations as the caller that delivers them sees them: every change once in order, a
//! cursor that only one of two callers moves, nothing left behind.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use keywright_semantics::error::Error;
use keywright_semantics::limits::DESTINATION_RETENTION_MS;
use keywright_semantics::request::{
    DeleteTable, DisableKinesisStreamingDestination, EnableKinesisStreamingDestination, Request,
};
use keywright_semantics::response::DestinationStatus;
use keywright_semantics::schema::{KeyType, TableSchema};
use keywright_semantics::value::{AttributeValue, Item};
use keywright_store::memory::MemoryStore;
use keywright_store::{LogRead, Snapshot, Store};

use super::harness::*;
use crate::catalogue::Succession;
use crate::copy::Copy;
use crate::destinations::{Contact, Delivery, DeliveryPage, DestinationView, Sent, Want};
use crate::state::Engine;
use crate::support::config::EngineConfig;
use crate::support::env::Env;
use crate::support::layout::log_of;
use crate::{AccountId, Namespace, Region};

const ARN: &str = "arn:aws:kinesis:us-east-1:123456789012:stream/changes";
const LIMITS: (usize, usize) = (500, 1024 * 1024);

fn bed_on(store: MemoryStore) -> Bench<MemoryStore> {
    let schema = TableSchema { key: key(&[("pk", KeyType::S)], &[]), indexes: Vec::new() };
    bench_with(store, EngineConfig::default(), create_request(schema))
}

/// A table with an active destination.
fn bed() -> Bench<MemoryStore> {
    let bench = bed_on(MemoryStore::new());
    bench.activate();
    bench
}

fn row(pk: &str, x: i64) -> Item {
    item([("pk", s(pk)), ("x", n(x))])
}

fn noted(outcome: Result<bool, Error>) -> bool {
    outcome.expect("the store works")
}

impl Bench<MemoryStore> {
    fn enable(&self) {
        let request = EnableKinesisStreamingDestination {
            table: table_ref(),
            stream_arn: ARN.to_owned(),
            precision: None,
        };
        block_on(self.engine.execute(&caller(), Request::EnableKinesisStreamingDestination(request)))
            .expect("none is live");
    }

    fn activate(&self) {
        self.enable();
        self.contact(&Contact::Reached);
    }

    fn contact(&self, contact: &Contact) {
        let deliveries = self.engine.deliveries();
        let new = deliveries.iter().find(|delivery| matches!(delivery.want, Want::Contact { .. }));
        block_on(self.engine.note_contact(new.expect("it was just enabled"), contact)).expect("noted");
    }

    fn disable(&self) {
        let request = DisableKinesisStreamingDestination { table: table_ref(), stream_arn: ARN.to_owned() };
        block_on(self.engine.execute(&caller(), Request::DisableKinesisStreamingDestination(request)))
            .expect("it is active");
    }

    /// Shards that can be sent now, each with its delivery.
    fn due(&self) -> Vec<(Delivery, u32)> {
        let deliveries = self.engine.deliveries();
        let shards = deliveries.iter().flat_map(|delivery| match &delivery.want {
            Want::Contact { .. } => Vec::new(),
            Want::Records { shards } => shards.iter().map(|shard| (delivery.clone(), *shard)).collect(),
        });
        shards.collect()
    }

    fn page(&self, (delivery, shard): &(Delivery, u32)) -> DeliveryPage {
        block_on(self.engine.delivery_page(delivery, *shard, LIMITS)).expect("read").expect("it is there")
    }

    /// Delivers all that can be delivered now: what arrives, in order.
    fn deliver(&self) -> Vec<(String, i64)> {
        let mut arrived = Vec::new();
        for due in self.due() {
            loop {
                let mut page = self.page(&due);
                if page.is_empty() {
                    block_on(self.engine.end_if_delivered(&page)).expect("ended");
                    break;
                }
                arrived.extend(page.records.iter().map(|paged| {
                    let image = paged.record.new_image.as_ref().expect("an item was written");
                    let image = image.decode();
                    match (&image["pk"], &image["x"]) {
                        (AttributeValue::S(pk), AttributeValue::N(x)) => {
                            (pk.clone(), x.to_i64().expect("a small number"))
                        }
                        other => panic!("{other:?}"),
                    }
                }));
                let count = page.records.len();
                let sent = Sent { delivered: u64::try_from(count).expect("few"), skipped: 0 };
                assert!(noted(block_on(self.engine.note_sent(&mut page, count, sent))));
            }
        }
        arrived
    }

    fn view(&self) -> DestinationView {
        let views = block_on(self.engine.destinations(&namespace())).expect("read");
        views.into_iter().next().expect("it has one")
    }

    fn go_on(&self, ms: u64) {
        let now_ms = self.env.now_ms.fetch_add(ms, Ordering::Relaxed) + ms;
        for _ in 0..20 {
            block_on(self.engine.step(now_ms));
        }
    }

    /// The records that all logs of the table hold.
    fn logged(&self, shards: u32) -> usize {
        let table = self.engine.catalogue().all().into_iter().next().expect("the table is known");
        let view = block_on(self.engine.store().snapshot()).expect("a view");
        let of_shard = |shard| {
            let id = log_of(table.id, shard);
            let read = LogRead { id, after: None, entries_max: usize::MAX, bytes_max: usize::MAX };
            block_on(view.read_log(read)).expect("read").len()
        };
        (0..shards).map(of_shard).sum()
    }
}

#[test]
fn of_two_callers_that_have_one_page_only_one_notes_that_it_was_sent() {
    let bench = bed();
    for x in 1..=3 {
        bench.put(row("1", x)).expect("put");
    }
    let due = bench.due().remove(0);
    let (mut one, mut other) = (bench.page(&due), bench.page(&due));
    let ids = |page: &DeliveryPage| -> Vec<String> {
        page.records.iter().map(|paged| paged.record.event_id.clone()).collect()
    };
    assert_eq!(ids(&one), ids(&other), "a record has the same id each time that it is sent");
    let sent = |delivered| Sent { delivered, skipped: 0 };
    assert!(noted(block_on(bench.engine.note_sent(&mut one, 2, sent(2)))));
    assert!(!noted(block_on(bench.engine.note_sent(&mut other, 3, sent(3)))));
    assert!(!noted(block_on(bench.engine.note_unsent(&mut other, "down"))));
    assert_eq!(one.records.len(), 1);
    assert!(noted(block_on(bench.engine.note_unsent(&mut one, "down"))));
    let view = bench.view();
    assert_eq!((view.delivered, view.waits_for.as_deref()), (2, Some("down")));
    assert_eq!(bench.deliver(), [("1".to_owned(), 3)]);
    let view = bench.view();
    assert_eq!((view.delivered, view.waits_for, view.lag_ms), (3, None, 0));
}

#[test]
fn records_that_waited_for_a_day_are_dropped_and_counted_and_younger_ones_are_sent() {
    let bench = bed();
    bench.put(row("1", 1)).expect("put");
    bench.put(row("2", 1)).expect("put");
    bench.go_on(DESTINATION_RETENTION_MS);
    bench.put(row("1", 2)).expect("put");
    assert_eq!(bench.view().lag_ms, DESTINATION_RETENTION_MS);
    assert_eq!(bench.logged(2), 3, "what was not delivered is not trimmed");
    bench.go_on(1);
    assert_eq!(bench.deliver(), [("1".to_owned(), 2)]);
    let view = bench.view();
    assert_eq!((view.delivered, view.dropped, view.lag_ms), (1, 2, 0));
    bench.go_on(10 * 60_000);
    assert_eq!(bench.logged(2), 0, "what is done is trimmed");
}

#[test]
fn the_shards_of_a_split_one_wait_until_it_is_delivered() {
    let bench = bed();
    let numbers: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    for pk in &numbers {
        bench.put(row(pk, 1)).expect("put");
    }
    let (delivery, parent) = bench.due().remove(0);
    let id = bench.engine.catalogue().all()[0].id;
    let split = |table: &mut crate::catalogue::Table| {
        table.succeed_shard(parent, Succession::Split, 5);
        Ok(())
    };
    block_on(bench.engine.catalogue().change(id, split)).expect("split");
    for pk in &numbers {
        bench.put(row(pk, 2)).expect("put");
    }
    bench.go_on(1);
    assert_eq!(bench.due(), [(delivery, parent)]);
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let first = bench.deliver();
    assert_eq!((first.len(), bench.due().len()), (40, 2));
    for (pk, x) in first.into_iter().chain(bench.deliver()) {
        let before = last.insert(pk, x).unwrap_or(0);
        assert_eq!(x, before + 1, "an item's changes arrive in order");
    }
    assert!(last.len() == 40 && last.values().all(|x| *x == 2));
    assert_eq!(bench.view().delivered, 80, "counts of the shard that is gone stay");
}

#[test]
fn a_log_of_the_same_stream_waits_for_the_one_before_and_delivered_ones_are_forgotten() {
    let bench = bed();
    bench.put(row("1", 1)).expect("put");
    bench.disable();
    bench.put(row("1", 2)).expect("put");
    bench.activate();
    bench.put(row("1", 3)).expect("put");
    bench.go_on(1);
    assert_eq!(bench.due().len(), 1);
    assert_eq!(bench.deliver(), [("1".to_owned(), 1)]);
    assert_eq!(bench.deliver(), [("1".to_owned(), 3)], "nothing was logged while it was disabled");
    let table = bench.engine.catalogue().find(&namespace(), TABLE).expect("it is there");
    assert_eq!(table.destination_logs().count(), 1);
    let delete = Request::DeleteTable(DeleteTable { table: table_ref() });
    block_on(bench.engine.execute(&caller(), delete)).expect("it is there");
    bench.go_on(1);
    assert_eq!(bench.engine.catalogue().all().len(), 1, "its log may hold something");
    assert_eq!(bench.deliver(), []);
    bench.go_on(1);
    assert_eq!(bench.engine.catalogue().all().len(), 0);
    assert_eq!(bench.engine.deliveries(), []);
    let rows = crate::support::layout::prefix_range(vec![crate::support::layout::Space::Destinations.byte()]);
    let mut left = 0;
    let view = block_on(bench.engine.store().snapshot()).expect("a view");
    block_on(crate::support::rows::each_row(&view, rows, |_| left += 1)).expect("read");
    assert_eq!(left, 0);
}

#[test]
fn what_a_destination_that_failed_has_logged_is_discarded() {
    let bench = bed_on(MemoryStore::new());
    bench.enable();
    bench.put(row("1", 1)).expect("put");
    assert_eq!((bench.due(), bench.logged(2)), (Vec::new(), 1), "nothing is sent before the first contact");
    bench.contact(&Contact::Refused("why".to_owned()));
    bench.put(row("1", 2)).expect("put");
    bench.go_on(1);
    assert_eq!((bench.engine.deliveries(), bench.logged(2)), (Vec::new(), 0));
    let description = bench.view().description;
    assert_eq!(description.status, DestinationStatus::EnableFailed);
    assert_eq!(description.description.as_deref(), Some("why"));
}

#[test]
fn a_branch_has_no_destination_and_a_copy_of_the_store_sends_again_what_its_logs_hold() {
    let (store, target) = (MemoryStore::new(), MemoryStore::new());
    let bench = bed_on(store.clone());
    bench.activate();
    bench.put(row("1", 1)).expect("put");
    bench.put(row("1", 2)).expect("put");
    let place = Namespace { account: AccountId::from("000000000009"), region: Region::from("us-east-1") };
    block_on(bench.engine.branch(&namespace(), &place)).expect("it is empty");
    let branched = bench.engine.catalogue().find(&place, TABLE).expect("it was copied");
    assert_eq!((branched.destinations.all.len(), branched.logs.len()), (0, 0));
    assert_eq!(bench.deliver().len(), 2);
    drop(bench);
    block_on(async {
        let mut copy = Copy::begin(store, target.clone(), "a").await.expect("the target is empty");
        copy.run(&mut |_| ()).await.expect("copied");
        copy.verify(&mut |_| ()).await.expect("equal");
        assert_eq!(copy.tables_with_destinations().await, Ok(1));
        copy.finish().await.expect("ended");
    });
    let env = Arc::new(TestEnv::default());
    let shared_env: Arc<dyn Env> = Arc::<TestEnv>::clone(&env);
    let engine = block_on(Engine::open(target, shared_env, EngineConfig::default())).expect("it opens");
    let copied = Bench { engine, env };
    assert_eq!(copied.deliver(), [("1".to_owned(), 1), ("1".to_owned(), 2)]);
}
