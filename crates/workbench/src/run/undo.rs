//! A model's tables with items in them, for running writes and reads one after another: each write is
//! inspected and undone, so that the next one finds the same items.

use super::database::{Database, key_texts};
use super::report::PatternReport;
use super::writes::{Changed, Done};
use super::{execute, opened, writes};
use keywright_model::data::{Sample, key_of};
use keywright_model::{Faults, Model, Pattern};

/// Tables with items, on which writes run one after another.
pub struct Loaded(Database);

impl Loaded {
    /// Creates the tables of a model and puts these items.
    pub fn of(model: &Model, samples: &[Sample]) -> Result<Self, Faults> {
        let (database, _) = opened(model, samples, &mut |_| {})?;
        Ok(Self(database))
    }

    /// Runs one write of a model and keeps its result. After a refusal or failure the state is undefined.
    pub fn change(&mut self, model: &Model, samples: &[Sample], pattern: &Pattern) -> Result<Done, String> {
        let done = writes::done(&self.0, model, samples, pattern)?;
        if let Done::Changed { changes, .. } = &done {
            for change in changes {
                let Some((table, image)) = model.table(&change.table).zip(image(change)) else { continue };
                let owner = change.after.is_some().then(|| Some(change.entity.clone()));
                self.0.own(table, &key_texts(table, image), owner);
            }
        }
        Ok(done)
    }

    /// Runs one read against these samples.
    pub fn ask(&mut self, model: &Model, samples: &[Sample], pattern: &Pattern) -> PatternReport {
        execute::pattern(&mut self.0, model, samples, pattern)
    }

    /// Restores the changed items to the samples' state.
    pub fn undo(&mut self, model: &Model, samples: &[Sample], changes: &[Changed]) -> Result<(), String> {
        for change in changes {
            let Some((table, image)) = model.table(&change.table).zip(image(change)) else { continue };
            let key = key_of(table, image).ok_or("an item without its key")?;
            let is_it = |sample: &&Sample| {
                sample.table == table.name
                    && key.iter().all(|(name, value)| sample.item.get(name) == Some(value))
            };
            let sample = samples.iter().rfind(is_it);
            self.0.restore(&table.name, &key, sample.map(|sample| &sample.item))?;
            self.0.own(table, &key_texts(table, image), sample.map(|sample| sample.entity.clone()));
        }
        Ok(())
    }
}

fn image(change: &Changed) -> Option<&keywright_semantics::value::Item> {
    change.before.as_ref().or(change.after.as_ref())
}
