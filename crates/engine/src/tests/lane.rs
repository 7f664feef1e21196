//! Long computations of every kind run in the lane; short ones do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keywright_semantics::request::Request;
use keywright_semantics::request::partiql::ExecuteStatement;
use keywright_semantics::value::AttributeValue;
use keywright_store::memory::MemoryStore;
use pollster::block_on;

use super::harness::*;
use super::partiql::parts;
use crate::{EngineConfig, Lane};

static ASIDE: AtomicUsize = AtomicUsize::new(0);

/// The number of computations set aside during the call.
fn aside(work: impl FnOnce()) -> usize {
    let before = ASIDE.load(Ordering::Relaxed);
    work();
    ASIDE.load(Ordering::Relaxed) - before
}

/// One test only: the counter of the lane's function is shared.
#[test]
fn long_computations_are_set_aside_and_short_ones_are_not() {
    let lane = Lane::new(1, |work| {
        ASIDE.fetch_add(1, Ordering::Relaxed);
        work();
    });
    let config = EngineConfig { lane: Arc::new(lane), ..EngineConfig::default() };
    let bench = bench_with(MemoryStore::new(), config, create_request(schema()));
    let key = || item([("pk", s("a")), ("sk", s("a"))]);
    let mut large = key();
    large.insert("v".to_owned(), AttributeValue::L(vec![AttributeValue::Null; 60_000]));
    let put = aside(|| drop(bench.put(large.clone()).expect("it is put")));
    assert_eq!(put, 0);
    assert_eq!(aside(|| drop(bench.get(key()))), 0);
    let contains = vec!["contains(v, :x)"; 149].join(" OR ");
    let mut check = put_request(large);
    check.write.condition = Some(Box::new(condition(&contains, [(":x", n(1))])));
    assert!(aside(|| drop(bench.put_with(&check))) > 0, "a condition");
    let copies: Vec<String> = (0..100).map(|number| format!("b{number} = v")).collect();
    let copies = update_request(key(), Some(update(&format!("SET {}", copies.join(",")), [])));
    assert!(aside(|| drop(bench.update(&copies))) > 0, "an update");
    let mut filtered = scan_request(None);
    filtered.filter = Some(condition(&contains, [(":x", n(1))]));
    assert!(aside(|| drop(bench.scan(&filtered))) > 0, "a filter");
    let columns: Vec<String> = (0..200).map(|number| format!("v[{}]", 50_000 + number)).collect();
    let statement = format!("SELECT {} FROM \"{TABLE}\" WHERE pk='a' AND sk='a'", columns.join(","));
    let select = ExecuteStatement::validate(parts(&statement)).expect("it is valid");
    let run = |request| drop(block_on(bench.engine.execute(&caller(), request)).expect("it is answered"));
    assert!(aside(|| run(Request::ExecuteStatement(Box::new(select)))) > 0, "columns");
}
