//! Checks a model: creates its tables on an embedded engine, loads its data, executes each pattern as one
//! request, and meters it.
//!
//! It reports what happened; `lint` judges it.

mod action;
mod collection;
mod database;
mod derive;
mod example;
mod execute;
mod expect;
mod fitting;
mod linked_steps;
mod making;
mod measure;
mod names;
mod placeholders;
mod plan;
mod range;
mod report;
mod request_limits;
mod requests;
mod selectivity;
mod sizes;
mod tables;
mod undo;
mod writes;

use keywright_model::data::{self, ReadFile, Sample};
use keywright_model::{Fault, Faults, Model};

pub use database::{Database, key_texts, parts_of};
pub(crate) use database::{create_parts, drive};
pub use expect::units;
pub use measure::{Measured, Note, measure};
pub(crate) use plan::missing;
pub use plan::{Cause, Refusal};
pub use report::{
    CapacityOf, Collision, EntityReport, IndexReport, ItemKey, OperationKind, Outcome, PatternReport, Report,
    TableReport,
};
pub(crate) use selectivity::{share_ppm, written_ppm};
pub(crate) use tables::IndexNumbers;
pub use undo::Loaded;
pub use writes::{Changed, Done};

/// The progress of a run, for a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Items are put.
    #[expect(missing_docs, reason = "numbers of items")]
    Loading { done: usize, of: usize },
    /// A pattern is about to run.
    #[expect(missing_docs, reason = "the pattern's id and numbers of patterns")]
    Pattern { id: &'a str, done: usize, of: usize },
}

/// Runs every pattern of a model on an engine in memory. Faults keep it from running at all.
pub fn run(
    model: &Model,
    read_file: ReadFile<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Faults> {
    run_on(model, data::load(model, read_file)?, progress)
}

/// Runs every pattern of a model on these items.
pub fn run_on(
    model: &Model,
    samples: Vec<Sample>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Report, Faults> {
    let (mut database, collisions) = opened(model, &samples, progress)?;
    let mut patterns = Vec::new();
    for (done, pattern) in model.patterns.iter().enumerate() {
        progress(Progress::Pattern { id: &pattern.id, done, of: model.patterns.len() });
        patterns.push(execute::pattern(&mut database, model, &samples, pattern));
    }
    assert!(is_each_once(model, &patterns), "each pattern is asked once");
    Ok(Report {
        model: model.name.clone(),
        text: model.text.clone(),
        patterns,
        tables: tables::measure(model, &samples),
        collisions,
        samples,
    })
}

/// Whether these are the reports of a model's patterns, each once and in their order.
fn is_each_once(model: &Model, reports: &[PatternReport]) -> bool {
    reports.iter().map(|report| &report.id).eq(model.patterns.iter().map(|pattern| &pattern.id))
}

/// A model's tables with these items, and the items that collide under one key.
fn opened(
    model: &Model,
    samples: &[Sample],
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<(database::Database, Vec<report::Collision>), Faults> {
    let mut database = database::Database::open()
        .map_err(|fault| vec![Fault::new(keywright_model::At::default(), fault)])?;
    let mut faults = Faults::new();
    // A table beyond the service's limits is not created: L033 reports it with the fix.
    for table in model.tables.iter().filter(|table| !IndexNumbers::of(table).are_too_many()) {
        if let Err(fault) = database.create(table) {
            let text = format!(
                "table `{}` cannot be made, its `key` or `indexes` are not what the service takes: {fault}",
                table.name
            );
            faults.push(Fault::new(table.at, text));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let collisions = load(&mut database, model, samples, &mut faults, progress);
    if faults.is_empty() { Ok((database, collisions)) } else { Err(faults) }
}

/// Puts every item; reports two samples with one key, because the second overwrites the first.
fn load(
    database: &mut database::Database,
    model: &Model,
    samples: &[Sample],
    faults: &mut Faults,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Vec<report::Collision> {
    const STEP: usize = 500;
    let mut collisions = Vec::new();
    for (done, sample) in samples.iter().enumerate() {
        if done.is_multiple_of(STEP) {
            progress(Progress::Loading { done, of: samples.len() });
        }
        let Some(table) = model.table(&sample.table).filter(|table| !IndexNumbers::of(table).are_too_many())
        else {
            continue;
        };
        match database.load(table, sample) {
            Ok(None) => {}
            Ok(Some(earlier)) => collisions.push(report::Collision {
                table: table.name.clone(),
                key: database::key_texts(table, &sample.item),
                first: earlier,
                second: sample.entity.clone(),
                at: sample.at,
            }),
            Err(fault) => {
                let name = sample.entity.as_deref().unwrap_or("an item");
                faults.push(Fault::new(
                    sample.at,
                    format!("{name} of table `{}` is no item that the service takes: {fault}", table.name),
                ));
            }
        }
    }
    collisions
}
