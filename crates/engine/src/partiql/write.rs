//! INSERT, UPDATE and DELETE outside of transactions: each is a single-item write.

use keywright_semantics::error::{Error, ErrorKind};
use keywright_semantics::expression::Condition;
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{KeyForms, KeyMatch, Returning, Statement, Where};
use keywright_semantics::request::ConditionalWrite;
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::response::WriteItemOutput;
use keywright_semantics::schema::TableSchema;
use keywright_store::Store;

use super::keys::{is_whole, key_match};
use crate::bind::item::{bind_put, check_update};
use crate::bind::key::bind_key;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::fault;
use crate::write::change::Effect;
use crate::write::single_write::{WriteTarget, WrittenBy, write_one};

/// The item that an UPDATE or DELETE names.
fn named_item(schema: &TableSchema, condition: Option<&Where>) -> Result<KeyMatch, Error> {
    let found = key_match(&schema.key, condition, KeyForms::Equal);
    if let Some(attribute) = &found.contradicted {
        return Err(Error::validation(messages::several_values_of_key(attribute)));
    }
    if !is_whole(&schema.key, &found.key) {
        return Err(Error::validation(messages::NO_KEY_EQUALITY));
    }
    Ok(found)
}

/// The condition of an INSERT: no item has the key.
pub(super) fn is_new(schema: &TableSchema) -> Condition {
    Condition::attribute_not_exists(partition_name(schema))
}

/// The condition of an UPDATE: the item exists, and the rest of the clause holds.
pub(super) fn is_there(schema: &TableSchema, rest: Option<Condition>) -> Condition {
    Condition::attribute_exists(partition_name(schema)).and(rest)
}

/// The condition of a DELETE. Deleting a missing item succeeds, with any rest of the clause (observed).
pub(super) fn is_absent_or(schema: &TableSchema, rest: Option<Condition>) -> Option<Condition> {
    rest.map(|rest| Condition::attribute_not_exists(partition_name(schema)).or(rest))
}

fn partition_name(schema: &TableSchema) -> &str {
    schema.key.partition.first().map_or("", |attribute| attribute.name.as_str())
}

/// What the response to a statement that writes carries.
#[derive(Clone, Copy)]
pub(super) struct WriteReturns {
    pub on_condition_failure: OnConditionFailure,
    pub capacity: ReturnConsumedCapacity,
}

/// Executes a statement that writes.
pub(super) async fn write<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    statement: &Statement,
    returns: WriteReturns,
) -> Result<WriteItemOutput, Error> {
    let found = engine.catalogue().lookup(&caller.namespace, statement.table())?;
    let schema = &found.schema;
    let (key, condition, returning) = match statement {
        Statement::Insert { item, .. } => (item.clone(), Some(is_new(schema)), Returning::Nothing),
        Statement::Update { condition, returning, .. } => {
            let KeyMatch { key, rest, .. } = named_item(schema, condition.as_ref())?;
            (key, Some(is_there(schema, rest)), *returning)
        }
        Statement::Delete { condition, returning, .. } => {
            let KeyMatch { key, rest, .. } = named_item(schema, condition.as_ref())?;
            (key, is_absent_or(schema, rest), *returning)
        }
        Statement::Exists(_) => return Err(Error::validation(messages::EXISTS_OUTSIDE_TRANSACTION)),
        Statement::Select(_) => return Err(fault::internal()),
    };
    let shared = ConditionalWrite {
        condition: condition.map(Box::new),
        return_values: returning.return_value(),
        on_condition_failure: returns.on_condition_failure,
        capacity: returns.capacity,
        metrics: ReturnItemCollectionMetrics::None,
    };
    let update = if let Statement::Update { update, .. } = statement { Some(update) } else { None };
    let target = WriteTarget { table: statement.table(), item: &key, update, by: WrittenBy::Statement };
    let bind = |table: &Table| {
        Ok(match statement {
            Statement::Insert { item, .. } => {
                let put = bind_put(table.id, &table.schema, item)?;
                (put.key, Effect::Put(put.item))
            }
            Statement::Update { update, .. } => {
                let bound = bind_key(table.id, &table.schema, &key)?;
                check_update(&table.schema, update)?;
                (bound, Effect::Update { key: &key, update: Some(update) })
            }
            _ => (bind_key(table.id, &table.schema, &key)?, Effect::Delete),
        })
    };
    write_one(engine, caller, target, &shared, bind).await.map_err(|error| match (statement, error.kind) {
        (Statement::Insert { .. }, ErrorKind::ConditionalCheckFailed) => {
            Error { kind: ErrorKind::DuplicateItem, message: messages::DUPLICATE_ITEM.to_owned(), ..error }
        }
        _ => error,
    })
}
