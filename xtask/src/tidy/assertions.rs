//! How many assertions shipped code has: `assert!`, `assert_eq!` and `assert_ne!`, which stay on in release.

use std::collections::BTreeMap;

use syn::spanned::Spanned as _;
use syn::visit::Visit;

use super::source::{Source, is_test_only};

/// Assertions per 10,000 shipped lines of each crate.
pub(super) fn densities(sources: &[Source]) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test && source.shown.starts_with("crates/")) {
        let count = counts.entry(source.part().to_owned()).or_default();
        count.lines += source.text.lines().count();
        count.visit_file(&source.syntax);
    }
    let density = |count: Count| {
        let lines = count.lines.saturating_sub(count.test_lines).max(1);
        u64::try_from(count.assertions * 10_000 / lines).unwrap_or(u64::MAX)
    };
    counts.into_iter().map(|(part, count)| (part, density(count))).collect()
}

#[derive(Default)]
struct Count {
    assertions: usize,
    lines: usize,
    /// Lines of items that only tests are built with.
    test_lines: usize,
}

impl<'ast> Visit<'ast> for Count {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => item.attrs.as_slice(),
            syn::Item::Fn(item) => item.attrs.as_slice(),
            syn::Item::Impl(item) => item.attrs.as_slice(),
            _ => &[],
        };
        if is_test_only(attributes) {
            let span = item.span();
            self.test_lines += span.end().line.saturating_sub(span.start().line) + 1;
        } else {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let asserts = ["assert", "assert_eq", "assert_ne"];
        self.assertions += usize::from(asserts.iter().any(|name| item.path.is_ident(name)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_of_shipped_code_are_counted_per_shipped_line() {
        let text = "fn a() {\n    assert!(true);\n    debug_assert!(true);\n}\nconst _: () = assert!(1 < 2);\n\
            #[cfg(test)]\nmod tests {\n    fn b() {\n        assert_eq!(1, 1);\n    }\n}\n";
        let shipped = Source::new("crates/a/src/lib.rs", text.to_owned(), false).unwrap();
        let other = Source::new("crates/a/tests/b.rs", text.to_owned(), true).unwrap();
        // Two assertions on five lines.
        assert_eq!(densities(&[shipped, other]), BTreeMap::from([("crates/a".to_owned(), 4000)]));
    }
}
