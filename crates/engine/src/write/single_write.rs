//! What PutItem, UpdateItem and DeleteItem share: a group of one action, and how its end is answered.

use keywright_semantics::capacity::WriteMode;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::cancellation;
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use keywright_semantics::response::{CapacityForm, WriteItemOutput};
use keywright_semantics::value::Item;
use keywright_store::Store;

use crate::state::Engine;
use crate::support::fault;
use crate::support::meter::consumed;
use crate::write::change::{Action, Outcome, Refusal};
use crate::write::collections;
use crate::write::group::{GroupEnd, GroupKind, run};

/// What the answer to a single write may carry besides attributes.
#[derive(Clone, Copy)]
pub(crate) struct Reported<'r> {
    /// The table as the answer names it.
    pub table_name: &'r str,
    /// The item or key of the request.
    pub item: &'r Item,
    pub capacity: ReturnConsumedCapacity,
    pub metrics: ReturnItemCollectionMetrics,
}

/// Carries out one action.
pub(crate) async fn write_one<'r, S: Store>(
    engine: &Engine<S>,
    on_condition_failure: OnConditionFailure,
    bind: impl Fn() -> Result<Action<'r>, Error> + Send + Sync,
) -> Result<Outcome, Error> {
    let end = run(engine, GroupKind::Single, None, 0, || Ok(vec![bind()?])).await?;
    match end {
        GroupEnd::Written(outcomes) => outcomes.into_iter().next().ok_or_else(fault::internal),
        GroupEnd::Refused(refusals) => Err(match refusals.into_iter().flatten().next() {
            Some(refusal) => refused(refusal, on_condition_failure),
            None => fault::internal(),
        }),
        GroupEnd::Conflict(_) => Err(Error::new(ErrorKind::TransactionConflict, cancellation::CONFLICT)),
        GroupEnd::Replayed(_) | GroupEnd::TooLarge => Err(fault::internal()),
    }
}

/// The error of a refused write on its own.
pub(crate) fn refused(refusal: Refusal, on_condition_failure: OnConditionFailure) -> Error {
    match refusal {
        Refusal::Condition { item } => {
            let error = Error::new(ErrorKind::ConditionalCheckFailed, cancellation::CONDITIONAL_CHECK_FAILED);
            match (item, on_condition_failure) {
                (Some(item), OnConditionFailure::ReturnItem) => error.with_detail(ErrorDetail::Item(item)),
                _ => error,
            }
        }
        Refusal::Invalid(error) => error,
        Refusal::CollectionTooLarge => {
            Error::new(ErrorKind::ItemCollectionSizeLimitExceeded, cancellation::ITEM_COLLECTION_SIZE)
        }
    }
}

/// The answer to a single write.
pub(crate) fn output(
    outcome: &Outcome,
    attributes: Option<EncodedItem>,
    reported: Reported<'_>,
) -> WriteItemOutput {
    let usage = || outcome.change.usage(&outcome.table, WriteMode::Plain);
    let metrics = match (reported.metrics, outcome.collection_bytes) {
        (ReturnItemCollectionMetrics::Size, Some(bytes)) => {
            Some(collections::metrics(&outcome.table.schema, reported.item, bytes))
        }
        _ => None,
    };
    WriteItemOutput {
        attributes: attributes.filter(|attributes| !attributes.is_empty()),
        consumed_capacity: consumed(reported.capacity, reported.table_name, CapacityForm::Plain, usage),
        item_collection_metrics: metrics,
    }
}
