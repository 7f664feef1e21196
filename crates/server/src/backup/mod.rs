//! Commands on what has been: the history of an item, rollbacks, jobs, and backups in a folder or a bucket.
//!
//! - `create`, `restore`: a backup of a database, and its way back; `database` is either end.
//! - `list`, `verify`, `prune`: what stands in a place of backups.
//! - `history`: the versions of one item, whose differences `difference` finds; `rollback`, `jobs`.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::process::failure::Failure;

mod create;
mod database;
mod difference;
pub(crate) mod history;
pub(crate) mod jobs;
mod list;
pub(crate) mod place;
mod prune;
pub(crate) mod restore;
pub(crate) mod rollback;
mod table_argument;
mod verify;

/// Back up a database, and look after backups
///
/// Without a subcommand it backs up all tables of all accounts and regions, or the named ones, as of one
/// moment, while the server goes on. On a server with --credentials, those of the signing account.
/// Subcommands need the place of the backups alone.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupArguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    create: create::CreateArguments,
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
        None => create::run(&arguments.create).map(|()| ExitCode::SUCCESS),
        Some(Command::List(arguments)) => list::run(arguments).map(|()| ExitCode::SUCCESS),
        Some(Command::Verify(arguments)) => verify::run(arguments),
        Some(Command::Prune(arguments)) => prune::run(arguments).map(|()| ExitCode::SUCCESS),
    }
}
