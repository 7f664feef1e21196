//! What a simulation reports of one request besides the decision: the statements that decided, the keys that
//! policies ask for and the request lacks, and what the boundary says.
//!
//! It decides nothing itself.

use std::collections::BTreeSet;

use keywright_semantics::messages::access::PolicyLayer;

use crate::context::{Facts, Found};
use crate::decide::{Decision, Denial, Question, decide};
use crate::document::{Effect, Verdict};
use crate::policies::{LAYERS, Place, Policies};

/// A decision with what a simulation reports of it.
#[derive(Clone, Debug)]
pub struct Simulated<'p> {
    /// The decision.
    pub decision: Decision<'p>,
    /// The statements that decided: those that deny, or those that allow where none denies.
    pub matched: Vec<Place<'p>>,
    /// Keys of the statements about the action that the request has no value of.
    pub missing: BTreeSet<String>,
    /// Whether the boundary allows the request; none without a boundary.
    pub boundary_allows: Option<bool>,
}

/// Simulates one request.
pub fn simulate<'p>(question: &Question<'_>, policies: &Policies<'p>) -> Simulated<'p> {
    let facts = question.facts();
    let (mut allowing, mut denying, mut missing) = (Vec::new(), Vec::new(), BTreeSet::new());
    let (mut boundary_allows, mut boundary_denies) = (false, false);
    for layer in LAYERS {
        for policy in policies.of(layer) {
            for (index, statement) in policy.document.statements().iter().enumerate() {
                let verdict = statement.verdict(question.action, &facts);
                if !matches!(verdict, Verdict::OtherAction | Verdict::OtherPrincipal) {
                    missing.extend(
                        statement.keys().filter(|key| is_absent(key, &facts)).map(ToString::to_string),
                    );
                }
                if !matches!(verdict, Verdict::Meets) {
                    continue;
                }
                let place = Place { policy, index, statement };
                match statement.effect() {
                    Effect::Allow => allowing.push(place),
                    Effect::Deny => denying.push(place),
                }
                if layer == PolicyLayer::Boundary {
                    boundary_allows |= statement.effect() == Effect::Allow;
                    boundary_denies |= statement.effect() == Effect::Deny;
                }
            }
        }
    }
    let decision = decide(question, policies);
    let matched = match &decision {
        Decision::Allow => allowing,
        Decision::Deny(Denial::Explicit { .. }) => denying,
        Decision::Deny(Denial::Implicit { .. }) | Decision::Depends => Vec::new(),
    };
    assert!(
        !matches!(decision, Decision::Deny(Denial::Explicit { .. })) || !matched.is_empty(),
        "one denies"
    );
    let boundary_allows = policies.boundary.map(|_| boundary_allows && !boundary_denies);
    Simulated { decision, matched, missing, boundary_allows }
}

fn is_absent(key: &crate::context::Key, facts: &Facts<'_>) -> bool {
    facts.find(key) == Found::Absent
}
