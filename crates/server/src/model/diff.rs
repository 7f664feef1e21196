//! `keywright model diff`: what changed between two models and what the migration takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keywright_workbench::diff::{Difference, Subject, diff};
use keywright_workbench::exchange::json::Json;

use super::files;
use crate::banner;

/// Compares two models: entities, patterns, indexes and tables that were added, removed or changed, and the steps from
/// one to the other with what they write once.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The model as it was: a model file, or a file that `import` reads
    before: PathBuf,
    /// The model as it shall be
    after: PathBuf,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(crate) fn run(arguments: &DiffArguments) -> Result<(), String> {
    let subject = |path| files::load(path).map(|(model, items)| Subject::of_model(&model, &items));
    let difference = diff(&subject(&arguments.before)?, &subject(&arguments.after)?);
    match arguments.format {
        Format::Text => banner::say(difference.to_string().trim_end()),
        Format::Json => banner::say(&json(&difference).pretty()),
    }
    Ok(())
}

fn json(difference: &Difference) -> Json {
    let changes = difference.changes.iter().map(|change| {
        Json::object([
            ("change", Json::text(change.kind.name())),
            ("thing", Json::text(change.thing.name())),
            ("name", Json::text(&change.name)),
            ("detail", Json::text(&change.detail)),
        ])
    });
    let units = |units: Option<u64>| units.map_or(Json::Null, Json::number);
    let steps = difference.plan.steps.iter().map(|step| {
        Json::object([("step", Json::text(&step.text)), ("writeUnits", units(step.write_units))])
    });
    Json::object([
        ("changes", Json::List(changes.collect())),
        ("summary", Json::List(difference.plan.summary.iter().map(Json::text).collect())),
        ("steps", Json::List(steps.collect())),
        ("writeUnits", units(difference.plan.write_units())),
    ])
}
