//! What the policies of one kind say of a request.
//!
//! It does not know how the kinds combine.

use keywright_semantics::messages::access::PolicyLayer;

use crate::action::Action;
use crate::context::Facts;
use crate::document::{Effect, Naming};
use crate::policies::{Place, Policies};
use crate::truth::Truth;

/// What the policies of one kind say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'p> {
    /// Whether one of them denies.
    pub(super) denies: Truth,
    pub(super) denied_by: Option<Place<'p>>,
    /// Whether one of them allows, by how exactly it names the caller.
    pub(super) allows_itself: Truth,
    pub(super) allows_role: Truth,
    pub(super) allows_account: Truth,
}

impl<'p> Said<'p> {
    const NOTHING: Self = Self {
        denies: Truth::No,
        denied_by: None,
        allows_itself: Truth::No,
        allows_role: Truth::No,
        allows_account: Truth::No,
    };

    /// Whether one of them allows.
    pub(super) fn allows(&self) -> Truth {
        self.allows_itself.or(self.allows_role).or(self.allows_account)
    }

    /// Asks the policies of one kind.
    pub(super) fn of(
        layer: PolicyLayer,
        policies: &Policies<'p>,
        action: Action<'_>,
        facts: &Facts<'_>,
    ) -> Self {
        let mut said = Self::NOTHING;
        for policy in policies.of(layer) {
            let document = &policy.document;
            if matches!(action, Action::Served(verb) if !document.served().contains(verb)) {
                continue;
            }
            for (index, statement) in document.statements().iter().enumerate() {
                let truth = statement.verdict(action, facts).truth();
                if truth == Truth::No {
                    continue;
                }
                match statement.effect() {
                    Effect::Deny => {
                        if truth == Truth::Yes && said.denied_by.is_none() {
                            said.denied_by = Some(Place { policy, index, statement });
                        }
                        said.denies = said.denies.or(truth);
                    }
                    Effect::Allow => {
                        let allows = match statement.naming(facts) {
                            None => continue,
                            Some(Naming::Itself) => &mut said.allows_itself,
                            Some(Naming::Role) => &mut said.allows_role,
                            Some(Naming::Account) => &mut said.allows_account,
                        };
                        *allows = allows.or(truth);
                    }
                }
            }
        }
        said
    }
}
