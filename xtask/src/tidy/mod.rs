//! `cargo xtask tidy`: the rules of structure and language that no compiler checks.
//!
//! It knows the workspace's folders; it does not know what any code means. `--list PART` shows the faults
//! that `xtask/tidy.toml` still allows; `--update` lowers the allowances to the present counts.

mod allowance;
mod assertions;
mod edges;
mod imports;
mod layers;
mod limits;
mod links;
mod modules;
mod names;
mod prose;
mod rings;
mod source;
mod structure;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use allowance::{Allowance, Fault, Rule};
use modules::Crate;
use source::Source;
use structure::{LONG_FUNCTION_LINES, Lengths};

use crate::budgets::Budgets;

pub(crate) fn run(arguments: &[String]) -> Result<String, String> {
    let root = workspace_root()?;
    let sources = source::all(&root)?;
    let crates = modules::crates(&sources);
    let found = find(&root, &sources, &crates)?;
    let counted = Allowance::counted(&found, assertions::densities(&sources));
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => check(&root, &sources, &crates, &found, &counted),
        ["--list"] => Ok(list(&found, "")),
        ["--list", part] => Ok(list(&found, part)),
        ["--update"] => update(&root, &counted),
        other => Err(format!("tidy: {} is not understood: --list [PART] or --update", other.join(" "))),
    }
}

fn check(
    root: &Path,
    sources: &[Source],
    crates: &[Crate<'_>],
    found: &[Fault],
    counted: &Allowance,
) -> Result<String, String> {
    let mut faults = Vec::new();
    edges::check(root, &mut faults)?;
    layers::check(crates, &mut faults);
    let mut lengths = Lengths::default();
    for source in sources.iter().filter(|source| source.shown.contains("/src/")) {
        structure::check(source, &mut lengths, &mut faults);
    }
    structure::check_lengths(&lengths, &mut faults);
    Budgets::read(root)?.check(root, &mut faults);
    faults.sort();
    let allowed = Allowance::read(root)?;
    faults.extend(allowed.check(counted, found));
    if faults.is_empty() {
        let surplus = allowed.surplus(counted);
        let lower = match surplus.as_slice() {
            [] => String::new(),
            some => format!(
                "{} allows more than there is: lower {} (`cargo xtask tidy --update` does)\n",
                allowance::FILE,
                some.join(", ")
            ),
        };
        let (in_rings, others): (Vec<&Fault>, Vec<&Fault>) =
            found.iter().partition(|fault| fault.rule == Rule::Rings);
        return Ok(format!(
            "{lower}tidy: {} files, {} of them in {} rings, {} functions, {} of {} lines in functions over \
             {LONG_FUNCTION_LINES} lines, {} faults of prose, names and limits left",
            sources.len(),
            in_rings.len(),
            rings::count(crates),
            lengths.functions,
            lengths.long_lines,
            lengths.all_lines,
            others.len()
        ));
    }
    Err(format!("{}\ntidy: {} faults", faults.join("\n"), faults.len()))
}

/// Everything that breaks a rule which old code may still break.
fn find(root: &Path, sources: &[Source], crates: &[Crate<'_>]) -> Result<Vec<Fault>, String> {
    let mut found = Vec::new();
    let defined = limits::defined(sources);
    for source in sources {
        prose::check_source(source, &mut found);
        names::check(source, &mut found);
        limits::check(source, &defined, &mut found);
    }
    rings::check(crates, &mut found);
    for (shown, text) in source::documents(root)? {
        prose::check_document(&shown, &text, &mut found);
        links::check(root, &shown, &text, &mut found);
    }
    Ok(found)
}

fn list(found: &[Fault], part: &str) -> String {
    let shown = found.iter().filter(|fault| fault.part.starts_with(part));
    let lines: Vec<&str> = shown.map(|fault| fault.text.as_str()).collect();
    format!("{}\n{} faults", lines.join("\n"), lines.len())
}

fn update(root: &Path, counted: &Allowance) -> Result<String, String> {
    let path = root.join(allowance::FILE);
    // Without the file, everything that is there now is allowed.
    let before = if path.exists() { Allowance::read(root)? } else { counted.clone().without_floors() };
    let next = before.tightened(counted);
    fs::write(&path, next.text()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(format!("tidy: {} takes in what has become better", allowance::FILE))
}

pub(crate) fn workspace_root() -> Result<PathBuf, String> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(Path::to_path_buf).ok_or_else(|| "the workspace root was not found".to_owned())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn folders(parent: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(parent).map_err(|error| format!("cannot list {}: {error}", parent.display()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}
