//! Time of decisions and of reading documents. `cargo bench -p keywright-access`.
//!
//! To hold: a decision without conditions takes less than 1 µs, with leading keys less than 3 µs.

use std::sync::Arc;

use divan::{Bencher, black_box};
use keywright_access::action::{Action, Verb};
use keywright_access::arn::{Arn, Target};
use keywright_access::context::{Context, Known, Value};
use keywright_access::decide::{Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};
use keywright_semantics::operation::Operation;

const PLAIN: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query"],
     "Resource": ["arn:aws:dynamodb:eu-west-1:123456789012:table/Orders",
                  "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders/index/*"]},
    {"Effect": "Deny", "Action": "dynamodb:Delete*", "Resource": "*"}]}"#;

const OWN_ITEMS: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem"],
     "Resource": "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders",
     "Condition": {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["${aws:username}"],
            "dynamodb:Attributes": ["customer", "order", "total", "state", "placed", "note"]},
        "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}}]}"#;

fn main() {
    divan::main();
}

fn policies(text: &str, count: usize) -> Vec<Arc<Policy>> {
    let document = Document::parse(text, PolicyKind::Identity).expect("a document");
    (0..count).map(|index| Arc::new(Policy::new(format!("p{index}"), document.clone()))).collect()
}

fn bench(bencher: Bencher<'_, '_>, identity: &[Arc<Policy>], context: &Context<'_>) {
    let principal = Principal::user("123456789012", Named { path: "/", name: "ann" }, "AIDA1");
    let target = Arn::parse("arn:aws:dynamodb:eu-west-1:123456789012:table/Orders").map(Target::One);
    let target = target.expect("an ARN");
    let policies = Policies { identity, ..Policies::default() };
    let action = Action::Served(Verb::of_operation(Operation::GetItem));
    let question = Question { principal: &principal, action, target: &target, context };
    assert!(decide(&question, &policies).is_allowed());
    bencher.bench_local(|| black_box(decide(black_box(&question), &policies).is_allowed()));
}

#[divan::bench(args = [1, 10])]
fn without_conditions(bencher: Bencher<'_, '_>, count: usize) {
    bench(bencher, &policies(PLAIN, count), &Context::default());
}

fn own_item() -> Context<'static> {
    let names = ["customer", "order", "total", "state"].map(Into::into).to_vec();
    Context::default()
        .with(Known::Select, Value::one("SPECIFIC_ATTRIBUTES"))
        .with(Known::LeadingKeys, Value::Many(vec!["ann".into()]))
        .with(Known::Attributes, Value::Many(names))
}

#[divan::bench(args = [1, 10])]
fn with_leading_keys_and_attributes(bencher: Bencher<'_, '_>, count: usize) {
    bench(bencher, &policies(OWN_ITEMS, count), &own_item());
}

#[divan::bench]
fn context_of_a_request(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| black_box(own_item()));
}

#[divan::bench]
fn parse_a_document(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| Document::parse(black_box(OWN_ITEMS), PolicyKind::Identity));
}
