//! Long random sequences of all operations answer as a naive table does: a map of items, and every read a walk over it.
//! A sequence that does not is shrunk to its smallest form. `KEYWRIGHT_SEQUENCES` asks for more of them, `KEYWRIGHT_STEPS` for
//! longer ones.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on stops")]

#[path = "support/dice.rs"]
mod dice;
#[path = "support/in_process.rs"]
mod in_process;
#[path = "support/naive/mod.rs"]
mod naive;

use std::cell::Cell;

use dice::wanted;
use naive::pair::{Pair, Planted};
use naive::random::{Op, ops};
use naive::reading::Reading;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

const SEQUENCES_DEFAULT: u32 = 60;
const STEPS_DEFAULT: u32 = 80;
/// How many smaller sequences are tried.
const SHRINKS_MAX: u32 = 600;
/// A planted fault is found within so many.
const SEQUENCES_OF_PLANTED: u32 = 400;
const STEPS_OF_PLANTED: u32 = 60;

/// Runs so many sequences; the smallest that answers otherwise is the error, with what differs.
fn run(sequences: u32, steps: u32, planted: Planted, asked: &Cell<u64>) -> Result<(), (String, Vec<Op>)> {
    let config = Config {
        cases: sequences,
        failure_persistence: None,
        max_shrink_iters: SHRINKS_MAX,
        ..Config::default()
    };
    let steps = 1..usize::try_from(steps).unwrap();
    let outcome = TestRunner::new(config).run(&proptest::collection::vec(ops(), steps), |ops| {
        let mut pair = Pair::new(planted);
        for op in &ops {
            asked.set(asked.get() + 1);
            pair.step(op).map_err(TestCaseError::fail)?;
        }
        for index in [None, Some("gsi"), Some("lsi")] {
            pair.read(&Reading::everything(index)).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, ops)) => Err((reason.to_string(), ops)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn random_sequences_of_all_operations_answer_as_a_naive_table_does() {
    let number = |variable, otherwise: u32| u32::try_from(wanted(variable, otherwise.into())).unwrap();
    let sequences = number("KEYWRIGHT_SEQUENCES", SEQUENCES_DEFAULT);
    let steps = number("KEYWRIGHT_STEPS", STEPS_DEFAULT);
    let asked = Cell::new(0);
    if let Err((reason, ops)) = run(sequences, steps, Planted::Nothing, &asked) {
        panic!("{reason}\nafter {ops:?}");
    }
    println!("{sequences} sequences, {} requests, all as the naive table answers", asked.get());
}

#[test]
fn a_planted_fault_is_found_and_shrunk_to_a_few_requests() {
    let planted = [
        Planted::Unconditional,
        Planted::Backwards,
        Planted::ShortBatch,
        Planted::Unfiltered,
        Planted::Replaced,
    ];
    for planted in planted {
        let Err((reason, ops)) = run(SEQUENCES_OF_PLANTED, STEPS_OF_PLANTED, planted, &Cell::new(0)) else {
            panic!("{planted:?} was not found");
        };
        println!("{planted:?} shows after {} requests: {reason}", ops.len());
        assert!(ops.len() <= 5, "{planted:?} was not shrunk: {ops:#?}");
    }
}
