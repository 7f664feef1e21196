//! What an assistant can call: names, purposes, arguments.
//!
//! The texts are written for a model that sees nothing else of Keywright.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::Setting;
use super::database::Database;

/// What a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Model(OnModels),
    /// One request that changes nothing.
    Read,
    /// The versions of one item.
    History,
    /// Jobs and how they stand.
    Jobs,
    /// A new table from a backup or a point in time.
    Restore,
    /// Any request.
    Write,
}

/// What a tool on models does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnModels {
    Format,
    Check,
    Cost,
    Design,
    Simulate,
    ExplainRule,
}

/// All tools by their names.
const ALL: &[(&str, Run)] = &[
    ("model_format", Run::Model(OnModels::Format)),
    ("model_check", Run::Model(OnModels::Check)),
    ("model_cost", Run::Model(OnModels::Cost)),
    ("model_design", Run::Model(OnModels::Design)),
    ("model_simulate", Run::Model(OnModels::Simulate)),
    ("model_explain_rule", Run::Model(OnModels::ExplainRule)),
    ("database_read", Run::Read),
    ("database_history", Run::History),
    ("database_jobs", Run::Jobs),
    ("database_restore", Run::Restore),
    ("database_write", Run::Write),
];

/// The tool of this name.
pub(super) fn find(name: &str) -> Option<(&'static str, Run)> {
    ALL.iter().find(|(own, _)| *own == name).copied()
}

/// What the tool on models of this name does.
pub(super) fn on_models(name: &str) -> Option<OnModels> {
    ALL.iter().find_map(|(own, run)| match run {
        Run::Model(on_models) if *own == name => Some(*on_models),
        _ => None,
    })
}

/// The tools of a setting.
pub(super) fn list(setting: &Setting) -> Vec<Tool> {
    ALL.iter()
        .filter(|(_, run)| lacking_flag(*run, setting).is_none())
        .map(|(name, run)| tool(name, *run))
        .collect()
}

/// The flag that a tool needs and that the program was started without.
pub(super) fn lacking_flag(run: Run, setting: &Setting) -> Option<&'static str> {
    let allowed = setting.database.as_ref().map(Database::allowed);
    let (flag, is_given) = match run {
        Run::Model(_) => return None,
        Run::Read | Run::History | Run::Jobs => ("--endpoint", allowed.is_some()),
        Run::Restore => ("--allow-restores", allowed.is_some_and(|allowed| allowed.restores)),
        Run::Write => ("--allow-writes", allowed.is_some_and(|allowed| allowed.writes)),
    };
    (!is_given).then_some(flag)
}

fn tool(name: &'static str, run: Run) -> Tool {
    let (purpose, properties, required) = described(run);
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    let schema: JsonObject = schema.as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new()
        .read_only(!matches!(run, Run::Write | Run::Restore))
        .destructive(run == Run::Write)
        .open_world(!matches!(run, Run::Model(_)));
    Tool::new(name, purpose, Arc::new(schema)).with_annotations(hints)
}

/// A tool's purpose, its arguments and those that must be given.
fn described(run: Run) -> (&'static str, Value, Value) {
    let none = || json!([]);
    match run {
        Run::Model(tool) => on_models_described(tool),
        Run::Read => (
            "Sends one request that changes nothing to the database: ListTables, DescribeTable, GetItem, Query, \
             Scan, BatchGetItem, TransactGetItems, ExecuteStatement with SELECT, and other Describe… and List… \
             operations. Query and Scan return at most 50 items unless the request has a Limit.",
            request(),
            json!(["operation"]),
        ),
        Run::History => (
            "Shows what an item of the database has been: its versions, newest first, with the time of each change in \
             milliseconds since 1970, or the item as it was at a time. The table needs point-in-time recovery.",
            json!({
                "table": {"type": "string", "description": "The table"},
                "key": {"type": "object", "description": "The item's key with typed values such as {\"S\": \"a\"}"},
                "at": {"type": "string",
                       "description": "Only the item at this time: 2026-10-06T23:16:32Z, or so long ago: -10m"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100,
                          "description": "Maximum number of versions; 20 by default"},
            }),
            json!(["table", "key"]),
        ),
        Run::Jobs => (
            "Lists the database's long work (restores, rollbacks, copies of backups) with its state, progress and \
             error, the newest first; or describes one job.",
            json!({
                "id": {"type": "string", "description": "Only this job"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100,
                          "description": "Maximum number of jobs; 20 by default"},
            }),
            none(),
        ),
        Run::Restore => (
            "Restores a table into a new table: to a point in time, if the table has point-in-time recovery, or from a \
             backup. The source stays as it is. The new table is CREATING until the restore has ended; database_jobs \
             shows its progress.",
            json!({
                "target": {"type": "string", "description": "The new table's name"},
                "table": {"type": "string", "description": "The table to restore to a point in time"},
                "at": {"type": "string",
                       "description": "That time: 2026-10-06T23:16:32Z, or so long ago: -10m; the latest one by default"},
                "backup": {"type": "string", "description": "The ARN of a backup, instead of a table"},
            }),
            json!(["target"]),
        ),
        Run::Write => (
            "Sends one request of the DynamoDB API to the database, also such that change or delete tables and items.",
            request(),
            json!(["operation"]),
        ),
    }
}

/// The same of a tool on models.
fn on_models_described(tool: OnModels) -> (&'static str, Value, Value) {
    let none = || json!([]);
    match tool {
        OnModels::Format => (
            "How to write a Keywright data model: a commented example and the JSON Schema. A model names tables, \
             entities with their keys, and access patterns with their rates. Read this before you write a model.",
            json!({}),
            none(),
        ),
        OnModels::Check => (
            "Executes every access pattern of a data model on a real DynamoDB engine, compares the results with \
             what the model expects, and reports capacity, findings with their fixes, and faults with their lines.",
            model(json!({})),
            none(),
        ),
        OnModels::Cost => (
            "Prices a data model: what each pattern, storage and feature costs a month on Amazon DynamoDB, from \
             metered capacity and the patterns' rates, in each billing mode.",
            model(json!({"prices": prices()})),
            none(),
        ),
        OnModels::Design => (
            "Finds the cheapest keys and indexes that answer every access pattern with one request, proves them by \
             running the patterns, and returns the model with those keys. Entities need a count and `unique` (or \
             keys), patterns a rate. Writes no file.",
            model(json!({
                "table": {"type": "string", "description": "Design only this table"},
                "indexes": {"type": "integer", "minimum": 0, "maximum": 20,
                            "description": "Maximum number of global secondary indexes; 5 by default"},
                "keys": {"enum": ["short", "readable"], "description": "Prefixes of keys; short by default"},
                "no_multi_attribute_keys": {"type": "boolean",
                                            "description": "Give indexes no key of several attributes"},
                "keep": {"type": "boolean",
                         "description": "Keep the keys and indexes that the model has, and design what is missing"},
                "explain": {"type": "boolean",
                            "description": "Also say why: the purpose of each key, and the next best designs"},
                "prices": prices(),
            })),
            none(),
        ),
        OnModels::Simulate => (
            "Runs a data model under the traffic of a profile against DynamoDB's limits (provisioned units, burst, \
             partitions, on-demand levels): which requests are throttled, and what a month costs.",
            model(json!({
                "profile": {"type": "string", "description": "A profile's file in the folder"},
                "profile_text": {"type": "string", "description": "A profile's text, instead of a file"},
                "prices": prices(),
            })),
            none(),
        ),
        OnModels::ExplainRule => (
            "Explains a rule of `model_check`: its reason, the fix and the source. Without a rule, lists all.",
            json!({"rule": {"type": "string", "description": "A rule's id, such as L002"}}),
            none(),
        ),
    }
}

/// The arguments of a tool on a model.
fn model(more: Value) -> Value {
    let mut all = json!({
        "model": {"type": "string", "description": "A model's file in the folder"},
        "text": {"type": "string", "description": "A model's text, instead of a file"},
    });
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

fn prices() -> Value {
    json!({"type": "string", "description": "A built-in price file, such as us-east-1@2024-10; the model's by default"})
}

fn request() -> Value {
    json!({
        "operation": {"type": "string", "description": "The operation's name, such as Query"},
        "request": {"type": "object",
                    "description": "The request in DynamoDB's JSON, with typed values such as {\"S\": \"a\"}"},
    })
}
