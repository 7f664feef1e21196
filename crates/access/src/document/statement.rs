//! A statement of a policy, compiled: what it is about and whether a request meets it.
//!
//! It does not know its policy, nor how statements combine.

use super::principals::{Naming, Principals};
use crate::action::{Action, ActionSet};
use crate::arn_pattern::ArnPattern;
use crate::condition::Condition;
use crate::context::{Facts, Key, Known};
use crate::pattern::Pattern;
use crate::template::Variable;
use crate::truth::Truth;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It allows.
    Allow,
    /// It denies.
    Deny,
}

/// A list, or all but what is in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    These,
    AllBut,
}

/// The actions of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Actions {
    pub(crate) listed: Listed,
    /// As they were written.
    pub(crate) texts: Vec<String>,
    /// In lower case.
    pub(super) patterns: Vec<Pattern>,
    /// Those of the actions that are served.
    pub(crate) served: ActionSet,
}

impl Actions {
    pub(super) fn contain(&self, action: Action<'_>) -> bool {
        match action {
            Action::Served(verb) => self.served.contains(verb),
            Action::Other(name) => {
                let name = name.to_ascii_lowercase();
                let is_listed = self.patterns.iter().any(|pattern| pattern.matches(&name));
                is_listed == (self.listed == Listed::These)
            }
        }
    }
}

/// The resources of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Resources {
    pub(crate) listed: Listed,
    /// As they were written.
    pub(crate) texts: Vec<String>,
    pub(super) patterns: Vec<ArnPattern>,
}

impl Resources {
    fn contain(&self, facts: &Facts<'_>) -> bool {
        let is_listed = self.patterns.iter().any(|pattern| pattern.matches(facts.target, facts));
        is_listed == (self.listed == Listed::These)
    }
}

/// A statement.
///
/// Invariant: `variables` are those of the resources and conditions.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(super) sid: Option<String>,
    pub(super) effect: Effect,
    pub(super) principals: Principals,
    pub(super) actions: Actions,
    /// None in trust policies, which are about their role.
    pub(super) resources: Option<Resources>,
    pub(super) conditions: Vec<Condition>,
    pub(super) variables: Vec<Variable>,
}

/// Why a statement does not meet a request, or that it does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict<'s> {
    Meets,
    OtherAction,
    OtherPrincipal,
    OtherResource,
    /// This variable cannot be resolved.
    Variable(&'s Key, Truth),
    /// This condition does not hold.
    Condition(&'s Condition, Truth),
}

impl Verdict<'_> {
    pub(crate) const fn truth(&self) -> Truth {
        match self {
            Self::Meets => Truth::Yes,
            Self::OtherAction | Self::OtherPrincipal | Self::OtherResource => Truth::No,
            Self::Variable(_, truth) | Self::Condition(_, truth) => *truth,
        }
    }
}

impl Statement {
    /// Its id.
    pub fn sid(&self) -> Option<&str> {
        self.sid.as_deref()
    }

    /// What it does.
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// Whom it is about.
    pub const fn principals(&self) -> &Principals {
        &self.principals
    }

    /// Whether conditions can ask for what only a bound request has.
    pub fn needs_binding(&self) -> bool {
        let is_unbound =
            |key: &Key| matches!(key, Key::Known(known) if crate::context::UNBOUND.contains(known));
        self.conditions.iter().any(|condition| is_unbound(&condition.key))
    }

    /// The keys that its conditions and variables ask for.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        let variables = self.variables.iter().map(|variable| &variable.key);
        self.conditions.iter().map(|condition| &condition.key).chain(variables)
    }

    pub(crate) const fn actions(&self) -> &Actions {
        &self.actions
    }

    pub(crate) const fn resources(&self) -> Option<&Resources> {
        self.resources.as_ref()
    }

    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// How exactly it names the caller. One for everyone, with a condition on the caller's ARN, names the
    /// caller itself.
    pub(crate) fn naming(&self, facts: &Facts<'_>) -> Option<Naming> {
        let naming = self.principals.naming(facts.principal)?;
        let narrows = |condition: &Condition| {
            condition.key == Key::Known(Known::PrincipalArn) && !condition.operator.is_negated
        };
        let is_narrowed = self.principals.has_everyone() && self.conditions.iter().any(narrows);
        Some(if is_narrowed { Naming::Itself } else { naming })
    }

    /// Whether it meets a request, and the first reason why not. One that is not known yet comes after one
    /// that is.
    pub(crate) fn verdict(&self, action: Action<'_>, facts: &Facts<'_>) -> Verdict<'_> {
        if !self.actions.contain(action) {
            return Verdict::OtherAction;
        }
        if self.principals.naming(facts.principal).is_none() {
            return Verdict::OtherPrincipal;
        }
        let mut unknown = None;
        for variable in &self.variables {
            match variable.is_resolved(facts) {
                Truth::Yes => {}
                Truth::No => return Verdict::Variable(&variable.key, Truth::No),
                // Nothing that has the variable can be asked yet.
                Truth::Unknown => unknown = Some(Verdict::Variable(&variable.key, Truth::Unknown)),
            }
        }
        if let Some(unknown) = unknown {
            return unknown;
        }
        if self.resources.as_ref().is_some_and(|resources| !resources.contain(facts)) {
            return Verdict::OtherResource;
        }
        for condition in &self.conditions {
            match condition.holds(facts) {
                Truth::Yes => {}
                Truth::No => return Verdict::Condition(condition, Truth::No),
                Truth::Unknown => unknown = unknown.or(Some(Verdict::Condition(condition, Truth::Unknown))),
            }
        }
        unknown.unwrap_or(Verdict::Meets)
    }
}
