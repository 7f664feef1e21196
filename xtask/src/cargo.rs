//! The cargo that builds what a task needs.

use std::process::Command;

/// The cargo that runs this task; without one, the cargo of the shell. By the first, or by rustup in place of
/// the second, one compiler is chosen for all crates. The path of the cargo that compiled this program does
/// not do: each crate would be compiled by the release that its own `rust-toolchain` file names.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
