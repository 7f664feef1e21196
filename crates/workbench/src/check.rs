//! Checks a model in one call: runs it, then applies the rules.

use crate::lint::lint;
use crate::report::{Checked, Remark};
use crate::run::{Progress, Report, run_on};
use keywright_model::data::{self, ReadFile, Sample, shortfalls};
use keywright_model::{Faults, Model};

/// Runs a model and applies the rules.
pub fn check(
    model: &Model,
    read_file: ReadFile<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Checked, Faults> {
    check_on(model, data::load(model, read_file)?, progress)
}

/// Runs a model on these items and applies the rules.
pub fn check_on(
    model: &Model,
    samples: Vec<Sample>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Checked, Faults> {
    let report = run_on(model, samples, progress)?;
    let findings = lint(model, &report);
    let notes = sizes(model, &report);
    Ok(Checked { report, findings, notes })
}

/// Notes on data that is smaller than declared: the check meters the data, the estimates use the declared
/// size.
fn sizes(model: &Model, report: &Report) -> Vec<Remark> {
    let remarks = shortfalls(model, &report.samples).into_iter().map(|short| {
        let what = match &short.attribute {
            Some(attribute) => format!("{}.{attribute}", short.entity),
            None => short.entity.clone(),
        };
        let text = format!(
            "{what} averages {} bytes in the data but is declared as {}; check meters the data, cost and rules use the \
             declared size",
            short.measured, short.declared
        );
        Remark { at: short.at, text }
    });
    remarks.collect()
}
