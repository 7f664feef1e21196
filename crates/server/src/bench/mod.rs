//! `keywright bench`: a load generator for any server that speaks DynamoDB over HTTP.
//!
//! It knows a server only by its endpoint, so it measures Keywright and others in the same way. Several
//! endpoints and the limits of the machine are interleaved within one run, because figures of different runs
//! on a shared machine cannot be compared.

mod cli;
mod client;
mod fixed_http;
mod keys;
mod limits;
mod load;
mod pace;
mod prepare;
mod processor;
mod report;
mod run;
mod tally;
mod trend;
mod workload;

pub(crate) use cli::{BenchArguments, FixedHttpArguments};

use crate::client::confirm::confirm;
use crate::process::banner;
use crate::process::io_fault::failed;

/// Prepares the tables, measures, removes the tables and prints the report.
pub(crate) fn run(arguments: &BenchArguments) -> Result<(), String> {
    let (plan, target) = arguments.plan()?;
    if let Some(target) = target {
        confirm(&target, &format!("this fills and measures the table {}", plan.data.table))?;
    }
    banner::note(&plan.announced());
    let mut made = prepare::MadeTables::default();
    let measured = run::measure(&plan, &mut made);
    if plan.leftover == cli::Leftover::Removed {
        made.remove(&plan);
    }
    let report = measured?;
    report.print(arguments.format)?;
    if let Some(file) = &plan.trend {
        std::fs::write(file, report.trend_svg()).map_err(failed("write", file))?;
    }
    report.silent().map_or(Ok(()), Err)
}

/// Serves one fixed response until killed: the bare HTTP server that `--limits` starts.
pub(crate) fn serve_fixed(arguments: &FixedHttpArguments) -> Result<(), String> {
    fixed_http::serve(arguments.answer_bytes)
}
