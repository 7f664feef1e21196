//! `keywright bench`: a load generator for any server that speaks DynamoDB over HTTP.
//!
//! It knows a server only by its endpoint, so it measures Keywright and others in the same way. Several
//! endpoints and the limits of the machine are interleaved within one run, because figures of different runs
//! on a shared machine cannot be compared.

mod cli;
mod client;
mod fixed_http;
mod keys;
mod latency;
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

use std::path::Path;

use keywright_process::failure::Failure;
use keywright_process::io_fault::failed;
use keywright_process::output;
use keywright_store_local::LocalStore;

pub use cli::{BenchArguments, FixedHttpArguments};

/// What the program knows of its user, and how it opens a store.
pub trait Settings {
    /// The endpoint that variables or a profile name.
    fn endpoint(&self) -> Result<Option<String>, Failure>;

    /// The region of the requests; `flag` is what the command line says.
    fn region(&self, flag: Option<&str>) -> Result<String, Failure>;

    /// Asks before something changes at the endpoint that variables or a profile name. An error says how to
    /// go on.
    fn confirm(&self, change: &str) -> Result<(), Failure>;

    /// Opens a store in a new folder, as a server opens its own.
    fn bare_store(&self, folder: &Path) -> Result<LocalStore, Failure>;
}

/// Prepares the tables, measures, removes the tables and prints the report.
pub fn run(arguments: &BenchArguments, settings: &dyn Settings) -> Result<(), Failure> {
    let (plan, named_by) = arguments.plan(settings)?;
    if named_by == cli::NamedBy::Settings {
        settings.confirm(&format!("this fills and measures the table {}", plan.data.table))?;
    }
    output::note(&plan.announced());
    let mut made = prepare::MadeTables::default();
    let measured = run::measure(&plan, settings, &mut made);
    if plan.leftover == cli::Leftover::Removed {
        made.remove(&plan);
    }
    let report = measured?;
    report.print(arguments.format)?;
    if let Some(file) = &plan.trend {
        std::fs::write(file, report.trend_svg()).map_err(failed("write", file))?;
    }
    report.silent().map_or(Ok(()), |silent| Err(Failure::new(silent)))
}

/// Serves one fixed response until killed: the bare HTTP server that `--limits` starts.
pub fn serve_fixed(arguments: &FixedHttpArguments) -> Result<(), Failure> {
    fixed_http::serve(arguments.answer_bytes)
}
