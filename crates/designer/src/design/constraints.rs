//! The constraints of the binary program.

use std::collections::{BTreeMap, BTreeSet};

use good_lp::{Constraint, Expression, Variable, constraint};
use keywright_semantics::limits::LOCAL_COLLECTION_BYTES_MAX;

use super::candidates::{Candidate, Form, Writing, collection_bytes, shards};
use super::collection_order::conflicts;
use super::ilp::{Ask, Part, Place, Program, answers, same_key};
use super::name::prefixes;
use super::problem::{Problem, Projected, Slot};
use super::symmetry::{alike, any, is_any, is_at};
use super::uniqueness::written;
use super::writer_knowledge::touches;

/// Adds all constraints.
pub(super) fn add(problem: &Problem, part: &Part, program: &mut Program) {
    let mut found = places(problem, part, program);
    found.extend(slots(problem, program));
    found.extend(copies(problem, part, program));
    found.extend(guards(problem, part, program));
    found.extend(sentinels(problem, part, program));
    found.extend(reading(part, program));
    found.extend(local(problem, part, program));
    found.extend(alone(problem, part, program));
    for &pattern in &part.patterns {
        let asked: Expression =
            program.z.iter().filter(|ask| ask.pattern == pattern).map(|ask| ask.chosen).sum();
        found.push(constraint!(asked == 1));
    }
    for ask in &program.z {
        asks(problem, part, program, ask, &mut found);
    }
    found.extend(side_by_side(problem, part, program));
    found.extend(between(problem, part, program));
    found.extend(projections(problem, part, program));
    program.constraints.extend(found);
}

fn candidate<'a>(part: &'a Part, place: &Place) -> Option<&'a Candidate> {
    part.candidates.get(place.candidate)
}

fn of<'a>(
    part: &'a Part,
    program: &'a Program,
    entity: usize,
    slot: Slot,
) -> impl Iterator<Item = &'a Place> {
    program.x.iter().filter(move |place| {
        place.slot == slot && candidate(part, place).is_some_and(|own| own.view.entity == entity)
    })
}

/// Each entity has one key in the table and at most one in each existing index.
fn places(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    for &entity in &part.entities {
        let base: Expression = of(part, program, entity, Slot::Table).map(|place| place.chosen).sum();
        found.push(constraint!(base == 1));
        for (slot, present) in &program.y {
            let mut entries = of(part, program, entity, *slot).map(|place| place.chosen).peekable();
            let kept = problem.kept.key(entity, *slot);
            if entries.peek().is_none() && kept.is_none() {
                continue;
            }
            let entries: Expression = entries.sum();
            // Where a key is kept only this key is offered; here it is also required.
            found.push(match kept {
                Some(_) => constraint!(entries == 1),
                None => constraint!(entries <= *present),
            });
        }
        found.extend(numbers(part, program, entity));
    }
    found
}

/// An entity has at most as many entries in indexes of a kind as there are such indexes.
fn numbers(part: &Part, program: &Program, entity: usize) -> Vec<Constraint> {
    let kinds: BTreeSet<Slot> =
        program.x.iter().map(|place| place.slot).filter(|slot| is_any(*slot)).collect();
    let kinds = kinds.into_iter().filter(|kind| of(part, program, entity, *kind).next().is_some());
    let number = |kind: Slot| {
        let mine = program.x.iter().filter(|place| {
            alike(place.slot, kind) && candidate(part, place).is_some_and(|own| own.view.entity == entity)
        });
        let entries: Expression = mine.map(|place| place.chosen).sum();
        let there = program.y.iter().filter(|(slot, _)| any(*slot) == kind);
        let there: Expression = there.map(|(_, present)| *present).sum();
        constraint!(entries <= there)
    };
    kinds.map(number).collect()
}

/// An index with plain attributes as keys has entries of one entity only: others lack these attributes.
fn alone(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let entity = |place: &Place| candidate(part, place).map(|own| own.view.entity);
    let odd = |place: &&Place| candidate(part, place).is_some_and(Candidate::is_alone);
    let mut found = Vec::new();
    for place in program.x.iter().filter(odd) {
        let others =
            program.x.iter().filter(|other| other.slot == place.slot && entity(other) != entity(place));
        found.extend(others.map(|other| constraint!(place.chosen + other.chosen <= 1)));
        if matches!(place.slot, Slot::Local(_)) {
            found.extend(strangers(problem, part, program, place));
        }
        found.extend(doubles(problem, part, program, place));
    }
    found
}

/// A local index contains every item of the collection that has its sort attribute. Entities that share
/// this number attribute must therefore be in other collections.
fn strangers(problem: &Problem, part: &Part, program: &Program, local: &Place) -> Vec<Constraint> {
    let Some(own) = candidate(part, local) else { return Vec::new() };
    let meets = |other: &Candidate| {
        let has = |name: &String| {
            problem.entities.get(other.view.entity).is_some_and(|own| own.attribute(name).is_some())
        };
        other.view.entity != own.view.entity
            && other.view.partition == own.view.partition
            && own.view.sort.iter().all(has)
    };
    let here = program.x.iter().filter(|place| place.slot.location() == Slot::Table);
    here.filter(|place| candidate(part, place).is_some_and(meets))
        .map(|place| constraint!(local.chosen + place.chosen <= 1))
        .collect()
}

/// A derived item that has all key attributes of such an index would get an entry in it too.
fn doubles(problem: &Problem, part: &Part, program: &Program, entry: &Place) -> Vec<Constraint> {
    let Some(own) = candidate(part, entry).filter(|own| own.form == Form::Several) else { return Vec::new() };
    let Some(entity) = problem.entities.get(own.view.entity) else { return Vec::new() };
    let seconds = of(part, program, own.view.entity, Slot::Copy).filter(|second| {
        let has = |second: &Candidate| {
            own.view.names().all(|name| second.view.has(entity, &second.projected, name))
        };
        candidate(part, second).is_some_and(has)
    });
    let small = program.sentinels.iter().filter(|(small, _, _)| {
        let held = small.holds(problem);
        small.entity == own.view.entity && own.view.names().all(|name| held.contains(name))
    });
    let doubles = seconds.map(|second| second.chosen).chain(small.map(|(_, chosen, _)| *chosen));
    doubles.map(|double| constraint!(entry.chosen + double <= 1)).collect()
}

/// Indexes are numbered without gaps; kept indexes exist.
fn slots(problem: &Problem, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    for pair in program.y.windows(2) {
        if let [(one, earlier), (other, later)] = pair
            && std::mem::discriminant(one) == std::mem::discriminant(other)
        {
            found.push(constraint!(*earlier >= *later));
        }
    }
    for (slot, present) in &program.y {
        if problem.kept.index(*slot).is_some() {
            found.push(constraint!(*present == 1));
        }
    }
    found
}

/// A derived item has another partition than its source. Writes of both become transactions, which double the
/// cost on the source's key.
fn copies(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    for &entity in &part.entities {
        let mut partitions: BTreeMap<(&Vec<String>, u64), Expression> = BTreeMap::new();
        let seconds: Vec<&Place> = of(part, program, entity, Slot::Copy).collect();
        if seconds.is_empty() {
            continue;
        }
        for place in of(part, program, entity, Slot::Table).chain(seconds.iter().copied()) {
            let Some(own) = candidate(part, place) else { continue };
            *partitions.entry((&own.view.partition, own.view.shards)).or_default() += place.chosen;
            if place.slot == Slot::Table && !spread(problem, own) {
                found.extend(seconds.iter().map(|second| constraint!(place.chosen + second.chosen <= 1)));
            }
        }
        found.extend(partitions.into_values().map(|items| constraint!(items <= 1)));
        for place in seconds {
            found.extend(transactions(problem, part, program, place));
        }
    }
    found
}

/// All writes of entities with whole derived items are transactions; with partial ones, the writes that
/// change these.
fn transactions(problem: &Problem, part: &Part, program: &Program, second: &Place) -> Vec<Constraint> {
    let Some(own) = candidate(part, second) else { return Vec::new() };
    let Some(entity) = problem.entities.get(own.view.entity) else { return Vec::new() };
    let copied = program.copied.iter().find(|(copied, _, _)| *copied == own.view.entity);
    if own.projected == Projected::All {
        return copied.iter().map(|(_, copied, _)| constraint!(second.chosen <= *copied)).collect();
    }
    let mut found = Vec::new();
    for (write, paired, _) in &program.paired {
        let mine = problem.writes.get(*write).filter(|write| write.entity == entity.name);
        if mine.is_some_and(|write| touches(entity, write, &own.view, &own.projected)) {
            let besides: Expression = copied.iter().map(|(_, copied, _)| *copied).sum();
            found.push(constraint!(second.chosen - besides <= *paired));
        }
    }
    found
}

/// A put with a not-exists guard needs a key that is exactly the identity: the item's own, or that of a
/// derived item, whose put the same transaction then refuses.
fn guards(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let guarded = part.entities.iter().filter(|entity| problem.is_guarded(**entity));
    let own = |entity: usize| -> Expression {
        let items = program.x.iter().filter(|place| place.slot.location() == Slot::Table);
        let identities = items.filter(|place| {
            candidate(part, place).is_some_and(|own| {
                own.view.entity == entity
                    && problem.entities.get(entity).is_some_and(|entity| own.view.is_identity(entity))
            })
        });
        identities.map(|place| place.chosen).sum()
    };
    guarded.map(|entity| constraint!(own(*entity) >= 1)).collect()
}

/// A unique value besides the identity needs a key of its own: the item's, a derived item's or a sentinel's.
/// Writes of sentinels are transactions, as those of derived items are.
fn sentinels(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    for (own, chosen, _) in &program.sentinels {
        let items = program.x.iter().filter(|place| place.slot.location() == Slot::Table);
        let keys = items.filter(|place| {
            candidate(part, place)
                .is_some_and(|key| key.view.entity == own.entity && key.view.is_unique(&own.unique))
        });
        let keys: Expression = keys.map(|place| place.chosen).sum();
        found.push(constraint!(keys + *chosen >= 1));
        let name = problem.entities.get(own.entity).map(|entity| &entity.name);
        let copied = program.copied.iter().find(|(entity, _, _)| *entity == own.entity);
        for (write, paired, _) in &program.paired {
            let Some(write) = problem.writes.get(*write).filter(|write| Some(&write.entity) == name) else {
                continue;
            };
            let entity = problem.entities.get(own.entity);
            if entity.is_some_and(|entity| written(entity, write, &own.unique) > 0) {
                let besides: Expression = copied.iter().map(|(_, copied, _)| *copied).sum();
                found.push(constraint!(*chosen - besides <= *paired));
            }
        }
    }
    found
}

/// Whether a key sustains its entity's writes if all of them are transactions.
fn spread(problem: &Problem, own: &Candidate) -> bool {
    let entity = problem.entities.get(own.view.entity);
    entity.is_some_and(|entity| {
        own.view.shards >= shards(problem, entity, (&own.view.partition, &own.view.sort), Writing::Pairs)
    })
}

/// A write that does not know the key attributes of an index entry must read its item first.
fn reading(part: &Part, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    for (write, reading, _) in &program.reading {
        let entries = program.x.iter().filter(|place| matches!(place.slot, Slot::Local(_) | Slot::Global(_)));
        let needs = |place: &&Place| candidate(part, place).is_some_and(|own| own.read_first.contains(write));
        found.extend(entries.filter(needs).map(|place| constraint!(place.chosen <= *reading)));
    }
    found
}

/// An entry of a local index has its item's partition, and no collection of the table may then exceed the
/// size limit.
fn local(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let mut found = Vec::new();
    let first = program.y.iter().find(|(slot, _)| matches!(slot, Slot::Local(_)));
    let Some((_, present)) = first else { return found };
    let mut collections: BTreeMap<(&Vec<String>, u64), Expression> = BTreeMap::new();
    for place in &program.x {
        let Some(own) = candidate(part, place) else { continue };
        let Some(entity) = problem.entities.get(own.view.entity) else { continue };
        if matches!(place.slot, Slot::Global(_)) {
            continue;
        }
        let share = number(collection_bytes(entity, own, place.slot)) / number(LOCAL_COLLECTION_BYTES_MAX);
        *collections.entry((&own.view.partition, own.view.shards)).or_default() += share * place.chosen;
        if let Slot::Local(_) = place.slot {
            // A writer that must read an item first reads the source and not a derived item, which may lack
            // attributes of the entry.
            let has = |copy: &Candidate| {
                let held = if let Projected::Only(held) = &own.projected { Some(held) } else { None };
                let names = own.view.names().chain(held.into_iter().flatten());
                copy.projected == Projected::All
                    || held.is_some()
                        && names.into_iter().all(|name| copy.view.has(entity, &copy.projected, name))
            };
            let copies = of(part, program, own.view.entity, Slot::Copy)
                .filter(|copy| own.read_first.is_empty() && candidate(part, copy).is_some_and(has));
            let base: Expression = of(part, program, own.view.entity, Slot::Table)
                .chain(copies)
                .filter(|base| {
                    candidate(part, base).is_some_and(|base| {
                        base.view.partition == own.view.partition && base.view.shards == own.view.shards
                    })
                })
                .map(|base| base.chosen)
                .sum();
            found.push(constraint!(place.chosen <= base));
        }
    }
    // More than the sum of all shares: without a local index there is no bound.
    let all: f64 = program
        .x
        .iter()
        .filter_map(|place| {
            let own = candidate(part, place)?;
            let entity = problem.entities.get(own.view.entity)?;
            Some(number(collection_bytes(entity, own, place.slot)) / number(LOCAL_COLLECTION_BYTES_MAX))
        })
        .sum();
    found.extend(collections.into_values().map(|shares| constraint!(shares + all * *present <= 1.0 + all)));
    found
}

fn number(bytes: u64) -> f64 {
    bytes.to_string().parse().unwrap_or(f64::MAX)
}

/// A pattern can be read where all its entities have the same partition key.
fn asks(problem: &Problem, part: &Part, program: &Program, ask: &Ask, found: &mut Vec<Constraint>) {
    let Some(pattern) = problem.patterns.get(ask.pattern) else { return };
    for &entity in &part.entities {
        let name = problem.entities.get(entity).map(|entity| &entity.name);
        if !name.is_some_and(|name| pattern.entities.contains(name)) {
            continue;
        }
        let here = program.x.iter().filter(|place| {
            candidate(part, place).is_some_and(|own| {
                is_at(place.slot, ask.location)
                    && own.view.entity == entity
                    && answers(problem, part, ask, pattern, own)
            })
        });
        let present: Expression = here.map(|place| place.chosen).sum();
        found.push(constraint!(ask.chosen <= present));
    }
}

/// Patterns for several entities under one partition key: each reads one range of sort keys in which its
/// entities are adjacent. Which patterns can all be satisfied together is computed in advance.
fn side_by_side(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    let mut collections: BTreeMap<_, Vec<(&Ask, BTreeSet<usize>)>> = BTreeMap::new();
    for ask in &program.z {
        let (Some(pattern), Some(key)) = (problem.patterns.get(ask.pattern), part.candidates.get(ask.key))
        else {
            continue;
        };
        if pattern.entities.len() > 1 {
            let asked = problem.places(&pattern.entities);
            let collection = (ask.location, &key.view.partition, key.view.shards);
            collections.entry(collection).or_default().push((ask, asked));
        }
    }
    let mut found = Vec::new();
    for asks in collections.values() {
        let sets: BTreeSet<&BTreeSet<usize>> = asks.iter().map(|(_, set)| set).collect();
        let sets: Vec<BTreeSet<usize>> = sets.into_iter().cloned().collect();
        for family in conflicts(&sets) {
            // For each entity set, any of the patterns that read it.
            let mut choices: Vec<Vec<Variable>> = vec![Vec::new()];
            for set in family.iter().filter_map(|place| sets.get(*place)) {
                let same = asks.iter().filter(|(_, own)| own == set);
                choices = same
                    .flat_map(|(ask, _)| {
                        choices.iter().map(|choice| choice.iter().copied().chain([ask.chosen]).collect())
                    })
                    .collect();
            }
            for choice in choices {
                let most = i32::try_from(choice.len()).unwrap_or(i32::MAX) - 1;
                let asked: Expression = choice.into_iter().sum();
                found.push(constraint!(asked <= most));
            }
        }
    }
    found
}

/// Where keys are kept, sort-key prefixes are fixed: a range would also return the entities that sort
/// between those of the pattern.
fn between(problem: &Problem, part: &Part, program: &Program) -> Vec<Constraint> {
    if problem.kept.is_empty() {
        return Vec::new();
    }
    let prefixes = prefixes(problem);
    let begins = |entity: usize, slot: Slot| -> String {
        match problem.kept.key(entity, slot) {
            Some(kept) => kept.sort.first().map_or_else(String::new, |sort| sort.prefix().to_owned()),
            None => prefixes.get(entity).map_or_else(String::new, |own| format!("{own}#")),
        }
    };
    let mut found = Vec::new();
    for ask in &program.z {
        let (Some(pattern), Some(key)) = (problem.patterns.get(ask.pattern), part.candidates.get(ask.key))
        else {
            continue;
        };
        if pattern.entities.len() < 2 {
            continue;
        }
        let asked = problem.places(&pattern.entities);
        let own: Vec<String> = asked.iter().map(|entity| begins(*entity, ask.location)).collect();
        let (first, last) = (own.iter().min(), own.iter().max());
        for place in &program.x {
            let Some(other) = candidate(part, place) else { continue };
            let text = begins(other.view.entity, place.slot);
            // A key that begins with a value can sort anywhere.
            let meets = own.iter().any(String::is_empty)
                || text.is_empty()
                || first.is_some_and(|first| *first <= text) && last.is_some_and(|last| text <= *last);
            if meets
                && is_at(place.slot, ask.location)
                && !asked.contains(&other.view.entity)
                && same_key(problem, pattern, ask.location, key, other)
            {
                found.push(constraint!(place.chosen + ask.chosen <= 1));
            }
        }
    }
    found
}

/// An index projects everything or some attributes, the same ones for every entity that has them.
fn projections(problem: &Problem, part: &Part, program: &mut Program) -> Vec<Constraint> {
    let narrow: BTreeSet<&String> = part
        .candidates
        .iter()
        .filter(|own| own.index)
        .filter_map(|own| if let Projected::Only(held) = &own.projected { Some(held) } else { None })
        .flatten()
        .collect();
    if part.candidates.iter().all(|own| !own.index || own.projected == Projected::All) {
        return Vec::new();
    }
    let has = |entity: usize, name: &str| {
        problem.entities.get(entity).is_some_and(|entity| entity.attribute(name).is_some())
    };
    let shared: Vec<&String> = narrow
        .into_iter()
        .filter(|name| part.entities.iter().filter(|entity| has(**entity, name)).count() > 1)
        .collect();
    let indexes: Vec<Slot> = program.y.iter().map(|(slot, _)| *slot).collect();
    let mut found = Vec::new();
    for slot in indexes {
        let whole = program.binary();
        let holds: Vec<(&String, Variable)> = shared.iter().map(|name| (*name, program.binary())).collect();
        for place in program.x.iter().filter(|place| place.slot == slot) {
            let Some(own) = candidate(part, place) else { continue };
            let Projected::Only(held) = &own.projected else {
                found.push(constraint!(place.chosen <= whole));
                continue;
            };
            found.push(constraint!(place.chosen + whole <= 1));
            for (name, holds) in holds.iter().filter(|(name, _)| has(own.view.entity, name)) {
                if held.contains(*name) {
                    found.push(constraint!(place.chosen <= *holds));
                } else {
                    found.push(constraint!(place.chosen + *holds <= 1));
                }
            }
        }
    }
    found
}
