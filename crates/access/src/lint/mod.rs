//! What in a policy document does something else than it seems to.
//!
//! Sources: DynamoDB developer guide, specifying-conditions; IAM user guide, single- and multivalued context
//! keys; service authorization reference. It refuses nothing: that is `Document::parse`'s part.

mod conditions;
mod reach;

use std::fmt;

use crate::context::Key;
use crate::document::{Document, Statement};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A plain operator on a key with several values never matches.
    PlainOperator,
    /// An absent key meets `ForAllValues`.
    ForAllValues,
    /// Key attributes are not among the attributes that are allowed.
    AttributesWithoutKeys,
    /// Attributes are bound, but not which are returned.
    AttributesReturned,
    /// A Scan has no leading keys.
    LeadingKeysWithScan,
    /// A batch with several keys gets around a condition on leading keys.
    MixedBatch,
    /// The table's indexes have ARNs of their own.
    IndexMissing,
    /// No action has the name.
    UnknownAction,
    /// No key has the name.
    UnknownKey,
    /// A variable that is plain text in this version.
    VariableIsText,
    /// A statement that never matches, or allows only what another denies.
    NoEffect,
    /// A policy of a table or stream that lets everyone in.
    Public,
}

impl Rule {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PlainOperator => "plain-operator",
            Self::ForAllValues => "for-all-values",
            Self::AttributesWithoutKeys => "attributes-without-keys",
            Self::AttributesReturned => "attributes-returned",
            Self::LeadingKeysWithScan => "leading-keys-with-scan",
            Self::MixedBatch => "mixed-batch",
            Self::IndexMissing => "index-missing",
            Self::UnknownAction => "unknown-action",
            Self::UnknownKey => "unknown-key",
            Self::VariableIsText => "variable-is-text",
            Self::NoEffect => "no-effect",
            Self::Public => "public",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub rule: Rule,
    /// The statement's place in the document, from zero.
    pub statement: usize,
    /// What is wrong and what to write instead.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "statement {}: {}: {}", self.statement + 1, self.rule.name(), self.text)
    }
}

/// What a linter knows in addition to the document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'k> {
    /// Names of the key attributes of the tables and indexes that the policy is for; empty if not known.
    pub key_attributes: &'k [String],
}

/// The findings of a document, statement by statement.
pub fn lint(document: &Document, known: Known<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, statement) in document.statements().iter().enumerate() {
        let mut found = Findings { statement: index, findings: &mut findings };
        conditions::check(statement, known, &mut found);
        reach::check(document, statement, &mut found);
    }
    findings
}

/// Where the rules write what they find in one statement.
struct Findings<'f> {
    statement: usize,
    findings: &'f mut Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, rule: Rule, text: String) {
        self.findings.push(Finding { rule, statement: self.statement, text });
    }
}

/// Whether a statement has a condition on a key.
fn has_condition(statement: &Statement, key: &Key) -> bool {
    statement.conditions().iter().any(|condition| condition.key == *key)
}
