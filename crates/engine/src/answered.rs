//! Metrics of answered requests: which tables and operation each counts for.
//!
//! It reads requests and their outcomes; what they consume is counted where it is charged.

use std::borrow::Cow;

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::request::{Request, TableRef};
use keywright_semantics::response::Response;
use keywright_semantics::touches::{Touch, Touches};
use keywright_store::Store;

use crate::metrics::figures::{Facet, PER_UNIT, TableFigures};
use crate::metrics::series::Place;
use crate::state::Engine;
use crate::streams;
use crate::support::env::{Caller, Namespace};

/// Further dimensions of a request on items.
fn facet(request: &Request, touches: &Touches<'_>) -> Facet {
    match (request, touches) {
        (Request::ExecuteStatement(_), Touches::One(statement)) => Facet::Verb(statement.action.name()),
        (Request::BatchExecuteStatement(_) | Request::ExecuteTransaction(_), _) => {
            Facet::Type(if request.changes_something() { "Write" } else { "Read" })
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
    caller: &Caller,
    (request, error): (&Request, &Error),
    now_ms: u64,
) {
    let ErrorDetail::Reasons(reasons) = error.detail.as_ref() else { return };
    let touches = request.resources();
    for (touch, reason) in touches.as_slice().iter().zip(reasons) {
        let Some((namespace, table)) = place(caller, touch) else { continue };
        let failed = matches!(reason, CancellationReason::ConditionalCheckFailed { .. });
        let conflict = matches!(reason, CancellationReason::TransactionConflict);
        if failed || conflict {
            add(engine, &namespace, table, now_ms, |figures| {
                figures.events.failed_conditions += u64::from(failed);
                figures.events.conflicts += u64::from(conflict);
            });
        }
    }
}

/// The namespace and the name of the table that one of several touches is about.
fn place<'c>(caller: &'c Caller, touch: &'c Touch<'_>) -> Option<(Cow<'c, Namespace>, &'c str)> {
    let name = touch.resource.table_name()?;
    let by_arn = touch.resource.table_as_sent().filter(|sent| *sent != name);
    let namespace = match by_arn.and_then(|arn| TableRef::parse(arn).ok()) {
        Some(table) => caller.namespace_of(&table),
        None => Cow::Borrowed(&caller.namespace),
    };
    Some((namespace, name))
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
    caller: &Caller,
    request: &Request,
    outcome: &Result<Response, Error>,
    started_us: u64,
) {
    let namespace = &caller.namespace;
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
        count_reasons(engine, caller, (request, error), now_ms);
    }
    let name = request.operation().name();
    let count = |figures: &mut TableFigures, facet: &Facet| match outcome {
        Ok(response) => count_success(figures, name, facet, (response, elapsed_us)),
        Err(error) => count_failure(figures, name, facet, error.kind),
    };
    if let Request::GetRecords(get) = request {
        let Some(stream) = streams::stream_of_iterator(&get.shard_iterator) else { return };
        let facet = Facet::Stream(stream.label);
        return add(engine, namespace, &stream.table_name, now_ms, |figures| count(figures, &facet));
    }
    // The service has no series of operations on tables.
    if !request.operation().is_about_items() {
        return;
    }
    let touches = request.resources();
    let facet = facet(request, &touches);
    match &touches {
        Touches::One(touch) => {
            if let Some(table) = touch.resource.table_name() {
                add(engine, namespace, table, now_ms, |figures| count(figures, &facet));
            }
        }
        Touches::Several(touches) => {
            let mut tables: Vec<_> = touches.iter().filter_map(|touch| place(caller, touch)).collect();
            tables.sort_unstable();
            tables.dedup();
            for (namespace, table) in tables {
                add(engine, &namespace, table, now_ms, |figures| count(figures, &facet));
            }
        }
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
