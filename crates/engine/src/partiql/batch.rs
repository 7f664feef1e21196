//! BatchExecuteStatement: statements executed one after the other, each with its own result.

use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::partiql as messages;
use keywright_semantics::partiql::{Select, Statement};
use keywright_semantics::request::parts::ReturnConsumedCapacity;
use keywright_semantics::request::{BatchExecuteStatement, BatchStatement, GetItem};
use keywright_semantics::response::{
    BatchExecuteStatementOutput, CapacityForm, ConsumedCapacity, Response, StatementError, StatementResponse,
};
use keywright_store::Store;

use super::access::check_ranges;
use super::keys::{columns_of, sole_key};
use super::write::{WriteReturns, write};
use crate::read::get_item::get_item;
use crate::state::Engine;
use crate::support::env::Caller;
use crate::support::lane::Pace;
use crate::support::meter::Meter;

pub(crate) async fn batch_execute_statement<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &BatchExecuteStatement,
) -> Result<Response, Error> {
    let mut meter = Meter::default();
    let mut responses = Vec::with_capacity(request.statements.len());
    let mut pace = engine.pace();
    for statement in &request.statements {
        let (table_name, outcome) = match statement {
            Err(error) => (None, Err(error.clone())),
            Ok(statement) => {
                let epoch = engine.catalogue().epoch();
                let mut outcome = run(engine, &mut pace, caller, statement, request.capacity).await;
                if let Err(error) = &outcome
                    && engine.was_outdated(epoch, error).await?
                {
                    outcome = run(engine, &mut pace, caller, statement, request.capacity).await;
                }
                (Some(statement.statement.table().name.clone()), outcome)
            }
        };
        responses.push(match outcome {
            Err(error) => StatementResponse { error: Some(statement_error(error)), table_name, item: None },
            Ok((item, consumed)) => {
                if let Some(consumed) = consumed {
                    meter.add(&consumed.table_name, consumed.usage);
                }
                StatementResponse { error: None, table_name, item }
            }
        });
    }
    let consumed_capacity = meter.report(request.capacity, CapacityForm::Plain);
    Ok(Response::BatchExecuteStatement(BatchExecuteStatementOutput { responses, consumed_capacity }))
}

type Done = (Option<EncodedItem>, Option<Box<ConsumedCapacity>>);

async fn run<S: Store>(
    engine: &Engine<S>,
    pace: &mut Pace<'_>,
    caller: &Caller,
    statement: &BatchStatement,
    capacity: ReturnConsumedCapacity,
) -> Result<Done, Error> {
    if let Statement::Select(select) = &statement.statement {
        return get(engine, pace, caller, select, statement, capacity).await;
    }
    let returns = WriteReturns { on_condition_failure: statement.on_condition_failure, capacity };
    let written = write(engine, caller, &statement.statement, returns).await?;
    Ok((written.attributes, written.consumed_capacity))
}

async fn get<S: Store>(
    engine: &Engine<S>,
    pace: &mut Pace<'_>,
    caller: &Caller,
    select: &Select,
    statement: &BatchStatement,
    capacity: ReturnConsumedCapacity,
) -> Result<Done, Error> {
    let table = engine.catalogue().lookup(&caller.namespace, &select.table)?;
    let Some(key) = sole_key(&table.schema.key, select) else {
        check_ranges(&table, select)?;
        return Err(Error::validation(messages::BATCH_SELECT_NEEDS_KEY));
    };
    let request = GetItem {
        table: select.table.clone(),
        key,
        projection: None,
        consistency: statement.consistency,
        capacity,
    };
    let output = get_item(engine, caller, &request).await?;
    let item = match output.item {
        Some(item) => Some(columns_of(pace, item, select.columns.as_deref()).await?),
        None => None,
    };
    Ok((item, output.consumed_capacity))
}

fn statement_error(error: Error) -> StatementError {
    let item = match *error.detail {
        ErrorDetail::Item(item) => Some(item),
        ErrorDetail::None | ErrorDetail::Reasons(_) | ErrorDetail::Throttling(_) | ErrorDetail::Denied(_) => {
            None
        }
    };
    StatementError { code: code(error.kind), message: error.message, item }
}

/// The codes that the API reference lists for statements of a batch.
const fn code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::AccessDenied => "AccessDenied",
        ErrorKind::ConditionalCheckFailed => "ConditionalCheckFailed",
        ErrorKind::DuplicateItem => "DuplicateItem",
        ErrorKind::ItemCollectionSizeLimitExceeded => "ItemCollectionSizeLimitExceeded",
        ErrorKind::ProvisionedThroughputExceeded => "ProvisionedThroughputExceeded",
        ErrorKind::RequestLimitExceeded => "RequestLimitExceeded",
        ErrorKind::ResourceNotFound => "ResourceNotFound",
        ErrorKind::Throttling => "ThrottlingError",
        ErrorKind::TransactionConflict => "TransactionConflict",
        ErrorKind::Validation => "ValidationError",
        _ => "InternalServerError",
    }
}
