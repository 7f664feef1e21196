//! The rules L001 to L060: findings about a model and what its run measured.
//!
//! It executes nothing; it knows no rule that the service does not have. Rules stand in files by what they look at; the
//! table of all rules, with their severities, sources and explanations, is `rules`.

mod bills;
mod context;
mod expiry;
mod heat;
mod indexes;
mod items;
mod keys;
mod paths;
mod rules;
mod shapes;
mod tenants;
mod writes;

use crate::model::{At, Model};
use crate::run::Report;

pub use context::Context;
pub use rules::{RULES, Rule, explain, rule};

/// How bad it is: an error fails the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

impl Severity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One thing that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    pub severity: Severity,
    pub at: At,
    /// The pattern, entity, table or index it is about.
    pub subject: String,
    pub text: String,
    /// What to do, for this very case.
    pub fix: String,
}

/// Everything the rules find, in the file's order.
pub fn lint(model: &Model, report: &Report) -> Vec<Finding> {
    let context = Context::new(model, report);
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.check)(&context)).collect();
    findings.sort_by(|one, other| {
        (one.severity, one.at, one.rule, &one.subject).cmp(&(
            other.severity,
            other.at,
            other.rule,
            &other.subject,
        ))
    });
    findings
}
