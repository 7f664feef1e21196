//! `keywright data …`: loads items from files into tables of an endpoint, and writes a table's items to
//! files.
//!
//! Both go on where they stopped: each keeps how far it came in a file next to the data.

mod dump;
mod load;
mod progress_file;
pub(crate) mod put;
pub(crate) mod table;

use clap::{Args, Subcommand, ValueEnum};
use keywright_exchange::item_lines::Form;

use crate::process::failure::Failure;

#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Load(load::LoadArguments),
    Dump(dump::DumpArguments),
}

/// The form of a data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArgument {
    /// JSON lines in DynamoDB's typed form, as exports of the service
    Dynamodb,
    /// JSON lines with plain values; binary values and sets become texts and lists
    Plain,
    /// CSV with a header; `name:N` in the header is a number
    Csv,
}

impl FormArgument {
    const fn form(self) -> Form {
        match self {
            Self::Dynamodb => Form::DynamoDb,
            Self::Plain => Form::Plain,
            Self::Csv => Form::Csv,
        }
    }
}

/// Runs the command. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: &DataArguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Load(arguments) => load::run(arguments),
        Command::Dump(arguments) => dump::run(arguments),
    }
}
