//! `keywright model check`: executes and lints a model.

use std::path::PathBuf;

use clap::Args;
use keywright_workbench::report;

use super::files::Source;
use super::format::{Format, one_of};
use crate::client::progress::Bar;
use crate::process::failure::Failure;
use crate::process::output;

/// Run every access pattern on the engine and compare the results with the expectations
///
/// Creates the model's tables in memory, loads its data and runs every pattern as one request. Fails if a
/// pattern is not one GetItem or Query, an expectation is not met, or a rule reports an error.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The model file
    model: PathBuf,
    /// How to print the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Json, Format::Junit, Format::Markdown]))]
    format: Format,
}

pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let source = Source::read(&arguments.model)?;
    let report = report(&source, arguments.format)?;
    output::say(report.text.trim_end());
    if report.passes { Ok(()) } else { Err(Failure::new(format!("{}: the check failed", source.file()))) }
}

/// A check's report.
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) passes: bool,
}

/// Checks a model.
pub(crate) fn report(source: &Source, format: Format) -> Result<Report, Failure> {
    let bar = Bar::new();
    let read_file = |name: &str| source.read_file(name);
    let checked = keywright_workbench::check(&source.model, &read_file, &mut |progress| bar.show(progress));
    drop(bar);
    let checked = checked.map_err(|faults| source.faults(&faults))?;
    let text = match format {
        Format::Text => report::text(&checked, source.file()),
        Format::Json => report::json(&checked),
        Format::Junit => report::junit(&checked, source.file()),
        Format::Markdown => report::markdown(&checked),
    };
    Ok(Report { text, passes: checked.passes() })
}
