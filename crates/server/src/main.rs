//! The binary `keywright`: it parses the command line and hands over.

mod auth;
mod banner;
mod bench;
mod carried;
mod cli;
mod config;
mod credentials;
mod environment;
mod frame;
mod head;
mod http;
mod listener;
mod model;
mod origin;
mod patience;
mod serve;
mod timers;
mod tls;

use std::process::ExitCode;

use clap::Parser;

/// A request makes some forty small allocations, a batch several hundred: they are the second largest part of what it costs.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(()) if banner::all_said() => ExitCode::SUCCESS,
        // It was told when it happened.
        Ok(()) => ExitCode::FAILURE,
        Err(fault) => {
            banner::complain(&fault);
            ExitCode::FAILURE
        }
    }
}
