//! What a comparison sees of a model.

use keywright_semantics::capacity::{WriteMode, write_units};

use super::subject::{Load, Subject, SubjectPattern};
use crate::exchange::of_model::{Items, of_model};
use crate::model::{Entity, Model, Operation, Pattern, Read, Write};

impl Subject {
    /// A model and its items as they are stored.
    pub fn of_model(model: &Model, items: &Items) -> Self {
        let mut subject = Self::of_draft(&of_model(model, items));
        for table in &mut subject.tables {
            let indexes = table.definition.schema.indexes.clone();
            for entity in &mut table.entities {
                let Some(known) = model.entity(&entity.name) else { continue };
                if let Some(count) = known.count {
                    entity.count = count;
                }
                if let Some(load) = assumed(known).filter(|_| entity.load.examples == 0) {
                    let entered = indexes.iter().filter(|index| entity.is_in(index));
                    let index_units = entered.map(|index| (index.name.clone(), load)).collect();
                    entity.load = Load { examples: 1, table_units: load, index_units };
                }
            }
        }
        subject.patterns = model.patterns.iter().map(pattern).collect();
        subject
    }
}

/// Write units of an item whose size the model gives; its index entries are taken to be as large.
fn assumed(entity: &Entity) -> Option<u64> {
    let bytes = usize::try_from(entity.size_bytes?).unwrap_or(usize::MAX);
    Some(write_units(bytes, WriteMode::Plain).0 / 2)
}

fn pattern(pattern: &Pattern) -> SubjectPattern {
    let entities = match &pattern.operation {
        Operation::Read(read) => read.entities.clone(),
        Operation::Write(_) | Operation::Transact(_) | Operation::Batch(_) => {
            pattern.steps().iter().map(|step| step.entity.clone()).collect()
        }
    };
    SubjectPattern {
        id: pattern.id.clone(),
        text: pattern.text.clone().unwrap_or_default(),
        uses: pattern.uses.clone(),
        entities,
        definition: definition(pattern),
    }
}

/// Everything that makes the pattern what it is, without the places where it was written and without its examples.
fn definition(pattern: &Pattern) -> String {
    let operation = match &pattern.operation {
        Operation::Read(read) => read_text(read),
        Operation::Write(write) => write_text(write),
        Operation::Transact(steps) => format!("transact {}", steps_text(steps)),
        Operation::Batch(steps) => format!("batch {}", steps_text(steps)),
    };
    format!("{operation} {:?} {:?} {}", pattern.rate, pattern.returns, pattern.admin)
}

fn read_text(read: &Read) -> String {
    let given: Vec<String> =
        read.given.iter().map(|given| format!("{} {:?}", given.attribute, given.op)).collect();
    format!(
        "{:?} {:?} {given:?} {:?} {:?} {:?} {:?} {:?}",
        read.kind,
        read.entities,
        (&read.order, read.order_by.as_ref().map(|by| &by.attribute)),
        read.filter,
        read.attributes,
        read.consistency,
        read.limit
    )
}

fn steps_text(steps: &[Write]) -> String {
    let texts: Vec<String> = steps.iter().map(write_text).collect();
    texts.join("; ")
}

fn write_text(write: &Write) -> String {
    format!(
        "{:?} {} {} {:?} {:?} {:?} {:?} {}",
        write.kind,
        write.entity,
        write.n,
        write.condition,
        write.set,
        write.remove,
        write.add,
        write.returns_values
    )
}
