//! Runs the command.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::support::without_aws_settings;

/// `keywright migrate` in a folder, or another command that arguments begin with.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keywright"));
    without_aws_settings(&mut command);
    if arguments.first().is_some_and(|first| first.starts_with("--")) {
        command.arg("migrate");
    }
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn spawn(folder: &Path, arguments: &[&str]) -> Child {
    command(folder, arguments).spawn().unwrap()
}

/// What a command has said, on both outputs.
pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs the command, which must succeed.
pub(crate) fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}

/// Runs the command, which must fail, and checks that it names these.
pub(crate) fn fails(folder: &Path, arguments: &[&str], names: &[&str]) -> String {
    let output = command(folder, arguments).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for name in names {
        assert!(said.contains(name), "without {name}: {said}");
    }
    said
}

/// Ends a command as Ctrl-C does, and returns what it has said.
pub(crate) fn interrupt(child: Child) -> String {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    said(&output)
}
