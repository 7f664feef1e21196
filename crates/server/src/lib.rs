//! The `keywright` program: parses the command line and runs the command.
//!
//! It is a library only so that fuzz targets and counts of instructions reach its connections; its one
//! function is the program.
//!
//! A module imports only from layers to its left; modules joined by a comma are independent of each other.
//!
//! Layers: limits, clock, outgoing < kms, peers, simulation < storage < targets, deliveries, audit < http <
//! management < settings < client, jobs, destinations, triggers < data < backup, migrate, transfer <
//! model < mcp < commands < serve < cli
//!
//! - `limits`: the server's bounds; `clock`: the database's time; `outgoing`: requests to other servers.
//! - `kms`: calls of a key management service; `peers`: calls of servers that own other regions;
//!   `simulation`: faults between regions.
//! - `storage`: the stores, the database over one of them, what watches it, the backup store, the buckets
//!   that requests may name, files that only their owner may read.
//! - `targets`: where triggers may send records; `deliveries`: what this process delivers for them; `audit`:
//!   the log of who did what.
//! - `http`: a request of the API from head to response.
//! - `management`: metrics and health on a port of their own.
//! - `settings`: flags, variables and file become what the parts below ask for.
//! - `jobs`: moves the bytes of jobs that need the backup store, and makes backups that are due.
//! - `destinations`: sends the changes of tables to Kinesis streams.
//! - `triggers`: delivers records of streams to the targets of triggers.
//! - `client`: an endpoint as commands see it; `data`, `backup`, `migrate`, `transfer`, `model`, `mcp`:
//!   commands over one.
//! - `commands`: the small commands; `serve`: the server as a whole; `cli`: which command runs.

mod access;
mod audit;
mod backup;
mod cli;
mod client;
mod clock;
mod commands;
#[cfg(feature = "counted")]
pub mod counted;
mod data;
mod deliveries;
mod destinations;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod http;
#[cfg(any(feature = "counted", feature = "fuzz"))]
mod in_memory;
mod jobs;
mod kms;
mod limits;
mod management;
mod mcp;
mod migrate;
mod model;
mod outgoing;
mod peers;
mod serve;
mod settings;
mod simulation;
mod storage;
mod targets;
mod transfer;
mod triggers;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use keywright_bench as bench;
use keywright_connection as connection;
use keywright_process as process;
use keywright_studio as studio;

use process::{io_fault, log, output};

/// Runs the program: reads the command line, and returns how it ended.
pub fn run() -> ExitCode {
    serve::huge_pages::avoid();
    if let Some(code) = studio::asked(std::env::args_os(), mcp::execute) {
        return code;
    }
    let cli = match cli::Cli::read() {
        Ok(cli) => cli,
        Err(outcome) => return print_outcome(&outcome),
    };
    let code = match cli::run(cli) {
        Ok(code) if output::all_written() => code,
        // The failure was reported when it happened.
        Ok(_) => ExitCode::FAILURE,
        Err(fault) => {
            output::complain(&fault.to_string());
            ExitCode::from(fault.status())
        }
    };
    log::finish();
    code
}

/// Prints help, the version or a usage error. Help that cannot be written is a failure, as with any other
/// output.
fn print_outcome(outcome: &clap::Error) -> ExitCode {
    let written = outcome.print().and_then(|()| std::io::stdout().flush());
    match written {
        _ if outcome.use_stderr() => {
            u8::try_from(outcome.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
        }
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            output::complain(&format!("cannot write to standard output: {}", io_fault::Explained(&error)));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
