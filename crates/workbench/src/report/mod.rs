//! A checked model as text, JSON, `JUnit` XML or Markdown.
//!
//! It formats and decides nothing. There is no colour: words carry the meaning.

mod json;
mod junit;
mod markdown;
mod text;

use crate::lint::{Alike, Finding};
use crate::run::{OperationKind, PatternReport, Report};

pub use crate::run::units;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use text::text;

/// A model's run and what the rules found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// What happened.
    pub report: Report,
    /// What the rules say of it, the worst first.
    pub findings: Vec<Finding>,
}

/// Further places of a finding that a report lists after the first.
const CASES_MAX: usize = 2;

/// The further places of a finding to list, and the number of those left out.
fn cases(finding: &Finding) -> (&[Alike], usize) {
    let listed = finding.alike.get(..finding.alike.len().min(CASES_MAX)).unwrap_or_default();
    (listed, finding.alike.len() - listed.len())
}

/// The index or table that a pattern reads.
fn path(pattern: &PatternReport) -> String {
    match &pattern.index {
        Some(index) => index.clone(),
        None => pattern.table.clone(),
    }
}

fn operation(pattern: &PatternReport) -> String {
    let name = match pattern.operation {
        OperationKind::ScatterGather => format!("Query × {}", pattern.partitions),
        operation => operation.name().to_owned(),
    };
    if pattern.requests > pattern.partitions { format!("{name}, {} pages", pattern.requests) } else { name }
}

pub(crate) fn verdict(pattern: &PatternReport) -> &'static str {
    use crate::run::Outcome;
    match pattern.outcome {
        Outcome::Met => "met",
        Outcome::Ran => "ran",
        Outcome::Unmet(_) => "NOT MET",
        Outcome::NoPlan(_) => "NO PATH",
        Outcome::Failed(_) => "FAILED",
    }
}

/// What went wrong, one sentence each.
pub(crate) fn complaints(pattern: &PatternReport) -> Vec<String> {
    use crate::run::Outcome;
    match &pattern.outcome {
        Outcome::Met | Outcome::Ran => Vec::new(),
        Outcome::Unmet(complaints) => complaints.clone(),
        Outcome::NoPlan(reasons) => {
            reasons.iter().map(|reason| format!("no single request by {reason}")).collect()
        }
        Outcome::Failed(fault) => vec![fault.clone()],
    }
}
