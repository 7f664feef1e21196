//! Policy documents: their statements, compiled once for many decisions.
//!
//! Sources: IAM user guide, grammar of the JSON policy language; DynamoDB developer guide, resource-based
//! policies. It does not know who has a policy.

mod canonical;
mod fault;
mod json;
mod kind;
mod parse;
mod principals;
mod public;
mod rename;
mod spans;
mod statement;

use crate::action::ActionSet;

pub use canonical::{are_same, canonical, compact};
pub use fault::DocumentFault;
pub(crate) use json::Json;
pub use kind::PolicyKind;
pub use principals::{Naming, PrincipalName, Principals, account_and_id};
pub use rename::rename_principals;
pub use spans::statement_spans;
pub use statement::{Effect, Statement};
pub(crate) use statement::{Listed, Verdict};

/// The version of the policy language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `2008-10-17`, or none: variables are plain text.
    Of2008,
    /// `2012-10-17`.
    Of2012,
}

/// A policy document.
///
/// Invariant: `served` is the union of what its statements name.
#[derive(Clone, Debug)]
pub struct Document {
    kind: PolicyKind,
    version: Version,
    id: Option<String>,
    statements: Vec<Statement>,
    served: ActionSet,
}

impl Document {
    /// The document of a text.
    pub fn parse(text: &str, kind: PolicyKind) -> Result<Self, DocumentFault> {
        parse::document(text, kind)
    }

    /// The document within another, whose text has been checked.
    pub(crate) fn of_json(json: &Json, kind: PolicyKind) -> Result<Self, DocumentFault> {
        parse::of_json(json, kind)
    }

    /// What it is for.
    pub const fn kind(&self) -> PolicyKind {
        self.kind
    }

    /// The version of its language.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Its id.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Its statements, at least one.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Whether a statement lets everyone in, narrowed by nothing that is fixed (developer guide,
    /// rbac-bpa-rbp). The service refuses such a policy of a table or stream.
    pub fn is_public(&self) -> bool {
        self.statements.iter().any(public::is_public)
    }

    /// The served actions that one of its statements is about.
    pub(crate) const fn served(&self) -> &ActionSet {
        &self.served
    }

    /// Whether a condition asks for what only a bound request has.
    pub fn needs_binding(&self) -> bool {
        self.statements.iter().any(Statement::needs_binding)
    }
}
