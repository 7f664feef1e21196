//! Finds the steps of a plan.
//!
//! Units follow the developer guide's rules: a table write costs the larger of the item before and after; a new index fills
//! from the table without paying for reads, one write an entry; an item whose primary key changes is another item; a job
//! that looks for items scans the whole table, eventually consistent. Counts come from the models, sizes from their
//! examples or what is declared.

use std::collections::BTreeSet;
use std::slice;

use keywright_semantics::request::parts::TableClass;
use keywright_semantics::schema::{IndexKind, IndexSchema};

use super::changes::{index_text, settings, slot_text};
use super::plan::{Alternative, Place, Plan, Step, StepKind, Units, Who};
use super::readers::switches;
use super::slots::{Move, MoveKind, changed_types, filled, made_of, moves, rewritten};
use super::subject::{Subject, SubjectEntity, SubjectPattern, SubjectTable};
use crate::exchange::tables::Billing;

/// Bytes that one read unit reads, eventually consistent.
const SCAN_UNIT_BYTES: u64 = 8192;

pub(super) fn plan(before: &Subject, after: &Subject) -> Plan {
    let mut planner = Planner {
        before,
        after,
        summary: Vec::new(),
        clauses: Vec::new(),
        scans: BTreeSet::new(),
        moved: BTreeSet::new(),
        deleted: BTreeSet::new(),
    };
    for table in &after.tables {
        match before.table(&table.definition.name) {
            None => planner.new_table(table),
            Some(was) if must_be_copied(was, table) => planner.copied_table(was, table),
            Some(was) => planner.changed_table(was, table),
        }
    }
    for table in before.tables.iter().filter(|table| after.table(&table.definition.name).is_none()) {
        planner.deleted_table(table);
    }
    planner.new_patterns();
    for clause in switches(before, after, &planner.moved) {
        planner.say(StepKind::SwitchReads, clause);
    }
    planner.side_effects();
    Plan { summary: planner.summary, steps: steps(planner.clauses) }
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

/// A part of a step.
struct Clause {
    table: String,
    step: Step,
}

/// Puts the parts together: all that one release of the application does is one step, and so is what one job does to one
/// table. Calls of the control plane stay apart: a request creates or deletes one index.
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
                known.step.units = known.step.units.zip(clause.step.units).map(|(one, other)| one.and(other));
                known.step.alternative = known.step.alternative.take().or(clause.step.alternative);
            }
            None => found.push(clause),
        }
    }
    found.into_iter().map(|clause| clause.step).collect()
}

struct Planner<'a> {
    before: &'a Subject,
    after: &'a Subject,
    summary: Vec<String>,
    clauses: Vec<Clause>,
    /// Tables that a job of the kind scans already: one scan serves all it does there.
    scans: BTreeSet<(StepKind, String)>,
    /// Entities whose items get another primary key.
    moved: BTreeSet<String>,
    /// Tables and entities whose old items a job deletes already.
    deleted: BTreeSet<(String, String)>,
}

impl<'a> Planner<'a> {
    /// What the application does, or a call that consumes nothing.
    fn say(&mut self, kind: StepKind, text: String) {
        self.consume(kind, String::new(), text, Some(Units::default()), Place::default());
    }

    fn consume(&mut self, kind: StepKind, table: String, text: String, units: Option<Units>, place: Place) {
        let step = Step { kind, clauses: vec![text], units, place, alternative: None };
        self.clauses.push(Clause { table, step });
    }

    /// What a job does to a table that it scans for it.
    fn scan(&mut self, kind: StepKind, table: &SubjectTable, text: String, units: Option<Units>) {
        let name = table.definition.name.clone();
        let first = self.scans.insert((kind, name.clone()));
        let reads = if first { scan_units(table) } else { Some(0) };
        let units = units.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        self.consume(kind, name, text, units, place(table));
    }

    fn new_table(&mut self, table: &SubjectTable) {
        let name = &table.definition.name;
        self.say(StepKind::CreateTable, format!("create table {name}{}", with_indexes(table)));
        for entity in &table.entities {
            self.new_entity(entity, table);
        }
    }

    /// An entity that the table did not have: its items come from another table, or from somewhere else.
    fn new_entity(&mut self, entity: &SubjectEntity, table: &SubjectTable) {
        let name = &table.definition.name;
        if let Some((from, old)) = self.origin(&entity.name, table) {
            self.moved_items(old, entity, from, table);
            return;
        }
        self.summary.push(format!("new data → base table: {} in {name}", entity.name));
        let text = format!(
            "write the {} to {name}, as far as they are elsewhere already",
            items(entity.count, &entity.name)
        );
        self.consume(StepKind::LoadItems, name.clone(), text, load_units(entity, table), place(table));
    }

    /// The table that an entity's items come from, if they are new in a table and go from another.
    fn origin(&self, entity: &str, table: &SubjectTable) -> Option<(&'a SubjectTable, &'a SubjectEntity)> {
        let known = self.before.table(&table.definition.name);
        if table.entity(entity).is_none() || known.is_some_and(|was| was.entity(entity).is_some()) {
            return None;
        }
        let goes = |from: &&SubjectTable| {
            self.after.table(&from.definition.name).is_none_or(|now| now.entity(entity).is_none())
        };
        let mut from = self.before.tables.iter().filter(goes);
        from.find_map(|from| Some((from, from.entity(entity)?)))
    }

    /// Whether an entity's items go from a table to another one: what becomes of the old ones is told there.
    fn goes_elsewhere(&self, entity: &str, was: &SubjectTable) -> bool {
        let from_here = |table: &SubjectTable| {
            self.origin(entity, table).is_some_and(|(from, _)| from.definition.name == was.definition.name)
        };
        self.after.tables.iter().any(from_here)
    }

    fn copied_table(&mut self, was: &SubjectTable, table: &SubjectTable) {
        let name = &table.definition.name;
        let text = format!(
            "create {name} anew, under another name{}: a table's key and its local indexes cannot change",
            with_indexes(table)
        );
        self.say(StepKind::CreateTable, text);
        for entity in &table.entities {
            match was.entity(&entity.name) {
                Some(old) => self.moved_items(old, entity, was, table),
                None => self.new_entity(entity, table),
            }
        }
        let bytes = was.entities.iter().map(SubjectEntity::table_bytes).sum();
        let text = format!(
            "or export {name} to S3 (it needs point-in-time recovery), bring the files into the new key and import them as the new table, indexes included, without write units; then replay from its stream what was written since"
        );
        let backfill = self.clauses.iter_mut().rev().find(|clause| clause.step.kind == StepKind::Backfill);
        if let Some(clause) = backfill {
            clause.step.alternative = Some(Alternative { text, bytes });
        }
        self.deleted_table(was);
    }

    fn deleted_table(&mut self, table: &SubjectTable) {
        let name = &table.definition.name;
        for entity in &table.entities {
            self.gone_writes(entity);
        }
        let protected =
            if table.definition.deletion_protection { ", its deletion protection off first" } else { "" };
        self.say(
            StepKind::DeleteTable,
            format!("delete the old table {name}{protected}; a backup of it can be kept"),
        );
    }

    fn changed_table(&mut self, was: &SubjectTable, table: &SubjectTable) {
        for (setting, before, now) in settings(&was.definition, &table.definition) {
            if before != now {
                let text =
                    format!("set {setting} of {} to {now} ({})", table.definition.name, operation(setting));
                self.say(StepKind::ChangeSetting, text);
            }
        }
        self.indexes(was, table);
        for entity in &table.entities {
            match was.entity(&entity.name) {
                None => self.new_entity(entity, table),
                Some(old) => self.changed_entity(old, entity, was, table),
            }
        }
        for entity in was.entities.iter().filter(|entity| table.entity(&entity.name).is_none()) {
            self.gone_writes(entity);
            if self.goes_elsewhere(&entity.name, was) {
                continue;
            }
            let text =
                format!("delete the {} from {}", items(entity.count, &entity.name), table.definition.name);
            self.scan(StepKind::DeleteItems, was, text, load_units(entity, was));
        }
    }

    /// Nothing writes an entity that is no more; one that went elsewhere is told there.
    fn gone_writes(&mut self, entity: &SubjectEntity) {
        if self.after.tables.iter().any(|table| table.entity(&entity.name).is_some()) {
            return;
        }
        let writers = self.before.patterns.iter().filter(|pattern| pattern.changes(&entity.name));
        let who = Subjects::of(writers, || format!("whatever writes {}", entity.name));
        self.say(StepKind::StopWrites, format!("{} {}", who.no_longer("writes", "write"), entity.name));
    }

    fn indexes(&mut self, was: &SubjectTable, table: &SubjectTable) {
        let name = &table.definition.name;
        for index in table.definition.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
            let old = was.index(&index.name);
            if old == Some(index) {
                continue;
            }
            let filled = filled(index, was, table);
            let anew =
                if old.is_some() { " anew, under another name, as an index cannot change" } else { "" };
            let fills = if filled == Some(0) { "" } else { ", which fills it from the items there" };
            let text = format!(
                "create index {} on {name}{anew} ({}): one UpdateTable; wait until it is ACTIVE{fills}",
                index.name,
                index_text(index)
            );
            let units = filled.map(|index_writes| Units { index_writes, ..Units::default() });
            self.consume(StepKind::CreateIndex, name.clone(), text, units, place(table));
        }
        for index in was.definition.schema.indexes.iter().filter(|index| index.kind == IndexKind::Global) {
            if table.index(&index.name) != Some(index) {
                let text = format!(
                    "delete the old index {} of {name}: one UpdateTable; wait until it is gone",
                    index.name
                );
                self.say(StepKind::DeleteIndex, text);
            }
        }
    }

    fn changed_entity(
        &mut self,
        old: &SubjectEntity,
        entity: &SubjectEntity,
        was: &SubjectTable,
        table: &SubjectTable,
    ) {
        let key = &table.definition.schema.key;
        if slot_text(old, key) != slot_text(entity, key) && !slot_text(old, key).is_empty() {
            self.moved_items(old, entity, was, table);
            return;
        }
        let counted = SubjectEntity { count: old.count, ..entity.clone() };
        let moves = moves(old, entity, was, table);
        for one in &moves {
            self.moved_entries(one, &counted, table);
        }
        self.asked_by_both_keys(old, was, &moves);
        let types = changed_types(old, entity, table);
        for (name, before, now) in &types {
            self.say(
                StepKind::ReadBoth,
                format!(
                    "{} {name} of {} as {before} and as {now}",
                    self.readers(entity).each("takes", "take"),
                    entity.name
                ),
            );
            self.say(
                StepKind::WriteBoth,
                format!(
                    "{} {name} of {} as {now}",
                    self.setters(entity, slice::from_ref(name)).each("writes", "write"),
                    entity.name
                ),
            );
            let text = format!(
                "write {name} of the {} as {now}, each on condition that it is still what was read ({name} = :read)",
                items(old.count, &entity.name)
            );
            self.scan(StepKind::Backfill, was, text, Some(Units::default()));
        }
        if moves.is_empty() && types.is_empty() {
            return;
        }
        // What leaves an index goes in a step of its own, after the reads have moved.
        let (leaving, staying): (Vec<_>, Vec<_>) =
            moves.into_iter().partition(|one| one.kind == MoveKind::Leaves);
        let types: Vec<String> = types.into_iter().map(|(name, ..)| name).collect();
        let steps = [(StepKind::Backfill, staying, types), (StepKind::DeleteItems, leaving, Vec::new())];
        for (kind, moves, mut changed) in steps {
            changed.extend(moves.iter().flat_map(|one| one.written.clone()));
            if !changed.is_empty() {
                let units = rewritten(&counted, old, &moves, &changed, was, table);
                self.consume(kind, table.definition.name.clone(), String::new(), units, place(table));
            }
        }
    }

    /// An index whose key attributes are written anew shows both keys for a while, also if it goes in the end.
    fn asked_by_both_keys(&mut self, old: &SubjectEntity, was: &SubjectTable, moves: &[Move<'_>]) {
        let anew = |name: &str| {
            let staying = moves.iter().filter(|one| one.kind != MoveKind::Leaves);
            old.template_of(name).is_some() && staying.flat_map(|one| &one.written).any(|one| one == name)
        };
        for index in was.definition.schema.indexes.iter().filter(|index| old.is_in(index)) {
            if index.key.attributes().any(|key| anew(&key.name)) {
                let asks = self.readers_of(old, &index.name).each("asks", "ask");
                let text =
                    format!("{asks} {} for {} by the old key and by the new one", index.name, old.name);
                self.say(StepKind::ReadBoth, text);
            }
        }
    }

    /// Items of an entity enter an index, leave it or move within it.
    fn moved_entries(&mut self, one: &Move<'_>, entity: &SubjectEntity, table: &SubjectTable) {
        let (name, index) = (&table.definition.name, &one.index.name);
        let (written, of) = (one.written.join(" and "), items(entity.count, &entity.name));
        let inputs = one.written.iter().filter_map(|name| entity.template_of(name));
        let inputs: Vec<String> =
            inputs.flat_map(|template| made_of(&template).map(str::to_owned).collect::<Vec<_>>()).collect();
        let setters = self.setters(entity, &[one.written.clone(), inputs].concat());
        let key = table.key_name();
        match one.kind {
            MoveKind::Enters => {
                self.say(
                    StepKind::WriteBoth,
                    format!("{} {written} of {}", setters.each("also sets", "also set"), entity.name),
                );
                let first = one.written.first().map(String::as_str).unwrap_or_default();
                let text = format!(
                    "scan {name} and set {written} of the {of}, each on condition that it is there and has none yet (attribute_exists({key}) AND attribute_not_exists({first}))"
                );
                self.scan(StepKind::Backfill, table, text, Some(Units::default()));
                let text = format!("{index} has as many {} as {name}, and a sample agrees", entity.name);
                let units = entity
                    .index_bytes(index)
                    .map(|bytes| Units { reads: bytes.div_ceil(SCAN_UNIT_BYTES), ..Units::default() });
                self.scan(StepKind::Verify, table, text, units);
            }
            MoveKind::Changes => {
                let readers = self.readers_of(entity, index);
                self.say(
                    StepKind::WriteBoth,
                    format!("{} {written} of {} as {}", setters.each("sets", "set"), entity.name, one.now),
                );
                let first = one.written.first().map(String::as_str).unwrap_or_default();
                let text = format!(
                    "scan {name} and set {written} of the {of}, each on condition that it is still what was read ({first} = :read)"
                );
                self.scan(StepKind::Backfill, table, text, Some(Units::default()));
                self.scan(
                    StepKind::Verify,
                    table,
                    format!("no {} has its old key in {index}", entity.name),
                    Some(Units::default()),
                );
                self.say(
                    StepKind::SwitchReads,
                    format!(
                        "{} {index} for {} by the new key alone",
                        readers.each("asks", "ask"),
                        entity.name
                    ),
                );
            }
            MoveKind::Leaves => {
                self.say(
                    StepKind::StopWrites,
                    format!("{} {written} of {}", setters.no_longer("sets", "set"), entity.name),
                );
                let text = format!("scan {name} and remove {written} from the {of}");
                self.scan(StepKind::DeleteItems, table, text, Some(Units::default()));
            }
        }
    }

    /// Items get another primary key, in their table or in another: they become other items.
    fn moved_items(
        &mut self,
        old: &SubjectEntity,
        entity: &SubjectEntity,
        was: &SubjectTable,
        table: &SubjectTable,
    ) {
        self.moved.insert(entity.name.clone());
        let (from, to) = (&was.definition.name, &table.definition.name);
        let (out, new) =
            (slot_text(old, &was.definition.schema.key), slot_text(entity, &table.definition.schema.key));
        let anew = from == to && must_be_copied(was, table);
        let within = from == to && !anew;
        let writers = self.writers(entity);
        let other = if anew { format!("the new {to}") } else { to.clone() };
        let place_of = if within {
            format!("under {out} and under {new}")
        } else {
            format!("in {from} and as {new} in {other}")
        };
        self.say(
            StepKind::WriteBoth,
            format!("{} {} {place_of}, both in one transaction", writers.each("keeps", "keep"), entity.name),
        );
        if within {
            self.seen_twice(old, entity, was, table);
        }
        let counted = SubjectEntity { count: old.count, ..entity.clone() };
        let key = table.key_name();
        let text = format!(
            "scan {from} and put the {} into {other} as {new}, each on condition that nothing is there yet (attribute_not_exists({key}))",
            items(old.count, &entity.name)
        );
        let units = load_units(&counted, table);
        let name = from.clone();
        let first = self.scans.insert((StepKind::Backfill, name.clone()));
        let reads = if first { scan_units(was) } else { Some(0) };
        let units = units.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        self.consume(StepKind::Backfill, name, text, units, place(table));
        let again = counted
            .table_bytes()
            .map(|bytes| Units { reads: bytes.div_ceil(SCAN_UNIT_BYTES), ..Units::default() });
        let text = format!(
            "as many {} are there as {new} as under {out}, and a sample agrees; what was deleted meanwhile is deleted there too",
            entity.name
        );
        self.scan(StepKind::Verify, was, text, again);
        self.say(
            StepKind::StopWrites,
            format!(
                "{} {} under {out}{}",
                writers.no_longer("keeps", "keep"),
                entity.name,
                if within { String::new() } else { format!(" in {from}") }
            ),
        );
        // What goes with its table needs no writes; items that came to two places go once.
        let table_stays = self.after.table(from).is_some_and(|now| !must_be_copied(was, now));
        if table_stays && self.deleted.insert((from.clone(), old.name.clone())) {
            let text = format!("delete the {} under {out} from {from}", items(old.count, &old.name));
            self.scan(StepKind::DeleteItems, was, text, load_units(old, was));
        }
    }

    /// Indexes that show items under their old key and under their new one, as long as both are there.
    fn seen_twice(
        &mut self,
        old: &SubjectEntity,
        entity: &SubjectEntity,
        was: &SubjectTable,
        table: &SubjectTable,
    ) {
        let new = slot_text(entity, &table.definition.schema.key);
        for index in &was.definition.schema.indexes {
            if old.is_in(index) && entity.is_in(index) {
                let text = format!(
                    "{} over the items of {} under {new} in {}, until the reads move",
                    self.readers_of(entity, &index.name).each("passes", "pass"),
                    entity.name,
                    index.name
                );
                self.say(StepKind::ReadBoth, text);
            }
        }
    }

    /// What the writes of a job do besides: they take provisioned capacity, and streams show them.
    fn side_effects(&mut self) {
        let mut told: BTreeSet<(StepKind, String)> = BTreeSet::new();
        for clause in &self.clauses {
            let writes = clause.step.units.is_none_or(|units| units.writes() > 0);
            if clause.step.kind.who() == Who::Job && writes {
                told.insert((clause.step.kind, clause.table.clone()));
            }
        }
        for (kind, name) in told {
            let Some(table) = self.after.table(&name).or_else(|| self.before.table(&name)) else { continue };
            let definition = &table.definition;
            let mut texts = Vec::new();
            if let Billing::Provisioned(capacity) = &definition.billing {
                texts.push(format!(
                    "{name} is provisioned with {} write units: what the job takes has to be there besides",
                    capacity.table.write
                ));
            }
            if definition.stream.is_some() {
                texts.push(format!("the stream of {name} shows these writes too"));
            }
            for text in texts {
                self.consume(kind, name.clone(), text, Some(Units::default()), place(table));
            }
        }
    }

    /// Whatever writes while the plan is under way: also what will be asked no more.
    fn writes(&self) -> impl Iterator<Item = &'a SubjectPattern> {
        let (before, after) = (self.before, self.after);
        let goes = |was: &&SubjectPattern| !after.patterns.iter().any(|pattern| pattern.id == was.id);
        after.patterns.iter().chain(before.patterns.iter().filter(goes))
    }

    fn writers(&self, entity: &SubjectEntity) -> Subjects {
        let writers = self.writes().filter(|pattern| pattern.changes(&entity.name));
        Subjects::of(writers, || format!("whatever writes {}", entity.name))
    }

    /// What writes one of the attributes, or what they are made of.
    fn setters(&self, entity: &SubjectEntity, attributes: &[String]) -> Subjects {
        let setters = self.writes().filter(|pattern| pattern.sets(&entity.name, attributes));
        Subjects::of(setters, || format!("whatever writes {}", entity.name))
    }

    fn readers(&self, entity: &SubjectEntity) -> Subjects {
        let reads = |pattern: &&SubjectPattern| pattern.read_entities().any(|read| read == entity.name);
        let readers = self.before.patterns.iter().filter(reads);
        Subjects::of(readers, || format!("whatever reads {}", entity.name))
    }

    fn readers_of(&self, entity: &SubjectEntity, index: &str) -> Subjects {
        let readers = self.before.patterns.iter().filter(|pattern| {
            pattern.uses.as_deref() == Some(index) && pattern.read_entities().any(|read| read == entity.name)
        });
        Subjects::of(readers, || format!("whatever asks {index}"))
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
                Some((uses, table, false)) => format!(
                    "new query → index: {} is served by {}.{uses}, which is there",
                    pattern.id, table.definition.name
                ),
                None => format!("new query → base table: {} needs no index", pattern.id),
            });
        }
    }
}

/// The patterns that a sentence is about.
struct Subjects {
    names: String,
    many: bool,
}

impl Subjects {
    fn of<'p>(patterns: impl Iterator<Item = &'p SubjectPattern>, unknown: impl FnOnce() -> String) -> Self {
        let ids: Vec<&str> = patterns.map(|pattern| pattern.id.as_str()).collect();
        let names = match ids.split_last() {
            None => unknown(),
            Some((only, [])) => (*only).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        };
        Self { names, many: ids.len() > 1 }
    }

    /// The subjects with their verb, as one or as many do it.
    fn each(&self, one: &str, many: &str) -> String {
        format!("{} {}", self.names, if self.many { many } else { one })
    }

    fn no_longer(&self, one: &str, many: &str) -> String {
        format!("{} no longer {}", self.names, if self.many { many } else { one })
    }
}

fn items(count: u64, entity: &str) -> String {
    if count == 1 { format!("1 item of {entity}") } else { format!("{count} items of {entity}") }
}

fn with_indexes(table: &SubjectTable) -> String {
    match table.definition.schema.indexes.len() {
        0 => String::new(),
        1 => " with 1 index".to_owned(),
        many => format!(" with {many} indexes"),
    }
}

/// The operation that changes a setting.
fn operation(setting: &str) -> &'static str {
    match setting {
        "ttl" => "UpdateTimeToLive; an attribute can be changed once an hour, by way of off",
        "point-in-time recovery" => "UpdateContinuousBackups",
        "stream" => "UpdateTable; another view is a new stream, by way of off",
        "replicas" => "UpdateTable, one replica at a time; a new one is paid by the gigabyte",
        _ => "UpdateTable",
    }
}

fn place(table: &SubjectTable) -> Place {
    Place {
        infrequent: table.definition.class == Some(TableClass::StandardInfrequentAccess),
        replicas: table.definition.replicas.len(),
    }
}

/// Read units of one Scan over a table, eventually consistent.
fn scan_units(table: &SubjectTable) -> Option<u64> {
    let bytes: Option<u64> = table.entities.iter().map(SubjectEntity::table_bytes).sum();
    Some(bytes?.div_ceil(SCAN_UNIT_BYTES))
}

/// Units of writing all items of an entity once, or deleting them, with their entries in every index of the table.
fn load_units(entity: &SubjectEntity, table: &SubjectTable) -> Option<Units> {
    let mut units = Units { table_writes: entity.table_units()?, ..Units::default() };
    for index in table.definition.schema.indexes.iter().filter(|index| entity.is_in(index)) {
        let entries = entity.index_units(&index.name)?;
        match index.kind {
            IndexKind::Local => units.table_writes = units.table_writes.saturating_add(entries),
            IndexKind::Global => units.index_writes = units.index_writes.saturating_add(entries),
        }
    }
    Some(units)
}
