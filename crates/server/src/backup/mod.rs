//! Commands on what has been: the history of an item, rollbacks, jobs, and backups in a folder or a bucket.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::process::failure::Failure;

mod difference;
pub(crate) mod history;
pub(crate) mod jobs;
mod list;
mod place;
mod prune;
pub(crate) mod rollback;
mod verify;

/// Look after backups: list, verify and remove them
///
/// These commands need the place of the backups alone, and no database.
#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::ListArguments),
    Verify(verify::VerifyArguments),
    Prune(prune::PruneArguments),
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &BackupArguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments).map(|()| ExitCode::SUCCESS),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Prune(arguments) => prune::run(arguments).map(|()| ExitCode::SUCCESS),
    }
}
