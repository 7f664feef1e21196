//! What a design costs: the bill of the model that is written, by the meter that bills every model. The solver's own
//! figures choose between designs and are nobody's price.

use super::{Embedded, carry};
use keywright_model::data::{self, ReadFile};
use keywright_model::{Faults, Model, parse, write};
use keywright_workbench::cost::{Bill, Costing, Missing, bill};
use keywright_workbench::run::{Note, measure};

/// A designed model as it is written, with its bill.
#[derive(Debug, Clone, PartialEq)]
pub struct Billed {
    /// The text of the file.
    pub text: String,
    /// What that text reads as: the keys, and the items and expectations that were carried over.
    pub model: Model,
    /// What it costs each month.
    pub bill: Bill,
    /// What became of items and expectations.
    pub notices: Vec<String>,
}

impl Billed {
    /// The patterns that did not run, of which nothing was metered.
    pub fn left_out(&self) -> Vec<&str> {
        let mut found = Vec::new();
        for note in &self.bill.notes {
            if let Note::NotRun { pattern, .. } | Note::NotFailed { pattern, .. } = note {
                found.push(pattern.as_str());
            }
        }
        found
    }

    /// Why its bill is not its price: the patterns that did not run, of which nothing was metered, and why.
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
    /// A price is not known.
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

/// Carries over what the original has, writes the designed model, reads it back and meters what it takes: so that the bill
/// is that of the written file, to the cent.
pub fn billed(
    original: &Model,
    mut designed: Model,
    embedded: &[Embedded],
    read_file: ReadFile<'_>,
    costing: &Costing<'_>,
) -> Result<Billed, Unbilled> {
    let notices = carry(original, read_file, embedded, &mut designed)?;
    let text = write(&designed);
    let model = parse(&text)?;
    let samples = data::load(&model, read_file)?;
    let measured = measure(&model, &samples)?;
    let bill = bill(&model, &measured, costing)?;
    Ok(Billed { text, model, bill, notices })
}
