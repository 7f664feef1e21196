//! Steps that re-key items: both keys are kept until no read uses the old ones.

use super::actions::{Condition, Job, KeyPlace, RekeyWrite, Source, Value};
use super::index_lifetime::{delete, put, standing};
use super::input::{SubjectEntity, SubjectPattern, ids};
use super::matching::EntityRef;
use super::plan::{StepKind, Units};
use super::planner::{Planner, must_be_copied};
use super::stale_copies::{StaleCopy, variables};
use keywright_semantics::capacity::EVENTUAL_READ_UNIT_BYTES;

/// The old and the new place of re-keyed items.
struct Rekey<'a> {
    old: EntityRef<'a>,
    new: EntityRef<'a>,
    /// Whether both places are in one table.
    within: bool,
    from: KeyPlace,
    to: KeyPlace,
    entity: String,
}

impl<'a> Planner<'a> {
    /// Items get another primary key, in their table or in another one: they become other items.
    pub(super) fn moved(&mut self, old: EntityRef<'a>, new: EntityRef<'a>) {
        let same = old.table.definition.name == new.table.definition.name;
        let again = same && must_be_copied(old.table, new.table);
        let rekey = Rekey {
            old,
            new,
            within: same && !again,
            from: old.place(),
            to: KeyPlace { again, ..new.place() },
            entity: new.entity.name.clone(),
        };
        self.both_written(&rekey);
        self.copied(&rekey);
        self.old_deleted(&rekey);
    }

    fn both_written(&mut self, rekey: &Rekey<'_>) {
        let Rekey { old, new, from, to, entity, .. } = rekey;
        let writers: Vec<&SubjectPattern> = self
            .writes()
            .filter(|pattern| pattern.changes(entity) || pattern.changes(&old.entity.name))
            .collect();
        let updates = writers
            .iter()
            .filter(|pattern| pattern.updates(entity) || pattern.updates(&old.entity.name))
            .copied();
        let (patterns, updates) = (ids(writers.iter().copied()), ids(updates));
        let has_updates = writers.is_empty() || !updates.is_empty();
        let (entity, from, to) = (entity.clone(), from.clone(), to.clone());
        let (old_place, new_place) = (|| from.clone(), || to.clone());
        let keep = RekeyWrite::DualWrite {
            entity: entity.clone(),
            patterns: patterns.clone(),
            old: old_place(),
            new: new_place(),
        };
        self.act(StepKind::WriteBoth, keep);
        self.stale_copies_deleted(rekey, &[entity.as_str(), old.entity.name.as_str()], (old, new));
        let check = RekeyWrite::CheckOldCopy { entity: entity.clone(), old: old_place(), new: new_place() };
        self.act(StepKind::WriteBoth, check);
        if has_updates {
            let put = RekeyWrite::PutWhole {
                entity: entity.clone(),
                patterns: updates.clone(),
                old: old_place(),
                new: new_place(),
            };
            self.act(StepKind::WriteBoth, put);
        }
        let turn = RekeyWrite::UseNewCopy {
            entity: entity.clone(),
            patterns: updates,
            updated: has_updates,
            old: old_place(),
            new: new_place(),
        };
        self.act(StepKind::SwitchReads, turn);
        self.act(StepKind::StopWrites, RekeyWrite::StopDualWrite { entity, patterns, old: old_place() });
    }

    /// Writers know the item by its old key, and after the reads have moved by its new one.
    fn stale_copies_deleted(
        &mut self,
        rekey: &Rekey<'_>,
        names: &[&str],
        (old, new): (&EntityRef<'_>, &EntityRef<'_>),
    ) {
        let sides = [(old, new, StepKind::WriteBoth, true), (new, old, StepKind::SwitchReads, false)];
        for (known, made, during, lasts) in sides {
            self.stale_deleted(&StaleCopy {
                copies: &rekey.entity,
                names,
                known: (known.key(), variables(known)),
                made: (made.key(), variables(made)),
                during,
                lasts,
            });
        }
    }

    fn copied(&mut self, rekey: &Rekey<'a>) {
        let Rekey { old, new, from, to, entity, .. } = rekey;
        let counted = SubjectEntity { count: old.entity.count, ..new.entity.clone() };
        let needed = self.known_sources(*old, *new);
        let values = needed.iter().map(|one| Value {
            attribute: one.name.clone(),
            source: one.from.clone().unwrap_or(Source::Undefined),
        });
        let copy = Job::Copy {
            entity: entity.clone(),
            items: old.entity.count.declared(),
            old: from.clone(),
            new: to.clone(),
            values: values.collect(),
            condition: Condition::NoItem(new.table.key_name().to_owned()),
            both: rekey.within && old.meets(new),
        };
        let stands = standing(self.stood(new.table), new.table, StepKind::Backfill);
        let writes = put(&counted, Some(old.entity), &stands);
        let reads = self.scanned(StepKind::Backfill, old.table);
        let units = writes.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        // The writes are billed to the table that the items are written to.
        self.consume_for(StepKind::Backfill, &from.table, new.table, units, copy);
        self.copies(*new, &needed);
        // Within one table the scan reads both copies.
        let again = counted.table_bytes().map(|bytes| Units {
            reads: if rekey.within { 0 } else { bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES) },
            ..Units::default()
        });
        let compare = Job::CompareCopies { entity: entity.clone(), old: from.clone(), new: to.clone() };
        self.scan(StepKind::Verify, old.table, again, compare);
    }

    /// Deletes the old copies. Items of a deleted table need no writes.
    fn old_deleted(&mut self, rekey: &Rekey<'_>) {
        let Rekey { old, new, from, entity, within, .. } = rekey;
        let after = self.after.table(&from.table);
        let Some(now) = after.filter(|now| !must_be_copied(old.table, now)) else { return };
        let entered = within.then_some(new.entity);
        let units = delete(old.entity, entered, &standing(Some(old.table), now, StepKind::DeleteItems));
        let delete = Job::DeleteOld {
            entity: entity.clone(),
            items: old.entity.count.declared(),
            old: from.clone(),
            keeps: (*within && old.meets(new)).then(|| new.key()),
        };
        self.scan(StepKind::DeleteItems, old.table, units, delete);
    }
}
