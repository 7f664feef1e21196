//! Plans as facts without wording: the kind of each operation and remark, with its fields.

use crate::diff::*;
use keywright_model::json::Json;

/// The operations of the steps of a kind: `skip-new: pattern=R3, entity=Order, …`.
pub(super) fn facts(plan: &Plan, kind: StepKind) -> Vec<String> {
    plan.steps.iter().filter(|step| step.kind == kind).flat_map(facts_of).collect()
}

pub(super) fn facts_of(step: &Step) -> Vec<String> {
    step.operations.iter().map(|operation| fact(&operation.action.json())).collect()
}

/// The remarks of a plan's summary.
pub(super) fn remarks(plan: &Plan) -> Vec<String> {
    plan.summary.iter().map(|remark| fact(&remark.json())).collect()
}

/// The kinds of the remarks.
pub(super) fn remark_kinds(plan: &Plan) -> Vec<String> {
    remarks(plan).iter().map(|fact| fact.split(':').next().unwrap_or("").to_owned()).collect()
}

fn fact(json: &Json) -> String {
    let fields =
        json.members().iter().filter(|(name, _)| !["kind", "level", "text"].contains(&name.as_str()));
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={}", shown(value))).collect();
    format!("{}: {}", json.str_at("kind").unwrap_or(""), fields.join(", "))
}

fn shown(value: &Json) -> String {
    let all = |values: Vec<String>| values.join(" ");
    match value {
        Json::Null => "-".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(text) | Json::Text(text) => text.clone(),
        Json::List(values) => all(values.iter().map(shown).collect()),
        Json::Object(members) => all(members.iter().map(|(_, value)| shown(value)).collect()),
    }
}
