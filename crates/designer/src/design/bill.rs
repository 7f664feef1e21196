//! The bill of a design: the written model is billed by the same meter as every other model. The solver's own
//! figures only rank designs.

use super::{Embedded, carry};
use keywright_model::data::{self, ReadFile};
use keywright_model::{Entity, Faults, Model, Slot, parse, write};
use keywright_workbench::cost::{Bill, Costing, Missing, bill};
use keywright_workbench::run::{Note, measure};

/// A designed model as written to the file, with its bill.
#[derive(Debug, Clone, PartialEq)]
pub struct Billed {
    /// The text of the file.
    pub text: String,
    /// The model read back from that text: the new keys, and the carried-over items and expectations.
    pub model: Model,
    /// What it costs each month.
    pub bill: Bill,
    /// Notices about items and expectations.
    pub notices: Vec<String>,
}

impl Billed {
    /// The patterns that did not run and so were not metered.
    pub fn left_out(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for note in &self.bill.notes {
            if let Note::NotRun { pattern, .. } | Note::NotFailed { pattern, .. } = note {
                found.push(pattern.as_str());
            }
        }
        found
    }

    /// Why the bill is incomplete: the patterns that did not run, and why.
    pub fn unmetered(&self) -> Option<String> {
        let left_out = |note: &&Note| matches!(note, Note::NotRun { .. } | Note::NotFailed { .. });
        let said: Vec<String> = self.bill.notes.iter().filter(left_out).map(ToString::to_string).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Why a design has no bill.
#[derive(Debug, Clone, PartialEq)]
pub enum Unbilled {
    /// The original or the written model does not load or run.
    Faults(Faults),
    /// A price is unknown.
    Price(Missing),
}

impl From<Faults> for Unbilled {
    fn from(faults: Faults) -> Self {
        Self::Faults(faults)
    }
}

impl From<Missing> for Unbilled {
    fn from(price: Missing) -> Self {
        Self::Price(price)
    }
}

/// Carries over the original's items, writes the designed model, reads it back and meters it. The bill is
/// therefore that of the written file, to the cent.
pub fn billed(
    original: &Model,
    mut designed: Model,
    embedded: &[Embedded],
    read_file: ReadFile<'_>,
    costing: &Costing<'_>,
) -> Result<Billed, Unbilled> {
    let mut notices = carry(original, read_file, embedded, &mut designed)?;
    notices.extend(original.entities.iter().filter_map(|was| {
        let is = designed.entities.iter().find(|entity| entity.name == was.name)?;
        fewer_shards(was, is)
    }));
    let text = write(&designed);
    let model = parse(&text)?;
    assert_eq!(model.entities.len(), designed.entities.len(), "the written entities are read back");
    assert_eq!(model.patterns.len(), designed.patterns.len(), "the written patterns are read back");
    let samples = data::load(&model, read_file)?;
    let measured = measure(&model, &samples)?;
    let bill = bill(&model, &measured, costing)?;
    Ok(Billed { text, model, bill, notices })
}

/// What to know of an entity whose keys have fewer shards than before.
fn fewer_shards(was: &Entity, is: &Entity) -> Option<String> {
    let of = |slot: &Slot| {
        slot.templates.iter().map(|(_, template)| template.shards()).fold(1, u32::saturating_mul)
    };
    let indexed = |entity: &Entity| entity.slots.iter().map(|(_, slot)| of(slot)).max().unwrap_or(1);
    let places = [("the table", of(&was.key), of(&is.key)), ("an index", indexed(was), indexed(is))];
    let fewer: Vec<String> = places
        .into_iter()
        .filter(|(_, before, after)| after < before)
        .map(|(place, before, after)| {
            let now = if after == 1 { "none".to_owned() } else { after.to_string() };
            format!("in {place} from {before} to {now}")
        })
        .collect();
    (!fewer.is_empty()).then(|| {
        format!(
            "{} has fewer shards, {}: the declared rates need no more. Keep them if its load is higher or less even.",
            is.name,
            fewer.join(" and ")
        )
    })
}
