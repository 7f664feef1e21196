//! Names of types, functions, modules and files that say nothing to a database engineer.

use syn::visit::Visit;

use super::allowance::{Fault, Rule};
use super::source::Source;

/// Words that are no part of the name of a type, module or file, nor the whole name of a function.
const ANYWHERE: &[(&str, &str)] = &[
    ("beside", "`sidecar` or `neighbour`"),
    ("bond", "`match`"),
    ("carried", "`copied` or `kept`"),
    ("former", "`stale`, `previous` or `legacy`"),
    ("makeup", "`provenance`"),
    ("nought", "`zero`"),
    ("passage", "`rekey`, or `LatchGuard`"),
    ("patience", "`timeout`"),
    ("told", "`report`, `request` or `settings`"),
    ("whoever", "`caller` or `writer`"),
    ("young", "`row_cache` or `newest`"),
];
/// Words that are not the whole name, though they may be a part of one.
const WHOLE: &[(&str, &str)] = &[
    ("acknowledged", "`watermark` or `durable`"),
    ("gate", "`latch` or `admission`"),
    ("recent", "`conflicts`"),
    ("replaced", "`flush_policy` or `overwritten_rows`"),
];

pub(super) fn check(source: &Source, faults: &mut Vec<Fault>) {
    let mut names = Names { source, faults };
    let stem = source.shown.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let folder = source.shown.trim_end_matches("/mod.rs").rsplit('/').next().unwrap_or_default().to_owned();
    names.check(if stem == "mod" { &folder } else { &stem }, "file", ANYWHERE);
    names.visit_file(&source.syntax);
}

struct Names<'a> {
    source: &'a Source,
    faults: &'a mut Vec<Fault>,
}

impl Names<'_> {
    fn check(&mut self, name: &str, kind: &str, in_parts: &[(&str, &str)]) {
        let parts = parts(name);
        let part = in_parts.iter().find(|(word, _)| parts.iter().any(|part| part == word));
        let whole = WHOLE
            .iter()
            .chain(ANYWHERE)
            .find(|(word, _)| parts.len() == 1 && parts.iter().any(|part| part == word));
        if let Some((word, instead)) = part.or(whole) {
            let text = format!(
                "{}: {kind} `{name}`: `{word}` says nothing here: name what it is, such as {instead}",
                self.source.shown
            );
            self.faults.push(Fault { rule: Rule::Names, part: self.source.part().to_owned(), text });
        }
    }
}

/// The words of a name in `CamelCase` or `snake_case`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for character in name.chars() {
        if character == '_' || character.is_uppercase() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut().filter(|_| character != '_') {
            part.extend(character.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.check(&item.ident.to_string(), "struct", ANYWHERE);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.check(&item.ident.to_string(), "enum", ANYWHERE);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.check(&item.ident.to_string(), "type", ANYWHERE);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.check(&item.ident.to_string(), "trait", ANYWHERE);
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // The file of any other module is checked by its own name.
        if item.content.is_some() {
            self.check(&item.ident.to_string(), "module", ANYWHERE);
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.check(&signature.ident.to_string(), "function", &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(shown: &str, text: &str) -> usize {
        let mut faults = Vec::new();
        check(&Source::new(shown, text.to_owned(), false).unwrap(), &mut faults);
        faults.len()
    }

    #[test]
    fn odd_words_are_refused_in_names_of_types_modules_and_files() {
        assert_eq!(
            faults("crates/a/src/lib.rs", "struct YoungRows; enum Told {} mod beside {} type Bond = u8;"),
            4
        );
        assert_eq!(faults("crates/a/src/patience.rs", ""), 1);
        assert_eq!(faults("crates/a/src/young/mod.rs", ""), 1);
    }

    #[test]
    fn everyday_words_are_refused_only_as_whole_names() {
        assert_eq!(faults("crates/a/src/gate.rs", "struct Recent; fn told() {}"), 3);
        assert_eq!(
            faults("crates/a/src/b.rs", "struct RecentBackups; fn rows_are_told() {} fn replaced_rows() {}"),
            0
        );
    }
}
