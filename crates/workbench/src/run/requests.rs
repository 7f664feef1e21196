//! The requests of writes, built from their actions.
//!
//! It knows what each operation takes, not what it returns.

use keywright_semantics::error::Error;
use keywright_semantics::expression::Condition;
use keywright_semantics::request::parts::{
    BatchGetItemParts, BatchWriteItemParts, DeleteItemParts, DeleteRequestParts, KeysAndAttributesParts,
    PutItemParts, PutRequestParts, ReturnConsumedCapacity, TransactConditionCheckParts, TransactDeleteParts,
    TransactGetItemParts, TransactGetItemsParts, TransactGetParts, TransactPutParts, TransactUpdateParts,
    TransactWriteItemParts, TransactWriteItemsParts, UpdateItemParts, WriteRequestParts,
};
use keywright_semantics::request::{
    BatchGetItem, BatchWriteItem, DeleteItem, KeyPart, PutItem, Request, TransactGetItems,
    TransactWriteItems, UpdateItem,
};

use super::action::Action;
use super::database::parts_of;
use super::report::OperationKind;
use keywright_model::{Consistency, Operation, Pattern, WriteKind};

const METERED: Option<ReturnConsumedCapacity> = Some(ReturnConsumedCapacity::Indexes);

/// The fields common to a single write and the same write in a transaction, plus the extra fields of each.
macro_rules! written {
    ($parts:ident, $action:expr, { $($field:ident: $value:expr,)* } $(, ..$rest:expr)?) => {
        $parts {
            table_name: $action.table.name.clone(),
            expression_attribute_names: $action.names.some(),
            expression_attribute_values: $action.some_values(),
            $($field: $value,)*
            $(..$rest)?
        }
    };
}

/// The operation that a write is sent as; nothing for a read and for a check or a get on its own.
pub(super) fn operation(pattern: &Pattern) -> OperationKind {
    let gets = pattern.steps().iter().all(|step| step.kind == WriteKind::Get);
    match &pattern.operation {
        Operation::Read(_) => OperationKind::Nothing,
        Operation::Write(write) => match write.kind {
            WriteKind::Put => OperationKind::PutItem,
            WriteKind::Update => OperationKind::UpdateItem,
            WriteKind::Delete => OperationKind::DeleteItem,
            WriteKind::Check | WriteKind::Get => OperationKind::Nothing,
        },
        Operation::Transact(_) if gets => OperationKind::TransactGetItems,
        Operation::Transact(_) => OperationKind::TransactWriteItems,
        Operation::Batch(_) if gets => OperationKind::BatchGetItem,
        Operation::Batch(_) => OperationKind::BatchWriteItem,
    }
}

/// The single request that performs all actions.
pub(super) fn request(operation: OperationKind, actions: &[Action<'_>]) -> Result<Request, Error> {
    match operation {
        OperationKind::TransactWriteItems => transact_write(actions),
        OperationKind::TransactGetItems => transact_get(actions),
        OperationKind::BatchWriteItem => batch_write(actions),
        OperationKind::BatchGetItem => batch_get(actions),
        _ => single(actions),
    }
}

fn single(actions: &[Action<'_>]) -> Result<Request, Error> {
    let [action] = actions else {
        return Err(Error::validation("a single write is one item: write a `batch` or a `transact`"));
    };
    match action.kind {
        WriteKind::Put => PutItem::validate(written!(PutItemParts, action, {
            item: parts_of(&action.item),
            condition_expression: action.condition.clone(),
            return_consumed_capacity: METERED,
        }, ..PutItemParts::default()))
        .map(Box::new)
        .map(Request::PutItem),
        WriteKind::Update => {
            UpdateItem::validate(update_parts(action)).map(|request| Request::UpdateItem(Box::new(request)))
        }
        WriteKind::Delete => DeleteItem::validate(deletion(action)).map(Box::new).map(Request::DeleteItem),
        WriteKind::Check | WriteKind::Get => {
            Err(Error::validation("a check or a get stands in a `transact` or a `batch`"))
        }
    }
}

/// An action's condition in the form of a delete of its item; an update keeps its own, because every
/// placeholder must be used.
pub(super) fn condition(action: &Action<'_>) -> Result<Option<Condition>, Error> {
    let write = if action.kind == WriteKind::Update {
        UpdateItem::validate(update_parts(action))?.write
    } else {
        DeleteItem::validate(deletion(action))?.write
    };
    Ok(write.condition.map(|condition| *condition))
}

fn deletion(action: &Action<'_>) -> DeleteItemParts {
    written!(DeleteItemParts, action, {
        key: parts_of(&action.key),
        condition_expression: action.condition.clone(),
        return_consumed_capacity: METERED,
    }, ..DeleteItemParts::default())
}

/// An update as a request of its own.
pub(super) fn update_parts(action: &Action<'_>) -> UpdateItemParts {
    written!(UpdateItemParts, action, {
        key: parts_of(&action.key),
        update_expression: Some(action.update.clone()),
        condition_expression: action.condition.clone(),
        return_consumed_capacity: METERED,
    }, ..UpdateItemParts::default())
}

fn transact_write(actions: &[Action<'_>]) -> Result<Request, Error> {
    let transact_items = actions.iter().map(transact_item).collect::<Result<Vec<_>, _>>()?;
    let parts = TransactWriteItemsParts {
        transact_items,
        return_consumed_capacity: METERED,
        return_item_collection_metrics: None,
        client_request_token: None,
    };
    TransactWriteItems::validate(parts).map(Request::TransactWriteItems)
}

fn transact_item(action: &Action<'_>) -> Result<TransactWriteItemParts, Error> {
    let key = parts_of(&action.key);
    let none = TransactWriteItemParts { condition_check: None, put: None, delete: None, update: None };
    Ok(match action.kind {
        WriteKind::Put => TransactWriteItemParts {
            put: Some(written!(TransactPutParts, action, {
                item: parts_of(&action.item),
                condition_expression: action.condition.clone(),
                return_values_on_condition_check_failure: None,
            })),
            ..none
        },
        WriteKind::Update => TransactWriteItemParts {
            update: Some(written!(TransactUpdateParts, action, {
                key: key,
                update_expression: action.update.clone(),
                condition_expression: action.condition.clone(),
                return_values_on_condition_check_failure: None,
            })),
            ..none
        },
        WriteKind::Delete => TransactWriteItemParts {
            delete: Some(written!(TransactDeleteParts, action, {
                key: key,
                condition_expression: action.condition.clone(),
                return_values_on_condition_check_failure: None,
            })),
            ..none
        },
        WriteKind::Check => TransactWriteItemParts {
            condition_check: Some(written!(TransactConditionCheckParts, action, {
                key: key,
                condition_expression: action
                    .condition
                    .clone()
                    .ok_or_else(|| Error::validation("a check has a condition: write `if: exists`"))?,
                return_values_on_condition_check_failure: None,
            })),
            ..none
        },
        WriteKind::Get => return Err(Error::validation("a transaction is writes and checks, or gets")),
    })
}

fn transact_get(actions: &[Action<'_>]) -> Result<Request, Error> {
    let get = |action: &Action<'_>| TransactGetItemParts {
        get: TransactGetParts {
            key: parts_of(&action.key),
            table_name: action.table.name.clone(),
            projection_expression: None,
            expression_attribute_names: None,
        },
    };
    let parts = TransactGetItemsParts {
        transact_items: actions.iter().map(get).collect(),
        return_consumed_capacity: METERED,
    };
    TransactGetItems::validate(parts).map(Request::TransactGetItems)
}

fn batch_write(actions: &[Action<'_>]) -> Result<Request, Error> {
    let mut request_items: Vec<(String, Vec<WriteRequestParts>)> = Vec::new();
    for action in actions {
        let write = match action.kind {
            WriteKind::Put => WriteRequestParts {
                put_request: Some(PutRequestParts { item: parts_of(&action.item) }),
                delete_request: None,
            },
            WriteKind::Delete => WriteRequestParts {
                put_request: None,
                delete_request: Some(DeleteRequestParts { key: parts_of(&action.key) }),
            },
            WriteKind::Update | WriteKind::Check | WriteKind::Get => {
                return Err(Error::validation("a batch is puts and deletes, or gets"));
            }
        };
        match request_items.iter_mut().find(|(table, _)| *table == action.table.name) {
            Some((_, writes)) => writes.push(write),
            None => request_items.push((action.table.name.clone(), vec![write])),
        }
    }
    let parts = BatchWriteItemParts {
        request_items,
        return_consumed_capacity: METERED,
        return_item_collection_metrics: None,
    };
    BatchWriteItem::validate(parts).map(Request::BatchWriteItem)
}

fn batch_get(actions: &[Action<'_>]) -> Result<Request, Error> {
    let mut request_items: Vec<(String, KeysAndAttributesParts)> = Vec::new();
    for action in actions {
        let key: KeyPart = parts_of(&action.key).into();
        match request_items.iter_mut().find(|(table, _)| *table == action.table.name) {
            Some((_, wanted)) => wanted.keys.push(key),
            None => request_items.push((
                action.table.name.clone(),
                KeysAndAttributesParts {
                    keys: vec![key],
                    consistent_read: (action.consistency == Consistency::Strong).then_some(true),
                    ..KeysAndAttributesParts::default()
                },
            )),
        }
    }
    let parts = BatchGetItemParts { request_items, return_consumed_capacity: METERED };
    BatchGetItem::validate(parts).map(Request::BatchGetItem)
}
