//! `keywright encryption enable` and `disable`: a stopped folder changes its form as a whole.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::audit;
use crate::client::confirm;
use crate::process::failure::Failure;
use crate::process::output;
use crate::settings::encryption::FolderKeyArguments;
use crate::storage::encryption::source::KeySource;
use crate::storage::encryption::swap::{self, Aim};

/// Encrypt the data folder of a stopped server
///
/// An encrypted copy next to the folder takes its place, and the folder before is removed. It needs as much
/// room on the disk again. Blocks that the file system frees may still hold the old bytes: if that matters,
/// keep the folder on a new disk and destroy the old one.
#[derive(Debug, Args)]
pub(super) struct EnableArguments {
    /// The data folder
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_DATA", default_value = "keywright-data")]
    data: PathBuf,
    #[command(flatten)]
    key: FolderKeyArguments,
}

/// Decrypt the data folder of a stopped server
///
/// A copy that is not encrypted takes the place of the folder.
#[derive(Debug, Args)]
pub(super) struct DisableArguments {
    /// The data folder
    #[arg(long, value_name = "DIR", env = "KEYWRIGHT_DATA", default_value = "keywright-data")]
    data: PathBuf,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    key: FolderKeyArguments,
}

pub(super) fn enable(arguments: &EnableArguments) -> Result<(), Failure> {
    let source = arguments.key.required()?;
    change(&arguments.data, Aim::Encrypted, &source)?;
    let data = arguments.data.display();
    output::say(&format!("{data} is encrypted now, under the master key of {}", source.shown()));
    output::note(
        "blocks that the file system has freed may still hold old bytes; old backups and copies are as they were",
    );
    Ok(())
}

pub(super) fn disable(arguments: &DisableArguments) -> Result<(), Failure> {
    let source = arguments.key.required()?;
    let data = &arguments.data;
    if !arguments.yes {
        confirm::confirm_here(&format!(
            "this decrypts {}: everybody who has its files can read them",
            data.display()
        ))?;
    }
    change(data, Aim::Plain, &source)?;
    output::say(&format!("{} is not encrypted any more", data.display()));
    Ok(())
}

fn change(data: &Path, aim: Aim, source: &KeySource) -> Result<(), Failure> {
    let swapped = swap::swap(data, (aim, source), audit::is_log)?;
    if swapped.was_begun {
        output::note("the rest of an interrupted command was done");
    }
    for name in swapped.as_they_were {
        output::note(&format!("{name} is not a file of the database and stays as it was"));
    }
    Ok(())
}
