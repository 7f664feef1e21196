//! A simulator of tables on which plans are carried out while an application reads and writes.
//!
//! It interprets a plan's operations and does not know how they were found.

use std::collections::{BTreeMap, BTreeSet};

use super::engine_backend::Mirror;
use crate::diff::index_changes::made_of;
use crate::diff::matching::{EntityRef, Match, matches};
use crate::diff::planner::must_be_copied;
use crate::diff::*;
use keywright_model::Template;

type Row = BTreeMap<String, String>;
type Key = (String, String);

/// A wrong way to carry out a plan; each was once what a plan said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naive {
    No,
    /// Updates are applied in both places without reading.
    UpdatesBothAlone,
    NeverPassesOver,
    AsksOneWay,
    ComparesNothing,
    GoesByOldToTheEnd,
    SetsOneByOne,
    DeletesFirst,
    /// Renamed entities are treated as other items.
    KnowsByName,
    /// Stale copies under a previous key stay.
    LeavesStaleCopies,
    /// Derived items are loaded, and no writer keeps them.
    LoadsAlone,
    /// Derived items are put whole, over their own attributes.
    PutsWhole,
    /// A read continues to ask for a removed entity until the reads move.
    AsksOn,
    /// A changed read switches at once.
    AsksAtOnce,
    /// A moved attribute is changed in its new place alone as soon as the reads move.
    GoesByBoth,
    /// A put leaves copies of the replaced item's attributes unchanged.
    PutsLeaveCopies,
    /// A put uses a source value read before, without checking that it is still current.
    RepeatsWhatItRead,
}

/// A failure.
#[derive(Clone, Debug)]
pub(super) struct Fault(pub(super) String);

#[derive(Clone, Debug, Default)]
struct Store {
    sort: String,
    rows: BTreeMap<Key, Row>,
    /// The key attribute of each index.
    indexes: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copies {
    Old,
    BothByOld,
    BothByNew,
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Not,
    Old,
    Both,
    New,
}

/// One release of the application.
#[derive(Clone, Debug)]
struct Release {
    copies: BTreeMap<usize, Copies>,
    set: BTreeMap<usize, Vec<String>>,
    unset: BTreeMap<usize, Vec<String>>,
    together: BTreeMap<usize, Vec<String>>,
    stopped: BTreeSet<usize>,
    /// The matches whose stale copies are deleted, and the derived items that are kept.
    stale_deleted: BTreeSet<usize>,
    derived: BTreeSet<usize>,
    /// Derived items whose own attributes are left alone, that are updated in place, whose own attributes are
    /// written, and that have taken over an attribute.
    apart: BTreeSet<usize>,
    there: BTreeSet<usize>,
    begun: BTreeSet<usize>,
    over: BTreeSet<usize>,
    /// New items from elsewhere that the release writes.
    news: BTreeSet<usize>,
    /// Items whose copied attributes are kept current.
    like: BTreeSet<usize>,
    without: BTreeSet<(String, usize)>,
    ways: BTreeMap<String, Way>,
    pass_new: BTreeSet<(String, usize)>,
    pass_old: BTreeSet<(String, usize)>,
}

struct World<'a> {
    before: &'a Subject,
    after: &'a Subject,
    matches: Vec<Match<'a>>,
    stores: BTreeMap<String, Store>,
    /// The logical state by match and id, as an application knows it.
    truth: BTreeMap<(usize, String), Row>,
    /// The own attributes of derived items.
    own: BTreeMap<(usize, String), String>,
    /// The intended sources of derived items.
    made: Meant,
    /// Reads whose cut-over the plan does not mention: they are run both ways all the time.
    unplanned: BTreeSet<String>,
    now: Release,
    /// The release that goes out next to it.
    next: Option<Release>,
    random: u64,
    naive: Naive,
    /// A source value that a job read, or a writer that does not check it again.
    seen: Option<String>,
    is_stale: bool,
    /// The engine, if the plan is carried out on it too.
    mirror: Option<Mirror>,
}

/// The intended sources of derived items: the derived entity's name, then the source's, both as in the new
/// model. A source that is itself a new derived item has the same source.
pub(super) type Meant = BTreeMap<String, String>;

pub(super) fn carry_out(
    before: &Subject,
    after: &Subject,
    plan: &Plan,
    (seed, naive): (u64, Naive),
    made: &Meant,
) -> Result<(), Fault> {
    World::new(before, after, (seed, naive), made, None).run(plan)
}

/// The same on the engine.
pub(super) fn carry_out_on_the_engine(
    before: &Subject,
    after: &Subject,
    plan: &Plan,
    seed: u64,
    made: &Meant,
) -> Result<(), Fault> {
    let mut sorts = BTreeMap::new();
    for table in &before.tables {
        sorts.insert(table.definition.name.clone(), store(table).sort);
    }
    for table in &after.tables {
        let name = &table.definition.name;
        let anew = before.table(name).is_some_and(|was| must_be_copied(was, table));
        sorts.insert(if anew { format!("{name}+") } else { name.clone() }, store(table).sort);
    }
    World::new(before, after, (seed, Naive::No), made, Some(Mirror::new(sorts))).run(plan)
}

impl World<'_> {
    fn run(self, plan: &Plan) -> Result<(), Fault> {
        let mut world = self;
        let naive = world.naive;
        if plan.extent == Extent::None {
            world.check("before anything")?;
            return if plan.steps.is_empty() { Ok(()) } else { Err(Fault("a plan that is none".to_owned())) };
        }
        world.start_unplanned(plan);
        world.check("before anything")?;
        let mut steps: Vec<&Step> = plan.steps.iter().collect();
        if naive == Naive::DeletesFirst {
            steps.sort_by_key(|step| (step.kind != StepKind::DeleteIndex, step.kind));
        }
        for step in steps {
            world.step(step)?;
        }
        if naive == Naive::KnowsByName {
            world.delete_what_is_called_otherwise()?;
        }
        world.end()
    }
}

impl<'a> World<'a> {
    fn new(
        before: &'a Subject,
        after: &'a Subject,
        (seed, naive): (u64, Naive),
        made: &Meant,
        mirror: Option<Mirror>,
    ) -> Self {
        let known = matches(before, after);
        let questions = before.patterns.iter().filter(|pattern| !pattern.writes && pattern.answered);
        let now = Release {
            copies: (0..known.len()).map(|at| (at, Copies::Old)).collect(),
            set: BTreeMap::new(),
            unset: BTreeMap::new(),
            together: BTreeMap::new(),
            stopped: BTreeSet::new(),
            stale_deleted: BTreeSet::new(),
            derived: BTreeSet::new(),
            apart: BTreeSet::new(),
            there: BTreeSet::new(),
            begun: BTreeSet::new(),
            over: BTreeSet::new(),
            news: BTreeSet::new(),
            like: BTreeSet::new(),
            without: BTreeSet::new(),
            ways: questions.map(|pattern| (pattern.id.clone(), Way::Old)).collect(),
            pass_new: BTreeSet::new(),
            pass_old: BTreeSet::new(),
        };
        let stores = before.tables.iter().map(|table| {
            let mut store = store(table);
            let indexes = &table.definition.schema.indexes;
            store.indexes = indexes
                .iter()
                .map(|index| (index.name.clone(), index.key.partition[0].name.clone()))
                .collect();
            (table.definition.name.clone(), store)
        });
        let stores = stores.collect();
        let (truth, next, random) = (BTreeMap::new(), None, seed | 1);
        let (own, unplanned, made) = (BTreeMap::new(), BTreeSet::new(), made.clone());
        let mut world = Self {
            before,
            after,
            matches: known,
            stores,
            truth,
            own,
            made,
            unplanned,
            now,
            next,
            random,
            naive,
            seen: None,
            is_stale: false,
            mirror,
        };
        for _ in 0..12 {
            world.write();
        }
        world
    }

    /// What a plan leaves open happens at any time.
    fn start_unplanned(&mut self, plan: &Plan) {
        let operations = plan.steps.iter().flat_map(|step| &step.operations);
        let actions: Vec<&Action> = operations.map(|operation| &operation.action).collect();
        for pattern in self.after.patterns.iter().filter(|pattern| !pattern.writes && pattern.answered) {
            let is_planned = actions.iter().any(
                |action| matches!(action, Action::Read(change) if change.cut_over() == Some(&pattern.id)),
            );
            if !is_planned {
                self.unplanned.insert(pattern.id.clone());
            }
        }
        for at in 0..self.matches.len() {
            let Some(new) = self.matches[at].after() else { continue };
            let begins = |action: &&&Action| matches!(action, Action::Derive(DerivedWrite::WriteOwn { entity, .. }) if *entity == new.entity.name);
            let is_planned = actions.iter().find(begins).is_some();
            if self.source_of(at).is_some() && !is_planned {
                self.now.begun.insert(at);
            }
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).expect("31 bits") % below
    }

    fn of(&self, entity: &str) -> Vec<usize> {
        let names = |matched: &Match<'_>| {
            matched.after().or(matched.before()).is_some_and(|side| side.entity.name == *entity)
        };
        (0..self.matches.len()).filter(|at| names(&self.matches[*at])).collect()
    }

    /// The key space of a table in the old or the new design.
    fn old_store(side: &EntityRef<'_>) -> String {
        side.table.definition.name.clone()
    }

    fn new_store(&self, side: &EntityRef<'_>) -> String {
        let name = &side.table.definition.name;
        let anew = self.before.table(name).is_some_and(|was| must_be_copied(was, side.table));
        if anew { format!("{name}+") } else { name.clone() }
    }

    fn new_index(&self, side: &EntityRef<'_>, index: &str) -> String {
        let was =
            self.before.table(&side.table.definition.name).filter(|was| !must_be_copied(was, side.table));
        let known = was.and_then(|was| was.index(index));
        let anew = known.is_some() && known != side.table.index(index);
        if anew { format!("{index}+") } else { index.to_owned() }
    }

    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        if self.naive == Naive::AsksAtOnce && step.kind == StepKind::ReadBoth {
            let ids: Vec<String> = self.now.ways.keys().cloned().collect();
            let both = |id: &String| pattern(self.before, id).zip(pattern(self.after, id)).is_some();
            self.unplanned.extend(ids.into_iter().filter(both));
        }
        let actions: Vec<&Action> = step.operations.iter().map(|operation| &operation.action).collect();
        let what = format!("{:?} {actions:?}", step.kind);
        match step.kind.who() {
            Who::Application => {
                let mut next = self.now.clone();
                for action in actions {
                    self.release(action, &mut next);
                }
                self.next = Some(next.clone());
                for _ in 0..6 {
                    self.write();
                    self.check(&what)?;
                }
                self.now = next;
                self.next = None;
                self.check(&what)
            }
            Who::Table => {
                for action in actions {
                    let Action::Call(call) = action else { panic!("no call: {action:?}") };
                    self.control(call);
                }
                self.check(&what)
            }
            Who::Job => {
                for action in actions {
                    let Action::Job(job) = action else { panic!("no job: {action:?}") };
                    self.job(job, &what)?;
                }
                self.check(&what)
            }
        }
    }

    fn control(&mut self, call: &TableCall) {
        match call {
            TableCall::CreateTable { table, .. } => {
                let new = self.after.table(table).expect("it is new");
                let mut made = store(new);
                for index in &new.definition.schema.indexes {
                    made.indexes.insert(index.name.clone(), index.key.partition[0].name.clone());
                }
                let name = self.new_store(&EntityRef { table: new, entity: &new.entities[0] });
                self.stores.insert(name, made);
            }
            TableCall::DeleteTable { table, .. } => {
                self.stores.remove(table);
            }
            TableCall::CreateIndex { table, index, .. } => {
                let new = self.after.table(table).expect("it stays");
                let name = self.new_index(&EntityRef { table: new, entity: &new.entities[0] }, index);
                let key = new.index(index).expect("it is new").key.partition[0].name.clone();
                self.stores.get_mut(table).expect("it is there").indexes.insert(name, key);
            }
            TableCall::DeleteIndex { table, index } => {
                self.stores.get_mut(table).expect("it is there").indexes.remove(index);
            }
            TableCall::SetSetting { .. } => {}
        }
    }

    fn release(&self, action: &Action, next: &mut Release) {
        match action {
            Action::Rekey(write) => self.rekey(write, next),
            Action::Derive(write) => self.derive(write, next),
            Action::Attribute(write) => self.attributes(write, next),
            Action::Read(change) => self.reads(change, next),
            other => panic!("no release: {other:?}"),
        }
    }

    fn rekey(&self, write: &RekeyWrite, next: &mut Release) {
        let mut copies = |entity: &str, copies: Copies| {
            for at in self.of(entity) {
                next.copies.insert(at, copies);
            }
        };
        match write {
            RekeyWrite::DualWrite { entity, .. } => copies(entity, Copies::BothByOld),
            RekeyWrite::UseNewCopy { .. } if self.naive == Naive::GoesByOldToTheEnd => {}
            RekeyWrite::UseNewCopy { entity, .. } => copies(entity, Copies::BothByNew),
            RekeyWrite::StopDualWrite { entity, .. } => copies(entity, Copies::New),
            RekeyWrite::DeleteStaleCopy { .. } if self.naive == Naive::LeavesStaleCopies => {}
            RekeyWrite::DeleteStaleCopy { entity, .. } => next.stale_deleted.extend(self.of(entity)),
            RekeyWrite::CheckOldCopy { .. }
            | RekeyWrite::PutWhole { .. }
            | RekeyWrite::FindByAttributes { .. } => {}
        }
    }

    fn derive(&self, write: &DerivedWrite, next: &mut Release) {
        match write {
            DerivedWrite::KeepDerived { .. } if self.naive == Naive::LoadsAlone => {}
            DerivedWrite::KeepDerived { entity, apart, .. } => {
                next.derived.extend(self.of(entity));
                if !apart.is_empty() && self.naive != Naive::PutsWhole {
                    next.apart.extend(self.of(entity));
                }
            }
            DerivedWrite::DerivedItemsExist { entity, .. } => next.there.extend(self.of(entity)),
            DerivedWrite::WriteOwn { entity, .. } => next.begun.extend(self.of(entity)),
            DerivedWrite::MoveAttributes { entity, .. } => {
                next.over.extend(self.of(entity));
                next.there.extend(self.of(entity));
            }
            DerivedWrite::CheckSource { .. }
            | DerivedWrite::UpdateDerived { .. }
            | DerivedWrite::KeepShared { .. }
            | DerivedWrite::PutDerivedWhole { .. }
            | DerivedWrite::ContinueDualWrite { .. }
            | DerivedWrite::RequireAbsence { .. } => {}
        }
    }

    fn attributes(&self, write: &AttributeWrite, next: &mut Release) {
        match write {
            AttributeWrite::WriteNew { entity, .. } => next.news.extend(self.of(entity)),
            AttributeWrite::Set { entity, values, .. } => {
                next.set.extend(self.of(entity).into_iter().map(|at| (at, names(values))));
            }
            // The source attributes of derived items never change here.
            AttributeWrite::KeepCopies { attribute, .. } if attribute != "c" => {}
            AttributeWrite::KeepCopies { entity, .. } => next.like.extend(self.of(entity)),
            AttributeWrite::SetTogether { .. } if self.naive == Naive::SetsOneByOne => {}
            AttributeWrite::SetTogether { entity, attributes, .. } => {
                next.together.extend(self.of(entity).into_iter().map(|at| (at, attributes.clone())));
            }
            AttributeWrite::StopSetting { entity, attributes, .. } => {
                for at in self.of(entity) {
                    next.unset.entry(at).or_default().extend(attributes.clone());
                }
            }
            AttributeWrite::StopWriting { entity, .. } => next.stopped.extend(self.of(entity)),
            AttributeWrite::LeaveCopies { .. }
            | AttributeWrite::PutLoadedWhole { .. }
            | AttributeWrite::ReadFirst { .. }
            | AttributeWrite::WriteType { .. } => {}
        }
    }

    fn reads(&self, change: &ReadChange, next: &mut Release) {
        if let Some(pattern) = change.cut_over() {
            next.ways.insert(pattern.clone(), Way::New);
        }
        let about = |pattern: &String, entity: &str| {
            let pattern = pattern.clone();
            self.of(entity).into_iter().map(move |at| (pattern.clone(), at))
        };
        match change {
            ReadChange::ReadBothKeys { .. } if self.naive == Naive::AsksOneWay => {}
            ReadChange::ReadBothKeys { pattern: Some(pattern), .. } => {
                next.ways.insert(pattern.clone(), Way::Both);
            }
            ReadChange::EndRead { pattern } => {
                next.ways.insert(pattern.clone(), Way::Not);
            }
            ReadChange::LeaveOut { .. } if self.naive == Naive::AsksOn => {}
            ReadChange::LeaveOut { pattern, entity, .. } => next.without.extend(about(pattern, entity)),
            ReadChange::SkipNew { .. } | ReadChange::SkipOld { .. }
                if self.naive == Naive::NeverPassesOver => {}
            ReadChange::SkipNew { pattern, entity, .. } => next.pass_new.extend(about(pattern, entity)),
            ReadChange::SkipOld { pattern, entity, .. } => next.pass_old.extend(about(pattern, entity)),
            _ => {}
        }
    }
}

fn names(values: &[Value]) -> Vec<String> {
    values.iter().map(|value| value.attribute.clone()).collect()
}

// The writes of the application.
impl World<'_> {
    /// One write of a running release.
    fn write(&mut self) {
        let ats: Vec<usize> = (0..self.matches.len()).collect();
        if ats.is_empty() {
            return;
        }
        let at = ats[self.draw(ats.len())];
        let newer = self.draw(2) == 0;
        let release = self.next.clone().filter(|_| newer).unwrap_or_else(|| self.now.clone());
        let id = format!("{}", self.draw(4));
        let value = format!("{}", self.draw(3));
        if self.matches[at].before().is_none() {
            if self.source_of(at).is_some() {
                self.write_own(&release, at, &id, &value);
            } else if matches!(self.matches[at], Match::New(_)) {
                self.write_new(&release, at, &id, &value);
            }
            return;
        }
        if release.stopped.contains(&at) {
            return;
        }
        let key = (at, id.clone());
        match self.draw(6) {
            0 | 1 => {
                let other = format!("{}", self.draw(3));
                let mut row = logical(at, &id, &value, &other, &format!("{}", self.draw(1000)));
                // A put under another key would be of another item.
                if let Some(previous) = self.truth.get(&key).filter(|_| self.finds_by_a(&release, at)) {
                    row.insert("a".to_owned(), previous["a"].clone());
                }
                if self.naive == Naive::RepeatsWhatItRead && self.original_of(at).is_some() {
                    let seen = self.repeated(at, &id);
                    self.write();
                    (self.seen, self.is_stale) = (seen, true);
                }
                self.change(&release, at, &id, Some(&row));
                self.is_stale = false;
                let repeated = row["v"].clone();
                self.truth.insert(key, row);
                if self.naive != Naive::PutsLeaveCopies {
                    self.keep_like(&release, at, &id, &repeated);
                }
            }
            2 => {
                self.change(&release, at, &id, None);
                self.truth.remove(&key);
                for second in 0..self.matches.len() {
                    if self.source_of(second) == Some(at) {
                        self.own.remove(&(second, id.clone()));
                    }
                }
            }
            op => {
                let name = ["a", "b", "v"][op - 3];
                self.update(&release, at, &id, name, &value);
                if let Some(row) = self.truth.get_mut(&key) {
                    row.insert(name.to_owned(), value.clone());
                    if name == "v" {
                        self.keep_like(&release, at, &id, &value);
                    }
                }
            }
        }
    }

    /// An update of a derived item's own attribute, on condition that the item exists at its expected key.
    fn write_own(&mut self, release: &Release, at: usize, id: &str, value: &str) {
        let Some(new) = self.matches[at].after() else { return };
        let has = new.entity.attributes.contains_key("w");
        let name = self.new_store(&new);
        let of = self.source_of(at).expect("a derived item");
        let Some(row) = self.truth.get(&(of, id.to_owned())).map(|row| with_owner(row, at)) else { return };
        if !has || !release.begun.contains(&at) || !self.stores.contains_key(&name) {
            return;
        }
        let key = key_of(&new, &row);
        let mut there = self.stores[&name].rows.get(&key).cloned().unwrap_or_else(|| {
            let known = ["pk", "sk", "sk2", "e"];
            let mut row = image(&new, &row);
            row.retain(|name, _| known.contains(&name.as_str()));
            row
        });
        there.insert("w".to_owned(), value.to_owned());
        self.put_at(&name, there);
        self.own.insert((at, id.to_owned()), value.to_owned());
    }

    /// A write of an item that is elsewhere so far.
    fn write_new(&mut self, release: &Release, at: usize, id: &str, value: &str) {
        let new = self.matches[at].after().expect("it is new");
        let key = (at, id.to_owned());
        let previous = self.truth.get(&key).cloned();
        let row = match (self.draw(3), &previous) {
            (0, _) => Some(logical(at, id, value, "1", "new")),
            (1, _) => None,
            (_, Some(previous)) => {
                let mut row = previous.clone();
                row.insert("v".to_owned(), value.to_owned());
                Some(row)
            }
            (_, None) => return,
        };
        if release.news.contains(&at) {
            let store = self.new_store(&new);
            let put = row.as_ref().map(|row| image(&new, row));
            self.transact(vec![Part::new(store, &new, previous.as_ref(), put)]);
        }
        match row {
            Some(row) => self.truth.insert(key, row),
            None => self.truth.remove(&key),
        };
    }

    /// Whether the key by which a release finds an item contains `a`.
    fn finds_by_a(&self, release: &Release, at: usize) -> bool {
        let side = match &self.matches[at] {
            Match::Moves(_, new) if matches!(release.copies[&at], Copies::BothByNew | Copies::New) => *new,
            matched => matched.before().expect("written"),
        };
        let keys = ["pk".to_owned(), sort(&side)];
        keys.iter().any(|key| made_of(&side.entity.template_of(key).expect("a key")).any(|name| name == "a"))
    }

    /// The match of a derived item's source.
    fn source_of(&self, at: usize) -> Option<usize> {
        if !matches!(self.matches[at], Match::New(_) | Match::Derived(..)) {
            return None;
        }
        let mut name = &self.matches[at].after()?.entity.name;
        loop {
            name = self.made.get(name)?;
            let of = self
                .matches
                .iter()
                .position(|matched| matched.after().is_some_and(|side| side.entity.name == *name))?;
            if self.matches[of].before().is_some() {
                return Some(of);
            }
        }
    }

    /// The match whose attribute a match's items copy.
    fn original_of(&self, at: usize) -> Option<usize> {
        let (of, _) = self.matches[at].after()?.entity.copies.get("c")?;
        let is = |matched: &Match<'_>| matched.after().is_some_and(|side| side.entity.name == *of);
        self.matches.iter().position(is)
    }

    /// The source value of an item's copied attribute, if the source exists.
    fn repeated(&self, at: usize, id: &str) -> Option<String> {
        let original = self.truth.get(&(self.original_of(at)?, id.to_owned()))?;
        Some(original["v"].clone())
    }

    /// Updates the copies in all existing items.
    fn keep_like(&mut self, release: &Release, of: usize, id: &str, value: &str) {
        for at in 0..self.matches.len() {
            let Some(old) = self.matches[at].before() else { continue };
            if !release.like.contains(&at) || self.original_of(at) != Some(of) {
                continue;
            }
            let store = Self::old_store(&old);
            let rows = self.rows_of(&store, at).into_iter().filter(|(_, row)| row["id"] == *id);
            for (_, mut row) in rows.collect::<Vec<_>>() {
                row.insert("c".to_owned(), value.to_owned());
                self.put_at(&store, row);
            }
        }
    }

    /// The logical rows of an entity.
    fn true_rows(&self, at: usize) -> Vec<Row> {
        let of = self.source_of(at).unwrap_or(at);
        let own = self.truth.iter().filter(|((known, _), _)| *known == of);
        let row = |((_, id), row): (&(usize, String), &Row)| {
            let mut row = with_owner(row, at);
            if let Some(value) = self.own.get(&(at, id.clone())) {
                row.insert("w".to_owned(), value.clone());
            }
            if let Some(value) = self.repeated(at, id) {
                row.insert("c".to_owned(), value);
            }
            row
        };
        own.map(row).collect()
    }

    /// A row as a release writes it if the item keeps its key.
    fn stays_image(&self, release: &Release, at: usize, row: &Row) -> Row {
        let old = self.matches[at].before().expect("written");
        let mut image = image(&old, row);
        if let (Some(names), Match::Stays(_, new)) = (release.set.get(&at), &self.matches[at]) {
            for name in names.iter().filter(|name| *name != "c") {
                image.insert(name.clone(), fill(&new.entity.template_of(name).expect("a key"), row));
            }
        }
        if release.like.contains(&at) {
            let now = self.repeated(at, &row["id"]);
            let value = if self.is_stale { self.seen.clone() } else { now };
            image.extend(value.map(|value| ("c".to_owned(), value)));
        }
        for name in release.unset.get(&at).into_iter().flatten() {
            image.remove(name);
        }
        image
    }

    /// Puts an item, or deletes it, wherever the release keeps it.
    fn change(&mut self, release: &Release, at: usize, id: &str, row: Option<&Row>) {
        self.changed(release, at, id, (row, false));
    }

    fn changed(&mut self, release: &Release, at: usize, id: &str, (row, updates): (Option<&Row>, bool)) {
        let previous = self.truth.get(&(at, id.to_owned())).cloned();
        let blind = logical(at, id, "", "", "");
        // A release also knows the previous values in the key by which it finds the item; those in a copy's
        // key it may not know.
        let known = |by_it: bool| {
            if by_it || release.stale_deleted.contains(&at) {
                previous.clone()
            } else {
                row.is_none().then(|| blind.clone())
            }
        };
        let mut parts = Vec::new();
        match self.matches[at].clone() {
            Match::Moves(old, new) => {
                let copies = release.copies[&at];
                let by_new = matches!(copies, Copies::BothByNew | Copies::New);
                if copies != Copies::New {
                    let image = row.map(|row| image(&old, row));
                    parts.push(Part::new(Self::old_store(&old), &old, known(!by_new).as_ref(), image));
                }
                if copies != Copies::Old {
                    let image = row.map(|row| image(&new, row));
                    parts.push(Part::new(self.new_store(&new), &new, known(by_new).as_ref(), image));
                }
            }
            matched => {
                let old = matched.before().expect("written");
                let image = row.map(|row| self.stays_image(release, at, row));
                parts.push(Part::new(Self::old_store(&old), &old, previous.as_ref(), image));
            }
        }
        self.transact(parts);
        self.keep_derived(release, at, previous.as_ref(), &blind, (row, updates));
    }

    fn keep_derived(
        &mut self,
        release: &Release,
        of: usize,
        previous: Option<&Row>,
        blind: &Row,
        (row, updates): (Option<&Row>, bool),
    ) {
        for at in 0..self.matches.len() {
            if self.source_of(at) != Some(of) || !release.derived.contains(&at) {
                continue;
            }
            if updates && release.there.contains(&at) {
                continue;
            }
            let new = self.matches[at].after().expect("it is new");
            let known =
                if release.stale_deleted.contains(&at) { previous } else { row.is_none().then_some(blind) };
            let known = known.map(|row| with_owner(row, at));
            let mut image = row.map(|row| image(&new, &with_owner(row, at)));
            let store = self.new_store(&new);
            if let (true, Some(image)) = (release.apart.contains(&at), &mut image)
                && let Some(there) = self.stores[&store].rows.get(&key_of(&new, image))
                && let Some(value) = there.get("w")
            {
                image.insert("w".to_owned(), value.clone());
            }
            self.transact(vec![Part::new(store, &new, known.as_ref(), image)]);
        }
    }

    /// An update of derived items in place, as in the new model: if an item does not exist, the update
    /// creates one without the other attributes.
    fn update_derived(
        &mut self,
        of: usize,
        previous: &Row,
        name: &str,
        value: &str,
        there: &BTreeSet<usize>,
    ) {
        for at in 0..self.matches.len() {
            if self.source_of(at) != Some(of) || !there.contains(&at) {
                continue;
            }
            let new = self.matches[at].after().expect("it is new");
            if !new.entity.attributes.contains_key(name) {
                continue;
            }
            let store = self.new_store(&new);
            let previous = with_owner(previous, at);
            let key = key_of(&new, &previous);
            let found = self.stores[&store].rows.get(&key).cloned();
            let mut row = found.unwrap_or_else(|| {
                let mut row = image(&new, &previous);
                row.retain(|name, _| ["pk", "sk", "sk2", "e", "id"].contains(&name.as_str()));
                row
            });
            row.insert(name.to_owned(), value.to_owned());
            if row.contains_key("grp") {
                row = image(&new, &row);
            }
            self.transact(vec![Part::new(store, &new, Some(&previous), Some(row))]);
        }
    }

    /// Whether a release takes a moved attribute from the new entity.
    fn has_moved(&self, release: &Release, of: usize) -> bool {
        release.over.iter().any(|at| self.source_of(*at) == Some(of))
    }

    /// One transaction: deletes rows unless others have taken their place, and puts the new ones.
    fn transact(&mut self, parts: Vec<Part>) {
        for part in &parts {
            if let Some(key) = &part.previous
                && !parts.iter().any(|other| other.puts(&part.store, key))
            {
                self.remove_at(&part.store, key);
            }
        }
        for Part { store, row, .. } in parts {
            if let Some((_, row)) = row {
                self.put_at(&store, row);
            }
        }
    }

    fn remove_at(&mut self, name: &str, key: &Key) {
        if let Some(store) = self.stores.get_mut(name) {
            store.rows.remove(key);
            if let Some(mirror) = &self.mirror {
                mirror.delete(name, key);
            }
        }
    }

    fn put_at(&mut self, name: &str, row: Row) {
        if let Some(mirror) = &self.mirror {
            mirror.put(name, &row);
        }
        let store = self.stores.get_mut(name).expect("the table is there");
        store.rows.insert((row["pk"].clone(), row[&store.sort].clone()), row);
    }

    fn update(&mut self, release: &Release, at: usize, id: &str, name: &str, value: &str) {
        let Some(key_row) = self.truth.get(&(at, id.to_owned())).cloned() else { return };
        let matched = self.matches[at].clone();
        self.update_derived(at, &key_row, name, value, &release.there);
        if name == "v" && self.has_moved(release, at) && self.naive == Naive::GoesByBoth {
            return;
        }
        let Match::Moves(old, new) = &matched else {
            self.update_in_place(release, at, &key_row, name, value);
            return self.keep_derived_of(release, at, id, name, value);
        };
        let copies = release.copies[&at];
        let (first, second) = (Self::old_store(old), self.new_store(new));
        let by_new = matches!(copies, Copies::BothByNew | Copies::New);
        let (from, key) =
            if by_new { (&second, key_of(new, &key_row)) } else { (&first, key_of(old, &key_row)) };
        let found = self.stores[from].rows.get(&key).cloned();
        if self.naive == Naive::UpdatesBothAlone && copies == Copies::BothByOld && found.is_some() {
            // Without reading: absent attributes are created.
            for (store, side) in [(&first, old), (&second, new)] {
                let key = key_of(side, &key_row);
                let row =
                    self.stores.get_mut(store).expect("there").rows.entry(key.clone()).or_insert_with(|| {
                        let mut row = key_row.clone();
                        row.retain(|name, _| ["id", "k", "grp", "e"].contains(&name.as_str()));
                        row.extend([("pk".to_owned(), key.0), (sort(side), key.1)]);
                        row
                    });
                row.insert(name.to_owned(), value.to_owned());
            }
            return;
        }
        let Some(mut row) = found else { return };
        row.insert(name.to_owned(), value.to_owned());
        let row = only_logical(&row);
        self.changed(release, at, id, (Some(&row), true));
    }

    /// Keeps the items derived from an updated item that keeps its key: the whole item is read.
    fn keep_derived_of(&mut self, release: &Release, at: usize, id: &str, name: &str, value: &str) {
        let previous = self.truth[&(at, id.to_owned())].clone();
        let mut row = previous.clone();
        row.insert(name.to_owned(), value.to_owned());
        let blind = logical(at, id, "", "", "");
        self.keep_derived(release, at, Some(&previous), &blind, (Some(&row), true));
    }

    fn update_in_place(&mut self, release: &Release, at: usize, key_row: &Row, name: &str, value: &str) {
        let matched = self.matches[at].clone();
        let old = matched.before().expect("written");
        let key = key_of(&old, key_row);
        let Some(mut row) = self.stores[&Self::old_store(&old)].rows.get(&key).cloned() else { return };
        row.insert(name.to_owned(), value.to_owned());
        let whole = self.stays_image(release, at, &only_logical(&row));
        let set = release.set.get(&at).cloned().unwrap_or_default();
        let uses = |side: &EntityRef<'_>, key: &String| {
            side.entity.template_of(key).is_some_and(|template| made_of(&template).any(|input| input == name))
        };
        let new = matched.after().unwrap_or(old);
        let touched = |side: &EntityRef<'_>| set.iter().any(|key| uses(side, key));
        let together = touched(&old) || touched(&new);
        for key in ["g1", "g2"].map(str::to_owned) {
            let written = if set.contains(&key) {
                together && (self.naive != Naive::SetsOneByOne || uses(&new, &key))
            } else {
                let known = release.together.get(&at).filter(|known| known.contains(&key));
                uses(&old, &key) || known.is_some_and(|known| known.iter().any(|key| uses(&old, key)))
            };
            if let (true, Some(text)) = (written, whole.get(&key)) {
                row.insert(key, text.clone());
            }
        }
        // Under another key it is put again, as the release writes it.
        if key_of(&old, &row) != key {
            row = whole;
        }
        self.transact(vec![Part::new(Self::old_store(&old), &old, Some(key_row), Some(row))]);
    }
}

// The jobs.
impl World<'_> {
    fn job(&mut self, job: &Job, what: &str) -> Result<(), Fault> {
        match job {
            Job::Copy { entity, .. } => self.each(entity, what, Self::copy),
            Job::CompareCopies { .. }
            | Job::CompareLoaded { .. }
            | Job::CompareDerived { .. }
            | Job::CompareFilled { .. }
                if self.naive == Naive::ComparesNothing =>
            {
                Ok(())
            }
            Job::CompareCopies { entity, .. }
            | Job::CompareLoaded { entity, .. }
            | Job::CompareDerived { entity, .. } => {
                for at in self.of(entity) {
                    for quiet in [false, false, true] {
                        self.compare(at, what, quiet)?;
                    }
                }
                Ok(())
            }
            Job::Fill { entity, values, condition, .. } => {
                let attributes = names(values);
                let passes: Vec<Vec<String>> = if self.naive == Naive::SetsOneByOne {
                    attributes.iter().map(|name| vec![name.clone()]).collect()
                } else {
                    vec![attributes]
                };
                for names in passes {
                    self.each(entity, what, |world, at, read| world.set(at, read, &names, Some(condition)))?;
                }
                Ok(())
            }
            Job::CompareFilled { entity, values, .. } => {
                let attributes = names(values);
                for _ in 0..3 {
                    self.each(entity, what, |world, at, read| world.set(at, read, &attributes, None))?;
                }
                Ok(())
            }
            Job::DeleteOld { entity, .. } | Job::DeleteEntity { entity, .. } => {
                let gone = matches!(job, Job::DeleteEntity { .. });
                self.each(entity, what, |world, at, read| {
                    let old = world.matches[at].before().expect("there");
                    let key = key_of(&old, read);
                    let stays = !gone
                        && world.matches[at].after().is_some_and(|new| {
                            world.new_store(&new) == Self::old_store(&old) && key_of(&new, read) == key
                        });
                    if !stays {
                        world.remove_at(&Self::old_store(&old), &key);
                    }
                })
            }
            Job::RemoveAttributes { entity, attributes, .. } => self.each(entity, what, |world, at, read| {
                let old = world.matches[at].before().expect("there");
                let key = key_of(&old, read);
                let store = Self::old_store(&old);
                if let Some(mut row) = world.stores[&store].rows.get(&key).cloned() {
                    row.retain(|name, _| !attributes.contains(name));
                    world.put_at(&store, row);
                }
            }),
            Job::Load { entity, .. } | Job::LoadDerived { entity, .. } => {
                for at in self.of(entity) {
                    if let Some(source) = self.source_of(at) {
                        self.load_derived(at, source, what)?;
                        continue;
                    }
                    self.load_new(at, what)?;
                }
                Ok(())
            }
            Job::ConvertType { .. }
            | Job::CompareCounts { .. }
            | Job::AddCapacity { .. }
            | Job::AppearsInStream { .. }
            | Job::ExportAndImport { .. } => Ok(()),
        }
    }

    /// Scans the old table, and processes the rows while the application continues to write.
    fn each(&mut self, entity: &str, what: &str, work: impl Fn(&mut Self, usize, &Row)) -> Result<(), Fault> {
        for at in self.of(entity) {
            let old = self.matches[at].before().expect("it was there");
            let Some(store) = self.stores.get(&Self::old_store(&old)) else { continue };
            let read: Vec<Row> =
                store.rows.values().filter(|row| row["e"] == at.to_string()).cloned().collect();
            for row in read {
                let seen = self.repeated(at, &row["id"]);
                self.write();
                self.seen = seen;
                self.check(what)?;
                work(self, at, &row);
                self.check(what)?;
            }
        }
        Ok(())
    }

    fn delete_what_is_called_otherwise(&mut self) -> Result<(), Fault> {
        for matched in self.matches.clone() {
            if let Match::Stays(old, new) = matched
                && old.entity.name != new.entity.name
            {
                let entity = new.entity.name.clone();
                let table = old.table.definition.name.clone();
                self.job(&Job::DeleteEntity { entity, items: None, table }, "delete by name")?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, at: usize, read: &Row) {
        let (Some(old), Some(new)) = (self.matches[at].before(), self.matches[at].after()) else {
            panic!("it moves")
        };
        let store = self.new_store(&new);
        // A row that already has its new key would be restored if it were deleted in the meantime.
        if store == Self::old_store(&old) && key_of(&old, read) == key_of(&new, read) {
            return;
        }
        if !self.stores[&store].rows.contains_key(&key_of(&new, read)) {
            self.put_at(&store, image(&new, &only_logical(read)));
        }
    }

    fn load_derived(&mut self, at: usize, source: usize, what: &str) -> Result<(), Fault> {
        let new = self.matches[at].after().expect("it is new");
        let store = self.new_store(&new);
        let from = Self::old_store(&self.matches[source].before().expect("it is there"));
        for (_, row) in self.rows_of(&from, source) {
            self.write();
            self.check(what)?;
            let row = with_owner(&only_logical(&row), at);
            if !self.stores[&store].rows.contains_key(&key_of(&new, &row)) {
                self.put_at(&store, image(&new, &row));
            }
            self.check(what)?;
        }
        Ok(())
    }

    /// Puts items that are elsewhere, if none exists yet.
    fn load_new(&mut self, at: usize, what: &str) -> Result<(), Fault> {
        let new = self.matches[at].after().expect("new");
        let store = self.new_store(&new);
        for row in self.true_rows(at) {
            self.write();
            self.check(what)?;
            if !self.stores[&store].rows.contains_key(&key_of(&new, &row)) {
                self.put_at(&store, image(&new, &row));
            }
        }
        Ok(())
    }

    /// Makes loaded items equal to those elsewhere.
    fn compare_new(&mut self, at: usize, what: &str) -> Result<(), Fault> {
        let new = self.matches[at].after().expect("new");
        let store = self.new_store(&new);
        for _ in 0..2 {
            self.write();
            self.check(what)?;
            let rows: Vec<Row> = self.true_rows(at).iter().map(|row| image(&new, row)).collect();
            for (key, _) in self.rows_of(&store, at) {
                if rows.iter().all(|row| key_of(&new, row) != key) {
                    self.remove_at(&store, &key);
                }
            }
            for row in rows {
                self.put_at(&store, row);
            }
        }
        Ok(())
    }

    fn rows_of(&self, store: &str, at: usize) -> Vec<(Key, Row)> {
        let at = at.to_string();
        copied(self.stores[store].rows.iter().filter(|(_, row)| row["e"] == at))
    }

    /// Compares copies with their sources, then existing copies with the sources that they had.
    fn compare(&mut self, at: usize, what: &str, quiet: bool) -> Result<(), Fault> {
        let (source, old, new) = match self.matches[at].clone() {
            Match::Moves(old, new) => (at, old, new),
            Match::Derived(old, new, _) => {
                (self.source_of(at).ok_or_else(|| Fault(format!("made of {}", old.entity.name)))?, old, new)
            }
            Match::New(_) if self.source_of(at).is_none() => return self.compare_new(at, what),
            _ => return Ok(()),
        };
        let (first, second) = (Self::old_store(&old), self.new_store(&new));
        let as_copy = |row: &Row| image(&new, &with_owner(&only_logical(row), at));
        let has_own = new.entity.attributes.contains_key("w");
        let mut olds = self.rows_of(&first, source);
        olds.retain(|(key, row)| key_of(&old, row) == *key);
        for (from, read) in olds {
            let (mut wanted, to) = (as_copy(&read), key_of(&new, &read));
            let mut there = self.stores[&second].rows.get(&to).cloned();
            self.pause(what, quiet)?;
            if has_own && self.naive != Naive::PutsWhole {
                // Differences are set; attributes that are not compared keep their current value.
                there = self.stores[&second].rows.get(&to).cloned();
                if let Some(value) = there.as_ref().and_then(|row| row.get("w")) {
                    wanted.insert("w".to_owned(), value.clone());
                }
            }
            let is_own = first == second && from == to;
            if there.as_ref() != Some(&wanted)
                && !is_own
                && self.stores[&first].rows.get(&from) == Some(&read)
            {
                self.put_at(&second, wanted);
                self.check(what)?;
            }
        }
        let mut news = self.rows_of(&second, at);
        news.retain(|(key, row)| key_of(&new, row) == *key);
        for (to, row) in news {
            let from = key_of(&old, &row);
            let maker = self.stores[&first].rows.get(&from).cloned();
            self.pause(what, quiet)?;
            let is_own = first == second && from == to;
            let made = maker.as_ref().is_some_and(|maker| key_of(&new, maker) == to);
            if !made && !is_own && self.stores[&first].rows.get(&from) == maker.as_ref() {
                self.remove_at(&second, &to);
                self.check(what)?;
            }
        }
        Ok(())
    }

    fn pause(&mut self, what: &str, quiet: bool) -> Result<(), Fault> {
        if quiet {
            return Ok(());
        }
        self.write();
        self.check(what)
    }

    /// Sets attributes computed from the read row; without a guard, only if the row is unchanged.
    fn set(&mut self, at: usize, read: &Row, names: &[String], condition: Option<&Condition>) {
        let Match::Stays(old, new) = self.matches[at].clone() else { return };
        let store = Self::old_store(&old);
        let Some(row) = self.stores[&store].rows.get(&key_of(&old, read)).cloned() else { return };
        let holds = match condition {
            None => row == *read,
            Some(Condition::Lacks { attribute, .. }) => !row.contains_key(attribute),
            Some(Condition::AsRead(names)) => names.iter().all(|name| row.get(name) == read.get(name)),
            Some(other) => panic!("no condition of a filled item: {other}"),
        };
        if holds {
            let mut row = row;
            // The verify job checks in its transaction that the source value is current; the backfill does
            // not.
            let now = self.repeated(at, &read["id"]);
            let repeated = if condition.is_some() { self.seen.clone() } else { now };
            for name in names {
                let value = match name.as_str() {
                    "c" => repeated.clone(),
                    _ => Some(fill(&new.entity.template_of(name).expect("a key"), read)),
                };
                row.extend(value.map(|value| (name.clone(), value)));
            }
            self.put_at(&store, row);
        }
    }
}

// The reads of the application.
impl World<'_> {
    fn check(&self, what: &str) -> Result<(), Fault> {
        for release in std::iter::once(&self.now).chain(&self.next) {
            for (id, way) in &release.ways {
                let (was, now) = (pattern(self.before, id), pattern(self.after, id));
                let pattern = match way {
                    Way::Not => continue,
                    Way::Old | Way::Both => was.expect("it was asked"),
                    Way::New => now.expect("it is asked"),
                };
                self.answers(release, pattern, *way, was, now)
                    .map_err(|Fault(text)| Fault(format!("{id} {way:?} in {what}: {text}")))?;
            }
            for id in &self.unplanned {
                let (was, now) = (pattern(self.before, id), pattern(self.after, id));
                self.answers(release, now.expect("it is asked"), Way::New, was, now)
                    .map_err(|Fault(text)| Fault(format!("{id} unplanned in {what}: {text}")))?;
            }
        }
        Ok(())
    }

    /// An entity's attributes in the design of the read, and its key attributes.
    fn shown(&self, release: &Release, way: Way, row: &Row) -> Row {
        let at: usize = row["e"].parse().expect("a number");
        let matched = &self.matches[at];
        let side = if way == Way::New { matched.after() } else { matched.before() };
        let side = side.or(matched.before()).or(matched.after()).expect("a side");
        let mut row = only_logical(row);
        let id = row["id"].clone();
        row.retain(|name, _| {
            let moved = name == "v" && self.has_moved(release, at);
            // A copy without an existing source keeps its value.
            let left = name == "c" && self.repeated(at, &id).is_none();
            name == "e" || side.entity.attributes.contains_key(name) && !moved && !left
        });
        row
    }

    fn answers(
        &self,
        release: &Release,
        pattern: &SubjectPattern,
        way: Way,
        was: Option<&SubjectPattern>,
        now: Option<&SubjectPattern>,
    ) -> Result<(), Fault> {
        let own = |at: &usize| {
            let side = if way == Way::New { self.matches[*at].after() } else { self.matches[*at].before() };
            side.is_some_and(|side| pattern.entities.contains(&side.entity.name))
        };
        let left = |at: &usize| way == Way::New || !release.without.contains(&(pattern.id.clone(), *at));
        let ats: Vec<usize> = (0..self.matches.len()).filter(own).collect();
        let unknown = ats.iter().any(|at| matches!(self.matches[*at], Match::Unknown { .. }));
        let some = !ats.is_empty();
        let ats: Vec<usize> = ats.into_iter().filter(left).collect();
        // A read may answer less than before, and in the end must answer as the new model says; asking for
        // nothing at all is not allowed.
        if some && ats.is_empty() && !unknown && now.is_some() {
            return Err(Fault("nothing is asked".to_owned()));
        }
        if unknown || ats.iter().any(|at| matches!(self.matches[*at], Match::Unknown { .. })) {
            return Ok(());
        }
        let by = pattern.needs[0].as_str();
        let values: Vec<&str> = if by == "id" { vec!["0", "1", "2", "3"] } else { vec!["0", "1", "2"] };
        for value in values {
            let matches = |row: &Row| row[by] == value;
            let mut expected: Vec<Row> =
                ats.iter().flat_map(|at| self.true_rows(*at)).filter(matches).collect();
            let mut found: BTreeMap<(String, Key, usize), Row> = BTreeMap::new();
            for (pattern, new) in [(was, false), (now, true)] {
                let Some(pattern) = pattern else { continue };
                if matches!((way, new), (Way::Old, true) | (Way::New, false)) {
                    continue;
                }
                // A moved entity is read in its old place until the reads move.
                let moves = |at: &&usize| matches!(self.matches[**at], Match::Moves(..));
                for at in ats.iter().filter(|at| !(way == Way::Both && new && moves(at))) {
                    self.asked(release, pattern, (*at, &ats), new, value, &mut found)?;
                }
            }
            let answers = |row: &Row| way != Way::Both || matches(row);
            let mut found: Vec<Row> = found.into_values().collect();
            found.retain(answers);
            found = found.iter().map(|row| self.shown(release, way, row)).collect();
            expected = expected.iter().map(|row| self.shown(release, way, row)).collect();
            found.sort();
            expected.sort();
            if found != expected {
                return Err(Fault(format!("{value}: {found:?} instead of {expected:?}")));
            }
        }
        Ok(())
    }

    /// The items of one entity that a read finds.
    fn asked(
        &self,
        release: &Release,
        pattern: &SubjectPattern,
        (at, ats): (usize, &[usize]),
        new: bool,
        value: &str,
        found: &mut BTreeMap<(String, Key, usize), Row>,
    ) -> Result<(), Fault> {
        let matched = &self.matches[at];
        let Some(side) = (if new { matched.after() } else { matched.before() }) else { return Ok(()) };
        if !pattern.entities.contains(&side.entity.name) {
            return Ok(());
        }
        let name = if new { self.new_store(&side) } else { Self::old_store(&side) };
        let store = self.stores.get(&name).ok_or_else(|| Fault(format!("no table {name}")))?;
        let known: Row = match pattern.needs[0].as_str() {
            "id" => logical(at, value, "", "", ""),
            by => [(by.to_owned(), value.to_owned())].into(),
        };
        let request = if let Some(uses) = &pattern.uses {
            let index = if new { self.new_index(&side, uses) } else { uses.clone() };
            let key = store.indexes.get(&index).ok_or_else(|| Fault(format!("no index {index}")))?;
            let text = fill(&side.entity.template_of(key).expect("in the index"), &known);
            Request { index: Some(index), key: key.clone(), text, begins: String::new(), whole: None }
        } else {
            let template = side.entity.template_of(&sort(&side)).expect("a key");
            let begins = if pattern.entities.len() > 1 { "" } else { template.prefix() };
            let whole = (pattern.reading == Reading::Get).then(|| key_of(&side, &known));
            let text = fill(&side.entity.template_of("pk").expect("a key"), &known);
            Request { index: None, key: "pk".to_owned(), text, begins: begins.to_owned(), whole }
        };
        let rows: Vec<(Key, Row)> = match &self.mirror {
            Some(mirror) => {
                let key = (request.key.as_str(), request.text.as_str());
                let mut found = mirror.query(&name, request.index.as_deref(), key, &request.begins);
                found.retain(|(key, row)| request.finds(key, row));
                found
            }
            None => copied(store.rows.iter().filter(|(key, row)| request.finds(key, row))),
        };
        for (key, row) in rows {
            let of: usize = row["e"].parse().expect("a number");
            let other = of != at;
            // An unchanged read still knows which other items it may find.
            let expects = |new: bool| self.is_expected(of, &name, &request, new);
            let unplanned =
                new && self.unplanned.contains(&pattern.id) && pattern_of(self.before, &pattern.id);
            if other && (ats.contains(&of) || expects(new) || unplanned && expects(false)) {
                continue;
            }
            let matched = &self.matches[of];
            let is = |side: Option<EntityRef<'_>>| side.is_some_and(|side| key_of(&side, &row) == key);
            let (old_key, new_key) = (is(matched.before()), is(matched.after()));
            let asks = (pattern.id.clone(), of);
            if release.without.contains(&asks) && (other || !new) {
                continue;
            }
            let passed = release.pass_new.contains(&asks) && !new && new_key && (other || !old_key)
                || release.pass_old.contains(&asks) && new && old_key && (other || !new_key);
            if !passed {
                found.insert((name.clone(), key, of), row);
            }
        }
        Ok(())
    }

    /// Whether a design has items of an entity where one of its reads looks: then the reader knows them.
    fn is_expected(&self, of: usize, store: &str, request: &Request, new: bool) -> bool {
        let matched = &self.matches[of];
        if matches!(matched, Match::Unknown { .. }) {
            return true;
        }
        let Some(side) = (if new { matched.after() } else { matched.before() }) else { return false };
        let name = if new { self.new_store(&side) } else { Self::old_store(&side) };
        let values = ["0", "1", "2"];
        let ids = ["0", "1", "2", "3"];
        name == store
            && ids.iter().any(|id| {
                values.iter().any(|a| {
                    values.iter().any(|b| {
                        let row = logical(of, id, a, b, "");
                        request.finds(&key_of(&side, &row), &image(&side, &row))
                    })
                })
            })
    }

    /// Checks that all data is as the new model says.
    fn end(mut self) -> Result<(), Fault> {
        for pattern in self.after.patterns.iter().filter(|pattern| !pattern.writes && pattern.answered) {
            self.now.ways.insert(pattern.id.clone(), Way::New);
        }
        self.now.pass_old.clear();
        self.check("the end")?;
        for (at, matched) in self.matches.iter().enumerate() {
            let side = match matched {
                Match::Gone(_) => None,
                Match::Unknown { old: Some(old), .. } => Some((*old, Self::old_store(old))),
                Match::Unknown { old: None, .. } => continue,
                Match::Stays(_, new) | Match::Moves(_, new) | Match::New(new) | Match::Derived(_, new, _) => {
                    Some((*new, self.new_store(new)))
                }
            };
            let own = self.stores.iter().flat_map(|(name, store)| {
                let rows = store.rows.iter().filter(|(_, row)| row["e"] == at.to_string());
                rows.map(move |(key, row)| (name.clone(), key.clone(), only_logical(row)))
            });
            // A table with an open match is left unchanged.
            let left = |name: &str| {
                let was = self.before.table(name);
                let now = self.after.table(name);
                was.is_some_and(|was| now.is_none_or(|now| must_be_copied(was, now)))
            };
            let is_new = !matches!(matched, Match::Unknown { .. });
            let lean = |(name, key, row): (String, Key, Row)| {
                let is_new = self.matches[at].after().is_some();
                (name, key, if is_new { self.shown(&self.now, Way::New, &row) } else { row })
            };
            let found: BTreeSet<(String, Key, Row)> =
                own.filter(|(name, ..)| !(is_new && left(name))).map(lean).collect();
            let expected: BTreeSet<(String, Key, Row)> = match &side {
                None => BTreeSet::new(),
                Some((side, store)) => {
                    let own = self.true_rows(at).into_iter();
                    own.map(|row| lean((store.clone(), key_of(side, &row), row))).collect()
                }
            };
            if found != expected {
                return Err(Fault(format!("in the end {found:?} instead of {expected:?}")));
            }
        }
        Ok(())
    }
}

/// One operation of a transaction.
struct Part {
    store: String,
    /// The previous key.
    previous: Option<Key>,
    row: Option<(Key, Row)>,
}

impl Part {
    fn new(store: String, side: &EntityRef<'_>, previous: Option<&Row>, row: Option<Row>) -> Self {
        let previous = previous.map(|previous| key_of(side, previous));
        Self { store, previous, row: row.map(|row| (key_of(side, &row), row)) }
    }

    fn puts(&self, store: &str, key: &Key) -> bool {
        self.store == *store && self.row.as_ref().is_some_and(|(own, _)| own == key)
    }
}

/// A request by a key of a table or an index.
struct Request {
    index: Option<String>,
    /// The partition key attribute, and the requested text.
    key: String,
    text: String,
    /// The prefix of the table's sort key.
    begins: String,
    /// The only wanted key.
    whole: Option<Key>,
}

impl Request {
    fn finds(&self, key: &Key, row: &Row) -> bool {
        row.get(&self.key) == Some(&self.text)
            && key.1.starts_with(&self.begins)
            && self.whole.as_ref().is_none_or(|whole| whole == key)
    }
}

/// A row as an item of another entity.
fn with_owner(row: &Row, at: usize) -> Row {
    let mut row = row.clone();
    row.insert("e".to_owned(), at.to_string());
    row
}

fn copied<'r>(rows: impl Iterator<Item = (&'r Key, &'r Row)>) -> Vec<(Key, Row)> {
    rows.map(|(key, row)| (key.clone(), row.clone())).collect()
}

fn pattern<'a>(subject: &'a Subject, id: &str) -> Option<&'a SubjectPattern> {
    subject.patterns.iter().find(|pattern| pattern.id == id)
}

fn pattern_of(subject: &Subject, id: &str) -> bool {
    pattern(subject, id).is_some_and(|pattern| pattern.answered)
}

fn store(table: &SubjectTable) -> Store {
    Store { sort: table.definition.schema.key.sort[0].name.clone(), ..Store::default() }
}

fn sort(side: &EntityRef<'_>) -> String {
    side.table.definition.schema.key.sort[0].name.clone()
}

/// An item as an application sees it. Among the variables of keys only `a` changes.
fn logical(at: usize, id: &str, a: &str, b: &str, v: &str) -> Row {
    let number: u32 = id.parse().expect("a number");
    let (k, grp) = ((number % 2).to_string(), (number % 3).to_string());
    let pairs = [("e", at.to_string()), ("id", id.to_owned()), ("k", k), ("grp", grp)];
    let values = [("a", a), ("b", b), ("v", v)].map(|(name, value)| (name, value.to_owned()));
    pairs.into_iter().chain(values).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn only_logical(row: &Row) -> Row {
    let own = |name: &str| ["e", "id", "k", "grp", "a", "b", "v", "w", "c"].contains(&name);
    row.iter().filter(|(name, _)| own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn fill(template: &Template, row: &Row) -> String {
    let mut text = template.to_string();
    for (name, value) in row {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    text
}

/// An item with its keys, as a design writes it.
fn image(side: &EntityRef<'_>, row: &Row) -> Row {
    let mut image = row.clone();
    for key in side.table.definition.key_attributes() {
        if let Some(template) = side.entity.template_of(&key.name) {
            image.insert(key.name.clone(), fill(&template, row));
        }
    }
    image
}

fn key_of(side: &EntityRef<'_>, row: &Row) -> Key {
    let text = |name: &str| fill(&side.entity.template_of(name).expect("a key"), row);
    (text("pk"), text(&sort(side)))
}
