//! What happens to an entity's index entries between two designs, and what writing them costs.

use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};
use keywright_semantics::value::ValueType;

use super::changes::slot_text;
use super::plan::Units;
use super::subject::{SubjectEntity, SubjectTable};

/// Items of an entity in an index whose key attributes they get, change or lose.
pub(super) struct Move<'a> {
    pub(super) index: &'a IndexSchema,
    pub(super) kind: MoveKind,
    /// The attributes that are written or removed.
    pub(super) written: Vec<String>,
    /// The templates of the index's key, as they shall be.
    pub(super) now: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveKind {
    Enters,
    Changes,
    Leaves,
}

/// The indexes whose key attributes an entity's items get, change or lose.
pub(super) fn moves<'a>(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    was: &SubjectTable,
    table: &'a SubjectTable,
) -> Vec<Move<'a>> {
    let mut found = Vec::new();
    for index in &table.definition.schema.indexes {
        let known = was.index(&index.name).filter(|known| known.key == index.key);
        let before = known.filter(|known| old.is_in(known)).map(|_| slot_text(old, &index.key));
        let now = entity.is_in(index).then(|| slot_text(entity, &index.key));
        let kind = match (&before, &now) {
            (Some(before), Some(now)) if before != now => MoveKind::Changes,
            (Some(_), Some(_)) | (None, None) => continue,
            (Some(_), None) => MoveKind::Leaves,
            // A new index fills itself with what has its key already.
            (None, Some(_)) if known.is_none() && has_key(old, index, was) => {
                if slot_text(old, &index.key) == slot_text(entity, &index.key) {
                    continue;
                }
                MoveKind::Changes
            }
            (None, Some(_)) => MoveKind::Enters,
        };
        let names = index.key.attributes().map(|key| &key.name);
        let own = |name: &&String| was.definition.schema.key.contains(name);
        let mut written: Vec<String> = match kind {
            MoveKind::Enters => names
                .filter(|name| !own(name) && old.template_of(name) != entity.template_of(name))
                .cloned()
                .collect(),
            MoveKind::Changes => {
                names.filter(|name| old.template_of(name) != entity.template_of(name)).cloned().collect()
            }
            MoveKind::Leaves => {
                names.filter(|name| !own(name) && entity.template_of(name).is_none()).cloned().collect()
            }
        };
        // What the items lack comes first: it tells which of them were not written yet.
        written.sort_by_key(|name| old.template_of(name).is_some());
        found.push(Move { index, kind, written, now: now.unwrap_or_default() });
    }
    found
}

/// The attributes that a template is made of.
pub(super) fn made_of(template: &str) -> impl Iterator<Item = &str> {
    let parts = template.split('{').skip(1);
    parts.filter_map(|part| part.split(['}', '|', ':']).next())
}

/// Whether the items as they were have all that an index's key takes.
fn has_key(old: &SubjectEntity, index: &IndexSchema, was: &SubjectTable) -> bool {
    index.key.attributes().all(|key| {
        old.attributes.contains_key(&key.name)
            || old.templates.contains_key(&key.name)
            || was.definition.schema.key.contains(&key.name)
    })
}

/// Write units of filling a new index with the items that have its key already.
pub(super) fn filled(index: &IndexSchema, was: &SubjectTable, table: &SubjectTable) -> Option<u64> {
    table
        .entities
        .iter()
        .filter(|entity| entity.is_in(index))
        .filter_map(|entity| {
            let old = was.entity(&entity.name).filter(|old| has_key(old, index, was))?;
            let scaled = SubjectEntity { count: old.count, ..entity.clone() };
            Some(scaled.index_units(&index.name))
        })
        .sum()
}

/// Attributes besides keys that an entity keeps under another type.
pub(super) fn changed_types(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    table: &SubjectTable,
) -> Vec<(String, &'static str, &'static str)> {
    let is_key = |name: &str| table.definition.key_attributes().iter().any(|key| key.name == name);
    let fills_one = |name: &str| entity.templates.values().any(|text| text.contains(&format!("{{{name}")));
    let changed = entity.attributes.iter().filter_map(|(name, now)| {
        let before: &ValueType = old.attributes.get(name).filter(|before| *before != now)?;
        (!is_key(name) && !fills_one(name)).then(|| (name.clone(), before.name(), now.name()))
    });
    changed.collect()
}

/// Units of writing an entity's items once, in the table and in every index that what is written concerns: an entry that
/// moves is deleted and written.
pub(super) fn rewritten(
    entity: &SubjectEntity,
    old: &SubjectEntity,
    moves: &[Move<'_>],
    changed: &[String],
    was: &SubjectTable,
    table: &SubjectTable,
) -> Option<Units> {
    let mut units = Units { table_writes: entity.table_units()?, ..Units::default() };
    for index in &table.definition.schema.indexes {
        let own = moves.iter().find(|one| one.index.name == index.name);
        let stays =
            || was.index(&index.name) == Some(index) && entity.is_in(index) && holds_any(index, changed);
        let (holder, times) = match own.map(|one| one.kind) {
            Some(MoveKind::Enters) => (entity.clone(), 1),
            Some(MoveKind::Changes) => (entity.clone(), 2),
            Some(MoveKind::Leaves) => (SubjectEntity { count: entity.count, ..old.clone() }, 1),
            None if stays() => (entity.clone(), 1),
            None => continue,
        };
        let entries = holder.index_units(&index.name)?.saturating_mul(times);
        match index.kind {
            IndexKind::Local => units.table_writes = units.table_writes.saturating_add(entries),
            IndexKind::Global => units.index_writes = units.index_writes.saturating_add(entries),
        }
    }
    Some(units)
}

/// Whether an index holds one of the attributes besides keys: its entry is then written again when they change.
fn holds_any(index: &IndexSchema, attributes: &[String]) -> bool {
    match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => false,
        Projection::Include(names) => attributes.iter().any(|name| names.contains(name)),
    }
}
