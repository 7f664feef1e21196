//! The modules of each crate, and the module that a path leads to.
//!
//! A name that a module hands on (`pub use`) belongs to the module that defines it: a front door that only
//! hands on names is no place that anybody imports from. What macros expand to and what methods a type has is
//! not known here.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::source::{Source, is_test_only};

/// Names that lead to each other are followed no further than this.
const STEPS_MAX: usize = 16;

/// One module of a crate: a file, or a module within a file.
pub(super) struct Module {
    path: Vec<String>,
    pub(super) file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// The names of what it defines.
    items: BTreeSet<String>,
    /// The path behind each name that it imports.
    names: BTreeMap<String, Vec<String>>,
    /// The paths before `::*`.
    globs: Vec<Vec<String>>,
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) module: usize,
    /// Whether the path ends at the module itself and names nothing of it.
    pub(super) is_whole: bool,
}

/// The shipped files of one crate.
pub(super) struct Crate<'a> {
    /// `crates/a/src`.
    pub(super) folder: String,
    pub(super) files: Vec<&'a Source>,
    pub(super) modules: Vec<Module>,
}

/// Every crate of the workspace.
pub(super) fn crates(sources: &[Source]) -> Vec<Crate<'_>> {
    let mut files: BTreeMap<String, Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test) {
        if let Some((crate_folder, _)) = source.shown.split_once("/src/") {
            files.entry(format!("{crate_folder}/src")).or_default().push(source);
        }
    }
    for (folder, files) in &mut files {
        let library = format!("{folder}/lib.rs");
        // A program next to a library names the library as another crate.
        if files.iter().any(|source| source.shown == library) {
            files.retain(|source| source.shown != format!("{folder}/main.rs"));
        }
    }
    files.into_iter().map(|(folder, files)| Crate::new(folder, files)).collect()
}

impl<'a> Crate<'a> {
    fn new(folder: String, mut files: Vec<&'a Source>) -> Self {
        // A folder's module comes before those of its files.
        files.sort_by_key(|source| module_path(&folder, &source.shown));
        let root = Module::new(Vec::new(), 0, None);
        let mut made = Self { folder, files: Vec::new(), modules: vec![root] };
        for (file, source) in files.into_iter().enumerate() {
            let module = made.module(&module_path(&made.folder, &source.shown), file);
            made.files.push(source);
            Declarations { made: &mut made, module, file }.visit_file(&source.syntax);
        }
        made
    }

    /// The module of this path, made with those above it.
    fn module(&mut self, path: &[String], file: usize) -> usize {
        let mut module = 0;
        for name in path {
            module = self.child(module, name, file);
        }
        // The module above may have been made before its file was read.
        if let Some(own) = self.modules.get_mut(module) {
            own.file = file;
        }
        module
    }

    fn child(&mut self, parent: usize, name: &str, file: usize) -> usize {
        let made = self.modules.len();
        let Some(above) = self.modules.get_mut(parent) else { return 0 };
        if let Some(child) = above.children.get(name) {
            return *child;
        }
        above.children.insert(name.to_owned(), made);
        let path = [&above.path[..], &[name.to_owned()]].concat();
        self.modules.push(Module::new(path, file, Some(parent)));
        made
    }

    /// The module of a file.
    pub(super) fn module_of(&self, file: usize) -> usize {
        let path = self.files.get(file).map(|source| module_path(&self.folder, &source.shown));
        path.unwrap_or_default().iter().fold(0, |module, name| {
            self.modules.get(module).and_then(|own| own.children.get(name)).copied().unwrap_or(module)
        })
    }

    /// The module within another one, if it has one of that name.
    pub(super) fn inner(&self, module: usize, name: &str) -> Option<usize> {
        self.modules.get(module)?.children.get(name).copied()
    }

    /// Where a path that stands in a module leads, if it stays in the crate.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Option<Target> {
        self.resolve_within(module, path, false, STEPS_MAX)
    }

    fn resolve_within(
        &self,
        module: usize,
        path: &[String],
        wants_module: bool,
        steps: usize,
    ) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let own = self.modules.get(module)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(0, rest, wants_module, steps),
            "self" => self.walk(module, rest, wants_module, steps),
            "super" => self.walk(own.parent?, rest, wants_module, steps),
            _ if own.children.contains_key(first) => self.walk(module, path, wants_module, steps),
            // A function may have the name of another crate: no path goes on behind a function.
            _ if !rest.is_empty() && own.items.contains(first) && is_lower(first) => None,
            _ if own.items.contains(first) => Some(Target { module, is_whole: false }),
            // A path that begins with its own name begins with a crate.
            _ if own.names.get(first).is_some_and(|behind| behind.first() != Some(first)) => {
                let found = self.walk(module, path, wants_module, steps)?;
                let is_module = || {
                    self.walk(module, std::slice::from_ref(first), true, steps)
                        .is_some_and(|found| found.is_whole)
                };
                (rest.is_empty() || !is_lower(first) || is_module()).then_some(found)
            }
            _ => None,
        }
    }

    /// Follows the names of a path from a module.
    fn walk(&self, module: usize, path: &[String], wants_module: bool, steps: usize) -> Option<Target> {
        let own = self.modules.get(module)?;
        let Some((first, rest)) = path.split_first() else { return Some(Target { module, is_whole: true }) };
        let wants_inner = wants_module || !rest.is_empty();
        let inside = Target { module, is_whole: false };
        match first.as_str() {
            "super" => return self.walk(own.parent?, rest, wants_module, steps),
            "self" => return self.walk(module, rest, wants_module, steps),
            "*" => return Some(inside),
            _ => {}
        }
        let child = own.children.get(first);
        if let Some(child) = child.filter(|_| wants_inner) {
            return self.walk(*child, rest, wants_module, steps);
        }
        if own.items.contains(first) {
            return Some(inside);
        }
        if let Some(behind) = own.names.get(first) {
            let found = self.resolve_within(module, behind, wants_inner, steps)?;
            return if found.is_whole {
                self.walk(found.module, rest, wants_module, steps)
            } else {
                Some(found)
            };
        }
        if let Some(child) = child {
            return self.walk(*child, rest, wants_module, steps);
        }
        let handed_on = own.globs.iter().find_map(|glob| {
            let from = self.resolve_within(module, glob, true, steps)?;
            let from = from.is_whole.then_some(from.module)?;
            (from != module && self.has(from, first)).then(|| self.walk(from, path, wants_module, steps))?
        });
        Some(handed_on.unwrap_or(inside))
    }

    fn has(&self, module: usize, name: &str) -> bool {
        let own = self.modules.get(module);
        own.is_some_and(|own| {
            own.items.contains(name) || own.names.contains_key(name) || own.children.contains_key(name)
        })
    }
}

impl Module {
    /// Its names from the root of the crate, which has none.
    pub(super) fn path(&self) -> &[String] {
        &self.path
    }

    fn new(path: Vec<String>, file: usize, parent: Option<usize>) -> Self {
        let (children, items, names) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { path, file, parent, children, items, names, globs: Vec::new() }
    }
}

fn is_lower(name: &str) -> bool {
    name.starts_with(char::is_lowercase)
}

/// `crates/a/src/read/page.rs` is the module `read::page`.
fn module_path(folder: &str, shown: &str) -> Vec<String> {
    let path = shown.strip_prefix(folder).unwrap_or(shown).trim_start_matches('/').trim_end_matches(".rs");
    let is_root = |at: usize, name: &str| at == 0 && ["lib", "main"].contains(&name);
    let names = path.split('/').enumerate().filter(|(at, name)| *name != "mod" && !is_root(*at, name));
    names.map(|(_, name)| name.to_owned()).collect()
}

/// Every path of a tree of imports, with the name that it gets here.
pub(super) fn imported(tree: &syn::UseTree, before: &[String]) -> Vec<(String, Vec<String>)> {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        syn::UseTree::Path(path) => imported(&path.tree, &with(&path.ident)),
        syn::UseTree::Name(name) if name.ident == "self" => {
            vec![(before.last().cloned().unwrap_or_default(), before.to_vec())]
        }
        syn::UseTree::Name(name) => vec![(name.ident.to_string(), with(&name.ident))],
        syn::UseTree::Rename(name) => vec![(name.rename.to_string(), with(&name.ident))],
        syn::UseTree::Glob(_) => vec![("*".to_owned(), [before, &["*".to_owned()]].concat())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(|tree| imported(tree, before)).collect(),
    }
}

/// Collects what a file's modules define and import.
struct Declarations<'a, 'b> {
    made: &'a mut Crate<'b>,
    module: usize,
    file: usize,
}

impl Declarations<'_, '_> {
    fn define(&mut self, name: &syn::Ident) {
        if let Some(own) = self.made.modules.get_mut(self.module) {
            own.items.insert(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Declarations<'_, '_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if is_test_only(attributes(item)) {
            return;
        }
        match item {
            syn::Item::Const(item) => self.define(&item.ident),
            syn::Item::Enum(item) => self.define(&item.ident),
            syn::Item::Fn(item) => self.define(&item.sig.ident),
            syn::Item::Static(item) => self.define(&item.ident),
            syn::Item::Struct(item) => self.define(&item.ident),
            syn::Item::Trait(item) => self.define(&item.ident),
            syn::Item::Type(item) => self.define(&item.ident),
            syn::Item::Union(item) => self.define(&item.ident),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if item.content.is_some() {
            let inner = self.made.child(self.module, &item.ident.to_string(), self.file);
            let outer = std::mem::replace(&mut self.module, inner);
            syn::visit::visit_item_mod(self, item);
            self.module = outer;
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let Some(own) = self.made.modules.get_mut(self.module) else { return };
        for (name, mut path) in imported(&item.tree, &[]) {
            if name == "*" {
                path.pop();
                own.globs.push(path);
            } else {
                own.names.insert(name, path);
            }
        }
    }
}

/// The attributes of an item that can hold others or be one that others name.
pub(super) fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str) -> Vec<String> {
        path.split("::").map(str::to_owned).collect()
    }

    /// The module that a path in `crates/a/src/read/page.rs` leads to.
    fn found(path: &str) -> Option<(String, bool)> {
        let sources = [
            ("lib.rs", "mod read; mod write; pub use write::Put; pub fn start() {}"),
            ("read/mod.rs", "mod page; pub mod check; pub use check::{check, Check as Test}; pub use crate::write::*; use std::fmt;"),
            ("read/check.rs", "pub fn check() {} pub struct Check; pub mod inner { pub struct Deep; }"),
            ("read/page.rs", "use super::check; use crate::{start, write as other}; use bytes; use std::time::Duration; fn time() {}"),
            ("write.rs", "pub struct Put; pub enum Kind { One }"),
        ]
        .map(|(file, text)| Source::new(&format!("crates/a/src/{file}"), text.to_owned(), false).unwrap());
        let crates = crates(&sources);
        let own = &crates[0];
        let page = own.modules.iter().position(|module| module.path() == ["read", "page"]).unwrap();
        let target = own.resolve(page, &words(path))?;
        Some((own.modules[target.module].path().join("::"), target.is_whole))
    }

    #[test]
    fn a_path_leads_to_the_module_that_defines_its_name() {
        for (path, module) in [
            ("crate::write::Kind::One", "write"),
            ("crate::Put", "write"),
            ("crate::start", ""),
            ("super::Test::new", "read::check"),
            ("super::check::inner::Deep", "read::check::inner"),
            ("super::super::write::Put", "write"),
            ("super::Kind", "write"),
            ("other::Put", "write"),
            ("crate::read::*", "read"),
            ("self::super::unknown", "read"),
        ] {
            assert_eq!(found(path), Some((module.to_owned(), false)), "{path}");
        }
    }

    #[test]
    fn a_name_of_a_module_and_of_a_function_is_the_module_only_before_another_name() {
        assert_eq!(found("super::check"), Some(("read::check".to_owned(), false)));
        assert_eq!(found("check::Check"), Some(("read::check".to_owned(), false)));
        assert_eq!(found("crate::write"), Some(("write".to_owned(), true)));
    }

    #[test]
    fn what_leaves_the_crate_leads_nowhere() {
        for path in [
            "std::fmt::Debug",
            "Duration",
            "bytes::Bytes",
            "super::fmt::Debug",
            "page",
            "Vec::new",
            "time::Date",
            "start::Point",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
