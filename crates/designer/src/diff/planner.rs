//! Finds the steps of a plan.
//!
//! Units follow the developer guide's rules. A table write costs the larger of the item before and after. A
//! new index fills from the table without read cost, at one write per entry. An item whose primary key
//! changes is another item. A job that looks for items scans the whole table, eventually consistent. Counts
//! come from the models, sizes from their examples or declarations.
//!
//! A step relies on the steps before it: `index_lifetime` says which indexes exist, `read_cutover` which
//! copies of an item a read finds. During a release, instances of the previous one write too; the verify job
//! before the reads move repairs what they miss.

use std::collections::BTreeSet;

use keywright_semantics::capacity::EVENTUAL_READ_UNIT_BYTES;
use keywright_semantics::schema::{IndexKind, IndexSchema};

use super::action::{Action, Guard};
use super::changes::{index_text, slot_text};
use super::copied_attributes::Copied;
use super::hazards::hazards;
use super::index_changes::{
    Move, MoveKind, Needed, changed_types, filled, held_types, made_of, moves, needed, new_name, retyped,
    templates, total,
};
use super::index_lifetime::{delete, put, rewrite, standing};
use super::input::{Count, Subject, SubjectEntity, SubjectFault, SubjectPattern, SubjectTable};
use super::matching::{EntityRef, Match, gone_into, matches};
use super::phrasing::{Subjects, and, items, with_indexes};
use super::plan::{Alternative, Extent, Plan, Step, StepKind, Units, Who};
use super::read_cutover::Readers;
use super::settings::{calls, place, refused_replicas, refused_stream};
use super::stale_copies::variables;
use keywright_model::tables::Capacity;

pub(super) fn plan(before: &Subject, after: &Subject) -> Plan {
    let matches = matches(before, after);
    let mut planner = Planner {
        before,
        after,
        matches: &matches,
        summary: Vec::new(),
        clauses: Vec::new(),
        scans: BTreeSet::new(),
        refused: false,
    };
    for table in &after.tables {
        planner.table(table);
    }
    for matched in planner.matches {
        planner.matched(matched);
    }
    planner.exports();
    for table in &before.tables {
        if after.table(&table.definition.name).is_none_or(|now| must_be_copied(table, now)) {
            planner.deleted_table(table);
        }
    }
    planner.new_patterns();
    planner.lost();
    planner.faulty();
    let readers = Readers { before, after, matches: &matches };
    for change in readers.read_changes() {
        planner.act(change.kind, change.text, change.actions);
    }
    let hazards = hazards(before, after, &matches);
    for text in readers.refused().into_iter().chain(hazards) {
        planner.refused = true;
        planner.summary.push(text);
    }
    planner.side_effects();
    planner.reckoned();
    planner.extent()
}

/// A table's key and its local indexes are fixed when it is created.
pub(super) fn must_be_copied(was: &SubjectTable, table: &SubjectTable) -> bool {
    let local = |table: &SubjectTable| -> Vec<IndexSchema> {
        let mut indexes: Vec<IndexSchema> = table.definition.schema.indexes.clone();
        indexes.retain(|index| index.kind == IndexKind::Local);
        indexes.sort_by(|one, other| one.name.cmp(&other.name));
        indexes
    };
    was.definition.schema.key != table.definition.schema.key || local(was) != local(table)
}

/// The removed items that had an attribute which other items gain: the values may have moved, and the models
/// do not say so.
fn gone_over<'a>(matches: &[Match<'a>], new: &EntityRef<'_>, needed: &Needed) -> Option<EntityRef<'a>> {
    let kind = new.entity.attributes.get(&needed.name).filter(|_| needed.from.is_none())?;
    matches.iter().find_map(|matched| {
        let (Match::Stays(was, now) | Match::Moves(was, now)) = matched else { return None };
        let tells = variables(was).iter().all(|key| new.entity.attributes.contains_key(key));
        let had = was.entity.attributes.get(&needed.name) == Some(kind);
        (tells && had && !now.entity.attributes.contains_key(&needed.name)).then_some(*now)
    })
}

/// Whether the source of an attribute's values is open.
pub(super) fn is_open(
    matches: &[Match<'_>],
    (old, new): (&EntityRef<'_>, &EntityRef<'_>),
    needed: &Needed,
) -> bool {
    let merged = |matched: &Match<'_>| matches!(matched, Match::Unknown { old: Some(gone), new: None, .. } if gone_into(gone, old, new).contains(&needed.name));
    needed.from.is_none() && matches.iter().any(merged) || gone_over(matches, new, needed).is_some()
}

/// The attributes that a plan writes to items that keep their key.
pub(super) fn written(old: &EntityRef<'_>, new: &EntityRef<'_>) -> Vec<String> {
    let moves = moves(old.entity, new.entity, old.table, new.table);
    let mut found: Vec<String> = Vec::new();
    for one in moves.into_iter().filter(|one| one.kind != MoveKind::Leaves) {
        for name in one.written {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// A part of a step.
pub(super) struct Clause {
    pub(super) table: String,
    step: Step,
}

/// Groups clauses: all that one release of the application does is one step, and so is all that one job does
/// to one table. Calls of the control plane stay apart, since a request creates or deletes one index.
fn steps(mut clauses: Vec<Clause>) -> Vec<Step> {
    clauses.sort_by_key(|clause| clause.step.kind);
    let mut found: Vec<Clause> = Vec::new();
    for clause in clauses {
        let kind = clause.step.kind;
        let same = |known: &&mut Clause| {
            known.step.kind == kind
                && match kind.who() {
                    Who::Application => true,
                    Who::Job => known.table == clause.table,
                    Who::Table => false,
                }
        };
        match found.iter_mut().find(|known| same(known)) {
            Some(known) => {
                let new = clause.step.clauses.into_iter().filter(|text| !known.step.clauses.contains(text));
                let new: Vec<String> = new.collect();
                known.step.clauses.extend(new);
                known.step.actions.extend(clause.step.actions);
                known.step.units = known.step.units.zip(clause.step.units).map(|(one, other)| one.and(other));
                known.step.alternative = known.step.alternative.take().or(clause.step.alternative);
            }
            None => found.push(clause),
        }
    }
    found.into_iter().map(|clause| clause.step).collect()
}

pub(super) struct Planner<'a> {
    pub(super) before: &'a Subject,
    pub(super) after: &'a Subject,
    pub(super) matches: &'a [Match<'a>],
    pub(super) summary: Vec<String>,
    pub(super) clauses: Vec<Clause>,
    /// Tables that a job of the kind scans already: one scan serves all its work there.
    scans: BTreeSet<(StepKind, String)>,
    /// Whether a read would have no answer for a while.
    refused: bool,
}

impl<'a> Planner<'a> {
    /// Adds what the application does, or a call that consumes nothing.
    pub(super) fn act(&mut self, kind: StepKind, text: String, actions: Vec<Action>) {
        let step = Step {
            kind,
            clauses: vec![text],
            actions,
            units: Some(Units::default()),
            place: super::Place::default(),
            alternative: None,
        };
        self.clauses.push(Clause { table: String::new(), step });
    }

    /// Adds what patterns do, if there are any.
    pub(super) fn act_of(
        &mut self,
        kind: StepKind,
        patterns: Vec<&SubjectPattern>,
        text: impl FnOnce(&Subjects) -> String,
    ) {
        if !patterns.is_empty() {
            let who = Subjects::of(patterns.into_iter(), String::new);
            self.act(kind, text(&who), Vec::new());
        }
    }

    pub(super) fn consume(
        &mut self,
        kind: StepKind,
        table: &SubjectTable,
        text: String,
        units: Option<Units>,
        actions: Vec<Action>,
    ) {
        let name = table.definition.name.clone();
        let (was, now) = (self.before.table(&name), self.after.table(&name));
        let stands = was.zip(now).is_some_and(|(was, now)| !must_be_copied(was, now));
        let place = match now {
            Some(now) => place(was.filter(|_| stands).map(|was| &was.definition), &now.definition),
            None => place(None, &table.definition),
        };
        let step = Step { kind, clauses: vec![text], actions, units, place, alternative: None };
        self.clauses.push(Clause { table: name, step });
    }

    /// Adds what a job does to a table that it scans.
    pub(super) fn scan(
        &mut self,
        kind: StepKind,
        table: &SubjectTable,
        text: String,
        units: Option<Units>,
        actions: Vec<Action>,
    ) {
        let reads = self.scanned(kind, table);
        let units = units.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        self.consume(kind, table, text, units, actions);
    }

    /// The cost of scanning a table, if the job has not scanned it before.
    pub(super) fn scanned(&mut self, kind: StepKind, table: &SubjectTable) -> Option<u64> {
        let first = self.scans.insert((kind, table.definition.name.clone()));
        if first { self.scan_units(table) } else { Some(0) }
    }

    /// Read units of one scan over a table, eventually consistent: the items under their old keys and, once
    /// they exist, the copies under their new keys.
    pub(super) fn scan_units(&self, table: &SubjectTable) -> Option<u64> {
        let name = &table.definition.name;
        let Some(was) = self.before.table(name) else {
            return Some(
                total(table.entities.iter().map(SubjectEntity::table_bytes))?
                    .div_ceil(EVENTUAL_READ_UNIT_BYTES),
            );
        };
        let stays = self.after.table(name).is_some_and(|now| !must_be_copied(was, now));
        let coming = self.matches.iter().filter(|_| stays).filter_map(|matched| {
            let (Match::Moves(_, new) | Match::Derived(_, new, _) | Match::New(new)) = matched else {
                return None;
            };
            let count = matched.before().map_or(new.entity.count, |old| old.entity.count);
            let here = new.table.definition.name == *name;
            here.then(|| SubjectEntity { count, ..new.entity.clone() }.table_bytes())
        });
        let there = was.entities.iter().map(SubjectEntity::table_bytes);
        Some(total(there.chain(coming))?.div_ceil(EVENTUAL_READ_UNIT_BYTES))
    }

    /// Reads that the old model answers and the new one does not.
    fn lost(&mut self) {
        for now in self.after.patterns.iter().filter(|pattern| !pattern.answered) {
            let was = self.before.patterns.iter().find(|was| was.id == now.id && was.answered);
            if was.is_some() {
                self.refused = true;
                self.summary.push(format!(
                    "no plan: {} is asked in both models and nothing in the new one answers it: give it a key or an index there, or take the question out, and compare again; until then nothing is moved or deleted",
                    now.id
                ));
            }
        }
    }

    /// Errors that the rules report in the new model and not in the old one: after the plan `check` would
    /// fail.
    fn faulty(&mut self) {
        let lost = |fault: &SubjectFault| {
            let refusal = format!("no plan: {} is ", fault.subject);
            self.summary.iter().any(|line| line.starts_with(&refusal))
        };
        let known = |fault: &SubjectFault| {
            self.before.faults.iter().any(|was| was.rule == fault.rule && was.subject == fault.subject)
        };
        let found: Vec<String> = self
            .after
            .faults
            .iter()
            .filter(|fault| !known(fault) && !lost(fault))
            .map(|fault| {
                let rule = fault.rule.map(|rule| format!("{rule}: ")).unwrap_or_default();
                let fix = if fault.fix.is_empty() { String::new() } else { format!(" ({})", fault.fix) };
                format!(
                    "no plan: the new model fails its check where the old one does not: {rule}{}{fix}; run `keywright model check`, and compare again when it passes; until then nothing is moved or deleted",
                    fault.text
                )
            })
            .collect();
        self.refused |= !found.is_empty();
        self.summary.extend(found);
    }

    /// The plan, with how much of the differences it covers.
    fn extent(self) -> Plan {
        let unknown = |matched: &Match<'_>| matches!(matched, Match::Unknown { .. });
        let left_out = self.matches.iter().any(unknown)
            || self.summary.iter().any(|line| line.starts_with("not planned: "));
        let steps = if self.refused { Vec::new() } else { steps(self.clauses) };
        let extent = match (self.refused || steps.is_empty(), self.refused || left_out) {
            (_, false) => Extent::Whole,
            (false, true) => Extent::Part,
            (true, true) => Extent::None,
        };
        Plan { summary: self.summary, extent, steps }
    }

    fn table(&mut self, table: &SubjectTable) {
        let name = table.definition.name.clone();
        match self.before.table(&name) {
            None => self.act(
                StepKind::CreateTable,
                format!("create table {name}{}", with_indexes(table)),
                vec![Action::CreateTable { table: name, anew: false }],
            ),
            Some(was) if must_be_copied(was, table) => self.act(
                StepKind::CreateTable,
                format!(
                    "create {name} anew, under another name{}: a table's key and its local indexes cannot change",
                    with_indexes(table)
                ),
                vec![Action::CreateTable { table: name, anew: true }],
            ),
            Some(was) => {
                if was.definition.stream != table.definition.stream {
                    self.summary.extend(refused_stream(&table.definition));
                }
                self.summary.extend(refused_replicas(&was.definition, &table.definition));
                for (kind, text) in calls(&was.definition, &table.definition) {
                    self.act(kind, text, Vec::new());
                }
                self.indexes(was, table);
            }
        }
    }

    fn matched(&mut self, matched: &'a Match<'a>) {
        match matched {
            Match::Stays(old, new) => {
                if old.entity.name != new.entity.name {
                    self.summary.push(format!(
                        "{} is {} under another name: the same keys, the same items",
                        new.entity.name, old.entity.name
                    ));
                }
                self.changed(*old, *new);
            }
            Match::Moves(old, new) => self.moved(*old, *new),
            Match::New(new) => self.loaded(*new),
            Match::Derived(source, new, provenance) => self.derived(*source, *new, provenance),
            Match::Gone(old) => self.gone(*old),
            Match::Unknown { why, .. } => self.summary.extend(why.clone()),
        }
    }

    /// An entity that no old table holds: its items come from elsewhere.
    fn loaded(&mut self, new: EntityRef<'a>) {
        let (name, entity) = (&new.table.definition.name, new.entity);
        self.summary.push(format!("new data → base table: {} in {name}", entity.name));
        let text = format!(
            "write the {} to {name}, as far as they are elsewhere already, each on condition that nothing is there yet (attribute_not_exists({}))",
            items(entity.count, &entity.name),
            new.table.key_name()
        );
        self.written_new(new);
        let was = self.stood(new.table);
        let units = put(entity, None, &standing(was, new.table, StepKind::LoadItems));
        let actions = vec![Action::Load { entity: entity.name.clone() }];
        self.consume(StepKind::LoadItems, new.table, text, units, actions);
    }

    /// Which writers write items that no old table holds, while some may still be elsewhere.
    fn written_new(&mut self, new: EntityRef<'a>) {
        let (name, entity) = (&new.table.definition.name, new.entity);
        let writers: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| pattern.changes(&entity.name)).collect();
        for (name, (of, from)) in &entity.copies {
            self.kept_like(&Copied { name, side: new, of, from, made_of: None });
        }
        if writers.is_empty() {
            return;
        }
        let updates: Vec<&SubjectPattern> =
            writers.iter().filter(|pattern| pattern.updates(&entity.name)).copied().collect();
        let who = Subjects::of(writers.into_iter(), String::new);
        self.act(
            StepKind::WriteBoth,
            format!("{} {}", who.each("writes", "write"), entity.name),
            vec![Action::WriteNew { entity: entity.name.clone() }],
        );
        self.act_of(StepKind::WriteBoth, updates, |who| {
            format!(
                "as long as some {} is elsewhere, {} it whole, with what is there: an update alone would leave in {name} an item that lacks the rest, over which the load passes",
                entity.name,
                who.each("puts", "put")
            )
        });
        let text = format!(
            "compare every {} with what it is where it came from, if that was still written: what is missing or differs is put again, and what is there no more is deleted; again until none is found",
            entity.name
        );
        let reads = entity.table_bytes().map(|bytes| bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES));
        let units = reads.map(|reads| Units { reads, ..Units::default() });
        let action = Action::Compare { entity: entity.name.clone() };
        self.consume(StepKind::Verify, new.table, text, units, vec![action]);
    }

    /// The old table, if it is the same table.
    pub(super) fn stood(&self, table: &SubjectTable) -> Option<&'a SubjectTable> {
        self.before.table(&table.definition.name).filter(|was| !must_be_copied(was, table))
    }

    /// Deletes the items of a removed entity. Items of a deleted table need no writes.
    fn gone(&mut self, old: EntityRef<'_>) {
        let (table, entity) = (old.table, old.entity);
        let writers = self.before.patterns.iter().filter(|pattern| pattern.changes(&entity.name));
        let who = Subjects::of(writers, || format!("whatever writes {}", entity.name));
        self.act(
            StepKind::StopWrites,
            format!("{} {}", who.no_longer("writes", "write"), entity.name),
            vec![Action::StopWriting { entity: entity.name.clone() }],
        );
        let Some(now) = self.after.table(&table.definition.name) else { return };
        if must_be_copied(table, now) {
            return;
        }
        let text = format!("delete the {} from {}", items(entity.count, &entity.name), table.definition.name);
        let units = delete(entity, None, &standing(Some(table), now, StepKind::DeleteItems));
        let actions = vec![Action::DeleteGone { entity: entity.name.clone() }];
        self.scan(StepKind::DeleteItems, table, text, units, actions);
    }

    /// The alternative to copying a table: export and import.
    fn exports(&mut self) {
        for table in &self.after.tables {
            let name = &table.definition.name;
            let Some(was) = self.before.table(name).filter(|was| must_be_copied(was, table)) else {
                continue;
            };
            let bytes = total(was.entities.iter().map(SubjectEntity::table_bytes));
            let definition = &was.definition;
            let mut first: Vec<String> = Vec::new();
            if !definition.point_in_time_recovery {
                first.push("turn on its point-in-time recovery".to_owned());
            }
            if definition.stream.is_none() {
                first.push("turn on its stream".to_owned());
            }
            let first = if first.is_empty() { String::new() } else { format!("{}, then ", and(&first)) };
            let text = format!(
                "or, in place of creating the table and of all that follows until here: {first}export {name} to S3, bring the files into the new key and import them, which makes the new table with its indexes and takes no write units; then write to both, and replay from the stream what was written since"
            );
            let backfill = self
                .clauses
                .iter_mut()
                .rev()
                .find(|clause| clause.step.kind == StepKind::Backfill && clause.table == *name);
            if let Some(clause) = backfill {
                clause.step.alternative = Some(Alternative { text, bytes });
            }
        }
    }

    fn deleted_table(&mut self, table: &SubjectTable) {
        let name = &table.definition.name;
        let kept = self.matches.iter().find_map(|matched| match matched {
            Match::Unknown { old: Some(old), .. } if old.table.definition.name == *name => Some(old.entity),
            _ => None,
        });
        if let Some(entity) = kept {
            self.summary.push(format!(
                "the old table {name} is not deleted: it cannot be told what becomes of the items of {}",
                entity.name
            ));
            return;
        }
        let mut first: Vec<String> = Vec::new();
        if !table.definition.replicas.is_empty() {
            let regions = table.definition.replicas.join(", ");
            first.push(format!(
                "its replicas in {regions} (UpdateTable, one at a time; each stays and is paid otherwise)"
            ));
        }
        if table.definition.deletion_protection {
            first.push("its deletion protection off".to_owned());
        }
        let first = if first.is_empty() { String::new() } else { format!(", {} first", and(&first)) };
        self.act(
            StepKind::DeleteTable,
            format!("delete the old table {name}{first}; a backup of it can be kept"),
            vec![Action::DeleteTable { table: name.clone() }],
        );
    }

    fn indexes(&mut self, was: &SubjectTable, table: &SubjectTable) {
        let name = &table.definition.name;
        let global = |index: &&IndexSchema| index.kind == IndexKind::Global;
        for index in table.definition.schema.indexes.iter().filter(global) {
            let old = was.index(&index.name);
            if old == Some(index) {
                continue;
            }
            let there = was.entities.iter().map(|entity| {
                let old = EntityRef { table: was, entity };
                let matched =
                    self.matches.iter().find(|matched| matched.before().is_some_and(|known| known.is(&old)));
                let new = matched.and_then(Match::after).filter(|new| new.table.definition.name == *name);
                (entity, new.map(|new| new.entity))
            });
            let filled = filled(index, was, there);
            let anew =
                if old.is_some() { " anew, under another name, as an index cannot change" } else { "" };
            let fills = if filled == Some(0) { "" } else { ", which fills it from the items there" };
            let text = format!(
                "create index {} on {name}{anew} ({}){}: one UpdateTable; wait until it is ACTIVE{fills}",
                index.name,
                index_text(index),
                Self::other_names(index, was)
            );
            let units = filled.map(|index_writes| Units { index_writes, ..Units::default() });
            let action = Action::CreateIndex { table: name.clone(), index: index.name.clone() };
            self.consume(StepKind::CreateIndex, table, text, units, vec![action]);
        }
        for index in was.definition.schema.indexes.iter().filter(global) {
            if table.index(&index.name) != Some(index) {
                let text = format!(
                    "delete the old index {} of {name}: one UpdateTable; wait until it is gone",
                    index.name
                );
                let action = Action::DeleteIndex { table: name.clone(), index: index.name.clone() };
                self.act(StepKind::DeleteIndex, text, vec![action]);
            }
        }
    }

    /// Names for key attributes whose type changes: a table defines an attribute's type once.
    fn other_names(index: &IndexSchema, was: &SubjectTable) -> String {
        let mut names: Vec<String> = Vec::new();
        for entity in &was.entities {
            for name in retyped(entity, was, &index.key) {
                let key = index.key.attributes().find(|key| key.name == name);
                names.extend(key.map(|key| format!("{} instead of {name}", new_name(key))));
            }
        }
        names.sort();
        names.dedup();
        if names.is_empty() {
            return String::new();
        }
        format!(
            ", on {}, as a table has an attribute under one type and items of another enter no index: call it so in the model",
            and(&names)
        )
    }

    /// Items that keep their key, with attributes that are added, changed or removed.
    fn changed(&mut self, old: EntityRef<'a>, new: EntityRef<'a>) {
        let (entity, table) = (new.entity, new.table);
        let counted = SubjectEntity { count: old.entity.count, ..entity.clone() };
        let all = moves(old.entity, entity, old.table, table);
        // Attributes of an index that the items leave are removed in a separate step, after the reads have
        // moved.
        let (leaving, staying): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| one.kind == MoveKind::Leaves);
        let needed = self.known_sources(old, new);
        let mut changed = self.filled_up(old, &counted, table, &staying, &needed);
        self.copies(new, &needed);
        self.copies_dropped(old, new, &needed);
        changed.extend(self.types(old, &counted, table));
        self.consumed(StepKind::Backfill, old, &counted, table, &staying, &changed);
        let mut changed = Vec::new();
        for one in leaving.iter().filter(|one| !one.written.is_empty()) {
            self.left(one, old, &counted, table);
            changed.extend(one.written.clone());
        }
        self.consumed(StepKind::DeleteItems, old, &counted, table, &leaving, &changed);
    }

    /// The attributes to fill with their known sources. Attributes with an open source are left out: a
    /// default would hide that.
    pub(super) fn known_sources(&mut self, old: EntityRef<'_>, new: EntityRef<'_>) -> Vec<Needed> {
        let mut needed = needed(old.entity, new.entity, new.table, &self.after.patterns);
        for one in &needed {
            if let Some(other) = gone_over(self.matches, &new, one) {
                let (name, of, entity) = (&one.name, &other.entity.name, &new.entity.name);
                self.summary.push(format!(
                    "not planned: {name} of {entity} may be what was {name} of {of}, and is not filled: if so, compare with a model that has both, that of {entity} as `copyOf: {of}.{name}`, then that one with this"
                ));
            }
        }
        needed.retain(|one| !is_open(self.matches, (&old, &new), one));
        needed
    }

    /// What a job consumes that updates all items of an entity.
    fn consumed(
        &mut self,
        kind: StepKind,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        table: &SubjectTable,
        moves: &[Move<'_>],
        changed: &[String],
    ) {
        if !changed.is_empty() {
            let stands = standing(Some(old.table), table, kind);
            let units = rewrite(entity, old.entity, moves, changed, &stands);
            self.consume(kind, table, String::new(), units, Vec::new());
        }
    }

    /// Fills attributes of every item with one write per item, so that no item is half old and half new.
    /// Returns the written attributes.
    fn filled_up(
        &mut self,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        table: &SubjectTable,
        moves: &[Move<'_>],
        needed: &[Needed],
    ) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let all = moves.iter().flat_map(|one| &one.written).chain(needed.iter().map(|one| &one.name));
        for name in all {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        // Attributes that the items lack show which items were not written yet.
        names.sort_by_key(|name| old.entity.template_of(name).is_some());
        if names.is_empty() {
            return names;
        }
        let renamed: Vec<&(String, String)> = moves.iter().flat_map(|one| &one.retyped).collect();
        let mut inputs: Vec<String> = renamed.iter().map(|(_, from)| from.clone()).collect();
        for template in names.iter().filter_map(|name| entity.template_of(name)) {
            inputs.extend(made_of(&template).map(str::to_owned));
        }
        let mut sources = inputs.clone();
        for template in names.iter().filter_map(|name| old.entity.template_of(name)) {
            sources.extend(made_of(&template).map(str::to_owned));
        }
        self.set_together(old, entity, &names);
        let values = values(old.entity, entity, &names, needed, &renamed);
        sources.extend(names.iter().cloned());
        self.set_by_writers(old, entity, &names, values.as_deref(), &inputs, &sources);
        let (name, of) = (&table.definition.name, items(entity.count, &entity.name));
        let guard = guard(old.entity, entity, table, &names, &inputs);
        let text = format!(
            "scan {name} and set {} of the {of}{}{}, each on condition that {guard}",
            and(&names),
            values.as_ref().map(|values| format!(" {values}")).unwrap_or_default(),
            unknown_values(old.entity, entity, &names, needed),
        );
        let action = Action::Fill { entity: entity.name.clone(), attributes: names.clone(), guard };
        self.scan(StepKind::Backfill, table, text, Some(Units::default()), vec![action]);
        self.compared(entity, table, moves, (&names, needed));
        names
    }

    /// Attributes that change together must be written together already by the release before. Otherwise it
    /// would write one as it was while the other is new, and a read that switches between their indexes would
    /// miss the item in both.
    fn set_together(&mut self, old: EntityRef<'_>, entity: &SubjectEntity, names: &[String]) {
        let inputs = |name: &String| -> Option<Vec<String>> {
            let mut inputs: Vec<String> =
                made_of(&old.entity.template_of(name)?).map(str::to_owned).collect();
            inputs.push(name.clone());
            Some(inputs)
        };
        let had: Vec<(String, Vec<String>)> =
            names.iter().filter_map(|name| Some((name.clone(), inputs(name)?))).collect();
        if had.len() < 2 {
            return;
        }
        let all: Vec<String> = had.iter().flat_map(|(_, inputs)| inputs.clone()).collect();
        let apart = |pattern: &&SubjectPattern| {
            sets(pattern, old, entity, &all)
                && !had.iter().all(|(_, inputs)| sets(pattern, old, entity, inputs))
        };
        let setters = self
            .writes()
            .filter(|pattern| pattern.changes(&entity.name) || pattern.changes(&old.entity.name));
        let setters: Vec<&SubjectPattern> = setters.collect();
        let parted: Vec<&SubjectPattern> = setters.iter().filter(|pattern| apart(pattern)).copied().collect();
        if parted.is_empty() && !setters.is_empty() {
            return;
        }
        let who = Subjects::of(parted.into_iter(), || format!("whatever writes {}", entity.name));
        let attributes: Vec<String> = had.into_iter().map(|(name, _)| name).collect();
        let text = format!(
            "{} {} of {} all in one write already, as they are until now: who does not know what they are made of reads the item first, and writes on condition that it is still what was read",
            who.each("sets", "set"),
            and(&attributes),
            entity.name
        );
        let action = Action::SetTogether { entity: entity.name.clone(), attributes };
        self.act(StepKind::ReadBoth, text, vec![action]);
    }

    /// A writer of a filled attribute, or of what its old or new template uses, writes all filled attributes.
    fn set_by_writers(
        &mut self,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        names: &[String],
        values: Option<&str>,
        inputs: &[String],
        sources: &[String],
    ) {
        let setters: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| sets(pattern, old, entity, sources)).collect();
        let who = Subjects::of(setters.iter().copied(), || format!("whatever writes {}", entity.name));
        let attributes = and(names);
        let lacked = names.iter().all(|name| old.entity.template_of(name).is_none());
        let verb = if lacked { who.each("also sets", "also set") } else { who.each("sets", "set") };
        let how = values.as_ref().map(|values| format!(" {values}")).unwrap_or_default();
        let together = if names.len() > 1 { ", all of them in one write" } else { "" };
        self.act(
            StepKind::WriteBoth,
            format!("{verb} {attributes} of {}{how}{together}", entity.name),
            vec![Action::Set { entity: entity.name.clone(), attributes: names.to_vec() }],
        );
        let unknowing: Vec<&SubjectPattern> = setters
            .into_iter()
            .filter(|pattern| {
                let knows = |input: &String| {
                    let mut touches = pattern.touches.iter().filter(|touch| touch.entity == entity.name);
                    touches.any(|touch| touch.attributes.contains(input))
                        || entity.templates.iter().any(|(key, template)| {
                            old.table.definition.schema.key.contains(key)
                                && made_of(template).any(|name| name == input)
                        })
                };
                pattern.updates(&entity.name) && !inputs.iter().all(knows)
            })
            .collect();
        self.act_of(StepKind::WriteBoth, unknowing, |who| {
            format!(
                "{} not all that {attributes} of {} {} made of: read the item first, and update it on condition that it is still what was read",
                who.each("names", "name"),
                entity.name,
                if names.len() > 1 { "are" } else { "is" },
            )
        });
    }

    /// Verifies every item before the reads move: during the writers' release, instances of the previous one
    /// wrote too.
    fn compared(
        &mut self,
        entity: &SubjectEntity,
        table: &SubjectTable,
        moves: &[Move<'_>],
        (names, needed): (&[String], &[Needed]),
    ) {
        let name = &table.definition.name;
        let action = Action::CompareFilled { entity: entity.name.clone(), attributes: names.to_vec() };
        let copy = |name: &String| {
            let one = needed.iter().find(|one| one.name == *name)?;
            entity.copies.get(&one.name)
        };
        let own: Vec<String> = names.iter().filter(|name| copy(name).is_none()).cloned().collect();
        let mut made: Vec<String> = Vec::new();
        if !own.is_empty() {
            let them = if own.len() > 1 { "them" } else { "it" };
            made.push(format!("{} as its attributes make {them}", and(&own)));
        }
        let copied = names.iter().filter_map(|name| Some((name, copy(name)?)));
        made.extend(copied.map(|(name, (of, from))| {
            format!("{name} as {from} of its {of}, which is read and checked in the same transaction")
        }));
        let text = format!(
            "scan {name}: every {} has {}; what has not is set again, on condition that it is still what was read; again until none is found",
            entity.name,
            and(&made),
        );
        self.scan(StepKind::Verify, table, text, Some(Units::default()), vec![action]);
        for one in moves.iter().filter(|one| one.kind == MoveKind::Enters) {
            let index = &one.index.name;
            let units = entity
                .index_bytes(index)
                .map(|bytes| Units { reads: bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES), ..Units::default() });
            let text = format!("{index} has as many {} as {name}", entity.name);
            self.scan(StepKind::Verify, table, text, units, Vec::new());
        }
    }

    fn types(&mut self, old: EntityRef<'_>, entity: &SubjectEntity, table: &SubjectTable) -> Vec<String> {
        for (name, index) in held_types(old.entity, entity, old.table, table) {
            self.summary.push(format!(
                "not planned: {name} of {} cannot get another type while index {index} has it: first a model without the index, then one with the new type",
                entity.name
            ));
        }
        let types = changed_types(old.entity, entity, old.table, table);
        for (name, before, now) in &types {
            let read = self.readers(&old.entity.name).each("takes", "take");
            self.act(
                StepKind::ReadBoth,
                format!("{read} {name} of {} as {before} and as {now}", entity.name),
                Vec::new(),
            );
            let own = std::slice::from_ref(name);
            let setters = self.writes().filter(|pattern| sets(pattern, old, entity, own));
            let who = Subjects::of(setters, || format!("whatever writes {}", entity.name));
            self.act(
                StepKind::WriteBoth,
                format!("{} {name} of {} as {now}", who.each("writes", "write"), entity.name),
                Vec::new(),
            );
            let text = format!(
                "write {name} of the {} as {now}, each on condition that it is still what was read ({name} = :read)",
                items(old.entity.count, &entity.name)
            );
            self.scan(StepKind::Backfill, table, text, Some(Units::default()), Vec::new());
        }
        types.into_iter().map(|(name, ..)| name).collect()
    }

    /// Removes the index keys of items that leave an index.
    fn left(&mut self, one: &Move<'_>, old: EntityRef<'_>, entity: &SubjectEntity, table: &SubjectTable) {
        let written = and(&one.written);
        // Writers of the variables of these attributes have set them until now.
        let mut sources = one.written.clone();
        for template in one.written.iter().filter_map(|name| old.entity.template_of(name)) {
            sources.extend(made_of(&template).map(str::to_owned));
        }
        let setters = self.writes().filter(|pattern| sets(pattern, old, entity, &sources));
        let who = Subjects::of(setters, || format!("whatever writes {}", entity.name));
        let (name, attributes) = (entity.name.clone(), one.written.clone());
        self.act(
            StepKind::StopWrites,
            format!("{} {written} of {}", who.no_longer("sets", "set"), entity.name),
            vec![Action::Unset { entity: name.clone(), attributes: attributes.clone() }],
        );
        let text = format!(
            "scan {} and remove {written} from the {}",
            table.definition.name,
            items(entity.count, &entity.name)
        );
        let actions = vec![Action::Remove { entity: name, attributes }];
        self.scan(StepKind::DeleteItems, table, text, Some(Units::default()), actions);
    }

    /// Side effects of a job's writes: they use provisioned capacity and appear in streams.
    fn side_effects(&mut self) {
        let mut jobs: BTreeSet<(StepKind, String)> = BTreeSet::new();
        for clause in &self.clauses {
            let writes = clause.step.units.is_none_or(|units| units.writes() > 0);
            if clause.step.kind.who() == Who::Job && writes {
                jobs.insert((clause.step.kind, clause.table.clone()));
            }
        }
        for (kind, name) in jobs {
            let (was, now) = (self.before.table(&name), self.after.table(&name));
            let Some(table) = now.or(was) else { continue };
            let mut texts = Vec::new();
            // A table that is on demand before or after is on demand while jobs run. A copied table has the
            // new billing mode.
            let stands = was.zip(now).is_none_or(|(was, now)| !must_be_copied(was, now));
            let during = [was.filter(|_| stands), now].into_iter().flatten();
            let provisioned = |table: &&SubjectTable| match &table.definition.billing {
                Capacity::Provisioned(capacity) => Some(capacity.table.write),
                Capacity::OnDemand => None,
            };
            let capacity: Option<Vec<u64>> = during.map(|table| provisioned(&table)).collect();
            let capacity = capacity.unwrap_or_default().into_iter();
            if let Some(write) = capacity.max() {
                texts.push(format!(
                    "{name} is provisioned with {write} write units: what the job takes has to be there besides"
                ));
            }
            if [was, now].into_iter().flatten().any(|table| table.definition.stream.is_some()) {
                texts.push(format!("the stream of {name} shows these writes too"));
            }
            for text in texts {
                self.consume(kind, table, text, Some(Units::default()), Vec::new());
            }
        }
    }

    /// Names the figures that rest on examples alone.
    fn reckoned(&mut self) {
        let mut estimated = Vec::new();
        let writes = self.clauses.iter().any(|clause| clause.step.units != Some(Units::default()));
        for table in self.before.tables.iter().chain(&self.after.tables).filter(|_| writes) {
            for entity in &table.entities {
                let Count::Shown(examples) = entity.count else { continue };
                let text = format!("{} ({examples})", entity.name);
                if !estimated.contains(&text) {
                    estimated.push(text);
                }
            }
        }
        if !estimated.is_empty() {
            self.summary.push(format!(
                "without `count`, reckoned with the examples there are: {}",
                estimated.join(", ")
            ));
        }
    }

    /// All writes during the plan: those of the new and of the old design, including patterns that the new
    /// design drops.
    pub(super) fn writes(&self) -> impl Iterator<Item = &'a SubjectPattern> + use<'a> {
        self.after.patterns.iter().chain(&self.before.patterns)
    }

    fn readers(&self, entity: &str) -> Subjects {
        let reads = |pattern: &&SubjectPattern| pattern.read_entities().any(|read| read == entity);
        let readers = self.before.patterns.iter().filter(reads);
        Subjects::of(readers, || format!("whatever reads {entity}"))
    }

    fn new_patterns(&mut self) {
        let (before, after) = (self.before, self.after);
        for pattern in &after.patterns {
            if before.patterns.iter().any(|known| known.id == pattern.id) {
                continue;
            }
            let index = pattern.uses.as_deref().and_then(|uses| {
                let table = after.tables.iter().find(|table| table.index(uses).is_some())?;
                let new = before.table(&table.definition.name).is_none_or(|was| was.index(uses).is_none());
                Some((uses, table, new))
            });
            self.summary.push(match index {
                Some((uses, table, true)) => {
                    format!(
                        "new query → index: {} needs the new index {}.{uses}",
                        pattern.id, table.definition.name
                    )
                }
                Some((uses, table, false)) => match self.new_entries(pattern, uses) {
                    Some(entity) => format!(
                        "new query → index: {} needs {} in {}.{uses} under {}",
                        pattern.id,
                        entity.name,
                        table.definition.name,
                        table.index(uses).map(|index| slot_text(entity, &index.key)).unwrap_or_default()
                    ),
                    None => format!(
                        "new query → index: {} is served by {}.{uses}, which is there",
                        pattern.id, table.definition.name
                    ),
                },
                None => format!("new query → base table: {} needs no index", pattern.id),
            });
        }
    }

    /// An entity that a read finds in an index only after the plan.
    fn new_entries(&self, pattern: &SubjectPattern, uses: &str) -> Option<&'a SubjectEntity> {
        self.matches.iter().find_map(|matched| {
            let Match::Stays(old, new) = matched else { return None };
            let asked = pattern.read_entities().any(|read| read == new.entity.name);
            let moves = moves(old.entity, new.entity, old.table, new.table);
            let enters = moves.iter().any(|one| one.index.name == uses && one.kind != MoveKind::Leaves);
            (asked && enters).then_some(new.entity)
        })
    }
}

/// Whether a pattern sets one of the attributes of an entity, under its old or its new name.
fn sets(pattern: &SubjectPattern, old: EntityRef<'_>, entity: &SubjectEntity, sources: &[String]) -> bool {
    pattern.sets(&entity.name, sources) || pattern.sets(&old.entity.name, sources)
}

/// The templates of the attributes, if they differ from their names.
fn values(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    names: &[String],
    needed: &[Needed],
    renamed: &[&(String, String)],
) -> Option<String> {
    let mut texts = Vec::new();
    let changes = names.iter().any(|name| old.template_of(name).is_some());
    let keys: Vec<String> =
        names.iter().filter(|name| !needed.iter().any(|one| one.name == **name)).cloned().collect();
    if changes {
        texts.push(format!("as {}", templates(entity, &keys)));
    }
    let from = needed.iter().filter_map(|one| Some((one, one.from.as_ref()?)));
    texts.extend(from.map(|(one, from)| {
        if names.len() > 1 { format!("{} from {from}", one.name) } else { format!("from {from}") }
    }));
    texts.extend(renamed.iter().map(|(name, from)| {
        if names.len() > 1 { format!("{name} from {from}") } else { format!("from {from}") }
    }));
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Attributes whose values neither model defines: the person who carries out the plan must know them.
fn unknown_values(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    names: &[String],
    needed: &[Needed],
) -> String {
    let has_known_value = |name: &String| {
        old.template_of(name).is_some()
            || entity.template_of(name).is_none_or(|template| template.whole() != Some(name))
            || needed.iter().any(|one| one.name == *name && one.from.is_some())
    };
    let unknown: Vec<String> = names.iter().filter(|name| !has_known_value(name)).cloned().collect();
    match unknown.len() {
        0 => String::new(),
        all if all == names.len() => " to what neither model tells".to_owned(),
        _ => format!(", {} to what neither model tells", and(&unknown)),
    }
}

/// The guard by which a job recognises an item without the new values.
fn guard(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    table: &SubjectTable,
    names: &[String],
    inputs: &[String],
) -> Guard {
    let had: Vec<&String> = names.iter().filter(|name| old.template_of(name).is_some()).collect();
    match (had.first(), names.first()) {
        (Some(first), _) => {
            let mut read = vec![(*first).clone()];
            let of_key = |name: &String| {
                let keys = table.definition.schema.key.attributes();
                keys.filter_map(|key| entity.template_of(&key.name))
                    .any(|template| made_of(&template).any(|input| input == name))
            };
            read.extend(inputs.iter().filter(|name| !of_key(name) && !names.contains(name)).cloned());
            read.dedup();
            Guard::AsRead(read)
        }
        (None, first) => {
            Guard::Absent { key: table.key_name().to_owned(), attribute: first.cloned().unwrap_or_default() }
        }
    }
}
