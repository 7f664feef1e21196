//! Plans of any two small models, carried out on a machine of tables while an application reads and writes: every question
//! is answered right after every write of every step, also while a release goes out and its predecessor still runs, and in
//! the end everything is as the new model says.

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema,
};
use keywright_semantics::value::ValueType;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::pairs::{Bond, bonds};
use super::simulation::{Fault, Naive, carry_out, carry_out_on_the_engine};
use super::*;
use crate::exchange::tables::TableDefinition;

/// What one side of a comparison is made of.
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The sort key of table T, which is fixed when the table is made.
    pub(super) sort: &'static str,
    /// The indexes g1, g2 and ga of both tables, and whether they hold all attributes.
    pub(super) indexes: [Option<bool>; 3],
    /// The last one is made of second items of the first.
    pub(super) entities: [MadeEntity; 3],
    /// Whether the questions are there.
    pub(super) asked: [bool; 13],
    /// Whether also those are there that nothing answers.
    pub(super) unanswered: bool,
}

#[derive(Clone, Debug)]
pub(super) struct MadeEntity {
    pub(super) name: &'static str,
    pub(super) table: Option<&'static str>,
    pub(super) partition: &'static str,
    pub(super) sort: &'static str,
    /// Its templates in the indexes.
    pub(super) slots: [Option<&'static str>; 2],
}

pub(super) const LETTERS: [&str; 3] = ["A", "B", "C"];

fn made() -> impl Strategy<Value = Made> {
    let index = || prop_oneof![1 => Just(None), 3 => Just(Some(true)), 1 => Just(Some(false))];
    let slot = || select(vec![None, Some("m#{a}"), Some("n#{a}"), Some("t#{b}"), Some("{a}"), Some("{b}")]);
    let entity =
        |names: [&'static str; 2], partitions: Vec<&'static str>, tables: Vec<Option<&'static str>>| {
            (
                prop_oneof![5 => Just(names[0]), 1 => Just(names[1])],
                select(tables),
                select(partitions),
                select(vec!["x#{id}", "x#{k}#{id}", "y#{id}", "x#{a}.{id}"]),
                [slot(), slot()],
            )
                .prop_map(|(name, table, partition, sort, slots)| MadeEntity {
                    name,
                    table,
                    partition,
                    sort,
                    slots,
                })
        };
    let sort = prop_oneof![6 => Just("sk"), 1 => Just("sk2")];
    let first = vec![Some("T"), Some("T"), Some("T"), Some("U"), None];
    let second = vec![None, None, Some("T"), Some("T"), Some("U")];
    let entities = [
        entity(["Ann", "Anne"], vec!["p#{grp}"], first.clone()),
        entity(["Bob", "Bert"], vec!["p#{grp}"], first),
        entity(["Copy", "Copy"], vec!["p#{grp}", "s#{a}", "r#{k}"], second),
    ];
    let unanswered = prop_oneof![9 => Just(false), 1 => Just(true)];
    (sort, [index(), index(), index()], entities, any::<[bool; 13]>(), unanswered).prop_map(
        |(sort, indexes, mut entities, asked, unanswered)| {
            if entities[0].table.is_none() {
                entities[2].table = None;
            }
            Made { sort, indexes, entities, asked, unanswered }
        },
    )
}

fn key(partition: &str, sort: Option<&str>) -> KeySchema {
    let attribute = |name: &str| KeyAttribute { name: name.to_owned(), key_type: KeyType::S };
    KeySchema { partition: vec![attribute(partition)], sort: sort.map(attribute).into_iter().collect() }
}

impl Made {
    pub(super) fn subject(&self) -> Subject {
        let tables = ["T", "U"].into_iter().filter_map(|name| self.table(name)).collect();
        Subject { tables, patterns: self.patterns() }
    }

    fn table(&self, name: &str) -> Option<SubjectTable> {
        let own = |at: &usize| self.entities[*at].table == Some(name);
        let entities: Vec<SubjectEntity> =
            [0, 1, 2].into_iter().filter(own).map(|at| self.entity(at)).collect();
        let indexes = ["g1", "g2", "ga"].into_iter().zip(self.indexes).filter_map(|(name, all)| {
            Some(IndexSchema {
                name: name.to_owned(),
                kind: IndexKind::Global,
                key: key(if name == "ga" { "a" } else { name }, None),
                projection: if all? { Projection::All } else { Projection::KeysOnly },
            })
        });
        let schema = TableSchema {
            key: key("pk", Some(if name == "T" { self.sort } else { "sk" })),
            indexes: indexes.collect(),
        };
        let definition = TableDefinition::new(name, schema);
        (!entities.is_empty()).then_some(SubjectTable { definition, entities })
    }

    fn entity(&self, at: usize) -> SubjectEntity {
        let made = &self.entities[at];
        let mut templates: BTreeMap<String, String> = [("pk".to_owned(), made.partition.to_owned())].into();
        let sort = format!("{}{}", LETTERS[at], made.sort);
        templates.insert("sk".to_owned(), sort.clone());
        templates.insert("sk2".to_owned(), sort);
        for ((name, slot), there) in ["g1", "g2"].into_iter().zip(made.slots).zip(self.indexes) {
            if let (Some(slot), Some(_)) = (slot, there) {
                templates.insert(name.to_owned(), slot.to_owned());
            }
        }
        let types = ["id", "k", "grp", "a", "b", "v"].map(|name| (name.to_owned(), ValueType::S));
        let copies = types.clone().map(|(name, _)| (name.clone(), (self.entities[0].name.to_owned(), name)));
        let entries: BTreeMap<String, u64> = ["g1", "g2", "ga"].map(|name| (name.to_owned(), 1)).into();
        SubjectEntity {
            name: made.name.to_owned(),
            templates,
            attributes: types.into(),
            copies: if at == 2 { copies.into() } else { BTreeMap::new() },
            count: Count::Told(1000),
            load: Load {
                examples: 1,
                table_units: 1,
                table_bytes: 100,
                index_units: entries.clone(),
                index_bytes: entries,
            },
            ..SubjectEntity::default()
        }
    }

    /// The index, if any, whose keys of an entity are made of one attribute.
    fn by(&self, at: usize, attribute: &str) -> Option<&'static str> {
        let slots = ["g1", "g2"].into_iter().zip(self.entities[at].slots).zip(self.indexes);
        let mut found = slots.filter(|((_, slot), there)| {
            there.is_some() && slot.is_some_and(|slot| slot.contains(&format!("{{{attribute}}}")))
        });
        let plain = (attribute == "a" && self.indexes[2].is_some()).then_some("ga");
        found.next().map(|((name, _), _)| name).or(plain)
    }

    /// One item, the items of a group, and those with a value of a or b; then the items of a group of both entities.
    fn patterns(&self) -> Vec<SubjectPattern> {
        let mut found = Vec::new();
        for at in [0, 1, 2] {
            let entity = &self.entities[at];
            let asked = &self.asked[at * 4..at * 4 + 4];
            let fixed = !entity.sort.contains("{a}") && !entity.partition.contains("{a}");
            let by = entity.partition.split(['{', '}']).nth(1).expect("a variable");
            let questions = [
                ("get", "id", Reading::Get, fixed.then_some(None)),
                ("of", by, Reading::Query, Some(None)),
                ("a", "a", Reading::Query, self.by(at, "a").map(Some)),
                ("b", "b", Reading::Query, self.by(at, "b").map(Some)),
            ];
            for ((what, by, reading, uses), asked) in questions.into_iter().zip(asked) {
                let answered = uses.is_some();
                if *asked && entity.table.is_some() && (answered || self.unanswered) {
                    let id = format!("{}{what}", LETTERS[at]);
                    let asked = question(&id, by, reading, uses.flatten(), &[entity.name]);
                    found.push(SubjectPattern { answered, ..asked });
                }
            }
            if entity.table.is_some() {
                found.push(write(&format!("{}put", LETTERS[at]), entity.name, TouchKind::Put, &[]));
                found.push(write(&format!("{}delete", LETTERS[at]), entity.name, TouchKind::Delete, &[]));
                for name in ["a", "b", "v"] {
                    let id = format!("{}set {name}", LETTERS[at]);
                    found.push(write(&id, entity.name, TouchKind::Update, &[name]));
                }
            }
        }
        let [one, other, _] = &self.entities;
        if self.asked[12] && one.table.is_some() && one.table == other.table {
            found.push(question("both", "grp", Reading::Query, None, &[one.name, other.name]));
        }
        found
    }
}

fn question(id: &str, by: &str, reading: Reading, uses: Option<&str>, entities: &[&str]) -> SubjectPattern {
    SubjectPattern {
        id: id.to_owned(),
        text: String::new(),
        writes: false,
        uses: uses.map(str::to_owned),
        reading,
        entities: entities.iter().map(|name| (*name).to_owned()).collect(),
        needs: vec![by.to_owned()],
        whole: false,
        touches: Vec::new(),
        answered: true,
        definition: String::new(),
    }
}

fn write(id: &str, entity: &str, kind: TouchKind, attributes: &[&str]) -> SubjectPattern {
    let attributes = attributes.iter().map(|name| (*name).to_owned()).collect();
    let touches = vec![Touch { entity: entity.to_owned(), kind, attributes }];
    SubjectPattern { writes: true, touches, ..question(id, "id", Reading::Get, None, &[entity]) }
}

fn holds(before: &Made, after: &Made, seed: u64, naive: Naive) -> Result<(), Fault> {
    let (before, after) = (before.subject(), after.subject());
    let plan = diff(&before, &after).plan;
    carry_out(&before, &after, &plan, seed, naive)
}

/// Pairs of models to try: as many as `PROPTEST_CASES` says, for long searches. A failure prints the smallest pair that it
/// finds, with the seed of what the application does.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_question_is_answered_right_after_every_write_of_every_step(
        before in made(), after in made(), seed in any::<u64>()
    ) {
        let plan = diff(&before.subject(), &after.subject()).plan;
        prop_assert!(plan.steps.is_sorted_by_key(|step| step.kind));
        if let Err(fault) = holds(&before, &after, seed, Naive::No) {
            let steps: Vec<String> =
                plan.steps.iter().map(|step| format!("{:?}: {}", step.kind, step.clauses.join("; "))).collect();
            prop_assert!(false, "{fault:?}\n{:?}\n{}", plan.summary, steps.join("\n"));
        }
    }
}

/// The plan's sentences are needed: without each, or done as somebody in a hurry does it, some pair of models goes wrong.
#[test]
fn each_rule_of_a_plan_is_needed() {
    let all = [
        Naive::UpdatesBothAlone,
        Naive::NeverPassesOver,
        Naive::AsksOneWay,
        Naive::ComparesNothing,
        Naive::GoesByOldToTheEnd,
        Naive::SetsOneByOne,
        Naive::DeletesFirst,
        Naive::KnowsByName,
        Naive::LeavesFormer,
        Naive::LoadsAlone,
    ];
    let mut runner = TestRunner::deterministic();
    let strategy = (made(), made(), any::<u64>());
    let mut missing: BTreeSet<Naive> = all.into_iter().collect();
    for _ in 0..4000 {
        let (before, after, seed) = strategy.new_tree(&mut runner).expect("a pair of models").current();
        if holds(&before, &after, seed, Naive::No).is_err() {
            continue;
        }
        missing.retain(|naive| holds(&before, &after, seed, *naive).is_ok());
        if missing.is_empty() {
            return;
        }
    }
    panic!("nothing goes wrong with {missing:?}");
}

/// Whatever is deleted is no item of the new model, and nothing is deleted where that is unknown.
#[test]
fn where_two_models_do_not_tell_what_becomes_of_items_they_are_left_alone() {
    let mut runner = TestRunner::deterministic();
    let strategy = (made(), made());
    let mut unknown = 0;
    for _ in 0..1000 {
        let (before, after) = strategy.new_tree(&mut runner).expect("a pair of models").current();
        let (before, after) = (before.subject(), after.subject());
        let plan = diff(&before, &after).plan;
        for bond in bonds(&before, &after) {
            let Bond::Unknown { old, new, .. } = &bond else { continue };
            unknown += 1;
            let names: Vec<&str> =
                [old, new].into_iter().flatten().map(|side| side.entity.name.as_str()).collect();
            for step in plan.steps.iter().filter(|step| step.kind.who() == Who::Job) {
                for action in &step.actions {
                    let text = format!("{action:?}");
                    let tells = names.iter().any(|name| text.contains(&format!("{name:?}")));
                    assert!(!tells, "{text} of {bond:?}");
                }
            }
        }
    }
    assert!(unknown > 0, "some pairs leave it open");
}

/// A new name, a sort key that moves, another table, and an index whose slots are exchanged, on the engine.
#[test]
fn plans_carried_out_on_the_engine_leave_every_question_right() {
    let entity =
        |name, table, sort, slots| MadeEntity { name, table: Some(table), partition: "p#{grp}", sort, slots };
    let side = |ann: MadeEntity, second: bool| Made {
        sort: "sk",
        indexes: [Some(true); 3],
        entities: [
            ann,
            entity("Bob", "T", "x#{id}", [None, None]),
            MadeEntity { table: second.then_some("T"), ..entity("Copy", "T", "x#{a}#{id}", [None, None]) },
        ],
        asked: [true; 13],
        unanswered: false,
    };
    let slots = [Some("m#{a}"), Some("t#{b}")];
    let before = side(entity("Ann", "T", "x#{id}", slots), false);
    let cases = [
        ("a new name", entity("Anne", "T", "x#{id}", slots)),
        ("a sort key that moves", entity("Ann", "T", "x#{k}#{id}", slots)),
        ("another table", entity("Ann", "U", "x#{id}", slots)),
        ("a sort key of what changes", entity("Ann", "T", "x#{a}.{id}", slots)),
        ("second items", entity("Ann", "T", "x#{id}", slots)),
        ("exchanged slots", entity("Ann", "T", "x#{id}", [Some("t#{b}"), Some("m#{a}")])),
    ];
    for (what, ann) in cases {
        let after = side(ann, what == "second items");
        let (before, after) = (before.subject(), after.subject());
        let plan = diff(&before, &after).plan;
        for seed in 0..3 {
            if let Err(fault) = carry_out_on_the_engine(&before, &after, &plan, seed) {
                panic!("{what}: {fault:?}\n{plan:#?}");
            }
        }
    }
}
