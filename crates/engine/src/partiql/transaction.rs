//! ExecuteTransaction: all reads or all writes, as TransactGetItems or TransactWriteItems.

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::expression::Condition;
use keywright_semantics::messages::data_plane::KEY_DOES_NOT_MATCH_SCHEMA;
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{KeyForms, Returning, Select, Statement, Where};
use keywright_semantics::request::parts::ReturnItemCollectionMetrics;
use keywright_semantics::request::{
    ExecuteTransaction, TableRef, TransactAction, TransactGet, TransactGetItems, TransactStatement,
    TransactWrite, TransactWriteItems,
};
use keywright_semantics::response::{ExecuteTransactionOutput, Response, TransactWriteItemsOutput};
use keywright_semantics::value::Item;
use keywright_store::Store;

use super::access::check_ranges;
use super::keys::{columns_of, is_whole, key_match, sole_key};
use super::write::{is_absent_or, is_new, is_there};
use crate::batch::cancel::cancelled;
use crate::batch::transact_get_items::transact_get_items;
use crate::batch::transact_write_items::{replayed, transact_write_items};
use crate::bind::key::{bind_item_key, bind_key};
use crate::bind::{BindFault, FaultScope};
use crate::catalogue::Table;
use crate::state::Engine;
use crate::support::env::Caller;

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

/// Adds the statement's position to an error.
fn at(place: usize) -> impl Fn(Error) -> Error {
    move |error| match error.kind {
        ErrorKind::Validation => Error { message: messages::in_transaction(place, &error.message), ..error },
        _ => error,
    }
}

/// Binds each statement to its table. A fault of a statement alone refuses the request. A missing table, or a
/// key that does not fit its table, cancels the transaction with a reason for each statement (observed).
fn bind_each<'r, S: Store, T: 'r, B>(
    engine: &Engine<S>,
    caller: &Caller,
    statements: impl ExactSizeIterator<Item = (&'r TableRef, T)>,
    bind: impl Fn(&Table, T) -> Result<Result<B, BindFault>, Error>,
) -> Result<Vec<B>, Error> {
    let mut bound = Vec::with_capacity(statements.len());
    let mut reasons = vec![CancellationReason::None; statements.len()];
    for (place, ((table, statement), reason)) in statements.zip(&mut reasons).enumerate() {
        let table = match engine.catalogue().lookup(&caller.namespace, table) {
            Ok(table) => table,
            Err(error) if error.kind == ErrorKind::ResourceNotFound => {
                *reason = CancellationReason::ResourceNotFound;
                continue;
            }
            Err(error) => return Err(error),
        };
        match bind(&table, statement).map_err(at(place))? {
            Ok(native) => bound.push(native),
            Err(fault) if fault.scope == FaultScope::Request => return Err(fault.into()),
            Err(fault) => *reason = CancellationReason::Validation { message: fault.message },
        }
    }
    if bound.len() < reasons.len() { Err(cancelled(reasons)) } else { Ok(bound) }
}

async fn read<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteTransaction,
    selects: &[&Select],
) -> Result<ExecuteTransactionOutput, Error> {
    let statements = selects.iter().map(|select| (&select.table, *select));
    let gets = bind_each(engine, caller, statements, get)?;
    let native = TransactGetItems { gets, capacity: request.capacity };
    let output = transact_get_items(engine, caller, &native).await?;
    assert_eq!(output.responses.len(), selects.len(), "every SELECT has a response");
    let mut pace = engine.pace();
    let mut responses = Vec::with_capacity(selects.len());
    for (item, select) in output.responses.into_iter().zip(selects) {
        responses.push(match item {
            Some(item) => Some(columns_of(&mut pace, item, select.columns.as_deref()).await?),
            None => None,
        });
    }
    Ok(ExecuteTransactionOutput { responses, consumed_capacity: output.consumed_capacity })
}

/// One SELECT as an action of the native request.
fn get(table: &Table, select: &Select) -> Result<Result<TransactGet, BindFault>, Error> {
    if select.index.is_some() {
        return Err(Error::validation(messages::TRANSACTION_READS_INDEX));
    }
    let Some(key) = sole_key(&table.schema.key, select) else {
        check_ranges(table, select)?;
        return Err(Error::validation(messages::TRANSACTION_SELECT_NEEDS_KEY));
    };
    let bound = bind_key(table.id, &table.schema, &key);
    Ok(bound.map(|_| TransactGet { table: select.table.clone(), key, projection: None }))
}

async fn write<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &ExecuteTransaction,
) -> Result<ExecuteTransactionOutput, Error> {
    if let Some(token) = &request.token
        && let Some(output) = replayed(engine, caller, token, request.capacity).await?
    {
        return Ok(written(output));
    }
    let statements = request.statements.iter().map(|statement| (statement.statement.table(), statement));
    let actions = bind_each(engine, caller, statements, action)?;
    let native = TransactWriteItems {
        actions,
        token: request.token.clone(),
        capacity: request.capacity,
        metrics: ReturnItemCollectionMetrics::None,
    };
    let output = transact_write_items(engine, caller, &native).await;
    Ok(written(output.map_err(|error| with_duplicates(error, &request.statements))?))
}

fn written(output: TransactWriteItemsOutput) -> ExecuteTransactionOutput {
    ExecuteTransactionOutput { responses: Vec::new(), consumed_capacity: output.consumed_capacity }
}

/// One write as the native request says it.
fn action(table: &Table, statement: &TransactStatement) -> Result<Result<TransactWrite, BindFault>, Error> {
    let schema = &table.schema;
    let (action, condition) = match &statement.statement {
        Statement::Insert { item, .. } => {
            if let Err(fault) = bind_item_key(table.id, schema, item) {
                return Ok(Err(fault));
            }
            (TransactAction::Put { item: item.clone() }, Some(is_new(schema)))
        }
        Statement::Update { returning, .. } | Statement::Delete { returning, .. }
            if *returning != Returning::Nothing =>
        {
            return Err(Error::validation(messages::TRANSACTION_RETURNING));
        }
        Statement::Update { update, condition, .. } => match named_item(table, condition.as_ref()) {
            Err(fault) => return Ok(Err(fault)),
            Ok((key, rest)) => {
                (TransactAction::Update { key, update: update.clone() }, Some(is_there(schema, rest)))
            }
        },
        Statement::Delete { condition, .. } => match named_item(table, condition.as_ref()) {
            Err(fault) => return Ok(Err(fault)),
            Ok((key, rest)) => (TransactAction::Delete { key }, is_absent_or(schema, rest)),
        },
        Statement::Exists(select) | Statement::Select(select) => {
            if select.index.is_some() {
                return Err(Error::validation(messages::TRANSACTION_READS_INDEX));
            }
            let found = key_match(&schema.key, select.condition.as_ref(), KeyForms::Equal);
            let Some(rest) = found.rest.filter(|_| is_whole(&schema.key, &found.key)) else {
                return Err(Error::validation(messages::EXISTS_NEEDS_CONDITION));
            };
            if let Err(fault) = bind_key(table.id, schema, &found.key) {
                return Ok(Err(fault));
            }
            (TransactAction::Check { key: found.key }, Some(is_there(schema, Some(rest))))
        }
    };
    Ok(Ok(TransactWrite {
        table: statement.statement.table().clone(),
        action,
        condition,
        on_condition_failure: statement.on_condition_failure,
    }))
}

/// The item that an UPDATE or DELETE of a transaction names, and the rest of the clause. A clause that does
/// not name one item is reported as a key that does not fit (observed).
fn named_item(table: &Table, condition: Option<&Where>) -> Result<(Item, Option<Condition>), BindFault> {
    let found = key_match(&table.schema.key, condition, KeyForms::Equal);
    if found.contradicted.is_some() {
        return Err(BindFault::action(KEY_DOES_NOT_MATCH_SCHEMA));
    }
    bind_key(table.id, &table.schema, &found.key)?;
    Ok((found.key, found.rest))
}

/// An INSERT whose item exists is reported as a duplicate.
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
