//! Shared helpers of the designer's tests: the problem of a model, and its design.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of this")]

use keywright_designer::design::{self, Design, Embedded};
use keywright_model::{Model, write};

#[path = "../../../workbench/tests/support/mod.rs"]
mod checks;

pub use checks::*;

/// The problem of a model's first table.
pub fn problem(model: &Model) -> design::Problem {
    let table = model.tables.first().expect("a table");
    design::from_model(model, table).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// The first table of a model text designed again, and the model written and read back.
pub fn designed(text: &str) -> (Design, Model) {
    redesigned(&model(text))
}

/// The same for a model.
pub fn redesigned(original: &Model) -> (Design, Model) {
    let found = design::solve(&problem(original), &prices()).expect("a design");
    let table = original.tables.first().expect("a table");
    let made = design::to_model(original, &table.name, &found).expect("templates");
    (found, model(&write(&made)))
}

/// Every table of a model designed again, and the entities that became lists.
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
