//! Metrics of answered requests: which tables and operation each counts for.
//!
//! It reads requests and their outcomes; what they consume is counted where it is charged.

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::partiql::Statement;
use keywright_semantics::request::{Request, StreamRef, TableRef};
use keywright_semantics::response::Response;
use keywright_store::Store;

use crate::metrics::figures::{Facet, PER_UNIT, TableFigures};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::streams;
use crate::support::env::Namespace;

/// The tables that a request counts for.
enum Subject<'r> {
    /// No table, or a control operation: the service has no series of these.
    None,
    One(&'r str),
    Many(Vec<&'r str>),
    Stream(StreamRef),
}

fn one(table: &TableRef) -> Subject<'_> {
    Subject::One(&table.name)
}

fn many<'r>(names: impl Iterator<Item = &'r TableRef>) -> Subject<'r> {
    let mut names: Vec<&str> = names.map(|table| table.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    Subject::Many(names)
}

fn subject(request: &Request) -> Subject<'_> {
    match request {
        Request::GetItem(request) => one(&request.table),
        Request::PutItem(request) => one(&request.table),
        Request::UpdateItem(request) => one(&request.table),
        Request::DeleteItem(request) => one(&request.table),
        Request::Query(request) => one(&request.table),
        Request::Scan(request) => one(&request.table),
        Request::ExecuteStatement(request) => one(request.statement.table()),
        Request::BatchGetItem(request) => many(request.tables.iter().map(|part| &part.table)),
        Request::BatchWriteItem(request) => many(request.tables.iter().map(|part| &part.table)),
        Request::TransactGetItems(request) => many(request.gets.iter().map(|get| &get.table)),
        Request::TransactWriteItems(request) => many(request.actions.iter().map(|action| &action.table)),
        Request::BatchExecuteStatement(request) => {
            many(request.statements.iter().flatten().map(|statement| statement.statement.table()))
        }
        Request::ExecuteTransaction(request) => {
            many(request.statements.iter().map(|statement| statement.statement.table()))
        }
        Request::GetRecords(request) => {
            streams::stream_of_iterator(&request.shard_iterator).map_or(Subject::None, Subject::Stream)
        }
        Request::CreateTable(_)
        | Request::DeleteTable(_)
        | Request::DescribeContributorInsights(_)
        | Request::DescribeEndpoints
        | Request::DescribeLimits
        | Request::DescribeStream(_)
        | Request::DescribeTable(_)
        | Request::DescribeTimeToLive(_)
        | Request::GetShardIterator(_)
        | Request::ListContributorInsights(_)
        | Request::ListStreams(_)
        | Request::ListTables(_)
        | Request::ListTagsOfResource(_)
        | Request::TagResource(_)
        | Request::UntagResource(_)
        | Request::UpdateContributorInsights(_)
        | Request::UpdateTable(_)
        | Request::UpdateTimeToLive(_) => Subject::None,
    }
}

/// The value of the dimension `Operation`.
const fn operation(request: &Request) -> &'static str {
    match request {
        Request::GetItem(_) => "GetItem",
        Request::PutItem(_) => "PutItem",
        Request::UpdateItem(_) => "UpdateItem",
        Request::DeleteItem(_) => "DeleteItem",
        Request::Query(_) => "Query",
        Request::Scan(_) => "Scan",
        Request::BatchGetItem(_) => "BatchGetItem",
        Request::BatchWriteItem(_) => "BatchWriteItem",
        Request::TransactGetItems(_) => "TransactGetItems",
        Request::TransactWriteItems(_) => "TransactWriteItems",
        Request::ExecuteStatement(_) => "ExecuteStatement",
        Request::BatchExecuteStatement(_) => "BatchExecuteStatement",
        Request::ExecuteTransaction(_) => "ExecuteTransaction",
        Request::GetRecords(_) => "GetRecords",
        _ => "",
    }
}

const fn verb(statement: &Statement) -> &'static str {
    match statement {
        Statement::Select(_) | Statement::Exists(_) => "PartiQLSelect",
        Statement::Insert { .. } => "PartiQLInsert",
        Statement::Update { .. } => "PartiQLUpdate",
        Statement::Delete { .. } => "PartiQLDelete",
    }
}

/// Further dimensions of statements and streams.
fn facet(request: &Request) -> Facet {
    let kind = |writes: bool| Facet::Type(if writes { "Write" } else { "Read" });
    match request {
        Request::ExecuteStatement(request) => Facet::Verb(verb(&request.statement)),
        Request::BatchExecuteStatement(_) | Request::ExecuteTransaction(_) => {
            kind(request.changes_something())
        }
        Request::GetRecords(request) => {
            let stream = streams::stream_of_iterator(&request.shard_iterator);
            stream.map_or(Facet::Plain, |stream| Facet::Stream(stream.label))
        }
        _ => Facet::Plain,
    }
}

/// Whether an error is one of throttling.
const fn throttles(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::RequestLimitExceeded | ErrorKind::Throttling
    )
}

const fn is_ours(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::InternalFailure | ErrorKind::InternalServerError | ErrorKind::ServiceUnavailable
    )
}

/// Whether `UserErrors` of an account counts an error: status 400 without throttles and failed conditions.
const fn is_users(kind: ErrorKind) -> bool {
    !throttles(kind) && !is_ours(kind) && !matches!(kind, ErrorKind::ConditionalCheckFailed)
}

/// Items that a read returned.
fn returned_items(response: &Response) -> Option<usize> {
    match response {
        Response::Query(page) | Response::Scan(page) => usize::try_from(page.count).ok(),
        Response::ExecuteStatement(output) => Some(output.items.len()),
        _ => None,
    }
}

fn thousandths(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX).saturating_mul(PER_UNIT)
}

fn count_success(
    figures: &mut TableFigures,
    name: &'static str,
    facet: &Facet,
    (response, elapsed_us): (&Response, u64),
) {
    let operation = figures.operation(name, facet);
    operation.succeeded(elapsed_us);
    if let Some(items) = returned_items(response) {
        operation.returned_items.add(thousandths(items));
    }
    if let Response::GetRecords(output) = response {
        operation.returned_records.add(thousandths(output.records.len()));
        let bytes: u64 = output.records.iter().map(|record| record.size_bytes).sum();
        operation.returned_bytes.add(bytes.saturating_mul(PER_UNIT));
    }
}

fn count_failure(figures: &mut TableFigures, name: &'static str, facet: &Facet, kind: ErrorKind) {
    if throttles(kind) {
        figures.operation(name, facet).throttled += 1;
    }
    if is_ours(kind) {
        figures.operation(name, facet).system_errors += 1;
    }
    figures.events.failed_conditions += u64::from(kind == ErrorKind::ConditionalCheckFailed);
    figures.events.conflicts += u64::from(kind == ErrorKind::TransactionConflict);
    figures.events.user_errors += u64::from(!is_ours(kind));
}

/// The actions of a cancelled transaction whose condition failed or that met another transaction count for
/// their own tables.
fn count_reasons<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    (request, error): (&Request, &Error),
    now_ms: u64,
) {
    let ErrorDetail::Reasons(reasons) = error.detail.as_ref() else { return };
    let tables: Vec<&TableRef> = match request {
        Request::TransactWriteItems(request) => request.actions.iter().map(|action| &action.table).collect(),
        Request::TransactGetItems(request) => request.gets.iter().map(|get| &get.table).collect(),
        Request::ExecuteTransaction(request) => {
            request.statements.iter().map(|statement| statement.statement.table()).collect()
        }
        _ => return,
    };
    for (table, reason) in tables.into_iter().zip(reasons) {
        let failed = matches!(reason, CancellationReason::ConditionalCheckFailed { .. });
        let conflict = matches!(reason, CancellationReason::TransactionConflict);
        if failed || conflict {
            add(engine, namespace, &table.name, now_ms, |figures| {
                figures.events.failed_conditions += u64::from(failed);
                figures.events.conflicts += u64::from(conflict);
            });
        }
    }
}

/// Adds to the figures of a table, if there is such a table.
#[inline]
fn add<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    name: &str,
    now_ms: u64,
    count: impl FnOnce(&mut TableFigures),
) {
    if let Err(count) = engine.metrics().add_to_named(namespace, name, now_ms, count)
        && let Some(table) = engine.catalogue().find(namespace, name)
    {
        engine.metrics().add_to(&table, now_ms, count);
    }
}

/// Counts a request that was answered.
#[inline]
pub(crate) fn answered<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    request: &Request,
    outcome: &Result<Response, Error>,
    started_us: u64,
) {
    let ended_us = engine.env().now_us();
    let elapsed_us = ended_us.saturating_sub(started_us);
    let now_ms = ended_us / 1000;
    // The shortest operation takes the shortest way.
    if let (Request::GetItem(get), Ok(response)) = (request, outcome) {
        let count = |figures: &mut TableFigures| {
            count_success(figures, "GetItem", &Facet::Plain, (response, elapsed_us));
        };
        return add(engine, namespace, &get.table.name, now_ms, count);
    }
    if let Err(error) = outcome {
        if is_users(error.kind) {
            refused_at(engine, namespace, now_ms);
        }
        count_reasons(engine, namespace, (request, error), now_ms);
    }
    let (name, facet) = (operation(request), facet(request));
    let count = |figures: &mut TableFigures| match outcome {
        Ok(response) => count_success(figures, name, &facet, (response, elapsed_us)),
        Err(error) => count_failure(figures, name, &facet, error.kind),
    };
    match subject(request) {
        Subject::None => {}
        Subject::One(table) => add(engine, namespace, table, now_ms, count),
        Subject::Many(tables) => {
            for table in tables {
                add(engine, namespace, table, now_ms, count);
            }
        }

        Subject::Stream(stream) => add(engine, namespace, &stream.table_name, now_ms, count),
    }
}

/// Counts a request that was refused before it was typed: for its caller, and for the table that it names.
pub(crate) fn refused<S: Store>(
    engine: &Engine<S>,
    namespace: &Namespace,
    table: Option<&str>,
    error: &Error,
) {
    let now_ms = engine.env().now_ms();
    if is_users(error.kind) {
        refused_at(engine, namespace, now_ms);
    }
    if let Some(table) = table
        && !is_ours(error.kind)
    {
        add(engine, namespace, table, now_ms, |figures| figures.events.user_errors += 1);
    }
}

fn refused_at<S: Store>(engine: &Engine<S>, namespace: &Namespace, now_ms: u64) {
    let place = Place { account: namespace.account.to_string(), region: namespace.region.to_string() };
    engine.metrics().add_user_error(&place, now_ms, PER_UNIT);
}
