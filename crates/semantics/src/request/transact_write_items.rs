//! TransactWriteItems: its typed request.

use super::checks;
use super::common::OnConditionFailure;
use super::fingerprint::Digest;
use super::parts::{
    AttributeMapPart, ReturnConsumedCapacity, ReturnItemCollectionMetrics,
    ReturnValuesOnConditionCheckFailure, TransactWriteItemParts, TransactWriteItemsParts,
};
use super::table_ref::TableRef;
use crate::error::Error;
use crate::expression::{Condition, ConditionKind, Placeholders, Update, parse_update};
use crate::messages::Wording;
use crate::messages::transaction as messages;
use crate::value::Item;

/// The effect of one action of a transaction.
#[derive(Clone, Debug)]
pub enum TransactAction {
    /// Only checks the condition.
    Check {
        /// The primary key of the item to check.
        key: Item,
    },
    /// Puts a whole item.
    Put {
        /// The item, keys included.
        item: Item,
    },
    /// Updates an item, or creates it.
    Update {
        /// The item's primary key.
        key: Item,
        /// What changes.
        update: Update,
    },
    /// Deletes an item.
    Delete {
        /// The item's primary key.
        key: Item,
    },
}

/// One action of a transaction. Invariant: a `Check` has a condition.
#[derive(Clone, Debug)]
pub struct TransactWrite {
    /// The table, by name or ARN.
    pub table: TableRef,
    /// What happens to the item.
    pub action: TransactAction,
    /// What the item must satisfy before the write.
    pub condition: Option<Condition>,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
}

/// A hash of everything that makes two requests with one token the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// The client's idempotency token and the request it was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestToken {
    /// The token as the client sent it.
    pub token: String,
    /// What the request said: a second request with the token must say the same.
    pub fingerprint: Fingerprint,
}

/// A TransactWriteItems validated as far as that is possible without the tables.
#[derive(Clone, Debug)]
pub struct TransactWriteItems {
    /// The actions, in the client's order.
    pub actions: Vec<TransactWrite>,
    /// Makes repeated requests idempotent for a while.
    pub token: Option<RequestToken>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
    /// Whether the response carries the sizes of item collections.
    pub metrics: ReturnItemCollectionMetrics,
}

impl TransactWriteItems {
    /// Validates the parts action by action: the first fault in the request's order is the error, of any
    /// kind.
    pub fn validate(parts: TransactWriteItemsParts) -> Result<Self, Error> {
        let mut digest = parts.client_request_token.is_some().then(Digest::new);
        let mut actions = Vec::with_capacity(parts.transact_items.len());
        for item in parts.transact_items {
            actions.push(ActionParts::only(item)?.validate(digest.as_mut())?);
        }
        let token = parts.client_request_token.zip(digest);
        Ok(Self {
            actions,
            token: token
                .map(|(token, digest)| RequestToken { token, fingerprint: Fingerprint(digest.finish()) }),
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
            metrics: parts.return_item_collection_metrics.unwrap_or(ReturnItemCollectionMetrics::None),
        })
    }
}

/// The four actions of the service model. They differ only in the expressions they may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActionKind {
    Check,
    Put,
    Delete,
    Update,
}

/// The parts of one action of any kind.
#[derive(Debug)]
struct ActionParts {
    kind: ActionKind,
    table_name: String,
    /// The item of a put, the key of any other.
    subject: AttributeMapPart,
    update: Option<String>,
    condition: Option<String>,
    names: Option<Vec<(String, String)>>,
    values: Option<AttributeMapPart>,
    on_condition_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

impl ActionParts {
    /// The one action of an element.
    fn only(parts: TransactWriteItemParts) -> Result<Self, Error> {
        match (parts.condition_check, parts.put, parts.delete, parts.update) {
            (Some(check), None, None, None) => Ok(Self {
                kind: ActionKind::Check,
                table_name: check.table_name,
                subject: check.key,
                update: None,
                condition: Some(check.condition_expression),
                names: check.expression_attribute_names,
                values: check.expression_attribute_values,
                on_condition_failure: check.return_values_on_condition_check_failure,
            }),
            (None, Some(put), None, None) => Ok(Self {
                kind: ActionKind::Put,
                table_name: put.table_name,
                subject: put.item,
                update: None,
                condition: put.condition_expression,
                names: put.expression_attribute_names,
                values: put.expression_attribute_values,
                on_condition_failure: put.return_values_on_condition_check_failure,
            }),
            (None, None, Some(delete), None) => Ok(Self {
                kind: ActionKind::Delete,
                table_name: delete.table_name,
                subject: delete.key,
                update: None,
                condition: delete.condition_expression,
                names: delete.expression_attribute_names,
                values: delete.expression_attribute_values,
                on_condition_failure: delete.return_values_on_condition_check_failure,
            }),
            (None, None, None, Some(update)) => Ok(Self {
                kind: ActionKind::Update,
                table_name: update.table_name,
                subject: update.key,
                update: Some(update.update_expression),
                condition: update.condition_expression,
                names: update.expression_attribute_names,
                values: update.expression_attribute_values,
                on_condition_failure: update.return_values_on_condition_check_failure,
            }),
            (None, None, None, None) => Err(Error::validation(messages::NO_ACTION)),
            _ => Err(Error::validation(messages::SEVERAL_ACTIONS)),
        }
    }

    /// Observed: within one action, faults of expressions precede those of the item or key.
    fn validate(mut self, digest: Option<&mut Digest>) -> Result<TransactWrite, Error> {
        let table = TableRef::of(std::mem::take(&mut self.table_name))?;
        let mut placeholders = self.placeholders()?;
        let update = self.update.as_deref().map(|text| parse_update(text, &mut placeholders)).transpose()?;
        let text = self.condition.as_ref();
        let condition = checks::condition(text, ConditionKind::Condition, &mut placeholders)?;
        placeholders.finish()?;
        if let Some(digest) = digest {
            self.add_to(digest, table.as_given());
        }
        assert!(self.kind != ActionKind::Check || condition.is_some(), "a check has a condition");
        assert_eq!(self.kind == ActionKind::Update, update.is_some(), "an update has an update expression");
        let on_condition_failure = checks::on_condition_failure(self.on_condition_failure);
        let subject = checks::item(self.subject, Wording::Legacy)?;
        let action = match (self.kind, update) {
            (ActionKind::Put, _) => TransactAction::Put { item: subject },
            (ActionKind::Delete, _) => TransactAction::Delete { key: subject },
            (ActionKind::Update, Some(update)) => TransactAction::Update { key: subject, update },
            (ActionKind::Check | ActionKind::Update, _) => TransactAction::Check { key: subject },
        };
        Ok(TransactWrite { table, action, condition, on_condition_failure })
    }

    /// Observed: unlike in other operations, names and values without an expression are ignored.
    fn placeholders(&self) -> Result<Placeholders<'_>, Error> {
        if self.update.is_none() && self.condition.is_none() {
            return Placeholders::new(None, None, Wording::Legacy);
        }
        Placeholders::new(self.names.as_deref(), self.values.as_ref(), Wording::Legacy)
    }

    /// Adds everything that makes two actions the same to the hash.
    fn add_to(&self, digest: &mut Digest, table_name: &str) {
        digest.tag(match self.kind {
            ActionKind::Check => b'C',
            ActionKind::Put => b'P',
            ActionKind::Delete => b'D',
            ActionKind::Update => b'U',
        });
        digest.text(table_name);
        digest.values(&self.subject);
        digest.optional(self.update.as_ref(), |digest, text| digest.text(text));
        digest.optional(self.condition.as_ref(), |digest, text| digest.text(text));
        digest.optional(self.names.as_ref(), |digest, names| digest.names(names));
        digest.optional(self.values.as_ref(), Digest::values);
        digest.tag(match self.on_condition_failure {
            Some(ReturnValuesOnConditionCheckFailure::AllOld) => b'A',
            Some(ReturnValuesOnConditionCheckFailure::None) | None => b'N',
        });
    }
}
