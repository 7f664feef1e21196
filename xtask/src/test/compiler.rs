//! What cargo runs as its compiler while `cargo xtask test` builds: rustc, but some crates' unit tests are
//! not optimised. Cargo's profiles can only say so for a crate, and then what needs it is built twice.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Libraries whose unit tests take minutes to be optimised and seconds to run.
const PLAIN: &[&str] = &[
    "keywright_engine",
    "keywright_exchange",
    "keywright_model",
    "keywright_semantics",
    "keywright_workbench",
];

/// Makes cargo call this program as the compiler of the workspace's crates.
pub(super) fn use_for(cargo: &mut Command) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    cargo.env("RUSTC_WORKSPACE_WRAPPER", program);
    Ok(())
}

/// The exit status of the compiler, if cargo has called this program as one: with the compiler's path first.
pub(crate) fn run(arguments: &[OsString]) -> Option<i32> {
    let (compiler, arguments) = arguments.split_first()?;
    if Path::new(compiler).file_stem()? != "rustc" {
        return None;
    }
    let status = Command::new(compiler).args(arguments_for(arguments.to_vec())).status();
    Some(status.ok().and_then(|status| status.code()).unwrap_or(1))
}

fn arguments_for(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let name = arguments.iter().skip_while(|argument| *argument != "--crate-name").nth(1);
    let is_plain = name.is_some_and(|name| PLAIN.iter().any(|plain| name == *plain));
    if is_plain && arguments.iter().any(|argument| argument == "--test") {
        for argument in arguments.iter_mut().filter(|argument| *argument == "opt-level=1") {
            *argument = "opt-level=0".into();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn unit_tests_of_some_libraries_are_not_optimised() {
        let compiled = |line: &str| arguments_for(arguments(line)) == arguments(line);
        let line = |name: &str, more: &str| format!("--crate-name {name} src/lib.rs -C opt-level=1{more}");
        assert!(!compiled(&line("keywright_engine", " --test")));
        assert!(compiled(&line("keywright_engine", " --crate-type lib")));
        assert!(compiled(&line("keywright_designer", " --test")));
        let plain = arguments_for(arguments(&line("keywright_model", " --test")));
        assert_eq!(plain, arguments("--crate-name keywright_model src/lib.rs -C opt-level=0 --test"));
    }

    #[test]
    fn it_is_called_as_a_compiler_only_with_the_path_of_one() {
        assert_eq!(run(&arguments("test --long")), None);
        assert_eq!(run(&[]), None);
    }
}
