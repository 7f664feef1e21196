//! `keywright model diff`: what changed between two models and what the migration takes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use keywright_workbench::diff::{Difference, Subject, diff};
use keywright_workbench::exchange::json::Json;
use keywright_workbench::model::Model;
use keywright_workbench::price::{Money, Prices};

use keywright_workbench::exchange::of_model::Items;
use keywright_workbench::run;

use super::{cost, files};
use crate::banner;

/// Compares two models: entities, patterns, indexes and tables that were added, removed or changed, and the steps from
/// one to the other with what they write once.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The model as it was: a model file, or a file that `import` reads
    before: PathBuf,
    /// The model as it shall be
    after: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: what the model names, else today's]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
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
    let (before, items) = load(&arguments.before)?;
    let before = Subject::of_model(&before, &items);
    let (after, items) = load(&arguments.after)?;
    let prices = cost::prices(arguments.prices.as_deref().or(after.prices.as_deref()))?;
    let difference = diff(&before, &Subject::of_model(&after, &items));
    match arguments.format {
        Format::Text => banner::say(text(&difference, &prices).trim_end()),
        Format::Json => banner::say(&json(&difference, &prices).pretty()),
    }
    Ok(())
}

/// A model and its items. Where the author left it to the planner, a run says which index each question uses; a model that
/// does not run is compared as it is written.
fn load(path: &Path) -> Result<(Model, Items), String> {
    let (mut model, items) = files::load(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read_file = |name: &str| files::read(&folder.join(name));
    if let Ok(report) = run::run(&model, &read_file, &mut |_| {}) {
        for pattern in model.patterns.iter_mut().filter(|pattern| pattern.uses.is_none()) {
            pattern.uses = report.pattern(&pattern.id).and_then(|ran| ran.index.clone());
        }
    }
    Ok((model, items))
}

fn text(difference: &Difference, prices: &Prices) -> String {
    let text = difference.to_string();
    match difference.plan.write_cost(prices) {
        Some(cost) if cost > Money::ZERO => {
            format!("{text}That is {cost}, once, on demand at the prices {}.\n", prices.name)
        }
        _ => text,
    }
}

fn json(difference: &Difference, prices: &Prices) -> Json {
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
        ("prices", Json::text(&prices.name)),
        (
            "writeCost",
            difference.plan.write_cost(prices).map_or(Json::Null, |cost| Json::text(cost.to_string())),
        ),
    ])
}
