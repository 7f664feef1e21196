//! Checking in one call: run, then judge.

use crate::data::ReadFile;
use crate::lint::lint;
use crate::model::{Faults, Model};
use crate::report::Checked;
use crate::run::{Progress, run};

/// Runs a model and applies the rules.
pub fn check(
    model: &Model,
    read_file: ReadFile<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Checked, Faults> {
    let report = run(model, read_file, progress)?;
    let findings = lint(model, &report);
    Ok(Checked { report, findings })
}
