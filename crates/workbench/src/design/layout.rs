//! Which slots a part of a problem may use.

use std::collections::BTreeSet;

use keywright_semantics::limits::LOCAL_INDEXES_MAX;

use super::problem::{Problem, Slot};
use super::program::Part;

/// Where views may stand and patterns may be asked.
pub(super) struct Layout {
    pub(super) slots: Vec<Slot>,
    /// Where requests go: a second item is an item of the table.
    pub(super) locations: Vec<Slot>,
    pub(super) indexes: Vec<Slot>,
}

/// Second items and local indexes are offered only where a read must be strong and a kind of item is asked for strongly
/// under several keys: elsewhere a global index costs as much or less and binds less.
pub(super) fn layout(problem: &Problem, part: &Part, globals: usize) -> Layout {
    let strong = strong_keys(problem, part);
    let kept = problem.kept.locals.len();
    let locals = if part.local { strong.saturating_sub(1).min(LOCAL_INDEXES_MAX).max(kept) } else { kept };
    let indexes: Vec<Slot> = (1..=locals).map(Slot::Local).chain((1..=globals).map(Slot::Global)).collect();
    let copies = (strong > 1).then_some(Slot::Copy);
    let slots = std::iter::once(Slot::Table).chain(copies).chain(indexes.iter().copied()).collect();
    let locations = std::iter::once(Slot::Table).chain(indexes.iter().copied()).collect();
    Layout { slots, locations, indexes }
}

/// One more than the largest number of ways in which one entity is asked strongly: the table's own key may have to serve
/// something else. Nothing if no read is strong.
fn strong_keys(problem: &Problem, part: &Part) -> usize {
    let ways = |name: &String| {
        let strong = part
            .patterns
            .iter()
            .filter_map(|place| problem.patterns.get(*place))
            .filter(|pattern| pattern.strong && pattern.entities.contains(name));
        let ways: BTreeSet<_> = strong.map(|pattern| (&pattern.equal, &pattern.range)).collect();
        ways.len()
    };
    let names = part.entities.iter().filter_map(|entity| problem.entities.get(*entity)).map(|own| &own.name);
    match names.map(ways).max() {
        None | Some(0) => 0,
        Some(most) => most + 1,
    }
}
