//! The single-item write: what PutItem, UpdateItem, DeleteItem and PartiQL's writes share.
//!
//! An operation says how its request becomes a key and an effect; the condition, the group of one action and
//! the response are the same for all.

use keywright_semantics::capacity::WriteMode;
use keywright_semantics::codec::EncodedItem;
use keywright_semantics::error::{Error, ErrorDetail, ErrorKind};
use keywright_semantics::expression::Update;
use keywright_semantics::messages::cancellation;
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::request::parts::{ReturnItemCollectionMetrics, ReturnValue};
use keywright_semantics::request::{ConditionalWrite, TableRef};
use keywright_semantics::response::{CapacityForm, WriteItemOutput};
use keywright_semantics::value::Item;
use keywright_store::Store;

use crate::bind::BindFault;
use crate::bind::item::check_condition;
use crate::bind::key::ItemKey;
use crate::catalogue::Table;
use crate::state::Engine;
use crate::state::admission::first_error;
use crate::support::env::Caller;
use crate::support::fault;
use crate::support::meter::consumed;
use crate::write::change::{Action, Change, Effect, Outcome, Refusal};
use crate::write::collections;
use crate::write::group::{GroupEnd, GroupKind, run};

/// What a request writes to.
#[derive(Clone, Copy)]
pub(crate) struct WriteTarget<'r> {
    pub table: &'r TableRef,
    /// The item or the key of the request.
    pub item: &'r Item,
    /// The update of the request: which parts of the item its response may have.
    pub update: Option<&'r Update>,
    /// The kind of the request.
    pub by: WrittenBy,
}

/// What writes an item: only operations on items report conflicts between regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenBy {
    /// PutItem, UpdateItem or DeleteItem.
    Operation,
    /// A statement of PartiQL.
    Statement,
}

/// Writes one item. `bind` checks the request against the table and is repeated when the table's schema
/// changes.
pub(crate) async fn write_one<'r, S: Store>(
    engine: &Engine<S>,
    caller: &Caller,
    target: WriteTarget<'r>,
    write: &'r ConditionalWrite,
    bind: impl Fn(&Table) -> Result<(ItemKey, Effect<'r>), BindFault> + Send + Sync,
) -> Result<WriteItemOutput, Error> {
    let condition = write.condition.as_deref();
    let action = || {
        let table = engine.catalogue().lookup(&caller.namespace, target.table)?;
        let (key, effect) = bind(&table)?;
        check_condition(&table.schema, condition)?;
        if target.by == WrittenBy::Operation && table.strong.is_some() {
            engine.contend(&[(&*table, &key.row)])?;
        }
        Ok(vec![Action { table, key, effect, condition, given: Some(target.item) }])
    };
    let outcome = match run(engine, GroupKind::Single, None, 0, action).await? {
        GroupEnd::Written(outcomes) => {
            assert_eq!(outcomes.len(), 1, "a group of one action has one outcome");
            outcomes.into_iter().next().ok_or_else(fault::internal)?
        }
        GroupEnd::Refused(refusals) => {
            let refusal = refusals.into_iter().flatten().next();
            return Err(
                refusal.map_or_else(fault::internal, |refusal| refused(refusal, write.on_condition_failure))
            );
        }
        GroupEnd::Conflict(_) => {
            return Err(Error::new(ErrorKind::TransactionConflict, cancellation::CONFLICT));
        }
        GroupEnd::Throttled(refusals) => {
            return Err(first_error(refusals).unwrap_or_else(fault::internal));
        }
        GroupEnd::Replayed(_) | GroupEnd::Overtaken | GroupEnd::TooLarge => return Err(fault::internal()),
    };
    Ok(output(&outcome, target, write))
}

/// The error of a refused write that is not part of a transaction.
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

fn output(outcome: &Outcome, target: WriteTarget<'_>, write: &ConditionalWrite) -> WriteItemOutput {
    let usage = || outcome.change.usage(&outcome.table, WriteMode::Plain);
    let metrics = match (write.metrics, outcome.collection_bytes) {
        (ReturnItemCollectionMetrics::Size, Some(bytes)) => {
            Some(collections::metrics(&outcome.table.schema, target.item, bytes))
        }
        _ => None,
    };
    let attributes = returned(&outcome.change, target.update, write.return_values);
    WriteItemOutput {
        attributes: attributes.filter(|attributes| !attributes.is_empty()),
        consumed_capacity: consumed(write.capacity, target.table.as_given(), CapacityForm::Plain, usage),
        item_collection_metrics: metrics,
    }
}

/// The attributes that `ReturnValues` asks for.
fn returned(change: &Change, update: Option<&Update>, values: ReturnValue) -> Option<EncodedItem> {
    let touched_in =
        |update: &Update, item: &EncodedItem| EncodedItem::encode(&update.touched_in(&item.decode()));
    match values {
        ReturnValue::None => None,
        ReturnValue::AllOld => change.old.clone(),
        ReturnValue::AllNew => change.new.clone(),
        ReturnValue::UpdatedOld => Some(touched_in(update?, change.old.as_ref()?)),
        ReturnValue::UpdatedNew => Some(touched_in(update?, change.new.as_ref()?)),
    }
}
