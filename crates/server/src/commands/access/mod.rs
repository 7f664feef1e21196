//! `keywright access`: who may do what.

mod apply;
mod check;
mod explain;
mod export;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::process::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct AccessArguments {
    #[command(subcommand)]
    action: AccessAction,
}

#[derive(Debug, Subcommand)]
enum AccessAction {
    Apply(Box<apply::ApplyArguments>),
    Check(check::CheckArguments),
    Explain(Box<explain::ExplainArguments>),
    Export(Box<export::ExportArguments>),
}

pub(crate) fn run(arguments: AccessArguments) -> Result<ExitCode, Failure> {
    match arguments.action {
        AccessAction::Apply(arguments) => apply::run(&arguments),
        AccessAction::Check(arguments) => check::run(&arguments),
        AccessAction::Explain(arguments) => explain::run(&arguments),
        AccessAction::Export(arguments) => export::run(&arguments).map(|()| ExitCode::SUCCESS),
    }
}
