//! Any text as a policy document of each kind, as an ARN and as a file of documents: none panics, and the
//! first look at a request never contradicts the second.

#![no_main]

use std::sync::Arc;

use keywright_access::action::Action;
use keywright_access::arn::{Arn, Target};
use keywright_access::check::check;
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::{Decision, Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::explain::explain;
use keywright_access::lint::{self, lint};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&str, &str, &str)| {
    let (text, value, resource) = parts;
    if let Some(arn) = Arn::parse(resource) {
        assert_eq!(arn.to_string(), resource);
    }
    let key_attributes = [value.to_owned()];
    let known = lint::Known { key_attributes: &key_attributes };
    let _ = check(text, known);
    if let Ok(document) = Document::parse(text, PolicyKind::Trust) {
        lint(&document, known);
    }
    let policy = |kind| Document::parse(text, kind).ok().map(|document| Arc::new(Policy::new("p", document)));
    let identity: Vec<_> = policy(PolicyKind::Identity).into_iter().collect();
    let table = policy(PolicyKind::Table);
    let policies =
        Policies { identity: &identity, resource: table.as_deref(), boundary: None, session: &identity };
    let principal = Principal::user("123456789012", Named { path: "/", name: value }, "AIDA1");
    let Some(target) = Target::parse(resource) else { return };
    let context = Context::default()
        .with(Known::LeadingKeys, Value::Many(vec![value.into()]))
        .with(Known::UserAgent, Value::one(value));
    let first = context.clone().unbound();
    let question = |context| Question {
        principal: &principal,
        action: Action::parse("dynamodb:GetItem"),
        target: &target,
        context,
    };
    let second = decide(&question(&context), &policies);
    let decided = decide(&question(&first), &policies);
    if !matches!(decided, Decision::Depends) {
        assert_eq!(decided.is_allowed(), second.is_allowed(), "{text}");
    }
    let _ = explain(&question(&context), &policies).to_string();
});
