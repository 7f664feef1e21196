//! On tiny problems the solver's optimum is that of trying everything, dominated views included.

use proptest::prelude::*;

use super::cases::{PER_SECOND, designed, entity, prices, problem, read, update, write};
use crate::design::view::{self, Candidate, Tariff};
use crate::design::{Problem, WriteKind};
use crate::model::MicroPerSecond;
use crate::price::Money;

type Layout = Vec<(usize, usize)>;

/// Every way of placing one entity's candidates: one base key, and at most one view in each index.
fn layouts(own: &[Candidate], offset: usize, gsis: usize) -> Vec<Layout> {
    let bases =
        own.iter().enumerate().filter(|(_, own)| own.base).map(|(place, _)| vec![(offset + place, 0)]);
    let mut found: Vec<Layout> = bases.collect();
    for slot in 1..=gsis {
        let longer: Vec<Layout> = found
            .iter()
            .flat_map(|layout| {
                (0..own.len()).map(move |place| {
                    let mut longer = layout.clone();
                    longer.push((offset + place, slot));
                    longer
                })
            })
            .collect();
        found.extend(longer);
    }
    found
}

/// The cost of a layout of all entities, if it answers every pattern.
fn judged(problem: &Problem, tariff: &Tariff, own: &[Candidate], layout: &Layout) -> Option<Money> {
    let mut cost: Money =
        layout.iter().filter(|(_, slot)| *slot > 0).map(|(at, _)| own[*at].index_cost).sum();
    for (place, pattern) in problem.patterns.iter().enumerate() {
        let last = if pattern.strong { 0 } else { usize::MAX };
        let answered = layout.iter().any(|(key, slot)| {
            let here = |at: usize| own[at].view.partition == own[*key].view.partition;
            *slot <= last
                && problem.entities.iter().enumerate().all(|(number, entity)| {
                    let mut standing = layout
                        .iter()
                        .filter(|(at, other)| other == slot && own[*at].view.entity == number && here(*at));
                    if pattern.entities.contains(&entity.name) {
                        standing.any(|(at, _)| own[*at].serves.contains(&place))
                    } else {
                        pattern.entities.len() == 1 || standing.next().is_none()
                    }
                })
        });
        if !answered {
            return None;
        }
        cost += tariff.reads(problem, pattern, 1);
    }
    Some(cost)
}

/// The least cost, and the fewest indexes at that cost.
fn best(problem: &Problem) -> Option<(Money, usize)> {
    let tariff = Tariff::of(&prices()).expect("priced");
    let mut own = Vec::new();
    let mut layouts_of_all: Vec<Layout> = vec![Vec::new()];
    for place in 0..problem.entities.len() {
        let candidates = view::all(problem, &tariff, place);
        let options = layouts(&candidates, own.len(), problem.gsi_max);
        own.extend(candidates);
        layouts_of_all = layouts_of_all
            .iter()
            .flat_map(|layout| options.iter().map(|option| [layout.as_slice(), option].concat()))
            .collect();
    }
    let judged = layouts_of_all.iter().filter_map(|layout| {
        let slots: std::collections::BTreeSet<usize> =
            layout.iter().map(|(_, slot)| *slot).filter(|slot| *slot > 0).collect();
        judged(problem, &tariff, &own, layout).map(|cost| (cost, slots.len()))
    });
    judged.min()
}

prop_compose! {
    fn tiny()(
        asks in prop::collection::vec((0..2_usize, 0..6_usize, 1..50_u64, any::<bool>()), 1..4),
        changes in any::<bool>(),
        puts in prop::collection::vec(1..20_u64, 2),
        collection in any::<bool>(),
    ) -> Problem {
        let entities = vec![entity("A", &["a"], &["x", "t"]), entity("B", &["b"], &["a", "x"])];
        let given: [(&[&str], Option<&str>); 6] =
            [(&["a"], None), (&["x"], None), (&["x"], Some("a")), (&["a", "x"], None), (&["x"], Some("t")), (&["t"], None)];
        let mut patterns = Vec::new();
        for (number, (which, kind, rate, strong)) in asks.into_iter().enumerate() {
            let name = ["A", "B"][which];
            let (equal, range) = given[if which == 1 { kind % 4 } else { kind }];
            let mut pattern = read(&number.to_string(), &[name], equal, range);
            pattern.rate = MicroPerSecond(rate * PER_SECOND);
            pattern.strong = strong && kind == 0;
            patterns.push(pattern);
        }
        if collection {
            patterns.push(read("both", &["A", "B"], &["a"], None));
        }
        let mut writes: Vec<_> = ["A", "B"].into_iter().map(|name| write(name, WriteKind::Put)).collect();
        for (write, rate) in writes.iter_mut().zip(puts) {
            write.rate = MicroPerSecond(rate * PER_SECOND);
        }
        if changes {
            writes.push(update("A", &["x"]));
        }
        Problem { gsi_max: 2, ..problem(entities, patterns, writes) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_designers_optimum_is_that_of_trying_everything(problem in tiny()) {
        let found = designed(&problem).ok().map(|design| {
            (design.monthly.reads + design.monthly.indexes, design.gsis)
        });
        prop_assert_eq!(found, best(&problem));
    }
}
