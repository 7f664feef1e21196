//! Random policies and requests, decided here and by `iam-rs`: every difference has a known reason.
//!
//! `cargo xtask test --long` compares a million.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use keywright_access::action::Action;
use keywright_access::arn::Target;
use keywright_access::context::{Context, Value};
use keywright_access::decide::{Decision, Denial, Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};
use serde_json::Value as Json;

use crate::random::{self, Owner};

const CASES: u64 = 5_000;
const MANY_CASES: u64 = 100_000;
const LONG_CASES: u64 = 1_000_000;

/// Keys that can have several values.
const MULTIVALUED: [&str; 3] = ["dynamodb:LeadingKeys", "dynamodb:Attributes", "aws:TagKeys"];

struct Case {
    document: Json,
    action: &'static str,
    resource: &'static str,
    context: Vec<(&'static str, Vec<&'static str>)>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let document = random::document(&mut rng, Owner::Identity);
        let (action, resource) = random::request(&mut rng);
        Self { document, action, resource, context: random::context(&mut rng) }
    }

    fn ours(&self) -> &'static str {
        let document = Document::parse(&self.document.to_string(), PolicyKind::Identity).unwrap();
        let identity = [Arc::new(Policy::new("random", document))];
        let policies = Policies { identity: &identity, ..Policies::default() };
        let context = self.context.iter().fold(Context::default(), |context, (key, values)| {
            let value = if MULTIVALUED.contains(key) {
                Value::Many(values.iter().map(|one| (*one).into()).collect())
            } else {
                Value::one(values[0])
            };
            context.with_named(key, value)
        });
        let principal = Principal::user("123456789012", Named { path: "/", name: "a" }, "AIDA1");
        let target = Target::parse(self.resource).unwrap();
        let action = Action::parse(self.action);
        let question = Question { principal: &principal, action, target: &target, context: &context };
        match decide(&question, &policies) {
            Decision::Allow => "allow",
            Decision::Deny(Denial::Explicit { .. }) => "explicit",
            Decision::Deny(Denial::Implicit { .. }) => "implicit",
            Decision::Depends => "depends",
        }
    }

    fn theirs(&self) -> &'static str {
        let policy = iam_rs::IAMPolicy::from_json(&self.document.to_string()).unwrap();
        let mut context = iam_rs::Context::new().with_string("aws:username", "a");
        for (key, values) in &self.context {
            let list = || values.iter().map(|one| (*one).to_owned()).collect();
            let value = match *key {
                "aws:SecureTransport" => iam_rs::ContextValue::Boolean(values[0] == "true"),
                key if MULTIVALUED.contains(&key) => iam_rs::ContextValue::StringList(list()),
                _ => iam_rs::ContextValue::String(values[0].to_owned()),
            };
            context.insert((*key).to_owned(), value);
        }
        let user = iam_rs::PrincipalId::String("arn:aws:iam::123456789012:user/a".to_owned());
        let request = iam_rs::IAMRequest::new_with_context(
            iam_rs::Principal::Aws(user),
            self.action,
            iam_rs::Arn::parse(self.resource).unwrap(),
            context,
        );
        match iam_rs::evaluate_policy(&policy, &request) {
            Ok(iam_rs::Decision::Allow) => "allow",
            Ok(iam_rs::Decision::Deny) => "explicit",
            Ok(iam_rs::Decision::NotApplicable) => "implicit",
            Err(error) => panic!("{error}: {}", self.document),
        }
    }

    /// Why the two differ, by what the document has.
    fn reason(&self) -> Option<&'static str> {
        let is_2012 = self.document["Version"] == "2012-10-17";
        let text = self.document.to_string();
        let mut conditions = Vec::new();
        for statement in self.document["Statement"].as_array().unwrap() {
            for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
                for (key, values) in keys.as_object().unwrap() {
                    conditions.push((operator.clone(), key.clone(), values.to_string()));
                }
            }
        }
        let any = |holds: &dyn Fn(&(String, String, String)) -> bool| conditions.iter().any(holds);
        if any(&|(operator, key, _)| {
            MULTIVALUED.contains(&key.as_str()) && !operator.contains(':') && operator != "Null"
        }) {
            return Some("it lets a plain operator match a key with several values");
        }
        if any(&|(_, _, values)| values.contains("${")) && is_2012 {
            return Some("it does not resolve variables in conditions");
        }
        if text.contains("${") && !is_2012 {
            return Some("it resolves variables before 2012-10-17");
        }
        if any(&|(operator, _, values)| operator.starts_with("Arn") && values.contains('*')) {
            return Some("its ArnEquals is literal, and its ArnLike lets `*` pass colons");
        }
        None
    }
}

fn compare(cases: u64) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..cases {
        let case = Case::new(seed);
        let (ours, theirs) = (case.ours(), case.theirs());
        *outcomes.entry(ours).or_default() += 1;
        if ours == theirs {
            continue;
        }
        let reason = case.reason().unwrap_or_else(|| {
            panic!(
                "seed {seed}: {ours} here, {theirs} there: {} on {} with {:?} by {}",
                case.action, case.resource, case.context, case.document
            )
        });
        *reasons.entry(reason).or_default() += 1;
    }
    assert_eq!(reasons.len(), 4, "every reason occurs: {reasons:?}");
    assert!(outcomes.values().all(|count| *count > cases / 20), "{outcomes:?}");
    assert!(reasons.values().sum::<u64>() < cases / 10, "most agree: {reasons:?}");
}

#[test]
fn random_decisions_agree_with_another_evaluator_but_for_known_reasons() {
    compare(CASES);
}

#[test]
#[ignore = "takes minutes without optimisation"]
fn many_random_decisions_agree_but_for_known_reasons() {
    let is_long = std::env::var_os("KEYWRIGHT_TEST_LONG").is_some();
    compare(if is_long { LONG_CASES } else { MANY_CASES });
}
