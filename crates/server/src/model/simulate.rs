//! `keywright simulate`: a model under the traffic of a profile.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use keywright_workbench::cost::{Costing, Settings};
use keywright_workbench::simulate::{csv, json, parse, simulate, svg, text};

use super::progress::during;
use super::{cost, files};
use crate::banner;

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

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), String> {
    let model = files::read_model(&arguments.model)?;
    let path = &arguments.profile;
    let profile = parse(&files::read(path)?, &model).map_err(|faults| cost::shown(path, &faults))?;
    let prices = cost::prices(arguments.prices.as_deref().or(model.prices.as_deref()))?;
    let measured = cost::measured(&arguments.model, &model)?;
    let costing = Costing { prices: &prices, settings: Settings::default() };
    let found = during("simulating", || simulate(&model, &measured, &profile, &costing))
        .map_err(|fault| format!("{}: {fault}", path.display()))?;
    let printed = match arguments.format {
        Output::Text => text(&found),
        Output::Json => json(&found),
        Output::Csv => csv(&found),
        Output::Svg => svg(&found),
    };
    banner::say(printed.trim_end());
    if found.passes() {
        return Ok(());
    }
    Err(format!("{}: {}", path.display(), found.broken.join("; ")))
}
