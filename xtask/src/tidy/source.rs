//! A source file, read once for all checks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{folders, read};

/// One Rust file.
pub(super) struct Source {
    /// Its path from the root of the workspace, with `/`.
    pub(super) shown: String,
    pub(super) text: String,
    pub(super) syntax: syn::File,
    /// Whether only tests are built from it.
    pub(super) is_test: bool,
}

impl Source {
    /// Parses a file from its text; the checks' tests use it as well.
    pub(super) fn new(shown: &str, text: String, is_test: bool) -> Result<Self, String> {
        let syntax = syn::parse_file(&text).map_err(|error| format!("{shown}: {error}"))?;
        Ok(Self { shown: shown.to_owned(), text, syntax, is_test })
    }

    /// The folder of the workspace that the file belongs to: `crates/engine`, `docs`, or `.` for files of the
    /// root.
    pub(super) fn part(&self) -> &str {
        part_of(&self.shown)
    }
}

pub(super) fn part_of(shown: &str) -> &str {
    let Some((first, rest)) = shown.split_once('/') else { return "." };
    let second = rest.split_once('/').map_or(0, |(second, _)| second.len() + 1);
    if first == "crates" { shown.get(..first.len() + second).unwrap_or(first) } else { first }
}

/// Every Rust file of the workspace.
pub(super) fn all(root: &Path) -> Result<Vec<Source>, String> {
    let mut paths = Vec::new();
    for folder in folders(&root.join("crates"))? {
        collect(&folder, "rs", &mut paths)?;
    }
    collect(&root.join("xtask/src"), "rs", &mut paths)?;
    collect(&root.join("fuzz/fuzz_targets"), "rs", &mut paths)?;
    paths.sort();
    let mut sources = Vec::new();
    for path in paths {
        let shown = shown(root, &path);
        let is_shipped = shown.contains("/src/") && !shown.contains("/src/tests/");
        sources.push(Source::new(&shown, read(&path)?, !is_shipped)?);
    }
    let tests: BTreeSet<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        source.is_test |= tests.iter().any(|stem| is_within(&source.shown, stem));
    }
    Ok(sources)
}

/// Every Markdown file with prose for readers. Files of tests hold expected outputs.
pub(super) fn documents(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut paths = Vec::new();
    collect(&root.join("docs"), "md", &mut paths)?;
    collect(&root.join("examples"), "md", &mut paths)?;
    collect_here(root, "md", &mut paths)?;
    paths.sort();
    paths.into_iter().map(|path| Ok((shown(root, &path), read(&path)?))).collect()
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string().replace('\\', "/")
}

fn collect(folder: &Path, extension: &str, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    for child in folders(folder)? {
        collect(&child, extension, paths)?;
    }
    collect_here(folder, extension, paths)
}

fn collect_here(folder: &Path, extension: &str, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries =
        std::fs::read_dir(folder).map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    let files = entries.flatten().map(|entry| entry.path());
    paths.extend(files.filter(|path| path.is_file() && path.extension().is_some_and(|ext| ext == extension)));
    Ok(())
}

/// The paths, without `.rs`, of the modules that a file declares for tests only.
fn test_modules(source: &Source) -> Vec<String> {
    let stem = source.shown.trim_end_matches(".rs");
    let folder = match stem.rsplit_once('/') {
        Some((folder, "mod" | "lib" | "main")) => folder,
        _ => stem,
    };
    let modules = source.syntax.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_test_only(&module.attrs) => Some(module),
        _ => None,
    });
    modules.map(|module| format!("{folder}/{}", module.ident)).collect()
}

fn is_within(shown: &str, stem: &str) -> bool {
    shown.strip_prefix(stem).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Whether an item is built for tests only: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
pub(super) fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let demands_test =
            |text: &str| text == "test" || text.starts_with("all (test") || text.starts_with("all(test");
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| demands_test(&list.tokens.to_string())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_its_crate_or_folder() {
        assert_eq!(part_of("crates/engine/src/lib.rs"), "crates/engine");
        assert_eq!(part_of("docs/adr/0001.md"), "docs");
        assert_eq!(part_of("README.md"), ".");
    }

    #[test]
    fn modules_declared_for_tests_are_found_with_their_folder() {
        let text = "#[cfg(test)]\nmod cases;\n#[cfg(all(test, unix))]\nmod unix;\nmod shipped;\n";
        let source = Source::new("crates/a/src/diff/mod.rs", text.to_owned(), false).unwrap();
        assert_eq!(test_modules(&source), ["crates/a/src/diff/cases", "crates/a/src/diff/unix"]);
        assert!(is_within("crates/a/src/diff/cases/one.rs", "crates/a/src/diff/cases"));
        assert!(!is_within("crates/a/src/diff/cases_more.rs", "crates/a/src/diff/cases"));
    }
}
