//! How much memory a request's answer may take, before it is executed.
//!
//! Only answers of many items count; what one item answers is known before it is sent.

use keywright_semantics::limits::ITEM_BYTES_MAX;
use keywright_semantics::request::Request;

use crate::limits::{BATCH_ANSWER_BYTES, PAGE_ANSWER_BYTES, TRANSACTION_ANSWER_BYTES, WRITES_READ_BYTES};

/// So many items of a write are not counted.
const FEW_ITEMS: usize = 10;

/// The most that its items may take; none for requests that answer little.
pub(crate) fn estimate(request: &Request) -> Option<usize> {
    let items = |count: usize, most: usize| Some(count.saturating_mul(ITEM_BYTES_MAX).min(most));
    let many = |count: usize| match count.saturating_sub(FEW_ITEMS) {
        0 => None,
        more => items(more, WRITES_READ_BYTES),
    };
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
        // Not what they answer but what they read before they write; ten items are as little as one.
        Request::TransactWriteItems(request) => many(request.actions.len()),
        Request::BatchWriteItem(request) => many(request.tables.iter().map(|table| table.writes.len()).sum()),
        _ => None,
    }
}
