//! Rings: files of a crate that import each other in a circle, so that none of them can be read without the
//! others. Each place counts its files that are in one, and these counts only fall.
//!
//! The file of a folder's module may do two things: use the files of its folder, and define what these share.
//! That alone is no ring, as it stands above them in the first and below them in the second. So each file is
//! two nodes, and only what others outside of the folder import from it reaches both.

use std::collections::{BTreeMap, BTreeSet};

use super::allowance::{Fault, Rule};
use super::imports;
use super::modules::{Crate, Module};

/// Imports shown of each file of a ring.
const SHOWN_MAX: usize = 4;

/// A file as what stands above or below the files of its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Above(usize),
    Below(usize),
}

impl Node {
    fn file(self) -> usize {
        match self {
            Self::Above(file) | Self::Below(file) => file,
        }
    }
}

/// Of each node, those that it imports from, each with the first place of it.
type Arrows = BTreeMap<Node, BTreeMap<Node, String>>;

/// One fault for each file that is in a ring.
pub(super) fn check(crates: &[Crate<'_>], faults: &mut Vec<Fault>) {
    for own in crates {
        let arrows = arrows(own);
        for ring in rings(&arrows) {
            faults.extend(files(&ring).into_iter().map(|file| fault(own, &arrows, &ring, file)));
        }
    }
}

/// How many rings there are in each crate.
pub(super) fn count(crates: &[Crate<'_>]) -> usize {
    crates.iter().map(|own| rings(&arrows(own)).len()).sum()
}

fn fault(own: &Crate<'_>, arrows: &Arrows, ring: &BTreeSet<Node>, file: usize) -> Fault {
    let shown = |file: usize| own.files.get(file).map_or("", |source| &source.shown);
    let short = |file: usize| shown(file).strip_prefix(&format!("{}/", own.folder)).unwrap_or_default();
    let inside = [Node::Above(file), Node::Below(file)].into_iter().filter(|node| ring.contains(node));
    let to = inside.filter_map(|node| arrows.get(&node)).flatten();
    let to = to.filter(|(node, _)| ring.contains(node) && node.file() != file);
    let mut imports: Vec<String> =
        to.map(|(node, place)| format!("{} ({place})", short(node.file()))).collect();
    let more = imports.len().saturating_sub(SHOWN_MAX);
    imports.truncate(SHOWN_MAX);
    if more > 0 {
        imports.push(format!("{more} more"));
    }
    let text = format!(
        "{}: in a ring of {} files, as it imports from {}: move what both sides need below them",
        shown(file),
        files(ring).len(),
        imports.join(", ")
    );
    Fault { rule: Rule::Rings, part: place(own, short(file)), text }
}

fn files(ring: &BTreeSet<Node>) -> BTreeSet<usize> {
    ring.iter().map(|node| node.file()).collect()
}

/// The folder of the crate that a file belongs to: `crates/a/src/read` of `crates/a/src/read/bind/key.rs`.
fn place(own: &Crate<'_>, short: &str) -> String {
    short.split_once('/').map_or_else(|| own.folder.clone(), |(first, _)| format!("{}/{first}", own.folder))
}

fn arrows(own: &Crate<'_>) -> Arrows {
    let mut arrows = Arrows::new();
    for file in 0..own.files.len() {
        let same = arrows.entry(Node::Above(file)).or_default();
        same.insert(Node::Below(file), String::new());
        for import in imports::of_file(own, file) {
            let Some(target) = own.modules.get(import.target.module).map(|module| module.file) else {
                continue;
            };
            if target == file || import.target.is_whole || import.is_front_door {
                continue;
            }
            let from = if is_within(own, target, file) { Node::Above(file) } else { Node::Below(file) };
            let to = if is_within(own, file, target) { Node::Below(target) } else { Node::Above(target) };
            let place = format!("line {}: {}", import.line, import.path);
            arrows.entry(from).or_default().entry(to).or_insert(place);
        }
    }
    arrows
}

/// Whether a file's module is within another one's.
fn is_within(own: &Crate<'_>, file: usize, other: usize) -> bool {
    let path = |file: usize| own.modules.get(own.module_of(file)).map(Module::path);
    path(file).zip(path(other)).is_some_and(|(path, other)| path != other && path.starts_with(other))
}

/// The sets of nodes of which each leads to every other one.
fn rings(arrows: &Arrows) -> Vec<BTreeSet<Node>> {
    let reached: BTreeMap<Node, BTreeSet<Node>> =
        arrows.keys().map(|node| (*node, reached(arrows, *node))).collect();
    let leads = |from: &Node, to: &Node| reached.get(from).is_some_and(|reached| reached.contains(to));
    let mut rings: Vec<BTreeSet<Node>> = Vec::new();
    for node in arrows.keys().filter(|node| leads(node, node)) {
        if !rings.iter().any(|ring| ring.contains(node)) {
            rings.push(
                arrows.keys().filter(|other| leads(node, other) && leads(other, node)).copied().collect(),
            );
        }
    }
    rings
}

/// All nodes that one leads to, in any number of steps.
fn reached(arrows: &Arrows, from: Node) -> BTreeSet<Node> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(node) = next.pop() {
        let targets = arrows.get(&node).into_iter().flat_map(BTreeMap::keys);
        next.extend(targets.filter(|target| reached.insert(**target)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::super::modules::crates;
    use super::super::source::Source;
    use super::*;

    fn faults(files: &[(&str, &str)]) -> Vec<Fault> {
        let source = |(shown, text): &(&str, &str)| Source::new(shown, (*text).to_owned(), false).unwrap();
        let sources: Vec<Source> = files.iter().map(source).collect();
        let mut faults = Vec::new();
        check(&crates(&sources), &mut faults);
        faults
    }

    const ROOT: (&str, &str) = ("crates/a/src/lib.rs", "pub use read::Page; mod read; mod write;");
    const MODULE: (&str, &str) = ("crates/a/src/read/mod.rs", "pub use page::Page; mod page; mod row;");

    #[test]
    fn files_that_import_each_other_over_any_way_are_each_a_fault_of_their_folder() {
        let found = faults(&[
            ROOT,
            MODULE,
            ("crates/a/src/read/page.rs", "use super::row::Row; pub struct Page;"),
            ("crates/a/src/read/row.rs", "use crate::write::Put; pub struct Row;"),
            ("crates/a/src/write.rs", "pub struct Put; fn a() { crate::read::Page; }"),
        ]);
        let parts: Vec<&str> = found.iter().map(|fault| fault.part.as_str()).collect();
        assert_eq!(parts, ["crates/a/src/read", "crates/a/src/read", "crates/a/src"]);
        let first = "crates/a/src/read/page.rs: in a ring of 3 files, as it imports from read/row.rs (line 1: super::row::Row)";
        assert!(found[0].text.starts_with(first), "{}", found[0].text);
    }

    #[test]
    fn files_that_import_in_one_direction_are_in_no_ring() {
        let found = faults(&[
            ROOT,
            MODULE,
            ("crates/a/src/read/page.rs", "use super::row::Row; use crate::write::Put; pub struct Page;"),
            ("crates/a/src/read/row.rs", "pub struct Row;"),
            ("crates/a/src/write.rs", "use crate::read; pub struct Put;"),
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn a_module_and_the_files_within_it_are_a_ring_only_over_a_file_outside() {
        let module = (
            "crates/a/src/read/mod.rs",
            "mod page; pub struct Settings; pub fn run() { page::page(Settings) }",
        );
        let page = "use super::Settings; pub fn page(_: Settings) {}";
        let file = "crates/a/src/read/page.rs";
        assert_eq!(faults(&[("crates/a/src/lib.rs", "mod read;"), module, (file, page)]), []);
        // The file outside uses the module, which uses the file within it, which uses the one outside.
        let outside = ("crates/a/src/write.rs", "use crate::read::run; pub struct Put;");
        let page = format!("{page} use crate::write::Put;");
        assert_eq!(faults(&[ROOT, module, outside, (file, &page)]).len(), 3);
        // What the file within uses of the module uses the one outside, which uses the file within.
        let module =
            ("crates/a/src/read/mod.rs", "pub mod page; use crate::write::Put; pub struct Settings(Put);");
        let outside = ("crates/a/src/write.rs", "use crate::read::page::page; pub struct Put;");
        assert_eq!(
            faults(&[ROOT, module, outside, (file, "use super::Settings; pub fn page() {}")]).len(),
            3
        );
    }
}
