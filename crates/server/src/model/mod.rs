//! `keywright model …`: commands on data models.
//!
//! Each command reads files, calls the workbench library and prints what it returns; one file per command.

mod apply;
pub(crate) mod check;
pub(crate) mod cost;
pub(crate) mod design;
mod diff;
mod explain;
pub(crate) mod export;
mod fetch;
pub(crate) mod files;
pub(crate) mod format;
mod heat;
mod import;
mod init;
mod show;
mod simulate;

use clap::{Args, Subcommand};

use crate::process::failure::Failure;
use crate::process::output;

pub(crate) use files::Source;
pub(crate) use format::Format;
pub(crate) use simulate::{SimulateArguments, run as run_simulation, simulated};

#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Apply(Box<apply::ApplyArguments>),
    Check(check::CheckArguments),
    Cost(cost::CostArguments),
    Design(design::DesignArguments),
    Diff(diff::DiffArguments),
    Explain(explain::ExplainArguments),
    Export(export::ExportArguments),
    Heat(heat::HeatArguments),
    Import(Box<import::ImportArguments>),
    Init(init::InitArguments),
    Show(show::ShowArguments),
    /// Print the JSON Schema of model files, for editors
    Schema,
    Prices(cost::PricesArguments),
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &ModelArguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Apply(arguments) => apply::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Cost(arguments) => cost::run(arguments),
        Command::Design(arguments) => design::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Heat(arguments) => heat::run(arguments),
        Command::Import(arguments) => import::run(arguments),
        Command::Init(arguments) => init::run(arguments),
        Command::Show(arguments) => show::run(arguments),
        Command::Schema => {
            output::say(keywright_model::schema().trim_end());
            Ok(())
        }
        Command::Prices(arguments) => cost::run_prices(arguments),
    }
}
