//! The policies that bind one request, by their kinds.
//!
//! It does not know where they are kept.

use std::sync::Arc;

use keywright_semantics::messages::access::PolicyLayer;

use crate::document::{Document, PolicyKind, Statement};

/// A document with the name by which explanations call it.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The ARN of a managed policy, or the name of an inline one.
    pub name: String,
    /// The document.
    pub document: Document,
}

impl Policy {
    /// A policy of this name.
    pub fn new(name: impl Into<String>, document: Document) -> Self {
        Self { name: name.into(), document }
    }
}

/// A policy that denies everything: what stands for a stored text that this release does not understand.
const fn deny_all(kind: PolicyKind) -> &'static str {
    match kind {
        PolicyKind::Identity | PolicyKind::Boundary | PolicyKind::Session => {
            r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}"#
        }
        PolicyKind::Table | PolicyKind::Stream => {
            r#"{"Version":"2012-10-17",
                "Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}}"#
        }
        PolicyKind::Trust => {
            r#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"*"}}"#
        }
    }
}

/// A stored policy, compiled. A text that was checked when it was stored is understood.
pub fn compiled_policy(name: &str, text: &str, kind: PolicyKind) -> Arc<Policy> {
    let document = Document::parse(text, kind).or_else(|_| Document::parse(deny_all(kind), kind));
    Arc::new(Policy::new(name, document.expect("our own policy is one")))
}

/// The policies that bind one request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Policies<'p> {
    /// Of the user and its groups, or of the role.
    pub identity: &'p [Arc<Policy>],
    /// The permissions boundary of the user or role.
    pub boundary: Option<&'p Policy>,
    /// Of the session. Empty if it has none of its own.
    pub session: &'p [Arc<Policy>],
    /// Of the table or stream; in a request for a session, the role's trust policy.
    pub resource: Option<&'p Policy>,
}

impl<'p> Policies<'p> {
    /// Those of one kind.
    pub(crate) fn of(&self, layer: PolicyLayer) -> impl Iterator<Item = &'p Policy> {
        let (list, one): (&'p [Arc<Policy>], _) = match layer {
            PolicyLayer::Identity => (self.identity, None),
            PolicyLayer::Boundary => (&[], self.boundary),
            PolicyLayer::Session => (self.session, None),
            PolicyLayer::Resource => (&[], self.resource),
        };
        list.iter().map(|policy| &**policy).chain(one)
    }

    /// Whether what only a bound request has can make a difference.
    pub fn need_binding(&self) -> bool {
        LAYERS.iter().any(|layer| self.of(*layer).any(|policy| policy.document.needs_binding()))
    }
}

/// The kinds of policies, in the order in which a denial names them.
pub const LAYERS: [PolicyLayer; 4] =
    [PolicyLayer::Identity, PolicyLayer::Boundary, PolicyLayer::Session, PolicyLayer::Resource];

/// A statement and the policy that it is in.
#[derive(Clone, Copy, Debug)]
pub struct Place<'p> {
    /// The policy.
    pub policy: &'p Policy,
    /// The statement's place in it, from zero.
    pub index: usize,
    /// The statement.
    pub statement: &'p Statement,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "statement {}", self.index + 1)?;
        if let Some(sid) = self.statement.sid() {
            write!(formatter, " ({sid})")?;
        }
        write!(formatter, " of policy {}", self.policy.name)
    }
}
