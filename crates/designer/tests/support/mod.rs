//! What tests of designs have in common: what is left to design of a model, and its design.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of this")]

use keywright_designer::design::{self, Design, Embedded};
use keywright_model::{Model, write};

#[path = "../../../workbench/tests/support/mod.rs"]
mod checks;

pub use checks::*;

/// What a model leaves to design of its first table.
pub fn problem(model: &Model) -> design::Problem {
    let table = model.tables.first().expect("a table");
    design::from_model(model, table).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The first table of a model in a text designed anew, and the model as it is written and reads back.
pub fn designed(text: &str) -> (Design, Model) {
    redesigned(&model(text))
}

/// The same of a model.
pub fn redesigned(original: &Model) -> (Design, Model) {
    let found = design::solve(&problem(original), &prices()).expect("a design");
    let table = original.tables.first().expect("a table");
    let made = design::to_model(original, &table.name, &found).expect("templates");
    (found, model(&write(&made)))
}

/// Every table of a model designed anew, and what became lists.
pub fn all_designed(original: &Model) -> (Model, Vec<Embedded>) {
    let (mut model, mut embedded) = (original.clone(), Vec::new());
    for table in &original.tables {
        let problem = design::from_model(&model, table).expect("a problem");
        let found = design::solve(&problem, &prices()).expect("a design");
        model = design::to_model(&model, &table.name, &found).expect("templates");
        embedded.extend(found.embedded);
    }
    (model, embedded)
}
