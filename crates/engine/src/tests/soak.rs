//! Writers, consumers of the stream and the sweep of time to live all at once: in the end every consumer's
//! copy is the table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use keywright_semantics::request::parts::StreamViewType;
use keywright_semantics::request::{ShardPosition, StreamRef, TtlChange};
use keywright_semantics::response::{StreamEvent, StreamIdentity, StreamRecord};
use keywright_semantics::value::Item;
use keywright_store::memory::MemoryStore;

use super::harness::*;
use super::streams::{apply, table_as_copy};
use crate::support::config::EngineConfig;

const WRITERS: u64 = 8;
const CONSUMERS: usize = 3;
const ROUNDS: u64 = 250;
/// Seconds since 1970 at which the clock begins.
const START: i64 = 1_800_000_000;
/// The clock's advance in each step.
const TICK_MS: u64 = 5;
/// How long a shard stays open: short, so that many shards follow each other in one run.
const SHARD_OPEN_MS: u64 = 500;

/// Puts, changes and deletes items, most of which expire within seconds.
fn write(bench: &Bench<MemoryStore>, writer: u64) {
    let mut dice = writer.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    for round in 0..ROUNDS {
        let (pk, sk) = (format!("p{}", roll(6)), format!("s{}", roll(10)));
        let key = item([("pk", s(&pk)), ("sk", s(&sk))]);
        let mark = n(i64::try_from(writer * ROUNDS + round).expect("small"));
        let now_s = bench.env.now_ms.load(Ordering::Relaxed) / 1000;
        let soon = n(i64::try_from(now_s + roll(3)).expect("small"));
        let outcome = match roll(8) {
            0 => bench.delete(&delete_request(key)),
            1 => {
                bench.update(&update_request(key, Some(update("REMOVE expires SET x = :x", [(":x", mark)]))))
            }
            2 => bench.put(item([("pk", s(&pk)), ("sk", s(&sk)), ("g", s("g")), ("h", n(1)), ("x", mark)])),
            3 => {
                let set = update("SET expires = :t, x = :x", [(":t", soon), (":x", mark)]);
                bench.update(&update_request(key, Some(set)))
            }
            _ => bench.put(item([
                ("pk", s(&pk)),
                ("sk", s(&sk)),
                ("l", s("l")),
                ("expires", soon),
                ("x", mark),
            ])),
        };
        outcome.expect("nothing fails a write");
    }
}

/// A consumer that follows shards as consumer libraries do: a child only after its parent's last record.
struct Consumer<'b> {
    bench: &'b Bench<MemoryStore>,
    stream: StreamRef,
    /// Its position in each open shard.
    iterators: BTreeMap<String, String>,
    ended: BTreeSet<String>,
    copy: BTreeMap<String, Item>,
    expired: usize,
}

impl Consumer<'_> {
    fn follow(&mut self) {
        for shard in self.bench.describe(&self.stream).expect("the stream is enabled").shards {
            let is_known =
                self.ended.contains(&shard.shard_id) || self.iterators.contains_key(&shard.shard_id);
            let may_begin = shard.parent_shard_id.is_none_or(|parent| self.ended.contains(&parent));
            if !is_known && may_begin {
                let start = self.bench.iterator(&self.stream, &shard.shard_id, ShardPosition::TrimHorizon);
                self.iterators.insert(shard.shard_id, start.expect("the shard is there"));
            }
        }
    }

    /// Reads a page of every shard that it follows; returns the number of records, and the shards that ended.
    fn read(&mut self) -> usize {
        self.follow();
        let mut progress = 0;
        for (shard, iterator) in std::mem::take(&mut self.iterators) {
            let page = self.bench.records(&iterator, 50).expect("the iterator is fresh");
            progress += page.records.len();
            page.records.iter().for_each(|record| self.take(record));
            if let Some(next) = page.next_shard_iterator {
                self.iterators.insert(shard, next);
            } else {
                progress += 1;
                self.ended.insert(shard);
            }
        }
        progress
    }

    fn take(&mut self, record: &StreamRecord) {
        if record.identity == StreamIdentity::TimeToLive {
            assert_eq!(record.event, StreamEvent::Remove);
            self.expired += 1;
        }
        apply(&mut self.copy, record);
    }
}

/// Consumes until all writers have ended and no record is left.
fn consume(bench: &Bench<MemoryStore>, written: &AtomicBool) -> (BTreeMap<String, Item>, usize) {
    let mut consumer = Consumer {
        bench,
        stream: bench.stream(),
        iterators: BTreeMap::new(),
        ended: BTreeSet::new(),
        copy: BTreeMap::new(),
        expired: 0,
    };
    loop {
        let was_written = written.load(Ordering::SeqCst);
        if consumer.read() == 0 && was_written {
            return (consumer.copy, consumer.expired);
        }
        thread::yield_now();
    }
}

/// Counts down even if its thread panics, so that no other thread waits for it.
struct Working<'a>(&'a AtomicUsize);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn with_writers_and_the_sweep_at_work_every_consumer_ends_with_the_table() {
    let mut table = create_request(schema());
    table.stream = Some(StreamViewType::NewAndOldImages);
    let config =
        EngineConfig { ttl_delay_ms: 0, stream_shard_open_ms_max: SHARD_OPEN_MS, ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, table);
    bench.go_to(START);
    bench.set_ttl("expires", TtlChange::Enable).expect("it is disabled");
    let (working, written) = (AtomicUsize::new(0), AtomicBool::new(false));
    let copies = thread::scope(|scope| {
        let (bench, working, written) = (&bench, &working, &written);
        for writer in 0..WRITERS {
            working.fetch_add(1, Ordering::SeqCst);
            scope.spawn(move || {
                let _working = Working(working);
                write(bench, writer);
            });
        }
        let consumers: Vec<_> =
            (0..CONSUMERS).map(|_| scope.spawn(move || consume(bench, written))).collect();
        while working.load(Ordering::SeqCst) > 0 {
            let now_ms = bench.env.now_ms.fetch_add(TICK_MS, Ordering::Relaxed) + TICK_MS;
            block_on(bench.engine.step(now_ms));
            thread::yield_now();
        }
        bench.env.now_ms.fetch_add(10_000, Ordering::Relaxed);
        bench.work();
        written.store(true, Ordering::SeqCst);
        consumers.into_iter().map(|consumer| consumer.join().expect("it consumes")).collect::<Vec<_>>()
    });
    let table = table_as_copy(&bench);
    assert!(table.values().all(|item| !item.contains_key("expires")), "what expired is gone");
    bench.check_expiry_rows("expires");
    let shards = bench.describe(&bench.stream()).expect("it is enabled").shards.len();
    let expired = copies.first().map_or(0, |(_, expired)| *expired);
    assert!(expired > 0 && shards > 1, "{expired} items expired, in {shards} shards");
    for (copy, of_one) in copies {
        assert_eq!((copy == table, of_one), (true, expired));
    }
}
