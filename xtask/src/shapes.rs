//! `cargo xtask shapes [--check] [BOTOCORE]`: distils the public service model into the checked-in shape
//! table, the parts of requests, and the code between them.
//!
//! It reads the model from a folder of botocore (by default it installs the release that `model` names below
//! `target/`) and never touches the network otherwise.

mod emit;
mod model;
mod overlay;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::Model;

const OVERLAY: &str = "crates/wire/src/shapes/overlay.txt";
const CASES: &str = "crates/wire/tests/cases";
const OPERATIONS: &str = "crates/wire/src/operation.rs";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let checking = arguments.iter().any(|argument| argument == "--check");
    let named = arguments.iter().find(|argument| *argument != "--check").map(PathBuf::from);
    let botocore = model::locate(root, named.as_deref())?;
    let mut model = Model::read(&botocore)?;
    let served = served_operations(root, &model)?;
    let text = read(&root.join(OVERLAY))?;
    let extras = overlay::apply(&mut model, &text, &root.join(CASES))?;
    let reached = emit::Reached::from(&model, &served)?;
    let files = [
        ("crates/semantics/src/request/parts.rs", emit::parts(&reached)?),
        ("crates/wire/src/decode/parts.rs", emit::decoders(&reached)?),
        ("crates/wire/src/shapes/table.rs", emit::table(&reached, &extras, model::BOTOCORE_VERSION)?),
    ];
    let mut stale = Vec::new();
    for (path, text) in files {
        let text = formatted(root, &text)?;
        let path_here = root.join(path);
        if std::fs::read_to_string(&path_here).is_ok_and(|current| current == text) {
            continue;
        }
        stale.push(path);
        if !checking {
            std::fs::write(&path_here, text).map_err(|error| format!("{path}: {error}"))?;
        }
    }
    if checking && !stale.is_empty() {
        return Err(format!("not what `cargo xtask shapes` makes: {}", stale.join(", ")));
    }
    Ok(format!(
        "shapes: {} operations decoded, {} lines of overlay, {} files changed",
        served.len(),
        extras.lines,
        stale.len()
    ))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// The operations that the wire says it serves; its list must be the models' list.
fn served_operations(root: &Path, model: &Model) -> Result<BTreeSet<String>, String> {
    let text = read(&root.join(OPERATIONS))?;
    let rows: Vec<(&str, &str, &str)> = text.lines().filter_map(operation_row).collect();
    let listed: Vec<&str> = rows.iter().map(|(name, _, _)| *name).collect();
    let known: Vec<&str> = model.inputs.iter().map(|(name, _)| name.as_str()).collect();
    if listed != known {
        return Err(format!("{OPERATIONS} does not list the models' operations, which are: {known:?}"));
    }
    Ok(rows.iter().filter(|(_, _, served)| *served == "Yes").map(|(name, _, _)| (*name).to_owned()).collect())
}

fn operation_row(line: &str) -> Option<(&str, &str, &str)> {
    let mut words = line.trim().strip_suffix(';')?.split(' ');
    let row = (words.next()?, words.next()?, words.next()?);
    let api = matches!(row.1, "DynamoDb" | "Streams");
    (api && matches!(row.2, "Yes" | "No") && words.next().is_none()).then_some(row)
}

/// The text as rustfmt writes it.
fn formatted(root: &Path, text: &str) -> Result<String, String> {
    let complain = |error: std::io::Error| format!("rustfmt: {error}");
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(root.join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(complain)?;
    let mut input = child.stdin.take().ok_or("rustfmt takes no input")?;
    input.write_all(text.as_bytes()).map_err(complain)?;
    drop(input);
    let output = child.wait_with_output().map_err(complain)?;
    if !output.status.success() {
        return Err("rustfmt refuses the generated text".to_owned());
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt: {error}"))
}
