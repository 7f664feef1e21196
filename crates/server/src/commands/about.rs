//! What the binary says of itself: its version, completions for shells and manual pages.
//!
//! Completions and pages are made from the command line's own definition.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::process::failure::Failure;
use crate::process::io_fault::failed;
use crate::process::output;

/// What `--version` prints after the name; `build.rs` sets the variables.
pub(crate) const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit    ",
    env!("KEYWRIGHT_BUILD_COMMIT"),
    "\ntarget    ",
    env!("KEYWRIGHT_BUILD_TARGET"),
    "\nfeatures  ",
    env!("KEYWRIGHT_BUILD_FEATURES"),
);

/// Print completions for a shell
///
/// For bash: keywright completions bash > ~/.local/share/bash-completion/completions/keywright
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write one page for each command to this folder; it is created if missing
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: clap::Command,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "keywright", &mut script);
    print(&script)
}

pub(crate) fn man(arguments: &ManArguments, mut command: clap::Command) -> Result<(), Failure> {
    command.build();
    match &arguments.folder {
        None => print(&page(command)?),
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
            write_pages(command, folder)
        }
    }
}

/// A page for the command and for each command below it. `help` repeats what the pages say.
fn write_pages(command: clap::Command, folder: &Path) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
    {
        write_pages(below.clone(), folder)?;
    }
    // `keywright-model-check`: clap joins the names when it builds the commands.
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)?).map_err(failed("write the manual page", &path))
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    Man::new(command)
        .render(&mut text)
        .map_err(|error| Failure::new(format!("cannot make the manual page: {error}")))?;
    Ok(text)
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let text = std::str::from_utf8(text).map_err(|error| Failure::new(format!("not UTF-8: {error}")))?;
    output::say(text.trim_end());
    Ok(())
}
