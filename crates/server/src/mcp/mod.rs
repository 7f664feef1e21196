//! `keywright mcp`: the model commands and requests to tables as tools of the Model Context Protocol, over
//! standard input and output.
//!
//! `session` speaks the protocol, `tools` lists what can be called, `models` and `database` run it. Only
//! `session` and `tools` know the protocol's library. Tools on models run in processes of their own, as the
//! studio's calls do (`studio::Workers`): what a text makes can be much larger than the text.

mod arguments;
mod database;
mod lines;
mod models;
mod session;
mod tools;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::client::endpoint::{Credentials, Endpoint};
use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::studio::Workers;

/// Give an assistant the model commands and, with --endpoint, tables to read
///
/// Speaks the Model Context Protocol over standard input and output: an assistant starts this command itself.
/// docs/guide/mcp.md shows how to set it up.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Read models and the files that they name in this folder, and none outside of it
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Let the assistant read tables at this endpoint, such as `http://localhost:8000`; no variable names it
    #[arg(long, alias = "endpoint-url", value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// Let it change tables and items there too
    #[arg(long, requires = "endpoint")]
    allow_writes: bool,
    /// Let it restore tables there from backups and points in time, each into a new table
    #[arg(long, requires = "endpoint")]
    allow_restores: bool,
    #[command(flatten)]
    credentials: Credentials,
}

/// What tools work on.
struct Setting {
    workers: Workers,
    database: Option<database::Database>,
}

/// Serves until standard input ends. An error is a message for the person at the terminal.
pub(crate) fn run(arguments: McpArguments) -> Result<(), Failure> {
    let folder =
        std::fs::canonicalize(&arguments.folder).map_err(failed("open --folder", &arguments.folder))?;
    if !folder.is_dir() {
        return Err(Failure::new(format!("--folder {} is not a folder", arguments.folder.display())));
    }
    let allowed = database::Allowed { writes: arguments.allow_writes, restores: arguments.allow_restores };
    let database =
        arguments.endpoint.map(|endpoint| database::Database::new(endpoint, arguments.credentials, allowed));
    session::serve(Setting { workers: Workers::of_tools(folder), database })
}

/// Executes a tool on models, in a process for it. The folder is a canonical path; the arguments are JSON.
pub(crate) fn execute(folder: &Path, tool: &str, arguments: &[u8]) -> Result<String, String> {
    let on_models = tools::on_models(tool).ok_or_else(|| format!("there is no tool {tool}"))?;
    let arguments = serde_json::from_slice(arguments).map_err(|fault| fault.to_string())?;
    models::run(on_models, folder, arguments::Arguments::new(Some(arguments)))
}
