//! Random policies of every kind: the first look never contradicts the second, and a decision does not depend
//! on the order of statements.

use std::sync::Arc;

use fastrand::Rng;
use keywright_access::action::Action;
use keywright_access::arn::Target;
use keywright_access::context::{Context, Value};
use keywright_access::decide::{Decision, Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::explain::explain;
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};

use crate::random::{self, Owner};
use crate::rows;

const CASES: u64 = 5_000;

fn policy(rng: &mut Rng, kind: PolicyKind) -> Arc<Policy> {
    let owner = if kind.has_principals() { Owner::Table } else { Owner::Identity };
    let text = random::document(rng, owner).to_string();
    let document = Document::parse(&text, kind).unwrap_or_else(|fault| panic!("{fault}: {text}"));
    Arc::new(Policy::new("random", document))
}

fn principal(rng: &mut Rng) -> Principal {
    let named = |name| Named { path: "/", name };
    match rng.u8(..6) {
        0 => Principal::root("123456789012"),
        1 => Principal::user("999988887777", named("a"), "AIDA1"),
        2 | 3 => Principal::user("123456789012", named("a"), "AIDA2"),
        _ => Principal::session("123456789012", named("R"), "AROA1", "s"),
    }
}

#[test]
fn the_first_look_at_random_policies_never_contradicts_the_second() {
    let (mut depends, mut allowed, mut denied) = (0, 0, 0);
    for seed in 0..CASES {
        let mut rng = Rng::with_seed(seed);
        let rng = &mut rng;
        let (action, resource) = random::request(rng);
        let values = random::context(rng);
        let context = values.iter().fold(Context::default(), |context, (key, values)| {
            let is_many = key.starts_with("dynamodb:") || *key == "aws:TagKeys";
            let value = match values.as_slice() {
                [one] if !is_many => Value::one(*one),
                many => Value::Many(many.iter().map(|one| (*one).into()).collect()),
            };
            context.with_named(key, value)
        });
        let identity: Vec<_> = (0..rng.usize(..3)).map(|_| policy(rng, PolicyKind::Identity)).collect();
        let session: Vec<_> = (0..rng.usize(..2)).map(|_| policy(rng, PolicyKind::Session)).collect();
        let boundary = (rng.u8(..3) == 0).then(|| policy(rng, PolicyKind::Boundary));
        let resource_policy = (rng.u8(..2) == 0).then(|| policy(rng, PolicyKind::Table));
        let policies = Policies {
            identity: &identity,
            boundary: boundary.as_deref(),
            session: &session,
            resource: resource_policy.as_deref(),
        };
        let principal = principal(rng);
        let target = Target::parse(resource).unwrap();
        let first_context = context.clone().unbound();
        let question = |context| Question {
            principal: &principal,
            action: Action::parse(action),
            target: &target,
            context,
        };
        let second = decide(&question(&context), &policies);
        assert!(!matches!(second, Decision::Depends), "seed {seed}: nothing is unknown");
        match decide(&question(&first_context), &policies) {
            Decision::Depends => depends += 1,
            first => assert_eq!(first.is_allowed(), second.is_allowed(), "seed {seed}"),
        }
        if second.is_allowed() {
            allowed += 1;
        } else {
            denied += 1;
        }
        let backwards: Vec<_> = identity.iter().rev().map(Arc::clone).collect();
        let reversed = Policies { identity: &backwards, ..policies };
        let again = decide(&question(&context), &reversed);
        assert_eq!(rows::words(&again), rows::words(&second), "seed {seed}: order of policies");
        let explained = explain(&question(&context), &policies);
        assert_eq!(rows::words(&explained.decision), rows::words(&second), "seed {seed}: explanation");
    }
    assert!(
        depends > CASES / 100 && allowed > CASES / 20 && denied > CASES / 20,
        "{depends} {allowed} {denied}"
    );
}
