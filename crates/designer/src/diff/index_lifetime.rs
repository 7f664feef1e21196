//! Which indexes exist during a step of a plan, and what writes then cost. A new index exists from the
//! beginning; an old one exists until the reads have moved.

use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};

use super::index_changes::{Move, MoveKind};
use super::input::{SubjectEntity, SubjectTable};
use super::plan::{StepKind, Units};

/// An index with the designs that define it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    pub(super) index: &'a IndexSchema,
    pub(super) of: Era,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Only the old design has it.
    Old,
    /// Both designs have it unchanged.
    Both,
    New,
}

/// The indexes of a table during a step; `was` is the old table, if it is the same table.
pub(super) fn standing<'a>(
    was: Option<&'a SubjectTable>,
    table: &'a SubjectTable,
    kind: StepKind,
) -> Vec<Standing<'a>> {
    let mut found = Vec::new();
    for index in &table.definition.schema.indexes {
        let stays = was.and_then(|was| was.index(&index.name)) == Some(index);
        found.push(Standing { index, of: if stays { Era::Both } else { Era::New } });
    }
    for index in was.into_iter().flat_map(|was| &was.definition.schema.indexes) {
        if table.index(&index.name) != Some(index) && kind <= StepKind::DeleteIndex {
            found.push(Standing { index, of: Era::Old });
        }
    }
    found
}

/// Write units of a table and its indexes, added up.
struct Sum(Units);

impl Sum {
    fn add(&mut self, index: &IndexSchema, units: u64) {
        let sum = match index.kind {
            IndexKind::Local => &mut self.0.table_writes,
            IndexKind::Global => &mut self.0.index_writes,
        };
        *sum = sum.saturating_add(units);
    }
}

/// Units of one put of every item of an entity under the new design, with its entries in every existing
/// index.
pub(super) fn put(
    entity: &SubjectEntity,
    old: Option<&SubjectEntity>,
    stands: &[Standing<'_>],
) -> Option<Units> {
    let mut sum = Sum(Units { table_writes: entity.table_units()?, ..Units::default() });
    for Standing { index, of } in stands.iter().filter(|stands| entity.is_in(stands.index)) {
        let known = old.filter(|old| *of == Era::Old && old.is_in(index));
        let units = match (of, known) {
            (Era::Old, Some(old)) => old.index_units(&index.name),
            (Era::Old, None) => entity.entry_units(index),
            (Era::Both | Era::New, _) => entity.index_units(&index.name),
        };
        sum.add(index, units?);
    }
    Some(sum.0)
}

/// Units of one delete of every old item of an entity, with its entries in every existing index.
pub(super) fn delete(
    old: &SubjectEntity,
    entity: Option<&SubjectEntity>,
    stands: &[Standing<'_>],
) -> Option<Units> {
    let mut sum = Sum(Units { table_writes: old.table_units()?, ..Units::default() });
    for Standing { index, of } in stands.iter().filter(|stands| old.is_in(stands.index)) {
        let measured = entity.filter(|entity| *of == Era::New && entity.is_in(index));
        let units = match (of, measured) {
            (Era::New, Some(entity)) => entity.index_units(&index.name),
            (Era::New, None) => old.entry_units(index),
            (Era::Old | Era::Both, _) => old.index_units(&index.name),
        };
        sum.add(index, units?);
    }
    Some(sum.0)
}

/// Units of one update of every item of an entity, in the table and in every index that the written
/// attributes concern. An entry that moves is deleted and written.
pub(super) fn rewrite(
    entity: &SubjectEntity,
    old: &SubjectEntity,
    moves: &[Move<'_>],
    changed: &[String],
    stands: &[Standing<'_>],
) -> Option<Units> {
    let mut sum = Sum(Units { table_writes: entity.table_units()?, ..Units::default() });
    for Standing { index, of } in stands {
        let own = moves.iter().find(|one| one.index.name == index.name && *of != Era::Old);
        let in_key = index.key.attributes().any(|key| changed.contains(&key.name));
        let (holder, times) = match (of, own.map(|one| one.kind)) {
            (_, Some(MoveKind::Enters)) => (entity, 1),
            (_, Some(MoveKind::Changes)) => (entity, 2),
            (_, Some(MoveKind::Leaves)) => (old, 1),
            (Era::Old, None) if old.is_in(index) && in_key => (old, 2),
            (Era::Both | Era::New, None) if entity.is_in(index) && holds_any(index, changed) => (entity, 1),
            // An item that leaves the index later is in it until then.
            (Era::Old | Era::Both, None) if old.is_in(index) && holds_any(index, changed) => (old, 1),
            (Era::Old | Era::Both | Era::New, None) => continue,
        };
        sum.add(index, holder.index_units(&index.name)?.saturating_mul(times));
    }
    Some(sum.0)
}

/// Whether an index projects one of the attributes outside its key: a change then rewrites the entry.
fn holds_any(index: &IndexSchema, attributes: &[String]) -> bool {
    match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => false,
        Projection::Include(names) => attributes.iter().any(|name| names.contains(name)),
    }
}
