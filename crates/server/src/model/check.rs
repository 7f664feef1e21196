//! `keywright model check`: executes and lints a model.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_workbench::report;

use super::files;
use super::format::{Format, one_of};
use super::progress::Bar;
use crate::banner;

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

pub(crate) fn run(arguments: &CheckArguments) -> Result<(), String> {
    let model = files::read_model(&arguments.model)?;
    let folder = arguments.model.parent().unwrap_or(Path::new("")).to_path_buf();
    let read_file = |name: &str| files::read(&folder.join(name));
    let bar = Bar::new();
    let checked = keywright_workbench::check(&model, &read_file, &mut |progress| bar.show(progress));
    drop(bar);
    let file = arguments.model.display().to_string();
    let checked = checked.map_err(|faults| {
        let messages: Vec<String> = faults.iter().map(|fault| fault.in_file(&file)).collect();
        messages.join("\n")
    })?;
    let text = match arguments.format {
        Format::Text => report::text(&checked, &file),
        Format::Json => report::json(&checked),
        Format::Junit => report::junit(&checked, &file),
        Format::Markdown => report::markdown(&checked),
    };
    banner::say(text.trim_end());
    if checked.passes() { Ok(()) } else { Err(format!("{file}: the check failed")) }
}
