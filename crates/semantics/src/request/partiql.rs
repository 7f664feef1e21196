//! ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: their typed requests.

use std::num::NonZeroU32;

use super::checks::on_condition_failure;
use super::common::{Consistency, OnConditionFailure};
use super::fingerprint::Digest;
use super::parts::{
    BatchExecuteStatementParts, BatchStatementRequestParts, ExecuteStatementParts, ExecuteTransactionParts,
    ParameterizedStatementParts, ReturnConsumedCapacity, ValuePart,
};
use super::transact_write_items::{Fingerprint, RequestToken};
use crate::codec::EncodedValue;
use crate::error::Error;
use crate::messages::{Wording, partiql as messages, value as value_messages};
use crate::number::NumberFault;
use crate::partiql::{Statement, prepare};
use crate::value::{AttributeValue, ValueFault};

/// An ExecuteStatement.
#[derive(Clone, Debug)]
pub struct ExecuteStatement {
    /// The statement with its parameters in place.
    pub statement: Statement,
    /// Of the statement and its parameters. A token for the next page belongs to one fingerprint.
    pub fingerprint: Fingerprint,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// Rows that a page evaluates at most, before the filter.
    pub limit: Option<NonZeroU32>,
    /// Where the previous page ended: the opaque text it returned.
    pub next_token: Option<String>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
}

impl ExecuteStatement {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: ExecuteStatementParts) -> Result<Self, Error> {
        let parameters = parameters(parts.parameters.unwrap_or_default())?;
        let mut digest = Digest::new();
        digest_statement(&mut digest, &parts.statement, &parameters);
        Ok(Self {
            statement: prepare(&parts.statement, &parameters)?,
            fingerprint: Fingerprint(digest.finish()),
            consistency: Consistency::of(parts.consistent_read),
            limit: parts.limit.and_then(|limit| u32::try_from(limit).ok()).and_then(NonZeroU32::new),
            next_token: parts.next_token,
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
            on_condition_failure: on_condition_failure(parts.return_values_on_condition_check_failure),
        })
    }
}

/// One statement of a batch.
#[derive(Clone, Debug)]
pub struct BatchStatement {
    /// The statement with its parameters in place.
    pub statement: Statement,
    /// From `ConsistentRead`; eventual unless the client asks for a strong read.
    pub consistency: Consistency,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
}

/// A BatchExecuteStatement. The fault of one statement does not affect the others.
#[derive(Clone, Debug)]
pub struct BatchExecuteStatement {
    /// One result for each statement, in the client's order.
    pub statements: Vec<Result<BatchStatement, Error>>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl BatchExecuteStatement {
    /// Validates each statement by itself; a fault takes the statement's place.
    pub fn validate(parts: BatchExecuteStatementParts) -> Self {
        Self {
            statements: parts.statements.into_iter().map(batch_statement).collect(),
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        }
    }
}

fn batch_statement(parts: BatchStatementRequestParts) -> Result<BatchStatement, Error> {
    let parameters = parameters(parts.parameters.unwrap_or_default())?;
    Ok(BatchStatement {
        statement: prepare(&parts.statement, &parameters)?,
        consistency: Consistency::of(parts.consistent_read),
        on_condition_failure: on_condition_failure(parts.return_values_on_condition_check_failure),
    })
}

/// One statement of a transaction.
#[derive(Clone, Debug)]
pub struct TransactStatement {
    /// The statement with its parameters in place.
    pub statement: Statement,
    /// Whether the error of a failed condition carries the item.
    pub on_condition_failure: OnConditionFailure,
}

/// An ExecuteTransaction.
#[derive(Clone, Debug)]
pub struct ExecuteTransaction {
    /// The statements, in the client's order.
    pub statements: Vec<TransactStatement>,
    /// Makes repeated requests idempotent for a while.
    pub token: Option<RequestToken>,
    /// Which capacity figures the response carries.
    pub capacity: ReturnConsumedCapacity,
}

impl ExecuteTransaction {
    /// Validates the parts in the service's order of checks: the first fault is the error.
    pub fn validate(parts: ExecuteTransactionParts) -> Result<Self, Error> {
        let mut digest = Digest::new();
        let mut given = Vec::with_capacity(parts.transact_statements.len());
        for statement in parts.transact_statements {
            let ParameterizedStatementParts {
                statement: text,
                parameters: values,
                return_values_on_condition_check_failure: failure,
            } = statement;
            let values = parameters(values.unwrap_or_default())?;
            digest_statement(&mut digest, &text, &values);
            given.push((text, values, failure));
        }
        let mut statements = Vec::with_capacity(given.len());
        for (place, (text, values, failure)) in given.into_iter().enumerate() {
            let statement = prepare(&text, &values)
                .map_err(|fault| Error::validation(messages::in_transaction(place, fault.text())))?;
            statements
                .push(TransactStatement { statement, on_condition_failure: on_condition_failure(failure) });
        }
        let fingerprint = Fingerprint(digest.finish());
        Ok(Self {
            statements,
            token: parts.client_request_token.map(|token| RequestToken { token, fingerprint }),
            capacity: parts.return_consumed_capacity.unwrap_or(ReturnConsumedCapacity::None),
        })
    }
}

fn digest_statement(digest: &mut Digest, text: &str, parameters: &[AttributeValue]) {
    digest.text(text);
    for parameter in parameters {
        digest.bytes(EncodedValue::encode(parameter).as_bytes());
    }
    digest.tag(0);
}

/// The parameters, or the fault of the first wrong one.
fn parameters(parts: Vec<ValuePart>) -> Result<Vec<AttributeValue>, Error> {
    let value = |part: ValuePart| part.map_err(|fault| Error::validation(fault_text(&fault)));
    parts.into_iter().map(value).collect()
}

/// The message of a parameter's fault. Numbers follow the service's decimal type (observed): an exponent
/// beyond 32 bits is not numeric, and magnitudes are compared in 32 bits, which wrap.
fn fault_text(fault: &ValueFault) -> String {
    let ValueFault::Number { fault: NumberFault::Overflow | NumberFault::Underflow, text } = fault else {
        return value_messages::fault(fault, Wording::Legacy);
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let digits = mantissa.trim_start_matches(['-', '+']);
    let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let precision = digits.replace('.', "").trim_start_matches('0').len();
    let scale =
        exponent.parse::<i32>().ok().and_then(|exponent| i32::try_from(fraction).ok()?.checked_sub(exponent));
    let (Some(scale), Ok(precision)) = (scale, i32::try_from(precision)) else {
        return value_messages::number(NumberFault::NotNumeric, text);
    };
    let fault =
        if precision.wrapping_sub(scale) > 0 { NumberFault::Overflow } else { NumberFault::Underflow };
    value_messages::number(fault, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parameters_are_read_as_the_services_decimals() {
        for (text, start) in [
            ("1e126", "Number overflow."),
            ("1e-131", "Number underflow."),
            ("1e2147483647", "Number underflow."),
            ("1e2147483648", "The parameter cannot be converted to a numeric value: 1e2147483648"),
            ("-1e99999999999", "The parameter cannot be converted to a numeric value: -1e99999999999"),
            ("abc", "The parameter cannot be converted to a numeric value: abc"),
        ] {
            let fault = parameters(vec![AttributeValue::number(text)]).expect_err(text);
            assert!(fault.message.starts_with(start), "{}", fault.message);
        }
        let empty = parameters(vec![AttributeValue::number("")]).expect_err("not a number");
        assert_eq!(empty.message, "The parameter cannot be converted to a numeric value");
    }

    #[test]
    fn a_wrong_statement_of_a_transaction_is_named_by_its_place() {
        let statement = |text: &str| ParameterizedStatementParts {
            statement: text.to_owned(),
            parameters: None,
            return_values_on_condition_check_failure: None,
        };
        let parts = ExecuteTransactionParts {
            transact_statements: vec![
                statement("DELETE FROM T WHERE a = 1"),
                statement("SELECT * FROM T WHERE"),
            ],
            client_request_token: None,
            return_consumed_capacity: None,
        };
        let fault = ExecuteTransaction::validate(parts).expect_err("it breaks off");
        let expected = "Validation failed in TransactStatements[1]: \
                        Statement wasn't well formed, can't be processed: Unexpected term";
        assert_eq!(fault.message, expected);
    }
}
