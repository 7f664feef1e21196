//! Which slots a part of a problem may use.

use std::collections::BTreeSet;

use keywright_semantics::limits::LOCAL_INDEXES_MAX;

use super::ilp::Part;
use super::problem::{Pattern, Problem, Slot};

/// Where views may stand and patterns may be asked.
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    /// Where requests go: a second item is an item of the table.
    pub(super) locations: Vec<Slot>,
    pub(super) indexes: Vec<Slot>,
    /// Whether second items of entities are offered that no write is known to keep.
    pub(super) unkept: bool,
    /// Whether no second items are offered but those that keep something unique.
    pub(super) guards_only: bool,
}

/// What may be used besides the items and global indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// What can be part of a cheapest design when there are as many global indexes as anybody wants.
    Usual,
    /// Whatever there is: where indexes are few, and for the proof that fewer do not do.
    All,
    /// One item for each record, and entries of it in global indexes: nothing else but the local indexes that are kept.
    Entries,
}

/// A second item costs two writes where an index entry costs one, and makes transactions of its item's writes: it is in no
/// cheapest design unless a read must be strong, unless it keeps another entity out of an index that a request for both
/// would need, or unless it is there anyway to keep something unique. A local index costs what a global one does and binds its table, so that it is wanted for strong reads only.
pub(super) fn layout(problem: &Problem, part: &Part, globals: usize) -> Layout {
    let strong = ways(problem, part, |pattern| pattern.strong);
    let kept = problem.kept.locals.len();
    // Of the same key there may be local indexes that hold more and less.
    let useful = match part.offer {
        Offer::Usual => strong,
        Offer::All => ways(problem, part, |_| true),
        Offer::Entries => 0,
    };
    let locals = if part.local { useful.saturating_sub(1).min(LOCAL_INDEXES_MAX).max(kept) } else { kept };
    let together = part.patterns.iter().filter_map(|place| problem.patterns.get(*place));
    let mut entities = part.entities.iter().filter_map(|entity| problem.entities.get(*entity));
    let guarded = entities.any(|own| !own.uniques.is_empty());
    let (second_items, guards_only) = match part.offer {
        Offer::Usual => {
            let useful =
                strong > 1 || !problem.kept.is_empty() || together.clone().any(|own| own.entities.len() > 1);
            (useful || guarded, !useful)
        }
        Offer::All => (true, false),
        Offer::Entries => (false, false),
    };
    let indexes: Vec<Slot> = (1..=locals).map(Slot::Local).chain((1..=globals).map(Slot::Global)).collect();
    let copies = second_items.then_some(Slot::Copy);
    let slots = std::iter::once(Slot::Table).chain(copies).chain(indexes.iter().copied()).collect();
    let locations = std::iter::once(Slot::Table).chain(indexes.iter().copied()).collect();
    // Where no writes are declared they would seem to cost nothing.
    let unkept = strong > 1 || part.offer == Offer::All;
    Layout { slots, locations, indexes, unkept, guards_only }
}

/// One more than the largest number of ways in which one entity is asked by such patterns: the table's own key may have to
/// serve something else. Nothing if there are no such patterns.
fn ways(problem: &Problem, part: &Part, such: impl Fn(&Pattern) -> bool) -> usize {
    let ways = |name: &String| {
        let asked = part
            .patterns
            .iter()
            .filter_map(|place| problem.patterns.get(*place))
            .filter(|pattern| such(pattern) && pattern.entities.contains(name));
        let ways: BTreeSet<_> =
            asked.map(|pattern| (&pattern.equal, pattern.sorted_by(), &pattern.reads)).collect();
        ways.len()
    };
    let names = part.entities.iter().filter_map(|entity| problem.entities.get(*entity)).map(|own| &own.name);
    match names.map(ways).max() {
        None | Some(0) => 0,
        Some(most) => most + 1,
    }
}
