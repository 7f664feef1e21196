//! Rules about conditions: operators that do not ask what they seem to, and what conditions on attributes and
//! leading keys leave open.
//!
//! It does not know other statements.

use keywright_semantics::operation::Operation;
use keywright_semantics::touches::Action;

use super::{Findings, Known as Facts, Rule, has_condition};
use crate::action::Verb;
use crate::condition::{Condition, Quantifier, Test};
use crate::context::{Key, Known};
use crate::document::{Effect, Statement};

/// Actions whose requests always name keys and attributes.
const WITH_KEYS: [Verb; 11] = [
    Verb::of_operation(Operation::BatchGetItem),
    Verb::of_operation(Operation::BatchWriteItem),
    Verb::of_operation(Operation::DeleteItem),
    Verb::of_operation(Operation::GetItem),
    Verb::of_operation(Operation::PutItem),
    Verb::of_operation(Operation::Query),
    Verb::of_operation(Operation::UpdateItem),
    Verb::Touched(Action::ConditionCheckItem),
    Verb::Touched(Action::PartiqlDelete),
    Verb::Touched(Action::PartiqlInsert),
    Verb::Touched(Action::PartiqlUpdate),
];

/// Actions whose requests have `dynamodb:Select`.
const WITH_SELECT: [Verb; 5] = [
    Verb::of_operation(Operation::BatchGetItem),
    Verb::of_operation(Operation::GetItem),
    Verb::of_operation(Operation::Query),
    Verb::of_operation(Operation::Scan),
    Verb::Touched(Action::PartiqlSelect),
];

/// Actions whose requests have `dynamodb:ReturnValues` and can return an item.
const WITH_RETURN_VALUES: [Verb; 5] = [
    Verb::of_operation(Operation::DeleteItem),
    Verb::of_operation(Operation::PutItem),
    Verb::of_operation(Operation::UpdateItem),
    Verb::Touched(Action::PartiqlDelete),
    Verb::Touched(Action::PartiqlUpdate),
];

/// Actions whose requests can name several partition keys.
const WITH_SEVERAL_KEYS: [Verb; 3] = [
    Verb::of_operation(Operation::BatchGetItem),
    Verb::of_operation(Operation::BatchWriteItem),
    Verb::Touched(Action::PartiqlSelect),
];

/// Actions on items whose requests can name no key.
const WITHOUT_KEYS: [Verb; 2] = [Verb::of_operation(Operation::Scan), Verb::Touched(Action::PartiqlSelect)];

pub(super) fn check(statement: &Statement, facts: Facts<'_>, found: &mut Findings<'_>) {
    for condition in statement.conditions() {
        operator(statement, condition, found);
        key(condition, found);
        if condition.values.is_empty() && !condition.operator.is_negated {
            let text =
                format!("the condition {} of {} has no values", condition.operator_name, condition.key);
            found.add(Rule::NoEffect, text);
        }
    }
    match statement.effect() {
        Effect::Allow => {
            attributes(statement, facts, found);
            leading_keys(statement, found);
        }
        Effect::Deny => denied_keys(statement, found),
    }
}

fn operator(statement: &Statement, condition: &Condition, found: &mut Findings<'_>) {
    let (name, key) = (&condition.operator_name, &condition.key);
    let operator = condition.operator;
    let is_multivalued = key.is_multivalued() == Some(true);
    if operator.quantifier == Quantifier::Single && operator.test != Test::Null && is_multivalued {
        let matches = if operator.is_negated || operator.if_exists {
            "is met only by requests without"
        } else {
            "never matches"
        };
        let text = format!(
            "{name} {matches} {key}, which has several values: write ForAllValues:{name} or \
             ForAnyValue:{name}"
        );
        found.add(Rule::PlainOperator, text);
    }
    let is_allow = statement.effect() == Effect::Allow;
    if operator.quantifier == Quantifier::ForAllValues && is_allow && can_lack(statement, key) {
        let excludes = |other: &Condition| {
            other.key == *key && other.operator.test == Test::Null && other.values == ["false"]
        };
        if !statement.conditions().iter().any(excludes) {
            let text = format!(
                "a request without {key} meets {name}: add \"Null\": {{\"{key}\": \"false\"}}, or leave out \
                 actions that have none"
            );
            found.add(Rule::ForAllValues, text);
        }
    }
}

/// Whether a request that a statement is about can be without a key.
fn can_lack(statement: &Statement, key: &Key) -> bool {
    let is_of_items = matches!(key, Key::Known(Known::LeadingKeys | Known::Attributes));
    let served = &statement.actions().served;
    !is_of_items || Verb::all().any(|verb| served.contains(verb) && !WITH_KEYS.contains(&verb))
}

fn key(condition: &Condition, found: &mut Findings<'_>) {
    if let Key::Other(name) = &condition.key {
        let prefix = name.split(':').next().unwrap_or_default();
        if ["aws", "dynamodb"].iter().any(|known| known.eq_ignore_ascii_case(prefix)) {
            found.add(Rule::UnknownKey, format!("no request has the key {name}"));
        }
    }
    for variable in condition.variables() {
        if let Key::Other(name) = &variable.key
            && name.to_ascii_lowercase().starts_with("aws:")
        {
            found.add(Rule::UnknownKey, format!("no request has a value for the variable ${{{name}}}"));
        }
    }
}

fn attributes(statement: &Statement, facts: Facts<'_>, found: &mut Findings<'_>) {
    let of_attributes = |condition: &&Condition| condition.key == Key::Known(Known::Attributes);
    let Some(condition) = statement.conditions().iter().find(of_attributes) else { return };
    let names = |verbs: &[Verb]| verbs.iter().any(|verb| statement.actions().served.contains(*verb));
    let lacks = |key: Known| !has_condition(statement, &Key::Known(key));
    if names(&WITH_SELECT) && lacks(Known::Select) {
        let text = "reads can return attributes that they do not name: add \"StringEqualsIfExists\": \
                    {\"dynamodb:Select\": \"SPECIFIC_ATTRIBUTES\"}";
        found.add(Rule::AttributesReturned, text.to_owned());
    }
    if names(&WITH_RETURN_VALUES) && lacks(Known::ReturnValues) {
        let text = "writes can return attributes that they do not name: add \"StringEqualsIfExists\": \
                    {\"dynamodb:ReturnValues\": [\"NONE\", \"UPDATED_OLD\", \"UPDATED_NEW\"]}";
        found.add(Rule::AttributesReturned, text.to_owned());
    }
    let is_list = condition.operator.test == Test::StringEquals && !condition.operator.is_negated;
    let missing = facts.key_attributes.iter().filter(|key| !condition.values.contains(key));
    let missing: Vec<&str> = missing.map(String::as_str).collect();
    if is_list && !missing.is_empty() {
        let text = format!(
            "every request names its key attributes, so that none is allowed: add {} to dynamodb:Attributes",
            missing.join(", ")
        );
        found.add(Rule::AttributesWithoutKeys, text);
    }
}

/// The conditions on leading keys with this quantifier.
fn of_leading_keys(statement: &Statement, quantifier: Quantifier) -> impl Iterator<Item = &Condition> {
    let is_of_keys = move |condition: &&Condition| {
        condition.key == Key::Known(Known::LeadingKeys)
            && condition.operator.quantifier == quantifier
            && condition.operator.test != Test::Null
    };
    statement.conditions().iter().filter(is_of_keys)
}

/// Whether a statement is about one of these actions.
fn is_about(statement: &Statement, verbs: &[Verb]) -> bool {
    verbs.iter().any(|verb| statement.actions().served.contains(*verb))
}

fn leading_keys(statement: &Statement, found: &mut Findings<'_>) {
    let has_keys = has_condition(statement, &Key::Known(Known::LeadingKeys));
    if has_keys && is_about(statement, &[Verb::of_operation(Operation::Scan)]) {
        let text = "a Scan has no leading keys and returns the items of every key: leave dynamodb:Scan out";
        found.add(Rule::LeadingKeysWithScan, text.to_owned());
    }
    let is_met_without =
        |condition: &&Condition| condition.operator.is_negated || condition.operator.if_exists;
    if is_about(statement, &[Verb::Touched(Action::PartiqlSelect)])
        && let Some(Condition { operator_name, .. }) =
            of_leading_keys(statement, Quantifier::Single).find(is_met_without)
    {
        let text = format!(
            "a SELECT without keys meets {operator_name} and returns the items of every key: leave \
             dynamodb:PartiQLSelect out"
        );
        found.add(Rule::LeadingKeysWithScan, text);
    }
    if is_about(statement, &WITH_SEVERAL_KEYS)
        && let Some(Condition { operator_name, .. }) =
            of_leading_keys(statement, Quantifier::ForAnyValue).next()
    {
        let text = format!(
            "{operator_name} is met by a batch if one of its keys is allowed, also with keys that are not: write \
             ForAllValues, and \"Null\": {{\"dynamodb:LeadingKeys\": \"false\"}}"
        );
        found.add(Rule::MixedBatch, text);
    }
}

/// Denials by leading keys that requests can get around.
fn denied_keys(statement: &Statement, found: &mut Findings<'_>) {
    if is_about(statement, &WITH_SEVERAL_KEYS)
        && let Some(Condition { operator_name, .. }) =
            of_leading_keys(statement, Quantifier::ForAllValues).next()
    {
        let text = format!(
            "{operator_name} denies a batch only if it fits each of its keys, so that one other key is enough \
             to pass: write ForAnyValue"
        );
        found.add(Rule::MixedBatch, text);
    }
    if is_about(statement, &WITHOUT_KEYS)
        && let Some(Condition { operator_name, .. }) =
            of_leading_keys(statement, Quantifier::ForAnyValue).next()
    {
        let text = format!(
            "{operator_name} does not deny a Scan, which has no leading keys and returns the items of every \
             key: deny dynamodb:Scan and dynamodb:PartiQLSelect in a statement of its own"
        );
        found.add(Rule::LeadingKeysWithScan, text);
    }
}
