//! What tests of models have in common: reading one, checking and designing it, the examples of the repository.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};

use keywright_workbench::cost::{Bill, Costing, Settings, bill};
use keywright_workbench::data::load;
use keywright_workbench::design::{self, Design, Embedded};
use keywright_workbench::exchange::json::Json;
use keywright_workbench::exchange::live::LiveTable;
use keywright_workbench::model::{Fault, Model, parse, write};
use keywright_workbench::price::{Prices, TODAY};
use keywright_workbench::report::Checked;
use keywright_workbench::run::measure;

/// Faults as a command tells them, a line each.
pub fn told(faults: &[Fault]) -> String {
    faults.iter().map(|fault| fault.in_file("x.yaml") + "\n").collect()
}

/// The model of a text that must be one.
pub fn model(text: &str) -> Model {
    parse(text).unwrap_or_else(|faults| panic!("{}", told(&faults)))
}

/// For models whose items are all in their text.
pub fn no_files(name: &str) -> Result<String, String> {
    Err(format!("no {name} in this test"))
}

/// The check of a model, which must run and need not pass.
pub fn check(model: &Model) -> Checked {
    keywright_workbench::check(model, &no_files, &mut |_| {})
        .unwrap_or_else(|faults| panic!("{}", told(&faults)))
}

pub fn checked(text: &str) -> Checked {
    check(&model(text))
}

pub fn prices() -> Prices {
    Prices::built_in(TODAY).expect("built in")
}

/// The bill of a model at today's prices, metered.
pub fn billed(model: &Model) -> Bill {
    let samples = load(model, &no_files).unwrap_or_else(|faults| panic!("{}", told(&faults)));
    let measured = measure(model, &samples).unwrap_or_else(|faults| panic!("{}", told(&faults)));
    let prices = prices();
    bill(model, &measured, &Costing { prices: &prices, settings: Settings::default() }).expect("priced")
}

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

/// The files of `examples/models`, by name.
pub fn example_paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() >= 15, "{paths:?}");
    paths
}

/// The models of `examples/models` with their names.
pub fn examples() -> Vec<(String, Model)> {
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, model(&std::fs::read_to_string(&path).expect("readable")))
    };
    example_paths().into_iter().map(read).collect()
}

/// One of them, by the name of its file.
pub fn example(file: &str) -> Model {
    let path = example_paths().into_iter().find(|path| path.file_name().is_some_and(|own| own == file));
    model(&std::fs::read_to_string(path.expect(file)).expect("readable"))
}

/// A live table of which nothing is known but its description and some items.
pub fn live_table(description: &str, items: Vec<Json>) -> LiveTable {
    LiveTable {
        description: Json::parse(description).expect("JSON"),
        time_to_live: None,
        backups: None,
        besides: Vec::new(),
        unanswered: Vec::new(),
        items,
    }
}

/// A small generator: the same seed makes the same models.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }

    pub fn of<'a, T>(&mut self, them: &'a [T]) -> &'a T {
        them.get(self.below(them.len())).expect("within")
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn shuffled<T: Clone>(&mut self, them: &[T]) -> Vec<T> {
        let mut left = them.to_vec();
        let mut found = Vec::new();
        while !left.is_empty() {
            found.push(left.remove(self.below(left.len())));
        }
        found
    }
}
