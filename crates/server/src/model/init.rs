//! `keywright model init`: writes a model to start from.

use std::path::PathBuf;

use clap::Args;
use keywright_model as model;

use super::files;
use crate::process::failure::Failure;
use crate::process::output;

/// Write a commented model that passes its check
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// The file to write; `-` writes to standard output
    #[arg(default_value = "model.yaml")]
    file: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &InitArguments) -> Result<(), Failure> {
    if arguments.file.as_os_str() == "-" {
        output::say(model::starter().trim_end());
        return Ok(());
    }
    files::write(&arguments.file, model::starter(), arguments.force)?;
    let (file, word) =
        (arguments.file.display(), model::shell::word(&arguments.file.to_string_lossy()).into_owned());
    output::note(&format!("Wrote {file}. Next: keywright model check {word}"));
    Ok(())
}
