//! A short way to write problems.

use crate::design::{
    Attribute, Design, Entity, Fault, Kept, KeyStyle, Knows, Pattern, Problem, Write, WriteKind, solve,
};
use keywright_model::MicroPerSecond;
use keywright_semantics::share::{ALL_PPM, MICRO};
use keywright_workbench::price::{Prices, TODAY};

pub(super) const PER_SECOND: u64 = MICRO;

pub(super) fn problem(entities: Vec<Entity>, patterns: Vec<Pattern>, writes: Vec<Write>) -> Problem {
    Problem {
        entities,
        patterns,
        writes,
        gsi_max: 5,
        kept: Kept::default(),
        class: None,
        backed_up: false,
        style: KeyStyle::default(),
    }
}

/// An entity with these identity attributes and further attributes.
pub(super) fn entity(name: &str, id: &[&str], others: &[&str]) -> Entity {
    Entity {
        name: name.to_owned(),
        parent: None,
        parents: Vec::new(),
        id: owned(id),
        uniques: Vec::new(),
        expires: None,
        owner: None,
        prefix: None,
        counts_up: std::collections::BTreeSet::new(),
        attributes: id.iter().chain(others).map(|name| attribute(name)).collect(),
        count: 1_000_000,
        size_bytes: 300,
    }
}

pub(super) fn attribute(name: &str) -> Attribute {
    Attribute {
        name: name.to_owned(),
        size_bytes: 12,
        distinct: None,
        present_ppm: ALL_PPM,
        hottest_ppm: None,
        number: false,
        keyable: true,
        unpaddable: false,
    }
}

/// Makes an attribute optional: a share of the items has it.
pub(super) fn sparse(mut entity: Entity, name: &str, present_ppm: u64) -> Entity {
    for own in entity.attributes.iter_mut().filter(|own| own.name == name) {
        own.present_ppm = present_ppm;
    }
    entity
}

/// A read of the entities by the first attributes, with a range or order attribute.
pub(super) fn read(id: &str, entities: &[&str], equal: &[&str], range: Option<&str>) -> Pattern {
    Pattern {
        id: id.to_owned(),
        entities: owned(entities),
        equal: owned(equal),
        range: range.map(str::to_owned),
        order: None,
        results: 10,
        most: None,
        rate: MicroPerSecond(10 * PER_SECOND),
        peak: MicroPerSecond(40 * PER_SECOND),
        strong: false,
        scatter: false,
        reads: None,
        page_from: None,
    }
}

pub(super) fn write(entity: &str, kind: WriteKind) -> Write {
    Write {
        id: format!("write {entity}"),
        entity: entity.to_owned(),
        kind,
        rate: MicroPerSecond(PER_SECOND),
        peak: MicroPerSecond(20 * PER_SECOND),
        transactional: false,
        items: 1,
        others: 0,
        knows: Knows::default(),
    }
}

pub(super) fn put_each(entities: &[Entity]) -> Vec<Write> {
    entities.iter().map(|entity| write(&entity.name, WriteKind::Put)).collect()
}

pub(super) fn update(entity: &str, changed: &[&str]) -> Write {
    let after = owned(changed).into_iter().collect();
    let knows = Knows { after, ..Knows::default() };
    Write { knows, ..write(entity, WriteKind::Update { changed: owned(changed) }) }
}

pub(super) fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(super) fn prices() -> Prices {
    Prices::built_in(TODAY).expect("built in")
}

pub(super) fn designed(problem: &Problem) -> Result<Design, Vec<Fault>> {
    solve(problem, &prices())
}
