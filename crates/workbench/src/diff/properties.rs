//! Of any two small models: nothing goes while something asks it, and nothing goes twice.

use keywright_semantics::schema::{
    IndexKind, IndexSchema, KeyAttribute, KeySchema, KeyType, Projection, TableSchema,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::exchange::tables::TableDefinition;

/// What one side of a comparison is made of.
#[derive(Clone, Debug)]
struct Made {
    /// The sort key of table T, and whether it has a local index: both are fixed when it is made.
    sort: &'static str,
    local: bool,
    /// The index g1 of both tables.
    index: Option<(&'static str, bool)>,
    entities: [MadeEntity; 2],
    /// Whether R0, R1 (the tables), Q0, Q1, Q2 (the index, Q2 for both entities) and C (a check beside a write) are there.
    asked: [bool; 6],
}

#[derive(Clone, Debug)]
struct MadeEntity {
    table: Option<&'static str>,
    key: &'static str,
    /// Its template in the index.
    slot: Option<&'static str>,
}

const NAMES: [&str; 2] = ["Ann", "Bob"];

fn made() -> impl Strategy<Value = Made> {
    let index = prop_oneof![
        1 => Just(None),
        4 => (select(vec!["", "at"]), any::<bool>()).prop_map(Some)
    ];
    let entity = || {
        (
            select(vec![Some("T"), Some("T"), Some("U"), None]),
            select(vec!["x#{id}", "y#{id}"]),
            select(vec![None, Some("g#{id}"), Some("h#{id}")]),
        )
            .prop_map(|(table, key, slot)| MadeEntity { table, key, slot })
    };
    let sort = prop_oneof![5 => Just("sk"), 1 => Just("sk2")];
    let local = prop_oneof![5 => Just(false), 1 => Just(true)];
    (sort, local, index, [entity(), entity()], any::<[bool; 6]>())
        .prop_map(|(sort, local, index, entities, asked)| Made { sort, local, index, entities, asked })
}

fn key(partition: &str, sort: &str) -> KeySchema {
    let attribute = |name: &str| KeyAttribute { name: name.to_owned(), key_type: KeyType::S };
    let sort = if sort.is_empty() { Vec::new() } else { vec![attribute(sort)] };
    KeySchema { partition: vec![attribute(partition)], sort }
}

impl Made {
    fn subject(&self) -> Subject {
        let tables = ["T", "U"].into_iter().filter_map(|name| self.table(name)).collect();
        Subject { tables, patterns: self.patterns() }
    }

    fn table(&self, name: &str) -> Option<SubjectTable> {
        let own = |(_, entity): &(&&str, &MadeEntity)| entity.table == Some(name);
        let entities: Vec<SubjectEntity> = NAMES
            .iter()
            .zip(&self.entities)
            .filter(own)
            .map(|(name, entity)| self.entity(name, entity))
            .collect();
        let global = self.index.map(|(sort, all)| IndexSchema {
            name: "g1".to_owned(),
            kind: IndexKind::Global,
            key: key("g", sort),
            projection: if all { Projection::All } else { Projection::KeysOnly },
        });
        let local = (self.local && name == "T").then(|| IndexSchema {
            name: "near".to_owned(),
            kind: IndexKind::Local,
            key: key("pk", "at"),
            projection: Projection::All,
        });
        let schema = TableSchema {
            key: key("pk", if name == "T" { self.sort } else { "sk" }),
            indexes: global.into_iter().chain(local).collect(),
        };
        let definition = TableDefinition::new(name, schema);
        (!entities.is_empty()).then_some(SubjectTable { definition, entities })
    }

    fn entity(&self, name: &str, entity: &MadeEntity) -> SubjectEntity {
        let mut templates: std::collections::BTreeMap<String, String> =
            [("pk".to_owned(), entity.key.to_owned())].into();
        templates.insert("sk".to_owned(), "s".to_owned());
        templates.insert("sk2".to_owned(), "s".to_owned());
        if let (Some(slot), Some(_)) = (entity.slot, self.index) {
            templates.insert("g".to_owned(), slot.to_owned());
        }
        let types = ["id", "at"].map(|name| (name.to_owned(), keywright_semantics::value::ValueType::S));
        let entry = || [("g1".to_owned(), 1), ("near".to_owned(), 1)].into();
        SubjectEntity {
            name: name.to_owned(),
            templates,
            attributes: types.into(),
            count: 1000,
            load: Load {
                examples: 1,
                table_units: 1,
                table_bytes: 100,
                index_units: entry(),
                index_bytes: entry(),
            },
        }
    }

    fn patterns(&self) -> Vec<SubjectPattern> {
        let there = |at: usize| self.entities.get(at).is_some_and(|entity| entity.table.is_some());
        let asks: [(&str, bool, &[usize]); 6] = [
            ("R0", false, &[0]),
            ("R1", false, &[1]),
            ("Q0", true, &[0]),
            ("Q1", true, &[1]),
            ("Q2", true, &[0, 1]),
            ("C", false, &[1]),
        ];
        let asked = asks.iter().zip(self.asked).filter(|((_, indexed, entities), asked)| {
            let all = entities.iter().all(|at| there(*at));
            *asked && all && (!indexed || self.index.is_some())
        });
        let patterns = asked.map(|((id, indexed, entities), _)| {
            let names = entities.iter().map(|at| NAMES[*at].to_owned());
            let check = Touch { entity: NAMES[1].to_owned(), kind: TouchKind::Read, attributes: Vec::new() };
            let own = Touch { entity: NAMES[0].to_owned(), kind: TouchKind::Put, attributes: Vec::new() };
            SubjectPattern {
                id: (*id).to_owned(),
                text: String::new(),
                writes: *id == "C",
                uses: indexed.then(|| "g1".to_owned()),
                entities: names.collect(),
                touches: if *id == "C" { vec![own, check] } else { Vec::new() },
                definition: String::new(),
            }
        });
        patterns.collect()
    }

    /// The ids of what reads an entity in a table, or in its index g1 alone.
    fn readers(&self, table: &str, of: Option<&str>, index_alone: bool) -> Vec<String> {
        let reads = |pattern: &&SubjectPattern| {
            let at = |name: &str| NAMES.iter().position(|known| *known == name);
            let own = |name: &str| at(name).is_some_and(|at| self.entities[at].table == Some(table));
            let slotted = |name: &str| at(name).is_some_and(|at| self.entities[at].slot.is_some());
            let indexed = pattern.uses.is_some();
            pattern.read_entities().any(|name| {
                let holds = !indexed || of.is_none() || slotted(name);
                own(name) && of.is_none_or(|of| of == name) && holds && (indexed || !index_alone)
            })
        };
        self.subject().patterns.iter().filter(reads).map(|pattern| pattern.id.clone()).collect()
    }

    /// Write units of what goes item by item: an item with its entry, or an entry with the item that loses it.
    fn deleted_units(&self, after: &Self) -> u64 {
        let (before, now) = (self.subject(), after.subject());
        let mut units = 0;
        for (name, (was, entity)) in NAMES.iter().zip(self.entities.iter().zip(&after.entities)) {
            let Some(table) = was.table else { continue };
            let stays = before.table(table).zip(now.table(table)).is_some_and(|(was, now)| {
                let local = |table: &SubjectTable| table.index("near").is_some();
                was.definition.schema.key == now.definition.schema.key && local(was) == local(now)
            });
            if !stays {
                continue;
            }
            let entries = [was.slot.is_some() && self.index.is_some(), self.local && table == "T"];
            let entries: u64 = entries.into_iter().map(|there| if there { 1000 } else { 0 }).sum();
            let goes = now.table(table).is_some_and(|table| table.entity(name).is_none());
            let same_key = self.index.map(|(sort, _)| sort) == after.index.map(|(sort, _)| sort);
            let leaves = was.slot.is_some() && self.index.is_some() && same_key && entity.slot.is_none();
            if goes || was.key != entity.key || leaves {
                units += 1000 + entries;
            }
        }
        units
    }
}

fn clauses(plan: &Plan, kind: StepKind) -> impl Iterator<Item = &String> {
    plan.steps.iter().filter(move |step| step.kind == kind).flat_map(|step| &step.clauses)
}

/// Whether one of the sentences that move the reads is about a question.
fn moves(plan: &Plan, id: &str) -> bool {
    let named = |text: &String| text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == id);
    clauses(plan, StepKind::SwitchReads).any(named)
}

fn holds(before: &Made, after: &Made) -> Result<(), TestCaseError> {
    let plan = diff(&before.subject(), &after.subject()).plan;
    let mut gone: Vec<(String, Vec<String>)> = Vec::new();
    for table in ["T", "U"] {
        for text in
            clauses(&plan, StepKind::DeleteTable).filter(|text| text.contains(&format!("table {table}")))
        {
            gone.push((text.clone(), before.readers(table, None, false)));
        }
        for text in
            clauses(&plan, StepKind::DeleteIndex).filter(|text| text.contains(&format!("g1 of {table}")))
        {
            gone.push((text.clone(), before.readers(table, None, true)));
        }
        for name in NAMES {
            let own: Vec<&String> = clauses(&plan, StepKind::DeleteItems)
                .filter(|text| text.contains(&format!("of {name}")))
                .filter(|text| {
                    text.ends_with(&format!("from {table}")) || text.contains(&format!("scan {table} "))
                })
                .collect();
            prop_assert!(own.len() <= 1, "twice: {own:?}");
            for text in own {
                gone.push((text.clone(), before.readers(table, Some(name), text.starts_with("scan"))));
            }
        }
    }
    for (what, readers) in gone {
        for id in readers {
            prop_assert!(moves(&plan, &id), "{id} still asks: {what}\n{plan:#?}");
        }
    }
    let deleted = plan.steps.iter().filter(|step| step.kind == StepKind::DeleteItems);
    let units: u64 = deleted.filter_map(|step| step.units).map(Units::writes).sum();
    prop_assert_eq!(units, before.deleted_units(after), "{:#?}", plan);
    prop_assert!(plan.steps.is_sorted_by_key(|step| step.kind));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_deleted_that_is_still_asked_and_nothing_twice(before in made(), after in made()) {
        holds(&before, &after)?;
    }
}
