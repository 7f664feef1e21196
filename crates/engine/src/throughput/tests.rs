//! Limits under load, without an engine: how long it refuses, and when it heals.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::HalfUnits;
use keywright_semantics::key::KeyValueRef;
use keywright_semantics::schema::{BillingMode, IndexKind};
use keywright_semantics::throttle::{Direction, Limit};

use super::{Arm, Context, Demand, Ledgers, Together};
use crate::catalogue::Table;
use crate::support::layout::{TableId, item_key, within_items};
use crate::support::throughput::{Throttle, ThroughputConfig};
use crate::tests::harness::{TABLE, bench, namespace};

const MINUTE_S: u64 = 60;

/// A table with these units and no local index, under all limits.
fn table(billing: BillingMode, units: u64) -> Table {
    let found = bench().engine.catalogue().find(&namespace(), TABLE).expect("the bench has a table");
    let mut table = Arc::unwrap_or_clone(found);
    let kept = table.schema.indexes.iter().map(|index| index.kind == IndexKind::Global).collect::<Vec<_>>();
    let mut kept_states = kept.iter();
    table.states.retain(|_| kept_states.next().copied().unwrap_or(false));
    table.schema.indexes.retain(|index| index.kind == IndexKind::Global);
    table.billing = billing;
    table.throughput.read_units = units;
    table.throughput.write_units = units;
    table
}

fn full() -> ThroughputConfig {
    ThroughputConfig { throttle: Throttle::Full, burst_start_s: 1, ..ThroughputConfig::default() }
}

fn item(partition: &str, sort: &str) -> Bytes {
    let row = item_key(TableId(1), KeyValueRef::S(partition), Some(KeyValueRef::S(sort)));
    within_items(&row)
}

struct Load {
    ledgers: Ledgers,
    config: ThroughputConfig,
    now_ms: u64,
    /// Units of each write.
    write_units: u64,
}

impl Load {
    fn new(config: ThroughputConfig) -> Self {
        Self { ledgers: Ledgers::default(), config, now_ms: 0, write_units: 10 }
    }

    fn context<R>(&self, call: impl FnOnce(&Context<'_>) -> R) -> R {
        call(&Context {
            config: &self.config,
            opened_ms: 0,
            now_ms: self.now_ms,
            bytes: &|_, _| 0,
            splits: &|_| true,
        })
    }

    /// One request of so many units; the limits that refuse it.
    fn request(&self, table: &Table, direction: Direction, key: Bytes, units: u64) -> Vec<Limit> {
        let arm = Arm { index: None, direction, key: Some(key), units: HalfUnits(units * 2) };
        let demand = Demand { table, arms: vec![arm] };
        let found = self.context(|context| self.ledgers.admit(&[demand], Together::Each, context));
        found.into_iter().flatten().map(|shortage| shortage.limit).collect()
    }

    /// Writes at this rate in units a second, evenly over a minute; how many were refused.
    fn minute(&mut self, table: &Table, rate: u64, key: impl Fn(u64) -> Bytes) -> u64 {
        let count = rate * MINUTE_S / self.write_units;
        let start_ms = self.now_ms;
        let mut refused = 0;
        for number in 0..count {
            self.now_ms = start_ms + number * MINUTE_S * 1000 / count;
            let limits = self.request(table, Direction::Write, key(number), self.write_units);
            refused += u64::from(!limits.is_empty());
        }
        self.now_ms = start_ms + MINUTE_S * 1000;
        refused
    }

    /// Minutes of a load: what was refused in each.
    fn minutes(&mut self, count: u64, table: &Table, rate: u64, key: impl Fn(u64, u64) -> Bytes) -> Vec<u64> {
        (0..count).map(|minute| self.minute(table, rate, |number| key(minute, number))).collect()
    }

    fn partitions(&self, table: &Table) -> usize {
        self.context(|context| self.ledgers.partitions(table, None, context))
    }
}

#[test]
fn one_item_of_a_large_table_has_one_partitions_units() {
    let table = table(BillingMode::Provisioned, 5000);
    let load = Load::new(full());
    let writes = (0..1001).map(|_| load.request(&table, Direction::Write, item("hot", "1"), 1));
    assert_eq!(writes.filter(|limits| *limits == [Limit::KeyRangeThroughput]).count(), 1);
    let other = (0..100).map(|number| item(&number.to_string(), "1"));
    assert!(other.map(|key| load.request(&table, Direction::Write, key, 1)).any(|limits| limits.is_empty()));
    let reads = (0..3001).map(|_| load.request(&table, Direction::Read, item("hot", "1"), 1));
    assert_eq!(reads.filter(|limits| !limits.is_empty()).count(), 1, "reads and writes are limited apart");
}

#[test]
fn two_hot_keys_of_one_partition_are_parted_within_six_minutes() {
    let table = table(BillingMode::Provisioned, 1900);
    let mut load = Load::new(full());
    // Both in the lower half of the hash space, which is one of two partitions.
    let in_lower_half = |key: &Bytes| key.first().is_some_and(|byte| *byte < 0x80);
    let keys: Vec<Bytes> =
        (0..100).map(|number| item(&number.to_string(), "1")).filter(in_lower_half).take(2).collect();
    let refused =
        load.minutes(12, &table, 1600, |_, number| keys[usize::try_from(number % 2).unwrap_or(0)].clone());
    assert!(refused.iter().take(3).all(|refused| *refused > 0), "{refused:?}");
    assert!(refused.iter().skip(6).all(|refused| *refused == 0), "{refused:?}");
}

#[test]
fn one_hot_item_is_isolated_and_stays_refused() {
    let table = table(BillingMode::Provisioned, 5000);
    let mut load = Load::new(full());
    let born = load.partitions(&table);
    let refused = load.minutes(15, &table, 1200, |_, _| item("hot", "1"));
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    assert_eq!(load.partitions(&table), born + 2, "the item has a partition of its own");
}

#[test]
fn a_collection_heals_along_its_sort_key_unless_the_table_has_a_local_index() {
    let spread =
        |minute: u64, number: u64| item("one", &format!("{:04}", (minute * 7 + number * 7919) % 10_000));
    let plain = table(BillingMode::Provisioned, 5000);
    let mut load = Load::new(full());
    let refused = load.minutes(25, &plain, 2000, spread);
    assert!(refused[0] > 0, "{refused:?}");
    assert!(refused.iter().skip(18).all(|refused| *refused == 0), "{refused:?}");
    let mut local = plain.clone();
    local.schema.indexes.iter_mut().for_each(|index| index.kind = IndexKind::Local);
    let mut load = Load::new(full());
    let refused = load.minutes(25, &local, 2000, spread);
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
}

#[test]
fn keys_that_grow_in_sequence_are_not_parted() {
    let table = table(BillingMode::Provisioned, 5000);
    let mut load = Load::new(full());
    let born = load.partitions(&table);
    let refused =
        load.minutes(15, &table, 1500, |minute, number| item("log", &format!("{minute:04}{number:08}")));
    assert!(refused.iter().all(|refused| *refused > 0), "{refused:?}");
    assert_eq!(load.partitions(&table), born);
}

#[test]
fn shards_that_share_a_partition_are_parted() {
    let table = table(BillingMode::Provisioned, 20_000);
    let mut load = Load { write_units: 50, ..Load::new(full()) };
    let refused =
        load.minutes(26, &table, 18_000, |_, number| item(&format!("votes#{}", number % 20), "total"));
    assert!(refused[0] > 0, "{refused:?}");
    assert!(refused.iter().skip(20).all(|refused| *refused == 0), "{refused:?}");
    let one = load.minutes(20, &table, 18_000, |_, _| item("votes", "total"));
    assert!(one.iter().all(|refused| *refused > 0), "{one:?}");
}

#[test]
fn an_on_demand_table_serves_twice_its_peak_after_half_an_hour() {
    let table = table(BillingMode::PayPerRequest, 0);
    let mut load = Load::new(full());
    let spread = |minute: u64, number: u64| item(&format!("{minute}-{number}"), "1");
    assert_eq!(load.partitions(&table), 4);
    assert_eq!(load.minutes(1, &table, 3500, spread), [0]);
    load.now_ms += 31 * MINUTE_S * 1000;
    assert_eq!(load.minutes(1, &table, 6500, spread), [0]);
    assert_eq!(load.partitions(&table), 8);
    assert!(Load::new(full()).minutes(1, &table, 8000, spread)[0] > 0);
}

#[test]
fn ceilings_and_quotas_are_named() {
    let mut capped = table(BillingMode::PayPerRequest, 0);
    capped.on_demand.write_units_max = Some(10);
    let load = Load::new(full());
    let refused = (0..11).map(|_| load.request(&capped, Direction::Write, item("a", "1"), 1));
    assert_eq!(refused.last(), Some(vec![Limit::MaxOnDemandThroughput]));
    let config = ThroughputConfig { account_units_max: 20, throttle: Throttle::Table, ..full() };
    let load = Load::new(config);
    let provisioned = table(BillingMode::Provisioned, 100);
    let refused = (0..21).map(|_| load.request(&provisioned, Direction::Write, item("a", "1"), 1));
    assert_eq!(refused.last(), Some(vec![Limit::AccountLimit]));
}

#[test]
fn partitions_and_peaks_outlive_a_restart() {
    let table = table(BillingMode::Provisioned, 3500);
    let mut load = Load::new(full());
    load.minutes(8, &table, 3000, |_, _| item("hot", "1"));
    let before = load.partitions(&table);
    let saved = load.ledgers.to_save(10);
    let mut restarted = Load::new(full());
    restarted.now_ms = load.now_ms;
    for (id, saved) in &saved {
        restarted.ledgers.load(*id, saved.clone(), restarted.now_ms);
        load.ledgers.note_saved(*id, saved);
    }
    assert_eq!((before, restarted.partitions(&table)), (6, 6));
    assert_eq!(load.ledgers.to_save(10), Vec::new(), "nothing changed since");
}

#[test]
fn a_transaction_takes_all_or_nothing_and_a_batch_each() {
    let table = table(BillingMode::Provisioned, 5);
    let load = Load::new(ThroughputConfig { throttle: Throttle::Table, ..full() });
    let demand = |name: &str| {
        let arm =
            Arm { index: None, direction: Direction::Write, key: Some(item(name, "1")), units: HalfUnits(2) };
        Demand { table: &table, arms: vec![arm] }
    };
    let demands: Vec<Demand<'_>> = (0..8).map(|number| demand(&number.to_string())).collect();
    let each = load.context(|context| load.ledgers.admit(&demands, Together::Each, context));
    assert_eq!(each.iter().filter(|found| found.is_empty()).count(), 5);
    let all = load.context(|context| load.ledgers.admit(&demands, Together::All, context));
    assert!(all.iter().all(|found| found.len() == 1));
}
