//! Cancelled transactions: one reason for each action, in order, and a message that lists their codes.

use keywright_semantics::error::{CancellationReason, Error, ErrorDetail, ErrorKind};
use keywright_semantics::messages::data_plane as messages;
use keywright_semantics::request::common::OnConditionFailure;
use keywright_semantics::throttle::Throttled;

use crate::write::change::Refusal;

/// The error of a transaction cancelled for these reasons.
pub(crate) fn cancelled(reasons: Vec<CancellationReason>) -> Error {
    let codes: Vec<&str> = reasons.iter().map(CancellationReason::code).collect();
    Error::new(ErrorKind::TransactionCanceled, messages::transaction_cancelled(&codes))
        .with_detail(ErrorDetail::Reasons(reasons))
}

/// The error of a transaction of `count` actions, one of which does not fit its table.
pub(crate) fn cancelled_by_fault(count: usize, place: usize, message: String) -> Error {
    assert!(place < count, "the faulty action is one of the transaction's");
    let mut reasons = vec![CancellationReason::None; count];
    if let Some(reason) = reasons.get_mut(place) {
        *reason = CancellationReason::Validation { message };
    }
    cancelled(reasons)
}

/// The error of a transaction of which limits refuse some actions. A quota of the account refuses the whole
/// request.
pub(crate) fn cancelled_by_limits(refusals: Vec<Option<Throttled>>) -> Error {
    let is_whole = |throttled: &Throttled| throttled.cancellation().is_none();
    if let Some(throttled) = refusals.iter().flatten().find(|throttled| is_whole(throttled)) {
        return throttled.clone().into_error();
    }
    let reason = |throttled: Option<Throttled>| {
        throttled.and_then(|throttled| throttled.cancellation()).unwrap_or(CancellationReason::None)
    };
    cancelled(refusals.into_iter().map(reason).collect())
}

/// The cancellation reason of one action.
pub(crate) fn reason(
    refusal: Option<Refusal>,
    on_condition_failure: OnConditionFailure,
) -> CancellationReason {
    match refusal {
        None => CancellationReason::None,
        Some(Refusal::Condition { item }) => CancellationReason::ConditionalCheckFailed {
            item: match on_condition_failure {
                OnConditionFailure::ReturnItem => item,
                OnConditionFailure::Nothing => None,
            },
        },
        Some(Refusal::Invalid(error)) => CancellationReason::Validation { message: error.message },
        Some(Refusal::CollectionTooLarge) => CancellationReason::ItemCollectionSizeLimitExceeded,
    }
}
