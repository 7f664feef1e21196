//! What a request touches, read from JSON of the right types: names as they were sent, valid or not.
//!
//! It does not know what any value means, except the texts of statements, which `semantics` parses.

use std::borrow::Cow;

use keywright_semantics::limits::{BATCH_GET_KEYS_MAX, STATEMENT_UNITS_MAX, TRANSACTION_ITEMS_MAX};
use keywright_semantics::operation::Operation;
use keywright_semantics::partiql;
use keywright_semantics::request::parts::TransactWriteItemParts;
use keywright_semantics::touches::{Action, ReplicaChange, Resource, Touch, Touches};

use super::Parts;
use crate::json::{Node, member};

/// Entries of one request that are read. A request of more tables, actions or statements is refused by its
/// constraints.
const TOUCHES_MAX: usize = 100;
const _: () = assert!(TOUCHES_MAX >= BATCH_GET_KEYS_MAX, "every table of a batch is read");
const _: () = assert!(TOUCHES_MAX >= TRANSACTION_ITEMS_MAX, "every action of a transaction is read");

/// What a request touches.
pub(super) fn of<'b>(operation: Operation, body: &Node<'b>) -> Touches<'b> {
    let one = |resource| Touches::One(Touch::own(operation, resource));
    match operation {
        Operation::Query
        | Operation::Scan
        | Operation::SearchVectors
        | Operation::DescribeContributorInsights
        | Operation::UpdateContributorInsights => one(match text(body, "TableName") {
            Some(table) => Resource::of_table(table, text(body, "IndexName")),
            None => Resource::Unnamed,
        }),
        Operation::CreateTable => create_table(body),
        Operation::UpdateTable => update_table(body),
        Operation::UpdateTableReplicaAutoScaling => {
            let regions = elements(body, "ReplicaUpdates").filter_map(|update| text(update, "RegionName"));
            Touches::replicas(operation, table(body), regions)
        }
        Operation::BatchGetItem | Operation::BatchWriteItem => several(operation, tables(operation, body)),
        Operation::TransactGetItems => several(operation, elements(body, "TransactItems").map(get).collect()),
        Operation::TransactWriteItems => {
            several(operation, elements(body, "TransactItems").flat_map(write).collect())
        }
        Operation::ExecuteStatement => Touches::One(statement(operation, body)),
        Operation::BatchExecuteStatement => several(operation, statements(operation, body, "Statements")),
        Operation::ExecuteTransaction => {
            several(operation, statements(operation, body, "TransactStatements"))
        }
        Operation::DescribeStream | Operation::GetShardIterator => {
            one(text(body, "StreamArn").map_or(Resource::Unnamed, Resource::Stream))
        }
        Operation::GetRecords => {
            one(text(body, "ShardIterator").map_or(Resource::Unnamed, Resource::ShardIterator))
        }
        Operation::DeleteResourcePolicy
        | Operation::GetResourcePolicy
        | Operation::ListTagsOfResource
        | Operation::PutResourcePolicy
        | Operation::TagResource
        | Operation::UntagResource => {
            one(text(body, "ResourceArn").map_or(Resource::Unnamed, Resource::of_arn))
        }
        Operation::DescribeEndpoints
        | Operation::DescribeLimits
        | Operation::ListBulkOperations
        | Operation::ListGlobalTables
        | Operation::ListTables => Touches::account(Action::Operation(operation)),
        Operation::CancelBulkOperation | Operation::DescribeBulkOperation => {
            one(text(body, "BulkOperationArn").map_or(Resource::Unnamed, Resource::Transfer))
        }
        Operation::CreateGlobalTable
        | Operation::DescribeGlobalTable
        | Operation::DescribeGlobalTableSettings
        | Operation::UpdateGlobalTable
        | Operation::UpdateGlobalTableSettings => {
            one(text(body, "GlobalTableName").map_or(Resource::Unnamed, Resource::Table))
        }
        Operation::DeleteBackup | Operation::DescribeBackup => one(backup(body)),
        Operation::DescribeExport => {
            one(text(body, "ExportArn").map_or(Resource::Unnamed, Resource::Transfer))
        }
        Operation::ExportTableToPointInTime => {
            one(text(body, "TableArn").map_or(Resource::Unnamed, Resource::Table))
        }
        Operation::ListExports | Operation::ListImports => {
            one(Resource::Account { only: text(body, "TableArn") })
        }
        Operation::RestoreTableFromBackup => restore(operation, body, backup(body)),
        Operation::RestoreTableToPointInTime => restore(operation, body, source_table(body)),
        Operation::ImportTable => {
            one(value(body, "TableCreationParameters").map_or(Resource::Unnamed, table))
        }
        Operation::DescribeImport => {
            one(text(body, "ImportArn").map_or(Resource::Unnamed, Resource::Transfer))
        }
        Operation::ListBackups | Operation::ListContributorInsights | Operation::ListStreams => {
            one(Resource::Account { only: text(body, "TableName") })
        }
        _ => one(table(body)),
    }
}

/// What a request of the data plane touches, of which only the parts are left. They name all that is
/// required.
pub(super) fn of_parts<'b>(operation: Operation, parts: &Parts) -> Touches<'b> {
    let named = |name: &String| Resource::Table(Cow::Owned(name.clone()));
    let indexed = |name: &String, index: Option<&String>| {
        Touches::One(Touch::own(operation, Resource::of_table(name.clone(), index.cloned())))
    };
    let own = |name: &String| Touch::own(operation, named(name));
    match parts {
        Parts::GetItem(parts) => Touches::One(own(&parts.table_name)),
        Parts::PutItem(parts) => Touches::One(own(&parts.table_name)),
        Parts::UpdateItem(parts) => Touches::One(own(&parts.table_name)),
        Parts::DeleteItem(parts) => Touches::One(own(&parts.table_name)),
        Parts::Query(parts) => indexed(&parts.table_name, parts.index_name.as_ref()),
        Parts::Scan(parts) => indexed(&parts.table_name, parts.index_name.as_ref()),
        Parts::BatchGetItem(parts) => {
            let tables = parts.request_items.iter().map(|(name, _)| own(name));
            several(operation, tables.take(TOUCHES_MAX).collect())
        }
        Parts::BatchWriteItem(parts) => {
            let tables = parts.request_items.iter().map(|(name, _)| own(name));
            several(operation, tables.take(TOUCHES_MAX).collect())
        }
        Parts::TransactGetItems(parts) => {
            let gets = parts.transact_items.iter().take(TOUCHES_MAX);
            let gets = gets.map(|item| Touch::own(Operation::GetItem, named(&item.get.table_name)));
            several(operation, gets.collect())
        }
        Parts::TransactWriteItems(parts) => {
            let items = parts.transact_items.iter().take(TOUCHES_MAX);
            several(operation, items.flat_map(actions).collect())
        }
        _ => Touches::One(Touch::own(operation, Resource::Unnamed)),
    }
}

/// The actions of one element of a transaction, in the order of [`write`].
fn actions<'b>(item: &TransactWriteItemParts) -> Vec<Touch<'b>> {
    let check = item.condition_check.as_ref().map(|part| &part.table_name);
    let put = item.put.as_ref().map(|part| &part.table_name);
    let delete = item.delete.as_ref().map(|part| &part.table_name);
    let update = item.update.as_ref().map(|part| &part.table_name);
    let kinds = WRITE_ACTIONS.iter().zip([check, put, delete, update]);
    given_actions(kinds.filter_map(|((_, action), name)| {
        let resource = Resource::Table(Cow::Owned(name?.clone()));
        Some(Touch { action: *action, resource })
    }))
}

/// Tags that a request gives to what it makes or changes, and the keys of all that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenTags {
    /// Keys and values.
    pub tags: Vec<(String, String)>,
    /// The keys, also of tags that it takes away.
    pub keys: Vec<String>,
}

/// The tags in the members `Tags` and `TagKeys`.
pub(super) fn given_tags(body: &Node<'_>) -> GivenTags {
    let mut given = GivenTags::default();
    for tag in elements(body, "Tags") {
        if let (Some(key), Some(value)) = (text(tag, "Key"), text(tag, "Value")) {
            given.keys.push(key.clone().into_owned());
            given.tags.push((key.into_owned(), value.into_owned()));
        }
    }
    for key in elements(body, "TagKeys") {
        if let Node::Text(key) = key {
            given.keys.push(key.clone().into_owned());
        }
    }
    given
}

/// The value of a text member.
fn text<'b>(node: &Node<'b>, name: &str) -> Option<Cow<'b, str>> {
    match value(node, name)? {
        Node::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn value<'n, 'b>(node: &'n Node<'b>, name: &str) -> Option<&'n Node<'b>> {
    let Node::Object(members) = node else { return None };
    member(members, name)
}

/// The table in the member `TableName`.
fn table<'b>(node: &Node<'b>) -> Resource<'b> {
    text(node, "TableName").map_or(Resource::Unnamed, Resource::Table)
}

/// The elements of a list, as far as they are read.
fn elements<'n, 'b>(body: &'n Node<'b>, name: &str) -> impl Iterator<Item = &'n Node<'b>> {
    let list = match value(body, name) {
        Some(Node::List(list)) => list.as_slice(),
        _ => &[],
    };
    list.iter().take(TOUCHES_MAX)
}

/// The entries of a request for several resources. One without any is about something unnamed.
fn several(operation: Operation, touches: Vec<Touch<'_>>) -> Touches<'_> {
    if touches.is_empty() {
        return Touches::One(Touch::own(operation, Resource::Unnamed));
    }
    Touches::Several(touches)
}

fn backup<'b>(node: &Node<'b>) -> Resource<'b> {
    text(node, "BackupArn").map_or(Resource::Unnamed, Resource::Backup)
}

/// The source of a restore to a point in time, by ARN or name.
fn source_table<'b>(node: &Node<'b>) -> Resource<'b> {
    let named = text(node, "SourceTableArn").or_else(|| text(node, "SourceTableName"));
    named.map_or(Resource::Unnamed, Resource::Table)
}

/// A restore. One without a target is about something unnamed.
fn restore<'b>(operation: Operation, node: &Node<'b>, source: Resource<'b>) -> Touches<'b> {
    match text(node, "TargetTableName") {
        Some(target) => Touches::restore(operation, source, target),
        None => {
            Touches::Several(vec![Touch::own(operation, Resource::Unnamed), Touch::own(operation, source)])
        }
    }
}

fn create_table<'b>(body: &Node<'b>) -> Touches<'b> {
    let has_tags = matches!(value(body, "Tags"), Some(Node::List(tags)) if !tags.is_empty());
    let create = Touches::create_table(table(body), has_tags, text(body, "ResourcePolicy").is_some());
    match text(body, "GlobalTableSourceArn") {
        Some(source) => create.joining(Resource::Table(source)),
        None => create,
    }
}

fn update_table<'b>(body: &Node<'b>) -> Touches<'b> {
    let region =
        |update: &Node<'b>, action| value(update, action).and_then(|action| text(action, "RegionName"));
    let replicas = elements(body, "ReplicaUpdates").flat_map(|update| {
        let created = region(update, "Create").map(ReplicaChange::Create);
        let leaves = region(update, "Disassociate").map(|_| ReplicaChange::Disassociate);
        created.into_iter().chain(region(update, "Delete").map(ReplicaChange::Delete)).chain(leaves)
    });
    Touches::update_table(table(body), replicas.collect())
}

/// The tables of a batch, which are the keys of a map.
fn tables<'b>(operation: Operation, body: &Node<'b>) -> Vec<Touch<'b>> {
    let Some(Node::Object(entries)) = value(body, "RequestItems") else { return Vec::new() };
    let named = entries.iter().filter(|(_, part)| !part.is_null()).take(TOUCHES_MAX);
    named.map(|(name, _)| Touch::own(operation, Resource::Table(name.clone()))).collect()
}

fn get<'b>(element: &Node<'b>) -> Touch<'b> {
    Touch::own(Operation::GetItem, value(element, "Get").map_or(Resource::Unnamed, table))
}

/// The actions of one element of a transaction. A valid one has exactly one action.
fn write<'b>(element: &Node<'b>) -> Vec<Touch<'b>> {
    given_actions(WRITE_ACTIONS.iter().filter_map(|(name, action)| {
        value(element, name).map(|part| Touch { action: *action, resource: table(part) })
    }))
}

/// The members of an element of a transaction, each with its action.
const WRITE_ACTIONS: [(&str, Action); 4] = [
    ("ConditionCheck", Action::ConditionCheckItem),
    ("Put", Action::Operation(Operation::PutItem)),
    ("Delete", Action::Operation(Operation::DeleteItem)),
    ("Update", Action::Operation(Operation::UpdateItem)),
];

fn given_actions<'b>(given: impl Iterator<Item = Touch<'b>>) -> Vec<Touch<'b>> {
    let mut given: Vec<_> = given.collect();
    if given.is_empty() {
        given.push(Touch::own(Operation::TransactWriteItems, Resource::Nothing));
    }
    given
}

fn statements<'b>(operation: Operation, body: &Node<'b>, list: &str) -> Vec<Touch<'b>> {
    elements(body, list).map(|element| statement(operation, element)).collect()
}

/// What a statement touches: nothing if it is not well-formed, or longer than any that is parsed. A long one
/// becomes many times as large.
fn statement<'b>(operation: Operation, holder: &Node<'b>) -> Touch<'b> {
    let is_short = |text: &Cow<'b, str>| text.encode_utf16().nth(STATEMENT_UNITS_MAX).is_none();
    let parsed = text(holder, "Statement").filter(is_short).and_then(|text| partiql::touch(&text));
    parsed.unwrap_or_else(|| Touch::own(operation, Resource::Nothing))
}
