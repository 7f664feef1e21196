//! A position in a model file, and a fault at a position.

use std::fmt;

/// A position in the file, counted from one; zero if the thing did not come from a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    pub line: usize,
    pub column: usize,
}

/// One fault in a model file, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub at: At,
    pub text: String,
}

/// All faults, in file order; never empty when returned as an error.
pub type Faults = Vec<Fault>;

impl Fault {
    pub fn new(at: At, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }

    /// The fault in the style of compilers: `shop.yaml:12:7: …`.
    pub fn in_file(&self, file: &str) -> String {
        if self.at.line == 0 {
            format!("{file}: {}", self.text)
        } else {
            format!("{file}:{}:{}: {}", self.at.line, self.at.column, self.text)
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}
