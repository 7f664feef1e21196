//! The order of the modules within one, as its file states it: `//! Layers: tables < read, write < batch`.
//!
//! Any file that has modules may state one: a crate's `lib.rs`, a folder's `mod.rs`. A module imports only
//! from layers before its own. Modules joined by a comma do not import each other. Modules that the order
//! does not name are not checked, and neither is the file that states it.

use std::collections::BTreeMap;

use super::imports::{self, Import};
use super::modules::Crate;

const LINE: &str = "//! Layers: ";

/// The place of each module in an order.
type Places = BTreeMap<String, usize>;

pub(super) fn check(crates: &[Crate<'_>], faults: &mut Vec<String>) {
    for own in crates {
        let orders = orders(own, faults);
        for (file, source) in own.files.iter().enumerate() {
            let imports = imports::of_file(own, file);
            let mut found: Vec<String> = orders
                .iter()
                .flat_map(|(parent, places)| {
                    imports.iter().filter_map(|import| fault(own, parent, places, import))
                })
                .collect();
            found.dedup();
            faults.extend(found.into_iter().map(|text| format!("{}:{text}", source.shown)));
        }
    }
}

/// The orders of a crate, each with the path of the module that states it.
fn orders(own: &Crate<'_>, faults: &mut Vec<String>) -> Vec<(Vec<String>, Places)> {
    let mut orders = Vec::new();
    for (file, source) in own.files.iter().enumerate() {
        let Some(order) = order(&source.text) else { continue };
        let module = own.module_of(file);
        let places = places(&order);
        for name in places.keys().filter(|name| own.inner(module, name).is_none()) {
            faults.push(format!("{}: Layers: there is no module `{name}`", source.shown));
        }
        let path = own.modules.get(module).map(|module| module.path().to_vec());
        orders.push((path.unwrap_or_default(), places));
    }
    orders
}

/// The order that a file's header states, which may take several lines.
fn order(text: &str) -> Option<String> {
    let mut lines =
        text.lines().take_while(|line| line.starts_with("//!")).skip_while(|line| !line.starts_with(LINE));
    let first = lines.next()?.strip_prefix(LINE)?;
    let further = lines.map_while(|line| line.strip_prefix("//! "));
    Some(std::iter::once(first).chain(further).collect::<Vec<_>>().join(" "))
}

/// `tables < read, write`: the place of each name.
fn places(line: &str) -> Places {
    let layers = line.trim_end_matches('.').split(" < ").enumerate();
    layers
        .flat_map(|(place, names)| names.split(", ").map(move |name| (name.trim().to_owned(), place)))
        .collect()
}

/// What is wrong with an import by the order of the modules within `parent`.
fn fault(of: &Crate<'_>, parent: &[String], places: &Places, import: &Import) -> Option<String> {
    let within = |module: usize| of.modules.get(module)?.path().strip_prefix(parent)?.first();
    let (own, target) = (within(import.module)?, within(import.target.module)?);
    let (here, there) = (places.get(own)?, places.get(target)?);
    if own == target || there < here {
        return None;
    }
    let relation = if there == here { "stands next to" } else { "stands above" };
    Some(format!(
        "{}: `{own}` imports `{}` of `{target}`, which {relation} it in the order of layers: move what both need below",
        import.line, import.path
    ))
}
#[cfg(test)]
mod tests {
    use super::super::modules::crates;
    use super::super::source::Source;
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
        check(&crates(&sources), &mut faults);
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

    #[test]
    fn a_folder_states_an_order_of_its_own_modules() {
        let module =
            ("crates/a/src/read/mod.rs", "//! Reads.\n//!\n//! Layers: row < page\nmod row;\nmod page;\n");
        let row = "crates/a/src/read/row/mod.rs";
        let page = ("crates/a/src/read/page.rs", "use super::row::Row; use crate::read::row;");
        assert_eq!(faults(&[WRITE, module, page, (row, "pub struct Row;")]), [""; 0]);
        let found = faults(&[WRITE, module, page, (row, "use crate::read::page::Page; pub struct Row;")]);
        assert_eq!(found.len(), 1);
        let start = "crates/a/src/read/row/mod.rs:1: `row` imports `crate::read::page::Page` of `page`, which stands above it";
        assert!(found[0].starts_with(start), "{}", found[0]);
    }
}
