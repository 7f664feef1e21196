//! `keywright simulate`: a model under the traffic of a profile.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::simulate::{Simulation, csv, json, parse, simulate, svg, text};

use super::files::{Source, in_file};
use super::{cost, files};
use crate::client::progress::Bar;
use crate::process::failure::Failure;
use crate::process::output;

/// How to print a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people at a terminal
    Text,
    /// For programs
    Json,
    /// One line for each minute of each table and index, for spreadsheets
    Csv,
    /// A picture of demand, capacity and refusals
    Svg,
}

/// Find out whether a model throttles under the traffic of a profile
///
/// Meters the model's patterns, then runs their requests on a virtual clock against the limits of the engine:
/// provisioned units with burst, partitions that split, on-demand levels. Reports each minute of each table
/// and index, and what a month of this traffic costs in each billing mode. Fails if an expectation of the
/// profile is not met.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// The model file
    model: PathBuf,
    /// The traffic profile
    profile: PathBuf,
    /// A built-in price file such as us-east-1@2024-10, or the path of one [default: the model's, else the
    /// newest]
    #[arg(long, value_name = "PRICES")]
    prices: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    let source = Source::read(&arguments.model)?;
    let file = arguments.profile.display().to_string();
    let profile = files::read(&arguments.profile)?;
    let found = simulated(&source, (&file, &profile), arguments.prices.as_deref())?;
    let printed = match arguments.format {
        Output::Text => text(&found),
        Output::Json => json(&found),
        Output::Csv => csv(&found),
        Output::Svg => svg(&found),
    };
    output::say(printed.trim_end());
    if found.passes() {
        return Ok(());
    }
    Err(Failure::new(format!("{file}: {}", found.broken.join("; "))))
}

/// Runs a model under the traffic of a profile, given as its file's name and text.
pub(crate) fn simulated(
    source: &Source,
    (file, profile): (&str, &str),
    prices: Option<&str>,
) -> Result<Simulation, Failure> {
    let profile = parse(profile, &source.model).map_err(|faults| in_file(file, &faults))?;
    let prices = cost::prices_of(source, prices)?;
    let measured = cost::measured(source)?;
    let costing = Costing { prices: &prices, settings: Settings::default() };
    let bar = Bar::new();
    let mut progress = |done, of| bar.at("simulating minutes", done, of);
    simulate(&source.model, &measured, &profile, &costing, &mut progress)
        .map_err(|fault| Failure::new(format!("{file}: {fault}")))
}
