//! Finds environment variables that look like settings and are none: a misspelt one would be ignored in
//! silence.

use clap::Command;

const PREFIX: &str = "KEYWRIGHT_";
/// Settings that are read by `config`, one by the studio of a debug build, not by the command line's library.
const READ_BY_HAND: [&str; 14] = [
    "KEYWRIGHT_DATA",
    "KEYWRIGHT_ENCRYPTION_KEY",
    "KEYWRIGHT_FROM_PASSWORD",
    "KEYWRIGHT_IN_MEMORY",
    "KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY",
    "KEYWRIGHT_KINESIS_SESSION_TOKEN",
    "KEYWRIGHT_LAMBDA_SECRET_ACCESS_KEY",
    "KEYWRIGHT_LAMBDA_SESSION_TOKEN",
    "KEYWRIGHT_S3_SECRET_ACCESS_KEY",
    "KEYWRIGHT_S3_SESSION_TOKEN",
    "KEYWRIGHT_STORE",
    "KEYWRIGHT_STORE_PASSWORD",
    "KEYWRIGHT_STUDIO_DIST",
    "KEYWRIGHT_TO_PASSWORD",
];
/// Variables that others set: Kubernetes for a service called `keywright`, and `cargo run`, which passes on
/// those of the build script.
const OF_OTHERS: [&str; 3] = ["KEYWRIGHT_SERVICE_", "KEYWRIGHT_PORT_", "KEYWRIGHT_BUILD_"];
/// A name that differs in more letters was meant to be another one.
const LETTERS_MAX: usize = 4;

/// A sentence for each variable of this process that no command reads. `programs` are command lines, each
/// with more commands than the one before: the last one is made only if a variable is in no other.
pub(crate) fn misspelt(programs: [fn() -> Command; 2]) -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_ours(name)).collect();
    let mut complaints = Vec::new();
    for program in programs {
        if names.is_empty() {
            return Vec::new();
        }
        let known = known(&program());
        complaints = names.iter().filter_map(|name| complaint(name, &known)).collect();
        names.retain(|name| !known.contains(name));
    }
    complaints
}

/// Whether a variable looks like a setting.
fn is_ours(name: &str) -> bool {
    let is_of_others = OF_OTHERS.iter().any(|prefix| name.starts_with(prefix));
    name.to_ascii_uppercase().starts_with(PREFIX) && !is_of_others
}

/// All variables that some command reads.
fn known(program: &Command) -> Vec<String> {
    let mut names: Vec<String> = READ_BY_HAND.map(str::to_owned).to_vec();
    collect(program, &mut names);
    names
}

fn collect(command: &Command, names: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
    names.extend(variables.map(str::to_owned));
    command.get_subcommands().for_each(|command| collect(command, names));
}

fn complaint(name: &str, known: &[String]) -> Option<String> {
    if !is_ours(name) || known.iter().any(|known| known == name) {
        return None;
    }
    let distance = |known: &String| strsim::damerau_levenshtein(&name.to_ascii_uppercase(), known);
    let closest = known.iter().map(|known| (distance(known), known)).min();
    Some(match closest.filter(|(letters, _)| *letters <= LETTERS_MAX) {
        Some((_, closest)) => {
            format!("the variable {name} is not a setting and has no effect: write {closest}")
        }
        None => format!("the variable {name} is not a setting and has no effect: see keywright serve --help"),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_misspelt_variable_is_reported_with_the_closest_name() {
        let known = known(&Cli::command());
        let says = |name: &str| complaint(name, &known);
        for (name, closest) in [
            ("KEYWRIGHT_DATE", "KEYWRIGHT_DATA"),
            ("KEYWRIGHT_INMEMORY", "KEYWRIGHT_IN_MEMORY"),
            ("KEYWRIGHT_CACHE_MB", "KEYWRIGHT_CACHE_MIB"),
            ("KEYWRIGHT_MANAGMENT_PORT", "KEYWRIGHT_MANAGEMENT_PORT"),
            ("keywright_port", "KEYWRIGHT_PORT"),
        ] {
            assert!(says(name).unwrap().ends_with(&format!("write {closest}")), "{:?}", says(name));
        }
        assert!(says("KEYWRIGHT_SOMETHING_ELSE_ALTOGETHER").unwrap().ends_with("--help"));
    }

    #[test]
    fn settings_and_variables_of_others_are_not_reported() {
        let known = known(&Cli::command());
        assert!(known.len() > 20, "{known:?}");
        for name in known.iter().map(String::as_str).chain([
            "PATH",
            "KEYWRIGHT",
            "KEYWRIGHT_SERVICE_HOST",
            "KEYWRIGHT_PORT_8000_TCP_ADDR",
            "KEYWRIGHT_BUILD_COMMIT",
        ]) {
            assert_eq!(complaint(name, &known), None);
        }
    }
}
