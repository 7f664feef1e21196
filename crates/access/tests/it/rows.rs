//! Rows of decisions: policies and requests as published examples have them, and what is decided.
//!
//! Each row cites its page; names and wording are our own.

use std::collections::BTreeMap;
use std::sync::Arc;

use keywright_access::action::Action;
use keywright_access::arn::{Arn, Target};
use keywright_access::context::{Context, Value};
use keywright_access::decide::{Decision, Denial, Question, decide};
use keywright_access::document::{Document, PolicyKind};
use keywright_access::policies::{Policies, Policy};
use keywright_access::principal::{Named, Principal};
use keywright_semantics::messages::access::PolicyLayer;
use serde_json::Value as Json;

/// The account that owns the resources.
const OWNER: &str = "123456789012";

/// One request and its decision.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) principal: Principal,
    pub(crate) action: String,
    pub(crate) resource: String,
    pub(crate) context: Vec<(String, Json)>,
    pub(crate) decision: String,
    identity: Vec<Arc<Policy>>,
    boundary: Option<Arc<Policy>>,
    session: Vec<Arc<Policy>>,
    resource_policy: Option<Arc<Policy>>,
}

impl Row {
    pub(crate) fn context(&self) -> Context<'_> {
        self.context.iter().fold(Context::default(), |context, (key, value)| {
            let value = match value {
                Json::String(text) => Value::one(text.as_str()),
                Json::Array(list) => {
                    Value::Many(list.iter().map(|one| one.as_str().unwrap().into()).collect())
                }
                other => panic!("{}: a value {other}", self.name),
            };
            context.with_named(key, value)
        })
    }

    pub(crate) fn policies(&self) -> Policies<'_> {
        Policies {
            identity: &self.identity,
            boundary: self.boundary.as_deref(),
            session: &self.session,
            resource: self.resource_policy.as_deref(),
        }
    }

    pub(crate) fn decide(&self, context: &Context<'_>) -> String {
        let target = Target::parse(&self.resource).unwrap();
        let question = Question {
            principal: &self.principal,
            action: Action::parse(&self.action),
            target: &target,
            context,
        };
        words(&decide(&question, &self.policies()))
    }
}

/// A decision as rows write it.
pub(crate) fn words(decision: &Decision<'_>) -> String {
    let layer = |layer: PolicyLayer| match layer {
        PolicyLayer::Identity => "identity",
        PolicyLayer::Boundary => "boundary",
        PolicyLayer::Session => "session",
        PolicyLayer::Resource => "resource",
    };
    match decision {
        Decision::Allow => "allow".to_owned(),
        Decision::Depends => "depends".to_owned(),
        Decision::Deny(denial @ Denial::Explicit { .. }) => format!("explicit {}", layer(denial.layer())),
        Decision::Deny(denial @ Denial::Implicit { .. }) => format!("implicit {}", layer(denial.layer())),
    }
}

fn kind(name: &str) -> PolicyKind {
    match name {
        "identity" => PolicyKind::Identity,
        "boundary" => PolicyKind::Boundary,
        "session" => PolicyKind::Session,
        "table" => PolicyKind::Table,
        "stream" => PolicyKind::Stream,
        other => panic!("a policy of kind {other}"),
    }
}

/// `root`, `user/NAME` or `session/ROLE/NAME`.
fn principal(account: &str, caller: &str) -> Principal {
    let named = |name| Named { path: "/", name };
    match caller.split('/').collect::<Vec<_>>()[..] {
        ["root"] => Principal::root(account),
        ["user", name] => Principal::user(account, named(name), "AIDAEXAMPLE"),
        ["session", role, name] => Principal::session(account, named(role), "AROAEXAMPLE", name),
        _ => panic!("a caller {caller}"),
    }
}

pub(crate) fn read() -> Vec<Row> {
    let json: Json = serde_json::from_str(include_str!("../decisions.json")).unwrap();
    let mut policies = BTreeMap::new();
    for (name, policy) in json["policies"].as_object().unwrap() {
        let text = policy["document"].to_string();
        let document = Document::parse(&text, kind(policy["kind"].as_str().unwrap()));
        let document = document.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        policies.insert(name.clone(), Arc::new(Policy::new(name.clone(), document)));
    }
    json["rows"].as_array().unwrap().iter().map(|row| read_row(row, &policies)).collect()
}

fn read_row(row: &Json, policies: &BTreeMap<String, Arc<Policy>>) -> Row {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let one = |name: &Json| Arc::clone(&policies[name.as_str().unwrap()]);
    let list = |name: &str| row[name].as_array().into_iter().flatten().map(one).collect();
    let account = row["account"].as_str().unwrap_or(OWNER);
    let tags = row["tags"].as_object().into_iter().flatten();
    let tags = tags.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect();
    let short = text("resource");
    let resource = if short == "*" || Arn::parse(&short).is_some() {
        short
    } else {
        format!("arn:aws:dynamodb:us-west-2:{OWNER}:{short}")
    };
    let context = row["context"].as_object().into_iter().flatten();
    Row {
        name: format!("{}: {}", text("page"), text("case")),
        principal: principal(account, &text("caller")).with_tags(tags),
        action: text("action"),
        resource,
        context: context.map(|(key, value)| (key.clone(), value.clone())).collect(),
        decision: text("decision"),
        identity: list("identity"),
        boundary: row.get("boundary").map(one),
        session: list("session"),
        resource_policy: row.get("resource_policy").map(one),
    }
}
