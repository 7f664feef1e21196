//! The `keywright` program: parses the command line and runs the command.
//!
//! It is a library only so that fuzz targets reach its connections; its one function is the program.

mod about;
mod answer_size;
mod any_store;
mod auth;
mod aws_profile;
mod aws_settings;
mod backend;
mod banner;
mod bench;
mod body;
mod branches;
mod budget;
mod cli;
mod client;
mod clock;
mod config;
mod confirm;
mod connections;
mod copy;
mod credentials;
mod damage_report;
mod data;
mod database;
mod descriptors;
mod endpoint;
mod endpoint_url;
mod environment;
mod failed_signatures;
mod find_table;
mod foreign;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod handshake;
mod head_meter;
mod health_check;
mod hosts;
mod http;
mod idle_timeout;
mod inflate;
mod io_fault;
mod limits;
mod listener;
mod log;
mod management;
mod mcp;
mod model;
mod overview;
mod paging;
mod private_file;
mod ready_file;
mod recovery;
mod refused;
mod request_head;
mod request_log;
mod request_metrics;
mod request_trace;
mod response;
mod run_to_completion;
mod scrub;
mod serve;
mod store_url;
mod studio;
mod throughput;
mod timers;
mod timestamp;
mod tls;
mod variables;
mod verify;
mod web_guard;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser;

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
