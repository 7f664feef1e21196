//! Checks a model in one call: runs it, then applies the rules.

use crate::lint::lint;
use crate::report::Checked;
use crate::run::{Progress, run_on};
use keywright_model::data::{self, ReadFile, Sample};
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
    Ok(Checked { report, findings })
}
