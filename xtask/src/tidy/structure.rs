//! Headers of files, lengths of functions, and texts of the service outside the messages modules.

use syn::visit::Visit;

use super::source::{Source, is_test_only};

/// A function longer than this counts against the budget.
pub(super) const LONG_FUNCTION_LINES: usize = 100;

/// The share of all function lines that may sit in long functions, in percent.
const LONG_FUNCTION_SHARE_PERCENT_MAX: usize = 5;

/// Texts that must not appear in the repository's own code outside the messages modules: the openings of the
/// service's error sentences.
const MESSAGE_OPENINGS: &[&str] =
    &["One or more parameter values were invalid", "Invalid ConditionExpression", "The provided key element"];

pub(super) fn check(source: &Source, lengths: &mut Lengths, faults: &mut Vec<String>) {
    if !source.text.starts_with("//!") {
        faults.push(format!("{}: the file does not open with //! saying what it owns", source.shown));
    }
    let mut visitor = Visitor { file: &source.shown, lengths, faults };
    visitor.visit_file(&source.syntax);
}

#[derive(Default)]
pub(super) struct Lengths {
    pub(super) functions: usize,
    pub(super) all_lines: usize,
    pub(super) long_lines: usize,
    long: Vec<(usize, String)>,
}

pub(super) fn check_lengths(lengths: &Lengths, faults: &mut Vec<String>) {
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
