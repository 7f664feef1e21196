//! Which indexes stand while a step of a plan runs, and what writes then cost: an index that is made is there from the
//! beginning, one that goes is there until the questions have moved.

use keywright_semantics::schema::{IndexKind, IndexSchema, Projection};

use super::index_changes::{Move, MoveKind};
use super::input::{SubjectEntity, SubjectTable};
use super::plan::{StepKind, Units};

/// An index as it stands, with the design that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing<'a> {
    pub(super) index: &'a IndexSchema,
    pub(super) of: Era,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// It goes.
    Old,
    /// It stays as it is.
    Both,
    New,
}

/// The indexes of a table while a step runs; `was` is the table as it was, if it is the same table.
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

/// What is written to a table and its indexes, added up.
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

/// Units of putting all items of an entity once, as the new design has them, with their entries in every index that stands.
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

/// Units of deleting all items of an entity as they were, with their entries in every index that stands.
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

/// Units of writing an entity's items once, in the table and in every index that what is written concerns: an entry that
/// moves is deleted and written.
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
            // What leaves the index later is in it until then.
            (Era::Old | Era::Both, None) if old.is_in(index) && holds_any(index, changed) => (old, 1),
            (Era::Old | Era::Both | Era::New, None) => continue,
        };
        sum.add(index, holder.index_units(&index.name)?.saturating_mul(times));
    }
    Some(sum.0)
}

/// Whether an index holds one of the attributes besides keys: its entry is then written again when they change.
fn holds_any(index: &IndexSchema, attributes: &[String]) -> bool {
    match &index.projection {
        Projection::All => true,
        Projection::KeysOnly => false,
        Projection::Include(names) => attributes.iter().any(|name| names.contains(name)),
    }
}
