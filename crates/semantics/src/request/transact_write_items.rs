//! TransactWriteItems: its typed request.

use super::common::OnConditionFailure;
use super::parts::{ReturnConsumedCapacity, ReturnItemCollectionMetrics};
use super::table_ref::TableRef;
use crate::expression::{Condition, Update};
use crate::value::Item;

/// What one action of a transaction does.
#[derive(Clone, Debug)]
pub enum TransactAction {
    /// Nothing but to check the condition.
    Check {
        key: Item,
    },
    Put {
        item: Item,
    },
    Update {
        key: Item,
        update: Update,
    },
    Delete {
        key: Item,
    },
}

/// One action of a transaction. A `Check` always has a condition.
#[derive(Clone, Debug)]
pub struct TransactWrite {
    pub table: TableRef,
    pub action: TransactAction,
    pub condition: Option<Condition>,
    pub on_condition_failure: OnConditionFailure,
}

/// A hash of everything that makes two requests with one token the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The client's idempotency token and what it was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestToken {
    pub token: String,
    pub fingerprint: Fingerprint,
}

/// A TransactWriteItems that makes sense without knowing the tables.
#[derive(Clone, Debug)]
pub struct TransactWriteItems {
    pub actions: Vec<TransactWrite>,
    pub token: Option<RequestToken>,
    pub capacity: ReturnConsumedCapacity,
    pub metrics: ReturnItemCollectionMetrics,
}
