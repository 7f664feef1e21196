//! Development tasks of this workspace. `cargo xtask` lists them.

mod attack;
mod budgets;
mod cargo;
mod clock;
mod dist;
mod instructions;
mod shapes;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  attack [NAME…] [--binary PATH] [--seconds N] [--seed N] [--list] [--json FILE]
                 attack a running server on loopback and measure its quiet clients, its memory and its recovery
  dist [--binary PATH] [--output DIR] [--fast] [--tikv] [archive|deb|docker|npm|sbom|wheel…]
                 build a static binary and make the packages that people install, in target/dist; --tikv: the archive
                 alone, keywright-tikv, with the store on TiKV; --binary: of this
                 binary, without building one; --fast: compress little
  instructions [--update]
                 count the instructions of hot operations and compare them with the checked-in figures
  pages          link and shrink the studio's pages into crates/studio/pages/dist, which released binaries serve;
                 needs Node and npm
  shapes [--check] [BOTOCORE]
                 distil the public service model into the wire's shape table and the parts of requests
  test [--long] [ARGUMENTS] [-- ARGUMENTS]
                 install the official clients, run all test programs side by side, show totals and the slowest tests;
                 arguments go to cargo, those after -- to every program; --long: random seeds and 20 times the cases
  tidy [--list [PART] | --update]
                 check structure, layers, rings, names, prose, limits, assertions and budgets; list what xtask/tidy.toml still allows;
                 take in what has become better
";

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
fn main() -> ExitCode {
    if let Some(status) = test::compiler::run(&std::env::args_os().skip(1).collect::<Vec<_>>()) {
        return ExitCode::from(u8::try_from(status).unwrap_or(1));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome =
        match arguments.first().map(String::as_str) {
            Some("attack") => tidy::workspace_root()
                .and_then(|root| attack::run(&root, arguments.get(1..).unwrap_or_default())),
            Some("dist") => dist::run(arguments.get(1..).unwrap_or_default()),
            Some("test") => test::run(arguments.get(1..).unwrap_or_default()),
            Some("instructions") => tidy::workspace_root()
                .and_then(|root| instructions::run(&root, arguments.get(1..).unwrap_or_default())),
            Some("pages") => tidy::workspace_root().and_then(|root| test::pages(&root)),
            Some("tidy") => tidy::run(arguments.get(1..).unwrap_or_default()),
            Some("shapes") => tidy::workspace_root()
                .and_then(|root| shapes::run(&root, arguments.get(1..).unwrap_or_default())),
            _ => Err(USAGE.to_owned()),
        };
    match outcome {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            println!("{text}");
            ExitCode::FAILURE
        }
    }
}
