//! Steps that introduce derived items: the new design makes them from existing items under another key, and
//! the same transactions write both.
//!
//! Every writer of the source keeps the copied attributes, and these are complete from the first write on.
//! Attributes that only the derived item has are written once all derived items exist; the dual write leaves
//! them alone. Attributes that move from the source to the derived item keep the source's value until the
//! reads move.

use std::collections::BTreeSet;

use keywright_semantics::capacity::EVENTUAL_READ_UNIT_BYTES;

use super::actions::{AttributeWrite, Condition, DerivedWrite, Job, ReadChange, Source, Value};
use super::copied_attributes::Copied;
use super::index_changes::{MoveKind, moves};
use super::index_lifetime::{put, rewrite, standing};
use super::input::{SubjectEntity, SubjectPattern, TouchKind, ids};
use super::matching::{EntityRef, Match};
use super::plan::{StepKind, Units};
use super::planner::Planner;
use super::provenance::Provenance;
use super::remarks::Note;
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
}

impl<'a> Planner<'a> {
    /// Derived items: dual write, then backfill, then reads.
    pub(super) fn derived(&mut self, source: EntityRef<'a>, new: EntityRef<'a>, provenance: &'a Provenance) {
        let matched = self.matches.iter().find(|matched| matched.before().is_some_and(|old| old.is(&source)));
        let now = matched.and_then(Match::after).unwrap_or(source);
        let names = [now.entity.name.as_str(), source.entity.name.as_str()];
        let note = Note::NewData {
            entity: new.entity.name.clone(),
            table: new.table.definition.name.clone(),
            source: Some(now.entity.name.clone()),
            moved: provenance.moved(),
        };
        self.summary.push(note.into());
        let derived = NewDerived { source, now, new, names, provenance };
        self.dual_written(&derived);
        self.other_copies(&derived);
        self.loaded_from(&derived);
        self.own_begun(&derived);
        self.moved_over(&derived);
    }

    fn dual_written(&mut self, derived: &NewDerived<'_>) {
        let (entity, source) = (derived.new.entity.name.clone(), derived.names[0].to_owned());
        let writers: Vec<&SubjectPattern> =
            self.writes().filter(|pattern| derived.is_kept_by(pattern)).collect();
        let updates =
            writers.iter().filter(|pattern| derived.names.iter().any(|name| pattern.updates(name))).copied();
        let updates = ids(updates);
        let own = derived.provenance.own();
        let keep = DerivedWrite::KeepDerived {
            entity: entity.clone(),
            source: source.clone(),
            patterns: ids(writers.iter().copied()),
            table: derived.new.table.definition.name.clone(),
            key: derived.new.key(),
            apart: own.clone(),
        };
        self.act(StepKind::WriteBoth, keep);
        let check = DerivedWrite::CheckSource { entity: entity.clone(), source: source.clone() };
        self.act(StepKind::WriteBoth, check);
        let apart = !own.is_empty();
        if apart {
            let update = DerivedWrite::UpdateDerived {
                entity: entity.clone(),
                attributes: derived.provenance.copied(),
                apart: own,
            };
            self.act(StepKind::WriteBoth, update);
        }
        if derived.provenance.shared {
            let keep = DerivedWrite::KeepShared { entity: entity.clone(), source: source.clone() };
            self.act(StepKind::WriteBoth, keep);
        } else {
            self.stale_derived(derived);
        }
        if writers.is_empty() || !updates.is_empty() {
            let put = DerivedWrite::PutDerivedWhole { entity, source, patterns: updates, apart };
            self.act(StepKind::WriteBoth, put);
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
        self.act_of(StepKind::SwitchReads, updating, |patterns| DerivedWrite::DerivedItemsExist {
            entity: entity.clone(),
            source: of.to_owned(),
            patterns,
        });
        let lack = lack.into_iter().copied().collect();
        self.act_of(StepKind::SwitchReads, lack, |patterns| DerivedWrite::ContinueDualWrite {
            entity: entity.clone(),
            patterns,
            except: moved.clone(),
        });
    }

    /// Conditions that the new model puts on the derived item, as soon as they can hold.
    fn claimed(&mut self, derived: &NewDerived<'_>) {
        let entity = &derived.new.entity.name;
        let asks = |pattern: &&SubjectPattern| {
            pattern.touches.iter().any(|touch| touch.entity == *entity && touch.kind == TouchKind::Create)
        };
        let asking: Vec<&SubjectPattern> = self.writes().filter(asks).collect();
        self.act_of(StepKind::SwitchReads, asking, |patterns| DerivedWrite::RequireAbsence {
            entity: entity.clone(),
            patterns,
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
                    known: (side.key(), variables(&side)),
                    made: (derived.new.key(), made.clone()),
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
        let provenance = derived.provenance;
        let others = provenance.others().map(|(name, of, from)| Value {
            attribute: name.clone(),
            source: Source::Copy { entity: of.clone(), attribute: from.clone() },
        });
        let load = Job::LoadDerived {
            entity: entity.clone(),
            source: of.to_owned(),
            items: source.entity.count.declared(),
            from: from.clone(),
            table: to.clone(),
            key: new.key(),
            values: others.collect(),
            apart: provenance.own(),
            claims: provenance.claims,
            condition: Condition::NoItem(new.table.key_name().to_owned()),
        };
        let stands = standing(self.stood(new.table), new.table, StepKind::LoadItems);
        let writes = put(new.entity, None, &stands);
        let reads = self.scanned(StepKind::LoadItems, source.table);
        let units = writes.zip(reads).map(|(units, reads)| units.and(Units { reads, ..Units::default() }));
        // The writes are billed to the table that the items are written to.
        self.consume(StepKind::LoadItems, new.table, units, load);
        let within = self.stood(new.table).is_some_and(|was| was.definition.name == *from);
        let again = new.entity.table_bytes().map(|bytes| Units {
            reads: if within { 0 } else { bytes.div_ceil(EVENTUAL_READ_UNIT_BYTES) },
            ..Units::default()
        });
        let mut sources: Vec<String> = vec![of.to_owned()];
        for (_, of, _) in provenance.others() {
            if !sources.contains(of) {
                sources.push(of.clone());
            }
        }
        let compare = Job::CompareDerived {
            entity: entity.clone(),
            source: of.to_owned(),
            table: (!within).then(|| to.clone()),
            attributes: provenance.copied(),
            apart: provenance.own(),
            shared: provenance.shared,
            sources,
        };
        self.scan(StepKind::Verify, source.table, again, compare);
    }

    /// Attributes that only the derived items have: writers begin to write them when all derived items exist.
    fn own_begun(&mut self, derived: &NewDerived<'_>) {
        let (entity, own) = (&derived.new.entity.name, derived.provenance.own());
        if own.is_empty() {
            return;
        }
        let setters = self.writes().filter(|pattern| pattern.updates(entity) && pattern.sets(entity, &own));
        let write = DerivedWrite::WriteOwn {
            entity: entity.clone(),
            patterns: ids(setters),
            attributes: own.clone(),
            condition: Condition::Item(derived.new.table.key_name().to_owned()),
        };
        self.act(StepKind::SwitchReads, write);
    }

    /// Attributes that move from the source to the derived items.
    fn moved_over(&mut self, derived: &NewDerived<'_>) {
        let (entity, moved) = (&derived.new.entity.name, derived.provenance.moved());
        let [of, was] = derived.names;
        let Some(first) = moved.first() else { return };
        let sets = |pattern: &&SubjectPattern| pattern.sets(was, &moved) || pattern.sets(entity, &moved);
        let setters: Vec<&SubjectPattern> = self.writes().filter(sets).collect();
        let updates =
            setters.iter().filter(|pattern| pattern.updates(was) || pattern.updates(entity)).copied();
        let turn = DerivedWrite::MoveAttributes {
            entity: entity.clone(),
            source: of.to_owned(),
            patterns: ids(updates),
            attributes: moved.clone(),
        };
        self.act(StepKind::SwitchReads, turn);
        let needs = |pattern: &&SubjectPattern| {
            pattern.read_entities().any(|read| read == was)
                && (pattern.whole || pattern.needs.iter().any(|need| moved.contains(need)))
        };
        let readers: Vec<&SubjectPattern> = self.before.patterns.iter().filter(needs).collect();
        self.act_of(StepKind::SwitchReads, readers, |patterns| ReadChange::StopReading {
            entity: of.to_owned(),
            patterns,
            attributes: moved.clone(),
            instead: Some(entity.clone()),
        });
        let stop = AttributeWrite::StopSetting {
            entity: of.to_owned(),
            patterns: ids(setters),
            attributes: moved.clone(),
        };
        self.act(StepKind::StopWrites, stop);
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
        let counted = SubjectEntity { count: source.entity.count, ..now.entity.clone() };
        let stands = standing(Some(source.table), now.table, StepKind::DeleteItems);
        let units = rewrite(&counted, source.entity, &[], moved, &stands);
        let remove = Job::RemoveAttributes {
            entity: now.entity.name.clone(),
            items: counted.count.declared(),
            table: source.table.definition.name.clone(),
            attributes: moved.to_vec(),
        };
        self.scan(StepKind::DeleteItems, source.table, units, remove);
    }
}
