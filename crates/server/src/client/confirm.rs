//! Asks before a command changes data at an endpoint of another machine that the command line does not name:
//! a variable that was set for something else must not lead to lost data. A command that changes many items
//! at once asks in any case.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::aws_settings::Target;
use crate::process::failure::Failure;

/// Whether somebody can answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    There,
    Missing,
}

/// Asks unless the command line names the endpoint or it is this machine's. `change` says what the command
/// does, as in `this replaces items of the table Orders`.
pub(crate) fn confirm(target: &Target, change: &str) -> Result<(), Failure> {
    let terminal = if is_answered() { Terminal::There } else { Terminal::Missing };
    decide(target, change, terminal, ask)
}

/// Asks in any case: `change` cannot simply be taken back. Without a terminal the command line has to say
/// --yes.
pub(crate) fn confirm_always(target: &Target, change: &str) -> Result<(), Failure> {
    confirm_here(&format!("{change} at {}", target.endpoint))
}

/// Asks before data of an encrypted folder is written where it is not encrypted.
pub(crate) fn confirm_plain(what: &str) -> Result<(), Failure> {
    consent(&format!("the data folder is encrypted, and {what} is not"), "--plain")
}

/// Asks before tables of encrypted backups go to a server whose data is not encrypted.
pub(crate) fn confirm_plain_server(backups: impl Display) -> Result<(), Failure> {
    consent(&format!("the backups in {backups} are encrypted, and the data of the server is not"), "--plain")
}

/// Asks before something is done on this machine. Without a terminal the command line has to say --yes.
pub(crate) fn confirm_here(change: &str) -> Result<(), Failure> {
    consent(change, "--yes")
}

/// Asks. Without a terminal the command line has to have the flag.
fn consent(asked: &str, flag: &str) -> Result<(), Failure> {
    if !is_answered() {
        return Err(Failure::new(format!("{asked}: pass {flag} if you mean it")));
    }
    if is_yes(&ask(&format!("{asked}. Go on? [y/N] "))) {
        return Ok(());
    }
    Err(Failure::new("nothing was changed"))
}

fn is_answered() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn ask(question: &str) -> String {
    let mut output = io::stderr().lock();
    let _unseen = write!(output, "{question}").and_then(|()| output.flush());
    let mut answer = String::new();
    let _closed = io::stdin().lock().read_line(&mut answer);
    answer
}

fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn decide(
    target: &Target,
    change: &str,
    terminal: Terminal,
    ask: impl FnOnce(&str) -> String,
) -> Result<(), Failure> {
    let Some(setting) = target.surprise() else { return Ok(()) };
    let endpoint = &target.endpoint;
    let asked = format!("{change} at {endpoint}, the endpoint that {setting} names");
    if terminal == Terminal::There {
        let answer = ask(&format!("{asked}. Go on? [y/N] "));
        if is_yes(&answer) {
            return Ok(());
        }
    }
    Err(Failure::new(format!("{asked}: pass --endpoint {endpoint} if you mean it")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::aws_settings::NamedBy;

    #[test]
    fn an_endpoint_of_another_machine_that_a_variable_names_needs_a_yes() {
        let target = |url: &str, named_by| Target { endpoint: url.parse().expect("an endpoint"), named_by };
        let variable = || NamedBy::Setting("AWS_ENDPOINT_URL".to_owned());
        let far = target("https://db.example", variable());
        let outcome = |own: &Target, terminal, answer: &str| {
            decide(own, "this replaces items", terminal, |_| answer.to_owned())
        };
        for answer in ["y\n", "YES\n"] {
            assert_eq!(outcome(&far, Terminal::There, answer), Ok(()));
        }
        for answer in ["", "\n", "n\n", "yo\n"] {
            assert!(outcome(&far, Terminal::There, answer).is_err(), "{answer}");
        }
        let fault = outcome(&far, Terminal::Missing, "y\n").unwrap_err().to_string();
        assert!(
            fault.contains("--endpoint https://db.example") && fault.contains("AWS_ENDPOINT_URL"),
            "{fault}"
        );
        for own in [target("http://127.0.0.1:8000", variable()), target("https://db.example", NamedBy::Flag)]
        {
            assert_eq!(outcome(&own, Terminal::Missing, ""), Ok(()));
        }
    }
}
