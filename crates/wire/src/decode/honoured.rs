//! Walks the service model: each member of each served operation's input changes the typed request, or is
//! refused, or stands in COMPAT.md as one that has no effect.
//!
//! What a member changes is measured, with the rows of the case files as requests: a request in which only
//! this member has another value is another typed request. So a member that the decoder or `validate` drops
//! fails here, also one that a newer model brings.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[path = "../../tests/it/case_file.rs"]
mod case_file;

use std::collections::{BTreeMap, BTreeSet};

use keywright_semantics::request::parts::{KeysAndAttributesParts, TableCreationParametersParts};
use keywright_semantics::request::{Fingerprint, Request, RequestToken};
use serde_json::{Value, json};

use self::case_file::{cases, snake_case};
use super::{decode, decode_parts};
use crate::operation::{Operation, is_served};
use crate::shapes::{self, Kind, Shape};

const NO_GLOBAL_TABLE: &str = "there is no global table of version 2017 whose settings could change";
const ONE_ROLE: &str = "scaling always takes the role that is linked to the service";

/// Members that are accepted and have no effect, with the reason why that is honest. COMPAT.md lists them.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    (
        "DisableKinesisStreamingDestination.EnableKinesisStreamingConfiguration.ApproximateCreationDateTimePrecision",
        "the service refuses every request with a configuration, with any value",
    ),
    ("UpdateGlobalTableSettings.GlobalTableBillingMode", NO_GLOBAL_TABLE),
    ("UpdateGlobalTableSettings.GlobalTableGlobalSecondaryIndexSettingsUpdate", NO_GLOBAL_TABLE),
    (
        "UpdateGlobalTableSettings.GlobalTableProvisionedWriteCapacityAutoScalingSettingsUpdate",
        NO_GLOBAL_TABLE,
    ),
    ("UpdateGlobalTableSettings.GlobalTableProvisionedWriteCapacityUnits", NO_GLOBAL_TABLE),
    ("UpdateGlobalTableSettings.ReplicaSettingsUpdate", NO_GLOBAL_TABLE),
    (
        "UpdateTableReplicaAutoScaling.GlobalSecondaryIndexUpdates.ProvisionedWriteCapacityAutoScalingUpdate.AutoScalingRoleArn",
        ONE_ROLE,
    ),
    ("UpdateTableReplicaAutoScaling.ProvisionedWriteCapacityAutoScalingUpdate.AutoScalingRoleArn", ONE_ROLE),
    (
        "UpdateTableReplicaAutoScaling.ReplicaUpdates.ReplicaGlobalSecondaryIndexUpdates.ProvisionedReadCapacityAutoScalingUpdate.AutoScalingRoleArn",
        ONE_ROLE,
    ),
    (
        "UpdateTableReplicaAutoScaling.ReplicaUpdates.ReplicaProvisionedReadCapacityAutoScalingUpdate.AutoScalingRoleArn",
        ONE_ROLE,
    ),
    ("ListTagsOfResource.NextToken", "all tags of a table are on one page, so no token is ever given out"),
];

/// The value of a member somewhere in a request, and values of the same shape to put in its place.
struct Spot {
    /// Operation and members, without the places in lists and maps: `Query.KeyConditions.ComparisonOperator`.
    path: String,
    pointer: String,
    others: Vec<Value>,
}

/// The paths of all members whose values are no structures. The one value of an enumeration has no other that
/// could make a difference.
fn leaves(shape: &Shape, path: &str, found: &mut BTreeSet<String>) {
    match shape.kind {
        Kind::Structure { members, .. } => {
            for member in members {
                leaves(member.shape, &format!("{path}.{}", member.name), found);
            }
        }
        Kind::List(inner) | Kind::Map { value: inner, .. } => leaves(inner, path, found),
        Kind::Choice([_]) => {}
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// The members that a request has.
fn spots(shape: &Shape, value: &Value, path: &str, pointer: &str, found: &mut Vec<Spot>) {
    match (shape.kind, value) {
        (Kind::Structure { members, .. }, Value::Object(entries)) => {
            for member in members {
                if let Some(value) = entries.get(member.name) {
                    let (path, pointer) =
                        (format!("{path}.{}", member.name), format!("{pointer}/{}", member.name));
                    spots(member.shape, value, &path, &pointer, found);
                }
            }
        }
        (Kind::List(inner), Value::Array(elements)) => {
            for (place, element) in elements.iter().enumerate() {
                spots(inner, element, path, &format!("{pointer}/{place}"), found);
            }
        }
        (Kind::Map { value: inner, .. }, Value::Object(entries)) => {
            for (name, entry) in entries {
                let name = name.replace('~', "~0").replace('/', "~1");
                spots(inner, entry, path, &format!("{pointer}/{name}"), found);
            }
        }
        (kind, value) => found.push(Spot {
            path: path.to_owned(),
            pointer: pointer.to_owned(),
            others: others(kind, value),
        }),
    }
}

fn others(kind: Kind, value: &Value) -> Vec<Value> {
    match (kind, value) {
        (Kind::Text, Value::String(text)) => {
            let (start, end) = (text.get(1..).unwrap_or_default(), text.len().saturating_sub(1));
            let cut = text.get(..end).unwrap_or_default();
            let texts = [format!("{text}x"), format!("Z{start}"), format!("{cut}7"), format!("{cut}8")];
            let others = ["STANDARD_INFREQUENT_ACCESS".to_owned(), "|".to_owned()];
            texts.into_iter().chain(others).map(Value::from).collect()
        }
        (Kind::Choice(values), _) => values.iter().copied().map(Value::from).collect(),
        (Kind::Integer | Kind::Long | Kind::Double | Kind::Timestamp, Value::Number(number)) => {
            let whole = number.as_f64().unwrap();
            vec![json!(whole + 1.0), json!(whole - 1.0)]
        }
        (Kind::Boolean, Value::Bool(value)) => vec![json!(!value)],
        (Kind::AttributeValue, _) => vec![json!({"S": "another"}), json!({"N": "-77.5"})],
        _ => Vec::new(),
    }
}

/// What the engine gets of a request, as text; or the error's text. Left out is what merely repeats the
/// client's parts: unprocessed keys and items that go back to it, and hashes of whole requests.
fn meaning(operation: Operation, body: &Value) -> Result<String, String> {
    let none = Fingerprint([0; 32]);
    let forget = |token: &mut Option<RequestToken>| {
        if let Some(token) = token {
            token.fingerprint = none;
        }
    };
    let mut request = decode(operation, body.to_string().as_bytes()).map_err(|error| error.message)?;
    match &mut request {
        Request::BatchGetItem(batch) => {
            batch.tables.iter_mut().for_each(|table| table.parts = KeysAndAttributesParts::default());
        }
        Request::BatchWriteItem(batch) => batch.tables.iter_mut().for_each(|table| table.orders.clear()),
        Request::TransactWriteItems(transaction) => forget(&mut transaction.token),
        Request::ExecuteTransaction(transaction) => forget(&mut transaction.token),
        Request::ImportTable(import) => {
            import.fingerprint = none;
            import.parts.table_creation_parameters = TableCreationParametersParts::default();
        }
        Request::ExecuteStatement(statement) => statement.fingerprint = none,
        Request::ExportTableToPointInTime(export) => export.fingerprint = none,
        _ => {}
    }
    Ok(format!("{request:?}"))
}

/// The operation of each row of the case files whose shape is right, its input and its body.
fn requests() -> Vec<(Operation, &'static Shape, Value)> {
    let mut found = Vec::new();
    for case in cases() {
        let operation = Operation::ALL.iter().find(|operation| snake_case(operation.name()) == case.file);
        let operation = *operation.expect("a case file is named after an operation");
        let input = shapes::input(operation).expect("a case file is for a served operation");
        if case.outcome == "ok" && decode_parts(operation, case.body.as_bytes()).is_ok() {
            found.push((operation, input.shape, serde_json::from_str(&case.body).unwrap()));
        }
    }
    found
}

/// The members whose values make a difference in a request that is accepted.
fn read_members() -> BTreeSet<String> {
    let mut read = BTreeSet::new();
    for (operation, shape, body) in requests() {
        let Ok(before) = meaning(operation, &body) else { continue };
        let mut members = Vec::new();
        spots(shape, &body, operation.name(), "", &mut members);
        for spot in members {
            let makes_a_difference = spot.others.iter().any(|other| {
                let mut changed = body.clone();
                changed.pointer_mut(&spot.pointer).unwrap().clone_from(other);
                let has_right_shape = decode_parts(operation, changed.to_string().as_bytes()).is_ok();
                has_right_shape && meaning(operation, &changed).as_ref() != Ok(&before)
            });
            if makes_a_difference {
                read.insert(spot.path);
            }
        }
    }
    read
}

/// The members that an error names as not supported.
fn refused_members() -> BTreeSet<String> {
    let mut refused = BTreeSet::new();
    for (operation, _, mut body) in requests() {
        let Err(text) = meaning(operation, &body) else { continue };
        let Some((start, _)) = text.split_once(" is not supported by this server") else { continue };
        let member = start.rsplit(' ').next().unwrap().to_owned();
        // A member within another one is named with it.
        let (outer, inner) = member.split_once('.').unwrap_or(("", &member));
        let holder = if outer.is_empty() { &mut body } else { &mut body[outer] };
        // One in the elements of a list is named with the list.
        let holder = if holder.is_array() { &mut holder[0] } else { holder };
        let removed = holder.as_object_mut().unwrap().remove(inner);
        assert!(removed.is_some(), "{}: the request has no {member}", operation.name());
        assert_ne!(meaning(operation, &body), Err(text), "the error is about {member}");
        refused.insert(format!("{}.{member}", operation.name()));
    }
    refused
}

#[test]
fn every_member_of_the_model_is_read_or_refused_or_listed() {
    let mut members = BTreeSet::new();
    for operation in Operation::ALL.iter().filter(|operation| is_served(**operation)) {
        leaves(shapes::input(*operation).unwrap().shape, operation.name(), &mut members);
    }
    let (read, refused) = (read_members(), refused_members());
    let listed: BTreeMap<&str, &str> = WITHOUT_EFFECT.iter().copied().collect();
    let is_refused =
        |path: &str| refused.iter().any(|member| path == member || path.starts_with(&format!("{member}.")));
    let is_in = |path: &str, member: &str| path == member || path.starts_with(&format!("{member}."));
    let is_listed = |path: &str| listed.keys().any(|member| is_in(path, member));
    let unread: Vec<&String> = members
        .iter()
        .filter(|path| !read.contains(*path) && !is_refused(path) && !is_listed(path))
        .collect();
    assert!(
        unread.is_empty(),
        "read these members, refuse them (`request/unserved.rs`), or list them here and in COMPAT.md; one that \
         is read needs a case in tests/cases in which its value makes a difference: {unread:#?}"
    );
    for (path, reason) in &listed {
        assert!(members.iter().any(|member| is_in(member, path)), "the model has no {path}");
        let is_read = read.iter().any(|member| is_in(member, path));
        assert!(!is_read && !is_refused(path), "{path} has an effect by now");
        assert!(!reason.is_empty());
    }
}

/// The members that COMPAT.md names in its table of parameters: those refused, and those without effect.
fn listed_in_compat() -> (BTreeSet<String>, BTreeSet<String>) {
    let text = include_str!("../../../../COMPAT.md");
    let (_, section) = text.split_once("## Served").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let (mut refused, mut without_effect) = (BTreeSet::new(), BTreeSet::new());
    for row in section.lines().filter(|line| line.starts_with("| ")) {
        let [_, parameters, behaviour, ..] = row.split('|').collect::<Vec<_>>()[..] else { continue };
        let (operation, names) = parameters.trim().split_once(' ').unwrap_or_default();
        let members = names.split('`').skip(1).step_by(2).map(|name| format!("{operation}.{name}"));
        if behaviour.contains("not supported") {
            refused.extend(members);
        } else if behaviour.contains("without effect") {
            without_effect.extend(members);
        }
    }
    (refused, without_effect)
}

#[test]
fn compat_names_the_members_that_are_refused_and_those_without_effect() {
    let (refused, without_effect) = listed_in_compat();
    assert_eq!(refused, refused_members());
    assert_eq!(without_effect, WITHOUT_EFFECT.iter().map(|(path, _)| (*path).to_owned()).collect());
}
