//! `keywright model …`: data models checked, converted and compared.
//!
//! Each command reads files, calls the workbench library and prints what it returns; one file per command.

mod diff;
mod export;
mod fetch;
mod files;
mod import;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Diff(diff::DiffArguments),
    Export(export::ExportArguments),
    Import(Box<import::ImportArguments>),
}

/// Does what the command line asks. An error is a sentence for the person at the terminal.
pub(crate) fn run(arguments: &ModelArguments) -> Result<(), String> {
    match &arguments.command {
        Command::Diff(arguments) => diff::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Import(arguments) => import::run(arguments),
    }
}
