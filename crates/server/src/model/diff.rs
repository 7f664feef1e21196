//! `keywright model diff`: what changed between two models and what the migration takes.

use std::path::{Path, PathBuf};

use clap::Args;
use keywright_designer::diff::{Extent, Subject, Terms, diff};

use super::format::{Format, one_of};
use super::{cost, files};
use crate::banner;

/// Compares two models: entities, patterns, indexes and tables that were added, removed or changed, and the steps from
/// one to the other that a running application survives, with what they read, write and cost once. Fails when there is
/// something to do for which no plan can be made.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The model as it was: a model file, or a file that `import` reads
    before: PathBuf,
    /// The model as it shall be
    after: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: what the model names, else today's]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Write units a second that the jobs of the plan may use, with three times as many read units
    #[arg(long, value_name = "UNITS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(&[Format::Text, Format::Markdown, Format::Json]))]
    format: Format,
}

pub(crate) fn run(arguments: &DiffArguments) -> Result<(), String> {
    let before = load(&arguments.before)?;
    let after = load(&arguments.after)?;
    let prices = cost::prices(arguments.prices.as_deref().or(after.prices.as_deref()))?;
    let difference = diff(&before.subject, &after.subject);
    let terms = Terms { prices: &prices, rate: arguments.rate };
    match arguments.format {
        Format::Text | Format::Junit => banner::say(difference.text(terms).trim_end()),
        Format::Markdown => banner::say(difference.markdown(terms).trim_end()),
        Format::Json => banner::say(&difference.json(terms).pretty()),
    }
    match difference.plan.extent {
        Extent::Whole => Ok(()),
        Extent::Part => Err("the plan is not whole: it leaves out what cannot be told".to_owned()),
        Extent::None => Err("no plan could be made".to_owned()),
    }
}

/// A model to compare, and the prices that it names.
struct Loaded {
    subject: Subject,
    prices: Option<String>,
}

/// A model with its items, run once.
fn load(path: &Path) -> Result<Loaded, String> {
    let (model, items) = files::load(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let read_file = |name: &str| files::read(&folder.join(name));
    let prices = model.prices.clone();
    Ok(Loaded { subject: Subject::of_run(model, &items, &read_file), prices })
}
