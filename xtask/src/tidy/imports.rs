//! What each file's shipped code imports from the modules of its crate: `use` declarations and paths, also
//! those within calls of macros.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::modules::{Crate, Module, Target, attributes, imported};
use super::source::is_test_only;

/// One place that names something of a module.
pub(super) struct Import {
    /// The module where it stands.
    pub(super) module: usize,
    pub(super) target: Target,
    /// Whether a module hands on a name of one within it, which is no use of that name.
    pub(super) is_front_door: bool,
    pub(super) line: usize,
    /// As it is written.
    pub(super) path: String,
}

/// The imports of one file of a crate, in the order of its lines.
pub(super) fn of_file(of: &Crate<'_>, file: usize) -> Vec<Import> {
    let mut walk = Walk { of, module: of.module_of(file), found: Vec::new() };
    if let Some(source) = of.files.get(file) {
        walk.visit_file(&source.syntax);
    }
    walk.found.sort_by_key(|import| import.line);
    walk.found
}

struct Walk<'a, 'b> {
    of: &'a Crate<'b>,
    module: usize,
    found: Vec<Import>,
}

impl Walk<'_, '_> {
    fn take(&mut self, path: &[String], line: usize, is_handed_on: bool) {
        let Some(target) = self.of.resolve(self.module, path) else { return };
        let path_of = |module: usize| self.of.modules.get(module).map(Module::path);
        let is_within = path_of(target.module)
            .zip(path_of(self.module))
            .is_some_and(|(target, own)| target.starts_with(own));
        let is_front_door = is_handed_on && is_within;
        self.found.push(Import { module: self.module, target, is_front_door, line, path: path.join("::") });
    }

    /// Paths of several names in what a macro is called with.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        // A name after a dot is a field or a method.
        let mut is_member = false;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => path.push(name.to_string()),
                TokenTree::Ident(name) => {
                    self.end(&mut path, line);
                    if !is_member {
                        line = name.span().start().line;
                        path.push(name.to_string());
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => {
                    self.end(&mut path, line);
                    self.tokens(group.stream());
                }
                TokenTree::Punct(mark) => {
                    self.end(&mut path, line);
                    is_member = mark.as_char() == '.';
                    colons = 0;
                    continue;
                }
                TokenTree::Literal(_) => self.end(&mut path, line),
            }
            (colons, is_member) = (0, false);
        }
        self.end(&mut path, line);
    }

    fn end(&mut self, path: &mut Vec<String>, line: usize) {
        if path.len() > 1 {
            self.take(path, line, false);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Walk<'_, '_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test_only(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let Some(inner) = self.of.inner(self.module, &item.ident.to_string()) else { return };
        if item.content.is_some() {
            let outer = std::mem::replace(&mut self.module, inner);
            syn::visit::visit_item_mod(self, item);
            self.module = outer;
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
        for (_, path) in imported(&item.tree, &[]) {
            self.take(&path, item.use_token.span.start().line, is_handed_on);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
        self.take(&names, line, false);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
        syn::visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::super::modules::crates;
    use super::super::source::Source;
    use super::*;

    /// The modules that a text in `crates/a/src/read/page.rs` imports from.
    fn imports(text: &str) -> Vec<String> {
        let sources = [
            ("lib.rs", ""),
            ("read/mod.rs", "pub struct Page;"),
            ("read/page.rs", text),
            ("write.rs", "pub struct Put;"),
        ]
        .map(|(file, text)| Source::new(&format!("crates/a/src/{file}"), text.to_owned(), false).unwrap());
        let crates = crates(&sources);
        let file = crates[0].files.iter().position(|file| file.shown.ends_with("page.rs")).unwrap();
        let found = of_file(&crates[0], file);
        let modules = found.iter().map(|one| crates[0].modules[one.target.module].path().join("::"));
        modules.filter(|module| !module.starts_with("read::page")).collect()
    }

    #[test]
    fn imports_are_seen_however_they_are_written() {
        for text in [
            "use crate::write::Put;",
            "use crate::{read::page::Own, write::{Put}};",
            "use super::super::write::Put as Other;",
            "use crate::write::{self};",
            "fn a(_: crate::write::Put) {}",
            "fn a() { crate::write::put(); }",
            "fn a() { println!(\"{}\", crate::write::put(1)); }",
            "fn a() { if true { use crate::write::Put; } }",
            "mod inner { use super::super::super::write::Put; }",
            "impl crate::write::Put { }",
        ] {
            assert!(imports(text).contains(&"write".to_owned()), "{text}");
        }
        assert_eq!(imports("use super::Page; use super::super::write::Put;"), ["read", "write"]);
    }

    #[test]
    fn tests_and_names_of_others_are_no_imports() {
        for text in [
            "#[cfg(test)] mod tests { use crate::write::Put; }",
            "#[cfg(test)] use crate::write::Put;",
            "struct A; impl A { #[cfg(test)] fn a() { crate::write::put(); } }",
            "fn a(write: u8) { println!(\"{}\", self.write::<u8>()); }",
            "use std::fmt::Write;",
        ] {
            assert_eq!(imports(text), [""; 0], "{text}");
        }
    }
}
