//! Shared by the tests of models: parsing, the repository's examples, a seeded generator.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use keywright_model::data::ItemFile;
use keywright_model::{Fault, Model, parse};

/// The number of cases of a property test: `short`, or a multiple of it in long runs (`cargo xtask test
/// --long`).
pub fn cases(short: u32) -> u32 {
    let times = std::env::var("KEYWRIGHT_TEST_LONG").ok().and_then(|times| times.parse().ok());
    short * times.unwrap_or(1)
}

/// Faults as commands print them, one per line.
pub fn fault_lines(faults: &[Fault]) -> String {
    faults.iter().map(|fault| fault.in_file("x.yaml") + "\n").collect()
}

/// The model of a text that must be valid.
pub fn model(text: &str) -> Model {
    parse(text).unwrap_or_else(|faults| panic!("{}", fault_lines(&faults)))
}

/// For models without item files.
pub fn no_files(name: &str) -> Result<ItemFile, String> {
    Err(format!("no {name} in this test"))
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

/// The models of `examples/models` with their names, read once per program.
pub fn examples() -> &'static [(String, Model)] {
    static EXAMPLES: OnceLock<Vec<(String, Model)>> = OnceLock::new();
    EXAMPLES.get_or_init(read_examples)
}

fn read_examples() -> Vec<(String, Model)> {
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, model(&std::fs::read_to_string(&path).expect("readable")))
    };
    example_paths().into_iter().map(read).collect()
}

/// One of them, by file name.
pub fn example(file: &str) -> Model {
    let name = file.strip_suffix(".yaml").expect("a model file");
    examples().iter().find(|(known, _)| known == name).expect(file).1.clone()
}

/// A small generator: the same seed makes the same sequence.
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
