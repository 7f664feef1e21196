//! Units and limits that DynamoDB defines: they stand in `semantics` and nowhere else.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::allowance::{Fault, Rule};
use super::source::{Source, is_test_only};

const HOME: &str = "crates/semantics/src/";
const LIMITS: &str = "crates/semantics/src/limits.rs";
const SHARES: &str = "keywright_semantics::share";
/// Names of a millionth or a percentage, however they are scaled.
const PARTS_PER_MILLION: &[&str] = &["PPM", "ALL_PPM", "PPM_PER_PERCENT"];

/// The names that `semantics` gives to limits.
pub(super) fn defined(sources: &[Source]) -> BTreeSet<String> {
    let home = sources.iter().filter(|source| source.shown == LIMITS);
    let constants = home.flat_map(|source| &source.syntax.items).filter_map(|item| match item {
        syn::Item::Const(constant) if constant.ident != "_" => Some(constant.ident.to_string()),
        _ => None,
    });
    constants.collect()
}

pub(super) fn check(source: &Source, defined: &BTreeSet<String>, faults: &mut Vec<Fault>) {
    if source.is_test || source.shown.starts_with(HOME) || !source.shown.starts_with("crates/") {
        return;
    }
    Constants { source, defined, faults }.visit_file(&source.syntax);
}

struct Constants<'a> {
    source: &'a Source,
    defined: &'a BTreeSet<String>,
    faults: &'a mut Vec<Fault>,
}

impl<'ast> Visit<'ast> for Constants<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let name = item.ident.to_string();
        let is_unit = name.ends_with("_UNIT_BYTES");
        let is_share = PARTS_PER_MILLION.contains(&name.as_str());
        let is_item_limit = name.ends_with("ITEM_BYTES_MAX");
        let is_alias = matches!(&*item.expr, syn::Expr::Path(_));
        let is_defined = self.defined.contains(&name);
        if (is_unit || is_share || is_item_limit || is_defined) && !is_alias {
            let instead = if is_defined {
                format!("use keywright_semantics::limits::{name}")
            } else if is_share {
                format!("use {SHARES}")
            } else {
                format!("move it to {LIMITS}")
            };
            let text = format!("{}: constant `{name}`: {instead}", self.source.shown);
            self.faults.push(Fault { rule: Rule::Limits, part: self.source.part().to_owned(), text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(shown: &str, text: &str) -> Source {
        Source::new(shown, text.to_owned(), false).unwrap()
    }

    #[test]
    fn units_and_limits_of_the_service_are_refused_outside_semantics() {
        let limits = source(LIMITS, "pub const PAGE_BYTES_MAX: usize = 1; const _: () = ();");
        let text = "const READ_UNIT_BYTES: u64 = 4096; const PAGE_BYTES_MAX: u64 = 1; const ALL_PPM: u64 = 1;
            const OWN_BYTES_MAX: usize = 2; const PAGE_BYTES_MAX: usize = limits::PAGE_BYTES_MAX;
            #[cfg(test)] mod tests { const WRITE_UNIT_BYTES: u64 = 1; }";
        let sources =
            [limits, source("crates/engine/src/a.rs", text), source("crates/semantics/src/b.rs", text)];
        let defined = defined(&sources);
        let mut faults = Vec::new();
        for source in &sources {
            check(source, &defined, &mut faults);
        }
        let faults: Vec<&str> = faults.iter().map(|fault| fault.text.as_str()).collect();
        assert_eq!(
            faults,
            [
                "crates/engine/src/a.rs: constant `READ_UNIT_BYTES`: move it to crates/semantics/src/limits.rs",
                "crates/engine/src/a.rs: constant `PAGE_BYTES_MAX`: use keywright_semantics::limits::PAGE_BYTES_MAX",
                "crates/engine/src/a.rs: constant `ALL_PPM`: use keywright_semantics::share",
            ]
        );
    }
}
