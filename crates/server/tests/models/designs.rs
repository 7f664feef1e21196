//! `keywright model design` prints the same total as `keywright model cost` for the model that it writes.

use std::path::Path;
use std::process::Command;

fn run(arguments: &[&str], path: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_keywright"))
        .arg("model")
        .args(arguments)
        .arg(path)
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{arguments:?} {}\n{text}{}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

/// A dollar amount in nano-dollars.
fn nanos(text: &str) -> i128 {
    let number = text.trim_start_matches('$').replace(',', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    format!("{whole}{fraction:0<9}").parse().expect("a sum")
}

/// The sum of the tables' costs in the output of `design`.
fn designed(text: &str) -> i128 {
    let sums = text.lines().filter_map(|line| {
        let (before, _) = line.split_once(" a month at ")?;
        before.rsplit_once(' ').map(|(_, sum)| nanos(sum))
    });
    sums.sum()
}

fn total(text: &str) -> i128 {
    let line = text.lines().find_map(|line| line.strip_prefix("total ")).expect("a total");
    nanos(line.trim())
}

/// Examples with a provisioned table, backups and two tables, and a model without keys.
const MODELS: [&str; 5] = [
    "examples/models/chat.yaml",
    "examples/models/orders.yaml",
    "examples/models/bank-payments.yaml",
    "examples/models/shop-single-table.yaml",
    "crates/model/tests/models/ten-patterns.yaml",
];

#[test]
fn the_totals_of_a_design_are_those_of_the_cost_of_the_written_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for path in MODELS.map(|model| root.join(model)) {
        let output = folder.path().join(path.file_name().expect("a name"));
        let written = output.to_str().expect("a path");
        let said = run(&["design", "-o", written], &path);
        let billed = total(&run(&["cost"], &output));
        // Amounts printed in cents differ by at most half a cent per table.
        let tables = i128::try_from(said.matches(" a month at ").count()).expect("a number");
        let most = if tables == 1 { 0 } else { 5_000_000 * (tables + 1) };
        let said = designed(&said);
        assert!((said - billed).abs() <= most, "{}: {said} designed, {billed} billed", path.display());
    }
}
