//! Steps that re-key items: both keys are kept until no read uses the old ones.

use super::action::Action;
use super::index_lifetime::{delete, put, standing};
use super::input::{SubjectEntity, SubjectPattern};
use super::matching::EntityRef;
use super::phrasing::{Subjects, and, items};
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
    /// The old key and the new one.
    out: String,
    key: String,
    /// The new table, in words.
    other: String,
    entity: String,
}

impl<'a> Planner<'a> {
    /// Items get another primary key, in their table or in another one: they become other items.
    pub(super) fn moved(&mut self, old: EntityRef<'a>, new: EntityRef<'a>) {
        let (from, to) = (&old.table.definition.name, &new.table.definition.name);
        let anew = from == to && must_be_copied(old.table, new.table);
        let within = from == to && !anew;
        let other = if anew { format!("the new {to}") } else { to.clone() };
        let rekey = Rekey {
            old,
            new,
            within,
            out: old.key_text(),
            key: new.key_text(),
            other,
            entity: new.entity.name.clone(),
        };
        self.both_written(&rekey);
        self.copied(&rekey);
        self.old_deleted(&rekey);
    }

    fn both_written(&mut self, rekey: &Rekey<'_>) {
        let Rekey { old, out, key, other, within, entity, .. } = rekey;
        let from = &old.table.definition.name;
        let writers: Vec<&SubjectPattern> = self
            .writes()
            .filter(|pattern| pattern.changes(entity) || pattern.changes(&old.entity.name))
            .collect();
        let updates: Vec<&SubjectPattern> = writers
            .iter()
            .filter(|pattern| pattern.updates(entity) || pattern.updates(&old.entity.name))
            .copied()
            .collect();
        let unknown = writers.is_empty();
        let who = Subjects::of(writers.into_iter(), || format!("whatever writes {entity}"));
        let place_of = if *within {
            format!("under {out} and under {key}")
        } else {
            format!("in {from} and as {key} in {other}")
        };
        let (first, second) = if *within {
            (format!("under {out}"), format!("under {key}"))
        } else {
            (format!("in {from}"), format!("in {other}"))
        };
        let text = format!("{} {entity} {place_of}, both in one transaction", who.each("keeps", "keep"));
        self.act(StepKind::WriteBoth, text, vec![Action::KeepBoth { entity: entity.clone() }]);
        let names = [entity.as_str(), old.entity.name.as_str()];
        self.stale_deleted(&StaleCopy {
            copies: entity,
            names: &names,
            known: (out, variables(old)),
            made: (key, variables(&rekey.new)),
            during: StepKind::WriteBoth,
            lasts: true,
        });
        self.stale_deleted(&StaleCopy {
            copies: entity,
            names: &names,
            known: (key, variables(&rekey.new)),
            made: (out, variables(old)),
            during: StepKind::SwitchReads,
            lasts: false,
        });
        let updating = Subjects::of(updates.iter().copied(), || "an update".to_owned());
        let mut clauses = vec![(
            StepKind::WriteBoth,
            format!("conditions are asked {first} alone: {second} a copy may not be there yet"),
            Vec::new(),
        )];
        if unknown || !updates.is_empty() {
            let (reads, changes, puts) =
                if updating.is_many() { ("read", "change", "put") } else { ("reads", "changes", "puts") };
            clauses.push((
                StepKind::WriteBoth,
                format!(
                    "{} {reads} the whole item {first}, {changes} it there on condition that it is still what was read, and {puts} it whole {second}: an update alone would leave there an item that lacks the rest",
                    updating.names()
                ),
                Vec::new(),
            ));
        }
        let turned = if unknown || !updates.is_empty() {
            format!(
                "conditions are asked {second}, and what {} and {} {second}; {first} they are put whole until the old writes stop",
                updating.each("changes is read", "change is read"),
                "changed"
            )
        } else {
            format!("conditions are asked {second}")
        };
        clauses.push((StepKind::SwitchReads, turned, vec![Action::GoByNew { entity: entity.clone() }]));
        let place = if *within { String::new() } else { format!(" in {from}") };
        clauses.push((
            StepKind::StopWrites,
            format!("{} {entity} under {out}{place}", who.no_longer("keeps", "keep")),
            vec![Action::KeepNew { entity: entity.clone() }],
        ));
        for (kind, text, actions) in clauses {
            self.act(kind, text, actions);
        }
    }

    fn copied(&mut self, rekey: &Rekey<'a>) {
        let Rekey { old, new, out, key, other, entity, .. } = rekey;
        let from = &old.table.definition.name;
        let counted = SubjectEntity { count: old.entity.count, ..new.entity.clone() };
        let needed = self.known_sources(*old, *new);
        let with: Vec<String> = needed
            .iter()
            .map(|one| match &one.from {
                Some(from) => format!("{} ({from})", one.name),
                None => one.name.clone(),
            })
            .collect();
        let with = if with.is_empty() { String::new() } else { format!(", with {}", and(&with)) };
        let already = if rekey.within && old.meets(new) {
            "; one whose own attributes make the key that it has is left as it is"
        } else {
            ""
        };
        let text = format!(
            "scan {from} and put the {} into {other} as {key}{with}, each on condition that nothing is there yet (attribute_not_exists({})){already}",
            items(old.entity.count, entity),
            new.table.key_name()
        );
        let stands = standing(self.stood(new.table), new.table, StepKind::Backfill);
        let writes = put(&counted, Some(old.entity), &stands);
        let reads = self.scanned(StepKind::Backfill, old.table);
        let units = writes.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        // The writes are billed to the table that the items are written to.
        self.consume(
            StepKind::Backfill,
            new.table,
            text,
            units,
            vec![Action::Copy { entity: entity.clone() }],
        );
        if let Some(clause) = self.clauses.last_mut() {
            clause.table.clone_from(from);
        }
        self.copies(*new, &needed);
        // Within one table the scan reads both copies.
        let again = counted.table_bytes().map(|bytes| Units {
            reads: if rekey.within { 0 } else { bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES) },
            ..Units::default()
        });
        let text = format!(
            "compare every {entity} under {out} with the one under {key}{}: what is missing or differs is put again, and what none under {out} makes is deleted, each in a transaction that checks that the one under {out} is still what was read; again until none is found",
            if rekey.within { String::new() } else { format!(" in {other}") }
        );
        self.scan(StepKind::Verify, old.table, text, again, vec![Action::Compare { entity: entity.clone() }]);
    }

    /// Deletes the old copies. Items of a deleted table need no writes.
    fn old_deleted(&mut self, rekey: &Rekey<'_>) {
        let Rekey { old, new, out, key, entity, within, .. } = rekey;
        let from = &old.table.definition.name;
        let Some(now) = self.after.table(from).filter(|now| !must_be_copied(old.table, now)) else { return };
        let which = if *within && old.meets(new) {
            format!(": those whose key is not {key} of their own attributes, as that has them already")
        } else {
            String::new()
        };
        let text = format!(
            "delete the {} under {out} from {from}{which}",
            items(old.entity.count, &old.entity.name)
        );
        let entered = within.then_some(new.entity);
        let units = delete(old.entity, entered, &standing(Some(old.table), now, StepKind::DeleteItems));
        self.scan(
            StepKind::DeleteItems,
            old.table,
            text,
            units,
            vec![Action::DeleteOld { entity: entity.clone() }],
        );
    }
}
