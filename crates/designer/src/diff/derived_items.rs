//! Steps that introduce derived items: the new design makes them from existing items under another key, and
//! the same transactions write both.
//!
//! Every writer of the source keeps the copied attributes, and these are complete from the first write on.
//! Attributes that only the derived item has are written once all derived items exist; the dual write leaves
//! them alone. Attributes that move from the source to the derived item keep the source's value until the
//! reads move.

use std::collections::BTreeSet;

use keywright_semantics::capacity::EVENTUAL_READ_UNIT_BYTES;

use super::action::Action;
use super::copied_attributes::Copied;
use super::index_changes::{MoveKind, moves};
use super::index_lifetime::{put, rewrite, standing};
use super::input::{SubjectEntity, SubjectPattern, TouchKind};
use super::matching::{EntityRef, Match};
use super::phrasing::{Subjects, and, items};
use super::plan::{StepKind, Units};
use super::planner::Planner;
use super::provenance::Provenance;
use super::stale_copies::{StaleCopy, variables};

/// Derived items that the new design adds.
struct NewDerived<'a> {
    /// Their source, in the old and in the new design.
    source: EntityRef<'a>,
    now: EntityRef<'a>,
    new: EntityRef<'a>,
    /// The source's name in the new design, then in the old one.
    names: [&'a str; 2],
    provenance: &'a Provenance,
}

impl NewDerived<'_> {
    /// Whether a pattern creates or deletes a source item, or changes an attribute that its derived item
    /// copies.
    fn is_kept_by(&self, pattern: &SubjectPattern) -> bool {
        let made = self.provenance.sources();
        pattern.touches.iter().any(|touch| {
            self.names.contains(&touch.entity.as_str())
                && match touch.kind {
                    TouchKind::Put | TouchKind::Create => true,
                    TouchKind::Delete => !self.provenance.shared,
                    TouchKind::Update => touch.attributes.iter().any(|name| made.contains(name)),
                    TouchKind::Read => false,
                }
        })
    }

    /// Describes the derived items: made from one entity, or from several.
    fn compared(&self) -> String {
        let (of, entity) = (self.names[0], &self.new.entity.name);
        let copied = and(&self.provenance.copied());
        let own = and(&self.provenance.own());
        let set = if own.is_empty() {
            "what is missing or differs is put again".to_owned()
        } else {
            format!("what is missing is put, what differs in {copied} is set again and {own} left as it is")
        };
        let orphans = if self.provenance.shared {
            format!(" (several {of} may make one {entity}: none is deleted)")
        } else {
            format!(", and a {entity} that no {of} makes is deleted")
        };
        format!("{set}{orphans}")
    }
}

impl<'a> Planner<'a> {
    /// Derived items: dual write, then backfill, then reads.
    pub(super) fn derived(&mut self, source: EntityRef<'a>, new: EntityRef<'a>, provenance: &'a Provenance) {
        let matched = self.matches.iter().find(|matched| matched.before().is_some_and(|old| old.is(&source)));
        let now = matched.and_then(Match::after).unwrap_or(source);
        let names = [now.entity.name.as_str(), source.entity.name.as_str()];
        let moved = provenance.moved();
        let with =
            if moved.is_empty() { String::new() } else { format!(", with {} that moves there", and(&moved)) };
        self.summary.push(format!(
            "new data → base table: {} in {}, derived items of {}{with}",
            new.entity.name, new.table.definition.name, now.entity.name
        ));
        let derived = NewDerived { source, now, new, names, provenance };
        self.dual_written(&derived);
        self.other_copies(&derived);
        self.loaded_from(&derived);
        self.own_begun(&derived);
        self.moved_over(&derived);
    }

    fn dual_written(&mut self, derived: &NewDerived<'_>) {
        let (entity, key) = (&derived.new.entity.name, derived.new.key_text());
        let [of, _] = derived.names;
        let writers: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| derived.is_kept_by(pattern)).collect();
        let updates: Vec<&SubjectPattern> = writers
            .iter()
            .filter(|pattern| derived.names.iter().any(|name| pattern.updates(name)))
            .copied()
            .collect();
        let unknown = writers.is_empty();
        let who = Subjects::of(writers.iter().copied(), || format!("whatever writes {of}"));
        let text = format!(
            "{} for each {of} its {entity} under {key} in {}, both in one transaction",
            who.each("keeps", "keep"),
            derived.new.table.definition.name
        );
        let own = derived.provenance.own();
        let action = Action::KeepDerived { entity: entity.clone(), apart: own.clone() };
        self.act(StepKind::WriteBoth, text, vec![action]);
        let text = format!("conditions are asked of {of} alone: its {entity} may not be there yet");
        self.act(StepKind::WriteBoth, text, Vec::new());
        if !own.is_empty() {
            let text = format!(
                "what they write of a {entity} is one update that sets {}, all of them, and leaves {} as it is",
                and(&derived.provenance.copied()),
                and(&own)
            );
            self.act(StepKind::WriteBoth, text, Vec::new());
        }
        if derived.provenance.shared {
            let text = format!(
                "several {of} may make one {entity}, as nothing in it says which: a {entity} stays when a {of} is changed or deleted"
            );
            self.act(StepKind::WriteBoth, text, Vec::new());
        } else {
            self.stale_derived(derived);
        }
        if unknown || !updates.is_empty() {
            let updating = Subjects::of(updates.into_iter(), || "an update".to_owned());
            let (reads, changes, puts) =
                if updating.is_many() { ("read", "change", "put") } else { ("reads", "changes", "puts") };
            let how = if own.is_empty() {
                format!(
                    "{puts} its {entity} whole: an update alone would leave there an item that lacks the rest"
                )
            } else {
                format!(
                    "writes its {entity} so: to set what changes alone would leave there an item that lacks the rest"
                )
            };
            let text = format!(
                "{} {reads} the whole {of}, {changes} it on condition that it is still what was read, and {how}",
                updating.names()
            );
            self.act(StepKind::WriteBoth, text, Vec::new());
        }
        self.kept_on(derived, &writers);
        self.claimed(derived);
    }

    /// Which writers write derived items as the new model says once all exist, and which continue the dual
    /// write.
    fn kept_on(&mut self, derived: &NewDerived<'_>, writers: &[&SubjectPattern]) {
        let (entity, [of, _]) = (&derived.new.entity.name, derived.names);
        let moved = derived.provenance.moved();
        let says = |pattern: &&&SubjectPattern| {
            let later = self.after.patterns.iter().find(|now| now.id == pattern.id);
            later.unwrap_or(**pattern).changes(entity)
        };
        // An update that only changes moved attributes is covered by `moved_over`.
        let concerns = |pattern: &&&SubjectPattern| {
            derived.names.iter().any(|name| {
                pattern.touches.iter().any(|touch| {
                    touch.entity == **name
                        && (touch.kind != TouchKind::Update
                            || touch.attributes.iter().any(|name| {
                                derived
                                    .provenance
                                    .of_source()
                                    .any(|(own, from)| from == name && !moved.contains(own))
                            }))
                })
            })
        };
        let writers: Vec<&&SubjectPattern> = writers.iter().filter(concerns).collect();
        let (say, lack): (Vec<&&SubjectPattern>, Vec<&&SubjectPattern>) = writers.into_iter().partition(says);
        let updates = |pattern: &&&SubjectPattern| derived.names.iter().any(|name| pattern.updates(name));
        let updating: Vec<&SubjectPattern> = say.into_iter().filter(updates).copied().collect();
        if !updating.is_empty() {
            let who = Subjects::of(updating.into_iter(), String::new);
            let text = format!(
                "every {of} has its {entity} now: {} both as the new model says",
                who.each("updates", "update")
            );
            let action = Action::DerivedItemsExist { entity: entity.clone() };
            self.act(StepKind::SwitchReads, text, vec![action]);
        }
        let lack = lack.into_iter().copied().collect();
        self.act_of(StepKind::SwitchReads, lack, |who| {
            let leaves = if moved.is_empty() {
                String::new()
            } else {
                format!(", but leaves {} as it is", and(&moved))
            };
            format!(
                "{} keeping each {entity} as until now{leaves}, also when the plan is through: the new model does not say that, and should",
                who.each("goes on", "go on")
            )
        });
    }

    /// Conditions that the new model puts on the derived item, as soon as they can hold.
    fn claimed(&mut self, derived: &NewDerived<'_>) {
        let entity = &derived.new.entity.name;
        let asks = |pattern: &&SubjectPattern| {
            pattern.touches.iter().any(|touch| touch.entity == *entity && touch.kind == TouchKind::Create)
        };
        let asking: Vec<&SubjectPattern> = self.writes().filter(asks).collect();
        self.act_of(StepKind::SwitchReads, asking, |who| {
            format!(
                "{} from now on and not before that no {entity} is there: until now one may be missing",
                who.each("asks", "ask")
            )
        });
    }

    fn stale_derived(&mut self, derived: &NewDerived<'_>) {
        let copied = variables(&derived.new).into_iter().map(|name| {
            let origin = derived.provenance.of_source().find(|(own, _)| **own == name);
            origin.map_or(name.clone(), |(_, from)| from.clone())
        });
        let made: BTreeSet<String> = copied.collect();
        // Writers know the items by their old key until the reads move, then by their new key.
        for (side, during) in [(derived.source, StepKind::WriteBoth), (derived.now, StepKind::SwitchReads)] {
            if during == StepKind::WriteBoth || !variables(&derived.source).is_subset(&variables(&side)) {
                self.stale_deleted(&StaleCopy {
                    copies: &derived.new.entity.name,
                    names: &derived.names,
                    known: (&side.key_text(), variables(&side)),
                    made: (&derived.new.key_text(), made.clone()),
                    during,
                    lasts: false,
                });
            }
        }
    }

    /// Attributes copied from entities other than the source.
    fn other_copies(&mut self, derived: &NewDerived<'a>) {
        for (name, of, from) in derived.provenance.others() {
            let made_of = Some(derived.now);
            self.kept_like(&Copied { name, side: derived.new, of, from, made_of });
        }
    }

    fn loaded_from(&mut self, derived: &NewDerived<'_>) {
        let (source, new) = (derived.source, derived.new);
        let (from, to) = (&source.table.definition.name, &new.table.definition.name);
        let (entity, [of, _]) = (&new.entity.name, derived.names);
        let (own, others) = (derived.provenance.own(), derived.provenance.others());
        let read: Vec<String> =
            others.map(|(name, of, from)| format!("{name} from {from} of its {of}")).collect();
        let read = if read.is_empty() { String::new() } else { format!(", {}", and(&read)) };
        let foreign = if own.is_empty() {
            String::new()
        } else {
            format!("; {} is no copy: what of it is elsewhere already is put with it", and(&own))
        };
        let twice = if derived.provenance.claims {
            format!(
                "; where one of another {of} is there already, two {of} make one key: settle that first, or the comparison never ends"
            )
        } else {
            String::new()
        };
        let text = format!(
            "scan {from} and put for each of the {} its {entity} into {to} as {}{read}, each on condition that nothing is there yet (attribute_not_exists({})){foreign}{twice}",
            items(source.entity.count, of),
            new.key_text(),
            new.table.key_name()
        );
        let stands = standing(self.stood(new.table), new.table, StepKind::LoadItems);
        let writes = put(new.entity, None, &stands);
        let reads = self.scanned(StepKind::LoadItems, source.table);
        let units = writes.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        // The writes are billed to the table that the items are written to.
        let action = Action::Load { entity: entity.clone() };
        self.consume(StepKind::LoadItems, new.table, text, units, vec![action]);
        let within = self.stood(new.table).is_some_and(|was| was.definition.name == *from);
        let again = new.entity.table_bytes().map(|bytes| Units {
            reads: if within { 0 } else { bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES) },
            ..Units::default()
        });
        let mut made: Vec<String> = vec![of.to_owned()];
        for (_, of, _) in derived.provenance.others() {
            if !made.contains(of) {
                made.push(of.clone());
            }
        }
        let text = format!(
            "compare every {of} with its {entity}{}: {}, each in a transaction that checks that the {} {} still what was read; again until none is found",
            if within { String::new() } else { format!(" in {to}") },
            derived.compared(),
            and(&made),
            if made.len() > 1 { "are" } else { "is" },
        );
        let action = Action::Compare { entity: entity.clone() };
        self.scan(StepKind::Verify, source.table, text, again, vec![action]);
    }

    /// Attributes that only the derived items have: writers begin to write them when all derived items exist.
    fn own_begun(&mut self, derived: &NewDerived<'_>) {
        let (entity, own) = (&derived.new.entity.name, derived.provenance.own());
        if own.is_empty() {
            return;
        }
        let setters = self.writes().filter(|pattern| pattern.updates(entity) && pattern.sets(entity, &own));
        let who = Subjects::of(setters, || format!("whatever sets {} of {entity}", and(&own)));
        let text = format!(
            "{} now and not before, as every {entity} is there, on condition that it is (attribute_exists({}))",
            who.each("begins", "begin"),
            derived.new.table.key_name()
        );
        let action = Action::BeginOwn { entity: entity.clone(), attributes: own };
        self.act(StepKind::SwitchReads, text, vec![action]);
    }

    /// Attributes that move from the source to the derived items.
    fn moved_over(&mut self, derived: &NewDerived<'_>) {
        let (entity, moved) = (&derived.new.entity.name, derived.provenance.moved());
        let [of, was] = derived.names;
        let Some(first) = moved.first() else { return };
        let names = and(&moved);
        let sets = |pattern: &&SubjectPattern| pattern.sets(was, &moved) || pattern.sets(entity, &moved);
        let setters: Vec<&SubjectPattern> = self.writes().filter(sets).collect();
        let updates: Vec<&SubjectPattern> = setters
            .iter()
            .filter(|pattern| pattern.updates(was) || pattern.updates(entity))
            .copied()
            .collect();
        let updating = Subjects::of(updates.into_iter(), || format!("whatever changes {names} of {of}"));
        let text = format!(
            "{names} goes by {entity}: {} {names} there, and in {of} too, both in one transaction, until the old writes stop",
            updating.each("changes", "change")
        );
        let action = Action::MoveOver { entity: entity.clone(), attributes: moved.clone() };
        self.act(StepKind::SwitchReads, text, vec![action]);
        let needs = |pattern: &&SubjectPattern| {
            pattern.read_entities().any(|read| read == was)
                && (pattern.whole || pattern.needs.iter().any(|need| moved.contains(need)))
        };
        let readers: Vec<&SubjectPattern> = self.before.patterns.iter().filter(needs).collect();
        self.act_of(StepKind::SwitchReads, readers, |who| {
            format!("{} no {names} of {of} any more: it is read from {entity}", who.each("takes", "take"))
        });
        let who = Subjects::of(setters.into_iter(), || format!("whatever writes {of}"));
        let unset = Action::Unset { entity: of.to_owned(), attributes: moved.clone() };
        self.act(
            StepKind::StopWrites,
            format!("{} {names} of {of}", who.no_longer("sets", "set")),
            vec![unset],
        );
        self.moved_removed(derived, &moved, first);
    }

    /// Removes moved attributes from the source items, where these stay the same items.
    fn moved_removed(&mut self, derived: &NewDerived<'_>, moved: &[String], first: &str) {
        let (source, now) = (derived.source, derived.now);
        let stays =
            self.matches.iter().any(|matched| matches!(matched, Match::Stays(old, _) if old.is(&source)));
        let leaves = stays
            && moves(source.entity, now.entity, source.table, now.table)
                .iter()
                .any(|one| one.kind == MoveKind::Leaves && one.written.iter().any(|name| name == first));
        if !stays || leaves {
            return;
        }
        let table = &source.table.definition.name;
        let counted = SubjectEntity { count: source.entity.count, ..now.entity.clone() };
        let stands = standing(Some(source.table), now.table, StepKind::DeleteItems);
        let units = rewrite(&counted, source.entity, &[], moved, &stands);
        let text = format!(
            "scan {table} and remove {} from the {}",
            and(moved),
            items(counted.count, &counted.name)
        );
        let action = Action::Remove { entity: now.entity.name.clone(), attributes: moved.to_vec() };
        self.scan(StepKind::DeleteItems, source.table, text, units, vec![action]);
    }
}
