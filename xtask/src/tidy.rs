//! `cargo xtask tidy`: the rules of structure that no compiler checks.
//!
//! It knows the workspace's edge list and folder layout; it does not know what any code means.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Which workspace crates each crate may depend on, in shipped code. Anything else is an error.
const EDGES: &[(&str, &[&str])] = &[
    ("keywright-designer", &["keywright-model", "keywright-semantics", "keywright-workbench"]),
    ("keywright-engine", &["keywright-semantics", "keywright-store"]),
    ("keywright-model", &["keywright-semantics"]),
    ("keywright-semantics", &[]),
    (
        "keywright-server",
        &[
            "keywright-designer",
            "keywright-engine",
            "keywright-model",
            "keywright-semantics",
            "keywright-store",
            "keywright-store-local",
            "keywright-wire",
            "keywright-workbench",
        ],
    ),
    ("keywright-store", &[]),
    ("keywright-store-local", &["keywright-store"]),
    ("keywright-wire", &["keywright-semantics"]),
    (
        "keywright-workbench",
        &["keywright-engine", "keywright-model", "keywright-semantics", "keywright-store"],
    ),
];

/// A function longer than this counts against the budget.
const LONG_FUNCTION_LINES: usize = 100;

/// The share of all function lines that may sit in long functions, in percent.
const LONG_FUNCTION_SHARE_PERCENT_MAX: usize = 5;

/// Texts that must not appear in the repository's own code outside the messages modules: the openings of the
/// service's error sentences.
const MESSAGE_OPENINGS: &[&str] =
    &["One or more parameter values were invalid", "Invalid ConditionExpression", "The provided key element"];

pub(crate) fn run() -> Result<String, String> {
    let root = workspace_root()?;
    let mut faults = Vec::new();
    check_edges(&root, &mut faults)?;
    let sources = shipped_sources(&root)?;
    let mut lengths = Lengths::default();
    for path in &sources {
        check_source(&root, path, &mut lengths, &mut faults)?;
    }
    check_lengths(&lengths, &mut faults);
    if faults.is_empty() {
        return Ok(format!(
            "tidy: {} files, {} functions, {} of {} lines in functions over {LONG_FUNCTION_LINES} lines",
            sources.len(),
            lengths.functions,
            lengths.long_lines,
            lengths.all_lines
        ));
    }
    faults.sort();
    Err(format!("{}\ntidy: {} faults", faults.join("\n"), faults.len()))
}

pub(crate) fn workspace_root() -> Result<PathBuf, String> {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(Path::to_path_buf).ok_or_else(|| "the workspace root was not found".to_owned())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Every crate's shipped dependencies on its siblings must be in `EDGES`.
fn check_edges(root: &Path, faults: &mut Vec<String>) -> Result<(), String> {
    let allowed: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    for folder in folders(&root.join("crates"))? {
        let manifest: toml::Table = read(&folder.join("Cargo.toml"))?
            .parse()
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(toml::Value::as_str)
            .unwrap_or_default();
        let Some(edges) = allowed.get(name) else {
            faults.push(format!("crate {name} has no line in the edge list of xtask/src/tidy.rs"));
            continue;
        };
        let Some(dependencies) = manifest.get("dependencies").and_then(toml::Value::as_table) else {
            continue;
        };
        for dependency in dependencies.keys().filter(|key| key.starts_with("keywright-")) {
            if !edges.contains(&dependency.as_str()) {
                faults.push(format!("crate {name} must not depend on {dependency}"));
            }
        }
    }
    Ok(())
}

fn folders(parent: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        fs::read_dir(parent).map_err(|error| format!("cannot list {}: {error}", parent.display()))?;
    let mut found: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

fn shipped_sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut sources = Vec::new();
    for folder in folders(&root.join("crates"))? {
        collect_sources(&folder.join("src"), &mut sources)?;
    }
    collect_sources(&root.join("xtask/src"), &mut sources)?;
    sources.sort();
    Ok(sources)
}

fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<(), String> {
    for child in folders(folder)? {
        collect_sources(&child, sources)?;
    }
    let entries =
        fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    sources.extend(
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "rs")),
    );
    Ok(())
}

fn check_source(
    root: &Path,
    path: &Path,
    lengths: &mut Lengths,
    faults: &mut Vec<String>,
) -> Result<(), String> {
    let text = read(path)?;
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    if !text.starts_with("//!") {
        faults.push(format!("{shown}: the file does not open with //! saying what it owns"));
    }
    let file = syn::parse_file(&text).map_err(|error| format!("{shown}: {error}"))?;
    let mut visitor = Visitor { file: &shown, lengths, faults };
    visitor.visit_file(&file);
    Ok(())
}

#[derive(Default)]
struct Lengths {
    functions: usize,
    all_lines: usize,
    long_lines: usize,
    long: Vec<(usize, String)>,
}

fn check_lengths(lengths: &Lengths, faults: &mut Vec<String>) {
    if lengths.long_lines * 100 > lengths.all_lines * LONG_FUNCTION_SHARE_PERCENT_MAX {
        for (lines, place) in &lengths.long {
            faults.push(format!(
                "{place}: {lines} lines; more than {LONG_FUNCTION_SHARE_PERCENT_MAX} % sit in long functions"
            ));
        }
    }
}

/// Walks shipped items only: anything under `#[cfg(test)]` is skipped.
struct Visitor<'a> {
    file: &'a str,
    lengths: &'a mut Lengths,
    faults: &'a mut Vec<String>,
}

impl Visitor<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        let lines = last.saturating_sub(first) + 1;
        self.lengths.functions += 1;
        self.lengths.all_lines += lines;
        if lines > LONG_FUNCTION_LINES {
            self.lengths.long_lines += lines;
            self.lengths.long.push((lines, format!("{}: {}", self.file, signature.ident)));
        }
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_test_only(&item.attrs) {
            return;
        }
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_test_only(&item.attrs) {
            return;
        }
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let name = item.ident.to_string();
        let service_limit = name.ends_with("_MAX") && name.contains("ITEM_BYTES");
        if service_limit && !self.file.ends_with("semantics/src/limits.rs") {
            self.faults.push(format!("{}: {name} belongs to semantics/src/limits.rs", self.file));
        }
        syn::visit::visit_item_const(self, item);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        let allowed = self.file.contains("semantics/src/messages") || self.file.starts_with("xtask/");
        if allowed {
            return;
        }
        let text = literal.value();
        if let Some(opening) = MESSAGE_OPENINGS.iter().find(|opening| text.starts_with(**opening)) {
            self.faults
                .push(format!("{}: the text \"{opening}…\" belongs to semantics/src/messages", self.file));
        }
    }
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "test"))
    })
}
