//! What the policies of one kind say of a request.
//!
//! It does not know how the kinds combine.

use keywright_semantics::messages::access::PolicyLayer;

use crate::action::Action;
use crate::context::Facts;
use crate::document::{Effect, Naming};
use crate::policies::{Place, Policies, Policy};
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
        for (place, truth) in matching(layer, policies, action, facts) {
            match place.statement.effect() {
                Effect::Deny => {
                    if truth == Truth::Yes && said.denied_by.is_none() {
                        said.denied_by = Some(place);
                    }
                    said.denies = said.denies.or(truth);
                }
                Effect::Allow => {
                    let allows = match place.statement.naming(facts) {
                        None => continue,
                        Some(Naming::Itself) => &mut said.allows_itself,
                        Some(Naming::Role) => &mut said.allows_role,
                        Some(Naming::Account) => &mut said.allows_account,
                    };
                    *allows = allows.or(truth);
                }
            }
        }
        said
    }
}

/// The first statement of one kind of policies that denies, or may deny with some value of what is unknown.
pub(super) fn denying<'p>(
    layer: PolicyLayer,
    policies: &Policies<'p>,
    action: Action<'_>,
    facts: &Facts<'_>,
) -> Option<Place<'p>> {
    let mut matching = matching(layer, policies, action, facts).map(|(place, _)| place);
    matching.find(|place| place.statement.effect() == Effect::Deny)
}

/// The statements of one kind of policies that are about a request, or may be.
fn matching<'p, 'q>(
    layer: PolicyLayer,
    policies: &Policies<'p>,
    action: Action<'q>,
    facts: &'q Facts<'q>,
) -> impl Iterator<Item = (Place<'p>, Truth)> {
    let serves = move |policy: &&Policy| match action {
        Action::Served(verb) => policy.document.served().contains(verb),
        Action::Other(_) => true,
    };
    policies.of(layer).filter(serves).flat_map(move |policy| {
        policy.document.statements().iter().enumerate().filter_map(move |(index, statement)| {
            let truth = statement.verdict(action, facts).truth();
            (truth != Truth::No).then_some((Place { policy, index, statement }, truth))
        })
    })
}
