//! `cargo xtask attack [NAME…]`: attacks a running server and measures what its quiet clients notice.
//!
//! Each attack gets a server of its own on a loopback port and lasts a few seconds. The families of attacks
//! are one file each; `conduct.rs` runs one of them and judges it, `report.rs` prints the table.

mod abandoned;
mod background;
mod batches;
mod bodies;
mod clock;
mod conditions;
mod conduct;
mod dice;
mod field;
mod framing;
mod http;
mod legacy;
mod long_key;
mod monitoring;
mod names;
mod pipelining;
mod quiet;
mod report;
mod request;
mod server;
mod sign;
mod slow;
mod streams;
mod studio;
mod studio_shares;
mod tables;
mod unsigned;
mod updates;
mod writers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use conduct::{Attack, Outcome};

use crate::cargo::cargo;

/// Long enough for a request that freezes the server to show, short enough for all attacks in some minutes.
const SECONDS: u64 = 6;
const SEED: u64 = 1;

const FAMILIES: &[&[Attack]] = &[
    legacy::ATTACKS,
    updates::ATTACKS,
    conditions::ATTACKS,
    bodies::ATTACKS,
    long_key::ATTACKS,
    pipelining::ATTACKS,
    slow::ATTACKS,
    unsigned::ATTACKS,
    framing::ATTACKS,
    writers::ATTACKS,
    monitoring::ATTACKS,
    tables::ATTACKS,
    streams::ATTACKS,
    batches::ATTACKS,
    background::ATTACKS,
    studio::ATTACKS,
    names::ATTACKS,
    abandoned::ATTACKS,
    studio_shares::ATTACKS,
];

const USAGE: &str = "\
usage: cargo xtask attack [NAME…] [--binary PATH] [--seconds N] [--seed N] [--list] [--json FILE]

  NAME           an attack or the beginning of its name: `pipelining` is all of `pipelining/…`
  --binary PATH  attack this keywright instead of the release build of this workspace
  --seconds N    how long each attack lasts (6)
  --seed N       the seed of random streams (1); the same seed makes the same streams
  --list         list the attacks
  --json FILE    write all figures to this file too
";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    binary: Option<PathBuf>,
    time: Duration,
    seed: u64,
    list: bool,
    json: Option<PathBuf>,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let options = parse(arguments)?;
    let chosen = chosen(&options.names)?;
    if options.list {
        return Ok(report::list(&chosen));
    }
    if cfg!(debug_assertions) {
        return optimised(root, arguments);
    }
    let binary = match &options.binary {
        Some(binary) => std::path::absolute(binary).map_err(|error| error.to_string())?,
        None => build(root)?,
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    report::say(&report::heading(&binary, options.time, options.seed));
    for attack in chosen {
        let outcome = conduct::run(attack, &binary, options.time, options.seed);
        report::say(&report::row(&outcome));
        outcomes.push(outcome);
        if let Some(file) = &options.json {
            // After each attack, so that a run that is broken off leaves its figures.
            let text = report::json(&outcomes, options.seed).to_string();
            std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    report::summary(&outcomes)
}

/// Runs the attacks by this program optimised: they must not use the processor that the attacked server
/// needs.
fn optimised(root: &Path, arguments: &[String]) -> Result<String, String> {
    let status = cargo()
        .args(["run", "--quiet", "--profile", "quick", "--package", "xtask", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .args(["--", "attack"])
        .args(arguments)
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(String::new()) } else { Err(String::new()) }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        names: Vec::new(),
        binary: None,
        time: Duration::from_secs(SECONDS),
        seed: SEED,
        list: false,
        json: None,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value\n{USAGE}"));
        let number = |text: &String| text.parse().map_err(|_| format!("{text} is no whole number\n{USAGE}"));
        match argument.as_str() {
            "--binary" => options.binary = Some(value()?.into()),
            "--seconds" => options.time = Duration::from_secs(number(value()?)?),
            "--seed" => options.seed = number(value()?)?,
            "--json" => options.json = Some(value()?.into()),
            "--list" => options.list = true,
            name if !name.starts_with('-') => options.names.push(name.to_owned()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

/// The attacks of these names and families; all if there are none.
fn chosen(names: &[String]) -> Result<Vec<&'static Attack>, String> {
    let all = || FAMILIES.iter().copied().flatten();
    let matches = |attack: &Attack, name: &str| {
        attack.name == name || attack.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('/'))
    };
    if let Some(name) = names.iter().find(|name| !all().any(|attack| matches(attack, name))) {
        return Err(format!("there is no attack {name}; `cargo xtask attack --list` lists them"));
    }
    Ok(all().filter(|attack| names.is_empty() || names.iter().any(|name| matches(attack, name))).collect())
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let status = cargo()
        .current_dir(root)
        .args(["build", "--quiet", "--release", "-p", "keywright-server"])
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err("the server does not build".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/keywright"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_name_chooses_an_attack_or_a_family() {
        let all = chosen(&[]).unwrap();
        let names: BTreeSet<&str> = all.iter().map(|attack| attack.name).collect();
        assert_eq!(names.len(), all.len(), "names differ");
        let family = chosen(&words("pipelining")).unwrap();
        assert!(family.len() > 1 && family.len() < all.len());
        assert_eq!(chosen(&words("mixed-framing")).unwrap().len(), 1);
        assert!(chosen(&words("pipe")).is_err());
    }

    #[test]
    fn options_are_read() {
        let options = parse(&words("long-key --seconds 3 --binary /tmp/b --seed 7 --list")).unwrap();
        assert_eq!((options.time, options.seed, options.list), (Duration::from_secs(3), 7, true));
        assert_eq!(options.names, ["long-key"]);
        assert!(parse(&words("--seconds")).is_err() && parse(&words("--wrong")).is_err());
    }
}
