//! The order of a crate's folders, as its `lib.rs` states it: `//! Layers: tables < read, write < batch`.
//!
//! A module imports only from layers before its own. Modules joined by a comma do not import each other.
//! Modules that the order does not name are not checked, and a crate without an order is not checked.

use std::collections::BTreeMap;

use syn::visit::Visit;

use super::source::{Source, is_test_only};

const LINE: &str = "//! Layers: ";

/// A crate's order.
struct Layers {
    /// The place of each module in the order.
    places: BTreeMap<String, usize>,
    /// The module behind each name that the crate's root re-exports.
    reexports: BTreeMap<String, String>,
}

pub(super) fn check(sources: &[Source], faults: &mut Vec<String>) {
    for root in sources.iter().filter(|source| is_root(&source.shown)) {
        let Some(order) = order(&root.text) else { continue };
        let layers = Layers { places: places(&order), reexports: reexports(&root.syntax) };
        let folder = root.shown.rsplit_once('/').map_or("", |(folder, _)| folder);
        let modules: Vec<&Source> = sources
            .iter()
            .filter(|source| source.shown.starts_with(&format!("{folder}/")) && !is_root(&source.shown))
            .collect();
        for name in layers.places.keys() {
            if !modules.iter().any(|source| module_path(folder, &source.shown).first() == Some(name)) {
                faults.push(format!("{}: Layers: there is no module `{name}`", root.shown));
            }
        }
        for source in modules.into_iter().filter(|source| !source.is_test) {
            let module = module_path(folder, &source.shown);
            let mut found = Vec::new();
            Imports { layers: &layers, module, found: &mut found }.visit_file(&source.syntax);
            found.dedup();
            faults.extend(found.into_iter().map(|text| format!("{}:{text}", source.shown)));
        }
    }
}

/// The order that the root's header states, which may take several lines.
fn order(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(LINE));
    let first = lines.next()?.strip_prefix(LINE)?;
    let further = lines.map_while(|line| line.strip_prefix("//! "));
    Some(std::iter::once(first).chain(further).collect::<Vec<_>>().join(" "))
}

fn is_root(shown: &str) -> bool {
    shown.starts_with("crates/") && (shown.ends_with("/src/lib.rs") || shown.ends_with("/src/main.rs"))
}

/// `tables < read, write`: the place of each name.
fn places(line: &str) -> BTreeMap<String, usize> {
    let layers = line.trim_end_matches('.').split(" < ").enumerate();
    layers
        .flat_map(|(place, names)| names.split(", ").map(move |name| (name.trim().to_owned(), place)))
        .collect()
}

/// `crates/a/src/read/page.rs` is the module `read::page`.
fn module_path(folder: &str, shown: &str) -> Vec<String> {
    let path = shown.trim_start_matches(folder).trim_start_matches('/').trim_end_matches(".rs");
    path.split('/').filter(|name| *name != "mod").map(str::to_owned).collect()
}

/// The names that `use module::Name` at the root makes names of the crate.
fn reexports(root: &syn::File) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for item in &root.items {
        if let syn::Item::Use(item) = item {
            for path in paths(&item.tree, &[]) {
                let path = path.strip_prefix(&["crate".to_owned()]).unwrap_or(&path);
                let path = path.strip_prefix(&["self".to_owned()]).unwrap_or(path);
                if let [module, .., name] = path {
                    names.insert(name.clone(), module.clone());
                }
            }
        }
    }
    names
}

/// Every path of a tree of imports; a renamed one ends in its new name.
fn paths(tree: &syn::UseTree, before: &[String]) -> Vec<Vec<String>> {
    let with = |name: String| [before, &[name]].concat();
    match tree {
        syn::UseTree::Path(path) => paths(&path.tree, &with(path.ident.to_string())),
        syn::UseTree::Name(name) => vec![with(name.ident.to_string())],
        syn::UseTree::Rename(name) => {
            vec![[&with(name.ident.to_string())[..], &[name.rename.to_string()]].concat()]
        }
        syn::UseTree::Glob(_) => vec![with("*".to_owned())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(|tree| paths(tree, before)).collect(),
    }
}

/// Walks one file's shipped code.
struct Imports<'a> {
    layers: &'a Layers,
    module: Vec<String>,
    found: &'a mut Vec<String>,
}

impl Imports<'_> {
    fn check(&mut self, path: &[String], line: usize) {
        let Some(own) = self.module.first() else { return };
        let Some(target) = self.resolve(path) else { return };
        let (Some(here), Some(there)) = (self.layers.places.get(own), self.layers.places.get(&target)) else {
            return;
        };
        if *own != target && there >= here {
            let relation = if there == here { "stands next to" } else { "stands above" };
            self.found.push(format!(
                "{line}: `{own}` imports `{}` of `{target}`, which {relation} it in the order of layers: move what both need below",
                path.join("::")
            ));
        }
    }

    /// The module at the crate's root that a path leads to.
    fn resolve(&self, path: &[String]) -> Option<String> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let root = if path.first().is_some_and(|name| name == "crate") {
            path.get(1)?.clone()
        } else if supers > 0 && supers >= self.module.len() {
            path.get(supers)?.clone()
        } else {
            return None;
        };
        if self.layers.places.contains_key(&root) {
            return Some(root);
        }
        self.layers.reexports.get(&root).cloned()
    }
}

impl<'ast> Visit<'ast> for Imports<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            self.module.push(item.ident.to_string());
            syn::visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            for path in paths(&item.tree, &[]) {
                self.check(&path, item.use_token.span.start().line);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.check(&names, line);
        syn::visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str =
        "//! A crate.\n//!\n//! Layers: tables < read, write < batch\n\npub use write::Put;\nmod write;\n";

    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let tables = ("crates/a/src/tables.rs", "");
        let batch = ("crates/a/src/batch.rs", "");
        let all = [("crates/a/src/lib.rs", ROOT), tables, batch].into_iter().chain(files.iter().copied());
        let sources: Vec<Source> =
            all.map(|(shown, text)| Source::new(shown, text.to_owned(), false).unwrap()).collect();
        let mut faults = Vec::new();
        check(&sources, &mut faults);
        faults
    }

    const READ: &str = "crates/a/src/read/page.rs";
    const WRITE: (&str, &str) = ("crates/a/src/write.rs", "use crate::tables::Table;");

    #[test]
    fn imports_from_layers_before_are_right() {
        assert_eq!(
            faults(&[WRITE, (READ, "use crate::{tables::Table, read::Other}; use super::*;")]),
            [""; 0]
        );
    }

    #[test]
    fn imports_from_the_same_or_a_later_layer_are_refused_however_they_are_written() {
        for text in [
            "use crate::batch::Get;",
            "use crate::{tables::T, batch};",
            "use super::super::batch::Get;",
            "fn a() { crate::batch::get(); }",
            "fn a(_: crate::write::W) {}",
            "use crate::Put;",
            "mod inner { use super::super::super::batch::Get; }",
        ] {
            assert_eq!(faults(&[WRITE, (READ, text)]).len(), 1, "{text}");
        }
    }

    #[test]
    fn an_order_may_take_several_lines_up_to_the_next_paragraph() {
        let text = "//! Layers: a < b,\n//! c < d\n//!\n//! Other words.\n";
        assert_eq!(order(text).as_deref(), Some("a < b, c < d"));
        assert_eq!(order("//! A crate.\n"), None);
    }

    #[test]
    fn tests_may_import_everything() {
        let text = "#[cfg(test)] mod tests { use crate::batch::Get; }";
        assert_eq!(faults(&[WRITE, (READ, text)]), [""; 0]);
    }

    #[test]
    fn a_layer_without_a_module_is_refused() {
        assert_eq!(faults(&[WRITE]), ["crates/a/src/lib.rs: Layers: there is no module `read`"]);
    }
}
