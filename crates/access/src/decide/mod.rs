//! The decision on one request: may this principal do this to that, by these policies.
//!
//! Sources: IAM user guide, policy evaluation logic and permissions boundaries; DynamoDB developer guide,
//! resource-based policies. The first look, before a request is bound, may say that it depends; the second
//! look never contradicts one that did not. It does not know what an operation needs.

mod layer;

use keywright_semantics::messages::access::{PolicyLayer, denied, not_allowed};
use keywright_semantics::operation::Operation;

use crate::action::{Action, Verb};
use crate::arn::Target;
use crate::context::{Context, Facts};
use crate::policies::{LAYERS, Place, Policies};
use crate::principal::Principal;
use crate::truth::Truth;
use layer::Said;

/// What is decided on.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// Who asks.
    pub principal: &'q Principal,
    /// What is to be done.
    pub action: Action<'q>,
    /// To what.
    pub target: &'q Target<'q>,
    /// What conditions see.
    pub context: &'q Context<'q>,
}

impl<'q> Question<'q> {
    pub(crate) const fn facts(&self) -> Facts<'q> {
        Facts { context: self.context, principal: self.principal, target: self.target }
    }

    /// Whether the resource belongs to another account than the caller.
    pub(crate) fn crosses_accounts(&self) -> bool {
        let owner = self.target.account().filter(|account| !account.is_empty());
        owner.is_some_and(|owner| owner != self.principal.account())
    }
}

/// A decision.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'p> {
    /// It may.
    Allow,
    /// It may not, and why.
    Deny(Denial<'p>),
    /// What only the bound request has makes the difference. The second look, where nothing is unknown, never
    /// says so; who hears it there denies.
    Depends,
}

impl Decision<'_> {
    /// Whether it may.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow)
    }
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug)]
pub enum Denial<'p> {
    /// A statement denies it.
    Explicit {
        /// The kind of policy.
        layer: PolicyLayer,
        /// The statement.
        by: Place<'p>,
    },
    /// No policy of a kind allows it.
    Implicit {
        /// The kind of policy that is missing.
        layer: PolicyLayer,
    },
}

impl Denial<'_> {
    /// The kind of policy that decided.
    pub const fn layer(&self) -> PolicyLayer {
        match self {
            Self::Explicit { layer, .. } | Self::Implicit { layer } => *layer,
        }
    }

    /// The statement that decided, or the kind of policy that allows nothing.
    pub fn decided_by(&self) -> String {
        match self {
            Self::Explicit { layer, by } => format!("{by} ({})", layer.words()),
            Self::Implicit { layer } => format!("no {} allows it", layer.words()),
        }
    }

    /// Whether a statement denies it.
    pub const fn is_explicit(&self) -> bool {
        matches!(self, Self::Explicit { .. })
    }

    /// The text that the client reads.
    pub fn message(&self, question: &Question<'_>) -> String {
        let caller = question.principal.arn();
        let (action, target) = (question.action.to_string(), question.target.to_string());
        match self {
            Self::Explicit { layer, .. } => denied(caller, &action, &target, *layer),
            Self::Implicit { layer } => not_allowed(caller, &action, &target, *layer),
        }
    }
}

/// Whether the policy of a resource must name the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceNames {
    /// Only for callers of other accounts.
    IfForeign,
    /// Always: nobody assumes a role whose trust policy does not name them.
    Always,
}

/// Decides on one request.
pub fn decide<'p>(question: &Question<'_>, policies: &Policies<'p>) -> Decision<'p> {
    decide_with(question, policies, ResourceNames::IfForeign)
}

/// The statement that denies an action, or may deny it for a part of what is concerned: for requests that are
/// none of that action and have the same effect. They must not get round such a statement.
pub fn forbidden<'p>(question: &Question<'_>, policies: &Policies<'p>) -> Option<Denial<'p>> {
    let facts = question.facts();
    let by = |layer| {
        let by = layer::denying(layer, policies, question.action, &facts)?;
        Some(Denial::Explicit { layer, by })
    };
    LAYERS.into_iter().find_map(by)
}

/// Decides whether a role may be assumed. Its trust policy is the resource's.
pub fn decide_on_role<'p>(question: &Question<'_>, policies: &Policies<'p>) -> Decision<'p> {
    decide_with(question, policies, ResourceNames::Always)
}

fn decide_with<'p>(question: &Question<'_>, policies: &Policies<'p>, must: ResourceNames) -> Decision<'p> {
    let facts = question.facts();
    let said = LAYERS.map(|layer| Said::of(layer, policies, question.action, &facts));
    let denies = if is_way_out_of_lock(question) {
        Truth::No
    } else {
        said.iter().fold(Truth::No, |denies, one| denies.or(one.denies))
    };
    if denies == Truth::Yes {
        let by = |(layer, one): (_, &Said<'p>)| one.denied_by.map(|by| Denial::Explicit { layer, by });
        let explicit = LAYERS.into_iter().zip(&said).find_map(by);
        return Decision::Deny(explicit.expect("a denial that is known has a statement"));
    }
    let [identity, boundary, session, resource] = said;
    let has = |layer| policies.of(layer).next().is_some();
    let bound = |layer, one: &Said<'_>| if has(layer) { one.allows() } else { Truth::Yes };
    let has_no_policies = question.principal.is_root() || question.principal.is_service();
    let own = if has_no_policies { Truth::Yes } else { identity.allows() };
    let boundary = bound(PolicyLayer::Boundary, &boundary);
    let session = bound(PolicyLayer::Session, &session);
    let within = boundary.and(session);
    // Within one account, a resource's policy that names the caller needs no other.
    let by_resource = resource.allows_itself.or(resource.allows_role.and(within));
    let by_both = own.and(within).and(resource.allows());
    let (allows, named) = match (question.crosses_accounts(), must) {
        (true, _) => (by_both, resource.allows()),
        (false, ResourceNames::Always) => (by_both.or(by_resource), resource.allows()),
        (false, ResourceNames::IfForeign) => (own.and(within).or(by_resource), Truth::Yes),
    };
    match (allows, denies) {
        (Truth::Yes, Truth::No) => Decision::Allow,
        (Truth::No, _) => first_lacking([
            (PolicyLayer::Identity, own),
            (PolicyLayer::Boundary, boundary),
            (PolicyLayer::Session, session),
            (PolicyLayer::Resource, named),
        ]),
        _ => Decision::Depends,
    }
}

/// The first kind that allows nothing, with any values of what is unknown. Kinds that only together allow
/// nothing are named by the first that is not certain to.
fn first_lacking<'p>(lacks: [(PolicyLayer, Truth); LAYERS.len()]) -> Decision<'p> {
    let of = |truth: Truth| lacks.iter().find(|(_, allows)| *allows == truth).map(|(layer, _)| *layer);
    let layer = of(Truth::No).or_else(|| of(Truth::Unknown)).unwrap_or(PolicyLayer::Identity);
    Decision::Deny(Denial::Implicit { layer })
}

/// The root of an account may always remove a resource's policy, so that nobody locks the account out
/// (DynamoDB's service model, DeleteResourcePolicy).
fn is_way_out_of_lock(question: &Question<'_>) -> bool {
    let delete = Verb::of_operation(Operation::DeleteResourcePolicy);
    question.principal.is_root() && !question.crosses_accounts() && question.action == Action::Served(delete)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::action::Sts;
    use crate::document::{Document, PolicyKind};
    use crate::policies::Policy;
    use crate::principal::Named;

    const ROLE: &str = "arn:aws:iam::123456789012:role/Reader";

    fn policy(kind: PolicyKind, text: &str) -> Arc<Policy> {
        Arc::new(Policy::new("p", Document::parse(text, kind).unwrap()))
    }

    /// The kind of policy that is missing for a caller to assume the role that trusts this principal.
    fn assumes(caller: &Principal, trusted: &str, has_own: bool) -> Option<PolicyLayer> {
        let trust = policy(
            PolicyKind::Trust,
            &format!(
                r#"{{"Statement": {{"Effect": "Allow", "Principal": {{"AWS": "{trusted}"}},
                    "Action": "sts:AssumeRole"}}}}"#
            ),
        );
        let own = policy(
            PolicyKind::Identity,
            &format!(
                r#"{{"Statement": {{"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "{ROLE}"}}}}"#
            ),
        );
        let identity = if has_own { vec![own] } else { Vec::new() };
        let policies = Policies { identity: &identity, resource: Some(&trust), ..Policies::default() };
        let (target, context) = (Target::parse(ROLE).unwrap(), Context::default());
        let action = Action::Served(Verb::Sts(Sts::AssumeRole));
        let question = Question { principal: caller, action, target: &target, context: &context };
        match decide_on_role(&question, &policies) {
            Decision::Allow => None,
            Decision::Deny(denial) => Some(denial.layer()),
            Decision::Depends => panic!("nothing is unknown"),
        }
    }

    #[test]
    fn nobody_assumes_a_role_that_does_not_trust_them() {
        let ann = Principal::user("123456789012", Named { path: "/", name: "ann" }, "AIDA1");
        let account = "123456789012";
        assert_eq!(assumes(&ann, ann.arn(), false), None, "named itself, within its account");
        assert_eq!(assumes(&ann, account, true), None, "the account is trusted and delegates");
        assert_eq!(assumes(&ann, account, false), Some(PolicyLayer::Identity));
        assert_eq!(assumes(&ann, "arn:aws:iam::123456789012:user/ben", true), Some(PolicyLayer::Resource));
        let foreign = Principal::user("999988887777", Named { path: "/", name: "ann" }, "AIDA2");
        assert_eq!(assumes(&foreign, "999988887777", true), None);
        assert_eq!(assumes(&foreign, foreign.arn(), false), Some(PolicyLayer::Identity));
        assert_eq!(assumes(&foreign, account, true), Some(PolicyLayer::Resource));
    }

    #[test]
    fn a_role_trusts_an_id_in_its_account_alone() {
        let (id, role_id) = ("AIDAANN0000000000001", "AROAREADER0000000001");
        let (own, other) = ("123456789012", "999988887777");
        let ann = |account| Principal::user(account, Named { path: "/", name: "ann" }, id);
        let reader = Named { path: "/", name: "reader" };
        let session = |account| Principal::session(account, reader, role_id, "s");
        assert_eq!(assumes(&ann(own), &format!("{own}:{id}"), false), None);
        assert_eq!(assumes(&ann(other), &format!("{other}:{id}"), true), None);
        assert_eq!(assumes(&session(own), &format!("{own}:{role_id}"), true), None);
        for (caller, trusted) in [
            (ann(other), format!("{own}:{id}")),
            (ann(own), format!("{other}:{id}")),
            (session(other), format!("{own}:{role_id}")),
            // An id that a client wrote names nobody: no account was looked up.
            (ann(own), id.to_owned()),
        ] {
            assert_eq!(assumes(&caller, &trusted, true), Some(PolicyLayer::Resource), "{trusted}");
        }
    }

    #[test]
    fn a_denied_request_reads_the_text_of_the_service() {
        let ann = Principal::user("123456789012", Named { path: "/", name: "ann" }, "AIDA1");
        let table = "arn:aws:dynamodb:eu-west-1:123456789012:table/T";
        let (target, context) = (Target::parse(table).unwrap(), Context::default());
        let action = Action::Served(Verb::of_operation(Operation::GetItem));
        let question = Question { principal: &ann, action, target: &target, context: &context };
        let message = |policies: &Policies<'_>| match decide(&question, policies) {
            Decision::Deny(denial) => denial.message(&question),
            decision => panic!("{decision:?}"),
        };
        assert_eq!(
            message(&Policies::default()),
            format!(
                "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: dynamodb:GetItem on \
                 resource: {table} because no identity-based policy allows the dynamodb:GetItem action"
            )
        );
        let deny = r#"{"Statement": {"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"}}"#;
        let identity = [policy(PolicyKind::Identity, deny)];
        assert_eq!(
            message(&Policies { identity: &identity, ..Policies::default() }),
            format!(
                "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: dynamodb:GetItem on \
                 resource: {table} with an explicit deny in an identity-based policy"
            )
        );
    }
}
