//! Development tasks of this workspace. `cargo xtask` lists them.

mod attack;
mod clock;
mod instructions;
mod shapes;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask TASK

  attack [NAME…] [--binary PATH] [--seconds N] [--seed N] [--list] [--json FILE]
                 attack a running server on loopback and measure its quiet clients, its memory and its recovery
  instructions [--update]
                 count the instructions of hot operations and compare them with the checked-in figures
  shapes [--check] [BOTOCORE]
                 distil the public service model into the wire's shape table and the parts of requests
  test [ARGUMENTS]
                 install the official clients, run every test (arguments go to cargo test), add up the results
  tidy           check crate edges, file headers, function lengths, where limits and texts live
";

#[expect(clippy::print_stdout, reason = "this program's output is its purpose")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome =
        match arguments.first().map(String::as_str) {
            Some("attack") => tidy::workspace_root()
                .and_then(|root| attack::run(&root, arguments.get(1..).unwrap_or_default())),
            Some("test") => test::run(arguments.get(1..).unwrap_or_default()),
            Some("instructions") => tidy::workspace_root()
                .and_then(|root| instructions::run(&root, arguments.get(1..).unwrap_or_default())),
            Some("tidy") => tidy::run(),
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
