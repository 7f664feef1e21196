//! `keywright model diff`: what changed between two models and what the migration takes.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_designer::diff::{Extent, Subject, Terms, diff};
use keywright_exchange::item_file;

use super::format::{Format, one_of};
use super::{cost, files};
use crate::process::failure::Failure;
use crate::process::output;

/// Compare two models and plan the migration
///
/// Lists entities, patterns, indexes and tables that were added, removed or changed, and plans the steps of a
/// migration without downtime, with their capacity and cost. Fails if a change needs a plan and none can be
/// made.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The old model: a model file, or a file that `import` reads
    before: PathBuf,
    /// The new model
    after: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: the model's, else the
    /// newest]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Write units per second that the plan's jobs may use; they may use three times as many read units
    #[arg(long, value_name = "UNITS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Markdown, Format::Json]))]
    format: Format,
}

pub(crate) fn run(arguments: &DiffArguments) -> Result<(), Failure> {
    let before = load(&arguments.before)?;
    let after = load(&arguments.after)?;
    let prices = cost::prices(arguments.prices.as_deref().or(after.prices.as_deref()))?;
    let difference = diff(&before.subject, &after.subject);
    let terms = Terms { prices: &prices, rate: arguments.rate };
    match arguments.format {
        Format::Text | Format::Junit => output::say(difference.text(terms).trim_end()),
        Format::Markdown => output::say(difference.markdown(terms).trim_end()),
        Format::Json => output::say(&difference.json(terms).pretty()),
    }
    match difference.plan.extent {
        Extent::Whole => Ok(()),
        Extent::Part => Err(Failure::new("the plan is incomplete: some changes could not be planned")),
        Extent::None => Err(Failure::new("no plan could be made")),
    }
}

/// A model to compare, and the prices that it names.
struct Loaded {
    subject: Subject,
    prices: Option<String>,
}

/// A model with its items, run once. A model that does not run is compared as written.
fn load(path: &Path) -> Result<Loaded, Failure> {
    let (model, items) = files::load(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read_file = |name: &str| files::read(&folder.join(name)).map(item_file).map_err(String::from);
    let prices = model.prices.clone();
    Ok(Loaded { subject: Subject::of_run(model, &items, &read_file), prices })
}
