//! How much memory a request's answer may take, before it is executed.
//!
//! Only answers of many items count; what one item answers is known before it is sent.

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::request::Request;

use crate::limits::{BATCH_ANSWER_BYTES, PAGE_ANSWER_BYTES, TRANSACTION_ANSWER_BYTES};

/// The most that its items may take; none for requests that answer little.
pub(crate) fn estimate(request: &Request) -> Option<usize> {
    let items = |count: usize, most: usize| Some(count.saturating_mul(ITEM_BYTES_MAX).min(most));
    match request {
        Request::Query(_) | Request::Scan(_) | Request::GetRecords(_) | Request::ExecuteStatement(_) => {
            Some(PAGE_ANSWER_BYTES)
        }
        Request::BatchGetItem(request) => {
            items(request.tables.iter().map(|table| table.keys.len()).sum(), BATCH_ANSWER_BYTES)
        }
        Request::BatchExecuteStatement(request) => items(request.statements.len(), BATCH_ANSWER_BYTES),
        Request::TransactGetItems(request) => items(request.gets.len(), TRANSACTION_ANSWER_BYTES),
        Request::ExecuteTransaction(request) => items(request.statements.len(), TRANSACTION_ANSWER_BYTES),
        _ => None,
    }
}
