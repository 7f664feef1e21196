//! The command line: its commands, and which module runs each. Options stand where they are used.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::access::AccessArguments;
use crate::commands::audit::AuditArguments;
use crate::commands::credentials::CredentialArguments;
use crate::commands::{
    self, about, access, audit, copy, credentials, destinations, encryption, global, health_check, triggers,
    verify,
};
use crate::process::failure::Failure;
use crate::settings::arguments::ServeArguments;
use crate::settings::config::Config;
use crate::{backup, bench, data, mcp, migrate, model, serve, transfer};

/// A DynamoDB-compatible database in one binary.
///
/// Without a command, `keywright` serves: `keywright --port 8001` is `keywright serve --port 8001`.
#[derive(Debug, Parser)]
#[command(
    name = "keywright",
    version,
    long_version = about::LONG_VERSION,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArguments,
}

/// The command that serves.
const SERVE: &str = "serve";

/// The server's options alone. What makes all commands is a large part of the program, and would stay in the
/// memory of a server that never runs them.
#[derive(Debug, Parser)]
#[command(name = "keywright")]
struct ServeAlone {
    #[command(flatten)]
    serve: ServeArguments,
}

impl Cli {
    /// Reads the command line of this process.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        Self::of_server(&arguments).map_or_else(|| Self::try_parse_from(&arguments), Ok)
    }

    /// A valid command line that serves. All others are for the whole parser, which says what is wrong.
    fn of_server(arguments: &[OsString]) -> Option<Self> {
        let (program, options) = arguments.split_first()?;
        let options = match options {
            [command, options @ ..] if command == SERVE => options,
            options => options,
        };
        let ServeAlone { serve } = ServeAlone::try_parse_from([program].into_iter().chain(options)).ok()?;
        Some(Self { command: None, serve })
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the DynamoDB API from a folder on this machine, from memory, or from a shared store.
    Serve(Box<ServeArguments>),
    /// Manage the access keys that requests must be signed with.
    Credentials(CredentialArguments),
    /// Say who may do what: apply, export and check users and policies, and explain decisions.
    Access(Box<AccessArguments>),
    Audit(AuditArguments),
    /// Check, convert and compare data models.
    Model(model::ModelArguments),
    Simulate(model::SimulateArguments),
    /// Load items into tables and dump them to files.
    Data(Box<data::DataArguments>),
    Backup(Box<backup::BackupArguments>),
    Restore(Box<backup::restore::RestoreArguments>),
    History(backup::history::HistoryArguments),
    Rollback(Box<backup::rollback::RollbackArguments>),
    Export(Box<transfer::export::ExportArguments>),
    Import(Box<transfer::import::ImportArguments>),
    Migrate(Box<migrate::MigrateArguments>),
    Replicate(Box<migrate::ReplicateArguments>),
    Triggers(triggers::TriggersArguments),
    Destinations(destinations::DestinationsArguments),
    Global(global::GlobalArguments),
    Jobs(backup::jobs::JobsArguments),
    Copy(Box<copy::CopyArguments>),
    Verify(verify::VerifyArguments),
    Encryption(Box<encryption::EncryptionArguments>),
    Health(health_check::HealthArguments),
    Mcp(Box<mcp::McpArguments>),
    /// Benchmark one or more DynamoDB endpoints, interleaved.
    Bench(Box<bench::BenchArguments>),
    Completions(about::CompletionsArguments),
    Man(about::ManArguments),
    /// Serve one fixed response, for `bench --limits`.
    #[command(hide = true)]
    BenchFixedHttp(bench::FixedHttpArguments),
}

/// The command line as the server and as the whole program have it.
pub(crate) const PROGRAM: [fn() -> clap::Command; 2] = [ServeAlone::command, Cli::command];

/// Runs the command; returns its exit status. An error is a message for the person at the terminal.
pub(crate) fn run(cli: Cli) -> Result<ExitCode, Failure> {
    if !matches!(cli.command, None | Some(Command::Serve(_))) {
        serve::huge_pages::allow();
    }
    match cli.command {
        None => serve::run(Config::merge(cli.serve)?, PROGRAM),
        Some(Command::Serve(arguments)) => serve::run(Config::merge(*arguments)?, PROGRAM),
        Some(Command::Credentials(arguments)) => credentials::run(&arguments),
        Some(Command::Access(arguments)) => return access::run(*arguments),
        Some(Command::Audit(arguments)) => audit::run(arguments),
        Some(Command::Model(arguments)) => model::run(&arguments),
        Some(Command::Simulate(arguments)) => model::run_simulation(&arguments),
        Some(Command::Data(arguments)) => data::run(&arguments),
        Some(Command::Backup(arguments)) => return backup::run(&arguments),
        Some(Command::Restore(arguments)) => backup::restore::run(&arguments),
        Some(Command::History(arguments)) => backup::history::run(&arguments),
        Some(Command::Rollback(arguments)) => backup::rollback::run(&arguments),
        Some(Command::Export(arguments)) => transfer::export::run(&arguments),
        Some(Command::Import(arguments)) => transfer::import::run(&arguments),
        Some(Command::Migrate(arguments)) => migrate::run(&arguments),
        Some(Command::Replicate(arguments)) => migrate::replicate(&arguments),
        Some(Command::Triggers(arguments)) => triggers::run(&arguments),
        Some(Command::Destinations(arguments)) => destinations::run(&arguments),
        Some(Command::Global(arguments)) => global::run(&arguments),
        Some(Command::Jobs(arguments)) => backup::jobs::run(&arguments),
        Some(Command::Copy(arguments)) => copy::run(&arguments),
        Some(Command::Verify(arguments)) => return verify::run(&arguments),
        Some(Command::Encryption(arguments)) => encryption::run(*arguments),
        Some(Command::Health(arguments)) => health_check::run(&arguments),
        Some(Command::Mcp(arguments)) => mcp::run(*arguments),
        Some(Command::Bench(arguments)) => commands::bench::run(&arguments),
        Some(Command::Completions(arguments)) => about::completions(&arguments, Cli::command()),
        Some(Command::Man(arguments)) => about::man(&arguments, Cli::command()),
        Some(Command::BenchFixedHttp(arguments)) => bench::serve_fixed(&arguments),
    }
    .map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> (Option<Cli>, Result<Cli, clap::Error>) {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        (Cli::of_server(&arguments), Cli::try_parse_from(&arguments))
    }

    #[test]
    fn a_servers_options_alone_mean_what_they_mean_to_the_whole_parser() {
        for line in [
            "keywright",
            "keywright serve",
            "keywright --port 8001 --in-memory",
            "keywright serve --port=8001 --in-memory --studio-port off",
            "keywright serve --config serve --cors-origin https://a.example",
        ] {
            let (alone, whole) = read(line);
            let whole = match whole.expect(line) {
                Cli { command: Some(Command::Serve(serve)), .. } => *serve,
                cli => cli.serve,
            };
            let alone = alone.expect(line);
            assert!(alone.command.is_none(), "{line}");
            assert_eq!(format!("{:?}", alone.serve), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn other_lines_are_for_the_whole_parser() {
        for line in [
            "keywright --help",
            "keywright serve --help",
            "keywright --version",
            "keywright bench",
            "keywright model check",
            "keywright serve serve",
            "keywright --port 8001 serve",
            "keywright serve --port x",
            "keywright help serve",
        ] {
            assert!(read(line).0.is_none(), "{line}");
        }
    }
}
