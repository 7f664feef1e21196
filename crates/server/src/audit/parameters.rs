//! What a record shows of a request.
//!
//! The walk follows the service model's shapes. A member is left out unless a rule here shows it: numbers,
//! truth values and times; texts of an enumeration; names of tables and indexes; ARNs; the texts in `TEXTS`;
//! names of attributes; of items the values of the table's key attributes; statements without values.
//! Everything else may hold what only the table's readers may know.

use keywright_semantics::operation::Operation;
use keywright_semantics::partiql;
use keywright_wire::{Form, FormKind};
use serde_json::{Map, Value, json};

use crate::limits::{AUDIT_BODY_BYTES_MAX, AUDIT_PARAMETER_BYTES_MAX};

/// Texts that are names, not contents. Of lists, the member that has the list.
const TEXTS: [&str; 18] = [
    "AttributeName",
    "AttributesToGet",
    "BackupName",
    "ExclusiveStartTableName",
    "ExpectedRevisionId",
    "GlobalTableName",
    "IndexName",
    "Key",
    "KMSMasterKeyId",
    "NonKeyAttributes",
    "RegionName",
    "S3Bucket",
    "S3BucketOwner",
    "S3KeyPrefix",
    "TableName",
    "TagKeys",
    "TargetTableName",
    "SourceTableName",
];
/// Members whose keys are names of attributes. The names alone are shown.
const BY_ATTRIBUTE: [&str; 5] =
    ["AttributeUpdates", "Expected", "KeyConditions", "QueryFilter", "ScanFilter"];
/// Parameters of IAM and STS that are names, by their first part.
const FORM_TEXTS: [&str; 33] = [
    "AccessKeyId",
    "Action",
    "ActionNames",
    "DurationSeconds",
    "EntityFilter",
    "GroupName",
    "Marker",
    "MaxItems",
    "MaxSessionDuration",
    "NewGroupName",
    "NewPath",
    "NewUserName",
    "OnlyAttached",
    "Path",
    "PathPrefix",
    "PermissionsBoundary",
    "PolicyArn",
    "PolicyArns",
    "PolicyName",
    "PolicySourceArn",
    "PolicyUsageFilter",
    "ResourceArns",
    "RoleArn",
    "RoleName",
    "RoleSessionName",
    "Scope",
    "SetAsDefault",
    "SourceIdentity",
    "Status",
    "TagKeys",
    "Tags",
    "UserName",
    "VersionId",
];
/// A name or key longer than this is not shown: no request with it succeeds.
const TEXT_BYTES_MAX: usize = 2_048;
const REDACTED: &str = "***(Redacted)";

/// A member's name as records have it: with a small first letter.
pub(crate) fn camel_case(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// The parameters of a request to DynamoDB. `key_of` gives the names of a table's key attributes.
pub(crate) fn of_json(operation: Operation, body: &[u8], key_of: &dyn Fn(&str) -> Vec<String>) -> Value {
    if body.len() > AUDIT_BODY_BYTES_MAX {
        return omitted(body.len());
    }
    let (Some(form), Ok(body_value)) = (Form::of(operation), serde_json::from_slice::<Value>(body)) else {
        return Value::Null;
    };
    let walk = Walk { key_of };
    let shown = walk.shown(form, Spot { name: "", table: None }, &body_value).unwrap_or(Value::Null);
    if shown.to_string().len() > AUDIT_PARAMETER_BYTES_MAX { omitted(body.len()) } else { shown }
}

/// What stands for the parameters of a request that has too many.
fn omitted(bytes: usize) -> Value {
    json!({"omitted": true, "originalSize": bytes, "reason": "the request is too large"})
}

/// The parameters of a request to IAM or STS.
pub(crate) fn of_form<'p>(parameters: impl Iterator<Item = (&'p str, &'p str)>) -> Value {
    let mut shown = Map::new();
    for (name, text) in parameters {
        let mut parts = name.split('.');
        let first = parts.next().unwrap_or_default();
        let is_tag = first == "Tags" && !name.ends_with(".Key");
        let is_shown = FORM_TEXTS.contains(&first) && !is_tag && first != "Action";
        if is_shown && text.len() <= TEXT_BYTES_MAX && name.len() <= TEXT_BYTES_MAX {
            shown.insert(camel_case(name), json!(text));
        }
    }
    let shown = Value::Object(shown);
    let bytes = shown.to_string().len();
    if bytes > AUDIT_PARAMETER_BYTES_MAX { omitted(bytes) } else { shown }
}

/// Members of a JSON object that are shown: numbers, truth values, and these texts.
pub(crate) fn of_members(body: &[u8], texts: &[&str]) -> Value {
    if body.len() > AUDIT_BODY_BYTES_MAX {
        return omitted(body.len());
    }
    let Ok(Value::Object(members)) = serde_json::from_slice::<Value>(body) else { return Value::Null };
    let is_shown = |name: &str, value: &Value| match value {
        Value::Number(_) | Value::Bool(_) => name.len() <= TEXT_BYTES_MAX,
        Value::String(text) => texts.contains(&name) && text.len() <= TEXT_BYTES_MAX,
        _ => false,
    };
    let shown = members.into_iter().filter(|(name, value)| is_shown(name, value));
    Value::Object(shown.map(|(name, value)| (camel_case(&name), value)).collect())
}

/// Adds a name that stands elsewhere in the request to its parameters.
pub(crate) fn add_member(shown: &mut Value, name: &str, text: &str) {
    if shown.is_null() {
        *shown = json!({});
    }
    if let Some(members) = shown.as_object_mut() {
        members.insert(camel_case(name), json!(text));
    }
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Spot<'v> {
    /// The member, also of what is in its lists.
    name: &'v str,
    /// The table that the values around it name.
    table: Option<&'v str>,
}

struct Walk<'k> {
    key_of: &'k dyn Fn(&str) -> Vec<String>,
}

impl Walk<'_> {
    /// What is shown of a value; none if it is left out.
    fn shown(&self, form: Form, spot: Spot<'_>, value: &Value) -> Option<Value> {
        match (form.kind(), value) {
            (FormKind::Plain, Value::Number(_) | Value::Bool(_)) => Some(value.clone()),
            (FormKind::Choice(values), Value::String(text)) => {
                values.contains(&text.as_str()).then(|| value.clone())
            }
            (FormKind::Name, Value::String(text)) => is_name(text).then(|| value.clone()),
            (FormKind::Text, Value::String(text)) if spot.name == "Statement" => {
                Some(Value::String(self.statement(text)))
            }
            (FormKind::Text, Value::String(text)) => is_shown(spot.name, text).then(|| value.clone()),
            (FormKind::List(element), Value::Array(values)) => {
                let shown: Vec<Value> =
                    values.iter().filter_map(|value| self.shown(element, spot, value)).collect();
                (!shown.is_empty()).then_some(Value::Array(shown))
            }
            (FormKind::Map(key, of), Value::Object(entries)) => self.map((key, of), spot, entries),
            (FormKind::Structure, Value::Object(entries)) => Some(self.structure(form, spot, entries)),
            _ => None,
        }
    }

    fn map(&self, (key, of): (Form, Form), spot: Spot<'_>, entries: &Map<String, Value>) -> Option<Value> {
        if BY_ATTRIBUTE.contains(&spot.name) {
            return names(entries);
        }
        if matches!(of.kind(), FormKind::Value) {
            let is_key = matches!(spot.name, "Key" | "Keys");
            return if is_key { self.key(spot.table, entries) } else { None };
        }
        if !matches!(key.kind(), FormKind::Name) {
            return None;
        }
        let mut shown = Map::new();
        for (table, value) in entries.iter().filter(|(table, _)| is_name(table)) {
            let spot = Spot { table: Some(table), ..spot };
            if let Some(value) = self.shown(of, spot, value) {
                shown.insert(table.clone(), value);
            }
        }
        Some(Value::Object(shown))
    }

    fn structure(&self, form: Form, around: Spot<'_>, entries: &Map<String, Value>) -> Value {
        let table = entries.get("TableName").and_then(Value::as_str).or(around.table);
        let mut shown = Map::new();
        for (name, value) in entries {
            let Some(member) = form.member(name) else { continue };
            let spot = Spot { name, table };
            if name == "Item"
                && let (FormKind::Map(..), Value::Object(item)) = (member.kind(), value)
            {
                if let Some(key) = self.key(table, item) {
                    shown.insert("key".to_owned(), key);
                }
                if let Some(names) = names(item) {
                    shown.insert("item".to_owned(), names);
                }
            } else if let Some(value) = self.shown(member, spot, value) {
                shown.insert(camel_case(name), value);
            }
        }
        Value::Object(shown)
    }

    /// The values of the table's key attributes in an item; none if the table is not known.
    fn key(&self, table: Option<&str>, item: &Map<String, Value>) -> Option<Value> {
        let mut shown = Map::new();
        for name in (self.key_of)(table?) {
            let value = item.get(&name).and_then(Value::as_object).and_then(|value| value.values().next());
            if let Some(text) = value.and_then(Value::as_str).filter(|text| text.len() <= TEXT_BYTES_MAX) {
                shown.insert(name, json!(text));
            }
        }
        (!shown.is_empty()).then_some(Value::Object(shown))
    }

    fn statement(&self, text: &str) -> String {
        let touched = partiql::touch(text);
        let table = touched.as_ref().and_then(|touch| touch.resource.table_as_sent());
        let key = table.map(|table| (self.key_of)(table)).unwrap_or_default();
        partiql::redacted(text, &key).unwrap_or_else(|| REDACTED.to_owned())
    }
}

/// The names of an item's attributes.
fn names(item: &Map<String, Value>) -> Option<Value> {
    let mut names: Vec<&String> = item.keys().filter(|name| name.len() <= TEXT_BYTES_MAX).collect();
    names.sort_unstable();
    let names: Vec<Value> = names.into_iter().map(|name| json!(name)).collect();
    (!names.is_empty()).then_some(Value::Array(names))
}

/// Whether a text can be the name or ARN of a table or index.
pub(crate) fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    text.len() <= TEXT_BYTES_MAX && (text.bytes().all(letter) || is_arn(text))
}

fn is_arn(text: &str) -> bool {
    text.starts_with("arn:") && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_shown(name: &str, text: &str) -> bool {
    let is_arn_of_name = || name.ends_with("Arn") && is_arn(text);
    text.len() <= TEXT_BYTES_MAX && (TEXTS.contains(&name) || is_arn_of_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(operation: Operation, body: &Value) -> Value {
        let key_of = |table: &str| if table == "T" { vec!["pk".to_owned()] } else { Vec::new() };
        of_json(operation, body.to_string().as_bytes(), &key_of)
    }

    #[test]
    fn of_items_only_keys_and_names_are_shown() {
        let put = json!({"TableName": "T", "Item": {"pk": {"S": "a"}, "x": {"S": "secret"}},
            "ConditionExpression": "x = :v", "ExpressionAttributeValues": {":v": {"S": "secret"}},
            "ReturnValues": "ALL_OLD", "Unknown": "secret"});
        assert_eq!(
            shown(Operation::PutItem, &put),
            json!({"tableName": "T", "key": {"pk": "a"}, "item": ["pk", "x"], "returnValues": "ALL_OLD"})
        );
        let unknown =
            json!({"TableName": "no name", "Key": {"pk": {"S": "secret"}}, "ReturnValues": "secret"});
        assert_eq!(shown(Operation::DeleteItem, &unknown), json!({}));
        let batch = json!({"RequestItems": {"T": [
            {"PutRequest": {"Item": {"pk": {"N": "1"}, "y": {"S": "secret"}}}},
            {"DeleteRequest": {"Key": {"pk": {"B": "YQ=="}, "y": {"S": "secret"}}}}]}});
        assert_eq!(
            shown(Operation::BatchWriteItem, &batch),
            json!({"requestItems": {"T": [{"putRequest": {"key": {"pk": "1"}, "item": ["pk", "y"]}},
                {"deleteRequest": {"key": {"pk": "YQ=="}}}]}})
        );
    }

    #[test]
    fn statements_and_tables_are_shown_without_values_and_policies() {
        let statement = json!({"Statement": "SELECT * FROM T WHERE pk = 'a' AND x = 'secret'",
            "Parameters": [{"S": "secret"}], "Limit": 3});
        assert_eq!(
            shown(Operation::ExecuteStatement, &statement),
            json!({"statement": "SELECT * FROM T WHERE pk = 'a' AND x = ***(Redacted)", "limit": 3})
        );
        let create = json!({"TableName": "T", "ResourcePolicy": "secret", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "Tags": [{"Key": "team", "Value": "secret"}]});
        assert_eq!(
            shown(Operation::CreateTable, &create),
            json!({"tableName": "T", "billingMode": "PAY_PER_REQUEST",
                "attributeDefinitions": [{"attributeName": "pk", "attributeType": "S"}],
                "tags": [{"key": "team"}]})
        );
    }

    #[test]
    fn forms_show_names_only() {
        let form = [
            ("Action", "PutUserPolicy"),
            ("UserName", "Ann"),
            ("PolicyDocument", "secret"),
            ("Tags.member.1.Key", "team"),
            ("Tags.member.1.Value", "secret"),
        ];
        assert_eq!(of_form(form.into_iter()), json!({"userName": "Ann", "tags.member.1.Key": "team"}));
    }
}
