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

use super::actions::{Action, AttributeWrite, Condition, Job, ReadChange, Renamed, Source, TableCall, Value};
use super::changes::slot;
use super::copied_attributes::Copied;
use super::hazards::hazards;
use super::index_changes::{
    Move, MoveKind, Needed, changed_types, filled, held_types, made_of, moves, needed, new_name, retyped,
    total,
};
use super::index_lifetime::{delete, put, rewrite, standing};
use super::input::{Count, Subject, SubjectEntity, SubjectFault, SubjectPattern, SubjectTable, ids};
use super::matching::{EntityRef, Match, gone_into, matches};
use super::plan::{Alternative, Extent, Operation, Place, Plan, Step, StepKind, Units, Who};
use super::read_cutover::Readers;
use super::remarks::{Estimate, NotPlanned, Note, Refusal, Remark};
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
        parts: Vec::new(),
        scans: BTreeSet::new(),
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
    for (kind, change) in readers.read_changes() {
        planner.act(kind, change);
    }
    let hazards = hazards(before, after, &matches);
    planner.summary.extend(readers.refused().into_iter().chain(hazards).map(Remark::NoPlan));
    planner.side_effects();
    planner.estimated();
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
pub(super) struct Part {
    kind: StepKind,
    /// The table that a job works on.
    table: String,
    operation: Operation,
    place: Place,
    alternative: Option<Alternative>,
}

/// Groups parts: all that one release of the application does is one step, and so is all that one job does to
/// one table. Calls of the control plane stay apart, since a request creates or deletes one index.
fn steps(mut parts: Vec<Part>) -> Vec<Step> {
    parts.sort_by_key(|part| part.kind);
    let mut found: Vec<(String, Step)> = Vec::new();
    for part in parts {
        let same = |(table, step): &&mut (String, Step)| {
            step.kind == part.kind
                && match part.kind.who() {
                    Who::Application => true,
                    Who::Job => *table == part.table,
                    Who::Table => false,
                }
        };
        if let Some((_, step)) = found.iter_mut().find(same) {
            extend(step, part);
        } else {
            let Part { kind, table, operation, place, alternative } = part;
            let units = operation.units;
            found.push((table, Step { kind, operations: vec![operation], units, place, alternative }));
        }
    }
    let steps: Vec<Step> = found.into_iter().map(|(_, step)| step).collect();
    assert!(steps.is_sorted_by_key(|step| step.kind), "steps are in the order of execution");
    assert!(steps.iter().all(|step| !step.operations.is_empty()), "a step does something");
    steps
}

/// Adds a part to its step. One operation may be found on several ways.
fn extend(step: &mut Step, part: Part) {
    let sum = |one: Option<Units>, other: Option<Units>| Some(one?.and(other?));
    step.units = sum(step.units, part.operation.units);
    step.alternative = step.alternative.take().or(part.alternative);
    match step.operations.iter_mut().find(|known| known.action == part.operation.action) {
        Some(known) => known.units = sum(known.units, part.operation.units),
        None => step.operations.push(part.operation),
    }
}

/// Units of one job that rewrites items: its first operation is charged with all of them.
struct Rewrite(Option<Units>);

impl Rewrite {
    const fn take(&mut self) -> Option<Units> {
        self.0.replace(Units { reads: 0, table_writes: 0, index_writes: 0 })
    }
}

pub(super) struct Planner<'a> {
    pub(super) before: &'a Subject,
    pub(super) after: &'a Subject,
    pub(super) matches: &'a [Match<'a>],
    pub(super) summary: Vec<Remark>,
    parts: Vec<Part>,
    /// Tables that a job of the kind scans already: one scan serves all its work there.
    scans: BTreeSet<(StepKind, String)>,
}

impl<'a> Planner<'a> {
    /// Adds what the application does, or a call that consumes nothing.
    pub(super) fn act(&mut self, kind: StepKind, action: impl Into<Action>) {
        let operation = Operation { action: action.into(), units: Some(Units::default()) };
        let (table, place) = (String::new(), Place::default());
        self.parts.push(Part { kind, table, operation, place, alternative: None });
    }

    /// Adds what patterns do, if there are any.
    pub(super) fn act_of<A: Into<Action>>(
        &mut self,
        kind: StepKind,
        patterns: Vec<&SubjectPattern>,
        action: impl FnOnce(Vec<String>) -> A,
    ) {
        if !patterns.is_empty() {
            self.act(kind, action(ids(patterns)));
        }
    }

    pub(super) fn consume(
        &mut self,
        kind: StepKind,
        table: &SubjectTable,
        units: Option<Units>,
        action: impl Into<Action>,
    ) {
        self.consume_for(kind, &table.definition.name, table, units, action);
    }

    /// Adds what a job does to one table (`of`) and what is billed to another one.
    pub(super) fn consume_for(
        &mut self,
        kind: StepKind,
        of: &str,
        billed: &SubjectTable,
        units: Option<Units>,
        action: impl Into<Action>,
    ) {
        let name = &billed.definition.name;
        let (was, now) = (self.before.table(name), self.after.table(name));
        let stands = was.zip(now).is_some_and(|(was, now)| !must_be_copied(was, now));
        let place = match now {
            Some(now) => place(was.filter(|_| stands).map(|was| &was.definition), &now.definition),
            None => place(None, &billed.definition),
        };
        let operation = Operation { action: action.into(), units };
        self.parts.push(Part { kind, table: of.to_owned(), operation, place, alternative: None });
    }

    /// Adds what a job does to a table that it scans.
    pub(super) fn scan(
        &mut self,
        kind: StepKind,
        table: &SubjectTable,
        units: Option<Units>,
        action: impl Into<Action>,
    ) {
        let reads = self.scanned(kind, table);
        let units = units.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        self.consume(kind, table, units, action);
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
                self.summary.push(Refusal::Unanswered { pattern: now.id.clone() }.into());
            }
        }
    }

    /// Errors that the rules report in the new model and not in the old one: after the plan `check` would
    /// fail.
    fn faulty(&mut self) {
        let unanswered = |fault: &SubjectFault| {
            let refusal = Remark::NoPlan(Refusal::Unanswered { pattern: fault.subject.clone() });
            self.summary.contains(&refusal)
        };
        let known = |fault: &SubjectFault| {
            self.before.faults.iter().any(|was| was.rule == fault.rule && was.subject == fault.subject)
        };
        let found = self.after.faults.iter().filter(|fault| !known(fault) && !unanswered(fault));
        let refusals = found.map(|fault| Refusal::FailsCheck {
            subject: fault.subject.clone(),
            rule: fault.rule.map(str::to_owned),
            fault: fault.text.clone(),
            fix: fault.fix.clone(),
        });
        let refusals: Vec<Remark> = refusals.map(Remark::NoPlan).collect();
        self.summary.extend(refusals);
    }

    /// The plan, with how much of the differences it covers.
    fn extent(self) -> Plan {
        let unknown = |matched: &Match<'_>| matches!(matched, Match::Unknown { .. });
        let left_out = self.matches.iter().any(unknown)
            || self.summary.iter().any(|remark| matches!(remark, Remark::NotPlanned(_)));
        let refused = self.summary.iter().any(|remark| matches!(remark, Remark::NoPlan(_)));
        let steps = if refused { Vec::new() } else { steps(self.parts) };
        let extent = match (refused || steps.is_empty(), refused || left_out) {
            (_, false) => Extent::Whole,
            (false, true) => Extent::Part,
            (true, true) => Extent::None,
        };
        Plan { summary: self.summary, extent, steps }
    }

    fn table(&mut self, table: &SubjectTable) {
        let name = table.definition.name.clone();
        let create = |again| TableCall::CreateTable {
            table: name.clone(),
            again,
            indexes: u64::try_from(table.definition.schema.indexes.len()).unwrap_or(u64::MAX),
        };
        match self.before.table(&name) {
            None => self.act(StepKind::CreateTable, create(false)),
            Some(was) if must_be_copied(was, table) => self.act(StepKind::CreateTable, create(true)),
            Some(was) => {
                if was.definition.stream != table.definition.stream {
                    self.summary.extend(refused_stream(&table.definition).map(Remark::NotPlanned));
                }
                let refused = refused_replicas(&was.definition, &table.definition);
                self.summary.extend(refused.map(Remark::NotPlanned));
                for (kind, call) in calls(&was.definition, &table.definition) {
                    self.act(kind, call);
                }
                self.indexes(was, table);
            }
        }
    }

    fn matched(&mut self, matched: &'a Match<'a>) {
        match matched {
            Match::Stays(old, new) => {
                if old.entity.name != new.entity.name {
                    let (entity, old) = (new.entity.name.clone(), old.entity.name.clone());
                    self.summary.push(Note::Renamed { entity, old }.into());
                }
                self.changed(*old, *new);
            }
            Match::Moves(old, new) => self.moved(*old, *new),
            Match::New(new) => self.loaded(*new),
            Match::Derived(source, new, provenance) => self.derived(*source, *new, provenance),
            Match::Gone(old) => self.gone(*old),
            Match::Unknown { why, .. } => self.summary.extend(why.clone().map(Remark::NotPlanned)),
        }
    }

    /// An entity that no old table holds: its items come from elsewhere.
    fn loaded(&mut self, new: EntityRef<'a>) {
        let (table, entity) = (new.table.definition.name.clone(), new.entity);
        let (name, source) = (entity.name.clone(), None);
        self.summary.push(
            Note::NewData { entity: name.clone(), table: table.clone(), source, moved: Vec::new() }.into(),
        );
        self.written_new(new);
        let was = self.stood(new.table);
        let units = put(entity, None, &standing(was, new.table, StepKind::LoadItems));
        let condition = Condition::NoItem(new.table.key_name().to_owned());
        let load = Job::Load { entity: name, items: entity.count.declared(), table, condition };
        self.consume(StepKind::LoadItems, new.table, units, load);
    }

    /// Which writers write items that no old table holds, while some may still be elsewhere.
    fn written_new(&mut self, new: EntityRef<'a>) {
        let (table, entity) = (&new.table.definition.name, new.entity);
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
        let (entity, reads) =
            (&entity.name, entity.table_bytes().map(|bytes| bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES)));
        self.act_of(StepKind::WriteBoth, writers, |patterns| AttributeWrite::WriteNew {
            entity: entity.clone(),
            patterns,
        });
        self.act_of(StepKind::WriteBoth, updates, |patterns| AttributeWrite::PutLoadedWhole {
            entity: entity.clone(),
            table: table.clone(),
            patterns,
        });
        let units = reads.map(|reads| Units { reads, ..Units::default() });
        let compare = Job::CompareLoaded { entity: entity.clone(), table: table.clone() };
        self.consume(StepKind::Verify, new.table, units, compare);
    }

    /// The old table, if it is the same table.
    pub(super) fn stood(&self, table: &SubjectTable) -> Option<&'a SubjectTable> {
        self.before.table(&table.definition.name).filter(|was| !must_be_copied(was, table))
    }

    /// Deletes the items of a removed entity. Items of a deleted table need no writes.
    fn gone(&mut self, old: EntityRef<'_>) {
        let (table, entity) = (old.table, old.entity);
        let writers = self.before.patterns.iter().filter(|pattern| pattern.changes(&entity.name));
        let stop = AttributeWrite::StopWriting { entity: entity.name.clone(), patterns: ids(writers) };
        self.act(StepKind::StopWrites, stop);
        let Some(now) = self.after.table(&table.definition.name) else { return };
        if must_be_copied(table, now) {
            return;
        }
        let units = delete(entity, None, &standing(Some(table), now, StepKind::DeleteItems));
        let delete = Job::DeleteEntity {
            entity: entity.name.clone(),
            items: entity.count.declared(),
            table: table.definition.name.clone(),
        };
        self.scan(StepKind::DeleteItems, table, units, delete);
    }

    /// The alternative to copying a table: export and import.
    fn exports(&mut self) {
        for table in &self.after.tables {
            let name = &table.definition.name;
            let Some(was) = self.before.table(name).filter(|was| must_be_copied(was, table)) else {
                continue;
            };
            let bytes = total(was.entities.iter().map(SubjectEntity::table_bytes));
            let export = Job::ExportAndImport {
                table: name.clone(),
                recovery: !was.definition.point_in_time_recovery,
                stream: was.definition.stream.is_none(),
            };
            let backfill = self
                .parts
                .iter_mut()
                .rev()
                .find(|part| part.kind == StepKind::Backfill && part.table == *name);
            if let Some(part) = backfill {
                part.alternative = Some(Alternative { action: export.into(), bytes });
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
            let (table, entity) = (name.clone(), entity.name.clone());
            self.summary.push(Note::TableStays { table, entity }.into());
            return;
        }
        let delete = TableCall::DeleteTable {
            table: name.clone(),
            replicas: table.definition.replicas.clone(),
            protected: table.definition.deletion_protection,
        };
        self.act(StepKind::DeleteTable, delete);
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
            let create = TableCall::CreateIndex {
                table: name.clone(),
                index: index.name.clone(),
                again: old.is_some(),
                definition: index.clone(),
                renamed: other_names(index, was),
                fills: filled != Some(0),
            };
            let units = filled.map(|index_writes| Units { index_writes, ..Units::default() });
            self.consume(StepKind::CreateIndex, table, units, create);
        }
        for index in was.definition.schema.indexes.iter().filter(global) {
            if table.index(&index.name) != Some(index) {
                let delete = TableCall::DeleteIndex { table: name.clone(), index: index.name.clone() };
                self.act(StepKind::DeleteIndex, delete);
            }
        }
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
        let names = names_to_fill(old.entity, &staying, &needed);
        let types = changed_types(old.entity, entity, old.table, table);
        let changed: Vec<String> =
            names.iter().cloned().chain(types.iter().map(|(name, ..)| name.clone())).collect();
        let stands = standing(Some(old.table), table, StepKind::Backfill);
        let mut units = Rewrite(rewrite(&counted, old.entity, &staying, &changed, &stands));
        if !names.is_empty() {
            let units = units.take();
            self.filled_up(old, (&counted, table), &staying, (&names, &needed), units);
        }
        self.copies(new, &needed);
        self.copies_dropped(old, new);
        for (attribute, index) in held_types(old.entity, &counted, old.table, table) {
            let entity = entity.name.clone();
            self.summary.push(NotPlanned::HeldType { entity, attribute, index }.into());
        }
        for change in types {
            self.retyped(old, &counted, table, change, units.take());
        }
        let written: Vec<String> = leaving.iter().flat_map(|one| one.written.clone()).collect();
        let stands = standing(Some(old.table), table, StepKind::DeleteItems);
        let mut units = Rewrite(rewrite(&counted, old.entity, &leaving, &written, &stands));
        for one in leaving.iter().filter(|one| !one.written.is_empty()) {
            self.left(one, old, &counted, table, units.take());
        }
    }

    /// The attributes to fill with their known sources. Attributes with an open source are left out: a
    /// default would hide that.
    pub(super) fn known_sources(&mut self, old: EntityRef<'_>, new: EntityRef<'_>) -> Vec<Needed> {
        let mut needed = needed(old.entity, new.entity, new.table, &self.after.patterns);
        for one in &needed {
            if let Some(other) = gone_over(self.matches, &new, one) {
                let open = NotPlanned::MaybeMovedAttribute {
                    entity: new.entity.name.clone(),
                    attribute: one.name.clone(),
                    source: other.entity.name.clone(),
                };
                self.summary.push(open.into());
            }
        }
        needed.retain(|one| !is_open(self.matches, (&old, &new), one));
        needed
    }

    /// Fills attributes of every item with one write per item, so that no item is half old and half new.
    fn filled_up(
        &mut self,
        old: EntityRef<'_>,
        (entity, table): (&SubjectEntity, &SubjectTable),
        moves: &[Move<'_>],
        (names, needed): (&[String], &[Needed]),
        units: Option<Units>,
    ) {
        let renamed: Vec<&(String, String)> = moves.iter().flat_map(|one| &one.retyped).collect();
        let mut inputs: Vec<String> = renamed.iter().map(|(_, from)| from.clone()).collect();
        for template in names.iter().filter_map(|name| entity.template_of(name)) {
            inputs.extend(made_of(&template).map(str::to_owned));
        }
        let mut sources = inputs.clone();
        for template in names.iter().filter_map(|name| old.entity.template_of(name)) {
            sources.extend(made_of(&template).map(str::to_owned));
        }
        self.set_together(old, entity, names);
        let values = values(old.entity, entity, names, needed, &renamed);
        sources.extend(names.iter().cloned());
        self.set_by_writers(old, entity, &values, &inputs, &sources);
        let fill = Job::Fill {
            entity: entity.name.clone(),
            items: entity.count.declared(),
            table: table.definition.name.clone(),
            values: values.clone(),
            condition: condition(old.entity, entity, table, names, &inputs),
        };
        self.scan(StepKind::Backfill, table, units, fill);
        self.compared(entity, table, moves, values);
    }

    /// Attributes that change together must already be written together by the preceding release. Otherwise
    /// an instance of it could write one attribute in its old form while the other is already new, and a
    /// read that switches between their indexes would miss the item in both.
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
        let set = AttributeWrite::SetTogether {
            entity: entity.name.clone(),
            patterns: ids(parted),
            attributes: had.into_iter().map(|(name, _)| name).collect(),
        };
        self.act(StepKind::ReadBoth, set);
    }

    /// A writer of a filled attribute, or of what its old or new template uses, writes all filled attributes.
    fn set_by_writers(
        &mut self,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        values: &[Value],
        inputs: &[String],
        sources: &[String],
    ) {
        let setters: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| sets(pattern, old, entity, sources)).collect();
        let set = AttributeWrite::Set {
            entity: entity.name.clone(),
            patterns: ids(setters.iter().copied()),
            values: values.to_vec(),
            added: values.iter().all(|value| old.entity.template_of(&value.attribute).is_none()),
        };
        self.act(StepKind::WriteBoth, set);
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
        self.act_of(StepKind::WriteBoth, unknowing, |patterns| AttributeWrite::ReadFirst {
            entity: entity.name.clone(),
            patterns,
            attributes: values.iter().map(|value| value.attribute.clone()).collect(),
        });
    }

    /// Verifies every item before the reads move: during the writers' release, instances of the previous one
    /// wrote too.
    fn compared(
        &mut self,
        entity: &SubjectEntity,
        table: &SubjectTable,
        moves: &[Move<'_>],
        values: Vec<Value>,
    ) {
        let (name, entity_name) = (&table.definition.name, &entity.name);
        let compare = Job::CompareFilled { entity: entity_name.clone(), table: name.clone(), values };
        self.scan(StepKind::Verify, table, Some(Units::default()), compare);
        for one in moves.iter().filter(|one| one.kind == MoveKind::Enters) {
            let index = &one.index.name;
            let units = entity
                .index_bytes(index)
                .map(|bytes| Units { reads: bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES), ..Units::default() });
            let count =
                Job::CompareCounts { entity: entity_name.clone(), table: name.clone(), index: index.clone() };
            self.scan(StepKind::Verify, table, units, count);
        }
    }

    /// An attribute outside the keys that gets another type.
    fn retyped(
        &mut self,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        table: &SubjectTable,
        (attribute, before, now): (String, &'static str, &'static str),
        units: Option<Units>,
    ) {
        let becomes = now.to_owned();
        let read = ReadChange::ReadTypes {
            entity: entity.name.clone(),
            patterns: self.readers(&old.entity.name),
            attribute: attribute.clone(),
            types: vec![before.to_owned(), becomes.clone()],
        };
        self.act(StepKind::ReadBoth, read);
        let own = std::slice::from_ref(&attribute);
        let setters = self.writes().filter(|pattern| sets(pattern, old, entity, own));
        let write = AttributeWrite::WriteType {
            entity: entity.name.clone(),
            patterns: ids(setters),
            attribute: attribute.clone(),
            becomes: becomes.clone(),
        };
        self.act(StepKind::WriteBoth, write);
        let convert = Job::ConvertType {
            entity: entity.name.clone(),
            items: old.entity.count.declared(),
            table: table.definition.name.clone(),
            condition: Condition::AsRead(vec![attribute.clone()]),
            attribute,
            becomes,
        };
        self.scan(StepKind::Backfill, table, units, convert);
    }

    /// Removes the index keys of items that leave an index.
    fn left(
        &mut self,
        one: &Move<'_>,
        old: EntityRef<'_>,
        entity: &SubjectEntity,
        table: &SubjectTable,
        units: Option<Units>,
    ) {
        // Writers of the variables of these attributes have set them until now.
        let mut sources = one.written.clone();
        for template in one.written.iter().filter_map(|name| old.entity.template_of(name)) {
            sources.extend(made_of(&template).map(str::to_owned));
        }
        let setters = self.writes().filter(|pattern| sets(pattern, old, entity, &sources));
        let stop = AttributeWrite::StopSetting {
            entity: entity.name.clone(),
            patterns: ids(setters),
            attributes: one.written.clone(),
        };
        self.act(StepKind::StopWrites, stop);
        let remove = Job::RemoveAttributes {
            entity: entity.name.clone(),
            items: entity.count.declared(),
            table: table.definition.name.clone(),
            attributes: one.written.clone(),
        };
        self.scan(StepKind::DeleteItems, table, units, remove);
    }

    /// Side effects of a job's writes: they use provisioned capacity and appear in streams.
    fn side_effects(&mut self) {
        let mut jobs: BTreeSet<(StepKind, String)> = BTreeSet::new();
        for part in &self.parts {
            let writes = part.operation.units.is_none_or(|units| units.writes() > 0);
            if part.kind.who() == Who::Job && writes {
                jobs.insert((part.kind, part.table.clone()));
            }
        }
        for (kind, name) in jobs {
            let (was, now) = (self.before.table(&name), self.after.table(&name));
            let Some(table) = now.or(was) else { continue };
            let mut effects = Vec::new();
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
            if let Some(provisioned) = capacity.max() {
                effects.push(Job::AddCapacity { table: name.clone(), provisioned });
            }
            if [was, now].into_iter().flatten().any(|table| table.definition.stream.is_some()) {
                effects.push(Job::AppearsInStream { table: name });
            }
            for effect in effects {
                self.consume(kind, table, Some(Units::default()), effect);
            }
        }
    }

    /// Names the entities whose figures rest on examples alone.
    fn estimated(&mut self) {
        let mut entities: Vec<Estimate> = Vec::new();
        let writes = self.parts.iter().any(|part| part.operation.units != Some(Units::default()));
        for table in self.before.tables.iter().chain(&self.after.tables).filter(|_| writes) {
            for entity in &table.entities {
                let Count::Shown(examples) = entity.count else { continue };
                let estimate = Estimate { entity: entity.name.clone(), examples };
                if !entities.contains(&estimate) {
                    entities.push(estimate);
                }
            }
        }
        if !entities.is_empty() {
            self.summary.push(Note::Estimated { entities }.into());
        }
    }

    /// All writes during the plan: those of the new and of the old design, including patterns that the new
    /// design drops.
    pub(super) fn writes(&self) -> impl Iterator<Item = &'a SubjectPattern> + use<'a> {
        self.after.patterns.iter().chain(&self.before.patterns)
    }

    fn readers(&self, entity: &str) -> Vec<String> {
        let reads = |pattern: &&SubjectPattern| pattern.read_entities().any(|read| read == entity);
        ids(self.before.patterns.iter().filter(reads))
    }

    fn new_patterns(&mut self) {
        let (before, after) = (self.before, self.after);
        for pattern in &after.patterns {
            if before.patterns.iter().all(|known| known.id != pattern.id) {
                self.summary.push(self.new_pattern(pattern).into());
            }
        }
    }

    fn new_pattern(&self, pattern: &SubjectPattern) -> Note {
        let id = pattern.id.clone();
        let found = pattern.uses.as_ref().and_then(|uses| {
            let table = self.after.tables.iter().find(|table| table.index(uses).is_some())?;
            Some((uses.clone(), table))
        });
        let Some((index, table)) = found else { return Note::NeedsNoIndex { pattern: id } };
        let name = &table.definition.name;
        let table_name = name.clone();
        if self.before.table(name).is_none_or(|was| was.index(&index).is_none()) {
            return Note::NeedsIndex { pattern: id, table: table_name, index };
        }
        match self.new_entries(pattern, &index) {
            Some(entity) => Note::NeedsEntries {
                pattern: id,
                table: table_name,
                entity: entity.name.clone(),
                key: table.index(&index).map(|index| slot(entity, &index.key)).unwrap_or_default(),
                index,
            },
            None => Note::ServedByIndex { pattern: id, table: table_name, index },
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

/// Names for key attributes whose type changes: a table defines an attribute's type once.
fn other_names(index: &IndexSchema, was: &SubjectTable) -> Vec<Renamed> {
    let mut names: Vec<Renamed> = Vec::new();
    for entity in &was.entities {
        for attribute in retyped(entity, was, &index.key) {
            let key = index.key.attributes().find(|key| key.name == attribute);
            names.extend(key.map(|key| Renamed { attribute, name: new_name(key) }));
        }
    }
    names.sort_by(|one, other| (&one.name, &one.attribute).cmp(&(&other.name, &other.attribute)));
    names.dedup();
    names
}

/// The attributes that a job fills.
fn names_to_fill(old: &SubjectEntity, moves: &[Move<'_>], needed: &[Needed]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let all = moves.iter().flat_map(|one| &one.written).chain(needed.iter().map(|one| &one.name));
    for name in all {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // Attributes that the items lack show which items were not written yet.
    names.sort_by_key(|name| old.template_of(name).is_some());
    names
}

/// The filled attributes, each with the source of its value.
fn values(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    names: &[String],
    needed: &[Needed],
    renamed: &[&(String, String)],
) -> Vec<Value> {
    let source = |name: &String| {
        let known = needed.iter().find(|one| one.name == *name).and_then(|one| one.from.clone());
        let retyped = renamed.iter().find(|(new, _)| new == name);
        known.or_else(|| retyped.map(|(_, from)| Source::OldType(from.clone()))).unwrap_or_else(|| {
            let template = entity.template_of(name);
            let is_itself = template.as_ref().is_some_and(|template| template.whole() == Some(name));
            match template {
                // Only the person who carries out the plan can know the value.
                Some(_) if is_itself && old.template_of(name).is_none() => Source::Undefined,
                Some(template) => Source::Template(template.to_string()),
                None => Source::Template(format!("{{{name}}}")),
            }
        })
    };
    names.iter().map(|name| Value { attribute: name.clone(), source: source(name) }).collect()
}

/// The condition by which a job recognises an item without the new values.
fn condition(
    old: &SubjectEntity,
    entity: &SubjectEntity,
    table: &SubjectTable,
    names: &[String],
    inputs: &[String],
) -> Condition {
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
            Condition::AsRead(read)
        }
        (None, first) => {
            let attribute = first.cloned().unwrap_or_default();
            Condition::Lacks { key: table.key_name().to_owned(), attribute }
        }
    }
}
