//! Changes for which no plan keeps all data, with what to do instead.
//!
//! The steps rely on three facts. An item can be told apart under its old and its new key. Every writer of an
//! item knows its new key. A job may fill an attribute that is missing. Where a change breaks one of them,
//! the steps would lose concurrent writes.

use keywright_semantics::limits::GLOBAL_INDEXES_MAX;
use keywright_semantics::schema::{IndexKind, IndexSchema};

use super::index_changes::{Needed, made_of, needed, source};
use super::input::{Subject, SubjectPattern, SubjectTable, Touch, ids};
use super::matching::{EntityRef, Match};
use super::planner::{is_open, must_be_copied, written};
use super::remarks::Refusal;
use super::stale_copies::variables;
use keywright_model::Template;

/// Why there is no plan.
pub(super) fn hazards(before: &Subject, after: &Subject, matches: &[Match<'_>]) -> Vec<Refusal> {
    let patterns: Vec<&SubjectPattern> = after.patterns.iter().chain(&before.patterns).collect();
    let mut found: Vec<Refusal> = after
        .tables
        .iter()
        .filter_map(|table| Some((before.table(&table.definition.name)?, table)))
        .filter_map(|(was, table)| crowded(was, table))
        .collect();
    for matched in matches {
        let (Match::Stays(old, new) | Match::Moves(old, new)) = matched else { continue };
        if matches!(matched, Match::Moves(..)) {
            found.extend(coinciding(old, new));
            found.extend(unknown_key(old, new));
        }
        let lacking = lacking(matches, old, new, &after.patterns);
        found.extend(counted(old, new, &lacking, &patterns));
        found.extend(vanishing(old, new, &lacking, &patterns));
    }
    found
}

/// New indexes are created before the old ones are deleted, and a table has a maximum of global indexes.
fn crowded(was: &SubjectTable, table: &SubjectTable) -> Option<Refusal> {
    let globals = |table: &SubjectTable| -> Vec<IndexSchema> {
        let indexes = table.definition.schema.indexes.iter();
        indexes.filter(|index| index.kind == IndexKind::Global).cloned().collect()
    };
    let (olds, news) = (globals(was), globals(table));
    let gone: Vec<String> =
        olds.iter().filter(|index| !news.contains(index)).map(|index| index.name.clone()).collect();
    let most = news.len().saturating_add(gone.len());
    // The new design's own check reports too many indexes.
    if must_be_copied(was, table) || most <= GLOBAL_INDEXES_MAX || news.len() > GLOBAL_INDEXES_MAX {
        return None;
    }
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    Some(Refusal::TooManyIndexes {
        table: table.definition.name.clone(),
        number: number(most),
        surplus: number(most - GLOBAL_INDEXES_MAX),
        indexes: gone,
    })
}

/// If an item's old and new key can be the same text, a job cannot tell the old item from its copy.
fn coinciding(old: &EntityRef<'_>, new: &EntityRef<'_>) -> Option<Refusal> {
    let same_table = old.table.definition.name == new.table.definition.name;
    let within = same_table && !must_be_copied(old.table, new.table);
    let (olds, news) = (old.shapes(), new.shapes());
    let may = olds.iter().zip(&news).all(|(old, new)| old.may_be_of_one_item(new));
    (within && may).then(|| Refusal::SameKey {
        entity: new.entity.name.clone(),
        old: old.key(),
        new: new.key(),
    })
}

/// A new key made of attributes that the items lack: a writer cannot compute the key of the copy.
fn unknown_key(old: &EntityRef<'_>, new: &EntityRef<'_>) -> Option<Refusal> {
    let lacks = |name: &String| {
        !old.entity.attributes.contains_key(name)
            && !old.table.definition.schema.key.contains(name)
            && (new.entity.copies.contains_key(name) || source(name, old.entity, new.entity).is_none())
    };
    let attributes: Vec<String> = variables(new).into_iter().filter(lacks).collect();
    (!attributes.is_empty()).then(|| Refusal::UnknownKey {
        entity: new.entity.name.clone(),
        key: new.key(),
        attributes,
    })
}

/// Attributes that the items lack and that a plan fills, each with the variables of its template.
fn lacking(
    matches: &[Match<'_>],
    old: &EntityRef<'_>,
    new: &EntityRef<'_>,
    questions: &[SubjectPattern],
) -> Vec<Needed> {
    let mut found = needed(old.entity, new.entity, new.table, questions);
    found.retain(|one| !is_open(matches, (old, new), one));
    let mut names = written(old, new);
    let templates: Vec<Template> = names.iter().filter_map(|name| new.entity.template_of(name)).collect();
    names.extend(templates.iter().flat_map(made_of).map(str::to_owned));
    for name in names {
        let lacks = new.entity.attributes.contains_key(&name) && !old.entity.attributes.contains_key(&name);
        if lacks && !found.iter().any(|one| one.name == name) {
            let from = source(&name, old.entity, new.entity);
            found.push(Needed { name, from });
        }
    }
    found
}

/// What writes to an entity, under its old or new name, do with an attribute.
fn touching<'p>(
    old: &EntityRef<'_>,
    new: &EntityRef<'_>,
    patterns: &[&'p SubjectPattern],
    how: impl Fn(&Touch) -> bool,
) -> Vec<&'p SubjectPattern> {
    let own = |touch: &Touch| touch.entity == new.entity.name || touch.entity == old.entity.name;
    let does = |pattern: &&&SubjectPattern| pattern.touches.iter().any(|touch| own(touch) && how(touch));
    patterns.iter().filter(does).copied().collect()
}

/// Attributes that a write computes from their previous value (counters). A write that starts from an absent
/// value stores a partial result, which a backfill cannot tell from a complete one.
fn counted(
    old: &EntityRef<'_>,
    new: &EntityRef<'_>,
    lacking: &[Needed],
    patterns: &[&SubjectPattern],
) -> Option<Refusal> {
    let entity = &new.entity.name;
    lacking.iter().find_map(|Needed { name, .. }| {
        let who = touching(old, new, patterns, |touch| touch.accumulated.contains(name));
        if who.is_empty() {
            return None;
        }
        Some(Refusal::CountedAttribute {
            entity: entity.clone(),
            attribute: name.clone(),
            patterns: ids(who),
        })
    })
}

/// Attribute optional by design: a backfill cannot tell "not yet filled" from "must stay absent".
fn vanishing(
    old: &EntityRef<'_>,
    new: &EntityRef<'_>,
    lacking: &[Needed],
    patterns: &[&SubjectPattern],
) -> Option<Refusal> {
    let entity = &new.entity.name;
    let nowhere = lacking.iter().filter(|one| one.from.is_none());
    // The variables of an index key that the items lack may be missing as well.
    let keys = written(old, new).into_iter().filter(|name| old.entity.template_of(name).is_none());
    let made = keys.filter_map(|name| new.entity.template_of(&name));
    let made = made.flat_map(|template| made_of(&template).map(str::to_owned).collect::<Vec<_>>());
    let names: Vec<String> = nowhere.map(|one| one.name.clone()).chain(made).collect();
    names.iter().find_map(|name| {
        let who = touching(old, new, patterns, |touch| touch.dropped.contains(name));
        let partial = [old, new].iter().any(|side| side.entity.partial.contains(name));
        if who.is_empty() && !partial {
            return None;
        }
        Some(Refusal::OptionalAttribute {
            entity: entity.clone(),
            attribute: name.clone(),
            patterns: ids(who),
        })
    })
}
