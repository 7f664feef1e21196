//! Helpers for tests of checked and billed models. Each test program checks and bills the examples once.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::sync::OnceLock;

use keywright_model::Model;
use keywright_model::data::load;
use keywright_workbench::cost::{Bill, Costing, Settings, bill};
use keywright_workbench::price::{Prices, TODAY};
use keywright_workbench::report::Checked;
use keywright_workbench::run::measure;

#[path = "../../../exchange/tests/support/mod.rs"]
mod models;

pub use models::*;

/// Checks a model that must run but need not pass.
pub fn check(model: &Model) -> Checked {
    keywright_workbench::check(model, &no_files, &mut |_| {})
        .unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)))
}

pub fn checked(text: &str) -> Checked {
    check(&model(text))
}

pub fn prices() -> Prices {
    Prices::built_in(TODAY).expect("built in")
}

/// The metered bill of a model at the current prices.
pub fn billed(model: &Model) -> Bill {
    let samples = load(model, &no_files).unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)));
    let measured = measure(model, &samples).unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)));
    let prices = prices();
    bill(model, &measured, &Costing { prices: &prices, settings: Settings::default() }).expect("priced")
}

/// The names of the examples with their checks, computed once per program.
pub fn checked_examples() -> &'static [(String, Checked)] {
    static CHECKED: OnceLock<Vec<(String, Checked)>> = OnceLock::new();
    CHECKED.get_or_init(|| {
        let checked = |(name, model): &(String, Model)| (name.clone(), check(model));
        examples().iter().map(checked).collect()
    })
}

/// The check of one example, by file name.
pub fn checked_example(file: &str) -> &'static Checked {
    let name = file.strip_suffix(".yaml").expect("a model file");
    &checked_examples().iter().find(|(known, _)| known == name).expect(file).1
}
