//! The rules L001 to L061: findings about a model and what its run measured.
//!
//! It executes nothing, and its limits are the service's. Rules are grouped into files by what they inspect;
//! `rules` lists all of them with severity, source and explanation.

mod bills;
mod collection_order;
mod context;
mod expiry;
mod heat;
mod indexes;
mod items;
mod keys;
mod paths;
mod rules;
mod tenants;
mod upper_bounds;
mod writes;

use std::collections::BTreeMap;

use crate::run::Report;
use keywright_model::{At, Model};

pub use context::Context;
pub use keys::counts_up;
pub use rules::{RULES, Rule, explain, rule};
pub use tenants::owner;

/// Severity of a finding: an error fails the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Fails the check.
    Error,
    /// Works, and costs or breaks later.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// As reports print it.
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
    /// The rule's id, such as `L001`.
    pub rule: &'static str,
    /// Of this case; a rule can have several.
    pub severity: Severity,
    /// The place in the model file that it is about.
    pub at: At,
    /// The pattern, entity, table or index it is about.
    pub subject: String,
    /// A sentence that says what is wrong.
    pub text: String,
    /// What to do, for this very case.
    pub fix: String,
    /// Further places where the rule found the same about the same subject, with the same fix.
    pub alike: Vec<Alike>,
}

impl Finding {
    /// Whether it, or a folded finding, is at a place.
    pub fn is_at(&self, at: At) -> bool {
        self.at == at || self.alike.iter().any(|case| case.at == at)
    }
}

/// A further case of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    /// The place in the model file.
    pub at: At,
    /// What is wrong there.
    pub text: String,
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
    fold(findings)
}

/// Up to this many similar findings are listed separately.
const APART_MAX: usize = 3;

/// Findings are similar if the same rule gives the same fix for the same subject.
type Kind = (Severity, &'static str, String, String);

/// Folds similar findings into the first of them: a hundred colliding keys have one cause.
fn fold(findings: Vec<Finding>) -> Vec<Finding> {
    let kind = |finding: &Finding| -> Kind {
        (finding.severity, finding.rule, finding.subject.clone(), finding.fix.clone())
    };
    let mut numbers: BTreeMap<Kind, usize> = BTreeMap::new();
    for finding in &findings {
        *numbers.entry(kind(finding)).or_insert(0) += 1;
    }
    let found = findings.len();
    let mut folded: Vec<Finding> = Vec::new();
    let mut places: BTreeMap<Kind, usize> = BTreeMap::new();
    for finding in findings {
        let kind = kind(&finding);
        let many = numbers.get(&kind).is_some_and(|number| *number > APART_MAX);
        if let Some(first) = places.get(&kind).and_then(|place| folded.get_mut(*place)) {
            first.alike.push(Alike { at: finding.at, text: finding.text });
            continue;
        }
        if many {
            places.insert(kind, folded.len());
        }
        folded.push(finding);
    }
    let kept = folded.iter().map(|finding| 1 + finding.alike.len()).sum::<usize>();
    assert_eq!(kept, found, "folding loses no finding");
    folded
}
