//! The table of all rules.

use super::{Context, Finding, Severity};

/// One rule: what it is called, why it is there, and the function that looks.
pub struct Rule {
    pub id: &'static str,
    /// The worst it can say.
    pub severity: Severity,
    /// One line.
    pub title: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    pub explanation: &'static str,
    pub fix: &'static str,
    pub(super) check: fn(&Context<'_>) -> Vec<Finding>,
}

/// All rules, by id.
pub const RULES: &[Rule] = &[];

/// The rule of an id, in any case of letters.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

/// A rule in words.
pub fn explain(rule: &Rule) -> String {
    format!(
        "{} ({}): {}\n\n{}\n\nFix: {}\n\nSource: {}\n",
        rule.id,
        rule.severity.name(),
        rule.title,
        rule.explanation,
        rule.fix,
        rule.source
    )
}
