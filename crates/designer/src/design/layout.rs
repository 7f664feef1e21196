//! The slots that a part of a problem may use.

use std::collections::BTreeSet;

use keywright_semantics::limits::LOCAL_INDEXES_MAX;

use super::ilp::Part;
use super::problem::{Pattern, Problem, Slot};

/// Slots for views and locations for patterns.
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    /// The locations of requests: a derived item is an item of the table.
    pub(super) locations: Vec<Slot>,
    pub(super) indexes: Vec<Slot>,
    /// Whether derived items are offered for entities without declared writes.
    pub(super) unkept: bool,
    /// Whether only sentinels and derived items that keep a value unique are offered.
    pub(super) guards_only: bool,
}

/// What is offered besides the items and global indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offer {
    /// Everything that can be part of a cheapest design if the number of global indexes is not limited.
    Usual,
    /// Everything: where indexes are limited, and for the proof that fewer are not enough.
    All,
    /// One item per record with entries in global indexes, and no local indexes but the kept ones.
    Entries,
}

/// A derived item costs two writes where an index entry costs one, and turns its source's writes into
/// transactions. It is in no cheapest design, with three exceptions: a read must be strong, another entity
/// must stay out of an index that a request for both would need, or a unique value needs it anyway. A local
/// index costs as much as a global one and limits its table's collections, so it is wanted for strong reads
/// only.
pub(super) fn layout(problem: &Problem, part: &Part, globals: usize) -> Layout {
    let strong = ways(problem, part, |pattern| pattern.strong);
    let kept = problem.kept.locals.len();
    // Several local indexes may have the same key and different projections.
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
    // Derived items of entities without declared writes would seem to cost nothing.
    let unkept = strong > 1 || part.offer == Offer::All;
    Layout { slots, locations, indexes, unkept, guards_only }
}

/// The number of slots that the patterns selected by `such` can use. It is one more than the largest number
/// of keys by which they read one entity, because the table's own key may have to serve something else.
/// Zero if there are no such patterns.
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
