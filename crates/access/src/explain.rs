//! Why a request is decided as it is: each statement that binds it, and what stopped it.
//!
//! It decides nothing itself.

use std::collections::BTreeSet;
use std::fmt;

use keywright_semantics::messages::access::PolicyLayer;

use crate::condition::Condition;
use crate::context::{Facts, Found, Key, OF_CONNECTION};
use crate::decide::{Decision, Denial, Question, decide};
use crate::document::{Effect, Verdict};
use crate::policies::{LAYERS, Place, Policies};
use crate::truth::Truth;

/// A decision with what every statement says.
#[derive(Clone, Debug)]
pub struct Explanation<'p> {
    /// The decision.
    pub decision: Decision<'p>,
    /// Every statement, kind by kind.
    pub statements: Vec<Explained<'p>>,
    /// Kinds of policies that do not bind the request, as there are none.
    pub absent: Vec<PolicyLayer>,
    /// Keys of the request's connection and head that statements ask for, and that have no value here.
    pub missing: BTreeSet<&'static str>,
}

/// What one statement says of a request.
#[derive(Clone, Debug)]
pub struct Explained<'p> {
    /// The kind of its policy.
    pub layer: PolicyLayer,
    /// The statement.
    pub place: Place<'p>,
    /// Whether it matches, and if not why.
    pub outcome: Outcome,
}

/// Whether a statement matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does.
    Matches,
    /// It is about other actions.
    OtherAction,
    /// It is about other principals.
    OtherPrincipal,
    /// It is about other resources.
    OtherResource,
    /// A variable has no value in this request.
    Variable {
        /// The variable's key.
        key: String,
    },
    /// A condition does not hold.
    Condition {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
        /// The values that the policy wants.
        wanted: Vec<String>,
        /// The values that the request has; none if the key is absent.
        given: Option<Vec<String>>,
    },
    /// What only the bound request has decides.
    Depends {
        /// The key.
        key: String,
    },
}

/// Explains the decision on one request.
pub fn explain<'p>(question: &Question<'_>, policies: &Policies<'p>) -> Explanation<'p> {
    let facts = question.facts();
    let mut statements = Vec::new();
    let (mut absent, mut missing) = (Vec::new(), BTreeSet::new());
    for layer in LAYERS {
        let before = statements.len();
        for policy in policies.of(layer) {
            for (index, statement) in policy.document.statements().iter().enumerate() {
                let verdict = statement.verdict(question.action, &facts);
                if !matches!(verdict, Verdict::OtherAction | Verdict::OtherPrincipal | Verdict::OtherResource)
                {
                    missing.extend(statement.keys().filter_map(|key| missing_key(key, &facts)));
                }
                let outcome = outcome(&verdict, &facts);
                let place = Place { policy, index, statement };
                statements.push(Explained { layer, place, outcome });
            }
        }
        if statements.len() == before {
            absent.push(layer);
        }
    }
    Explanation { decision: decide(question, policies), statements, absent, missing }
}

/// A key that only the connection or head of a request gives, and that has no value.
fn missing_key(key: &Key, facts: &Facts<'_>) -> Option<&'static str> {
    match key {
        Key::Known(known) if OF_CONNECTION.contains(known) && facts.find(key) == Found::Absent => {
            Some(known.name())
        }
        _ => None,
    }
}

fn outcome(verdict: &Verdict<'_>, facts: &Facts<'_>) -> Outcome {
    match verdict {
        Verdict::Meets => Outcome::Matches,
        Verdict::OtherAction => Outcome::OtherAction,
        Verdict::OtherPrincipal => Outcome::OtherPrincipal,
        Verdict::OtherResource => Outcome::OtherResource,
        Verdict::Variable(key, Truth::Unknown) => Outcome::Depends { key: key.to_string() },
        Verdict::Variable(key, _) => Outcome::Variable { key: key.to_string() },
        Verdict::Condition(condition, Truth::Unknown) => Outcome::Depends { key: condition.key.to_string() },
        Verdict::Condition(condition, _) => failed(condition, facts),
    }
}

fn failed(condition: &Condition, facts: &Facts<'_>) -> Outcome {
    Outcome::Condition {
        operator: condition.operator_name.clone(),
        key: condition.key.to_string(),
        wanted: condition.shown(facts),
        given: given(&condition.key, facts),
    }
}

fn given(key: &Key, facts: &Facts<'_>) -> Option<Vec<String>> {
    match facts.find(key) {
        Found::Absent | Found::Unknown => None,
        Found::One(text) => Some(vec![text.to_owned()]),
        Found::Many(values) => Some(values.iter().map(|value| value.clone().into_owned()).collect()),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matches => formatter.write_str("matches"),
            Self::OtherAction => formatter.write_str("is about other actions"),
            Self::OtherPrincipal => formatter.write_str("is about other principals"),
            Self::OtherResource => formatter.write_str("is about other resources"),
            Self::Variable { key } => write!(formatter, "the request has no value for ${{{key}}}"),
            Self::Condition { operator, key, wanted, given } => {
                write!(formatter, "{operator} of {key} wants {}, ", wanted.join(" or "))?;
                match given {
                    Some(given) => write!(formatter, "the request has {}", given.join(", ")),
                    None => formatter.write_str("the request has none"),
                }
            }
            Self::Depends { key } => write!(formatter, "depends on {key}"),
        }
    }
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.place.statement.effect() {
            Effect::Allow => "Allow",
            Effect::Deny => "Deny",
        };
        write!(formatter, "{}, {effect}: {}", self.place, self.outcome)
    }
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.decision {
            Decision::Allow => writeln!(formatter, "allowed")?,
            Decision::Depends => writeln!(formatter, "depends on the items that the request names")?,
            Decision::Deny(Denial::Explicit { by, .. }) => writeln!(formatter, "denied by {by}")?,
            Decision::Deny(Denial::Implicit { layer }) => {
                writeln!(formatter, "denied: no {} allows it", layer.words())?;
            }
        }
        for statement in &self.statements {
            writeln!(formatter, "  {statement}")?;
        }
        Ok(())
    }
}
