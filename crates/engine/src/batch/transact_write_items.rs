//! TransactWriteItems: up to 100 writes and checks, all or nothing.
//!
//! A fault that is visible without tables refuses the whole request. A fault of one action against its
//! table cancels the transaction with that one reason. After that all conditions are evaluated, and every
//! failure has its reason.

use std::sync::Arc;

use bytes::Bytes;
use keywright_semantics::capacity::{HalfUnits, ReadMode, TableUsage, Usage, WriteMode, read_units};
use keywright_semantics::error::{CancellationReason, Error, ErrorKind};
use keywright_semantics::limits::TRANSACTION_BYTES_MAX;
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::TableRef;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::request::transact_write_items::{
    RequestToken, TransactAction, TransactWrite, TransactWriteItems,
};
use keywright_semantics::response::{CapacityForm, TransactWriteItemsOutput};
use keywright_semantics::size::item_bytes;
use keywright_semantics::value::Item;
use keywright_store::Store;

use crate::batch::cancel::{cancelled, cancelled_by_fault, cancelled_by_limits, reason};
use crate::bind::item::{bind_put, check_condition, check_update};
use crate::bind::key::{are_distinct, bind_key};
use crate::bind::transaction::check_tables;
use crate::bind::{BindFault, FaultScope};
use crate::catalogue::Table;
use crate::state::Engine;
use crate::state::admission::ReadOf;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::latch::Holder;
use crate::support::meter::Meter;
use crate::write::change::{Action, Effect, Outcome, Refusal};
use crate::write::collections::CollectionReport;
use crate::write::group::{GroupEnd, GroupKind, binding_steps, run};
use crate::write::own_row::{NewToken, OwnRow};
use crate::write::tokens::{self, TokenRow};

pub(crate) async fn transact_write_items<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactWriteItems,
) -> Result<TransactWriteItemsOutput, Error> {
    let Some(token) = &request.token else {
        return answer(request, execute(engine, caller, request, None).await?);
    };
    let key = tokens::key(caller.namespace.account.as_str(), caller.namespace.region.as_str(), &token.token);
    // The first request with a token holds the token's latch until it ends.
    let Some(_latch) = engine.latches().try_acquire(&key, Holder::Transaction) else {
        return Err(Error::new(ErrorKind::TransactionInProgress, messages::TRANSACTION_IN_PROGRESS));
    };
    if let Some(row) = used_token(engine, &key).await? {
        return replay(engine, caller, request.capacity, token, row);
    }
    let new_token = OwnRow::Token(new_token(engine, request, token, key));
    match execute(engine, caller, request, Some(&new_token)).await? {
        GroupEnd::Replayed(row) => replay(engine, caller, request.capacity, token, *row),
        end => answer(request, end),
    }
}

/// The response to a request whose token was used and has not expired; the tables are not looked up.
pub(crate) async fn replayed<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    token: &RequestToken,
    capacity: ReturnConsumedCapacity,
) -> Result<Option<TransactWriteItemsOutput>, Error> {
    let key = tokens::key(caller.namespace.account.as_str(), caller.namespace.region.as_str(), &token.token);
    let row = used_token(engine, &key).await?;
    row.map(|row| replay(engine, caller, capacity, token, row)).transpose()
}

async fn execute<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &TransactWriteItems,
    token: Option<&OwnRow>,
) -> Result<GroupEnd, Error> {
    let bytes: usize = request.actions.iter().map(|action| payload_bytes(&action.action)).sum();
    run(engine, GroupKind::Transaction, token, binding_steps(bytes), || bind(engine, caller, request)).await
}

/// The row of a token that was used and has not expired.
async fn used_token<S: Store>(engine: &Engine<S>, key: &Bytes) -> Result<Option<TokenRow>, Error> {
    let row = engine.store().get(key).await.map_err(|error| fault::storage(&error))?;
    let now_ms = engine.env().now_ms();
    Ok(row.and_then(TokenRow::decode).filter(|row| row.expires_ms > now_ms))
}

fn new_token<S: Store>(
    engine: &Engine<S>,
    request: &TransactWriteItems,
    token: &RequestToken,
    key: Bytes,
) -> NewToken {
    let fingerprint = token.fingerprint;
    let expires_ms = TokenRow::expiry(engine.env().now_ms());
    let nonce = engine.env().random_u128();
    let names: Vec<String> =
        request.actions.iter().map(|action| action.table.as_given().to_owned()).collect();
    let row = move |outcomes: &[Outcome]| TokenRow {
        expires_ms,
        fingerprint,
        nonce,
        reads: reads(&names, outcomes),
    };
    NewToken { key, row: Box::new(row) }
}

/// The charge of reading the original images, by table.
fn reads(names: &[String], outcomes: &[Outcome]) -> Vec<(String, HalfUnits)> {
    let mut meter = Meter::default();
    for (name, outcome) in names.iter().zip(outcomes) {
        let units = read_units(outcome.change.larger_image_bytes(), ReadMode::Transactional);
        meter.add(name, TableUsage { table: Usage::reading(units), ..TableUsage::default() });
    }
    meter.into_tables().into_iter().map(|(name, usage)| (name, usage.table.read)).collect()
}

/// The response to a request that was executed before: success, charged as reads.
fn replay<S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    capacity: ReturnConsumedCapacity,
    token: &RequestToken,
    row: TokenRow,
) -> Result<TransactWriteItemsOutput, Error> {
    if row.fingerprint != token.fingerprint {
        return Err(Error::new(ErrorKind::IdempotentParameterMismatch, messages::TOKEN_MISMATCH));
    }
    let mut meter = Meter::default();
    for (name, units) in row.reads {
        let table = TableRef::parse(&name).ok();
        let table = table.and_then(|table| engine.catalogue().lookup_for(caller, &table).ok());
        if let Some(table) = table {
            engine.charge_read(ReadOf { table: &table, index: None }, units, Vec::new);
        }
        meter.add(&name, TableUsage { table: Usage::reading(units), ..TableUsage::default() });
    }
    Ok(TransactWriteItemsOutput {
        item_collection_metrics: None,
        consumed_capacity: meter.report(capacity, CapacityForm::TransactRead),
    })
}

fn answer(request: &TransactWriteItems, end: GroupEnd) -> Result<TransactWriteItemsOutput, Error> {
    match end {
        GroupEnd::Written(outcomes) => Ok(written(request, &outcomes)),
        GroupEnd::Refused(refusals) => Err(cancelled(reasons(request, refusals))),
        GroupEnd::Conflict(busy) => {
            Err(cancelled(
                busy.into_iter()
                    .map(|busy| {
                        if busy { CancellationReason::TransactionConflict } else { CancellationReason::None }
                    })
                    .collect(),
            ))
        }
        GroupEnd::Throttled(refusals) => Err(cancelled_by_limits(refusals)),
        GroupEnd::TooLarge => Err(Error::validation(messages::TRANSACTION_TOO_LARGE)),
        GroupEnd::Replayed(_) | GroupEnd::Overtaken => Err(fault::internal()),
    }
}

fn written(request: &TransactWriteItems, outcomes: &[Outcome]) -> TransactWriteItemsOutput {
    assert_eq!(outcomes.len(), request.actions.len(), "every action of a transaction has an outcome");
    let mut meter = Meter::default();
    let mut collections = CollectionReport::default();
    for (action, outcome) in request.actions.iter().zip(outcomes) {
        if request.capacity != ReturnConsumedCapacity::None {
            meter
                .add(action.table.as_given(), outcome.change.usage(&outcome.table, WriteMode::Transactional));
        }
        if request.metrics == ReturnItemCollectionMetrics::Size && outcome.change.changes_item() {
            collections.add(action.table.as_given(), item_of(&action.action), outcome);
        }
    }
    TransactWriteItemsOutput {
        item_collection_metrics: collections.report(request.metrics),
        consumed_capacity: meter.report(request.capacity, CapacityForm::TransactWrite),
    }
}

/// If an action does not apply to its item, only the first such action has a reason, and failed conditions
/// have none.
fn reasons(request: &TransactWriteItems, refusals: Vec<Option<Refusal>>) -> Vec<CancellationReason> {
    assert_eq!(refusals.len(), request.actions.len(), "every action of a transaction may have a reason");
    let first_invalid = refusals.iter().position(|refusal| matches!(refusal, Some(Refusal::Invalid(_))));
    let actions = request.actions.iter().zip(refusals).enumerate();
    actions
        .map(|(place, (action, refusal))| {
            if first_invalid.is_some_and(|first| first != place) {
                return CancellationReason::None;
            }
            reason(refusal, action.on_condition_failure)
        })
        .collect()
}

/// The bytes that an action adds to the size of its request: its item or key, and what an update writes.
fn payload_bytes(action: &TransactAction) -> usize {
    let update_bytes = match action {
        TransactAction::Update { update, .. } => update.statement_bytes(),
        TransactAction::Check { .. } | TransactAction::Put { .. } | TransactAction::Delete { .. } => 0,
    };
    item_bytes(item_of(action)) + update_bytes
}

fn item_of(action: &TransactAction) -> &Item {
    match action {
        TransactAction::Put { item } => item,
        TransactAction::Check { key }
        | TransactAction::Update { key, .. }
        | TransactAction::Delete { key } => key,
    }
}

fn bind<'r, S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    request: &'r TransactWriteItems,
) -> Result<Vec<Action<'r>>, Error> {
    let mut tables = Vec::with_capacity(request.actions.len());
    for action in &request.actions {
        tables.push(engine.catalogue().lookup_for(caller, &action.table)?);
    }
    check_tables(tables.iter().map(|table: &Arc<Table>| &**table))?;
    let mut bound = Vec::with_capacity(tables.len());
    for (write, table) in request.actions.iter().zip(tables) {
        match bind_action(write, table) {
            Err(fault) if fault.scope == FaultScope::Request => return Err(fault.into()),
            action => bound.push(action),
        }
    }
    if !are_distinct(bound.iter().flatten().map(|action| &action.key)) {
        return Err(Error::validation(messages::TRANSACTION_DUPLICATE_ITEM));
    }
    let payload: usize = request.actions.iter().map(|action| payload_bytes(&action.action)).sum();
    if payload > TRANSACTION_BYTES_MAX {
        return Err(Error::validation(messages::TRANSACTION_TOO_LARGE));
    }
    let count = bound.len();
    let mut actions = Vec::with_capacity(count);
    for (place, action) in bound.into_iter().enumerate() {
        actions.push(action.map_err(|fault| cancelled_by_fault(count, place, fault.message))?);
    }
    Ok(actions)
}

fn bind_action(write: &TransactWrite, table: Arc<Table>) -> Result<Action<'_>, BindFault> {
    let schema = &table.schema;
    let (key, effect) = match &write.action {
        TransactAction::Check { key } => (bind_key(table.id, schema, key)?, Effect::Check),
        TransactAction::Delete { key } => (bind_key(table.id, schema, key)?, Effect::Delete),
        TransactAction::Put { item } => {
            let put = bind_put(table.id, schema, item)?;
            (put.key, Effect::Put(put.item))
        }
        TransactAction::Update { key, update } => {
            let bound = bind_key(table.id, schema, key)?;
            check_update(schema, update)?;
            (bound, Effect::Update { key, update: Some(update) })
        }
    };
    check_condition(schema, write.condition.as_ref())?;
    let given = match &write.action {
        TransactAction::Put { item } => item,
        TransactAction::Check { key }
        | TransactAction::Delete { key }
        | TransactAction::Update { key, .. } => key,
    };
    Ok(Action { key, effect, condition: write.condition.as_ref(), table, given: Some(given) })
}
