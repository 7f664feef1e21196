//! Why a command, or the start of the server, has failed.
//!
//! It is made where the fault is found and printed in one place, at the end of `main`. Errors of the database
//! are none of it: they go to clients.

use std::fmt;

/// The exit status of most failures.
const STATUS: u8 = 1;

/// A sentence for the person at the terminal, what to do, and the exit status of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    sentence: String,
    hint: Option<String>,
    status: u8,
}

impl Failure {
    /// A failure with the usual exit status. The sentence says what is wrong, and where.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: None, status: STATUS }
    }

    /// What to do about it.
    #[must_use]
    pub fn advising(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Another exit status than the usual one.
    #[must_use]
    pub fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// The exit status of the program.
    pub const fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hint {
            None => formatter.write_str(&self.sentence),
            Some(hint) => write!(formatter, "{}: {hint}", self.sentence),
        }
    }
}

/// What a parser says is wrong.
impl From<String> for Failure {
    fn from(sentence: String) -> Self {
        Self::new(sentence)
    }
}

impl From<&str> for Failure {
    fn from(sentence: &str) -> Self {
        Self::new(sentence)
    }
}

/// For those who read it elsewhere than at a terminal, such as an assistant.
impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_is_wrong_then_what_to_do_and_has_an_exit_status() {
        let failure = Failure::new("the port is taken");
        assert_eq!((failure.to_string().as_str(), failure.status()), ("the port is taken", 1));
        let failure = failure.advising("choose another one").with_status(2);
        assert_eq!(
            (failure.to_string().as_str(), failure.status()),
            ("the port is taken: choose another one", 2)
        );
    }
}
