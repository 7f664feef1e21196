//! The binary `keywright`: it parses the command line and hands over.

mod answer_size;
mod auth;
mod banner;
mod bench;
mod body;
mod budget;
mod cli;
mod client;
mod config;
mod connections;
mod credentials;
mod descriptors;
mod environment;
mod failed_signatures;
mod head_meter;
mod hosts;
mod http;
mod idle_timeout;
mod inflate;
mod limits;
mod listener;
mod log;
mod model;
mod private_file;
mod refused;
mod request_head;
mod response;
mod run_to_completion;
mod serve;
mod timers;
mod tls;
mod web_guard;

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser;

/// A request makes some forty small allocations, a batch several hundred: they are the second largest part of what it costs.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let asked = match cli::Cli::try_parse() {
        Ok(asked) => asked,
        Err(told) => return tell(&told),
    };
    let code = match cli::run(asked) {
        Ok(()) if banner::all_said() => ExitCode::SUCCESS,
        // It was told when it happened.
        Ok(()) => ExitCode::FAILURE,
        Err(fault) => {
            banner::complain(&fault);
            ExitCode::FAILURE
        }
    };
    log::finish();
    code
}

/// Prints what the command line itself answers, help or a fault. Help that could not be written is a failure like other
/// data.
fn tell(told: &clap::Error) -> ExitCode {
    let written = told.print().and_then(|()| std::io::stdout().flush());
    match written {
        _ if told.use_stderr() => u8::try_from(told.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            banner::complain(&format!("cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
