//! Faults in an imported document.

use std::fmt;

use keywright_model::FAULTS_MAX;

/// One fault: its place, and what to write there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeFault {
    /// The path in the document, such as `DataModel[0].KeyAttributes`; empty for the document itself.
    pub path: String,
    /// A sentence that says what to write there.
    pub text: String,
}

impl ExchangeFault {
    /// A fault at a path; its text does not repeat the path.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

impl fmt::Display for ExchangeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.text) } else { write!(f, "{}: {}", self.path, self.text) }
    }
}

impl std::error::Error for ExchangeFault {}

/// All faults found.
pub type Faults = Vec<ExchangeFault>;

/// Adds a fault; after as many as a model file reports, one that says that there are more.
pub fn report(faults: &mut Faults, fault: ExchangeFault) {
    match faults.len() {
        len if len < FAULTS_MAX => faults.push(fault),
        FAULTS_MAX => faults.push(ExchangeFault::new("", "there are more faults: fix these first")),
        _ => {}
    }
}
