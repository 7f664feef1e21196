//! ExecuteTransaction: all reads or all writes, as TransactGetItems or TransactWriteItems.

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{KeyMatch, Select, Statement};
use keywright_semantics::request::parts::ReturnItemCollectionMetrics;
use keywright_semantics::request::{
    ExecuteTransaction, TransactAction, TransactGet, TransactGetItems, TransactStatement, TransactWrite,
    TransactWriteItems,
};
use keywright_semantics::response::{ExecuteTransactionOutput, Response};
use keywright_store::Store;

use super::select::check_index_key;
use super::write::{is_new, is_there, named_item};
use super::{columns_of, key_match, sole_key};
use crate::cancel::cancelled;
use crate::catalogue::Table;
use crate::engine::Engine;
use crate::env::Caller;
use crate::transact_get_items::transact_get_items;
use crate::transact_write_items::transact_write_items;

pub(crate) async fn execute_transaction<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteTransaction,
) -> Result<Response, Error> {
    let reads: Vec<&Select> = request
        .statements
        .iter()
        .filter_map(|statement| match &statement.statement {
            Statement::Select(select) => Some(select),
            _ => None,
        })
        .collect();
    let output = if reads.is_empty() {
        write(engine, caller, request).await?
    } else if reads.len() == request.statements.len() {
        read(engine, caller, request, &reads).await?
    } else {
        return Err(Error::validation(messages::MIXED_TRANSACTION));
    };
    Ok(Response::ExecuteTransaction(output))
}

/// The error of one statement, by its place.
fn at(place: usize) -> impl Fn(Error) -> Error {
    move |error| match error.kind {
        ErrorKind::Validation => Error { message: messages::in_transaction(place, &error.message), ..error },
        _ => error,
    }
}

async fn read<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteTransaction,
    selects: &[&Select],
) -> Result<ExecuteTransactionOutput, Error> {
    let mut gets = Vec::with_capacity(selects.len());
    for (place, select) in selects.iter().enumerate() {
        let table = engine.catalogue().lookup(caller, &select.table)?;
        check_index_key(&table, select).map_err(at(place))?;
        let needs_key = || at(place)(Error::validation(messages::TRANSACTION_SELECT_NEEDS_KEY));
        let key = sole_key(&table.schema.key, select).ok_or_else(needs_key)?.key;
        gets.push(TransactGet { table: select.table.clone(), key, projection: None });
    }
    let native = TransactGetItems { gets, capacity: request.capacity };
    let output = transact_get_items(engine, caller, &native).await?;
    let rows = output.responses.into_iter().zip(selects);
    Ok(ExecuteTransactionOutput {
        responses: rows
            .map(|(item, select)| item.map(|item| columns_of(item, select.columns.as_deref())))
            .collect(),
        consumed_capacity: output.consumed_capacity,
    })
}

async fn write<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteTransaction,
) -> Result<ExecuteTransactionOutput, Error> {
    let mut actions = Vec::with_capacity(request.statements.len());
    for (place, statement) in request.statements.iter().enumerate() {
        let table = engine.catalogue().lookup(caller, statement.statement.table())?;
        actions.push(action(&table, statement).map_err(at(place))?);
    }
    let native = TransactWriteItems {
        actions,
        token: request.token.clone(),
        capacity: request.capacity,
        metrics: ReturnItemCollectionMetrics::None,
    };
    let output = transact_write_items(engine, caller, &native).await;
    let output = output.map_err(|error| with_duplicates(error, &request.statements))?;
    Ok(ExecuteTransactionOutput { responses: Vec::new(), consumed_capacity: output.consumed_capacity })
}

/// One statement as the native request says it.
fn action(table: &Table, statement: &TransactStatement) -> Result<TransactWrite, Error> {
    let schema = &table.schema;
    let (action, condition) = match &statement.statement {
        Statement::Insert { item, .. } => (TransactAction::Put { item: item.clone() }, Some(is_new(schema))),
        Statement::Update { update, condition, .. } => {
            let KeyMatch { key, rest } = named_item(schema, condition.as_ref())?;
            (TransactAction::Update { key, update: update.clone() }, Some(is_there(schema, rest)))
        }
        Statement::Delete { condition, .. } => {
            let KeyMatch { key, rest } = named_item(schema, condition.as_ref())?;
            (TransactAction::Delete { key }, rest)
        }
        Statement::Exists(select) | Statement::Select(select) => {
            check_index_key(table, select)?;
            let found = key_match(&schema.key, select.condition.as_ref());
            match found.filter(|_| select.index.is_none()) {
                Some(KeyMatch { key, rest: Some(rest) }) => {
                    (TransactAction::Check { key }, Some(is_there(schema, Some(rest))))
                }
                _ => return Err(Error::validation(messages::EXISTS_NEEDS_CONDITION)),
            }
        }
    };
    Ok(TransactWrite {
        table: statement.statement.table().clone(),
        action,
        condition,
        on_condition_failure: statement.on_condition_failure,
    })
}

/// A put that was to be the first tells that it was not.
fn with_duplicates(error: Error, statements: &[TransactStatement]) -> Error {
    match *error.detail {
        ErrorDetail::Reasons(reasons) => {
            let reasons = reasons.into_iter().zip(statements);
            cancelled(
                reasons
                    .map(|(reason, statement)| match (&statement.statement, reason) {
                        (Statement::Insert { .. }, CancellationReason::ConditionalCheckFailed { .. }) => {
                            CancellationReason::DuplicateItem
                        }
                        (_, reason) => reason,
                    })
                    .collect(),
            )
        }
        detail => Error { detail: Box::new(detail), ..error },
    }
}
