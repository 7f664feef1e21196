//! Steps by which second items come: items that the new design makes of others that are there, under another key, and that
//! the same transactions keep.

use std::collections::BTreeSet;

use super::action::Action;
use super::former::{Former, variables};
use super::pairs::{Bond, Side};
use super::plan::{StepKind, Units};
use super::planner::{Planner, SCAN_UNIT_BYTES};
use super::standing::{put, standing};
use super::subject::SubjectPattern;
use super::words::{Subjects, and, items};

/// Second items that come.
struct Second<'a> {
    /// The items that they are made of, as they were and as they are in the end.
    source: Side<'a>,
    now: Side<'a>,
    new: Side<'a>,
    /// What the items that they are made of are called, then what they were called before.
    names: [&'a str; 2],
}

impl Planner<'_> {
    /// Items that are made of others: kept beside them before they are loaded, and asked when all are there.
    pub(super) fn second(&mut self, source: Side<'_>, new: Side<'_>) {
        let bond = self.bonds.iter().find(|bond| bond.before().is_some_and(|old| old.is(&source)));
        let now = bond.and_then(Bond::after).unwrap_or(source);
        let names = [now.entity.name.as_str(), source.entity.name.as_str()];
        self.summary.push(format!(
            "new data → base table: {} in {}, second items of {}",
            new.entity.name, new.table.definition.name, now.entity.name
        ));
        let second = Second { source, now, new, names };
        self.kept_beside(&second);
        self.loaded_from(&second);
    }

    fn kept_beside(&mut self, second: &Second<'_>) {
        let (entity, key) = (&second.new.entity.name, second.new.key_text());
        let [of, _] = second.names;
        let writers: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| second.names.iter().any(|name| pattern.changes(name))).collect();
        let updates: Vec<&SubjectPattern> = writers
            .iter()
            .filter(|pattern| second.names.iter().any(|name| pattern.updates(name)))
            .copied()
            .collect();
        let unknown = writers.is_empty();
        let who = Subjects::of(writers.into_iter(), || format!("whatever writes {of}"));
        let text = format!(
            "{} for each {of} its {entity} under {key} in {}, both in one transaction",
            who.each("keeps", "keep"),
            second.new.table.definition.name
        );
        self.act(StepKind::WriteBoth, text, vec![Action::KeepSecond { entity: entity.clone() }]);
        let text = format!("conditions are asked of {of} alone: its {entity} may not be there yet");
        self.act(StepKind::WriteBoth, text, Vec::new());
        self.former_seconds(second);
        if unknown || !updates.is_empty() {
            let updating = Subjects::of(updates.into_iter(), || "an update".to_owned());
            let (reads, changes, puts) =
                if updating.is_many() { ("read", "change", "put") } else { ("reads", "changes", "puts") };
            let text = format!(
                "{} {reads} the whole {of}, {changes} it on condition that it is still what was read, and {puts} its {entity} whole: an update alone would leave there an item that lacks the rest",
                updating.names()
            );
            self.act(StepKind::WriteBoth, text, Vec::new());
            let text = format!(
                "every {of} has its {entity} now: {} both as the new model says",
                updating.each("updates", "update")
            );
            self.act(StepKind::SwitchReads, text, Vec::new());
        }
    }

    fn former_seconds(&mut self, second: &Second<'_>) {
        let copied = variables(&second.new).into_iter().map(|name| {
            let origin = second.new.entity.copies.get(&name).map(|(_, attribute)| attribute.clone());
            origin.unwrap_or(name)
        });
        let made: BTreeSet<String> = copied.collect();
        // Until the reads move the items are known by their old key, then by their new one.
        for (side, during) in [(second.source, StepKind::WriteBoth), (second.now, StepKind::SwitchReads)] {
            if during == StepKind::WriteBoth || !variables(&second.source).is_subset(&variables(&side)) {
                self.former(&Former {
                    copies: &second.new.entity.name,
                    names: &second.names,
                    known: (&side.key_text(), variables(&side)),
                    made: (&second.new.key_text(), made.clone()),
                    during,
                    lasts: false,
                });
            }
        }
    }

    fn loaded_from(&mut self, second: &Second<'_>) {
        let (source, new) = (second.source, second.new);
        let (from, to) = (&source.table.definition.name, &new.table.definition.name);
        let (entity, [of, _]) = (&new.entity.name, second.names);
        let keys = variables(&new);
        let foreign: Vec<String> = new
            .entity
            .attributes
            .keys()
            .filter(|name| !new.entity.copies.contains_key(*name) && !keys.contains(*name))
            .filter(|name| !new.table.definition.key_attributes().iter().any(|key| key.name == **name))
            .cloned()
            .collect();
        let foreign = if foreign.is_empty() {
            String::new()
        } else {
            format!("; {} is no copy, and has to come from elsewhere", and(&foreign))
        };
        let text = format!(
            "scan {from} and put for each of the {} its {entity} into {to} as {}, each on condition that nothing is there yet (attribute_not_exists({})){foreign}",
            items(source.entity.count, of),
            new.key_text(),
            new.table.key_name()
        );
        let stands = standing(self.stood(new.table), new.table, StepKind::LoadItems);
        let writes = put(new.entity, None, &stands);
        let reads = self.scanned(StepKind::LoadItems, source.table);
        let units = writes.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        // The writes are billed where the items go.
        let action = Action::Load { entity: entity.clone() };
        self.consume(StepKind::LoadItems, new.table, text, units, vec![action]);
        let within = self.stood(new.table).is_some_and(|was| was.definition.name == *from);
        let again = new.entity.table_bytes().map(|bytes| Units {
            reads: if within { 0 } else { bytes.div_ceil(SCAN_UNIT_BYTES) },
            ..Units::default()
        });
        let text = format!(
            "compare every {of} with its {entity}{}: what is missing or differs is put again, and a {entity} that no {of} makes is deleted, each in a transaction that checks that the {of} is still what was read; again until none is found",
            if within { String::new() } else { format!(" in {to}") }
        );
        let action = Action::Compare { entity: entity.clone() };
        self.scan(StepKind::Verify, source.table, text, again, vec![action]);
    }
}
