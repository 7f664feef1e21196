//! The `keywright` program: parses the command line and runs the command.
//!
//! It is a library only so that fuzz targets reach its connections; its one function is the program.

mod bench;
mod cli;
mod client;
mod clock;
mod commands;
mod connection;
mod data;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod http;
mod limits;
mod management;
mod mcp;
mod model;
mod process;
mod serve;
mod settings;
mod storage;
mod studio;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser;

use process::{banner, io_fault, log};

/// Runs the program: reads the command line, and returns how it ended.
pub fn run() -> ExitCode {
    if let Some(code) = studio::asked(std::env::args_os()) {
        return code;
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(outcome) => return print_outcome(&outcome),
    };
    let code = match cli::run(cli) {
        Ok(code) if banner::all_written() => code,
        // The failure was reported when it happened.
        Ok(_) => ExitCode::FAILURE,
        Err(fault) => {
            banner::complain(&fault);
            ExitCode::FAILURE
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
            banner::complain(&format!("cannot write to standard output: {}", io_fault::Explained(&error)));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
