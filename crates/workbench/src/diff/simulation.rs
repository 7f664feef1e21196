//! A machine of tables on which plans are carried out, with an application beside that reads and writes.
//!
//! It takes a plan's actions by what they say and knows nothing of how they were found.

use std::collections::{BTreeMap, BTreeSet};

use super::mirror::Mirror;
use super::pairs::{Bond, Side, bonds};
use super::planner::must_be_copied;
use super::slots::made_of;
use super::*;

type Row = BTreeMap<String, String>;
type Key = (String, String);

/// A way to carry out a plan that is not what it says; each was once what a plan said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Naive {
    No,
    /// Updates are done in both places as they are.
    UpdatesBothAlone,
    NeverPassesOver,
    AsksOneWay,
    ComparesNothing,
    GoesByOldToTheEnd,
    SetsOneByOne,
    DeletesFirst,
    /// What has another name are other items.
    KnowsByName,
}

/// What went wrong.
#[derive(Clone, Debug)]
pub(super) struct Fault(pub(super) String);

#[derive(Clone, Debug, Default)]
struct Store {
    sort: String,
    rows: BTreeMap<Key, Row>,
    /// The attribute that is the key of each index.
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
    stopped: BTreeSet<usize>,
    ways: BTreeMap<String, Way>,
    pass_new: BTreeSet<(String, usize)>,
    pass_old: BTreeSet<(String, usize)>,
}

struct World<'a> {
    before: &'a Subject,
    after: &'a Subject,
    bonds: Vec<Bond<'a>>,
    stores: BTreeMap<String, Store>,
    /// What there is, by bond and id, as an application thinks of it.
    truth: BTreeMap<(usize, String), Row>,
    now: Release,
    /// The release that goes out beside it.
    next: Option<Release>,
    random: u64,
    naive: Naive,
    /// The engine, where the plan is carried out on it too.
    mirror: Option<Mirror>,
}

pub(super) fn carry_out(
    before: &Subject,
    after: &Subject,
    plan: &Plan,
    seed: u64,
    naive: Naive,
) -> Result<(), Fault> {
    World::new(before, after, seed, naive, None).run(plan)
}

/// The same on the engine.
pub(super) fn carry_out_on_the_engine(
    before: &Subject,
    after: &Subject,
    plan: &Plan,
    seed: u64,
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
    World::new(before, after, seed, Naive::No, Some(Mirror::new(sorts))).run(plan)
}

impl World<'_> {
    fn run(self, plan: &Plan) -> Result<(), Fault> {
        let mut world = self;
        let naive = world.naive;
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
    fn new(before: &'a Subject, after: &'a Subject, seed: u64, naive: Naive, mirror: Option<Mirror>) -> Self {
        let known = bonds(before, after);
        let questions = before.patterns.iter().filter(|pattern| !pattern.writes);
        let now = Release {
            copies: (0..known.len()).map(|at| (at, Copies::Old)).collect(),
            set: BTreeMap::new(),
            unset: BTreeMap::new(),
            stopped: BTreeSet::new(),
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
        let mut world = Self { before, after, bonds: known, stores, truth, now, next, random, naive, mirror };
        for _ in 0..12 {
            world.write();
        }
        world
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).expect("31 bits") % below
    }

    fn of(&self, entity: &str) -> Vec<usize> {
        let names =
            |bond: &Bond<'_>| bond.after().or(bond.before()).is_some_and(|side| side.entity.name == *entity);
        (0..self.bonds.len()).filter(|at| names(&self.bonds[*at])).collect()
    }

    /// The store of a table in the old or the new design.
    fn old_store(side: &Side<'_>) -> String {
        side.table.definition.name.clone()
    }

    fn new_store(&self, side: &Side<'_>) -> String {
        let name = &side.table.definition.name;
        let anew = self.before.table(name).is_some_and(|was| must_be_copied(was, side.table));
        if anew { format!("{name}+") } else { name.clone() }
    }

    fn new_index(&self, side: &Side<'_>, index: &str) -> String {
        let was =
            self.before.table(&side.table.definition.name).filter(|was| !must_be_copied(was, side.table));
        let known = was.and_then(|was| was.index(index));
        let anew = known.is_some() && known != side.table.index(index);
        if anew { format!("{index}+") } else { index.to_owned() }
    }

    fn step(&mut self, step: &Step) -> Result<(), Fault> {
        let what = format!("{:?} {:?}", step.kind, step.actions);
        match step.kind.who() {
            Who::Application => {
                let mut next = self.now.clone();
                for action in &step.actions {
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
                for action in &step.actions {
                    self.control(action);
                }
                self.check(&what)
            }
            Who::Job => {
                for action in &step.actions {
                    self.job(action, &what)?;
                }
                self.check(&what)
            }
        }
    }

    fn control(&mut self, action: &Action) {
        match action {
            Action::CreateTable { table, .. } => {
                let new = self.after.table(table).expect("it is new");
                let mut made = store(new);
                for index in &new.definition.schema.indexes {
                    made.indexes.insert(index.name.clone(), index.key.partition[0].name.clone());
                }
                let name = self.new_store(&Side { table: new, entity: &new.entities[0] });
                self.stores.insert(name, made);
            }
            Action::DeleteTable { table } => {
                self.stores.remove(table);
            }
            Action::CreateIndex { table, index } => {
                let new = self.after.table(table).expect("it stays");
                let name = self.new_index(&Side { table: new, entity: &new.entities[0] }, index);
                let key = new.index(index).expect("it is new").key.partition[0].name.clone();
                self.stores.get_mut(table).expect("it is there").indexes.insert(name, key);
            }
            Action::DeleteIndex { table, index } => {
                self.stores.get_mut(table).expect("it is there").indexes.remove(index);
            }
            other => panic!("no call: {other:?}"),
        }
    }

    fn release(&self, action: &Action, next: &mut Release) {
        let mut copies = |entity: &str, copies: Copies| {
            for at in self.of(entity) {
                next.copies.insert(at, copies);
            }
        };
        match action {
            Action::KeepBoth { entity } => copies(entity, Copies::BothByOld),
            Action::GoByNew { .. } if self.naive == Naive::GoesByOldToTheEnd => {}
            Action::GoByNew { entity } => copies(entity, Copies::BothByNew),
            Action::KeepNew { entity } => copies(entity, Copies::New),
            Action::Set { entity, attributes } => {
                next.set.extend(self.of(entity).into_iter().map(|at| (at, attributes.clone())));
            }
            Action::Unset { entity, attributes } => {
                for at in self.of(entity) {
                    next.unset.entry(at).or_default().extend(attributes.clone());
                }
            }
            Action::StopWriting { entity } => next.stopped.extend(self.of(entity)),
            Action::AskBoth { .. } if self.naive == Naive::AsksOneWay => {}
            Action::AskBoth { pattern } => {
                next.ways.insert(pattern.clone(), Way::Both);
            }
            Action::AskNew { pattern } => {
                next.ways.insert(pattern.clone(), Way::New);
            }
            Action::AskNoMore { pattern } => {
                next.ways.insert(pattern.clone(), Way::Not);
            }
            Action::PassNew { .. } | Action::PassOld { .. } if self.naive == Naive::NeverPassesOver => {}
            Action::PassNew { pattern, entity } => {
                next.pass_new.extend(self.of(entity).into_iter().map(|at| (pattern.clone(), at)));
            }
            Action::PassOld { pattern, entity } => {
                next.pass_old.extend(self.of(entity).into_iter().map(|at| (pattern.clone(), at)));
            }
            other => panic!("no release: {other:?}"),
        }
    }
}

// What the application writes.
impl World<'_> {
    /// One write of one of the releases that run.
    fn write(&mut self) {
        let ats: Vec<usize> = (0..self.bonds.len()).filter(|at| self.bonds[*at].before().is_some()).collect();
        if ats.is_empty() {
            return;
        }
        let at = ats[self.draw(ats.len())];
        let newer = self.draw(2) == 0;
        let release = self.next.clone().filter(|_| newer).unwrap_or_else(|| self.now.clone());
        if release.stopped.contains(&at) {
            return;
        }
        let id = format!("{}", self.draw(4));
        let value = format!("{}", self.draw(3));
        match self.draw(6) {
            0 | 1 => {
                let other = format!("{}", self.draw(3));
                let row = logical(at, &id, &value, &other, &format!("{}", self.draw(1000)));
                self.put(&release, at, &row);
                self.truth.insert((at, id), row);
            }
            2 => {
                self.delete(&release, at, &id);
                self.truth.remove(&(at, id));
            }
            op => {
                let name = ["a", "b", "v"][op - 3];
                self.update(&release, at, &id, name, &value);
                if let Some(row) = self.truth.get_mut(&(at, id)) {
                    row.insert(name.to_owned(), value);
                }
            }
        }
    }

    /// A row as a release writes it where it stays.
    fn stays_image(&self, release: &Release, at: usize, row: &Row) -> Row {
        let old = self.bonds[at].before().expect("written");
        let mut image = image(&old, row);
        if let (Some(names), Bond::Stays(_, new)) = (release.set.get(&at), &self.bonds[at]) {
            for name in names {
                image.insert(name.clone(), fill(&new.entity.template_of(name).expect("a key"), row));
            }
        }
        for name in release.unset.get(&at).into_iter().flatten() {
            image.remove(name);
        }
        image
    }

    fn put(&mut self, release: &Release, at: usize, row: &Row) {
        match self.bonds[at].clone() {
            Bond::Moves(old, new) => {
                let copies = release.copies[&at];
                if copies != Copies::New {
                    self.put_at(&Self::old_store(&old), image(&old, row));
                }
                if copies != Copies::Old {
                    self.put_at(&self.new_store(&new), image(&new, row));
                }
            }
            bond => {
                let image = self.stays_image(release, at, row);
                self.put_at(&Self::old_store(&bond.before().expect("written")), image);
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

    fn delete(&mut self, release: &Release, at: usize, id: &str) {
        let row = logical(at, id, "", "", "");
        let copies = release.copies[&at];
        let bond = self.bonds[at].clone();
        let old = bond.before().expect("written");
        if !matches!(bond, Bond::Moves(..)) || copies != Copies::New {
            let key = key_of(&old, &row);
            self.remove_at(&Self::old_store(&old), &key);
        }
        if let (Bond::Moves(_, new), true) = (&bond, copies != Copies::Old) {
            let key = key_of(new, &row);
            self.remove_at(&self.new_store(new), &key);
        }
    }

    fn update(&mut self, release: &Release, at: usize, id: &str, name: &str, value: &str) {
        let key_row = logical(at, id, "", "", "");
        let bond = self.bonds[at].clone();
        let Bond::Moves(old, new) = &bond else {
            return self.update_in_place(release, at, &key_row, name, value);
        };
        let copies = release.copies[&at];
        let (first, second) = (Self::old_store(old), self.new_store(new));
        let by_new = matches!(copies, Copies::BothByNew | Copies::New);
        let (from, key) =
            if by_new { (&second, key_of(new, &key_row)) } else { (&first, key_of(old, &key_row)) };
        let found = self.stores[from].rows.get(&key).cloned();
        if self.naive == Naive::UpdatesBothAlone && copies == Copies::BothByOld && found.is_some() {
            // As it is: attributes that are not there are made.
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
        self.put(release, at, &row);
    }

    fn update_in_place(&mut self, release: &Release, at: usize, key_row: &Row, name: &str, value: &str) {
        let bond = self.bonds[at].clone();
        let old = bond.before().expect("written");
        let key = key_of(&old, key_row);
        let Some(mut row) = self.stores[&Self::old_store(&old)].rows.get(&key).cloned() else { return };
        row.insert(name.to_owned(), value.to_owned());
        let whole = self.stays_image(release, at, &only_logical(&row));
        let set = release.set.get(&at).cloned().unwrap_or_default();
        let uses = |side: &Side<'_>, key: &String| {
            side.entity.template_of(key).is_some_and(|template| made_of(&template).any(|input| input == name))
        };
        let new = bond.after().unwrap_or(old);
        let touched = |side: &Side<'_>| set.iter().any(|key| uses(side, key));
        let together = touched(&old) || touched(&new);
        for key in ["g1", "g2"].map(str::to_owned) {
            let written = if set.contains(&key) {
                together && (self.naive != Naive::SetsOneByOne || uses(&new, &key))
            } else {
                uses(&old, &key)
            };
            if let (true, Some(text)) = (written, whole.get(&key)) {
                row.insert(key, text.clone());
            }
        }
        self.put_at(&Self::old_store(&old), row);
    }
}

// What jobs do.
impl World<'_> {
    fn job(&mut self, action: &Action, what: &str) -> Result<(), Fault> {
        match action {
            Action::Copy { entity } => self.each(entity, what, Self::copy),
            Action::Compare { .. } | Action::CompareFilled { .. } if self.naive == Naive::ComparesNothing => {
                Ok(())
            }
            Action::Compare { entity } => {
                for at in self.of(entity) {
                    for quiet in [false, false, true] {
                        self.compare(at, what, quiet)?;
                    }
                }
                Ok(())
            }
            Action::Fill { entity, attributes, guard } => {
                let passes: Vec<Vec<String>> = if self.naive == Naive::SetsOneByOne {
                    attributes.iter().map(|name| vec![name.clone()]).collect()
                } else {
                    vec![attributes.clone()]
                };
                for names in passes {
                    self.each(entity, what, |world, at, read| world.set(at, read, &names, Some(guard)))?;
                }
                Ok(())
            }
            Action::CompareFilled { entity, attributes } => {
                for _ in 0..3 {
                    self.each(entity, what, |world, at, read| world.set(at, read, attributes, None))?;
                }
                Ok(())
            }
            Action::DeleteOld { entity } | Action::DeleteGone { entity } => {
                let gone = matches!(action, Action::DeleteGone { .. });
                self.each(entity, what, |world, at, read| {
                    let old = world.bonds[at].before().expect("there");
                    let key = key_of(&old, read);
                    let stays = !gone
                        && world.bonds[at].after().is_some_and(|new| {
                            world.new_store(&new) == Self::old_store(&old) && key_of(&new, read) == key
                        });
                    if !stays {
                        world.remove_at(&Self::old_store(&old), &key);
                    }
                })
            }
            Action::Remove { entity, attributes } => self.each(entity, what, |world, at, read| {
                let old = world.bonds[at].before().expect("there");
                let key = key_of(&old, read);
                let store = Self::old_store(&old);
                if let Some(mut row) = world.stores[&store].rows.get(&key).cloned() {
                    row.retain(|name, _| !attributes.contains(name));
                    world.put_at(&store, row);
                }
            }),
            Action::Load { entity } => {
                for at in self.of(entity) {
                    let new = self.bonds[at].after().expect("new");
                    for id in ["0", "1"] {
                        let row = logical(at, id, "1", "2", "load");
                        self.put_at(&self.new_store(&new), image(&new, &row));
                        self.truth.insert((at, id.to_owned()), row);
                    }
                }
                Ok(())
            }
            other => panic!("no job: {other:?}"),
        }
    }

    /// Scans the old table, and works on what it read while the application goes on writing.
    fn each(&mut self, entity: &str, what: &str, work: impl Fn(&mut Self, usize, &Row)) -> Result<(), Fault> {
        for at in self.of(entity) {
            let old = self.bonds[at].before().expect("it was there");
            let Some(store) = self.stores.get(&Self::old_store(&old)) else { continue };
            let read: Vec<Row> =
                store.rows.values().filter(|row| row["e"] == at.to_string()).cloned().collect();
            for row in read {
                self.write();
                self.check(what)?;
                work(self, at, &row);
                self.check(what)?;
            }
        }
        Ok(())
    }

    fn delete_what_is_called_otherwise(&mut self) -> Result<(), Fault> {
        for bond in self.bonds.clone() {
            if let Bond::Stays(old, new) = bond
                && old.entity.name != new.entity.name
            {
                let entity = new.entity.name.clone();
                self.job(&Action::DeleteGone { entity }, "delete by name")?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, at: usize, read: &Row) {
        let new = self.bonds[at].after().expect("it moves");
        let store = self.new_store(&new);
        if !self.stores[&store].rows.contains_key(&key_of(&new, read)) {
            self.put_at(&store, image(&new, &only_logical(read)));
        }
    }

    fn compare(&mut self, at: usize, what: &str, quiet: bool) -> Result<(), Fault> {
        let Bond::Moves(old, new) = self.bonds[at].clone() else { return Ok(()) };
        let (first, second) = (Self::old_store(&old), self.new_store(&new));
        for id in 0..4 {
            let row = logical(at, &id.to_string(), "", "", "");
            let (from, to) = (key_of(&old, &row), key_of(&new, &row));
            let read = self.stores[&first].rows.get(&from).cloned();
            let there = self.stores[&second].rows.get(&to).cloned();
            if !quiet {
                self.write();
                self.check(what)?;
            }
            let wanted = read.as_ref().map(|row| image(&new, &only_logical(row)));
            if there == wanted
                || (first == second && from == to)
                || self.stores[&first].rows.get(&from) != read.as_ref()
            {
                continue;
            }
            match wanted {
                Some(row) => self.put_at(&second, row),
                None => {
                    self.remove_at(&second, &to);
                }
            }
            self.check(what)?;
        }
        Ok(())
    }

    /// Sets attributes as they are made of what was read; without a guard, if the row is what was read.
    fn set(&mut self, at: usize, read: &Row, names: &[String], guard: Option<&Guard>) {
        let Bond::Stays(old, new) = self.bonds[at].clone() else { return };
        let store = Self::old_store(&old);
        let Some(row) = self.stores[&store].rows.get(&key_of(&old, read)).cloned() else { return };
        let holds = match guard {
            None => row == *read,
            Some(Guard::Absent { attribute, .. }) => !row.contains_key(attribute),
            Some(Guard::AsRead(names)) => names.iter().all(|name| row.get(name) == read.get(name)),
        };
        if holds {
            let mut row = row;
            for name in names {
                row.insert(name.clone(), fill(&new.entity.template_of(name).expect("a key"), read));
            }
            self.put_at(&store, row);
        }
    }
}

// What the application asks.
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
        }
        Ok(())
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
            let side = if way == Way::New { self.bonds[*at].after() } else { self.bonds[*at].before() };
            side.is_some_and(|side| pattern.entities.contains(&side.entity.name))
        };
        let ats: Vec<usize> = (0..self.bonds.len()).filter(own).collect();
        if ats.iter().any(|at| matches!(self.bonds[*at], Bond::Unknown { .. })) {
            return Ok(());
        }
        let by = &pattern.id[1..];
        let values: Vec<&str> = if by == "get" { vec!["0", "1", "2", "3"] } else { vec!["0", "1", "2"] };
        for value in values {
            let matches = |row: &Row| match by {
                "get" => row["id"] == value,
                "a" | "b" => row[by] == value,
                _ => row["grp"] == value,
            };
            let truth = self.truth.iter().filter(|((at, _), row)| ats.contains(at) && matches(row));
            let mut expected: Vec<Row> = truth.map(|(_, row)| row.clone()).collect();
            let mut found: BTreeMap<(String, Key, usize), Row> = BTreeMap::new();
            for (pattern, new) in [(was, false), (now, true)] {
                let Some(pattern) = pattern else { continue };
                if matches!((way, new), (Way::Old, true) | (Way::New, false)) {
                    continue;
                }
                for at in &ats {
                    self.asked(release, pattern, *at, new, value, &mut found)?;
                }
            }
            let answers = |row: &Row| way != Way::Both || matches(row);
            let mut found: Vec<Row> = found.into_values().map(|row| only_logical(&row)).collect();
            found.retain(answers);
            found.sort();
            expected.sort();
            if found != expected {
                return Err(Fault(format!("{value}: {found:?} instead of {expected:?}")));
            }
        }
        Ok(())
    }

    /// What a question finds of one entity.
    fn asked(
        &self,
        release: &Release,
        pattern: &SubjectPattern,
        at: usize,
        new: bool,
        value: &str,
        found: &mut BTreeMap<(String, Key, usize), Row>,
    ) -> Result<(), Fault> {
        let bond = &self.bonds[at];
        let Some(side) = (if new { bond.after() } else { bond.before() }) else { return Ok(()) };
        let name = if new { self.new_store(&side) } else { Self::old_store(&side) };
        let store = self.stores.get(&name).ok_or_else(|| Fault(format!("no table {name}")))?;
        let known: Row = match &pattern.id[1..] {
            "get" => logical(at, value, "", "", ""),
            by @ ("a" | "b") => [(by.to_owned(), value.to_owned())].into(),
            _ => [("grp".to_owned(), value.to_owned())].into(),
        };
        let rows: Vec<(Key, Row)> = if let Some(uses) = &pattern.uses {
            let index = if new { self.new_index(&side, uses) } else { uses.clone() };
            let key = store.indexes.get(&index).ok_or_else(|| Fault(format!("no index {index}")))?;
            let text = fill(&side.entity.template_of(key).expect("in the index"), &known);
            match &self.mirror {
                Some(mirror) => mirror.query(&name, Some(&index), (key, &text), ""),
                None => copied(store.rows.iter().filter(|(_, row)| row.get(key) == Some(&text))),
            }
        } else if pattern.reading == Reading::Get {
            let key = key_of(&side, &known);
            match &self.mirror {
                Some(mirror) => {
                    let mut found = mirror.query(&name, None, ("pk", &key.0), &key.1);
                    found.retain(|(own, _)| *own == key);
                    found
                }
                None => copied(store.rows.get_key_value(&key).into_iter()),
            }
        } else {
            let partition = fill("p#{grp}", &known);
            let template = side.entity.template_of(&sort(&side)).expect("a key");
            let start =
                if pattern.entities.len() > 1 { "" } else { template.split('{').next().unwrap_or("") };
            let within = |(key, _): &(&Key, &Row)| key.0 == partition && key.1.starts_with(start);
            match &self.mirror {
                Some(mirror) => mirror.query(&name, None, ("pk", &partition), start),
                None => copied(store.rows.iter().filter(within)),
            }
        };
        for (key, row) in rows.iter().filter(|(_, row)| row["e"] == at.to_string()) {
            let is = |side: Option<Side<'_>>| side.is_some_and(|side| key_of(&side, row) == *key);
            let (old_key, new_key) = (is(bond.before()), is(bond.after()));
            let asks = (pattern.id.clone(), at);
            let passed = release.pass_new.contains(&asks) && !new && new_key && !old_key
                || release.pass_old.contains(&asks) && new && old_key && !new_key;
            if !passed {
                found.insert((name.clone(), key.clone(), at), row.clone());
            }
        }
        Ok(())
    }

    /// Everything is as the new model says.
    fn end(mut self) -> Result<(), Fault> {
        for pattern in self.after.patterns.iter().filter(|pattern| !pattern.writes) {
            self.now.ways.insert(pattern.id.clone(), Way::New);
        }
        self.now.pass_old.clear();
        self.check("the end")?;
        for (at, bond) in self.bonds.iter().enumerate() {
            let side = match bond {
                Bond::Gone(_) => None,
                Bond::Unknown { old: Some(old), .. } => Some((*old, Self::old_store(old))),
                Bond::Unknown { old: None, .. } => continue,
                Bond::Stays(_, new) | Bond::Moves(_, new) | Bond::New(new) => {
                    Some((*new, self.new_store(new)))
                }
            };
            let own = self.stores.iter().flat_map(|(name, store)| {
                let rows = store.rows.iter().filter(|(_, row)| row["e"] == at.to_string());
                rows.map(move |(key, row)| (name.clone(), key.clone(), only_logical(row)))
            });
            // A table is left as it is where another entity of it is unknown.
            let left = |name: &str| {
                let was = self.before.table(name);
                let now = self.after.table(name);
                was.is_some_and(|was| now.is_none_or(|now| must_be_copied(was, now)))
            };
            let is_new = !matches!(bond, Bond::Unknown { .. });
            let found: BTreeSet<(String, Key, Row)> =
                own.filter(|(name, ..)| !(is_new && left(name))).collect();
            let expected: BTreeSet<(String, Key, Row)> = match &side {
                None => BTreeSet::new(),
                Some((side, store)) => {
                    let own = self.truth.iter().filter(|((known, _), _)| *known == at);
                    own.map(|(_, row)| (store.clone(), key_of(side, row), row.clone())).collect()
                }
            };
            if found != expected {
                return Err(Fault(format!("in the end {found:?} instead of {expected:?}")));
            }
        }
        Ok(())
    }
}

fn copied<'r>(rows: impl Iterator<Item = (&'r Key, &'r Row)>) -> Vec<(Key, Row)> {
    rows.map(|(key, row)| (key.clone(), row.clone())).collect()
}

fn pattern<'a>(subject: &'a Subject, id: &str) -> Option<&'a SubjectPattern> {
    subject.patterns.iter().find(|pattern| pattern.id == id)
}

fn store(table: &SubjectTable) -> Store {
    Store { sort: table.definition.schema.key.sort[0].name.clone(), ..Store::default() }
}

fn sort(side: &Side<'_>) -> String {
    side.table.definition.schema.key.sort[0].name.clone()
}

/// An item as an application thinks of it. What keys are made of never changes.
fn logical(at: usize, id: &str, a: &str, b: &str, v: &str) -> Row {
    let number: u32 = id.parse().expect("a number");
    let (k, grp) = ((number % 2).to_string(), (number % 3).to_string());
    let pairs = [("e", at.to_string()), ("id", id.to_owned()), ("k", k), ("grp", grp)];
    let values = [("a", a), ("b", b), ("v", v)].map(|(name, value)| (name, value.to_owned()));
    pairs.into_iter().chain(values).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn only_logical(row: &Row) -> Row {
    let own = |name: &str| ["e", "id", "k", "grp", "a", "b", "v"].contains(&name);
    row.iter().filter(|(name, _)| own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn fill(template: &str, row: &Row) -> String {
    let mut text = template.to_owned();
    for (name, value) in row {
        text = text.replace(&format!("{{{name}}}"), value);
    }
    text
}

/// An item with its keys, as a design writes it.
fn image(side: &Side<'_>, row: &Row) -> Row {
    let mut image = row.clone();
    for key in side.table.definition.key_attributes() {
        if let Some(template) = side.entity.template_of(&key.name) {
            image.insert(key.name.clone(), fill(&template, row));
        }
    }
    image
}

fn key_of(side: &Side<'_>, row: &Row) -> Key {
    let text = |name: &str| fill(&side.entity.template_of(name).expect("a key"), row);
    (text("pk"), text(&sort(side)))
}
